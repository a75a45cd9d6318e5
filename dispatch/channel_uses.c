#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/channel_internal.h"

/* FNV-1a: ids come from a model's provider, and a slow table hurts nobody but this run. */
static size_t slot_of(const struct uses *u, const char *id)
{
	uint64_t h = 14695981039346656037u;

	for (const char *p = id; *p; p++)
		h = (h ^ (unsigned char)*p) * 1099511628211u;
	return (size_t)(h ^ h >> 32) & (u->cap - 1);
}

static struct use *find(const struct uses *u, const char *id)
{
	size_t i = slot_of(u, id);

	while (u->v[i].id && strcmp(u->v[i].id, id) != 0)
		i = (i + 1) & (u->cap - 1);
	return &u->v[i];
}

static int grow(struct uses *u)
{
	struct uses bigger = { .n = u->n, .cap = u->cap ? u->cap * 2 : 64 };

	bigger.v = calloc(bigger.cap, sizeof(*bigger.v));
	if (!bigger.v)
		return -1;
	for (size_t i = 0; i < u->cap; i++)
		if (u->v[i].id)
			*find(&bigger, u->v[i].id) = u->v[i];
	free(u->v);
	*u = bigger;
	return 0;
}

enum use_state uses_state(const struct uses *u, const char *id)
{
	return u->cap ? find(u, id)->state : USE_UNKNOWN;
}

int uses_set(struct uses *u, const char *id, enum use_state state)
{
	struct use *use;

	if (u->n * 2 >= u->cap && grow(u) < 0)
		return -1;
	use = find(u, id);
	if (!use->id) {
		use->id = strdup(id);
		if (!use->id)
			return -1;
		u->n++;
	}
	use->state = state;
	return 0;
}

void uses_done(struct uses *u)
{
	for (size_t i = 0; i < u->cap; i++)
		free(u->v[i].id);
	free(u->v);
	*u = (struct uses){ 0 };
}
