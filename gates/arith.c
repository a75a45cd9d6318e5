/*
 * Arithmetic: bash reads names, and the values they stand for, as expressions,
 * and a subscript in such a value can run a command. What was fetched has no
 * place there.
 */
#include <ctype.h>
#include <string.h>

#include "gates/judge.h"
#include "gates/shell_internal.h"

static void unsafe_value(struct judge *j, const char *name, const struct arg *at)
{
	judge_unknown(j, name, at, "is used as arithmetic, where a value such as a[$(cmd)] runs commands");
}

static void check_name(struct judge *j, const char *name, const struct arg *at)
{
	const struct var *v = var_find(j, name);

	if (!v || v->kind == VALUE_NUMBER || v->kind == VALUE_ASSOC)
		return;
	/* A known value is read in its turn; cut it short at names, which could go in circles. */
	if (v->kind == VALUE_KNOWN && !strpbrk(v->value, "$`[") && j->calls < 32) {
		j->calls++;
		if (*v->value && strcmp(v->value, name))
			expand_arith_text(j, v->value, at);
		j->calls--;
	} else {
		unsafe_value(j, name, at);
	}
}

/* An operator that writes to the name before it. */
static bool is_assignment(const char *s)
{
	s += strspn(s, " \t\n");
	if (!strncmp(s, "++", 2) || !strncmp(s, "--", 2))
		return true;
	if (s[0] == '=' && s[1] != '=')
		return true;
	return *s && strchr("+-*/%&|^", *s) && s[1] == '=';
}

void expand_arith_text(struct judge *j, const char *text, const struct arg *at)
{
	for (const char *s = text; *s;) {
		size_t n = 0;

		while (s[n] == '_' || ((unsigned char)s[n] < 128 && isalnum((unsigned char)s[n])))
			n++;
		if (n && !isdigit((unsigned char)*s)) {
			const char *name = arena_dup(j->arena, s, n);

			if (is_assignment(s + n)) {
				var_fetched(j, name, at);
				var_set(j, name, VALUE_NUMBER, "");
			} else {
				check_name(j, name, at);
			}
		} else if (*s == '`' || (*s == '$' && s[1] == '(')) {
			unsafe_value(j, text, at);
			return;
		}
		s += n ? n : 1;
	}
}

/* $x and ${x:-1}, where nothing in the line sets x. */
static bool is_from_environment(struct judge *j, const struct part *p)
{
	const char *word = p->arg ? word_literal(j->arena, p->arg) : "";

	if (p->kind != PART_PARAM || p->index || p->op[0] == '!' || var_find(j, p->text) ||
	    var_is_shells_own(p->text) || !shell_is_name(p->text, p->len))
		return false;
	return !*p->op || (strchr(":-=", p->op[0]) && word && strspn(word, "0123456789") == strlen(word));
}

void expand_arith(struct judge *j, const struct word *w)
{
	struct arg at = { .text = "", .start = w->start, .end = w->end };

	for (const struct part *p = w->parts; p; p = p->next) {
		struct part alone = *p;
		struct word word = { .parts = &alone, .start = w->start, .end = w->end };
		struct arg value;

		if (p->kind == PART_TEXT) {
			expand_arith_text(j, p->text, &at);
			continue;
		}
		alone.next = NULL;
		alone.quoted = true;
		value = expand_one(j, &word);
		if (value.is_known)
			expand_arith_text(j, value.text, &at);
		else if (!value.is_number && !is_from_environment(j, p))
			unsafe_value(j, p->kind == PART_PARAM ? p->text : "$(...)", &at);
	}
}
