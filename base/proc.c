#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/proc.h"

/*
 * State letter and start time of @pid. The name in field 2 is the process's own
 * choice and may hold spaces and brackets: fields are counted from the last ')'.
 * 0, or -1 with errno.
 */
static int read_stat(pid_t pid, char *ret_state, int64_t *ret_start)
{
	OWN(buf) struct buf text = { 0 };
	struct err err;
	char path[32], *p;
	long long start;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (io_read_file(AT_FDCWD, path, 4096, &text, &err) < 0) {
		errno = err.sys ? err.sys : EIO;
		return -1;
	}
	p = strrchr(text.data, ')');
	if (!p || sscanf(p + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %lld",
			 ret_state, &start) != 2) {
		errno = EIO;
		return -1;
	}
	*ret_start = start;
	return 0;
}

/* "<boot id>/<pid namespace>" of ourselves, by whose eyes pids are seen. */
static int read_boot(char ret[PROC_BOOT_SIZE], struct err *err)
{
	OWN(buf) struct buf id = { 0 };
	struct stat ns;

	if (io_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64, &id, err) < 0)
		return -1;
	if (stat("/proc/self/ns/pid", &ns) < 0)
		return err_set(err, ERR_SYS, errno, "cannot look at '/proc/self/ns/pid'");
	snprintf(ret, PROC_BOOT_SIZE, "%.*s/%llu", (int)strcspn(id.data, "\n"), id.data,
		 (unsigned long long)ns.st_ino);
	return 0;
}

int proc_identify(pid_t pid, struct proc_id *ret, struct err *err)
{
	struct proc_id id = { .pid = pid ? pid : getpid() };
	char state;

	if (read_boot(id.boot, err) < 0)
		return -1;
	if (read_stat(id.pid, &state, &id.start) < 0)
		return err_set(err, errno == ENOENT || errno == ESRCH ? ERR_NOTFOUND : ERR_SYS, errno,
			       "cannot look at process %d", (int)id.pid);
	*ret = id;
	return 0;
}

enum proc_state proc_look(const struct proc_id *id)
{
	char boot[PROC_BOOT_SIZE] = "", state;
	int64_t start;

	if (id->pid <= 0 || read_boot(boot, NULL) < 0)
		return PROC_UNKNOWN;
	if (strcmp(boot, id->boot))
		/* Another boot has ended; another namespace of this one may go on. */
		return strncmp(boot, id->boot, strcspn(boot, "/") + 1) ? PROC_DEAD : PROC_UNKNOWN;
	if (read_stat(id->pid, &state, &start) < 0)
		return errno == ENOENT || errno == ESRCH ? PROC_DEAD : PROC_UNKNOWN;
	return start == id->start && state != 'Z' && state != 'X' ? PROC_ALIVE : PROC_DEAD;
}
