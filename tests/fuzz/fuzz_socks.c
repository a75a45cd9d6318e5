/* What outside bytes can do to the SOCKS5 reader: the same in one piece and one by one. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/egress/socks5.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The last thing a conversation says when at most @step new bytes come at once. */
static void converse(const uint8_t *data, size_t len, size_t step, struct socks5_piece *ret)
{
	struct socks5 s = { 0 };
	size_t at = 0, end = 0;

	for (;;) {
		socks5_next(&s, data + at, end - at, ret);
		at += ret->used;
		if (at > end || ret->reply_len > sizeof(ret->reply))
			abort();
		if (ret->kind == SOCKS5_METHOD)
			continue;
		if (ret->kind != SOCKS5_MORE || end == len)
			return;
		end = len - end > step ? end + step : len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct socks5_piece once, slow;
	struct host again;
	const char *why;

	converse(data, len, len ? len : 1, &once);
	converse(data, len, 1, &slow);
	if (memcmp(&once, &slow, sizeof(once)))
		abort();
	if (once.kind != SOCKS5_CONNECT)
		return 0;
	/* A host has one spelling, and it stands for itself. */
	if (!once.port || host_parse(once.host.text, strlen(once.host.text), &again, &why) < 0 ||
	    strcmp(again.text, once.host.text))
		abort();
	return 0;
}
