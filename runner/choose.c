#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "runner/runner.h"
#include "sandbox/probe.h"

static char note[sizeof(((struct err *)0)->msg) + sizeof(((struct err *)0)->hint) + 64];

static int use_native(const struct runner **ret, const char **ret_note)
{
	*ret = &runner_native;
	*ret_note = "agent sandbox ON: bubblewrap namespaces, Landlock and the broker";
	return 0;
}

/* Weaker in ways that doctor lists, so it says so each time. */
static int use_bare(const struct err *why, const struct runner **ret, const char **ret_note)
{
	snprintf(note, sizeof(note), "agent sandbox ON without namespaces (%s): Landlock and the broker; "
		 "agate doctor tells what is weaker", why->msg);
	*ret = &runner_bare;
	*ret_note = note;
	return 0;
}

/* Only an unnamed default steps down, and says what is missing and how to get it. */
static int step_down(const struct err *why, const struct runner **ret, const char **ret_note)
{
	snprintf(note, sizeof(note), "no OS-native agent sandbox on this host (%s)%s%s", why->msg,
		 why->hint[0] ? ": " : "", why->hint);
	*ret = &runner_none;
	*ret_note = note;
	return 0;
}

int runner_choose(const char *wish, const struct runner **ret, const char **ret_note, struct err *err)
{
	struct err why = { 0 }, bare = { 0 };
	int is_asked = probe_wants_bare();

	if (!strcmp(wish, "off") || !strcmp(wish, backend_name(BACKEND_NONE))) {
		*ret = &runner_none;
		*ret_note = "agent sandbox DISABLED by --sandbox off";
		return 0;
	}
	if (!strcmp(wish, backend_name(BACKEND_MICROVM)))
		return err_set(err, ERR_MISSING, 0, "cannot use backend 'microvm': it is not built");
	if (is_asked)
		err_set(&why, ERR_MISSING, 0, "AGATE_LAYOUT=2 asks for it");
	else if (runner_native.probe(&why) == 0)
		return use_native(ret, ret_note);
	if (runner_bare.probe(&bare) == 0)
		return use_bare(&why, ret, ret_note);
	if (is_asked)
		why = bare;
	else if (!strcmp(wish, "on"))
		return step_down(&why, ret, ret_note);
	if (err)
		*err = why;
	return err_wrap(err, "this host cannot give the sandbox that was required");
}
