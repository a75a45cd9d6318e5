#include <assert.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>

#include "base/digest.h"

static_assert(DIGEST_SIZE == SHA256_DIGEST_SIZE, "the size of SHA-256");

void digest_to_hex(const unsigned char sum[DIGEST_SIZE], char ret[DIGEST_HEX_SIZE])
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < DIGEST_SIZE; i++) {
		ret[2 * i] = hex[sum[i] >> 4];
		ret[2 * i + 1] = hex[sum[i] & 15];
	}
	ret[2 * DIGEST_SIZE] = '\0';
}

void digest_raw(const void *data, size_t len, unsigned char ret[DIGEST_SIZE])
{
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, len, data);
	sha256_digest(&ctx, DIGEST_SIZE, ret);
}

void digest_hex2(const void *a, size_t a_len, const void *b, size_t b_len, char ret[DIGEST_HEX_SIZE])
{
	unsigned char sum[DIGEST_SIZE];
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, a_len, a);
	sha256_update(&ctx, b_len, b);
	sha256_digest(&ctx, DIGEST_SIZE, sum);
	digest_to_hex(sum, ret);
}

void digest_hex(const void *data, size_t len, char ret[DIGEST_HEX_SIZE])
{
	digest_hex2(data, len, "", 0, ret);
}

void digest_sha1(const void *data, size_t len, uint8_t ret[DIGEST_SHA1_SIZE])
{
	struct sha1_ctx ctx;

	sha1_init(&ctx);
	sha1_update(&ctx, len, data);
	sha1_digest(&ctx, DIGEST_SHA1_SIZE, ret);
}
