#include "tests/unit/worktree/fixture.h"
#include "worktree/gitconfig.h"

static void addresses_lose_what_proves_who_asks(void **state)
{
	static const struct {
		const char *url, *clean;
	} cases[] = {
		{ "https://example.org/r.git", "https://example.org/r.git" },
		{ "https://user:tok@example.org/r.git", "https://example.org/r.git" },
		{ "https://tok@example.org:8443/r", "https://example.org:8443/r" },
		{ "HTTPS://u:p@q@example.org/a@b", "HTTPS://example.org/a@b" },
		{ "http://example.org/r.git?private_token=x#y", "http://example.org/r.git" },
		{ "https://u:p@h?x", "https://h" },
		{ "ssh://git@example.org/r.git", "ssh://git@example.org/r.git" },
		{ "ssh://git:pass@example.org/r.git", "ssh://git@example.org/r.git" },
		{ "git+ssh://u:p@h/x?y", "git+ssh://u@h/x?y" },
		{ "git@example.org:a/b.git", "git@example.org:a/b.git" },
		{ "/srv/r.git", "/srv/r.git" }, { "../up", "../up" }, { "/a/b://c@d", "/a/b://c@d" },
		{ "file:///srv/a@b", "file:///srv/a@b" }, { "[::1]:r", NULL }, { "ssh://git@[::1]/r", "ssh://git@[::1]/r" },
		{ "ext::sh -c evil", NULL }, { "fd::17", NULL }, { "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(mem) char *got = gitconfig_clean_url(cases[i].url);

		if (!cases[i].clean != !got || (got && strcmp(got, cases[i].clean)))
			fail_msg("'%s' became '%s'", cases[i].url, got ? got : "(none)");
	}
}

static void only_listed_keys_are_carried(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };

	(void)state;
	make_repo();
	SH("git config --global core.autocrlf input && git config --global alias.g '!evil' && git config --global filter.lfs.clean 'git-lfs clean -- %%f'"
	   "&& git config --global filter.lfs.smudge 'evil %%f'"
	   "&& cd src && git config remote.'we\"ird\\na me'.url 'https://u:p@h/x' && git config remote.x.uploadpack evil && git config remote.x.fetch '+refs/heads/*:refs/remotes/x/*'"
	   "&& git config --add remote.x.fetch '^refs/heads/no' && git config branch.main.merge refs/heads/main && git config submodule.s.update '!evil' && git config submodule.s.active true"
	   "&& git config user.name 'A \"quoted\" # name; \\ ' && git config core.sshCommand evil && git config core.editor evil && git config diff.x.textconv evil"
	   "&& printf '[include]\\n\\tpath = more\\n' >>.git/config && printf '[merge]\\n\\tff = only\\n' >.git/more");
	create("src", &ws);
	assert_sh("", "grep -E 'evil|include' run/git/config || true");
	assert_sh("input", "git config -f run/git/config core.autocrlf");
	assert_sh("git-lfs clean -- %f", "git config -f run/git/config filter.lfs.clean");
	assert_sh("https://h/x", "git config -f run/git/config remote.'we\"ird\\na me'.url");
	assert_sh("+refs/heads/*:refs/remotes/x/*\n^refs/heads/no", "git config -f run/git/config --get-all remote.x.fetch");
	assert_sh("refs/heads/main", "git config -f run/git/config branch.main.merge");
	assert_sh("A \"quoted\" # name; \\ ", "git config -f run/git/config user.name");
	assert_sh("only", "git config -f run/git/config merge.ff");
}

int main(void)
{
#define U(name) cmocka_unit_test_setup_teardown(name, make_temp, remove_temp)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_lose_what_proves_who_asks),
		U(only_listed_keys_are_carried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
