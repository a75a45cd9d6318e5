#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include "base/path.h"
#include "base/strv.h"
#include "gates/arena.h"
#include "gates/place.h"

/* --- cleaning --- */

static size_t add_parts(char *out, size_t len, const char *from)
{
	while (*from) {
		size_t n = strcspn(from, "/");

		if (n == 2 && !strncmp(from, "..", 2)) {
			while (len && out[--len] != '/')
				;
		} else if (n && !(n == 1 && from[0] == '.')) {
			out[len++] = '/';
			memcpy(out + len, from, n);
			len += n;
		}
		from += n;
		from += strspn(from, "/");
	}
	return len;
}

static char *clean(struct arena *a, const char *base, const char *rel)
{
	char *out = arena_alloc(a, strlen(base) + strlen(rel) + 3);
	size_t len = 0;

	if (rel[0] != '/')
		len = add_parts(out, len, base);
	len = add_parts(out, len, rel);
	if (!len)
		out[len++] = '/';
	out[len] = '\0';
	return out;
}

/* Names that procfs has for the reader's own root and directory. */
static const char *const self_names[] = { "/proc/self/", "/proc/thread-self/", NULL };

/* @p with the first such name replaced by what it is, or NULL when there is none. */
static char *follow_self(struct arena *a, const char *cwd, const char *p)
{
	for (const char *const *self = self_names; *self; self++) {
		size_t n = strlen(*self);
		const char *rest = p + n;

		if (strncmp(p, *self, n))
			continue;
		if (!strncmp(rest, "root", 4) && (rest[4] == '/' || !rest[4]))
			return clean(a, "/", rest[4] ? rest + 5 : "");
		if (cwd && !strncmp(rest, "cwd", 3) && (rest[3] == '/' || !rest[3]))
			return clean(a, cwd, rest[3] ? rest + 4 : "");
	}
	return NULL;
}

const char *place_resolve(struct arena *a, const char *cwd, const char *text)
{
	char *p, *next;

	if (text[0] != '/' && !cwd)
		return arena_dup(a, text, strlen(text));
	p = clean(a, cwd ? cwd : "/", text);
	/* Each turn takes a part away, unless the current directory is such a name itself. */
	for (int turns = 0; turns < 16 && (next = follow_self(a, cwd, p)); turns++)
		p = next;
	return p;
}

/* --- tables --- */

/* Below home: credentials of the usual tools. */
static const char *const home_secrets[] = {
	".ssh", ".aws", ".gnupg", ".config/gh", ".kube", ".docker", ".netrc", "_netrc", ".git-credentials",
	".config/git/credentials", ".pypirc", ".npmrc", ".yarnrc.yml", ".cargo/credentials",
	".cargo/credentials.toml", ".config/gcloud", ".config/hub", ".config/glab-cli", ".azure",
	".terraform.d",
	".terraformrc", ".vault-token", ".password-store", ".local/share/keyrings", ".claude", ".claude.json",
	".codex", ".gemini", ".config/opencode", ".local/share/opencode", ".bash_history", ".zsh_history",
	".python_history", ".node_repl_history", ".psql_history", ".mysql_history", ".pgpass", ".my.cnf",
	".boto",
	".s3cfg", ".gem/credentials", ".composer/auth.json", ".m2/settings.xml", ".gradle/gradle.properties",
	".mozilla", ".config/google-chrome", ".config/chromium", ".config/rclone", ".config/op", ".oci",
	".heroku",
	".config/doctl", ".config/fly", ".fly", "library/keychains", NULL
};

static const char *const system_secrets[] = {
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
	"/etc/ssl/private", "/etc/krb5.keytab", "/etc/security/opasswd", "/etc/wireguard", "/etc/openvpn",
	"/etc/netplan", "/etc/networkmanager/system-connections", "/etc/machine-id", "/proc/kcore",
	"/proc/keys",
	"/run/secrets", "/var/run/secrets", "/var/lib/docker", "/var/lib/kubelet", "/var/lib/private",
	"/var/spool/cron", "/run/docker.sock", "/var/run/docker.sock", "/var/log/auth.log", "/etc/agate", NULL
};

/* Patterns of the last part, where they hold a credential whatever the directory. */
static const char *const secret_names[] = {
	".env", ".env.*", "*.key", "*.pem", "*.p12", "*.pfx", "*.keystore", "*.jks", "*.kdbx", "id_rsa",
	"id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", ".netrc", ".git-credentials",
	".pypirc",
	".pgpass", ".htpasswd", "ssh_host_*_key", ".vault-token", NULL
};

/* Files of that shape that are made to be read. */
static const char *const public_names[] = {
	".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", ".env.test.example",
	"*.pub.pem", NULL
};

/* What no run may write: the sandbox's standard denials, so that a refusal comes early and with a reason. */
static const char *const protected_names[] = {
	".env", ".env.*", "*.key", "*.pem", "*.p12", "*.pfx", ".gitconfig", ".gitmodules", ".bashrc",
	".bash_profile", ".bash_login", ".bash_logout", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
	".zlogout",
	".profile", ".inputrc", ".xprofile", ".ripgreprc", ".mcp.json", ".npmrc", ".pythonrc", NULL
};

/* The same for whole directories, as parts of a path that follow one another. */
static const char *const protected_dirs[] = {
	"/.vscode/", "/.idea/", "/.claude/commands/", "/.claude/agents/", "/.claude/skills/",
	"/.claude/hooks/",
	"/.claude/settings.json/", "/.claude/settings.local.json/", "/.git/hooks/", NULL
};

/* Below home: what later sessions of the user obey. */
static const char *const home_obeyed[] = {
	".bashrc", ".config/autostart", ".config/systemd", ".config/environment.d", ".config/git",
	".config/fish",
	".config/nvim", ".vim", ".vimrc", ".tmux.conf", ".emacs", ".emacs.d", ".local/bin", "bin",
	".local/share/applications", ".cargo/config", ".cargo/config.toml", ".cargo/bin", ".gitignore_global",
	".pam_environment", ".xinitrc", ".xsession", ".selected_editor", ".config/pip", ".condarc", NULL
};

static const char *const system_dirs[] = {
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/etc", "/proc",
	"/sys",
	"/var", "/boot", NULL
};

static const char *const temp_dirs[] = { "/tmp", "/var/tmp", "/dev/shm", NULL };

static const char *const devices[] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/stdin",
	"/dev/stdout", "/dev/stderr", "/dev/fd", "/proc/self/fd", "/dev/pts", NULL
};

/* --- looking up --- */

static bool under_fold(const char *p, const char *dir)
{
	size_t n = strlen(dir);

	return !strncasecmp(p, dir, n) && (p[n] == '\0' || p[n] == '/');
}

static bool in_dirs(const char *const *dirs, const char *p)
{
	for (; *dirs; dirs++)
		if (under_fold(p, *dirs))
			return true;
	return false;
}

static bool in_roots(const struct strv *roots, const char *p)
{
	for (size_t i = 0; roots && i < roots->n; i++)
		if (path_under(p, roots->v[i]))
			return true;
	return false;
}

static bool has_name(const char *const *names, const char *path)
{
	const char *base = path_base(path);

	for (; *names; names++)
		if (!fnmatch(*names, base, FNM_CASEFOLD))
			return true;
	return false;
}

static bool has_dir(const char *const *dirs, const char *path)
{
	for (; *dirs; dirs++) {
		size_t n = strlen(*dirs);

		for (const char *p = path; *p; p++) {
			/* A leading "/" of the pattern may also be the start of a relative path. */
			const char *want = p == path && *p != '/' ? *dirs + 1 : *dirs;
			size_t k = p == path && *p != '/' ? n - 1 : n;

			if (!strncasecmp(p, want, k) || (!strncasecmp(p, want, k - 1) && !p[k - 1]))
				return true;
		}
	}
	return false;
}

/* The part of @p below home, or NULL. */
static const char *below_home(const struct command_request *req, const char *p)
{
	size_t n = req->home ? strlen(req->home) : 0;

	if (n < 2 || !path_under(p, req->home))
		return NULL;
	return p[n] ? p + n + 1 : "";
}

/* Of other processes: their environment, memory, files and view of the disk. */
static bool is_foreign_proc(const char *p)
{
	static const char *const parts[] = { "/environ", "/mem", "/root", "/cwd", "/fd", "/map_files", NULL };
	const char *rest;

	if (strncmp(p, "/proc/", 6))
		return false;
	rest = strchr(p + 6, '/');
	if (rest && !strncmp(rest, "/task/", 6))
		rest = strchr(rest + 6, '/');
	for (const char *const *part = parts; rest && *part; part++) {
		size_t n = strlen(*part);

		if (!strncmp(rest, *part, n) && (!rest[n] || rest[n] == '/'))
			return strncmp(p, "/proc/self/fd", 13) != 0;
	}
	return false;
}

static bool in_workspace(const struct command_request *req, const char *p)
{
	return req->workspace && path_under(p, req->workspace);
}

static bool is_secret(const struct command_request *req, const char *p)
{
	const char *rel = below_home(req, p);

	if (has_name(secret_names, p) && !has_name(public_names, p))
		return true;
	/* A workspace may lie anywhere, below ~/.claude too; there only names count. */
	if (in_workspace(req, p))
		return false;
	return in_dirs(system_secrets, p) || is_foreign_proc(p) || (rel && in_dirs(home_secrets, rel));
}

static bool is_protected(const struct command_request *req, const char *p)
{
	bool is_inside = in_workspace(req, p);

	/* A workspace is bound at its original's path. */
	if (!is_inside && in_roots(req->protected, p))
		return true;
	return has_name(protected_names, p) ||
	       has_dir(protected_dirs, is_inside ? p + strlen(req->workspace) : p);
}

static enum effect_place place_written(const struct command_request *req, const char *p)
{
	const char *rel = below_home(req, p);
	bool is_inside = in_workspace(req, p) || in_roots(req->write_roots, p);

	if (is_protected(req, p))
		return PLACE_PROTECTED;
	if (is_inside)
		return PLACE_INSIDE;
	if (in_dirs(temp_dirs, p))
		return PLACE_TEMP;
	if (is_secret(req, p))
		return PLACE_SECRET;
	if (rel)
		return in_dirs(home_obeyed, rel) ? PLACE_PROTECTED : PLACE_HOME;
	return in_dirs(system_dirs, p) ? PLACE_SYSTEM : PLACE_OUTSIDE;
}

static enum effect_place place_read(const struct command_request *req, const char *p, enum place_use use)
{
	bool is_inside = in_workspace(req, p);

	if (is_secret(req, p))
		return use == USE_LOOK && is_inside ? PLACE_INSIDE : PLACE_SECRET;
	if (is_inside || in_roots(req->read_roots, p) || in_roots(req->write_roots, p))
		return PLACE_INSIDE;
	if (in_dirs(temp_dirs, p))
		return PLACE_TEMP;
	if (in_dirs(system_dirs, p) || (use == USE_LOOK && !strcmp(p, "/")))
		return PLACE_SYSTEM;
	return below_home(req, p) ? PLACE_HOME : PLACE_OUTSIDE;
}

enum effect_place place_of(const struct command_request *req, const char *path, enum place_use use)
{
	const char *hole = strchr(path, PLACE_HOLE);
	bool is_write = use == USE_WRITE || use == USE_DELETE || use == USE_MOVE;
	enum effect_place place;

	if (in_dirs(devices, path))
		return PLACE_DEVICE;
	if (path[0] != '/') {
		if (is_write ? is_protected(req, path) : use == USE_READ && is_secret(req, path))
			return is_write ? PLACE_PROTECTED : PLACE_SECRET;
		return PLACE_UNKNOWN;
	}
	place = is_write ? place_written(req, path) : place_read(req, path, use);
	/* The hole may hold "..", so only what is refused anyway is sure; what begins out there is hardly in here. */
	if (hole && use != USE_LOOK && (place == PLACE_OUTSIDE || place == PLACE_HOME))
		return place;
	if (hole && place != PLACE_PROTECTED && place != PLACE_SECRET)
		return PLACE_UNKNOWN;
	return place;
}

bool place_is_root(const struct command_request *req, const char *path)
{
	if (path[0] != '/' || !strcmp(path, "/"))
		return path[0] == '/';
	/* A top directory, or one above home or the workspace. */
	if (!strchr(path + 1, '/') && strcmp(path, "/tmp"))
		return true;
	return (req->home && path_under(req->home, path)) ||
	       (req->workspace && path_under(req->workspace, path));
}

bool place_is_dot_home(const struct command_request *req, const char *path)
{
	const char *rel = below_home(req, path);

	return rel && (rel[0] == '.' || !strncmp(rel, "go/", 3));
}

bool place_is_secret_name(const char *name)
{
	static const char *const patterns[] = {
		"*TOKEN*", "*SECRET*", "*PASSWORD*", "*PASSWD*", "*API_KEY*", "*APIKEY*", "*PRIVATE_KEY*",
		"*ACCESS_KEY*", "*CREDENTIAL*", "*_PAT", "*AUTH_KEY*", "PGPASS*", "MYSQL_PWD", "DATABASE_URL",
		"*CONNECTION_STRING*", NULL
	};

	for (const char *const *p = patterns; *p; p++)
		if (!fnmatch(*p, name, FNM_CASEFOLD))
			return true;
	return false;
}
