#include "tests/unit/worktree/fixture.h"

#include <fcntl.h>

#include "base/io.h"
#include "worktree/tree.h"

static int open_temp(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", T, name);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static struct node *scan(const char *name)
{
	OWN(fd) int fd = open_temp(name);
	struct node *root = NULL;
	struct err err = { 0 };

	assert_int_equal(tree_scan(fd, 1, NULL, &root, &err), 0);
	return root;
}

/* Every path in preorder, a line each. */
static char *paths(const struct node *root)
{
	OWN(buf) struct buf b = { 0 }, path = { 0 };

	for (const struct node *n = root; n; n = node_next(root, n)) {
		assert_int_equal(node_path(n, &path), 0);
		buf_addf(&b, "%s\n", path.data);
	}
	return buf_steal(&b);
}

static void a_scan_lists_everything_in_order_but_the_git_directory(void **state)
{
	OWN(tree) struct node *root = NULL;
	OWN(mem) char *got = NULL;

	(void)state;
	SH("mkdir -p d/b/c d/.git d/b/.git && touch d/a d/b/c/x d/b/.git/y d/z d/b-");
	root = scan("d");
	got = paths(root);
	assert_string_equal(got, "\na\nb\nb/.git\nb/.git/y\nb/c\nb/c/x\nb-\nz\n");
	assert_non_null(tree_find(root, "b/c/x", 5));
	assert_ptr_equal(tree_find(root, "", 0), root);
	assert_null(tree_find(root, "b/c/xx", 6));
	assert_null(tree_find(root, "a/b", 3));
}

static void a_manifest_comes_back_as_it_was(void **state)
{
	OWN(tree) struct node *root = NULL, *again = NULL;
	OWN(mem) char *before = NULL, *after = NULL;
	OWN(fd) int fd = -1;
	struct err err = { 0 };
	struct node *n;

	(void)state;
	SH("mkdir -p d/b/c && touch d/a d/b/c/x $'d/\\xff\\n'");
	root = scan("d");
	n = tree_find(root, "b/c/x", 5);
	n->flags = NODE_HAS_OID;
	n->oid[19] = 7;
	n->orig.size = 5;
	fd = open_temp("d");
	assert_int_equal(manifest_save(root, fd, "m", 1, &err), 0);
	assert_int_equal(manifest_load(fd, "m", &again, &err), 0);
	before = paths(root);
	after = paths(again);
	assert_string_equal(before, after);
	n = tree_find(again, "b/c/x", 5);
	assert_int_equal(n->flags, NODE_HAS_OID);
	assert_int_equal(n->oid[19], 7);
	assert_int_equal(n->orig.size, 5);
}

static void a_manifest_cut_anywhere_is_damaged(void **state)
{
	OWN(tree) struct node *root = NULL;
	OWN(buf) struct buf whole = { 0 };
	OWN(fd) int fd = -1;
	struct err err = { 0 };

	(void)state;
	SH("mkdir -p d/b && touch d/b/x");
	root = scan("d");
	fd = open_temp("d");
	assert_int_equal(manifest_save(root, fd, "m", 1, &err), 0);
	assert_int_equal(io_read_file(fd, "m", 10000, &whole, &err), 0);
	for (size_t len = 0; len < whole.len; len++) {
		struct node *none = NULL;

		assert_int_equal(io_replace_file(fd, "cut", whole.data, len, 0600, &err), 0);
		assert_int_equal(manifest_load(fd, "cut", &none, &err), -1);
		assert_int_equal(err.code, ERR_INPUT);
		assert_null(none);
	}
}

static void nodes_come_and_go_in_order(void **state)
{
	OWN(tree) struct node *root = node_new(NULL, "");
	static const char *const names[] = { "m", "b", "z", "a", "n", "y", "c", "x", "d" };
	OWN(mem) char *got = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_int_equal(node_insert(root, node_new(root, names[i])), 0);
	node_remove(node_child(root, "m", 1));
	node_remove(node_child(root, "a", 1));
	assert_int_equal(node_insert(root, node_new(root, "aa")), 0);
	got = paths(root);
	assert_string_equal(got, "\naa\nb\nc\nd\nn\nx\ny\nz\n");
}

static void count(void *cookie, struct node *n)
{
	(*(int *)cookie)++;
	tree_free(n);
}

static void a_name_listed_twice_is_kept_once(void **state)
{
	OWN(tree) struct node *root = node_new(NULL, "");
	OWN(mem) char *got = NULL;
	int dropped = 0;

	(void)state;
	for (int i = 0; i < 9; i++)
		assert_int_equal(node_append(root, node_new(root, i % 2 ? "b" : "a")), 0);
	node_sort(root, count, &dropped);
	got = paths(root);
	assert_string_equal(got, "\na\nb\n");
	assert_int_equal(dropped, 7);
}

int main(void)
{
#define U(name) cmocka_unit_test_setup_teardown(name, make_temp, remove_temp)
	const struct CMUnitTest tests[] = {
		U(a_scan_lists_everything_in_order_but_the_git_directory),
		U(a_manifest_comes_back_as_it_was),
		U(a_manifest_cut_anywhere_is_damaged),
		cmocka_unit_test(nodes_come_and_go_in_order),
		cmocka_unit_test(a_name_listed_twice_is_kept_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
