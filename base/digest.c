#include <nettle/sha2.h>

#include "base/digest.h"

void digest_hex2(const void *a, size_t a_len, const void *b, size_t b_len, char ret[DIGEST_HEX_SIZE])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t sum[SHA256_DIGEST_SIZE];
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, a_len, a);
	sha256_update(&ctx, b_len, b);
	sha256_digest(&ctx, sizeof(sum), sum);
	for (size_t i = 0; i < sizeof(sum); i++) {
		ret[2 * i] = hex[sum[i] >> 4];
		ret[2 * i + 1] = hex[sum[i] & 15];
	}
	ret[2 * sizeof(sum)] = '\0';
}

void digest_hex(const void *data, size_t len, char ret[DIGEST_HEX_SIZE])
{
	digest_hex2(data, len, "", 0, ret);
}
