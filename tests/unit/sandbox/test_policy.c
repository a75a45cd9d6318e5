#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/path.h"
#include "sandbox/names.h"
#include "sandbox/policy.h"
#include "sandbox/spec.h"

static void own_names(struct names *n)
{
	names_done(n);
}

static void compile(const struct strv *rules, struct names *names)
{
	for (size_t i = 0; i < rules->n; i++)
		if (names_add(names, rules->v[i]) < 0)
			fail_msg("not a rule: '%s'", rules->v[i]);
}

/* NULL: stays possible; else the rule that refuses it. */
static const struct verdict {
	const char *path;
	const char *rule;
} verdicts[] = {
	{ "/w/.env", "**/.env" },
	{ "/w/a/b/c/.env", "**/.env" },
	{ "/w/.env/inside", "**/.env" },
	{ "/w/.env.local", "**/.env.*" },
	{ "/w/node_modules/x/.env", "**/.env" },
	{ "/w/.envrc", NULL },
	{ "/w/env", NULL },
	{ "/w/src/environment.env", NULL },
	{ "/w/id.key", "**/*.key" },
	{ "/w/.key", "**/*.key" },
	{ "/w/key.c", NULL },
	{ "/w/x.keys", NULL },
	{ "/w/ca.pem", "**/*.pem" },
	{ "/w/venv/lib/python3/site-packages/certifi/cacert.pem", NULL },
	{ "/w/venv/lib/python3/site-packages/certifi/other.pem", "**/*.pem" },
	{ "/w/cacert.pem", "**/*.pem" },
	{ "/w/x.p12", "**/*.p12" },
	{ "/w/x.pfx", "**/*.pfx" },

	{ "/w/.bashrc", "**/.bashrc" },
	{ "/w/d/.zshenv", "**/.zshenv" },
	{ "/w/.npmrc", "**/.npmrc" },
	{ "/w/.vscode", "**/.vscode" },
	{ "/w/.vscode/tasks.json", "**/.vscode" },
	{ "/w/d/.idea/workspace.xml", "**/.idea" },
	{ "/w/.mcp.json", "**/.mcp.json" },
	{ "/w/mcp.json", NULL },
	{ "/w/.claude", NULL },
	{ "/w/.claude/plans/p.md", NULL },
	{ "/w/CLAUDE.md", NULL },
	{ "/w/.claude/commands/x.md", "**/.claude/commands" },
	{ "/w/.claude/settings.local.json", "**/.claude/settings.local.json" },
	{ "/w/.claude/hooks/pre", "**/.claude/hooks" },
	{ "/w/.codex/config.toml", "**/.codex/config.toml" },
	{ "/w/.codex/log/x", NULL },
	{ "/w/.github/hooks/x.json", "**/.github/hooks" },
	{ "/w/.github/workflows/ci.yml", NULL },

	{ "/w/.gitconfig", "**/.gitconfig" },
	{ "/w/.gitmodules", "**/.gitmodules" },
	{ "/w/.gitignore", NULL },
	{ "/w/.gitattributes", NULL },
	{ "/w/.git", NULL },
	{ "/w/.git/config", NULL },
	{ "/w/.git/config.lock", NULL },
	{ "/w/.git/index.lock", NULL },
	{ "/w/.git/info/exclude", NULL },
	{ "/w/.git/info/attributes", "**/.git/info/attributes" },
	{ "/w/.git/hooks", NULL },
	{ "/w/.git/hooks/pre-commit", "**/.git/hooks/*" },
	{ "/w/.git/hooks/pre-commit.sample", NULL },
	{ "/w/.git/hooks/d/pre-commit.sample", "**/.git/hooks/*" },
	{ "/w/.git/hooks/.sample/x", NULL },
	{ "/w/sub/.git/hooks/post-checkout", "**/.git/hooks/*" },
	{ "/w/node_modules/p/.git/hooks/post-checkout", "**/.git/hooks/*" },
	{ "/w/bare.git/hooks/update", "**/*.git/hooks/*" },
	{ "/w/bare.git/hooks/update.sample", NULL },
	{ "/w/bare.git/config", NULL },
	{ "/w/.git/modules/m/hooks/pre-push", "**/.git/modules/**/hooks/*" },
	{ "/w/.git/modules/a/b/modules/c/hooks/pre-push", "**/.git/modules/**/hooks/*" },
	{ "/w/.git/modules/m/hooks/pre-push.sample", NULL },
	{ "/w/.git/modules/m/index", NULL },
	{ "/w/.git/refs/heads/hooks/fix", NULL },
	{ "/w/hooks/pre-commit", NULL },
	{ "/w/.husky", NULL },
	{ "/w/.husky/pre-commit", "**/.husky/*" },
	{ "/w/.husky/_", NULL },
	{ "/w/.husky/_/h", NULL },
};

static void the_standard_rules_refuse_these_names_and_leave_the_others(void **state)
{
	OWN(strv) struct strv rules = { 0 };
	OWN(names) struct names names = { 0 };

	(void)state;
	assert_int_equal(policy_standard_denies(&rules), 0);
	compile(&rules, &names);
	for (size_t i = 0; i < ARRAY_LEN(verdicts); i++) {
		const char *got = names_denied(&names, verdicts[i].path);

		if (!got != !verdicts[i].rule || (got && strcmp(got, verdicts[i].rule) != 0))
			fail_msg("%s: %s, not %s", verdicts[i].path, got ? got : "allowed",
				 verdicts[i].rule ? verdicts[i].rule : "allowed");
		assert_int_equal(!policy_reason(got), !got);
	}
}

static void every_rule_has_a_reason_and_none_comes_twice(void **state)
{
	size_t n;
	const struct policy_rule *rules = policy_write_rules(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		assert_true(rules[i].reason && rules[i].reason[0]);
		assert_string_equal(policy_reason(rules[i].rule), rules[i].reason);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(rules[i].rule, rules[j].rule);
	}
	assert_null(policy_reason("**/mine"));
	assert_null(policy_reason(NULL));
}

static void a_private_home_may_hold_settings_but_no_shell_start_up_files(void **state)
{
	OWN(strv) struct strv rules = { 0 };
	OWN(names) struct names names = { 0 };

	(void)state;
	assert_int_equal(policy_standard_denies(&rules), 0);
	assert_int_equal(policy_private_home("/home/[u]", &rules), 0);
	compile(&rules, &names);
	assert_null(names_denied(&names, "/home/[u]/.gitconfig"));
	assert_null(names_denied(&names, "/home/[u]/.claude/settings.json"));
	assert_non_null(names_denied(&names, "/home/[u]/.bashrc"));
	assert_non_null(names_denied(&names, "/home/[u]/p/.gitconfig"));
	assert_non_null(names_denied(&names, "/home/u/.gitconfig"));
}

static void packages_may_bring_keys_but_no_env_files_when_that_is_asked_for(void **state)
{
	OWN(strv) struct strv rules = { 0 };
	OWN(names) struct names names = { 0 };

	(void)state;
	assert_int_equal(policy_standard_denies(&rules), 0);
	assert_int_equal(policy_package_files(&rules), 0);
	compile(&rules, &names);
	assert_null(names_denied(&names, "/w/node_modules/a/test/server.key"));
	assert_null(names_denied(&names, "/home/u/go/pkg/mod/example.org/m@v1/testdata/ca.pem"));
	assert_non_null(names_denied(&names, "/w/node_modules/a/.env"));
	assert_non_null(names_denied(&names, "/w/node_modules/a/.git/hooks/update"));
	assert_non_null(names_denied(&names, "/w/server.key"));
}

static void a_given_git_directory_keeps_what_git_obeys(void **state)
{
	OWN(strv) struct strv rules = { 0 };
	OWN(names) struct names names = { 0 };

	(void)state;
	assert_int_equal(policy_git_dir("/w/vendor/[x]/.git", &rules), 0);
	compile(&rules, &names);
	assert_non_null(names_denied(&names, "/w/vendor/[x]/.git/config"));
	assert_non_null(names_denied(&names, "/w/vendor/[x]/.git/config.worktree"));
	assert_non_null(names_denied(&names, "/w/vendor/[x]/.git/hooks/update"));
	assert_non_null(names_denied(&names, "/w/vendor/[x]/.git/info/attributes"));
	assert_null(names_denied(&names, "/w/vendor/[x]/.git/HEAD"));
	assert_null(names_denied(&names, "/w/vendor/[x]/.git/config.lock"));
	assert_null(names_denied(&names, "/w/.git/config"));
}

static void rules_below_the_real_home_make_a_spec_that_passes(void **state)
{
	OWN(spec) struct sandbox_spec spec = { 0 };
	OWN(names) struct names names = { 0 };
	struct err err = { 0 };

	(void)state;
	spec.session_id = strdup("s");
	spec.workspace_id = strdup("w");
	assert_int_equal(policy_standard_denies(&spec.deny_write), 0);
	assert_int_equal(policy_package_files(&spec.deny_write), 0);
	assert_int_equal(policy_home_writes("/home/u", &spec.deny_write), 0);
	assert_int_equal(policy_home_secrets("/home/u", &spec.deny_read), 0);
	if (spec_check(&spec, &err) < 0)
		fail_msg("%s", err.msg);
	compile(&spec.deny_read, &names);
	assert_non_null(names_denied(&names, "/home/u/.ssh/id_rsa"));
	assert_non_null(names_denied(&names, "/home/u/.cargo/credentials.toml"));
	assert_null(names_denied(&names, "/home/u/.cargo/bin/cargo"));
	assert_true(policy_is_secret(".ssh"));
	assert_true(policy_is_secret(".ssh/id_rsa"));
	assert_false(policy_is_secret(".sshx"));
}

/* --- this host --- */

static char home[] = "/tmp/agate-test-policy-XXXXXX";

static void put(const char *rel, mode_t mode)
{
	OWN(mem) char *path = path_join(home, rel);
	OWN(mem) char *dir = path_parent(path);
	struct err err = { 0 };
	int fd;

	assert_int_equal(io_mkdirs(dir, 0755, &err), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void put_dir(const char *rel, mode_t mode)
{
	OWN(mem) char *path = path_join(home, rel);
	struct err err = { 0 };

	assert_int_equal(io_mkdirs(path, 0755, &err), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void link_to(const char *target, const char *rel)
{
	OWN(mem) char *path = path_join(home, rel);

	assert_int_equal(symlink(target, path), 0);
}

static int make_home(void **state)
{
	(void)state;
	return mkdtemp(home) ? chmod(home, 0755) : -1;
}

static int remove_home(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "chmod -R u+rwx %s && rm -rf %s", home, home);
	return system(cmd);
}

static int has_below(const struct strv *sv, const char *rel)
{
	OWN(mem) char *path = path_join(home, rel);

	return strv_has(sv, path);
}

static void only_known_tools_on_path_are_bound_and_as_little_of_them_as_they_need(void **state)
{
	OWN(strv) struct strv roots = { 0 };
	OWN(strv) struct strv masks = { 0 };
	char path[8 * PATH_MAX];

	(void)state;
	put(".cargo/bin/cargo", 0755);
	put(".cargo/credentials.toml", 0600);
	put(".rustup/settings.toml", 0644);
	put(".npm-global/bin/tsc", 0755);
	put(".nvm/nvm.sh", 0644);
	put("secret/bin/x", 0755);
	put(".local/bin/plain", 0755);
	put(".local/lib/python3.11/site-packages/m.py", 0644);
	put(".local/share/pipx/venvs/black/bin/black", 0755);
	put(".local/share/claude/versions/2.1", 0755);
	put(".local/share/data.txt", 0644);
	put(".ssh/id", 0755);
	link_to("../share/pipx/venvs/black/bin/black", ".local/bin/black");
	link_to("../share/claude/versions/2.1", ".local/bin/claude");
	link_to("../share/data.txt", ".local/bin/data");
	link_to("../../.ssh/id", ".local/bin/id");
	link_to("/usr/bin/env", ".local/bin/env");
	link_to("gone", ".local/bin/dangling");
	link_to("../../.ssh", ".local/bin/dir");
	snprintf(path, sizeof(path), "/usr/bin:%s/.cargo/bin:%s/secret/bin:relative::%s/.local/bin/:%s/.npm-global//bin:%s",
		 home, home, home, home, home);
	assert_int_equal(policy_tool_roots(home, path, &roots, &masks), 0);
	assert_true(has_below(&roots, ".cargo/bin"));
	assert_true(has_below(&roots, ".rustup"));
	assert_true(has_below(&roots, ".npm-global"));
	assert_true(has_below(&roots, ".local/bin"));
	assert_true(has_below(&roots, ".local/lib"));
	assert_true(has_below(&roots, ".local/share/pipx"));
	assert_true(has_below(&roots, ".local/share/claude/versions/2.1"));
	assert_int_equal(roots.n, 7);
	assert_int_equal(masks.n, 1);
	assert_true(has_below(&masks, ".npm-global/etc/npmrc"));	/* though it is not there yet */
}

static void no_path_binds_nothing(void **state)
{
	OWN(strv) struct strv roots = { 0 };
	OWN(strv) struct strv masks = { 0 };

	(void)state;
	assert_int_equal(policy_tool_roots(home, NULL, &roots, &masks), 0);
	assert_int_equal(policy_tool_roots(home, "", &roots, &masks), 0);
	assert_int_equal(policy_tool_roots("/", "/.cargo/bin:/usr/bin", &roots, &masks), 0);
	assert_int_equal(roots.n, 0);
}

static void system_directories_that_exist_are_named(void **state)
{
	OWN(strv) struct strv dirs = { 0 };

	(void)state;
	assert_int_equal(policy_system_binds(&dirs), 0);
	assert_true(strv_has(&dirs, "/usr"));
	assert_true(strv_has(&dirs, "/etc"));
	assert_false(strv_has(&dirs, "/home"));
	assert_false(strv_has(&dirs, "/libx32") && access("/libx32", F_OK) < 0);
}

static void what_others_may_not_read_but_we_may_is_found(void **state)
{
	OWN(strv) struct strv found = { 0 };
	OWN(mem) char *etc = path_join(home, "etc");
	struct err err = { 0 };

	(void)state;
	put("etc/passwd", 0644);
	put("etc/shadow", 0640);
	put("etc/ssl/private/key", 0644);
	put("etc/ssl/certs/ca", 0644);
	put("etc/ssl/certs/own", 0600);
	put("etc/app/list/only", 0600);
	put("etc/shadow.lock", 0600);
	put("etc/gshadow.4711", 0600);
	put("etc/app/shadow.lock", 0600);
	put_dir("etc/ssl/private", 0700);
	put_dir("etc/app/list", 0711);
	link_to("shadow", "etc/link");
	assert_int_equal(policy_root_only_files(etc, &found, &err), 0);
	assert_true(has_below(&found, "etc/shadow"));
	assert_true(has_below(&found, "etc/ssl/private"));
	assert_true(has_below(&found, "etc/ssl/certs/own"));
	assert_true(has_below(&found, "etc/app/list/only"));
	assert_true(has_below(&found, "etc/app/shadow.lock"));
	assert_int_equal(found.n, 5);	/* and not the locks of a moment */
	/* once closed itself, the whole */
	put_dir("etc", 0700);
	strv_done(&found);
	assert_int_equal(policy_root_only_files(etc, &found, &err), 0);
	assert_int_equal(found.n, 1);
	assert_string_equal(found.v[0], etc);
	assert_int_equal(policy_root_only_files("/nonexistent", &found, &err), 0);
	assert_int_equal(found.n, 1);
}

static void what_is_found_ahead_is_what_is_found(void **state)
{
	OWN(strv) struct strv ahead = { 0 };
	OWN(strv) struct strv now = { 0 };
	struct err err = { 0 };

	(void)state;
	policy_look_ahead();
	assert_int_equal(policy_root_only_files("/etc", &ahead, &err), 0);
	assert_int_equal(policy_root_only_files("/etc", &now, &err), 0);	/* taken once; this one looks */
	assert_int_equal(ahead.n, now.n);
	for (size_t i = 0; i < now.n; i++)
		assert_string_equal(ahead.v[i], now.v[i]);
}

static void what_was_found_long_ago_is_looked_for_again(void **state)
{
	const struct timespec long_ago = { .tv_nsec = 600000000 };
	OWN(strv) struct strv found = { 0 };
	struct err err = { 0 };

	(void)state;
	if (geteuid() != 0)
		skip();
	policy_look_ahead();
	nanosleep(&long_ago, NULL);
	assert_int_equal(policy_root_only_files("/etc", &found, &err), 0);
	assert_true(found.n > 0);
}

static void root_reads_more_than_others(void **state)
{
	(void)state;
	if (geteuid() == 0)
		assert_int_equal(policy_reads_more(), 1);
}

/* No file system here folds, so only the two other answers can be had. */
static void names_are_folded_where_the_directory_may_do_so(void **state)
{
	(void)state;
	assert_int_equal(policy_may_fold("/tmp"), 0);
	assert_int_equal(policy_may_fold("/not/there"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_standard_rules_refuse_these_names_and_leave_the_others),
		cmocka_unit_test(every_rule_has_a_reason_and_none_comes_twice),
		cmocka_unit_test(a_private_home_may_hold_settings_but_no_shell_start_up_files),
		cmocka_unit_test(packages_may_bring_keys_but_no_env_files_when_that_is_asked_for),
		cmocka_unit_test(a_given_git_directory_keeps_what_git_obeys),
		cmocka_unit_test(rules_below_the_real_home_make_a_spec_that_passes),
		cmocka_unit_test(only_known_tools_on_path_are_bound_and_as_little_of_them_as_they_need),
		cmocka_unit_test(no_path_binds_nothing),
		cmocka_unit_test(system_directories_that_exist_are_named),
		cmocka_unit_test(what_others_may_not_read_but_we_may_is_found),
		cmocka_unit_test(what_is_found_ahead_is_what_is_found),
		cmocka_unit_test(what_was_found_long_ago_is_looked_for_again),
		cmocka_unit_test(root_reads_more_than_others),
		cmocka_unit_test(names_are_folded_where_the_directory_may_do_so),
	};

	return cmocka_run_group_tests(tests, make_home, remove_home);
}
