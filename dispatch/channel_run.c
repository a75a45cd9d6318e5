#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/channel.h"
#include "dispatch/channel_judge.h"
#include "dispatch/channel_run.h"
#include "dispatch/exit.h"
#include "dispatch/run_internal.h"
#include "dispatch/show.h"

#define PROMPT_MAX (10u * 1024 * 1024)
#define PROMPT_WAIT_MS 3000	/* for the first byte of what may stand on our standard input, as claude has it */
#define UNREAD_MAX (64u * 1024 * 1024)	/* said to an agent that does not listen */
#define SHOWN_MAX (4u << 20)	/* bytes for a user who reads slowly, before the agent has to wait */

struct channel_run {
	struct run *run;
	struct channel *channel;
	struct channel_judge *judge;
	char *prompt;
	int fd, input;			/* our end of the pair, and the agent's */
	struct watch *writable, *timer;
	struct buf out;			/* to the agent, not yet taken */
	int is_hung_up;
	struct buf shown;		/* to the user, written up to .written */
	size_t written;
	struct watch *readable;		/* while the user reads slowly */
};

/* --- to the agent --- */

static void close_ours(struct channel_run *c)
{
	watch_end(c->writable);
	c->writable = NULL;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

static void flush(struct channel_run *c);

static void on_writable(void *cookie, int fd, unsigned int ready)
{
	(void)fd;
	(void)ready;
	flush(cookie);
}

static void fail_words(struct channel_run *c, const char *words)
{
	struct err err = { 0 };

	err_set(&err, ERR_SYS, 0, "%s", words);
	feed_fail(&c->run->feed, &err);
}

/* Never raises SIGPIPE: an agent that has gone away ends its run by itself. */
static void flush(struct channel_run *c)
{
	while (c->fd >= 0 && c->out.len) {
		ssize_t n = send(c->fd, c->out.data, c->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			buf_clear(&c->out);
		else
			buf_eat(&c->out, (size_t)n);
	}
	if (!c->out.len && c->is_hung_up)
		close_ours(c);
	if (c->fd < 0)
		return;
	if (c->out.len && !c->writable) {
		c->writable = loop_fd(c->run->loop, c->fd, LOOP_WRITE, on_writable, c);
		if (!c->writable)
			fail_words(c, "out of memory");
	} else if (!c->out.len) {
		watch_end(c->writable);
		c->writable = NULL;
	}
}

static void to_agent(void *cookie, const char *data, size_t len)
{
	struct channel_run *c = cookie;

	c->out.max = UNREAD_MAX;
	if (buf_add(&c->out, data, len) < 0)
		fail_words(c, "claude does not listen to what it is told");
	else
		flush(c);
}

static void hang_up(void *cookie)
{
	struct channel_run *c = cookie;

	c->is_hung_up = 1;
	flush(c);
}

/* --- to the user --- */

static void pump(struct channel_run *c, int may_wait);

static void on_user_reads(void *cookie, int fd, unsigned int ready)
{
	(void)fd;
	(void)ready;
	pump(cookie, 0);
}

static int would_block(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) == 0;
}

/* A slow reader holds up neither the answers to the agent nor signals, up to a bound. */
static void pump(struct channel_run *c, int may_wait)
{
	struct err err = { 0 };

	while (c->written < c->shown.len) {
		size_t left = c->shown.len - c->written, n = left < PIPE_BUF ? left : PIPE_BUF;

		if (!may_wait && left < SHOWN_MAX && would_block()) {
			if (!c->readable)
				c->readable = loop_fd(c->run->loop, STDOUT_FILENO, LOOP_WRITE, on_user_reads, c);
			if (c->readable)
				return;
		}
		if (io_write_all(STDOUT_FILENO, c->shown.data + c->written, n) < 0) {
			err_set(&err, ERR_SYS, errno, "cannot write to standard output");
			feed_fail(&c->run->feed, &err);
			break;
		}
		c->written += n;
	}
	watch_end(c->readable);
	c->readable = NULL;
	buf_clear(&c->shown);
	c->written = 0;
}

static void write_out(struct channel_run *c, int stream, const char *data, size_t len)
{
	if (c->run->req->json) {
		feed_output(&c->run->feed, stream, data, len);
	} else if (stream != 1) {
		io_write_all(STDERR_FILENO, data, len);	/* a stderr nobody reads changes nothing */
	} else if (buf_add(&c->shown, data, len) < 0) {
		fail_words(c, "out of memory");
	} else {
		pump(c, 0);
	}
}

static void to_user(void *cookie, const char *data, size_t len)
{
	write_out(cookie, 1, data, len);
}

/* --- the course of things --- */

static void asked(void *cookie, uint64_t id, const struct hook_event *ev)
{
	channel_judge_asked(((struct channel_run *)cookie)->judge, id, ev);
}

static void withdrawn(void *cookie, uint64_t id)
{
	channel_judge_withdrawn(((struct channel_run *)cookie)->judge, id);
}

/* What the judge came to; it is on record. */
static void on_decided(void *cookie, uint64_t id, enum decision d, const char *reason)
{
	channel_answer(((struct channel_run *)cookie)->channel, id, d, reason);
}

static struct json *broken_json(const char *what, const struct err *why)
{
	OWN(json) struct json *j = json_new_object();

	return j && json_add_str(j, "reason", why->msg) && (!what || json_add_str(j, "toolUse", what)) ? TAKE(j) : NULL;
}

/* The agent is not mediated any more: it ends, and why is a refusal like any other. */
static void broken(void *cookie, const char *what, const struct err *why)
{
	struct channel_run *c = cookie;
	struct run *run = c->run;
	int is_policy = why->code == ERR_POLICY;
	const struct violation v = {
		.layer = LAYER_COMMAND, .action = "command-unasked", .target = what ? what : "claude", .rule = "control channel",
		.reason = why->msg, .count = 1,
	};

	feed_event(&run->feed, "channel.broken", broken_json(what, why));
	if (is_policy)
		run->feed.sink.violation(&run->feed.sink, &v);
	end_set(run, is_policy ? "denied" : "failed", is_policy ? EXIT_DENIED : EXIT_FAILED, why);
	close_ours(c);
	if (run->process)
		run->runner->kill(run->process, SIGKILL);
}

static void on_timer(void *cookie)
{
	struct channel_run *c = cookie;

	c->timer = NULL;
	channel_timeout(c->channel);
}

static void timer(void *cookie, uint64_t ms)
{
	struct channel_run *c = cookie;

	watch_end(c->timer);
	c->timer = NULL;
	if (!ms)
		return;
	c->timer = loop_timer(c->run->loop, ms, 0, on_timer, c);
	if (!c->timer)
		fail_words(c, "out of memory");
}

static const struct channel_ops ops = {
	.asked = asked, .withdrawn = withdrawn, .to_agent = to_agent, .to_user = to_user, .hang_up = hang_up,
	.broken = broken, .timer = timer,
};

/* --- the prompt --- */

/* What stands on our standard input belongs to the prompt, as with claude itself. */
static int read_input(struct buf *b, struct err *err)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	int r;

	if (isatty(STDIN_FILENO))
		return 0;
	/* A file or a pipe says at once what it is; one that nobody writes to is not waited for. */
	r = poll(&p, 1, PROMPT_WAIT_MS);
	if (r < 0 && errno == EINTR)
		return err_set(err, ERR_SYS, errno, "cannot read the prompt");
	if (r <= 0 || (p.revents & POLLNVAL))
		return 0;
	return io_read_fd(STDIN_FILENO, PROMPT_MAX, b, err) < 0 ? err_wrap(err, "cannot read the prompt") : 0;
}

static int find_prompt(struct channel_run *c, struct err *err)
{
	const char *asked_for = c->run->seam.channel.prompt;
	OWN(buf) struct buf input = { 0 };
	struct buf whole = { 0 };

	if (read_input(&input, err) < 0)
		return -1;
	while (input.len && strchr(" \t\r\n", input.data[input.len - 1]))
		input.data[--input.len] = '\0';
	buf_adds(&whole, asked_for ? asked_for : "");
	if (input.len)
		buf_addf(&whole, "%s%s", whole.len ? "\n" : "", input.data);
	c->prompt = buf_steal(&whole);
	if (!c->prompt)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (*c->prompt)
		return 0;
	err_set(err, ERR_USAGE, 0, "nobody says what claude is to do");
	return err_hint(err, "give it a prompt: agate run -- claude -p 'PROMPT', or on standard input");
}

/* --- life --- */

/* A socket and no pipe: whoever runs inside could open a pipe by /proc and answer in our name. */
static int make_pair(struct channel_run *c, struct err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, ERR_SYS, errno, "cannot make a socket to speak with claude");
	c->fd = pair[0];
	c->input = pair[1];
	return 0;
}

static int open_channel(struct channel_run *c, struct err *err)
{
	const struct channel_params p = {
		.ask = &c->run->seam.channel, .prompt = c->prompt, .ops = &ops, .cookie = c,
		.permission_mode = c->run->req->mode == MODE_CHAT ? "default" : "plan",
	};

	c->channel = channel_new(&p);
	return c->channel ? 0 : err_set(err, ERR_NOMEM, 0, "out of memory");
}

int channel_run_open(struct run *run, struct channel_run **ret, struct err *err)
{
	struct channel_run *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	*c = (struct channel_run){ .run = run, .fd = -1, .input = -1 };
	if (find_prompt(c, err) < 0 || make_pair(c, err) < 0 || open_channel(c, err) < 0 ||
	    channel_judge_new(run, on_decided, c, &c->judge, err) < 0) {
		channel_run_free(c);
		return -1;
	}
	*ret = c;
	return 0;
}

int channel_run_input(const struct channel_run *c)
{
	return c->input;
}

void channel_run_started(struct channel_run *c)
{
	close(c->input);
	c->input = -1;
	channel_start(c->channel);
}

void channel_run_output(struct channel_run *c, int stream, const char *data, size_t len)
{
	if (stream == 1)
		channel_read(c->channel, data, len);
	else
		write_out(c, stream, data, len);
}

void channel_run_ended(struct channel_run *c, int status)
{
	struct err why = { 0 };

	timer(c, 0);
	channel_end(c->channel);
	pump(c, 1);
	if (status != 0)
		return;
	if (!channel_is_done(c->channel)) {
		err_set(&why, ERR_INPUT, 0, "claude ended before it had answered");
		end_set(c->run, "failed", EXIT_FAILED, &why);
	} else if (channel_has_failed(c->channel)) {
		/* Interrupted, it says 0 all the same; who started it wants to know. */
		err_set(&why, ERR_INPUT, 0, "claude's last result is an error");
		end_set(c->run, "exited", 1, &why);
	}
}

void channel_run_free(struct channel_run *c)
{
	if (!c)
		return;
	watch_end(c->timer);
	watch_end(c->readable);
	close_ours(c);
	if (c->input >= 0)
		close(c->input);
	channel_judge_free(c->judge);
	channel_free(c->channel);
	buf_done(&c->out);
	buf_done(&c->shown);
	free(c->prompt);
	free(c);
}
