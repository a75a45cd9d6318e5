/*
 * gates/shell_internal.h - what the files of the shell reader share
 */
#ifndef GATES_SHELL_INTERNAL_H
#define GATES_SHELL_INTERNAL_H

#include <setjmp.h>

#include "gates/arena.h"
#include "gates/shell_parse.h"

/* Bytes at which commands begin, for the comparison of the two readers. */
struct starts {
	uint32_t *at;
	size_t n, cap;
};

struct heredoc {
	struct heredoc *next;
	struct redir *redir;
	const char *delim;
	bool is_quoted, strips_tabs;
	bool is_hidden;		/* the second of a line: the grammar knows one */
};

/* One for each text: the line, and what stands between backticks in it. */
struct reader {
	struct arena *arena;
	const char *s;
	size_t pos, end, len;		/* @end: of the part being read; @len: of @s */
	char **twin;			/* what the second reader is shown instead, or NULL: @s */
	const uint32_t *map;            /* offset in the outermost text for each byte, or NULL: the same */
	struct shell_limits *lim;
	struct starts *starts;
	struct heredoc *heredocs;	/* announced, their bodies not yet read */
	bool is_posix;
	struct shell_problem *problem;
	jmp_buf *out;			/* where an unreadable line leaves to */
};

/* shell_refuse() - this cannot be read; does not return */
_Noreturn void shell_refuse(struct reader *r, size_t start, const char *why);

_Noreturn void shell_over_limit(struct reader *r, const char *why);

/* shell_at() - an offset of this text in terms of the outermost one */
size_t shell_at(const struct reader *r, size_t pos);

void shell_deeper(struct reader *r);	/* refuses past the limit */
void shell_shallower(struct reader *r);
void starts_add(struct reader *r, size_t pos);

/* --- bytes --- */
#define SHELL_EOF (-1)
int shell_ch(struct reader *r);			/* the next byte, backslash-newlines skipped */
int shell_next(struct reader *r);		/* step over it, then as shell_ch() */
bool shell_match(struct reader *r, const char *token);	/* steps over @token if it is next */
bool shell_is_meta(int c);			/* ends a word: blank, newline, ; & | ( ) < > and the end */
bool shell_is_name(const char *s, size_t len);

/* --- shell_lex.c, above bytes --- */
void shell_skip_blanks(struct reader *r);		/* and a comment */
void shell_skip_newlines(struct reader *r);           /* and the bodies of here-documents that follow them */
bool shell_keyword(struct reader *r, const char *kw); /* steps over the unquoted word @kw if it is next */
struct redir *shell_redirection(struct reader *r);	/* NULL when there is none here */
struct word *shell_plain_word(struct reader *r, size_t start, size_t end); /* those bytes as they are */
/* shell_hide_from_grammar() - show the second reader @as at @pos, for what its grammar does not know */
void shell_hide_from_grammar(struct reader *r, size_t pos, const char *as);

/* --- shell_word.c --- */
struct word *shell_word(struct reader *r);		/* at a byte that starts a word */
struct word *shell_pattern(struct reader *r);		/* the same where bash would match names or text */
struct word *shell_regex(struct reader *r);		/* right side of =~ */
struct word *shell_heredoc_body(struct reader *r, size_t start, size_t end);
struct word *shell_subscript(struct reader *r);		/* behind "[", through "]" */
/* shell_arith() - behind "((", through "))"; NULL with the reader unmoved when it is no arithmetic */
struct word *shell_arith(struct reader *r);
struct word *word_new(struct reader *r, size_t start);

/* --- shell_read.c --- */
struct node *shell_list(struct reader *r);		/* up to a closer, which is left to be read */

/* --- shell_tree.c --- */
/**
 * shell_tree_objection() - What the second reader has against the first
 * @starts:	sorted offsets at which commands begin, @n of them
 * @ret_at:	where the objection is
 *
 * Return: why the line should not be trusted, or NULL when both agree
 */
const char *shell_tree_objection(const char *text, size_t len, const uint32_t *starts, size_t n,
				 size_t *ret_at);

#endif
