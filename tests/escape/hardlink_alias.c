/*
 * A second, innocent name for a guarded file, and then writing to that.
 *
 * EXPECT: action=file-write-link|file-write-create|file-write-data target=*
 */
#include "tests/escape/attack.h"

static void alias(const char *guarded, const char *name)
{
	if (link(guarded, name) < 0) {
		printf("refused: link %s: %s\n", guarded, strerror(errno));
		return;
	}
	refused(put(name), "write %s through a second name", guarded);
	refused(truncate(name, 0), "truncate %s through a second name", guarded);
}

int main(void)
{
	int fd = open("keys/cert.pem", O_PATH);

	attack_begin();
	alias(".env", "alias1.txt");
	alias("keys/server.key", "plain/alias2.txt");
	alias("linkfile", "alias3.txt");
	if (linkat(AT_FDCWD, spell("/proc/self/fd/%d", fd), AT_FDCWD, "alias4.txt", AT_SYMLINK_FOLLOW) == 0)
		refused(put("alias4.txt"), "write a certificate through a second name");
	if (linkat(AT_FDCWD, "linkfile", AT_FDCWD, "alias5.txt", AT_SYMLINK_FOLLOW) == 0)
		refused(put("alias5.txt"), "write .env through a second name by a link");
	works(put("plain/one.txt"), "make an ordinary file");
	works(link("plain/one.txt", "plain/two.txt"), "give it a second name");
	return attack_end();
}
