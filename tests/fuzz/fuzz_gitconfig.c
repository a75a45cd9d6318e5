/*
 * Any bytes as a git configuration: read to the end, each key named once, and each
 * that can be switched off is.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/strv.h"
#include "worktree/programs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	OWN(programs) struct programs p = { 0 };
	OWN(strv) struct strv includes = { 0 }, env = { 0 };
	struct err err = { 0 };

	if (programs_scan(&p, (const char *)data, len, &includes, &err) < 0) {
		if (err.code != ERR_LIMIT)
			abort();
		return 0;
	}
	for (size_t i = 0; i < p.keys.n; i++)
		for (size_t k = i + 1; k < p.keys.n; k++)
			if (!strcmp(p.keys.v[i], p.keys.v[k]))
				abort();
	if (p.off.n % 2 || programs_env(&p, &env) < 0)
		abort();
	return 0;
}
