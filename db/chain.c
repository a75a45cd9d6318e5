#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "db/chain.h"
#include "db/record.h"

struct seal {
	int64_t n, chain, ts_us, seq;
	unsigned char head[DIGEST_SIZE], counts[DIGEST_SIZE], facts[DIGEST_SIZE], digest[DIGEST_SIZE];
};

/* --- sealing --- */

/* Counts may grow after a record was written, so no record's digest covers them. */
static int digest_counts(struct db *db, int64_t chain, int64_t seq, unsigned char ret[DIGEST_SIZE], struct err *err)
{
	OWN(stmt) sqlite3_stmt *st = NULL;
	OWN(buf) struct buf b = { 0 };
	int r;

	st = sql_query(db, err, "SELECT seq, count, lasted_us FROM violations WHERE chain = ? AND seq <= ? ORDER BY seq",
		       "ii", chain, seq);
	if (!st)
		return -1;
	while ((r = sql_step(db, st, err)) > 0)
		for (int i = 0; i < 3; i++)
			put_number(&b, sqlite3_column_int64(st, i));
	if (r < 0)
		return -1;
	if (b.failed)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	digest_raw(b.data ? b.data : "", b.len, ret);
	return 0;
}

static int digest_seal(const struct seal *s, const unsigned char previous[DIGEST_SIZE],
		       unsigned char ret[DIGEST_SIZE])
{
	OWN(buf) struct buf b = { 0 };

	buf_add(&b, previous, DIGEST_SIZE);
	put_text(&b, "seal");
	put_number(&b, s->n);
	put_number(&b, s->chain);
	put_number(&b, s->ts_us);
	put_number(&b, s->seq);
	buf_add(&b, s->head, DIGEST_SIZE);
	buf_add(&b, s->counts, DIGEST_SIZE);
	if (buf_add(&b, s->facts, DIGEST_SIZE) < 0)
		return -1;
	digest_raw(b.data, b.len, ret);
	return 0;
}

#define SEAL_SELECT "SELECT n, chain, ts_us, seq, head, counts, facts, digest FROM seals"

/* -1: a digest of it has not the right size, and is left as zeroes. */
static int read_seal(sqlite3_stmt *st, struct seal *ret)
{
	unsigned char *const digests[] = { ret->head, ret->counts, ret->facts, ret->digest };

	*ret = (struct seal){
		.n = sqlite3_column_int64(st, 0),
		.chain = sqlite3_column_int64(st, 1),
		.ts_us = sqlite3_column_int64(st, 2),
		.seq = sqlite3_column_int64(st, 3),
	};
	for (int i = 0; i < (int)ARRAY_LEN(digests); i++) {
		const void *bytes = sqlite3_column_blob(st, 4 + i);

		if (!bytes || sqlite3_column_bytes(st, 4 + i) != DIGEST_SIZE)
			return -1;
		memcpy(digests[i], bytes, DIGEST_SIZE);
	}
	return 0;
}

/* The newest seal: of @chain, or of all with -1. 1, 0 if there is none (zeroed), -1. */
static int last_seal(struct db *db, int64_t chain, struct seal *ret, struct err *err)
{
	OWN(stmt) sqlite3_stmt *st = NULL;
	int r;

	*ret = (struct seal){ 0 };
	if (chain < 0)
		st = sql_query(db, err, SEAL_SELECT " ORDER BY n DESC LIMIT 1", "");
	else
		st = sql_query(db, err, SEAL_SELECT " WHERE chain = ? ORDER BY n DESC LIMIT 1", "i", chain);
	r = st ? sql_step(db, st, err) : -1;
	if (r > 0 && read_seal(st, ret) < 0)
		return err_set(err, ERR_INPUT, 0, "seal %lld is damaged", (long long)ret->n);
	return r;
}

static int seal(struct db *db, const struct chain *chain, struct err *err)
{
	struct seal last, s = { .chain = chain->id, .seq = chain->seq, .ts_us = clock_wall_us() };

	if (last_seal(db, -1, &last, err) < 0)
		return -1;
	s.n = last.n + 1;
	memcpy(s.head, chain->head, DIGEST_SIZE);
	if (digest_counts(db, s.chain, s.seq, s.counts, err) < 0 || run_facts(db, s.chain, s.facts, err) < 0)
		return -1;
	if (digest_seal(&s, last.digest, s.digest) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return sql_run(db, err, "INSERT INTO seals VALUES(?, ?, ?, ?, ?, ?, ?, ?)", "iiiidddd", s.n, s.chain, s.ts_us,
		       s.seq, s.head, s.counts, s.facts, s.digest);
}

int chain_seal(struct db *db, int64_t id, struct err *err)
{
	struct chain chain, loose;
	struct seal last;

	if (chain_load(db, id, &chain, err) < 0 || seal(db, &chain, err) < 0)
		return -1;
	if (chain_load(db, CHAIN_LOOSE, &loose, err) < 0 || last_seal(db, CHAIN_LOOSE, &last, err) < 0)
		return -1;
	return loose.seq > last.seq ? seal(db, &loose, err) : 0;
}

/* --- verifying: the records of one chain, merged from three tables --- */

enum source_kind { EVENTS, VIOLATIONS, DECISIONS, SOURCES };

struct source {
	sqlite3_stmt *st;
	sqlite3_value *v[24];
	int columns;
	int has_row;
	int64_t seq;
};

static const struct {
	const char *sql;
	int seq_column;
} sources[] = {
	[EVENTS] = { EVENT_SELECT " WHERE e.chain = ? ORDER BY e.seq", 0 },
	[VIOLATIONS] = { VIOLATION_SELECT " WHERE v.chain = ? ORDER BY v.seq", 2 },
	[DECISIONS] = { DECISION_SELECT " WHERE d.chain = ? ORDER BY d.seq", 2 },
};

struct walk {
	struct db *db;
	struct source source[SOURCES];
	struct chain at;	/* recomputed so far */
	struct chain_report *report;
};

static void let_go(struct source *s)
{
	for (int i = 0; i < s->columns; i++)
		sqlite3_value_free(s->v[i]);
	s->columns = 0;
	s->has_row = 0;
}

static void own_walk(struct walk *w)
{
	for (int i = 0; i < SOURCES; i++) {
		let_go(&w->source[i]);
		sql_end(w->source[i].st);
	}
}

/* The next row of a source, as copies, since three statements go on beside each other. */
static int advance(struct walk *w, enum source_kind kind, struct err *err)
{
	struct source *s = &w->source[kind];
	int r, n;

	let_go(s);
	r = sql_step(w->db, s->st, err);
	if (r <= 0)
		return r;
	n = sqlite3_column_count(s->st);
	for (; s->columns < n && s->columns < (int)ARRAY_LEN(s->v); s->columns++) {
		s->v[s->columns] = sqlite3_value_dup(sqlite3_column_value(s->st, s->columns));
		if (!s->v[s->columns])
			return err_set(err, ERR_NOMEM, 0, "out of memory");
	}
	s->seq = sqlite3_value_int64(s->v[sources[kind].seq_column]);
	s->has_row = 1;
	return 0;
}

static int start(struct walk *w, int64_t chain, struct err *err)
{
	for (int i = 0; i < SOURCES; i++) {
		w->source[i].st = sql_query(w->db, err, sources[i].sql, "i", chain);
		if (!w->source[i].st || advance(w, (enum source_kind)i, err) < 0)
			return -1;
	}
	return 0;
}

/* Whose turn it is: the lowest number. -1: all are at their end. */
static int pick(const struct walk *w)
{
	int best = -1;

	for (int i = 0; i < SOURCES; i++)
		if (w->source[i].has_row && (best < 0 || w->source[i].seq < w->source[best].seq))
			best = i;
	return best;
}

/* What was found out; a result, not a failure. */
static int found(struct chain_report *report, int64_t seq, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int found(struct chain_report *report, int64_t seq, const char *fmt, ...)
{
	va_list ap;

	report->is_intact = 0;
	report->bad_seq = seq;
	va_start(ap, fmt);
	vsnprintf(report->why, sizeof(report->why), fmt, ap);
	va_end(ap);
	return 1;
}

static int recompute(const struct walk *w, enum source_kind kind, unsigned char ret[DIGEST_SIZE],
		     sqlite3_value **ret_stored)
{
	sqlite3_value **v = (sqlite3_value **)(size_t)w->source[kind].v;
	struct violation_row violation;
	struct decision_row decision;
	struct event_row event;

	switch (kind) {
	case EVENTS:
		*ret_stored = event_read(v, &event);
		return event_digest(&w->at, &event, ret);
	case VIOLATIONS:
		*ret_stored = violation_read(v, &violation);
		return violation_digest(&w->at, &violation, ret);
	default:
		*ret_stored = decision_read(v, &decision);
		return decision_digest(&w->at, &decision, ret);
	}
}

/* 0 it is right, 1 it is not, -1 */
static int check_record(struct walk *w, enum source_kind kind, struct err *err)
{
	int64_t seq = w->source[kind].seq, next = w->at.seq + 1;
	unsigned char digest[DIGEST_SIZE];
	sqlite3_value *stored;

	if (seq > next)
		return found(w->report, next, "record %lld is missing", (long long)next);
	if (seq < next)
		return found(w->report, seq, "record %lld is there twice", (long long)seq);
	if (recompute(w, kind, digest, &stored) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (sqlite3_value_bytes(stored) != DIGEST_SIZE || memcmp(sqlite3_value_blob(stored), digest, DIGEST_SIZE))
		return found(w->report, seq, "record %lld was changed", (long long)seq);
	w->at.seq = seq;
	memcpy(w->at.head, digest, DIGEST_SIZE);
	w->report->records++;
	return 0;
}

/* --- verifying: seals of one chain against its records --- */

struct seals {
	struct seal *v;
	size_t n;
};

static void own_seals(struct seals *s)
{
	free(s->v);
}

static int load_seals(struct db *db, int64_t chain, struct seals *ret, struct err *err)
{
	OWN(stmt) sqlite3_stmt *st = sql_query(db, err, SEAL_SELECT " WHERE chain = ? ORDER BY n", "i", chain);
	int r;

	if (!st)
		return -1;
	while ((r = sql_step(db, st, err)) > 0) {
		struct seal *v = reallocarray(ret->v, ret->n + 1, sizeof(*v));

		if (!v)
			return err_set(err, ERR_NOMEM, 0, "out of memory");
		ret->v = v;
		read_seal(st, &v[ret->n++]);	/* zeroes fit no record */
	}
	return r;
}

/* Seals made when the chain was as long as it is at @at. */
static int check_heads(const struct seals *seals, const struct chain *at, struct chain_report *report)
{
	for (size_t i = 0; i < seals->n; i++)
		if (seals->v[i].seq == at->seq && memcmp(seals->v[i].head, at->head, DIGEST_SIZE))
			return found(report, at->seq, "seal %lld does not fit record %lld", (long long)seals->v[i].n,
				     (long long)at->seq);
	return 0;
}

/* What no record's digest covers: counts, and the run's row. */
static int check_last_seal(struct walk *w, const struct seals *seals, struct err *err)
{
	const struct seal *last = seals->n ? &seals->v[seals->n - 1] : NULL;
	unsigned char counts[DIGEST_SIZE], facts[DIGEST_SIZE];

	if (!last)
		return 0;
	if (last->seq > w->at.seq)
		return found(w->report, w->at.seq + 1, "record %lld is missing", (long long)w->at.seq + 1);
	if (digest_counts(w->db, last->chain, last->seq, counts, err) < 0 ||
	    run_facts(w->db, last->chain, facts, err) < 0)
		return -1;
	if (memcmp(counts, last->counts, DIGEST_SIZE))
		return found(w->report, 0, "how often something was refused was changed");
	if (memcmp(facts, last->facts, DIGEST_SIZE))
		return found(w->report, 0, "the row of the run was changed");
	w->report->is_sealed = last->seq == w->at.seq;
	return 0;
}

/* The chain's own row says how long it is and how it ends. */
static int check_end(struct walk *w, const struct chain *stored)
{
	if (stored->seq > w->at.seq)
		return found(w->report, w->at.seq + 1, "record %lld is missing", (long long)w->at.seq + 1);
	if (stored->seq < w->at.seq)
		return found(w->report, stored->seq + 1, "record %lld was added from outside",
			     (long long)stored->seq + 1);
	if (memcmp(stored->head, w->at.head, DIGEST_SIZE))
		return found(w->report, w->at.seq, "the head of the chain was changed");
	return 0;
}

static int verify(struct db *db, int64_t id, struct chain_report *report, struct err *err)
{
	__attribute__((cleanup(own_seals))) struct seals seals = { 0 };
	__attribute__((cleanup(own_walk))) struct walk w = { .db = db, .report = report };
	struct chain stored;
	int kind, r;

	if (chain_load(db, id, &stored, err) < 0 || load_seals(db, id, &seals, err) < 0)
		return -1;
	w.at = (struct chain){ .id = id };
	memcpy(w.at.salt, stored.salt, DIGEST_SIZE);
	report->is_intact = 1;
	if (start(&w, id, err) < 0)
		return -1;
	r = check_heads(&seals, &w.at, report);
	while (!r && (kind = pick(&w)) >= 0) {
		r = check_record(&w, (enum source_kind)kind, err);
		if (!r)
			r = check_heads(&seals, &w.at, report);
		if (!r)
			r = advance(&w, (enum source_kind)kind, err);
	}
	if (!r)
		r = check_end(&w, &stored);
	if (!r)
		r = check_last_seal(&w, &seals, err);
	digest_to_hex(w.at.head, report->head);
	return r < 0 ? -1 : 0;
}

/* All of one state of the file: a supervisor may be writing meanwhile. */
static int in_one_state(struct db *db, int64_t id, int (*fn)(struct db *db, int64_t id,
			struct chain_report *report, struct err *err), struct chain_report *report, struct err *err)
{
	int is_ours = !db->in_tx, r;

	*report = (struct chain_report){ 0 };
	if (is_ours && sqlite3_exec(db->sql, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
		return db_fail(db, "read", err);
	r = fn(db, id, report, err);
	if (is_ours)
		sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

int chain_verify(struct db *db, const char *run_id, struct chain_report *ret, struct err *err)
{
	int64_t id = CHAIN_LOOSE;

	if (run_id && run_number(db, run_id, &id, err) < 0)
		return -1;
	return in_one_state(db, id, verify, ret, err);
}

/* --- verifying: the chain over all runs --- */

static int check_seal(const struct seal *s, struct seal *last, struct chain_report *report, struct err *err)
{
	unsigned char digest[DIGEST_SIZE];

	if (s->n != last->n + 1)
		return found(report, last->n + 1, "seal %lld is missing", (long long)last->n + 1);
	if (digest_seal(s, last->digest, digest) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (memcmp(digest, s->digest, DIGEST_SIZE))
		return found(report, s->n, "seal %lld was changed", (long long)s->n);
	*last = *s;
	report->records++;
	return 0;
}

/* An end without a seal: the last seals were cut off. A seal without a run: the run was. */
static int check_ends(struct db *db, struct chain_report *report, struct err *err)
{
	OWN(stmt) sqlite3_stmt *open = NULL, *gone = NULL;
	int r;

	open = sql_query(db, err, "SELECT id FROM runs WHERE ended_us IS NOT NULL"
				  " AND n NOT IN (SELECT chain FROM seals) LIMIT 1", "");
	r = open ? sql_step(db, open, err) : -1;
	if (r < 0)
		return -1;
	if (r)
		return found(report, 0, "run '%s' has ended without a seal", sqlite3_column_text(open, 0));
	gone = sql_query(db, err, "SELECT n FROM seals WHERE chain <> 0 AND chain NOT IN (SELECT n FROM runs) LIMIT 1",
			 "");
	r = gone ? sql_step(db, gone, err) : -1;
	if (r > 0)
		return found(report, sqlite3_column_int64(gone, 0), "the run of seal %lld is missing",
			     (long long)sqlite3_column_int64(gone, 0));
	return r;
}

static int verify_seals(struct db *db, int64_t id, struct chain_report *report, struct err *err)
{
	OWN(stmt) sqlite3_stmt *st = sql_query(db, err, SEAL_SELECT " ORDER BY n", "");
	struct seal last = { 0 }, s;
	int r = 0, more;

	(void)id;
	report->is_intact = 1;
	if (!st)
		return -1;
	while (!r && (more = sql_step(db, st, err)) != 0) {
		if (more < 0)
			return -1;
		r = read_seal(st, &s) < 0 ? found(report, s.n, "seal %lld was changed", (long long)s.n)
					  : check_seal(&s, &last, report, err);
	}
	if (!r)
		r = check_ends(db, report, err);
	digest_to_hex(last.digest, report->head);
	return r < 0 ? -1 : 0;
}

int chain_verify_seals(struct db *db, struct chain_report *ret, struct err *err)
{
	return in_one_state(db, 0, verify_seals, ret, err);
}
