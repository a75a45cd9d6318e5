/*
 * gates/shell_parse.h - a shell line as the commands it could run
 *
 * Two readers look at the same bytes. Ours (shell_read.c, shell_word.c) follows
 * bash's own rules and builds the form below; tree-sitter's bash grammar
 * (shell_tree.c) is the second opinion. Where it finds an error, or does not
 * see commands begin at exactly the same bytes, the line is unreadable. Either
 * one misreads some lines; to slip a command past the gate, a line has to be
 * misread by both in the same way.
 *
 * Everything lives in the caller's arena. Offsets are bytes of the text given.
 */
#ifndef GATES_SHELL_PARSE_H
#define GATES_SHELL_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct node;
struct word;

enum part_kind {
	PART_TEXT,	/* bytes as they will be */
	PART_PARAM,	/* $x and every ${...} */
	PART_COMMAND,	/* $(...) or backticks */
	PART_PROCESS,	/* <(...) or >(...) */
	PART_ARITH,	/* $((...)) or $[...] */
};

struct part {
	struct part *next;
	enum part_kind kind;
	bool quoted;		/* no splitting, no globbing, no braces */
	const char *text;	/* TEXT: the bytes; PARAM: the name; never NULL for these */
	size_t len;
	const char *op; /* PARAM: "" for $x, else ":-", "#", "//", "@P", ...; "!" and "len" before the name */
	struct word *index;	/* PARAM: the subscript of ${a[i]}, or NULL */
	struct word *arg;	/* PARAM: what follows the operator; ARITH: the expression; or NULL */
	struct node *script;	/* COMMAND, PROCESS */
	bool is_output;		/* PROCESS: >(...) */
};

struct word {
	struct word *next;
	struct part *parts;	/* NULL: the empty word, which only quotes can make */
	size_t start, end;
};

struct assign {
	struct assign *next;
	const char *name;
	struct word *index;	/* of a[i]=, or NULL */
	struct word *value;	/* NULL for an array */
	struct word *items;	/* of a=(...), with "[k]=v" items as one word each */
	bool is_append, is_array;
	size_t start, end;
};

enum redir_kind {
	REDIR_IN, REDIR_OUT, REDIR_APPEND, REDIR_CLOBBER, REDIR_RDWR, REDIR_DUP_IN, REDIR_DUP_OUT,
	REDIR_BOTH, REDIR_BOTH_APPEND, REDIR_HEREDOC, REDIR_HERESTRING,
};

struct redir {
	struct redir *next;
	enum redir_kind kind;
	int fd;			/* -1: the kind's own, or chosen by the shell for {var} */
	struct word *target;    /* a path, a descriptor or "-"; HEREDOC: the body, HERESTRING: the string */
	size_t start, end;
};

enum node_kind {
	NODE_SIMPLE,	/* assigns, words, redirs */
	NODE_LIST,	/* kids, joined by each kid's join */
	NODE_PIPE,	/* kids left to right */
	NODE_SUBSHELL,	/* kids */
	NODE_GROUP,	/* kids */
	NODE_IF,	/* kids: condition, then-part, [condition, then-part]..., [else-part] */
	NODE_WHILE,	/* kids: condition, body; also until */
	NODE_FOR,	/* name, words (has_list), kids: body; also select */
	NODE_FOR_ARITH,	/* words: the expressions as one; kids: body */
	NODE_CASE,	/* words: subject, then all patterns; kids: a list each */
	NODE_FUNCTION,	/* name, kids: body */
	NODE_ARITH,	/* words: ((...)) */
	NODE_COND,	/* words: all between [[ and ]], operators too */
};

enum join { JOIN_SEQ, JOIN_BACKGROUND, JOIN_AND, JOIN_OR }; /* JOIN_BACKGROUND: this one was ended by & */

struct node {
	struct node *next;
	enum node_kind kind;
	enum join join;		/* how it hangs on the sibling before it */
	bool is_background, has_list, is_timed;
	struct node *kids;
	struct word *words;
	struct assign *assigns;
	struct redir *redirs;
	const char *name;
	size_t start, end;
};

struct shell_limits {
	unsigned int max_depth, max_commands;
	unsigned int depth, commands;	/* used so far; shared by nested shells */
	unsigned int turns;		/* times something had to be read again another way */
};

struct shell_problem {
	const char *why;	/* lower case, no full stop; static or in the arena */
	size_t start, end;
	bool is_limit;
};

/**
 * shell_parse() - Read a whole script
 * @arena:	holds everything that is returned
 * @text:	the bytes; they must outlive the result
 * @is_posix:	read for a plain sh: what bash alone understands is refused
 * @lim:	counted down; over a limit is a problem, too
 * @ret:	the script, a NODE_LIST (without kids when there is no command)
 * @problem:	why it cannot be read
 *
 * Return: 0, or -1 with @problem set
 */
int shell_parse(struct arena *arena, const char *text, size_t len, bool is_posix,
		struct shell_limits *lim, struct node **ret, struct shell_problem *problem);

/* word_literal() - the word's bytes when nothing in it needs the running shell, else NULL */
const char *word_literal(struct arena *arena, const struct word *w);

#endif
