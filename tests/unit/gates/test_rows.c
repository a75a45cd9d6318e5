/*
 * The program tables themselves: every row can be read, is found by each of its
 * names, and has a case both ways.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "gates/options.h"

#define CASES "tests/unit/gates/cases.tsv"

static const struct program *const tables[] = {
	table_shell, table_wrap, table_core, table_text, table_git,
	table_forge, table_dev,  table_net,  table_sys,
};

/* Call @f with each name of each row. */
static void each_name(void (*f)(const struct program *row, const char *name))
{
	for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
		for (const struct program *row = tables[t]; row->name; row++) {
			OWN(mem) char *names = strdup(row->name);

			for (char *name = strtok(names, "|"); name; name = strtok(NULL, "|"))
				f(row, name);
		}
	}
}

static void is_found(const struct program *row, const char *name)
{
	if (program_find(name) != row)
		fail_msg("'%s' finds another row", name);
}

static void each_name_finds_its_own_row(void **state)
{
	(void)state;
	each_name(is_found);
	assert_null(program_find("no-such-program"));
	assert_null(program_find("git no-such"));
	assert_null(program_find(""));
}

/* --- the rows' strings --- */

static void check_token(const char *name, const char *token, bool *seen_long, char seen[256])
{
	bool is_long = !strncmp(token, "--", 2);
	const char *sign = strpbrk(token + 1, ":?!");

	if (token[0] != '-') {
		if (strcmp(token, "+") && strcmp(token, "="))
			fail_msg("'%s': what is '%s'", name, token);
		return;
	}
	if (is_long) {
		*seen_long = true;
		return;
	}
	if (*seen_long)
		fail_msg("'%s': '%s' stands behind a long option", name, token);
	if (sign && sign != token + 2)
		fail_msg("'%s': only one letter can have a sign, not '%s'", name, token);
	for (const char *c = token + 1; *c && c != sign; c++) {
		if (seen[(unsigned char)*c]++)
			fail_msg("'%s': '-%c' stands twice", name, *c);
	}
}

static void every_row_can_be_read(void **state)
{
	(void)state;
	for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
		for (const struct program *row = tables[t]; row->name; row++) {
			OWN(mem) char *opts = strdup(row->opts ? row->opts : "");
			bool seen_long = false;
			char seen[256] = { 0 };

			for (char *token = strtok(opts, " "); token; token = strtok(NULL, " "))
				check_token(row->name, token, &seen_long, seen);
			/* With options there are operands; without, an effect, a check or nothing to say. */
			assert_true(!row->opts == !row->operands);
			assert_true(row->weight == HARMLESS || row->why);
			if (row->operands && strcmp(row->operands, OPERANDS_SUB))
				assert_int_equal(strspn(row->operands, "-RLWDMSXCNUT*"),
						 strlen(row->operands));
		}
	}
}

/* --- cases --- */

static struct buf cases;

/* A case of that verdict that speaks of @name as a word or words. */
static bool has_case(const char *verdict, const char *name)
{
	size_t n = strlen(name);

	for (const char *line = cases.data; line && *line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		size_t len = strcspn(line, "\n");
		const char *end = line + len;

		if (strncmp(line, verdict, strlen(verdict)))
			continue;
		for (const char *hit = line; (hit = memmem(hit, (size_t)(end - hit), name, n)); hit++) {
			bool starts = strchr("\t \"'`(;&|/\\{", hit[-1]) != NULL;
			bool ends = hit + n == end || strchr(" \"'`);&|\\<>,}", hit[n]);

			if (starts && ends)
				return true;
		}
	}
	return false;
}

static bool any_case(const struct program *row, const char *verdict)
{
	OWN(mem) char *names = strdup(row->name);

	for (char *name = strtok(names, "|"); name; name = strtok(NULL, "|"))
		if (has_case(verdict, name))
			return true;
	return false;
}

/* What a row of its kind must have been seen to do. */
static size_t missing_cases(const struct program *row)
{
	const char *wanted[3] = { 0 };
	size_t n = 0, missing = 0;

	if (row->weight == HARMLESS) {
		/* What writes its operands is harmless in chat at most. */
		bool writes = row->operands && strpbrk(row->operands, "WDMC");

		wanted[n++] = writes ? "allow\tchat" : "allow\tplan";
		if (row->opts || row->check)
			wanted[n++] = "deny\tplan";
	} else {
		wanted[n++] = "deny\tplan";
		wanted[n++] = row->weight == CHANGES ? "allow\tchat"
			      : row->weight == ASKS  ? "ask\tchat"
						     : "deny\tchat";
	}
	for (size_t i = 0; i < n; i++) {
		if (any_case(row, wanted[i]))
			continue;
		print_error("no case '%.*s' for '%.40s'\n", 11, wanted[i], row->name);
		missing++;
	}
	return missing;
}

static void every_row_has_a_case_each_way(void **state)
{
	size_t missing = 0;
	struct err err;

	(void)state;
	assert_int_equal(io_read_file(AT_FDCWD, CASES, 1 << 20, &cases, &err), 0);
	for (size_t t = 0; t < ARRAY_LEN(tables); t++)
		for (const struct program *row = tables[t]; row->name; row++)
			missing += missing_cases(row);
	buf_done(&cases);
	assert_int_equal(missing, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_name_finds_its_own_row),
		cmocka_unit_test(every_row_can_be_read),
		cmocka_unit_test(every_row_has_a_case_each_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
