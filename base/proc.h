/*
 * base/proc.h - name a process so that a recycled pid is not taken for it
 */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include <stdint.h>
#include <sys/types.h>

struct err;

#define PROC_BOOT_SIZE 64

struct proc_id {
	pid_t pid;
	int64_t start;			/* clock ticks after boot: proc(5), stat field 22 */
	char boot[PROC_BOOT_SIZE];	/* which boot, and which pid namespace the pid is of */
};

/* proc_identify() - @pid as it is now; 0 means ourselves. ERR_NOTFOUND, ERR_SYS */
int proc_identify(pid_t pid, struct proc_id *ret, struct err *err);

enum proc_state {
	PROC_ALIVE,
	PROC_DEAD,	/* gone, a zombie, or its pid is somebody else's now */
	PROC_UNKNOWN,	/* it lives in another pid namespace: leave it alone */
};
enum proc_state proc_look(const struct proc_id *id);

#endif
