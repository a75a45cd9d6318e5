#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "sandbox/egress/dns.h"

enum {
	HEAD_BYTES = 12,
	NAME_MAX_BYTES = 255,
	LABEL_MAX_BYTES = 63,
	EXTRA_RECORDS_MAX = 8,
	POINTER = 0xc0,		/* the two top bits of a compressed name */
	OUR_UDP_BYTES = 1232,	/* what needs no fragments anywhere */
	OPTION_EDE = 15,	/* RFC 8914 */
	EDE_BLOCKED = 15,
};

enum {
	FLAG_RESPONSE = 0x8000,
	FLAG_OPCODE = 0x7800,
	FLAG_AUTHORITY = 0x0400,
	FLAG_RD = 0x0100,
	FLAG_RA = 0x0080,
	FLAG_CD = 0x0010,
};

/* --- reading: a cursor that says no from the first byte missing on --- */

struct reader {
	const uint8_t *p, *end;
	int bad;
};

static size_t left(const struct reader *r)
{
	return (size_t)(r->end - r->p);
}

static const uint8_t *take(struct reader *r, size_t n)
{
	const uint8_t *at = r->p;

	if (r->bad || left(r) < n) {
		r->bad = 1;
		return NULL;
	}
	r->p += n;
	return at;
}

static unsigned int take_u8(struct reader *r)
{
	const uint8_t *b = take(r, 1);

	return b ? b[0] : 0;
}

static uint16_t take_u16(struct reader *r)
{
	const uint8_t *b = take(r, 2);

	return b ? (uint16_t)(b[0] << 8 | b[1]) : 0;
}

/* One label's bytes as text behind @at. */
static size_t put_label(char *ret, size_t at, const uint8_t *label, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		uint8_t c = label[i];

		if (isalnum(c) || c == '-' || c == '_')
			ret[at++] = (char)tolower(c);
		else
			at += (size_t)snprintf(ret + at, 5, "\\%03u", c);
	}
	return at;
}

/* A name without compression; @ret NULL: over it. */
static void take_name(struct reader *r, char ret[DNS_TEXT_SIZE])
{
	size_t total = 1, at = 0, n;

	while ((n = take_u8(r)) && !r->bad) {
		const uint8_t *label = n > LABEL_MAX_BYTES ? NULL : take(r, n);

		total += 1 + n;
		if (!label || total > NAME_MAX_BYTES) {
			r->bad = 1;
			return;
		}
		if (!ret)
			continue;
		if (at)
			ret[at++] = '.';
		at = put_label(ret, at, label, n);
	}
	if (ret)
		ret[at] = '\0';
}

/* The owner of an additional record, which may point back at the question. */
static void skip_owner(struct reader *r)
{
	if (left(r) && (*r->p & POINTER) == POINTER)
		take(r, 2);
	else
		take_name(r, NULL);
}

/* The options of an OPT record: each has to fit. */
static void check_options(struct reader *r, const uint8_t *data, size_t len)
{
	struct reader in = { .p = data, .end = data + len };

	while (!in.bad && left(&in)) {
		take_u16(&in);
		take(&in, take_u16(&in));
	}
	r->bad |= in.bad;
}

/* RFC 6891. Others (a signature, say) are looked over. */
static void take_extra_record(struct reader *r, struct dns_query *q)
{
	int at_root = left(r) && !*r->p;
	const uint8_t *data;
	uint16_t type, len;
	unsigned int version;

	skip_owner(r);
	type = take_u16(r);
	take_u16(r);
	take_u8(r);
	version = take_u8(r);
	take_u16(r);
	len = take_u16(r);
	data = take(r, len);
	if (!data || type != DNS_OPT)
		return;
	if (!at_root || q->has_edns)
		r->bad = 1;
	q->has_edns = 1;
	q->edns_version = version;
	check_options(r, data, len);
}

int dns_parse(const void *msg, size_t len, struct dns_query *ret)
{
	struct reader r = { .p = msg, .end = (const uint8_t *)msg + len };
	struct dns_query q = { 0 };
	unsigned int questions, answers, authorities, extra;

	if (len < HEAD_BYTES || len > DNS_QUERY_MAX)
		return -1;
	q.id = take_u16(&r);
	q.flags = take_u16(&r);
	questions = take_u16(&r);
	answers = take_u16(&r);
	authorities = take_u16(&r);
	extra = take_u16(&r);
	if (q.flags & (FLAG_RESPONSE | FLAG_OPCODE) || questions != 1 || answers || authorities ||
	    extra > EXTRA_RECORDS_MAX)
		return -1;
	q.question = r.p;
	take_name(&r, q.name);
	q.type = take_u16(&r);
	q.class = take_u16(&r);
	q.question_len = (size_t)(r.p - q.question);
	while (extra-- && !r.bad)
		take_extra_record(&r, &q);
	if (r.bad || left(&r))
		return -1;
	*ret = q;
	return 0;
}

/* --- reverse names --- */

/* The text in front of @tail, which has to be there with a dot before it. */
static int front_of(const char *name, const char *tail, size_t max, char *ret)
{
	size_t len = strlen(name), n = strlen(tail);

	if (len <= n || strcmp(name + len - n, tail) || len - n >= max)
		return -1;
	memcpy(ret, name, len - n);
	ret[len - n] = '\0';
	return 0;
}

static int reverse4(const char *front, struct ip *ret)
{
	unsigned int b[4];
	char text[16], again[16];
	int end = 0;

	if (strlen(front) >= sizeof(text) ||
	    sscanf(front, "%3u.%3u.%3u.%3u%n", &b[0], &b[1], &b[2], &b[3], &end) != 4 || front[end])
		return -1;
	for (int i = 0; i < 4; i++)
		if (b[i] > 255)
			return -1;
	/* The way back refuses blanks, signs and leading zeros. */
	snprintf(again, sizeof(again), "%u.%u.%u.%u", b[0], b[1], b[2], b[3]);
	if (strcmp(again, front))
		return -1;
	snprintf(text, sizeof(text), "%u.%u.%u.%u", b[3], b[2], b[1], b[0]);
	return ip_parse(text, ret);
}

static int reverse6(const char *front, struct ip *ret)
{
	struct ip ip = { .family = AF_INET6 };

	if (strlen(front) != 63)
		return -1;
	for (int i = 0; i < 32; i++) {
		char c = front[2 * i];

		if (!isxdigit((unsigned char)c) || (i < 31 && front[2 * i + 1] != '.'))
			return -1;
		ip.b[15 - i / 2] |= (uint8_t)((isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10) << i % 2 * 4);
	}
	*ret = ip;
	return 0;
}

int dns_reverse(const char *name, struct ip *ret)
{
	char front[64];

	if (front_of(name, ".in-addr.arpa", sizeof(front), front) == 0)
		return reverse4(front, ret);
	return front_of(name, ".ip6.arpa", sizeof(front), front) < 0 ? -1 : reverse6(front, ret);
}

/* --- writing --- */

struct writer {
	uint8_t *p;
	size_t n;
};

static void put(struct writer *w, const void *data, size_t len)
{
	assert(len <= DNS_ANSWER_MAX - w->n);
	memcpy(w->p + w->n, data, len);
	w->n += len;
}

static void put_u16(struct writer *w, unsigned int v)
{
	const uint8_t b[2] = { (uint8_t)(v >> 8), (uint8_t)v };

	put(w, b, sizeof(b));
}

static void put_u32(struct writer *w, uint32_t v)
{
	put_u16(w, v >> 16);
	put_u16(w, v & 0xffff);
}

/* A record of the question's name, whose data of @len bytes the caller puts next. */
static void put_record(struct writer *w, unsigned int type, uint32_t ttl, size_t len)
{
	put_u16(w, POINTER << 8 | HEAD_BYTES);
	put_u16(w, type);
	put_u16(w, DNS_IN);
	put_u32(w, ttl);
	put_u16(w, (unsigned int)len);
}

static void put_address(struct writer *w, const struct ip *ip, uint32_t ttl)
{
	size_t len = ip->family == AF_INET ? 4 : 16;

	put_record(w, ip->family == AF_INET ? DNS_A : DNS_AAAA, ttl, len);
	put(w, ip->b, len);
}

/* @name is a host's: labels of 1 to 63 bytes. */
static void put_pointer(struct writer *w, const char *name, uint32_t ttl)
{
	put_record(w, DNS_PTR, ttl, strlen(name) + 2);
	for (;;) {
		size_t n = strcspn(name, ".");
		uint8_t len = (uint8_t)n;

		assert(n && n <= LABEL_MAX_BYTES);
		put(w, &len, 1);
		put(w, name, n);
		if (!name[n])
			break;
		name += n + 1;
	}
	put(w, "", 1);
}

static void put_edns(struct writer *w, const struct dns_reply *r)
{
	size_t room = DNS_ANSWER_MAX - w->n - 11 - 6, len = r->why ? strlen(r->why) : 0;

	if (len > room)
		len = room;
	put(w, "", 1);
	put_u16(w, DNS_OPT);
	put_u16(w, OUR_UDP_BYTES);
	put_u32(w, (uint32_t)r->rcode >> 4 << 24);
	put_u16(w, len ? (unsigned int)len + 6 : 0);
	if (!len)
		return;
	put_u16(w, OPTION_EDE);
	put_u16(w, (unsigned int)len + 2);
	put_u16(w, EDE_BLOCKED);
	put(w, r->why, len);
}

size_t dns_write(const struct dns_query *q, const struct dns_reply *r, uint8_t ret[DNS_ANSWER_MAX])
{
	struct writer w = { .p = ret };

	put_u16(&w, q->id);
	put_u16(&w, FLAG_RESPONSE | FLAG_AUTHORITY | FLAG_RA | (q->flags & (FLAG_RD | FLAG_CD)) |
			    ((unsigned int)r->rcode & 15));
	put_u16(&w, 1);
	put_u16(&w, (unsigned int)r->n_ip + (r->ptr ? 1 : 0));
	put_u16(&w, 0);
	put_u16(&w, q->has_edns ? 1 : 0);
	put(&w, q->question, q->question_len);
	for (size_t i = 0; i < r->n_ip; i++)
		put_address(&w, &r->ip[i], r->ttl_s);
	if (r->ptr)
		put_pointer(&w, r->ptr, r->ttl_s);
	if (q->has_edns)
		put_edns(&w, r);
	return w.n;
}
