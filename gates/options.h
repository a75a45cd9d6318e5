/*
 * gates/options.h - a program's words, read by its table row
 *
 * A row describes options in one string of blank-separated tokens:
 *
 *	-abc		flags without a value
 *	-o:W --out:W	a value follows or is glued; the letter says what it is
 *	-i? --color?-	a value only if it is glued (-iX, --color=X)
 *	-i!I --x!U	a flag with a meaning of its own
 *	-#		a number as an option (head -5)
 *	+		options end at the first operand
 *	=		long options have one dash, too (find, go, terraform)
 *
 * Letters, for values and operands alike:
 *
 *	-  data			R  read a file		L  look at a name, list a directory
 *	W  write a file		D  delete		M  move away
 *	S  a shell string, run	X  a command: this word and all behind it
 *	C  code, run		N  a host or URL, asked
 *	U  unknown effect	T  a directory for temporary files
 *
 * and for flags, or behind a value's letter: I operands are changed in place;
 * ^ the first operand's role is used up (grep -e); H only prints help; d this
 * is the target, so no operand is (cp -t). "2" in front of a value's letter: the
 * letter is for the second of two words (jq --arg NAME VALUE).
 *
 * Operands: one letter each; a letter before "*" repeats; letters behind it are
 * for the last ones. "" takes no operands.
 */
#ifndef GATES_OPTIONS_H
#define GATES_OPTIONS_H

#include "gates/judge.h"

struct opt {
	const char *name;	/* in the row's string: a letter, or a long name without dashes */
	size_t len;
	const char *roles;	/* letters, ended by a blank or NUL */
	const struct arg *at;
	bool has_value;
	struct arg value;
};

struct parsed {
	const char *who;		/* the program as a person would name it */
	const struct arg *name;		/* the word that named it */
	struct opt *opts;
	size_t n_opts, cap_opts;
	struct args operands;
	size_t first_operand;		/* index in the vector read, with "+" */
	bool is_help;
	bool uses_up_first;
	bool is_in_place;
	bool has_target;
};

struct program;
typedef void program_check(struct judge *j, struct parsed *p);

struct program {
	const char *name;		/* "sort", "cat|tac", "git log" */
	const char *opts;		/* NULL: the words are not read, the row's effect covers them */
	const char *operands;
	program_check *check;		/* more than letters can say, or NULL */
	enum effect_class class;	/* of running it at all; FILE_READ for none */
	enum weight weight;
	const char *why;		/* continues "'git push' ": "sends commits to a remote" */
};

/* ROW("NAME", "OPTIONS", "OPERANDS"[, .field = value ...]) */
#define ROW(names, options, roles, ...) { .name = names, .opts = options, .operands = roles, __VA_ARGS__ }

/* A row that has subcommands: its options come first, then "NAME SUB" is looked up. */
#define OPERANDS_SUB ">"

/**
 * options_read() - Sort words into options and operands
 * @argv:	argv[0] is the program
 *
 * Notes unknown options, and words that might be one, as unknown effects.
 */
void options_read(struct judge *j, const char *spec, const struct args *argv, struct parsed *ret);

/* options_apply() - Note what the letters say about values and operands */
void options_apply(struct judge *j, const struct program *row, struct parsed *p);

/* apply_role() - Note one use; false when the letter ends the words (X) */
bool apply_role(struct judge *j, const char *who, char role, const struct args *words, size_t at);

/* opt_find() - the last option of that name, by row spelling ("o" or "output"), or NULL */
const struct opt *opt_find(const struct parsed *p, const char *name);
bool opt_has(const struct parsed *p, const char *names);	/* any of the blank-separated names */

/* judge_emptied() - Note when deleting @a recursively takes the workspace, home or a top directory with it */
void judge_emptied(struct judge *j, const char *who, const struct arg *a);

/* Checks for rows of several tables. */
program_check check_sed, check_awk, check_find, check_fd, check_tar;

/* program_find() - the row for a name, or NULL */
const struct program *program_find(const char *name);

/* Tables, ended by a row without a name. */
extern const struct program table_shell[], table_wrap[], table_core[], table_text[], table_git[],
	table_forge[], table_dev[], table_net[], table_sys[];

#endif
