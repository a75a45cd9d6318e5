#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "base/strv.h"
#include "dispatch/hook_programs.h"
#include "gates/command.h"
#include "worktree/programs.h"

/* The `.git` of the repository around @path, the caller's to free(); NULL when there is none. */
static char *dot_around(const char *path)
{
	OWN(mem) char *at = strdup(path);

	while (at) {
		OWN(mem) char *dot = path_join(at, ".git");
		struct stat st;
		char *up;

		if (!dot || !stat(dot, &st))
			return TAKE(dot);
		up = at[1] ? path_parent(at) : NULL;
		free(at);
		at = up;
	}
	return NULL;
}

static int look(struct programs *p, struct strv *seen, const char *path, struct err *err)
{
	OWN(mem) char *dot = path_is_clean(path) ? dot_around(path) : NULL;

	if (!dot || strv_has(seen, dot))
		return 0;
	return strv_add(seen, dot) < 0 ? err_set(err, ERR_NOMEM, 0, "out of memory") : programs_find(p, dot, err);
}

static int find(const struct verdict *v, const char *cwd, struct programs *p, struct err *err)
{
	OWN(strv) struct strv seen = { 0 };

	if (look(p, &seen, cwd, err) < 0)
		return -1;
	for (size_t i = 0; i < v->effects_n; i++)
		if (v->effects[i].subject && look(p, &seen, v->effects[i].subject, err) < 0)
			return -1;
	return 0;
}

void hook_programs(struct verdict *v, const char *line, const char *cwd)
{
	OWN(programs) struct programs p = { 0 };
	struct err err = { 0 };
	const char *git = line ? strstr(line, "git") : NULL;
	int failed;

	if (v->decision != DECISION_ALLOW || !git)
		return;
	failed = find(v, cwd, &p, &err) < 0;
	if (!failed && !p.keys.n)
		return;
	v->decision = DECISION_DENY;
	v->span_start = (size_t)(git - line);
	v->span_end = v->span_start + strlen("git");
	snprintf(v->rule, sizeof(v->rule), "programs that git would run");
	if (failed)
		snprintf(v->reason, sizeof(v->reason), "%.250s", err.msg);
	else
		snprintf(v->reason, sizeof(v->reason), "the repository names a program that git would run: '%.180s'", p.keys.v[0]);
}
