/*
 * git: which subcommand, in which form, reads, writes, asks a remote or runs a
 * program of the repository's choosing. Programs chosen by configuration alone
 * (fsmonitor, textconv, pagers) are the runner's to switch off.
 */
#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include "gates/options.h"

/* --- configuration on the command line --- */

/* Keys that name no program, file or remote. */
static const char *const harmless_keys[] = {
	"color.*", "column.*", "advice.*", "log.*", "status.*", "core.quotepath", "core.abbrev",
		"core.precomposeunicode",
	"core.ignorecase", "diff.algorithm", "diff.renames", "diff.renamelimit", "diff.context",
	"diff.colormoved",
	"diff.noprefix", "diff.mnemonicprefix", "diff.wserrorhighlight", "diff.statgraphwidth", "user.name",
	"user.email",
	"init.defaultbranch", "versionsort.*", "tag.sort", "branch.sort", "grep.*", "blame.*", "i18n.*",
		"merge.conflictstyle",
	"merge.renamelimit", "rebase.autosquash", "commit.verbose", "push.default", "safe.directory", NULL
};

/* These name programs, but with these values none. */
static const struct { const char *key, *value; } harmless_pairs[] = {
	{ "core.pager", "cat" }, { "core.pager", "" }, { "core.pager", "less" }, { "core.fsmonitor",
	    "false" },
	{ "core.fsmonitor", "" }, { "diff.external", "" }, { "commit.gpgsign", "false" }, { "tag.gpgsign",
	    "false" },
	{ "pager.*", "false" }, { "pager.*", "cat" }, { "gc.auto", "0" }, { "core.editor", "true" },
	    { "core.editor", ":" },
	{ "protocol.version", "2" }, { "core.optionallocks", "false" },
};

static bool is_harmless_config(const char *key, const char *value)
{
	if (!strcasecmp(key, "log.showsignature"))
		return false;
	for (const char *const *k = harmless_keys; *k; k++)
		if (!fnmatch(*k, key, FNM_CASEFOLD))
			return true;
	for (size_t i = 0; i < sizeof(harmless_pairs) / sizeof(harmless_pairs[0]); i++)
		if (!fnmatch(harmless_pairs[i].key, key, FNM_CASEFOLD) &&
		    !strcmp(harmless_pairs[i].value, value))
			return true;
	return false;
}

static void note_hooks(struct judge *j, const char *who, const struct arg *at)
{
	judge_note(j, at, EFFECT_GIT_COMMIT, PLACE_NONE, who, ASKS, "hooks", "'%s' leaves out the hooks",
		   who);
}

/* -c alias.NAME=VALUE in front of NAME: run what it stands for. */
static void run_alias(struct judge *j, const struct parsed *p, const char *name, const char *value)
{
	struct args argv = { 0 };

	if (!p->operands.n || !arg_is(&p->operands.v[0], name))
		return;
	if (value[0] == '!') {
		walk_script(j, value + 1, p->name, true);
		return;
	}
	args_add(j, &argv, *p->name);
	for (const char *s = value + strspn(value, " "); *s; s += strspn(s, " ")) {
		size_t n = strcspn(s, " ");

		args_add(j, &argv, arg_of(arena_dup(j->arena, s, n), p->name));
		s += n;
	}
	for (size_t i = 1; i < p->operands.n; i++)
		args_add(j, &argv, p->operands.v[i]);
	/* An alias can name itself; judge_step() ends that. */
	run_argv(j, &argv);
}

static void check_config_pair(struct judge *j, const struct parsed *p, const struct arg *pair)
{
	const char *eq = strchr(pair->text, '=');
	const char *key, *value = eq ? eq + 1 : "true";

	if (!pair->is_known) {
		judge_unknown(j, p->who, pair, "gets configuration only the running shell knows");
		return;
	}
	key = eq ? arena_dup(j->arena, pair->text, (size_t)(eq - pair->text)) : pair->text;
	if (!strcasecmp(key, "core.hookspath"))
		note_hooks(j, p->who, pair);
	if (!is_harmless_config(key, value))
		judge_note(j, pair, EFFECT_PROCESS_SPAWN, PLACE_NONE, key, CHANGES, "git configuration",
			   "'%s' is given '%s', which can run programs", p->who, key);
	if (!strncasecmp(key, "alias.", 6))
		run_alias(j, p, key + 6, value);
}

/* -C, for the rest of this command: run_row() puts back where the shell is. */
static void change_dir(struct judge *j, const struct arg *to)
{
	bool can_tell = to->is_known && !to->is_glob && (to->text[0] == '/' || j->sh.cwd);

	if (to->is_known && !*to->text)
		return;
	j->sh.cwd = can_tell ? place_resolve(j->arena, j->sh.cwd, to->text) : NULL;
}

static void check_git(struct judge *j, struct parsed *p)
{
	const struct arg here = { .text = ".", .is_known = true, .start = p->name->start, .end = p->name->end };

	if (j->sh.is_stripped)
		judge_unknown(j, p->who, p->name, "runs without the variables that keep it from a repository's programs");
	for (size_t i = 0; i < p->n_opts; i++) {
		const struct opt *o = &p->opts[i];

		if (!o->has_value)
			continue;
		if (o->len == 1 && *o->name == 'C')
			change_dir(j, &o->value);
		else if (o->len == 1 && *o->name == 'c')
			check_config_pair(j, p, &o->value);
		else if (o->len == 7 && !strncmp(o->name, "git-dir", 7) && !arg_is(&o->value, ".git"))
			judge_unknown(j, p->who, &o->value, "obeys the configuration of another repository");
	}
	/* Whatever it is asked, it reads the repository around. */
	judge_path(j, p->who, &here, USE_READ);
}

/* --- reading forms --- */

/* REV:PATH shows a file; %G in a format runs the signature program. */
static void check_show(struct judge *j, struct parsed *p)
{
	static const char *const formats[] = { "format", "pretty", NULL };

	for (const char *const *f = formats; *f; f++) {
		const struct opt *o = opt_find(p, *f);

		if (o && o->has_value && strstr(o->value.text, "%G"))
			judge_unknown(j, p->who, &o->value, "runs the program that checks signatures");
	}
	for (size_t i = 0; i < p->operands.n; i++) {
		struct arg a = p->operands.v[i];
		const char *colon = strchr(a.text, ':');

		if (!colon || !colon[1] || a.text[0] == ':')
			continue;
		a.text = colon + 1;
		judge_path(j, p->who, &a, USE_READ);
	}
}

static void check_diff(struct judge *j, struct parsed *p)
{
	check_show(j, p);
	for (size_t i = 0; opt_has(p, "no-index") && i < p->operands.n; i++)
		judge_path(j, p->who, &p->operands.v[i], USE_READ);
}

static void note_write(struct judge *j, const struct parsed *p, const char *what)
{
	judge_note(j, p->name, EFFECT_WORKSPACE_MUTATION, PLACE_NONE, p->who, CHANGES, "write", "'%s' %s",
		   p->who, what);
}

/* branch and tag list without operands, or when told to. */
static void check_formats(struct judge *j, struct parsed *p)
{
	const struct opt *o = opt_find(p, "format");

	if (o && o->has_value && strstr(o->value.text, "%(signature"))
		judge_unknown(j, p->who, &o->value, "runs the program that checks signatures");
}

static void check_refs(struct judge *j, struct parsed *p)
{
	static const char lists[] = "l list contains no-contains merged no-merged points-at show-current";
	static const char branch_writes[] = "d D delete m M move c C copy f force u set-upstream-to "
		"unset-upstream t track no-track create-reflog edit-description";
	static const char tag_writes[] = "d delete m message F file a annotate s sign f force e edit u "
		"local-user create-reflog";
	bool is_tag = !strcmp(p->who, "git tag");

	check_formats(j, p);
	if (is_tag && opt_has(p, "v verify"))
		judge_unknown(j, p->who, p->name, "runs the program that checks signatures");
	if (opt_has(p, is_tag ? tag_writes : branch_writes))
		note_write(j, p, "changes references");
	else if (p->operands.n && !opt_has(p, lists) && !(is_tag && opt_has(p, "n")))
		note_write(j, p, "makes a reference");
}

static void check_symbolic_ref(struct judge *j, struct parsed *p)
{
	if (p->operands.n > 1 || opt_has(p, "d delete m"))
		note_write(j, p, "changes a reference");
}

static void check_config(struct judge *j, struct parsed *p)
{
	static const char reads[] = "get get-all get-regexp get-urlmatch l list get-color get-colorbool";
	const struct arg *first = p->operands.n ? &p->operands.v[0] : NULL;
	bool is_new_form = first && (arg_is(first, "get") || arg_is(first, "list"));

	for (size_t i = 0; i < p->operands.n; i++)
		if (!strcasecmp(p->operands.v[i].text, "core.hookspath") && p->operands.n > i + 1)
			note_hooks(j, p->who, first);
	if (opt_has(p, "e edit"))
		judge_unknown(j, p->who, p->name, "runs an editor");
	else if (!opt_has(p, reads) && !is_new_form && !(p->operands.n <= 1 && !opt_has(p,
		"unset unset-all remove-section")))
		note_write(j, p, "changes configuration");
}

static void check_hash_object(struct judge *j, struct parsed *p)
{
	if (opt_has(p, "w"))
		note_write(j, p, "writes an object");
}

static void check_archive(struct judge *j, struct parsed *p)
{
	const struct opt *format = opt_find(p, "format");

	if (format && !arg_is(&format->value, "tar") && !arg_is(&format->value, "zip"))
		judge_unknown(j, p->who, &format->value, "can run a program for that format");
}

static void check_apply(struct judge *j, struct parsed *p)
{
	if (opt_has(p, "apply") || !opt_has(p, "check stat numstat summary"))
		note_write(j, p, "changes files as a patch says");
}

static void check_clean(struct judge *j, struct parsed *p)
{
	if (!opt_has(p, "n dry-run"))
		judge_note(j, p->name, EFFECT_FILE_DELETE, PLACE_INSIDE, p->who, ASKS, "ask list",
			   "'%s' deletes what git does not know", p->who);
}

static void check_reset(struct judge *j, struct parsed *p)
{
	if (opt_has(p, "hard"))
		judge_note(j, p->name, EFFECT_WORKSPACE_MUTATION, PLACE_INSIDE, p->who, ASKS, "ask list",
			   "'%s --hard' throws changes away", p->who);
}

static void check_remote_show(struct judge *j, struct parsed *p)
{
	if (!opt_has(p, "n") && p->operands.n)
		judge_note(j, p->name, EFFECT_NETWORK_EGRESS, PLACE_NONE, p->operands.v[0].text, CHANGES,
			   "network", "'%s' asks the remote", p->who);
}

/* --- forms that write --- */

static void check_commit(struct judge *j, struct parsed *p)
{
	if (opt_has(p, "n no-verify"))
		note_hooks(j, p->who, p->name);
}

static void check_no_verify(struct judge *j, struct parsed *p)
{
	for (size_t i = 0; i < p->operands.n; i++)
		if (arg_is(&p->operands.v[i], "--no-verify"))
			note_hooks(j, p->who, &p->operands.v[i]);
}

/* rebase --exec LINE and -x LINE, submodule foreach LINE, bisect run CMD. */
static void check_rebase(struct judge *j, struct parsed *p)
{
	check_no_verify(j, p);
	for (size_t i = 0; i < p->operands.n; i++) {
		struct arg a = p->operands.v[i];

		if ((arg_is(&a, "-x") || arg_is(&a, "--exec")) && i + 1 < p->operands.n)
			apply_role(j, p->who, 'S', &p->operands, i + 1);
		else if (!strncmp(a.text, "--exec=", 7) && a.is_known)
			walk_script(j, a.text + 7, &a, true);
	}
}

static void check_foreach(struct judge *j, struct parsed *p)
{
	struct bytes line = { 0 };

	for (size_t i = 0; i < p->operands.n; i++) {
		if (!p->operands.v[i].is_known) {
			judge_unknown(j, p->who, &p->operands.v[i],
				      "runs words only the running shell knows");
			return;
		}
		bytes_add(j->arena, &line, p->operands.v[i].text, strlen(p->operands.v[i].text));
		bytes_addc(j->arena, &line, ' ');
	}
	if (line.s)
		walk_script(j, line.s, p->name, true);
}

static void check_bisect_run(struct judge *j, struct parsed *p)
{
	if (p->operands.n)
		apply_role(j, p->who, 'X', &p->operands, 0);
}

static void refuse_push(struct judge *j, const struct parsed *p, const struct arg *at, const char *what)
{
	judge_note(j, at, EFFECT_GIT_PUSH, PLACE_NONE, at->text, REFUSED, "deny list", "'%s' %s", p->who,
		   what);
}

/* A force, a deletion or a mirror on the remote cannot be taken back from here. */
static void check_push(struct judge *j, struct parsed *p)
{
	static const char forces[] = "f force force-with-lease force-if-includes mirror prune";

	if (opt_has(p, forces))
		refuse_push(j, p, p->name, "overwrites what the remote has");
	if (opt_has(p, "d delete"))
		refuse_push(j, p, p->name, "deletes on the remote");
	for (size_t i = 1; i < p->operands.n; i++) {
		const struct arg *a = &p->operands.v[i];

		if (a->text[0] == '+')
			refuse_push(j, p, a, "overwrites what the remote has");
		else if (a->text[0] == ':' && a->text[1])
			refuse_push(j, p, a, "deletes on the remote");
	}
}

/* --- options --- */

/* Those of log and diff, which all walkers of revisions take together. */
static const char log_options[] =
	"-n:- -g -i -E -F -L:- -h -e -# -p -u -s -R -a -b -w -z -W -r -t -c -m -D -q -v -0 -1 -2 -3 -B? "
		"-M? -C? -X? -l:- -U:- -S:- -G:- -I:- -O:R -P --quiet --source --use-mailmap "
		"--no-use-mailmap --mailmap --no-mailmap --clear-decorations --decorate? --no-decorate "
		"--decorate-refs:- --decorate-refs-exclude:- --log-size --max-count:- --skip:- --since:- "
		"--since-as-filter:- --after:- --until:- --before:- --author:- --committer:- "
		"--grep-reflog:- --grep:- --all-match --invert-grep --regexp-ignore-case --basic-regexp "
		"--extended-regexp --fixed-strings --perl-regexp --remove-empty --merges --no-merges "
		"--min-parents:- --max-parents:- --no-min-parents --no-max-parents --first-parent "
		"--exclude-first-parent-only --not --all --branches? --tags? --remotes? --glob:- "
		"--exclude:- --exclude-hidden:- --reflog --alternate-refs --single-worktree "
		"--ignore-missing --bisect --cherry-mark --cherry-pick --left-only --right-only --cherry "
		"--walk-reflogs --merge --boundary --simplify-by-decoration --show-pulls --full-history "
		"--dense --sparse --simplify-merges --ancestry-path? --date-order --author-date-order "
		"--topo-order --reverse --no-walk? --do-walk --format:- --abbrev-commit "
		"--no-abbrev-commit --oneline --encoding:- --expand-tabs? --no-expand-tabs --notes? "
		"--no-notes --show-notes? --show-signature!U --no-show-signature --relative-date --date:- "
		"--parents --children --left-right --graph --no-graph --show-linear-break? --count "
		"--timestamp --header --max-age:- --min-age:- --objects --objects-edge --unpacked "
		"--filter:- --no-filter --missing:- --disk-usage? --in-commit-order --use-bitmap-index "
		"--progress:- --no-object-names --object-names --full-diff --remerge-diff!U --summary "
		"--numbered --email --group:- --no-commit-header --commit-header --end-of-options --patch "
		"--no-patch --unified:- --function-context --raw --patch-with-raw --patch-with-stat "
		"--numstat --shortstat --dirstat? --cumulative --dirstat-by-file? --check --name-only "
		"--name-status --stat? --stat-width:- --stat-name-width:- --stat-graph-width:- "
		"--stat-count:- --compact-summary --binary --full-index --color? --no-color "
		"--ws-error-highlight:- --abbrev? --no-abbrev --src-prefix:- --dst-prefix:- "
		"--line-prefix:- --no-prefix --default-prefix --inter-hunk-context:- "
		"--output-indicator-new:- --output-indicator-old:- --output-indicator-context:- "
		"--break-rewrites? --find-renames? --irreversible-delete --find-copies? "
		"--find-copies-harder --no-renames --rename-empty --no-rename-empty --follow --no-follow "
		"--minimal --ignore-all-space --ignore-space-change --ignore-space-at-eol "
		"--ignore-cr-at-eol --ignore-blank-lines --ignore-matching-lines:- --indent-heuristic "
		"--no-indent-heuristic --patience --histogram --diff-algorithm:- --anchored:- "
		"--word-diff? --word-diff-regex:- --color-words? --color-moved? --no-color-moved "
		"--color-moved-ws:- --relative? --no-relative --text --exit-code --ext-diff!U "
		"--no-ext-diff --textconv --no-textconv --ignore-submodules? --submodule? "
		"--ita-invisible-in-index --ita-visible-in-index --pickaxe-all --pickaxe-regex "
		"--rotate-to:- --skip-to:- --find-object:- --diff-filter:- --output:W --no-index --cached "
		"--staged --merge-base --base --ours --theirs --diff-merges:- --no-diff-merges "
		"--combined-all-paths --cc --dd --root --no-indent --no-commit-id --pretty? --stdin "
		"--ignore-skip-worktree";

static const struct program log_row = { .name = "git log", .operands = "-*" };

/* The subcommands that walk revisions take all their options. */
static void check_log(struct judge *j, struct parsed *p)
{
	struct parsed inner = { .who = p->who, .name = p->name };
	struct args argv = { 0 };

	args_add(j, &argv, *p->name);
	for (size_t i = 0; i < p->operands.n; i++)
		args_add(j, &argv, p->operands.v[i]);
	options_read(j, log_options, &argv, &inner);
	options_apply(j, &log_row, &inner);
	check_diff(j, &inner);
}

static void check_format_patch(struct judge *j, struct parsed *p)
{
	for (size_t i = 0; i < p->operands.n; i++) {
		if (arg_is(&p->operands.v[i], "--stdout")) {
			p->operands.v[i].text = "--patch";
			check_log(j, p);
			return;
		}
	}
	note_write(j, p, "writes patch files");
}

/* git reflog [show] [log options] */
static void check_reflog(struct judge *j, struct parsed *p)
{
	const struct arg *sub = p->operands.n ? &p->operands.v[0] : NULL;

	if (sub &&
	    (arg_is(sub, "expire") || arg_is(sub, "delete") || arg_is(sub, "drop") || arg_is(sub, "write")))
		note_write(j, p, "changes the history of references");
	else
		check_log(j, p);
}

static const char status_options[] =
	"-vsbz -u? -M? --verbose --short --branch --show-stash --ahead-behind --no-ahead-behind "
		"--porcelain? --long --null --untracked-files? --ignored? --ignore-submodules? --column? "
		"--no-column --no-renames --find-renames?";

static const char branch_options[] =
	"-vqtradDmMcClfi -u:- --verbose --quiet --track? --no-track --set-upstream-to:- --unset-upstream "
		"--color? --no-color --remotes --contains? --no-contains? --abbrev? --no-abbrev --all "
		"--delete --move --copy --list --show-current --create-reflog --edit-description --force "
		"--merged? --no-merged? --column? --no-column --sort:- --points-at:- --ignore-case "
		"--recurse-submodules --format:- --omit-empty";

static const char tag_options[] =
	"-ldvaesfi -n? -m:- -F:R -u:- --list --delete --verify --annotate --message:- --file:R --edit "
		"--sign --no-sign --cleanup:- --local-user:- --force --create-reflog --column? "
		"--no-column --contains? --no-contains? --merged? --no-merged? --sort:- --points-at? "
		"--format:- --color? --ignore-case --omit-empty";

static const char grep_options[] =
	"-avwhHFEGPnlLzcWpiqIro -O?C -# -e:-^ -f:R^ -A:- -B:- -C:- -m:- --cached --untracked --no-index "
		"--no-exclude-standard --exclude-standard --recurse-submodules --text --ignore-case "
		"--max-depth:- --recursive --no-recursive --word-regexp --invert-match --full-name "
		"--extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number --column "
		"--files-with-matches --name-only --files-without-match --null --only-matching --count "
		"--color? --no-color --break --heading --show-function --context:- --after-context:- "
		"--before-context:- --function-context --threads:- --and --or --not --all-match --quiet "
		"--max-count:- --textconv --no-textconv --open-files-in-pager?C";

static const char blame_options[] =
	"-bcefklnpstwh -C? -M? -L:- -S:R --root --show-stats --progress --no-progress --score-debug "
		"--show-name --show-number --porcelain --line-porcelain --show-email --incremental "
		"--ignore-rev:- --ignore-revs-file:R --color-lines --color-by-age --minimal --contents:R "
		"--abbrev:- --date:- --reverse --first-parent --since:- --encoding:- --no-show-email";

static const char ls_files_options[] =
	"-T -x:- -X:R -z -t -v -f -c -d -m -o -i -k -u -s --cached --deleted --modified --others "
		"--ignored --stage --killed --directory --no-empty-directory --eol --unmerged "
		"--resolve-undo --exclude:- --exclude-from:R --exclude-per-directory:- --exclude-standard "
		"--full-name --recurse-submodules --error-unmatch --with-tree:- --abbrev? --debug "
		"--deduplicate --sparse --format:-";

static const char commit_options[] =
	"-aqvnseiopz -m:- -F:R -t:R -C:- -c:- -S? -u? --all --quiet --verbose --no-verify --verify "
		"--signoff --no-signoff --edit --no-edit --include --only --message:- --file:R "
		"--template:R --reuse-message:- --reedit-message:- --fixup:- --squash:- --reset-author "
		"--short --branch --porcelain --long --null --dry-run --author:- --date:- --cleanup:- "
		"--amend --no-post-rewrite --untracked-files? --gpg-sign? --no-gpg-sign --allow-empty "
		"--allow-empty-message --no-status --status --trailer:- --patch --interactive "
		"--pathspec-from-file:R --pathspec-file-nul --ahead-behind";

static const char push_options[] =
	"-vqnufd46 -o:- --verbose --quiet --repo:- --all --branches --mirror --delete --tags --dry-run "
		"--porcelain --force --force-with-lease? --no-force-with-lease --force-if-includes "
		"--recurse-submodules:- --thin --no-thin --receive-pack:C --exec:C --set-upstream "
		"--progress --prune --no-verify --verify --follow-tags --no-follow-tags --signed? "
		"--no-signed --atomic --push-option:- --ipv4 --ipv6";

#define CHANGES_REPO EFFECT_WORKSPACE_MUTATION, .weight = CHANGES
#define COMMITS EFFECT_GIT_COMMIT, .weight = CHANGES
#define ASKS_REMOTE EFFECT_NETWORK_EGRESS, .weight = CHANGES

const struct program table_git[] = {
	ROW("git", "+ -p!U -P -v!H -C:L -c:- --git-dir:- --work-tree:R --namespace:- --exec-path?U "
		"--html-path --man-path --info-path --paginate!U --no-pager --no-replace-objects "
		"--no-lazy-fetch --no-advice --bare --literal-pathspecs --glob-pathspecs "
		"--noglob-pathspecs --icase-pathspecs --no-optional-locks --list-cmds:- --config-env:U "
		"--attr-source:-", OPERANDS_SUB, .check = check_git),

	/* reading */
	{ .name = "git log|git show|git whatchanged|git rev-list|git shortlog|git diff|git diff-tree|"
		"git diff-index|git diff-files|git range-diff|git stash list|git stash show",
	    .check = check_log },
	{ .name = "git reflog", .check = check_reflog },
	{ .name = "git rev-parse|git var|git version|git check-ref-format|git check-mailmap|"
		"git stripspace|git column|git count-objects|git get-tar-commit-id|git patch-id|"
		"git fmt-merge-msg" },
	ROW("git status", status_options, "-*"),
	ROW("git branch", branch_options, "-*", .check = check_refs),
	ROW("git tag", tag_options, "-*", .check = check_refs),
	ROW("git grep", grep_options, "-*"),
	ROW("git blame|git annotate", blame_options, "-*"),
	ROW("git ls-files", ls_files_options, "-*"),
	ROW("git ls-tree", "-drtlz --long --name-only --name-status --object-only --full-name --full-tree "
		"--abbrev? --format:-",
	    "-*"),
	ROW("git cat-file", "-eptsz --batch? --batch-check? --batch-command? --batch-all-objects --buffer "
		"--unordered --follow-symlinks --allow-unknown-type --textconv!U --filters!U --path:- "
		"--use-mailmap", "-*",
	    .check = check_show),
	ROW("git describe", "--all --tags --contains --long --abbrev:- --exact-match --debug "
		"--candidates:- --match:- --exclude:- --always --first-parent --dirty? --broken?", "-*"),
	ROW("git merge-base", "-a --all --octopus --independent --is-ancestor --fork-point", "-*"),
	ROW("git name-rev", "--tags --refs:- --exclude:- --all --annotate-stdin --name-only "
		"--no-undefined --always --stdin", "-*"),
	ROW("git for-each-ref", "-sqpt -# --shell --perl --python --tcl --count:- --format:- --color? "
		"--sort:- --points-at:- --merged? --no-merged? --contains? --no-contains? --ignore-case "
		"--omit-empty --exclude:- --stdin", "-*",
	    .check = check_formats),
	ROW("git show-ref", "-qsdh --tags --heads --branches --verify --head --dereference --hash? "
		"--abbrev? --quiet --exclude-existing? --exists", "-*"),
	ROW("git show-branch", "-ar -g? --all --remotes --topo-order --date-order --sparse --no-name "
		"--sha1-name --topics --more? --list --merge-base --independent --current --color? "
		"--no-color --reflog?", "-*"),
	ROW("git symbolic-ref", "-qd -m:- --quiet --delete --short --recurse --no-recurse", "-*",
	    .check = check_symbolic_ref),
	ROW("git check-ignore", "-qvzn --quiet --verbose --stdin --non-matching --no-index", "-*"),
	ROW("git check-attr", "-az --all --cached --stdin --source:-", "-*"),
	ROW("git cherry", "-v --abbrev? --verbose", "-*"),
	ROW("git config", "-f:R -l -z -e -t:- --global --system --local --worktree --file:R --blob:- "
		"--get --get-all --get-regexp --get-urlmatch --replace-all --add --unset --unset-all "
		"--rename-section --remove-section --list --edit --get-color --get-colorbool --type:- "
		"--bool --int --bool-or-int --path --expiry-date --null --name-only --includes "
		"--no-includes --show-origin --show-scope --default:- --fixed-value --all --regexp "
		"--value:- --url:- --comment:- --append", "-*", .check = check_config),
	ROW("git hash-object", "-t:- -w --stdin --stdin-paths --path:- --no-filters --literally", "R*",
	    .check = check_hash_object),
	ROW("git archive", "-l -v -0 -1 -2 -3 -4 -5 -6 -7 -8 -9 -o:W --format:- --list --verbose "
		"--prefix:- --output:W --worktree-attributes --remote:N --exec:C --add-file:R "
		"--add-virtual-file:- --mtime:-", "-*",
	    .check = check_archive),
	ROW("git fsck", "-v --full --strict --unreachable --dangling --no-dangling --root --tags --cache "
		"--no-reflogs --verbose --progress --no-progress --connectivity-only --name-objects "
		"--no-full", "-*"),
	ROW("git verify-pack", "-vs --verbose --stat-only", "R*"),
	ROW("git bundle verify|git bundle list-heads", "-q --quiet", "R-*"),
	ROW("git bundle", "+", OPERANDS_SUB, .class = CHANGES_REPO, .why = "writes a bundle"),
	ROW("git help", "-agcv --all --guides --config --verbose --user-interfaces --developer-interfaces "
		"--no-external-commands --no-aliases", "-*"),
	ROW("git apply", "-3Rvqz -p:- -C:- --check --stat --numstat --summary --apply --index --cached "
		"--intent-to-add --3way --build-fake-ancestor:W --reverse --reject --unidiff-zero "
		"--no-add --allow-binary-replacement --binary --exclude:- --include:- "
		"--ignore-space-change --ignore-whitespace --whitespace:- --inaccurate-eof --verbose "
		"--quiet --recount --directory:- --unsafe-paths --allow-empty", "R*", .check = check_apply),
	ROW("git clean", "-dfinqxX -e:- --dry-run --force --interactive --quiet --exclude:-", "-*",
	    .check = check_clean),
	{ .name = "git format-patch", .check = check_format_patch },
	ROW("git remote", "+ -v --verbose", OPERANDS_SUB),
	ROW("git remote get-url", "--push --all", "-"),
	ROW("git remote show", "-n", "-*", .check = check_remote_show),
	ROW("git worktree", "+", OPERANDS_SUB),
	ROW("git worktree list", "-vz --verbose --porcelain --expire:-", ""),
	ROW("git submodule", "+ -q --quiet --cached", OPERANDS_SUB),
	ROW("git submodule status|git submodule summary", "-q --cached --recursive --quiet --files "
		"--summary-limit:-", "-*"),
	{ .name = "git submodule foreach", .check = check_foreach, .class = EFFECT_PROCESS_SPAWN,
	    .weight = CHANGES,
	  .why = "runs a line in each submodule" },
	ROW("git notes", "+ --ref:-", OPERANDS_SUB),
	ROW("git notes list|git notes show|git notes get-ref", "", "-*"),
	ROW("git bisect", "+", OPERANDS_SUB),
	{ .name = "git bisect log|git bisect view|git bisect visualize|git bisect terms" },
	ROW("git bisect run", "+", "-*", .check = check_bisect_run, .class = CHANGES_REPO, .why =
		"moves the working tree"),
	ROW("git sparse-checkout", "+", OPERANDS_SUB),
	ROW("git sparse-checkout list", "", ""),
	ROW("git stash", "+", OPERANDS_SUB, .class = CHANGES_REPO, .why = "sets changes aside"),

	/* writing here */
	{ .name = "git stash push|git stash save|git stash pop|git stash apply|git stash drop|"
		"git stash clear|git stash branch|git stash create|git stash store", .class = CHANGES_REPO,
		  .why =
		"changes the working tree or the stash" },
	ROW("git commit", commit_options, "-*", .check = check_commit, .class = COMMITS,
	    .why = "makes a commit"),
	{ .name = "git merge|git cherry-pick|git revert|git am|git pull", .check = check_no_verify,
	    .class = COMMITS,
	  .why = "makes commits" },
	{ .name = "git rebase", .check = check_rebase, .class = COMMITS, .why = "makes commits" },
	{ .name = "git commit-tree|git filter-branch|git filter-repo|git fast-import|git replace|"
		"git mktag|git mktree|git write-tree", .class = COMMITS,
	    .why = "makes objects or commits" },
	ROW("git reset", "-qNp -z --quiet --no-refresh --refresh --mixed --soft --hard --merge --keep "
		"--recurse-submodules? --no-recurse-submodules --patch --intent-to-add "
		"--pathspec-from-file:R --pathspec-file-nul", "-*",
	    .check = check_reset, .class = CHANGES_REPO, .why = "moves the branch or the index"),
	{ .name = "git add|git stage|git rm|git mv|git restore|git checkout|git switch|git init|"
		"git update-index|git update-ref|git read-tree|git checkout-index|git pack-refs|git gc|"
		"git prune|git repack|git maintenance|git rerere|git merge-file|git merge-index|"
		"git merge-tree|git pack-objects|git unpack-objects|git index-pack|git multi-pack-index|"
		"git commit-graph|git prune-packed|git update-server-info|git unpack-file|"
		"git request-pull|git mergetool|git difftool|git citool|git gui|git gitk|git instaweb|"
		"git worktree add|git worktree remove|git worktree move|git worktree prune|"
		"git worktree lock|git worktree unlock|git worktree repair|git remote add|"
		"git remote remove|git remote rm|git remote rename|git remote set-url|git remote set-head|"
		"git remote set-branches|git submodule init|git submodule deinit|git submodule set-url|"
		"git submodule sync|git submodule set-branch|git submodule absorbgitdirs|git notes add|"
		"git notes append|git notes copy|git notes edit|git notes merge|git notes remove|"
		"git notes prune|git bisect start|git bisect good|git bisect bad|git bisect new|"
		"git bisect old|git bisect skip|git bisect reset|git bisect replay|"
		"git sparse-checkout set|git sparse-checkout add|git sparse-checkout init|"
		"git sparse-checkout disable|git sparse-checkout reapply|git lfs|git flow|git subtree|"
		"git fast-export|git verify-commit|git verify-tag|git bundle create|git bundle unbundle|"
		"git for-each-repo|git hook|git scalar|git diagnose|git bugreport|git credential-cache",
	  .class = CHANGES_REPO, .why = "changes the repository or the working tree" },

	/* asking a remote */
	ROW("git ls-remote", "-thq -o:- --tags --heads --branches --refs --upload-pack:C --exec:C --quiet "
		"--exit-code --get-url --sort:- --symref --server-option:-", "N-*", .class = ASKS_REMOTE,
	    .why = "asks a remote"),
	{ .name = "git fetch|git clone|git remote update|git remote prune|git submodule update|"
		"git submodule add|git fetch-pack|git send-email|git imap-send|git svn|git p4|git daemon|"
		"git http-fetch|git archimport|git cvsimport",
	  .class = ASKS_REMOTE, .why = "asks a remote" },
	ROW("git push", push_options, "-*", .check = check_push, .class = EFFECT_GIT_PUSH, .weight = ASKS,
	    .why = "sends commits to a remote"),
	{ .name = "git send-pack|git http-push|git upload-pack|git receive-pack", .class = EFFECT_GIT_PUSH,
	    .weight = ASKS,
	  .why = "speaks to a remote" },
	{ .name = "git credential", .class = EFFECT_SECRET_ACCESS, .weight = CHANGES, .why =
		"hands out credentials" },
	{ 0 }
};
