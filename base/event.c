#include <assert.h>
#include <string.h>

#include "base/event.h"
#include "base/own.h"

static const char *const names[] = {
	"file", "network", "unix", "exec", "syscall", "command", "guard", "push", "token",
};
static_assert(ARRAY_LEN(names) == LAYER_NUM, "a name for each layer");

const char *layer_name(enum layer l)
{
	assert(l < LAYER_NUM);
	return names[l];
}

int layer_parse(const char *word, enum layer *ret)
{
	for (int i = 0; i < LAYER_NUM; i++) {
		if (!strcmp(word, names[i])) {
			*ret = (enum layer)i;
			return 0;
		}
	}
	return -1;
}
