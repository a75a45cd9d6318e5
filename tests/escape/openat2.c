/*
 * openat2, whose flags hide behind a pointer, with each way to resolve.
 *
 * EXPECT: action=file-write-create target=*two.key
 */
#include <linux/openat2.h>

#include "tests/escape/attack.h"

static long try(int dir, const char *path, unsigned long long flags, unsigned long long resolve, size_t size)
{
	struct {
		struct open_how how;
		unsigned long long more[4];
	} arg = { .how = { .flags = flags, .mode = flags & O_CREAT ? 0644 : 0, .resolve = resolve } };

	return pwn(syscall(SYS_openat2, dir, path, &arg, size));
}

int main(void)
{
	static const unsigned long long ways[] = { 0, RESOLVE_BENEATH, RESOLVE_IN_ROOT, RESOLVE_NO_SYMLINKS,
						   RESOLVE_NO_MAGICLINKS, RESOLVE_NO_XDEV, RESOLVE_CACHED };
	const size_t size = sizeof(struct open_how);
	int keys = open("keys", O_PATH | O_DIRECTORY);
	long fd;

	attack_begin();
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		refused(try(keys, "two.key", O_CREAT | O_WRONLY, ways[i], size), "make with resolve %#llx", ways[i]);
		refused(try(AT_FDCWD, ".env", O_WRONLY | O_TRUNC, ways[i], size), "open with resolve %#llx", ways[i]);
	}
	refused(try(AT_FDCWD, "linkfile", O_RDWR, RESOLVE_BENEATH, size), "open a link to .env");
	refused(try(keys, "/server.key", O_RDWR, RESOLVE_IN_ROOT, size), "open a key as if in a root");
	refused(try(AT_FDCWD, "long.key", O_CREAT | O_WRONLY, 0, size + 16), "make with a longer structure");
	fd = try(AT_FDCWD, "plain/two.txt", O_CREAT | O_WRONLY, RESOLVE_BENEATH, size);
	if (fd < 0 && errno != ENOSYS)
		works(fd, "make an ordinary file with openat2");
	return attack_end();
}
