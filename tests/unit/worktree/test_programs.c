#include "fixture.h"

#include "base/strv.h"
#include "worktree/programs.h"

static void scan(struct programs *p, struct strv *includes, const char *text)
{
	struct err err = { 0 };

	assert_int_equal(programs_scan(p, text, strlen(text), includes, &err), 0);
}

static const char *off(const struct programs *p, const char *key)
{
	for (size_t i = 0; i + 1 < p->off.n; i += 2)
		if (!strcmp(p->off.v[i], key))
			return p->off.v[i + 1];
	return NULL;
}

static void every_key_that_reading_would_run_is_found_and_switched_off(void **state)
{
	static const struct {
		const char *text, *key;
	} cases[] = {
		{ "[core]\n\tfsmonitor = ./evil\n", "core.fsmonitor" },
		{ "[core] fsmonitor = ./evil", "core.fsmonitor" },
		{ "[CORE]FSMonitor=./evil", "core.fsmonitor" },
		{ "\xef\xbb\xbf[core]\r\n\tfsmonitor = ./evil\r\n", "core.fsmonitor" },
		{ "# x\n; y\n[core] # [core]\n\tbare = false ; no\n\tfsmonitor = \"./evil\"\n", "core.fsmonitor" },
		{ "[core]\n\tquotepath = a\\\n[x]\n\tfsmonitor = ./evil\n", "core.fsmonitor" },
		{ "[core]\n\tquotepath = \"a\n\tfsmonitor = ./evil\n", "core.fsmonitor" },
		{ "[core\n[core]\nfsmonitor = e\n", "core.fsmonitor" },
		{ "[core]\n!!\nfsmonitor = e\n", "core.fsmonitor" },
		{ "[diff]\nexternal = e\n", "diff.external" },
		{ "[diff \"x\"]\ntextconv = e\n", "diff.x.textconv" },
		{ "[diff \"x\"]\ncommand = e\n", "diff.x.command" },
		{ "[diff.X]\ntextconv = e\n", "diff.x.textconv" },
		{ "[diff \"A\\\"b\\\\c.d=e\"]\ntextconv = e\n", "diff.A\"b\\c.d=e.textconv" },
		{ "[filter \"f\"]\nclean = e\n", "filter.f.clean" },
		{ "[filter \"f\"]\nsmudge = e\n", "filter.f.smudge" },
		{ "[filter \"f\"]\nprocess = e\n", "filter.f.process" },
		{ "[filter \"lfs\"]\nprocess = git-lfs filter-process --evil\n", "filter.lfs.process" },
		{ "[merge \"m\"]\ndriver = e\n", "merge.m.driver" },
		{ "[gpg]\nprogram = e\n", "gpg.program" },
		{ "[gpg \"ssh\"]\nprogram = e\n", "gpg.ssh.program" },
		{ "[alias]\nst = \"!e\"\n", "alias.st" },
		{ "[alias]\nst = \\\n !e\n", "alias.st" },
		{ "[pager]\nlog = e\n", "pager.log" },
		{ "[core]\npager = e\n", "core.pager" },
		{ "[core]\nsshCommand = e\n", "core.sshcommand" },
		{ "[core]\nalternateRefsCommand = e\n", "core.alternaterefscommand" },
		{ "[man \"x\"]\ncmd = e\n", "man.x.cmd" },
		{ "[remote \"o\"]\nurl = ext::e\n", "remote.o.url" },
		{ "[remote \"o\"]\nuploadpack = e\n", "remote.o.uploadpack" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(programs) struct programs p = { 0 };
		OWN(strv) struct strv includes = { 0 };

		scan(&p, &includes, cases[i].text);
		if (!strv_has(&p.keys, cases[i].key))
			fail_msg("'%s' is not found in: %s", cases[i].key, cases[i].text);
	}
}

static void ordinary_configuration_names_nothing(void **state)
{
	static const char text[] =
		"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tfsmonitor = false\n\tpager = less -FRX\n"
		"[diff \"py\"]\n\txfuncname = ^def\n\tbinary = true\n[diff]\n\talgorithm = histogram\n"
		"[remote \"origin\"]\n\turl = https://h.test/ext::x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
		"[alias]\n\tst = status -sb\n\tl = log --format='%s !x'\n[log]\n\tdate = iso ; fsmonitor = x\n"
		"[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n"
		"\tprocess = git-lfs filter-process\n\trequired = true\n[user]\n\tname = \"[core] fsmonitor = x\"\n";
	OWN(programs) struct programs p = { 0 };
	OWN(strv) struct strv includes = { 0 };

	(void)state;
	scan(&p, &includes, text);
	for (size_t i = 0; i < p.keys.n; i++)
		print_error("%s\n", p.keys.v[i]);
	assert_int_equal(p.keys.n, 0);
	assert_int_equal(p.off.n, 0);
	assert_int_equal(includes.n, 0);
}

static void a_filter_that_is_off_is_not_required_and_a_textconv_keeps_no_cache(void **state)
{
	OWN(programs) struct programs p = { 0 };
	OWN(strv) struct strv includes = { 0 };

	(void)state;
	scan(&p, &includes, "[filter \"f\"]\nrequired\nclean = a\nclean = b\n[diff \"x\"]\ncachetextconv = true\ntextconv=e\n");
	assert_int_equal(p.keys.n, 2);
	assert_string_equal(off(&p, "filter.f.clean"), "");
	assert_string_equal(off(&p, "filter.f.required"), "false");
	assert_string_equal(off(&p, "diff.x.cachetextconv"), "false");
}

static void what_is_included_on_any_condition_is_told(void **state)
{
	OWN(programs) struct programs p = { 0 };
	OWN(strv) struct strv includes = { 0 };

	(void)state;
	scan(&p, &includes, "[include]\npath = ../a\n[includeIf \"hasconfig:remote.*.url:**\"]\npath=\"~/b c\"\n[IncludeIf \"x\"] path = d # e\n");
	assert_int_equal(includes.n, 3);
	assert_string_equal(includes.v[0], "../a");
	assert_string_equal(includes.v[1], "~/b c");
	assert_string_equal(includes.v[2], "d");
}

static void more_keys_than_anybody_writes_are_an_error(void **state)
{
	OWN(programs) struct programs p = { 0 };
	OWN(strv) struct strv includes = { 0 };
	OWN(buf) struct buf b = { 0 };
	struct err err = { 0 };

	(void)state;
	for (int i = 0; i < 2000; i++)
		buf_addf(&b, "[diff \"n%d\"]\ntextconv = x\n", i);
	assert_int_equal(programs_scan(&p, b.data, b.len, &includes, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
}

/* Does git read the same as we do, for text out of its grammar's corners? */
static void git_sees_no_program_that_the_scanner_does_not(void **state)
{
	static const char *const bits[] = {
		"[core]", "[diff \"x\"]", "[diff", "\"x\"]", "[CORE]\n", "\n", "\r\n", "\\\n", "\\", "\"", " ", "\t", "#", ";", "=",
		"fsmonitor", "textconv", "fsmonitor = e", "textconv=e\n", "a = b", "a", "]", "[", "\\n", "external = e", "[diff]",
		"\n[core]\n", "\nfsmonitor=e\n", "-", ".", "1",
	};
	unsigned int seed = 20261201;
	OWN(mem) char *file = NULL;

	(void)state;
	assert_true(asprintf(&file, "%s/fuzzed", T) > 0);
	for (int round = 0; round < 60; round++) {
		OWN(programs) struct programs p = { 0 };
		OWN(strv) struct strv includes = { 0 };
		OWN(buf) struct buf b = { 0 };
		OWN(mem) char *seen = NULL;
		FILE *f = fopen(file, "w");

		for (int i = 0; i < 12; i++) {
			seed = seed * 1103515245 + 12345;
			buf_adds(&b, bits[(seed >> 16) % ARRAY_LEN(bits)]);
		}
		fwrite(b.data, 1, b.len, f);
		fclose(f);
		scan(&p, &includes, b.data);
		seen = sh("git config -f fuzzed --name-only -l 2>/dev/null || true");
		for (char *save = NULL, *k = strtok_r(seen, "\n", &save); k; k = strtok_r(NULL, "\n", &save))
			if ((!strcmp(k, "core.fsmonitor") || !strcmp(k, "diff.external") || !strcmp(k, "diff.x.textconv")) &&
			    !strv_has(&p.keys, k)) {
				OWN(mem) char *value = sh("git config -f fuzzed --get-all %s", k);

				if (strcmp(value, "\n"))
					fail_msg("git sees %s = %s in:\n%s", k, value, b.data);
			}
	}
}

static void all_files_git_would_read_are_read(void **state)
{
	OWN(programs) struct programs p = { 0 };
	OWN(mem) char *dot = NULL, *pointer = NULL;
	struct err err = { 0 };

	(void)state;
	SH("rm -rf r w && git init -q r && cd r && git config include.path ../inc && printf '[pager]\\nlog=e\\n[include]\\npath=inc2\\n' >inc"
		"&& printf '[core]\\nfsmonitor = e\\n[include]\\npath=inc\\n' >inc2 && mkdir -p .git/modules/a/b .git/worktrees/w"
		"&& printf '[diff \"m\"]\\ntextconv = e\\n' >.git/modules/a/b/config && printf '[filter \"w\"]\\nclean = e\\n' >.git/config.worktree"
		"&& printf '[diff \"v\"]\\ntextconv = e\\n' >.git/worktrees/w/config.worktree"
		"&& printf 'gitdir: r/.git/worktrees/w\\n' >../pointer && printf '../..\\n' >.git/worktrees/w/commondir && mkfifo .git/modules/config");
	assert_true(asprintf(&dot, "%s/r/.git", T) > 0 && asprintf(&pointer, "%s/pointer", T) > 0);
	assert_int_equal(programs_find(&p, dot, &err), 0);
	for (int i = 0; i < 2; i++) {
		assert_true(strv_has(&p.keys, "pager.log"));
		assert_true(strv_has(&p.keys, "core.fsmonitor"));
		assert_true(strv_has(&p.keys, "diff.m.textconv"));
		assert_true(strv_has(&p.keys, "filter.w.clean"));
		assert_true(strv_has(&p.keys, "diff.v.textconv"));
		programs_done(&p);
		assert_int_equal(programs_find(&p, pointer, &err), 0);	/* a linked worktree's: the same */
	}
	assert_int_equal(programs_find(&p, "/nowhere/.git", &err), 0);
}

static void the_environment_says_it_to_git(void **state)
{
	OWN(programs) struct programs p = { 0 };
	OWN(strv) struct strv includes = { 0 };
	OWN(strv) struct strv env = { 0 };
	int count = -1, n = 0;

	(void)state;
	scan(&p, &includes, "[diff \"x\"]\ntextconv = e\n");
	assert_int_equal(programs_env(&p, &env), 0);
	for (size_t i = 0; i < env.n; i++) {
		sscanf(env.v[i], "GIT_CONFIG_COUNT=%d", &count);
		n += !strncmp(env.v[i], "GIT_CONFIG_KEY_", 15);
	}
	assert_true(n > 8 && n == count);
	assert_true(strv_has(&env, "GIT_PAGER=cat"));
	assert_true(strv_has(&env, "GIT_CONFIG_KEY_0=core.fsmonitor"));
	assert_true(strv_has(&env, "GIT_CONFIG_VALUE_0=false"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_that_reading_would_run_is_found_and_switched_off),
		cmocka_unit_test(ordinary_configuration_names_nothing),
		cmocka_unit_test(a_filter_that_is_off_is_not_required_and_a_textconv_keeps_no_cache),
		cmocka_unit_test(what_is_included_on_any_condition_is_told),
		cmocka_unit_test(more_keys_than_anybody_writes_are_an_error),
		cmocka_unit_test_setup_teardown(git_sees_no_program_that_the_scanner_does_not, make_temp, remove_temp),
		cmocka_unit_test_setup_teardown(all_files_git_would_read_are_read, make_temp, remove_temp),
		cmocka_unit_test(the_environment_says_it_to_git),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
