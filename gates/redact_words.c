/*
 * Words are masked one by one first, then together, because a secret may be known
 * only by the word before it. Blanks inside a word are put away meanwhile, so that
 * those that are left part the words.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/strv.h"
#include "gates/redact.h"

#define STAND_IN '\x1f'
static const char mask_start[] = "[masked ";

static int mask_each(const char *const words[], const char *salt, struct strv *ret, size_t *ret_masked)
{
	for (; *words; words++) {
		OWN(buf) struct buf b = { 0 };
		size_t n = 0;

		buf_adds(&b, "");
		if (redact_text(*words, strlen(*words), salt, &b, &n) < 0 || strv_add(ret, b.data) < 0)
			return -1;
		*ret_masked += n;
	}
	return 0;
}

static void add_closed(struct buf *b, const char *word)
{
	for (; *word; word++)
		buf_addc(b, strchr(" \t\n\r\v\f", *word) ? STAND_IN : *word);
}

/* Bytes of the word at @s: up to a blank that is not a mask's. */
static size_t word_len(const char *s)
{
	size_t n = 0;

	while (s[n] && s[n] != ' ') {
		const char *end = strncmp(s + n, mask_start, sizeof(mask_start) - 1) ? NULL : strchr(s + n, ']');

		n = end ? (size_t)(end - s) + 1 : n + 1;
	}
	return n;
}

static size_t count_words(const char *s)
{
	size_t n = 1;

	for (s += word_len(s); *s; s += word_len(s)) {
		s++;
		n++;
	}
	return n;
}

/* @word as the pass over all of them left it, in @at; where that changed nothing, as it is. */
static int put_back(char **word, const char *at, size_t len)
{
	OWN(buf) struct buf closed = { 0 };
	char *text;

	buf_adds(&closed, "");
	add_closed(&closed, *word);
	if (closed.failed)
		return -1;
	/* One that the first pass masked is masked enough. */
	if ((closed.len == len && !memcmp(closed.data, at, len)) || strstr(*word, mask_start))
		return 0;
	text = strndup(at, len);
	if (!text)
		return -1;
	for (char *p = text; *p; p++)
		if (*p == STAND_IN)
			*p = ' ';
	free(*word);
	*word = text;
	return 0;
}

static int mask_together(const char *salt, struct strv *words, size_t *ret_masked)
{
	OWN(buf) struct buf closed = { 0 }, masked = { 0 };
	const char *at;
	size_t n = 0;

	for (size_t i = 0; i < words->n; i++) {
		if (i)
			buf_addc(&closed, ' ');
		add_closed(&closed, words->v[i]);
	}
	buf_adds(&closed, "");
	buf_adds(&masked, "");
	if (closed.failed || redact_text(closed.data, closed.len, salt, &masked, &n) < 0)
		return -1;
	*ret_masked += n;
	at = masked.data;
	if (n && count_words(at) != words->n) {
		/* A secret over several words: they are told as one. */
		strv_done(words);
		return strv_add(words, at);
	}
	for (size_t i = 0; n && i < words->n; i++) {
		size_t len = word_len(at);

		if (put_back(&words->v[i], at, len) < 0)
			return -1;
		at += len + (at[len] == ' ');
	}
	return 0;
}

int redact_words(const char *const words[], const char *salt, struct strv *ret, size_t *ret_masked)
{
	OWN(strv) struct strv masked = { 0 };
	size_t n = 0;

	if (mask_each(words, salt, &masked, &n) < 0 || (masked.n && mask_together(salt, &masked, &n) < 0) ||
	    strv_copy(ret, &masked) < 0)
		return -1;
	if (ret_masked)
		*ret_masked = n;
	return 0;
}
