#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/cli.h"
#include "dispatch/exit.h"
#include "dispatch/show.h"
#include "gates/command.h"
#include "worktree/repo.h"

struct values {
	int mode, json;
	char *batch, *repo;
};

static const char *const modes[] = { "chat", "review", "plan", "orchestrate", NULL };

#define ROW(word, kind, member, ...) OPT_ROW(struct values, word, kind, member, __VA_ARGS__)
static const struct opt rows[] = {
	ROW("mode", OPT_WORD, mode, NULL, "the mode whose policy is asked (default chat)", .words = modes),
	ROW("repo", OPT_TEXT, repo, "DIR", "the workspace (default: the repository around here)"),
	ROW("batch", OPT_TEXT, batch, "FILE", "judge each line of this file, - for standard input; one JSON object each"),
	ROW("json", OPT_FLAG, json, NULL, "the verdict as one JSON object"),
	{ 0 },
};

static const int statuses[DECISION_NUM] = {
	[DECISION_ALLOW] = EXIT_OK, [DECISION_ASK] = EXIT_ASK, [DECISION_DENY] = EXIT_DENIED,
};

/* --- the verdict in JSON and in words --- */

static int add_span(struct json *to, size_t start, size_t end)
{
	struct json *span = json_add_array(to, "span");

	return span && json_add_int(span, NULL, (int64_t)start) && json_add_int(span, NULL, (int64_t)end) ? 0 : -1;
}

static int add_effect(struct json *list, const struct effect *e)
{
	struct json *j = json_add_object(list, NULL);

	if (!j || !json_add_str(j, "class", effect_class_name(e->class)) ||
	    (e->place != PLACE_NONE && !json_add_str(j, "place", effect_place_name(e->place))) ||
	    (e->subject && !json_add_str(j, "subject", e->subject)))
		return -1;
	return add_span(j, e->span_start, e->span_end);
}

/* @number: of the line in a batch, 0: none */
static int add_json(struct buf *b, int64_t number, const struct verdict *v)
{
	OWN(json) struct json *j = json_new_object();
	OWN(mem) char *text = NULL;
	struct json *effects;

	if (!j || (number && !json_add_int(j, "n", number)) ||
	    !json_add_str(j, "verdict", decision_name(v->decision)) ||
	    !json_add_str(j, "reason", v->reason) || !json_add_str(j, "rule", v->rule) ||
	    add_span(j, v->span_start, v->span_end) < 0)
		return -1;
	effects = json_add_array(j, "effects");
	for (size_t i = 0; effects && i < v->effects_n; i++)
		if (add_effect(effects, &v->effects[i]) < 0)
			return -1;
	text = effects ? json_print(j) : NULL;
	return text ? buf_addf(b, "%s\n", text) : -1;
}

/* The line with the part the reason is about marked below it. */
static void add_marked(struct buf *b, const char *line, const struct verdict *v)
{
	OWN(buf) struct buf before = { 0 };
	OWN(buf) struct buf part = { 0 };
	size_t len = strlen(line);

	if (v->span_end <= v->span_start || v->span_end > len || len > 400)
		return;
	buf_adds(&before, "");
	buf_adds(&part, "");
	show_add(&before, line, v->span_start);
	show_add(&part, line + v->span_start, v->span_end - v->span_start);
	buf_addf(b, "  %s%s", before.data, part.data);
	show_add(b, line + v->span_end, len - v->span_end);
	buf_addf(b, "\n  %*s", (int)show_width(before.data), "");
	for (size_t i = show_width(part.data); i; i--)
		buf_addc(b, '^');
	buf_addc(b, '\n');
}

static void add_words(struct buf *b, const char *line, const struct verdict *v)
{
	buf_adds(b, decision_name(v->decision));
	if (v->reason[0]) {
		buf_adds(b, ": ");
		show_add(b, v->reason, strlen(v->reason));
	}
	if (v->rule[0]) {
		buf_adds(b, " [");
		show_add(b, v->rule, strlen(v->rule));
		buf_addc(b, ']');
	}
	buf_addc(b, '\n');
	if (v->decision != DECISION_ALLOW)
		add_marked(b, line, v);
}

/* --- one line, many lines --- */

static int one_line(struct command_request *req, const char *line, int as_json, struct err *err)
{
	OWN(verdict) struct verdict v = { 0 };
	OWN(buf) struct buf b = { 0 };

	req->line = line;
	req->len = strlen(line);
	if (command_check(req, &v, err) < 0)
		return -1;
	if (!as_json)
		add_words(&b, line, &v);
	else if (add_json(&b, 0, &v) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return cli_print(&b, err) < 0 ? -1 : statuses[v.decision];
}

/* In place: a newline, a tab and a backslash are written \n, \t and \\; what else stands behind a backslash stays. */
static size_t unescape(char *text, size_t len)
{
	size_t to = 0;

	for (size_t i = 0; i < len; i++) {
		char next = text[i] == '\\' && i + 1 < len ? text[i + 1] : '\0';

		text[to++] = next == 'n' ? '\n' : next == 't' ? '\t' : text[i];
		i += next == 'n' || next == 't' || next == '\\';
	}
	return to;
}

/* A line of a batch is a shell line, escaped, or {"line": "...", "mode": "..."}. */
static int read_object(const char *text, size_t len, struct command_request *req, struct json **ret,
		       struct err *err)
{
	static const char *const known[] = { "line", "mode", NULL };
	const char *mode;

	if (len < 2 || text[0] != '{' || text[1] != '"' || json_parse(text, len, NULL, ret, NULL) < 0)
		return 0;
	mode = json_str(json_get(*ret, "mode"));
	if (json_only(*ret, known, "batch line", err) < 0)
		return -1;
	if (!json_str(json_get(*ret, "line")) || (mode && mode_parse(mode, &req->mode) < 0))
		return err_set(err, ERR_INPUT, 0, "batch line: needs \"line\", and perhaps a \"mode\"");
	req->line = json_str(json_get(*ret, "line"));
	req->len = strlen(req->line);
	return 0;
}

static int batch_line(const struct command_request *base, char *text, size_t len, int64_t number,
		      enum decision *worst, struct buf *out, struct err *err)
{
	struct command_request req = *base;
	OWN(json) struct json *object = NULL;
	OWN(verdict) struct verdict v = { 0 };

	req.line = NULL;
	if (read_object(text, len, &req, &object, err) < 0)
		return err_wrap(err, "line %lld", (long long)number);
	if (!req.line) {
		req.line = text;
		req.len = unescape(text, len);
	}
	if (command_check(&req, &v, err) < 0)
		return err_wrap(err, "line %lld", (long long)number);
	if (v.decision > *worst)
		*worst = v.decision;
	if (add_json(out, number, &v) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return 0;
}

static int batch(const struct command_request *base, FILE *f, struct err *err)
{
	OWN(mem) char *line = NULL;
	OWN(buf) struct buf out = { 0 };
	enum decision worst = DECISION_ALLOW;
	size_t cap = 0;
	ssize_t len;

	for (int64_t number = 1; (len = getline(&line, &cap, f)) >= 0; number++) {
		if (len && line[len - 1] == '\n')
			line[--len] = '\0';
		if (batch_line(base, line, (size_t)len, number, &worst, &out, err) < 0)
			return -1;
		if (out.len > 65536) {
			if (cli_print(&out, err) < 0)
				return -1;
			buf_clear(&out);
		}
	}
	if (ferror(f))
		return err_set(err, ERR_SYS, errno, "cannot read the batch");
	buf_adds(&out, "");
	return cli_print(&out, err) < 0 ? -1 : statuses[worst];
}

static int batch_file(const struct command_request *base, const char *path, struct err *err)
{
	OWN(file) FILE *f = NULL;

	if (!strcmp(path, "-"))
		return batch(base, stdin, err);
	f = fopen(path, "re");
	if (!f)
		return err_set(err, ERR_SYS, errno, "cannot open batch '%s'", path);
	return batch(base, f, err);
}

static int check(const struct cli_args *args, struct err *err)
{
	const struct values *v = args->values;
	OWN(repo) struct repo repo = { 0 };
	OWN(mem) char *cwd = getcwd(NULL, 0);
	const char *home = getenv("HOME");
	struct command_request req = { .mode = (enum mode)v->mode };

	if (!v->batch == !args->n)
		return err_set(err, ERR_USAGE, 0, "agate check needs either one line or --batch");
	if (!cwd)
		return err_set(err, ERR_SYS, errno, "cannot tell the current directory");
	if (repo_find(v->repo ? v->repo : cwd, &repo, err) < 0)
		return -1;
	req.workspace = repo.root;
	req.cwd = v->repo ? repo.root : cwd;
	req.home = home && home[0] == '/' && path_is_clean(home) ? home : NULL;
	return v->batch ? batch_file(&req, v->batch, err) : one_line(&req, args->operand[0], v->json, err);
}

const struct command cmd_check = {
	.name = "check", .operands = "LINE", .summary = "say what the command policy thinks of a shell line",
	.more = "Nothing is run and nothing recorded. Exit status: 0 allowed, 3 somebody would be asked,\n"
		"126 denied, 125 failed; of a batch the worst. In a batch line a newline, a tab and\n"
		"a backslash are written \\n, \\t and \\\\; or it is {\"line\": \"...\", \"mode\": \"...\"}, as JSON has it.\n",
	.opts = { { rows } }, .size = sizeof(struct values), .max = 1, .fn = check,
};
