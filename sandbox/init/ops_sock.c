/*
 * sandbox/init/ops_sock.c - bind and connect
 *
 * Internet addresses are net.c's. Path-named Unix sockets are files: binding one
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
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "sandbox/init/broker.h"
#include "sandbox/init/later.h"
#include "sandbox/init/net.h"
#include "sandbox/init/net_internal.h"

/* The address argument of a bind or connect, if it is a Unix path. */
struct unix_address {
	struct request r;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];
	struct place p;
	int socket;	/* -1, or O_PATH of what is there */
};

static void unix_address_done(struct unix_address *u)
{
	if (u->socket >= 0)
		close(u->socket);
	place_done(&u->p);
}

#define UNIX_ADDRESS(r_) __attribute__((cleanup(unix_address_done))) struct unix_address u = { \
	.r = *(r_), .p = { .dir = -1, .object = -1 }, .socket = -1 }

/* The address argument as it was when it was read: what is judged is what is done. */
struct address {
	struct sockaddr_storage is;
	size_t len;
};

/* 0, or -1 and @ret is the answer. */
static int read_address(const struct request *r, struct address *ret, struct answer *answer)
{
	*ret = (struct address){ .len = r->n->data.args[2] };
	if (ret->len < sizeof(ret->is.ss_family) || ret->len > sizeof(ret->is))
		*answer = answer_errno(EINVAL);
	else if (target_read(r->tid, r->n->data.args[1], &ret->is, ret->len) < 0)
		*answer = answer_errno(EFAULT);
	else if (!target_alive(r))
		*answer = answer_errno(EINTR);
	else
		return 0;
	return -1;
}

/* Does it name a file? Else it is unnamed or abstract: the network namespace's own, or Landlock's. */
static int is_path(const struct address *a)
{
	const struct sockaddr_un *local = (const void *)&a->is;

	return a->is.ss_family == AF_UNIX && a->len > offsetof(struct sockaddr_un, sun_path) && local->sun_path[0];
}

/* Walk to the file it names. 0, or -1 and @ret is the answer. */
static int find_path(struct unix_address *u, const struct address *a, unsigned int how, struct answer *ret)
{
	const struct sockaddr_un *local = (const void *)&a->is;

	*ret = answer_errno(EINVAL);
	if (a->len > sizeof(*local))
		return -1;
	memcpy(u->path, local->sun_path, a->len - offsetof(struct sockaddr_un, sun_path));
	u->r.given = u->path;
	if (walk(&u->r, AT_FDCWD, u->path, how, 0, &u->p) < 0)
		*ret = answer_errno(errno);
	else if (!target_alive(&u->r))
		*ret = answer_errno(EINTR);
	else
		return 0;
	return -1;
}

/* The last name alone, for whoever stands in its directory. 0, or -1 and errno */
static int name_alone(const struct place *p, struct address *ret)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t len = strlen(p->name);

	if (len >= sizeof(a.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(a.sun_path, p->name, len + 1);
	ret->len = offsetof(struct sockaddr_un, sun_path) + len + 1;
	memcpy(&ret->is, &a, sizeof(a));
	return 0;
}

static int bind_at(const struct request *r, int sock, const struct place *p)
{
	struct address a;

	if (name_alone(p, &a) < 0 || stand_briefly(r, p->dir) < 0)
		return -1;
	return bind(sock, (const struct sockaddr *)&a.is, (socklen_t)a.len);
}

static struct answer bind_taken(const struct request *r, const struct place *p)
{
	int sock = target_take_fd(r, (int)r->n->data.args[0]);
	struct answer a;

	if (sock < 0)
		return answer_errno(errno);
	a = answer_result(bind_at(r, sock, p));
	close(sock);
	return a;
}

/*
 * Sockets the command bound in a directory it shares with the host are its own
 * to connect to. Remembered by what a reused inode would not share: its birth.
 */
#define MADE_SOCKETS 256

struct made_socket {
	dev_t dev;
	ino_t ino;
	struct statx_timestamp born;
};

static struct made_socket made_sockets[MADE_SOCKETS];
static size_t n_made;
static pthread_mutex_t made_lock = PTHREAD_MUTEX_INITIALIZER;

static int identify(int dir, const char *name, struct made_socket *ret)
{
	struct statx st;

	memset(ret, 0, sizeof(*ret));
	if (statx(dir, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st) < 0 ||
	    !S_ISSOCK(st.stx_mode) || !(st.stx_mask & STATX_BTIME))
		return -1;
	ret->dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	ret->ino = st.stx_ino;
	ret->born.tv_sec = st.stx_btime.tv_sec;
	ret->born.tv_nsec = st.stx_btime.tv_nsec;
	return 0;
}

static void remember_socket(const struct place *p)
{
	struct made_socket made;

	if (identify(p->dir, p->name, &made) < 0)
		return;
	pthread_mutex_lock(&made_lock);
	made_sockets[n_made++ % MADE_SOCKETS] = made;
	pthread_mutex_unlock(&made_lock);
}

static int was_made_here(int object)
{
	struct made_socket at;
	int found = 0;

	if (identify(object, "", &at) < 0)
		return 0;
	pthread_mutex_lock(&made_lock);
	for (size_t i = 0; i < MADE_SOCKETS && !found; i++)
		found = !memcmp(&made_sockets[i], &at, sizeof(at));
	pthread_mutex_unlock(&made_lock);
	return found;
}

struct answer do_listen(const struct request *r)
{
	return target_alive(r) ? net_listen(r) : answer_errno(EINTR);
}

struct answer do_bind(const struct request *r)
{
	const char *rule;
	struct stat st;
	struct answer a;
	struct address to;
	int err;
	UNIX_ADDRESS(r);

	if (read_address(r, &to, &a) < 0)
		return a;
	if (r->b->bare && (to.is.ss_family == AF_INET || to.is.ss_family == AF_INET6))
		return net_bind(r, &to.is, to.len);
	if (!is_path(&to))
		return answer_continue();
	if (find_path(&u, &to, 0, &a) < 0)
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
	if (take_umask(r) < 0)
		return answer_errno(ESRCH);
	a = bind_taken(r, &u.p);
	if (a.kind == ANSWER_VALUE && u.p.zone->from_host)
		remember_socket(&u.p);
	return a;
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
 * Connect to a Unix socket, @object or the one at address @to, without ever waiting in
 * the kernel: the queue of a server inside may stay full for as long as the command
 * likes. A caller that would wait does so for a while, elsewhere.
 */
static struct answer connect_unix(const struct request *r, int object, const struct address *to)
{
	int sock = target_take_fd(r, (int)r->n->data.args[0]), flags = sock < 0 ? -1 : fcntl(sock, F_GETFL);
	const struct sockaddr *addr = (const void *)&to->is;
	struct answer a;

	if (sock < 0)
		return answer_errno(errno);
	if (flags < 0 || (object >= 0 && stand_in(r, r->b->proc) < 0)) {
		a = answer_errno(flags < 0 ? EBADF : errno);
		close(sock);
		return a;
	}
	if (!(flags & O_NONBLOCK))
		fcntl(sock, F_SETFL, flags | O_NONBLOCK);
	a = answer_result(connect(sock, addr, (socklen_t)to->len));
	if (!(flags & O_NONBLOCK) && a.kind == ANSWER_ERRNO && a.err == EAGAIN)
		return connect_later(r, sock, flags, object, addr, (socklen_t)to->len);
	if (!(flags & O_NONBLOCK))
		fcntl(sock, F_SETFL, flags);
	close(sock);
	return a;
}

/* To the very socket that was judged: its name may lead elsewhere by now. */
static struct answer connect_object(const struct request *r, int object)
{
	struct address to;

	to.len = object_address(object, &to.is);
	return connect_unix(r, object, &to);
}

static struct answer connect_taken(const struct request *r, const struct address *to)
{
	int sock = target_take_fd(r, (int)r->n->data.args[0]);
	struct answer a;

	if (sock < 0)
		return answer_errno(errno);
	a = net_connect_to(r, sock, (const void *)&to->is, (socklen_t)to->len);
	close(sock);
	return a;
}

/* Abstract names are the network namespace's, and so the run's; without one they may be anybody's. */
static struct answer connect_abstract(const struct request *r, const struct address *to)
{
	struct request told = *r;

	told.given = "an abstract socket";
	if (r->b->bare)
		return refuse(&told, ACT_UNIX_CONNECT, NULL, "without namespaces it may be the host's", EACCES);
	return connect_unix(r, -1, to);
}

static struct answer connect_path(const struct request *r, const struct address *to)
{
	struct answer a;
	struct stat st;
	UNIX_ADDRESS(r);

	if (find_path(&u, to, WALK_FOLLOW, &a) < 0)
		return a;
	if (!u.p.name[0])
		return answer_errno(ECONNREFUSED);
	u.socket = openat(u.p.dir, u.p.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (u.socket < 0 || fstat(u.socket, &st) < 0)
		return answer_errno(errno);
	if (!S_ISSOCK(st.st_mode))	/* a link only since it was looked for */
		return answer_errno(S_ISLNK(st.st_mode) ? ELOOP : ECONNREFUSED);
	if (u.p.zone && u.p.zone->from_host && !is_allowed_socket(r->b, u.p.path) && !was_made_here(u.socket))
		return refuse(&u.r, ACT_UNIX_CONNECT, &u.p, "unix sockets of the host", EACCES);
	return connect_object(r, u.socket);
}

static struct answer connect_internet(const struct request *r, const struct address *to)
{
	struct answer a = net_connect(r, &to->is, to->len);

	return a.kind == ANSWER_CONTINUE ? connect_taken(r, to) : a;
}

/*
 * Never "continue": the command could put another address, or another socket, in
 * the place of what we looked at: that of a socket of the host, which Landlock does
 * not keep it from.
 */
struct answer do_connect(const struct request *r)
{
	struct address to;
	struct answer a;

	if (read_address(r, &to, &a) < 0)
		return a;
	switch (to.is.ss_family) {
	case AF_UNIX:
		return is_path(&to) ? connect_path(r, &to) : connect_abstract(r, &to);
	case AF_INET:
	case AF_INET6:
		return connect_internet(r, &to);
	case AF_UNSPEC:
	case AF_NETLINK:
		return connect_taken(r, &to);
	default:
		return answer_errno(EAFNOSUPPORT);
	}
}

struct answer do_sendto(const struct request *r)
{
	const __u64 *arg = r->n->data.args;
	char addr[sizeof(struct sockaddr_storage)];
	sa_family_t family;

	if (arg[3] & MSG_FASTOPEN)
		return answer_errno(EOPNOTSUPP);
	if (arg[5] < sizeof(family) || arg[5] > sizeof(addr))
		return answer_continue();	/* the kernel says so */
	if (target_read(r->tid, arg[4], addr, arg[5]) < 0)
		return answer_errno(EFAULT);
	memcpy(&family, addr, sizeof(family));
	if (family != AF_INET && family != AF_INET6)
		return answer_continue();
	return target_alive(r) ? net_sendto(r, addr, arg[5]) : answer_errno(EINTR);
}
