/*
 * runner/tree.h - kill all that is below us, by walking /proc
 *
 * For adapters without a process namespace. Who calls has to be the subreaper
 * (prctl(2)), so that whatever a command leaves behind is below us still.
 */
#ifndef RUNNER_TREE_H
#define RUNNER_TREE_H

#include <sys/types.h>

/**
 * tree_kill() - SIGSTOP, then SIGKILL, until nothing lives
 * @waited_for:	a child somebody else reaps; 0: none
 * @spare:	a child that lives on with all below it; 0: none
 *
 * Takes some milliseconds, a second at most; nothing where there is no child. Return: 0, or -1 out of memory
 */
int tree_kill(pid_t waited_for, pid_t spare);

#endif
