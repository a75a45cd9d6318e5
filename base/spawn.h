/*
 * base/spawn.h - the system calls behind loop_spawn()
 *
 * The child shares our memory until it has executed the program, so that starting
 * one costs the same however large we are; meanwhile our thread waits.
 */
#ifndef BASE_SPAWN_H
#define BASE_SPAWN_H

#include <sys/types.h>

struct spawn;

/* spawn_can() - 1 if this kernel tells of a child's end by a descriptor (Linux 5.3) */
int spawn_can(void);

/**
 * spawn_child() - Start a program, as base/loop.h tells of struct spawn
 * @ret_pidfd:	can be read when it has ended, and then wants a waitpid(2); the caller's
 *
 * Return: its pid, or -1 with errno: that of the program's execution too
 */
pid_t spawn_child(const struct spawn *sp, int *ret_pidfd);

#endif
