/*
 * gates/output.h - what output.c and output_kind.c share
 */
#ifndef GATES_OUTPUT_H
#define GATES_OUTPUT_H

#include "gates/judge.h"

/* A command's words as the line alone tells them. */
struct printed {
	const char *v[24];	/* "" where only the running shell knows */
	bool is_known[24];
	bool is_operand[24];	/* cannot begin with '-', known or not */
	bool is_many[24];	/* can be several words */
	const char *dir[24];	/* the path in front of a pattern; "" for none */
	size_t n;
	bool all_known;		/* and all are here */
	bool is_whole;		/* all are here */
};

struct printed printed_words(struct judge *j, const struct node *n);

/* in_list() - @word is one of those in @list, which blanks part */
bool in_list(const char *list, const char *word);

/* printed_root() - where the names that a command prints lie, if that is out of the workspace; else "" */
const char *printed_root(struct judge *j, const struct printed *w);

/**
 * printed_kind() - What kind of text a command prints: by its table row, and only in the form the row says
 * @input:	the kind of what it reads, which filters pass on
 */
enum value_kind printed_kind(struct judge *j, const struct printed *w, enum value_kind input);

#endif
