/*
 * gates/judge.h - what the files that work out a line's effects share
 *
 *	walk.c		commands in the order they could run, and what the shell knows by then
 *	expand.c	words become arguments: variables, braces, "~", globs
 *	braces.c	a{b,c} as the words it is
 *	arith.c		what arithmetic reads and sets
 *	output.c, output_kind.c	what a substitution or a pipe will hold, where that can be told
 *	env.c		variables that make programs do things
 *	run.c		an argument vector: wrappers, built-ins, functions, programs
 *	options.c	a program's own words, read by its table row
 *	table_*.c	the rows; prog_*.c and lang_*.c what no row can say
 *	judge.c		findings, and what a mode makes of them
 *
 * All memory is the arena's.
 */
#ifndef GATES_JUDGE_H
#define GATES_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

#include "gates/arena.h"
#include "gates/command.h"
#include "gates/place.h"
#include "gates/shell_parse.h"

/* What a finding means for the modes. The read-only ones take HARMLESS alone. */
enum weight { HARMLESS, CHANGES, ASKS, REFUSED };

struct finding {
	struct finding *next;
	struct effect effect;	/* subject in the arena */
	enum weight weight;
	const char *rule;	/* short, for records */
	const char *why;	/* "'touch' writes 'a'" */
};

/* --- arguments --- */

struct arg {
	const char *text;	/* with PLACE_HOLE where only the running shell knows */
	bool is_known;		/* @text is all of it, but for what a glob names */
	bool is_glob;		/* @text is a pattern for existing files */
	bool may_split;		/* could be none or several words */
	bool is_operand;	/* not known, but cannot begin with '-' */
	bool is_number;		/* not known, but digits */
	bool lacks_numbers;	/* not known, but each part that is missing is a number */
	bool is_fetched;	/* not known, and holds what a command printed or a file holds */
	bool is_network;	/* the same, from another host; also <(curl ...) */
	size_t start, end;
};

struct args {
	struct arg *v;
	size_t n, cap;
};

struct judge;

void args_add(struct judge *j, struct args *to, struct arg a);
struct arg arg_of(const char *text, const struct arg *at);	/* known text, placed at @at */
struct args args_from(const struct args *of, size_t first);	/* the tail, shared */

/* arg_dir() - the whole path in front of the first part that is not known, or "" */
const char *arg_dir(struct judge *j, const struct arg *a);

/* arg_filled() - its text with a number for each that is missing; as it is when more is missing */
struct arg arg_filled(struct judge *j, const struct arg *a);

/* arg_is() - 1 if it is known to be exactly @s */
bool arg_is(const struct arg *a, const char *s);

/* --- what the shell knows at a point of the line --- */

enum value_kind {
	VALUE_KNOWN,
	VALUE_LIST,	/* an array: its items */
	VALUE_NUMBER,	/* digits */
	VALUE_PATHS,	/* names or hashes that do not begin with '-' */
	VALUE_UNKNOWN,
	VALUE_NETWORK,	/* not known, and from another host */
	VALUE_ASSOC,	/* an associative array: subscripts are no arithmetic */
};

struct var {
	struct var *next;	/* older bindings; a newer one hides them */
	const char *name;
	enum value_kind kind;
	const char *value;		/* KNOWN; PATHS: a directory they lie below, or "" */
	const struct args *items;	/* LIST */
	bool is_readonly;		/* a later assignment may not take */
};

struct func {
	struct func *next;
	const char *name;
	const struct node *body;
};

/* What comes in on standard input, as far as it matters to xargs and shells. */
enum feed { FEED_OUTER, FEED_NOTHING, FEED_PATHS, FEED_TEXT, FEED_UNKNOWN, FEED_NETWORK };

struct shell {
	const struct var *vars;
	const struct func *funcs;
	const char *cwd;		/* NULL: not known */
	const struct args *params;	/* $0, $1 ...; NULL: not known */
	enum feed feed;
	const char *feed_text;		/* FEED_TEXT: known bytes; FEED_PATHS: a directory they lie below, "" or NULL */
	bool is_stripped;		/* variables are gone that keep git from running a repository's programs */
};

struct judge {
	struct arena *arena;
	const struct command_request *req;
	struct shell_limits lim;
	struct shell sh;
	struct finding *first, *last;
	size_t n_findings;
	enum weight heaviest;
	size_t len;		/* bytes of the line, or of the joined words */
	unsigned int calls;		/* functions, loops and values entered */
	unsigned int wraps;		/* programs that run another around */
	unsigned int apart;		/* pipes and background jobs around */
	const struct func *running[16];	/* functions entered */
	size_t n_running;
	unsigned int steps;		/* commands walked */
	const struct assign *assigns;	/* of the command being run */
	bool has_span;			/* nested text: everything is found at this place of the line */
	size_t span_start, span_end;
};

/* --- judge.c --- */

/**
 * judge_note() - Add a finding
 * @at:		where; NULL: the whole line
 * @subject:	path, host, program or NULL; control bytes are masked later
 * @rule:	static text
 */
void judge_note(struct judge *j, const struct arg *at, enum effect_class class, enum effect_place place,
		const char *subject, enum weight weight, const char *rule, const char *why, ...)
	__attribute__((format(printf, 8, 9)));

/* judge_path() - Note that @who uses the path in @a so; weighs it by where it lies */
void judge_path(struct judge *j, const char *who, const struct arg *a, enum place_use use);

/* judge_unknown() - Note that @who could do anything; @what continues "'who' " */
void judge_unknown(struct judge *j, const char *who, const struct arg *at, const char *what);

/* judge_step() - Count one command that is looked at; false, and refused, past the bound */
bool judge_step(struct judge *j);

/* judge_code() - Note that @who runs code from @at, or from standard input if it is NULL; @what as above */
void judge_code(struct judge *j, const char *who, const struct arg *name, const struct arg *at,
		const char *what);

/* --- walk.c --- */
void walk_node(struct judge *j, const struct node *n);
/* walk_script() - Read and walk text that a shell is given to run */
void walk_script(struct judge *j, const char *text, const struct arg *at, bool is_posix);
bool func_is_defined(const struct judge *j, const char *name);
/* walk_function() - Run a function's body with arguments */
void walk_function(struct judge *j, const struct func *f, const struct args *argv);

/* --- expand.c --- */
void expand_words(struct judge *j, const struct word *list, struct args *ret);
struct arg expand_one(struct judge *j, const struct word *w);	/* no splitting, no braces */
const struct var *var_find(const struct judge *j, const char *name);
void var_set(struct judge *j, const char *name, enum value_kind kind, const char *value);
void var_set_arg(struct judge *j, const char *name, const struct arg *a);
void var_set_list(struct judge *j, const char *name, const struct args *items);
/* var_fetched() - a command put something into it; weighed as an assignment, too */
void var_fetched(struct judge *j, const char *name, const struct arg *at);
void var_readonly(struct judge *j, const char *name);
bool var_is_shells_own(const char *name);	/* set by the shell itself, whatever a line puts in it */

/* --- braces.c --- */
#define BRACE_MAX 256u		/* words that one is made into at most; the rest are not known */
bool brace_may(const struct word *w);	/* there could be braces in it */
/* brace_expand() - the parts of each word it stands for; how many */
size_t brace_expand(struct judge *j, const struct word *w, struct part *v[BRACE_MAX]);

/* --- arith.c --- */
void expand_arith(struct judge *j, const struct word *w);
void expand_arith_text(struct judge *j, const char *text, const struct arg *at);

/* --- output.c --- */
/**
 * output_after() - What a command prints, if that is plain to see
 * @input:	the kind of what it reads, which filters pass on
 * @ret_text:	set with VALUE_KNOWN, without the last newline; with VALUE_PATHS the directory all of them lie
 *		below where that is out of the workspace, else ""
 */
enum value_kind output_after(struct judge *j, const struct node *n, enum value_kind input,
			     const char **ret_text);

/* --- env.c --- */
/*
 * env_assign() - Weigh "name=value", in front of a command, in export or on its own: a variable that
 * came in with the environment is exported already.
 */
void env_assign(struct judge *j, const char *name, const struct arg *value);
/* env_gone() - a variable is taken out of the environment */
void env_gone(struct judge *j, const struct arg *name);

/* --- run.c --- */
void run_argv(struct judge *j, const struct args *argv);

#endif
