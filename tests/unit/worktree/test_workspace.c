/* timeout: 300 */
#include "tests/unit/worktree/fixture.h"


static void the_copy_is_complete_and_the_original_untouched(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(mem) char *before = NULL, *after = NULL, *want = NULL;

	(void)state;
	make_repo();
	before = fingerprint("src");
	create("src", &ws);
	after = fingerprint("src");
	assert_string_equal(before, after);
	SH("diff -r --no-dereference --exclude=.git src run/ws");
	want = sh("cd src && find . -path ./.git -prune -o -not -path . -printf '%%p|%%y|%%m|%%s|%%T@|%%l\\n' | sort");
	{
		OWN(mem) char *got = sh("cd run/ws && find . -path ./.git -prune -o -not -path . -printf '%%p|%%y|%%m|%%s|%%T@|%%l\\n' | sort");

		assert_string_equal(got, want);
	}
	assert_sh("", "ls -A run/ws/.git");
	assert_int_equal(ws.head, HEAD_BRANCH);
	assert_string_equal(ws.branch, "agate/r1");
	assert_string_equal(ws.source_branch, "main");
	assert_int_equal(ws.files, 10);
}

static void git_works_in_the_copy_and_sees_the_same_state(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	/* outside the sandbox git may touch the times of objects it would write; inside they are read-only */
	static const char but_objects[] = "cd src && find . -not -path './.git/objects/*' -printf '%p|%y|%m|%s|%T@|%l\\n' | sort;"
		"find . -type f -print0 | sort -z | xargs -0 sha256sum";
	OWN(mem) char *src = NULL, *before = NULL;

	(void)state;
	make_repo();
	src = sh("cd src && git status --porcelain --ignored");
	before = sh("%s", but_objects);
	create("src", &ws);
	mount_git(&ws);
	{
		OWN(mem) char *got = sh("cd run/ws && git status --porcelain --ignored 2>&1");

		assert_string_equal(got, src);
	}
	assert_sh("agate/r1", "cd run/ws && git branch --show-current");
	assert_sh("second\nfirst", "cd run/ws && git log --format=%%s");
	assert_sh("agate/r1\nmain\nside", "cd run/ws && git for-each-ref --format='%%(refname:short)' refs/heads");
	SH("cd run/ws && git add -A && git commit -qm third && git stash list && echo x >>a && git stash -q && git stash pop -q"
	   "&& git checkout -qb other && git tag t && git gc -q && git fsck --no-dangling && git config remote.x.url /y");
	unmount_git(&ws);
	{
		OWN(mem) char *after = sh("%s", but_objects);

		assert_string_equal(after, before);
	}
}

/* git tells what it had to read: with stat data set right, clean files are not opened. */
static void the_first_status_does_not_read_clean_files(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };

	(void)state;
	SH("git init -q src && cd src && for i in $(seq 50); do echo $i >f$i; done && git add -A && sleep 0.05 && git commit -qm x"
	   "&& sleep 1.1 && git update-index --really-refresh && touch .git/index && git status >/dev/null");
	create("src", &ws);
	mount_git(&ws);
	/* diff-files without a refresh lists what does not match by stat alone */
	assert_sh("", "cd run/ws && git diff-files");
	unmount_git(&ws);
}

static void without_a_repository_the_directory_is_copied(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };

	(void)state;
	SH("mkdir plain && echo x >plain/x && mkdir -p plain/sub && git init -q plain/sub/repo");
	create("plain", &ws);
	assert_null(ws.gitdir);
	assert_null(ws.branch);
	assert_int_equal(ws.n_binds, 0);
	assert_int_equal(ws.nested.n, 1);
	assert_string_equal(ws.nested.v[0], "sub/repo/.git");
	SH("diff -r plain run/ws");
}

static void an_unborn_branch_stays_unborn(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };

	(void)state;
	SH("git init -q src && echo a >src/a && git -C src add a");
	create("src", &ws);
	assert_int_equal(ws.head, HEAD_UNBORN);
	assert_string_equal(ws.base, "");
	RUN(&ws, "git status --porcelain | grep -qx 'A  a' && git commit -qm first && git log --oneline | grep -c . >/dev/null");
}

static void a_detached_head_is_the_base(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };

	(void)state;
	make_repo();
	SH("cd src && git stash -q && git checkout -q HEAD~1");
	create("src", &ws);
	assert_int_equal(ws.head, HEAD_DETACHED);
	assert_null(ws.source_branch);
	assert_sh(ws.base, "git -C src rev-parse HEAD");
	RUN(&ws, "git log --format=%%s | grep -qx first && git stash list | grep -q stash@ && git stash pop -q");
}

static void a_linked_worktree_can_be_the_source(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(mem) char *before = NULL;

	(void)state;
	make_repo();
	SH("cd src && git worktree add -q ../linked side && echo dirty >>../linked/a && git -C ../linked add a");
	before = fingerprint("src");
	create("linked", &ws);
	assert_string_equal(ws.source_branch, "side");
	RUN(&ws, "git status --porcelain | grep -qx 'M  a' && git commit -qm in-linked && git worktree list | wc -l | grep -qx 1");
	{
		OWN(mem) char *after = fingerprint("src");

		assert_string_equal(after, before);
	}
}

static void submodules_work_inside(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };

	(void)state;
	SH("git init -q lib && cd lib && echo l >l && git add l && git commit -qm lib && cd .. && git init -q inner && cd inner"
	   "&& echo i >i && git add i && git commit -qm inner && cd ../lib && git submodule -q add \"$T/inner\" deep && git commit -qm deep && cd .."
	   "&& git init -q src && cd src && git submodule -q add \"$T/lib\" vendor/lib && git submodule -q update --init --recursive"
	   "&& git commit -qm sub && echo dirty >>vendor/lib/l");
	create("src", &ws);
	assert_int_equal(ws.nested.n, 2);
	assert_int_equal(ws.objects.n, 3);
	RUN(&ws, "git status --porcelain | grep -qx ' M vendor/lib' && cd vendor/lib && git status --porcelain | grep -qx ' M l'"
	    "&& git commit -qam in-sub && cd deep && git log --format=%%s | grep -qx inner && cd ../../.. && git submodule status --recursive >/dev/null"
	    "&& git add vendor/lib && git commit -qm bump");
}

static void a_submodule_can_be_the_source(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };

	(void)state;
	SH("git init -q lib && cd lib && echo l >l && git add l && git commit -qm lib && cd .. && git init -q src && cd src"
	   "&& git submodule -q add \"$T/lib\" vendor/lib && git commit -qm sub");
	create("src/vendor/lib", &ws);
	RUN(&ws, "git status --porcelain | wc -l | grep -qx 0 && echo 2 >l && git commit -qam two");
}

static void odd_names_and_files_survive(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };

	(void)state;
	SH("mkdir plain && cd plain && touch $'new\\nline' $'\\xff\\xfe' ' ' -- -x '*' && ln -s $'\\xff' l && ln -s /nowhere/at/all dangling"
	   "&& mkfifo fifo && chmod 620 fifo && mkdir ro && echo x >ro/x && chmod 500 ro && mkdir none && chmod 0 none"
	   "&& echo h >h1 && mkdir d && ln h1 d/h2 && ln h1 h3 && truncate -s 5G sparse && printf e >>sparse && chmod 4755 h1"
	   "&& python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'");
	create("plain", &ws);
	SH("cd run/ws && test -e $'new\\nline' && test -e $'\\xff\\xfe' && test -p fifo && test $(stat -c %%a fifo) = 620"
	   "&& test $(stat -c %%a ro) = 500 && test $(stat -c %%a none) = 0 && test ! -e sock"
	   "&& test h1 -ef d/h2 -a h1 -ef h3 && test $(stat -c %%h h1) = 3 && test $(stat -c %%a h1) = 755"
	   "&& test $(stat -c %%s sparse) = 5368709121 && test $(stat -c %%b sparse) -lt 1000"
	   "&& test $(stat -c %%Y d) = $(stat -c %%Y ../../plain/d) && readlink dangling | grep -qx /nowhere/at/all");
	assert_int_equal(ws.notes.n, geteuid() ? 2 : 1);
}

static void a_very_deep_tree_is_copied_and_discarded(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	struct err err = { 0 };
	char run[128];

	(void)state;
	SH("mkdir plain && python3 -c 'import os\nos.chdir(\"plain\")\nfor i in range(6000):\n os.mkdir(\"d\"); os.chdir(\"d\")\nopen(\"end\",\"w\").write(\"x\")'");
	create("plain", &ws);
	assert_int_equal(ws.files, 6001);
	SH("python3 -c 'import os\nos.chdir(\"run/ws\")\nfor i in range(6000):\n os.chdir(\"d\")\nassert open(\"end\").read()==\"x\"'");
	snprintf(run, sizeof(run), "%s/run", T);
	assert_int_equal(workspace_discard(run, &err), 0);
	assert_int_equal(access(run, F_OK), -1);
	snprintf(run, sizeof(run), "%s/plain", T);
	assert_int_equal(workspace_discard(run, &err), 0);
}

static void our_own_directories_are_left_out(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };
	OWN(strv) struct strv exclude = { 0 };
	struct err err = { 0 };
	char src[80], run[100], other[100];
	struct workspace_params p = { .source = src, .run_id = "x", .run_dir = run, .exclude = &exclude };

	(void)state;
	snprintf(src, sizeof(src), "%s/plain", T);
	snprintf(run, sizeof(run), "%s/plain/state/run", T);
	snprintf(other, sizeof(other), "%s/plain/secret", T);
	SH("mkdir -p plain/state/run plain/secret && echo x >plain/secret/x && echo y >plain/y");
	strv_add(&exclude, other);
	assert_int_equal(workspace_create(&p, &ws, &err), 0);
	assert_sh("state\ny", "ls plain/state/run/ws");
	assert_sh("", "ls plain/state/run/ws/state");
}

static void a_workspace_can_be_opened_again(void **state)
{
	OWN(workspace) struct workspace ws = { 0 }, again = { 0 };
	struct err err = { 0 };

	(void)state;
	SH("mkdir $'a\\xff b%%' && cd $'a\\xff b%%' && git init -q . && git commit -q --allow-empty -m x && git init -q 'n\"1'");
	create("a\xff b%", &ws);
	assert_int_equal(workspace_open(ws.run_dir, &again, &err), 0);
	assert_string_equal(again.original, ws.original);
	assert_string_equal(again.path, ws.path);
	assert_string_equal(again.branch, ws.branch);
	assert_string_equal(again.base, ws.base);
	assert_string_equal(again.guest_gitdir, ws.guest_gitdir);
	assert_int_equal(again.nested.n, 1);
	assert_string_equal(again.nested.v[0], "n\"1/.git");
	assert_int_equal(again.n_binds, 1);
	assert_string_equal(again.binds[0].host, ws.binds[0].host);
	assert_string_equal(again.binds[0].guest, "/run/agate/objects/0");
	assert_int_equal(again.files, ws.files);
}

static void a_failure_leaves_nothing_behind(void **state)
{
	static const struct {
		const char *script, *says;
	} cases[] = {
		{ "git -C src checkout -q -b t HEAD~1 && echo conflict >src/a && git -C src commit -qam c && ! git -C src rebase -q main 2>/dev/null >&2", "is in the middle of a rebase" },
		{ "git -C src bisect start -q >/dev/null", "is in the middle of a bisect" },
		{ "printf '[extensions]\\nobjectformat=sha256\\n[core]\\nrepositoryformatversion=1\\n' >>src/.git/config", "sha256 object names" },
		{ "printf '[extensions]\\nrefstorage=reftable\\n[core]\\nrepositoryformatversion=1\\n' >>src/.git/config", "as 'reftable'" },
		{ "git -C src config core.worktree /etc", "says its working tree is '/etc" },
		{ "echo /etc >src/.git/objects/info/alternates", "'/etc' is no object directory" },
		{ "printf DIRC >src/.git/index", "index" },
		{ "git -C src config core.bare true", "has no working tree" },
	};
	char src[80], run[80];

	(void)state;
	snprintf(src, sizeof(src), "%s/src", T);
	snprintf(run, sizeof(run), "%s/run", T);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct workspace_params p = { .source = src, .run_id = "x", .run_dir = run };
		struct workspace ws = { 0 };
		struct err err = { 0 };

		SH("rm -rf src");
		make_repo();
		SH("cd src && git reset -q --hard && cd .. && %s", cases[i].script);
		assert_int_equal(workspace_create(&p, &ws, &err), -1);
		if (!strstr(err.msg, cases[i].says))
			fail_msg("case %zu: %s", i, err.msg);
		assert_null(ws.path);
		assert_sh("", "ls -A run");
	}
}

static void strategies_that_are_not_there_say_so(void **state)
{
	char run[80];
	struct err err = { 0 };
	struct workspace ws = { 0 };
	struct workspace_params p = { .source = T, .run_id = "x", .run_dir = run, .strategy = WORKSPACE_OVERLAY };

	(void)state;
	snprintf(run, sizeof(run), "%s/run", T);
	assert_int_equal(workspace_create(&p, &ws, &err), -1);
	assert_non_null(strstr(err.msg, "workspaces by overlay are not built yet"));
}

static void in_place_is_the_directory_itself(void **state)
{
	char run[80], src[80];
	struct err err = { 0 };
	OWN(workspace) struct workspace ws = { 0 };
	struct workspace_params p = { .source = src, .run_id = "x", .run_dir = run, .strategy = WORKSPACE_IN_PLACE };
	OWN(mem) char *before = NULL;

	(void)state;
	make_repo();
	SH("git init -q src/inner");
	before = fingerprint("src");
	snprintf(run, sizeof(run), "%s/run", T);
	snprintf(src, sizeof(src), "%s/src/lib", T);
	assert_int_equal(workspace_create(&p, &ws, &err), 0);
	snprintf(src, sizeof(src), "%s/src", T);
	assert_string_equal(ws.path, src);
	assert_string_equal(ws.original, src);
	assert_null(ws.gitdir);
	assert_int_equal(ws.nested.n, 1);
	assert_sh("workspace.json", "ls -A run");
	{
		OWN(mem) char *after = fingerprint("src");

		assert_string_equal(before, after);
	}
	assert_int_equal(workspace_discard(run, &err), 0);
	{
		OWN(mem) char *after = fingerprint("src");

		assert_string_equal(before, after);
	}
}

static void a_merge_in_progress_is_carried(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };

	(void)state;
	make_repo();
	SH("cd src && git reset -q --hard && git checkout -q side && echo theirs >a && git commit -qam theirs && git checkout -q main"
	   "&& echo ours >a && git commit -qam ours && ! git merge -q side >/dev/null 2>&1");
	create("src", &ws);
	RUN(&ws, "git status --porcelain | grep -qx 'UU a' && echo both >a && git add a && git commit -qm merged && git cat-file -p HEAD | grep -c ^parent | grep -qx 2");
}

static void secrets_of_the_configuration_stay_outside(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };

	(void)state;
	make_repo();
	SH("cd src && git remote add origin https://user:t0ken@example.org/r.git && git config http.extraheader 'Authorization: x'"
	   "&& git config core.fsmonitor ./evil && git config core.hooksPath hooks && git config credential.helper store"
	   "&& git config alias.x '!sh' && git config url.https://t0ken@h/.insteadOf gh: && echo exit >.git/hooks/pre-commit && chmod +x .git/hooks/pre-commit"
	   "&& git update-ref refs/remotes/origin/main HEAD && git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main");
	create("src", &ws);
	assert_sh("https://example.org/r.git", "git config -f run/git/config remote.origin.url");
	assert_sh("false", "git config -f run/git/config core.fsmonitor");
	assert_sh("Tester", "git config -f run/git/config user.name");
	assert_sh("", "grep -riE 't0ken|hookspath|helper|alias|extraheader|insteadof' run/git || true; ls -A run/git/hooks");
	RUN(&ws, "git symbolic-ref refs/remotes/origin/HEAD | grep -qx refs/remotes/origin/main");
}

static void broken_references_are_left_out(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };

	(void)state;
	make_repo();
	SH("cd src/.git/refs/heads && : >empty && echo garbage >garbage && ln -s /etc/passwd link && ln -s /dev/zero endless && mkdir dir"
	   "&& echo 0123456789012345678901234567890123456789 >missing");
	create("src", &ws);
	RUN(&ws, "git branch --list main | grep -q main && git commit -qam x");
}

static void the_users_own_list_of_ignored_files_is_carried(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };

	(void)state;
	make_repo();
	SH("mkdir -p home/.config/git && echo '*.swp' >home/.config/git/ignore && echo secret >secret && echo '/mine' >src/.git/info/exclude"
	   "&& git -C src config core.excludesFile \"$T/secret\" && touch src/x.swp src/mine");
	create("src", &ws);
	assert_sh("*.swp\n/mine", "cat run/git/info/exclude");
}

static void a_branch_called_agate_does_not_stand_in_the_way(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };

	(void)state;
	make_repo();
	SH("git -C src branch agate");
	create("src", &ws);
	assert_string_equal(ws.branch, "agate-r1");
	RUN(&ws, "git commit -qam x && git log --oneline agate >/dev/null");
}

static void alternates_of_the_source_are_bound_too(void **state)
{
	OWN(workspace) struct workspace ws = { 0 };

	(void)state;
	make_repo();
	SH("git clone -q --shared src second");
	create("second", &ws);
	assert_int_equal(ws.objects.n, 2);
	assert_int_equal(ws.n_binds, 3);
	assert_string_equal(ws.binds[1].guest, "/run/agate/objects/0/info/alternates");
	RUN(&ws, "git log --oneline | wc -l | grep -qx 2");
}

static void index_versions_and_split_indexes_are_carried(void **state)
{
	static const char *const how[] = {
		"git update-index --index-version 4", "git update-index --split-index", "git update-index --untracked-cache",
		"git update-index --assume-unchanged a", "git sparse-checkout set --cone lib",
		"git sparse-checkout set --cone --sparse-index lib", "git add -N untracked",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(how); i++) {
		OWN(workspace) struct workspace ws = { 0 };
		OWN(mem) char *want = NULL, *got = NULL;

		make_repo();
		SH("cd src && git stash -q && git stash apply -q --index && %s", how[i]);
		want = sh("cd src && git status --porcelain");
		create("src", &ws);
		mount_git(&ws);
		got = sh("cd run/ws && git status --porcelain && git fsck --no-dangling");
		unmount_git(&ws);
		assert_string_equal(got, want);
		SH("rm -rf src run && mkdir run");
	}
}

int main(void)
{
#define U(name) cmocka_unit_test_setup_teardown(name, make_temp, remove_temp)
	const struct CMUnitTest tests[] = {
		U(the_copy_is_complete_and_the_original_untouched),
		U(git_works_in_the_copy_and_sees_the_same_state),
		U(the_first_status_does_not_read_clean_files),
		U(without_a_repository_the_directory_is_copied),
		U(an_unborn_branch_stays_unborn),
		U(a_detached_head_is_the_base),
		U(a_linked_worktree_can_be_the_source),
		U(submodules_work_inside),
		U(a_submodule_can_be_the_source),
		U(odd_names_and_files_survive),
		U(a_very_deep_tree_is_copied_and_discarded),
		U(our_own_directories_are_left_out),
		U(a_workspace_can_be_opened_again),
		U(a_failure_leaves_nothing_behind),
		U(strategies_that_are_not_there_say_so),
		U(in_place_is_the_directory_itself),
		U(a_merge_in_progress_is_carried),
		U(secrets_of_the_configuration_stay_outside),
		U(broken_references_are_left_out),
		U(the_users_own_list_of_ignored_files_is_carried),
		U(a_branch_called_agate_does_not_stand_in_the_way),
		U(alternates_of_the_source_are_bound_too),
		U(index_versions_and_split_indexes_are_carried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
