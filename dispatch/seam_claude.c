/*
 * Claude Code. Everything here was measured on the real program: a hook can be
 * switched off by a flag or by the repository's own settings, a repository's
 * settings may redirect the API together with its key, and only the managed
 * settings are out of a repository's reach.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/channel_args.h"
#include "dispatch/request.h"
#include "dispatch/seam.h"

#define CONFIG_DIR ".config/claude"	/* below the private home */
#define MANAGED_PATH "/etc/claude-code/managed-settings.json"

/* Arguments that would take the gate out of the way; a name ending in '-' stands for all it begins. */
static const struct { const char *name, *why; } refused[] = {
	{ "--bare", "it switches hooks off" },
	{ "--safe-mode", "it switches hooks off" },
	{ "--settings", "it may hold hooks and rules of its own" },
	{ "--managed-settings", "the managed settings are agate's" },
	{ "--plugin-", "plugins bring hooks and servers of their own" },
	{ "--dangerously-", "it switches permissions off" },
	{ "--allow-dangerously-", "it lets permissions be switched off" },
	{ "--permission-", "who is asked is agate's to say" },
	{ "--ide", "it connects to a program outside" },
	{ "--chrome", "it connects to a program outside" },
};

/* The same by the environment; a name ending in '_' stands for all it begins. */
static const struct { const char *name, *why; } refused_env[] = {
	{ "CLAUDE_CODE_SIMPLE", "it switches hooks off" },
	{ "CLAUDE_CODE_SAFE_MODE", "it switches hooks off" },
	{ "CLAUDE_CODE_PERSONAL_HOOKS_OFF", "it switches hooks off" },
	{ "CLAUDE_CODE_DISABLE_POLICY_", "it switches managed settings off" },
	{ "CLAUDE_CODE_MANAGED_", "the managed settings are agate's" },
	{ "CLAUDE_CODE_REMOTE_SETTINGS_", "the managed settings are agate's" },
	{ "CLAUDE_CODE_MOCK_REMOTE_SETTINGS", "the managed settings are agate's" },
	{ "CLAUDE_CODE_BRIDGE_", "it takes settings from elsewhere" },
	{ "CLAUDE_CODE_MCP_SERVE_SETTINGS", "it takes settings from elsewhere" },
	{ "CLAUDE_CODE_EVEN_MORE_", "it switches permissions off" },
	{ "CLAUDE_CODE_RELAUNCH_", "it switches permissions off" },
	{ "CLAUDE_BG_SESSION_PERMISSION_RULES", "who is asked is agate's to say" },
	{ "CLAUDE_CHROME_PERMISSION_MODE", "who is asked is agate's to say" },
};

/* The arguments agate adds, unless they are there already; with any other value they are refused. */
static const struct { const char *name, *as_given, *why; } added[] = {
	{ "--setting-sources", "--setting-sources=", "a repository's settings can run programs and redirect the API" },
	{ "--strict-mcp-config", "--strict-mcp-config", "a repository's .mcp.json starts programs" },
};

static int matches(const char *arg, size_t len, const char *name)
{
	size_t n = strlen(name);

	return name[n - 1] == '-' ? len >= n && !strncmp(arg, name, n) : len == n && !strncmp(arg, name, n);
}

/* "--setting-sources" with the empty value, in either form, is what we want. */
static int is_what_we_add(const struct strv *command, size_t i)
{
	for (size_t a = 0; a < ARRAY_LEN(added); a++) {
		if (!strcmp(command->v[i], added[a].as_given))
			return 1;
		if (!strcmp(command->v[i], added[a].name))
			return command->v[i + 1] && !*command->v[i + 1];
	}
	return 0;
}

static int check_one(const struct strv *command, size_t i, struct err *err)
{
	const char *arg = command->v[i];
	size_t len = strcspn(arg, "=");

	for (size_t r = 0; r < ARRAY_LEN(refused); r++)
		if (matches(arg, len, refused[r].name))
			return err_set(err, ERR_POLICY, 0, "claude may not be given '%.*s': %s",
				       (int)len, arg, refused[r].why);
	for (size_t a = 0; a < ARRAY_LEN(added); a++)
		if (matches(arg, len, added[a].name) && !is_what_we_add(command, i))
			return err_set(err, ERR_POLICY, 0, "claude may not be given '%s': %s",
				       arg, added[a].why);
	return 0;
}

static int check_env(const char *assignment, struct err *err)
{
	size_t len = strcspn(assignment, "=");

	for (size_t r = 0; r < ARRAY_LEN(refused_env); r++) {
		size_t n = strlen(refused_env[r].name);

		if (!strncmp(assignment, refused_env[r].name, n) && (len == n || (refused_env[r].name[n - 1] == '_' && len > n)))
			return err_set(err, ERR_POLICY, 0, "claude may not be given '%.*s': %s", (int)len, assignment,
				       refused_env[r].why);
	}
	return 0;
}

/* What a printing claude would be told has to be understood, to be told another way. */
static int check_channel(const struct run_request *req, struct err *err)
{
	OWN(channel_ask) struct channel_ask ask = { 0 };

	return channel_args((const char *const *)req->command.v + 1, 1, &ask, err);
}

int claude_check(const struct run_request *req, struct err *err)
{
	for (size_t i = 0; i < req->env.n; i++)
		if (check_env(req->env.v[i], err) < 0)
			return -1;
	for (size_t i = 1; i < req->command.n; i++) {
		if (!strcmp(req->command.v[i], "--"))
			break;
		if (check_one(&req->command, i, err) < 0)
			return -1;
	}
	return check_channel(req, err);
}

static int has_added(const struct strv *command, size_t a)
{
	for (size_t i = 1; i < command->n && strcmp(command->v[i], "--") != 0; i++)
		if (matches(command->v[i], strcspn(command->v[i], "="), added[a].name))
			return 1;
	return 0;
}

/*
 * Ours come first: what follows a value-taking option of the user's would be
 * taken for its value ("--allowedTools Bash" takes all words up to the next option).
 */
static int make_argv(const struct run_request *req, const char *program, const struct channel_ask *channel,
		     struct strv *argv)
{
	static const char *const spoken_with[] = {
		"-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose",
		"--permission-prompt-tool=stdio", NULL,
	};
	int r = strv_add(argv, program);

	for (size_t a = 0; a < ARRAY_LEN(added) && !r; a++)
		if (!has_added(&req->command, a))
			r = strv_add(argv, added[a].as_given);
	/* Its plan mode looks and does not touch, which is what all modes but chat are. */
	if (!r)
		r = strv_addf(argv, "--permission-mode=%s", req->mode == MODE_CHAT ? "default" : "plan");
	if (r || !channel->is_print)
		return r ? r : strv_copyv(argv, (const char *const *)req->command.v + 1);
	return strv_copyv(argv, spoken_with) < 0 ? -1 : strv_copy(argv, &channel->rest);
}

/*
 * The key is no key: the real one is added outside, to requests for the one
 * host it is for. Everything that talks to others than the model is off.
 */
static int make_env(const struct seam_facts *facts, struct strv *env)
{
	static const char *const fixed[] = {
		"ANTHROPIC_API_KEY=agate-placeholder",
		"DISABLE_TELEMETRY=1",
		"DISABLE_ERROR_REPORTING=1",
		"DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		NULL,
	};

	if (strv_copyv(env, fixed) < 0)
		return -1;
	return strv_addf(env, "CLAUDE_CONFIG_DIR=%s/" CONFIG_DIR, facts->guest_home);
}

/* Servers of a repository are never started; those the user names by --mcp-config are. */
static int add_servers(struct json *j, int has_servers)
{
	if (has_servers)
		return 0;
	return json_add_bool(j, "allowManagedMcpServersOnly", 1) && json_add_array(j, "allowedMcpServers") ? 0 : -1;
}

/*
 * Its own sandbox cannot nest in ours and must not seem to hold; hooks are only
 * those a managed file names; nobody switches to the modes that ask no one.
 */
static char *managed_settings(int has_servers)
{
	OWN(json) struct json *j = json_new_object();
	struct json *permissions = j ? json_add_object(j, "permissions") : NULL;
	struct json *sandbox = j ? json_add_object(j, "sandbox") : NULL;

	if (!permissions || !sandbox ||
	    !json_add_str(permissions, "disableBypassPermissionsMode", "disable") ||
	    !json_add_str(permissions, "disableAutoMode", "disable") ||
	    !json_add_bool(sandbox, "enabled", 0) ||
	    !json_add_bool(j, "allowManagedHooksOnly", 1) ||
	    /* A skill's commands would run while it is read, and nobody would be asked. */
	    !json_add_bool(j, "disableSkillShellExecution", 1) || add_servers(j, has_servers) < 0)
		return NULL;
	return json_print_pretty(j);
}

static int names_servers(const struct run_request *req)
{
	static const char name[] = "--mcp-config";

	for (size_t i = 1; i < req->command.n && strcmp(req->command.v[i], "--") != 0; i++)
		if (!strncmp(req->command.v[i], name, sizeof(name) - 1))
			return 1;
	return 0;
}

static int is_visible_anyway(const char *root)
{
	static const char *const seen[] = { "/usr", "/opt", "/nix", "/bin", "/sbin", "/lib" };

	for (size_t i = 0; i < ARRAY_LEN(seen); i++)
		if (path_under(root, seen[i]))
			return 1;
	return 0;
}

int claude_make(const struct run_request *req, const struct seam_facts *facts, struct seam *ret,
		struct err *err)
{
	OWN(mem) char *root = NULL;

	if (!facts->program) {
		err_set(err, ERR_NOTFOUND, 0, "no such command: '%s'", req->command.v[0]);
		return err_hint(err, "install it with: npm install -g @anthropic-ai/claude-code");
	}
	/* What the gates will deny is theirs to tell of. */
	if (channel_args((const char *const *)req->command.v + 1, facts->is_terminal, &ret->channel, err) < 0 &&
	    check_channel(req, NULL) == 0)
		return -1;
	root = program_root(facts->program);
	ret->managed = managed_settings(names_servers(req));
	ret->managed_guest = MANAGED_PATH;
	if (!root || !ret->managed || make_argv(req, facts->program, &ret->channel, &ret->argv) < 0 ||
	    make_env(facts, &ret->env) < 0 ||
	    /* its sessions talk to one another by keys that live as long as they do */
	    strv_addf(&ret->writes, "%s/" CONFIG_DIR "/sessions/*.key", facts->guest_home) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	/* The home itself or one above it is no install root: then the program alone is shown. */
	if (path_under(facts->home, root))
		return strv_add(&ret->roots, facts->program) < 0 ? err_set(err, ERR_NOMEM, 0, "out of memory") : 0;
	if (!is_visible_anyway(root) && strv_add(&ret->roots, root) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return 0;
}
