/*
 * The system's own directories and what the run is given to read: not to write,
 * also not by root, and not by any name.
 *
 * RUN: --read {other}
 */
#include "tests/escape/attack.h"

int main(void)
{
	static const char *const dirs[] = { "/usr/bin", "/usr/lib", "/etc", "/bin", "/lib", "/opt", "/", "/dev" };
	char line[4096] = "";
	FILE *f = fopen(".git/objects/info/alternates", "r");

	attack_begin();
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		refused(put(spell("%s/agate-escape", dirs[i])), "make a file in %s", dirs[i]);
		refused(mkdir(spell("%s/agate-escape.d", dirs[i]), 0755), "make a directory in %s", dirs[i]);
	}
	refused(put("/etc/passwd"), "overwrite /etc/passwd");
	refused(put("/etc/ld.so.preload"), "make /etc/ld.so.preload");
	refused(pwn(open("/usr/bin/env", O_RDWR)), "write a program");
	refused(chmod("/usr/bin/env", 0777), "change its mode");
	refused(put(spell("%s/new.txt", told("ATTACK_OTHER"))), "make a file where --read points");
	refused(put(spell("%s/file.txt", told("ATTACK_OTHER"))), "write a file there");
	refused(chmod(spell("%s/file.txt", told("ATTACK_OTHER")), 0777), "change its mode");
	refused(utimensat(AT_FDCWD, spell("%s/file.txt", told("ATTACK_OTHER")), NULL, 0), "change its times");
	refused(unlink(spell("%s/file.txt", told("ATTACK_OTHER"))), "remove it");
	if (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		works(access(line, F_OK), "see the objects of the original");
		refused(put(spell("%s/agate-escape", line)), "make a file among them");
		refused(mkdir(spell("%s/zz", line), 0755), "make a directory among them");
		refused(chmod(line, 0777), "change their mode");
	}
	return attack_end();
}
