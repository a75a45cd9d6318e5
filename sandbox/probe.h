/*
 * sandbox/probe.h - what this host can hold, found by trying it
 *
 * For "agate doctor": one line a rule, with the layer that holds it here, in
 * what way it was found out, and the step that mends what is missing. For the
 * start of a run: a quick look that forks nothing.
 */
#ifndef SANDBOX_PROBE_H
#define SANDBOX_PROBE_H

#include <stddef.h>

struct err;

enum probe_state {
	PROBE_OK,	/* held as designed */
	PROBE_WEAK,	/* held by another layer, or with a gap the detail names */
	PROBE_MISSING,	/* not held */
	PROBE_STATE_NUM
};

/* probe_state_name() - "ok", "weak", "missing" */
const char *probe_state_name(enum probe_state s);

/* One finding; strings are borrowed for the call. */
struct probe_line {
	const char *rule;	/* what a run is promised: "names are judged when they are made" */
	const char *layer;	/* what holds it here; "nothing" if it is missing */
	enum probe_state state;
	const char *detail;	/* what the trial showed */
	const char *hint;	/* the next step for a person; NULL if there is nothing to do */
};

/**
 * probe_each() - Try everything and tell rule by rule
 * @fn:		called once a rule, in a fixed order
 *
 * Starts bubblewrap and a few short children of its own, each with a time-out;
 * takes some tens of milliseconds. Changes nothing that outlasts it.
 * Return: how many rules are missing; weak ones do not count
 */
int probe_each(void (*fn)(void *cookie, const struct probe_line *line), void *cookie);

/**
 * probe_native() - Is the native adapter worth starting?
 *
 * Bubblewrap is there, Landlock and seccomp notification are in the kernel, no
 * setting rules out user namespaces, and one can be made. Only where that fails
 * bubblewrap itself is tried, which may be allowed what we are not.
 * Return: 0, or -1 with @err (ERR_MISSING) and a hint
 */
int probe_native(struct err *err);

/**
 * probe_bare() - Can a run be held without namespaces, by Landlock and the broker?
 *
 * The kernel knows all that is needed (Linux 6.12), and a child's memory and
 * descriptors can be had.
 * Return: 0, or -1 with @err (ERR_MISSING) and a hint
 */
int probe_bare(struct err *err);

/* probe_wants_bare() - 1 if AGATE_LAYOUT=2 asks to do without namespaces: for tests */
int probe_wants_bare(void);

/*
 * probe_bwrap() - where bubblewrap is, by PATH and then /usr/bin, /bin; 0, or -1 if it is
 * nowhere. Relative entries of PATH do not count.
 */
int probe_bwrap(char *ret, size_t size);

#endif
