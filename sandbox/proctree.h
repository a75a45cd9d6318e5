/*
 * sandbox/proctree.h - the processes of a machine, and which of them descend from one
 *
 * Compiled into both programs. Libc only. What is listed may have ended since.
 */
#ifndef SANDBOX_PROCTREE_H
#define SANDBOX_PROCTREE_H

#include <stddef.h>
#include <sys/types.h>

#define PROCTREE_MAX 65536	/* a machine with more is not looked through whole */

struct process {
	pid_t pid, parent;
	char state;	/* as in proc(5): 'Z' has ended and was not waited for */
};

/**
 * proctree_list() - All processes that are in view
 * @proc:	an open /proc; stays the caller's
 * @all:	room for @max
 *
 * Return: how many there are, or fit; 0 if @proc cannot be read
 */
size_t proctree_list(int proc, struct process *all, size_t max);

/* proctree_below() - sort the descendants of @root to the front of @all; returns how many */
size_t proctree_below(struct process *all, size_t n, pid_t root);

#endif
