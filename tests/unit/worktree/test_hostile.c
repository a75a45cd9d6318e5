/* timeout: 300 */
/* What a command may make of its git directory and tree, and what must come of it on the host: nothing. */
#include "tests/unit/worktree/fixture.h"
#include "worktree/change.h"
#include "worktree/repo.h"

static void collect(const struct workspace *ws, struct change_set *set)
{
	struct err err = { 0 };

	if (change_collect(ws, set, &err) < 0)
		fail_msg("%s", err.msg);
}

/* All there is to do with a run, whatever comes of it. */
static void look_everywhere(const struct workspace *ws)
{
	OWN(change_set) struct change_set set = { 0 };
	OWN(apply_result) struct apply_result r = { 0 };
	OWN(buf) struct buf out = { 0 };
	struct err err = { 0 };

	if (change_collect(ws, &set, &err) < 0)
		return;
	change_diff(ws, &set, &out, &err);
	change_apply(ws, &set, &r, &err);
}

static void nothing_planted_is_ever_run(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	struct err err = { 0 };

	(void)state;
	make_repo();
	create("src", &ws);
	RUN(&ws, "printf '#!/bin/sh\\ntouch \"%s/ran\"\\n' >evil && chmod 755 evil && cp evil .git/hooks/pre-commit && cp evil .git/hooks/post-checkout && cp evil .git/hooks/reference-transaction"
	    "&& echo '* filter=x diff=x' >.gitattributes && cp .gitattributes .git/info/attributes && git -c core.hooksPath=/x commit -qam x"
	    "&& git config core.fsmonitor \"$PWD/evil\" && git config filter.x.clean \"$PWD/evil\" && git config filter.x.smudge \"$PWD/evil\" && git config diff.x.textconv \"$PWD/evil\""
	    "&& git config core.hooksPath \"$PWD\" && git config core.worktree / && git config include.path /dev/zero && echo more >>a", T);
	look_everywhere(&ws);
	assert_sh("", "ls ran 2>/dev/null || true");
	assert_int_equal(workspace_discard(ws.run_dir, &err), 0);
}

static void an_alternates_line_of_the_run_is_not_followed(void **state)
{
	static const char *const how[] = {
		"echo \"$T/private/.git/objects\" >>objects/info/alternates",
		"mv objects o2 && ln -s \"$T/private/.git/objects\" objects",
		"rm -r objects/pack && ln -s \"$T/private/.git/objects/pack\" objects/pack",
		"for d in \"$T\"/private/.git/objects/[0-9a-f][0-9a-f]; do ln -sfn $d objects/; done",
		"mkdir -p objects/$(echo $S | cut -c1-2) && ln -sf \"$T/private/.git/objects/$(echo $S | cut -c1-2)/$(echo $S | cut -c3-)\" objects/$(echo $S | cut -c1-2)/",
		"echo \"$T/private/.git\" >commondir",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(how); i++) {
		OWN(workspace) struct workspace ws = { 0 };
		OWN(change_set) struct change_set set = { 0 };
		OWN(apply_result) struct apply_result r = { 0 };
		struct err err = { 0 };

		make_repo();
		SH("git init -q private && cd private && echo s3cret >s && git add s && git commit -qm secret");
		create("src", &ws);
		SH("export S=$(git -C private rev-parse HEAD) && cd run/git && %s && echo $S >refs/heads/agate/r1", how[i]);
		collect(&ws, &set);
		assert_non_null(set.commits_problem);
		assert_int_equal(set.n_commits, 0);
		assert_int_equal(change_apply(&ws, &set, &r, &err), 0);
		assert_int_equal(r.is_applied, 0);
		assert_sh("1", "cd src && git cat-file -e $(git -C ../private rev-parse HEAD) 2>/dev/null && echo 0 || echo 1");
		assert_sh("", "ls -d run/quarantine* 2>/dev/null || true");
		SH("rm -rf src run private && mkdir run");
	}
}

static void damaged_or_lying_git_directories_only_cost_the_commits(void **state)
{
	static const char *const how[] = {
		"echo garbage >refs/heads/agate/r1",
		"echo 'ref: ../../../../etc/passwd' >HEAD",
		"rm refs/heads/agate/r1 && ln -s /etc/passwd refs/heads/agate/r1",
		"rm refs/heads/agate/r1 && mkfifo refs/heads/agate/r1",
		"printf 'ref: refs/heads/x\\n' >refs/heads/x && printf 'ref: refs/heads/x\\n' >refs/heads/agate/r1",
		"rm -rf objects",
		"rm -rf objects && mkfifo objects",
		"for f in objects/[0-9a-f][0-9a-f]/*; do chmod 644 $f; echo x >$f; done",
		"for f in objects/pack/*.pack; do chmod 644 $f; printf xxxx | dd of=$f bs=1 seek=40 conv=notrunc status=none; done",
		"head -c 40M /dev/zero >refs/heads/agate/r1",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(how); i++) {
		OWN(workspace) struct workspace ws = { 0 };
		OWN(change_set) struct change_set set = { 0 };

		make_repo();
		create("src", &ws);
		RUN(&ws, "git commit -qam third && git repack -dlq");
		RUN(&ws, "git commit -q --allow-empty -m fourth");
		SH("cd run/git && %s", how[i]);
		collect(&ws, &set);
		if (!set.commits_problem)
			fail_msg("case %zu was not noticed", i);
		SH("rm -rf src run && mkdir run");
	}
}

/* An object under another's name: git's own reading of loose objects checks the hash, and so do we. */
static void an_object_under_a_false_name_is_noticed(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(change_set) struct change_set set = { 0 };
	OWN(apply_result) struct apply_result r = { 0 };
	struct err err = { 0 };

	(void)state;
	make_repo();
	create("src", &ws);
	RUN(&ws, "echo good >g && git add g && git commit -qm third && G=$(git rev-parse HEAD:g) && E=$(echo evil | git hash-object -w --stdin)"
	    "&& cp -f .git/objects/${E:0:2}/${E:2} .git/objects/${G:0:2}/${G:2}");
	collect(&ws, &set);
	assert_null(set.commits_problem);
	assert_int_equal(change_apply(&ws, &set, &r, &err), -1);
	assert_sh("", "git -C src branch --list 'agate/*'");
}

static void a_tree_with_a_git_directory_in_it_is_refused(void **state)
{
	static const char *const names[] = { ".git", ".GiT", "git~1", ".git ", ".g\\342\\200\\214it" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		OWN(workspace) struct workspace ws = { 0 };
		OWN(change_set) struct change_set set = { 0 };
		OWN(apply_result) struct apply_result r = { 0 };
		struct err err = { 0 };

		make_repo();
		create("src", &ws);
		RUN(&ws, "B=$(echo x | git hash-object -w --stdin) && I=$(printf \"100644 blob $B\\tconfig\\n\" | git mktree)"
		    "&& T2=$(printf \"040000 tree $I\\t%s\\n\" | git mktree) && C=$(git commit-tree -m evil -p HEAD $T2) && echo $C >.git/refs/heads/agate/r1", names[i]);
		collect(&ws, &set);
		assert_int_equal(change_apply(&ws, &set, &r, &err), 0);
		assert_int_equal(r.is_applied, 0);
		assert_int_equal(r.refused.n, 1);
		assert_non_null(strstr(r.refused.v[0], "a name no repository may hold"));
		SH("rm -rf src run && mkdir run");
	}
}

static void a_missing_object_stops_the_apply(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(change_set) struct change_set set = { 0 };
	OWN(apply_result) struct apply_result r = { 0 };
	struct err err = { 0 };

	(void)state;
	make_repo();
	create("src", &ws);
	RUN(&ws, "echo n >n && git add n && git commit -qm third && B=$(git rev-parse HEAD:n) && rm -f .git/objects/${B:0:2}/${B:2}");
	collect(&ws, &set);
	assert_int_equal(change_apply(&ws, &set, &r, &err), -1);
	assert_non_null(strstr(err.msg, "is not there"));
	assert_sh("1", "test -e src/n && echo 0 || echo 1");
}

static void a_source_that_points_elsewhere_is_refused(void **state)
{
	static const struct {
		const char *script, *says;
	} cases[] = {
		{ "mkdir evil && echo \"gitdir: $T/src/.git\" >evil/.git", "points to the repository of" },
		{ "git -C src worktree add -q ../wt side && mkdir evil && cp wt/.git evil/.git", "says its working tree is" },
		{ "mkdir evil && ln -s ../src/.git evil/.git", "points to the repository of" },
		{ "git init -q evil && rm evil/.git/config && mkfifo evil/.git/config", "is not a regular file" },
		{ "git init -q evil && mkfifo evil/.git/packed-refs", "is not a regular file" },
		{ "mkdir evil && echo nonsense >evil/.git", "does not say where" },
		{ "mkdir evil && echo 'gitdir: /nowhere' >evil/.git", "No such file" },
		{ "git init -q evil && git -C evil commit -q --allow-empty -m x && rm -rf evil/.git/objects/pack && mv evil/.git/objects/* . && rmdir evil/.git/objects && mkdir keys && touch keys/id_rsa && ln -s ../../keys evil/.git/objects", "" },
	};

	(void)state;
	make_repo();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char src[80], run[80];
		struct workspace_params p = { .source = src, .run_id = "x", .run_dir = run };
		struct workspace ws = { 0 };
		struct err err = { 0 };

		snprintf(src, sizeof(src), "%s/evil", T);
		snprintf(run, sizeof(run), "%s/run", T);
		SH("rm -rf evil; %s", cases[i].script);
		if (!workspace_create(&p, &ws, &err) || !strstr(err.msg, cases[i].says))
			fail_msg("case %zu: %s", i, err.msg);
	}
}

/* Files of the source's own git directory are read, links there are not. */
static void links_in_the_sources_git_directory_are_not_followed(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };

	(void)state;
	make_repo();
	SH("echo s3cret >secret && cd src/.git && ln -sf ../../../secret info/exclude && ln -s ../../secret MERGE_MSG");
	create("src", &ws);
	assert_sh("", "grep -r s3cret run || true");
	assert_int_equal(ws.notes.n, 2);
}

static void a_workspace_swapped_for_a_link_is_not_entered(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(change_set) struct change_set set = { 0 };
	struct err err = { 0 };

	(void)state;
	make_repo();
	create("src", &ws);
	SH("mv run/ws run/old && ln -s /etc run/ws");
	assert_int_equal(change_collect(&ws, &set, &err), -1);
}

static void discarding_follows_no_link_and_opens_what_is_shut(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	struct err err = { 0 };

	(void)state;
	make_repo();
	SH("mkdir keep && echo k >keep/k");
	create("src", &ws);
	RUN(&ws, "ln -s \"$T/keep\" l && mkdir -p shut/in/deep && echo x >shut/in/deep/x && mkdir $'.agate-rm-0' && touch $'.agate-rm-0/x' && chmod 0 shut/in/deep shut/in shut && chmod 500 lib");
	if (workspace_discard(ws.run_dir, &err) < 0)
		fail_msg("%s", err.msg);
	assert_sh("home\nkeep\nsrc", "ls; cat keep/k >/dev/null");
	assert_int_equal(workspace_discard(ws.run_dir, &err), 0);
	SH("mkdir run");
}

int main(void)
{
#define U(name) cmocka_unit_test_setup_teardown(name, make_temp, remove_temp)
	const struct CMUnitTest tests[] = {
		U(nothing_planted_is_ever_run),
		U(an_alternates_line_of_the_run_is_not_followed),
		U(damaged_or_lying_git_directories_only_cost_the_commits),
		U(an_object_under_a_false_name_is_noticed),
		U(a_tree_with_a_git_directory_in_it_is_refused),
		U(a_missing_object_stops_the_apply),
		U(a_source_that_points_elsewhere_is_refused),
		U(links_in_the_sources_git_directory_are_not_followed),
		U(a_workspace_swapped_for_a_link_is_not_entered),
		U(discarding_follows_no_link_and_opens_what_is_shut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
