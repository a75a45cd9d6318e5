#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "sandbox/egress/knock.h"

enum {
	IP4_BYTES = 20, IP6_BYTES = 40, TCP_BYTES = 20, ICMP_BYTES = 8,
	SEQ_AT = 4, ACK_AT = 8, OFFSET_AT = 12, FLAGS_AT = 13, SUM_AT = 16,	/* in TCP */
	FLAG_SYN = 0x02, FLAG_RST = 0x04, FLAG_ACK = 0x10,
	HOPS = 64,
};

static unsigned int get16(const uint8_t *p)
{
	return (unsigned int)p[0] << 8 | p[1];
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static void put16(uint8_t *p, unsigned int v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v & 0xffff);
}

/* --- reading --- */

int knock_parse(const struct ip *from, const struct ip *to, const uint8_t *tcp, size_t len, struct knock *ret)
{
	size_t head;

	if (len < TCP_BYTES)
		return -1;
	head = (size_t)(tcp[OFFSET_AT] >> 4) * 4;
	if (head < TCP_BYTES || head > len || (tcp[FLAGS_AT] & (FLAG_SYN | FLAG_ACK | FLAG_RST)) != FLAG_SYN)
		return -1;
	*ret = (struct knock){ .from = *from, .to = *to, .port = (uint16_t)get16(tcp), .to_port = (uint16_t)get16(tcp + 2),
			       .seq = get32(tcp + SEQ_AT), .tcp_len = head };
	memcpy(ret->tcp, tcp, head);	/* no data: TCP Fast Open is refused */
	return 0;
}

/* What a raw IPv4 socket gives begins with the IP header. */
static int parse4(const uint8_t *data, size_t len, struct knock *ret)
{
	struct ip from = { .family = AF_INET }, to = { .family = AF_INET };
	size_t head;

	if (len < IP4_BYTES)
		return -1;
	head = (size_t)(data[0] & 15) * 4;
	if (head < IP4_BYTES || head > len)
		return -1;
	memcpy(from.b, data + 12, 4);
	memcpy(to.b, data + 16, 4);
	return knock_parse(&from, &to, data + head, len - head, ret);
}

/* What a raw IPv6 socket gives begins behind it, and where it went is told beside. */
static int parse6(const struct msghdr *m, const uint8_t *data, size_t len, struct knock *ret)
{
	const struct sockaddr_in6 *peer = m->msg_name;
	struct ip from = { .family = AF_INET6 }, to = { .family = AF_INET6 };
	int known = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR((struct msghdr *)(size_t)m, c)) {
		struct in6_pktinfo info;

		if (c->cmsg_level != IPPROTO_IPV6 || c->cmsg_type != IPV6_PKTINFO)
			continue;
		memcpy(&info, CMSG_DATA(c), sizeof(info));
		memcpy(to.b, &info.ipi6_addr, 16);
		known = 1;
	}
	memcpy(from.b, &peer->sin6_addr, 16);
	return known ? knock_parse(&from, &to, data, len, ret) : -1;
}

int knock_read(int fd, int family, struct knock *ret)
{
	uint8_t data[256];
	union { struct cmsghdr align; char room[CMSG_SPACE(sizeof(struct in6_pktinfo)) + 64]; } control;
	struct sockaddr_in6 peer = { 0 };
	struct iovec iov = { .iov_base = data, .iov_len = sizeof(data) };
	struct msghdr m = { .msg_name = &peer, .msg_namelen = sizeof(peer), .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = &control, .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);

	if (n < 0)
		return errno == EINTR ? 0 : -1;
	return (family == AF_INET ? parse4(data, (size_t)n, ret) : parse6(&m, data, (size_t)n, ret)) == 0;
}

/* --- writing --- */

static uint32_t add_up(uint32_t sum, const uint8_t *p, size_t len)
{
	for (; len > 1; p += 2, len -= 2)
		sum += get16(p);
	return len ? sum + ((uint32_t)p[0] << 8) : sum;
}

static unsigned int fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum & 0xffff;
}

/* Of what stands behind the IP header; IPv4's ICMP alone has no pseudo header. */
static unsigned int checksum(const struct ip *from, const struct ip *to, unsigned int protocol, const uint8_t *p, size_t len)
{
	size_t n = from->family == AF_INET ? 4 : 16;
	uint32_t sum = 0;

	if (protocol != IPPROTO_ICMP)
		sum = add_up(add_up(protocol + (uint32_t)len, from->b, n), to->b, n);
	return fold(add_up(sum, p, len));
}

static size_t put_ip(uint8_t *p, const struct ip *from, const struct ip *to, unsigned int protocol, size_t len)
{
	size_t head = from->family == AF_INET ? IP4_BYTES : IP6_BYTES;

	memset(p, 0, head);
	if (from->family == AF_INET) {
		p[0] = 0x45;
		put16(p + 2, (unsigned int)(head + len));
		put16(p + 6, 0x4000);	/* in one piece */
		p[8] = HOPS;
		p[9] = (uint8_t)protocol;
		memcpy(p + 12, from->b, 4);
		memcpy(p + 16, to->b, 4);
		put16(p + 10, fold(add_up(0, p, head)));
	} else {
		p[0] = 0x60;
		put16(p + 4, (unsigned int)len);
		p[6] = (uint8_t)protocol;
		p[7] = HOPS;
		memcpy(p + 8, from->b, 16);
		memcpy(p + 24, to->b, 16);
	}
	return head;
}

static size_t again(const struct knock *k, uint8_t *p)
{
	size_t head = put_ip(p, &k->from, &k->to, IPPROTO_TCP, k->tcp_len);
	uint8_t *tcp = p + head;

	memcpy(tcp, k->tcp, k->tcp_len);
	put16(tcp + SUM_AT, 0);
	put16(tcp + SUM_AT, checksum(&k->from, &k->to, IPPROTO_TCP, tcp, k->tcp_len));
	return head + k->tcp_len;
}

static size_t reset(const struct knock *k, uint8_t *p)
{
	size_t head = put_ip(p, &k->to, &k->from, IPPROTO_TCP, TCP_BYTES);
	uint8_t *tcp = p + head;

	memset(tcp, 0, TCP_BYTES);
	put16(tcp, k->to_port);
	put16(tcp + 2, k->port);
	put32(tcp + ACK_AT, k->seq + 1);
	tcp[OFFSET_AT] = TCP_BYTES / 4 << 4;
	tcp[FLAGS_AT] = FLAG_RST | FLAG_ACK;
	put16(tcp + SUM_AT, checksum(&k->to, &k->from, IPPROTO_TCP, tcp, TCP_BYTES));
	return head + TCP_BYTES;
}

/* With the head of what could not be delivered in it: by that the program's kernel knows which. */
static size_t unreachable(const struct knock *k, uint8_t *p)
{
	unsigned int protocol = k->from.family == AF_INET ? IPPROTO_ICMP : IPPROTO_ICMPV6;
	size_t head = k->from.family == AF_INET ? IP4_BYTES : IP6_BYTES;
	uint8_t *icmp = p + head;
	size_t len = ICMP_BYTES + again(k, icmp + ICMP_BYTES);

	put_ip(p, &k->to, &k->from, protocol, len);
	memset(icmp, 0, ICMP_BYTES);
	icmp[0] = protocol == IPPROTO_ICMP ? 3 : 1;	/* destination unreachable */
	icmp[1] = protocol == IPPROTO_ICMP ? 1 : 3;	/* the host; the address */
	put16(icmp + 2, checksum(&k->to, &k->from, protocol, icmp, len));
	return head + len;
}

size_t knock_packet(const struct knock *k, enum knock_answer answer, uint8_t ret[KNOCK_PACKET_MAX])
{
	static size_t (*const build[])(const struct knock *k, uint8_t *p) = {
		[KNOCK_LET_IN] = again, [KNOCK_REFUSE] = reset, [KNOCK_UNREACHABLE] = unreachable,
	};

	static_assert(2 * IP6_BYTES + ICMP_BYTES + KNOCK_TCP_MAX <= KNOCK_PACKET_MAX, "room for the largest");
	return build[answer](k, ret);
}

static int answer(int fd, const struct knock *k, enum knock_answer which)
{
	uint8_t packet[KNOCK_PACKET_MAX];
	size_t len = knock_packet(k, which, packet);
	struct sockaddr_storage to;
	/* To itself, through the namespace's loopback; a port here would be taken for a protocol. */
	socklen_t to_len = ip_to_sockaddr(which == KNOCK_LET_IN ? &k->to : &k->from, 0, &to);

	return sendto(fd, packet, len, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&to, to_len) == (ssize_t)len ? 0 : -1;
}

int knock_let_in(int fd, const struct knock *k)
{
	return answer(fd, k, KNOCK_LET_IN);
}

int knock_refuse(int fd, const struct knock *k)
{
	return answer(fd, k, KNOCK_REFUSE);
}

int knock_unreachable(int fd, const struct knock *k)
{
	return answer(fd, k, KNOCK_UNREACHABLE);
}
