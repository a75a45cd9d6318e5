#include <errno.h>
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

/* What every line begins with; -1 out of memory. */
static int begin_line(const struct feed *f, struct json *line, const struct stamp *at, const char *type)
{
	char when[CLOCK_TEXT_SIZE];

	clock_text(at->ts_us, when);
	return json_add_str(line, "run", f->run_id) && json_add_int(line, "seq", at->seq) &&
		json_add_str(line, "ts", when) && json_add_str(line, "type", type) ? 0 : -1;
}

static int add_members(struct json *line, const struct json *data)
{
	for (const struct json *m = json_first(data); m; m = json_next(m))
		if (!json_add_copy(line, json_key(m), m))
			return -1;
	return 0;
}

static void print_line(struct feed *f, const struct stamp *at, const char *type, const struct json *data)
{
	OWN(json) struct json *line = NULL;
	OWN(mem) char *text = NULL;

	if (!f->as_json)
		return;
	line = json_new_object();
	if (line && !begin_line(f, line, at, type) && !add_members(line, data))
		text = json_print(line);
	if (!text || buf_adds(&f->lines, text) < 0 || buf_addc(&f->lines, '\n') < 0)
		fail_memory(f);
}

/* --- output --- */

static const char *stream_name(int stream)
{
	return stream == 1 ? "stdout" : "stderr";
}

int feed_text(struct json *to, const char *data, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = (const unsigned char *)data;
	OWN(mem) char *text = strndup(data, len);
	OWN(buf) struct buf b = { 0 };
	size_t i = 0, n = 1;

	for (; i < len && n; i += n)
		n = p[i] ? text_char(p + i, len - i) : 0;
	if (!text || !json_add_str(to, "data", text))
		return -1;
	if (n)
		return 0;
	for (i = 0; i < len; i += 3) {
		unsigned int v = (unsigned int)p[i] << 16 | (i + 1 < len ? p[i + 1] : 0u) << 8 |
			(i + 2 < len ? p[i + 2] : 0u);

		buf_addc(&b, digits[v >> 18]);
		buf_addc(&b, digits[v >> 12 & 63]);
		buf_addc(&b, i + 1 < len ? digits[v >> 6 & 63] : '=');
		buf_addc(&b, i + 2 < len ? digits[v & 63] : '=');
	}
	return b.failed || !json_add_str(to, "base64", b.data) ? -1 : 0;
}

/* The record says how much came and when; the bytes themselves go only to who asked for them. */
static int emit_output(struct feed *f, int stream, const char *data, size_t len)
{
	OWN(json) struct json *record = json_new_object();
	OWN(json) struct json *shown = json_new_object();
	const struct event ev = { .type = stream_name(stream), .data = record };
	struct stamp at;
	struct err err = { 0 };

	if (!record || !shown || !json_add_int(record, "bytes", (int64_t)len) || feed_text(shown, data, len) < 0) {
		fail_memory(f);
		return -1;
	}
	if (recorder_event(f->recorder, &ev, &at, &err) < 0) {
		fail(f, &err);
		return -1;
	}
	print_line(f, &at, ev.type, shown);
	return 0;
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

static void on_violation(struct event_sink *sink, const struct violation *v)
{
	struct feed *f = (struct feed *)sink;
	OWN(json) struct json *j = NULL;
	struct stamp at;
	struct err err = { 0 };

	if (f->failure.msg[0])
		return;
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

static int print(struct feed *f, struct err *err)
{
	struct err why = { 0 };

	if (!f->failure.msg[0] && f->lines.len && io_write_all(f->out, f->lines.data, f->lines.len) < 0) {
		err_set(&why, ERR_SYS, errno, "cannot write events to standard output");
		fail(f, &why);
	}
	buf_clear(&f->lines);
	return failed(f, err);
}

int feed_flush(struct feed *f, struct err *err)
{
	return record(f, err) < 0 ? -1 : print(f, err);
}

int feed_end(struct feed *f, const struct run_result *res, struct err *err)
{
	if (failed(f, err) < 0)
		return -1;
	release_output(f, 1);
	if (recorder_finish(f->recorder, res, err) < 0)
		return -1;
	return print(f, err);
}

int feed_attach(struct feed *f, struct loop *loop, void (*on_failure)(void *cookie), void *cookie,
		struct err *err)
{
	watch_end(f->timer);
	f->timer = NULL;
	f->loop = loop;
	f->on_failure = on_failure;
	f->cookie = cookie;
	arm(f);
	return f->failure.msg[0] ? err_set(err, f->failure.code, 0, "%s", f->failure.msg) : 0;
}

void feed_done(struct feed *f)
{
	watch_end(f->timer);
	recorder_free(f->recorder);
	buf_done(&f->lines);
	buf_done(&f->held);
	for (size_t i = 0; i < f->n_refusals; i++) {
		free(f->refusal[i].action);
		free(f->refusal[i].target);
		free(f->refusal[i].rule);
		free(f->refusal[i].comm);
	}
	*f = (struct feed){ 0 };
}
