#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "runner/native.h"

ssize_t stage_receive(int sock, void *data, size_t len, int fds[2], size_t *ret_nfds, pid_t *ret_pid)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(2 * sizeof(int))];
	} ctl;
	struct iovec iov = { .iov_base = data, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ctl, .msg_controllen = sizeof(ctl) };
	ssize_t n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	*ret_nfds = 0;
	*ret_pid = 0;
	for (struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL; c; c = CMSG_NXTHDR(&msg, c)) {
		struct ucred cred;

		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS) {
			memcpy(&cred, CMSG_DATA(c), sizeof(cred));
			*ret_pid = cred.pid;
		} else if (c->cmsg_type == SCM_RIGHTS) {
			*ret_nfds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			memcpy(fds, CMSG_DATA(c), *ret_nfds * sizeof(int));
		}
	}
	return n;
}
