/*
 * sed scripts: which commands run programs (e, s///e), write files (w, W,
 * s///w) or read them (r, R). What cannot be read for sure has an unknown effect.
 */
#include <ctype.h>
#include <string.h>

#include "gates/options.h"

struct sed {
	struct judge *j;
	const char *who;
	const struct arg *at;
	const char *s;		/* what is left */
	int depth;		/* of braces */
};

static bool lost(struct sed *d, const char *why)
{
	judge_unknown(d->j, d->who, d->at, why);
	return false;
}

static void skip_blanks(struct sed *d)
{
	while (*d->s == ' ' || *d->s == '\t')
		d->s++;
}

/*
 * Over a bracket expression. Versions of sed differ on a delimiter inside one:
 * then the rest of the script can be read in two ways.
 */
static bool skip_brackets(struct sed *d, char delim)
{
	const char *p = d->s + 1;

	p += *p == '^';
	p += *p == ']';
	for (; *p && *p != ']'; p++) {
		if (*p == delim || *p == '\n')
			return lost(d, "has an expression that can be read in two ways");
		if (*p == '[' && (p[1] == ':' || p[1] == '.' || p[1] == '=')) {
			const char *end = strchr(p + 2, ']');

			if (!end)
				return lost(d, "has an expression without its end");
			p = end;
		}
	}
	if (!*p)
		return lost(d, "has an expression without its end");
	d->s = p + 1;
	return true;
}

/* Over text up to an unescaped @delim, and the delimiter. */
static bool skip_delimited(struct sed *d, char delim, bool is_regex)
{
	while (*d->s && *d->s != delim) {
		if (*d->s == '\\' && d->s[1]) {
			d->s += 2;
		} else if (*d->s == '[' && is_regex) {
			if (!skip_brackets(d, delim))
				return false;
		} else if (*d->s == '\n' && is_regex) {
			return lost(d, "has an expression without its end");
		} else {
			d->s++;
		}
	}
	if (!*d->s)
		return lost(d, "has an expression without its end");
	d->s++;
	return true;
}

/* One address if there is one; its flags, too. */
static bool skip_address(struct sed *d)
{
	char delim = '/';

	if (isdigit((unsigned char)*d->s) || *d->s == '$' || *d->s == '+' || *d->s == '~') {
		for (d->s++; isdigit((unsigned char)*d->s) || *d->s == '~'; d->s++)
			;
		return true;
	}
	if (*d->s != '/' && *d->s != '\\')
		return true;
	if (*d->s == '\\')
		delim = *++d->s;
	if (!delim || delim == '\n' || delim == '\\')
		return lost(d, "has an address that cannot be read");
	d->s++;
	if (!skip_delimited(d, delim, true))
		return false;
	while (*d->s == 'I' || *d->s == 'M')
		d->s++;
	return true;
}

static bool skip_addresses(struct sed *d)
{
	if (!skip_address(d))
		return false;
	skip_blanks(d);
	if (*d->s == ',') {
		d->s++;
		skip_blanks(d);
		if (!skip_address(d))
			return false;
		skip_blanks(d);
	}
	while (*d->s == '!' || *d->s == ' ' || *d->s == '\t')
		d->s++;
	return true;
}

/* A file's name runs to the end of the line, whatever stands in it. */
static struct arg file_name(struct sed *d)
{
	struct arg name = *d->at;
	size_t n;

	skip_blanks(d);
	n = strcspn(d->s, "\n");
	name.text = arena_dup(d->j->arena, d->s, n);
	name.is_known = !memchr(name.text, PLACE_HOLE, n);
	name.is_glob = false;
	d->s += n;
	return name;
}

static void use_file(struct sed *d, enum place_use use)
{
	struct arg name = file_name(d);

	judge_path(d->j, d->who, &name, use);
}

/* a, i, c: text to the end of the line, further where a backslash ends it. */
static void skip_text(struct sed *d)
{
	while (*d->s && *d->s != '\n')
		d->s += d->s[0] == '\\' && d->s[1] ? 2 : 1;
}

static bool substitute(struct sed *d)
{
	char delim = *d->s;

	if (!delim || delim == '\n' || delim == '\\')
		return lost(d, "has a substitution that cannot be read");
	d->s++;
	if (!skip_delimited(d, delim, true) || !skip_delimited(d, delim, false))
		return false;
	for (;; d->s++) {
		if (*d->s == 'e')
			return lost(d, "runs what it has substituted (s///e)");
		if (*d->s == 'w') {
			d->s++;
			use_file(d, USE_WRITE);
			return true;
		}
		if (!*d->s || !strchr("gpiIMm0123456789", *d->s))
			return true;
	}
}

/* Nothing but a separator may follow most commands. */
static bool end_command(struct sed *d)
{
	skip_blanks(d);
	if (*d->s == '#')
		d->s += strcspn(d->s, "\n");
	if (*d->s == ';' || *d->s == '\n') {
		d->s++;
		return true;
	}
	return !*d->s || *d->s == '}' ? true : lost(d, "has a command that cannot be read");
}

static bool run_line(struct sed *d)
{
	size_t n;

	skip_blanks(d);
	n = strcspn(d->s, "\n");
	if (!n)
		return lost(d, "runs its input (e)");
	walk_script(d->j, arena_dup(d->j->arena, d->s, n), d->at, true);
	judge_note(d->j, d->at, EFFECT_PROCESS_SPAWN, PLACE_NONE, d->who, CHANGES, "unknown effect",
		   "'%s' runs a command (e)", d->who);
	d->s += n;
	return true;
}

static bool one_command(struct sed *d, char c)
{
	switch (c) {
	case '{':
		d->depth++;
		return true;
	case '}':
		d->depth--;
		return end_command(d);
	case '#':
		d->s += strcspn(d->s, "\n");
		return true;
	case ':':
	case 'b':
	case 't':
	case 'T':
		skip_blanks(d);
		d->s += strcspn(d->s, "; \t\n}");
		return end_command(d);
	case 'a':
	case 'i':
	case 'c':
		skip_text(d);
		return true;
	case 's':
		return substitute(d) && end_command(d);
	case 'y':
		if (!*d->s || *d->s == '\n' || *d->s == '\\')
			return lost(d, "has a command that cannot be read");
		c = *d->s++;
		return skip_delimited(d, c, false) && skip_delimited(d, c, false) && end_command(d);
	case 'e':
		return run_line(d);
	case 'w':
	case 'W':
		use_file(d, USE_WRITE);
		return true;
	case 'r':
	case 'R':
		use_file(d, USE_READ);
		return true;
	case 'l':
	case 'L':
	case 'q':
	case 'Q':
		skip_blanks(d);
		d->s += strspn(d->s, "0123456789");
		return end_command(d);
	case 'v':
		d->s += strcspn(d->s, ";\n");
		return end_command(d);
	default:
		return strchr("=dDFgGhHnNpPxz", c) ? end_command(d)
						   : lost(d, "has a command that cannot be read");
	}
}

static void read_sed(struct judge *j, const char *who, const struct arg *given)
{
	const struct arg filled = arg_filled(j, given), *script = &filled;
	struct sed d = { .j = j, .who = who, .at = script, .s = script->text };

	if (!script->is_known || strchr(script->text, PLACE_HOLE)) {
		judge_unknown(j, who, script, "gets a script only the running shell knows");
		return;
	}
	while (*d.s) {
		d.s += strspn(d.s, " \t\n;");
		if (!*d.s || !skip_addresses(&d))
			return;
		if (!*d.s || !one_command(&d, *d.s++))
			return;
	}
}

void check_sed(struct judge *j, struct parsed *p)
{
	bool has_script = opt_has(p, "e expression f file");
	bool in_place = opt_has(p, "i in-place");

	for (size_t i = 0; i < p->n_opts; i++) {
		const struct opt *o = &p->opts[i];

		if (o->has_value && ((o->len == 1 && *o->name == 'e') || !strncmp(o->name, "expression", 10)))
			read_sed(j, p->who, &o->value);
	}
	for (size_t i = 0; i < p->operands.n; i++) {
		const struct arg *a = &p->operands.v[i];

		if (!i && !has_script)
			read_sed(j, p->who, a);
		else if (!arg_is(a, "-"))
			judge_path(j, p->who, a, in_place ? USE_WRITE : USE_READ);
	}
}
