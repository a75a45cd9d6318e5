/*
 * base/loop.h - one event loop: descriptors, timers, signals, children, look-ups
 *
 * libuv behind a small door. Everything that can happen is a watch with a
 * callback and a cookie. A watch may be ended from any callback, its own
 * included; after watch_end() its callback is not called again. Freeing the
 * loop ends all watches. One thread only.
 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdint.h>
#include <sys/types.h>

struct err;
struct loop;
struct watch;
struct addrinfo;

#define LOOP_READ 1u
#define LOOP_WRITE 2u
#define LOOP_HUP 4u	/* the peer closed; reported beside READ where the kernel tells */
#define LOOP_CHILD_FDS 64	/* of a child, at most */

struct loop *loop_new(struct err *err);
void loop_free(struct loop *loop);

int loop_run(struct loop *loop);	/* until loop_stop() (1) or nothing is left to wait for (0) */
void loop_stop(struct loop *loop);

/*
 * Each maker below answers NULL with errno set when it cannot: out of memory,
 * or as told there.
 */

/**
 * loop_fd() - Call @fn whenever @fd is ready
 * @fd:		stays the caller's, its flags as they are; may be closed as soon as
 *		the watch has ended. One watch a descriptor.
 * @ready:	an error shows as all that was asked for plus LOOP_HUP: read or
 *		write to learn which, then end the watch
 *
 * EPERM: a regular file, which is always ready; EEXIST: @fd has a watch.
 */
struct watch *loop_fd(struct loop *loop, int fd, unsigned int events,
		      void (*fn)(void *cookie, int fd, unsigned int ready), void *cookie);
int watch_events(struct watch *w, unsigned int events);	/* change interest; 0 pauses */

/* loop_timer() - @repeat_ms 0: once, then it ends itself, so forget the pointer in @fn */
struct watch *loop_timer(struct loop *loop, uint64_t first_ms, uint64_t repeat_ms,
			 void (*fn)(void *cookie), void *cookie);
struct watch *loop_signal(struct loop *loop, int signum,
			  void (*fn)(void *cookie, int signum), void *cookie);

/**
 * loop_work() - Run @work on a pool thread, then @done on the loop's
 *
 * Then the watch ends itself. Ending it before suppresses @done, and @work too
 * if it has not begun; if it has, it goes on, and @cookie must stay until then
 * (loop_free() waits for it).
 */
struct watch *loop_work(struct loop *loop, void (*work)(void *cookie),
			void (*done)(void *cookie), void *cookie);

/**
 * loop_resolve() - Look a name up without blocking
 * @fn:	gets the list (borrowed for the call) or NULL and a getaddrinfo(3) error;
 *	then the watch ends itself
 *
 * A name that cannot be one (too long, not IDNA) may already fail here.
 */
struct watch *loop_resolve(struct loop *loop, const char *host, uint16_t port,
			   void (*fn)(void *cookie, const struct addrinfo *list, int eai),
			   void *cookie);

/* loop_spawn() - a child process, its descriptors exactly those named */
struct spawn {
	const char *file;		/* looked up on the PATH of @env if it has no slash */
	char *const *argv;		/* ends in NULL */
	char *const *env;		/* NULL: ours */
	const char *cwd;		/* NULL: ours */
	const int *fds;			/* fds[i] of ours becomes i of the child's; -1: closed (/dev/null for 0..2) */
	int nfds;			/* 3 to LOOP_CHILD_FDS */
	int new_session;		/* setsid() */
	uint32_t ignored;		/* bit n: signal n is ignored in the child (signals_ignored()) */
	/*
	 * Called in the child before its program is executed; -1 with errno: it is not. Our memory is
	 * the child's as well, so it may make system calls and nothing else. NULL: nothing
	 */
	int (*prepare)(void *cookie);
	void *prepare_cookie;
};

/**
 * loop_spawn() - Start a program
 * @exited:	called once, with wait status decoded: signal 0 and the exit
 *		status, or the signal that ended it. Then the watch ends itself.
 * @ret_pid:	the child's pid
 *
 * Marks every descriptor of ours above 2 close-on-exec. The child starts with
 * default signal dispositions, but for @sp->ignored, and an empty mask.
 *
 * Return: a watch, or NULL with @err ("cannot start 'x': No such file ...").
 * Ending the watch forgets the child (which is still reaped), it does not kill it.
 */
struct watch *loop_spawn(struct loop *loop, const struct spawn *sp,
			 void (*exited)(void *cookie, int status, int signum), void *cookie,
			 pid_t *ret_pid, struct err *err);

void watch_end(struct watch *w);	/* NULL is fine */

#endif
