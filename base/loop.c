#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/spawn.h"

struct loop {
	uv_loop_t uv;
	struct watch *watches;
};

/*
 * One allocation holds libuv's part and ours; it is freed when libuv says that
 * it is done with it, never in watch_end(), so a callback may end its own watch.
 */
struct watch {
	union {
		uv_handle_t handle;
		uv_req_t req;
		uv_poll_t poll;
		uv_timer_t timer;
		uv_signal_t signal;
		uv_process_t process;
		uv_work_t work;
		uv_getaddrinfo_t resolve;
	} uv;
	union {
		void (*fd)(void *cookie, int fd, unsigned int ready);
		void (*timer)(void *cookie);
		void (*signal)(void *cookie, int signum);
		struct {
			void (*run)(void *cookie);
			void (*done)(void *cookie);
		} work;
		void (*resolve)(void *cookie, const struct addrinfo *list, int eai);
		void (*exited)(void *cookie, int status, int signum);
	} fn;
	void *cookie;
	struct loop *loop;
	struct watch *next, **link;
	void (*end)(struct watch *w);	/* start its death; called once */
	unsigned int events;		/* of a descriptor */
	int fd;
	pid_t pid;			/* of a child that @fd is the descriptor of, and ours */
	int ended;
};

struct loop *loop_new(struct err *err)
{
	struct loop *loop = calloc(1, sizeof(*loop));
	int r;

	if (!loop) {
		err_set(err, ERR_NOMEM, 0, "out of memory");
		return NULL;
	}
	r = uv_loop_init(&loop->uv);
	if (r < 0) {
		err_set(err, ERR_SYS, -r, "cannot make an event loop");
		free(loop);
		return NULL;
	}
	return loop;
}

/* Handles of dead watches and of forgotten children. */
static void close_left_over(uv_handle_t *handle, void *cookie);

void loop_free(struct loop *loop)
{
	int r;

	if (!loop)
		return;
	while (loop->watches)
		watch_end(loop->watches);
	uv_walk(&loop->uv, close_left_over, NULL);
	/* Waits for pool threads that are in the middle of their work. */
	while (uv_run(&loop->uv, UV_RUN_DEFAULT))
		;
	r = uv_loop_close(&loop->uv);
	assert(!r);
	(void)r;
	free(loop);
}

int loop_run(struct loop *loop)
{
	return uv_run(&loop->uv, UV_RUN_DEFAULT) ? 1 : 0;
}

void loop_stop(struct loop *loop)
{
	uv_stop(&loop->uv);
}

/* --- watches --- */

static struct watch *new_watch(struct loop *loop, void (*end)(struct watch *w), void *cookie)
{
	struct watch *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->loop = loop;
	w->end = end;
	w->cookie = cookie;
	w->fd = -1;
	return w;
}

static void link_watch(struct watch *w)
{
	w->next = w->loop->watches;
	w->link = &w->loop->watches;
	if (w->next)
		w->next->link = &w->next;
	*w->link = w;
}

void watch_end(struct watch *w)
{
	if (!w || w->ended)
		return;
	w->ended = 1;
	*w->link = w->next;
	if (w->next)
		w->next->link = w->link;
	w->end(w);
}

static void on_closed(uv_handle_t *handle)
{
	struct watch *w = handle->data;

	if (w->pid > 0)
		close(w->fd);
	free(w);
}

static void end_handle(struct watch *w)
{
	uv_close(&w->uv.handle, on_closed);
}

static void close_left_over(uv_handle_t *handle, void *cookie)
{
	(void)cookie;
	if (!uv_is_closing(handle))
		uv_close(handle, on_closed);
}

/* A request that did not start has no handle to close. */
static struct watch *refuse(struct watch *w, int uv_error)
{
	free(w);
	errno = -uv_error;
	return NULL;
}

/* Finish making @w, whose handle is initialised: @uv_result is that of its start. */
static struct watch *started(struct watch *w, int uv_result)
{
	link_watch(w);
	if (!uv_result)
		return w;
	watch_end(w);
	errno = -uv_result;
	return NULL;
}

/* --- descriptors --- */

static void on_ready(uv_poll_t *poll, int status, int uv_events);

static int start_poll(struct watch *w)
{
	int uv_events = (w->events & LOOP_READ ? UV_READABLE : 0) |
			(w->events & LOOP_WRITE ? UV_WRITABLE : 0) |
			(w->events & LOOP_HUP ? UV_DISCONNECT : 0);

	return uv_events ? uv_poll_start(&w->uv.poll, uv_events, on_ready) : uv_poll_stop(&w->uv.poll);
}

static void on_ready(uv_poll_t *poll, int status, int uv_events)
{
	struct watch *w = poll->data;
	unsigned int ready = (uv_events & UV_READABLE ? LOOP_READ : 0) |
			     (uv_events & UV_WRITABLE ? LOOP_WRITE : 0) |
			     (uv_events & UV_DISCONNECT ? LOOP_HUP : 0);

	if (w->ended)
		return;
	/* POLLERR: libuv stops; let the owner's read or write find the reason. */
	if (status < 0)
		ready = (w->events & (LOOP_READ | LOOP_WRITE)) | LOOP_HUP;
	w->fn.fd(w->cookie, w->fd, ready);
	if (status < 0 && !w->ended)
		start_poll(w);
}

struct watch *loop_fd(struct loop *loop, int fd, unsigned int events,
		      void (*fn)(void *cookie, int fd, unsigned int ready), void *cookie)
{
	struct watch *w = new_watch(loop, end_handle, cookie);
	int flags = fcntl(fd, F_GETFL), r;

	if (!w)
		return NULL;
	if (flags < 0)
		return refuse(w, -errno);
	r = uv_poll_init(&loop->uv, &w->uv.poll, fd);
	/* libuv made it non-blocking, which others who share it (a shell's terminal) would feel. */
	if (!(flags & O_NONBLOCK))
		fcntl(fd, F_SETFL, flags);
	if (r < 0)
		return refuse(w, r);
	w->uv.handle.data = w;
	w->fn.fd = fn;
	w->fd = fd;
	w->events = events;
	return started(w, start_poll(w));
}

int watch_events(struct watch *w, unsigned int events)
{
	int r;

	if (w->ended || w->events == events)
		return 0;
	w->events = events;
	r = start_poll(w);
	if (r < 0)
		errno = -r;
	return r < 0 ? -1 : 0;
}

/* --- timers and signals --- */

static void on_timer(uv_timer_t *timer)
{
	struct watch *w = timer->data;

	if (w->ended)
		return;
	w->fn.timer(w->cookie);
	if (!uv_timer_get_repeat(timer))
		watch_end(w);
}

struct watch *loop_timer(struct loop *loop, uint64_t first_ms, uint64_t repeat_ms,
			 void (*fn)(void *cookie), void *cookie)
{
	struct watch *w = new_watch(loop, end_handle, cookie);

	if (!w)
		return NULL;
	uv_timer_init(&loop->uv, &w->uv.timer);
	w->uv.handle.data = w;
	w->fn.timer = fn;
	uv_update_time(&loop->uv);	/* the callback we are in may have taken long */
	return started(w, uv_timer_start(&w->uv.timer, on_timer, first_ms, repeat_ms));
}

static void on_signal(uv_signal_t *handle, int signum)
{
	struct watch *w = handle->data;

	if (!w->ended)
		w->fn.signal(w->cookie, signum);
}

struct watch *loop_signal(struct loop *loop, int signum,
			  void (*fn)(void *cookie, int signum), void *cookie)
{
	struct watch *w = new_watch(loop, end_handle, cookie);

	if (!w)
		return NULL;
	uv_signal_init(&loop->uv, &w->uv.signal);
	w->uv.handle.data = w;
	w->fn.signal = fn;
	return started(w, uv_signal_start(&w->uv.signal, on_signal, signum));
}

/* --- pool threads --- */

/* The request stays until its after-callback, which always comes. */
static void end_request(struct watch *w)
{
	uv_cancel(&w->uv.req);
}

static void do_work(uv_work_t *req)
{
	struct watch *w = req->data;

	w->fn.work.run(w->cookie);
}

/* The request is over: tell, unless nobody wants to know, and let go. */
static void on_work_done(uv_work_t *req, int status)
{
	struct watch *w = req->data;

	if (!w->ended && !status)
		w->fn.work.done(w->cookie);
	watch_end(w);
	free(w);
}

struct watch *loop_work(struct loop *loop, void (*work)(void *cookie),
			void (*done)(void *cookie), void *cookie)
{
	struct watch *w = new_watch(loop, end_request, cookie);
	int r;

	if (!w)
		return NULL;
	w->uv.req.data = w;
	w->fn.work.run = work;
	w->fn.work.done = done;
	r = uv_queue_work(&loop->uv, &w->uv.work, do_work, on_work_done);
	if (r < 0)
		return refuse(w, r);
	return started(w, 0);
}

/* --- names --- */

static int to_eai(int uv_error)
{
	static const struct { int uv, eai; } codes[] = {
		{ UV_EAI_AGAIN, EAI_AGAIN }, { UV_EAI_BADFLAGS, EAI_BADFLAGS },
		{ UV_EAI_FAMILY, EAI_FAMILY }, { UV_EAI_MEMORY, EAI_MEMORY },
		{ UV_EAI_NONAME, EAI_NONAME }, { UV_EAI_NODATA, EAI_NODATA },
		{ UV_EAI_SERVICE, EAI_SERVICE }, { UV_EAI_SOCKTYPE, EAI_SOCKTYPE },
		{ UV_EAI_OVERFLOW, EAI_OVERFLOW }, { UV_ENOMEM, EAI_MEMORY },
	};

	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (codes[i].uv == uv_error)
			return codes[i].eai;
	return uv_error ? EAI_FAIL : 0;
}

static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *list)
{
	struct watch *w = req->data;

	if (!w->ended)
		w->fn.resolve(w->cookie, status ? NULL : list, to_eai(status));
	uv_freeaddrinfo(list);
	watch_end(w);
	free(w);
}

struct watch *loop_resolve(struct loop *loop, const char *host, uint16_t port,
			   void (*fn)(void *cookie, const struct addrinfo *list, int eai),
			   void *cookie)
{
	static const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
	struct watch *w = new_watch(loop, end_request, cookie);
	char service[8];
	int r;

	if (!w)
		return NULL;
	snprintf(service, sizeof(service), "%u", port);
	w->uv.req.data = w;
	w->fn.resolve = fn;
	r = uv_getaddrinfo(&loop->uv, &w->uv.resolve, on_resolved, host, service, &hints);
	if (r < 0)
		return refuse(w, r);
	return started(w, 0);
}

/* --- children --- */

/*
 * A forgotten child must still be reaped, so its handle goes on without keeping
 * the loop alive; on_gone(), on_exit_status() or loop_free() closes it.
 */
static void end_child(struct watch *w)
{
	if (uv_is_active(&w->uv.handle))
		uv_unref(&w->uv.handle);
	else
		end_handle(w);
}

static void tell_exit(struct watch *w, int status, int signum)
{
	if (!w->ended) {
		w->fn.exited(w->cookie, signum ? 0 : status, signum);
		watch_end(w);
	}
	if (!uv_is_closing(&w->uv.handle))
		end_handle(w);
}

/* What nobody can tell any more, since it was waited for elsewhere, was no good end. */
static void on_gone(uv_poll_t *poll, int uv_status, int uv_events)
{
	struct watch *w = poll->data;
	int status = SIGKILL;
	pid_t r;

	(void)uv_events;
	while ((r = waitpid(w->pid, &status, uv_status < 0 ? 0 : WNOHANG)) < 0 && errno == EINTR)
		;
	if (!r)
		return;
	uv_poll_stop(poll);
	tell_exit(w, WEXITSTATUS(status), WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

/* Where close_range(2) is missing: the same by hand. */
static void mark_each_cloexec(void)
{
	OWN(dir) DIR *dir = opendir("/proc/self/fd");
	const struct dirent *e;

	while (dir && (e = readdir(dir))) {
		int fd = atoi(e->d_name), flags = fd > 2 ? fcntl(fd, F_GETFD) : -1;

		if (flags >= 0 && !(flags & FD_CLOEXEC))
			fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
	}
}

/* A child gets what it is told, and nothing else is closed: what we inherited ends here. */
static void mark_cloexec(void)
{
	if (close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		mark_each_cloexec();
}

/* One that nobody could wait for does not go on. */
static void abandon(struct watch *w)
{
	kill(w->pid, SIGKILL);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(w->fd);
}

/* 0, or an error of libuv's, and @w is gone. */
static int spawn_watched(struct watch *w, const struct spawn *sp)
{
	int r;

	w->pid = spawn_child(sp, &w->fd);
	r = w->pid < 0 ? -errno : uv_poll_init(&w->loop->uv, &w->uv.poll, w->fd);
	if (r < 0) {
		if (w->pid > 0)
			abandon(w);
		free(w);
		return r;
	}
	w->uv.handle.data = w;
	r = uv_poll_start(&w->uv.poll, UV_READABLE, on_gone);
	assert(!r);	/* it fails for a handle that is closing, and no other */
	return 0;
}

static void on_exit_status(uv_process_t *process, int64_t status, int signum)
{
	tell_exit(process->data, (int)status, signum);
}

/* The same in libuv's own way, slower, for kernels that cannot tell by a descriptor. */
static int spawn_by_libuv(struct watch *w, const struct spawn *sp)
{
	uv_stdio_container_t stdio[LOOP_CHILD_FDS] = { 0 };
	uv_process_options_t o = {
		.exit_cb = on_exit_status, .file = sp->file, .args = (char **)(size_t)sp->argv,
		.env = (char **)(size_t)sp->env, .cwd = sp->cwd, .stdio = stdio, .stdio_count = sp->nfds,
		.flags = sp->new_session ? UV_PROCESS_DETACHED : 0,
	};
	int r;

	if (sp->ignored || sp->prepare) {
		free(w);
		return UV_ENOSYS;
	}
	for (int i = 0; i < sp->nfds; i++) {
		stdio[i].flags = sp->fds[i] < 0 ? UV_IGNORE : UV_INHERIT_FD;
		stdio[i].data.fd = sp->fds[i];
	}
	r = uv_spawn(&w->loop->uv, &w->uv.process, &o);
	w->uv.handle.data = w;
	if (r < 0)
		end_handle(w);
	return r;
}

struct watch *loop_spawn(struct loop *loop, const struct spawn *sp,
			 void (*exited)(void *cookie, int status, int signum), void *cookie,
			 pid_t *ret_pid, struct err *err)
{
	struct watch *w;
	int r;

	assert(sp->nfds >= 3 && sp->nfds <= LOOP_CHILD_FDS);
	w = new_watch(loop, end_child, cookie);
	if (!w) {
		err_set(err, ERR_NOMEM, 0, "out of memory");
		return NULL;
	}
	mark_cloexec();
	w->fn.exited = exited;
	r = spawn_can() ? spawn_watched(w, sp) : spawn_by_libuv(w, sp);
	if (r < 0) {
		err_set(err, ERR_SYS, -r, "cannot start '%s'", sp->file);
		return NULL;
	}
	link_watch(w);
	*ret_pid = w->pid > 0 ? w->pid : w->uv.process.pid;
	return w;
}
