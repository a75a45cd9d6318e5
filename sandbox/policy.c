#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/path.h"
#include "sandbox/policy.h"
#include "sandbox/spec.h"

#define SECRET "secrets belong to the user: a run may neither plant nor change one"
#define SHELL "a shell or line editor obeys it at its next start"
#define GIT_FILE "git obeys it, in this directory or below"
#define EDITOR "an editor runs tasks and launches from it"
#define AGENT "an agent's own settings: hooks, commands and servers that run without asking"
#define SERVERS "names programs that agents start on their own"
#define HOOK "a live hook: git runs it on its own"
#define SAMPLE "git's templates, which clone and init copy; git never runs a name that ends so"

static const struct policy_rule write_rules[] = {
	{ "**/.env", SECRET },
	{ "**/.env.*", SECRET },
	{ "**/*.key", SECRET },
	{ "**/*.pem", SECRET },
	{ "!**/certifi/cacert.pem", "the public certificate list that pip and every virtual environment unpack" },
	{ "**/*.p12", SECRET },
	{ "**/*.pfx", SECRET },

	{ "**/.bashrc", SHELL },
	{ "**/.bash_profile", SHELL },
	{ "**/.bash_login", SHELL },
	{ "**/.bash_logout", SHELL },
	{ "**/.profile", SHELL },
	{ "**/.zshrc", SHELL },
	{ "**/.zshenv", SHELL },
	{ "**/.zprofile", SHELL },
	{ "**/.zlogin", SHELL },
	{ "**/.zlogout", SHELL },
	{ "**/.inputrc", SHELL },
	{ "**/.ripgreprc", "ripgrep's settings can name a program to run on each file" },
	{ "**/.npmrc", "npm's settings: registries, tokens, and the shell scripts run in" },

	{ "**/.vscode", EDITOR },
	{ "**/.idea", EDITOR },
	{ "**/.zed/settings.json", EDITOR },
	{ "**/.zed/tasks.json", EDITOR },

	{ "**/.mcp.json", SERVERS },
	{ "**/opencode.json", SERVERS },
	{ "**/opencode.jsonc", SERVERS },
	{ "**/.claude/settings.json", AGENT },
	{ "**/.claude/settings.local.json", AGENT },
	{ "**/.claude/hooks", AGENT },
	{ "**/.claude/commands", AGENT },
	{ "**/.claude/agents", AGENT },
	{ "**/.claude/skills", AGENT },
	{ "**/.codex/config.toml", AGENT },
	{ "**/.codex/hooks.json", AGENT },
	{ "**/.codex/rules", AGENT },
	{ "**/.gemini/settings.json", AGENT },
	{ "**/.gemini/commands", AGENT },
	{ "**/.gemini/extensions", AGENT },
	{ "**/.gemini/hooks", AGENT },
	{ "**/.cursor/mcp.json", AGENT },
	{ "**/.cursor/hooks.json", AGENT },
	{ "**/.cursor/commands", AGENT },
	{ "**/.opencode", AGENT },
	{ "**/.kiro/hooks", AGENT },
	{ "**/.kiro/settings", AGENT },
	{ "**/.github/hooks", AGENT },

	{ "**/.gitconfig", GIT_FILE },
	{ "**/.gitmodules", "submodule addresses and update commands" },
	{ "**/*.git/hooks/*", HOOK },
	{ "**/.git/hooks/*", HOOK },
	{ "**/.git/modules/**/hooks/*", HOOK },
	{ "!**/*.git/hooks/*.sample", SAMPLE },
	{ "!**/.git/modules/**/hooks/*.sample", SAMPLE },
	{ "**/.git/info/attributes", "names filters that git runs on files" },
	{ "**/.git/modules/**/info/attributes", "names filters that git runs on files" },
	{ "**/.husky/*", HOOK },
	{ "!**/.husky/_", "husky writes its shims there at npm install; where the user's git uses them they are denied by path" },
};

/* Below a home that only the run sees. */
static const char *const private_home[] = {
	".gitconfig", ".npmrc", ".claude/settings.json", ".claude/settings.local.json", ".claude/hooks",
	".claude/commands", ".claude/agents", ".claude/skills", ".codex/config.toml", ".codex/hooks.json",
	".codex/rules", ".gemini/settings.json", ".gemini/commands", ".gemini/extensions", ".gemini/hooks",
	".cursor/mcp.json", ".cursor/hooks.json", ".cursor/commands", ".opencode", ".kiro/settings", NULL
};

static const char *const package_dirs[] = {
	"node_modules", "site-packages", "dist-packages", "pkg/mod", "registry/src", NULL
};
static const char *const package_files[] = { "*.pem", "*.key", "*.p12", "*.pfx", NULL };

static const char *const git_dir_parts[] = {
	"config", "config.worktree", "commondir", "gitdir", "hooks", "info/attributes", NULL
};

static const char *const home_secrets[] = {
	/* keys and log-ins of the shell's own tools */
	".ssh", ".gnupg", ".netrc", ".git-credentials", ".config/git/credentials", ".password-store",
	".local/share/keyrings", ".vault-token", ".pgpass", ".my.cnf",
	/* clouds and clusters */
	".aws", ".azure", ".config/gcloud", ".boto", ".s3cfg", ".config/rclone", ".kube", ".docker",
	".config/containers/auth.json", ".terraform.d", ".terraformrc", ".pulumi/credentials.json",
	/* code hosts and registries */
	".config/gh", ".config/hub", ".config/glab-cli", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc",
	".config/pip", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml",
	".gradle/gradle.properties", ".nuget/NuGet", ".composer/auth.json", ".pub-cache/credentials.json",
	/* browsers and mail */
	".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".thunderbird",
	/* agents' log-ins, and what was typed before */
	".claude.json", ".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json",
	".local/share/opencode/auth.json", ".bash_history", ".zsh_history", ".python_history",
	".psql_history", ".node_repl_history", ".lesshst", ".viminfo",
	/* our own */
	".config/agate", ".local/state/agate", ".local/share/agate",
	"Library/Keychains", NULL
};

static const char *const home_writes[] = {
	/* secrets, again: what may not be read may not be replaced either */
	".ssh", ".gnupg", ".netrc", ".git-credentials", ".password-store", ".local/share/keyrings", ".aws",
	".azure", ".config/gcloud", ".kube", ".docker", ".config/gh", ".config/hub", ".config/glab-cli",
	".pypirc", ".cargo/credentials", ".cargo/credentials.toml",
	/* read by shells and sessions at their start */
	".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment", ".config/fish",
	".config/environment.d", ".config/systemd", ".config/autostart", ".local/share/systemd",
	".local/share/applications", ".config/plasma-workspace",
	/* found by name on PATH */
	".local/bin", "bin", ".cargo/bin", ".npm-global", ".yarn", ".bun/bin", ".deno/bin", "go/bin", ".nvm",
	".pyenv", ".rbenv", ".asdf", ".volta",
	/* settings that name programs */
	".config/git", ".vimrc", ".vim", ".config/nvim", ".emacs", ".emacs.d", ".config/emacs", ".tmux.conf",
	".config/tmux", ".screenrc", ".gdbinit", ".config/gdb", ".lldbinit", ".cargo/config", ".cargo/config.toml",
	".pip", ".config/pip", ".npm", ".yarnrc", ".yarnrc.yml", ".m2/settings.xml", ".gradle/init.d",
	".config/direnv", ".lesskey", ".wgetrc", ".curlrc", ".psqlrc", ".pdbrc", ".Rprofile", ".config/gh",
	/* agents, and us */
	".claude", ".claude.json", ".gemini", ".codex", ".cursor", ".config/opencode", ".kiro",
	".config/agate", ".local/state/agate", ".local/share/agate",
	"Library/LaunchAgents", "Library/Preferences", "Library/Keychains", NULL
};

const struct policy_rule *policy_write_rules(size_t *ret_n)
{
	*ret_n = ARRAY_LEN(write_rules);
	return write_rules;
}

const char *policy_reason(const char *rule)
{
	for (size_t i = 0; rule && i < ARRAY_LEN(write_rules); i++)
		if (!strcmp(write_rules[i].rule, rule))
			return write_rules[i].reason;
	return NULL;
}

int policy_standard_denies(struct strv *deny_write)
{
	for (size_t i = 0; i < ARRAY_LEN(write_rules); i++)
		if (strv_add(deny_write, write_rules[i].rule) < 0)
			return -1;
	return 0;
}

/* Append @sign and the rule for each of @rel below @base. */
static int add_below(const char *base, const char *const rel[], const char *sign, struct strv *to)
{
	for (; *rel; rel++) {
		OWN(mem) char *path = path_join(base, *rel);
		OWN(mem) char *rule = path ? spec_rule_of_path(path) : NULL;

		if (!rule || strv_addf(to, "%s%s", sign, rule) < 0)
			return -1;
	}
	return 0;
}

int policy_private_home(const char *home, struct strv *deny_write)
{
	return add_below(home, private_home, "!", deny_write);
}

int policy_package_files(struct strv *deny_write)
{
	for (const char *const *dir = package_dirs; *dir; dir++)
		for (const char *const *file = package_files; *file; file++)
			if (strv_addf(deny_write, "!**/%s/**/%s", *dir, *file) < 0)
				return -1;
	return 0;
}

int policy_git_dir(const char *gitdir, struct strv *deny_write)
{
	return add_below(gitdir, git_dir_parts, "", deny_write);
}

int policy_home_secrets(const char *home, struct strv *deny_read)
{
	return add_below(home, home_secrets, "", deny_read);
}

int policy_is_secret(const char *rel)
{
	for (const char *const *s = home_secrets; *s; s++) {
		size_t n = strlen(*s);

		if (!strncmp(rel, *s, n) && (rel[n] == '/' || rel[n] == '\0'))
			return 1;
	}
	return 0;
}

int policy_home_writes(const char *home, struct strv *deny_write)
{
	return add_below(home, home_writes, "", deny_write);
}
