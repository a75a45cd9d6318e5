/*
 * Claude Code's "permissions": lists of Tool or Tool(what), deny before ask before
 * allow, the first that fits. Only commands, paths, hosts and names of tools have
 * a meaning here. How Claude matches was measured on the real program.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "gates/import_rules.h"

#define BIT(c) (1u << (c))
#define READS (BIT(EFFECT_FILE_READ) | BIT(EFFECT_SECRET_ACCESS))
#define WRITES (BIT(EFFECT_WORKSPACE_MUTATION) | BIT(EFFECT_FILE_WRITE_OUTSIDE))

enum side { SIDE_DENY, SIDE_ASK, SIDE_ALLOW, SIDE_NUM };	/* in the order Claude looks */

static const struct {
	const char *name;
	enum decision decision;
} sides[] = {
	[SIDE_DENY] = { "deny", DECISION_DENY }, [SIDE_ASK] = { "ask", DECISION_ASK }, [SIDE_ALLOW] = { "allow", DECISION_ALLOW },
};

struct claude {
	struct importing imp;
	enum side side;
	const char *entry;	/* with the side in front, for notes */
	struct strv asked[RULE_LIST_NUM];	/* patterns that ask, which Claude looks at before those that allow */
	char asks_all;		/* "Bash" alone is asked about */
};

/* --- notes --- */

static int same(struct claude *c)
{
	return import_note(&c->imp, IMPORT_SAME, c->entry, "");
}

static int stricter(struct claude *c, const char *why)
{
	return import_note(&c->imp, IMPORT_STRICTER, c->entry, why);
}

/* An allowance that is not carried over leaves things asked; the others would be missed. */
static int dropped(struct claude *c, const char *why)
{
	return import_note(&c->imp, c->side == SIDE_ALLOW ? IMPORT_LEFT_OUT : IMPORT_LOST, c->entry, why);
}

static int no_memory(struct claude *c)
{
	return err_set(c->imp.err, ERR_NOMEM, 0, "out of memory");
}

/* --- rules --- */

static int begin(struct claude *c, struct rule *r)
{
	return import_begin(&c->imp, c->entry, sides[c->side].decision, r);
}

/* What is asked about is not allowed, however special the allowance is. */
static int except_asked(struct claude *c, struct rule *r, enum rule_list list)
{
	if (c->side != SIDE_ALLOW)
		return 0;
	for (size_t i = 0; i < c->asked[list].n; i++) {
		OWN(buf) struct buf b = { 0 };

		buf_addf(&b, "!%s", c->asked[list].v[i]);
		if (b.failed)
			return no_memory(c);
		if (rule_add_pattern(r, list, b.data, c->imp.err) < 0)
			return -1;
	}
	return 0;
}

/* Append @pattern to @r, and keep it in mind when it asks. */
static int add(struct claude *c, struct rule *r, enum rule_list list, const char *pattern)
{
	if (c->side == SIDE_ASK && strv_add(&c->asked[list], pattern) < 0)
		return no_memory(c);
	if (rule_add_pattern(r, list, pattern, c->imp.err) < 0)
		return -1;
	return except_asked(c, r, list);
}

/* --- Bash(...) --- */

/* One word of a pattern in ours: signs of ours that mean nothing there are bytes. */
static void add_word(struct buf *b, const char *word, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (strchr("?[\\", word[i]))
			buf_addc(b, '\\');
		buf_addc(b, word[i]);
	}
}

static int is_star(const char *word, size_t len)
{
	return len == 1 && *word == '*';
}

/*
 * The words of @spec, @len bytes. A star there stands for any text, blanks
 * included; ours do not, so an inner one is narrowed to allow, and all behind it
 * is let go of to deny. *ret_cut says that it was.
 */
static void add_words(const struct claude *c, struct buf *b, const char *spec, size_t len, int *ret_cut)
{
	const char *end = spec + len;

	while (spec < end) {
		size_t n = strcspn(spec, " ");
		const char *star;

		n = n < (size_t)(end - spec) ? n : (size_t)(end - spec);
		star = memchr(spec, '*', n);
		if (n && b->len)
			buf_addc(b, ' ');
		if (is_star(spec, n)) {
			buf_adds(b, c->side == SIDE_ALLOW ? "* **" : "**");
		} else if (star && c->side != SIDE_ALLOW && (spec + n < end || star + 1 < spec + n)) {
			*ret_cut = 1;
			add_word(b, spec, (size_t)(star - spec) + 1);
			return;
		} else if (n) {
			*ret_cut |= star != NULL && star + 1 < spec + n;
			add_word(b, spec, n);
		}
		spec += n + 1;
	}
}

/* Tool(field:value) is about the call's other fields, which rules here know nothing of. */
static int is_field(const char *spec)
{
	static const char *const fields[] = {
		"run_in_background:", "timeout:", "description:", "dangerouslyDisableSandbox:", "command:", NULL,
	};

	for (const char *const *f = fields; *f; f++)
		if (!strncmp(spec, *f, strlen(*f)) && strcmp(spec + strlen(*f), "*") != 0)
			return 1;
	return 0;
}

/* Why a specification is more than words, or NULL. */
static const char *not_words(const char *spec)
{
	size_t first = strcspn(spec, " ");

	if (is_field(spec))
		return "it is about a field of the call that is not the command";
	for (const char *s = spec; *s; s++)
		if (iscntrl((unsigned char)*s))
			return "it holds a control byte";
	if (strpbrk(spec, ";&|<>()`\"'\\$"))
		return "it is more than the words of one command";
	return memchr(spec, '=', first) ? "it begins with a variable" : NULL;
}

/* The pattern in our words; NULL out of memory. */
static char *words_of(const struct claude *c, const char *spec, int *ret_cut)
{
	size_t len = strlen(spec);
	struct buf b = { 0 };
	int is_exact = 1;

	buf_adds(&b, "");
	if (len >= 2 && !strcmp(spec + len - 2, ":*")) {
		len -= 2;
		is_exact = 0;
	} else if (len && spec[len - 1] == '*') {
		is_exact = 0;
		if (len >= 2 && spec[len - 2] == ' ')
			len -= 2;
	}
	*ret_cut = 0;
	add_words(c, &b, spec, len, ret_cut);
	if (!b.failed && !b.len)
		buf_adds(&b, "**");
	else if (is_exact && !(*ret_cut && c->side != SIDE_ALLOW))
		buf_adds(&b, " $");
	return buf_steal(&b);
}

static int add_command(struct claude *c, const char *pattern)
{
	OWN(rule) struct rule r = { 0 };

	if (begin(c, &r) < 0 || add(c, &r, RULE_COMMANDS, pattern) < 0)
		return -1;
	return import_end(&c->imp, &r);
}

static int take_bash(struct claude *c, const char *spec)
{
	const char *why = spec ? not_words(spec) : NULL;
	OWN(mem) char *pattern = NULL;
	int is_cut = 0;

	if (why)
		return dropped(c, why);
	pattern = words_of(c, spec ? spec : "", &is_cut);
	if (!pattern)
		return no_memory(c);
	if (c->side == SIDE_ALLOW && c->asks_all)
		return dropped(c, "every command is asked about first");
	if (add_command(c, pattern) < 0)
		return -1;
	if (c->side == SIDE_ASK && !strcmp(pattern, "**"))
		c->asks_all = 1;
	if (is_cut)
		return stricter(c, c->side == SIDE_ALLOW ? "a star inside fits within one word" :
				"it holds for whatever follows the star");
	if (c->side != SIDE_ALLOW)
		return stricter(c, "it also finds the command in nested shells, behind wrappers and behind options");
	return same(c);
}

/* --- Read(...), Edit(...) --- */

static void add_literal(struct buf *b, const char *text)
{
	for (; *text; text++) {
		if (strchr("*?[\\", *text))
			buf_addc(b, '\\');
		buf_addc(b, *text);
	}
}

/* Claude's pattern for paths in ours; NULL with *ret_why when there is none. */
static char *path_of(const struct claude *c, const char *spec, const char **ret_why)
{
	struct buf b = { 0 };
	size_t len = strlen(spec);

	*ret_why = NULL;
	buf_adds(&b, "");
	while (len > 1 && spec[len - 1] == '/')
		len--;
	if (!strncmp(spec, "//", 2)) {
		buf_add(&b, spec + 1, len - 1);
	} else if (spec[0] == '/') {
		if (!c->imp.where->base)
			*ret_why = "'/' is where the settings lie, which is not known";
		else
			add_literal(&b, c->imp.where->base);
		buf_add(&b, spec, len);
	} else if (spec[0] == '~' || !strncmp(spec, "./", 2)) {
		buf_add(&b, spec, len);
	} else {
		buf_adds(&b, memchr(spec, '/', len) ? "./" : "./**/");
		buf_add(&b, spec, len);
	}
	if (!*ret_why && spec[0] == '!')
		*ret_why = "it takes something out of other patterns";
	if (!*ret_why && !b.failed)
		*ret_why = glob_bad_path(b.data);
	if (*ret_why) {
		buf_done(&b);
		return NULL;
	}
	return buf_steal(&b);
}

static int add_tools(struct claude *c, struct rule *r, const char *const tools[])
{
	for (; *tools; tools++)
		if (rule_add_pattern(r, RULE_TOOLS, *tools, c->imp.err) < 0)
			return -1;
	return 0;
}

static int take_paths(struct claude *c, const char *spec, unsigned int classes, const char *const tools[],
		      const char *remark)
{
	OWN(rule) struct rule r = { 0 };
	OWN(mem) char *pattern = NULL;
	const char *why = NULL;

	if (spec) {
		pattern = path_of(c, spec, &why);
		if (why)
			return dropped(c, why);
		if (!pattern)
			return no_memory(c);
	}
	if (begin(c, &r) < 0)
		return -1;
	r.classes = classes;
	if ((pattern && add(c, &r, RULE_PATHS, pattern) < 0) ||
	    (c->side == SIDE_ALLOW && add_tools(c, &r, tools) < 0) || import_end(&c->imp, &r) < 0)
		return -1;
	return remark ? stricter(c, remark) : same(c);
}

static int take_read(struct claude *c, const char *spec)
{
	static const char *const tools[] = { "Read", "Grep", "Glob", "LS", "NotebookRead", NULL };

	return take_paths(c, spec, READS, tools, c->side == SIDE_ALLOW ? NULL : "it holds for commands as well as for tools");
}

static int take_edit(struct claude *c, const char *spec)
{
	static const char *const tools[] = { "Edit", "MultiEdit", "Write", "NotebookEdit", NULL };

	if (c->side == SIDE_ALLOW)
		return take_paths(c, spec, WRITES, tools, "it holds for tools, and not for redirections of commands");
	return take_paths(c, spec, WRITES | BIT(EFFECT_FILE_DELETE), tools, "it holds for commands as well as for tools");
}

/* Claude never looks at Write(path): nobody relies on what it allows, but somebody may on what it denies. */
static int take_write(struct claude *c, const char *spec)
{
	if (spec && c->side == SIDE_ALLOW)
		return dropped(c, "Claude itself never looks at it; Edit(...) is what counts");
	return take_edit(c, spec);
}

/* --- WebFetch(domain:...) --- */

static int take_tool(struct claude *c, const char *tool);

static int take_web(struct claude *c, const char *spec)
{
	static const char *const tools[] = { "WebFetch", NULL };
	OWN(rule) struct rule r = { 0 };
	const char *why;

	if (!spec)
		return take_tool(c, "WebFetch");
	if (strncmp(spec, "domain:", 7) != 0)
		return dropped(c, "only 'domain:' is known");
	why = glob_bad_host(spec + 7);
	if (why)
		return dropped(c, why);
	if (begin(c, &r) < 0)
		return -1;
	r.classes = BIT(EFFECT_NETWORK_EGRESS);
	if (add(c, &r, RULE_HOSTS, spec + 7) < 0 || (c->side == SIDE_ALLOW && add_tools(c, &r, tools) < 0) ||
	    import_end(&c->imp, &r) < 0)
		return -1;
	return c->side == SIDE_ALLOW ? same(c) : stricter(c, "it holds for commands as well as for tools");
}

/* --- names of tools --- */

static int take_tool(struct claude *c, const char *tool)
{
	OWN(rule) struct rule r = { 0 };
	OWN(buf) struct buf all = { 0 };
	int is_server = !strncmp(tool, "mcp__", 5) && !strstr(tool + 5, "__");

	if (begin(c, &r) < 0 || add(c, &r, RULE_TOOLS, tool) < 0)
		return -1;
	if (is_server) {
		buf_addf(&all, "%s__*", tool);
		if (all.failed)
			return no_memory(c);
		if (add(c, &r, RULE_TOOLS, all.data) < 0)
			return -1;
	}
	return import_end(&c->imp, &r) < 0 ? -1 : same(c);
}

typedef int taker(struct claude *c, const char *spec);

static const struct {
	const char *tool;
	taker *take;
} takers[] = {
	{ "Bash", take_bash },	{ "Read", take_read },	      { "Edit", take_edit }, { "MultiEdit", take_edit },
	{ "Write", take_write }, { "NotebookEdit", take_edit }, { "WebFetch", take_web },
};

static int is_tool_name(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("_-*", s[i]))
			return 0;
	return len > 0;
}

/* @text is "Tool" or "Tool(specification)". */
static int take_entry(struct claude *c, const char *text)
{
	size_t n = strcspn(text, "("), len = strlen(text);
	OWN(mem) char *tool = strndup(text, n);
	OWN(mem) char *spec = NULL;

	if (!tool)
		return no_memory(c);
	if (!is_tool_name(tool, n) || (text[n] && text[len - 1] != ')'))
		return dropped(c, "it is no rule; Claude itself passes over it without a word");
	if (text[n]) {
		spec = strndup(text + n + 1, len - n - 2);
		if (!spec)
			return no_memory(c);
	}
	for (size_t i = 0; i < ARRAY_LEN(takers); i++)
		if (!strcmp(takers[i].tool, tool))
			return takers[i].take(c, spec && *spec && strcmp(spec, "*") != 0 ? spec : NULL);
	if (spec && *spec && strcmp(spec, "*") != 0)
		return dropped(c, "what is between the brackets has no meaning here");
	return take_tool(c, tool);
}

static int take_side(struct claude *c, const struct json *permissions)
{
	const struct json *list = json_get(permissions, sides[c->side].name);

	if (list && json_type(list) != JSON_ARRAY)
		return err_set(c->imp.err, ERR_INPUT, 0, "'%s': permissions.%s must be a list", c->imp.where->name,
			       sides[c->side].name);
	for (const struct json *j = json_first(list); j; j = json_next(j)) {
		OWN(buf) struct buf entry = { 0 };
		const char *text = json_str(j);
		int failed;

		buf_addf(&entry, "%s %.400s", sides[c->side].name, text ? text : "(no string)");
		if (entry.failed)
			return no_memory(c);
		c->entry = entry.data;
		failed = text ? take_entry(c, text) : dropped(c, "it is no string");
		if (failed)
			return -1;
	}
	return 0;
}

/* --- the other settings --- */

static const struct {
	const char *key, *why;
} others[] = {
	{ "hooks", "it runs programs" },
	{ "env", "it sets variables for programs that run; see --env" },
	{ "apiKeyHelper", "it runs a program" },
	{ "statusLine", "it runs a program" },
	{ "mcpServers", "it runs programs" },
	{ "enabledPlugins", "plugins run programs" },
	{ "sandbox", "see --allow-domain, --deny-read and --deny-write" },
};

static const struct {
	const char *key, *why;
} modes[] = {
	{ "defaultMode", "agate run --mode says what a run may do" },
	{ "additionalDirectories", "agate run --write DIR shows a directory to a run" },
	{ "disableBypassPermissionsMode", "no mode of agate goes round its rules" },
	{ "disableAutoMode", "no mode of agate goes round its rules" },
};

static int note_others(struct claude *c, const struct json *root, const struct json *permissions)
{
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (json_get(root, others[i].key) && import_note(&c->imp, IMPORT_LEFT_OUT, others[i].key, others[i].why) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_LEN(modes); i++)
		if (json_get(permissions, modes[i].key) &&
		    import_note(&c->imp, IMPORT_LEFT_OUT, modes[i].key, modes[i].why) < 0)
			return -1;
	return import_note(&c->imp, IMPORT_LEFT_OUT, "what no rule speaks of",
			   "Claude asks about it, agate lets the sandbox hold it; agate rules add ask --command '**' asks");
}

/* Hosts that Claude's own sandbox keeps from all commands. */
static int take_denied_domains(struct claude *c, const struct json *root)
{
	const struct json *list = json_get(json_get(json_get(root, "sandbox"), "network"), "deniedDomains");

	c->side = SIDE_DENY;
	for (const struct json *j = json_first(list); j; j = json_next(j)) {
		OWN(buf) struct buf entry = { 0 };
		OWN(buf) struct buf spec = { 0 };

		buf_addf(&entry, "sandbox.network.deniedDomains %.200s", json_str(j) ? json_str(j) : "(no string)");
		buf_addf(&spec, "domain:%s", json_str(j) ? json_str(j) : "");
		if (entry.failed || spec.failed)
			return no_memory(c);
		c->entry = entry.data;
		if (take_web(c, spec.data) < 0)
			return -1;
	}
	return 0;
}

int import_claude(const char *text, size_t len, const struct import_where *where, struct rule_set *set,
		  struct import_report *report, struct err *err)
{
	struct claude c = { .imp = { where, "import claude", set, report, err } };
	const struct json_limits limits = { .max_bytes = RULE_FILE_MAX_BYTES };
	OWN(json) struct json *root = NULL;
	const struct json *permissions;
	int failed = 0;

	if (json_parse(text, len, &limits, &root, err) < 0)
		return err_wrap(err, "'%s'", where->name);
	permissions = json_get(root, "permissions");
	if (json_type(root) != JSON_OBJECT || (permissions && json_type(permissions) != JSON_OBJECT))
		return err_set(err, ERR_INPUT, 0, "'%s' is no settings file of Claude Code", where->name);
	for (c.side = SIDE_DENY; c.side < SIDE_NUM && !failed; c.side++)
		failed = take_side(&c, permissions);
	if (!failed)
		failed = take_denied_domains(&c, root) < 0 || note_others(&c, root, permissions) < 0;
	for (int l = 0; l < RULE_LIST_NUM; l++)
		strv_done(&c.asked[l]);
	return failed ? -1 : 0;
}
