#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "runner/native.h"
#include "sandbox/spec.h"
#include "tests/unit/runner/group_fixture.h"

static char told[300];

static void on_event(void *cookie, const struct event *ev)
{
	(void)cookie;
	snprintf(told, sizeof(told), "%s: %s", ev->type, json_str(json_get(ev->data, "reason")));
}

static const struct run_ops ops = { .event = on_event };
static char id[] = "r-1";
static struct sandbox_spec spec = { .session_id = id, .limits = { .memory_bytes = 4096 } };
static struct run_params params = { .spec = &spec, .run_dir = group_top, .ops = &ops };

/* What is written down, or "". */
static const char *noted(void)
{
	static char text[256];
	char path[128];
	OWN(fd) int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/" RUN_GROUP, group_top);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static int group_is_there(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/cg/agate-r-1", group_top);
	return access(path, F_OK) == 0;
}

static int setup(void **state)
{
	(void)state;
	told[0] = '\0';
	group_setup(1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	group_teardown();
	return 0;
}

static void the_stage_is_moved_in_when_limits_and_the_note_are_there(void **state)
{
	struct cgroup *g = group_enter(&group_host, &params, 77);

	(void)state;
	assert_non_null(g);
	assert_string_equal(group_log, "memory.max=4096 memory.oom.group=1 pids.max=4096 cgroup.procs=77 ");
	assert_string_equal(noted(), cgroup_path(g));
	assert_string_equal(told, "");
	group_leave(&params, g);
	assert_string_equal(noted(), "");
	assert_false(group_is_there());
}

static void what_fails_half_way_is_undone_and_told(void **state)
{
	static const char *const at[] = { "memory.max", "pids.max", "cgroup.procs" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(at); i++) {
		group_fails = at[i];
		told[0] = '\0';
		assert_null(group_enter(&group_host, &params, 77));
		assert_memory_equal(told, "limits.watched: cannot ", 23);
		assert_false(group_is_there());
		assert_string_equal(noted(), "");
	}
}

static void without_a_note_nobody_is_moved(void **state)
{
	struct run_params lost = params;

	(void)state;
	lost.run_dir = "/proc";
	assert_null(group_enter(&group_host, &lost, 77));
	assert_null(strstr(group_log, "cgroup.procs"));
	assert_false(group_is_there());
	assert_memory_equal(told, "limits.watched: cannot write", 28);
}

static void a_host_without_a_place_is_nothing_to_tell_of(void **state)
{
	(void)state;
	group_teardown();
	group_setup(0);
	assert_null(group_enter(&group_host, &params, 77));
	assert_string_equal(told, "");
	group_leave(&params, NULL);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_stage_is_moved_in_when_limits_and_the_note_are_there),
		TEST(what_fails_half_way_is_undone_and_told),
		TEST(without_a_note_nobody_is_moved),
		TEST(a_host_without_a_place_is_nothing_to_tell_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
