/*
 * db/record.h - one record into its chain; internal to db/
 *
 * Rows are passed as they are stored and read back, texts escaped already, so
 * that writing and verifying hash the same bytes by the same functions.
 */
#ifndef DB_RECORD_H
#define DB_RECORD_H

#include "db/db_internal.h"
#include "db/decisions.h"
#include "db/events.h"

#define CHAIN_LOOSE 0	/* of records without a supervisor */

struct chain {
	int64_t id;
	int64_t seq;			/* of the last record */
	unsigned char head[DIGEST_SIZE];
	unsigned char salt[DIGEST_SIZE];
};

int chain_make(struct db *db, int64_t id, struct err *err);
int chain_load(struct db *db, int64_t id, struct chain *ret, struct err *err);
int chain_store(struct db *db, const struct chain *chain, struct err *err);

/* chain_seal() - in a transaction: seal a run's chain, and the loose one if it grew; see db/chain.h */
int chain_seal(struct db *db, int64_t id, struct err *err);

/* A field of what is hashed: its length, then its bytes, so that none can pass for two. */
void put_text(struct buf *b, const char *s);
void put_number(struct buf *b, int64_t n);

/* --- the digest a row has behind @chain's head; 0, or -1 out of memory --- */
int event_digest(const struct chain *chain, const struct event_row *row, unsigned char ret[DIGEST_SIZE]);
int violation_digest(const struct chain *chain, const struct violation_row *row, unsigned char ret[DIGEST_SIZE]);
int decision_digest(const struct chain *chain, const struct decision_row *row, unsigned char ret[DIGEST_SIZE]);

/*
 * --- append: insert @row and move @chain's seq and head; @row->seq must be the next.
 * @run: row number of the run it is about, 0 for none ---
 */
int event_append(struct db *db, struct chain *chain, const struct event_row *row, struct err *err);
int violation_append(struct db *db, struct chain *chain, int64_t run, const struct violation_row *row,
		     struct err *err);
int decision_append(struct db *db, struct chain *chain, int64_t run, const struct decision_row *row,
		    struct err *err);

/* --- reading: what to select (the keys first), and a row of it --- */
#define EVENT_SELECT \
	"SELECT e.seq, r.id, e.ts_us, e.type, e.data, e.digest FROM events e JOIN runs r ON r.n = e.chain"
#define VIOLATION_SELECT \
	"SELECT v.ts_us, v.id, v.seq, r.id, r.mode, v.lasted_us, v.count, la.text, ac.text, ta.text, re.text," \
	" ru.text, rs.text, sy.text, co.text, ex.text, v.pid, v.command_id, v.raw, v.digest" \
	" FROM violations v LEFT JOIN runs r ON r.n = v.run LEFT JOIN words la ON la.id = v.layer" \
	" LEFT JOIN words ac ON ac.id = v.action LEFT JOIN words ta ON ta.id = v.target" \
	" LEFT JOIN words re ON re.id = v.resolved LEFT JOIN words ru ON ru.id = v.rule" \
	" LEFT JOIN words rs ON rs.id = v.reason LEFT JOIN words sy ON sy.id = v.syscall" \
	" LEFT JOIN words co ON co.id = v.comm LEFT JOIN words ex ON ex.id = v.exe"
#define DECISION_SELECT \
	"SELECT d.ts_us, d.id, d.seq, r.id, ve.text, mo.text, ga.text, ru.text, rs.text, d.line, d.span_start," \
	" d.span_end, d.request, d.tool_use, cl.text, an.text, d.waited_us, d.digest" \
	" FROM decisions d LEFT JOIN runs r ON r.n = d.run LEFT JOIN words ve ON ve.id = d.verdict" \
	" LEFT JOIN words mo ON mo.id = d.mode LEFT JOIN words ga ON ga.id = d.gate" \
	" LEFT JOIN words ru ON ru.id = d.rule LEFT JOIN words rs ON rs.id = d.reason" \
	" LEFT JOIN words cl ON cl.id = d.classes LEFT JOIN words an ON an.id = d.answered"

/* recorder_limit() - tests: a smaller RECORDER_MAX_VIOLATIONS */
void recorder_limit(struct recorder *r, size_t max);

/* Each answers the digest as stored. @ret borrows from @columns. */
sqlite3_value *event_read(sqlite3_value **columns, struct event_row *ret);
sqlite3_value *violation_read(sqlite3_value **columns, struct violation_row *ret);
sqlite3_value *decision_read(sqlite3_value **columns, struct decision_row *ret);

#endif
