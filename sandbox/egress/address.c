#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#include "base/own.h"
#include "base/parse.h"
#include "sandbox/egress/address.h"

/* In the order of severity of the enum: what a mixed address is called. */
static const struct {
	const char *words;
	int may_consent;
} classes[] = {
	[ADDRESS_PUBLIC] = { "a public address", 1 },
	[ADDRESS_LOOPBACK] = { "a loopback address", 1 },
	[ADDRESS_LINK_LOCAL] = { "a link-local address", 1 },
	[ADDRESS_PRIVATE] = { "a private address", 1 },
	[ADDRESS_SHARED] = { "a shared carrier or overlay address", 1 },
	[ADDRESS_RESERVED] = { "a reserved address", 1 },
	[ADDRESS_OWN] = { "an address of this host", 1 },
	[ADDRESS_UNSPECIFIED] = { "an unspecified address", 0 },
	[ADDRESS_MULTICAST] = { "a multicast address", 0 },
	[ADDRESS_BROADCAST] = { "a broadcast address", 0 },
	[ADDRESS_METADATA] = { "a cloud metadata address", 0 },
	[ADDRESS_LISTED] = { "an address of a denied range", 0 },
};
static_assert(ARRAY_LEN(classes) == ADDRESS_CLASS_NUM, "words for each class");

struct range {
	uint8_t base[16];
	uint8_t bits;
	uint8_t class;
};

/* First match wins, so narrow ranges stand before those around them. */
static const struct range v4_ranges[] = {
	{ { 169, 254, 169, 254 }, 32, ADDRESS_METADATA },	/* AWS, Azure, GCP, OpenStack */
	{ { 169, 254, 170, 2 }, 32, ADDRESS_METADATA },		/* AWS container credentials */
	{ { 169, 254, 170, 23 }, 32, ADDRESS_METADATA },	/* AWS EKS pod identity */
	{ { 169, 254, 0, 23 }, 32, ADDRESS_METADATA },		/* Tencent */
	{ { 100, 100, 100, 200 }, 32, ADDRESS_METADATA },	/* Alibaba */
	{ { 168, 63, 129, 16 }, 32, ADDRESS_METADATA },		/* Azure's wire server, a public number */
	{ { 192, 0, 0, 192 }, 32, ADDRESS_METADATA },		/* Oracle */
	{ { 0 }, 8, ADDRESS_UNSPECIFIED },			/* 0.0.0.0 connects to this host */
	{ { 127 }, 8, ADDRESS_LOOPBACK },
	{ { 169, 254 }, 16, ADDRESS_LINK_LOCAL },
	{ { 10 }, 8, ADDRESS_PRIVATE },
	{ { 172, 16 }, 12, ADDRESS_PRIVATE },
	{ { 192, 168 }, 16, ADDRESS_PRIVATE },
	{ { 100, 64 }, 10, ADDRESS_SHARED },
	{ { 192, 0, 0 }, 24, ADDRESS_RESERVED },		/* RFC 6890 */
	{ { 192, 0, 2 }, 24, ADDRESS_RESERVED },
	{ { 192, 88, 99 }, 24, ADDRESS_RESERVED },		/* 6to4 relays, RFC 7526 */
	{ { 198, 18 }, 15, ADDRESS_RESERVED },			/* benchmarks; agate's own pool */
	{ { 198, 51, 100 }, 24, ADDRESS_RESERVED },
	{ { 203, 0, 113 }, 24, ADDRESS_RESERVED },
	{ { 224 }, 4, ADDRESS_MULTICAST },
	{ { 255, 255, 255, 255 }, 32, ADDRESS_BROADCAST },
	{ { 240 }, 4, ADDRESS_RESERVED },
};

static const struct range v6_ranges[] = {
	{ { 0xfd, 0x00, 0x0e, 0xc2, [15] = 0x54, [14] = 0x02 }, 128, ADDRESS_METADATA },	/* AWS */
	{ { 0xfd, 0x00, 0x0e, 0xc2, [15] = 0x23 }, 128, ADDRESS_METADATA },	/* AWS EKS pod identity */
	{ { 0xfd, 0x20, 0x00, 0xce, [15] = 0x54, [14] = 0x02 }, 128, ADDRESS_METADATA },	/* GCP */
	{ { 0 }, 128, ADDRESS_UNSPECIFIED },
	{ { [15] = 1 }, 128, ADDRESS_LOOPBACK },
	{ { 0 }, 96, ADDRESS_RESERVED },			/* IPv4-compatible, dead since RFC 4291 */
	{ { [10] = 0xff, [11] = 0xff }, 96, ADDRESS_PUBLIC },	/* mapped: what it carries decides */
	{ { [8] = 0xff, [9] = 0xff }, 96, ADDRESS_RESERVED },	/* translated, RFC 2765 */
	{ { 0x00, 0x64, 0xff, 0x9b }, 96, ADDRESS_PUBLIC },	/* NAT64: what it carries decides */
	{ { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48, ADDRESS_PRIVATE },	/* local NAT64, RFC 8215 */
	{ { 0x01, 0x00 }, 64, ADDRESS_RESERVED },		/* discard */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32, ADDRESS_RESERVED },
	{ { 0x20, 0x01, 0x00 }, 23, ADDRESS_RESERVED },		/* Teredo, ORCHID, benchmarks */
	{ { 0x20, 0x02 }, 16, ADDRESS_PUBLIC },			/* 6to4: what it carries decides */
	{ { 0x3f, 0xff }, 20, ADDRESS_RESERVED },
	{ { 0x5f, 0x00 }, 16, ADDRESS_RESERVED },		/* segment routing */
	{ { 0xfc }, 7, ADDRESS_PRIVATE },
	{ { 0xfe, 0x80 }, 10, ADDRESS_LINK_LOCAL },
	{ { 0xfe, 0xc0 }, 10, ADDRESS_PRIVATE },		/* site-local, as some still use it */
	{ { 0xff }, 8, ADDRESS_MULTICAST },
	{ { 0x20 }, 3, ADDRESS_PUBLIC },			/* all that was ever given out */
	{ { 0 }, 0, ADDRESS_RESERVED },
};

/* Where IPv6 addresses carry an IPv4 one. */
static const struct {
	uint8_t base[16];
	uint8_t bits;
	uint8_t at;
} carriers[] = {
	{ { [10] = 0xff, [11] = 0xff }, 96, 12 },	/* ::ffff:a.b.c.d */
	{ { [8] = 0xff, [9] = 0xff }, 96, 12 },		/* ::ffff:0:a.b.c.d */
	{ { 0 }, 96, 12 },				/* ::a.b.c.d; :: and ::1 are 0.0.0.0/8 as well */
	{ { 0x00, 0x64, 0xff, 0x9b }, 96, 12 },
	{ { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48, 12 },
	{ { 0x20, 0x02 }, 16, 2 },
};

const char *address_class_words(enum address_class c)
{
	assert(c < ADDRESS_CLASS_NUM);
	return classes[c].words;
}

int address_may_consent(enum address_class c)
{
	assert(c < ADDRESS_CLASS_NUM);
	return classes[c].may_consent;
}

static int in_prefix(const uint8_t *addr, const uint8_t *base, unsigned int bits)
{
	unsigned int whole = bits / 8, rest = bits % 8;

	if (memcmp(addr, base, whole))
		return 0;
	return !rest || !((addr[whole] ^ base[whole]) >> (8 - rest));
}

static enum address_class look_up(const uint8_t *addr, const struct range *ranges, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (in_prefix(addr, ranges[i].base, ranges[i].bits))
			return ranges[i].class;
	return ADDRESS_PUBLIC;
}

int address_inner(const struct ip *ip, struct ip *ret)
{
	/* ISATAP keeps it behind any prefix: RFC 5214. */
	static const uint8_t isatap[] = { 0x00, 0x00, 0x5e, 0xfe };
	int at = 0;

	if (ip->family != AF_INET6)
		return 0;
	for (size_t i = 0; !at && i < ARRAY_LEN(carriers); i++)
		if (in_prefix(ip->b, carriers[i].base, carriers[i].bits))
			at = carriers[i].at;
	if (!at && (ip->b[8] & ~2) == isatap[0] && !memcmp(ip->b + 9, isatap + 1, 3))
		at = 12;
	if (!at)
		return 0;
	*ret = (struct ip){ .family = AF_INET };
	memcpy(ret->b, ip->b + at, 4);
	return 1;
}

enum address_class address_class(const struct ip *ip)
{
	enum address_class outer, inner;
	struct ip v4;

	if (ip->family == AF_INET)
		return look_up(ip->b, v4_ranges, ARRAY_LEN(v4_ranges));
	outer = look_up(ip->b, v6_ranges, ARRAY_LEN(v6_ranges));
	if (outer == ADDRESS_LOOPBACK || !address_inner(ip, &v4))
		return outer;
	inner = look_up(v4.b, v4_ranges, ARRAY_LEN(v4_ranges));
	return inner > outer ? inner : outer;
}

int ip_equal(const struct ip *a, const struct ip *b)
{
	return a->family == b->family && !memcmp(a->b, b->b, a->family == AF_INET ? 4 : 16);
}

/* A mapped address means the IPv4 one; keep a single spelling of it. */
static void unmap(struct ip *ip)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (ip->family != AF_INET6 || memcmp(ip->b, mapped, sizeof(mapped)))
		return;
	memcpy(ip->b, ip->b + 12, 4);
	memset(ip->b + 4, 0, 12);
	ip->family = AF_INET;
}

int ip_from_sockaddr(const struct sockaddr *sa, struct ip *ret)
{
	struct ip ip = { .family = sa->sa_family };

	if (sa->sa_family == AF_INET)
		memcpy(ip.b, &((const struct sockaddr_in *)(const void *)sa)->sin_addr, 4);
	else if (sa->sa_family == AF_INET6)
		memcpy(ip.b, &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr, 16);
	else
		return -1;
	unmap(&ip);
	*ret = ip;
	return 0;
}

uint16_t sockaddr_port(const struct sockaddr_storage *ss)
{
	if (ss->ss_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)ss)->sin_port);
	return ss->ss_family == AF_INET6 ? ntohs(((const struct sockaddr_in6 *)ss)->sin6_port) : 0;
}

socklen_t ip_to_sockaddr(const struct ip *ip, uint16_t port, struct sockaddr_storage *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (ip->family == AF_INET) {
		struct sockaddr_in *in = (struct sockaddr_in *)ret;

		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, ip->b, 4);
		return sizeof(*in);
	} else {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		memcpy(&in6->sin6_addr, ip->b, 16);
		return sizeof(*in6);
	}
}

int ip_parse(const char *text, struct ip *ret)
{
	struct ip ip = { 0 };

	/* inet_pton(3) takes no octal, no hex, no short forms, no zone. */
	ip.family = strchr(text, ':') ? AF_INET6 : AF_INET;
	if (inet_pton(ip.family, text, ip.b) != 1)
		return -1;
	unmap(&ip);
	*ret = ip;
	return 0;
}

int cidr_parse(const char *text, struct cidr *ret)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	char addr[64];
	uint64_t bits;
	struct cidr c;
	unsigned int width;

	if (len >= sizeof(addr))
		return -1;
	memcpy(addr, text, len);
	addr[len] = '\0';
	if (ip_parse(addr, &c.base) < 0)
		return -1;
	/* "::ffff:10.0.0.0/104" would count its bits in another width. */
	if (slash && strchr(addr, ':') && c.base.family == AF_INET)
		return -1;
	width = c.base.family == AF_INET ? 32 : 128;
	bits = width;
	if (slash && parse_uint(slash + 1, width, &bits) < 0)
		return -1;
	c.bits = (unsigned int)bits;
	for (unsigned int i = c.bits; i < width; i++)
		if (c.base.b[i / 8] & (0x80 >> i % 8))
			return -1;
	*ret = c;
	return 0;
}

int cidr_has(const struct cidr *c, const struct ip *ip)
{
	struct ip v4;

	if (c->base.family == ip->family)
		return in_prefix(ip->b, c->base.b, c->bits) ||
		       (address_inner(ip, &v4) && cidr_has(c, &v4));
	return c->base.family == AF_INET && address_inner(ip, &v4) && cidr_has(c, &v4);
}
