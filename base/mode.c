#include <assert.h>
#include <string.h>

#include "base/mode.h"
#include "base/own.h"

static const char *const names[] = { "chat", "review", "plan", "orchestrate" };
static_assert(ARRAY_LEN(names) == MODE_NUM, "a name for each mode");

const char *mode_name(enum mode m)
{
	assert(m < MODE_NUM);
	return names[m];
}

int mode_parse(const char *word, enum mode *ret)
{
	for (int i = 0; i < MODE_NUM; i++) {
		if (!strcmp(word, names[i])) {
			*ret = (enum mode)i;
			return 0;
		}
	}
	return -1;
}
