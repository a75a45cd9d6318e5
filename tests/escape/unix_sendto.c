/*
 * A datagram names its receiver without connect: sendto, sendmsg, sendmmsg.
 *
 * RUN: --read {host}
 * EXPECT: action=unix-connect|syscall-socket target=*
 */
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/escape/attack.h"

int main(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char byte = 'x';
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_name = &at, .msg_namelen = sizeof(at), .msg_iov = &iov, .msg_iovlen = 1 };
	struct mmsghdr many = { .msg_hdr = msg };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	attack_begin();
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/dgram.sock", told("ATTACK_HOST"));
	refused(sendto(fd, &byte, 1, 0, (struct sockaddr *)&at, sizeof(at)), "sendto a socket of the host");
	refused(sendmsg(fd, &msg, 0), "sendmsg to it");
	refused(sendmmsg(fd, &many, 1, 0), "sendmmsg to it");
	return attack_end();
}
