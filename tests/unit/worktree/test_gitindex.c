#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/own.h"
#include "worktree/gitindex.h"
#include "worktree/tree.h"

#define NS 1000000000LL

static const struct stamp file = {
	.mtime_ns = 100 * NS + 7, .ctime_ns = 101 * NS + 8, .size = 5, .ino = (1ull << 33) + 42, .dev = 3, .uid = 1, .gid = 2,
	.mode = 0100644,
};

/* An entry's stat data as git would write it for @s. */
static void entry(uint8_t stat[GITINDEX_STAT_SIZE], const struct stamp *s)
{
	memset(stat, 0, GITINDEX_STAT_SIZE);
	stat[26] = 0x81;	/* 0100644 */
	stat[27] = 0xa4;
	gitindex_set(stat, s);
}

static void a_file_is_clean_when_everything_fits_and_the_index_is_younger(void **state)
{
	uint8_t stat[GITINDEX_STAT_SIZE];
	struct stamp other;

	(void)state;
	entry(stat, &file);
	assert_int_equal(gitindex_is_clean(stat, &file, 200 * NS), 1);
	/* as young as the index: it may have changed after git looked */
	assert_int_equal(gitindex_is_clean(stat, &file, file.mtime_ns), 0);
	assert_int_equal(gitindex_is_clean(stat, &file, file.mtime_ns + 1), 1);
#define DIFFERS(field, value) do { \
	other = file; \
	other.field = (value); \
	assert_int_equal(gitindex_is_clean(stat, &other, 200 * NS), 0); \
} while (0)
	DIFFERS(mtime_ns, file.mtime_ns + 1);
	DIFFERS(ctime_ns, file.ctime_ns + NS);
	DIFFERS(size, 6);
	DIFFERS(ino, 43);
	DIFFERS(mode, 0120777);
}

static void whole_seconds_do_where_the_writer_kept_no_more(void **state)
{
	uint8_t stat[GITINDEX_STAT_SIZE];
	struct stamp coarse = file;

	(void)state;
	coarse.mtime_ns = 100 * NS;
	coarse.ctime_ns = 101 * NS;
	entry(stat, &coarse);
	assert_int_equal(gitindex_is_clean(stat, &file, 102 * NS), 1);
	assert_int_equal(gitindex_is_clean(stat, &file, 100 * NS + 900), 0);
}

static void none(void *cookie, const struct gitindex_entry *e)
{
	(void)e;
	(*(int *)cookie)++;
}

static void caches_of_the_source_are_left_out_and_the_sum_is_right(void **state)
{
	uint8_t index[12 + 8 + 4 + 8 + 2 + 20] = "DIRC\0\0\0\2\0\0\0\0" "UNTR\0\0\0\4" "abcd" "TREE\0\0\0\2" "xy";
	OWN(buf) struct buf out = { 0 };
	uint8_t sum[20];
	int n = 0;

	(void)state;
	assert_int_equal(gitindex_rewrite(index, sizeof(index), none, &n, &out), GITINDEX_OK);
	assert_int_equal(out.len, 12 + 10 + 20);
	assert_memory_equal(out.data + 12, "TREE\0\0\0\2xy", 10);
	digest_sha1(out.data, out.len - 20, sum);
	assert_memory_equal(out.data + out.len - 20, sum, 20);
}

static void what_we_do_not_know_is_left_to_be_copied(void **state)
{
	uint8_t version5[32] = "DIRC\0\0\0\5\0\0\0\0";
	uint8_t mandatory[12 + 8 + 20] = "DIRC\0\0\0\2\0\0\0\0" "link\0\0\0\0";
	uint8_t counted[32] = "DIRC\0\0\0\2\0\0\0\7";
	OWN(buf) struct buf out = { 0 };
	int n = 0;

	(void)state;
	assert_int_equal(gitindex_rewrite(version5, sizeof(version5), none, &n, &out), GITINDEX_UNKNOWN);
	assert_int_equal(gitindex_rewrite(mandatory, sizeof(mandatory), none, &n, &out), GITINDEX_UNKNOWN);
	assert_int_equal(gitindex_rewrite(counted, sizeof(counted), none, &n, &out), GITINDEX_DAMAGED);
	assert_int_equal(gitindex_rewrite(counted, 3, none, &n, &out), GITINDEX_DAMAGED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_clean_when_everything_fits_and_the_index_is_younger),
		cmocka_unit_test(whole_seconds_do_where_the_writer_kept_no_more),
		cmocka_unit_test(caches_of_the_source_are_left_out_and_the_sum_is_right),
		cmocka_unit_test(what_we_do_not_know_is_left_to_be_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
