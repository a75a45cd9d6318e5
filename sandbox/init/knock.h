/*
 * sandbox/init/knock.h - sockets through which a connection is asked for before it is made
 *
 * See sandbox/egress/knock.h, which uses them: the broker opens them, and tests
 * as it does. A listening socket takes only those requests for a connection
 * that bear the mark; a raw one hears of all others, on its port.
 */
#ifndef SANDBOX_INIT_KNOCK_H
#define SANDBOX_INIT_KNOCK_H

#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/init/proto.h"

#define KNOCK_MARK 0x61676174u
#define KNOCK_BUFFER (1 << 20)	/* as much as the kernel gives: what does not fit is asked for again a second later */

#ifndef IPV6_HDRINCL
#define IPV6_HDRINCL 36
#endif

#define KNOCK_DROP BPF_STMT(BPF_RET | BPF_K, 0)
#define KNOCK_TAKE BPF_STMT(BPF_RET | BPF_K, UINT32_MAX)
#define KNOCK_LOAD_MARK BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_MARK))

/* knock_guard() - let a listening socket take marked requests alone; 0, or -1 and errno */
static inline int knock_guard(int listener)
{
	struct sock_filter code[] = {	/* TCP's header is what it sees */
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x12),		/* SYN, ACK */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x02, 0, 3),
		KNOCK_LOAD_MARK,
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, KNOCK_MARK, 1, 0),
		KNOCK_DROP,
		KNOCK_TAKE,
	};
	const struct sock_fprog prog = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

/* The raw IPv4 socket sees the IP header first, the IPv6 one TCP's. */
static inline int knock_filter(int fd, int family)
{
	const uint16_t at = family == AF_INET ? BPF_IND : BPF_ABS;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),			/* means something in IPv4 alone */
		BPF_STMT((uint16_t)(BPF_LD | BPF_B | at), 13),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x12),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x02, 0, 5),
		BPF_STMT((uint16_t)(BPF_LD | BPF_H | at), 2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TRANSPARENT_PORT, 0, 3),
		KNOCK_LOAD_MARK,
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, KNOCK_MARK, 1, 0),
		KNOCK_TAKE,
		KNOCK_DROP,
	};
	const struct sock_fprog prog = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

/* knock_open() - a raw socket that hears the requests the guard drops, and sends marked ones; -1 and errno */
static inline int knock_open(int family)
{
	const uint32_t mark = KNOCK_MARK;
	const int on = 1, buffer = KNOCK_BUFFER;
	int fd = socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP), saved;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
	if (knock_filter(fd, family) == 0 && setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)) == 0 &&
	    (family == AF_INET ? setsockopt(fd, IPPROTO_IP, IP_HDRINCL, &on, sizeof(on)) :
				 setsockopt(fd, IPPROTO_IPV6, IPV6_HDRINCL, &on, sizeof(on)) |
				 setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on))) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

#endif
