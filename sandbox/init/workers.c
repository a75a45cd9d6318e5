/*
 * sandbox/init/workers.c - the threads that receive calls and answer them
 *
 * Every thread that waits for a call is woken by every call, and all but one go
 * back to sleep. So as a rule one waits, the others are parked; a call costs
 * one switch to us and one back. More join in when calls are found waiting, or
 * when nobody has come to receive for a while: a call may take long, on a slow
 * disk or waiting for a peer, and no other must wait for that.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/init/broker.h"
#include "sandbox/init/later.h"

#define WORKERS_FIRST 2	/* from the start: one to receive, one to send when that is held up */
#define WORKERS_MAX 8
#define WORKER_STACK (512 * 1024)

#define AT_ONCE_NS 3000	/* a call received this soon had been waiting: less than it takes to be woken */
#define IN_A_ROW 16	/* so many calls of one kind say more than that somebody was quick, or slow, once */
#define TICK_NS 1000000	/* of the watch, while calls come */
#define TICKS_AWAKE 20	/* of the watch, without a call */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t unparked, stirred;
	struct broker *b;
	struct worker *all[WORKERS_MAX];	/* those that have begun, under lock */
	int begun, workers, parked, to_unpark;	/* under lock */
	atomic_int receiving;		/* in the kernel, or about to be */
	atomic_uint received;		/* calls so far */
	atomic_int watch_sleeps;
} crew = { .lock = PTHREAD_MUTEX_INITIALIZER, .unparked = PTHREAD_COND_INITIALIZER, .stirred = PTHREAD_COND_INITIALIZER };

/* --- who works --- */

static void park(void)
{
	pthread_mutex_lock(&crew.lock);
	crew.parked++;
	while (!crew.to_unpark)
		pthread_cond_wait(&crew.unparked, &crew.lock);
	crew.to_unpark--;
	crew.parked--;
	pthread_mutex_unlock(&crew.lock);
}

static void *work(void *arg);

/* One more to receive: a parked one, or a new one. Without either, those that are there do. */
static void send_one(void)
{
	pthread_mutex_lock(&crew.lock);
	if (crew.parked > crew.to_unpark) {
		crew.to_unpark++;
		pthread_cond_signal(&crew.unparked);
	} else if (crew.workers < WORKERS_MAX && !start_thread(work, crew.b)) {
		crew.workers++;
	}
	pthread_mutex_unlock(&crew.lock);
}

static void wake_watch(void)
{
	pthread_mutex_lock(&crew.lock);
	crew.watch_sleeps = 0;
	pthread_cond_signal(&crew.stirred);
	pthread_mutex_unlock(&crew.lock);
}

/* Until there is a call after the @seen ones. */
static void watch_sleep(unsigned int seen)
{
	pthread_mutex_lock(&crew.lock);
	crew.watch_sleeps = 1;
	/* Whoever received one since has either seen that, or is seen here. */
	while (crew.watch_sleeps && crew.received == seen)
		pthread_cond_wait(&crew.stirred, &crew.lock);
	crew.watch_sleeps = 0;
	pthread_mutex_unlock(&crew.lock);
}

/* Should: find out within two ticks that whoever would receive is held up, and send another. */
static void *watch(void *arg)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };
	unsigned int seen = 0;

	(void)arg;
	for (;;) {
		watch_sleep(seen);
		for (int quiet = 0; quiet < TICKS_AWAKE; quiet++) {
			unsigned int now = crew.received;

			if (now != seen)
				quiet = 0;
			else if (!crew.receiving)
				send_one();
			seen = now;
			nanosleep(&tick, NULL);
		}
	}
	return NULL;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- receiving and answering --- */

void workers_settle(const struct request *r)
{
	const struct timespec pause = { .tv_nsec = 50000 };
	int n;

	pthread_mutex_lock(&crew.lock);
	n = crew.begun;
	pthread_mutex_unlock(&crew.lock);
	for (int i = 0, tries = 0; i < n; i++) {
		unsigned int was = crew.all[i]->handing;

		while (crew.all[i] != r->w && (was & 1) && crew.all[i]->handing == was && tries++ < 2000)
			nanosleep(&pause, NULL);
	}
}

/* 1 when the caller goes on by that already; 0 and what is to be answered. */
static int hand_over(struct worker *w, const struct answer *a, struct seccomp_notif_resp *resp)
{
	int fd;

	w->handing++;
	fd = a->alone ? put_fd(w->b->notify, resp->id, a->fd, a->cloexec) : send_fd(w->b->notify, resp->id, a->fd, a->cloexec);
	resp->error = fd < 0 ? -errno : 0;
	resp->val = fd < 0 ? 0 : fd;
	close(a->fd);
	w->handing++;
	return fd >= 0 && !a->alone;
}

static void answer(struct worker *w, uint64_t id, const struct answer *a)
{
	struct seccomp_notif_resp resp = { .id = id };

	switch (a->kind) {
	case ANSWER_LATER:
		return;
	case ANSWER_FD:
		if (hand_over(w, a, &resp))
			return;
		break;
	case ANSWER_CONTINUE:
		resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		break;
	case ANSWER_ERRNO:
		resp.error = -a->err;
		break;
	case ANSWER_VALUE:
		break;
	}
	/* Fails when the caller died meanwhile, which needs no answer. */
	ioctl(w->b->notify, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

/* ENOENT says that the caller died meanwhile, or that no process is left under the filter: then for ever. */
static int is_over(const struct broker *b)
{
	struct pollfd p = { .fd = b->notify, .events = POLLIN };

	return poll(&p, 1, 0) > 0 && (p.revents & POLLHUP);
}

/* Calls in a row that had been waiting for us, and that we had been waiting for. */
struct tide {
	unsigned int at_once, awaited;
};

static void count(struct tide *t, uint64_t waited_ns)
{
	if (waited_ns < AT_ONCE_NS) {
		t->at_once++;
		t->awaited = 0;
	} else {
		t->awaited++;
		t->at_once = 0;
	}
}

/* 1 once for every so many calls that had been waiting: one more should receive. */
static int is_crowded(const struct tide *t)
{
	return t->at_once && t->at_once % IN_A_ROW == 0;
}

/* The next call. 1, 0 for none this time, or -1 when there will be no more. */
static int receive(struct broker *b, struct seccomp_notif *n, struct tide *tide)
{
	uint64_t before = now_ns();
	int r;

	memset(n, 0, sizeof(*n));
	crew.receiving++;
	r = ioctl(b->notify, SECCOMP_IOCTL_NOTIF_RECV, n);
	crew.receiving--;
	if (r < 0)
		return errno == EINTR || (errno == ENOENT && !is_over(b)) ? 0 : -1;
	crew.received++;
	count(tide, now_ns() - before);
	return 1;
}

static void begin(struct worker *w)
{
	pthread_mutex_lock(&crew.lock);
	crew.all[crew.begun++] = w;
	pthread_mutex_unlock(&crew.lock);
}

static void *work(void *arg)
{
	struct broker *b = arg;
	struct seccomp_notif n;
	struct worker w;
	struct tide tide = { 0 };
	int r;

	/* An umask and a working directory of this thread's own. */
	if (unshare(CLONE_FS) < 0)
		_exit(125);
	worker_init(&w, b);
	begin(&w);
	while ((r = receive(b, &n, &tide)) >= 0) {
		struct request call = { .b = b, .w = &w, .n = &n, .tid = (pid_t)n.pid };
		struct answer a;

		if (!r)
			continue;
		if (crew.watch_sleeps)
			wake_watch();
		if (is_crowded(&tide) && !crew.receiving)
			send_one();
		a = call.tid ? do_call(&call) : answer_errno(ESRCH);
		answer(&w, n.id, &a);
		if (tide.awaited >= IN_A_ROW && crew.receiving)
			park();
	}
	/* Others may look at what it is handing over: it stays. */
	for (;;)
		pause();
	return NULL;
}

int start_thread(void *(*fn)(void *), struct broker *b)
{
	pthread_attr_t attr;
	pthread_t t;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, WORKER_STACK);
	r = pthread_create(&t, &attr, fn, b);
	pthread_attr_destroy(&attr);
	if (r)
		errno = r;
	return r ? -1 : 0;
}

static void *stand_by(void *arg)
{
	park();
	return work(arg);
}

int workers_start(struct broker *b)
{
	crew.b = b;
	crew.workers = WORKERS_FIRST;
	return start_thread(work, b) < 0 || start_thread(stand_by, b) < 0 ? -1 : start_thread(watch, b);
}
