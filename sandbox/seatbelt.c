/*
 * The profile, section by section. Sections come in the order in which a person
 * asks: read, write, move, execute, connect. Within one, what is inner comes
 * after what is outer, so that the last match is the right one. A view's
 * allowance is always followed by all of its denials; whichever view has the
 * last word on a path, the path is no more open than Linux would have it there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "base/strv.h"
#include "sandbox/seatbelt.h"
#include "sandbox/seatbelt_internal.h"
#include "sandbox/spec.h"

#define OWN_RESTS __attribute__((cleanup(rests_done))) struct rests

/* Where the proxies listen. */
#define HTTP_PORT 3128
#define SOCKS_PORT 1080

/* What programs are made of; read-only. Nobody's secrets, but see masks[]. */
static const char *const system_roots[] = {
	"/bin", "/sbin", "/usr", "/opt", "/nix", "/etc", "/System", "/Library", "/Applications",
	"/private/var/db/dyld",			/* shared caches of the loader */
	"/private/var/db/timezone",
	"/private/var/db/xcode_select_link",	/* which git, cc and make are meant */
	"/private/var/select",			/* which sh is meant */
};

static const char *const masks[] = { "/Library/Keychains" };

/* Links of the system: the kernel sees where they lead, so both spellings are said. */
static const char *const links[] = { "/tmp", "/var", "/etc" };

static const struct need {
	const char *rule;
	const char *reason;
} needs[] = {
	{ "(allow process-fork)", "its own processes" },
	{ "(allow signal (target same-sandbox))", "theirs alone" },
	{ "(allow process-info* (target same-sandbox))", "ps of its own" },
	{ "(allow sysctl-read)", "number of processors, page size" },
	{ "(allow pseudo-tty)", "script, expect, pagers" },
	{ "(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\"))", "user names" },
	{ "(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.membership\"))", "group names" },
	{ "(allow mach-lookup (global-name \"com.apple.system.notification_center\"))", "time zone changes" },
	{ "(allow mach-lookup (global-name \"com.apple.system.logger\"))", "syslog" },
	{ "(allow mach-lookup (global-name \"com.apple.logd\"))", "os_log" },
	{ "(allow ipc-posix-shm-read-data (ipc-posix-name \"apple.shm.notification_center\"))", "the same, read" },
	{ "(allow file-read* (literal \"/\"))", "programs start from it; what is in it stays closed" },
	{ "(allow file-read* file-write-data file-ioctl (literal \"/dev/null\") (literal \"/dev/zero\")\n"
	  "\t(literal \"/dev/tty\") (literal \"/dev/ptmx\") (literal \"/dev/dtracehelper\"))", "devices everybody has" },
	{ "(allow file-read* (literal \"/dev/random\") (literal \"/dev/urandom\") (literal \"/dev/stdin\"))", "" },
	{ "(allow file-read* file-write-data (literal \"/dev/stdout\") (literal \"/dev/stderr\") (subpath \"/dev/fd\"))",
	  "its own descriptors" },
	{ "(allow file-read* file-write-data file-ioctl\n"
	  "\t(require-all (regex \"^/dev/ttys[0-9]+$\") (extension \"com.apple.sandbox.pty\")))",
	  "terminals it opened itself" },
};

/* --- text --- */

static int done(const struct buf *b)
{
	return b->failed ? -1 : 0;
}

static void add_string(struct buf *to, const char *s)
{
	buf_addc(to, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			buf_addc(to, '\\');
		buf_addc(to, *s);
	}
	buf_addc(to, '"');
}

static void add_filter(struct buf *filters, const char *kind, const char *value)
{
	buf_addf(filters, "\n\t(%s ", kind);
	add_string(filters, value);
	buf_addc(filters, ')');
}

int put_rule(const struct profile *p, const char *action, struct buf *filters)
{
	if (filters->failed)
		return -1;
	if (filters->len)
		buf_addf(p->to, "(%s%s)\n", action, filters->data);
	buf_clear(filters);
	return done(p->to);
}

static void say(const struct profile *p, const char *words)
{
	buf_addf(p->to, "\n;; %s\n", words);
}

/* --- paths that have two spellings --- */

static int is_below_link(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		if (path_under(path, links[i]))
			return 1;
	return 0;
}

/* As the kernel sees it; NULL when out of memory. */
static char *resolved(const char *path)
{
	return is_below_link(path) ? path_join("/private", path + 1) : strdup(path);
}

/* "/private/tmp/x" → "/tmp/x", or NULL if there is no shorter way to say it; points into @path. */
static const char *unresolved(const char *path)
{
	const char *rest = path + strlen("/private");

	return path_under(path, "/private") && is_below_link(rest) ? rest : NULL;
}

/* A filter for the resolved @path, in both spellings. */
static void add_path(struct buf *filters, const char *kind, const char *path)
{
	add_filter(filters, kind, path);
	if (unresolved(path))
		add_filter(filters, kind, unresolved(path));
}

/* The beginning of an expression for @path, matching both spellings. */
static int add_prefix(struct buf *regex, const char *path, int fold)
{
	const char *rest = unresolved(path);

	buf_adds(regex, rest ? "^(/private)?" : "^");
	rest = rest ? rest : path;
	return strcmp(rest, "/") ? regex_text(regex, rest, strlen(rest), fold) : done(regex);
}

static char *below(const char *dir, const char *rel)
{
	return *rel ? path_join(dir, rel + 1) : strdup(dir);
}

/* @path and all in it; a denial is also meant for its other spellings by letter case. */
static int add_tree(const struct profile *p, struct buf *filters, const char *path, int is_denial)
{
	OWN(buf) struct buf regex = { 0 };

	if (!is_denial || !p->fold) {
		add_path(filters, "subpath", path);
		return done(filters);
	}
	if (add_prefix(&regex, path, 1) < 0 || buf_adds(&regex, "(/|$)") < 0)
		return -1;
	add_filter(filters, "regex", regex.data);
	return done(filters);
}

int put_tree(const struct profile *p, struct buf *filters, const struct view *v, const char *rel, int is_denial)
{
	OWN(mem) char *path = below(v->host, rel);

	return path ? add_tree(p, filters, path, is_denial) : -1;
}

int put_regex(const struct profile *p, struct buf *filters, const struct view *v, const char *rel,
	      const char *regex, const char *tail)
{
	OWN(buf) struct buf whole = { 0 };

	/* The view is opened by its own spelling alone, so no other can lead below it. */
	if (add_prefix(&whole, v->host, 0) < 0 || regex_text(&whole, rel, strlen(rel), p->fold) < 0 ||
	    buf_addf(&whole, "%s%s", regex, tail) < 0)
		return -1;
	add_filter(filters, "regex", whole.data);
	return done(filters);
}

/* --- views --- */

static int add_view(struct profile *p, const char *host, const char *guest, int is_writable, int is_system)
{
	struct view *more = reallocarray(p->views, p->n_views + 1, sizeof(*more));
	struct view *v;

	if (!more)
		return -1;
	p->views = more;
	v = &more[p->n_views++];
	*v = (struct view){ .host = resolved(host), .guest = guest, .is_writable = is_writable,
			    .is_system = is_system };
	if (unresolved(guest))
		v->guest_twin = strdup(unresolved(guest));
	else if (is_below_link(guest))
		v->guest_twin = resolved(guest);
	if (!v->host || (!v->guest_twin && (unresolved(guest) || is_below_link(guest))))
		return -1;
	v->at[0] = guest;
	v->at[1] = v->guest_twin;
	return 0;
}

/* The system, then binds, what lies above another first: it is shorter. They keep their order otherwise. */
static void sort_views(struct profile *p)
{
	for (size_t i = 1; i < p->n_views; i++) {
		struct view v = p->views[i];
		size_t j = i;

		if (v.is_system)
			continue;
		for (; !p->views[j - 1].is_system && strlen(p->views[j - 1].host) > strlen(v.host); j--)
			p->views[j] = p->views[j - 1];
		p->views[j] = v;
	}
}

static int load_views(struct profile *p)
{
	const struct sandbox_spec *spec = p->spec;

	for (size_t i = 0; i < ARRAY_LEN(system_roots); i++)
		if (add_view(p, system_roots[i], system_roots[i], 0, 1) < 0)
			return -1;
	for (size_t i = 0; i < spec->n_binds; i++)
		if (add_view(p, spec->binds[i].host_path, spec->binds[i].guest_path,
			     spec_bind_is_writable(spec, &spec->binds[i]), 0) < 0)
			return -1;
	sort_views(p);
	return 0;
}

/* @path, below @dir or it, as "/a/b" or "" */
static const char *rel_of(const char *path, const char *dir)
{
	return path + (strcmp(dir, "/") ? strlen(dir) : (size_t)!path[1]);
}

int put_hidden(const struct profile *p, struct buf *filters, const struct view *v)
{
	for (size_t i = 0; i < p->n_views; i++) {
		const char *guest = p->views[i].guest;

		if (strcmp(guest, v->guest) != 0 && path_under(guest, v->guest) &&
		    put_tree(p, filters, v, rel_of(guest, v->guest), 1) < 0)
			return -1;
	}
	return 0;
}

/* --- 2: reading --- */

static int is_above(const char *path, const char *dir)
{
	return strcmp(path, dir) != 0 && path_under(path, dir);
}

/* Append each directory above @path but "/", and those above its other spelling. */
static int add_above(const char *path, struct strv *to)
{
	for (const char *spelling = path; spelling; spelling = spelling == path ? unresolved(path) : NULL) {
		const char *end = spelling;

		while (*end && *(end = end + 1 + strcspn(end + 1, "/")))
			if (strv_addn(to, spelling, (size_t)(end - spelling)) < 0)
				return -1;
	}
	return 0;
}

/* To be passed through: looked at, not listed. */
static int put_way(const struct profile *p)
{
	OWN(strv) struct strv dirs = { 0 };
	OWN(buf) struct buf filters = { 0 };

	for (size_t i = 0; i < p->n_views; i++)
		if (add_above(p->views[i].host, &dirs) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		if (strv_add(&dirs, links[i]) < 0)
			return -1;
	strv_sort_unique(&dirs);
	for (size_t i = 0; i < dirs.n; i++)
		add_filter(&filters, "literal", dirs.v[i]);
	return put_rule(p, "allow file-read-metadata", &filters);
}

static int put_masks(const struct profile *p, const char *action)
{
	OWN(buf) struct buf filters = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(masks); i++)
		if (add_tree(p, &filters, masks[i], 1) < 0)
			return -1;
	return put_rule(p, action, &filters);
}

static int put_reading(const struct profile *p)
{
	say(p, "2. reading: the way to what is in view, the system, the binds; then what in them is denied");
	if (put_way(p) < 0 || put_reads(p, 0) < 0)
		return -1;
	return put_masks(p, "deny file-read* file-map-executable");
}

/* --- 3: writing --- */

/* What denyWrite says below the view: each rule without what exceptions after it take back. */
static int put_names(const struct profile *p, const struct view *v, struct buf *filters)
{
	OWN_RESTS rests = { 0 };
	OWN(strv) struct strv seen = { 0 };

	if (rests_below(&rests, &p->writes, v->at) < 0)
		return -1;
	for (size_t i = 0; i < rests.n; i++) {
		OWN(buf) struct buf regex = { 0 };
		int r, is_cut;

		if (rests.v[i].rule->is_exception)
			continue;
		r = rest_regex(&rests.v[i], &rests, p->fold, &regex, &is_cut);
		if (r < 0) {
			*p->ret_rule = rests.v[i].rule->text;
			return -1;
		}
		if (!r || strv_has(&seen, regex.data))
			continue;
		if (is_cut)
			buf_addf(filters, "\n\t; %s but its exceptions:", rests.v[i].rule->text);
		if (strv_add(&seen, regex.data) < 0 || put_regex(p, filters, v, "", regex.data, "(/|$)") < 0)
			return -1;
	}
	return 0;
}

static int is_denied_whole(const struct profile *p, const struct view *v)
{
	int by_pattern;

	return names_denied(&p->writes, v->guest) ||
		(v->guest_twin && names_denied(&p->anchored_writes, v->guest_twin)) ||
		reads_denied(p, v, &by_pattern);
}

static int put_writable(const struct profile *p, const struct view *v)
{
	OWN(buf) struct buf filters = { 0 };

	if (!v->is_writable || is_denied_whole(p, v))
		return 0;
	if (put_tree(p, &filters, v, "", 0) < 0 || put_rule(p, "allow file-write*", &filters) < 0)
		return -1;
	if (put_names(p, v, &filters) < 0 || put_unreadable(p, &filters, v) < 0 ||
	    put_hidden(p, &filters, v) < 0)
		return -1;
	return put_rule(p, "deny file-write*", &filters);
}

static int put_protected(const struct profile *p)
{
	const struct strv *paths = &p->spec->protected_paths;
	OWN(buf) struct buf filters = { 0 };

	for (size_t i = 0; i < paths->n; i++) {
		OWN(mem) char *path = resolved(paths->v[i]);

		if (!path || add_tree(p, &filters, path, 1) < 0)
			return -1;
	}
	return put_rule(p, "deny file-write*", &filters);
}

static int put_writing(const struct profile *p)
{
	say(p, "3. writing: the binds the mode leaves writable, each followed by what in it is denied");
	for (size_t i = 0; i < p->n_views; i++)
		if (put_writable(p, &p->views[i]) < 0)
			return -1;
	return put_protected(p);
}

/* --- 4: removing and moving --- */

/* Paths of this profile's own making within the view that must stay where they are, and what leads there. */
static int add_fixed(const struct view *v, const char *path, struct strv *to)
{
	OWN(strv) struct strv way = { 0 };

	if (!path_under(path, v->host))
		return 0;
	if (strv_add(&way, path) < 0 || add_above(path, &way) < 0)
		return -1;
	for (size_t i = 0; i < way.n; i++)
		if (path_under(way.v[i], v->host) && strv_add(to, way.v[i]) < 0)
			return -1;
	return 0;
}

static int find_fixed(const struct profile *p, const struct view *v, struct strv *to)
{
	if (add_fixed(v, v->host, to) < 0)
		return -1;
	for (size_t i = 0; i < p->n_views; i++) {
		OWN(mem) char *here = NULL;

		if (add_fixed(v, p->views[i].host, to) < 0)
			return -1;
		if (!is_above(p->views[i].guest, v->guest))
			continue;
		here = below(v->host, rel_of(p->views[i].guest, v->guest));
		if (!here || add_fixed(v, here, to) < 0)
			return -1;
	}
	for (size_t i = 0; i < p->spec->protected_paths.n; i++) {
		OWN(mem) char *path = resolved(p->spec->protected_paths.v[i]);

		if (!path || add_fixed(v, path, to) < 0)
			return -1;
	}
	strv_sort_unique(to);
	return 0;
}

/* A rule about what git directories hold: those must be possible to make. */
static int is_about_git(const struct name_rule *rule)
{
	for (size_t i = 0; i + 1 < rule->n_parts; i++) {
		const struct name_part *part = &rule->parts[i];

		if (part->len >= 4 && !memcmp(part->text + part->len - 4, ".git", 4))
			return 1;
	}
	return 0;
}

/* Directories that lead into a rule; of those about git, or of the others, or of all. */
enum about { ABOUT_ALL, ABOUT_OTHERS };

static int add_heads(const struct profile *p, const struct rests *rests, enum about about, struct strv *to)
{
	for (size_t i = 0; i < rests->n; i++) {
		const struct rest *rest = &rests->v[i];

		if (rest->rule->is_exception || (about == ABOUT_OTHERS && is_about_git(rest->rule)))
			continue;
		if (rest_heads(rest, p->fold, to) < 0)
			return -1;
	}
	return 0;
}

/* "(@action (require-all (vnode-type @type) (require-any HEADS)))", if there are any */
static int put_heads(const struct profile *p, const struct view *v, const struct strv *heads,
		     const char *action, const char *type)
{
	OWN(buf) struct buf any = { 0 };
	OWN(buf) struct buf filters = { 0 };

	for (size_t i = 0; i < heads->n; i++)
		if (put_regex(p, &any, v, "", heads->v[i], "$") < 0)
			return -1;
	if (!any.len)
		return done(&any);
	buf_addf(&filters, "\n\t(require-all (vnode-type %s) (require-any%s))", type, any.data);
	return put_rule(p, action, &filters);
}

static int put_moving_in(const struct profile *p, const struct view *v)
{
	OWN_RESTS writes = { 0 };
	OWN_RESTS reads = { 0 };
	OWN(strv) struct strv fixed = { 0 };
	OWN(strv) struct strv heads = { 0 };
	OWN(strv) struct strv others = { 0 };
	OWN(buf) struct buf filters = { 0 };

	if (!v->is_writable || is_denied_whole(p, v))
		return 0;
	if (rests_below(&writes, &p->writes, v->at) < 0 || rests_below(&reads, &p->deny_reads, v->at) < 0 ||
	    find_fixed(p, v, &fixed) < 0)
		return -1;
	for (size_t i = 0; i < fixed.n; i++)
		add_path(&filters, "literal", fixed.v[i]);
	/* They are there: what would make one would move something onto it. */
	if (put_rule(p, "deny file-write-unlink file-write-create", &filters) < 0)
		return -1;
	/* A link by such a name would bring foreign content under the rule's path: as on Linux. */
	if (add_heads(p, &writes, ABOUT_ALL, &heads) < 0 || add_heads(p, &writes, ABOUT_OTHERS, &others) < 0 ||
	    put_heads(p, v, &heads, "deny file-write-create", "SYMLINK") < 0 ||
	    put_heads(p, v, &others, "deny file-write-create", "DIRECTORY") < 0)
		return -1;
	/* What hides something leads to it by name alone: moved away, it would show. */
	return add_heads(p, &reads, ABOUT_ALL, &heads) < 0 ? -1 :
		put_heads(p, v, &heads, "deny file-write-unlink", "DIRECTORY");
}

static int put_moving(const struct profile *p)
{
	say(p, "4. removing and moving: what leads to something denied stays where it is");
	for (size_t i = 0; i < p->n_views; i++)
		if (put_moving_in(p, &p->views[i]) < 0)
			return -1;
	return 0;
}

/* --- 5: executing --- */

/*
 * The part of the writable @top that @root opens, both in the same kind of path:
 * all of it, or what lies below @root; as "/a/b", or NULL for none.
 */
static const char *opened(const char *top, const char *root)
{
	return path_under(top, root) ? "" : path_under(root, top) ? rel_of(root, top) : NULL;
}

/* Where both @rel and @opened lie, or NULL. */
static const char *meet(const char *rel, const char *opened_rel)
{
	if (!opened_rel)
		return NULL;
	if (!*opened_rel || (*rel && path_under(rel, opened_rel)))
		return rel;
	return !*rel || path_under(opened_rel, rel) ? opened_rel : NULL;
}

int put_executable(const struct profile *p, struct buf *filters, const struct view *v, const char *rel)
{
	if (!v->is_writable)
		return put_tree(p, filters, v, rel, 0);
	for (size_t i = 0; i < p->spec->exec_grant_roots.n; i++) {
		OWN(mem) char *root = resolved(p->spec->exec_grant_roots.v[i]);
		const char *by_host, *by_guest;

		if (!root)
			return -1;
		by_host = meet(rel, opened(v->host, root));
		by_guest = meet(rel, opened(v->guest, p->spec->exec_grant_roots.v[i]));
		if ((by_host && put_tree(p, filters, v, by_host, 0) < 0) ||
		    (by_guest && (!by_host || strcmp(by_host, by_guest) != 0) &&
		     put_tree(p, filters, v, by_guest, 0) < 0))
			return -1;
	}
	return 0;
}

static int put_executing(const struct profile *p)
{
	say(p, "5. executing: what is readable and not writable, and what was granted");
	return put_reads(p, 1) < 0 ? -1 : put_masks(p, "deny process-exec*");
}

/* --- 6: network --- */

/* The socket as written, and where a bind's rules would have it. */
static int put_socket(const struct profile *p, struct buf *filters, const char *path)
{
	OWN(mem) char *host = resolved(path);
	const struct view *best = NULL;

	if (!host)
		return -1;
	for (size_t i = 0; i < p->n_views; i++)
		if (path_under(path, p->views[i].guest) &&
		    (!best || strlen(p->views[i].guest) >= strlen(best->guest)))
			best = &p->views[i];
	if (best) {
		free(host);
		host = below(best->host, rel_of(path, best->guest));
		if (!host)
			return -1;
	}
	add_path(filters, "literal", host);
	return done(filters);
}

static int put_network(const struct profile *p)
{
	OWN(buf) struct buf filters = { 0 };

	say(p, "6. network: the proxies, which know the hosts, and nothing else");
	buf_adds(p->to, "(deny network*)\n");
	buf_addf(&filters, "\n\t(remote tcp \"localhost:%d\")\n\t(remote tcp \"localhost:%d\")", HTTP_PORT, SOCKS_PORT);
	if (put_rule(p, "allow network-outbound", &filters) < 0)
		return -1;
	for (size_t i = 0; i < p->spec->allow_unix_sockets.n; i++)
		if (put_socket(p, &filters, p->spec->allow_unix_sockets.v[i]) < 0)
			return -1;
	return put_rule(p, "allow network-outbound", &filters);
}

/* --- all of it --- */

static int put_needs(const struct profile *p)
{
	say(p, "1. nothing, but what a process cannot be without");
	buf_adds(p->to, "(deny default)\n");
	for (size_t i = 0; i < ARRAY_LEN(needs); i++)
		buf_addf(p->to, "%s%s%s\n", needs[i].rule, *needs[i].reason ? "\t; " : "", needs[i].reason);
	return done(p->to);
}

static int load_names(struct names *n, const struct strv *rules, int fold)
{
	n->fold_case = fold;
	for (size_t i = 0; i < rules->n; i++)
		if (names_add(n, rules->v[i]) < 0)
			return -1;
	return 0;
}

static int load_anchored(struct names *n, const struct names *all)
{
	n->fold_case = all->fold_case;
	for (size_t i = 0; i < all->n; i++)
		if (rule_is_anchored(&all->rules[i]) && names_add(n, all->rules[i].text) < 0)
			return -1;
	return 0;
}

static void own_profile(struct profile *p)
{
	names_done(&p->writes);
	names_done(&p->anchored_writes);
	names_done(&p->deny_reads);
	names_done(&p->allow_reads);
	for (size_t i = 0; i < p->n_views; i++) {
		free(p->views[i].host);
		free(p->views[i].guest_twin);
	}
	free(p->views);
}

static int build(struct profile *p)
{
	const struct sandbox_spec *spec = p->spec;

	if (load_names(&p->writes, &spec->deny_write, p->fold) < 0 ||
	    load_anchored(&p->anchored_writes, &p->writes) < 0 ||
	    load_names(&p->deny_reads, &spec->deny_read, p->fold) < 0 ||
	    load_names(&p->allow_reads, &spec->allow_read, p->fold) < 0 || load_views(p) < 0)
		return -1;
	buf_adds(p->to, ";; Seatbelt profile of an agate run. The last rule that matches decides.\n(version 1)\n");
	return put_needs(p) < 0 || put_reading(p) < 0 || put_writing(p) < 0 || put_moving(p) < 0 ||
		put_executing(p) < 0 || put_network(p) < 0 ? -1 : 0;
}

int seatbelt_profile(const struct sandbox_spec *spec, int fold_case, struct buf *ret, struct err *err)
{
	OWN(buf) struct buf text = { 0 };
	const char *rule = NULL;
	__attribute__((cleanup(own_profile))) struct profile p = { .spec = spec, .fold = fold_case, .to = &text,
								    .ret_rule = &rule };

	if (spec_check(spec, err) < 0)
		return -1;
	errno = 0;
	if (build(&p) < 0) {
		if (errno != E2BIG || !rule)
			return err_set(err, ERR_NOMEM, 0, "out of memory");
		err_set(err, ERR_LIMIT, 0, "cannot say the rule '%s' without its exceptions in a Seatbelt profile: too long",
			rule);
		return err_hint(err, "leave out some exceptions: they are the rules behind it that begin with '!'");
	}
	return buf_add(ret, text.data, text.len) < 0 ? err_set(err, ERR_NOMEM, 0, "out of memory") : 0;
}
