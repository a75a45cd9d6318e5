#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/own.h"
#include "runner/native.h"
#include "sandbox/calls.h"
#include "sandbox/init/proto.h"

static const struct { const char *name; enum layer layer; } actions[] = {
	[ACT_READ_DATA] = { "file-read-data", LAYER_FILE },
	[ACT_WRITE_CREATE] = { "file-write-create", LAYER_FILE },
	[ACT_WRITE_DATA] = { "file-write-data", LAYER_FILE },
	[ACT_WRITE_RENAME] = { "file-write-rename", LAYER_FILE },
	[ACT_WRITE_LINK] = { "file-write-link", LAYER_FILE },
	[ACT_WRITE_MKDIR] = { "file-write-mkdir", LAYER_FILE },
	[ACT_WRITE_SYMLINK] = { "file-write-symlink", LAYER_FILE },
	[ACT_WRITE_UNLINK] = { "file-write-unlink", LAYER_FILE },
	[ACT_WRITE_MODE] = { "file-write-mode", LAYER_FILE },
	[ACT_WRITE_NODE] = { "file-write-create", LAYER_FILE },
	[ACT_UNIX_CONNECT] = { "unix-connect", LAYER_UNIX },
	[ACT_BIND] = { "file-write-create", LAYER_FILE },
	[ACT_NETWORK] = { "network-outbound", LAYER_NETWORK },
	[ACT_NETWORK_BIND] = { "network-bind", LAYER_NETWORK },
	[ACT_SYSCALL] = { "syscall", LAYER_SYSCALL },
};
static_assert(ARRAY_LEN(actions) == ACT_NUM, "a name for each action");

static const char *call_name(int nr)
{
	const struct call *all;
	size_t n;

	all = calls_table(&n);
	for (size_t i = 0; i < n; i++)
		if (all[i].nr == nr)
			return all[i].name;
	return NULL;
}

/* The texts behind the struct; -1 unless there are exactly VT_NUM, each ended. */
static int split_texts(const char *at, size_t len, const char *ret[VT_NUM])
{
	for (int i = 0; i < VT_NUM; i++) {
		const char *nul = memchr(at, '\0', len);

		if (!nul)
			return -1;
		ret[i] = at;
		len -= (size_t)(nul + 1 - at);
		at = nul + 1;
	}
	return len ? -1 : 0;
}

int tell_violation(const struct run_params *p, const void *msg, size_t len)
{
	struct violation v = { 0 };
	const char *text[VT_NUM];
	struct msg_violation m;
	char action[64];

	if (len < sizeof(m))
		return -1;
	memcpy(&m, msg, sizeof(m));
	if (m.action >= ACT_NUM || m.text_len != len - sizeof(m) ||
	    split_texts((const char *)msg + sizeof(m), m.text_len, text) < 0)
		return -1;
	v.layer = actions[m.action].layer;
	v.action = actions[m.action].name;
	v.syscall = call_name(m.nr);
	v.target = text[VT_TARGET];
	v.resolved = *text[VT_RESOLVED] && strcmp(text[VT_RESOLVED], text[VT_TARGET]) ? text[VT_RESOLVED] : NULL;
	v.rule = *text[VT_RULE] ? text[VT_RULE] : NULL;
	v.comm = *text[VT_COMM] ? text[VT_COMM] : NULL;
	v.exe = *text[VT_EXE] ? text[VT_EXE] : NULL;
	v.raw = *text[VT_ARGV] ? text[VT_ARGV] : NULL;
	v.pid = m.pid;
	v.count = m.count;
	if (m.action == ACT_SYSCALL) {
		/* What was called is the target; the table's line says why not. Numbers of a foreign ABI name nothing. */
		snprintf(action, sizeof(action), "syscall-%.40s", v.target);
		v.action = action;
		v.syscall = v.target;
		v.reason = v.rule;
		v.rule = "system calls";
	}
	p->ops->violation(p->cookie, &v);
	return 0;
}

/* --- who connected --- */

static int is_same(const struct program *a, const struct program *b)
{
	return a->pid == b->pid && !strcmp(a->comm, b->comm) && !strcmp(a->exe, b->exe);
}

/* Connections of one program follow each other: a look at the newest finds it. */
static size_t find_program(const struct callers *c, const struct program *p)
{
	for (size_t i = 0; i < c->n && i < CALLERS_LOOK; i++) {
		size_t at = (c->next + PROGRAMS - 1 - i) % PROGRAMS;

		if (is_same(&c->of[at], p))
			return at;
	}
	return PROGRAMS;
}

/* In the place of the oldest when there is no room, whose ports then name nobody. */
static size_t add_program(struct callers *c, const struct program *p)
{
	size_t at = c->next;

	c->next = (c->next + 1) % PROGRAMS;
	for (size_t i = 0; c->n == PROGRAMS && i < PORTS; i++)
		if (c->by_port[i] == at + 1)
			c->by_port[i] = 0;
	if (c->n < PROGRAMS)
		c->n++;
	c->of[at] = *p;
	return at;
}

void callers_add(struct callers *c, const struct msg_caller *m)
{
	struct program p = { .pid = m->pid };
	size_t at;

	if (!c->by_port)
		c->by_port = calloc(PORTS, sizeof(*c->by_port));
	if (!c->of)
		c->of = calloc(PROGRAMS, sizeof(*c->of));
	/* Without memory nobody is named. */
	if (!c->by_port || !c->of || m->port >= PORTS)
		return;
	memcpy(p.comm, m->comm, sizeof(m->comm));
	memcpy(p.exe, m->exe, sizeof(m->exe));
	at = find_program(c, &p);
	if (at == PROGRAMS)
		at = add_program(c, &p);
	c->by_port[m->port] = (uint16_t)(at + 1);
}

const struct program *callers_find(const struct callers *c, unsigned int port)
{
	return port && port < PORTS && c->by_port && c->by_port[port] ? &c->of[c->by_port[port] - 1] : NULL;
}

void callers_name(const struct callers *c, unsigned int port, struct violation *v)
{
	const struct program *p = callers_find(c, port);

	if (!p)
		return;
	v->pid = p->pid;
	v->comm = p->comm;
	v->exe = p->exe[0] ? p->exe : NULL;
}

int callers_tell(const struct callers *c, unsigned int port, struct json *to)
{
	const struct program *p = callers_find(c, port);

	if (!p)
		return 0;
	return json_add_int(to, "pid", p->pid) && json_add_str(to, "comm", p->comm) &&
	       (!p->exe[0] || json_add_str(to, "exe", p->exe)) ? 0 : -1;
}

void callers_done(struct callers *c)
{
	free(c->by_port);
	free(c->of);
	*c = (struct callers){ 0 };
}
