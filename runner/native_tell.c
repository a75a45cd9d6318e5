#include <assert.h>
#include <stdio.h>
#include <string.h>

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
	v.comm = text[VT_COMM];
	v.exe = *text[VT_EXE] ? text[VT_EXE] : NULL;
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

void callers_add(struct callers *c, const struct msg_caller *m)
{
	size_t i = c->next;

	for (size_t j = 0; j < CALLERS; j++)
		if (c->of[j].port == m->port)
			i = j;
	if (i == c->next)
		c->next = (c->next + 1) % CALLERS;
	c->of[i].port = m->port;
	c->of[i].pid = m->pid;
	memcpy(c->of[i].comm, m->comm, sizeof(m->comm));
	memcpy(c->of[i].exe, m->exe, sizeof(m->exe));
}

void callers_name(const struct callers *c, unsigned int port, struct violation *v)
{
	for (size_t i = 0; port && i < CALLERS; i++) {
		if (c->of[i].port != port)
			continue;
		v->pid = c->of[i].pid;
		v->comm = c->of[i].comm;
		v->exe = c->of[i].exe[0] ? c->of[i].exe : NULL;
		return;
	}
}
