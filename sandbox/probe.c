#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "sandbox/probe.h"
#include "sandbox/probe_internal.h"

/* Landlock's ABI numbers from which it helps: landlock(7). */
#define ABI_TRUNCATE 3
#define ABI_SCOPE 6

#define INSTALL_BWRAP "install bubblewrap: apt-get install bubblewrap"
#define NEWER_BWRAP "install bubblewrap 0.8.0 or newer, which knows --disable-userns"
#define APPARMOR \
	"give bwrap an AppArmor profile that allows \"userns\", or: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
#define ALLOW_USERNS "allow user namespaces; in a container, run it with a seccomp profile that lets unshare(2) through"
#define ALLOW_PROC "let procfs be mounted; in a container: --security-opt systempaths=unconfined"
#define NEWER_KERNEL "Linux 6.0 or newer has all that is used"
#define ENABLE_LANDLOCK "boot with Landlock: add \"landlock\" to the kernel's lsm= list"
#define ALLOW_SECCOMP "in a container, run it with a seccomp profile that lets seccomp(2) with a listener through"
#define ALLOW_PTRACE "sysctl -w kernel.yama.ptrace_scope=1, and in a container allow process_vm_readv(2) and pidfd_getfd(2)"
#define DELEGATE "run agate under: systemd-run --user --scope -p Delegate=yes"

static const char *const state_names[] = { "ok", "weak", "missing" };
_Static_assert(ARRAY_LEN(state_names) == PROBE_STATE_NUM, "a name for each state");

const char *probe_state_name(enum probe_state s)
{
	return state_names[s];
}

/* --- from facts to findings --- */

struct finding {
	enum probe_state state;
	const char *layer;
	const char *hint;
	char detail[PROBE_SAYS + 100];
};

__attribute__((format(printf, 5, 6)))
static void find(struct finding *to, enum probe_state state, const char *layer, const char *hint,
		 const char *fmt, ...)
{
	va_list ap;

	to->state = state;
	to->layer = layer;
	to->hint = hint;
	va_start(ap, fmt);
	vsnprintf(to->detail, sizeof(to->detail), fmt, ap);
	va_end(ap);
}

/* Why bubblewrap does not give us namespaces, for any rule that needs them. */
static const char *bwrap_hint(const struct probe_facts *f)
{
	if (!f->bwrap[0])
		return INSTALL_BWRAP;
	if (strstr(f->bwrap_says, "--disable-userns"))
		return NEWER_BWRAP;
	if (f->bwrap_runs_without_proc)
		return ALLOW_PROC;
	return f->is_apparmor_limited ? APPARMOR : ALLOW_USERNS;
}

static const char *bwrap_says(const struct probe_facts *f)
{
	return f->bwrap[0] ? f->bwrap_says : "bwrap is not installed";
}

/* All or nothing: a run without namespaces needs each of these. */
static int has_second(const struct probe_facts *f)
{
	return f->second_layout && f->landlock >= ABI_SCOPE && f->notify && f->memory && f->pidfd_getfd;
}

static void judge_view(const struct probe_facts *f, struct finding *to)
{
	if (f->bwrap_runs)
		find(to, PROBE_OK, "mount namespace", NULL, "%s ran with every namespace", f->bwrap);
	else if (has_second(f))
		find(to, PROBE_WEAK, "Landlock", bwrap_hint(f), "no namespaces (%s): names, sizes and links of other files can be seen, not their content; no private /tmp or /dev/shm",
		     bwrap_says(f));
	else
		find(to, PROBE_MISSING, "nothing", bwrap_hint(f), "%s", bwrap_says(f));
}

static void judge_writes(const struct probe_facts *f, struct finding *to)
{
	if (f->landlock >= ABI_TRUNCATE)
		find(to, PROBE_OK, "Landlock", NULL, "ABI %d", f->landlock);
	else if (f->landlock)
		find(to, PROBE_WEAK, "Landlock", NEWER_KERNEL, "ABI %d does not know truncate(2)", f->landlock);
	else if (f->notify && f->addfd_send)
		find(to, PROBE_WEAK, "broker", ENABLE_LANDLOCK, "no Landlock: the broker alone refuses, and never lets a call go on");
	else
		find(to, PROBE_MISSING, "nothing", ENABLE_LANDLOCK, "neither Landlock nor notification");
}

static void judge_names(const struct probe_facts *f, struct finding *to)
{
	if (!f->notify)
		find(to, PROBE_MISSING, "nothing", ALLOW_SECCOMP, "a notified call was not answered");
	else if (!f->addfd_send)
		find(to, PROBE_MISSING, "nothing", NEWER_KERNEL, "no descriptor can be put in as a call's result");
	else if (!f->memory)
		find(to, PROBE_MISSING, "nothing", ALLOW_PTRACE, "a caller's memory cannot be read");
	else
		find(to, PROBE_OK, "broker", NULL, "a call was received, read, and answered with a descriptor");
}

static void judge_waits(const struct probe_facts *f, struct finding *to)
{
	if (!f->notify)
		find(to, PROBE_MISSING, "nothing", ALLOW_SECCOMP, "a notified call was not answered");
	else if (!f->killable)
		find(to, PROBE_WEAK, "broker", NEWER_KERNEL, "no WAIT_KILLABLE_RECV: a call may be tried again after a signal");
	else
		find(to, PROBE_OK, "broker", NULL, "WAIT_KILLABLE_RECV");
}

static void judge_network(const struct probe_facts *f, struct finding *to)
{
	if (f->bwrap_runs)
		find(to, PROBE_OK, "network namespace", NULL, "nothing but our own proxy is in it");
	else if (has_second(f))
		find(to, PROBE_WEAK, "Landlock and filter", bwrap_hint(f), "no namespaces (%s): TCP to the proxies and the run's own servers on loopback, by the broker; all else refused",
		     bwrap_says(f));
	else
		find(to, PROBE_MISSING, "nothing", bwrap_hint(f), "%s", bwrap_says(f));
}

static void judge_connects(const struct probe_facts *f, struct finding *to)
{
	if (f->notify && f->pidfd_getfd && f->memory)
		find(to, PROBE_OK, "broker", NULL, "a caller's socket and memory can be taken and read");
	else
		find(to, PROBE_MISSING, "nothing", f->notify ? ALLOW_PTRACE : ALLOW_SECCOMP, "%s",
		     !f->notify ? "a notified call was not answered" :
		     f->memory ? "a caller's descriptor cannot be taken" : "a caller's memory cannot be read");
}

static void judge_sockets(const struct probe_facts *f, struct finding *to)
{
	if (f->bwrap_runs)
		find(to, PROBE_OK, "namespaces", NULL, "none of the host's is in view");
	else if (has_second(f))
		find(to, PROBE_WEAK, "broker and Landlock", bwrap_hint(f), "by path at connect; abstract and datagram sockets refused");
	else
		find(to, PROBE_MISSING, "nothing", bwrap_hint(f), "%s", bwrap_says(f));
}

static void judge_processes(const struct probe_facts *f, struct finding *to)
{
	if (f->bwrap_runs)
		find(to, PROBE_OK, "process namespace", NULL, "a run sees its own only");
	else if (has_second(f))
		find(to, PROBE_WEAK, "Landlock", bwrap_hint(f), "others and their command lines can be seen, but not signalled, traced or changed; no System V IPC");
	else
		find(to, PROBE_MISSING, "nothing", bwrap_hint(f), "%s", bwrap_says(f));
}

static void judge_tree(const struct probe_facts *f, struct finding *to)
{
	if (f->bwrap_runs)
		find(to, PROBE_OK, "process namespace", NULL, "it ends with its first process");
	else if (has_second(f))
		find(to, PROBE_WEAK, "broker", bwrap_hint(f), "it reaps what the command leaves behind; were it and the supervisor killed at once, `agate recover` looks for the rest");
	else
		find(to, PROBE_MISSING, "nothing", bwrap_hint(f), "%s", bwrap_says(f));
}

static void judge_calls(const struct probe_facts *f, struct finding *to)
{
	if (!f->filter)
		find(to, PROBE_MISSING, "nothing", NEWER_KERNEL, "%s", f->filter_says);
	else if (!f->notify)
		find(to, PROBE_MISSING, "nothing", ALLOW_SECCOMP, "a filter with a listener could not be used");
	else
		find(to, PROBE_OK, "seccomp filter", NULL, "%d instructions", f->filter);
}

static void judge_rights(const struct probe_facts *f, struct finding *to)
{
	if (f->bwrap_runs && f->filter)
		find(to, PROBE_OK, "bwrap and filter", NULL, "no capabilities, no further namespaces");
	else if (f->filter && has_second(f))
		find(to, PROBE_WEAK, "filter", bwrap_hint(f), "no_new_privs, no capabilities, no further namespaces");
	else if (f->filter)
		find(to, PROBE_MISSING, "nothing", bwrap_hint(f), "%s", bwrap_says(f));
	else
		find(to, PROBE_MISSING, "nothing", NEWER_KERNEL, "%s", f->filter_says);
}

static void judge_record(const struct probe_facts *f, struct finding *to)
{
	if (f->notify)
		find(to, PROBE_OK, "broker", NULL, "each refused call is told with its path");
	else
		find(to, PROBE_MISSING, "nothing", ALLOW_SECCOMP, "a notified call was not answered");
}

static void judge_limits(const struct probe_facts *f, struct finding *to)
{
	if (f->cgroup)
		find(to, PROBE_OK, "cgroup v2", NULL, "%s", f->cgroup_says);
	else
		find(to, PROBE_WEAK, "rlimits and watchdog", DELEGATE, "%s", f->cgroup_says);
}

/* The promises, in the words doctor prints. */
static const struct rule {
	const char *name;
	void (*judge)(const struct probe_facts *f, struct finding *to);
} rules[] = {
	{ "only what the spec names is in view", judge_view },
	{ "nothing is written without the broker", judge_writes },
	{ "names are judged when they are made", judge_names },
	{ "a signal does not disturb a judged call", judge_waits },
	{ "the network is closed but for the proxy", judge_network },
	{ "each connection is judged", judge_connects },
	{ "the host's sockets are out of reach", judge_sockets },
	{ "other processes are out of reach", judge_processes },
	{ "the whole tree ends with its run", judge_tree },
	{ "dangerous system calls are refused", judge_calls },
	{ "no rights can be gained", judge_rights },
	{ "every refusal is on record", judge_record },
	{ "memory and processes are limited", judge_limits },
};

int probe_judge(const struct probe_facts *f, void (*fn)(void *cookie, const struct probe_line *line),
		void *cookie)
{
	int missing = 0;

	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		struct finding got = { 0 };
		struct probe_line line;

		rules[i].judge(f, &got);
		line = (struct probe_line){ rules[i].name, got.layer, got.state, got.detail, got.hint };
		missing += got.state == PROBE_MISSING;
		fn(cookie, &line);
	}
	return missing;
}

int probe_each(void (*fn)(void *cookie, const struct probe_line *line), void *cookie)
{
	struct probe_facts facts;

	probe_try(&facts);
	return probe_judge(&facts, fn, cookie);
}

/* --- the quick look --- */

static int is_program(const char *dir, size_t len, char *ret, size_t size)
{
	if (!len || dir[0] != '/' || snprintf(ret, size, "%.*s/bwrap", (int)len, dir) >= (int)size)
		return 0;
	return access(ret, X_OK) == 0;
}

int probe_bwrap(char *ret, size_t size)
{
	const char *path = getenv("PATH");

	for (const char *dir = path ? path : ""; *dir;) {
		size_t n = strcspn(dir, ":");

		if (n < PATH_MAX && is_program(dir, n, ret, size))
			return 0;
		dir += n + (dir[n] == ':');
	}
	if (is_program("/usr/bin", strlen("/usr/bin"), ret, size) || is_program("/bin", strlen("/bin"), ret, size))
		return 0;
	if (size)
		ret[0] = '\0';
	return -1;
}

static int lacks(struct err *err, const char *what, const char *hint)
{
	err_set(err, ERR_MISSING, 0, "%s", what);
	return err_hint(err, "%s", hint);
}

int probe_wants_bare(void)
{
	const char *layout = getenv("AGATE_LAYOUT");

	return layout && !strcmp(layout, "2");
}

int probe_bare(struct err *err)
{
	int abi = probe_landlock();

	if (!abi)
		return lacks(err, "this kernel has no Landlock", ENABLE_LANDLOCK);
	if (abi < ABI_SCOPE) {
		err_set(err, ERR_MISSING, 0, "without namespaces Landlock has to hold signals and sockets, which ABI %d does not know",
			abi);
		return err_hint(err, "%s", "Linux 6.12 or newer, or user namespaces");
	}
	if (!probe_has_notify())
		return lacks(err, "this kernel does not tell a supervisor of system calls", ALLOW_SECCOMP);
	return probe_child() < 0 ? lacks(err, "a child's memory or descriptors cannot be had", ALLOW_PTRACE) : 0;
}

int probe_native(struct err *err)
{
	char bwrap[PATH_MAX];
	long v;

	if (probe_bwrap(bwrap, sizeof(bwrap)) < 0)
		return lacks(err, "bubblewrap is not installed", INSTALL_BWRAP);
	if (!probe_landlock())
		return lacks(err, "this kernel has no Landlock", ENABLE_LANDLOCK);
	if (!probe_has_notify())
		return lacks(err, "this kernel does not tell a supervisor of system calls", ALLOW_SECCOMP);
	if (probe_sysctl("user/max_user_namespaces", &v) == 0 && v == 0)
		return lacks(err, "user namespaces are switched off", "sysctl -w user.max_user_namespaces=10000");
	if (geteuid() != 0 && probe_sysctl("kernel/unprivileged_userns_clone", &v) == 0 && v == 0)
		return lacks(err, "user namespaces are for root only here", "sysctl -w kernel.unprivileged_userns_clone=1");
	return probe_spaces() < 0 ? lacks(err, "user namespaces are refused here", ALLOW_USERNS) : 0;
}
