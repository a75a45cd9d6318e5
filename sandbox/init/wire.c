#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/filter.h>

#include "sandbox/init/wire.h"

#define MAX_FDS NET_FDS_MAX

union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(int) * MAX_FDS)];
};

int wire_send(int sock, const void *data, size_t len, const int *fds, size_t nfds)
{
	struct iovec iov = { .iov_base = (void *)(size_t)data, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union control ctl;
	ssize_t n;

	if (nfds) {
		memset(&ctl, 0, sizeof(ctl));
		ctl.align.cmsg_level = SOL_SOCKET;
		ctl.align.cmsg_type = SCM_RIGHTS;
		ctl.align.cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(&ctl.align), fds, sizeof(int) * nfds);
		msg.msg_control = &ctl;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
	}
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)len ? 0 : -1;
}

ssize_t wire_recv(int sock, void *data, size_t len, int *fds, size_t want_fds)
{
	struct iovec iov = { .iov_base = data, .iov_len = len };
	union control ctl;
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = &ctl, .msg_controllen = sizeof(ctl) };
	struct cmsghdr *c;
	ssize_t n;

	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n;
	c = CMSG_FIRSTHDR(&msg);
	/* Our own supervisor sends; a wrong count is a broken promise, so nothing is kept tidy. */
	if ((msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || (want_fds != 0) != (c != NULL) ||
	    (c && c->cmsg_len != CMSG_LEN(sizeof(int) * want_fds))) {
		errno = EPROTO;
		return -1;
	}
	if (c)
		memcpy(fds, CMSG_DATA(c), sizeof(int) * want_fds);
	return n;
}

void wire_fail(int sock, int sys, int is_exec, const char *what)
{
	struct msg_fail m = { .type = MSG_FAIL, .sys = sys, .is_exec = (uint32_t)is_exec };

	snprintf(m.what, sizeof(m.what), "%s", what);
	wire_send(sock, &m, sizeof(m), NULL, 0);
	_exit(125);
}

static int range_ok(const struct blob_head *b, uint32_t off, uint32_t n, size_t size)
{
	return off <= b->total && n <= (b->total - off) / size && off % 4 == 0;
}

/* A text must start inside; the blob's last byte is a NUL, so it also ends inside. */
static int texts_ok(const struct blob_head *b, uint32_t off, uint32_t n)
{
	const uint32_t *at = (const void *)((const char *)b + off);

	if (!range_ok(b, off, n, sizeof(*at)))
		return 0;
	for (uint32_t i = 0; i < n; i++)
		if (at[i] >= b->total)
			return 0;
	return 1;
}

static int zones_ok(const struct blob_head *b)
{
	const struct blob_zone *z = (const void *)((const char *)b + b->zones_off);

	if (!range_ok(b, b->zones_off, b->n_zones, sizeof(*z)))
		return 0;
	for (uint32_t i = 0; i < b->n_zones; i++)
		if (z[i].kind >= ZONE_NUM || z[i].path_off >= b->total || z[i].rule_off >= b->total)
			return 0;
	return 1;
}

static int blob_ok(const struct blob_head *b, size_t size)
{
	return b->magic == BLOB_MAGIC && b->total == size && !((const char *)b)[b->total - 1] && zones_ok(b) &&
	       texts_ok(b, b->rules_off, b->n_rules) && b->n_host_ports <= PROTO_HOST_PORTS &&
	       texts_ok(b, b->reads_off, b->n_reads) && texts_ok(b, b->sockets_off, b->n_sockets) &&
	       texts_ok(b, b->literals_off, b->n_literals) && texts_ok(b, b->root_only_off, b->n_root_only) &&
	       texts_ok(b, b->closed_off, b->n_closed) && texts_ok(b, b->shown_off, b->n_shown) &&
	       range_ok(b, b->filter_off[0], b->n_filter[0], sizeof(struct sock_filter)) &&
	       range_ok(b, b->filter_off[1], b->n_filter[1], sizeof(struct sock_filter));
}

const struct blob_head *wire_blob(int fd)
{
	struct blob_head *b;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return NULL;
	errno = EPROTO;
	if (st.st_size < (off_t)sizeof(*b) || st.st_size > BLOB_MAX)
		return NULL;
	b = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (b == MAP_FAILED)
		return NULL;
	if (!blob_ok(b, (size_t)st.st_size)) {
		munmap(b, (size_t)st.st_size);
		errno = EPROTO;
		return NULL;
	}
	close(fd);
	return b;
}
