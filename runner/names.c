#include <assert.h>
#include <string.h>

#include "base/own.h"
#include "runner/runner.h"

static const char *const backends[] = { "none", "native", "microvm" };
static_assert(ARRAY_LEN(backends) == BACKEND_NUM, "a name for each backend");

static const char *const states[] = { "created", "warm", "active", "suspended", "destroyed", "error" };
static_assert(ARRAY_LEN(states) == RUN_STATE_NUM, "a name for each state");

const char *backend_name(enum backend b)
{
	assert(b < BACKEND_NUM);
	return backends[b];
}

enum backend backend_parse(const char *word)
{
	if (!word)
		return BACKEND_NONE;
	if (!strcmp(word, "docker"))
		return BACKEND_NATIVE;
	for (int i = 0; i < BACKEND_NUM; i++)
		if (!strcmp(word, backends[i]))
			return (enum backend)i;
	return BACKEND_NONE;
}

const char *run_state_name(enum run_state s)
{
	assert(s < RUN_STATE_NUM);
	return states[s];
}
