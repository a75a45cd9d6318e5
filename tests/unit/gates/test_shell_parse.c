/*
 * Shell lines as the reader sees them: which commands, with which words and
 * redirections, and what is refused for which reason.
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

#include "base/buf.h"
#include "base/own.h"
#include "gates/arena.h"
#include "gates/shell_parse.h"

static void show_node(struct buf *out, const struct node *n);

static void show_word(struct buf *out, const struct word *w)
{
	for (const struct part *p = w->parts; p; p = p->next) {
		switch (p->kind) {
		case PART_TEXT:
			buf_addf(out, p->quoted ? "'%s'" : "%s", p->text);
			break;
		case PART_PARAM:
			buf_addf(out, "${%s%s", p->text, p->op);
			if (p->arg)
				show_word(out, p->arg);
			buf_adds(out, "}");
			break;
		case PART_COMMAND:
		case PART_PROCESS:
			buf_adds(out, p->kind == PART_COMMAND ? "$(" : p->is_output ? ">(" : "<(");
			show_node(out, p->script);
			buf_adds(out, ")");
			break;
		case PART_ARITH:
			buf_adds(out, "$((");
			show_word(out, p->arg);
			buf_adds(out, "))");
		}
	}
}

static const char *const kinds[] = {
	[NODE_SIMPLE] = "", [NODE_LIST] = "list", [NODE_PIPE] = "pipe", [NODE_SUBSHELL] = "sub", [NODE_GROUP] = "group",
	[NODE_IF] = "if", [NODE_WHILE] = "while", [NODE_FOR] = "for", [NODE_FOR_ARITH] = "for((", [NODE_CASE] = "case",
	[NODE_FUNCTION] = "function", [NODE_ARITH] = "((", [NODE_COND] = "[[",
};

static void show_redirs(struct buf *out, const struct redir *d)
{
	static const char *const signs[] = {
		[REDIR_IN] = "<", [REDIR_OUT] = ">", [REDIR_APPEND] = ">>", [REDIR_CLOBBER] = ">|", [REDIR_RDWR] = "<>",
		[REDIR_DUP_IN] = "<&", [REDIR_DUP_OUT] = ">&", [REDIR_BOTH] = "&>", [REDIR_BOTH_APPEND] = "&>>",
		[REDIR_HEREDOC] = "<<", [REDIR_HERESTRING] = "<<<",
	};

	for (; d; d = d->next) {
		buf_adds(out, " ");
		if (d->fd >= 0)
			buf_addf(out, "%d", d->fd);
		buf_adds(out, signs[d->kind]);
		show_word(out, d->target);
	}
}

/* A list of one is shown as that one. */
static void show_node(struct buf *out, const struct node *n)
{
	if (n->kind == NODE_LIST && n->kids && !n->kids->next) {
		show_node(out, n->kids);
		return;
	}
	buf_addf(out, "%s[", kinds[n->kind]);
	buf_adds(out, n->name);
	for (const struct assign *a = n->assigns; a; a = a->next) {
		buf_addf(out, "%s%s=", a->name, a->is_append ? "+" : "");
		if (a->value)
			show_word(out, a->value);
		for (const struct word *w = a->items; w; w = w->next) {
			buf_adds(out, w == a->items ? "(" : ",");
			show_word(out, w);
		}
		buf_adds(out, a->items ? ") " : " ");
	}
	for (const struct word *w = n->words; w; w = w->next) {
		if (w != n->words || *n->name)
			buf_adds(out, " ");
		show_word(out, w);
	}
	for (const struct node *kid = n->kids; kid; kid = kid->next) {
		static const char *const joins[] = { ";", "&", "&&", "||" };

		if (kid != n->kids)
			buf_adds(out, n->kind == NODE_PIPE ? "|" : joins[kid->join]);
		show_node(out, kid);
		if (kid->is_background)
			buf_adds(out, "&");
	}
	show_redirs(out, n->redirs);
	buf_adds(out, "]");
}

/* The form of @line, or why it is refused. */
static void read_line(const char *line, bool is_posix, struct buf *out)
{
	struct shell_limits lim = { .max_depth = 64, .max_commands = 1000 };
	struct shell_problem problem = { 0 };
	struct arena *arena = calloc(1, sizeof(*arena));
	struct node *script = NULL;

	assert_non_null(arena);
	if (setjmp(arena->out))
		fail_msg("out of memory");
	if (shell_parse(arena, line, strlen(line), is_posix, &lim, &script, &problem))
		buf_addf(out, "! %s", problem.why);
	else
		show_node(out, script);
	assert_int_equal(lim.depth, 0);
	arena_done(arena);
	free(arena);
}

struct reading {
	const char *line, *form;
};

static void check_all(const struct reading *readings, size_t n, bool is_posix)
{
	for (size_t i = 0; i < n; i++) {
		OWN(buf) struct buf form = { 0 };

		read_line(readings[i].line, is_posix, &form);
		if (strcmp(form.data, readings[i].form))
			fail_msg("'%s'\n reads as %s\n not as   %s", readings[i].line, form.data, readings[i].form);
	}
}

static void words_keep_what_quotes_mean(void **state)
{
	static const struct reading readings[] = {
		{ "ls -l a", "[ls -l a]" },
		{ "l's' \"a b\" c\\ d", "[l's' 'a b' c' 'd]" },
		{ "to\\\nuch x", "[touch x]" },
		{ "$'\\x74ouch' $'a\\nb' $'\\101\\u00e9'", "['touch' 'a\nb' 'A\xc3\xa9']" },
		{ "echo \"\\$x \\a \\\"\"", "[echo '$x \\a \"']" },
		{ "echo '' \"\"", "[echo '' '']" },
		{ "echo a#b #c", "[echo a#b]" },
		{ "echo $x ${y} \"$z\" $10", "[echo ${x} ${y} ''${z} ${1}0]" },
		{ "echo ${x:-a b} ${#x} ${!x} ${x//a/b}", "[echo ${x:-a b} ${xlen} ${x!} ${x//a/b}]" },
		{ "echo $((1 + $x)) $[2]", "[echo $((1 + ${x})) $((2))]" },
		{ "echo $(a; b `c d`)", "[echo $(list[[a];[b $([c d])]])]" },
		{ "echo `a \\`b\\``; true", "! a line that can be read in two ways" },
		{ "diff <(a) >(b)", "[diff <([a]) >([b])]" },
		{ "$((ls); pwd)", "! a line the grammar has an error in" },
	};

	(void)state;
	check_all(readings, ARRAY_LEN(readings), false);
}

static void commands_hang_together_as_in_bash(void **state)
{
	static const struct reading readings[] = {
		{ "a; b & c && d || e | f |& g", "list[[a];[b]&;[c]&&[d]||pipe[[e]|[f]|[g]]]" },
		{ "a\nb\n\nc", "list[[a];[b];[c]]" },
		{ "! a | b", "pipe[[a]|[b]]" },
		{ "A=1 B+=2 c", "[A=1 B+=2 c]" },
		{ "a=(1 'b c' $d) x", "[a=(1,'b c',${d}) x]" },
		{ "(a; b) | { c; }", "pipe[sub[list[[a];[b]]]|group[[c]]]" },
		{ "if a; then b; elif c; then d; else e; fi", "if[[a];[b];[c];[d];[e]]" },
		{ "while a\ndo b; done < f", "while[[a];[b] <f]" },
		{ "for x in a $b; do c; done", "for[x a ${b}[c]]" },
		{ "for ((i=0;i<3;i++)); do a; done", "for(([i=0;i<3;i++[a]]" },
		{ "case $x in a|b) c;; (*) d; esac", "case[${x} a b *[c];[d]]" },
		{ "f() { a; }; function g { b; }", "list[function[fgroup[[a]]];function[ggroup[[b]]]]" },
		{ "[[ a == b && ! -f c ]] && ((x > 1))", "list[[[[a == b '&&' ! -f c]&&(([x > 1]]" },
		{ "[[ $x =~ ^(a|b)$ ]]", "[[[${x} =~ ^(a|b)$]" },
		{ "time a | b", "pipe[[a]|[b]]" },
		{ "echo if then { } ! done", "[echo if then { } ! done]" },
		{ "a;;b", "! a word out of place" },
	};

	(void)state;
	check_all(readings, ARRAY_LEN(readings), false);
}

static void redirections_and_here_documents_are_kept(void **state)
{
	static const struct reading readings[] = {
		{ "a >b 2>>c <d >|e 3<>f", "[a >b 2>>c <d >|e 3<>f]" },
		{ "a 2>&1 >&- &>b &>>c", "[a 2>&1 >&- &>b &>>c]" },
		{ ">b a c", "[a c >b]" },
		{ "a <<E\nx $y\nE\nb", "list[[a <<'x '${y}'\n'];[b]]" },
		{ "a <<'E' | b\n$(x)\nE", "pipe[[a <<'$(x)\n']|[b]]" },
		{ "a <<-E\n\tx\n\tE", "[a <<'\tx\n']" },
		{ "a <<< \"$x\"", "[a <<<''${x}]" },
		{ "a <<E\nx", "! a here-document without its end" },
		{ "a {fd}>b", "[a >b]" },
	};

	(void)state;
	check_all(readings, ARRAY_LEN(readings), false);
}

static void what_cannot_be_read_is_refused_with_a_reason(void **state)
{
	static const struct reading readings[] = {
		{ "a 'b", "! a quote without its end" },
		{ "a \"b", "! a quote without its end" },
		{ "a $(b", "! a substitution without its end" },
		{ "a ${b", "! an expansion nobody knows" },
		{ "a `b", "! a backtick without its end" },
		{ "(a", "! a bracket without its end" },
		{ "a)", "! a word out of place" },
		{ "a(b)", "! a bracket out of place" },
		{ "if a; then b", "! no 'fi' where one is due" },
		{ "while a; do", "! a command that is not there" },
		{ "a |", "! a command that is not there" },
		{ "a && ; b", "! a command that is not there" },
		{ "a >", "! a redirection to nowhere" },
		{ "a \r", "! a control byte" },
		{ "!(ls)", "! a bracket right behind '!', which can be read in two ways" },
		{ "ls !($(a))", "! a bracket out of place" },
		{ "ls !(a b)", "! a bracket out of place" },
		{ "ls \\!(a)", "! a bracket out of place" },
		{ "a=!(b)", "! a bracket out of place" },
		{ "x=(a)b c", "! an array with something at its end" },
		{ "[[ a", "! a [[ without its end" },
	};

	(void)state;
	check_all(readings, ARRAY_LEN(readings), false);
}

static void a_plain_sh_is_read_without_what_is_bash_s_own(void **state)
{
	static const struct reading readings[] = {
		{ "a; if b; then c; fi", "list[[a];if[[b];[c]]]" },
		{ "[[ a > b ]]", "! not understood by every sh" },
		{ "a <<< b", "! not understood by every sh" },
		{ "a &> b", "! not understood by every sh" },
		{ "a |& b", "! not understood by every sh" },
		{ "a <(b)", "! not understood by every sh" },
		{ "a=(b)", "! not understood by every sh" },
		{ "a $'b'", "! not understood by every sh" },
		{ "function f { a; }", "! not understood by every sh" },
	};

	(void)state;
	check_all(readings, ARRAY_LEN(readings), true);
}

static void offsets_are_those_of_the_line(void **state)
{
	static const char line[] = "ls; echo `rm x` y";
	struct shell_limits lim = { .max_depth = 64, .max_commands = 1000 };
	struct shell_problem problem;
	struct arena *arena = calloc(1, sizeof(*arena));
	struct node *script, *echo;
	const struct word *rm;

	(void)state;
	assert_non_null(arena);
	if (setjmp(arena->out))
		fail_msg("out of memory");
	assert_int_equal(shell_parse(arena, line, strlen(line), false, &lim, &script, &problem), 0);
	echo = script->kids->next;
	assert_int_equal(echo->words->start, 4);
	assert_int_equal(echo->words->next->start, 9);
	rm = echo->words->next->parts->script->kids->words;
	assert_int_equal(rm->start, 10);
	assert_int_equal(rm->next->start, 13);
	assert_int_equal(rm->next->end, 14);
	arena_done(arena);
	free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_keep_what_quotes_mean),
		cmocka_unit_test(commands_hang_together_as_in_bash),
		cmocka_unit_test(redirections_and_here_documents_are_kept),
		cmocka_unit_test(what_cannot_be_read_is_refused_with_a_reason),
		cmocka_unit_test(a_plain_sh_is_read_without_what_is_bash_s_own),
		cmocka_unit_test(offsets_are_those_of_the_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
