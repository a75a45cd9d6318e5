/*
 * sandbox/init/ops_sock.c - bind and connect
 *
 * Internet addresses are left to the kernel: the network namespace holds
 * nothing but its own loopback. Path-named Unix sockets are files: binding one
 * makes a name, and connecting to one that came with a bind mount of the host
 * would reach a service of the host.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "sandbox/init/broker.h"

/* The address argument of a bind or connect, if it is a Unix path. */
struct unix_address {
	struct request r;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];
	struct place p;
};

static void unix_address_done(struct unix_address *u)
{
	place_done(&u->p);
}

#define UNIX_ADDRESS(r_) __attribute__((cleanup(unix_address_done))) struct unix_address u = { \
	.r = *(r_), .p = { .dir = -1, .object = -1 } }

/* 1: a path, now in @u and walked to; 0: @ret is the answer. */
static int read_address(struct unix_address *u, unsigned int how, struct answer *ret)
{
	const __u64 *arg = u->r.n->data.args;
	struct sockaddr_un a = { 0 };
	size_t len = arg[2], path_at = offsetof(struct sockaddr_un, sun_path);

	*ret = answer_continue();	/* lengths the kernel refuses by itself */
	if (len < sizeof(a.sun_family) || len > sizeof(struct sockaddr_storage))
		return 0;
	if (target_read(u->r.tid, arg[1], &a, len < sizeof(a) ? len : sizeof(a)) < 0) {
		*ret = answer_errno(EFAULT);
		return 0;
	}
	if (a.sun_family != AF_UNIX || len <= path_at || !a.sun_path[0] || len > sizeof(a))
		return 0;	/* other families, unnamed, abstract: this namespace's own */
	memcpy(u->path, a.sun_path, len - path_at);
	u->r.given = u->path;
	if (walk(&u->r, AT_FDCWD, u->path, how, 0, &u->p) < 0) {
		*ret = answer_errno(errno);
		return 0;
	}
	if (!target_alive(&u->r)) {
		*ret = answer_errno(EINTR);
		return 0;
	}
	return 1;
}

/* Do @call on the caller's socket with the last name alone, standing in its directory. */
static struct answer at_place(const struct request *r, const struct place *p,
			      int (*call)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t len = strlen(p->name);
	int sock, result, saved;

	if (len >= sizeof(a.sun_path))
		return answer_errno(ENAMETOOLONG);
	memcpy(a.sun_path, p->name, len + 1);
	sock = target_take_fd(r, (int)r->n->data.args[0]);
	if (sock < 0)
		return answer_errno(errno);
	if (fchdir(p->dir) < 0) {
		saved = errno;
		close(sock);
		return answer_errno(saved);
	}
	result = call(sock, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1));
	saved = errno;
	if (fchdir(r->b->proc) < 0)
		_exit(125);	/* the next call of this thread would act in the wrong place */
	close(sock);
	return result < 0 ? answer_errno(saved) : answer_result(0);
}

struct answer do_bind(const struct request *r)
{
	const char *rule;
	struct stat st;
	struct answer a;
	mode_t mask;
	int err;
	UNIX_ADDRESS(r);

	if (!read_address(&u, 0, &a))
		return a;
	if (is_native(&u.p))
		return answer_continue();
	if (!u.p.name[0])
		return answer_errno(EADDRINUSE);
	err = judge_write(r, &u.p, &rule);
	if (err && !fstatat(u.p.dir, u.p.name, &st, AT_SYMLINK_NOFOLLOW))
		return answer_errno(EADDRINUSE);
	if (err)
		return refuse(&u.r, ACT_BIND, &u.p, rule, err);
	if (target_umask(r, &mask) < 0)
		return answer_errno(ESRCH);
	umask(mask);
	return at_place(r, &u.p, bind);
}

static int is_allowed_socket(const struct broker *b, const char *path)
{
	const uint32_t *at = (const void *)((const char *)b->blob + b->blob->sockets_off);

	for (uint32_t i = 0; i < b->blob->n_sockets; i++)
		if (!strcmp((const char *)b->blob + at[i], path))
			return 1;
	return 0;
}

/*
 * Where no bind mount of the host is in view every socket is the run's own, and
 * the kernel may go on by itself. Where one is, "continue" would let the
 * command swap the address for a host socket's, so we connect ourselves: only
 * with a socket that does not wait, since a full backlog must not stop us.
 */
struct answer do_connect(const struct request *r)
{
	struct answer a;
	int flags;
	UNIX_ADDRESS(r);

	if (!read_address(&u, WALK_FOLLOW, &a))
		return a;
	if (u.p.zone && u.p.zone->from_host && !is_allowed_socket(r->b, u.p.path)) {
		struct stat st;

		if (u.p.name[0] && fstatat(u.p.dir, u.p.name, &st, 0) < 0)
			return answer_errno(errno);
		return refuse(&u.r, ACT_UNIX_CONNECT, &u.p, "unix sockets of the host", EACCES);
	}
	for (size_t i = 0; i < r->b->n_zones; i++) {
		if (!r->b->zones[i].from_host)
			continue;
		flags = target_fd_flags(r, (int)r->n->data.args[0]);
		if (!u.p.name[0])
			return answer_errno(ECONNREFUSED);
		a = at_place(r, &u.p, connect);
		/* A blocking caller expects to wait rather than to be told EAGAIN. */
		return a.kind == ANSWER_ERRNO && a.err == EAGAIN && !(flags & O_NONBLOCK) ?
			answer_errno(ECONNREFUSED) : a;
	}
	return answer_continue();
}
