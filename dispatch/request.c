#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/request.h"
#include "gates/redact.h"
#include "sandbox/egress/domain.h"
#include "sandbox/egress/ports.h"

static const char *const mode_words[] = { "chat", "review", "plan", "orchestrate", NULL };
static_assert(ARRAY_LEN(mode_words) == MODE_NUM + 1, "a word for each mode");
static const char *const agent_words[] = { "bash", "claude", "acp", NULL };
static_assert(ARRAY_LEN(agent_words) == AGENT_NUM + 1, "a word for each agent");
static const char *const sandbox_words[] = { "on", "off", "require", NULL };
static_assert(ARRAY_LEN(sandbox_words) == SANDBOX_NUM + 1, "a word for each wish");
static const char *const network_words[] = { "allow", "ask", "deny", NULL };
static_assert(ARRAY_LEN(network_words) == NETWORK_NUM + 1, "a word for each rule");
static const char *const approve_words[] = { "none", "tty", "db", NULL };
static_assert(ARRAY_LEN(approve_words) == APPROVE_NUM + 1, "a word for each approver");
static const char *const workspace_words[] = {
	"auto", "snapshot", "reflink", "overlay", "copy", "worktree", "in-place", NULL,
};
static_assert(ARRAY_LEN(workspace_words) == WISH_NUM + 1, "a word for each wish");

const char *agent_name(enum agent_kind a)
{
	assert(a < AGENT_NUM);
	return agent_words[a];
}

const char *sandbox_wish_name(enum sandbox_wish s)
{
	assert(s < SANDBOX_NUM);
	return sandbox_words[s];
}

const char *network_rule_name(enum network_rule n)
{
	assert(n < NETWORK_NUM);
	return network_words[n];
}

const char *workspace_wish_name(enum workspace_wish w)
{
	assert(w < WISH_NUM);
	return workspace_words[w];
}

static int has_control(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return 1;
	return 0;
}

static int check_path(const char *word, struct err *err)
{
	return *word ? 0 : err_set(err, ERR_USAGE, 0, "a path may not be empty");
}

static int check_domain(const char *word, struct err *err)
{
	if (!*word || has_control(word) || strpbrk(word, " /@"))
		return err_set(err, ERR_USAGE, 0, "'%s' is no domain like example.com or *.example.com", word);
	return 0;
}

/* What is wrong with a word of the command line is a matter of usage. */
static int as_usage(int r, struct err *err)
{
	if (r < 0)
		err->code = ERR_USAGE;
	return r;
}

static int check_publish(const char *word, struct err *err)
{
	struct publish_rule rule;

	return as_usage(ports_parse_publish(word, &rule, err), err);
}

static int check_host_port(const char *word, struct err *err)
{
	uint16_t port;

	return as_usage(ports_parse_host(word, &port, err), err);
}

/* The name ends up in paths and branch names, so it gets the plainest letters only. */
static int check_id(const char *word, struct err *err)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	size_t n = strlen(word);

	if (!n || n > 64 || strspn(word, ok) != n || word[0] == '.' || word[0] == '-')
		return err_set(err, ERR_USAGE, 0, "'%s' is no name of up to 64 letters, digits, '-', '_' and '.'",
			       word);
	return 0;
}

static int check_env(const char *word, struct err *err)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	size_t n = strcspn(word, "=");

	if (!n || strspn(word, ok) != n || (word[0] >= '0' && word[0] <= '9'))
		return err_set(err, ERR_USAGE, 0, "'%.*s' is no name of a variable", (int)n, word);
	return 0;
}

#define ROW(word, kind, member, ...) OPT_ROW(struct run_request, word, kind, member, __VA_ARGS__)

const struct opt request_rows[] = {
	ROW("repo", OPT_TEXT, repo, "DIR", "work on this repository or directory (default: the one around here)",
	  .check = check_path),
	ROW("mode", OPT_WORD, mode, NULL, "what the run is for; all but chat only read (default chat)",
	  .words = mode_words),
	ROW("agent", OPT_WORD, agent, NULL, "what the command is (default: told by its name)",
	  .words = agent_words),
	ROW("sandbox", OPT_WORD, sandbox, NULL, "on: where the host can; require: or fail (default on)",
	  .words = sandbox_words),
	ROW("network", OPT_WORD, network, NULL, "deny: no destination at all (default allow: those listed)",
	  .words = network_words),
	ROW("allow-domain", OPT_LIST, allow_domain, "DOMAIN", "let the run reach this host, or *.domain",
	  .check = check_domain),
	ROW("deny-domain", OPT_LIST, deny_domain, "DOMAIN", "never this one, whatever allows it",
	  .check = check_domain),
	ROW("publish", OPT_LIST, publish, "[ADDR:]PORT[:PORT]",
	  "make a server inside reachable at this port of the host's loopback", .check = check_publish),
	ROW("host-port", OPT_LIST, host_port, "PORT", "let the run reach this port of the host's loopback, as localhost",
	  .check = check_host_port),
	ROW("read", OPT_LIST, read, "PATH", "show this path of the host inside, read-only", .check = check_path),
	ROW("write", OPT_LIST, write, "PATH", "show this path of the host inside, writable", .check = check_path),
	ROW("allow-unix-socket", OPT_LIST, unix_socket, "PATH", "let the run connect to this socket of the host",
	    .check = check_path),
	ROW("device", OPT_LIST, device, "PATH", "show this device, or directory of devices, below /dev", .check = check_path),
	ROW("deny-read", OPT_LIST, deny_read, "PATH", "hide this path or glob", .check = check_path),
	ROW("allow-read", OPT_LIST, allow_read, "PATH", "show this path or glob inside a hidden one again", .check = check_path),
	ROW("deny-write", OPT_LIST, deny_write, "GLOB", "let nothing write what this names", .check = check_path),
	ROW("hosts", OPT_TEXT, hosts, "FILE", "names and addresses for the egress helper, like hosts(5)",
	  .check = check_path),
	ROW("env", OPT_LIST, env, "NAME[=VALUE]", "give the run this variable, ours or this value",
	  .check = check_env),
	ROW("workspace", OPT_WORD, workspace, NULL, "how the working copy is made (default auto)",
	  .words = workspace_words),
	ROW("workspace-id", OPT_TEXT, workspace_id, "NAME", "go on in the workspace of this name", .check = check_id),
	ROW("timeout", OPT_DURATION, timeout_ms, "DURATION", "end the run after this time: 90, 1500ms, 2h30m"),
	ROW("memory", OPT_SIZE, memory_bytes, "SIZE", "at most this much memory: 512M, 2G"),
	ROW("pids", OPT_COUNT, pids, "N", "at most this many processes"),
	ROW("cpu", OPT_DURATION, cpu_ms, "DURATION", "at most this much processor time"),
	ROW("keep", OPT_FLAG, fate, NULL, "keep the workspace, even if nothing changed in it",
	  .value = FATE_KEEP),
	ROW("discard", OPT_FLAG, fate, NULL, "delete the workspace when the run is over",
	  .value = FATE_DISCARD),
	ROW("approve", OPT_WORD, approve, NULL, "who is asked where somebody has to be (default tty at a terminal, else none: deny)",
	  .words = approve_words),
	ROW("approve-timeout", OPT_DURATION, approve_timeout_ms, "DURATION", "no answer in this time is a no (default 10m)"),
	ROW("json", OPT_FLAG, json, NULL, "tell everything as one JSON event a line on stdout"),
	ROW("audit-reads", OPT_FLAG, audit_reads, NULL, "put refused reads on record too (each open costs a little more)"),
	ROW("net-log", OPT_FLAG, net_log, NULL, "report connections that were allowed, too"),
	ROW("verbose", OPT_FLAG, verbose, NULL, "say what holds the run and what each step makes"),
	{ 0 },
};

static const struct opts rows = { { request_rows } };

void request_init(struct run_request *req)
{
	*req = (struct run_request){
		.mode = MODE_CHAT, .agent = -1, .sandbox = -1, .network = NETWORK_ALLOW,
		.workspace = WISH_AUTO, .approve = -1, .fate = FATE_AUTO,
	};
}

void request_done(struct run_request *req)
{
	opts_done(&rows, req);
	strv_done(&req->command);
}

int request_from_json(const struct json *j, struct run_request *req, struct err *err)
{
	const struct json *command = json_get(j, "command");

	if (opts_from_json(&rows, j, "command", "request", req, err) < 0)
		return -1;
	if (!command)
		return 0;
	if (json_strv(command, &req->command) < 0)
		return err_set(err, ERR_INPUT, 0, "request: field 'command': must be a list of strings");
	return 0;
}

/* A value given with --env may be a secret: the record keeps the name alone. */
static int names_only(const struct strv *env, struct strv *ret)
{
	for (size_t i = 0; i < env->n; i++)
		if (strv_addn(ret, env->v[i], strcspn(env->v[i], "=")) < 0)
			return -1;
	return 0;
}

int request_shown(const struct run_request *req, struct strv *ret)
{
	return req->command.n ? redact_words((const char *const *)req->command.v, NULL, ret, NULL) : 0;
}

struct json *request_to_json(const struct run_request *req)
{
	OWN(json) struct json *j = json_new_object();
	OWN(strv) struct strv names = { 0 };
	OWN(strv) struct strv command = { 0 };
	struct run_request shown = *req;	/* borrows everything but the list of names */

	if (!j || names_only(&req->env, &names) < 0 || request_shown(req, &command) < 0)
		return NULL;
	shown.env = names;
	if (opts_to_json(&rows, &shown, j) < 0 || !json_add_strv(j, "command", &command))
		return NULL;
	return TAKE(j);
}

/* --- settling --- */

/* Programs that are an agent of their own kind, by the last part of their path. */
static const struct { const char *program; enum agent_kind agent; } programs[] = {
	{ "claude", AGENT_CLAUDE },
	{ "claude.exe", AGENT_CLAUDE },
};

static enum agent_kind recognise(const char *program)
{
	for (size_t i = 0; i < ARRAY_LEN(programs); i++)
		if (!strcmp(path_base(program), programs[i].program))
			return programs[i].agent;
	return AGENT_BASH;
}

/*
 * The seeds know two words and take every other one for "on"; "require" is
 * ours. Space around the word and capitals do not matter.
 */
static int sandbox_from_env(const char *word)
{
	char plain[16];
	size_t n = 0;

	for (; word && *word && n < sizeof(plain) - 1; word++)
		if (*word != ' ' && *word != '\t')
			plain[n++] = *word >= 'A' && *word <= 'Z' ? (char)(*word + 32) : *word;
	plain[n] = '\0';
	for (int i = 0; i < SANDBOX_NUM; i++)
		if (!strcmp(plain, sandbox_words[i]))
			return i;
	return SANDBOX_ON;
}

/* What the words admit and this build cannot do. */
static int refuse_unbuilt(const struct run_request *req, struct err *err)
{
	static const char *const how[WISH_NUM] = {
		[WISH_SNAPSHOT] = "snapshots are not built yet",
		[WISH_OVERLAY] = "overlays are not built yet",
		[WISH_WORKTREE] = "linked worktrees are not built, since they share the original's .git",
	};

	if (req->agent == AGENT_ACP)
		return err_set(err, ERR_USAGE, 0, "cannot run '--agent acp': this seam is not built yet");
	if (how[req->workspace]) {
		err_set(err, ERR_USAGE, 0, "cannot use '--workspace %s': %s",
			workspace_words[req->workspace], how[req->workspace]);
		return err_hint(err, "use auto, reflink, copy or in-place");
	}
	if (req->workspace_id)
		return err_set(err, ERR_USAGE, 0, "cannot use '--workspace-id': going on in an earlier "
			       "workspace is not built yet");
	return 0;
}

/* A rule nobody can read is refused here, and not when the helper meets it. */
static int check_domains(const struct run_request *req, struct err *err)
{
	struct domain_set set = { 0 };
	int r = 0;

	for (size_t i = 0; i < req->allow_domain.n && !r; i++)
		r = domain_add(&set, DOMAIN_ALLOW, req->allow_domain.v[i], "--allow-domain", NULL, err);
	for (size_t i = 0; i < req->deny_domain.n && !r; i++)
		r = domain_add(&set, DOMAIN_DENY, req->deny_domain.v[i], "--deny-domain", NULL, err);
	domain_done(&set);
	return r;
}

/* No sandbox means nobody who could hold these. */
static int refuse_without_sandbox(const struct run_request *req, struct err *err)
{
	const struct { int given; const char *option; } needs[] = {
		{ req->network == NETWORK_DENY, "--network deny" },
		{ req->allow_domain.n != 0, "--allow-domain" },
		{ req->deny_domain.n != 0, "--deny-domain" },
		{ req->deny_read.n != 0, "--deny-read" },
		{ req->allow_read.n != 0, "--allow-read" },
		{ req->deny_write.n != 0, "--deny-write" },
		{ req->publish.n != 0, "--publish" },
		{ req->host_port.n != 0, "--host-port" },
		{ req->hosts != NULL, "--hosts" },
		{ req->net_log, "--net-log" },
		{ req->audit_reads, "--audit-reads" },
		{ req->memory_bytes != 0, "--memory" },
		{ req->pids != 0, "--pids" },
		{ req->cpu_ms != 0, "--cpu" },
	};

	for (size_t i = 0; i < ARRAY_LEN(needs); i++)
		if (needs[i].given)
			return err_set(err, ERR_USAGE, 0, "cannot hold '%s' with '--sandbox off': nothing would "
				       "enforce it", needs[i].option);
	return 0;
}

int request_settle(struct run_request *req, const char *sandbox_env, struct err *err)
{
	if (!req->command.n) {
		err_set(err, ERR_USAGE, 0, "there is no command to run");
		return err_hint(err, "put it behind the options: agate run -- make test");
	}
	if (!*req->command.v[0])
		return err_set(err, ERR_USAGE, 0, "the command may not be empty");
	if (req->agent < 0)
		req->agent = recognise(req->command.v[0]);
	if (req->sandbox < 0)
		req->sandbox = sandbox_from_env(sandbox_env);
	if (refuse_unbuilt(req, err) < 0 || check_domains(req, err) < 0 ||
	    as_usage(ports_check(&req->publish, &req->host_port, err), err) < 0)
		return -1;
	if (req->network == NETWORK_DENY && req->host_port.n)
		return err_set(err, ERR_USAGE, 0, "cannot use '--host-port' with '--network deny': that allows no "
			       "destination at all");
	if (mode_is_readonly((enum mode)req->mode) && req->write.n)
		return err_set(err, ERR_USAGE, 0, "cannot open '%s' by --write: mode %s only reads", req->write.v[0],
			       mode_words[req->mode]);
	if (req->sandbox == SANDBOX_OFF && refuse_without_sandbox(req, err) < 0)
		return -1;
	if (req->workspace == WISH_IN_PLACE && req->fate == FATE_DISCARD)
		return err_set(err, ERR_USAGE, 0, "cannot use '--discard' with '--workspace in-place': that would "
			       "delete the original");
	return 0;
}
