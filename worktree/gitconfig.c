#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/strv.h"
#include "worktree/gitconfig.h"
#include "worktree/libgit.h"
#include "worktree/repo.h"

/* git-config(1): taken as they are, from wherever the user has set them. */
static const char *const plain_keys[] = {
	"core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode",
	"core.autocrlf", "core.eol", "core.safecrlf", "core.abbrev", "core.quotepath",
	"core.whitespace", "core.commentchar", "core.sparsecheckout", "core.sparsecheckoutcone",
	"index.sparse", "user.name", "user.email", "init.defaultbranch",
	"commit.cleanup", "diff.algorithm", "diff.renames", "diff.mnemonicprefix",
	"i18n.commitencoding", "i18n.logoutputencoding", "merge.conflictstyle", "merge.ff",
	"merge.renames", "pull.ff", "pull.rebase", "push.default", "push.autosetupremote",
	"rebase.autosquash", "rebase.autostash", "rerere.enabled", "submodule.recurse",
};

/* From the repository alone: section, key, and whether the value is an address. */
static const struct {
	const char *section, *key;
	int is_url;
} named_keys[] = {
	{ "remote", "url", 1 }, { "remote", "pushurl", 1 }, { "remote", "fetch", 0 },
	{ "remote", "push", 0 }, { "remote", "tagopt", 0 }, { "remote", "prune", 0 },
	{ "remote", "promisor", 0 }, { "remote", "partialclonefilter", 0 },
	{ "branch", "remote", 0 }, { "branch", "pushremote", 0 }, { "branch", "merge", 0 },
	{ "branch", "rebase", 0 },
	{ "submodule", "url", 1 }, { "submodule", "active", 0 }, { "submodule", "branch", 0 },
};

/* git-lfs writes exactly these; carried only when they are these. */
static const struct {
	const char *key, *value;
} lfs_keys[] = {
	{ "filter.lfs.clean", "git-lfs clean -- %f" },
	{ "filter.lfs.smudge", "git-lfs smudge -- %f" },
	{ "filter.lfs.process", "git-lfs filter-process" },
	{ "filter.lfs.required", "true" },
};

static const char fixed[] =
	"[core]\n"
	"\tbare = false\n"
	"\tlogallrefupdates = true\n"
	"\tfsmonitor = false\n"
	"[gc]\n"
	"\tauto = 0\n"
	"\tworktreePruneExpire = never\n"
	"[maintenance]\n"
	"\tauto = false\n";

static void add_quoted(struct buf *out, const char *s)
{
	buf_addc(out, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			buf_addc(out, '\\');
		if (*s == '\n')
			buf_adds(out, "\\n");
		else if (*s == '\t')
			buf_adds(out, "\\t");
		else
			buf_addc(out, *s);
	}
	buf_addc(out, '"');
}

/* @sub may be NULL. A subsection cannot hold a newline; git would not have read one. */
static void add_key(struct buf *out, const char *section, size_t section_len, const char *sub,
		    const char *key, const char *value)
{
	buf_addc(out, '[');
	buf_add(out, section, section_len);
	if (sub) {
		buf_adds(out, " \"");
		for (; *sub; sub++) {
			if (*sub == '"' || *sub == '\\')
				buf_addc(out, '\\');
			buf_addc(out, *sub);
		}
		buf_addc(out, '"');
	}
	buf_addf(out, "]\n\t%s", key);
	if (value) {
		buf_adds(out, " = ");
		add_quoted(out, value);
	}
	buf_addc(out, '\n');
}

/* "a.b" or "a.sub.b" */
static void add_dotted(struct buf *out, const char *name, const char *value)
{
	const char *first = strchr(name, '.'), *last = strrchr(name, '.');
	OWN(mem) char *sub = first < last ? strndup(first + 1, (size_t)(last - first - 1)) : NULL;

	add_key(out, name, (size_t)(first - name), sub, last + 1, value);
}

static void add_plain(struct buf *out, git_config *all)
{
	for (size_t i = 0; i < ARRAY_LEN(plain_keys); i++) {
		OWN(git_buf) git_buf b = { 0 };

		if (!git_config_get_string_buf(&b, all, plain_keys[i]))
			add_dotted(out, plain_keys[i], b.ptr);
	}
}

static void add_lfs(struct buf *out, git_config *all)
{
	for (size_t i = 0; i < ARRAY_LEN(lfs_keys); i++) {
		OWN(git_buf) git_buf b = { 0 };

		if (!git_config_get_string_buf(&b, all, lfs_keys[i].key) && !strcmp(b.ptr, lfs_keys[i].value))
			add_dotted(out, lfs_keys[i].key, b.ptr);
	}
}

static void add_named(struct buf *out, const git_config_entry *e)
{
	const char *first = strchr(e->name, '.'), *last = strrchr(e->name, '.');

	if (!first || first == last)
		return;
	for (size_t i = 0; i < ARRAY_LEN(named_keys); i++) {
		size_t len = strlen(named_keys[i].section);
		OWN(mem) char *url = NULL;

		if (len != (size_t)(first - e->name) || strncmp(e->name, named_keys[i].section, len) ||
		    strcmp(last + 1, named_keys[i].key))
			continue;
		if (named_keys[i].is_url) {
			url = gitconfig_clean_url(e->value ? e->value : "");
			if (!url)
				return;
		}
		add_dotted(out, e->name, url ? url : e->value);
		return;
	}
}

/* A partial clone keeps being one: its missing objects are known to be missing. */
static void add_format(struct buf *out, git_config *own)
{
	OWN(git_buf) git_buf b = { 0 };

	if (git_config_get_string_buf(&b, own, "extensions.partialclone") < 0) {
		buf_adds(out, "[core]\n\trepositoryformatversion = 0\n");
		return;
	}
	buf_adds(out, "[core]\n\trepositoryformatversion = 1\n");
	add_dotted(out, "extensions.partialclone", b.ptr);
}

int gitconfig_build(const struct repo *repo, git_repository *lg, const char *worktree,
		    struct buf *out, struct err *err)
{
	OWN(git_config) git_config *own = NULL, *all = NULL;
	OWN(git_config_iterator) git_config_iterator *it = NULL;
	git_config_entry *e;

	if (libgit_config(repo, lg, CONFIG_REPO, &own, err) < 0 ||
	    libgit_config(repo, lg, CONFIG_ALL, &all, err) < 0)
		return -1;
	if (git_config_iterator_new(&it, own) < 0)
		return libgit_fail(err, ERR_INPUT, "cannot read the git configuration");
	add_format(out, own);
	add_plain(out, all);
	buf_adds(out, fixed);
	if (worktree)
		add_key(out, "core", 4, NULL, "worktree", worktree);
	add_lfs(out, all);
	while (!git_config_next(&e, it))
		add_named(out, e);
	return out->failed ? err_set(err, ERR_NOMEM, 0, "out of memory") : 0;
}

static int scheme_is(const char *url, size_t len, const char *const schemes[])
{
	for (; *schemes; schemes++)
		if (strlen(*schemes) == len && !strncasecmp(url, *schemes, len))
			return 1;
	return 0;
}

char *gitconfig_clean_url(const char *url)
{
	static const char *const web[] = { "http", "https", "ftp", "ftps", NULL };
	const char *sep = strstr(url, "://"), *helper = strstr(url, "::");
	const char *host, *end, *at = NULL;
	OWN(buf) struct buf out = { 0 };
	int is_web;

	if (helper && (!sep || helper < sep) && !memchr(url, '/', (size_t)(helper - url)))
		return NULL;
	if (!sep || memchr(url, '/', (size_t)(sep - url)))
		return strdup(url);
	host = sep + 3;
	end = host + strcspn(host, "/?#");
	for (const char *p = host; p < end; p++)
		if (*p == '@')
			at = p;
	is_web = scheme_is(url, (size_t)(sep - url), web);
	buf_add(&out, url, (size_t)(host - url));
	if (at && !is_web)
		buf_add(&out, host, strcspn(host, ":@"));
	if (at && !is_web)
		buf_addc(&out, '@');
	host = at ? at + 1 : host;
	buf_add(&out, host, is_web ? strcspn(host, "?#") : strlen(host));
	return buf_steal(&out);
}
