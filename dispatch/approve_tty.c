#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/own.h"
#include "dispatch/approve_tty.h"
#include "dispatch/show.h"

int tty_open(struct tty_prompt *t, const char **ret_why)
{
	*t = (struct tty_prompt){ .fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY) };
	if (t->fd < 0) {
		*ret_why = "there is no terminal to ask at";
		return -1;
	}
	/* Reading in the background would stop us, and nobody would know why. */
	if (tcgetpgrp(t->fd) != getpgrp()) {
		tty_close(t);
		*ret_why = "it runs in the background of its terminal, where nobody can be asked";
		return -1;
	}
	return 0;
}

void tty_close(struct tty_prompt *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

static void add_line(struct buf *b, const char *head, const char *text)
{
	if (!text || !*text)
		return;
	buf_adds(b, head);
	show_add(b, text, strlen(text));
	buf_addc(b, '\n');
}

void tty_say(struct tty_prompt *t, const char *text)
{
	OWN(buf) struct buf b = { 0 };

	add_line(&b, "agate: ", text);
	if (t->fd >= 0 && b.data)
		io_write_all(t->fd, b.data, b.len);
}

void tty_show(struct tty_prompt *t, const struct approve_case *c, int64_t seconds)
{
	OWN(mem) char *line = case_line(c->req);
	OWN(buf) struct buf b = { 0 };

	t->may_remember = c->res->may_remember;
	buf_adds(&b, "\n");
	add_line(&b, "agate: may this run?  ", line ? line : "(out of memory)");
	add_line(&b, "  why asked: ", c->res->reason);
	add_line(&b, "  where:     ", c->req->cwd);
	add_line(&b, "  mode:      ", mode_name(c->req->mode));
	buf_addf(&b, "%s", t->may_remember ?
		 "yes: this once   exact, prefix, dir: yes, and remember it   anything else: no" :
		 "yes: this once   anything else: no");
	buf_addf(&b, "  (%lld s) > ", (long long)seconds);
	tcflush(t->fd, TCIFLUSH);
	if (!b.failed)
		io_write_all(t->fd, b.data, b.len);
}

static const struct { const char *word; enum tty_word means; int remembers; } words[] = {
	{ "y", TTY_YES, 0 },	{ "yes", TTY_YES, 0 },	    { "exact", TTY_EXACT, 1 }, { "prefix", TTY_PREFIX, 1 },
	{ "dir", TTY_DIR, 1 },
};

static enum tty_word take_line(struct tty_prompt *t)
{
	const char *start = t->typed;
	size_t n = t->n;

	while (n && strchr(" \t\r\n", start[n - 1]))
		n--;
	for (; n && (*start == ' ' || *start == '\t'); n--)
		start++;
	t->n = 0;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strlen(words[i].word) == n && !strncmp(words[i].word, start, n))
			return words[i].remembers && !t->may_remember ? TTY_NO : words[i].means;
	return TTY_NO;
}

enum tty_word tty_wait(struct tty_prompt *t, int ms)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };
	ssize_t n;

	if (poll(&p, 1, ms) <= 0)
		return TTY_NOTHING;
	n = read(t->fd, t->typed + t->n, sizeof(t->typed) - t->n);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return TTY_NOTHING;
	if (n <= 0)
		return TTY_GONE;
	t->n += (size_t)n;
	if (memchr(t->typed, '\n', t->n))
		return take_line(t);
	/* A line this long is no answer. */
	return t->n == sizeof(t->typed) ? TTY_NO : TTY_NOTHING;
}
