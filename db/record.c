#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "db/record.h"

/* --- chains --- */

int chain_make(struct db *db, int64_t id, struct err *err)
{
	return sql_run(db, err, "INSERT INTO chains VALUES(?, 0, zeroblob(32), randomblob(32))", "i", id);
}

static int copy_digest(sqlite3_stmt *st, int column, unsigned char ret[DIGEST_SIZE])
{
	const void *bytes = sqlite3_column_blob(st, column);

	if (!bytes || sqlite3_column_bytes(st, column) != DIGEST_SIZE)
		return -1;
	memcpy(ret, bytes, DIGEST_SIZE);
	return 0;
}

int chain_load(struct db *db, int64_t id, struct chain *ret, struct err *err)
{
	OWN(stmt) sqlite3_stmt *st = sql_query(db, err, "SELECT seq, head, salt FROM chains WHERE id = ?", "i", id);
	int r = st ? sql_step(db, st, err) : -1;

	if (r < 0)
		return -1;
	if (!r || copy_digest(st, 1, ret->head) < 0 || copy_digest(st, 2, ret->salt) < 0)
		return err_set(err, ERR_INPUT, 0, "the chain of records %lld is missing or damaged", (long long)id);
	ret->id = id;
	ret->seq = sqlite3_column_int64(st, 0);
	return 0;
}

int chain_store(struct db *db, const struct chain *chain, struct err *err)
{
	return sql_run(db, err, "UPDATE chains SET seq = ?, head = ? WHERE id = ?", "idi", chain->seq, chain->head,
		       chain->id);
}

/* --- what is hashed --- */

void put_text(struct buf *b, const char *s)
{
	if (s)
		buf_addf(b, "%zu:%s;", strlen(s), s);
	else
		buf_adds(b, "-;");
}

void put_number(struct buf *b, int64_t n)
{
	buf_addf(b, "%lld;", (long long)n);
}

/*
 * The digest behind @chain's head of a record with these @meta fields; @texts
 * begins with the salt.
 */
static int finish(const struct chain *chain, const struct buf *meta, const struct buf *texts,
		  unsigned char ret[DIGEST_SIZE])
{
	OWN(buf) struct buf all = { 0 };
	unsigned char inner[DIGEST_SIZE];

	if (meta->failed || texts->failed)
		return -1;
	digest_raw(texts->data, texts->len, inner);
	buf_add(&all, chain->head, DIGEST_SIZE);
	buf_add(&all, meta->data, meta->len);
	if (buf_add(&all, inner, DIGEST_SIZE) < 0)
		return -1;
	digest_raw(all.data, all.len, ret);
	return 0;
}

int event_digest(const struct chain *chain, const struct event_row *row, unsigned char ret[DIGEST_SIZE])
{
	OWN(buf) struct buf meta = { 0 }, texts = { 0 };

	put_text(&meta, "event");
	put_text(&meta, row->run_id);
	put_number(&meta, row->seq);
	put_number(&meta, row->ts_us);
	put_text(&meta, row->type);
	buf_add(&texts, chain->salt, DIGEST_SIZE);
	put_text(&texts, row->data);
	return finish(chain, &meta, &texts, ret);
}

int violation_digest(const struct chain *chain, const struct violation_row *row, unsigned char ret[DIGEST_SIZE])
{
	const struct violation *v = &row->v;
	const char *const fields[] = { v->target, v->resolved, v->rule, v->reason, v->syscall, v->comm, v->exe,
				       v->command_id, v->raw };
	OWN(buf) struct buf meta = { 0 }, texts = { 0 };

	put_text(&meta, "violation");
	put_text(&meta, row->run_id);
	put_number(&meta, row->seq);
	put_number(&meta, row->ts_us);
	put_text(&meta, layer_name(v->layer));
	put_text(&meta, v->action);
	put_number(&meta, v->pid);
	buf_add(&texts, chain->salt, DIGEST_SIZE);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		put_text(&texts, fields[i]);
	return finish(chain, &meta, &texts, ret);
}

int decision_digest(const struct chain *chain, const struct decision_row *row, unsigned char ret[DIGEST_SIZE])
{
	const struct decision *d = &row->d;
	const char *const fields[] = { d->line, d->gate, d->rule, d->reason, d->digest, d->tool_use };
	OWN(buf) struct buf meta = { 0 }, texts = { 0 };

	put_text(&meta, "decision");
	put_text(&meta, row->run_id);
	put_number(&meta, row->seq);
	put_number(&meta, row->ts_us);
	put_text(&meta, d->verdict);
	put_text(&meta, d->mode);
	put_number(&meta, d->span_start);
	put_number(&meta, d->span_end);
	buf_add(&texts, chain->salt, DIGEST_SIZE);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		put_text(&texts, fields[i]);
	/* Older rows have none of these, and a digest without them. */
	if (d->classes || d->answered_by || d->waited_us) {
		put_text(&texts, d->classes);
		put_text(&texts, d->answered_by);
		put_number(&texts, d->waited_us);
	}
	return finish(chain, &meta, &texts, ret);
}

/* --- appending --- */

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

static void advance(struct chain *chain, const unsigned char digest[DIGEST_SIZE])
{
	chain->seq++;
	memcpy(chain->head, digest, DIGEST_SIZE);
}

int event_append(struct db *db, struct chain *chain, const struct event_row *row, struct err *err)
{
	unsigned char digest[DIGEST_SIZE];

	assert(row->seq == chain->seq + 1);
	if (event_digest(chain, row, digest) < 0)
		return no_memory(err);
	if (sql_run(db, err, "INSERT INTO events VALUES(?, ?, ?, ?, ?, ?)", "iiittd", chain->id, row->seq,
		    row->ts_us, row->type, row->data, digest) < 0)
		return -1;
	advance(chain, digest);
	return 0;
}

/* Numbers of @n texts in the dictionary. */
static int find_words(struct db *db, const char *const texts[], size_t n, int64_t *ret, struct err *err)
{
	for (size_t i = 0; i < n; i++)
		if ((ret[i] = word_id(db, texts[i], err)) < 0)
			return -1;
	return 0;
}

int violation_append(struct db *db, struct chain *chain, int64_t run, const struct violation_row *row,
		     struct err *err)
{
	const struct violation *v = &row->v;
	const char *const texts[] = { layer_name(v->layer), v->action, v->target, v->resolved, v->rule, v->reason,
				      v->syscall, v->comm, v->exe };
	int64_t w[ARRAY_LEN(texts)];
	unsigned char digest[DIGEST_SIZE];

	assert(row->seq == chain->seq + 1);
	if (violation_digest(chain, row, digest) < 0)
		return no_memory(err);
	if (find_words(db, texts, ARRAY_LEN(texts), w, err) < 0)
		return -1;
	if (sql_run(db, err,
		    "INSERT INTO violations VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		    "iiniiiiinnnnnnnnttd", chain->id, row->seq, run, row->ts_us, row->last_us - row->ts_us, v->count,
		    w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], v->pid, v->command_id, v->raw, digest) < 0)
		return -1;
	advance(chain, digest);
	return 0;
}

int decision_append(struct db *db, struct chain *chain, int64_t run, const struct decision_row *row,
		    struct err *err)
{
	const struct decision *d = &row->d;
	const char *const texts[] = { d->verdict, d->mode, d->gate, d->rule, d->reason, d->classes, d->answered_by };
	int64_t w[ARRAY_LEN(texts)];
	unsigned char digest[DIGEST_SIZE];

	assert(row->seq == chain->seq + 1);
	if (decision_digest(chain, row, digest) < 0)
		return no_memory(err);
	if (find_words(db, texts, ARRAY_LEN(texts), w, err) < 0)
		return -1;
	if (sql_run(db, err,
		    "INSERT INTO decisions VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		    "iiniinnnntiittdnnn", chain->id, row->seq, run, row->ts_us, w[0], w[1], w[2], w[3], w[4], d->line,
		    d->span_start, d->span_end, d->digest, d->tool_use, digest, w[5], w[6], d->waited_us) < 0)
		return -1;
	advance(chain, digest);
	return 0;
}

/* --- reading --- */

sqlite3_value *event_read(sqlite3_value **c, struct event_row *ret)
{
	*ret = (struct event_row){
		.seq = sqlite3_value_int64(c[0]),
		.run_id = text_of(c[1]),
		.ts_us = sqlite3_value_int64(c[2]),
		.type = text_of(c[3]),
		.data = text_of(c[4]),
	};
	return c[5];
}

sqlite3_value *violation_read(sqlite3_value **c, struct violation_row *ret)
{
	const char *layer = text_of(c[7]);

	*ret = (struct violation_row){
		.ts_us = sqlite3_value_int64(c[0]),
		.id = sqlite3_value_int64(c[1]),
		.seq = sqlite3_value_int64(c[2]),
		.run_id = text_of(c[3]),
		.mode = text_of(c[4]),
		.last_us = sqlite3_value_int64(c[0]) + sqlite3_value_int64(c[5]),
		.v = {
			.count = sqlite3_value_int64(c[6]),
			.action = text_of(c[8]),
			.target = text_of(c[9]),
			.resolved = text_of(c[10]),
			.rule = text_of(c[11]),
			.reason = text_of(c[12]),
			.syscall = text_of(c[13]),
			.comm = text_of(c[14]),
			.exe = text_of(c[15]),
			.pid = sqlite3_value_int64(c[16]),
			.command_id = text_of(c[17]),
			.raw = text_of(c[18]),
		},
	};
	if (layer)
		layer_parse(layer, &ret->v.layer);
	return c[19];
}

sqlite3_value *decision_read(sqlite3_value **c, struct decision_row *ret)
{
	*ret = (struct decision_row){
		.ts_us = sqlite3_value_int64(c[0]),
		.id = sqlite3_value_int64(c[1]),
		.seq = sqlite3_value_int64(c[2]),
		.run_id = text_of(c[3]),
		.d = {
			.verdict = text_of(c[4]),
			.mode = text_of(c[5]),
			.gate = text_of(c[6]),
			.rule = text_of(c[7]),
			.reason = text_of(c[8]),
			.line = text_of(c[9]),
			.span_start = sqlite3_value_int64(c[10]),
			.span_end = sqlite3_value_int64(c[11]),
			.digest = text_of(c[12]),
			.tool_use = text_of(c[13]),
			.classes = text_of(c[14]),
			.answered_by = text_of(c[15]),
			.waited_us = sqlite3_value_int64(c[16]),
		},
	};
	return c[17];
}
