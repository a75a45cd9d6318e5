#include <ctype.h>
#include <string.h>

#include "dispatch/channel_internal.h"

#define NO_ESCAPE (-1)

/* The number of "\uXXXX" at @s with @left bytes. */
static int escape_at(const char *s, size_t left)
{
	static const char digits[] = "0123456789abcdef";
	int value = 0;

	if (left < 6 || s[0] != '\\' || s[1] != 'u')
		return NO_ESCAPE;
	for (int i = 2; i < 6; i++) {
		const char *d = s[i] ? strchr(digits, tolower((unsigned char)s[i])) : NULL;

		if (!d)
			return NO_ESCAPE;
		value = value * 16 + (int)(d - digits);
	}
	return value;
}

static int is_high(int c)
{
	return c >= 0xd800 && c <= 0xdbff;
}

static int is_low(int c)
{
	return c >= 0xdc00 && c <= 0xdfff;
}

int channel_text(char *line, size_t len)
{
	int changed = 0;

	for (size_t i = 0; i < len;) {
		int c = escape_at(line + i, len - i);
		int next = c >= 0 ? escape_at(line + i + 6, len - i - 6) : NO_ESCAPE;

		if (c < 0) {
			/* "\\" is one character, and what follows is no escape. */
			i += line[i] == '\\' && i + 1 < len ? 2 : 1;
			continue;
		}
		if (is_high(c) && is_low(next)) {
			i += 12;
			continue;
		}
		if (!c || is_high(c) || is_low(c)) {
			memcpy(line + i, "\\ufffd", 6);
			changed = 1;
		}
		i += 6;
	}
	return changed;
}
