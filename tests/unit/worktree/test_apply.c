/* timeout: 300 */
#include "tests/unit/worktree/fixture.h"
#include "worktree/change.h"

static void apply(const struct workspace *ws, struct apply_result *r)
{
	OWN(change_set) struct change_set set = { 0 };
	struct err err = { 0 };

	if (change_collect(ws, &set, &err) < 0 || change_apply(ws, &set, r, &err) < 0)
		fail_msg("%s", err.msg);
}

/* Applied or not; and if not, the one line that says why. */
static void assert_refused(const struct workspace *ws, const char *conflict, const char *refusal)
{
	OWN(apply_result) struct apply_result r = { 0 };
	OWN(mem) char *before = fingerprint("src"), *after = NULL;

	apply(ws, &r);
	after = fingerprint("src");
	assert_int_equal(r.is_applied, 0);
	assert_string_equal(r.conflicts.n ? r.conflicts.v[0] : "", conflict);
	if (!strstr(r.refused.n ? r.refused.v[0] : "", refusal))
		fail_msg("refused: %s", r.refused.n ? r.refused.v[0] : "");
	assert_string_equal(before, after);
}

static void every_kind_of_change_arrives(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(apply_result) struct apply_result r = { 0 }, again = { 0 };
	OWN(change_set) struct change_set left = { 0 };
	struct err err = { 0 };

	(void)state;
	make_repo();
	SH("cd src && mkdir old && echo x >old/x && mkdir turns && echo y >turns/y && ln run.sh hard && mkdir ro && echo r >ro/r");
	create("src", &ws);
	RUN(&ws, "echo more >>a && rm lib/b && chmod 700 run.sh && mkdir -p new/deep && echo z >new/deep/z && chmod 755 new/deep/z && rm -r old && rm -r turns && echo f >turns"
	    "&& ln -sfn lib/deep/c link && ln -s \"$PWD/a\" up && rm x.o && mkdir x.o && echo in >x.o/in && chmod 700 lib && mkdir shut && echo s >shut/s && chmod 500 shut && echo $'\\xff' >$'n\\n\\xff'");
	SH("cd run/ws && ln -sfn \"$T/src/a\" up");
	apply(&ws, &r);
	assert_int_equal(r.is_applied, 1);
	assert_null(r.ref);
	SH("diff -r --no-dereference --exclude=.git src run/ws");
	SH("cd src && test $(stat -c %%a run.sh) = 700 && test $(stat -c %%a lib) = 700 && test $(stat -c %%a shut) = 500 && test $(stat -c %%a new/deep/z) = 755");
	assert_int_equal(change_collect(&ws, &left, &err), 0);
	assert_int_equal(left.n, 0);
	/* the run goes on, and only what is new is applied */
	RUN(&ws, "echo again >>a && echo y >y && rm -r x.o && echo o >x.o");
	apply(&ws, &again);
	assert_int_equal(again.is_applied, 1);
	assert_int_equal(again.n_applied, 4);
	SH("diff -r --no-dereference --exclude=.git src run/ws");
}

static void commits_arrive_as_a_branch(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(apply_result) struct apply_result r = { 0 }, again = { 0 }, third = { 0 };

	(void)state;
	make_repo();
	create("src", &ws);
	RUN(&ws, "git commit -qam third && mkdir d && echo n >d/n && git add d && git commit -qm fourth && git gc -q && echo 5 >d/5 && git add d && git commit -qm fifth");
	apply(&ws, &r);
	assert_int_equal(r.is_applied, 1);
	assert_string_equal(r.ref, "refs/heads/agate/r1");
	assert_true(r.n_objects >= 9);
	assert_sh("fifth\nfourth\nthird\nsecond\nfirst", "cd src && git log --format=%%s agate/r1 && git fsck --no-dangling --strict 1>&2");
	assert_sh("main", "git -C src branch --show-current");
	RUN(&ws, "echo 6 >six && git add six && git commit -qm sixth");
	apply(&ws, &again);
	assert_int_equal(again.is_applied, 1);
	assert_sh("sixth", "git -C src log -1 --format=%%s agate/r1");
	/* nothing new: nothing to do */
	apply(&ws, &third);
	assert_int_equal(third.is_applied, 1);
	assert_int_equal(third.n_applied, 0);
	assert_int_equal(third.n_objects, 0);
}

static void a_file_the_user_changed_too_stops_it_all(void **state)
{
	static const struct {
		const char *run, *user, *conflict;
	} cases[] = {
		{ "echo r >>a", "echo user >>src/a", "a" },
		{ "rm a", "echo user >>src/a", "a" },
		{ "echo r >a", "rm src/a", "a" },
		{ "chmod 600 a", "chmod 755 src/a", "a" },
		{ "echo new >n", "echo other >src/n", "n" },
		{ "mkdir d; echo new >d/n", "echo file >src/d", "d" },
		{ "rm -r lib", "echo user >src/lib/own", "lib" },
		{ "echo r >>lib/b", "rm -r src/lib", "lib/b" },
		{ "echo n >lib/n", "rm -r src/lib", "lib/n" },
		{ "echo n >lib/n", "rm -r src/lib; ln -s /tmp src/lib", "lib/n" },
		{ "echo r >>lib/b", "mv src/lib src/l2; ln -s l2 src/lib", "lib/b" },
		{ "ln -sfn run.sh link", "ln -sfn a src/link", "link" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(workspace) struct workspace ws = { 0 };

		make_repo();
		create("src", &ws);
		RUN(&ws, "%s; echo innocent >innocent", cases[i].run);
		SH("%s", cases[i].user);
		assert_refused(&ws, cases[i].conflict, "");
		SH("rm -rf src run && mkdir run");
	}
}

static void the_same_change_on_both_sides_is_no_conflict(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(apply_result) struct apply_result r = { 0 };

	(void)state;
	make_repo();
	create("src", &ws);
	RUN(&ws, "echo r >>a; echo n >n; rm run.sh; mkdir d; echo x >d/x");
	SH("cd src; echo r >>a; echo n >n; rm run.sh; mkdir d; touch lib/b; ln lib/deep/c ../hard");
	apply(&ws, &r);
	assert_int_equal(r.is_applied, 1);
	assert_int_equal(r.n_same, 4);
	assert_int_equal(r.n_applied, 1);
	SH("diff -r --no-dereference --exclude=.git src run/ws");
}

static void a_checkout_there_and_back_is_no_conflict(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(apply_result) struct apply_result r = { 0 };

	(void)state;
	make_repo();
	SH("cd src && git reset -q --hard && sleep 0.05 && git status >/dev/null && touch .git/index && git update-index -q --refresh");
	create("src", &ws);
	RUN(&ws, "echo r >>a");
	SH("cd src && git checkout -q HEAD~1 && sleep 0.05 && git checkout -q main");
	apply(&ws, &r);
	assert_int_equal(r.is_applied, 1);
}

static void links_that_leave_the_tree_are_refused(void **state)
{
	static const char *const links[] = {
		"ln -s /etc/passwd evil", "ln -s ../.. evil", "ln -s lib/../../x evil", "ln -s .git/config evil",
		"ln -s lib/../.git/hooks evil", "ln -s .GIT/x evil", "ln -sfn ../../up link", "ln -s pre/passwd evil",
		"ln -s .. lib/evil && ln -s evil/../../../x lib/evil2",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		OWN(workspace) struct workspace ws = { 0 };

		make_repo();
		SH("ln -s /etc src/pre");
		create("src", &ws);
		RUN(&ws, "%s; echo innocent >innocent", links[i]);
		assert_refused(&ws, "", "the link leads out of the tree");
		SH("rm -rf src run && mkdir run");
	}
}

static void links_of_the_user_and_within_the_tree_are_fine(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(apply_result) struct apply_result r = { 0 };

	(void)state;
	make_repo();
	SH("ln -s /etc src/pre");
	create("src", &ws);
	RUN(&ws, "ln -s ../a lib/up && ln -s nowhere dangling && ln -s lib/deep d && ln -s d/c via && ln -s . dot && chmod 600 a");
	apply(&ws, &r);
	assert_int_equal(r.is_applied, 1);
	SH("diff -r --no-dereference --exclude=.git src run/ws");
}

static void git_metadata_and_odd_files_stay_behind(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(apply_result) struct apply_result r = { 0 };

	(void)state;
	make_repo();
	SH("git init -q src/vendor");
	create("src", &ws);
	RUN(&ws, "git -C vendor config core.fsmonitor ./evil && git init -q clone && echo c >clone/c && mkfifo pipe && chmod 4755 run.sh");
	apply(&ws, &r);
	assert_int_equal(r.is_applied, 1);
	assert_int_equal(r.skipped.n, 1);
	assert_sh("c", "ls -A src/clone");
	assert_sh("", "git -C src/vendor config core.fsmonitor || true");
	assert_sh("", "ls src/pipe 2>/dev/null || true");
	assert_sh("755", "stat -c %%a src/run.sh");
}

static void a_branch_that_went_elsewhere_is_not_moved(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(change_set) struct change_set set = { 0 };
	OWN(apply_result) struct apply_result r = { 0 };
	struct err err = { 0 };

	(void)state;
	make_repo();
	create("src", &ws);
	RUN(&ws, "git commit -qam third");
	SH("cd src && git branch agate/r1 && git worktree add -q ../wt agate/r1");
	assert_int_equal(change_collect(&ws, &set, &err), 0);
	assert_int_equal(change_apply(&ws, &set, &r, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_non_null(strstr(err.msg, "is checked out"));
	SH("cd wt && git commit -q --allow-empty -m mine && git checkout -q --detach");
	apply_result_done(&r);
	assert_int_equal(change_apply(&ws, &set, &r, &err), -1);
	assert_non_null(strstr(err.msg, "holds commits the run does not have"));
	assert_sh("mine", "git -C src log -1 --format=%%s agate/r1");
}

static void a_submodules_files_arrive_but_not_its_git_directory(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(apply_result) struct apply_result r = { 0 };

	(void)state;
	SH("git init -q lib && cd lib && echo l >l && git add l && git commit -qm lib && cd .. && git init -q src && cd src"
	   "&& git submodule -q add \"$T/lib\" vendor/lib && git commit -qm sub");
	create("src", &ws);
	RUN(&ws, "cd vendor/lib && echo 2 >>l && git commit -qam in-sub");
	apply(&ws, &r);
	assert_int_equal(r.is_applied, 1);
	assert_sh("M vendor/lib", "git -C src status --porcelain | sed 's/^ *//'");
}

static void many_files_are_applied(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(apply_result) struct apply_result r = { 0 };

	(void)state;
	make_repo();
	create("src", &ws);
	RUN(&ws, "mkdir many && cd many && for i in $(seq 3000); do echo $i >f$i; done");
	apply(&ws, &r);
	assert_int_equal(r.is_applied, 1);
	assert_int_equal(r.n_applied, 3001);
}

static void what_root_brings_over_belongs_to_the_owner(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(apply_result) struct apply_result r = { 0 };

	(void)state;
	if (geteuid())
		skip();
	make_repo();
	SH("chown -R 12345:12346 src && chmod 755 .");
	create("src", &ws);
	RUN(&ws, "git config --global --add safe.directory '*'; echo more >>a && mkdir -p new/deep && echo n >new/deep/n && ln -s n new/deep/l && git add -A && git commit -qm x");
	apply(&ws, &r);
	assert_int_equal(r.is_applied, 1);
	assert_sh("", "find src -not -uid 12345 -o -not -gid 12346");
	assert_int_equal(geteuid(), 0);
}

int main(void)
{
#define U(name) cmocka_unit_test_setup_teardown(name, make_temp, remove_temp)
	const struct CMUnitTest tests[] = {
		U(every_kind_of_change_arrives),
		U(commits_arrive_as_a_branch),
		U(a_file_the_user_changed_too_stops_it_all),
		U(the_same_change_on_both_sides_is_no_conflict),
		U(a_checkout_there_and_back_is_no_conflict),
		U(links_that_leave_the_tree_are_refused),
		U(links_of_the_user_and_within_the_tree_are_fine),
		U(git_metadata_and_odd_files_stay_behind),
		U(a_branch_that_went_elsewhere_is_not_moved),
		U(a_submodules_files_arrive_but_not_its_git_directory),
		U(many_files_are_applied),
		U(what_root_brings_over_belongs_to_the_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
