/*
 * runner/native_bare.c - the layout without namespaces, as far as it differs
 *
 * There are no mounts, so every path is the host's own: what the spec shows has
 * to stand where it is, and what is in view is what Landlock lets be read.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "base/path.h"
#include "runner/native.h"
#include "sandbox/egress/ports.h"
#include "sandbox/policy.h"
#include "sandbox/spec.h"

/* --- may it be so? --- */

int bare_check(const struct run_params *p, struct err *err)
{
	if (p->looks_into_tls)
		return err_set(err, ERR_POLICY, 0, "cannot look into TLS or stand in for credentials: without namespaces "
			       "there is no place to show the certificates to believe");
	for (size_t i = 0; i < p->spec->n_binds; i++) {
		const struct bind_mount *m = &p->spec->binds[i];

		if (!strcmp(m->host_path, m->guest_path))
			continue;
		err_set(err, ERR_POLICY, 0, "cannot show '%s' as '%s': without namespaces everything is seen where it is",
			m->host_path, m->guest_path);
		return err_hint(err, "agate doctor tells what keeps namespaces from being used here");
	}
	for (size_t i = 0; i < p->spec->protected_paths.n; i++)
		for (size_t j = 0; j < p->spec->n_binds; j++)
			if (spec_bind_is_writable(p->spec, &p->spec->binds[j]) &&
			    path_under(p->spec->binds[j].host_path, p->spec->protected_paths.v[i]))
				return err_set(err, ERR_POLICY, 0, "may not open '%s' for writing: it is in '%s', which is protected",
					       p->spec->binds[j].host_path, p->spec->protected_paths.v[i]);
	return 0;
}

/* --- what is in view --- */

/* No terminals but the command's own, which it has open; ptmx makes new ones. */
static const char *const nodes[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
				     "/dev/tty", "/dev/ptmx" };

static int add_resolved(const char *path, struct strv *to)
{
	OWN(mem) char *real = realpath(path, NULL);

	if (!real)
		return errno == ENOMEM ? -1 : 0;
	for (size_t i = 0; i < to->n; i++)
		if (path_under(real, to->v[i]))
			return 0;
	return strv_take(to, TAKE(real));
}

static int find_system(struct bare_view *v)
{
	OWN(strv) struct strv dirs = { 0 };

	if (policy_system_binds(&dirs) < 0)
		return -1;
	for (size_t i = 0; i < dirs.n; i++)
		if (add_resolved(dirs.v[i], &v->system) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
		if (add_resolved(nodes[i], &v->devices) < 0)
			return -1;
	return 0;
}

/* What only root may read stays so when root, or a member of a system group, runs agate. */
static int find_root_only(struct bare_view *v, struct err *err)
{
	static const char *const roots[] = { SECRET_ROOTS };

	if (!policy_reads_more())
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		struct err why = { 0 };

		if (access(roots[i], F_OK) || !policy_root_only_files(roots[i], &v->hidden, &why))
			continue;
		if (why.code != ERR_LIMIT) {
			if (err)
				*err = why;
			return -1;
		}
		if (strv_add(&v->hidden, roots[i]) < 0)
			return err_set(err, ERR_NOMEM, 0, "out of memory");
	}
	return 0;
}

int bare_look(const struct run_params *p, struct bare_view *ret, struct err *err)
{
	struct bare_view v = { .tmp = path_join(p->run_dir, RUN_TMP) };

	if (!v.tmp || find_system(&v) < 0) {
		bare_view_done(&v);
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	}
	if (find_root_only(&v, err) < 0) {
		bare_view_done(&v);
		return -1;
	}
	if (mkdir(v.tmp, 0700) < 0 && errno != EEXIST) {
		err_set(err, ERR_SYS, errno, "cannot make '%s'", v.tmp);
		bare_view_done(&v);
		return -1;
	}
	*ret = v;
	return 0;
}

void bare_view_done(struct bare_view *v)
{
	strv_done(&v->system);
	strv_done(&v->devices);
	strv_done(&v->hidden);
	free(v->tmp);
	v->tmp = NULL;
}

int bare_args(const struct run_params *p, struct strv *ret)
{
	if (strv_add(ret, "agate-init") < 0 || strv_add(ret, "bare") < 0 || strv_addf(ret, "%d", STAGE_CTL_FD) < 0 ||
	    strv_addf(ret, "%d", BARE_BROKER_FD) < 0 || strv_add(ret, "--") < 0)
		return -1;
	for (char *const *word = p->argv; *word; word++)
		if (strv_add(ret, *word) < 0)
			return -1;
	return 0;
}

/* --- tasks --- */

static uint64_t threads_of(int proc, const char *pid)
{
	char path[64], text[1024];
	long threads = 0;
	const char *rest;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%.20s/stat", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	rest = strrchr(text, ')');
	if (!rest || sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld", &threads) != 1)
		return 0;
	return threads > 0 ? (uint64_t)threads : 0;
}

uint64_t bare_tasks(void)
{
	OWN(dir) DIR *d = opendir("/proc");
	const struct dirent *e;
	uint64_t n = 0;
	struct stat st;

	while (d && (e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]) && !fstatat(dirfd(d), e->d_name, &st, 0) && st.st_uid == getuid())
			n += threads_of(dirfd(d), e->d_name);
	return n;
}

/* --- the proxies --- */

static int listen_on_any(uint16_t *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	OWN(fd) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(a);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 1024) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		return -1;
	*ret_port = ntohs(a.sin_port);
	return fd_take(&fd);
}

/* What a stranger on loopback does not know: 128 bits, in the run's environment alone. */
static int make_credential(struct run_proxies *p)
{
	unsigned char bytes[16];
	size_t n = (size_t)snprintf(p->credential, sizeof(p->credential), "agate:");

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -1;
	for (size_t i = 0; i < sizeof(bytes); i++)
		n += (size_t)snprintf(p->credential + n, sizeof(p->credential) - n, "%02x", bytes[i]);
	return 0;
}

int bare_listen(struct run_proxies *ret, struct err *err)
{
	if (make_credential(ret) < 0)
		return err_set(err, ERR_SYS, errno, "cannot make a password for the proxies");
	for (int i = 0; i < 2; i++) {
		ret->fd[i] = listen_on_any(&ret->port[i]);
		if (ret->fd[i] >= 0)
			continue;
		err_set(err, ERR_SYS, errno, "cannot listen for the proxies on loopback");
		if (i)
			close(ret->fd[0]);
		return -1;
	}
	return 0;
}

/* --- ports --- */

void bare_close(struct bare_ports *ports)
{
	while (ports->n)
		close(ports->fd[--ports->n]);
}

/* On the host's loopback it is where everybody looks for it. */
int bare_needs_no_help(const struct publish_rule *rule)
{
	static const struct ip loopback = { .family = AF_INET, .b = { 127, 0, 0, 1 } };

	return rule->port == rule->inside && ip_equal(&rule->ip, &loopback);
}

/* The server would find out itself, but late, and not in our words. */
static int check_free(const struct publish_rule *rule, struct err *err)
{
	const struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(rule->port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	OWN(fd) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 1) < 0)
		return err_set(err, ERR_SYS, errno, "cannot publish on '127.0.0.1:%u'", rule->port);
	return 0;
}

int bare_open(const struct sandbox_spec *spec, struct bare_ports *ret, struct err *err)
{
	for (size_t i = 0; i < spec->publish.n; i++) {
		struct publish_rule rule;

		if (ports_parse_publish(spec->publish.v[i], &rule, err) < 0 ||
		    (bare_needs_no_help(&rule) && check_free(&rule, err) < 0))
			return -1;
	}
	for (size_t i = 0; i < spec->host_ports.n; i++) {
		ret->fd[i] = listen_on_any(&ret->port[i]);
		if (ret->fd[i] < 0)
			return err_set(err, ERR_SYS, errno, "cannot listen for port %s of the host", spec->host_ports.v[i]);
		ret->n++;
	}
	return 0;
}
