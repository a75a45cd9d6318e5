/*
 * Any bytes through the redactor: what comes out is masked once and for all,
 * and no longer than the masks make it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "gates/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	OWN(buf) struct buf once = { 0 }, twice = { 0 };
	size_t n = 0, again = 0;

	if (redact_text((const char *)data, len, "salt", &once, &n))
		abort();
	if (once.len > len + n * 64 || (!n && (once.len != len || (len && memcmp(once.data, data, len)))))
		abort();
	if (redact_text(once.data ? once.data : "", once.len, "salt", &twice, &again))
		abort();
	if (again || twice.len != once.len)
		abort();
	return 0;
}
