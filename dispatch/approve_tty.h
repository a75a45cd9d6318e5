/*
 * dispatch/approve_tty.h - a question at the terminal
 *
 * Talks to the controlling terminal itself, since standard input and output may
 * belong to the command. What was typed before the question was seen is thrown
 * away, so that it answers nothing.
 */
#ifndef DISPATCH_APPROVE_TTY_H
#define DISPATCH_APPROVE_TTY_H

#include <stddef.h>

#include "dispatch/approve_case.h"

/* What a person said. */
enum tty_word {
	TTY_NOTHING,	/* not yet */
	TTY_YES, TTY_NO,
	TTY_EXACT, TTY_PREFIX, TTY_DIR,	/* yes, and remember it */
	TTY_GONE,	/* nobody is there any more */
};

struct tty_prompt {
	int fd;			/* -1: closed */
	char typed[64];
	size_t n;
	int may_remember;
};

/* tty_open() - 0, or -1 with a static reason in *ret_why: no terminal, or it is somebody else's now */
int tty_open(struct tty_prompt *t, const char **ret_why);

/* tty_show() - put the question */
void tty_show(struct tty_prompt *t, const struct approve_case *c, int64_t seconds);

/* tty_wait() - wait up to @ms for a word */
enum tty_word tty_wait(struct tty_prompt *t, int ms);

/* tty_say() - one masked line */
void tty_say(struct tty_prompt *t, const char *text);

void tty_close(struct tty_prompt *t);

static inline void own_tty(struct tty_prompt *t)
{
	tty_close(t);
}

#endif
