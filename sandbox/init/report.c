/*
 * sandbox/init/report.c - refusals on their way to the supervisor
 *
 * The first of its kind is sent at once, before the caller gets its answer; the
 * same again by the same program is counted and the count sent a little later,
 * so that a loop of refused calls costs the supervisor nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/init/broker.h"
#include "sandbox/init/wire.h"

#define SLOTS 64
#define FLUSH_MS 250

/* A refusal sent before, and how often it came again since. */
struct slot {
	size_t len;
	unsigned int again;
	char msg[MSG_MAX];
};

static struct slot slots[SLOTS];	/* under ctl_lock */

static uint64_t hash(const char *data, size_t len)
{
	uint64_t h = 1469598103934665603u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)data[i]) * 1099511628211u;
	return h;
}

/* A record that cannot be written ends the run: a refusal nobody hears of must not be. */
static void send_or_die(struct broker *b, const void *msg, size_t len)
{
	if (wire_send(b->ctl, msg, len, NULL, 0) < 0)
		_exit(125);
}

static void flush_slot(struct broker *b, struct slot *s)
{
	struct msg_violation m;

	if (!s->again)
		return;
	memcpy(&m, s->msg, sizeof(m));
	m.count = s->again;
	memcpy(s->msg, &m, sizeof(m));
	send_or_die(b, s->msg, s->len);
	m.count = 1;
	memcpy(s->msg, &m, sizeof(m));
	s->again = 0;
}

void report_flush(struct broker *b)
{
	pthread_mutex_lock(&b->ctl_lock);
	for (size_t i = 0; i < SLOTS; i++)
		flush_slot(b, &slots[i]);
	pthread_mutex_unlock(&b->ctl_lock);
}

void *report_thread(void *arg)
{
	struct broker *b = arg;
	const struct timespec pause = { .tv_nsec = FLUSH_MS * 1000000L };

	for (;;) {
		nanosleep(&pause, NULL);
		report_flush(b);
	}
	return NULL;
}

static void report(struct broker *b, const char *msg, size_t len)
{
	struct slot *s = &slots[hash(msg, len) % SLOTS];

	pthread_mutex_lock(&b->ctl_lock);
	if (s->len == len && !memcmp(s->msg, msg, len)) {
		s->again++;
	} else {
		flush_slot(b, s);
		memcpy(s->msg, msg, len);
		s->len = len;
		send_or_die(b, msg, len);
	}
	pthread_mutex_unlock(&b->ctl_lock);
}

/* Append a text and its NUL; what does not fit is cut, the NUL is not. */
static size_t put_text(char *msg, size_t at, const char *text, size_t max)
{
	size_t len = strnlen(text, max);

	memcpy(msg + at, text, len);
	msg[at + len] = '\0';
	return at + len + 1;
}

/* Name and file of the caller's program, for the record; empty when it cannot be told. */
static void program(const struct request *r, char comm[64], char exe[1024])
{
	char path[64];
	ssize_t n;
	int fd;

	comm[0] = exe[0] = '\0';
	snprintf(path, sizeof(path), "%d/comm", (int)r->tid);
	fd = openat(r->b->proc, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, comm, 63);
		comm[n > 0 ? n : 0] = '\0';
		comm[strcspn(comm, "\n")] = '\0';
		close(fd);
	}
	snprintf(path, sizeof(path), "%d/exe", (int)r->tid);
	n = readlinkat(r->b->proc, path, exe, 1023);
	exe[n > 0 ? n : 0] = '\0';
}

#define ARGV_MAX 1024

/* A word as a shell would read it again; what needs no quotes gets none. */
static size_t quote(char *to, size_t at, size_t room, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";
	int quoted = !*word || word[strspn(word, plain)];

	if (at && at < room)
		to[at++] = ' ';
	if (quoted && at < room)
		to[at++] = '\'';
	for (; *word && at < room; word++) {
		if (*word == '\'' && at + 4 <= room) {
			memcpy(to + at, "'\\''", 4);
			at += 4;
		} else {
			to[at++] = *word;
		}
	}
	if (quoted && at < room)
		to[at++] = '\'';
	return at;
}

/* The caller's command line as one line, as much of it as there is room for. */
static void command_line(const struct request *r, char ret[ARGV_MAX])
{
	char words[ARGV_MAX], path[64];
	size_t at = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%d/cmdline", (int)r->tid);
	fd = openat(r->b->proc, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, words, sizeof(words) - 1);
	if (fd >= 0)
		close(fd);
	words[n > 0 ? n : 0] = '\0';
	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(words + i) + 1)
		at = quote(ret, at, ARGV_MAX - 1, words + i);
	ret[at] = '\0';
}

struct answer refuse(const struct request *r, enum file_action action, const struct place *p,
		     const char *rule, int err)
{
	char msg[MSG_MAX], comm[64], exe[1024], argv[ARGV_MAX];
	struct msg_violation m = { .type = MSG_VIOLATION, .action = action, .nr = r->n->data.nr, .count = 1 };
	pid_t tgid = target_tgid(r);
	size_t len = sizeof(m);

	program(r, comm, exe);
	command_line(r, argv);
	m.pid = tgid < 0 ? r->tid : tgid;
	len = put_text(msg, len, r->given ? r->given : "", PATH_MAX - 1);
	len = put_text(msg, len, p ? p->path : "", PATH_MAX - 1);
	len = put_text(msg, len, rule ? rule : "", 1023);
	len = put_text(msg, len, comm, sizeof(comm) - 1);
	len = put_text(msg, len, exe, sizeof(exe) - 1);
	len = put_text(msg, len, argv, sizeof(argv) - 1);
	m.text_len = (uint32_t)(len - sizeof(m));
	memcpy(msg, &m, sizeof(m));
	report(r->b, msg, len);
	return answer_errno(err);
}

/* Who it was cannot be told any more. */
void report_lost(struct broker *b, unsigned long n, const char *rule)
{
	char msg[MSG_MAX];
	struct msg_violation m = { .type = MSG_VIOLATION, .action = ACT_NETWORK, .nr = SYS_sendmsg,
				   .count = (uint32_t)(n < UINT32_MAX ? n : UINT32_MAX) };
	size_t len = sizeof(m);

	len = put_text(msg, len, "datagrams to addresses that are not here", PATH_MAX - 1);
	len = put_text(msg, len, "", 0);
	len = put_text(msg, len, rule, 1023);
	len = put_text(msg, len, "", 0);
	len = put_text(msg, len, "", 0);
	len = put_text(msg, len, "", 0);
	m.text_len = (uint32_t)(len - sizeof(m));
	memcpy(msg, &m, sizeof(m));
	pthread_mutex_lock(&b->ctl_lock);
	send_or_die(b, msg, len);
	pthread_mutex_unlock(&b->ctl_lock);
}

void report_caller(const struct request *r, struct msg_caller *m)
{
	pid_t tgid = target_tgid(r);
	char comm[64], exe[1024];

	program(r, comm, exe);
	m->pid = tgid < 0 ? r->tid : tgid;
	memcpy(m->comm, comm, strnlen(comm, sizeof(m->comm) - 1));
	memcpy(m->exe, exe, strnlen(exe, sizeof(m->exe) - 1));
	pthread_mutex_lock(&r->b->ctl_lock);
	send_or_die(r->b, m, sizeof(*m));
	pthread_mutex_unlock(&r->b->ctl_lock);
}
