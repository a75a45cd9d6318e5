#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/path.h"
#include "worktree/libgit.h"
#include "worktree/repo.h"

/*
 * libgit2 as Debian builds it reads and decodes every CA certificate of the
 * system when it starts: ten times what all else here takes. We never let it
 * speak to the network, so its TLS library finds no certificates: these two
 * stand before mbedtls's own, and libgit2 takes a failure in its stride.
 */
struct mbedtls_x509_crt;
int mbedtls_x509_crt_parse_file(struct mbedtls_x509_crt *chain, const char *path);
int mbedtls_x509_crt_parse_path(struct mbedtls_x509_crt *chain, const char *path);

int mbedtls_x509_crt_parse_file(struct mbedtls_x509_crt *chain, const char *path)
{
	(void)chain;
	(void)path;
	return -1;
}

int mbedtls_x509_crt_parse_path(struct mbedtls_x509_crt *chain, const char *path)
{
	return mbedtls_x509_crt_parse_file(chain, path);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int start_failed;

/* What repo.c has looked at itself or what does not matter to reading. */
static const char *extensions[] = {
	"worktreeconfig", "partialclone", "preciousobjects", "relativeworktrees",
	"objectformat", "refstorage",
};

static void start(void)
{
	static const int levels[] = {
		GIT_CONFIG_LEVEL_PROGRAMDATA, GIT_CONFIG_LEVEL_SYSTEM,
		GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_GLOBAL,
	};

	if (git_libgit2_init() < 0) {
		start_failed = 1;
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(levels); i++)
		start_failed |= git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "") < 0;
	start_failed |= git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0) < 0;
	start_failed |= git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, extensions, ARRAY_LEN(extensions)) < 0;
	start_failed |= git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 1) < 0;
}

int libgit_ready(struct err *err)
{
	pthread_once(&once, start);
	return start_failed ? libgit_fail(err, ERR_MISSING, "cannot start libgit2") : 0;
}

int libgit_fail(struct err *err, enum err_code code, const char *fmt, ...)
{
	const git_error *e = git_error_last();
	char what[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return err_set(err, code, 0, "%s: %s", what, e && e->message ? e->message : "unknown error");
}

int libgit_open(const struct repo *repo, git_repository **ret, struct err *err)
{
	if (libgit_ready(err) < 0)
		return -1;
	if (git_repository_open_ext(ret, repo->root, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL) < 0)
		return libgit_fail(err, ERR_INPUT, "cannot open the repository '%s'", repo->root);
	return 0;
}

/* Where git looks for the user's files: git-config(1), FILES and ENVIRONMENT. */
static int add_user_files(git_config *c, const git_repository *lg)
{
	const char *home = getenv("HOME"), *xdg = getenv("XDG_CONFIG_HOME");
	const char *global = getenv("GIT_CONFIG_GLOBAL"), *nosystem = getenv("GIT_CONFIG_NOSYSTEM");
	OWN(mem) char *xdg_file = NULL, *home_file = NULL;

	if (xdg && xdg[0] == '/')
		xdg_file = path_join(xdg, "git/config");
	else if (home && home[0] == '/')
		xdg_file = path_join(home, ".config/git/config");
	if (home && home[0] == '/')
		home_file = path_join(home, ".gitconfig");
	if (!(nosystem && *nosystem && strcmp(nosystem, "0")) &&
	    git_config_add_file_ondisk(c, "/etc/gitconfig", GIT_CONFIG_LEVEL_SYSTEM, lg, 0) < 0)
		return -1;
	if (global)
		return *global ? git_config_add_file_ondisk(c, global, GIT_CONFIG_LEVEL_GLOBAL, lg, 0) : 0;
	if (xdg_file && git_config_add_file_ondisk(c, xdg_file, GIT_CONFIG_LEVEL_XDG, lg, 0) < 0)
		return -1;
	return home_file ? git_config_add_file_ondisk(c, home_file, GIT_CONFIG_LEVEL_GLOBAL, lg, 0) : 0;
}

static int add_repo_files(git_config *c, const struct repo *repo, const git_repository *lg)
{
	OWN(mem) char *common = path_join(repo->common_dir, "config");
	OWN(mem) char *own = path_join(repo->gitdir, "config.worktree");
	int per_worktree = 0;

	if (!common || !own ||
	    git_config_add_file_ondisk(c, common, GIT_CONFIG_LEVEL_LOCAL, lg, 0) < 0)
		return -1;
	if (git_config_get_bool(&per_worktree, c, "extensions.worktreeconfig") < 0 || !per_worktree)
		return 0;
	return git_config_add_file_ondisk(c, own, GIT_CONFIG_LEVEL_APP, lg, 0);
}

int libgit_config(const struct repo *repo, git_repository *lg, enum config_scope scope,
		  git_config **ret, struct err *err)
{
	OWN(git_config) git_config *c = NULL;

	if (libgit_ready(err) < 0)
		return -1;
	if (git_config_new(&c) < 0 ||
	    (scope != CONFIG_USER && repo->gitdir && add_repo_files(c, repo, lg) < 0) ||
	    (scope != CONFIG_REPO && add_user_files(c, lg) < 0))
		return libgit_fail(err, ERR_INPUT, "cannot read the git configuration");
	*ret = TAKE(c);
	return 0;
}
