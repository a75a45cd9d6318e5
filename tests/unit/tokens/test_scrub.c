#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "base/strv.h"
#include "tokens/scrub.h"

#define LIST(...) (const char *const[]){ __VA_ARGS__, NULL }

static void fill(struct strv *sv, const char *const v[])
{
	assert_int_equal(strv_copyv(sv, v), 0);
}

/* The value of @name, or NULL; fails if it is there twice. */
static const char *value(const struct strv *env, const char *name)
{
	size_t n = strlen(name);
	const char *found = NULL;

	for (size_t i = 0; i < env->n; i++) {
		if (strncmp(env->v[i], name, n) != 0 || env->v[i][n] != '=')
			continue;
		assert_null(found);
		found = env->v[i] + n + 1;
	}
	return found;
}

static void scrub(const struct scrub_rules *rules, const char *const parent[], struct strv *env)
{
	struct err err = { 0 };

	if (scrub_env(rules, parent, env, &err) < 0)
		fail_msg("%s", err.msg);
}

static void nothing_comes_through_that_no_rule_names(void **state)
{
	static const char *const parent[] = {
		"AWS_SECRET_ACCESS_KEY=x", "GITHUB_TOKEN=x", "LD_PRELOAD=/x.so", "SSH_AUTH_SOCK=/x", "PATHX=1",
		"LCX=1", "BASH_ENV=/x", "GIT_DIR=/x", "HTTP_PROXY=http://host:1", "NODE_OPTIONS=-r x",
		"BASH_FUNC_ls%%=() { :; }", "HOME=/real/home", "=odd", "noequals", "", NULL
	};
	static const char *const want[] = {
		"HOME=/h", "LOGNAME=agent", "PATH=/usr/local/bin:/usr/bin:/bin", "SHELL=/bin/sh", "TMPDIR=/tmp",
		"USER=agent",
	};
	const struct scrub_rules rules = { .home = "/h" };
	OWN(strv) struct strv env = { 0 };

	(void)state;
	scrub(&rules, parent, &env);
	assert_int_equal(env.n, ARRAY_LEN(want));
	for (size_t i = 0; i < env.n; i++)
		assert_string_equal(env.v[i], want[i]);
	assert_null(env.v[env.n]);
}

static void the_terminal_and_the_language_are_kept(void **state)
{
	static const char *const parent[] = {
		"TERM=xterm-256color", "COLORTERM=truecolor", "NO_COLOR=1", "LANG=C.UTF-8", "LC_ALL=C",
		"LC_MESSAGES=de", "LANGUAGE=de:en", "TZ=Europe/Berlin", "USER=ada", NULL
	};
	const struct scrub_rules rules = { .home = "/h" };
	OWN(strv) struct strv env = { 0 };

	(void)state;
	scrub(&rules, parent, &env);
	assert_string_equal(value(&env, "TERM"), "xterm-256color");
	assert_string_equal(value(&env, "LC_MESSAGES"), "de");
	assert_string_equal(value(&env, "LANGUAGE"), "de:en");
	assert_string_equal(value(&env, "TZ"), "Europe/Berlin");
	assert_string_equal(value(&env, "USER"), "ada");
	assert_string_equal(value(&env, "LOGNAME"), "ada");
}

static void a_kept_variable_with_a_control_byte_in_it_is_dropped(void **state)
{
	static const char *const parent[] = { "TERM=x\033[31m", "LANG=a\nb", "TZ=\x7f", "USER=a\tb", NULL };
	const struct scrub_rules rules = { .home = "/h" };
	OWN(strv) struct strv env = { 0 };

	(void)state;
	scrub(&rules, parent, &env);
	assert_null(value(&env, "TERM"));
	assert_null(value(&env, "LANG"));
	assert_null(value(&env, "TZ"));
	assert_string_equal(value(&env, "USER"), "agent");
}

static void wanted_variables_are_copied_or_set_and_the_last_word_counts(void **state)
{
	OWN(strv) struct strv wanted = { 0 };
	OWN(strv) struct strv env = { 0 };
	const struct scrub_rules rules = { .home = "/h", .wanted = &wanted };

	(void)state;
	fill(&wanted, LIST("API_KEY", "MISSING", "EMPTY=", "TWO=1", "TWO=a=b", "TEXT=line\nline", "LANG=C", "TERM=dumb",
			   "API_KEY2=x", "API_KEY2"));
	scrub(&rules, LIST("API_KEY=secret", "API_KEYS=other", "API_KEY=twice", "LANG=de", "API_KEY2=y"), &env);
	assert_string_equal(value(&env, "API_KEY"), "secret");	/* as getenv(3): the first */
	assert_null(value(&env, "API_KEYS"));
	assert_null(value(&env, "MISSING"));
	assert_string_equal(value(&env, "EMPTY"), "");
	assert_string_equal(value(&env, "TWO"), "a=b");
	assert_string_equal(value(&env, "TEXT"), "line\nline");
	assert_string_equal(value(&env, "LANG"), "C");
	assert_string_equal(value(&env, "TERM"), "dumb");
	assert_string_equal(value(&env, "API_KEY2"), "y");
}

/* Each word is refused with this message. */
static const struct refusal {
	const char *word;
	const char *msg;
	enum err_code code;
} refusals[] = {
	{ "LD_PRELOAD", "may not pass 'LD_PRELOAD': the dynamic loader obeys it", ERR_POLICY },
	{ "LD_LIBRARY_PATH=/x", "may not pass 'LD_LIBRARY_PATH': the dynamic loader obeys it", ERR_POLICY },
	{ "LD_AUDIT", "may not pass 'LD_AUDIT': the dynamic loader obeys it", ERR_POLICY },
	{ "GCONV_PATH", "may not pass 'GCONV_PATH': the C library obeys it", ERR_POLICY },
	{ "GLIBC_TUNABLES", "may not pass 'GLIBC_TUNABLES': the C library obeys it", ERR_POLICY },
	{ "BASH_ENV", "may not pass 'BASH_ENV': shells obey it", ERR_POLICY },
	{ "ENV", "may not pass 'ENV': shells obey it", ERR_POLICY },
	{ "SHELLOPTS", "may not pass 'SHELLOPTS': shells obey it", ERR_POLICY },
	{ "PROMPT_COMMAND=x", "may not pass 'PROMPT_COMMAND': shells obey it", ERR_POLICY },
	{ "IFS=x", "may not pass 'IFS': shells obey it", ERR_POLICY },
	{ "NODE_OPTIONS", "may not pass 'NODE_OPTIONS': Node obeys it", ERR_POLICY },
	{ "PYTHONSTARTUP", "may not pass 'PYTHONSTARTUP': Python obeys it", ERR_POLICY },
	{ "PYTHONPATH", "may not pass 'PYTHONPATH': Python obeys it", ERR_POLICY },
	{ "PERL5OPT", "may not pass 'PERL5OPT': Perl obeys it", ERR_POLICY },
	{ "RUBYOPT", "may not pass 'RUBYOPT': Ruby obeys it", ERR_POLICY },
	{ "JAVA_TOOL_OPTIONS", "may not pass 'JAVA_TOOL_OPTIONS': Java obeys it", ERR_POLICY },
	{ "_JAVA_OPTIONS", "may not pass '_JAVA_OPTIONS': Java obeys it", ERR_POLICY },
	{ "GIT_SSH_COMMAND=x", "may not pass 'GIT_SSH_COMMAND': git obeys it", ERR_POLICY },
	{ "GIT_DIR", "may not pass 'GIT_DIR': git obeys it", ERR_POLICY },
	{ "LESSOPEN", "may not pass 'LESSOPEN': less runs what it names", ERR_POLICY },
	{ "NPM_CONFIG_Script_Shell", "may not pass 'NPM_CONFIG_Script_Shell': npm obeys it", ERR_POLICY },
	{ "AGATE_STATE_DIR", "may not pass 'AGATE_STATE_DIR': it is agate's own", ERR_POLICY },
	{ "HOME=/x", "may not pass 'HOME': agate sets it", ERR_POLICY },
	{ "HTTPS_PROXY", "may not pass 'HTTPS_PROXY': agate sets it", ERR_POLICY },
	{ "no_proxy=*", "may not pass 'no_proxy': agate sets it", ERR_POLICY },
	{ "", "'' is not the name of a variable", ERR_USAGE },
	{ "=x", "'' is not the name of a variable", ERR_USAGE },
	{ "A B=x", "'A B' is not the name of a variable", ERR_USAGE },
	{ "1A=x", "'1A' is not the name of a variable", ERR_USAGE },
	{ "BASH_FUNC_ls%%=() { :; }", "'BASH_FUNC_ls%%' is not the name of a variable", ERR_USAGE },
	{ "A\nLD_PRELOAD=x", "a name with a control byte in it is not the name of a variable", ERR_USAGE },
};

static void asking_for_a_name_that_programs_obey_fails_and_says_which(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		OWN(strv) struct strv wanted = { 0 };
		struct strv env = { 0 };
		struct err err = { 0 };
		const struct scrub_rules rules = { .home = "/h", .wanted = &wanted, .http_port = 1, .socks_port = 2 };

		fill(&wanted, LIST("FINE=1", refusals[i].word));
		assert_int_equal(scrub_env(&rules, LIST("LD_PRELOAD=x"), &env, &err), -1);
		assert_string_equal(err.msg, refusals[i].msg);
		assert_int_equal(err.code, refusals[i].code);
		assert_null(env.v);	/* failure left the output alone */
	}
}

static void harmless_names_are_not_refused(void **state)
{
	static const char *const names[] = {
		"PYTHONUNBUFFERED", "NODE_ENV", "JAVA_HOME", "EDITOR", "PAGER", "CC", "CFLAGS", "GITHUB_TOKEN", "ENVIRONMENT",
		"GOPATH", "CARGO_HOME", "npm_config_registry", "LDFLAGS", "MAKEFLAGS", "VIRTUAL_ENV", "HTTP_PROXY", "PATH",
		"ANTHROPIC_API_KEY", NULL
	};

	(void)state;
	for (const char *const *n = names; *n; n++)
		if (scrub_refuses(*n))
			fail_msg("%s: %s", *n, scrub_refuses(*n));
}

static const struct path_case {
	const char *parent;
	const char *want;
} paths[] = {
	{ "/usr/bin:/bin", "/usr/bin:/bin" },
	{ "/usr/bin::/bin:", "/usr/bin:/bin" },
	{ ".:bin:/usr/bin:../x", "/usr/bin" },
	{ "/usr/bin/:/usr//bin:/usr/./bin", "/usr/bin" },
	{ "/usr/bin:/home/u/secret/bin:/home/u/.cargo/bin", "/usr/bin:/home/u/.cargo/bin" },
	{ "/usr/../home/u/secret/bin:/bin", "/bin" },
	{ "/home/u/secret/bin", "/usr/local/bin:/usr/bin:/bin" },
	{ "/usrx/bin:/bin", "/bin" },
	{ "", "/usr/local/bin:/usr/bin:/bin" },
};

static void path_keeps_its_order_and_only_what_is_visible(void **state)
{
	OWN(strv) struct strv visible = { 0 };
	const struct scrub_rules rules = { .home = "/h", .visible = &visible };

	(void)state;
	fill(&visible, LIST("/usr", "/bin", "/home/u/.cargo"));
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		OWN(strv) struct strv parent = { 0 };
		OWN(strv) struct strv env = { 0 };

		assert_int_equal(strv_addf(&parent, "PATH=%s", paths[i].parent), 0);
		scrub(&rules, (const char *const *)parent.v, &env);
		assert_string_equal(value(&env, "PATH"), paths[i].want);
	}
}

static void a_wanted_path_is_cleaned_like_the_parents(void **state)
{
	OWN(strv) struct strv visible = { 0 };
	OWN(strv) struct strv wanted = { 0 };
	OWN(strv) struct strv env = { 0 };
	const struct scrub_rules rules = { .home = "/h", .visible = &visible, .wanted = &wanted };

	(void)state;
	fill(&visible, LIST("/usr"));
	fill(&wanted, LIST("PATH=.:/usr/games:/secret"));
	scrub(&rules, LIST("PATH=/usr/bin"), &env);
	assert_string_equal(value(&env, "PATH"), "/usr/games");
}

static void what_agate_sets_is_all_there(void **state)
{
	OWN(strv) struct strv own = { 0 };
	OWN(strv) struct strv env = { 0 };
	const struct scrub_rules rules = {
		.home = "/home/u", .tmpdir = "/tmp/t", .user = "u", .shell = "/bin/bash", .run_id = "r-1",
		.git_name = "Ada (agent)", .git_email = "ada@agents.local", .http_port = 3128, .socks_port = 1080,
		.own = &own,
	};

	(void)state;
	fill(&own, LIST("ANTHROPIC_BASE_URL=http://127.0.0.1:1", "GIT_CONFIG_COUNT=0", "TERM=dumb"));
	scrub(&rules, LIST("TERM=xterm", "USER=other"), &env);
	assert_string_equal(value(&env, "HOME"), "/home/u");
	assert_string_equal(value(&env, "TMPDIR"), "/tmp/t");
	assert_string_equal(value(&env, "LOGNAME"), "u");
	assert_string_equal(value(&env, "SHELL"), "/bin/bash");
	assert_string_equal(value(&env, "AGATE_RUN"), "r-1");
	assert_string_equal(value(&env, "GIT_AUTHOR_NAME"), "Ada (agent)");
	assert_string_equal(value(&env, "GIT_COMMITTER_EMAIL"), "ada@agents.local");
	assert_string_equal(value(&env, "HTTPS_PROXY"), "http://127.0.0.1:3128");
	assert_string_equal(value(&env, "https_proxy"), "http://127.0.0.1:3128");
	assert_string_equal(value(&env, "ALL_PROXY"), "socks5h://127.0.0.1:1080");
	assert_string_equal(value(&env, "no_proxy"), "localhost,127.0.0.1,::1");
	assert_string_equal(value(&env, "GIT_CONFIG_COUNT"), "0");
	assert_string_equal(value(&env, "TERM"), "dumb");
}

static void without_proxies_the_user_may_name_one(void **state)
{
	OWN(strv) struct strv wanted = { 0 };
	OWN(strv) struct strv env = { 0 };
	const struct scrub_rules rules = { .home = "/h", .wanted = &wanted };

	(void)state;
	fill(&wanted, LIST("HTTPS_PROXY"));
	scrub(&rules, LIST("HTTPS_PROXY=http://proxy:8080"), &env);
	assert_string_equal(value(&env, "HTTPS_PROXY"), "http://proxy:8080");
	assert_null(value(&env, "ALL_PROXY"));
}

static void an_identity_with_a_line_break_is_refused(void **state)
{
	struct strv env = { 0 };
	struct err err = { 0 };
	const struct scrub_rules rules = { .home = "/h", .git_name = "a\nb", .git_email = "a@b" };

	(void)state;
	assert_int_equal(scrub_env(&rules, LIST("TERM=x"), &env, &err), -1);
	assert_string_equal(err.msg, "'GIT_AUTHOR_NAME' has a control byte in it");
	assert_null(env.v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_comes_through_that_no_rule_names),
		cmocka_unit_test(the_terminal_and_the_language_are_kept),
		cmocka_unit_test(a_kept_variable_with_a_control_byte_in_it_is_dropped),
		cmocka_unit_test(wanted_variables_are_copied_or_set_and_the_last_word_counts),
		cmocka_unit_test(asking_for_a_name_that_programs_obey_fails_and_says_which),
		cmocka_unit_test(harmless_names_are_not_refused),
		cmocka_unit_test(path_keeps_its_order_and_only_what_is_visible),
		cmocka_unit_test(a_wanted_path_is_cleaned_like_the_parents),
		cmocka_unit_test(what_agate_sets_is_all_there),
		cmocka_unit_test(without_proxies_the_user_may_name_one),
		cmocka_unit_test(an_identity_with_a_line_break_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
