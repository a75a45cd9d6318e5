/* What outside bytes can do to the reader of a ClientHello: it may not change its mind as more of them come. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/egress/sni.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char whole[SNI_NAME_SIZE] = "", part[SNI_NAME_SIZE] = "";
	enum sni last = sni_read(data, len, whole);

	if (last == SNI_NAME && (!whole[0] || memchr(whole, ' ', strlen(whole))))
		abort();
	for (size_t n = 0; n < len; n += n < 600 ? 1 : 500) {
		enum sni s = sni_read(data, n, part);

		if (s != SNI_MORE && (s != last || (s == SNI_NAME && strcmp(part, whole))))
			abort();
	}
	return 0;
}
