#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "tokens/scrub.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

/* What may cross without being asked for; one that ends in "*" is a prefix. */
static const char *const kept[] = {
	"PATH", "LANG", "LANGUAGE", "LC_*", "TERM", "TZ", "COLORTERM", "NO_COLOR", NULL
};

#define LOADER "the dynamic loader obeys it"	/* before main(): ld.so(8) */
#define LIBC "the C library obeys it"		/* what ld.so(8) drops for set-user-ID programs */
#define SHELLS "shells obey it"			/* bash(1), zsh(1) */
#define NODE "Node obeys it"
#define PYTHON "Python obeys it"
#define PERL "Perl obeys it"
#define RUBY "Ruby obeys it"
#define JAVA "Java obeys it"
#define LUA "Lua obeys it"
#define DOTNET ".NET obeys it"
#define ERLANG "Erlang obeys it"
#define NPM "npm obeys it"
#define TOOLKIT "graphical programs load what it names"
#define CRYPTO "OpenSSL loads what it names"
#define EDITORS "editors run what it says at their start"

/*
 * Names that make programs run or load something else than what they were
 * asked to. Variables that name a program for its own purpose (EDITOR, CC,
 * PAGER) are not among them: whoever passes one means it.
 */
static const struct obeyed {
	const char *name;	/* with "*" at its end: a prefix */
	const char *who;
	int any_case;
} obeyed[] = {
	{ "LD_*", LOADER, 0 },
	{ "DYLD_*", LOADER, 0 },
	{ "GLIBC_TUNABLES", LIBC, 0 },
	{ "GCONV_PATH", LIBC, 0 },
	{ "GETCONF_DIR", LIBC, 0 },
	{ "LOCPATH", LIBC, 0 },
	{ "NLSPATH", LIBC, 0 },
	{ "MALLOC_TRACE", LIBC, 0 },
	{ "HOSTALIASES", LIBC, 0 },
	{ "LOCALDOMAIN", LIBC, 0 },
	{ "RES_OPTIONS", LIBC, 0 },
	{ "RESOLV_*", LIBC, 0 },
	{ "TZDIR", LIBC, 0 },
	{ "BASH_ENV", SHELLS, 0 },
	{ "ENV", SHELLS, 0 },
	{ "SHELLOPTS", SHELLS, 0 },
	{ "BASHOPTS", SHELLS, 0 },
	{ "BASH_FUNC_*", SHELLS, 0 },
	{ "BASH_LOADABLES_PATH", SHELLS, 0 },
	{ "BASH_XTRACEFD", SHELLS, 0 },
	{ "PROMPT_COMMAND", SHELLS, 0 },
	{ "PS0", SHELLS, 0 },
	{ "PS4", SHELLS, 0 },
	{ "IFS", SHELLS, 0 },
	{ "CDPATH", SHELLS, 0 },
	{ "GLOBIGNORE", SHELLS, 0 },
	{ "INPUTRC", SHELLS, 0 },
	{ "ZDOTDIR", SHELLS, 0 },
	{ "FPATH", SHELLS, 0 },
	{ "NODE_OPTIONS", NODE, 0 },
	{ "NODE_PATH", NODE, 0 },
	{ "NODE_REPL_EXTERNAL_MODULE", NODE, 0 },
	{ "npm_config_node_options", NPM, 1 },
	{ "npm_config_script_shell", NPM, 1 },
	{ "npm_config_init_module", NPM, 1 },
	{ "PYTHONSTARTUP", PYTHON, 0 },
	{ "PYTHONPATH", PYTHON, 0 },
	{ "PYTHONHOME", PYTHON, 0 },
	{ "PYTHONPLATLIBDIR", PYTHON, 0 },
	{ "PYTHONUSERBASE", PYTHON, 0 },
	{ "PYTHONEXECUTABLE", PYTHON, 0 },
	{ "PYTHONBREAKPOINT", PYTHON, 0 },
	{ "PYTHONWARNINGS", PYTHON, 0 },	/* imports the module of a category */
	{ "PYTHONINSPECT", PYTHON, 0 },
	{ "PERL5OPT", PERL, 0 },
	{ "PERL5LIB", PERL, 0 },
	{ "PERLLIB", PERL, 0 },
	{ "PERL5DB", PERL, 0 },
	{ "PERL5SHELL", PERL, 0 },
	{ "PERLIO_DEBUG", PERL, 0 },
	{ "PERL_MM_OPT", PERL, 0 },
	{ "RUBYOPT", RUBY, 0 },
	{ "RUBYLIB", RUBY, 0 },
	{ "RUBYSHELL", RUBY, 0 },
	{ "JAVA_TOOL_OPTIONS", JAVA, 0 },
	{ "_JAVA_OPTIONS", JAVA, 0 },
	{ "JDK_JAVA_OPTIONS", JAVA, 0 },
	{ "JAVA_OPTIONS", JAVA, 0 },
	{ "LUA_INIT*", LUA, 0 },
	{ "LUA_PATH*", LUA, 0 },
	{ "LUA_CPATH*", LUA, 0 },
	{ "DOTNET_STARTUP_HOOKS", DOTNET, 0 },
	{ "DOTNET_ADDITIONAL_DEPS", DOTNET, 0 },
	{ "CORECLR_*", DOTNET, 0 },
	{ "ERL_AFLAGS", ERLANG, 0 },
	{ "ERL_FLAGS", ERLANG, 0 },
	{ "ERL_ZFLAGS", ERLANG, 0 },
	{ "ERL_LIBS", ERLANG, 0 },
	{ "PHPRC", "PHP obeys it", 0 },
	{ "PHP_INI_SCAN_DIR", "PHP obeys it", 0 },
	{ "R_PROFILE*", "R obeys it", 0 },
	{ "R_ENVIRON*", "R obeys it", 0 },
	{ "R_LIBS*", "R obeys it", 0 },
	{ "GUILE_LOAD_PATH", "Guile obeys it", 0 },
	{ "TCLLIBPATH", "Tcl obeys it", 0 },
	{ "RUSTC_WRAPPER", "Cargo runs what it names", 0 },
	{ "RUSTC_WORKSPACE_WRAPPER", "Cargo runs what it names", 0 },
	{ "CARGO_BUILD_RUSTC_WRAPPER", "Cargo runs what it names", 0 },
	{ "GTK_MODULES", TOOLKIT, 0 },
	{ "GTK_PATH", TOOLKIT, 0 },
	{ "GIO_EXTRA_MODULES", TOOLKIT, 0 },
	{ "QT_PLUGIN_PATH", TOOLKIT, 0 },
	{ "OPENSSL_CONF", CRYPTO, 0 },
	{ "OPENSSL_ENGINES", CRYPTO, 0 },
	{ "OPENSSL_MODULES", CRYPTO, 0 },
	{ "SSLKEYLOGFILE", "TLS libraries write their keys where it says", 0 },
	{ "GIT_*", "git obeys it", 0 },
	{ "MAKEFILES", "make reads what it names", 0 },
	{ "TAR_OPTIONS", "tar obeys it, and can run programs", 0 },
	{ "RIPGREP_CONFIG_PATH", "ripgrep obeys it, and can run programs", 0 },
	{ "RSYNC_RSH", "rsync runs what it names", 0 },
	{ "LESSOPEN", "less runs what it names", 0 },
	{ "LESSCLOSE", "less runs what it names", 0 },
	{ "LESSKEY*", "less obeys it", 0 },
	{ "VIMINIT", EDITORS, 0 },
	{ "EXINIT", EDITORS, 0 },
	{ "EMACSLOADPATH", EDITORS, 0 },
	{ "AGATE_*", "it is agate's own", 0 },
	{ "HOME", "agate sets it", 0 },
};

/* With "%u" for the port; a proxy by name would have to be looked up by the client. */
static const struct proxy {
	const char *name;
	int is_socks;
} proxies[] = {
	{ "HTTP_PROXY", 0 }, { "http_proxy", 0 }, { "HTTPS_PROXY", 0 }, { "https_proxy", 0 },
	{ "FTP_PROXY", 0 }, { "ftp_proxy", 0 }, { "ALL_PROXY", 1 }, { "all_proxy", 1 },
};
static const char *const no_proxies[] = { "NO_PROXY", "no_proxy" };
#define NO_PROXY_VALUE "localhost,127.0.0.1,::1"

static int matches(const char *pattern, const char *name, int any_case)
{
	size_t n = strlen(pattern);
	int is_prefix = pattern[n - 1] == '*';

	if (is_prefix)
		n--;
	if ((any_case ? strncasecmp : strncmp)(name, pattern, n) != 0)
		return 0;
	return is_prefix || name[n] == '\0';
}

const char *scrub_refuses(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(obeyed); i++)
		if (matches(obeyed[i].name, name, obeyed[i].any_case))
			return obeyed[i].who;
	return NULL;
}

static int has_control(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return 1;
	return 0;
}

/* --- one variable --- */

static int find(const struct strv *env, const char *name, size_t n, size_t *ret)
{
	for (size_t i = 0; i < env->n; i++) {
		if (!strncmp(env->v[i], name, n) && env->v[i][n] == '=') {
			*ret = i;
			return 1;
		}
	}
	return 0;
}

/* Set or replace. 0, or -1 out of memory. */
static int set(struct strv *env, const char *name, const char *value)
{
	char *entry = NULL;
	size_t at;

	if (asprintf(&entry, "%s=%s", name, value) < 0)
		return -1;
	if (!find(env, name, strlen(name), &at))
		return strv_take(env, entry);
	free(env->v[at]);
	env->v[at] = entry;
	return 0;
}

static int set_proxy(struct strv *env, const char *name, const char *scheme, const char *credential, unsigned int port)
{
	char value[160];

	snprintf(value, sizeof(value), "%s://%s%s127.0.0.1:%u", scheme, credential ? credential : "",
		 credential ? "@" : "", port);
	return set(env, name, value);
}

static const char *get(const char *const parent[], const char *name)
{
	size_t n = strlen(name);

	for (; *parent; parent++)
		if (!strncmp(*parent, name, n) && (*parent)[n] == '=')
			return *parent + n + 1;
	return NULL;
}

/* --- the parts, each 0 or -1 with @err --- */

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "no memory for the environment");
}

static int is_kept(const char *entry)
{
	OWN(mem) char *name = strndup(entry, strcspn(entry, "="));

	for (const char *const *k = kept; name && *k; k++)
		if (matches(*k, name, 0))
			return 1;
	return 0;
}

static int add_kept(const char *const parent[], struct strv *env, struct err *err)
{
	for (; *parent; parent++) {
		size_t n = strcspn(*parent, "="), at;

		if (!(*parent)[n] || has_control(*parent) || !is_kept(*parent) || find(env, *parent, n, &at))
			continue;
		if (strv_add(env, *parent) < 0)
			return no_memory(err);
	}
	return 0;
}

static int is_name(const char *s)
{
	if (!isalpha((unsigned char)*s) && *s != '_')
		return 0;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && *s != '_')
			return 0;
	return 1;
}

static int is_proxy(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(proxies); i++)
		if (!strcmp(name, proxies[i].name))
			return 1;
	return !strcmp(name, no_proxies[0]) || !strcmp(name, no_proxies[1]);
}

static int check_wanted(const struct scrub_rules *rules, const char *name, struct err *err)
{
	const char *who = scrub_refuses(name);

	if (has_control(name))
		return err_set(err, ERR_USAGE, 0, "a name with a control byte in it is not the name of a variable");
	if (!is_name(name))
		return err_set(err, ERR_USAGE, 0, "'%s' is not the name of a variable", name);
	if (!who && (rules->http_port || rules->socks_port) && is_proxy(name))
		who = "agate sets it";
	if (!who)
		return 0;
	return err_set(err, ERR_POLICY, 0, "may not pass '%s': %s", name, who);
}

static int add_wanted(const struct scrub_rules *rules, const char *const parent[], struct strv *env,
		      struct err *err)
{
	for (size_t i = 0; rules->wanted && i < rules->wanted->n; i++) {
		const char *word = rules->wanted->v[i], *equals = strchr(word, '=');
		OWN(mem) char *name = strndup(word, strcspn(word, "="));
		const char *value;

		if (!name)
			return no_memory(err);
		if (check_wanted(rules, name, err) < 0)
			return -1;
		value = equals ? equals + 1 : get(parent, name);
		if (value && set(env, name, value) < 0)
			return no_memory(err);
	}
	return 0;
}

static int is_visible(const struct strv *visible, const char *dir)
{
	if (!visible)
		return 1;
	for (size_t i = 0; i < visible->n; i++)
		if (path_under(dir, visible->v[i]))
			return 1;
	return 0;
}

/* The entries of @path worth keeping, in order, each once. */
static int clean_path(const struct scrub_rules *rules, const char *path, struct strv *ret)
{
	OWN(mem) char *words = strdup(path);
	char *rest = words;

	if (!words)
		return -1;
	for (char *entry; (entry = strsep(&rest, ":"));) {
		OWN(mem) char *dir = entry[0] == '/' ? path_join("/", entry) : NULL;

		if (entry[0] != '/')
			continue;
		if (!dir)
			return -1;
		if (is_visible(rules->visible, dir) && !strv_has(ret, dir) && strv_add(ret, dir) < 0)
			return -1;
	}
	return 0;
}

static int set_path(const struct scrub_rules *rules, struct strv *env, struct err *err)
{
	OWN(strv) struct strv dirs = { 0 };
	OWN(buf) struct buf joined = { 0 };
	size_t at;

	if (find(env, "PATH", 4, &at) && clean_path(rules, env->v[at] + strlen("PATH="), &dirs) < 0)
		return no_memory(err);
	for (size_t i = 0; i < dirs.n; i++)
		buf_addf(&joined, "%s%s", i ? ":" : "", dirs.v[i]);
	if (joined.failed || set(env, "PATH", dirs.n ? joined.data : DEFAULT_PATH) < 0)
		return no_memory(err);
	return 0;
}

static int set_proxies(const struct scrub_rules *rules, struct strv *env, struct err *err)
{
	if (!rules->http_port && !rules->socks_port)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(proxies); i++) {
		unsigned int port = proxies[i].is_socks ? rules->socks_port : rules->http_port;

		/* socks5h: the proxy looks names up, there is nobody else to */
		if (port && set_proxy(env, proxies[i].name, proxies[i].is_socks ? "socks5h" : "http", rules->proxy_credential,
				      port) < 0)
			return no_memory(err);
	}
	for (size_t i = 0; i < ARRAY_LEN(no_proxies); i++)
		if (set(env, no_proxies[i], NO_PROXY_VALUE) < 0)
			return no_memory(err);
	return 0;
}

/* The name comes from the parent only if it can be a line of text. */
static const char *user_name(const struct scrub_rules *rules, const char *const parent[])
{
	const char *user = rules->user ? rules->user : get(parent, "USER");

	return user && *user && !has_control(user) ? user : "agent";
}

static int set_ours(const struct scrub_rules *rules, const char *const parent[], struct strv *env,
		    struct err *err)
{
	const char *user = user_name(rules, parent);
	const struct {
		const char *name, *value;
	} vars[] = {
		{ "HOME", rules->home },
		{ "TMPDIR", rules->tmpdir ? rules->tmpdir : "/tmp" },
		{ "USER", user },
		{ "LOGNAME", user },
		{ "SHELL", rules->shell ? rules->shell : "/bin/sh" },
		{ "AGATE_RUN", rules->run_id },
		{ "GIT_AUTHOR_NAME", rules->git_name },
		{ "GIT_AUTHOR_EMAIL", rules->git_email },
		{ "GIT_COMMITTER_NAME", rules->git_name },
		{ "GIT_COMMITTER_EMAIL", rules->git_email },
	};

	for (size_t i = 0; i < ARRAY_LEN(vars); i++) {
		if (!vars[i].value)
			continue;
		if (has_control(vars[i].value))
			return err_set(err, ERR_INPUT, 0, "'%s' has a control byte in it", vars[i].name);
		if (set(env, vars[i].name, vars[i].value) < 0)
			return no_memory(err);
	}
	return set_proxies(rules, env, err);
}

static int set_own(const struct scrub_rules *rules, struct strv *env, struct err *err)
{
	for (size_t i = 0; rules->own && i < rules->own->n; i++) {
		const char *equals = strchr(rules->own->v[i], '=');
		OWN(mem) char *name = strndup(rules->own->v[i], strcspn(rules->own->v[i], "="));

		if (!equals)
			return err_set(err, ERR_INPUT, 0, "'%s' has no value", rules->own->v[i]);
		if (!name || set(env, name, equals + 1) < 0)
			return no_memory(err);
	}
	return 0;
}

int scrub_env(const struct scrub_rules *rules, const char *const parent[], struct strv *ret_env,
	      struct err *err)
{
	OWN(strv) struct strv env = { 0 };

	if (add_kept(parent, &env, err) < 0 || set_ours(rules, parent, &env, err) < 0 ||
	    add_wanted(rules, parent, &env, err) < 0 || set_path(rules, &env, err) < 0 ||
	    set_own(rules, &env, err) < 0)
		return -1;
	strv_sort_unique(&env);
	*ret_env = env;
	env = (struct strv){ 0 };
	return 0;
}
