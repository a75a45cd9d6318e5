#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "test_seatbelt_eval.h"
#include "test_seatbelt_linux.h"
#include "test_seatbelt_specs.h"

/* --- two more specs that accesses are tried on --- */

/* A mode that only reads, with a directory for the runner. */
static void review(struct sandbox_spec *spec)
{
	name(spec);
	spec->mode = MODE_REVIEW;
	bind(spec, "/w", "/w", 0);
	bind(spec, "/w/.runs", "/w/.runs", 0);
	bind(spec, "/ro", "/ro", 1);
	ADD(spec->runner_state_dirs, "/w/.runs");
	ADD(spec->deny_write, "**/.env");
}

/* Rules and places with all that means something to a profile, a string or an expression. */
static void odd(struct sandbox_spec *spec)
{
	name(spec);
	bind(spec, "/o/a\"b\\c (d) [e] {f} $g ^h +i.*?|j", "/o/q", 0);
	bind(spec, "/o/\xc3\xa9t\xc3\xa9", "/o/\xc3\xa9t\xc3\xa9", 0);
	ADD(spec->deny_write, "**/say\"hi\".txt", "**/back\\slash", "**/a.b", "**/(x|y)", "**/^start$", "**/p+", "**/{1,2}",
	    "**/[[]x[]]", "**/q[?]", "**/[!a-c]z", "**/[]-]w", "**/n\\?", "**/[^x-z]y", "/o/q/deep/**/k", "**/*.*.bak",
	    "!**/ok.*.bak", "**/[\\]]v", "**/un[closed", "/o/\xc3\xa9t\xc3\xa9/\xc3\xa7", "**/??", "!**/o?", "**/om");
	ADD(spec->deny_read, "/o/q/no\"read");
	ADD(spec->exec_grant_roots, "/o/q/bin");
}

/* --- the accesses --- */

#define ODD "/o/a\"b\\c (d) [e] {f} $g ^h +i.*?|j"
#define ETE "/o/\xc3\xa9t\xc3\xa9"

enum act { READ, DATA, CREATE, MKDIR, SYMLINK, UNLINK, RMDIR, RENAME, MVDIR, EXEC };

/*
 * What both say: they agree to allow or to deny; or the profile is stricter on
 * purpose. In one case it is weaker: see seatbelt.h on git directories.
 */
enum verdict { ALLOW, DENY, STRICTER, WEAKER };

struct try {
	enum act act;
	const char *path, *to;
	enum verdict verdict;
	const char *holds;	/* a file in the directory that moves */
};

static const struct try copied_tries[] = {
	/* the workspace, at the place of its copy */
	{ DATA, "/s/ws/src/main.c", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/src/new.c", NULL, ALLOW, NULL },
	{ MKDIR, "/s/ws/build", NULL, ALLOW, NULL },
	{ SYMLINK, "/s/ws/link", NULL, ALLOW, NULL },
	{ UNLINK, "/s/ws/src/main.c", NULL, ALLOW, NULL },
	{ RMDIR, "/s/ws/src", NULL, ALLOW, NULL },
	{ RENAME, "/s/ws/.main.c.swp", "/s/ws/main.c", ALLOW, NULL },
	{ MVDIR, "/s/ws/a", "/s/ws/b", ALLOW, "x/y" },
	{ READ, "/s/ws/src/main.c", NULL, ALLOW, NULL },
	{ READ, "/s/ws", NULL, ALLOW, NULL },
	/* names, wherever they are and whatever else is in them */
	{ CREATE, "/s/ws/.env", NULL, DENY, NULL },
	{ DATA, "/s/ws/.env", NULL, DENY, NULL },
	{ UNLINK, "/s/ws/.env", NULL, DENY, NULL },
	{ RENAME, "/s/ws/.env", "/s/ws/env", DENY, NULL },
	{ RENAME, "/s/ws/env", "/s/ws/.env", DENY, NULL },
	{ CREATE, "/s/ws/a/b/c/.env.local", NULL, DENY, NULL },
	{ CREATE, "/s/ws/.env/inside", NULL, DENY, NULL },
	{ CREATE, "/s/ws/.environment", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/x.env", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/id.key", NULL, DENY, NULL },
	{ CREATE, "/s/ws/.key", NULL, DENY, NULL },
	{ CREATE, "/s/ws/id.keys", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/idxkey", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/id.KEY", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/d.pem/x", NULL, DENY, NULL },
	{ MKDIR, "/s/ws/d.pem", NULL, DENY, NULL },
	{ CREATE, "/s/ws/new\nline.key", NULL, DENY, NULL },
	{ CREATE, "/s/ws/new\nline/x", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/d\n/.env", NULL, DENY, NULL },
	{ CREATE, "/s/ws/.env\n", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/\xff\xfe.key", NULL, DENY, NULL },
	{ CREATE, "/s/ws/\xff\xfe/ok", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/\xc3/.env", NULL, DENY, NULL },
	{ CREATE, "/s/ws/venv/certifi/cacert.pem", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/venv/certifi/other.pem", NULL, DENY, NULL },
	{ CREATE, "/s/ws/cacert.pem", NULL, DENY, NULL },
	{ CREATE, "/s/ws/.vscode/certifi/cacert.pem", NULL, DENY, NULL },
	{ CREATE, "/s/ws/certifi/cacert.pem/.env", NULL, DENY, NULL },
	{ CREATE, "/s/ws/certifi/cacert.pem/x", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/x.pem/certifi/cacert.pem", NULL, DENY, NULL },
	{ CREATE, "/s/ws/certifi/cacert.pem/y.pem", NULL, DENY, NULL },
	{ CREATE, "/s/ws/certifi/cacert.pem/certifi/cacert.pem", NULL, ALLOW, NULL },
	/* hooks: live ones, samples, nested, bare, in modules */
	{ CREATE, "/s/ws/sub2/.git/hooks/pre-commit", NULL, DENY, NULL },
	{ CREATE, "/s/ws/sub2/.git/hooks/pre-commit.sample", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/sub2/.git/hooks/.sample", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/sub2/.git/hooks/sample", NULL, DENY, NULL },
	{ CREATE, "/s/ws/sub2/.git/hooks/x.sample2", NULL, DENY, NULL },
	{ CREATE, "/s/ws/sub2/.git/hooks/d/pre-commit.sample", NULL, DENY, NULL },
	{ CREATE, "/s/ws/sub2/.git/hooks/a.sample/pre-commit", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/x/.git/hooks/a.sample/.git/hooks/pre", NULL, DENY, NULL },
	{ CREATE, "/s/ws/x/.git/hooks/a.sample/.git/hooks/b.sample", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/bare.git/hooks/update", NULL, DENY, NULL },
	{ CREATE, "/s/ws/bare.git/hooks/update.sample", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/x/.git/modules/m/hooks/pre-push", NULL, DENY, NULL },
	{ CREATE, "/s/ws/x/.git/modules/a/b/modules/c/hooks/pre-push", NULL, DENY, NULL },
	{ CREATE, "/s/ws/x/.git/modules/m/hooks/pre-push.sample", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/x/.git/modules/hooks/x", NULL, DENY, NULL },
	{ CREATE, "/s/ws/x/.git/modules/m/index.lock", NULL, ALLOW, NULL },
	{ RENAME, "/s/ws/x/.git/modules/m/index.lock", "/s/ws/x/.git/modules/m/index", ALLOW, NULL },
	{ UNLINK, "/s/ws/x/.git/modules/m/index.lock", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/x/.git/info/attributes", NULL, DENY, NULL },
	{ CREATE, "/s/ws/x/.git/info/exclude", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/hooks/pre-commit", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/x/.git/config", NULL, ALLOW, NULL },
	/* git init and clone */
	{ MKDIR, "/s/ws/new/.git", NULL, ALLOW, NULL },
	{ MKDIR, "/s/ws/new/.git/hooks", NULL, ALLOW, NULL },
	{ MKDIR, "/s/ws/bare.git/hooks", NULL, ALLOW, NULL },
	/* a git directory that was there */
	{ DATA, "/s/ws/sub/.git/config", NULL, DENY, NULL },
	{ CREATE, "/s/ws/sub/.git/config.worktree", NULL, DENY, NULL },
	{ CREATE, "/s/ws/sub/.git/commondir", NULL, DENY, NULL },
	{ CREATE, "/s/ws/sub/.git/hooks/x.sample", NULL, DENY, NULL },
	{ CREATE, "/s/ws/sub/.git/index.lock", NULL, ALLOW, NULL },
	{ RENAME, "/s/ws/sub/.git/index.lock", "/s/ws/sub/.git/index", ALLOW, NULL },
	{ MVDIR, "/s/ws/sub/.git", "/s/ws/sub/git", DENY, "config" },
	{ MVDIR, "/s/ws/sub", "/s/ws/sub2", DENY, ".git/config" },
	/* the run's own */
	{ DATA, "/s/git/config", NULL, ALLOW, NULL },
	{ CREATE, "/s/git/config.lock", NULL, ALLOW, NULL },
	{ CREATE, "/s/git/hooks/pre-commit", NULL, DENY, NULL },
	{ CREATE, "/s/git/hooks/pre-commit.sample", NULL, ALLOW, NULL },
	{ MVDIR, "/s/git/hooks", "/s/git/x", DENY, "pre-commit" },
	{ SYMLINK, "/s/git/hooks", NULL, DENY, NULL },
	{ RMDIR, "/s/git", NULL, DENY, NULL },
	{ READ, "/s/git/HEAD", NULL, ALLOW, NULL },
	/* what the bind of the git directory lies over */
	{ READ, "/s/ws/.git/config", NULL, DENY, NULL },
	{ DATA, "/s/ws/.git/config", NULL, DENY, NULL },
	{ MVDIR, "/s/ws/.git", "/s/ws/old", DENY, NULL },
	{ MVDIR, "/s/ws/a", "/s/ws/.git", DENY, NULL },
	/* ancestors of what is denied by name */
	{ CREATE, "/s/ws/.claude/commands/x.md", NULL, DENY, NULL },
	{ MKDIR, "/s/ws/.claude/commands", NULL, DENY, NULL },
	{ CREATE, "/s/ws/a/.claude/agents/x.md", NULL, DENY, NULL },
	{ CREATE, "/s/ws/.claude/plans/p.md", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/.claude/settings.json", NULL, DENY, NULL },
	{ MVDIR, "/s/ws/.claude", "/s/ws/x", DENY, "commands/x" },
	{ MVDIR, "/s/ws/.claude", "/s/ws/x", STRICTER, "plans/p" },
	{ MVDIR, "/s/ws/tmp", "/s/ws/.claude", DENY, "commands/x" },
	{ MVDIR, "/s/ws/tmp", "/s/ws/a/.codex", DENY, "config.toml" },
	{ MVDIR, "/s/ws/tmp", "/s/ws/.claude", STRICTER, "plans/p" },
	{ MVDIR, "/s/ws/tmp", "/s/ws/new/.git", WEAKER, "hooks/pre-commit" },
	{ MVDIR, "/s/ws/tmp", "/s/ws/new/.git", ALLOW, "hooks/pre-commit.sample" },
	{ MKDIR, "/s/ws/.claude", NULL, STRICTER, NULL },
	{ CREATE, "/s/ws/.claude", NULL, ALLOW, NULL },
	{ SYMLINK, "/s/ws/.claude", NULL, DENY, NULL },
	{ SYMLINK, "/s/ws/x/.git", NULL, DENY, NULL },
	{ RMDIR, "/s/ws/.claude", NULL, STRICTER, NULL },
	{ UNLINK, "/s/ws/.claude", NULL, ALLOW, NULL },
	{ MKDIR, "/s/ws/.github/workflows", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/.github/workflows/ci.yml", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/.github/hooks/x.json", NULL, DENY, NULL },
	{ MKDIR, "/s/ws/claude", NULL, ALLOW, NULL },
	{ DATA, "/s/ws/conf/prod.yml", NULL, DENY, NULL },
	{ DATA, "/s/ws/conf/test.yml", NULL, ALLOW, NULL },
	{ MVDIR, "/s/ws/conf", "/s/ws/x", DENY, "prod.yml" },
	{ MVDIR, "/s/ws/x", "/s/ws/conf", DENY, "prod.yml" },
	{ DATA, "/s/ws/x/conf/prod.yml", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/.husky/_", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/.husky/_/h", NULL, ALLOW, NULL },
	{ CREATE, "/s/ws/.husky/pre-push", NULL, DENY, NULL },
	{ CREATE, "/s/ws/.husky/__", NULL, DENY, NULL },
	{ RMDIR, "/s/ws", NULL, DENY, NULL },
	{ MVDIR, "/s/ws", "/s/ws2", DENY, NULL },
	/* the private home: its settings are its own */
	{ DATA, "/s/run/home/.gitconfig", NULL, ALLOW, NULL },
	{ DATA, "/s/run/home/.npmrc", NULL, ALLOW, NULL },
	{ DATA, "/s/run/home/.claude/settings.json", NULL, ALLOW, NULL },
	{ DATA, "/s/run/home/x/.gitconfig", NULL, DENY, NULL },
	{ DATA, "/s/ws/.gitconfig", NULL, DENY, NULL },
	{ DATA, "/s/run/home/.gitconfig/.gitconfig", NULL, DENY, NULL },
	{ CREATE, "/s/run/home/.bashrc", NULL, DENY, NULL },
	{ CREATE, "/s/run/home/.cache/x", NULL, ALLOW, NULL },
	{ CREATE, "/s/run/home/.cargo/bin/evil", NULL, DENY, NULL },
	{ CREATE, "/s/run/home/.cargo/registry", NULL, ALLOW, NULL },
	{ DATA, "/s/run/home/p/x", NULL, DENY, NULL },
	{ READ, "/s/run/home/p/x", NULL, DENY, NULL },
	{ READ, "/s/run/home/.cache/x", NULL, ALLOW, NULL },
	/* the host around it */
	{ READ, "/h/u/p/src/main.c", NULL, DENY, NULL },
	{ DATA, "/h/u/p/src/main.c", NULL, DENY, NULL },
	{ READ, "/h/u/p/.git/config", NULL, DENY, NULL },
	{ READ, "/h/u/p/.git/objects/pack/x", NULL, ALLOW, NULL },
	{ DATA, "/h/u/p/.git/objects/pack/x", NULL, DENY, NULL },
	{ UNLINK, "/h/u/p/.git/objects/pack/x", NULL, DENY, NULL },
	{ READ, "/h/u/.ssh/id_rsa", NULL, DENY, NULL },
	{ READ, "/h/u", NULL, DENY, NULL },
	{ READ, "/h/u/.cargo/credentials.toml", NULL, DENY, NULL },
	{ READ, "/h/u/.cargo/bin/cargo", NULL, ALLOW, NULL },
	{ EXEC, "/h/u/.cargo/bin/cargo", NULL, ALLOW, NULL },
	{ DATA, "/h/u/.cargo/bin/cargo", NULL, DENY, NULL },
	{ READ, "/s/run/db.sqlite", NULL, DENY, NULL },
	{ DATA, "/s/run/db.sqlite", NULL, DENY, NULL },
	{ READ, "/s/ws2/x", NULL, DENY, NULL },
	{ DATA, "/s/wsx", NULL, DENY, NULL },
	{ READ, "/usr/bin/git", NULL, ALLOW, NULL },
	{ EXEC, "/usr/bin/git", NULL, ALLOW, NULL },
	{ EXEC, "/bin/rm", NULL, ALLOW, NULL },
	{ DATA, "/usr/bin/git", NULL, DENY, NULL },
	{ UNLINK, "/usr/bin/git", NULL, DENY, NULL },
	{ READ, "/etc/passwd", NULL, ALLOW, NULL },
	{ DATA, "/etc/passwd", NULL, DENY, NULL },
	{ READ, "/", NULL, ALLOW, NULL },
	{ CREATE, "/x", NULL, DENY, NULL },
	{ READ, "/private/tmp/x", NULL, DENY, NULL },
	{ CREATE, "/private/tmp/x", NULL, DENY, NULL },
	{ CREATE, "/private/var/folders/aa/T/x", NULL, DENY, NULL },
	{ EXEC, "/private/var/folders/aa/T/x", NULL, DENY, NULL },
	{ EXEC, "/private/tmp/x", NULL, DENY, NULL },
	{ EXEC, "/s/ws/configure", NULL, STRICTER, NULL },
	{ EXEC, "/h/u/p/configure", NULL, DENY, NULL },
	{ DATA, "/dev/null", NULL, ALLOW, NULL },
	{ READ, "/dev/urandom", NULL, ALLOW, NULL },
	{ READ, "/dev/disk0", NULL, DENY, NULL },
	{ DATA, "/dev/disk0", NULL, DENY, NULL },
};

static const struct try in_place_tries[] = {
	{ DATA, "/Users/u/p/x", NULL, ALLOW, NULL },
	{ DATA, "/Users/u/x", NULL, DENY, NULL },
	{ READ, "/Users/u/x", NULL, ALLOW, NULL },
	{ READ, "/Users/v/x", NULL, DENY, NULL },
	{ READ, "/Users", NULL, DENY, NULL },
	{ READ, "/Users/uu", NULL, DENY, NULL },
	{ READ, "/Users/u/.ssh", NULL, DENY, NULL },
	{ READ, "/Users/u/.ssh/id_rsa", NULL, DENY, NULL },
	{ READ, "/Users/u/.ssh/known_hosts", NULL, ALLOW, NULL },
	{ READ, "/Users/u/.ssh/known_hosts.old", NULL, DENY, NULL },
	{ EXEC, "/Users/u/.ssh/id_rsa", NULL, DENY, NULL },
	{ READ, "/Users/u/.sshd", NULL, ALLOW, NULL },
	{ READ, "/Users/u/.aws/credentials", NULL, DENY, NULL },
	{ READ, "/Users/u/Library/Keychains/login.keychain-db", NULL, DENY, NULL },
	{ READ, "/Users/u/.cargo/credentials.toml", NULL, DENY, NULL },
	{ READ, "/Users/u/.cargo/bin/cargo", NULL, ALLOW, NULL },
	{ EXEC, "/Users/u/.cargo/bin/cargo", NULL, ALLOW, NULL },
	{ READ, "/Users/u/.local/state/agate/agate.db", NULL, DENY, NULL },
	{ CREATE, "/Users/u/Library/LaunchAgents/x.plist", NULL, DENY, NULL },
	{ CREATE, "/Users/u/.zshrc", NULL, DENY, NULL },
	/* deny, allow in it, deny in that */
	{ READ, "/Users/u/p/secrets/a", NULL, DENY, NULL },
	{ READ, "/Users/u/p/secrets/open", NULL, ALLOW, NULL },
	{ READ, "/Users/u/p/secrets/open/a", NULL, ALLOW, NULL },
	{ READ, "/Users/u/p/secrets/open/not", NULL, DENY, NULL },
	{ READ, "/Users/u/p/secrets/open/not/a", NULL, DENY, NULL },
	{ READ, "/Users/u/p/secrets/opened", NULL, DENY, NULL },
	{ DATA, "/Users/u/p/secrets/a", NULL, DENY, NULL },
	{ DATA, "/Users/u/p/secrets/open/a", NULL, DENY, NULL },
	{ MVDIR, "/Users/u/p/secrets", "/Users/u/p/x", DENY, NULL },
	/* On Linux the mask moves along; a profile knows the place alone. */
	{ MVDIR, "/Users/u/p/deep", "/Users/u/p/x", STRICTER, NULL },
	{ RMDIR, "/Users/u/p/deep/er", NULL, STRICTER, NULL },
	{ DATA, "/Users/u/p/deep/er/x", NULL, ALLOW, NULL },
	{ READ, "/Users/u/p/a/x.token", NULL, DENY, NULL },
	{ READ, "/Users/u/p/my.token", NULL, ALLOW, NULL },
	{ DATA, "/Users/u/p/my.token", NULL, DENY, NULL },
	{ READ, "/Users/u/p/secrets/open/x.token", NULL, DENY, NULL },
	{ READ, "/opt/corp/key", NULL, DENY, NULL },
	{ READ, "/opt/corp/bin/tool", NULL, ALLOW, NULL },
	{ EXEC, "/opt/corp/bin/tool", NULL, ALLOW, NULL },
	{ EXEC, "/opt/corp/key", NULL, DENY, NULL },
	{ READ, "/opt/homebrew/bin/git", NULL, ALLOW, NULL },
	/* binds in binds */
	{ DATA, "/Users/u/p/vendor/x", NULL, DENY, NULL },
	{ READ, "/Users/u/p/vendor/x", NULL, ALLOW, NULL },
	{ DATA, "/Users/u/p/vendor/out/x", NULL, ALLOW, NULL },
	{ CREATE, "/Users/u/p/vendor/out/.env", NULL, DENY, NULL },
	{ CREATE, "/Users/u/p/vendor/out/.git/hooks/x", NULL, DENY, NULL },
	{ MVDIR, "/Users/u/p/vendor", "/Users/u/p/x", DENY, NULL },
	{ RMDIR, "/Users/u/p/vendor/out", NULL, DENY, NULL },
	{ MVDIR, "/Users/u/p/x", "/Users/u/p/vendor", DENY, NULL },
	/* protected, inside what is writable and outside */
	{ DATA, "/Users/u/p/mirror/x", NULL, DENY, NULL },
	{ READ, "/Users/u/p/mirror/x", NULL, ALLOW, NULL },
	{ MVDIR, "/Users/u/p/mirror", "/Users/u/p/x", DENY, NULL },
	{ DATA, "/Users/u/q/x", NULL, DENY, NULL },
	{ UNLINK, "/Users/u/q", NULL, DENY, NULL },
	/* grants */
	{ EXEC, "/Users/u/p/tools/x", NULL, ALLOW, NULL },
	{ EXEC, "/Users/u/p/tools", NULL, ALLOW, NULL },
	{ EXEC, "/Users/u/p/toolsmith", NULL, STRICTER, NULL },
	{ EXEC, "/Users/u/p/a.out", NULL, STRICTER, NULL },
	{ EXEC, "/Users/u/p/vendor/x", NULL, ALLOW, NULL },
	{ EXEC, "/Users/u/p/secrets/x", NULL, DENY, NULL },
	{ EXEC, "/Users/u/p/tools/x.token", NULL, DENY, NULL },
	/* two spellings of one place */
	{ DATA, "/private/tmp/run7/x", NULL, ALLOW, NULL },
	{ DATA, "/tmp/run7/x", NULL, ALLOW, NULL },
	{ CREATE, "/private/tmp/run7/.env", NULL, DENY, NULL },
	{ CREATE, "/tmp/run7/.env", NULL, DENY, NULL },
	{ EXEC, "/private/tmp/run7/x", NULL, ALLOW, NULL },
	{ READ, "/private/tmp/run8/x", NULL, DENY, NULL },
	{ DATA, "/tmp/run8/x", NULL, DENY, NULL },
	{ RMDIR, "/private/tmp/run7", NULL, DENY, NULL },
};

static const struct try review_tries[] = {
	{ READ, "/w/x", NULL, ALLOW, NULL },
	{ DATA, "/w/x", NULL, DENY, NULL },
	{ CREATE, "/w/x", NULL, DENY, NULL },
	{ UNLINK, "/w/x", NULL, DENY, NULL },
	{ RENAME, "/w/x", "/w/y", DENY, NULL },
	{ DATA, "/w/.runs/log", NULL, ALLOW, NULL },
	{ CREATE, "/w/.runs/.env", NULL, DENY, NULL },
	{ RENAME, "/w/.runs/a", "/w/.runs/b", ALLOW, NULL },
	{ RENAME, "/w/.runs/a", "/w/b", DENY, NULL },
	{ RMDIR, "/w/.runs", NULL, DENY, NULL },
	{ DATA, "/ro/x", NULL, DENY, NULL },
	{ READ, "/ro/x", NULL, ALLOW, NULL },
	/* A mode that only reads leaves the workspace executable: nothing in it is the run's own. */
	{ EXEC, "/w/configure", NULL, ALLOW, NULL },
	{ EXEC, "/w/.runs/x", NULL, STRICTER, NULL },
	{ EXEC, "/ro/x", NULL, ALLOW, NULL },
};

static const struct try odd_tries[] = {
	{ DATA, ODD "/x", NULL, ALLOW, NULL },
	{ READ, ODD "/x", NULL, ALLOW, NULL },
	{ DATA, "/o/q/x", NULL, DENY, NULL },
	{ DATA, "/o/ab\\c (d) [e] {f} $g ^h +i.*?|j/x", NULL, DENY, NULL },
	{ DATA, "/o/a\"b\\c (d) e {f} $g ^h +i.*?|j/x", NULL, DENY, NULL },
	{ CREATE, ODD "/say\"hi\".txt", NULL, DENY, NULL },
	{ CREATE, ODD "/sayhi.txt", NULL, ALLOW, NULL },
	{ CREATE, ODD "/say\"hi\"xtxt", NULL, ALLOW, NULL },
	{ CREATE, ODD "/back\\slash", NULL, DENY, NULL },
	{ CREATE, ODD "/backslash", NULL, ALLOW, NULL },
	{ CREATE, ODD "/a.b", NULL, DENY, NULL },
	{ CREATE, ODD "/axb", NULL, ALLOW, NULL },
	{ CREATE, ODD "/(x|y)", NULL, DENY, NULL },
	{ CREATE, ODD "/xxx", NULL, ALLOW, NULL },
	{ CREATE, ODD "/^start$", NULL, DENY, NULL },
	{ CREATE, ODD "/start", NULL, ALLOW, NULL },
	{ CREATE, ODD "/p+", NULL, DENY, NULL },
	{ CREATE, ODD "/ppp", NULL, ALLOW, NULL },
	{ CREATE, ODD "/{1,2}", NULL, DENY, NULL },
	{ CREATE, ODD "/[x]", NULL, DENY, NULL },
	{ CREATE, ODD "/x", NULL, ALLOW, NULL },
	{ CREATE, ODD "/q?", NULL, DENY, NULL },
	{ CREATE, ODD "/dz", NULL, DENY, NULL },
	{ CREATE, ODD "/\ndz", NULL, ALLOW, NULL },
	{ CREATE, ODD "/]w", NULL, DENY, NULL },
	{ CREATE, ODD "/-w", NULL, DENY, NULL },
	{ CREATE, ODD "/xxw", NULL, ALLOW, NULL },
	{ CREATE, ODD "/n\\z", NULL, DENY, NULL },
	{ CREATE, ODD "/\\]v", NULL, DENY, NULL },
	{ CREATE, ODD "/]v", NULL, DENY, NULL },
	{ CREATE, ODD "/un[closed", NULL, DENY, NULL },
	{ CREATE, ODD "/unc", NULL, ALLOW, NULL },
	{ CREATE, ODD "/deep/k", NULL, DENY, NULL },
	{ CREATE, ODD "/deep/xxx/yyy/k", NULL, DENY, NULL },
	{ CREATE, ODD "/shallow/xxx/k", NULL, ALLOW, NULL },
	{ CREATE, ODD "/x.1.bak", NULL, DENY, NULL },
	{ CREATE, ODD "/ok.1.bak", NULL, ALLOW, NULL },
	{ CREATE, ODD "/oks.1.bak", NULL, DENY, NULL },
	{ CREATE, ODD "/ok.bak", NULL, ALLOW, NULL },
	{ CREATE, ODD "/ok.1.bak/x.1.bak", NULL, DENY, NULL },
	{ CREATE, ODD "/x.1.bak/ok.1.bak", NULL, DENY, NULL },
	{ CREATE, ODD "/xx", NULL, DENY, NULL },
	{ CREATE, ODD "/ok", NULL, ALLOW, NULL },
	{ CREATE, ODD "/om", NULL, DENY, NULL },
	{ CREATE, ODD "/ok/on", NULL, ALLOW, NULL },
	{ CREATE, ODD "/ok/om", NULL, DENY, NULL },
	{ CREATE, ODD "/\xff\xfe", NULL, DENY, NULL },
	{ CREATE, ODD "/o\xfe", NULL, ALLOW, NULL },
	{ CREATE, ODD "/\n\n", NULL, DENY, NULL },
	{ CREATE, ODD "/o\n", NULL, ALLOW, NULL },
	{ CREATE, ODD "/\xc3\xa9", NULL, DENY, NULL },
	{ READ, ODD "/no\"read", NULL, DENY, NULL },
	{ READ, ODD "/no\"read/x", NULL, DENY, NULL },
	{ READ, ODD "/noread", NULL, ALLOW, NULL },
	{ MVDIR, ODD "/deep", ODD "/xxx", STRICTER, "zzz" },
	{ EXEC, ODD "/bin/x", NULL, ALLOW, NULL },
	{ EXEC, ODD "/x", NULL, STRICTER, NULL },
	{ CREATE, ETE "/x", NULL, ALLOW, NULL },
	{ CREATE, ETE "/\xc3\xa7", NULL, DENY, NULL },
	{ CREATE, ETE "/\xc3\xa7/x", NULL, DENY, NULL },
	{ CREATE, ETE "/\xc3\xa8", NULL, DENY, NULL },
	{ CREATE, ETE "/\xc3\xa8\xc3", NULL, ALLOW, NULL },
};

/* --- trying them --- */

static const char *const types[] = {
	[READ] = "REGULAR-FILE", [DATA] = "REGULAR-FILE", [CREATE] = "REGULAR-FILE", [MKDIR] = "DIRECTORY",
	[SYMLINK] = "SYMLINK", [UNLINK] = "REGULAR-FILE", [RMDIR] = "DIRECTORY", [RENAME] = "REGULAR-FILE",
	[MVDIR] = "DIRECTORY", [EXEC] = "REGULAR-FILE",
};
static const char *const ops[] = {
	[READ] = "file-read-data", [DATA] = "file-write-data", [CREATE] = "file-write-create",
	[MKDIR] = "file-write-create", [SYMLINK] = "file-write-create", [UNLINK] = "file-write-unlink",
	[RMDIR] = "file-write-unlink", [EXEC] = "process-exec",
};

static int linux_allows(const struct lx *lx, const struct try *t)
{
	switch (t->act) {
	case READ:
	case EXEC:
		return lx_reads(lx, t->path);
	case DATA:
		return lx_writes(lx, t->path);
	case CREATE:
	case MKDIR:
	case SYMLINK:
		return lx_creates(lx, t->path, types[t->act]);
	case UNLINK:
	case RMDIR:
		return lx_unlinks(lx, t->path);
	case RENAME:
	case MVDIR:
		return lx_renames(lx, t->path, t->to, types[t->act], t->holds);
	}
	return -1;
}

static int seatbelt_allows(struct sb_profile *p, const struct try *t)
{
	if (t->act == RENAME || t->act == MVDIR)
		return sb_rename(p, t->path, t->to, types[t->act]);
	return sb_file(p, ops[t->act], t->path, types[t->act]);
}

static size_t try_all(void (*make)(struct sandbox_spec *), const struct try *tries, size_t n)
{
	WITH_SPEC(spec);
	OWN(mem) char *text = NULL;
	struct sb_profile p;
	struct lx lx;

	make(&spec);
	text = profile_of(&spec, 0);
	sb_load(&p, text);
	lx_init(&lx, &spec, 0);
	for (size_t i = 0; i < n; i++) {
		const struct try *t = &tries[i];
		int want_linux = t->verdict == ALLOW || t->verdict == STRICTER;
		int want_seatbelt = t->verdict == ALLOW || t->verdict == WEAKER;

		if (linux_allows(&lx, t) != want_linux)
			fail_msg("Linux, %s '%s' '%s'", ops[t->act] ? ops[t->act] : "rename", t->path, t->to ? t->to : "");
		if (seatbelt_allows(&p, t) != want_seatbelt)
			fail_msg("Seatbelt, %s '%s' '%s'", ops[t->act] ? ops[t->act] : "rename", t->path,
				 t->to ? t->to : "");
	}
	sb_done(&p);
	lx_done(&lx);
	return n;
}

static void both_decide_alike_on_a_copied_workspace(void **state)
{
	(void)state;
	assert_true(try_all(copied, copied_tries, ARRAY_LEN(copied_tries)) > 150);
}

static void both_decide_alike_where_everything_is_at_its_own_path(void **state)
{
	(void)state;
	try_all(in_place, in_place_tries, ARRAY_LEN(in_place_tries));
}

static void both_decide_alike_in_a_mode_that_only_reads(void **state)
{
	(void)state;
	try_all(review, review_tries, ARRAY_LEN(review_tries));
}

static void both_decide_alike_on_odd_names(void **state)
{
	(void)state;
	try_all(odd, odd_tries, ARRAY_LEN(odd_tries));
}

static void case_is_folded_in_denials_and_not_in_what_is_open(void **state)
{
	WITH_SPEC(spec);
	OWN(mem) char *text = NULL;
	struct sb_profile p;
	size_t denied = 0;

	(void)state;
	in_place(&spec);
	text = profile_of(&spec, 1);
	sb_load(&p, text);
	assert_false(sb_file(&p, "file-write-create", "/Users/u/p/.ENV", "REGULAR-FILE"));
	assert_false(sb_file(&p, "file-write-create", "/Users/u/p/X.Key", "REGULAR-FILE"));
	assert_false(sb_file(&p, "file-write-create", "/Users/u/p/.Git/HOOKS/pre-push", "REGULAR-FILE"));
	assert_true(sb_file(&p, "file-write-create", "/Users/u/p/.Git/HOOKS/pre-push.SAMPLE", "REGULAR-FILE"));
	assert_false(sb_file(&p, "file-write-data", "/Users/u/p/Mirror/x", "REGULAR-FILE"));
	assert_false(sb_file(&p, "file-write-data", "/Users/u/p/VENDOR/x", "REGULAR-FILE"));
	assert_false(sb_file(&p, "file-read-data", "/Users/u/.SSH/id_rsa", "REGULAR-FILE"));
	assert_false(sb_file(&p, "file-write-unlink", "/Users/u/p/.CLAUDE", "DIRECTORY"));
	assert_false(sb_file(&p, "file-write-data", "/users/u/p/x", "REGULAR-FILE"));
	/* Whatever was denied without folding is so with it. */
	for (size_t i = 0; i < ARRAY_LEN(in_place_tries); i++) {
		const struct try *t = &in_place_tries[i];

		if (t->verdict != DENY)
			continue;
		if (seatbelt_allows(&p, t))
			fail_msg("'%s'", t->path);
		denied++;
	}
	assert_true(denied > 20);
	sb_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_decide_alike_on_a_copied_workspace),
		cmocka_unit_test(both_decide_alike_where_everything_is_at_its_own_path),
		cmocka_unit_test(both_decide_alike_in_a_mode_that_only_reads),
		cmocka_unit_test(both_decide_alike_on_odd_names),
		cmocka_unit_test(case_is_folded_in_denials_and_not_in_what_is_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
