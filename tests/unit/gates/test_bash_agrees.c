/*
 * The shell reader held against bash itself: on lines put together from bits of
 * syntax, bash runs no command that the gate has not seen. timeout: 240
 *
 * The commands of these lines do not exist, so bash reports each to
 * command_not_found_handle, and the gate each as an unknown program. All lines
 * of a round run inside one bwrap without network, in an empty directory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "gates/command.h"

static char base[64];

/* Runs each numbered line; the names it ran go to the file of that number with .ran behind. */
static const char driver[] =
	"cd /lines; command_not_found_handle() { printf '%s\\0' \"$1\" >>\"$RAN\"; return $((RANDOM % 2)); }; export -f command_not_found_handle\n"
	"for f in [0-9]*; do case $f in *.*) continue;; esac\n"
	"  /bin/rm -rf /work; /bin/mkdir -p /work; cd /work || exit\n"
	"  RAN=/lines/$f.ran PATH=/nowhere /usr/bin/timeout -k 1 2 /bin/bash -c \"$(</lines/$f)\" </dev/null >/dev/null 2>&1\n"
	"  cd /lines; done; exit 0\n";

static int run(const char *const argv[])
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_driver(const char *script)
{
	const char *const argv[] = {
		"bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr",
		"--symlink", "usr/bin",
		"/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--dev", "/dev",
		"--proc", "/proc",
		"--tmpfs", "/tmp", "--bind", base, "/lines", "--clearenv", "--setenv", "LANG", "C.UTF-8",
		"--setenv", "PATH",
		"/usr/bin:/bin", "bash", "-c", script, NULL,
	};

	return run(argv);
}

static int make_base(void **state)
{
	(void)state;
	snprintf(base, sizeof(base), "/tmp/agate-bash.XXXXXX");
	return mkdtemp(base) ? 0 : -1;
}

static int remove_base(void **state)
{
	const char *const argv[] = { "rm", "-rf", base, NULL };

	(void)state;
	return run(argv);
}

/* --- lines --- */

static uint32_t seed;

static uint32_t next_random(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

static const char *const bits[] = {
	" ", " ", " ", " ", "\n", "\n", ";", "; ", " && ", " || ", " | ", " & ", "|&", "'", "'", "\"", "\"",
	"\\", "\\\n", "`", "`", "$(", "$(", ")",
	")", "(", "((", "))", "$((", "${x:-", "${x#", "${x/a/", "}", "{", "{ ", "; }", "#", " #", "$", "$x",
	"$'", "$\"", "<(", ">(", "<<E\n", "\nE\n",
	"<<'E'\n", "<<-E\n", "<<<", "< /dev/null", "> f", "2>&1", ">&2", "<>f", "&>f", "if ", "; then ",
	"; else ", "; fi", "while ", "; do ",
	"; done", "until ", "for x in ", "case x in ", "x) ", ";; ", "esac", "! ", "time ", "[[ ", " ]]",
	" -f ", " =~ ", " == ", "x=", "x+=", "x=(",
	"x[1]=", "f() ", "function f ", "coproc ", "select y in ", "{a,b}", "~", "*", "?", "[a]", "!(", "@(",
	"eval '", "eval ", "trap '", "' EXIT",
	"bash -c '", "sh -c \"", "\t", "\\'", "\\\"", "\\$", "\\`", "1", "=", "==", "+=", ",", ":", "%", "^",
	"-", "--", "in ", "do ", "then ",
};

static uint32_t n_commands;

static void soup(struct buf *line)
{
	uint32_t n = 2 + next_random(12);

	while (n--) {
		if (next_random(3))
			buf_adds(line, bits[next_random(ARRAY_LEN(bits))]);
		if (next_random(3))
			buf_addf(line, "cmd%u", n_commands++);
		if (!next_random(4))
			buf_adds(line, " ");
	}
}

/* Shapes of lists. Behind \1 stand l for a list, c for a command's name, w for a word. */
static const char *const shapes[] = {
	"\1c", "\1c \1w", "\1c \1w \1w", "\1c; \1l", "\1c\n\1l", "\1c && \1c || \1c", "\1c | \1c",
	"\1c |& \1c | \1c", "(\1l)", "{ \1l; }",
	"{ \1l\n}", "! \1c", "time \1c", "\1c & \1c", "\1c > f", "> f \1c", "\1c 2>&1 \1w", "\1c <> f",
	"\1c &> f", "A=\1w \1c", "A=(\1w \1w); \1c",
	"A=(\1w) \1c", "A+=\1w \1c", "a[\1w]=1 \1c", "if \1l; then \1l; fi",
	"if \1c; then \1c; elif \1c; then \1c; else \1l; fi",
	"while \1c; do \1l; break; done", "until \1c; do \1c; break; done", "for x in \1w \1w; do \1l; done",
	"for x in \1w\ndo \1l\ndone",
	"for ((i=0;i<2;i++)); do \1c; done", "case \1w in cmd*|x) \1l;; *) \1c;; esac",
	"case x in (x) \1c ;& y) \1c ;; esac",
	"f() { \1l; }; f", "function f { \1l; }; f \1w", "f() (\1c); f", "[[ \1w == \1w ]] || \1c",
	"[[ x =~ ^(x|y)$ ]] && \1c", "(( 1 + 1 )) && \1c",
	"cat <<E; \1c\n\1w\nE", "cat <<'E' && \1c\n\1w\nE", "\1c <<E\n\1w\nE\n\1c",
	"\1c <<-E\n\t\1w\n\tE\n\1c", "\1c <<< \1w", "\1c < <(\1l)", "\1c > >(\1c)",
	"eval '\1c; \1c'", "bash -c '\1c && \1c' x", "trap '\1c' EXIT; \1c", "\1c # \1c\n\1c", "\1c \\\n \1w",
	"let x=1; \1c", "echo \1w | \1c",
	"export A=\1w; \1c", "declare -a A=(\1w); \1c", "local x; \1c", "set -- \1w; \1c", "unset x; \1c",
	"x=\1w; \1c $x", "select y in a; do \1c; break; done",
	"coproc \1c", "coproc { \1l; }", "coproc N (\1l); \1c", "coproc N if \1c; then \1c; fi", "coproc while \1c; do \1c; break; done",
	"cat <<A - <<'B'; \1c\n\1w\nA\n\1w\nB\n\1c", "\1c <<A <<-B && \1c\n\1w\nA\n\1w\n\tB\n\1c",
	"shopt -s extglob\n\1c !(a) \1w\n\1c", "shopt -s extglob\n\1c @(a|\1w)", "\1c;\n\n\1c;", "\1c|\n\1c", "\1c &&\n \1c", "{ \1c; } 2>&1 | \1c",
	"(\1c; \1c) > f; \1c", "if (\1c); then \1c; fi", "{ \1c; }&&(\1c)",
};

static const char *const words[] = {
	"a", "'a b'", "\"a b\"", "$(\1l)", "\"$(\1l)\"", "`\1c`", "\"`\1c`\"", "${x:-\1w}", "\"${x:-\1w}\"",
	"${x:+\1w}", "${x#\1w}", "${x/a/\1w}", "${#x}",
	"$((1+1))", "$((x+$(\1c; echo 1)))", "<(\1c)", "a\\ b", "a\"b\"'c'", "$'a\\'b'", "$x", "\"$x\"",
	"{a,b}", "*", "~", "#a", "a#b", "'#'", "\\;", "\";\"", "';'",
	"a=b", "--a=\1w", "[a]", "!", "if", "then", "}", "{", "in", "done", "esac", "\\$(", "'$('",
	"\"\\$(\"", "\\`", "'`'", "\"\\`\"", "=", "==", "%1", "^", "1",
	"$(( $(\1c) ))", "$(\1c <<E\n\1w\nE\n)", "$(case x in x) \1c;; esac)", "$( # )\n\1c)",
	"@(a|b)", "x+(a)y", "!(a|*(b))", "@(\1w)", "\"${x:-\"a b\"}\"", "${x:-}", "$[1+1]", "${a[0]}", "\"$@\"", "$*",
};

/* Fill in @shape: l a list, c a command's name, w a word. */
static void fill(struct buf *line, const char *shape, unsigned int depth)
{
	for (; *shape; shape++) {
		if (*shape != '\1') {
			buf_addc(line, *shape);
			continue;
		}
		shape++;
		if (*shape == 'c')
			buf_addf(line, "cmd%u", n_commands++);
		else if (depth > 4)
			buf_adds(line, *shape == 'w' ? "a" : "cmd");
		else if (*shape == 'l')
			fill(line, shapes[next_random(ARRAY_LEN(shapes))], depth + 1);
		else
			fill(line, words[next_random(ARRAY_LEN(words))], depth + 1);
	}
}

/* Half of the lines follow the grammar; some of those are broken in one place. */
static void random_line(struct buf *line)
{
	buf_clear(line);
	n_commands = 0;
	if (!next_random(3)) {
		soup(line);
		return;
	}
	fill(line, shapes[next_random(ARRAY_LEN(shapes))], 0);
	if (!next_random(4) && line->len) {
		size_t at = next_random((uint32_t)line->len);

		memmove(line->data + at, line->data + at + 1, line->len - at);
		line->len--;
	}
}

/* --- verdicts --- */

static void check_line(const char *line, struct verdict *v)
{
	struct command_request req = {
		.line = line, .len = strlen(line), .mode = MODE_CHAT, .workspace = "/work", .home = "/home/u",
	};
	struct err err;

	assert_int_equal(command_check(&req, v, &err), 0);
}

static bool has_seen(const struct verdict *v, const char *name)
{
	for (size_t i = 0; i < v->effects_n; i++) {
		const struct effect *e = &v->effects[i];

		/* A nested line that cannot be read has no subject, and is not allowed either. */
		if (e->class == EFFECT_PROCESS_SPAWN && !e->subject)
			return true;
		/* A name put together by the shell shows as a star, which covers any. */
		if (e->class == EFFECT_PROCESS_SPAWN &&
		    (!strcmp(e->subject, name) || !fnmatch(e->subject, name, 0) || strchr(e->subject, '*') ||
		     !strcmp(e->subject, "$...") || !strcmp(e->subject, "eval") ||
		     !strcmp(e->subject, "trap") || !strcmp(e->subject, "bash")))
			return true;
	}
	return false;
}

static size_t judge_round(size_t first, size_t n)
{
	size_t wrong = 0;

	for (size_t i = first; i < first + n; i++) {
		OWN(buf) struct buf line = { 0 }, ran = { 0 };
		OWN(verdict) struct verdict v = { 0 };
		char path[100];

		snprintf(path, sizeof(path), "%s/%zu", base, i);
		if (io_read_file(AT_FDCWD, path, 1 << 16, &line, NULL))
			continue;
		snprintf(path, sizeof(path), "%s/%zu.ran", base, i);
		if (io_read_file(AT_FDCWD, path, 1 << 16, &ran, NULL) || !ran.len)
			continue;
		check_line(line.data, &v);
		for (const char *name = ran.data; name < ran.data + ran.len; name += strlen(name) + 1) {
			/* bash leaves "~nobody" as it is; the gate takes it for a path. */
			if (strstr(name, "cmd") && name[0] != '~' && !has_seen(&v, name)) {
				print_error("bash ran '%s', which the gate has not seen, in:\n%s\n", name,
					    line.data);
				wrong++;
			}
		}
	}
	return wrong;
}

static void bash_runs_nothing_the_gate_has_not_seen(void **state)
{
	const char *wish = getenv("AGATE_BASH_LINES");
	size_t tries = wish ? strtoul(wish, NULL, 10) : 1200, n = 0, wrong;
	OWN(buf) struct buf line = { 0 };
	char path[100];

	(void)state;
	if (run_driver("true")) {
		print_message("bwrap cannot run here\n");
		skip();
	}
	seed = getenv("AGATE_VERDICT_SEED") ? (uint32_t)strtoul(getenv("AGATE_VERDICT_SEED"), NULL, 10)
					    : 20221130;
	for (size_t i = 0; i < tries; i++) {
		OWN(verdict) struct verdict v = { 0 };

		random_line(&line);
		check_line(line.data, &v);
		/* Unreadable lines are nobody's business here, nor are those of a single command. */
		if (!strcmp(v.rule, "unreadable") || !v.effects_n)
			continue;
		snprintf(path, sizeof(path), "%s/%zu", base, n++);
		assert_int_equal(io_replace_file(AT_FDCWD, path, line.data, line.len, 0600, NULL), 0);
	}
	assert_int_equal(run_driver(driver), 0);
	wrong = judge_round(0, n);
	print_message("bash ran %zu lines\n", n);
	assert_true(n > 0);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bash_runs_nothing_the_gate_has_not_seen),
	};

	return cmocka_run_group_tests(tests, make_base, remove_base);
}
