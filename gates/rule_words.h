/*
 * gates/rule_words.h - patterns for commands: the words they begin with
 *
 *	git push		these words, and any behind them
 *	git push $		these and none behind
 *	npm run test*		* ? [abc] within one word
 *	git ** main		** any number of words
 *	echo 'a b' \*		quotes and backslashes take signs and blanks as they are
 *
 * A rule that restricts and one that allows read them differently. To restrict,
 * what a command could be counts: its name without the directory, options in
 * front of and between the words, options in another order or cluster. To allow,
 * only what is plainly there counts: these very words, written without single
 * quotes, at these very places.
 */
#ifndef GATES_RULE_WORDS_H
#define GATES_RULE_WORDS_H

#include <stdbool.h>

#include "base/strv.h"
#include "gates/rule_glob.h"

struct args;
struct buf;
struct err;

struct rule_words {
	struct strv words;	/* patterns for gates/rule_glob.h, "**" any number */
	bool is_exact;
};

/**
 * words_parse() - Read a pattern
 * @ret:	the caller's to words_done()
 * @err:	ERR_INPUT: "command pattern '...' has no end of a quote"; ERR_NOMEM
 */
int words_parse(const char *text, struct rule_words *ret, struct err *err);

void words_done(struct rule_words *w);

/* words_quote() - append @word so that words_parse() takes it as it is */
int words_quote(struct buf *b, const char *word);

/* words_hit() - could the command be one the pattern means? */
enum tri words_hit(const struct rule_words *p, const struct args *argv);

/**
 * words_cover() - Is the command one the pattern means, beyond doubt?
 * @line:	what the words' offsets point into; NULL: they stood in no line
 * @len:	of @line
 * @has_more:	further words may be added where it is run (xargs)
 */
bool words_cover(const struct rule_words *p, const struct args *argv, const char *line, size_t len, bool has_more);

#endif
