#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "gates/options.h"

/* --- a row's string --- */

struct token {
	const char *name;	/* behind the dashes */
	size_t len;		/* of the name or the cluster */
	bool is_long, is_mark;
	char sign;		/* ':', '?', '!' or 0 */
	const char *roles;
};

/* The next token at *s, which moves behind it; false at the end. */
static bool next_token(const char **s, struct token *t)
{
	const char *p = *s + strspn(*s, " ");
	size_t n = strcspn(p, " ");

	if (!n)
		return false;
	*s = p + n;
	t->is_mark = p[0] != '-';
	t->is_long = n > 2 && p[0] == '-' && p[1] == '-';
	t->name = p + (t->is_long ? 2 : p[0] == '-' ? 1 : 0);
	t->len = n - (size_t)(t->name - p);
	t->sign = 0;
	t->roles = "";
	for (size_t i = 1; i < t->len; i++) {
		if (strchr(":?!", t->name[i]) &&
		    !(i == 1 && t->len == 2 && !t->is_long && t->name[i] == '?')) {
			t->sign = t->name[i];
			t->roles = t->name + i + 1;
			t->len = i;
			break;
		}
	}
	if (t->sign == 0 && !t->is_long && t->len == 2 && t->name[1] == '?') {
		t->sign = '?';
		t->len = 1;
	}
	return true;
}

/* "+" and "=" stand first of all. */
static bool has_mark(const char *spec, char mark)
{
	return spec[0] == mark || (spec[0] && spec[1] == ' ' && spec[2] == mark);
}

/* Short options stand before long ones. */
static bool find_short(const char *spec, char c, struct token *ret)
{
	while (next_token(&spec, ret) && !ret->is_long) {
		if (ret->is_mark)
			continue;
		for (size_t i = 0; i < ret->len; i++) {
			if (ret->name[i] == c) {
				ret->name += i;
				ret->len = 1;
				return true;
			}
		}
	}
	return false;
}

static bool roles_harmless(const char *roles)
{
	return strcspn(roles, "WDMSXCNUTI") >= strcspn(roles, " ");
}

/* Exact, else by abbreviation; among several abbreviated the one with an effect counts. */
static bool find_long(const char *spec, const char *name, size_t len, struct token *ret)
{
	struct token t;
	bool found = false;

	while ((spec = strstr(spec, "--"))) {
		/* Most tokens are told apart by their first letters. */
		if (strncmp(spec + 2, name, len)) {
			spec += 2;
			continue;
		}
		next_token(&spec, &t);
		if (!t.is_long || t.len < len || strncmp(t.name, name, len))
			continue;
		if (t.len == len) {
			*ret = t;
			return true;
		}
		if (!found || !roles_harmless(t.roles))
			*ret = t;
		found = true;
	}
	return found;
}

/* "--no-x" where only "--x" is listed, and that does no harm, takes something away. */
static bool find_negated(const char *spec, const char *name, size_t len, struct token *ret)
{
	return len > 3 && !strncmp(name, "no-", 3) && find_long(spec, name + 3, len - 3, ret) &&
	       ret->len == len - 3 && roles_harmless(ret->roles);
}

static bool spec_harmless(const char *spec)
{
	struct token t;

	while (next_token(&spec, &t))
		if (t.sign && !roles_harmless(t.roles))
			return false;
	return true;
}

/* --- reading words --- */

struct cursor {
	struct judge *j;
	const char *spec;
	const struct args *argv;
	size_t i;
	struct parsed *p;
};

static struct opt *add_opt(struct cursor *c, const struct token *t)
{
	struct parsed *p = c->p;

	if (p->n_opts == p->cap_opts) {
		size_t cap = p->cap_opts ? p->cap_opts * 2 : 8;
		struct opt *grown = arena_alloc(c->j->arena, cap * sizeof(*grown));

		if (p->n_opts)
			memcpy(grown, p->opts, p->n_opts * sizeof(*grown));
		p->opts = grown;
		p->cap_opts = cap;
	}
	p->opts[p->n_opts] = (struct opt){ .name = t->name, .len = t->len, .roles = t->roles,
					   .at = &c->argv->v[c->i] };
	return &p->opts[p->n_opts++];
}

static void set_value(struct cursor *c, struct opt *o, const struct token *t, const char *glued)
{
	const struct arg *a = &c->argv->v[c->i];

	if (glued) {
		o->value = *a;
		o->value.text = glued;
		o->value.is_operand = true;
		o->has_value = true;
	} else if (t->sign == ':') {
		if (t->roles[0] == '2') {
			o->roles++;
			c->i++;
		}
		o->has_value = c->i + 1 < c->argv->n;
		if (!o->has_value)
			return;
		c->i++;
		o->value = c->argv->v[c->i];
		if (o->value.may_split)
			judge_unknown(c->j, c->p->who, &o->value, "gets words only the running shell knows");
	}
}

static void unknown_option(struct cursor *c, const char *text)
{
	const struct arg *a = &c->argv->v[c->i];

	judge_note(c->j, a, EFFECT_PROCESS_SPAWN, PLACE_NONE, c->p->who, CHANGES, "unknown option",
		   "'%s' has an option '%s' whose effect is not known", c->p->who, text);
}

static void note_flags(struct parsed *p, const char *roles)
{
	for (; *roles && *roles != ' '; roles++) {
		p->is_help |= *roles == 'H';
		p->uses_up_first |= *roles == '^';
		p->is_in_place |= *roles == 'I';
		p->has_target |= *roles == 'd';
	}
}

static void read_long(struct cursor *c, const char *name)
{
	size_t len = strcspn(name, "=");
	struct token t;

	if ((!strcmp(name, "help") || !strcmp(name, "version")) && !find_long(c->spec, name, len, &t)) {
		c->p->is_help = true;	/* most programs know these and do nothing else then */
		return;
	}
	if (!memchr(name, PLACE_HOLE, len) && !find_long(c->spec, name, len, &t) &&
	    find_negated(c->spec, name, len, &t))
		return;		/* what it takes away was never there for us */
	if (memchr(name, PLACE_HOLE, len) || !find_long(c->spec, name, len, &t)) {
		unknown_option(c, c->argv->v[c->i].text);
		return;
	}
	note_flags(c->p, t.roles);
	set_value(c, add_opt(c, &t), &t, name[len] ? name + len + 1 : NULL);
}

static void read_cluster(struct cursor *c, const char *s)
{
	bool takes_number = find_short(c->spec, '#', &(struct token){ 0 });

	for (; *s; s++) {
		struct token t;

		if (takes_number && isdigit((unsigned char)*s) && !find_short(c->spec, *s, &t))
			continue;
		if (takes_number && *s == PLACE_HOLE && c->argv->v[c->i].is_number)
			continue;
		if (!find_short(c->spec, *s, &t)) {
			/* Alone these ask for help or the version, if they are anything. */
			c->p->is_help |= c->argv->n == 2 && (*s == 'h' || *s == 'V') && !s[1];
			if (c->p->is_help)
				return;
			unknown_option(c, c->argv->v[c->i].text);
			return;
		}
		note_flags(c->p, t.roles);
		if (t.sign == ':' || t.sign == '?') {
			set_value(c, add_opt(c, &t), &t, s[1] ? s + 1 : NULL);
			return;
		}
		add_opt(c, &t);
	}
}

/* A word that begins with something unknown could be any option. */
static bool may_be_option(const struct arg *a)
{
	return !a->is_known && a->text[0] == PLACE_HOLE && !a->is_operand;
}

void options_read(struct judge *j, const char *spec, const struct args *argv, struct parsed *ret)
{
	struct cursor c = { .j = j, .spec = spec, .argv = argv, .p = ret };
	bool stops = has_mark(spec, '+'), one_dash = has_mark(spec, '='), ended = false;

	for (c.i = 1; c.i < argv->n; c.i++) {
		const struct arg *a = &argv->v[c.i];

		if (!ended && may_be_option(a) && !spec_harmless(spec))
			judge_unknown(j, ret->who, a, "gets a word that could be any of its options");
		if (!ended && arg_is(a, "--")) {
			ended = true;
		} else if (ended || a->text[0] != '-' || !a->text[1]) {
			if (stops && !ret->operands.n)
				ret->first_operand = c.i;
			ended |= stops;
			args_add(j, &ret->operands, *a);
		} else if (a->text[1] == '-') {
			read_long(&c, a->text + 2);
		} else if (one_dash) {
			read_long(&c, a->text + 1);
		} else {
			read_cluster(&c, a->text + 1);
		}
	}
}

const struct opt *opt_find(const struct parsed *p, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = p->n_opts; i-- > 0;)
		if (p->opts[i].len == len && !strncmp(p->opts[i].name, name, len))
			return &p->opts[i];
	return NULL;
}

bool opt_has(const struct parsed *p, const char *names)
{
	while (*names) {
		size_t n = strcspn(names, " ");

		for (size_t i = 0; i < p->n_opts; i++)
			if (p->opts[i].len == n && !strncmp(p->opts[i].name, names, n))
				return true;
		names += n;
		names += strspn(names, " ");
	}
	return false;
}

/* --- what letters mean --- */

static void note_network(struct judge *j, const char *who, const struct arg *a)
{
	judge_note(j, a, EFFECT_NETWORK_EGRESS, PLACE_NONE, a->text, CHANGES, "network",
		   "'%s' asks the network for '%s'", who, a->text);
}

static void run_string(struct judge *j, const char *who, const struct arg *a)
{
	if (a->is_known)
		walk_script(j, a->text, a, false);
	else
		judge_unknown(j, who, a, "runs a command only the running shell knows");
}

bool apply_role(struct judge *j, const char *who, char role, const struct args *words, size_t at)
{
	const struct arg *a = &words->v[at];
	struct args rest;

	switch (role) {
	case 'R':
	case 'L':
		/* "-" is standard input */
		if (!arg_is(a, "-"))
			judge_path(j, who, a, role == 'R' ? USE_READ : USE_LOOK);
		break;
	case 'W':
	case 'T':
		judge_path(j, who, a, USE_WRITE);
		break;
	case 'D':
	case 'M':
		judge_path(j, who, a, role == 'D' ? USE_DELETE : USE_MOVE);
		break;
	case 'S':
		run_string(j, who, a);
		break;
	case 'X':
		rest = args_from(words, at);
		run_argv(j, &rest);
		return false;
	case 'C':
		judge_unknown(j, who, a, "runs code that is not looked into");
		break;
	case 'N':
		note_network(j, who, a);
		break;
	case 'U':
		judge_unknown(j, who, a, "has an effect that is not known with this");
		break;
	default:
		break;
	}
	return true;
}

static void apply_options(struct judge *j, const struct parsed *p)
{
	for (size_t i = 0; i < p->n_opts; i++) {
		const struct opt *o = &p->opts[i];
		struct args one = { .v = (struct arg *)(o->has_value ? &o->value : o->at), .n = 1 };

		if (o->roles[0] && o->roles[0] != ' ' && (o->has_value || strchr("UC", o->roles[0])))
			apply_role(j, p->who, o->roles[0], &one, 0);
	}
}

/* The letter for operand @i of @n. */
static char role_at(const char *pattern, size_t i, size_t n, bool has_target)
{
	const char *star = strchr(pattern, '*');
	size_t before, after;

	if (!star)
		return i < strlen(pattern) ? pattern[i] : '\0';
	before = (size_t)(star - pattern) - 1;
	after = has_target ? 0 : strlen(star + 1);
	if (after && n >= before + 1 && i >= n - after && n > after)
		return star[1 + (i - (n - after))];
	return i < before ? pattern[i] : star[-1];
}

void options_apply(struct judge *j, const struct program *row, struct parsed *p)
{
	const char *pattern = row->operands;
	size_t i;

	apply_options(j, p);
	if (p->uses_up_first && *pattern)
		pattern++;
	for (i = 0; i < p->operands.n; i++) {
		char role = role_at(pattern, i, p->operands.n, p->has_target);

		if (!role) {
			judge_unknown(j, p->who, &p->operands.v[i], "gets a word it should not");
			return;
		}
		if (p->is_in_place && role == 'R')
			role = 'W';
		if (!apply_role(j, p->who, role, &p->operands, i))
			return;
	}
}

/* --- looking up rows --- */

static const struct program *const tables[] = {
	table_shell, table_wrap, table_core, table_text, table_git,
	table_forge, table_dev,  table_net,  table_sys,
};

struct entry {
	const char *name;
	size_t len;
	const struct program *row;
};

/* All names of all rows, found by their hash; made once a thread: a hook looks up three and ends. */
#define MAX_NAMES 2048u
#define N_SLOTS (4 * MAX_NAMES)
static _Thread_local struct entry entries[MAX_NAMES];
static _Thread_local size_t n_entries;
static _Thread_local uint16_t slots[N_SLOTS];	/* the entry's place, from 1; 0: free */

/* Where a name is, or would be put. */
static uint16_t *slot_of(const char *name, size_t len)
{
	uint32_t hash = 2166136261u;	/* FNV-1a */

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619u;
	for (size_t at = hash ^ hash >> 16;; at++) {
		uint16_t *slot = &slots[at % N_SLOTS];
		const struct entry *e = entries + *slot;

		if (!*slot || (e[-1].len == len && !memcmp(e[-1].name, name, len)))
			return slot;
	}
}

/* The first row of a name stands. */
static void add_name(const char *name, size_t len, const struct program *row)
{
	uint16_t *slot = slot_of(name, len);

	if (*slot)
		return;
	assert(n_entries < MAX_NAMES);
	entries[n_entries++] = (struct entry){ name, len, row };
	*slot = (uint16_t)n_entries;
}

static void index_rows(void)
{
	for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
		for (const struct program *row = tables[t]; row->name; row++) {
			for (const char *s = row->name; *s; s += strspn(s, "|")) {
				size_t n = strcspn(s, "|");

				add_name(s, n, row);
				s += n;
			}
		}
	}
}

const struct program *program_find(const char *name)
{
	const uint16_t *slot;

	if (!n_entries)
		index_rows();
	slot = slot_of(name, strlen(name));
	return *slot ? entries[*slot - 1].row : NULL;
}
