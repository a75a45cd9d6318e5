/*
 * Descriptors as names: a directory as /proc/self/fd/N, a file opened for
 * reading and opened again for writing, O_PATH, /dev/fd.
 *
 * EXPECT: action=file-write-create target=*viafd.key
 * EXPECT: action=file-write-data target=*.env
 */
#include "tests/escape/attack.h"

int main(void)
{
	static const char *const forms[] = { "/proc/self/fd", "/proc/thread-self/fd", "/dev/fd" };
	int dir = open("keys", O_PATH | O_DIRECTORY);
	int root = open("/", O_PATH | O_DIRECTORY);
	int env = open(".env", O_RDONLY);
	int path = open(".env", O_PATH);
	int fine = open("README", O_RDONLY);

	attack_begin();
	refused(put_at(root, spell("%s/viafd.key", told("ATTACK_REPO") + 1)), "make beneath a descriptor of /");
	refused(put_at(dir, "../.env"), "overwrite upwards from a descriptor");
	for (int i = 0; i < 3; i++) {
		char at[64];

		snprintf(at, sizeof(at), "%s/%d", forms[i], dir);
		refused(put(spell("%s/viafd.key", at)), "make beneath %s", at);
		snprintf(at, sizeof(at), "%s/%d", forms[i], env);
		refused(pwn(open(at, O_WRONLY)), "open .env again as %s", at);
		refused(pwn(open(at, O_RDWR | O_TRUNC)), "truncate .env as %s", at);
		snprintf(at, sizeof(at), "%s/%d", forms[i], path);
		refused(pwn(open(at, O_RDWR)), "open .env again as O_PATH %s", at);
		refused(truncate(at, 0), "truncate(2) .env as %s", at);
		snprintf(at, sizeof(at), "%s/%d", forms[i], fine);
		works(open(at, O_WRONLY), "open an ordinary file again as %s", at);
	}
	refused(write(env, "x", 1), "write to a descriptor for reading");
	refused(ftruncate(env, 0), "truncate a descriptor for reading");
	return attack_end();
}
