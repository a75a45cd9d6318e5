#include "tests/unit/worktree/fixture.h"
#include "worktree/repo.h"

static void find(const char *dir, struct repo *r)
{
	struct err err = { 0 };
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", T, dir);
	if (repo_find(path, r, &err) < 0)
		fail_msg("%s", err.msg);
}

#define assert_path(got, rel) do { \
	char want_[160]; \
	snprintf(want_, sizeof(want_), "%s/%s", T, rel); \
	assert_string_equal(got, want_); \
} while (0)

static void it_is_found_from_any_directory_inside(void **state)
{
	OWN(repo) struct repo r = { 0 };

	(void)state;
	make_repo();
	SH("ln -s src/lib/deep way");
	find("way", &r);
	assert_path(r.root, "src");
	assert_path(r.gitdir, "src/.git");
	assert_path(r.common_dir, "src/.git");
	assert_int_equal(r.head, HEAD_BRANCH);
	assert_string_equal(r.branch, "main");
	assert_sh(r.base, "git -C src rev-parse HEAD");
	assert_int_equal(r.is_linked, 0);
}

static void no_repository_is_an_answer(void **state)
{
	OWN(repo) struct repo r = { 0 };

	(void)state;
	SH("mkdir -p plain/sub plain/.git");
	find("plain/sub", &r);
	assert_path(r.root, "plain/sub");
	assert_null(r.gitdir);
	assert_int_equal(r.head, HEAD_NONE);
	assert_string_equal(r.base, "");
}

static void a_linked_worktree_knows_its_repository(void **state)
{
	OWN(repo) struct repo r = { 0 };

	(void)state;
	make_repo();
	SH("git -C src worktree add -q --detach ../wt side");
	find("wt", &r);
	assert_path(r.root, "wt");
	assert_path(r.gitdir, "src/.git/worktrees/wt");
	assert_path(r.common_dir, "src/.git");
	assert_int_equal(r.head, HEAD_DETACHED);
	assert_null(r.branch);
	assert_int_equal(r.is_linked, 1);
}

static void a_separate_git_directory_is_fine(void **state)
{
	OWN(repo) struct repo r = { 0 };

	(void)state;
	SH("git init -q --separate-git-dir=store.git wt");
	find("wt", &r);
	assert_path(r.gitdir, "store.git");
	assert_int_equal(r.head, HEAD_UNBORN);
	assert_string_equal(r.branch, "main");
}

static void per_worktree_configuration_and_partial_clones_can_be_opened(void **state)
{
	OWN(repo) struct repo r = { 0 };

	(void)state;
	make_repo();
	SH("cd src && git config core.repositoryformatversion 1 && git config extensions.worktreeConfig true && git config extensions.partialClone origin"
	   "&& git config extensions.objectFormat sha1 && git config extensions.preciousObjects true");
	find("src", &r);
	assert_int_equal(r.head, HEAD_BRANCH);
}

static void the_environment_does_not_decide(void **state)
{
	OWN(repo) struct repo r = { 0 };
	char path[100];

	(void)state;
	make_repo();
	SH("mkdir plain");
	snprintf(path, sizeof(path), "%s/src/.git", T);
	setenv("GIT_DIR", path, 1);
	find("plain", &r);
	unsetenv("GIT_DIR");
	assert_null(r.gitdir);
}

static void somebody_elses_parent_does_not_decide(void **state)
{
	OWN(repo) struct repo r = { 0 };

	(void)state;
	if (geteuid())
		skip();
	make_repo();
	SH("mkdir src/mine && chown 12345 src/.git && chown 12346 src/mine && chmod 755 . src src/.git");
	assert_int_equal(seteuid(12346), 0);
	find("src/mine", &r);
	assert_int_equal(seteuid(0), 0);
	assert_null(r.gitdir);
}

static void what_is_not_there_says_so(void **state)
{
	struct repo r = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(repo_find("/nowhere/at/all", &r, &err), -1);
	assert_int_equal(err.code, ERR_NOTFOUND);
	assert_string_equal(err.msg, "cannot use '/nowhere/at/all': No such file or directory");
	assert_int_equal(repo_find("/etc/passwd", &r, &err), -1);
	assert_null(r.root);
}

static void the_identity_is_the_nearest(void **state)
{
	OWN(repo) struct repo r = { 0 }, plain = { 0 };
	OWN(mem) char *name = NULL, *email = NULL;
	struct err err = { 0 };

	(void)state;
	make_repo();
	SH("git -C src config user.name Near && mkdir plain");
	find("src", &r);
	assert_int_equal(repo_identity(&r, &name, &email, &err), 0);
	assert_string_equal(name, "Near");
	assert_string_equal(email, "t@example.org");
	free(TAKE(name));
	free(TAKE(email));
	find("plain", &plain);
	assert_int_equal(repo_identity(&plain, &name, &email, &err), 0);
	assert_string_equal(name, "Tester");
}

int main(void)
{
#define U(name) cmocka_unit_test_setup_teardown(name, make_temp, remove_temp)
	const struct CMUnitTest tests[] = {
		U(it_is_found_from_any_directory_inside),
		U(no_repository_is_an_answer),
		U(a_linked_worktree_knows_its_repository),
		U(a_separate_git_directory_is_fine),
		U(per_worktree_configuration_and_partial_clones_can_be_opened),
		U(the_environment_does_not_decide),
		U(somebody_elses_parent_does_not_decide),
		U(what_is_not_there_says_so),
		U(the_identity_is_the_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
