/*
 * workspace.json. Paths are any bytes, JSON is UTF-8: a path is kept with '%',
 * control and non-ASCII bytes as %XX.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "worktree/beneath.h"
#include "worktree/workspace.h"
#include "worktree/workspace_file.h"

#define FILE_NAME "workspace.json"
#define FORMAT 1

/* The fields that are one string, with the name they have on disk. */
static const struct {
	const char *key;
	size_t at;
	int needed;
} strings[] = {
	{ "runId", offsetof(struct workspace, run_id), 1 },
	{ "path", offsetof(struct workspace, path), 1 },
	{ "original", offsetof(struct workspace, original), 1 },
	{ "sourceGitdir", offsetof(struct workspace, source_gitdir), 0 },
	{ "sourceCommonDir", offsetof(struct workspace, source_common_dir), 0 },
	{ "gitdir", offsetof(struct workspace, gitdir), 0 },
	{ "guestGitdir", offsetof(struct workspace, guest_gitdir), 0 },
	{ "reason", offsetof(struct workspace, reason), 1 },
	{ "sourceBranch", offsetof(struct workspace, source_branch), 0 },
	{ "branch", offsetof(struct workspace, branch), 0 },
};

static const struct {
	const char *key;
	size_t at;
} lists[] = {
	{ "objects", offsetof(struct workspace, objects) },
	{ "nested", offsetof(struct workspace, nested) },
	{ "notes", offsetof(struct workspace, notes) },
};

static const struct {
	const char *key;
	size_t at;
} numbers[] = {
	{ "ms", offsetof(struct workspace, ms) },
	{ "files", offsetof(struct workspace, files) },
	{ "bytes", offsetof(struct workspace, bytes) },
	{ "cloned", offsetof(struct workspace, cloned) },
	{ "notesDropped", offsetof(struct workspace, notes_dropped) },
};

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

static char *encode(const char *s)
{
	OWN(buf) struct buf b = { 0 };

	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '%' || c < 0x20 || c >= 0x7f)
			buf_addf(&b, "%%%02X", c);
		else
			buf_addc(&b, *s);
	}
	buf_add(&b, "", 0);
	return buf_steal(&b);
}

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* NULL for text encode() does not make. */
static char *decode(const char *s)
{
	OWN(buf) struct buf b = { 0 };

	for (; *s; s++) {
		int hi, lo;

		if (*s != '%') {
			buf_addc(&b, *s);
			continue;
		}
		hi = hex(s[1]);
		lo = hi < 0 ? -1 : hex(s[2]);
		if (lo < 0 || !(hi | lo))
			return NULL;
		buf_addc(&b, (char)(hi << 4 | lo));
		s += 2;
	}
	buf_add(&b, "", 0);
	return buf_steal(&b);
}

static int add_path(struct json *to, const char *key, const char *path)
{
	OWN(mem) char *text = path ? encode(path) : NULL;

	if (path && !text)
		return -1;
	return (path ? json_add_str(to, key, text) : json_add_null(to, key)) ? 0 : -1;
}

static int add_list(struct json *to, const char *key, const struct strv *list)
{
	struct json *a = json_add_array(to, key);

	for (size_t i = 0; a && i < list->n; i++)
		if (add_path(a, NULL, list->v[i]) < 0)
			return -1;
	return a ? 0 : -1;
}

static int add_binds(struct json *to, const struct workspace *ws)
{
	struct json *a = json_add_array(to, "binds");

	for (size_t i = 0; a && i < ws->n_binds; i++) {
		struct json *o = json_add_object(a, NULL);

		if (!o || add_path(o, "host", ws->binds[i].host) < 0 ||
		    add_path(o, "guest", ws->binds[i].guest) < 0)
			return -1;
	}
	return a ? 0 : -1;
}

static int fill(struct json *o, const struct workspace *ws)
{
	const char *at = (const char *)ws;

	if (!json_add_int(o, "format", FORMAT) ||
	    !json_add_str(o, "strategy", workspace_strategy_name(ws->strategy)) ||
	    !json_add_str(o, "head", head_kind_name(ws->head)) || !json_add_str(o, "base", ws->base))
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(strings); i++)
		if (add_path(o, strings[i].key, *(char *const *)(at + strings[i].at)) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (!json_add_int(o, numbers[i].key, *(const int64_t *)(at + numbers[i].at)))
			return -1;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		if (add_list(o, lists[i].key, (const struct strv *)(at + lists[i].at)) < 0)
			return -1;
	return add_binds(o, ws);
}

int workspace_save(const struct workspace *ws, int run_fd, struct err *err)
{
	OWN(json) struct json *o = json_new_object();
	OWN(mem) char *text = NULL;

	if (!o || fill(o, ws) < 0)
		return no_memory(err);
	text = json_print_pretty(o);
	if (!text)
		return no_memory(err);
	/*
	 * Whole or not at all. Not synced: after a crash of the machine the run is
	 * over anyway, and a record that is missing means "never finished".
	 */
	unlinkat(run_fd, FILE_NAME ".tmp", 0);
	if (beneath_put(run_fd, FILE_NAME ".tmp", text, strlen(text), err) < 0)
		return -1;
	if (renameat(run_fd, FILE_NAME ".tmp", run_fd, FILE_NAME) < 0)
		return err_set(err, ERR_SYS, errno, "cannot write '%s'", FILE_NAME);
	return 0;
}

/* --- reading; all -1 are "damaged" --- */

static int get_path(const struct json *o, const char *key, int needed, char **ret)
{
	const struct json *j = json_get(o, key);

	if (json_type(j) == JSON_NULL && !needed)
		return 0;
	if (json_type(j) != JSON_STRING)
		return -1;
	*ret = decode(json_str(j));
	return *ret ? 0 : -1;
}

static int get_list(const struct json *a, struct strv *ret)
{
	if (json_type(a) != JSON_ARRAY)
		return -1;
	for (const struct json *i = json_first(a); i; i = json_next(i))
		if (!json_str(i) || strv_take(ret, decode(json_str(i))) < 0)
			return -1;
	return 0;
}

static int get_binds(const struct json *a, struct workspace *ws)
{
	if (json_type(a) != JSON_ARRAY)
		return -1;
	ws->binds = calloc(json_count(a) + 1, sizeof(*ws->binds));
	if (!ws->binds)
		return -1;
	for (const struct json *i = json_first(a); i; i = json_next(i)) {
		struct workspace_bind *b = &ws->binds[ws->n_binds++];

		if (get_path(i, "host", 1, &b->host) < 0 || get_path(i, "guest", 1, &b->guest) < 0)
			return -1;
	}
	return 0;
}

static int get_head(const struct json *j, enum head_kind *ret)
{
	for (int k = 0; json_str(j) && k < HEAD_NUM; k++) {
		if (!strcmp(json_str(j), head_kind_name((enum head_kind)k))) {
			*ret = (enum head_kind)k;
			return 0;
		}
	}
	return -1;
}

static int get_base(const struct json *j, char ret[REPO_OID_SIZE])
{
	const char *s = json_str(j);

	if (!s || (*s && (strlen(s) != REPO_OID_SIZE - 1 || s[strspn(s, "0123456789abcdef")])))
		return -1;
	memcpy(ret, s, strlen(s) + 1);
	return 0;
}

static int read_all(const struct json *o, struct workspace *ws)
{
	char *at = (char *)ws;
	int64_t format;

	if (json_int(json_get(o, "format"), &format) < 0 || format != FORMAT ||
	    !json_str(json_get(o, "strategy")) ||
	    workspace_strategy_parse(json_str(json_get(o, "strategy")), &ws->strategy) < 0 ||
	    get_head(json_get(o, "head"), &ws->head) < 0 || get_base(json_get(o, "base"), ws->base) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(strings); i++)
		if (get_path(o, strings[i].key, strings[i].needed, (char **)(at + strings[i].at)) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (json_int(json_get(o, numbers[i].key), (int64_t *)(at + numbers[i].at)) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		if (get_list(json_get(o, lists[i].key), (struct strv *)(at + lists[i].at)) < 0)
			return -1;
	return get_binds(json_get(o, "binds"), ws);
}

int workspace_open(const char *run_dir, struct workspace *ret, struct err *err)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(json) struct json *o = NULL;
	OWN(buf) struct buf b = { 0 };
	OWN(mem) char *file = path_join(run_dir, FILE_NAME);

	if (!file)
		return no_memory(err);
	if (io_read_file(AT_FDCWD, file, BUF_MAX_DEFAULT, &b, err) < 0)
		return err_wrap(err, "no workspace in '%s'", run_dir);
	if (json_parse(b.data, b.len, &(struct json_limits){ .max_bytes = BUF_MAX_DEFAULT }, &o, err) < 0)
		return err_wrap(err, "'%s' is damaged", file);
	if (read_all(o, &ws) < 0)
		return err_set(err, ERR_INPUT, 0, "'%s' is damaged", file);
	ws.run_dir = strdup(run_dir);
	if (!ws.run_dir)
		return no_memory(err);
	*ret = ws;
	ws = (struct workspace){ 0 };
	return 0;
}
