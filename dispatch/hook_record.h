/*
 * dispatch/hook_record.h - what a hook decided, on disk before it is said
 *
 * Beside a run of agate's there is no feed and no supervisor: each call is a
 * process of its own, and its rows belong to no run.
 */
#ifndef DISPATCH_HOOK_RECORD_H
#define DISPATCH_HOOK_RECORD_H

struct db;
struct err;
struct judgement;
struct violation;

/**
 * hook_record() - Commit a decision, and a refusal with it
 * @db:		taken over
 * @refusal:	NULL: nothing was refused
 *
 * It is not always closed, which spares the agent a wait: call this once, at the
 * end of a process.
 */
int hook_record(struct db *db, const struct judgement *j, const struct violation *refusal, struct err *err);

#endif
