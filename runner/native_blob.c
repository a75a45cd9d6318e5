/*
 * runner/native_blob.c - the spec as the plan agate-init reads
 *
 * Zones follow the mounts that native_args.c makes; keep the two in step. In the
 * bare layout there are none, and Landlock grants reading by zone.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/own.h"
#include "base/path.h"
#include "runner/limits.h"
#include "runner/native.h"
#include "sandbox/calls.h"
#include "sandbox/filter.h"
#include "sandbox/init/proto.h"
#include "sandbox/names.h"
#include "sandbox/policy.h"
#include "sandbox/spec.h"

struct building {
	struct buf zones;	/* struct blob_zone, offsets into texts */
	struct buf rules;	/* uint32_t, offsets into texts */
	struct buf reads;
	struct buf sockets;
	struct buf literals;
	struct buf root_only, closed, shown;
	struct buf texts;
	struct buf filter[2];	/* FILTER_ALL, FILTER_SPARED */
	int is_bare;
	const struct bare_ports *ports;	/* bare only, as what follows */
	struct bare_view view;
	struct names unreadable;	/* the read rules, as the broker will have them */
	int is_hiding;			/* something in view may not be read, and nothing but the broker knows */
};

static void own_building(struct building *b)
{
	buf_done(&b->zones);
	buf_done(&b->rules);
	buf_done(&b->reads);
	buf_done(&b->sockets);
	buf_done(&b->literals);
	buf_done(&b->root_only);
	buf_done(&b->closed);
	buf_done(&b->shown);
	buf_done(&b->texts);
	buf_done(&b->filter[0]);
	buf_done(&b->filter[1]);
	bare_view_done(&b->view);
	names_done(&b->unreadable);
}

/* Remember a text; its offset is counted from the first text until they are placed. */
static uint32_t add_text(struct building *b, const char *text)
{
	uint32_t at = (uint32_t)b->texts.len;

	buf_add(&b->texts, text, strlen(text) + 1);
	return at;
}

/* Objects of the original, which git inside knows as its own: it touches their times. */
static int is_shared(const char *path)
{
	size_t n = strlen(path), m = strlen("/objects");

	return path_under(path, "/run/agate") || (n > m && !strcmp(path + n - m, "/objects"));
}

static void add_zone(struct building *b, enum zone_kind kind, const char *path, const char *rule, int from_host)
{
	struct blob_zone z = { .kind = kind, .from_host = (uint32_t)from_host,
			       .quiet = (uint32_t)is_shared(path) };

	z.path_off = add_text(b, path);
	z.rule_off = add_text(b, rule);
	buf_add(&b->zones, &z, sizeof(z));
}

static void add_reference(struct building *b, struct buf *to, const char *text)
{
	uint32_t at = add_text(b, text);

	buf_add(to, &at, sizeof(at));
}

/*
 * Landlock grants by subtree and cannot take away below a grant. A private
 * directory with a writable bind under it is therefore the broker's.
 */
static enum zone_kind private_kind(const struct sandbox_spec *spec, const char *dir)
{
	for (size_t i = 0; i < spec->n_binds; i++)
		if (path_under(spec->binds[i].guest_path, dir) && spec_bind_is_writable(spec, &spec->binds[i]))
			return ZONE_PRIVATE;
	return ZONE_NATIVE;
}

static void add_system_zones(struct building *b, const struct sandbox_spec *spec)
{
	static const char *const private_dirs[] = { "/tmp", "/var/tmp", "/run", "/dev/shm" };

	add_zone(b, ZONE_READ, "/", "read-only outside the workspace", 1);
	add_zone(b, ZONE_DEV, "/dev", "/dev", 0);
	add_zone(b, ZONE_PROC, "/proc", "/proc", 0);
	for (size_t i = 0; i < ARRAY_LEN(private_dirs); i++)
		add_zone(b, private_kind(spec, private_dirs[i]), private_dirs[i], "private", 0);
}

static const char *read_only_rule(const struct sandbox_spec *spec, const struct bind_mount *m)
{
	static const char *const by_mode[MODE_NUM] = { "read-only bind", "mode review", "mode plan", "mode orchestrate" };

	return by_mode[m->read_only ? MODE_CHAT : spec->mode];
}

static void add_bind_zones(struct building *b, const struct run_params *p)
{
	const struct sandbox_spec *spec = p->spec;

	for (size_t i = 0; i < spec->n_binds; i++) {
		const struct bind_mount *m = &spec->binds[i];
		int writable = spec_bind_is_writable(spec, m);
		/* What was made for this run holds no socket of the host. */
		int from_host = !path_under(m->host_path, p->run_dir);

		add_zone(b, writable ? ZONE_WRITE : ZONE_READ, m->guest_path,
			 writable ? "writable" : read_only_rule(spec, m), from_host);
	}
}

/* The last zone of a path wins in the broker, and these come last. */
static int add_protected_zones(struct building *b, const struct sandbox_spec *spec)
{
	for (size_t i = 0; i < spec->protected_paths.n; i++) {
		OWN(mem) char *guest = guest_of(spec, spec->protected_paths.v[i]);

		if (guest)
			add_zone(b, ZONE_READ, guest, "protectedPaths", 1);
	}
	return 0;
}

/* --- the bare layout's zones --- */

/* Landlock grants a whole tree, so one that must not be read is not granted. */
static void add_seen(struct building *b, enum zone_kind kind, const char *path, const char *rule, int from_host)
{
	const char *denied = names_unreadable(&b->unreadable, path);

	if (denied)
		add_zone(b, ZONE_HIDDEN, path, denied, from_host);
	else
		add_zone(b, kind, path, rule, from_host);
}

static void add_bare_zones(struct building *b, const struct run_params *p)
{
	add_zone(b, ZONE_HIDDEN, "/", "out of the run's view", 1);
	add_zone(b, ZONE_PROC, "/proc", "/proc", 0);
	for (size_t i = 0; i < b->view.system.n; i++)
		add_seen(b, ZONE_READ, b->view.system.v[i], "read-only outside the workspace", 1);
	for (size_t i = 0; i < b->view.devices.n; i++)
		add_zone(b, ZONE_DEV, b->view.devices.v[i], "/dev", 0);
	for (size_t i = 0; i < p->spec->devices.n; i++)
		add_zone(b, ZONE_DEV, p->spec->devices.v[i], "/dev", 0);
	add_zone(b, ZONE_NATIVE, b->view.tmp, "private", 0);
	for (size_t i = 0; i < p->spec->n_binds; i++) {
		const struct bind_mount *m = &p->spec->binds[i];
		int writable = spec_bind_is_writable(p->spec, m);
		OWN(mem) char *real = path_resolve(m->host_path);

		if (real)
			add_seen(b, writable ? ZONE_WRITE : ZONE_READ, real, writable ? "writable" : read_only_rule(p->spec, m),
				 !path_under(real, p->run_dir));
		else
			b->texts.failed = 1;
	}
}

/* Is a denied path there, in what Landlock would grant? Then it is the broker's to keep closed. */
static int is_in_view(const struct building *b, const struct sandbox_spec *spec, const char *path)
{
	if (access(path, F_OK) && errno == ENOENT)
		return 0;
	for (size_t i = 0; i < b->view.system.n; i++)
		if (path_under(path, b->view.system.v[i]))
			return 1;
	for (size_t i = 0; i < spec->n_binds; i++)
		if (path_under(path, spec->binds[i].host_path))
			return 1;
	return 0;
}

static int add_unreadable(struct building *b, const struct sandbox_spec *spec, const char *sign, const char *rule)
{
	OWN(mem) char *text = NULL;

	if (asprintf(&text, "%s%s", sign, rule) < 0 || names_add(&b->unreadable, text) < 0)
		return -1;
	if (!*sign && (is_glob(rule) || is_in_view(b, spec, rule)))
		b->is_hiding = 1;
	return 0;
}

/* The rules as they will be, before any zone is made. The last match wins. */
static int look_at_view(struct building *b, const struct run_params *p, struct err *err)
{
	const struct sandbox_spec *spec = p->spec;
	int r = 0;

	if (bare_check(p, err) < 0 || bare_look(p, &b->view, err) < 0)
		return -1;
	for (size_t i = 0; i < b->view.hidden.n && !r; i++) {
		OWN(mem) char *rule = spec_rule_of_path(b->view.hidden.v[i]);

		r = rule ? add_unreadable(b, spec, "", rule) : -1;
		b->is_hiding = 1;
	}
	for (size_t i = 0; i < spec->deny_read.n && !r; i++)
		r = add_unreadable(b, spec, "", spec->deny_read.v[i]);
	for (size_t i = 0; i < spec->allow_read.n && !r; i++)
		r = add_unreadable(b, spec, "!", spec->allow_read.v[i]);
	if (!r)
		r = add_unreadable(b, spec, "!", b->view.tmp);
	return r < 0 ? err_set(err, ERR_NOMEM, 0, "out of memory") : 0;
}

/* --- putting it together --- */

static void shift(struct buf *references, uint32_t by)
{
	uint32_t *at = (void *)references->data;

	for (size_t i = 0; i < references->len / sizeof(*at); i++)
		at[i] += by;
}

/* Offsets into the texts become offsets into the blob. */
static void place_texts(struct building *b, uint32_t texts_at)
{
	struct blob_zone *z = (void *)b->zones.data;

	for (size_t i = 0; i < b->zones.len / sizeof(*z); i++) {
		z[i].path_off += texts_at;
		z[i].rule_off += texts_at;
	}
	shift(&b->rules, texts_at);
	shift(&b->reads, texts_at);
	shift(&b->sockets, texts_at);
	shift(&b->literals, texts_at);
	shift(&b->root_only, texts_at);
	shift(&b->closed, texts_at);
	shift(&b->shown, texts_at);
}

static void set_limits(struct blob_head *h, const struct spec_limits *l, int is_bare)
{
	/* Of one process, a little later than the watch over the tree, which can say why. */
	h->limit_cpu_s = l->cpu_ms ? (uint64_t)(l->cpu_ms + 999) / 1000 + 2 : 0;
	h->limit_memory = l->memory_bytes;
	h->limit_file = l->file_bytes;
	/* No lower than what the watch looks for: a full tree that the kernel holds must still be told. */
	h->limit_pids = (l->pids ? l->pids : LIMITS_DEFAULT_PIDS) + own_tasks(is_bare);
	h->limit_files = l->open_files;
	/* Without a user namespace of its own the run shares the count with all else of its user. */
	if (is_bare)
		h->limit_pids += bare_tasks();
}

static void set_host_ports(struct blob_head *h, const struct sandbox_spec *spec, const struct bare_ports *ports)
{
	h->n_host_ports = (uint32_t)spec->host_ports.n;
	for (size_t i = 0; i < spec->host_ports.n; i++) {
		h->host_ports[i] = (uint32_t)strtoul(spec->host_ports.v[i], NULL, 10);
		h->host_port_at[i] = ports ? ports->port[i] : 0;
	}
}

/* Is everything writable made for this run alone, so that nobody else puts protected names there? */
static int is_all_private(const struct run_params *p, int is_bare)
{
	if (is_bare)	/* nothing can be sealed without mounts */
		return 0;
	for (size_t i = 0; i < p->spec->n_binds; i++)
		if (spec_bind_is_writable(p->spec, &p->spec->binds[i]) &&
		    !path_under(p->spec->binds[i].host_path, p->run_dir))
			return 0;
	return 1;
}

/* Append a section; its place and its number of elements go into the head. */
static uint32_t section(struct buf *to, const struct buf *from, size_t element, uint32_t *ret_n)
{
	uint32_t at = (uint32_t)to->len;

	*ret_n = (uint32_t)(from->len / element);
	if (from->failed)
		to->failed = 1;
	buf_add(to, from->data, from->len);
	return at;
}

static int may_fold(const struct sandbox_spec *spec)
{
	for (size_t i = 0; i < spec->n_binds; i++)
		if (spec_bind_is_writable(spec, &spec->binds[i]) && policy_may_fold(spec->binds[i].host_path))
			return 1;
	return 0;
}

/* The texts come last: everything before them is aligned, and their end is the blob's NUL. */
static int put_together(struct building *b, const struct run_params *p, struct buf *ret)
{
	struct blob_head h = { .magic = BLOB_MAGIC, .listen_proxies = !b->is_bare, .is_bare = (uint32_t)b->is_bare,
			       .reads_are_ours = (uint32_t)b->is_hiding, .reads_more = (uint32_t)policy_reads_more(),
			       .ignored_signals = p->ignored_signals,
			       .proxy_ports = { PROXY_HTTP_PORT, PROXY_SOCKS_PORT } };


	place_texts(b, (uint32_t)(sizeof(h) + b->filter[0].len + b->filter[1].len + b->zones.len + b->rules.len + b->reads.len +
				  b->sockets.len + b->literals.len + b->root_only.len + b->closed.len + b->shown.len));
	set_limits(&h, &p->spec->limits, b->is_bare);
	set_host_ports(&h, p->spec, b->ports);
	for (int i = 0; b->is_bare && i < 2; i++)
		h.proxy_ports[i] = p->proxies.port[i];
	buf_add(ret, &h, sizeof(h));
	for (int i = 0; i < 2; i++)
		h.filter_off[i] = section(ret, &b->filter[i], sizeof(struct sock_filter), &h.n_filter[i]);
	h.fold_case = (uint32_t)may_fold(p->spec);
	h.may_seal = (uint32_t)is_all_private(p, b->is_bare);
	h.zones_off = section(ret, &b->zones, sizeof(struct blob_zone), &h.n_zones);
	h.rules_off = section(ret, &b->rules, sizeof(uint32_t), &h.n_rules);
	h.reads_off = section(ret, &b->reads, sizeof(uint32_t), &h.n_reads);
	h.sockets_off = section(ret, &b->sockets, sizeof(uint32_t), &h.n_sockets);
	h.literals_off = section(ret, &b->literals, sizeof(uint32_t), &h.n_literals);
	h.root_only_off = section(ret, &b->root_only, sizeof(uint32_t), &h.n_root_only);
	h.closed_off = section(ret, &b->closed, sizeof(uint32_t), &h.n_closed);
	h.shown_off = section(ret, &b->shown, sizeof(uint32_t), &h.n_shown);
	buf_add(ret, b->texts.data, b->texts.len);
	if (ret->failed || b->texts.failed)
		return -1;
	h.total = (uint32_t)ret->len;
	memcpy(ret->data, &h, sizeof(h));
	return 0;
}

/*
 * Addresses among the allow rules, without brackets and ports: connecting to one
 * leads to the egress helper, which judges the port and the deny rules.
 */
static void add_literals(struct building *b, const struct sandbox_spec *spec)
{
	for (size_t i = 0; spec->network_enabled && i < spec->egress_allow.n; i++) {
		const char *rule = spec->egress_allow.v[i];
		char host[INET6_ADDRSTRLEN], plain[INET6_ADDRSTRLEN];
		int is6 = rule[0] == '[';
		unsigned char ip[16];

		snprintf(host, sizeof(host), "%.*s", (int)strcspn(rule + is6, is6 ? "]" : ":"), rule + is6);
		if (inet_pton(is6 ? AF_INET6 : AF_INET, host, ip) == 1 &&
		    inet_ntop(is6 ? AF_INET6 : AF_INET, ip, plain, sizeof(plain)))
			add_reference(b, &b->literals, plain);
	}
}

static void add_kept(struct building *b, const struct kept_closed *kept)
{
	if (kept->too_far)
		return;
	for (size_t i = 0; i < kept->root_only.n; i++)
		add_reference(b, &b->root_only, kept->root_only.v[i]);
	for (size_t i = 0; i < kept->named.n; i++)
		add_reference(b, &b->closed, kept->named.v[i]);
	for (size_t i = 0; i < kept->shown.n; i++)
		add_reference(b, &b->shown, kept->shown.v[i]);
}

/* The last match wins, so what is allowed again comes last. */
static void add_read_rules(struct building *b, const struct sandbox_spec *spec, const struct kept_closed *kept)
{
	for (size_t i = 0; b->is_bare && i < b->unreadable.n; i++)
		add_reference(b, &b->reads, b->unreadable.rules[i].text);
	if (b->is_bare)
		return;
	/* Where the broker opens in the command's place, the command's Landlock holds nothing. */
	for (size_t i = 0; i < kept->root_only.n; i++) {
		OWN(mem) char *rule = spec_rule_of_path(kept->root_only.v[i]);

		if (!rule)
			b->texts.failed = 1;
		else
			add_reference(b, &b->reads, rule);
	}
	for (size_t i = 0; i < spec->deny_read.n; i++)
		add_reference(b, &b->reads, spec->deny_read.v[i]);
	for (size_t i = 0; i < spec->allow_read.n; i++) {
		OWN(mem) char *exception = NULL;

		if (asprintf(&exception, "!%s", spec->allow_read.v[i]) < 0)
			b->texts.failed = 1;
		else
			add_reference(b, &b->reads, exception);
	}
}

/* Reads run at native speed and unseen unless somebody asked, or only the broker can tell what may not be read. */
static int reads_are_trapped(const struct building *b, const struct run_params *p)
{
	if (b->is_hiding)
		return 1;
	for (size_t i = 0; i < p->spec->deny_read.n; i++)
		if (is_glob(p->spec->deny_read.v[i]))
			return 1;
	return p->audit_reads;
}

/*
 * A datagram names its peer in sendmsg(2), which is not trapped. Where the user
 * opened a directory of the host to the run, a socket in it could be reached so.
 */
static unsigned int call_flags(const struct building *b, const struct run_params *p)
{
	unsigned int flags = CALLS_FILES | CALLS_SOCKETS | (reads_are_trapped(b, p) ? CALLS_READS : 0);

	if (b->is_bare)
		return flags | CALLS_TCP_ONLY | CALLS_NO_UNIX_DGRAM | CALLS_BARE;

	for (size_t i = 0; i < p->spec->n_binds; i++) {
		const struct bind_mount *m = &p->spec->binds[i];

		/* That socket is open to the run anyhow. */
		if (strv_has(&p->spec->allow_unix_sockets, m->guest_path))
			continue;
		if (!path_under(m->host_path, p->run_dir) && !path_under(m->guest_path, "/run/agate") &&
		    (spec_bind_is_writable(p->spec, m) || !p->spec->guest_home ||
		     !path_under(m->guest_path, p->spec->guest_home)))
			flags |= CALLS_NO_UNIX_DGRAM;
	}
	return flags;
}

int blob_build(const struct run_params *p, const struct bare_ports *ports, const struct kept_closed *kept, struct err *err)
{
	int is_bare = ports != NULL;
	__attribute__((cleanup(own_building))) struct building b = { .is_bare = is_bare, .ports = ports, .is_hiding = kept->by_name };
	OWN(buf) struct buf blob = { .max = BLOB_MAX };
	int fd;

	if ((is_bare && look_at_view(&b, p, err) < 0) ||
	    filter_compile(call_flags(&b, p) | CALLS_BY_FD, &b.filter[FILTER_ALL], err) < 0 ||
	    (is_all_private(p, is_bare) && filter_compile(call_flags(&b, p), &b.filter[FILTER_SPARED], err) < 0))
		return -1;
	if (is_bare) {
		add_bare_zones(&b, p);
	} else {
		add_system_zones(&b, p->spec);
		add_bind_zones(&b, p);
	}
	add_protected_zones(&b, p->spec);
	for (size_t i = 0; i < p->spec->deny_write.n; i++)
		add_reference(&b, &b.rules, p->spec->deny_write.v[i]);
	if (reads_are_trapped(&b, p))
		add_read_rules(&b, p->spec, kept);
	add_literals(&b, p->spec);
	add_kept(&b, kept);
	for (size_t i = 0; i < p->spec->allow_unix_sockets.n; i++)
		add_reference(&b, &b.sockets, p->spec->allow_unix_sockets.v[i]);
	if (put_together(&b, p, &blob) < 0)
		return err_set(err, ERR_LIMIT, 0, "the sandbox plan is over %u bytes or memory ran out", BLOB_MAX);
	fd = io_memfd("agate-plan", blob.data, blob.len);
	return fd < 0 ? err_set(err, ERR_SYS, errno, "cannot make the sandbox plan") : fd;
}
