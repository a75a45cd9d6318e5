/*
 * What is not there at all: the state directory, the home directory's secrets,
 * another checkout, what only root may read, the host by other names.
 */
#include <dirent.h>

#include "tests/escape/attack.h"

static long entries(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	long n = 0;

	while (dir && (e = readdir(dir)))
		n += e->d_name[0] != '.' || strcmp(e->d_name, ".ssh") == 0;
	if (dir)
		closedir(dir);
	errno = ENOENT;
	return n ? n : -1;
}

int main(void)
{
	const char *state = told("ATTACK_STATE"), *home = told("ATTACK_HOME"), *other = told("ATTACK_OTHER");
	static const char *const roots[] = { "", "/proc/1/root", "/proc/self/root/../..", "/proc/1/cwd/../../../../.." };
	static const char *const never[] = { "/etc/shadow", "/etc/gshadow", "/proc/kcore", "/dev/mem", "/dev/sda",
					     "/dev/vda", "/dev/kmsg", "/dev/fuse", "/root/.ssh/id_rsa",
					     "/var/run/docker.sock", "/run/docker.sock", "/run/dbus/system_bus_socket" };

	attack_begin();
	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++) {
		refused(entries(spell("%s%s", roots[i], state)), "list the state directory from '%s'", roots[i]);
		refused(open(spell("%s%s/agate.db", roots[i], state), O_RDONLY), "read the database from '%s'", roots[i]);
		refused(open(spell("%s%s/.ssh/id_rsa", roots[i], home), O_RDONLY), "read a key from '%s'", roots[i]);
		refused(open(spell("%s%s/file.txt", roots[i], other), O_RDONLY), "read another checkout from '%s'", roots[i]);
		refused(open(spell("%s%s/secret.txt", roots[i], told("ATTACK_HOST")), O_RDONLY), "read the host from '%s'", roots[i]);
	}
	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
		refused(open(never[i], O_RDONLY), "open %s", never[i]);
	refused(getenv("HOST_SECRET") ? 0 : -1, "see the caller's environment");
	return attack_end();
}
