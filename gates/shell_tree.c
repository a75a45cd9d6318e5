/*
 * The second reader: tree-sitter with its bash grammar. Only one thing is asked
 * of its tree: at which bytes do commands begin?
 */
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <tree_sitter/api.h>

#include "base/own.h"
#include "gates/shell_internal.h"

const TSLanguage *tree_sitter_bash(void);

/* Only lines made to be slow come near it; they are refused as unreadable. */
#define PARSE_LIMIT_US 250000
#define MAX_TURNS 12

/* Costly to make, so each thread keeps one. */
static _Thread_local TSParser *parser;

static void own_tree(TSTree **t)
{
	if (*t)
		ts_tree_delete(*t);
}

static void own_cursor(TSTreeCursor *c)
{
	ts_tree_cursor_delete(c);
}

/* Nodes whose first byte is where a command begins. */
static const char *const start_names[] = {
	"command_name", "declaration_command", "unset_command", "test_command",
};
static _Thread_local TSSymbol start_symbols[ARRAY_LEN(start_names)];

static void find_symbols(void)
{
	const TSLanguage *lang = tree_sitter_bash();

	for (size_t i = 0; i < ARRAY_LEN(start_names); i++)
		start_symbols[i] = ts_language_symbol_for_name(lang, start_names[i],
							       (uint32_t)strlen(start_names[i]), true);
}

static bool is_start(TSSymbol sym)
{
	for (size_t i = 0; i < ARRAY_LEN(start_symbols); i++)
		if (start_symbols[i] == sym)
			return true;
	return false;
}

static TSParser *get_parser(void)
{
	const TSLanguage *lang = tree_sitter_bash();

	if (!parser) {
		parser = ts_parser_new();
		find_symbols();
	}
	/* This makes a new scanner, too: the grammar's keeps something of the last line otherwise. */
	return parser && ts_parser_set_language(parser, lang) ? parser : NULL;
}

/* The next node in text order, without recursion; false behind the last. */
static bool step(TSTreeCursor *c)
{
	if (ts_tree_cursor_goto_first_child(c))
		return true;
	while (!ts_tree_cursor_goto_next_sibling(c))
		if (!ts_tree_cursor_goto_parent(c))
			return false;
	return true;
}

static size_t first_error(TSNode root)
{
	OWN(cursor) TSTreeCursor c = ts_tree_cursor_new(root);

	do {
		TSNode n = ts_tree_cursor_current_node(&c);

		if (ts_node_is_missing(n) || ts_node_symbol(n) == (TSSymbol)-1)
			return ts_node_start_byte(n);
	} while (step(&c));
	return 0;
}

static bool is_ours(const uint32_t *starts, size_t n, uint32_t at)
{
	size_t low = 0;

	while (n) {
		size_t half = n / 2;

		if (starts[low + half] == at)
			return true;
		if (starts[low + half] < at) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return false;
}

/* True when the tree's starts are exactly @starts; else the first that is only the tree's, or 0. */
static bool same_starts(TSNode root, const uint32_t *starts, size_t n, size_t *ret_at)
{
	OWN(cursor) TSTreeCursor c = ts_tree_cursor_new(root);
	size_t found = 0;

	*ret_at = 0;
	do {
		TSNode node = ts_tree_cursor_current_node(&c);

		if (!is_start(ts_node_symbol(node)))
			continue;
		found++;
		if (!is_ours(starts, n, ts_node_start_byte(node))) {
			*ret_at = ts_node_start_byte(node);
			return false;
		}
	} while (step(&c));
	return found == n;
}

static uint64_t worked_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* The limit is on work: on a busy machine the parser's own clock runs out, and it goes on where it was. */
static TSTree *parse_on(TSParser *p, const char *text, size_t len)
{
	uint64_t start = worked_us();
	TSTree *tree = NULL;

	for (int i = 0; i < MAX_TURNS && !tree && worked_us() - start < PARSE_LIMIT_US; i++)
		tree = ts_parser_parse_string(p, NULL, text, (uint32_t)len);
	return tree;
}

const char *shell_tree_objection(const char *text, size_t len, const uint32_t *starts, size_t n,
				 size_t *ret_at)
{
	TSParser *p = get_parser();
	OWN(tree) TSTree *tree = NULL;
	TSNode root;

	*ret_at = 0;
	if (!p)
		return "the grammar cannot be loaded";
	ts_parser_reset(p);
	ts_parser_set_timeout_micros(p, PARSE_LIMIT_US);
	tree = parse_on(p, text, len);
	if (!tree)
		return "a line the grammar takes too long over";
	root = ts_tree_root_node(tree);
	if (ts_node_has_error(root)) {
		*ret_at = first_error(root);
		return "a line the grammar has an error in";
	}
	return same_starts(root, starts, n, ret_at) ? NULL : "a line that can be read in two ways";
}
