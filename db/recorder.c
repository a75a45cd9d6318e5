#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "db/record.h"
#include "db/runs.h"

/* A queue this large is flushed before it takes more. */
#define QUEUE_ITEMS 1024
#define QUEUE_BYTES (1024 * 1024)
#define RECORD_BYTES (4 * 1024 * 1024)	/* of one record's texts */

#define COUNT_MAX (((int64_t)1 << 53) - 1)	/* a JSON number still */
#define MAX_TEXTS 10
#define NO_TEXT ((size_t)-1)
#define KEY_SIZE 16

enum kind { EVENT, VIOLATION, DECISION };

/* A record on its way, its texts in the form they are stored in. */
struct item {
	enum kind kind;
	int64_t seq, ts_us;
	size_t text[MAX_TEXTS];	/* offsets, NO_TEXT for NULL */
	enum layer layer;
	int64_t number[3];	/* pid; or a span and a time */
	size_t group;		/* of a violation */
};

/* Equal violations. */
struct group {
	unsigned char key[KEY_SIZE];
	int64_t seq, first_us, last_us, count;
	int is_stored, is_changed;
};

struct recorder {
	struct db *db;
	char *run_id;
	int64_t run;
	int has_ended;		/* the run; more records are sealed as they come */
	struct chain chain;	/* as of the last commit */
	int64_t last_us;
	recorder_fn *first;	/* of the next transaction */
	void *first_cookie;

	struct item *items;
	size_t n_items, cap_items;
	struct buf texts;

	struct group *groups;
	size_t n_groups, cap_groups, n_changed, max_groups;
	uint32_t *index;	/* hash table of group numbers + 1 */
	size_t index_size;
};

/* --- texts of a record, by table: where they are in the caller's struct --- */

static const size_t violation_texts[] = {
	offsetof(struct violation, action),	offsetof(struct violation, target),
	offsetof(struct violation, resolved),	offsetof(struct violation, rule),
	offsetof(struct violation, reason),	offsetof(struct violation, syscall),
	offsetof(struct violation, comm),	offsetof(struct violation, exe),
	offsetof(struct violation, command_id),	offsetof(struct violation, raw),
};
static_assert(ARRAY_LEN(violation_texts) <= MAX_TEXTS, "a place for each text");

static const size_t decision_texts[] = {
	offsetof(struct decision, line),	offsetof(struct decision, mode),
	offsetof(struct decision, verdict),	offsetof(struct decision, gate),
	offsetof(struct decision, rule),	offsetof(struct decision, reason),
	offsetof(struct decision, digest),	offsetof(struct decision, tool_use),
	offsetof(struct decision, classes),	offsetof(struct decision, answered_by),
};
static_assert(ARRAY_LEN(decision_texts) <= MAX_TEXTS, "a place for each text");

/* Append @s in its stored form and its NUL. */
static int add_text(struct buf *texts, const char *s, size_t *ret_offset)
{
	*ret_offset = s ? texts->len : NO_TEXT;
	return s ? text_store(texts, s, strlen(s)) | buf_addc(texts, '\0') : 0;
}

static int add_texts(struct buf *texts, const void *from, const size_t offsets[], size_t n, struct item *item,
		     struct err *err)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++) {
		const char *s = *(const char *const *)((const char *)from + offsets[i]);

		bytes += s ? strlen(s) : 0;
		if (bytes > RECORD_BYTES)
			return err_set(err, ERR_LIMIT, 0, "a record has more than %d bytes", RECORD_BYTES);
		if (add_text(texts, s, &item->text[i]) < 0)
			return err_set(err, ERR_NOMEM, 0, "out of memory");
	}
	return 0;
}

static void point_texts(const char *texts, const struct item *item, const size_t offsets[], size_t n, void *to)
{
	for (size_t i = 0; i < n; i++)
		*(const char **)((char *)to + offsets[i]) =
			item->text[i] == NO_TEXT ? NULL : texts + item->text[i];
}

static int violation_item(struct buf *texts, const struct violation *v, struct item *ret, struct err *err)
{
	*ret = (struct item){ .kind = VIOLATION, .layer = v->layer, .number = { v->pid } };
	assert(v->action);
	return add_texts(texts, v, violation_texts, ARRAY_LEN(violation_texts), ret, err);
}

static int decision_item(struct buf *texts, const struct decision *d, struct item *ret, struct err *err)
{
	*ret = (struct item){ .kind = DECISION, .number = { d->span_start, d->span_end, d->waited_us } };
	assert(d->line && d->verdict);
	return add_texts(texts, d, decision_texts, ARRAY_LEN(decision_texts), ret, err);
}

/* An event's data is JSON and stays as it is. */
static int event_item(struct buf *texts, const struct event *ev, struct item *ret, struct err *err)
{
	OWN(mem) char *data = ev->data ? json_print(ev->data) : NULL;

	*ret = (struct item){ .kind = EVENT };
	if (ev->data && !data)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (data && strlen(data) > RECORD_BYTES)
		return err_set(err, ERR_LIMIT, 0, "a record has more than %d bytes", RECORD_BYTES);
	if (add_text(texts, ev->type, &ret->text[0]) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	ret->text[1] = data ? texts->len : NO_TEXT;
	if (data && buf_add(texts, data, strlen(data) + 1) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return 0;
}

static void violation_of(const char *texts, const struct item *item, const char *run_id, struct violation_row *ret)
{
	*ret = (struct violation_row){
		.run_id = run_id, .seq = item->seq, .ts_us = item->ts_us, .last_us = item->ts_us,
		.v = { .layer = item->layer, .pid = item->number[0] },
	};
	point_texts(texts, item, violation_texts, ARRAY_LEN(violation_texts), &ret->v);
}

static void decision_of(const char *texts, const struct item *item, const char *run_id, struct decision_row *ret)
{
	*ret = (struct decision_row){
		.run_id = run_id, .seq = item->seq, .ts_us = item->ts_us,
		.d = { .span_start = item->number[0], .span_end = item->number[1], .waited_us = item->number[2] },
	};
	point_texts(texts, item, decision_texts, ARRAY_LEN(decision_texts), &ret->d);
}

/* --- making --- */

int recorder_new(struct db *db, const char *run_id, struct recorder **ret, struct err *err)
{
	OWN(recorder) struct recorder *r = calloc(1, sizeof(*r));
	int64_t ended_us = 0;

	if (!r || !(r->run_id = strdup(run_id)))
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	r->db = db;
	r->max_groups = RECORDER_MAX_VIOLATIONS;
	if (run_number(db, run_id, &r->run, err) < 0 || chain_load(db, r->run, &r->chain, err) < 0 ||
	    sql_int(db, err, &ended_us, "SELECT ended_us FROM runs WHERE n = ?", "i", r->run) < 0)
		return -1;
	r->has_ended = ended_us != 0;
	*ret = TAKE(r);
	return 0;
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	buf_done(&r->texts);
	free(r->items);
	free(r->groups);
	free(r->index);
	free(r->run_id);
	free(r);
}

void recorder_limit(struct recorder *r, size_t max)
{
	r->max_groups = max;
}

int recorder_pending(const struct recorder *r)
{
	return r->n_items || r->n_changed;
}

/* --- adding --- */

/* Room for one more item, flushing a large queue. */
static int make_room(struct recorder *r, struct err *err)
{
	struct item *items;
	size_t cap = r->cap_items ? 2 * r->cap_items : 16;

	if ((r->n_items >= QUEUE_ITEMS || r->texts.len >= QUEUE_BYTES) && recorder_flush(r, err) < 0)
		return -1;
	if (r->n_items < r->cap_items)
		return 0;
	items = reallocarray(r->items, cap, sizeof(*items));
	if (!items)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	r->items = items;
	r->cap_items = cap;
	return 0;
}

/* A run's times never go back, even if the clock does. */
static int64_t now_us(struct recorder *r)
{
	int64_t now = clock_wall_us();

	if (now > r->last_us)
		r->last_us = now;
	return r->last_us;
}

/* Half a record's texts must not stay when it could not be taken. */
static int undo_texts(struct recorder *r, size_t len)
{
	r->texts.len = len;
	r->texts.failed = 0;
	return -1;
}

static struct item *take(struct recorder *r, const struct item *item, struct stamp *ret)
{
	struct item *to = &r->items[r->n_items++];

	*to = *item;
	to->seq = r->chain.seq + (int64_t)r->n_items;
	to->ts_us = now_us(r);
	if (ret)
		*ret = (struct stamp){ .seq = to->seq, .ts_us = to->ts_us, .count = 1 };
	return to;
}

int recorder_event(struct recorder *r, const struct event *ev, struct stamp *ret, struct err *err)
{
	struct item item;
	size_t len;

	if (make_room(r, err) < 0)
		return -1;
	len = r->texts.len;
	if (event_item(&r->texts, ev, &item, err) < 0)
		return undo_texts(r, len);
	take(r, &item, ret);
	return 0;
}

int recorder_decision(struct recorder *r, const struct decision *d, struct stamp *ret, struct err *err)
{
	struct item item;
	size_t len;

	if (make_room(r, err) < 0)
		return -1;
	len = r->texts.len;
	if (decision_item(&r->texts, d, &item, err) < 0)
		return undo_texts(r, len);
	take(r, &item, ret);
	return 0;
}

/* --- equal violations --- */

static int make_key(const struct violation *v, unsigned char ret[KEY_SIZE])
{
	OWN(buf) struct buf b = { 0 };
	unsigned char sum[DIGEST_SIZE];

	put_number(&b, v->layer);
	put_text(&b, v->action);
	put_text(&b, v->target);
	put_text(&b, v->rule);
	put_text(&b, v->comm);
	if (b.failed)
		return -1;
	digest_raw(b.data, b.len, sum);
	memcpy(ret, sum, KEY_SIZE);
	return 0;
}

/* Where @key is in the index, or would be. The index is never full. */
static uint32_t *slot_of(const struct recorder *r, const unsigned char key[KEY_SIZE])
{
	size_t i;

	memcpy(&i, key, sizeof(i));
	for (i &= r->index_size - 1; r->index[i]; i = (i + 1) & (r->index_size - 1))
		if (!memcmp(r->groups[r->index[i] - 1].key, key, KEY_SIZE))
			break;
	return &r->index[i];
}

/* Room for one more group, in the array and in an index that stays half empty. */
static int grow_groups(struct recorder *r)
{
	size_t cap = r->cap_groups ? 2 * r->cap_groups : 16;
	struct group *groups;
	uint32_t *index;

	if (r->n_groups < r->cap_groups)
		return 0;
	groups = reallocarray(r->groups, cap, sizeof(*groups));
	if (!groups)
		return -1;
	r->groups = groups;
	index = calloc(2 * cap, sizeof(*index));
	if (!index)
		return -1;
	free(r->index);
	r->index = index;
	r->index_size = 2 * cap;
	r->cap_groups = cap;
	for (size_t i = 0; i < r->n_groups; i++)
		*slot_of(r, r->groups[i].key) = (uint32_t)i + 1;
	return 0;
}

static struct group *find(const struct recorder *r, const unsigned char key[KEY_SIZE])
{
	uint32_t n = r->index ? *slot_of(r, key) : 0;

	return n ? &r->groups[n - 1] : NULL;
}

static void count(struct recorder *r, struct group *g, int64_t times, struct stamp *ret)
{
	g->last_us = now_us(r);
	g->count = times > COUNT_MAX - g->count ? COUNT_MAX : g->count + times;
	if (g->is_stored && !g->is_changed) {
		g->is_changed = 1;
		r->n_changed++;
	}
	if (ret)
		*ret = (struct stamp){ .seq = g->seq, .ts_us = g->last_us, .count = g->count };
}

static int add_first(struct recorder *r, const struct violation *v, const unsigned char key[KEY_SIZE],
		     struct stamp *ret, struct err *err)
{
	struct group *g;
	struct item item, *taken;
	size_t len;

	if (make_room(r, err) < 0)
		return -1;
	if (grow_groups(r) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	len = r->texts.len;
	if (violation_item(&r->texts, v, &item, err) < 0)
		return undo_texts(r, len);
	taken = take(r, &item, ret);
	taken->group = r->n_groups;
	*slot_of(r, key) = (uint32_t)r->n_groups + 1;
	g = &r->groups[r->n_groups++];
	*g = (struct group){ .seq = taken->seq, .first_us = taken->ts_us, .last_us = taken->ts_us,
			     .count = v->count > 0 ? v->count : 1 };
	memcpy(g->key, key, KEY_SIZE);
	if (ret)
		ret->count = g->count;
	return 0;
}

int recorder_violation(struct recorder *r, const struct violation *v, struct stamp *ret, struct err *err)
{
	/* Of a program that is refused something else each time, enough is on record. */
	const struct violation rest = {
		.layer = v->layer, .action = v->action, .count = v->count, .rule = "limit of different refusals",
		.reason = "this run was refused too many different things to list: the others are only counted",
	};
	unsigned char key[KEY_SIZE];
	struct group *g;

	if (make_key(v, key) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	g = find(r, key);
	if (!g && r->n_groups >= r->max_groups) {
		v = &rest;
		if (make_key(v, key) < 0)
			return err_set(err, ERR_NOMEM, 0, "out of memory");
		g = find(r, key);
	}
	if (!g)
		return add_first(r, v, key, ret, err);
	count(r, g, v->count > 0 ? v->count : 1, ret);
	return 0;
}

/* --- writing --- */

static int write_violation(struct recorder *r, const struct item *item, struct chain *chain, struct err *err)
{
	const struct group *g = &r->groups[item->group];
	struct violation_row row;

	violation_of(r->texts.data, item, r->run_id, &row);
	row.v.count = g->count;
	row.last_us = g->last_us;
	return violation_append(r->db, chain, r->run, &row, err);
}

static int write_item(struct recorder *r, const struct item *item, struct chain *chain, struct err *err)
{
	struct decision_row decision;
	struct event_row event;

	switch (item->kind) {
	case VIOLATION:
		return write_violation(r, item, chain, err);
	case DECISION:
		decision_of(r->texts.data, item, r->run_id, &decision);
		return decision_append(r->db, chain, r->run, &decision, err);
	default:
		event = (struct event_row){
			.run_id = r->run_id, .seq = item->seq, .ts_us = item->ts_us,
			.type = r->texts.data + item->text[0],
			.data = item->text[1] == NO_TEXT ? NULL : r->texts.data + item->text[1],
		};
		return event_append(r->db, chain, &event, err);
	}
}

static int write_counts(struct recorder *r, struct err *err)
{
	for (size_t i = 0; r->n_changed && i < r->n_groups; i++) {
		const struct group *g = &r->groups[i];

		if (g->is_changed &&
		    sql_run(r->db, err, "UPDATE violations SET count = ?, lasted_us = ? WHERE chain = ? AND seq = ?",
			    "iiii", g->count, g->last_us - g->first_us, r->run, g->seq) < 0)
			return -1;
	}
	return 0;
}

struct flush {
	struct recorder *r;
	const struct run_result *res;	/* not NULL: it ends */
	struct chain chain;		/* as it will be */
};

static int flush_tx(struct db *db, void *cookie, struct err *err)
{
	struct flush *f = cookie;
	struct recorder *r = f->r;

	if ((r->first && r->first(db, r->first_cookie, err) < 0) || chain_load(db, r->run, &f->chain, err) < 0)
		return -1;
	if (f->chain.seq != r->chain.seq || memcmp(f->chain.head, r->chain.head, DIGEST_SIZE))
		return err_set(err, ERR_BUSY, 0, "another process has written records of run '%s'", r->run_id);
	for (size_t i = 0; i < r->n_items; i++)
		if (write_item(r, &r->items[i], &f->chain, err) < 0)
			return -1;
	if (write_counts(r, err) < 0 || (r->n_items && chain_store(db, &f->chain, err) < 0))
		return -1;
	if (f->res)
		return run_close(db, r->run_id, f->res, err);
	return r->has_ended ? chain_seal(db, r->run, err) : 0;
}

static void mark_written(struct recorder *r, const struct chain *chain)
{
	r->chain = *chain;
	for (size_t i = 0; i < r->n_items; i++)
		if (r->items[i].kind == VIOLATION)
			r->groups[r->items[i].group].is_stored = 1;
	for (size_t i = 0; r->n_changed && i < r->n_groups; i++)
		r->groups[i].is_changed = 0;
	r->n_changed = 0;
	r->n_items = 0;
	buf_clear(&r->texts);
}

static int flush(struct recorder *r, const struct run_result *res, struct err *err)
{
	struct flush f = { .r = r, .res = res };
	int done;

	/* In somebody's transaction this could still be undone after we forgot the queue. */
	assert(!r->db->in_tx);
	done = tx_run(r->db, flush_tx, &f, err);
	r->first = NULL;
	if (done < 0)
		return err_wrap(err, "cannot record run '%s'", r->run_id);
	mark_written(r, &f.chain);
	r->has_ended |= res != NULL;
	return 0;
}

int recorder_flush(struct recorder *r, struct err *err)
{
	return r->first || recorder_pending(r) ? flush(r, NULL, err) : 0;
}

void recorder_first(struct recorder *r, recorder_fn *fn, void *cookie)
{
	r->first = fn;
	r->first_cookie = cookie;
}

int recorder_finish(struct recorder *r, const struct run_result *res, struct err *err)
{
	return flush(r, res, err);
}

/* --- records of no supervisor --- */

struct loose {
	const char *run_id;
	struct item item;
	struct buf texts;
	int64_t count;
};

static int append_loose(struct db *db, struct chain *chain, int64_t run, struct loose *l, struct err *err)
{
	struct violation_row violation;
	struct decision_row decision;

	l->item.seq = chain->seq + 1;
	l->item.ts_us = clock_wall_us();
	if (l->item.kind == DECISION) {
		decision_of(l->texts.data, &l->item, l->run_id, &decision);
		return decision_append(db, chain, run, &decision, err);
	}
	violation_of(l->texts.data, &l->item, l->run_id, &violation);
	violation.v.count = l->count > 0 ? l->count : 1;
	return violation_append(db, chain, run, &violation, err);
}

static int loose_tx(struct db *db, void *cookie, struct err *err)
{
	struct loose *l = cookie;
	struct chain chain;
	int64_t run = 0;

	if (l->run_id && run_number(db, l->run_id, &run, err) < 0)
		return -1;
	if (chain_load(db, CHAIN_LOOSE, &chain, err) < 0 || append_loose(db, &chain, run, l, err) < 0)
		return -1;
	return chain_store(db, &chain, err);
}

int violation_record(struct db *db, const char *run_id, const struct violation *v, struct err *err)
{
	struct loose l = { .run_id = run_id, .count = v->count };
	int r = violation_item(&l.texts, v, &l.item, err);

	if (!r)
		r = tx_run(db, loose_tx, &l, err);
	buf_done(&l.texts);
	return r;
}

int decision_record(struct db *db, const char *run_id, const struct decision *d, struct err *err)
{
	struct loose l = { .run_id = run_id };
	int r = decision_item(&l.texts, d, &l.item, err);

	if (!r)
		r = tx_run(db, loose_tx, &l, err);
	buf_done(&l.texts);
	return r;
}
