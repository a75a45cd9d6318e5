#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "base/strv.h"
#include "gates/tool_internal.h"

/* What a place means for chat where nothing holds the agent, in our sandbox, and for who only looks. */
struct place_rule {
	enum decision chat, held, looking;
	const char *rule;
	const char *what;	/* behind the path */
};

#define OUTSIDE ", which lies outside the workspace"
#define SECRET ", where credentials are kept"
#define UNKNOWN ", and where that lies cannot be told"
#define DEVICE ", which is no file"

static const struct place_rule reads[PLACE_NUM] = {
	[PLACE_DEVICE] = { DECISION_DENY, DECISION_DENY, DECISION_DENY, "device", DEVICE },
	[PLACE_HOME] = { DECISION_ASK, DECISION_ALLOW, DECISION_DENY, "outside", OUTSIDE },
	[PLACE_OUTSIDE] = { DECISION_ASK, DECISION_ALLOW, DECISION_DENY, "outside", OUTSIDE },
	[PLACE_PROTECTED] = { DECISION_DENY, DECISION_DENY, DECISION_DENY, "protected", ", which no run may read" },
	[PLACE_SECRET] = { DECISION_DENY, DECISION_DENY, DECISION_DENY, "secret", SECRET },
	[PLACE_UNKNOWN] = { DECISION_ASK, DECISION_ALLOW, DECISION_ASK, "unknown", UNKNOWN },
};

/* A secret of the workspace's own. */
static const struct place_rule own_secret = { DECISION_ASK, DECISION_ALLOW, DECISION_DENY, "secret", SECRET };

static const struct place_rule writes[PLACE_NUM] = {
	[PLACE_INSIDE] = { DECISION_ALLOW, DECISION_ALLOW, DECISION_DENY, "write", "" },
	[PLACE_DEVICE] = { DECISION_DENY, DECISION_DENY, DECISION_DENY, "device", DEVICE },
	[PLACE_TEMP] = { DECISION_ALLOW, DECISION_ALLOW, DECISION_DENY, "write", "" },
	[PLACE_SYSTEM] = { DECISION_DENY, DECISION_DENY, DECISION_DENY, "outside", ", which belongs to the system" },
	[PLACE_HOME] = { DECISION_ASK, DECISION_ALLOW, DECISION_DENY, "outside", OUTSIDE },
	[PLACE_OUTSIDE] = { DECISION_DENY, DECISION_DENY, DECISION_DENY, "outside", OUTSIDE },
	[PLACE_PROTECTED] = { DECISION_DENY, DECISION_DENY, DECISION_DENY, "protected", ", which no run may change" },
	[PLACE_SECRET] = { DECISION_DENY, DECISION_DENY, DECISION_DENY, "secret", SECRET },
	[PLACE_UNKNOWN] = { DECISION_ASK, DECISION_ALLOW, DECISION_DENY, "unknown", UNKNOWN },
};

static bool is_write(enum place_use use)
{
	return use != USE_LOOK && use != USE_READ;
}

static const char *verb(enum place_use use)
{
	return use == USE_LOOK ? "looks at" : use == USE_READ ? "reads" : use == USE_DELETE ? "deletes" : "writes";
}

static bool in_dirs(const struct strv *dirs, const char *path)
{
	for (size_t i = 0; dirs && i < dirs->n; i++)
		if (path_under(path, dirs->v[i]) && strcmp(path, dirs->v[i]) != 0)
			return true;
	return false;
}

/* What the agent keeps for itself, by name and by where that leads. */
static bool is_own(const struct call *c, const char *path, const char *real, enum place_use use)
{
	return (in_dirs(c->req->notes, path) && in_dirs(c->req->notes, real)) ||
		(!is_write(use) && in_dirs(c->req->logs, path) && in_dirs(c->req->logs, real));
}

static enum effect_class class_of(enum place_use use, enum effect_place place)
{
	if (use == USE_DELETE)
		return EFFECT_FILE_DELETE;
	if (!is_write(use))
		return place == PLACE_SECRET ? EFFECT_SECRET_ACCESS : EFFECT_FILE_READ;
	return place == PLACE_INSIDE || place == PLACE_PROTECTED ? EFFECT_WORKSPACE_MUTATION : EFFECT_FILE_WRITE_OUTSIDE;
}

/* The stricter of what the name is and of where it leads: a name may be a secret's, or a link to one. */
static enum effect_place find_place(const struct call *c, const char *path, const char *real, enum place_use use)
{
	enum effect_place named = place_of(&c->as_command, path, use);

	if (named == PLACE_SECRET || named == PLACE_PROTECTED || named == PLACE_DEVICE)
		return named;
	/* A shell line lists the root; a tool goes through all below it. */
	if (use == USE_LOOK && !strcmp(real, "/"))
		return PLACE_OUTSIDE;
	return place_of(&c->as_command, real, use);
}

static const char *world_rule(const struct call *c, const char *path, enum place_use use)
{
	const struct tool_world *w = c->req->world;

	/* To look at a name is not to read what it holds. */
	return w && w->path_rule && use != USE_LOOK ? w->path_rule(w->cookie, path, is_write(use)) : NULL;
}

static char *world_real(const struct call *c, const char *path)
{
	const struct tool_world *w = c->req->world;

	return w && w->real ? w->real(w->cookie, path) : strdup(path);
}

static void raise_place(struct call *c, const struct place_rule *r, const char *who, const char *path,
			const char *real, enum place_use use)
{
	const char *mode = mode_name(c->req->mode);
	bool only_looks = mode_is_readonly(c->req->mode);
	enum decision d = only_looks ? r->looking : c->req->is_held ? r->held : r->chat;
	bool is_link = strcmp(path, real) != 0;

	call_raise(c, d, r->rule ? r->rule : "", "%s%s'%s' %s '%s'%s%s%s%s", only_looks ? mode : "",
		   only_looks ? " mode only looks, and " : "", who, verb(use), path, is_link ? ", a link to '" : "",
		   is_link ? real : "", is_link ? "'" : "", r->what ? r->what : "");
}

/* @who uses the clean @path so. @is_new: the effect is not in the verdict yet. */
static void judge_place(struct call *c, const char *who, const char *path, enum place_use use, bool is_new)
{
	OWN(mem) char *real = world_real(c, path);
	const char *rule = world_rule(c, path, use);
	const struct place_rule *r;
	enum effect_place place;

	if (!real) {
		call_raise(c, DECISION_DENY, "link", "'%s' %s '%s', and where that leads cannot be told", who, verb(use), path);
		return;
	}
	place = find_place(c, path, real, use);
	if (is_new)
		call_note(c, class_of(use, place), place, real);
	if (is_own(c, path, real, use))
		return;
	if (!rule)
		rule = world_rule(c, real, use);
	if (rule)
		call_raise(c, DECISION_DENY, rule, "'%s' %s '%s', which the rule '%s' keeps from it", who, verb(use), path, rule);
	r = is_write(use) ? &writes[place] : &reads[place];
	if (place == PLACE_SECRET && !is_write(use) && c->req->workspace && path_under(real, c->req->workspace))
		r = &own_secret;
	/* The name of a secret may be seen, also where its content may not. */
	if (place != PLACE_SECRET || use != USE_LOOK || r != &own_secret)
		raise_place(c, r, who, path, real, use);
}

/* --- a tool's path --- */

/* What JavaScript's trim() takes away, in UTF-8. */
static const char *const blanks[] = {
	" ", "\t", "\n", "\v", "\f", "\r", "\xc2\xa0", "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82",
	"\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x87", "\xe2\x80\x88",
	"\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f",
	"\xe3\x80\x80", "\xef\xbb\xbf",
};

static bool has_blank_end(const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < ARRAY_LEN(blanks); i++) {
		size_t k = strlen(blanks[i]);

		if (n >= k && (!memcmp(text, blanks[i], k) || !memcmp(text + n - k, blanks[i], k)))
			return true;
	}
	return false;
}

/*
 * As the agent understands it: "~" is the home, the rest is taken from its
 * current directory, ".." as text. It may also drop blanks around a path, so
 * that " /etc/x" is not what it seems to be here: refused.
 */
static char *expand(struct call *c, const char *text)
{
	const char *base = c->req->cwd ? c->req->cwd : c->req->workspace;
	bool is_home = text[0] == '~' && (!text[1] || text[1] == '/');

	if (has_blank_end(text) || (text[0] == '~' && !is_home) || (is_home && !c->req->home) ||
	    (!base && text[0] != '/' && !is_home)) {
		call_raise(c, DECISION_DENY, "path", "'%s' names a path that can be read in two ways: '%s'", c->req->tool, text);
		return NULL;
	}
	return is_home ? path_expand(text, c->req->home, "/") : path_join(base ? base : "/", text);
}

/* /proc/self is the agent's, not ours; nothing there is a file of anybody's. */
static bool is_own_proc(const char *path)
{
	return path_under(path, "/proc/self") || path_under(path, "/proc/thread-self");
}

static void judge_text(struct call *c, const char *text)
{
	OWN(mem) char *path = expand(c, text);

	if (!path)
		call_raise(c, DECISION_DENY, "no memory", "out of memory");
	else if (is_own_proc(path))
		call_raise(c, DECISION_DENY, "secret", "'%s' %s '%s', which is the agent's own process", c->req->tool,
			   verb(c->row->use), path);
	else
		judge_place(c, c->req->tool, path, c->row->use, true);
}

void judge_file(struct call *c)
{
	const struct json *field = json_get(c->req->input, c->row->subject);
	const char *text = call_text(c, c->row->subject);

	if (!field)
		text = ".";
	if (text)
		judge_text(c, text);
	else
		call_raise(c, DECISION_DENY, "path", "'%s' has a '%s' that is no path", c->req->tool, c->row->subject);
}

/*
 * A pattern may lead elsewhere by itself: what stands before the first wildcard
 * is the directory that is looked through, and ".." behind one could be any.
 */
void judge_glob(struct call *c)
{
	const char *pattern = call_text(c, "pattern"), *path = call_text(c, "path");
	size_t n = pattern ? strcspn(pattern, "*?[]{}()!@+\\") : 0;
	OWN(mem) char *head = NULL;
	struct call inner = *c;
	struct tool_request below = *c->req;
	OWN(mem) char *base = NULL;

	judge_file(c);
	if (!pattern)
		return;
	while (n && pattern[n - 1] != '/')
		n--;
	if (strstr(pattern + n, "..")) {
		call_raise(c, DECISION_DENY, "pattern", "'%s' looks for '%s', and where that leads cannot be told", c->req->tool, pattern);
		return;
	}
	head = n ? strndup(pattern, n) : NULL;
	if (!head)
		return;
	base = path ? expand(c, path) : strdup(c->req->cwd ? c->req->cwd : c->req->workspace ? c->req->workspace : "/");
	below.cwd = base;
	inner.req = &below;
	if (base)
		judge_text(&inner, head);
}

/* --- a shell line's path --- */

void path_of_effect(struct call *c, const struct effect *e)
{
	static const struct { enum effect_class class; enum place_use use; } uses[] = {
		{ EFFECT_FILE_READ, USE_READ }, { EFFECT_SECRET_ACCESS, USE_READ },
		{ EFFECT_FILE_DELETE, USE_DELETE }, { EFFECT_FILE_WRITE_OUTSIDE, USE_WRITE },
		{ EFFECT_WORKSPACE_MUTATION, USE_WRITE },
	};
	if (e->place == PLACE_NONE || e->place == PLACE_DEVICE || !e->subject)
		return;
	for (size_t i = 0; i < ARRAY_LEN(uses); i++) {
		if (uses[i].class != e->class)
			continue;
		if (e->place == PLACE_UNKNOWN)
			raise_place(c, is_write(uses[i].use) ? &writes[PLACE_UNKNOWN] : &reads[PLACE_UNKNOWN],
				    c->req->tool, e->subject, e->subject, uses[i].use);
		else if (path_is_clean(e->subject))
			judge_place(c, c->req->tool, e->subject, uses[i].use, false);
		return;
	}
}
