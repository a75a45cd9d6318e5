#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"

#define MAX_FDS 24

int io_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int io_fill_std(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
		if (fd < 0)
			return -1;
	} while (fd <= STDERR_FILENO);
	return close(fd);
}

int io_read_fd(int fd, size_t max, struct buf *buf, struct err *err)
{
	size_t start = buf->len;

	for (;;) {
		char *to = buf_room(buf, 16384);
		ssize_t n;

		if (!to)
			return err_set(err, ERR_NOMEM, 0, "out of memory");
		n = read(fd, to, 16384);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, ERR_SYS, errno, "cannot read");
		if (!n) {
			buf_grew(buf, 0);
			return 0;
		}
		buf_grew(buf, (size_t)n);
		if (buf->len - start > max)
			return err_set(err, ERR_LIMIT, 0, "more than %zu bytes", max);
	}
}

int io_read_file(int dirfd, const char *path, size_t max, struct buf *buf, struct err *err)
{
	OWN(fd) int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return err_set(err, errno == ENOENT ? ERR_NOTFOUND : ERR_SYS, errno,
			       "cannot open '%s'", path);
	if (io_read_fd(fd, max, buf, err) < 0)
		return err_wrap(err, "'%s'", path);
	return 0;
}

int io_replace_file(int dirfd, const char *path, const void *data, size_t len, mode_t mode,
		    struct err *err)
{
	char tmp[4096];
	OWN(fd) int fd = -1;

	if (snprintf(tmp, sizeof(tmp), "%s.%d.tmp", path, (int)getpid()) >= (int)sizeof(tmp))
		return err_set(err, ERR_SYS, ENAMETOOLONG, "cannot write '%s'", path);
	fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EEXIST && !unlinkat(dirfd, tmp, 0))
		fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, ERR_SYS, errno, "cannot create '%s'", tmp);
	if (io_write_all(fd, data, len) < 0 || fchmod(fd, mode) < 0 || fsync(fd) < 0 ||
	    renameat(dirfd, tmp, dirfd, path) < 0) {
		err_set(err, ERR_SYS, errno, "cannot write '%s'", path);
		unlinkat(dirfd, tmp, 0);
		return -1;
	}
	return 0;
}

int io_mkdirs(const char *path, mode_t mode, struct err *err)
{
	OWN(mem) char *p = strdup(path);
	struct stat st;

	if (!p)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	for (char *s = p + 1;; s++) {
		char c = *s;

		if (c && c != '/')
			continue;
		*s = '\0';
		if (mkdir(p, mode) < 0 && errno != EEXIST &&
		    !(errno == EROFS && !stat(p, &st)))
			return err_set(err, ERR_SYS, errno, "cannot make directory '%s'", p);
		*s = c;
		if (!c)
			break;
	}
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, ERR_SYS, ENOTDIR, "'%s'", path);
	return 0;
}

int io_memfd(const char *name, const void *data, size_t len)
{
	OWN(fd) int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || io_write_all(fd, data, len) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return -1;
	return fd_take(&fd);
}

int io_send_fds(int sock, const void *data, size_t len, const int *fds, size_t nfds)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int) * MAX_FDS)];
	} ctl;
	struct iovec iov = { .iov_base = (void *)(size_t)data, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (nfds > MAX_FDS || !len) {
		errno = EINVAL;
		return -1;
	}
	if (nfds) {
		struct cmsghdr *c = &ctl.align;

		memset(&ctl, 0, sizeof(ctl));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * nfds);
		msg.msg_control = &ctl;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
	}
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n >= 0 && (size_t)n != len)
		errno = EMSGSIZE;
	return n == (ssize_t)len ? 0 : -1;
}

/* Keep up to @max descriptors of @msg in @fds; close any more. Returns how many came. */
static size_t take_fds(struct msghdr *msg, int *fds, size_t max)
{
	size_t n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t count;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++, n++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (n < max)
				fds[n] = fd;
			else
				close(fd);
		}
	}
	return n;
}

ssize_t io_recv_fds(int sock, void *data, size_t len, int *fds, size_t max_fds, size_t *ret_nfds)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int) * MAX_FDS)];
	} ctl;
	struct iovec iov = { .iov_base = data, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = &ctl, .msg_controllen = sizeof(ctl) };
	ssize_t n;
	size_t got;

	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	*ret_nfds = 0;
	if (n < 0)
		return -1;
	got = take_fds(&msg, fds, max_fds);
	if (got > max_fds || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		for (size_t i = 0; i < got && i < max_fds; i++)
			close(fds[i]);
		errno = EMSGSIZE;
		return -1;
	}
	*ret_nfds = got;
	return n;
}
