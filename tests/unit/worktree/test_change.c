#include "tests/unit/worktree/fixture.h"
#include "worktree/change.h"

static void collect(const struct workspace *ws, struct change_set *set)
{
	struct err err = { 0 };

	if (change_collect(ws, set, &err) < 0)
		fail_msg("%s", err.msg);
}

/* "added path" a line; metadata as "git path" */
static char *words(const struct change_set *set)
{
	OWN(buf) struct buf b = { 0 };

	for (size_t i = 0; i < set->n; i++)
		buf_addf(&b, "%s %s\n", change_kind_name(set->v[i].kind), set->v[i].path);
	for (size_t i = 0; i < set->git_metadata.n; i++)
		buf_addf(&b, "git %s\n", set->git_metadata.v[i]);
	buf_add(&b, "", 0);
	return buf_steal(&b);
}

#define assert_changes(ws, want) do { \
	OWN(change_set) struct change_set set_ = { 0 }; \
	collect(ws, &set_); \
	{ \
		OWN(mem) char *got_ = words(&set_); \
		assert_string_equal(got_, want); \
	} \
} while (0)

static void a_run_that_did_nothing_changed_nothing(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(change_set) struct change_set set = { 0 };

	(void)state;
	make_repo();
	create("src", &ws);
	RUN(&ws, "git status >/dev/null; cat a >/dev/null; touch a lib/b; chmod 755 run.sh");
	collect(&ws, &set);
	assert_int_equal(set.n, 0);
	assert_int_equal(set.git_metadata.n, 0);
	assert_int_equal(set.n_commits, 0);
	assert_null(set.commits_problem);
	assert_string_equal(set.tip, ws.base);
	assert_string_equal(set.head_ref, "refs/heads/agate/r1");
}

static void each_kind_of_change_is_told(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };

	(void)state;
	make_repo();
	SH("cd src && mkdir old && echo x >old/x && mkdir turns && echo y >turns/y");
	create("src", &ws);
	RUN(&ws, "echo more >>a && rm lib/b && chmod 644 run.sh && mkdir new && echo z >new/z && rm -r old && rm -r turns && echo f >turns"
	    "&& ln -sfn elsewhere link && rm x.o && mkdir x.o && echo in >x.o/in && mkfifo pipe && chmod 700 lib");
	assert_changes(&ws, "modified a\nmode lib\ndeleted lib/b\nmodified link\nadded new\nadded new/z\ndeleted old\ndeleted old/x\n"
			    "added pipe\nmode run.sh\ntype turns\ndeleted turns/y\ntype x.o\nadded x.o/in\n");
}

static void an_edit_that_hides_its_time_is_found(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };

	(void)state;
	make_repo();
	create("src", &ws);
	RUN(&ws, "touch -r a ../ref && printf 'ONE\\nmore\\n' >a && touch -r ../ref a");
	assert_changes(&ws, "modified a\n");
}

static void git_metadata_is_told_once_and_apart(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };

	(void)state;
	make_repo();
	SH("git init -q src/vendor && git -C src/vendor commit -q --allow-empty -m v");
	create("src", &ws);
	RUN(&ws, "git -C vendor config core.fsmonitor ./evil && git init -q clone && echo c >clone/c && mkdir -p x/.GIT/hooks && echo h >x/.GIT/hooks/h");
	assert_changes(&ws, "added clone\nadded clone/c\nadded x\ngit clone/.git\ngit vendor/.git\ngit x/.GIT\n");
}

static void a_directory_shut_by_the_run_is_not_taken_for_deleted(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(change_set) struct change_set set = { 0 };

	(void)state;
	if (!geteuid())
		skip();
	make_repo();
	create("src", &ws);
	RUN(&ws, "chmod 0 lib");
	collect(&ws, &set);
	assert_int_equal(set.n, 1);
	assert_int_equal(set.v[0].kind, CHANGE_MODE);
	assert_int_equal(set.notes.n, 1);
}

static void new_commits_are_listed_newest_first(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(change_set) struct change_set set = { 0 };

	(void)state;
	make_repo();
	create("src", &ws);
	RUN(&ws, "git commit -qam third && echo 4 >four && git add four && git commit -qm 'fourth\n\nbody' --author='Ann <ann@x>'"
	    "&& git gc -q && git checkout -q -b other HEAD~1 && echo 5 >five && git add five && git commit -qm fifth && git checkout -q agate/r1 && git merge -q --no-edit other");
	collect(&ws, &set);
	assert_int_equal(set.n_commits, 4);
	assert_int_equal(set.commits[0].parents, 2);
	assert_string_equal(set.commits[0].oid, set.tip);
	assert_string_equal(set.commits[3].subject, "third");
	assert_sh("", "ls -d run/quarantine* 2>/dev/null || true");
}

static void commits_on_another_branch_count_when_the_runs_own_stood_still(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(change_set) struct change_set set = { 0 };

	(void)state;
	make_repo();
	create("src", &ws);
	RUN(&ws, "git checkout -qb feature && git commit -qam third");
	collect(&ws, &set);
	assert_int_equal(set.n_commits, 1);
	assert_string_equal(set.head_ref, "refs/heads/feature");
}

static void an_unborn_branchs_first_commit_is_new(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(change_set) struct change_set set = { 0 };

	(void)state;
	SH("git init -q src && echo a >src/a");
	create("src", &ws);
	collect(&ws, &set);
	assert_string_equal(set.tip, "");
	assert_int_equal(set.n_commits, 0);
	change_set_done(&set);
	RUN(&ws, "git add a && git commit -qm root");
	collect(&ws, &set);
	assert_int_equal(set.n_commits, 1);
	assert_string_equal(set.commits[0].subject, "root");
}

static void the_diff_is_what_git_apply_takes(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(change_set) struct change_set set = { 0 };
	OWN(buf) struct buf out = { 0 };
	struct err err = { 0 };
	char path[80];
	FILE *f;

	(void)state;
	make_repo();
	SH("cd src && printf 'no newline' >nn && printf 'a\\nb\\n' >'with blank' && : >empty && mkdir dir");
	create("src", &ws);
	SH("cp -a src twin");
	RUN(&ws, "echo more >>a && rm lib/b && chmod 644 run.sh && mkdir new && echo z >new/z && chmod 755 new/z && ln -sfn elsewhere link && rm untracked && ln -s a untracked"
	    "&& printf 'no newline either' >nn && echo c >>'with blank' && rm empty && : >empty2 && printf 'x\\n' >$'tab\\there\\xff' && rm x.o && mkdir x.o && echo in >x.o/in");
	collect(&ws, &set);
	if (change_diff(&ws, &set, &out, &err) < 0)
		fail_msg("%s", err.msg);
	snprintf(path, sizeof(path), "%s/d", T);
	f = fopen(path, "w");
	fwrite(out.data, 1, out.len, f);
	fclose(f);
	SH("cd twin && rm -rf .git && git init -q . && git apply ../d && rmdir dir && rm -r .git && cd ../run/ws && rmdir dir && cd ../.. && diff -r --no-dereference --exclude=.git twin run/ws");
}

static void binary_and_lost_content_get_a_line(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(change_set) struct change_set set = { 0 };
	OWN(buf) struct buf out = { 0 };
	struct err err = { 0 };

	(void)state;
	make_repo();
	SH("cd src && sleep 0.05 && git update-index -q --refresh; git status >/dev/null");
	create("src", &ws);
	RUN(&ws, "printf '\\0\\1' >bin && echo more >>untracked && echo more >>a && truncate -s 20M big");
	SH("echo user >>src/untracked && echo user >>src/a");
	collect(&ws, &set);
	assert_int_equal(change_diff(&ws, &set, &out, &err), 0);
	assert_non_null(strstr(out.data, "Binary files /dev/null and b/bin differ\n"));
	assert_non_null(strstr(out.data, "Large file, 0 bytes before and 20971520 after"));
	/* git still has the old content of a tracked file */
	assert_non_null(strstr(out.data, "+++ b/a\n@@ -1,2 +1,3 @@\n one\n more\n+more\n"));
	assert_non_null(strstr(out.data, "diff --git a/untracked b/untracked\nThe old content is no longer known"));
}

static void a_bound_on_the_diff_is_kept(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(change_set) struct change_set set = { 0 };
	OWN(buf) struct buf out = { .max = 1000 };
	struct err err = { 0 };

	(void)state;
	make_repo();
	create("src", &ws);
	RUN(&ws, "seq 1000 >a");
	collect(&ws, &set);
	assert_int_equal(change_diff(&ws, &set, &out, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
}

static void content_is_read_without_following_links(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(buf) struct buf out = { 0 };
	struct err err = { 0 };

	(void)state;
	make_repo();
	create("src", &ws);
	RUN(&ws, "ln -sfn /etc/passwd link && ln -s /etc etc && rm a && mkfifo a");
	assert_int_equal(change_read(&ws, "link", 1000, &out, &err), 0);
	assert_string_equal(out.data, "/etc/passwd");
	assert_int_equal(change_read(&ws, "etc/passwd", 100000, &out, &err), -1);
	assert_int_equal(change_read(&ws, "../workspace.json", 100000, &out, &err), -1);
	assert_int_equal(change_read(&ws, "a", 100000, &out, &err), -1);
	assert_int_equal(change_read(&ws, "/etc/passwd", 100000, &out, &err), -1);
	assert_int_equal(change_read(&ws, "lib/b", 3, &out, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
}

static void in_place_there_is_nothing_to_compare(void **state)
{
	struct workspace ws = { .strategy = WORKSPACE_IN_PLACE, .original = T };
	struct change_set set = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(change_collect(&ws, &set, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
}

int main(void)
{
#define U(name) cmocka_unit_test_setup_teardown(name, make_temp, remove_temp)
	const struct CMUnitTest tests[] = {
		U(a_run_that_did_nothing_changed_nothing),
		U(each_kind_of_change_is_told),
		U(an_edit_that_hides_its_time_is_found),
		U(git_metadata_is_told_once_and_apart),
		U(a_directory_shut_by_the_run_is_not_taken_for_deleted),
		U(new_commits_are_listed_newest_first),
		U(commits_on_another_branch_count_when_the_runs_own_stood_still),
		U(an_unborn_branchs_first_commit_is_new),
		U(the_diff_is_what_git_apply_takes),
		U(binary_and_lost_content_get_a_line),
		U(a_bound_on_the_diff_is_kept),
		U(content_is_read_without_following_links),
		U(in_place_there_is_nothing_to_compare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
