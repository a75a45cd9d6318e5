#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/text.h"
#include "db/decisions.h"
#include "db/events.h"
#include "dispatch/desk.h"
#include "dispatch/feed.h"
#include "dispatch/ignore.h"
#include "gates/redact.h"

#define FLUSH_MS 50
#define HELD_MAX 65536		/* bytes of output in one event */
#define LINES_MAX (4u << 20)	/* bytes of lines kept back before a flush is due at once */

static void on_event(struct event_sink *sink, const struct event *ev);
static void on_violation(struct event_sink *sink, const struct violation *v);

static void fail(struct feed *f, const struct err *why)
{
	if (f->failure.msg[0])
		return;
	f->failure = *why;
	if (f->on_failure)
		f->on_failure(f->cookie);
}

static void fail_memory(struct feed *f)
{
	struct err err = { 0 };

	err_set(&err, ERR_NOMEM, 0, "cannot record the run: out of memory");
	fail(f, &err);
}

int feed_init(struct feed *f, struct db *db, const char *run_id, int as_json, struct err *err)
{
	*f = (struct feed){
		.sink = { .event = on_event, .violation = on_violation },
		.run_id = run_id, .as_json = as_json, .out = STDOUT_FILENO,
	};
	return recorder_new(db, run_id, &f->recorder, err);
}

static void on_timer(void *cookie)
{
	struct feed *f = cookie;

	f->timer = NULL;	/* it ends itself */
	feed_flush(f, NULL);
}

/* Something waits to be flushed. */
static void arm(struct feed *f)
{
	if (!f->loop || f->timer || f->failure.msg[0])
		return;
	f->timer = loop_timer(f->loop, FLUSH_MS, 0, on_timer, f);
	if (!f->timer)
		fail_memory(f);
}

/* --- lines for programs --- */

/* What every line begins with; the names are our own and need no quoting. */
static void begin_line(struct feed *f, const struct stamp *at, const char *type)
{
	char when[CLOCK_TEXT_SIZE];

	clock_text(at->ts_us, when);
	buf_addf(&f->lines, "{\"run\":\"%s\",\"seq\":%lld,\"ts\":\"%s\",\"type\":\"%s\"", f->run_id,
		 (long long)at->seq, when, type);
}

static void end_line(struct feed *f)
{
	if (buf_adds(&f->lines, "}\n") < 0)
		fail_memory(f);
}

/* @data: an object whose members stand beside ours, or NULL */
static void print_line(struct feed *f, const struct stamp *at, const char *type, const struct json *data)
{
	OWN(mem) char *text = NULL;

	if (!f->as_json)
		return;
	begin_line(f, at, type);
	if (json_count(data)) {
		text = json_print(data);
		if (!text || strlen(text) < 2) {
			fail_memory(f);
			return;
		}
		buf_addc(&f->lines, ',');
		buf_add(&f->lines, text + 1, strlen(text) - 2);
	}
	end_line(f);
}

/* --- output --- */

static const char *stream_name(int stream)
{
	return stream == 1 ? "stdout" : "stderr";
}

static int is_text(const char *data, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = (unsigned char)data[i] < 0x80 ? data[i] != '\0' : text_char(data + i, len - i);
		if (!n)
			return 0;
	}
	return 1;
}

static void add_base64(struct buf *b, const unsigned char *p, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		unsigned int v = (unsigned int)p[i] << 16 | (i + 1 < len ? p[i + 1] : 0u) << 8 |
			(i + 2 < len ? p[i + 2] : 0u);
		const char four[] = {
			digits[v >> 18], digits[v >> 12 & 63], i + 1 < len ? digits[v >> 6 & 63] : '=',
			i + 2 < len ? digits[v & 63] : '=',
		};

		buf_add(b, four, sizeof(four));
	}
}

int feed_text(struct buf *to, const char *data, size_t len)
{
	buf_adds(to, "\"data\":");
	json_quote(to, data, len);
	if (!is_text(data, len)) {
		buf_adds(to, ",\"base64\":\"");
		add_base64(to, (const unsigned char *)data, len);
		buf_addc(to, '"');
	}
	return to->failed ? -1 : 0;
}

/* The record says how much came and when; the bytes themselves go only to who asked for them. */
static void emit_output(struct feed *f, int stream, const char *data, size_t len)
{
	OWN(json) struct json *record = json_new_object();
	const struct event ev = { .type = stream_name(stream), .data = record };
	struct stamp at;
	struct err err = { 0 };

	if (!record || !json_add_int(record, "bytes", (int64_t)len)) {
		fail_memory(f);
		return;
	}
	if (recorder_event(f->recorder, &ev, &at, &err) < 0) {
		fail(f, &err);
		return;
	}
	if (!f->as_json)
		return;
	begin_line(f, &at, ev.type);
	buf_addc(&f->lines, ',');
	feed_text(&f->lines, data, len);
	end_line(f);
}

/* A character may be cut in two by the end of a read: keep its beginning for the next. */
static size_t whole_characters(const struct buf *b)
{
	size_t back = 0;

	while (back < 3 && back < b->len) {
		unsigned char c = (unsigned char)b->data[b->len - 1 - back];

		back++;
		if (c >= 0xc0)	/* a first byte: complete if as many follow as it says */
			return text_char(b->data + b->len - back, back) ? b->len : b->len - back;
		if (c < 0x80)
			break;
	}
	return b->len;
}

static void release_output(struct feed *f, int all)
{
	size_t n = all ? f->held.len : whole_characters(&f->held);

	if (!f->held_stream || !n)
		return;
	emit_output(f, f->held_stream, f->held.data, n);
	buf_eat(&f->held, n);
	if (!f->held.len)
		f->held_stream = 0;
}

void feed_output(struct feed *f, int stream, const char *data, size_t len)
{
	if (f->failure.msg[0])
		return;
	if (f->held_stream != stream)
		release_output(f, 1);
	f->held_stream = stream;
	if (buf_add(&f->held, data, len) < 0)
		fail_memory(f);
	arm(f);
	if (f->held.len >= HELD_MAX)
		release_output(f, 0);
	if (f->lines.len >= LINES_MAX)
		feed_flush(f, NULL);
}

/* --- events, refusals, decisions --- */

static void on_event(struct event_sink *sink, const struct event *ev)
{
	struct feed *f = (struct feed *)sink;
	struct stamp at;
	struct err err = { 0 };

	if (f->failure.msg[0])
		return;
	release_output(f, 1);
	if (recorder_event(f->recorder, ev, &at, &err) < 0)
		fail(f, &err);
	else
		print_line(f, &at, ev->type, ev->data);
	arm(f);
}

void feed_event(struct feed *f, const char *type, struct json *data)
{
	const struct event ev = { .type = type, .data = data };

	on_event(&f->sink, &ev);
	json_free(data);
}

static int same(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static void remember(struct feed *f, const struct violation *v)
{
	const char *target = v->resolved ? v->resolved : v->target;
	struct kept *r;

	f->refusals_total += v->count > 0 ? v->count : 1;
	if (ignore_match(f->ignored, v)) {
		f->refusals_ignored += v->count > 0 ? v->count : 1;
		return;
	}
	for (size_t i = 0; i < f->n_refusals; i++) {
		r = &f->refusal[i];
		if (same(r->action, v->action) && same(r->target, target) && same(r->rule, v->rule) &&
		    same(r->comm, v->comm)) {
			r->count += v->count > 0 ? v->count : 1;
			return;
		}
	}
	if (f->n_refusals == FEED_KEPT)
		return;
	r = &f->refusal[f->n_refusals++];
	r->action = strdup(v->action ? v->action : "");
	r->target = strdup(target ? target : "");
	r->rule = strdup(v->rule ? v->rule : "");
	r->comm = strdup(v->comm ? v->comm : "");
	r->count = v->count > 0 ? v->count : 1;
	if (!r->action || !r->target || !r->rule || !r->comm)
		fail_memory(f);
}

static void on_violation(struct event_sink *sink, const struct violation *told)
{
	struct feed *f = (struct feed *)sink;
	/* A command line may hold what nobody should find on record. */
	OWN(mem) char *raw = told->raw ? redact_line(told->raw, NULL) : NULL;
	struct violation masked = *told, *v = &masked;
	OWN(json) struct json *j = NULL;
	struct stamp at;
	struct err err = { 0 };

	if (f->failure.msg[0])
		return;
	if (told->raw && !raw) {
		fail_memory(f);
		return;
	}
	v->raw = raw;
	release_output(f, 1);
	remember(f, v);
	if (recorder_violation(f->recorder, v, &at, &err) < 0) {
		fail(f, &err);
		return;
	}
	arm(f);
	/* One that is repeated is printed again when its count has doubled. */
	if (at.count & (at.count - 1))
		return;
	j = json_new_object();
	if (j && !violation_json(j, v, at.count))
		print_line(f, &at, "violation", j);
	else
		fail_memory(f);
}

void feed_judgement(struct feed *f, const struct judgement *j)
{
	const struct decision d = {
		.line = j->line, .mode = j->mode, .verdict = j->verdict, .gate = j->gate, .rule = j->rule,
		.reason = j->reason, .span_start = j->span_start, .span_end = j->span_end,
		.classes = j->classes, .answered_by = j->answered_by, .digest = j->digest, .tool_use = j->tool_use,
		.waited_us = j->waited_us,
	};
	struct err err = { 0 };

	if (!f->failure.msg[0] && recorder_decision(f->recorder, &d, NULL, &err) < 0)
		fail(f, &err);
}

/* --- flushing --- */

void feed_fail(struct feed *f, const struct err *why)
{
	fail(f, why);
}

static int failed(const struct feed *f, struct err *err)
{
	if (!f->failure.msg[0])
		return 0;
	if (err)
		*err = f->failure;
	return -1;
}

static int record(struct feed *f, struct err *err)
{
	struct err why = { 0 };

	if (!f->failure.msg[0]) {
		release_output(f, 0);
		if (recorder_flush(f->recorder, &why) < 0)
			fail(f, &why);
	}
	return failed(f, err);
}

static void on_writable(void *cookie, int fd, unsigned int ready);

/* Would a write block? A pipe that is writable takes PIPE_BUF bytes; a file always is. */
static int is_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, 0) > 0;
}

static void wait_writable(struct feed *f)
{
	if (!f->writable)
		f->writable = loop_fd(f->loop, f->out, LOOP_WRITE, on_writable, f);
	if (!f->writable)
		fail_memory(f);
}

/*
 * Print what is ready. While the loop turns, a full pipe is waited for by it, so
 * that time-outs and signals are not; a very long queue is waited for at once,
 * which holds up the command, as it should.
 */
static void pump(struct feed *f)
{
	struct err why = { 0 };

	while (f->printed < f->ready.len && !f->failure.msg[0]) {
		size_t left = f->ready.len - f->printed, n = left < PIPE_BUF ? left : PIPE_BUF;

		if (f->loop && left < LINES_MAX && !is_writable(f->out)) {
			wait_writable(f);
			return;
		}
		if (io_write_all(f->out, f->ready.data + f->printed, n) < 0) {
			err_set(&why, ERR_SYS, errno, "cannot write events to standard output");
			fail(f, &why);
		}
		f->printed += n;
	}
	watch_end(f->writable);
	f->writable = NULL;
	buf_clear(&f->ready);
	f->printed = 0;
}

static void on_writable(void *cookie, int fd, unsigned int ready)
{
	(void)fd;
	(void)ready;
	pump(cookie);
}

static int print(struct feed *f, struct err *err)
{
	if (f->lines.len && buf_add(&f->ready, f->lines.data, f->lines.len) < 0)
		fail_memory(f);
	buf_clear(&f->lines);
	pump(f);
	return failed(f, err);
}

int feed_flush(struct feed *f, struct err *err)
{
	return record(f, err) < 0 ? -1 : print(f, err);
}

int feed_flush_with(struct feed *f, recorder_fn *fn, void *cookie, struct err *err)
{
	if (failed(f, err) < 0)
		return -1;
	recorder_first(f->recorder, fn, cookie);
	return feed_flush(f, err);
}

int feed_end(struct feed *f, const struct run_result *res, recorder_fn *fn, void *cookie, struct err *err)
{
	if (failed(f, err) < 0)
		return -1;
	release_output(f, 1);
	recorder_first(f->recorder, fn, cookie);
	if (recorder_finish(f->recorder, res, err) < 0)
		return -1;
	return print(f, err);
}

int feed_attach(struct feed *f, struct loop *loop, void (*on_failure)(void *cookie), void *cookie,
		struct err *err)
{
	watch_end(f->timer);
	watch_end(f->writable);
	f->timer = f->writable = NULL;
	f->loop = loop;
	f->on_failure = on_failure;
	f->cookie = cookie;
	arm(f);
	return f->failure.msg[0] ? err_set(err, f->failure.code, 0, "%s", f->failure.msg) : 0;
}

void feed_done(struct feed *f)
{
	watch_end(f->timer);
	watch_end(f->writable);
	recorder_free(f->recorder);
	buf_done(&f->lines);
	buf_done(&f->ready);
	buf_done(&f->held);
	for (size_t i = 0; i < f->n_refusals; i++) {
		free(f->refusal[i].action);
		free(f->refusal[i].target);
		free(f->refusal[i].rule);
		free(f->refusal[i].comm);
	}
	*f = (struct feed){ 0 };
}
