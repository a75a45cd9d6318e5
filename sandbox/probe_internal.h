/*
 * sandbox/probe_internal.h - what the trials of sandbox/probe_try.c found, and
 * what sandbox/probe.c makes of it
 */
#ifndef SANDBOX_PROBE_INTERNAL_H
#define SANDBOX_PROBE_INTERNAL_H

#include <limits.h>

#define PROBE_SAYS 200

struct probe_facts {
	char bwrap[PATH_MAX];		/* "": not installed */
	int bwrap_runs;			/* with every namespace a run uses */
	int bwrap_runs_without_proc;	/* tried when the first failed */
	char bwrap_says[PROBE_SAYS];	/* its complaint, one line */
	int is_userns;			/* a user namespace can be made, by us */
	int is_apparmor_limited;	/* kernel.apparmor_restrict_unprivileged_userns */
	int notify;			/* a call was received, answered and the answer arrived */
	int killable;			/* WAIT_KILLABLE_RECV */
	int addfd_send;			/* a descriptor was put in and was the call's result */
	int pidfd_getfd;		/* a descriptor was taken out */
	int memory;			/* the caller's memory could be read */
	int landlock;			/* ABI; 0: none */
	int second_layout;		/* runner/ can do without namespaces, by Landlock and the broker */
	int filter;			/* instructions of the compiled filter; 0: failed */
	char filter_says[PROBE_SAYS];
	int cgroup;			/* a child group with memory and process limits can be made */
	char cgroup_says[PROBE_SAYS];
};

struct probe_line;

/* probe_try() - do every trial */
void probe_try(struct probe_facts *ret);

/* probe_judge() - tell the rules as these facts have them; pure. Return: how many are missing */
int probe_judge(const struct probe_facts *f, void (*fn)(void *cookie, const struct probe_line *line),
		void *cookie);

/* Single looks without a process. */
int probe_landlock(void);
int probe_sysctl(const char *name, long *ret);	/* "kernel/x"; 0, or -1 if there is none */
int probe_spaces(void);				/* 0: namespaces can be had, by us or by bubblewrap */
int probe_child(void);				/* 0: a child's memory can be read and a descriptor taken */
int probe_has_notify(void);			/* the kernel knows the action */

#endif
