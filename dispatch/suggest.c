#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/event.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/cli.h"
#include "dispatch/show.h"
#include "dispatch/suggest.h"
#include "sandbox/egress/dns.h"
#include "sandbox/egress/ports.h"
#include "sandbox/egress/policy.h"
#include "sandbox/init/proto.h"

/* --- the list --- */

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NOMEM, 0, "out of memory");
}

/* Borrows all three. */
static int put(struct suggest *s, const char *option, const char *value, const char *note, int64_t count,
	       struct err *err)
{
	struct suggestion *row;

	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 16;

		row = realloc(s->v, cap * sizeof(*row));
		if (!row)
			return no_memory(err);
		s->v = row;
		s->cap = cap;
	}
	row = &s->v[s->n++];
	*row = (struct suggestion){ .option = option ? strdup(option) : NULL, .value = strdup(value),
				    .note = note ? strdup(note) : NULL, .count = count };
	if ((option && !row->option) || !row->value || (note && !row->note))
		return no_memory(err);
	return 0;
}

static void row_done(struct suggestion *row)
{
	free(row->option);
	free(row->value);
	free(row->note);
}

/* NULL comes last, so that comments stand behind options. */
static int compare_texts(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : (a ? 0 : 1) - (b ? 0 : 1);
}

static int compare_rows(const void *a, const void *b)
{
	const struct suggestion *x = a, *y = b;
	int r = compare_texts(x->option, y->option);

	r = r ? r : compare_texts(x->value, y->value);
	return r ? r : compare_texts(x->note, y->note);
}

void suggest_settle(struct suggest *s)
{
	size_t n = 0;

	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), compare_rows);
	for (size_t i = 0; i < s->n; i++) {
		if (n && !compare_rows(&s->v[n - 1], &s->v[i])) {
			s->v[n - 1].count += s->v[i].count;
			row_done(&s->v[i]);
		} else {
			s->v[n++] = s->v[i];
		}
	}
	s->n = n;
}

void suggest_done(struct suggest *s)
{
	for (size_t i = 0; i < s->n; i++)
		row_done(&s->v[i]);
	free(s->v);
	*s = (struct suggest){ 0 };
}

/* What was refused, and why nothing helps. */
static int put_note(struct suggest *s, const struct violation *v, const char *why, struct err *err)
{
	OWN(mem) char *what = NULL;

	if (asprintf(&what, "%s %s", v->action, v->resolved ? v->resolved : v->target ? v->target : "") < 0) {
		what = NULL;
		return no_memory(err);
	}
	if (!why || !*why)
		why = v->reason && *v->reason ? v->reason : v->rule ? v->rule : "refused";
	return put(s, NULL, what, why, v->count, err);
}

/* --- the network --- */

static int is_localhost(const struct host *h)
{
	const char *dot = strrchr(h->text, '.');

	if (h->is_address)
		return address_class(&h->ip) == ADDRESS_LOOPBACK;
	return !strcmp(dot ? dot + 1 : h->text, "localhost");
}

/* A rule for that host; one without a port where the port is one that it means. */
static int put_domain(struct suggest *s, const struct violation *v, const struct host *h, uint16_t port,
		      struct err *err)
{
	int is_usual = port == 443 || port == 80 || port == 22;
	OWN(domain) struct domain_set set = { 0 };
	char rule[HOST_SHOWN_SIZE];
	struct domain_verdict got;
	struct err why = { 0 };

	host_show(h, is_usual ? 0 : port, rule);
	if (h->is_address && !address_may_consent(address_class(&h->ip)))
		return put_note(s, v, address_class_words(address_class(&h->ip)), err);
	if (domain_add(&set, DOMAIN_ALLOW, rule, "rule", NULL, &why) < 0)
		return put_note(s, v, "no rule can allow such a host", err);
	if (port)
		domain_judge(&set, h, port, &got);
	else
		domain_judge_name(&set, h, &got);
	return got.answer == DOMAIN_ALLOWED ? put(s, "--allow-domain", rule, NULL, v->count, err) :
					      put_note(s, v, NULL, err);
}

/* What stands inside already cannot be the host's there. */
static int put_host_port(struct suggest *s, const struct violation *v, uint16_t port, struct err *err)
{
	char text[8];
	const struct strv none = { 0 }, one = { .v = (char *[]){ text }, .n = 1 };
	struct err why = { 0 };

	snprintf(text, sizeof(text), "%u", port);
	return ports_check(&none, &one, &why) < 0 ? put_note(s, v, why.msg, err) :
						    put(s, "--host-port", text, NULL, v->count, err);
}

static int network(struct suggest *s, const struct violation *v, struct err *err)
{
	int is_look_up = !strcmp(v->action, "network-dns");
	const char *rule = v->rule ? v->rule : "", *why;
	const char *reason = v->reason ? v->reason : "";
	int is_other_port = !strncmp(reason, POLICY_OTHER_PORT, sizeof(POLICY_OTHER_PORT) - 1);
	struct host h;
	struct ip ip;
	uint16_t port = 0;
	int r;

	if (!strcmp(rule, "network-off"))
		return put(s, "--network", "allow", NULL, v->count, err);
	if (!strcmp(rule, "resolved-address"))
		return put_note(s, v, "a name may not lead there; allow the address itself, or map the name to it with "
				"--hosts FILE", err);
	if (!v->target ||
	    (strcmp(rule, "egress-allowlist") && strcmp(rule, PROTO_RULE_HOSTS_SERVICE) && !is_other_port))
		return put_note(s, v, NULL, err);
	r = is_look_up ? host_parse(v->target, strlen(v->target), &h, &why) :
			 host_port_parse(v->target, strlen(v->target), 0, &h, &port, &why);
	if (r < 0 || (is_look_up && dns_reverse(h.text, &ip) == 0))
		return put_note(s, v, NULL, err);
	if (!is_look_up && is_localhost(&h))
		return put_host_port(s, v, port, err);
	return put_domain(s, v, &h, port, err);
}

/* --- files --- */

/* What a run should never be given to write. */
static int is_systems(const char *path)
{
	static const char *const dirs[] = { "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc",
					    "/opt", "/nix", "/boot", "/proc", "/sys", "/dev", NULL };

	for (const char *const *d = dirs; *d; d++)
		if (path_under(path, *d))
			return 1;
	return !strcmp(path, "/");
}

/* Names can be protected wherever they are; only places can be given. */
static int file(struct suggest *s, const struct violation *v, struct err *err)
{
	const char *path = v->resolved ? v->resolved : v->target, *rule = v->rule ? v->rule : "";
	int is_whole = !strcmp(v->action, "file-write-data");
	OWN(mem) char *dir = NULL;

	if (strncmp(rule, "read-only", 9) || !path || !path_is_clean(path))
		return put_note(s, v, NULL, err);
	dir = is_whole ? strdup(path) : path_parent(path);
	if (!dir)
		return no_memory(err);
	if (is_systems(dir))
		return put_note(s, v, "it belongs to the system", err);
	return put(s, "--write", dir, NULL, v->count, err);
}

int suggest_add(struct suggest *s, const struct violation *v, struct err *err)
{
	static int (*const by_layer[LAYER_NUM])(struct suggest *, const struct violation *, struct err *) = {
		[LAYER_NETWORK] = network,
		[LAYER_FILE] = file,
	};

	return by_layer[v->layer] ? by_layer[v->layer](s, v, err) : put_note(s, v, NULL, err);
}

/* --- words --- */

/* As a shell reads it back. Control bytes would not survive being shown, so such a value is no option. */
static void add_word(struct buf *b, const char *word)
{
	if (*word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,")]) {
		buf_adds(b, word);
		return;
	}
	buf_addc(b, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			buf_adds(b, "'\\''");
		else
			buf_addc(b, *word);
	}
	buf_addc(b, '\'');
}

static void add_comment(struct buf *b, const struct suggestion *row)
{
	buf_adds(b, "# ");
	show_add(b, row->value, strlen(row->value));
	buf_adds(b, ": ");
	show_add(b, row->note, strlen(row->note));
	buf_addc(b, '\n');
}

static void add_option(struct buf *b, const struct suggestion *row)
{
	OWN(mem) char *shown = show_text(row->value);

	if (!shown || strcmp(shown, row->value)) {
		const struct suggestion odd = { .value = row->value, .note = (char[]){ "has bytes that cannot be shown" } };

		add_comment(b, &odd);
		return;
	}
	buf_addf(b, "%s ", row->option);
	add_word(b, row->value);
	buf_addc(b, '\n');
}

static void add_json(struct buf *b, const struct suggestion *row)
{
	OWN(json) struct json *j = json_new_object();
	OWN(mem) char *text = NULL;

	json_add_str(j, "option", row->option);
	json_add_str(j, "value", row->value);
	json_add_str(j, "note", row->note);
	json_add_int(j, "count", row->count);
	text = json_print(j);
	if (!text)
		b->failed = 1;
	else
		buf_addf(b, "%s\n", text);
}

int suggest_print(const struct suggest *s, int as_json, struct err *err)
{
	OWN(buf) struct buf b = { 0 };

	for (size_t i = 0; i < s->n; i++) {
		if (as_json)
			add_json(&b, &s->v[i]);
		else
			(s->v[i].option ? add_option : add_comment)(&b, &s->v[i]);
	}
	return b.failed ? no_memory(err) : cli_print(&b, err);
}
