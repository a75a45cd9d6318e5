/*
 * The words a person gets on stderr when a run is over: what went wrong, what
 * changed, what was refused, and what can be done next. A run that did all it
 * was to do, changed nothing and was refused nothing ends without a word.
 */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/path.h"
#include "dispatch/run_internal.h"
#include "dispatch/show.h"

#define SHOWN_PATHS 8
#define SHOWN_REFUSALS 10
#define MAX_COLUMN 48

static void say_how_it_ended(const struct run *run)
{
	const struct end *end = &run->end;

	if (end->reason[0] && strcmp(end->kind, "exited") != 0)
		say("%s", end->reason);
	if (end->hint[0])
		say_hint("%s", end->hint);
	else if (!strcmp(end->kind, "no-command") && run->program)
		say_hint("'%s' is on this host but not visible inside; --read '%s' shows it", run->program,
			 run->program);
}

/* --- what changed --- */

static void say_changes(const struct run *run)
{
	const struct change_set *set = &run->changes;
	size_t by_kind[CHANGE_NUM] = { 0 };
	char counts[160] = "";
	size_t at = 0;

	for (size_t i = 0; i < set->n; i++)
		by_kind[set->v[i].kind]++;
	for (int k = 0; k < CHANGE_NUM; k++)
		if (by_kind[k] && at < sizeof(counts))
			at += (size_t)snprintf(counts + at, sizeof(counts) - at, "%s%zu %s", at ? ", " : "", by_kind[k],
					       change_kind_name((enum change_kind)k));
	if (set->n_commits && at < sizeof(counts))
		at += (size_t)snprintf(counts + at, sizeof(counts) - at, "%s%zu new commit%s", at ? ", " : "", set->n_commits,
			 set->n_commits == 1 ? "" : "s");
	if (at)
		say_bare("changed: %s", counts);
	for (size_t i = 0; i < set->n && i < SHOWN_PATHS; i++)
		say_bare("  %-9s %s", change_kind_name(set->v[i].kind), set->v[i].path);
	if (set->n > SHOWN_PATHS)
		say_bare("  and %zu more", set->n - SHOWN_PATHS);
	for (size_t i = 0; i < set->n_commits && i < 3; i++)
		say_bare("  commit    %.12s %s", set->commits[i].oid, set->commits[i].subject);
	if (set->commits_problem)
		say("its commits cannot be read: %s", set->commits_problem);
}

/* --- what was refused --- */

/* Paths in the workspace are told from its root, where a person looks for them. */
static const char *brief(const struct run *run, const char *target)
{
	const char *root = run->repo.root;

	return root && path_under(target, root) && target[strlen(root)] == '/' ? target + strlen(root) + 1 : target;
}

static size_t column(size_t width, const char *text)
{
	size_t n = show_width(text);

	return n > MAX_COLUMN ? width : n > width ? n : width;
}

static void say_refusals(const struct run *run)
{
	const struct feed *f = &run->feed;
	size_t action = 0, target = 0, shown = f->n_refusals < SHOWN_REFUSALS ? f->n_refusals : SHOWN_REFUSALS;

	for (size_t i = 0; i < shown; i++) {
		action = column(action, f->refusal[i].action);
		target = column(target, brief(run, f->refusal[i].target));
	}
	say_bare(f->refusals_ignored ? "refused: %lld, and %lld more that are ignored" : "refused: %lld",
		 (long long)(f->refusals_total - f->refusals_ignored), (long long)f->refusals_ignored);
	for (size_t i = 0; i < shown; i++) {
		const struct kept *r = &f->refusal[i];
		char times[40] = "";

		if (r->count > 1)
			snprintf(times, sizeof(times), " (%lld times)", (long long)r->count);
		say_bare("  %-*s  %-*s  %s%s", (int)action, r->action, (int)target, brief(run, r->target), r->rule,
			 times);
	}
	if (f->n_refusals > shown)
		say_bare("  and %s%zu others", f->n_refusals == FEED_KEPT ? "at least " : "", f->n_refusals - shown);
}

/* --- what next --- */

static void say_next(const struct run *run, int changed)
{
	int kept = run->has_workspace && !run->workspace_gone && run->ws.strategy != WORKSPACE_IN_PLACE;

	if (run->feed.refusals_total > run->feed.refusals_ignored)
		say_hint("agate violations --run %s   tells each refusal", run->id);
	if (changed && kept) {
		say_hint("agate diff %s    shows the change, agate apply %s brings it into '%s'", run->id, run->id,
			 run->repo.root);
	} else if (kept && run->req->verbose) {
		say_hint("agate show %s    tells where the workspace is", run->id);
	}
}

void report_end(const struct run *run)
{
	int has_commits = run->changes.n_commits || run->changes.commits_problem;
	int changed = run->has_changes && (run->changes.n || has_commits);

	say_how_it_ended(run);
	if (run->req->json)
		return;
	if (run->req->verbose)
		say("run %s ended: %s, status %d", run->id, run->end.kind, run->end.status);
	if (changed)
		say_changes(run);
	if (run->feed.refusals_total && strcmp(run->end.kind, "denied") != 0)
		say_refusals(run);
	say_next(run, changed);
}
