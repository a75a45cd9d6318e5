/*
 * db/chain.h - were the records changed since they were written?
 *
 * Each record's digest covers the one before it, so the records of a run form a
 * chain; records of no supervisor form one of their own (run NULL). Ending a run
 * seals it: the head of its chain, how often each refusal was counted, and the
 * facts of its row go into one entry of a chain over all runs.
 *
 *	record	SHA-256(previous | number, time, kind, ... | SHA-256(salt | texts))
 *	seal	SHA-256(previous | run, time, head, counts, row)
 *
 * The salted inner digest lets texts be erased one day without breaking a chain.
 * This shows edits, removals and insertions. Who can write the file can also
 * compute a new chain: to rule that out, keep heads elsewhere (.head).
 */
#ifndef DB_CHAIN_H
#define DB_CHAIN_H

#include <stdint.h>

#include "base/digest.h"

struct db;
struct err;

struct chain_report {
	int is_intact;			/* the answer */
	int is_sealed;			/* all records are covered by a seal; of a run only */
	int64_t records;		/* read and found right */
	int64_t bad_seq;		/* first number that is wrong; 0: see why */
	char why[160];			/* "record 7 was changed"; empty if intact */
	char head[DIGEST_HEX_SIZE];	/* of the chain, as it should be kept elsewhere */
};

/**
 * chain_verify() - Recompute one chain
 * @run_id:	full id; NULL: the records of no supervisor
 *
 * Finding damage is a result: 0 with is_intact 0. -1 with @err only when it
 * could not be found out (ERR_NOTFOUND, ...).
 */
int chain_verify(struct db *db, const char *run_id, struct chain_report *ret, struct err *err);

/* chain_verify_seals() - the chain over all runs; records counts seals */
int chain_verify_seals(struct db *db, struct chain_report *ret, struct err *err);

#endif
