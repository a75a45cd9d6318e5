#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/config.h"
#include "dispatch/ignore.h"
#include "dispatch/place.h"
#include "runner/runner.h"
#include "sandbox/egress/domain.h"
#include "sandbox/egress/trust_java.h"
#include "tokens/scrub.h"

enum { SECRETS_BYTES = 64 << 10, SECRET_MAX_BYTES = 16 << 10, PLACEHOLDER_RANDOM = 36 };

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

static int wrong(struct err *err, const char *what)
{
	return err_set(err, ERR_INPUT, 0, "config: %s", what);
}

/* --- what is known of some services --- */

static const struct provider {
	const char *name;
	const char *hosts[4];
	const char *prefix;
	size_t random;		/* letters behind the prefix: clients look at the length */
	const char *user;	/* of Basic authentication, added where a request has none */
} providers[] = {
	{ "anthropic", { "api.anthropic.com" }, "sk-ant-api03-", 95, NULL },
	{ "openai", { "api.openai.com" }, "sk-proj-", 156, NULL },
	{ "github", { "api.github.com", "uploads.github.com", "github.com" }, "ghp_", 36, "x-access-token" },
};

static const struct provider *find_provider(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(providers); i++)
		if (name && !strcmp(providers[i].name, name))
			return &providers[i];
	return NULL;
}

/* --- the file --- */

static char *find_path(const struct place *place, int *ret_must_be)
{
	const char *named = getenv("AGATE_CONFIG"), *xdg = getenv("XDG_CONFIG_HOME");

	*ret_must_be = named && *named;
	if (*ret_must_be)
		return path_expand(named, place->home, place->cwd);
	return xdg && *xdg == '/' ? path_join(xdg, "agate/config.json") : path_join(place->home, ".config/agate/config.json");
}

/* Who else can write it decides what runs may do. */
static int check_owner(const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_set(err, ERR_SYS, errno, "config: cannot look at '%s'", path);
	if ((st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & 022)) {
		err_set(err, ERR_POLICY, 0, "config: '%s' can be written by somebody else", path);
		return err_hint(err, "chmod go-w '%s'", path);
	}
	return 0;
}

static int read_domains(const struct json *root, const char *key, enum domain_side side, struct strv *ret,
			struct err *err)
{
	OWN(domain) struct domain_set set = { 0 };

	if (json_get(root, key) && json_strv(json_get(root, key), ret) < 0)
		return err_set(err, ERR_INPUT, 0, "config: '%s' must be a list of hosts", key);
	for (size_t i = 0; i < ret->n; i++)
		if (domain_add(&set, side, ret->v[i], key, NULL, err) < 0)
			return err_wrap(err, "config");
	return 0;
}

/* --- credentials --- */

static int check_source(const struct json *from, struct err *err)
{
	static const char *const known[] = { "env", "file", "command", NULL };
	OWN(strv) struct strv words = { 0 };
	const struct json *j = json_first(from);

	if (json_type(from) != JSON_OBJECT || json_count(from) != 1)
		return wrong(err, "credentials: 'from' must be one of {\"env\"}, {\"file\"}, {\"command\"}");
	if (json_only(from, known, "config: credentials: from", err) < 0)
		return -1;
	if (!strcmp(json_key(j), "command"))
		return json_strv(j, &words) == 0 && words.n ? 0 :
		       wrong(err, "credentials: a command is a list of words");
	if (!json_str(j) || !*json_str(j))
		return wrong(err, "credentials: 'from' must name a variable or a file");
	return 0;
}

static int check_credential(const struct json *j, struct strv *names, struct err *err)
{
	static const char *const known[] = { "name", "provider", "hosts", "placeholder", "header", "basic", "from", NULL };
	const char *name = json_str(json_get(j, "name")), *provider = json_str(json_get(j, "provider"));

	if (json_type(j) != JSON_OBJECT)
		return wrong(err, "'credentials' must be a list of objects");
	if (json_only(j, known, "config: credentials", err) < 0)
		return -1;
	if (!name || !*name || name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")])
		return wrong(err, "credentials: 'name' must be that of a variable");
	if (scrub_refuses(name))
		return err_set(err, ERR_POLICY, 0, "config: credentials: '%s' may not be set: %s", name, scrub_refuses(name));
	if (strv_has(names, name))
		return err_set(err, ERR_INPUT, 0, "config: credentials: '%s' is there twice", name);
	if (json_get(j, "provider") && !find_provider(provider))
		return wrong(err, "credentials: 'provider' must be anthropic, openai or github");
	if (!provider && (!json_get(j, "hosts") || (json_get(j, "placeholder") && !json_str(json_get(j, "placeholder")))))
		return wrong(err, "credentials: without a provider, 'hosts' must be there");
	if (check_source(json_get(j, "from"), err) < 0)
		return -1;
	return strv_add(names, name) < 0 ? no_memory(err) : 0;
}

static int check_credentials(const struct json *list, struct strv *names, struct err *err)
{
	if (list && json_type(list) != JSON_ARRAY)
		return wrong(err, "'credentials' must be a list");
	for (const struct json *j = json_first(list); j; j = json_next(j))
		if (check_credential(j, names, err) < 0)
			return -1;
	return 0;
}

/* --- what the helper is told --- */

static int looks(const struct json *egress)
{
	const struct json *t = json_get(egress, "tlsTerminate");
	int all = 0;

	json_bool(json_get(t, "all"), &all);
	return all || json_count(json_get(t, "hosts")) || json_count(json_get(egress, "routes")) ||
	       json_count(json_get(egress, "credentials"));
}

static int copy_members(struct user_config *c, struct err *err)
{
	static const char *const passed[] = { "tlsTerminate", "routes", "parentProxy", "mitmProxy", "noProxy" };

	c->egress = json_new_object();
	for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
		const struct json *j = json_get(c->file, passed[i]);

		if (j && !json_add_copy(c->egress, passed[i], j))
			return no_memory(err);
	}
	c->looks_into_tls = looks(c->egress) || c->names.n;
	return c->egress ? 0 : no_memory(err);
}

int user_config_load(const struct place *place, struct user_config *ret, struct err *err)
{
	static const char *const known[] = { "allowedDomains", "deniedDomains", "credentials", "tlsTerminate", "routes",
					     "parentProxy", "mitmProxy", "noProxy", "ignoreViolations", NULL };
	struct user_config c = { .looks_into_tls = 0 };
	int must_be, r;
	OWN(mem) char *path = find_path(place, &must_be);

	if (!path)
		return no_memory(err);
	if (access(path, F_OK) < 0 && errno == ENOENT && !must_be) {
		*ret = c;
		return 0;
	}
	if (check_owner(path, err) < 0)
		return -1;
	if (json_parse_file(path, NULL, &c.file, err) < 0)
		return err_wrap(err, "config '%s'", path);
	r = json_type(c.file) == JSON_OBJECT ? json_only(c.file, known, "config", err) : wrong(err, "an object is wanted");
	if (!r && (read_domains(c.file, "allowedDomains", DOMAIN_ALLOW, &c.allow, err) < 0 ||
		   read_domains(c.file, "deniedDomains", DOMAIN_DENY, &c.deny, err) < 0 ||
		   check_credentials(json_get(c.file, "credentials"), &c.names, err) < 0 || copy_members(&c, err) < 0 ||
		   ignore_check(json_get(c.file, "ignoreViolations"), err) < 0))
		r = -1;
	if (r < 0)
		user_config_free(&c);
	else
		*ret = c;
	return r;
}

/* --- secrets --- */

static int lock(struct user_config *c, struct err *err)
{
	c->secrets = mmap(NULL, SECRETS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->secrets == MAP_FAILED) {
		c->secrets = NULL;
		return no_memory(err);
	}
	madvise(c->secrets, SECRETS_BYTES, MADV_DONTDUMP);
	madvise(c->secrets, SECRETS_BYTES, MADV_WIPEONFORK);
	if (mlock(c->secrets, SECRETS_BYTES) == 0)
		return 0;
	err_set(err, ERR_SYS, errno, "cannot lock memory for credentials");
	return err_hint(err, "raise the limit on locked memory (ulimit -l)");
}

void user_config_wipe(struct user_config *c)
{
	if (c->secrets) {
		explicit_bzero(c->secrets, SECRETS_BYTES);
		munmap(c->secrets, SECRETS_BYTES);
	}
	c->secrets = NULL;
	c->secrets_len = 0;
}

/* Read to the end of @fd into @to, not later than @until_ms. How many bytes, or -1 with errno. */
static ssize_t read_bounded(int fd, char *to, size_t max, int64_t until_ms)
{
	size_t len = 0;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = until_ms - clock_mono_ms();
		ssize_t n;

		if (left <= 0 || poll(&p, 1, (int)left) == 0) {
			errno = ETIMEDOUT;
			return -1;
		}
		n = read(fd, to + len, max - len);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return n < 0 ? -1 : (ssize_t)len;
		len += (size_t)n;
		if (len == max) {
			errno = EFBIG;
			return -1;
		}
	}
}

static ssize_t from_env(const char *name, char *to)
{
	const char *value = getenv(name);

	if (!value || strlen(value) >= SECRET_MAX_BYTES) {
		errno = value ? EFBIG : ENOENT;
		return -1;
	}
	memcpy(to, value, strlen(value));
	return (ssize_t)strlen(value);
}

static ssize_t from_file(const char *path, const struct place *place, char *to)
{
	OWN(mem) char *full = path_expand(path, place->home, place->cwd);
	OWN(fd) int fd = full ? open(full, O_RDONLY | O_CLOEXEC) : -1;

	return fd < 0 ? -1 : read_bounded(fd, to, SECRET_MAX_BYTES, clock_mono_ms() + CONFIG_COMMAND_MS);
}

/* Wait for @pid, which was told to end if it took too long. 0 if it ended well. */
static int reap(pid_t pid, int failed)
{
	int status = -1;

	if (failed)
		kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return failed || !WIFEXITED(status) || WEXITSTATUS(status) ? -1 : 0;
}

static ssize_t from_command(const struct json *words, char *to)
{
	OWN(strv) struct strv argv = { 0 };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int p[2], r;
	ssize_t n;
	pid_t pid;

	if (json_strv(words, &argv) < 0 || pipe2(p, O_CLOEXEC) < 0)
		return -1;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, p[1], 1);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
	r = posix_spawnp(&pid, argv.v[0], &files, &attr, argv.v, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	close(p[1]);
	n = r ? -1 : read_bounded(p[0], to, SECRET_MAX_BYTES, clock_mono_ms() + CONFIG_COMMAND_MS);
	close(p[0]);
	if (r) {
		errno = r;
		return -1;
	}
	/* What a command that failed has printed is no secret. */
	if (reap(pid, n < 0) < 0) {
		errno = n < 0 ? ETIMEDOUT : EIO;
		return -1;
	}
	return n;
}

/* One more secret at the end of the pages. */
static int read_secret(struct user_config *c, const struct place *place, const char *name, const struct json *from,
		       struct err *err)
{
	const struct json *j = json_first(from);
	const char *kind = json_key(j);
	char *to = c->secrets + c->secrets_len;
	ssize_t n;

	if (c->secrets_len + SECRET_MAX_BYTES + 1 > SECRETS_BYTES)
		return err_set(err, ERR_LIMIT, 0, "credential '%s': too many, or too long", name);
	errno = 0;
	if (!strcmp(kind, "env"))
		n = from_env(json_str(j), to);
	else
		n = !strcmp(kind, "file") ? from_file(json_str(j), place, to) : from_command(j, to);
	if (n < 0)
		return err_set(err, ERR_SYS, errno, "credential '%s': its %s gives none", name, kind);
	while (n && (to[n - 1] == '\n' || to[n - 1] == '\r'))
		to[--n] = '\0';
	for (ssize_t i = 0; i < n; i++)
		if ((unsigned char)to[i] < ' ' || to[i] == 0x7f)
			return err_set(err, ERR_INPUT, 0, "credential '%s': its %s gives more than one line", name, kind);
	if (!n)
		return err_set(err, ERR_INPUT, 0, "credential '%s': its %s is empty", name, kind);
	to[n] = '\0';
	c->secrets_len += (size_t)n + 1;
	return 0;
}

/* --- placeholders --- */

static int make_placeholder(const char *prefix, size_t n, char **ret, struct err *err)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	unsigned char bytes[256];
	char text[sizeof(bytes) + 1];

	if (n > sizeof(bytes) || getrandom(bytes, n, 0) != (ssize_t)n)
		return err_set(err, ERR_SYS, errno, "cannot make a placeholder");
	for (size_t i = 0; i < n; i++)
		text[i] = letters[bytes[i] % (sizeof(letters) - 1)];
	text[n] = '\0';
	return asprintf(ret, "%s%s", prefix, text) < 0 ? no_memory(err) : 0;
}

static int add_hosts(struct json *to, const struct json *said, const struct provider *p)
{
	struct json *list;

	if (said)
		return json_add_copy(to, "hosts", said) ? 0 : -1;
	list = json_add_array(to, "hosts");
	for (size_t i = 0; p && i < ARRAY_LEN(p->hosts) && p->hosts[i]; i++)
		if (!json_add_str(list, NULL, p->hosts[i]))
			return -1;
	return list ? 0 : -1;
}

static int add_shape(struct json *to, const struct json *said, const struct provider *p)
{
	const struct json *header = json_get(said, "header"), *basic = json_get(said, "basic");

	if (header && !json_add_copy(to, "header", header))
		return -1;
	if (basic && !json_add_copy(to, "basic", basic))
		return -1;
	if (header || basic || !p || !p->user)
		return 0;
	return json_add_str(json_add_object(to, "basic"), "username", p->user) ? 0 : -1;
}

/* One credential as the helper wants it, without its secret. */
static int tell(struct json *list, const struct json *said, struct strv *env, struct err *err)
{
	const struct provider *p = find_provider(json_str(json_get(said, "provider")));
	const char *name = json_str(json_get(said, "name")), *prefix = json_str(json_get(said, "placeholder"));
	struct json *to = json_add_object(list, NULL);
	OWN(mem) char *placeholder = NULL;

	if (!prefix)
		prefix = p ? p->prefix : "agate-";
	if (make_placeholder(prefix, p ? p->random : PLACEHOLDER_RANDOM, &placeholder, err) < 0)
		return -1;
	if (!json_add_str(to, "id", name) || !json_add_str(to, "placeholder", placeholder) ||
	    add_hosts(to, json_get(said, "hosts"), p) < 0 || add_shape(to, said, p) < 0 ||
	    strv_addf(env, "%s=%s", name, placeholder) < 0)
		return no_memory(err);
	return 0;
}

/* --- pushes go through the push gate --- */

#define PUSH_HOST "github.com"

/* With a port or without, and with the dot that ends a name or without. */
static int is_host(const char *rule, const char *host)
{
	size_t n = strlen(host);

	return !strncasecmp(rule, host, n) && (!rule[n + (rule[n] == '.')] || rule[n + (rule[n] == '.')] == ':');
}

static int names_host(const struct json *list, const char *host)
{
	for (const struct json *j = json_first(list); j; j = json_next(j)) {
		const char *s = json_str(json_type(j) == JSON_OBJECT ? json_get(j, "host") : j);

		if (s && is_host(s, host))
			return 1;
	}
	return 0;
}

/* Does a rule of @list, however wide, mean that host? What is no rule is told by the helper. */
static int covers(const struct json *list, const char *host)
{
	OWN(domain) struct domain_set set = { 0 };
	struct domain_verdict v;
	const char *why;
	struct host h;

	for (const struct json *j = json_first(list); j; j = json_next(j)) {
		const char *s = json_str(json_type(j) == JSON_OBJECT ? json_get(j, "host") : j);

		if (s)
			domain_add(&set, DOMAIN_DENY, s, "hosts", NULL, NULL);
	}
	if (host_parse(host, strlen(host), &h, &why) < 0)
		return 0;
	domain_judge(&set, &h, 443, &v);
	return v.answer == DOMAIN_DENIED;
}

static int forbid_pushes(struct json *egress)
{
	struct json *routes = (struct json *)(size_t)json_get(egress, "routes"), *rule;
	int is_ours = 0, is_limited = covers(routes, PUSH_HOST);

	for (const struct json *j = json_first(json_get(egress, "credentials")); j; j = json_next(j))
		is_ours |= covers(json_get(j, "hosts"), PUSH_HOST);
	if (!is_ours || names_host(routes, PUSH_HOST))
		return 0;
	if (!routes)
		routes = json_add_array(egress, "routes");
	rule = json_add_object(routes, NULL);
	/* What a wider rule of the user's allows is not to become everything. */
	if (!is_limited && !json_add_str(json_add_array(rule, "allow"), NULL, "* /**"))
		return -1;
	return json_add_str(rule, "host", PUSH_HOST) &&
	       json_add_str(json_add_array(rule, "deny"), NULL, "POST /**/git-receive-pack") ? 0 : -1;
}

/* --- all of it --- */

/* Programs that have a variable of their own for whom to believe. */
static const char *const trust_names[] = {
	"SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
	"CARGO_HTTP_CAINFO", "PIP_CERT", "AWS_CA_BUNDLE", "DENO_CERT", "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
	"NIX_SSL_CERT_FILE", "HTTPLIB2_CA_CERTS", "HEX_CACERTS_PATH",
};

/*
 * Java's store is bound over the one of the system, which every Java of the
 * distribution links to. Others have their own: builds are told by what their
 * tools take for options. JAVA_TOOL_OPTIONS would reach all of them, but each
 * start then says so on stderr, where scripts look for a version; so it is for
 * hosts where no Java of the system's is, and any that is there is another's.
 */
#define JAVA_STORE "-Djavax.net.ssl.trustStore=" RUN_TRUST_JAVA_GUEST " -Djavax.net.ssl.trustStorePassword=" TRUST_JAVA_PASSWORD

static int add_java(struct strv *env)
{
	int is_bound = 0;

	for (const char *const *place = trust_java_places(); *place; place++)
		is_bound |= access(*place, F_OK) == 0;
	if (strv_add(env, "MAVEN_OPTS=" JAVA_STORE) < 0 || strv_add(env, "GRADLE_OPTS=" JAVA_STORE) < 0)
		return -1;
	return is_bound ? 0 : strv_add(env, "JAVA_TOOL_OPTIONS=" JAVA_STORE);
}

int user_config_reveal(struct user_config *c, const struct place *place, struct strv *env, struct err *err)
{
	const struct json *said = json_get(c->file, "credentials");
	struct json *list;

	for (size_t i = 0; c->looks_into_tls && i < ARRAY_LEN(trust_names); i++)
		if (strv_addf(env, "%s=" RUN_TRUST_GUEST, trust_names[i]) < 0)
			return no_memory(err);
	if (c->looks_into_tls && add_java(env) < 0)
		return no_memory(err);
	if (!c->names.n)
		return 0;
	list = json_add_array(c->egress, "credentials");
	if (!list)
		return no_memory(err);
	if (lock(c, err) < 0)
		return -1;
	for (const struct json *j = json_first(said); j; j = json_next(j))
		if (read_secret(c, place, json_str(json_get(j, "name")), json_get(j, "from"), err) < 0 ||
		    tell(list, j, env, err) < 0)
			return -1;
	return forbid_pushes(c->egress) < 0 ? no_memory(err) : 0;
}

void user_config_free(struct user_config *c)
{
	user_config_wipe(c);
	strv_done(&c->allow);
	strv_done(&c->deny);
	strv_done(&c->names);
	json_free(c->egress);
	json_free(c->file);
	*c = (struct user_config){ .looks_into_tls = 0 };
}
