#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/own.h"
#include "base/text.h"
#include "sandbox/egress/trust_java.h"

enum { MAGIC = 0xfeedfeed, VERSION = 2, TRUSTED = 2 };

#define BEGIN "-----BEGIN CERTIFICATE-----"
#define END "-----END CERTIFICATE-----"

/* Debian and kin, Fedora, Arch. */
static const char *const places[] = {
	"/etc/ssl/certs/java/cacerts", "/etc/pki/java/cacerts", "/etc/pki/ca-trust/extracted/java/cacerts",
	"/etc/ca-certificates/extracted/java-cacerts.jks", NULL
};

const char *const *trust_java_places(void)
{
	return places;
}

/* --- as DataOutputStream writes: big end first, text with its length --- */

static void put_u32(struct buf *b, uint32_t v)
{
	const unsigned char bytes[4] = { (unsigned char)(v >> 24), (unsigned char)(v >> 16), (unsigned char)(v >> 8),
					 (unsigned char)v };

	buf_add(b, bytes, sizeof(bytes));
}

static void put_utf(struct buf *b, const char *s)
{
	size_t n = strlen(s);

	buf_addc(b, (char)(n >> 8));
	buf_addc(b, (char)n);
	buf_add(b, s, n);
}

static void put_entry(struct buf *b, int i, const struct buf *der)
{
	char alias[32];

	snprintf(alias, sizeof(alias), "root-%d", i);
	put_u32(b, TRUSTED);
	put_utf(b, alias);
	put_u32(b, 0);	/* when it was made, in ms: nobody asks */
	put_u32(b, 0);
	put_utf(b, "X.509");
	put_u32(b, (uint32_t)der->len);
	buf_add(b, der->data, der->len);
}

/* The entries of @pem; how many. */
static int put_entries(struct buf *b, const char *pem, size_t len)
{
	const char *at = pem, *end = pem + len;
	int n = 0;

	for (;;) {
		OWN(buf) struct buf der = { 0 };
		const char *begin = memmem(at, (size_t)(end - at), BEGIN, strlen(BEGIN)), *stop;

		if (!begin)
			return n;
		begin += strlen(BEGIN);
		stop = memmem(begin, (size_t)(end - begin), END, strlen(END));
		if (!stop)
			return n;
		if (text_base64_decode(begin, (size_t)(stop - begin), &der) == 0 && der.len)
			put_entry(b, n++, &der);
		at = stop + strlen(END);
	}
}

/* The checksum at its end starts with the password, two bytes a letter, and words of Java's makers. */
static int put_checksum(struct buf *store, struct buf *out)
{
	OWN(buf) struct buf all = { 0 };
	uint8_t sum[DIGEST_SHA1_SIZE];

	for (const char *p = TRUST_JAVA_PASSWORD; *p; p++) {
		buf_addc(&all, '\0');
		buf_addc(&all, *p);
	}
	buf_adds(&all, "Mighty Aphrodite");
	buf_add(&all, store->data, store->len);
	if (store->failed || all.failed)
		return -1;
	digest_sha1(all.data, all.len, sum);
	buf_add(out, store->data, store->len);
	return buf_add(out, sum, sizeof(sum));
}

int trust_java_store(const char *pem, size_t len, struct buf *out)
{
	OWN(buf) struct buf store = { 0 };
	OWN(buf) struct buf entries = { 0 };
	int n = put_entries(&entries, pem, len);

	put_u32(&store, MAGIC);
	put_u32(&store, VERSION);
	put_u32(&store, (uint32_t)n);
	buf_add(&store, entries.data ? entries.data : "", entries.len);
	return entries.failed || put_checksum(&store, out) < 0 ? -1 : n;
}
