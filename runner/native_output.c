/*
 * runner/native_output.c - what the command prints, read through a pipe
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/loop.h"
#include "runner/native.h"

void output_close(struct output *o)
{
	watch_end(o->watch);
	o->watch = NULL;
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
}

static void on_output(void *cookie, int fd, unsigned int ready)
{
	struct output *o = cookie;
	char data[65536];
	ssize_t n = read(fd, data, sizeof(data));

	(void)ready;
	if (n > 0) {
		o->p->ops->output(o->p->cookie, o->number, data, (size_t)n);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		output_close(o);
		o->closed(o->cookie);
	}
}

int output_open(struct output *o, struct loop *loop, int *ret_child_end, struct err *err)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return err_set(err, ERR_SYS, errno, "cannot make a pipe for the output");
	o->fd = p[0];
	*ret_child_end = p[1];
	fcntl(p[0], F_SETFL, O_NONBLOCK);
	o->watch = loop_fd(loop, p[0], LOOP_READ, on_output, o);
	return o->watch ? 0 : err_set(err, ERR_NOMEM, 0, "out of memory");
}
