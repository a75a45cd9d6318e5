/*
 * Specs that the tests of the Seatbelt profile share.
 */
#ifndef TEST_SEATBELT_SPECS_H
#define TEST_SEATBELT_SPECS_H

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "sandbox/policy.h"
#include "sandbox/seatbelt.h"
#include "sandbox/spec.h"

#define WITH_SPEC(name) __attribute__((cleanup(own_spec))) struct sandbox_spec name = { 0 }

static inline void add(struct strv *to, const char *const words[])
{
	assert_int_equal(strv_copyv(to, words), 0);
}

#define ADD(list, ...) add(&(list), (const char *const[]){ __VA_ARGS__, NULL })

static inline void bind(struct sandbox_spec *spec, const char *host, const char *guest, int read_only)
{
	assert_int_equal(spec_add_bind(spec, host, guest, read_only), 0);
}

static inline void name(struct sandbox_spec *spec)
{
	spec->session_id = strdup("s");
	spec->workspace_id = strdup("w");
}

static inline char *profile_of(const struct sandbox_spec *spec, int fold)
{
	struct buf text = { 0 };
	struct err err = { 0 };

	if (seatbelt_profile(spec, fold, &text, &err) < 0)
		fail_msg("%s", err.msg);
	return buf_steal(&text);
}

/* As `agate plan` makes it for a repository: a copy shown at the original's path, a private home. */
static inline void copied(struct sandbox_spec *spec)
{
	name(spec);
	bind(spec, "/s/run/home", "/h/u", 0);
	bind(spec, "/h/u/.cargo/bin", "/h/u/.cargo/bin", 1);
	bind(spec, "/s/ws", "/h/u/p", 0);
	bind(spec, "/s/git", "/h/u/p/.git", 0);
	bind(spec, "/h/u/p/.git/objects", "/run/agate/objects", 1);
	ADD(spec->protected_paths, "/h/u/p", "/h/u/other");
	ADD(spec->runner_state_dirs, "/h/u");
	assert_int_equal(policy_standard_denies(&spec->deny_write), 0);
	assert_int_equal(policy_private_home("/h/u", &spec->deny_write), 0);
	assert_int_equal(policy_git_dir("/h/u/p/sub/.git", &spec->deny_write), 0);
	ADD(spec->deny_write, "/h/u/p/conf/prod.yml");
}

/* As on macOS itself: everything at its own path, the real home with its secrets, grants. */
static inline void in_place(struct sandbox_spec *spec)
{
	name(spec);
	bind(spec, "/Users/u", "/Users/u", 1);
	bind(spec, "/Users/u/p", "/Users/u/p", 0);
	bind(spec, "/Users/u/p/vendor", "/Users/u/p/vendor", 1);
	bind(spec, "/Users/u/p/vendor/out", "/Users/u/p/vendor/out", 0);
	bind(spec, "/tmp/run7", "/tmp/run7", 0);
	ADD(spec->protected_paths, "/Users/u/q", "/Users/u/p/mirror");
	ADD(spec->exec_grant_roots, "/Users/u/p/tools", "/tmp/run7");
	assert_int_equal(policy_standard_denies(&spec->deny_write), 0);
	assert_int_equal(policy_home_secrets("/Users/u", &spec->deny_read), 0);
	assert_int_equal(policy_home_writes("/Users/u", &spec->deny_write), 0);
	ADD(spec->deny_read, "/Users/u/p/deep/er/secret", "/Users/u/p/secrets", "/Users/u/p/secrets/open/not",
	    "**/*.token", "/opt/corp");
	ADD(spec->allow_read, "/Users/u/.ssh/known_hosts", "/Users/u/p/secrets/open", "/Users/u/p/my.token",
	    "/opt/corp/bin");
	ADD(spec->allow_unix_sockets, "/var/run/postgres/.s.5432");
}

#endif
