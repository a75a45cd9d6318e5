/*
 * Programs that run another: what they wrap is looked into.
 */
#include <string.h>

#include "gates/options.h"
#include "gates/shell_internal.h"

/* --- env --- */

static void run_split(struct judge *j, const struct parsed *p, const struct arg *split)
{
	struct bytes line = { 0 };

	if (!split->is_known) {
		judge_unknown(j, p->who, split, "runs words only the running shell knows");
		return;
	}
	bytes_add(j->arena, &line, split->text, strlen(split->text));
	for (size_t i = 0; i < p->operands.n; i++) {
		const struct arg *a = &p->operands.v[i];

		if (!a->is_known || strchr(a->text, '\''))
			judge_unknown(j, p->who, a, "runs words only the running shell knows");
		bytes_add(j->arena, &line, " '", 2);
		bytes_add(j->arena, &line, a->text, strlen(a->text));
		bytes_addc(j->arena, &line, '\'');
	}
	walk_script(j, line.s, split, false);
}

static void strip_env(struct judge *j, const struct parsed *p)
{
	if (opt_has(p, "i ignore-environment") || (p->operands.n && arg_is(&p->operands.v[0], "-")))
		j->sh.is_stripped = true;
	for (size_t i = 0; i < p->n_opts; i++)
		if (p->opts[i].has_value && *p->opts[i].name == 'u')
			env_gone(j, &p->opts[i].value);
}

static void check_env(struct judge *j, struct parsed *p)
{
	const struct opt *split = opt_find(p, "S") ? opt_find(p, "S") : opt_find(p, "split-string");
	const struct opt *dir = opt_find(p, "C") ? opt_find(p, "C") : opt_find(p, "chdir");
	const char *cwd = j->sh.cwd;
	bool was_stripped = j->sh.is_stripped;
	struct args rest;
	size_t i;

	strip_env(j, p);
	if (dir)
		j->sh.cwd = dir->value.is_known ? place_resolve(j->arena, cwd, dir->value.text) : NULL;
	/* "-" is -i. */
	for (i = p->operands.n && arg_is(&p->operands.v[0], "-"); i < p->operands.n; i++) {
		struct arg a = p->operands.v[i];
		const char *eq = strchr(a.text, '=');

		if (!eq || eq == a.text)
			break;
		a.text = eq + 1;
		env_assign(j,
			   arena_dup(j->arena, p->operands.v[i].text, (size_t)(eq - p->operands.v[i].text)),
			   &a);
	}
	rest = args_from(&p->operands, i);
	if (split && split->has_value)
		run_split(j, p, &split->value);
	else if (rest.n)
		run_argv(j, &rest);
	else
		judge_note(j, p->name, EFFECT_SECRET_ACCESS, PLACE_SECRET, p->who, CHANGES, "secret",
			   "'%s' shows all variables, credentials among them", p->who);
	j->sh.cwd = cwd;
	j->sh.is_stripped = was_stripped;
}

static void check_printenv(struct judge *j, struct parsed *p)
{
	if (!p->operands.n)
		judge_note(j, p->name, EFFECT_SECRET_ACCESS, PLACE_SECRET, p->who, CHANGES, "secret",
			   "'%s' shows all variables, credentials among them", p->who);
	for (size_t i = 0; i < p->operands.n; i++)
		if (!p->operands.v[i].is_known || place_is_secret_name(p->operands.v[i].text))
			judge_note(j, &p->operands.v[i], EFFECT_SECRET_ACCESS, PLACE_SECRET,
				   p->operands.v[i].text, CHANGES, "secret",
				   "'%s' is a credential by its name", p->operands.v[i].text);
}

/* --- xargs --- */

static struct arg fed_word(struct judge *j, const struct parsed *p)
{
	const char *dir = j->sh.feed == FEED_PATHS && j->sh.feed_text ? j->sh.feed_text : "";

	return (struct arg){ .text = *dir ? arena_printf(j->arena, "%s/\001", dir) : "\001", .may_split = true, .is_operand = j->sh.feed == FEED_PATHS,
			     .start = p->name->start, .end = p->name->end };
}

/* The words that come in; known ones where a literal is piped in. */
static void fed_words(struct judge *j, const struct parsed *p, struct args *ret)
{
	const char *s = j->sh.feed_text;

	if (j->sh.feed != FEED_TEXT || !s || strpbrk(s, "\\'\"")) {
		args_add(j, ret, fed_word(j, p));
		return;
	}
	for (s += strspn(s, " \t\n"); *s; s += strspn(s, " \t\n")) {
		size_t n = strcspn(s, " \t\n");

		args_add(j, ret, arg_of(arena_dup(j->arena, s, n), p->name));
		s += n;
	}
}

/* @a with @mark replaced by what comes in. */
static struct arg replaced(struct judge *j, const struct parsed *p, const struct arg *a, const char *mark)
{
	const char *hit = strstr(a->text, mark);
	struct arg ret = *a;

	if (!hit || !*mark)
		return ret;
	ret.text = arena_printf(j->arena, "%.*s%s%s", (int)(hit - a->text), a->text,
				hit == a->text ? fed_word(j, p).text : "\001", hit + strlen(mark));
	ret.is_known = false;
	ret.is_operand = hit == a->text ? j->sh.feed == FEED_PATHS : a->text[0] != '-';
	return ret;
}

static void run_fed(struct judge *j, const struct parsed *p, const struct args *command, const char *mark)
{
	struct args argv = { 0 }, fed = { 0 };
	struct shell saved = j->sh;

	fed_words(j, p, &fed);
	for (size_t i = 0; i < command->n; i++)
		args_add(j, &argv, mark ? replaced(j, p, &command->v[i], mark) : command->v[i]);
	if (!argv.n)
		return;
	for (size_t i = 0; !mark && i < fed.n; i++)
		args_add(j, &argv, fed.v[i]);
	j->sh.feed = FEED_NOTHING;
	run_argv(j, &argv);
	j->sh = saved;
}

static void check_xargs(struct judge *j, struct parsed *p)
{
	static const char *const marks[] = { "I", "replace", "i", NULL };
	const char *mark = NULL;

	if (opt_has(p, "a arg-file"))
		j->sh.feed = FEED_UNKNOWN;
	for (const char *const *m = marks; *m; m++) {
		const struct opt *o = opt_find(p, *m);

		if (o)
			mark = o->has_value && o->value.is_known ? o->value.text : "{}";
	}
	run_fed(j, p, &p->operands, mark);
}

/* GNU parallel puts a shell line together; it also keeps files of its own. */
static void check_parallel(struct judge *j, struct parsed *p)
{
	struct args command = { 0 };

	for (size_t i = 0; i < p->operands.n && strncmp(p->operands.v[i].text, ":::", 3); i++)
		if (p->operands.v[i].text[0] != '-' || command.n)
			args_add(j, &command, p->operands.v[i]);
	run_fed(j, p, &command, "{}");
}

/* --- shells --- */

static const char *const posix_shells[] = { "sh", "dash", "ash", NULL };

static bool is_one_of(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (!strcmp(*names, name))
			return true;
	return false;
}

struct shell_call {
	bool has_command, reads_stdin, only_checks, knows_bash;
	size_t next;	/* first operand */
};

/* Options of bash and sh: clusters, -o and -O with a value, +x forms, few long ones. */
static void read_shell_options(struct judge *j, const struct parsed *p, struct shell_call *call)
{
	const struct args *argv = &p->operands;

	for (call->next = 0; call->next < argv->n; call->next++) {
		const struct arg *a = &argv->v[call->next];

		if (!a->is_known && a->text[0] == PLACE_HOLE) {
			judge_unknown(j, p->who, a, "gets words only the running shell knows");
			return;
		}
		if (arg_is(a, "--") || arg_is(a, "-")) {
			call->next++;
			return;
		}
		if (arg_is(a, "--rcfile") || arg_is(a, "--init-file")) {
			judge_unknown(j, p->who, a, "runs a script that is not looked into");
			call->next++;
		} else if (a->text[0] == '-' && a->text[1] == '-') {
			if (!strcmp(a->text, "--debugger") || strchr(a->text, '='))
				judge_unknown(j, p->who, a, "runs a script that is not looked into");
		} else if (a->text[0] == '-' || a->text[0] == '+') {
			call->has_command |= a->text[0] == '-' && strchr(a->text, 'c');
			call->reads_stdin |= a->text[0] == '-' && strchr(a->text, 's');
			call->only_checks |= a->text[0] == '-' && strchr(a->text, 'n');
			if (strchr(a->text, 'k'))
				judge_unknown(j, p->who, a, "has arguments change the environment");
			if (a->text[strlen(a->text) - 1] == 'o' || a->text[strlen(a->text) - 1] == 'O')
				call->next++;
		} else {
			return;
		}
	}
}

static void run_shell_string(struct judge *j, const struct parsed *p, const struct shell_call *call)
{
	const struct args *argv = &p->operands;
	const struct arg *line = call->next < argv->n ? &argv->v[call->next] : NULL;
	struct args params = args_from(argv, call->next + 1);
	const struct args *saved = j->sh.params;

	if (!line)
		return;
	if (!line->is_known || line->is_glob) {
		judge_code(j, p->who, p->name, line, "runs a line only the running shell knows");
		return;
	}
	j->sh.params = &params;
	walk_script(j, line->text, line, !call->knows_bash);
	j->sh.params = saved;
}

static void check_shell(struct judge *j, struct parsed *p)
{
	struct shell_call call = { .knows_bash = !is_one_of(posix_shells, p->who) };
	struct shell saved = j->sh;

	read_shell_options(j, p, &call);
	/* A new process knows the variables, but no functions. */
	j->sh.funcs = NULL;
	if (call.has_command) {
		run_shell_string(j, p, &call);
	} else if (call.next < p->operands.n && !call.reads_stdin) {
		if (call.only_checks)
			apply_role(j, p->who, 'R', &p->operands, call.next);
		else
			judge_code(j, p->who, p->name, &p->operands.v[call.next],
				   "runs a script that is not looked into");
	} else if (j->sh.feed == FEED_TEXT && j->sh.feed_text) {
		walk_script(j, j->sh.feed_text, p->name, !call.knows_bash);
	} else if (!call.only_checks) {
		judge_code(j, p->who, p->name, NULL, "runs what it reads from standard input");
	}
	j->sh = saved;
}

/* --- small ones --- */

/* flock FILE CMD..., flock FILE -c LINE, flock FD */
static void check_flock(struct judge *j, struct parsed *p)
{
	struct args rest;

	if (p->operands.n < 2)
		return;
	apply_role(j, p->who, 'W', &p->operands, 0);
	if (p->operands.n > 2 &&
	    (arg_is(&p->operands.v[1], "-c") || arg_is(&p->operands.v[1], "--command"))) {
		apply_role(j, p->who, 'S', &p->operands, 2);
		return;
	}
	rest = args_from(&p->operands, 1);
	run_argv(j, &rest);
}

/* watch gives its words to sh -c, joined. */
static void check_watch(struct judge *j, struct parsed *p)
{
	struct bytes line = { 0 };

	if (opt_has(p, "x exec")) {
		run_argv(j, &p->operands);
		return;
	}
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

/* su [-] [USER] -c LINE and kin: refused anyway, but what is inside counts, too. */
static void check_su(struct judge *j, struct parsed *p)
{
	for (size_t i = 0; i + 1 < p->operands.n; i++)
		if (arg_is(&p->operands.v[i], "-c") || arg_is(&p->operands.v[i], "--command"))
			apply_role(j, p->who, 'S', &p->operands, i + 1);
}

/* The command of script(1) is a line for a shell; it types into a file of its own. */
static void check_script(struct judge *j, struct parsed *p)
{
	static const struct arg typescript = { .text = "typescript", .is_known = true };

	if (!p->operands.n)
		judge_path(j, p->who, &typescript, USE_WRITE);
}

#define PRIVILEGE "runs commands as somebody else"
#define CONFINES "builds or enters an enclosure of its own"

const struct program table_wrap[] = {
	ROW("env", "+ -i0v -u:- -C:L -S:- -a:- --ignore-environment --null --unset:- --chdir:L "
		"--split-string:- --debug --argv0:- --block-signal? --default-signal? --ignore-signal? "
		"--list-signal-handling",
	  "-*", .check = check_env),
	ROW("printenv", "-0 --null", "-*", .check = check_printenv),
	ROW("nohup", "+", "X", .class = EFFECT_WORKSPACE_MUTATION, .weight = CHANGES,
	  .why = "can write nohup.out"),
	ROW("nice", "+ -n:- -# --adjustment:-", "X"),
	ROW("timeout", "+ -fpv -k:- -s:- --kill-after:- --signal:- --foreground --preserve-status "
		"--verbose", "-X"),
	ROW("stdbuf", "+ -i:- -o:- -e:- --input:- --output:- --error:-", "X"),
	ROW("setsid", "+ -cfw --ctty --fork --wait", "X"),
	ROW("ionice", "+ -t -c:- -n:- -p:U -P:U -u:U --class:- --classdata:- --pid:U --ignore", "X"),
	ROW("chrt", "+ -abdfioRrvm -p!U -T:- -P:- -D:- --all-tasks --batch --fifo --idle --other --rr "
		"--pid!U --max", "-X"),
	ROW("taskset", "+ -ac -p!U --all-tasks --cpu-list --pid!U", "-X"),
	ROW("setarch|linux64|linux32|i386|x86_64", "+ -RFZLBITSX3v --addr-no-randomize", "X"),
	ROW("flock", "+ -sxenuoFv -w:- -E:- -c:S --shared --exclusive --nonblock --unlock --close "
		"--no-fork --verbose --timeout:- --wait:- --conflict-exit-code:- --command:S",
	  "-*", .check = check_flock),
	ROW("time", "+ -pvaqV -f:- -o:W --portability --verbose --append --quiet --format:- --output:W",
	    "X"),
	ROW("xargs", "+ -0rtpxo -a:R -d:- -E:- -e? -i? -I:- -L:- -l? -n:- -P:- -s:- --null "
		"--no-run-if-empty --verbose --interactive --exit --open-tty --arg-file:R --delimiter:- "
		"--eof? --replace? --max-lines? --max-args:- --max-procs:- --max-chars:- "
		"--process-slot-var:- --show-limits",
	  "-*", .check = check_xargs),
	{ .name = "parallel|sem", .check = check_parallel, .class = EFFECT_WORKSPACE_MUTATION,
	    .weight = CHANGES,
	  .why = "keeps files of its own" },
	{ .name = "bash|sh|dash|ash|rbash", .check = check_shell },
	{ .name = "zsh|ksh|mksh|fish|csh|tcsh|pwsh|nu|elvish|xonsh|yash", .check = check_shell,
	  .class = EFFECT_PROCESS_SPAWN, .weight = CHANGES, .why = "reads lines in a way of its own" },
	ROW("busybox|toybox", "+ -l --list --list-full --install!U", "X"),
	ROW("watch", "+ -bcegtxprw -d? -n:- -q:- -s:- --interval:- --differences? --no-title --beep "
		"--errexit --chgexit --color --no-color --exec --precise --no-wrap --no-rerun --equexit:-",
	  "-*", .check = check_watch),
	ROW("script", "+ -aefq -T:- -c:S -O:W -I:W -B:W -E:- -m:- -o:- -t? --append --command:S --return "
		"--flush --force --quiet --log-out:W --log-in:W --log-io:W --timing?W",
	  "W", .check = check_script),
	{ .name = "unbuffer|catchsegv|faketime|fakeroot|xvfb-run|dbus-run-session|cpulimit|numactl|"
		"prlimit|setpriv|strace|ltrace|gdb|valgrind|perf|proot|torsocks|proxychains|proxychains4",
	  .class = EFFECT_PROCESS_SPAWN, .weight = CHANGES, .why = "runs a program in a way that is not "
		"looked into" },
	{ .name = "sudo|doas|su|runuser|pkexec|gosu|su-exec|sg|newgrp|sudoedit|run0", .check = check_su,
	  .class = EFFECT_ENCLOSURE_CONTROL, .weight = REFUSED, .why = PRIVILEGE },
	{ .name = "chroot|unshare|nsenter", .class = EFFECT_ENCLOSURE_CONTROL, .weight = REFUSED,
	    .why = CONFINES },
	{ .name = "bwrap|firejail|flatpak-spawn|systemd-nspawn|lxc-execute|lxc-attach|runc|crun|nsjail",
	  .class = EFFECT_ENCLOSURE_CONTROL, .weight = CHANGES, .why = CONFINES },
	{ 0 }
};
