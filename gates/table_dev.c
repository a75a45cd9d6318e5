/*
 * Compilers, interpreters, build tools and package managers. Most run code of
 * the project, which is not looked into; the rows single out what installs,
 * what publishes, and the few forms that only tell something.
 */
#include <string.h>

#include "gates/options.h"

#define RUNS_CODE .class = EFFECT_PROCESS_SPAWN, .weight = CHANGES, .why = "runs code that is not looked into"

static bool has_word(const struct parsed *p, const char *word)
{
	for (size_t i = 0; i < p->operands.n; i++)
		if (arg_is(&p->operands.v[i], word))
			return true;
	return false;
}

static void note_code(struct judge *j, const struct parsed *p)
{
	judge_note(j, p->name, EFFECT_PROCESS_SPAWN, PLACE_NONE, p->who, CHANGES, "code",
		   "'%s' runs code that is not looked into", p->who);
}

/* --- compilers --- */

static bool is_compiler_query(const char *s)
{
	static const char *const queries[] = {
		"-v", "-dumpversion", "-dumpfullversion", "-dumpmachine", "-dumpspecs", "-print-", "--print-",
		"--target-help", "-###", NULL
	};

	for (const char *const *q = queries; *q; q++)
		if (!strncmp(s, *q, (*q)[strlen(*q) - 1] == '-' ? strlen(*q) : strlen(*q) + 1))
			return true;
	return false;
}

/* Options that load code, or name programs, into the compiler. */
static bool is_compiler_hook(const char *s)
{
	return !strncmp(s, "-fplugin", 8) || !strncmp(s, "-wrapper", 8) || !strncmp(s, "-specs", 6) ||
	       !strncmp(s, "--specs", 7) || !strncmp(s, "-B", 2) || s[0] == '@' || !strcmp(s, "-load") ||
	       !strcmp(s, "-Xclang") || !strncmp(s, "-o", 2) || !strncmp(s, "-MF", 3) || !strcmp(s, "-MD") ||
	       !strcmp(s, "-MMD") || !strncmp(s, "-save-temps", 11) || !strncmp(s, "-fdump", 6) ||
	       !strncmp(s, "-dump", 5) || !strncmp(s, "--output", 8) || !strncmp(s, "-fcallgraph", 11) ||
	       !strncmp(s, "-aux-info", 9) || !strncmp(s, "-fprofile", 9) || s[0] == PLACE_HOLE;
}

static void check_compiler(struct judge *j, struct parsed *p)
{
	bool only_looks =
		has_word(p, "-fsyntax-only") || has_word(p, "-E") || has_word(p, "-M") || has_word(p, "-MM");
	bool only_asks = p->operands.n > 0;

	for (size_t i = 0; i < p->operands.n; i++)
		only_asks &= is_compiler_query(p->operands.v[i].text);
	if (only_asks)
		return;
	for (size_t i = 0; i < p->operands.n; i++)
		only_looks &= !is_compiler_hook(p->operands.v[i].text);
	for (size_t i = 0; only_looks && i < p->operands.n; i++)
		if (p->operands.v[i].text[0] != '-')
			judge_path(j, p->who, &p->operands.v[i], USE_READ);
	for (size_t i = 0; !only_looks && i + 1 < p->operands.n; i++)
		if (arg_is(&p->operands.v[i], "-o"))
			judge_path(j, p->who, &p->operands.v[i + 1], USE_WRITE);
	if (!only_looks)
		judge_note(j, p->name, EFFECT_WORKSPACE_MUTATION, PLACE_INSIDE, p->who, CHANGES, "write",
			   "'%s' writes files", p->who);
}

/* --- interpreters --- */

/* Their ways to only tell a version or check syntax. */
static const struct {
	const char *who, *words;
} harmless_calls[] = {
	{ "python", " -V -VV " }, { "python3", " -V -VV " }, { "python2", " -V " }, { "node", " -v " },
	    { "nodejs", " -v " },
	{ "ruby", " -v " }, { "perl", " -v -V " }, { "php", " -v -m -i " }, { "java",
		" -version -showversion " },
	{ "javac", " -version " }, { "lua", " -v " }, { "deno", " -V " }, { "bun", " -v " }, { "rustc",
	    " -V -vV " },
	{ "npm", " -v root prefix run " }, { "yarn", " -v " }, { "pnpm", " -v root run " }, { "cargo", " -V -vV --list " },
	    { "make", " -v " },
	{ "cmake", " -version " }, { "gradle", " -v " }, { "mvn", " -v " }, { "tsc", " -v " }, { "go",
	    " version env " },
	{ "pip", " -V list freeze " }, { "pip3", " -V list freeze " }, { "gem", " -v list env " },
	    { "rustup", " show " },
	{ "pyenv", " versions version root " }, { "conda", " info list " }, { "dotnet", " --info " },
	    { "poetry", " -V " },
	{ "uv", " -V " }, { "kubectl", "  " }, { "ninja", "  " }, { "swift", "  " }, { "ghc", "  " },
	    { "opam", "  " },
};

static bool is_harmless_call(const struct parsed *p)
{
	/* "rustc --version --verbose" */
	if (p->operands.n == 2 && arg_is(&p->operands.v[0], "--version") &&
	    arg_is(&p->operands.v[1], "--verbose"))
		return true;
	if (p->operands.n != 1 || !p->operands.v[0].is_known || !p->operands.v[0].text[0])
		return false;
	for (size_t i = 0; i < sizeof(harmless_calls) / sizeof(harmless_calls[0]); i++) {
		const char *hit;
		size_t n = strlen(p->operands.v[0].text);

		if (strcmp(harmless_calls[i].who, p->who))
			continue;
		hit = strstr(harmless_calls[i].words, p->operands.v[0].text);
		return hit && hit[-1] == ' ' && hit[n] == ' ';
	}
	return false;
}

/* "python -m pip install x" is pip's business. */
static bool run_module(struct judge *j, const struct parsed *p)
{
	struct args rest;

	if (strncmp(p->who, "python", 6) || p->operands.n < 2 || !arg_is(&p->operands.v[0], "-m"))
		return false;
	if (!arg_is(&p->operands.v[1], "pip"))
		return false;
	rest = args_from(&p->operands, 1);
	run_argv(j, &rest);
	return true;
}

/* Checks of syntax alone. */
static bool checks_syntax(struct judge *j, const struct parsed *p)
{
	bool is_node = !strcmp(p->who, "node") && p->operands.n == 2 &&
		       (arg_is(&p->operands.v[0], "--check") || arg_is(&p->operands.v[0], "-c"));
	bool is_php = !strcmp(p->who, "php") && p->operands.n == 2 && arg_is(&p->operands.v[0], "-l");

	if (is_node || is_php)
		judge_path(j, p->who, &p->operands.v[1], USE_READ);
	return is_node || is_php;
}

static void check_interpreter(struct judge *j, struct parsed *p)
{
	if (is_harmless_call(p) || checks_syntax(j, p))
		return;
	run_module(j, p);
	/* "curl ... | python3 -" */
	if (j->sh.feed == FEED_NETWORK && (!p->operands.n || arg_is(&p->operands.v[0], "-")))
		judge_code(j, p->who, p->name, NULL, "");
	note_code(j, p);
}

/* --- package managers: the first word that is no option says what is done --- */

struct verb {
	const char *who;	/* blank-separated programs */
	const char *verbs;
	enum effect_class class;
	enum weight weight;
	const char *why;
};

static const struct verb verbs[] = {
	/* the lists of the modes: asked for in chat */
	{ "npm", "install i in ins inst insta instal isnt isnta isntal add", EFFECT_PACKAGE_INSTALL, ASKS,
	    "installs packages" },
	{ "npm pnpm yarn bun lerna vsce", "publish unpublish deprecate", EFFECT_VENDOR_SYNC_WRITE, ASKS,
		"publishes a package" },
	{ "npm", "login adduser logout token owner access dist-tag team org hook profile",
	    EFFECT_VENDOR_SYNC_WRITE, ASKS,
	  "changes an account or a package at the registry" },
	{ "pip pip3 pipx", "install", EFFECT_PACKAGE_INSTALL, ASKS, "installs packages" },
	{ "cargo", "add install", EFFECT_PACKAGE_INSTALL, ASKS, "installs packages" },
	{ "bun", "add", EFFECT_PACKAGE_INSTALL, ASKS, "installs packages" },
	{ "cargo", "publish yank owner login", EFFECT_VENDOR_SYNC_WRITE, ASKS, "publishes a package" },
	{ "twine", "upload register", EFFECT_VENDOR_SYNC_WRITE, ASKS, "publishes a package" },
	{ "gem", "push yank owner signin", EFFECT_VENDOR_SYNC_WRITE, ASKS, "publishes a package" },
	{ "poetry uv flit hatch pdm dart flutter mix rebar3 sbt cabal stack", "publish upload hex.publish",
	    EFFECT_VENDOR_SYNC_WRITE, ASKS,
	  "publishes a package" },
	{ "dotnet nuget", "push", EFFECT_VENDOR_SYNC_WRITE, ASKS, "publishes a package" },

	/* the same class, allowed where the sandbox holds */
	{ "npm", "ci uninstall remove rm un update up upgrade dedupe link prune rebuild audit "
		"install-test it cit", EFFECT_PACKAGE_INSTALL,
	  CHANGES, "changes packages" },
	{ "pnpm yarn bun", "add install i ci remove update up upgrade link import dlx x",
	    EFFECT_PACKAGE_INSTALL, CHANGES,
	  "changes packages" },
	{ "pip pip3 pipx", "uninstall download wheel upgrade inject run", EFFECT_PACKAGE_INSTALL, CHANGES,
	    "changes packages" },
	{ "uv poetry pdm pipenv hatch conda mamba micromamba", "add install sync remove update lock pip "
		"venv create env tool",
	  EFFECT_PACKAGE_INSTALL, CHANGES, "changes packages" },
	{ "cargo", "update fetch remove rm vendor uninstall generate-lockfile", EFFECT_PACKAGE_INSTALL,
	    CHANGES, "changes packages" },
	{ "go", "get install", EFFECT_PACKAGE_INSTALL, CHANGES, "installs packages" },
	{ "gem bundle bundler composer dart flutter brew apt apt-get aptitude yum dnf zypper pacman apk "
		"port nix nix-env nix-shell opam cpan cpanm luarocks snap flatpak choco winget scoop "
		"rustup pyenv nvm asdf mise sdk volta corepack",
	  "install add update upgrade remove uninstall purge autoremove get pub global local use require "
		"-S -Syu -i", EFFECT_PACKAGE_INSTALL,
	  CHANGES, "changes packages" },

	/* what only tells something */
	{ "npm", "ls list ll la explain why help help-search", EFFECT_FILE_READ, HARMLESS, "" },
	{ "pip pip3", "list freeze show", EFFECT_FILE_READ, HARMLESS, "" },
	{ "gem", "list which contents", EFFECT_FILE_READ, HARMLESS, "" },
	{ "rustup", "show", EFFECT_FILE_READ, HARMLESS, "" },
	{ "dpkg", "-l -L -s -S --list --listfiles --status --search --print-architecture", EFFECT_FILE_READ,
	    HARMLESS, "" },
	{ "dpkg-query", "-l -L -s -S -W -f --list --listfiles --status --search --show", EFFECT_FILE_READ,
	    HARMLESS, "" },
	{ "apt", "list show search policy", EFFECT_FILE_READ, HARMLESS, "" },
	{ "apt-cache", "show search policy depends rdepends pkgnames showpkg madison stats",
	    EFFECT_FILE_READ, HARMLESS, "" },
	{ "rpm", "-q -qa -ql -qi -qf", EFFECT_FILE_READ, HARMLESS, "" },
};

static bool in_words(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; n && (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
			return true;
	return false;
}

/* The word that says what is done; options before it may take a value we do not know of. */
static const struct verb *find_verb(const struct parsed *p, const struct arg **ret_at)
{
	for (size_t i = 0; i < p->operands.n && i < 4; i++) {
		const struct arg *a = &p->operands.v[i];

		for (size_t v = 0; v < sizeof(verbs) / sizeof(verbs[0]); v++) {
			if (!a->is_known || !in_words(verbs[v].who, p->who) ||
			    !in_words(verbs[v].verbs, a->text))
				continue;
			*ret_at = a;
			/* Behind an option the word could be its value: then only a change counts. */
			if (!i || verbs[v].weight != HARMLESS)
				return &verbs[v];
		}
		if (a->text[0] != '-' && !(i && p->operands.v[i - 1].text[0] == '-'))
			return NULL;
	}
	return NULL;
}

static void check_manager(struct judge *j, struct parsed *p)
{
	const struct arg *at = p->name;
	const struct verb *v;

	if (is_harmless_call(p))
		return;
	v = find_verb(p, &at);
	if (v && v->weight == HARMLESS)
		return;
	if (v)
		judge_note(j, at, v->class, PLACE_NONE, p->who, v->weight,
			   v->weight == ASKS ? "ask list" : "effect", "'%s %s' %s", p->who, at->text, v->why);
	else
		note_code(j, p);
}

/* Options of go that write or run: "go env -w", "go vet -vettool". */
static void check_go(struct judge *j, struct parsed *p)
{
	const char *verb = p->operands.n ? p->operands.v[0].text : "";
	bool tells = !strcmp(verb, "version") || !strcmp(verb, "env") || !strcmp(verb, "doc") ||
		     !strcmp(verb, "help");

	for (size_t i = 1; i < p->operands.n; i++)
		if (!strncmp(p->operands.v[i].text, "-w", 2) || !strncmp(p->operands.v[i].text, "-u", 2) ||
		    p->operands.v[i].text[0] == PLACE_HOLE)
			tells = false;
	if (!tells)
		check_manager(j, p);
}

const struct program table_dev[] = {
	{ .name = "gcc|g++|cc|c++|cpp|clang|clang++|tcc|gfortran|c99|c89|clang-cpp",
	    .check = check_compiler },
	{ .name = "as|ld|ld.lld|gold|lld|rustc|javac|kotlinc|scalac|ghc|swiftc|zig|nasm|yasm|dmd|ldc2|fpc|"
		"ocamlc|ocamlopt|nim|crystal|v|vala|valac|protoc|bison|yacc|flex|lex|tsc|esbuild|swc|sass|"
		"lessc|postcss|babel|pandoc|latex|pdflatex|xelatex|lualatex|latexmk|bibtex|dot|plantuml|"
		"convert|magick|ffmpeg|gs|inkscape|doxygen|sphinx-build|mkdocs|hugo|jekyll|asciidoctor|"
		"goimports|rustfmt|clang-tidy|prettier|eslint|stylelint|black|ruff|"
		"isort|autopep8|yapf|flake8|pylint|mypy|pyright|bandit|shfmt|hadolint|yamllint|"
		"markdownlint|rubocop|standard|biome|dprint|taplo|golangci-lint|staticcheck|cppcheck|"
		"pre-commit|semgrep|codespell|vale|actionlint|gitleaks|trivy|jest|vitest|mocha|ava|karma|"
		"cypress|playwright|puppeteer|pytest|py.test|nose2|tox|nox|coverage|rspec|phpunit|ctest|"
		"bats|nyc|c8|tap|wdio|webpack|vite|rollup|parcel|next|nuxt|ng|vue|react-scripts|"
		"svelte-kit|astro|gatsby|storybook|turbo|nx|lerna|rush|gulp|grunt|nodemon|pm2-dev|"
		"concurrently|serve|http-server|live-server|django-admin|flask|uvicorn|gunicorn|celery|"
		"alembic|rails|rake|puma|sidekiq|artisan|symfony|jupyter|ipython|streamlit|gcov|lcov|"
		"genhtml|gprof|xcodebuild|xcrun|pod|fastlane|adb|gradlew|mvnw",
	  .check = check_manager },
	{ .name = "make|gmake|bmake|nmake|cmake|ninja|meson|bazel|bazelisk|buck|buck2|pants|scons|waf|"
		"autoconf|automake|autoreconf|configure|libtool|premake5|xmake|just|task|invoke|fab|ant|"
		"mvn|gradle|sbt|mill|lein|clj|clojure|boot|rebar3|mix|dune|cabal|stack|swift|msbuild|"
		"earthly|dagger|act|devbox|direnv|tilt|colcon|west|idf.py|platformio|pio|arduino-cli",
	  .check = check_manager },
	{ .name = "python|python2|python3|python3.9|python3.10|python3.11|python3.12|python3.13|pypy|"
		"pypy3|node|nodejs|deno|ts-node|tsx|perl|ruby|irb|php|lua|luajit|lua5.4|tclsh|wish|expect|"
		"java|jshell|scala|kotlin|groovy|julia|R|Rscript|octave|guile|racket|sbcl|clisp|gforth|"
		"swipl|erl|elixir|iex|ghci|runghc|ocaml|dart|mono|osascript|wasmtime|wasmer|gst|bpython|"
		"ptpython|hy|raku|awk-code|gnuplot|maxima|sage",
	  .check = check_interpreter },
	{ .name = "npm|npx|pnpm|pnpx|yarn|bun|bunx|pip|pip3|pipx|uv|uvx|poetry|pdm|pipenv|hatch|flit|"
		"twine|conda|mamba|micromamba|cargo|rustup|gem|bundle|bundler|composer|flutter|dotnet|"
		"nuget|brew|apt|apt-get|apt-cache|aptitude|dpkg|dpkg-query|dpkg-deb|yum|dnf|rpm|zypper|"
		"pacman|apk|port|nix|nix-env|nix-shell|nix-build|opam|cpan|cpanm|luarocks|choco|winget|"
		"scoop|pyenv|nvm|asdf|mise|sdk|volta|corepack|fnm|rbenv|nodenv|goenv|vsce|ovsx|virtualenv|"
		"easy_install",
	  .check = check_manager },
	{ .name = "go", .check = check_go },
	{ .name = "claude|codex|gemini|aider|opencode|goose|cursor-agent|copilot|ollama|llm|agate",
	    RUNS_CODE },
	{ 0 }
};
