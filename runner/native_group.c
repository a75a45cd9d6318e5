/*
 * runner/native_group.c - a run's control group, where the host has a place for one
 *
 * The stage is moved in while it waits, alone, for what it may start: so the
 * command and all it starts are in, and of our own processes none. Where the
 * group is stands in the run's directory, for "agate recover".
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "runner/limits.h"
#include "runner/native.h"
#include "sandbox/cgroup.h"
#include "sandbox/spec.h"

static int note(const char *file, const char *path, struct err *err)
{
	OWN(fd) int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || io_write_all(fd, path, strlen(path)) < 0)
		return err_set(err, ERR_SYS, errno, "cannot write '%s'", file);
	return 0;
}

static int try_enter(const struct cgroup_host *host, const struct run_params *p, pid_t stage, struct cgroup **ret,
		     struct err *err)
{
	const struct spec_limits *l = &p->spec->limits;
	const struct cgroup_limits limits = { .memory_bytes = l->memory_bytes,
					      .pids = l->pids ? l->pids : LIMITS_DEFAULT_PIDS };
	OWN(mem) char *file = path_join(p->run_dir, RUN_GROUP);
	char name[RUN_GROUP_NAME];
	struct cgroup *g;

	if (!file)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	snprintf(name, sizeof(name), RUN_GROUP_FORM, p->spec->session_id);
	if (cgroup_make(host, name, &limits, &g, err) < 0)
		return -1;
	if (note(file, cgroup_path(g), err) < 0 || cgroup_enter(g, stage, err) < 0) {
		group_leave(p, g);
		return -1;
	}
	*ret = g;
	return 0;
}

static void tell(const struct run_params *p, const struct err *why)
{
	OWN(json) struct json *data = json_new_object();
	const struct event ev = { .type = "limits.watched", .data = data };

	if (data && json_add_str(data, "reason", why->msg))
		p->ops->event(p->cookie, &ev);
}

struct cgroup *group_enter(const struct cgroup_host *host, const struct run_params *p, pid_t stage)
{
	struct cgroup *g = NULL;
	struct err why = { 0 };

	if (try_enter(host, p, stage, &g, &why) < 0 && why.code != ERR_MISSING)
		tell(p, &why);
	return g;
}

/* One that stays is looked for again by its file. */
void group_leave(const struct run_params *p, struct cgroup *group)
{
	OWN(mem) char *file = path_join(p->run_dir, RUN_GROUP);

	if (group && cgroup_end(group, NULL) == 0 && file)
		unlink(file);
}
