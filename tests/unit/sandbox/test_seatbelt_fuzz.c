/*
 * Specs and accesses made at random, from a fixed seed: the profile must never
 * be more open than Linux, and exactly as open where it is not stricter on
 * purpose. See test_seatbelt.c for the cases with names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/strv.h"
#include "sandbox/seatbelt.h"
#include "test_seatbelt_eval.h"
#include "test_seatbelt_linux.h"

static uint64_t seed;

static unsigned int draw(unsigned int n)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned int)(seed >> 33) % n;
}

#define PICK(list) (list)[draw(ARRAY_LEN(list))]

static const char *const rule_parts[] = {
	"a", "b", "ab", "A", ".k", "x.k", "*.k", "*", "a*", "*a", "*b*", "?", "??", "[ab]", "[!a]", "[a-c]*", "?b", "*.*",
	"a.k", "[^/]", "x*.k", "b[.]k", "*[!k]", "**", "**", "**", "\"", "\\", "*\\*", "+", "(a|b)", "a?*",
};
static const char *const names[] = {
	"a", "b", "ab", "aa", "A", ".k", "x.k", "a.k", "b.k", "c", "bb", "abc", "x", "K", "\"", "\\", "+", "a+",
	"(a|b)", "\n", "a\n",
	"\xff", "b\xff", "\xc3\xa9", ".", "..", "^", "$", "a$",
};

/* A rule with one to four parts. The first "**" is for free: most rules are not tied to a place. */
static void make_rule(char ret[256], const char *top)
{
	unsigned int n = 1 + draw(3);

	snprintf(ret, 256, "%s", draw(3) ? "**" : top);
	while (n--) {
		strcat(ret, "/");
		strcat(ret, n ? PICK(rule_parts) : rule_parts[draw(ARRAY_LEN(rule_parts) - 8) % 22]);
	}
}

static void make_rules(struct strv *to, const char *const tops[], size_t n_tops, unsigned int most, int may_except)
{
	for (unsigned int n = draw(most + 1); n--;) {
		char rule[256];

		make_rule(rule, tops[draw((unsigned int)n_tops)]);
		assert_int_equal(strv_addf(to, "%s%s", may_except && !draw(3) ? "!" : "", rule), 0);
	}
}

static void make_path(char ret[256], const char *top)
{
	snprintf(ret, 256, "%s", top);
	for (unsigned int n = draw(6); n--;) {
		const char *name = PICK(names);

		if (!strcmp(name, ".") || !strcmp(name, ".."))
			name = "d";
		strcat(ret, "/");
		strcat(ret, name);
	}
}

static void spec_name(struct sandbox_spec *spec)
{
	spec->session_id = strdup("s");
	spec->workspace_id = strdup("w");
}

/* 0 if the profile could not be made, for that it would be too large. */
static int load(const struct sandbox_spec *spec, int fold, struct sb_profile *p)
{
	OWN(buf) struct buf text = { 0 };
	struct err err = { 0 };

	if (seatbelt_profile(spec, fold, &text, &err) < 0) {
		if (err.code != ERR_LIMIT)
			fail_msg("%s", err.msg);
		return 0;
	}
	sb_load(p, text.data);
	return 1;
}

static void print_rules(const struct sandbox_spec *spec)
{
	for (size_t i = 0; i < spec->n_binds; i++)
		print_message("bind %s at %s%s\n", spec->binds[i].host_path, spec->binds[i].guest_path,
			      spec->binds[i].read_only ? " ro" : "");
	for (size_t i = 0; i < spec->deny_write.n; i++)
		print_message("denyWrite %s\n", spec->deny_write.v[i]);
	for (size_t i = 0; i < spec->deny_read.n; i++)
		print_message("denyRead %s\n", spec->deny_read.v[i]);
	for (size_t i = 0; i < spec->allow_read.n; i++)
		print_message("allowRead %s\n", spec->allow_read.v[i]);
	for (size_t i = 0; i < spec->protected_paths.n; i++)
		print_message("protected %s\n", spec->protected_paths.v[i]);
	for (size_t i = 0; i < spec->exec_grant_roots.n; i++)
		print_message("grant %s\n", spec->exec_grant_roots.v[i]);
}

static void must_be(int want, int got, const struct sandbox_spec *spec, const char *what, const char *path)
{
	if (want == got)
		return;
	print_rules(spec);
	fail_msg("%s '%s': Linux %d, Seatbelt %d", what, path, want, got);
}

/* Unless @is_exact, the profile may be the stricter one. */
static void compare(int is_exact, int on_linux, int in_profile, const struct sandbox_spec *spec, const char *what,
		    const char *path)
{
	if (is_exact || in_profile)
		must_be(on_linux, in_profile, spec, what, path);
}

/* --- names alone: one bind, many rules --- */

static size_t try_names(const struct sandbox_spec *spec, const char *host, const char *guest, int fold)
{
	struct sb_profile p;
	struct lx lx;

	if (!load(spec, fold, &p))
		return 0;
	lx_init(&lx, spec, fold);
	for (int i = 0; i < 150; i++) {
		char path[256], inside[512];
		int denied, is_head;

		make_path(path, host);
		if (!strcmp(path, host))
			continue;
		snprintf(inside, sizeof(inside), "%s%s", guest, path + strlen(host));
		denied = names_denied(&lx.names, inside) != NULL;
		is_head = lx_heads(&lx, inside);
		must_be(!denied, sb_file(&p, "file-write-create", path, "REGULAR-FILE"), spec, "create", path);
		must_be(!denied && !is_head, sb_file(&p, "file-write-create", path, "SYMLINK"), spec, "symlink", path);
		/* A directory by a head's name is never made, and none is moved: but for git's. */
		must_be(!denied && !is_head, sb_file(&p, "file-write-create", path, "DIRECTORY"), spec, "mkdir", path);
		must_be(!denied && !is_head, sb_file(&p, "file-write-unlink", path, "DIRECTORY"), spec, "rmdir", path);
	}
	lx_done(&lx);
	sb_done(&p);
	return 1;
}

static void rules_and_exceptions_become_expressions_exactly(void **state)
{
	static const char *const places[][2] = {
		{ "/h", "/h" }, { "/h/a.k", "/g" }, { "/h", "/a/b" }, { "/h", "/a" }, { "/tmp/h", "/tmp/h" },
	};
	size_t made = 0;

	(void)state;
	seed = 7;
	for (int i = 0; i < 80; i++) {
		const char *const *place = places[draw(ARRAY_LEN(places))];
		__attribute__((cleanup(own_spec))) struct sandbox_spec spec = { 0 };

		spec_name(&spec);
		assert_int_equal(spec_add_bind(&spec, place[0], place[1], 0), 0);
		make_rules(&spec.deny_write, &place[1], 1, 8, 1);
		made += try_names(&spec, place[0], place[1], i % 2);
	}
	/* Too large is a reason, but not for much of this. */
	assert_true(made > 75);
}

/* --- binds, reads and the rest --- */

struct place {
	const char *host, *guest;
};

static const struct place places[] = {
	{ "/h", "/g" }, { "/h/a", "/g/a" }, { "/h/a/b", "/g/a/b" }, { "/k", "/g/b" }, { "/k/a", "/k/a" }, { "/m", "/m" },
	{ "/m/a", "/m/a" }, { "/m/a/b", "/m/a/b" }, { "/m/ab", "/g/ab" }, { "/h/b", "/n" }, { "/private/tmp/x", "/tmp/x" },
};
static const char *const guests[] = { "/g", "/g/a", "/g/b", "/m", "/m/a", "/n", "/tmp/x", "/usr/a" };
static const char *const hosts[] = { "/h", "/k", "/m", "/usr", "/tmp/x", "/private/tmp/x", "/h/a", "/m/a", "/etc" };

/* Binds in an order that spec_check() takes: outer before inner, no guest twice. */
static void make_binds(struct sandbox_spec *spec, int may_overlap)
{
	unsigned int chosen = draw(1u << ARRAY_LEN(places));

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		int is_elsewhere = 0;

		if (!(chosen >> i & 1))
			continue;
		for (size_t j = 0; j < spec->n_binds && !may_overlap; j++)
			is_elsewhere |= (path_under(places[i].host, spec->binds[j].host_path) ||
					 path_under(spec->binds[j].host_path, places[i].host)) !=
					(path_under(places[i].guest, spec->binds[j].guest_path) ||
					 path_under(spec->binds[j].guest_path, places[i].guest));
		for (size_t j = 0; j < spec->n_binds; j++)
			is_elsewhere |= path_under(spec->binds[j].guest_path, places[i].guest);
		if (!is_elsewhere)
			assert_int_equal(spec_add_bind(spec, places[i].host, places[i].guest, !draw(3)), 0);
	}
}

static void make_literals(struct strv *to, unsigned int most)
{
	for (unsigned int n = draw(most + 1); n--;) {
		char path[256];

		snprintf(path, sizeof(path), "%s", PICK(guests));
		for (unsigned int k = draw(3); k--;) {
			strcat(path, "/");
			strcat(path, names[draw(5)]);
		}
		assert_int_equal(strv_add(to, path), 0);
	}
}

static int make_spec(struct sandbox_spec *spec, int may_overlap)
{
	struct err err;

	spec_name(spec);
	spec->mode = draw(4) ? MODE_CHAT : MODE_REVIEW;
	make_binds(spec, may_overlap);
	make_rules(&spec->deny_write, guests, ARRAY_LEN(guests), 4, 1);
	make_literals(&spec->deny_read, 4);
	make_literals(&spec->allow_read, 3);
	make_rules(&spec->deny_read, guests, ARRAY_LEN(guests), 2, 0);
	if (!draw(3))
		make_rules(&spec->allow_read, guests, ARRAY_LEN(guests), 1, 0);
	make_literals(&spec->exec_grant_roots, 2);
	if (!draw(3))
		assert_int_equal(strv_add(&spec->protected_paths, PICK(hosts)), 0);
	if (spec->mode == MODE_REVIEW)
		assert_int_equal(strv_add(&spec->runner_state_dirs, PICK(guests)), 0);
	return spec_check(spec, &err) == 0;
}

static size_t try_spec(const struct sandbox_spec *spec, int is_exact)
{
	static const char file[] = "REGULAR-FILE";
	struct sb_profile p;
	struct lx lx;

	if (!load(spec, 0, &p))
		return 0;
	lx_init(&lx, spec, 0);
	for (int i = 0; i < 150; i++) {
		char path[256], to[256];

		make_path(path, PICK(hosts));
		make_path(to, PICK(hosts));
		compare(is_exact, lx_reads(&lx, path), sb_file(&p, "file-read-data", path, file), spec, "read", path);
		compare(is_exact, lx_writes(&lx, path), sb_file(&p, "file-write-data", path, file), spec, "write", path);
		compare(is_exact, lx_creates(&lx, path, "SYMLINK"), sb_file(&p, "file-write-create", path, "SYMLINK"),
			spec, "symlink", path);
		compare(0, lx_writes(&lx, path), sb_file(&p, "file-write-create", path, "DIRECTORY"), spec, "mkdir", path);
		/* A pattern that allows reading opens no program in what is writable. */
		compare(is_exact && !spec->allow_read.n, lx_executes(&lx, path), sb_file(&p, "process-exec", path, file),
			spec, "exec", path);
		compare(0, lx_unlinks(&lx, path), sb_file(&p, "file-write-unlink", path, file), spec, "unlink", path);
		compare(0, lx_renames(&lx, path, to, file, NULL), sb_rename(&p, path, to, file), spec, "rename", path);
	}
	lx_done(&lx);
	sb_done(&p);
	return 1;
}

static void try_specs(int n, int may_overlap)
{
	int made = 0;

	while (n--) {
		__attribute__((cleanup(own_spec))) struct sandbox_spec spec = { 0 };

		if (make_spec(&spec, may_overlap))
			made += (int)try_spec(&spec, !may_overlap);
	}
	assert_true(made > 25);
}

static void binds_reads_and_writes_are_decided_as_on_linux(void **state)
{
	(void)state;
	seed = 11;
	try_specs(100, 0);
}

/* One host directory in view at two places: Linux takes the more open of them, a profile may be stricter. */
static void nothing_is_more_open_than_on_linux_whatever_the_binds(void **state)
{
	(void)state;
	seed = 13;
	try_specs(100, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_and_exceptions_become_expressions_exactly),
		cmocka_unit_test(binds_reads_and_writes_are_decided_as_on_linux),
		cmocka_unit_test(nothing_is_more_open_than_on_linux_whatever_the_binds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
