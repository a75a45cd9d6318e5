#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/egress/flow.h"

enum {
	TURN_BYTES = 4 << 20,	/* one busy flow must not starve a thousand others */
	PIPE_BYTES = 256 << 10,
	TAKE_BYTES = 1 << 20,
	COPY_BYTES = 64 << 10,
	SMALL_BYTES = 8 << 10,	/* after so little there is hardly more yet: let the loop say */
};

/* --- pipes --- */

static int pipe_borrow(struct pipes *pool, int fd[2])
{
	if (pool->n) {
		pool->n--;
		fd[0] = pool->fd[pool->n][0];
		fd[1] = pool->fd[pool->n][1];
		return 0;
	}
	if (pool->no_splice || pipe2(fd, O_NONBLOCK | O_CLOEXEC) < 0) {
		fd[0] = fd[1] = -1;
		return -1;
	}
	/* Over the user's share of pipe memory it stays small, which is fine. */
	fcntl(fd[1], F_SETPIPE_SZ, PIPE_BYTES);
	return 0;
}

static void close_both(const int fd[2])
{
	close(fd[0]);
	close(fd[1]);
}

/* @is_empty: another flow may have it. */
static void pipe_return(struct pipes *pool, int fd[2], int is_empty)
{
	if (fd[0] < 0)
		return;
	if (is_empty && pool->n < PIPES_KEPT) {
		pool->fd[pool->n][0] = fd[0];
		pool->fd[pool->n][1] = fd[1];
		pool->n++;
	} else {
		close_both(fd);
	}
	fd[0] = fd[1] = -1;
}

void pipes_done(struct pipes *pool)
{
	while (pool->n)
		close_both(pool->fd[--pool->n]);
}

/* --- flows --- */

void flow_init(struct flow *f, int from, int to, uint64_t left)
{
	*f = (struct flow){ .from = from, .to = to, .pipe = { -1, -1 }, .left = left };
}

void flow_done(struct flow *f, struct pipes *pool)
{
	pipe_return(pool, f->pipe, !f->held);
	f->held = 0;
	buf_done(&f->early);
}

static int would_block(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/* Deliver what was taken. -1 when nothing is left to deliver, else a state to return. */
static int deliver(struct flow *f)
{
	while (f->early.len) {
		ssize_t n = send(f->to, f->early.data, f->early.len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return would_block() ? FLOW_WANTS_WRITE : FLOW_TO_BROKE;
		buf_eat(&f->early, (size_t)n);
	}
	while (f->held) {
		ssize_t n = splice(f->pipe[0], NULL, f->to, NULL, f->held, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

		if (n <= 0)
			return n < 0 && would_block() ? FLOW_WANTS_WRITE : FLOW_TO_BROKE;
		f->held -= (size_t)n;
	}
	return -1;
}

static ssize_t take_copy(struct flow *f, size_t max)
{
	char *to = buf_room(&f->early, max < COPY_BYTES ? max : COPY_BYTES);
	ssize_t n;

	if (!to) {
		errno = ENOMEM;
		return -1;
	}
	n = recv(f->from, to, max < COPY_BYTES ? max : COPY_BYTES, MSG_DONTWAIT);
	buf_grew(&f->early, n > 0 ? (size_t)n : 0);
	return n;
}

/* Take some bytes from @from: what recv(2) says. */
static ssize_t take(struct flow *f, struct pipes *pool, size_t max)
{
	ssize_t n;

	if (pool->no_splice || (f->pipe[0] < 0 && pipe_borrow(pool, f->pipe) < 0))
		return take_copy(f, max);
	n = splice(f->from, NULL, f->pipe[1], NULL, max, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	if (n < 0 && (errno == EINVAL || errno == ENOSYS)) {
		pool->no_splice = 1;
		return take_copy(f, max);
	}
	f->held += n > 0 ? (size_t)n : 0;
	return n;
}

/* The end of a turn: keep no pipe and no memory while waiting for input. */
static enum flow_state rest(struct flow *f, struct pipes *pool, enum flow_state state)
{
	if (!f->held)
		pipe_return(pool, f->pipe, 1);
	if (!f->early.len)
		buf_done(&f->early);
	return state;
}

enum flow_state flow_move(struct flow *f, struct pipes *pool)
{
	size_t turn = 0;
	int little = 0;

	for (;;) {
		int state = deliver(f);
		size_t max = f->left < TAKE_BYTES ? (size_t)f->left : TAKE_BYTES;
		ssize_t n;

		if (state >= 0)
			return rest(f, pool, state);
		if (f->ended || !f->left)
			return rest(f, pool, FLOW_DONE);
		if (turn >= TURN_BYTES)
			return rest(f, pool, FLOW_AGAIN);
		if (little)
			return rest(f, pool, FLOW_WANTS_READ);
		n = take(f, pool, max);
		if (n < 0)
			return rest(f, pool, would_block() ? FLOW_WANTS_READ : FLOW_FROM_BROKE);
		f->ended = !n;
		little = n && n < SMALL_BYTES;
		f->moved += (uint64_t)n;
		turn += (size_t)n;
		if (f->left != FLOW_TO_THE_END)
			f->left -= (uint64_t)n;
	}
}
