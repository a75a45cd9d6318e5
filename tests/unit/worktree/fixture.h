/*
 * tests/unit/worktree/fixture.h - a temp directory, repositories made by the git program, and runs in them
 *
 * $T is the temp directory; git sees no configuration but $T/home. A run is
 * played by moving the private git directory to where the sandbox would mount
 * it and naming the object directories by their host paths meanwhile.
 */
#ifndef TESTS_WORKTREE_FIXTURE_H
#define TESTS_WORKTREE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "worktree/workspace.h"

static char T[64];

/*
 * Asked by the leak sanitizer: libgit2 1.5 forgets what its regular expressions
 * matched with when it opens a repository that has extensions to look for.
 */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libpcre2";
}

/* What a shell script prints; the test fails unless it exits with 0. Caller's to free(). */
__attribute__((format(printf, 1, 2))) static inline char *sh(const char *fmt, ...)
{
	OWN(buf) struct buf out = { 0 };
	char *script = NULL, chunk[4096];
	va_list ap;
	FILE *f;
	size_t n;
	int status;

	va_start(ap, fmt);
	if (vasprintf(&script, fmt, ap) < 0)
		abort();
	va_end(ap);
	setenv("SCRIPT", script, 1);
	f = popen("cd \"$T\" && exec bash -euo pipefail -c \"$SCRIPT\"", "r");
	assert_non_null(f);
	while ((n = fread(chunk, 1, sizeof(chunk), f)))
		assert_int_equal(buf_add(&out, chunk, n), 0);
	status = pclose(f);
	if (status)
		print_error("script failed (%d):\n%s\n%s\n", status, script, out.data ? out.data : "");
	assert_int_equal(status, 0);
	free(script);
	buf_add(&out, "", 0);
	return buf_steal(&out);
}

#define SH(...) free(sh(__VA_ARGS__))

/* The script's output, without its last newline, is @want. */
#define assert_sh(want, ...) do { \
	OWN(mem) char *got_ = sh(__VA_ARGS__); \
	size_t len_ = strlen(got_); \
	if (len_ && got_[len_ - 1] == '\n') \
		got_[len_ - 1] = '\0'; \
	assert_string_equal(got_, want); \
} while (0)

static inline int make_temp(void **state)
{
	static const char *const vars[] = {
		"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME",
		"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_COUNT",
	};
	char home[80];

	(void)state;
	snprintf(T, sizeof(T), "%s/agate-wt-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(T))
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(vars); i++)
		unsetenv(vars[i]);
	snprintf(home, sizeof(home), "%s/home", T);
	setenv("T", T, 1);
	setenv("HOME", home, 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	setenv("LC_ALL", "C", 1);
	SH("mkdir home run; git config --global user.name Tester; git config --global user.email t@example.org;"
	   "git config --global init.defaultBranch main; git config --global protocol.file.allow always");
	return 0;
}

static inline int remove_temp(void **state)
{
	(void)state;
	SH("chmod -R u+rwx . && find . -mindepth 1 -delete");
	return rmdir(T);
}

/* $T/src: two commits, a staged, an unstaged, an untracked and an ignored change. */
static inline void make_repo(void)
{
	SH("git init -q src && cd src && mkdir -p lib/deep && echo one >a && echo two >lib/b && echo three >lib/deep/c"
	   "&& printf '#!/bin/sh\\n' >run.sh && chmod 755 run.sh && ln -s lib/b link && echo '*.o' >.gitignore"
	   "&& git add -A && git commit -qm first && echo more >>a && git commit -qam second"
	   "&& git tag -a v1 -m v1 && git branch side && sleep 0.05"
	   "&& echo staged >>lib/b && git add lib/b && echo unstaged >>lib/deep/c && echo new >untracked && echo obj >x.o");
}

/* Everything a reader could see of a directory: names, types, modes, times, links, content. */
static inline char *fingerprint(const char *dir)
{
	return sh("cd '%s' && find . -printf '%%p|%%y|%%m|%%s|%%T@|%%l|%%n\\n' | sort && "
		  "find . -type f -print0 | sort -z | xargs -0r sha256sum", dir);
}

static inline void create(const char *source, struct workspace *ws)
{
	char src[160], run[128];
	struct err err = { 0 };
	struct workspace_params p = { .source = src, .run_id = "r1", .run_dir = run };

	snprintf(src, sizeof(src), "%s/%s", T, source);
	snprintf(run, sizeof(run), "%s/run", T);
	if (workspace_create(&p, ws, &err) < 0)
		fail_msg("%s", err.msg);
}

/* Where the sandbox would mount it; the map of objects as the sandbox would show it. */
static inline void mount_git(const struct workspace *ws)
{
	SH("cd run && rmdir ws/.git && mv git ws/.git");
	for (size_t i = 0; i < ws->objects.n; i++)
		SH("cd run/ws/.git && find . -path '*objects/info/alternates' | xargs sed -i 's|^/run/agate/objects/%zu$|%s|'",
		   i, ws->objects.v[i]);
}

static inline void unmount_git(const struct workspace *ws)
{
	for (size_t i = 0; i < ws->objects.n; i++)
		SH("cd run/ws/.git && find . -path '*objects/info/alternates' | xargs sed -i 's|^%s$|/run/agate/objects/%zu|'",
		   ws->objects.v[i], i);
	SH("cd run && mv ws/.git git && mkdir ws/.git");
}

/* A script run in the workspace as the command would. */
#define RUN(ws, ...) do { \
	mount_git(ws); \
	SH("cd run/ws; " __VA_ARGS__); \
	unmount_git(ws); \
} while (0)

#endif
