#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "sandbox/egress/ports.h"
#include "sandbox/names.h"
#include "sandbox/spec.h"

#define MAX_ID 255		/* session ids become parts of file names */
#define MAX_ENTRIES 10000	/* of one list: a larger one is a mistake */
#define MAX_NUMBER ((INT64_C(1) << 53) - 1)	/* JSON carries no larger whole number exactly */

/* What the entries of a list are, and with that how they are checked and printed. */
enum list_kind {
	LIST_DOMAINS,	/* a set; what they mean is the egress reader's business */
	LIST_PATHS,	/* a set of clean absolute paths */
	LIST_GLOBS,	/* a set of paths and globs */
	LIST_RULES,	/* globs with exceptions: the last match wins, so order counts */
	LIST_PORTS,	/* a set, checked as a whole; not printed when it is empty, as it mostly is */
	LIST_DEVICES,	/* the same, of paths */
};

static const struct list {
	const char *key;
	size_t at;
	enum list_kind kind;
	int has_twins;	/* a literal deny holds for what it resolves to as well */
} lists[] = {
	{ "egressAllowlist", offsetof(struct sandbox_spec, egress_allow), LIST_DOMAINS, 0 },
	{ "deniedDomains", offsetof(struct sandbox_spec, egress_deny), LIST_DOMAINS, 0 },
	{ "protectedPaths", offsetof(struct sandbox_spec, protected_paths), LIST_PATHS, 1 },
	{ "runnerStateDirs", offsetof(struct sandbox_spec, runner_state_dirs), LIST_PATHS, 0 },
	{ "execGrantRoots", offsetof(struct sandbox_spec, exec_grant_roots), LIST_PATHS, 0 },
	{ "denyRead", offsetof(struct sandbox_spec, deny_read), LIST_GLOBS, 1 },
	/* no twins: a link in a repository must not widen what may be read */
	{ "allowRead", offsetof(struct sandbox_spec, allow_read), LIST_GLOBS, 0 },
	{ "denyWrite", offsetof(struct sandbox_spec, deny_write), LIST_RULES, 1 },
	{ "allowUnixSockets", offsetof(struct sandbox_spec, allow_unix_sockets), LIST_PATHS, 0 },
	{ "devices", offsetof(struct sandbox_spec, devices), LIST_DEVICES, 0 },
	{ "publish", offsetof(struct sandbox_spec, publish), LIST_PORTS, 0 },
	{ "hostPorts", offsetof(struct sandbox_spec, host_ports), LIST_PORTS, 0 },
};

static const struct word {
	const char *key;
	size_t at;
	int is_required;
	int is_path;
} words[] = {
	{ "sessionId", offsetof(struct sandbox_spec, session_id), 1, 0 },
	{ "workspaceId", offsetof(struct sandbox_spec, workspace_id), 1, 0 },
	{ "agentId", offsetof(struct sandbox_spec, agent_id), 0, 0 },
	{ "guestWorkdir", offsetof(struct sandbox_spec, guest_workdir), 0, 1 },
	{ "guestHome", offsetof(struct sandbox_spec, guest_home), 0, 1 },
};

/* Every limit is 64 bits wide, signed or not. */
static const struct number {
	const char *key;
	size_t at;
} numbers[] = {
	{ "wallMs", offsetof(struct spec_limits, wall_ms) },
	{ "cpuMs", offsetof(struct spec_limits, cpu_ms) },
	{ "memoryBytes", offsetof(struct spec_limits, memory_bytes) },
	{ "fileBytes", offsetof(struct spec_limits, file_bytes) },
	{ "pids", offsetof(struct spec_limits, pids) },
	{ "openFiles", offsetof(struct spec_limits, open_files) },
};

static const char *const known_fields[] = {
	"sessionId", "workspaceId", "agentId", "bindMounts", "networkEnabled", "egressAllowlist",
	"deniedDomains", "guestWorkdir", "guestHome", "mode", "protectedPaths", "runnerStateDirs",
	"execGrantRoots", "denyRead", "allowRead", "denyWrite", "allowUnixSockets", "devices", "publish",
	"hostPorts", "limits", NULL
};
static const char *const known_bind_fields[] = { "hostPath", "guestPath", "readOnly", NULL };
static const char *const known_limits[] = { "wallMs", "cpuMs", "memoryBytes", "fileBytes", "pids",
					    "openFiles", NULL };

static const struct strv *list_of(const struct sandbox_spec *spec, const struct list *l)
{
	return (const struct strv *)(const void *)((const char *)spec + l->at);
}

static struct strv *list_in(struct sandbox_spec *spec, const struct list *l)
{
	return (struct strv *)(void *)((char *)spec + l->at);
}

static int64_t limit_of(const struct spec_limits *limits, const struct number *n)
{
	int64_t v;

	memcpy(&v, (const char *)limits + n->at, sizeof(v));
	return v;
}

static const char *word_of(const struct sandbox_spec *spec, const struct word *w)
{
	return *(char *const *)(const void *)((const char *)spec + w->at);
}

int spec_add_bind(struct sandbox_spec *spec, const char *host, const char *guest, int read_only)
{
	struct bind_mount *more = reallocarray(spec->binds, spec->n_binds + 1, sizeof(*more));
	OWN(mem) char *h = strdup(host);
	OWN(mem) char *g = strdup(guest);

	if (more)
		spec->binds = more;
	if (!more || !h || !g)
		return -1;
	more[spec->n_binds++] = (struct bind_mount){ TAKE(h), TAKE(g), read_only != 0 };
	return 0;
}

int spec_bind_is_writable(const struct sandbox_spec *spec, const struct bind_mount *bind)
{
	if (bind->read_only)
		return 0;
	if (!mode_is_readonly(spec->mode))
		return 1;
	for (size_t i = 0; i < spec->runner_state_dirs.n; i++)
		if (path_under(bind->guest_path, spec->runner_state_dirs.v[i]))
			return 1;
	return 0;
}

void spec_done(struct sandbox_spec *spec)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		free(*(char **)(void *)((char *)spec + words[i].at));
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		strv_done(list_in(spec, &lists[i]));
	for (size_t i = 0; i < spec->n_binds; i++) {
		free(spec->binds[i].host_path);
		free(spec->binds[i].guest_path);
	}
	free(spec->binds);
	*spec = (struct sandbox_spec){ 0 };
}

/* --- checking --- */

/* What is printed as JSON and shown to people has to survive both. */
static int check_text(const char *what, const char *s, struct err *err)
{
	for (const char *p = s; *p;) {
		size_t n = text_char(p, strlen(p));

		if (!n)
			return err_set(err, ERR_INPUT, 0, "%s is not valid UTF-8", what);
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return err_set(err, ERR_INPUT, 0, "%s has a control byte in it", what);
		p += n;
	}
	return 0;
}

static int check_path(const char *what, const char *p, struct err *err)
{
	if (check_text(what, p, err) < 0)
		return -1;
	if (!path_is_clean(p))
		return err_set(err, ERR_INPUT, 0, "%s '%s' is not a clean absolute path", what, p);
	if (strlen(p) >= PATH_MAX)
		return err_set(err, ERR_INPUT, 0, "%s is longer than a path can be", what);
	return 0;
}

static int check_id(const char *what, const char *id, struct err *err)
{
	size_t n = strlen(id);

	if (check_text(what, id, err) < 0)
		return -1;
	if (n == 0 || n > MAX_ID)
		return err_set(err, ERR_INPUT, 0, "%s must have 1 to %d bytes", what, MAX_ID);
	if (strchr(id, '/') || !strcmp(id, ".") || !strcmp(id, ".."))
		return err_set(err, ERR_INPUT, 0, "%s '%s' may not be a path", what, id);
	return 0;
}

static void own_names(struct names *n)
{
	names_done(n);
}

static int is_glob(const char *p)
{
	return strpbrk(p, "*?[") != NULL;
}

/* Parts that no path has would make a rule that never matches: "/a/../b", "/a//b", "/a/". */
static int has_odd_part(const char *rule)
{
	for (const char *p = rule; *p; p += strcspn(p, "/")) {
		size_t n;

		p += *p == '/';
		n = strcspn(p, "/");
		if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return 1;
	}
	return 0;
}

static int check_glob(const char *what, const char *rule, struct err *err)
{
	OWN(names) struct names names = { 0 };

	if (check_text(what, rule, err) < 0)
		return -1;
	if (!has_odd_part(rule)) {
		if (names_add(&names, rule) == 0)
			return 0;
		if (errno == ENOMEM)
			return err_set(err, ERR_NOMEM, 0, "no memory for a rule");
		if (errno == E2BIG)
			return err_set(err, ERR_INPUT, 0, "%s '%s' has too many parts", what, rule);
	}
	err_set(err, ERR_INPUT, 0, "%s '%s' is not a rule", what, rule);
	return err_hint(err, "a rule begins with '/' or '**/', as in '**/.env' or '/srv/data/*.key'");
}

static int check_rule(const char *what, const char *rule, int may_except, struct err *err)
{
	const char *bare = rule + (rule[0] == '!');

	if (bare != rule && !may_except)
		return err_set(err, ERR_INPUT, 0, "%s '%s': only a write rule can be an exception", what, rule);
	return (is_glob(bare) ? check_glob : check_path)(what, bare, err);
}

static int check_entry(const struct list *l, const char *entry, struct err *err)
{
	switch (l->kind) {
	case LIST_DOMAINS:
		if (!*entry)
			return err_set(err, ERR_INPUT, 0, "%s has an empty entry", l->key);
		return check_text(l->key, entry, err);
	case LIST_PATHS:
	case LIST_DEVICES:
		return check_path(l->key, entry, err);
	case LIST_GLOBS:
		return check_rule(l->key, entry, 0, err);
	case LIST_RULES:
		return check_rule(l->key, entry, 1, err);
	case LIST_PORTS:
		return check_text(l->key, entry, err);
	}
	return err_set(err, ERR_INPUT, 0, "%s is not a list", l->key);
}

static int check_lists(const struct sandbox_spec *spec, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		const struct strv *sv = list_of(spec, &lists[i]);

		if (sv->n > MAX_ENTRIES)
			return err_set(err, ERR_LIMIT, 0, "%s has more than %d entries", lists[i].key, MAX_ENTRIES);
		for (size_t j = 0; j < sv->n; j++)
			if (check_entry(&lists[i], sv->v[j], err) < 0)
				return -1;
	}
	return 0;
}

static int check_words(const struct sandbox_spec *spec, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		const char *s = word_of(spec, &words[i]);

		if (!s && words[i].is_required)
			return err_set(err, ERR_INPUT, 0, "%s is missing", words[i].key);
		if (s && (words[i].is_path ? check_path : check_id)(words[i].key, s, err) < 0)
			return -1;
	}
	return 0;
}

/* Where the sandbox's own mounts go; below /dev single devices may be bound. */
static int is_reserved(const char *guest)
{
	return !strcmp(guest, "/") || !strcmp(guest, "/dev") || path_under(guest, "/proc");
}

/* A later mount must neither repeat an earlier one nor hide it. */
static int check_order(const struct sandbox_spec *spec, size_t at, struct err *err)
{
	const char *guest = spec->binds[at].guest_path;

	for (size_t i = 0; i < at; i++) {
		const char *earlier = spec->binds[i].guest_path;

		if (!strcmp(guest, earlier))
			return err_set(err, ERR_INPUT, 0, "guestPath '%s' is bound twice", guest);
		if (path_under(earlier, guest))
			return err_set(err, ERR_INPUT, 0, "guestPath '%s' would hide '%s', bound before it",
				       guest, earlier);
	}
	return 0;
}

static int check_unprotected(const struct sandbox_spec *spec, const struct bind_mount *b, struct err *err)
{
	if (b->read_only)
		return 0;
	for (size_t i = 0; i < spec->protected_paths.n; i++)
		if (path_under(b->host_path, spec->protected_paths.v[i]))
			return err_set(err, ERR_INPUT, 0, "hostPath '%s' is writable but protected by '%s'",
				       b->host_path, spec->protected_paths.v[i]);
	return 0;
}

static int check_binds(const struct sandbox_spec *spec, struct err *err)
{
	if (spec->n_binds > MAX_ENTRIES)
		return err_set(err, ERR_LIMIT, 0, "bindMounts has more than %d entries", MAX_ENTRIES);
	for (size_t i = 0; i < spec->n_binds; i++) {
		const struct bind_mount *b = &spec->binds[i];

		if (check_path("hostPath", b->host_path, err) < 0 || check_path("guestPath", b->guest_path, err) < 0)
			return -1;
		if (is_reserved(b->guest_path))
			return err_set(err, ERR_INPUT, 0, "guestPath '%s' is the sandbox's own", b->guest_path);
		if (check_order(spec, i, err) < 0 || check_unprotected(spec, b, err) < 0)
			return -1;
	}
	return 0;
}

static int check_limits(const struct spec_limits *limits, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		int64_t v = limit_of(limits, &numbers[i]);

		if (v < 0 || v > MAX_NUMBER)
			return err_set(err, ERR_INPUT, 0, "limits: %s is out of range", numbers[i].key);
	}
	return 0;
}

static int check_devices(const struct sandbox_spec *spec, struct err *err)
{
	for (size_t i = 0; i < spec->devices.n; i++)
		if (strncmp(spec->devices.v[i], "/dev/", 5))
			return err_set(err, ERR_INPUT, 0, "devices: '%s' is not below /dev", spec->devices.v[i]);
	return 0;
}

int spec_check(const struct sandbox_spec *spec, struct err *err)
{
	if ((unsigned int)spec->mode >= MODE_NUM)
		return err_set(err, ERR_INPUT, 0, "mode is not one of the modes");
	if (check_limits(&spec->limits, err) < 0 || check_words(spec, err) < 0 || check_lists(spec, err) < 0 ||
	    ports_check(&spec->publish, &spec->host_ports, err) < 0)
		return -1;
	return check_devices(spec, err) < 0 ? -1 : check_binds(spec, err);
}

/* --- reading --- */

static int read_word(const struct json *j, const char *key, int is_required, char **ret, struct err *err)
{
	const struct json *member = json_get(j, key);

	if (!member || json_type(member) == JSON_NULL)
		return is_required ? err_set(err, ERR_INPUT, 0, "%s is missing", key) : 0;
	if (!json_str(member))
		return err_set(err, ERR_INPUT, 0, "%s is not a string", key);
	*ret = strdup(json_str(member));
	return *ret ? 0 : err_set(err, ERR_NOMEM, 0, "no memory for %s", key);
}

static int read_flag(const struct json *j, const char *key, int *ret, struct err *err)
{
	if (json_bool(json_get(j, key), ret) < 0)
		return err_set(err, ERR_INPUT, 0, "%s must be true or false", key);
	return 0;
}

static int read_bind(const struct json *j, struct sandbox_spec *spec, struct err *err)
{
	OWN(mem) char *host = NULL;
	OWN(mem) char *guest = NULL;
	int read_only;

	if (json_type(j) != JSON_OBJECT)
		return err_set(err, ERR_INPUT, 0, "a bind mount is not an object");
	if (json_only(j, known_bind_fields, "bindMounts", err) < 0 ||
	    read_word(j, "hostPath", 1, &host, err) < 0 || read_word(j, "guestPath", 1, &guest, err) < 0 ||
	    read_flag(j, "readOnly", &read_only, err) < 0)
		return -1;
	if (spec_add_bind(spec, host, guest, read_only) < 0)
		return err_set(err, ERR_NOMEM, 0, "no memory for a bind mount");
	return 0;
}

static int read_binds(const struct json *j, struct sandbox_spec *spec, struct err *err)
{
	const struct json *arr = json_get(j, "bindMounts");

	if (json_type(arr) != JSON_ARRAY)
		return err_set(err, ERR_INPUT, 0, "bindMounts must be a list");
	if (json_count(arr) > MAX_ENTRIES)
		return err_set(err, ERR_LIMIT, 0, "bindMounts has more than %d entries", MAX_ENTRIES);
	for (const struct json *b = json_first(arr); b; b = json_next(b))
		if (read_bind(b, spec, err) < 0)
			return -1;
	return 0;
}

static int read_lists(const struct json *j, struct sandbox_spec *spec, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		const struct json *member = json_get(j, lists[i].key);

		if (member && json_strv(member, list_in(spec, &lists[i])) < 0)
			return err_set(err, ERR_INPUT, 0, "%s must be a list of strings", lists[i].key);
	}
	return 0;
}

static int read_limits(const struct json *j, struct spec_limits *limits, struct err *err)
{
	const struct json *obj = json_get(j, "limits");

	if (!obj)
		return 0;
	if (json_type(obj) != JSON_OBJECT)
		return err_set(err, ERR_INPUT, 0, "limits must be an object");
	if (json_only(obj, known_limits, "limits", err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		const struct json *member = json_get(obj, numbers[i].key);
		int64_t v = 0;

		if (member && (json_int(member, &v) < 0 || v < 0))
			return err_set(err, ERR_INPUT, 0, "limits: %s must be a whole number of 0 or more", numbers[i].key);
		memcpy((char *)limits + numbers[i].at, &v, sizeof(v));
	}
	return 0;
}

static int read_mode(const struct json *j, enum mode *ret, struct err *err)
{
	const char *word = json_str(json_get(j, "mode"));

	if (!word || mode_parse(word, ret) < 0)
		return err_set(err, ERR_INPUT, 0, "mode must be chat, review, plan or orchestrate");
	return 0;
}

int spec_from_json(const struct json *j, struct sandbox_spec *ret, struct err *err)
{
	OWN(spec) struct sandbox_spec spec = { 0 };

	if (json_type(j) != JSON_OBJECT)
		return err_set(err, ERR_INPUT, 0, "a sandbox spec must be an object");
	if (json_only(j, known_fields, "sandbox spec", err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (read_word(j, words[i].key, words[i].is_required,
			      (char **)(void *)((char *)&spec + words[i].at), err) < 0)
			return -1;
	if (read_binds(j, &spec, err) < 0 || read_flag(j, "networkEnabled", &spec.network_enabled, err) < 0 ||
	    read_mode(j, &spec.mode, err) < 0 || read_lists(j, &spec, err) < 0 ||
	    read_limits(j, &spec.limits, err) < 0 || spec_check(&spec, err) < 0)
		return -1;
	*ret = spec;
	spec = (struct sandbox_spec){ 0 };
	return 0;
}

/* --- printing --- */

/* Of a rule given twice the later one decides, so the earlier may go. */
static int keep_last(const struct strv *from, struct strv *to)
{
	for (size_t i = 0; i < from->n; i++) {
		size_t j = i + 1;

		while (j < from->n && strcmp(from->v[i], from->v[j]))
			j++;
		if (j == from->n && strv_add(to, from->v[i]) < 0)
			return -1;
	}
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Neighbours of one sign may trade places: sort each run of denials, each run of exceptions. */
static void sort_runs(struct strv *rules)
{
	for (size_t from = 0, to; from < rules->n; from = to) {
		int sign = rules->v[from][0] == '!';

		for (to = from + 1; to < rules->n && (rules->v[to][0] == '!') == sign; to++)
			;
		qsort(rules->v + from, to - from, sizeof(*rules->v), by_bytes);
	}
}

static int add_list(struct json *to, const struct list *l, const struct strv *sv)
{
	OWN(strv) struct strv out = { 0 };

	if ((l->kind == LIST_PORTS || l->kind == LIST_DEVICES) && !sv->n)
		return 0;
	if (l->kind == LIST_RULES) {
		if (keep_last(sv, &out) < 0)
			return -1;
		sort_runs(&out);
	} else {
		if (strv_copy(&out, sv) < 0)
			return -1;
		strv_sort_unique(&out);
	}
	return json_add_strv(to, l->key, &out) ? 0 : -1;
}

static int add_binds(struct json *to, const struct sandbox_spec *spec)
{
	struct json *arr = json_add_array(to, "bindMounts");

	for (size_t i = 0; i < spec->n_binds; i++) {
		struct json *b = json_add_object(arr, NULL);

		if (!json_add_str(b, "hostPath", spec->binds[i].host_path) ||
		    !json_add_str(b, "guestPath", spec->binds[i].guest_path) ||
		    !json_add_bool(b, "readOnly", spec->binds[i].read_only))
			return -1;
	}
	return arr ? 0 : -1;
}

static int add_limits(struct json *to, const struct spec_limits *limits)
{
	struct json *obj = json_add_object(to, "limits");

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		int64_t v = limit_of(limits, &numbers[i]);

		if (v && !json_add_int(obj, numbers[i].key, v))
			return -1;
	}
	return obj ? 0 : -1;
}

struct json *spec_to_json(const struct sandbox_spec *spec)
{
	OWN(json) struct json *j = json_new_object();

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		const char *s = word_of(spec, &words[i]);

		if (s && !json_add_str(j, words[i].key, s))
			return NULL;
	}
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		if (add_list(j, &lists[i], list_of(spec, &lists[i])) < 0)
			return NULL;
	if (add_binds(j, spec) < 0 || add_limits(j, &spec->limits) < 0 ||
	    !json_add_bool(j, "networkEnabled", spec->network_enabled) ||
	    !json_add_str(j, "mode", mode_name(spec->mode)))
		return NULL;
	return TAKE(j);
}

char *spec_canonical(const struct sandbox_spec *spec, char ret_digest[DIGEST_HEX_SIZE])
{
	OWN(json) struct json *j = spec_to_json(spec);
	char *text = j ? json_print_canonical(j) : NULL;

	if (text)
		digest_hex(text, strlen(text), ret_digest);
	return text;
}

/* --- twins --- */

char *spec_rule_of_path(const char *path)
{
	OWN(buf) struct buf b = { 0 };

	for (const char *p = path; *p; p++) {
		if (*p == '*' || *p == '?' || *p == '[')
			buf_addf(&b, "[%c]", *p);
		else
			buf_addc(&b, *p);
	}
	return buf_steal(&b);
}

/* The resolved form of @p as list @l needs it; *ret NULL if there is none, or it is @p again. */
static int find_twin(const struct list *l, const char *p, char **ret)
{
	OWN(mem) char *resolved = NULL;

	*ret = NULL;
	if (p[0] != '/' || (l->kind != LIST_PATHS && is_glob(p)))
		return 0;
	errno = 0;
	resolved = path_resolve(p);
	if (!resolved)
		return errno == ENOMEM ? -1 : 0;
	if (!strcmp(resolved, p))
		return 0;
	*ret = l->kind == LIST_PATHS ? TAKE(resolved) : spec_rule_of_path(resolved);
	return *ret ? 0 : -1;
}

/* Copy @from with each literal's twin right behind it. */
static int with_twins(const struct list *l, const struct strv *from, struct strv *to)
{
	for (size_t i = 0; i < from->n; i++) {
		char *twin;

		if (strv_add(to, from->v[i]) < 0 || find_twin(l, from->v[i], &twin) < 0 ||
		    (twin && strv_take(to, twin) < 0))
			return -1;
	}
	return 0;
}

int spec_twins(struct sandbox_spec *spec, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		OWN(strv) struct strv all = { 0 };
		OWN(strv) struct strv kept = { 0 };
		struct strv *sv = list_in(spec, &lists[i]), old;

		if (!lists[i].has_twins)
			continue;
		if (with_twins(&lists[i], sv, &all) < 0 || keep_last(&all, &kept) < 0)
			return err_set(err, ERR_NOMEM, 0, "no memory for %s", lists[i].key);
		if (lists[i].kind != LIST_RULES)
			strv_sort_unique(&kept);
		old = *sv;
		*sv = kept;
		kept = old;
	}
	return 0;
}
