#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/io.h"
#include "base/loop.h"
#include "base/own.h"
#include "runner/native.h"
#include "sandbox/init/proto.h"

#define ABANDON_MS 1000

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

static int open_ns(pid_t pid, const char *which)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, which);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int stage_join(pid_t stage, int broker_ctl, int blob, struct err *err)
{
	const struct msg_plain m = { .type = MSG_JOIN };
	OWN(fd) int net = open_ns(stage, "net");
	OWN(fd) int mnt = open_ns(stage, "mnt");
	const int fds[JOIN_NUM] = { [JOIN_NETNS] = net, [JOIN_MNTNS] = mnt, [JOIN_BLOB] = blob };

	if (net < 0 || mnt < 0)
		return err_set(err, ERR_SYS, errno, "cannot open the sandbox's namespaces");
	if (io_send_fds(broker_ctl, &m, sizeof(m), fds, JOIN_NUM) < 0)
		return err_set(err, ERR_SYS, errno, "cannot start the broker");
	return 0;
}

void stage_await(int sock)
{
	struct pollfd p = { .fd = sock };

	shutdown(sock, SHUT_WR);
	while (poll(&p, 1, ABANDON_MS) < 0 && errno == EINTR)
		;
}

struct watch *stage_spawn_broker(struct loop *loop, const char *init_path, int ctl,
				 void (*exited)(void *cookie, int status, int signum), void *cookie, pid_t *ret_pid,
				 struct err *err)
{
	char *argv[] = { (char *)(size_t)"agate-init", (char *)(size_t)"broker", (char *)(size_t)"3", NULL };
	char *env[] = { NULL };
	const int fds[] = { -1, -1, STDERR_FILENO, ctl };
	const struct spawn sp = { .file = init_path, .argv = argv, .env = env, .fds = fds, .nfds = 4, .new_session = 1 };

	return loop_spawn(loop, &sp, exited, cookie, ret_pid, err);
}
