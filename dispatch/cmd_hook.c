/*
 * agate hook claude: one PreToolUse event in, one answer out.
 *
 * main() has put the net up before anything else (dispatch/hook_net.h), so that
 * each early return below, and whatever nobody thought of, blocks the call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "db/db.h"
#include "dispatch/cli.h"
#include "dispatch/config.h"
#include "dispatch/hook_event.h"
#include "dispatch/hook_net.h"
#include "dispatch/hook_record.h"
#include "dispatch/hook_ruling.h"
#include "dispatch/hook_world.h"
#include "dispatch/place.h"
#include "dispatch/plan.h"
#include "gates/tool.h"

struct values {
	int mode, decide, settings;
	char *workspace;
	struct strv allow_domain, deny_domain, read, write, deny_read, deny_write, allow_tool, deny_tool;
};

static const char *const modes[] = { "chat", "review", "plan", "orchestrate", NULL };

#define ROW(word, kind, member, ...) OPT_ROW(struct values, word, kind, member, __VA_ARGS__)
static const struct opt rows[] = {
	ROW("mode", OPT_WORD, mode, NULL, "the mode whose policy is asked (default chat; an agent that plans is "
	    "judged as in plan)", .words = modes),
	ROW("workspace", OPT_TEXT, workspace, "DIR", "the workspace (default: $CLAUDE_PROJECT_DIR, else the event's cwd)"),
	ROW("allow-domain", OPT_LIST, allow_domain, "DOMAIN", "a host that needs no question"),
	ROW("deny-domain", OPT_LIST, deny_domain, "DOMAIN", "a host nobody may reach"),
	ROW("read", OPT_LIST, read, "PATH", "may be read like the workspace"),
	ROW("write", OPT_LIST, write, "PATH", "may be read and written like the workspace"),
	ROW("deny-read", OPT_LIST, deny_read, "PATH", "may not be read"),
	ROW("deny-write", OPT_LIST, deny_write, "GLOB", "may not be written"),
	ROW("allow-tool", OPT_LIST, allow_tool, "TOOL", "needs no question: a tool, or mcp__SERVER for all of a server"),
	ROW("deny-tool", OPT_LIST, deny_tool, "TOOL", "may not be used"),
	ROW("decide", OPT_FLAG, decide, NULL, "answer allow to what stays in the workspace, so that the agent does not ask"),
	ROW("settings", OPT_FLAG, settings, NULL, "print the settings that install this hook, and judge nothing"),
	{ 0 },
};

/* One call, from the bytes to the record. */
struct judging {
	const struct values *v;
	struct place place;
	struct json *root;
	struct hook_event ev;
	char *workspace, *cwd;
	struct strv read_roots, write_roots, allow_domain, deny_domain;
	struct user_config config;
	struct hook_world world;
	struct db *db;
	struct ruling ruling;
};

/* --- what the call is judged by --- */

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

static char *real_below(const struct judging *j, const char *word)
{
	OWN(mem) char *path = path_expand(word, j->place.home, j->ev.cwd);

	return path ? hook_real(path) : NULL;
}

static int find_places(struct judging *j, struct err *err)
{
	const char *project = getenv("CLAUDE_PROJECT_DIR");
	const char *wish = j->v->workspace ? j->v->workspace : project && *project ? project : j->ev.cwd;

	j->cwd = hook_real(j->ev.cwd);
	j->workspace = real_below(j, wish);
	if (!j->cwd || !j->workspace)
		return err_set(err, ERR_INPUT, 0, "cannot tell where '%s' is", j->cwd ? wish : j->ev.cwd);
	j->ev.cwd = j->cwd;
	return 0;
}

static int find_roots(const struct judging *j, const struct strv *words, struct strv *ret, struct err *err)
{
	for (size_t i = 0; i < words->n; i++) {
		char *path = real_below(j, words->v[i]);

		if (!path)
			return err_set(err, ERR_INPUT, 0, "cannot tell where '%s' is", words->v[i]);
		if (strv_take(ret, path) < 0)
			return no_memory(err);
	}
	return 0;
}

static int make_rules(const struct judging *j, const struct strv *words, struct strv *ret, struct err *err)
{
	const struct plan_facts facts = { .home = j->place.home, .cwd = j->cwd, .original = j->workspace };

	for (size_t i = 0; i < words->n; i++)
		if (strv_take(ret, plan_rule(&facts, words->v[i])) < 0)
			return no_memory(err);
	return 0;
}

static int add_rules(struct judging *j, struct err *err)
{
	OWN(strv) struct strv deny_write = { 0 };
	OWN(strv) struct strv deny_read = { 0 };

	if (make_rules(j, &j->v->deny_write, &deny_write, err) < 0 || make_rules(j, &j->v->deny_read, &deny_read, err) < 0)
		return -1;
	return hook_world_rules(&j->world, &deny_write, &deny_read, err);
}

/* Where Claude keeps its own: only what it says itself, or its usual place. */
static int add_agent(struct judging *j, struct err *err)
{
	const char *dir = getenv("CLAUDE_CONFIG_DIR");
	OWN(mem) char *config = dir && dir[0] == '/' ? path_join("/", dir) : path_join(j->place.home, ".claude");

	return config ? hook_world_agent(&j->world, config, j->ev.transcript, err) : no_memory(err);
}

/* The user's own file holds for every run, and so for every call. */
static int find_domains(struct judging *j, struct err *err)
{
	if (user_config_load(&j->place, &j->config, err) < 0)
		return -1;
	return strv_copy(&j->allow_domain, &j->config.allow) < 0 || strv_copy(&j->allow_domain, &j->v->allow_domain) < 0 ||
		strv_copy(&j->deny_domain, &j->config.deny) < 0 || strv_copy(&j->deny_domain, &j->v->deny_domain) < 0 ?
		no_memory(err) : 0;
}

static int find_world(struct judging *j, struct err *err)
{
	const struct values *v = j->v;

	if (find_domains(j, err) < 0 ||
	    hook_world_init(&j->world, &j->allow_domain, &j->deny_domain, j->place.data, 1, err) < 0 ||
	    hook_world_standard(&j->world, &j->place, j->workspace, err) < 0 || add_rules(j, err) < 0 ||
	    add_agent(j, err) < 0 || find_roots(j, &v->read, &j->read_roots, err) < 0 ||
	    find_roots(j, &v->write, &j->write_roots, err) < 0)
		return -1;
	hook_world_links(&j->world);
	return 0;
}

/* The record comes first. */
static int record(struct judging *j, struct err *err)
{
	const struct judgement said = ruling_judgement(&j->ruling);
	const struct violation refusal = ruling_violation(&j->ruling);

	return hook_record(j->db, &said, j->ruling.decision == DECISION_DENY ? &refusal : NULL, err);
}

/* --- the answer --- */

_Noreturn static void deny_with(const char *what, const struct err *err)
{
	OWN(buf) struct buf b = { 0 };

	buf_addf(&b, "%s%s", what, err->msg);
	for (size_t i = 0; i < b.len; i++)
		if ((unsigned char)b.data[i] < ' ' || b.data[i] == 0x7f)
			b.data[i] = '?';
	hook_net_deny(b.data ? b.data : "out of memory");
}

/* What stays in the workspace, and what a rule has allowed already, nobody need be asked about again. */
static int is_decided(const struct judging *j)
{
	return j->v->decide && (j->ruling.result.is_settled || verdict_is_contained(&j->ruling.verdict));
}

_Noreturn static void answer(const struct judging *j)
{
	const char *why = ruling_reason(&j->ruling);
	char reason[sizeof(j->ruling.result.reason) + 32];
	struct json *json;
	char *text;

	/* No opinion: the agent's own rules go on. */
	if (j->ruling.decision == DECISION_ALLOW && !is_decided(j))
		hook_net_answered(NULL, 0);
	snprintf(reason, sizeof(reason), "agate: %s", *why ? why : "stays in the workspace");
	json = hook_answer(j->ruling.decision, reason);
	text = json ? json_print(json) : NULL;
	if (!text)
		hook_net_deny("out of memory");
	hook_net_answered(text, strlen(text));
}

static int read_event(struct judging *j, struct err *err)
{
	OWN(buf) struct buf in = { 0 };

	if (io_read_fd(STDIN_FILENO, HOOK_MAX_BYTES, &in, err) < 0)
		return err_wrap(err, "cannot read the event");
	return hook_event_parse(in.data ? in.data : "", in.len, &j->root, &j->ev, err);
}

_Noreturn static void judge(struct judging *j)
{
	struct ruling_facts facts = {
		.mode = (enum mode)j->v->mode, .allow = &j->v->allow_tool, .deny = &j->v->deny_tool,
		.read_roots = &j->read_roots, .write_roots = &j->write_roots, .world = &j->world,
	};
	struct err err = { 0 };

	if (read_event(j, &err) < 0 || place_find(&j->place, &err) < 0 || find_places(j, &err) < 0 ||
	    find_world(j, &err) < 0)
		deny_with("", &err);
	if (db_open(j->place.state, &j->db, &err) < 0)
		deny_with("nothing could be recorded: ", &err);
	facts.workspace = facts.root = j->workspace;
	facts.home = j->place.home;
	facts.db = j->db;
	if (ruling_make(&facts, &j->ev, &j->ruling, &err) < 0)
		deny_with("", &err);
	if (record(j, &err) < 0)
		deny_with("the decision could not be recorded: ", &err);
	answer(j);
}

/* --- settings --- */

static void add_quoted(struct buf *b, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+";

	if (*word && strspn(word, plain) == strlen(word)) {
		buf_adds(b, word);
		return;
	}
	buf_addc(b, '\'');
	for (; *word; word++)
		if (*word == '\'')
			buf_adds(b, "'\\''");
		else
			buf_addc(b, *word);
	buf_addc(b, '\'');
}

/* The program that starts fastest, where it is: the agent waits for it at each call. */
static void add_program(struct buf *b, const char *self)
{
	static const char *const places[] = { "agate-hook", "../lib/agate/agate-hook" };
	OWN(mem) char *dir = path_parent(self);

	for (size_t i = 0; dir && i < ARRAY_LEN(places); i++) {
		OWN(mem) char *path = path_join(dir, places[i]);

		if (path && !access(path, X_OK)) {
			add_quoted(b, path);
			return;
		}
	}
	add_quoted(b, self);
	buf_adds(b, " hook");
}

/* The same words again; what keeps it from answering at all blocks too. */
static int command_line(struct buf *b, char *const *words, struct err *err)
{
	OWN(place) struct place place = { 0 };

	if (place_find(&place, err) < 0)
		return -1;
	add_program(b, place.self);
	for (; *words; words++) {
		if (!strcmp(*words, "--settings"))
			continue;
		buf_addc(b, ' ');
		add_quoted(b, *words);
	}
	buf_adds(b, " || exit 2");
	return b->failed ? no_memory(err) : 0;
}

static int print_settings(char *const *words, struct err *err)
{
	OWN(json) struct json *j = json_new_object();
	struct json *group = json_add_object(json_add_array(json_add_object(j, "hooks"), "PreToolUse"), NULL);
	struct json *hook;
	OWN(buf) struct buf line = { 0 };
	OWN(mem) char *text = NULL;

	if (command_line(&line, words, err) < 0)
		return -1;
	if (!json_add_bool(j, "allowManagedHooksOnly", 1) || !json_add_str(group, "matcher", "*"))
		return no_memory(err);
	hook = json_add_object(json_add_array(group, "hooks"), NULL);
	if (!json_add_str(hook, "type", "command") || !json_add_str(hook, "command", line.data) ||
	    !json_add_int(hook, "timeout", 30))
		return no_memory(err);
	text = json_print_pretty(j);
	if (!text)
		return no_memory(err);
	printf("%s\n", text);
	if (fflush(stdout) == EOF)
		return err_set(err, ERR_SYS, 0, "cannot write to standard output");
	_exit(0);
}

static int hook(const struct cli_args *args, struct err *err)
{
	struct judging j = { .v = args->values };

	if (strcmp(args->operand[0], "claude") != 0)
		return err_set(err, ERR_USAGE, 0, "agate hook knows claude, and no '%s'", args->operand[0]);
	if (j.v->settings)
		return print_settings(args->words, err);
	judge(&j);
}

const struct command cmd_hook = {
	.name = "hook", .operands = "claude", .summary = "judge one tool call of an agent that agate did not start",
	.more = "A PreToolUse hook of Claude Code: the event is read from standard input. What is denied is\n"
		"answered so, what somebody should be asked about makes the agent ask, and to the rest\n"
		"nothing is said, so that the agent's own rules go on. Whatever goes wrong blocks the call.\n"
		"Each decision is recorded. `agate hook claude --settings` prints what to put into\n"
		"/etc/claude-code/managed-settings.json, the one place where a repository cannot switch it off.\n",
	.opts = { { rows } }, .size = sizeof(struct values), .min = 1, .max = 1, .fn = hook,
};
