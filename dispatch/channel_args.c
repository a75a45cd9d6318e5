#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "dispatch/channel_args.h"

enum takes {
	NONE,
	ONE,
	MAYBE,		/* the next word, unless it is an option */
	MANY,		/* all words up to the next option */
};

/* What agate does with it, where it does not hand it on. */
enum fate { PASSED, TAKEN, REFUSED };

struct arg_option {
	const char *names;	/* "-p --print" */
	enum takes takes;
	enum fate fate;
	const char *why;	/* of REFUSED */
};

#define ELSEWHERE "it moves the session out of this run"
#define ANSWERED "agate itself speaks with claude here"

/* The options of 2.1.332, hidden ones too. What switches mediation off the seam refuses before. */
static const struct arg_option options[] = {
	{ "-p --print", NONE, TAKEN, NULL },
	{ "--output-format", ONE, TAKEN, NULL },
	{ "--input-format", ONE, TAKEN, NULL },
	{ "--verbose", NONE, TAKEN, NULL },
	{ "--setting-sources", ONE, PASSED, NULL },
	{ "--strict-mcp-config", NONE, PASSED, NULL },
	{ "--mcp-config", MANY, PASSED, NULL },
	{ "--add-dir", MANY, PASSED, NULL },
	{ "--agent", ONE, PASSED, NULL },
	{ "--agents", ONE, PASSED, NULL },
	{ "--allowedTools --allowed-tools", MANY, PASSED, NULL },
	{ "--disallowedTools --disallowed-tools", MANY, PASSED, NULL },
	{ "--tools", MANY, PASSED, NULL },
	{ "--append-system-prompt", ONE, PASSED, NULL },
	{ "--append-system-prompt-file", ONE, PASSED, NULL },
	{ "--system-prompt", ONE, PASSED, NULL },
	{ "--system-prompt-file", ONE, PASSED, NULL },
	{ "--system-prompt-snapshot", ONE, PASSED, NULL },
	{ "--exclude-dynamic-system-prompt-sections", NONE, PASSED, NULL },
	{ "--autocompact", ONE, PASSED, NULL },
	{ "--betas", MANY, PASSED, NULL },
	{ "--brief", NONE, PASSED, NULL },
	{ "--no-chrome", NONE, PASSED, NULL },
	{ "-c --continue", NONE, PASSED, NULL },
	{ "-r --resume", MAYBE, PASSED, NULL },
	{ "--fork-session", NONE, PASSED, NULL },
	{ "--session-id", ONE, PASSED, NULL },
	{ "--no-session-persistence", NONE, PASSED, NULL },
	{ "-n --name", ONE, PASSED, NULL },
	{ "-d --debug", MAYBE, PASSED, NULL },
	{ "--debug-file", ONE, PASSED, NULL },
	{ "--disable-slash-commands", NONE, PASSED, NULL },
	{ "--effort", ONE, PASSED, NULL },
	{ "--model", ONE, PASSED, NULL },
	{ "--fallback-model", ONE, PASSED, NULL },
	{ "--file", MANY, PASSED, NULL },
	{ "--forward-subagent-text", NONE, PASSED, NULL },
	{ "--include-hook-events", NONE, PASSED, NULL },
	{ "--include-partial-messages", NONE, PASSED, NULL },
	{ "--json-schema", ONE, PASSED, NULL },
	{ "--max-budget-usd", ONE, PASSED, NULL },
	{ "--max-turns", ONE, PASSED, NULL },
	{ "--prompt-suggestions", MAYBE, PASSED, NULL },
	{ "--restricted", NONE, PASSED, NULL },
	{ "--ax-screen-reader", NONE, PASSED, NULL },
	{ "--replay-user-messages", NONE, REFUSED, ANSWERED },
	{ "--bg --background", NONE, REFUSED, ELSEWHERE },
	{ "--cloud", MAYBE, REFUSED, ELSEWHERE },
	{ "--desktop", NONE, REFUSED, ELSEWHERE },
	{ "--environment", ONE, REFUSED, ELSEWHERE },
	{ "--from-pr", MAYBE, REFUSED, ELSEWHERE },
	{ "--remote-control", MAYBE, REFUSED, ELSEWHERE },
	{ "--remote-control-session-name-prefix", ONE, REFUSED, ELSEWHERE },
	{ "--teleport", MAYBE, REFUSED, ELSEWHERE },
	{ "--tmux", MAYBE, REFUSED, ELSEWHERE },
	{ "-w --worktree", MAYBE, REFUSED, "the run has a workspace of its own already" },
};

/* Words that name a command of claude's own where a prompt would stand. */
static const char *const commands[] = {
	"agents", "attach", "auth", "auto-mode", "doctor", "gateway", "import", "install", "logs", "mcp", "plugin",
	"plugins", "purge", "respawn", "rm", "setup-token", "stop", "kill", "ultrareview", "update", "upgrade",
};

static const char *const format_words[CHANNEL_FORMAT_NUM] = { "text", "json", "stream-json" };

static const struct arg_option *find(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		for (const char *p = options[i].names; *p; p += strspn(p, " ")) {
			size_t n = strcspn(p, " ");

			if (n == len && !memcmp(p, word, n))
				return &options[i];
			p += n;
		}
	return NULL;
}

static int is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

/* A word at a time; @values counts the words behind an option that belong to it. */
struct words {
	const char *const *argv;
	const struct arg_option *option;
	const char *glued;		/* behind "=" or, of a short option, the letter; NULL: none */
	size_t values;
};

static int read_option(struct words *w, struct err *err)
{
	const char *word = w->argv[0], *equals = word[1] == '-' ? strchr(word, '=') : NULL;
	size_t len = equals ? (size_t)(equals - word) : strlen(word);

	w->option = find(word, len);
	w->glued = equals ? equals + 1 : NULL;
	if (!w->option && word[1] != '-' && len > 2) {
		/* "-rID": a letter and its value; "-pc" is several letters, which nobody needs */
		w->option = find(word, 2);
		w->glued = w->option && w->option->takes != NONE ? word + 2 : NULL;
		w->option = w->glued ? w->option : NULL;
	}
	if (!w->option) {
		err_set(err, ERR_POLICY, 0, "claude may not be given '%s': agate does not know what it does", word);
		return err_hint(err, "options of claude up to 2.1.332 are known");
	}
	if (w->option->fate == REFUSED)
		return err_set(err, ERR_POLICY, 0, "claude may not be given '%s': %s", word, w->option->why);
	w->values = 0;
	if (w->option->takes == ONE && !w->glued)
		w->values = 1;
	if (w->option->takes == MAYBE && !w->glued && w->argv[1] && !is_option(w->argv[1]))
		w->values = 1;
	if (w->option->takes == MANY)
		while (w->argv[1 + w->values] && !is_option(w->argv[1 + w->values]))
			w->values++;
	if (w->option->takes == ONE && !w->glued && !w->argv[1])
		return err_set(err, ERR_USAGE, 0, "claude's option '%s' needs a value", word);
	return 0;
}

static int is_called(const struct words *w, const char *name)
{
	return w->option == find(name, strlen(name));
}

static int take(struct channel_ask *ask, const struct words *w, struct err *err)
{
	const char *value = w->glued ? w->glued : w->argv[1];

	if (is_called(w, "--print"))
		ask->is_print = 1;
	if (is_called(w, "--verbose"))
		ask->verbose = 1;
	if (is_called(w, "--input-format") && strcmp(value, "text") != 0)
		return err_set(err, ERR_POLICY, 0, "claude may not be given '--input-format %s': %s", value, ANSWERED);
	if (!is_called(w, "--output-format"))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(format_words); i++)
		if (!strcmp(value, format_words[i])) {
			ask->format = (enum channel_format)i;
			return 0;
		}
	return err_set(err, ERR_USAGE, 0, "claude has no output format '%s'", value);
}

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* As claude has it, the first operand is the prompt and further ones are nothing. */
static int add_operand(struct channel_ask *ask, const char *word, struct err *err)
{
	if (ask->prompt)
		return 0;
	ask->prompt = strdup(word);
	return ask->prompt ? 0 : no_memory(err);
}

static int read_words(const char *const argv[], struct channel_ask *ask, struct err *err)
{
	struct words w = { .argv = argv };
	int is_over = 0;

	for (; *w.argv; w.argv++) {
		if (!is_over && !strcmp(*w.argv, "--")) {
			is_over = 1;
			continue;
		}
		if (is_over || !is_option(*w.argv)) {
			if (add_operand(ask, *w.argv, err) < 0)
				return -1;
			continue;
		}
		if (read_option(&w, err) < 0)
			return -1;
		if (w.option->fate == TAKEN && take(ask, &w, err) < 0)
			return -1;
		if (is_called(&w, "--mcp-config"))
			ask->has_servers = 1;
		for (size_t i = 0; w.option->fate == PASSED && i <= w.values; i++)
			if (strv_add(&ask->rest, w.argv[i]) < 0)
				return no_memory(err);
		w.argv += w.values;
	}
	return 0;
}

/* Is there a "-p", be it in a cluster of letters or as another option's value? Better once too often. */
static int prints(const char *const argv[], int is_terminal)
{
	for (size_t i = 0; argv[i] && strcmp(argv[i], "--") != 0; i++)
		if (!strncmp(argv[i], "--print", 7) || (argv[i][0] == '-' && argv[i][1] != '-' && strchr(argv[i], 'p')))
			return 1;
	for (size_t i = 0; argv[0] && i < ARRAY_LEN(commands); i++)
		if (!strcmp(argv[0], commands[i]))
			return 0;
	for (size_t i = 0; argv[i]; i++)
		if (!strcmp(argv[i], "--version") || !strcmp(argv[i], "-v") || !strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return 0;
	return !is_terminal;
}

int channel_args(const char *const argv[], int is_terminal, struct channel_ask *ret, struct err *err)
{
	OWN(channel_ask) struct channel_ask ask = { 0 };

	if (!prints(argv, is_terminal)) {
		*ret = (struct channel_ask){ 0 };
		return 0;
	}
	if (read_words(argv, &ask, err) < 0)
		return -1;
	ask.is_print = 1;
	if (ask.format == CHANNEL_STREAM && !ask.verbose)
		return err_set(err, ERR_USAGE, 0, "claude's --output-format=stream-json needs --verbose");
	*ret = ask;
	ask = (struct channel_ask){ 0 };
	return 0;
}

void channel_ask_done(struct channel_ask *ask)
{
	free(ask->prompt);
	strv_done(&ask->rest);
	*ask = (struct channel_ask){ 0 };
}
