/*
 * Variables that make programs do things. Most names mean nothing to a program
 * in our tables; those here name programs to run, files to load or write, or
 * configuration that does.
 */
#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include "gates/judge.h"

struct hazard {
	const char *pattern;
	const char *what;	/* continues "'NAME' " */
};

static const struct hazard hazards[] = {
	{ "PATH", "decides which programs the names stand for" },
	{ "LD_*", "loads code into every program" },
	{ "DYLD_*", "loads code into every program" },
	{ "GCONV_PATH", "loads code into programs" },
	{ "GLIBC_TUNABLES", "changes how programs run" },
	{ "LOCPATH", "names files that programs load" },
	{ "NLSPATH", "names files that programs load" },
	{ "MALLOC_TRACE", "names a file that is written" },
	{ "BASH_ENV", "names a script that shells run" },
	{ "ENV", "names a script that shells run" },
	{ "SHELLOPTS", "changes how shells read lines" },
	{ "BASHOPTS", "changes how shells read lines" },
	{ "BASH_FUNC_*", "defines shell functions" },
	{ "PROMPT_COMMAND", "is run by shells" },
	{ "BASH_CMDS", "decides which programs the names stand for" },
	{ "BASH_ALIASES", "decides what names stand for" },
	{ "PS[0-4]", "is expanded by shells, which can run commands" },
	{ "IFS", "changes how words are split" },
	{ "GLOBIGNORE", "changes what patterns name" },
	{ "CDPATH", "changes what cd means" },
	{ "HISTFILE", "names a file that is written" },
	{ "HOME", "changes whose configuration programs obey" },
	{ "XDG_*", "changes whose configuration programs obey" },
	{ "TMPDIR", "names where programs write" },
	{ "GIT_*", "changes what git runs, reads or writes" },
	{ "SSH_*", "names programs that are run" },
	{ "*PAGER", "names a program that is run" },
	{ "*EDITOR", "names a program that is run" },
	{ "VISUAL", "names a program that is run" },
	{ "BROWSER", "names a program that is run" },
	{ "SHELL", "names a program that is run" },
	{ "LESS*", "can name programs and files for less" },
	{ "MAN*", "names programs that man runs" },
	{ "MAGIC", "names a file that file(1) obeys" },
	{ "GREP_OPTIONS", "holds options" },
	{ "RIPGREP_CONFIG_PATH", "names options, which can run programs" },
	{ "FD_*", "holds options" },
	{ "FZF_*", "holds options and commands" },
	{ "BAT_*", "holds options and commands" },
	{ "TAR_OPTIONS", "holds options, which can run programs" },
	{ "GZIP", "holds options" },
	{ "BZIP*", "holds options" },
	{ "XZ_*", "holds options" },
	{ "ZSTD_*", "holds options" },
	{ "UNZIP*", "holds options" },
	{ "ZIP*", "holds options" },
	{ "RSYNC_*", "names programs that are run" },
	{ "AWKPATH", "names code that awk loads" },
	{ "AWKLIBPATH", "names code that awk loads" },
	{ "GAWK_*", "changes what awk does" },
	{ "PYTHON*", "names code that Python loads" },
	{ "NODE_*", "names code that Node loads" },
	{ "PERL*", "names code that Perl loads" },
	{ "RUBY*", "names code that Ruby loads" },
	{ "GEM_*", "names code that Ruby loads" },
	{ "BUNDLE_*", "names code that Ruby loads" },
	{ "PHP*", "names code that PHP loads" },
	{ "JAVA*", "names code that Java loads" },
	{ "_JAVA_*", "names code that Java loads" },
	{ "JDK_*", "names code that Java loads" },
	{ "CLASSPATH", "names code that Java loads" },
	{ "LUA_*", "names code that Lua loads" },
	{ "R_*", "names code that R loads" },
	{ "RUSTC*", "names programs that cargo runs" },
	{ "RUSTUP_*", "names programs that are run" },
	{ "RUSTFLAGS", "names programs that are run" },
	{ "CARGO*", "names programs that cargo runs" },
	{ "GO*", "names programs and flags that go uses" },
	{ "CC", "names a program that is run" },
	{ "CXX", "names a program that is run" },
	{ "C_INCLUDE_PATH", "names files the compiler reads" },
	{ "COMPILER_PATH", "names programs the compiler runs" },
	{ "GETCONF_DIR", "names programs that are run" },
	{ "GROFF_*", "names programs that man runs" },
	{ "TROFF*", "names programs that man runs" },
	{ "TAPE", "names the archive that tar reads" },
	{ "DEBUGINFOD_*", "has programs ask the network" },
	{ "GCC_*", "names programs the compiler runs" },
	{ "MAKE*", "holds options for make" },
	{ "GNUMAKEFLAGS", "holds options for make" },
	{ "npm_*", "configures npm" },
	{ "NPM_*", "configures npm" },
	{ "YARN_*", "configures yarn" },
	{ "PIP_*", "configures pip" },
	{ "UV_*", "configures uv" },
	{ "DOCKER_*", "names the daemon that docker asks" },
	{ "KUBECONFIG", "names programs that kubectl runs" },
	{ "KUBE_*", "names programs that kubectl runs" },
	{ "TF_*", "configures terraform" },
	{ "AWS_*", "names programs and credentials" },
	{ "GH_*", "names the host that gh asks" },
	{ "GITHUB_*", "names the host that gh asks" },
	{ "OPENSSL_*", "names code that OpenSSL loads" },
	{ "CURL_*", "configures curl" },
	{ "*_proxy", "changes whom programs ask" },
	{ "*_PROXY", "changes whom programs ask" },
	{ "SQLITE_*", "configures sqlite" },
	{ "PSQL*", "configures psql" },
	{ "JQ_*", "configures jq" },
	{ "TERMINFO*", "names files that programs load" },
	{ "TERMCAP", "names files that programs load" },
	{ "SYSTEMD_*", "configures systemd's programs" },
	{ "DBUS_*", "names whom programs ask" },
	{ "DISPLAY", "names whom programs ask" },
	{ "POSIXLY_CORRECT", "changes how options are read" },
	{ "FUNCNEST", "changes how shells run" },
	{ "TMOUT", "changes how shells run" },
	{ "EXECIGNORE", "changes which programs the names stand for" },
};

/* The same names with values that only take something away. */
static const struct {
	const char *name, *values;
} harmless_values[] = {
	{ "PAGER", " cat less more " },		{ "GIT_PAGER", " cat less more " },
	{ "MANPAGER", " cat less " },		{ "BAT_PAGER", " cat less " },
	{ "GH_PAGER", " cat less " },		{ "GIT_OPTIONAL_LOCKS", " 0 " },
	{ "GIT_TERMINAL_PROMPT", " 0 " },	{ "GIT_ADVICE", " 0 " },
	{ "GIT_NO_LAZY_FETCH", " 1 " },		{ "GIT_FLUSH", " 0 1 " },
	{ "GIT_LITERAL_PATHSPECS", " 0 1 " },	{ "GIT_NO_REPLACE_OBJECTS", " 1 " },
	{ "GIT_CONFIG_NOSYSTEM", " 1 " },	{ "GIT_CONFIG_GLOBAL", " /dev/null " },
	{ "GIT_CONFIG_SYSTEM", " /dev/null " }, { "GIT_EDITOR", " true : " },
	{ "EDITOR", " true : " },		{ "PYTHONUNBUFFERED", " 1 " },
	{ "PYTHONDONTWRITEBYTECODE", " 1 " },	{ "PYTHONIOENCODING", " utf-8 utf8 " },
	{ "PYTHONUTF8", " 1 " },		{ "NODE_ENV", " production development test " },
	{ "LESS", " F R X FRX -F -R -X -FRX -FR -R " },
	{ "LESSOPEN", "  " },			{ "NPM_CONFIG_LOGLEVEL", " error silent warn " },
	{ "MANWIDTH", " 80 100 120 " },
};

static bool is_harmless_value(const char *name, const struct arg *value)
{
	const char *padded;

	if (!value->is_known)
		return false;
	/* Other separators: words that are known are then taken for unknown where they are split. */
	if (!strcmp(name, "IFS"))
		return strspn(value->text, "\n\t,:;| ") == strlen(value->text);
	padded = value->text[0] ? value->text : "";
	for (size_t i = 0; i < sizeof(harmless_values) / sizeof(harmless_values[0]); i++) {
		const char *hit;

		if (strcmp(harmless_values[i].name, name))
			continue;
		if (!*padded)
			return true;
		hit = strstr(harmless_values[i].values, padded);
		return hit && hit[-1] == ' ' && hit[strlen(padded)] == ' ';
	}
	return false;
}

/* Names that any program may be told, in front of a command. */
static const char *const free_names[] = {
	"NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "COLORTERM", "TERM", "LANG", "LANGUAGE",
	"LC_*",
	"TZ", "COLUMNS", "LINES", "CI", "DEBUG", "VERBOSE", "LS_COLORS", "GREP_COLOR", "GREP_COLORS",
	"TIME_STYLE",
	"BLOCKSIZE", "BLOCK_SIZE", "QUOTING_STYLE", "TIMEFORMAT", "USER", "LOGNAME", "DEBIAN_FRONTEND", NULL
};

static bool is_free_name(const char *name)
{
	for (const char *const *n = free_names; *n; n++)
		if (!fnmatch(*n, name, 0))
			return true;
	return false;
}

/* Hooks are what a repository checks commits with; leaving them out is for a person to say. */
static bool skips_hooks(const struct arg *value)
{
	return value->is_known && strcasestr(value->text, "core.hookspath");
}

/* Programs that manage hooks, and what has them run none. */
static bool switches_hooks_off(const char *name, const char *value)
{
	return *value && ((!strcmp(name, "HUSKY") && !strcmp(value, "0")) || (!strcmp(name, "LEFTHOOK") && strchr("0f", *value)) ||
			  !strcmp(name, "HUSKY_SKIP_HOOKS") || !strcmp(name, "PRE_COMMIT_ALLOW_NO_CONFIG"));
}

void env_assign(struct judge *j, const char *name, const struct arg *value)
{
	if (!strncmp(name, "GIT_CONFIG", 10) && skips_hooks(value))
		judge_note(j, value, EFFECT_GIT_COMMIT, PLACE_NONE, name, ASKS, "hooks",
			   "'%s' leaves out the hooks", name);
	if (value->is_known && switches_hooks_off(name, value->text))
		judge_note(j, value, EFFECT_GIT_COMMIT, PLACE_NONE, name, ASKS, "hooks", "'%s' leaves out the hooks", name);
	if (is_free_name(name) || is_harmless_value(name, value))
		return;
	for (size_t i = 0; i < sizeof(hazards) / sizeof(hazards[0]); i++) {
		if (!fnmatch(hazards[i].pattern, name, 0)) {
			judge_note(j, value, EFFECT_PROCESS_SPAWN, PLACE_NONE, name, CHANGES, "environment",
				   "'%s' %s", name, hazards[i].what);
			return;
		}
	}
}

/* Where a mode only looks, git's variables switch off what a repository would have it run. */
void env_gone(struct judge *j, const struct arg *name)
{
	if (!name->is_known || !strncmp(name->text, "GIT_", 4))
		j->sh.is_stripped = true;
}
