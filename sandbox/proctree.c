#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/proctree.h"

/* Fields 1, 3 and 4 of /proc/PID/stat; the second is a name in brackets that may hold anything. */
static int read_process(int proc, const char *pid, struct process *ret)
{
	char path[64], line[512];
	const char *rest;
	int fd, parent;
	ssize_t n;

	snprintf(path, sizeof(path), "%.20s/stat", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	line[n] = '\0';
	rest = strrchr(line, ')');
	if (!rest || sscanf(rest + 1, " %c %d", &ret->state, &parent) != 2)
		return -1;
	ret->pid = atoi(pid);
	ret->parent = parent;
	return 0;
}

size_t proctree_list(int proc, struct process *all, size_t max)
{
	int fd = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	size_t n = 0;

	while (d && n < max && (e = readdir(d)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && !read_process(proc, e->d_name, &all[n]))
			n++;
	if (d)
		closedir(d);
	return n;
}

size_t proctree_below(struct process *all, size_t n, pid_t root)
{
	size_t found = 0, before;

	do {
		before = found;
		for (size_t i = found; i < n; i++) {
			int mine = all[i].parent == root;

			for (size_t j = 0; j < found && !mine; j++)
				mine = all[i].parent == all[j].pid;
			if (mine) {
				struct process p = all[i];

				all[i] = all[found];
				all[found++] = p;
			}
		}
	} while (found != before);
	return found;
}
