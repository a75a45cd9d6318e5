#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "sandbox/names.h"
#include "sandbox/spec.h"

/* The smallest spec, with room for more members before its end. */
#define LEAST(more) \
	"{\"sessionId\":\"s\",\"workspaceId\":\"w\",\"bindMounts\":[],\"networkEnabled\":true,\"mode\":\"chat\"" more "}"
#define BIND(host, guest, ro) "{\"guestPath\":\"" guest "\",\"hostPath\":\"" host "\",\"readOnly\":" ro "}"
#define BINDS(list) \
	"{\"sessionId\":\"s\",\"workspaceId\":\"w\",\"bindMounts\":[" list "],\"networkEnabled\":true,\"mode\":\"chat\"}"

static const char full[] =
	"{\"agentId\":\"agent-1::conv::chat\",\"allowRead\":[\"/home/u/.ssh/known_hosts\"],"
	"\"allowUnixSockets\":[\"/run/pg/.s.5432\"],\"bindMounts\":["
	BIND("/state/ws/1", "/home/u/p", "false") "," BIND("/state/objects", "/run/agate/o", "true") "],"
	"\"deniedDomains\":[\"bad.example\"],\"denyRead\":[\"**/secret\",\"/home/u/.ssh\"],"
	"\"denyWrite\":[\"**/.env\",\"**/.git/hooks/*\",\"!**/.git/hooks/*.sample\"],"
	"\"egressAllowlist\":[\"*.example.com\",\"example.org\"],\"execGrantRoots\":[\"/opt/x\"],"
	"\"guestHome\":\"/home/u\",\"guestWorkdir\":\"/home/u/p/src\",\"limits\":{\"cpuMs\":1,\"fileBytes\":2,"
	"\"memoryBytes\":1073741824,\"openFiles\":3,\"pids\":4,\"wallMs\":600000},\"mode\":\"plan\","
	"\"networkEnabled\":false,\"protectedPaths\":[\"/home/u/q\"],\"runnerStateDirs\":[\"/home/u/p/.runs\"],"
	"\"sessionId\":\"s-1\",\"workspaceId\":\"w-1\"}";

static int read_spec(const char *text, struct sandbox_spec *ret, struct err *err)
{
	OWN(json) struct json *j = NULL;

	if (json_parse(text, strlen(text), NULL, &j, err) < 0)
		fail_msg("not JSON: %s: %s", text, err->msg);
	return spec_from_json(j, ret, err);
}

static void must_read(const char *text, struct sandbox_spec *ret)
{
	struct err err = { 0 };

	if (read_spec(text, ret, &err) < 0)
		fail_msg("%s", err.msg);
}

static void a_spec_comes_back_from_json_byte_for_byte(void **state)
{
	OWN(spec) struct sandbox_spec spec = { 0 };
	OWN(mem) char *text = NULL;
	char digest[DIGEST_HEX_SIZE];

	(void)state;
	must_read(full, &spec);
	text = spec_canonical(&spec, digest);
	assert_string_equal(text, full);
	assert_int_equal(spec.limits.memory_bytes, 1073741824);
	assert_int_equal(spec.mode, MODE_PLAN);
	assert_int_equal(spec.n_binds, 2);
}

static void the_digest_of_a_given_spec_never_changes(void **state)
{
	OWN(spec) struct sandbox_spec spec = { 0 };
	OWN(mem) char *text = NULL;
	char digest[DIGEST_HEX_SIZE];

	(void)state;
	must_read(LEAST(""), &spec);
	text = spec_canonical(&spec, digest);
	assert_string_equal(text,
			    "{\"allowRead\":[],\"allowUnixSockets\":[],\"bindMounts\":[],\"deniedDomains\":[],"
			    "\"denyRead\":[],\"denyWrite\":[],\"egressAllowlist\":[],\"execGrantRoots\":[],"
			    "\"limits\":{},\"mode\":\"chat\",\"networkEnabled\":true,\"protectedPaths\":[],"
			    "\"runnerStateDirs\":[],\"sessionId\":\"s\",\"workspaceId\":\"w\"}");
	assert_string_equal(digest, "1131d638d55fedbca71eb28ffc31b9736c82f0f88fd576931253bf759258d3dd");
}

/* Pairs that mean the same, and pairs that do not. */
static const struct pair {
	const char *a, *b;
	int is_same;
} pairs[] = {
	{ LEAST(",\"egressAllowlist\":[\"a\",\"b\"]"), LEAST(",\"egressAllowlist\":[\"b\",\"a\",\"b\"]"), 1 },
	{ LEAST(",\"protectedPaths\":[\"/a\",\"/b\"]"), LEAST(",\"protectedPaths\":[\"/b\",\"/a\"]"), 1 },
	{ LEAST(",\"denyWrite\":[\"**/a\",\"**/b\"]"), LEAST(",\"denyWrite\":[\"**/b\",\"**/a\",\"**/b\"]"), 1 },
	{ LEAST(",\"agentId\":null"), LEAST(""), 1 },
	{ LEAST(",\"limits\":{\"pids\":0}"), LEAST(""), 1 },
	/* an exception lifts what stands before it, not what follows */
	{ LEAST(",\"denyWrite\":[\"**/a*\",\"!**/ab\"]"), LEAST(",\"denyWrite\":[\"!**/ab\",\"**/a*\"]"), 0 },
	{ LEAST(",\"denyWrite\":[\"**/a*\",\"!**/ab\",\"**/a*\"]"), LEAST(",\"denyWrite\":[\"!**/ab\",\"**/a*\"]"), 1 },
	{ LEAST(",\"denyRead\":[\"/a\"]"), LEAST(",\"denyWrite\":[\"/a\"]"), 0 },
	{ LEAST(",\"limits\":{\"pids\":9}"), LEAST(",\"limits\":{\"openFiles\":9}"), 0 },
	{ LEAST(",\"publish\":[],\"hostPorts\":[]"), LEAST(""), 1 },
	{ LEAST(",\"publish\":[\"127.0.0.1:80:80\"]"), LEAST(""), 0 },
	{ LEAST(",\"hostPorts\":[\"5432\"]"), LEAST(",\"hostPorts\":[\"5433\"]"), 0 },
	{ LEAST(",\"hostPorts\":[\"5432\",\"80\"]"), LEAST(",\"hostPorts\":[\"80\",\"5432\"]"), 1 },
	/* mounts are made in order */
	{ BINDS(BIND("/a", "/g", "true") "," BIND("/b", "/h", "true")),
	  BINDS(BIND("/b", "/h", "true") "," BIND("/a", "/g", "true")), 0 },
	{ BINDS(BIND("/a", "/g", "true")), BINDS(BIND("/a", "/g", "false")), 0 },
};

static void digests_are_equal_exactly_when_the_rules_are(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		OWN(spec) struct sandbox_spec a = { 0 };
		OWN(spec) struct sandbox_spec b = { 0 };
		OWN(mem) char *text_a = NULL;
		OWN(mem) char *text_b = NULL;
		char da[DIGEST_HEX_SIZE], db[DIGEST_HEX_SIZE];

		must_read(pairs[i].a, &a);
		must_read(pairs[i].b, &b);
		text_a = spec_canonical(&a, da);
		text_b = spec_canonical(&b, db);
		if ((strcmp(da, db) == 0) != pairs[i].is_same)
			fail_msg("pair %zu: %s %s", i, text_a, text_b);
	}
}

static const struct refusal {
	const char *text;
	const char *msg;
} refusals[] = {
	{ "[]", "a sandbox spec must be an object" },
	{ LEAST(",\"capabilities\":{}"), "sandbox spec: unknown field 'capabilities'" },
	{ BINDS("{\"hostPath\":\"/a\",\"guestPath\":\"/a\",\"readOnly\":true,\"x\":1}"), "bindMounts: unknown field 'x'" },
	{ LEAST(",\"publish\":[\"80:x\"]"), "cannot publish '80:x': that is no [ADDRESS:]PORT[:PORT]" },
	{ LEAST(",\"hostPorts\":[5432]"), "hostPorts must be a list of strings" },
	{ LEAST(",\"limits\":{\"disk\":1}"), "limits: unknown field 'disk'" },
	{ "{\"workspaceId\":\"w\",\"bindMounts\":[],\"networkEnabled\":true,\"mode\":\"chat\"}", "sessionId is missing" },
	{ "{\"sessionId\":\"s\",\"workspaceId\":\"w\",\"networkEnabled\":true,\"mode\":\"chat\"}",
	  "bindMounts must be a list" },
	{ "{\"sessionId\":\"s\",\"workspaceId\":\"w\",\"bindMounts\":[],\"mode\":\"chat\"}",
	  "networkEnabled must be true or false" },
	{ "{\"sessionId\":\"s\",\"workspaceId\":\"w\",\"bindMounts\":[],\"networkEnabled\":true}",
	  "mode must be chat, review, plan or orchestrate" },
	{ "{\"sessionId\":\"s\",\"workspaceId\":\"w\",\"bindMounts\":[],\"networkEnabled\":1,\"mode\":\"chat\"}",
	  "networkEnabled must be true or false" },
	{ LEAST(",\"agentId\":7"), "agentId is not a string" },
	{ LEAST(",\"agentId\":\"\""), "agentId must have 1 to 255 bytes" },
	{ LEAST(",\"agentId\":\"a/b\""), "agentId 'a/b' may not be a path" },
	{ LEAST(",\"agentId\":\"..\""), "agentId '..' may not be a path" },
	{ LEAST(",\"agentId\":\"a\\nb\""), "agentId has a control byte in it" },
	{ LEAST(",\"guestHome\":\"home\""), "guestHome 'home' is not a clean absolute path" },
	{ LEAST(",\"guestWorkdir\":\"/a/../b\""), "guestWorkdir '/a/../b' is not a clean absolute path" },
	{ BINDS("[]"), "a bind mount is not an object" },
	{ BINDS("{\"hostPath\":\"/a\",\"guestPath\":\"/a\"}"), "readOnly must be true or false" },
	{ BINDS("{\"hostPath\":\"/a\",\"readOnly\":true}"), "guestPath is missing" },
	{ BINDS(BIND("a", "/a", "true")), "hostPath 'a' is not a clean absolute path" },
	{ BINDS(BIND("/a/", "/a", "true")), "hostPath '/a/' is not a clean absolute path" },
	{ BINDS(BIND("/a", "/a//b", "true")), "guestPath '/a//b' is not a clean absolute path" },
	{ BINDS(BIND("/a", "/a\\u0007", "true")), "guestPath has a control byte in it" },
	{ BINDS(BIND("/a", "/g", "true") "," BIND("/b", "/g", "true")), "guestPath '/g' is bound twice" },
	{ BINDS(BIND("/a", "/g/x", "true") "," BIND("/b", "/g", "true")),
	  "guestPath '/g' would hide '/g/x', bound before it" },
	{ BINDS(BIND("/a", "/", "true")), "guestPath '/' is the sandbox's own" },
	{ BINDS(BIND("/a", "/proc/sys", "true")), "guestPath '/proc/sys' is the sandbox's own" },
	{ BINDS(BIND("/a", "/dev", "true")), "guestPath '/dev' is the sandbox's own" },
	{ "{\"sessionId\":\"s\",\"workspaceId\":\"w\",\"bindMounts\":[" BIND("/q/sub", "/w", "false")
	  "],\"networkEnabled\":true,\"mode\":\"plan\",\"protectedPaths\":[\"/q\"]}",
	  "hostPath '/q/sub' is writable but protected by '/q'" },
	{ LEAST(",\"denyWrite\":[1]"), "denyWrite must be a list of strings" },
	{ LEAST(",\"denyWrite\":\"**/a\""), "denyWrite must be a list of strings" },
	{ LEAST(",\"denyWrite\":[\"*.key\"]"), "denyWrite '*.key' is not a rule" },
	{ LEAST(",\"denyWrite\":[\"src/.env\"]"), "denyWrite 'src/.env' is not a clean absolute path" },
	{ LEAST(",\"denyWrite\":[\"/a/../*.key\"]"), "denyWrite '/a/../*.key' is not a rule" },
	{ LEAST(",\"denyWrite\":[\"**/a//b*\"]"), "denyWrite '**/a//b*' is not a rule" },
	{ LEAST(",\"denyWrite\":[\"**/a*/\"]"), "denyWrite '**/a*/' is not a rule" },
	{ LEAST(",\"denyWrite\":[\"\"]"), "denyWrite '' is not a clean absolute path" },
	{ LEAST(",\"denyWrite\":[\"!\"]"), "denyWrite '' is not a clean absolute path" },
	{ LEAST(",\"denyRead\":[\"!/a\"]"), "denyRead '!/a': only a write rule can be an exception" },
	{ LEAST(",\"denyRead\":[\"**/a\\tb\"]"), "denyRead has a control byte in it" },
	{ LEAST(",\"protectedPaths\":[\"a\"]"), "protectedPaths 'a' is not a clean absolute path" },
	{ LEAST(",\"egressAllowlist\":[\"\"]"), "egressAllowlist has an empty entry" },
	{ LEAST(",\"limits\":[]"), "limits must be an object" },
	{ LEAST(",\"limits\":{\"pids\":-1}"), "limits: pids must be a whole number of 0 or more" },
	{ LEAST(",\"limits\":{\"pids\":1.5}"), "limits: pids must be a whole number of 0 or more" },
};

static void what_could_not_be_enforced_is_refused_in_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		struct sandbox_spec spec = { .network_enabled = 42 };
		struct err err = { 0 };

		if (read_spec(refusals[i].text, &spec, &err) == 0)
			fail_msg("taken: %s", refusals[i].text);
		assert_string_equal(err.msg, refusals[i].msg);
		assert_int_equal(err.code, ERR_INPUT);
		assert_int_equal(spec.network_enabled, 42);	/* untouched */
		assert_null(spec.session_id);
	}
}

static void a_device_may_be_bound_and_a_mount_may_lie_inside_an_earlier_one(void **state)
{
	OWN(spec) struct sandbox_spec spec = { 0 };

	(void)state;
	must_read(BINDS(BIND("/dev/dri", "/dev/dri", "false") "," BIND("/a", "/g", "false") ","
			BIND("/b", "/g/x", "true") "," BIND("/c", "/gg", "true")), &spec);
	assert_int_equal(spec.n_binds, 4);
}

static void bytes_that_json_cannot_carry_are_refused_in_a_struct_too(void **state)
{
	OWN(spec) struct sandbox_spec spec = { 0 };
	struct err err = { 0 };

	(void)state;
	must_read(LEAST(""), &spec);
	assert_int_equal(spec_check(&spec, &err), 0);
	assert_int_equal(strv_add(&spec.deny_write, "/a/\xff"), 0);
	assert_int_equal(spec_check(&spec, &err), -1);
	assert_string_equal(err.msg, "denyWrite is not valid UTF-8");
	strv_done(&spec.deny_write);
	spec.limits.pids = UINT64_MAX;
	assert_int_equal(spec_check(&spec, &err), -1);
	assert_string_equal(err.msg, "limits: pids is out of range");
}

static void only_chat_leaves_a_workspace_writable_but_state_directories_stay_so(void **state)
{
	OWN(spec) struct sandbox_spec spec = { 0 };

	(void)state;
	must_read("{\"sessionId\":\"s\",\"workspaceId\":\"w\",\"bindMounts\":["
		  BIND("/a", "/w", "false") "," BIND("/b", "/runs", "false") "," BIND("/c", "/lib/x", "true")
		  "],\"networkEnabled\":true,\"mode\":\"chat\",\"runnerStateDirs\":[\"/runs\"]}", &spec);
	for (int m = 0; m < MODE_NUM; m++) {
		spec.mode = (enum mode)m;
		assert_int_equal(spec_bind_is_writable(&spec, &spec.binds[0]), m == MODE_CHAT);
		assert_int_equal(spec_bind_is_writable(&spec, &spec.binds[1]), 1);
		assert_int_equal(spec_bind_is_writable(&spec, &spec.binds[2]), 0);
	}
}

/* --- twins --- */

static char dir[] = "/tmp/agate-test-spec-XXXXXX";

static int make_tree(void **state)
{
	(void)state;
	if (!mkdtemp(dir) || chdir(dir) < 0 || mkdir("real", 0700) < 0 || mkdir("od[d]", 0700) < 0)
		return -1;
	if (symlink("real", "link") < 0 || symlink("loop", "loop") < 0 || symlink("od[d]", "odd") < 0)
		return -1;
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	return unlink("link") | unlink("loop") | unlink("odd") | rmdir("real") | rmdir("od[d]") |
	       chdir("/") | rmdir(dir);
}

/* Add a path of the tree; @sign goes in front. */
static void add_here(struct strv *sv, const char *sign, const char *rel)
{
	assert_int_equal(strv_addf(sv, "%s%s/%s", sign, dir, rel), 0);
}

static void a_literal_deny_holds_for_what_its_links_lead_to(void **state)
{
	OWN(spec) struct sandbox_spec spec = { 0 };
	OWN(strv) struct strv want = { 0 };
	struct err err = { 0 };

	(void)state;
	add_here(&spec.deny_read, "", "link/not/there/yet");
	add_here(&spec.deny_read, "", "real");
	add_here(&spec.deny_read, "", "loop");
	add_here(&spec.deny_read, "", "link/*");
	assert_int_equal(spec_twins(&spec, &err), 0);
	add_here(&want, "", "link/*");
	add_here(&want, "", "link/not/there/yet");
	add_here(&want, "", "loop");
	add_here(&want, "", "real");
	add_here(&want, "", "real/not/there/yet");
	strv_sort_unique(&want);
	assert_int_equal(spec.deny_read.n, want.n);
	for (size_t i = 0; i < want.n; i++)
		assert_string_equal(spec.deny_read.v[i], want.v[i]);
	/* once more changes nothing */
	assert_int_equal(spec_twins(&spec, &err), 0);
	assert_int_equal(spec.deny_read.n, want.n);
}

static void write_rules_keep_their_order_and_exceptions_get_no_twin(void **state)
{
	OWN(spec) struct sandbox_spec spec = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(strv_add(&spec.deny_write, "**/z"), 0);
	add_here(&spec.deny_write, "", "link");
	add_here(&spec.deny_write, "!", "link");
	assert_int_equal(strv_add(&spec.deny_write, "**/a"), 0);
	assert_int_equal(spec_twins(&spec, &err), 0);
	assert_int_equal(spec.deny_write.n, 5);
	assert_string_equal(spec.deny_write.v[0], "**/z");
	assert_non_null(strstr(spec.deny_write.v[1], "/link"));
	assert_non_null(strstr(spec.deny_write.v[2], "/real"));
	assert_int_equal(spec.deny_write.v[3][0], '!');
	assert_string_equal(spec.deny_write.v[4], "**/a");
}

static void a_twin_with_glob_signs_in_its_name_still_means_that_name(void **state)
{
	OWN(spec) struct sandbox_spec spec = { 0 };
	struct names names = { 0 };
	struct err err = { 0 };
	char path[64];

	(void)state;
	add_here(&spec.deny_write, "", "odd");
	add_here(&spec.protected_paths, "", "odd");
	assert_int_equal(spec_twins(&spec, &err), 0);
	assert_int_equal(spec.deny_write.n, 2);
	assert_int_equal(names_add(&names, spec.deny_write.v[1]), 0);
	snprintf(path, sizeof(path), "%s/od[d]", dir);
	assert_non_null(names_denied(&names, path));
	assert_true(strv_has(&spec.protected_paths, path));
	snprintf(path, sizeof(path), "%s/odd", dir);
	assert_null(names_denied(&names, path));
	names_done(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_spec_comes_back_from_json_byte_for_byte),
		cmocka_unit_test(the_digest_of_a_given_spec_never_changes),
		cmocka_unit_test(digests_are_equal_exactly_when_the_rules_are),
		cmocka_unit_test(what_could_not_be_enforced_is_refused_in_words),
		cmocka_unit_test(a_device_may_be_bound_and_a_mount_may_lie_inside_an_earlier_one),
		cmocka_unit_test(bytes_that_json_cannot_carry_are_refused_in_a_struct_too),
		cmocka_unit_test(only_chat_leaves_a_workspace_writable_but_state_directories_stay_so),
		cmocka_unit_test(a_literal_deny_holds_for_what_its_links_lead_to),
		cmocka_unit_test(write_rules_keep_their_order_and_exceptions_get_no_twin),
		cmocka_unit_test(a_twin_with_glob_signs_in_its_name_still_means_that_name),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
