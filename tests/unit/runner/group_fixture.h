/*
 * tests/unit/runner/group_fixture.h - a host whose control groups are plain files
 *
 * Just enough for who uses a group; tests/unit/sandbox/test_cgroup.c has it in full.
 */
#ifndef TESTS_GROUP_FIXTURE_H
#define TESTS_GROUP_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/cgroup.h"

static char group_top[] = "/tmp/test-group-XXXXXX", group_log[512];
static const char *group_fails;	/* the file that cannot be written */

static void group_put(int dir, const char *file, const char *text)
{
	OWN(fd) int fd = openat(dir, file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		abort();
}

static int group_make_fake(int dir, const char *name)
{
	OWN(fd) int new = -1;

	if (mkdirat(dir, name, 0755) < 0)
		return -1;
	new = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	group_put(new, "cgroup.type", "domain\n");
	group_put(new, "cgroup.events", "populated 0\n");
	group_put(new, "memory.events", "oom_kill 0\n");
	group_put(new, "pids.events", "max 0\n");
	group_put(new, "pids.current", "1\n");
	return 0;
}

static int group_write_fake(int dir, const char *file, const char *text)
{
	size_t n = strlen(group_log);

	(void)dir;
	if (group_fails && !strcmp(group_fails, file)) {
		errno = EACCES;
		return -1;
	}
	snprintf(group_log + n, sizeof(group_log) - n, "%s=%s ", file, text);
	return 0;
}

static int group_remove_fake(int dir, const char *name)
{
	OWN(fd) int group = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	static const char *const files[] = { "cgroup.type", "cgroup.events", "memory.events", "pids.events", "pids.current" };

	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		unlinkat(group, files[i], 0);
	return unlinkat(dir, name, AT_REMOVEDIR);
}

static const struct cgroup_ops group_ops = { group_make_fake, group_write_fake, group_remove_fake };
static char group_proc[64];
static const struct cgroup_host group_host = { .proc = group_proc, .root = group_top, .ops = &group_ops };

/* group_set() - the file of a group that was made has @text now */
static inline void group_set(const struct cgroup *g, const char *file, const char *text)
{
	OWN(fd) int dir = open(cgroup_path(g), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	group_put(dir, file, text);
}

/* group_setup() - we are in a group below which others may be made, if @has says so */
static void group_setup(int has)
{
	char path[128];

	group_log[0] = '\0';
	group_fails = NULL;
	strcpy(group_top, "/tmp/test-group-XXXXXX");
	if (!mkdtemp(group_top))
		abort();
	snprintf(group_proc, sizeof(group_proc), "%s/proc", group_top);
	mkdir(group_proc, 0755);
	snprintf(path, sizeof(path), "%s/self", group_proc);
	mkdir(path, 0755);
	{
		OWN(fd) int self = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		group_put(self, "cgroup", "0::/\n");
		group_put(self, "mountinfo", "1 1 0:1 / /cg rw - cgroup2 c rw\n");
	}
	snprintf(path, sizeof(path), "%s/cg", group_top);
	mkdir(path, 0755);
	{
		OWN(fd) int top = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		group_put(top, "cgroup.controllers", has ? "memory pids\n" : "\n");
		group_put(top, "cgroup.subtree_control", has ? "memory pids\n" : "\n");
		group_put(top, "cgroup.procs", "");
	}
}

static void group_teardown(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", group_top);
	if (system(command))
		abort();
}

#endif
