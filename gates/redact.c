#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/own.h"
#include "gates/redact.h"

struct scan {
	const char *s;
	size_t len;
	size_t at;
	unsigned int programs;	/* bits of password_options[] */
};

/* A secret found: bytes [start, end) of the text. */
struct hit {
	const char *kind;
	size_t start, end;
};

/* --- letters --- */

static bool is_word(int c)	/* of names and tokens */
{
	return c == '_' || c == '-' || (c < 128 && isalnum(c));
}

static bool in_set(char set, int c)
{
	switch (set) {
	case 'A':	/* capitals and digits */
		return isdigit(c) || (c >= 'A' && c <= 'Z');
	case 'x':	/* hexadecimal, small letters */
		return isdigit(c) || (c >= 'a' && c <= 'f');
	case 'a':	/* letters and digits */
		return c < 128 && isalnum(c);
	case 'w':	/* also _ and - */
		return is_word(c);
	case '.':	/* also dots */
		return is_word(c) || c == '.';
	default:	/* '/': base64, without the "=" at its end */
		return is_word(c) || c == '+' || c == '/';
	}
}

static int byte_at(const struct scan *sc, size_t i)
{
	return i < sc->len ? (unsigned char)sc->s[i] : 0;
}

static size_t run_of(const struct scan *sc, size_t i, char set)
{
	size_t n = 0;

	while (i + n < sc->len && in_set(set, byte_at(sc, i + n)))
		n++;
	return n;
}

static bool begins(const struct scan *sc, size_t i, const char *word)
{
	size_t n = strlen(word);

	return sc->len - i >= n && !memcmp(sc->s + i, word, n);
}

static bool begins_fold(const struct scan *sc, size_t i, const char *word)
{
	size_t n = strlen(word);

	return sc->len - i >= n && !strncasecmp(sc->s + i, word, n);
}

/* --- keys that tell their maker --- */

struct shape {
	const char *kind;
	const char *prefix;
	char set;		/* of what follows, see in_set() */
	unsigned int min;	/* bytes that must follow */
};

static const struct shape shapes[] = {
	{ "anthropic-key", "sk-ant-", 'w', 20 },	{ "openai-key", "sk-proj-", 'w', 20 },
	{ "openai-key", "sk-svcacct-", 'w', 20 },	{ "openai-key", "sk-admin-", 'w', 20 },
	{ "openrouter-key", "sk-or-v1-", 'w', 20 },	{ "api-key", "sk-", 'w', 20 },
	{ "stripe-key", "sk_live_", 'a', 10 },		{ "stripe-key", "sk_test_", 'a', 10 },
	{ "stripe-key", "rk_live_", 'a', 10 },		{ "stripe-key", "rk_test_", 'a', 10 },
	{ "stripe-key", "whsec_", '/', 20 },		{ "github-token", "github_pat_", 'w', 22 },
	{ "github-token", "ghp_", 'w', 36 },		{ "github-token", "gho_", 'w', 36 },
	{ "github-token", "ghu_", '.', 36 },		{ "github-token", "ghs_", '.', 36 },
	{ "github-token", "ghr_", 'w', 36 },		{ "gitlab-token", "glpat-", '.', 20 },
	{ "gitlab-token", "gldt-", '.', 20 },		{ "gitlab-token", "glrt-", '.', 20 },
	{ "gitlab-token", "glft-", '.', 20 },		{ "gitlab-token", "glcbt-", '.', 20 },
	{ "gitlab-token", "glptt-", '.', 20 },		{ "gitlab-token", "glsoat-", '.', 20 },
	{ "gitlab-token", "glimt-", '.', 20 },		{ "gitlab-token", "glagent-", '.', 20 },
	{ "aws-key-id", "AKIA", 'A', 16 },		{ "aws-key-id", "ASIA", 'A', 16 },
	{ "aws-key-id", "ABIA", 'A', 16 },		{ "aws-key-id", "ACCA", 'A', 16 },
	{ "slack-token", "xoxb-", 'w', 20 },		{ "slack-token", "xoxp-", 'w', 20 },
	{ "slack-token", "xoxa-", 'w', 20 },		{ "slack-token", "xoxr-", 'w', 20 },
	{ "slack-token", "xoxs-", 'w', 20 },		{ "slack-token", "xoxc-", 'w', 20 },
	{ "slack-token", "xoxd-", '/', 20 },		{ "slack-token", "xoxe.", '.', 20 },
	{ "slack-token", "xapp-", 'w', 20 },		{ "slack-hook", "hooks.slack.com/services/", '/',
	  20 },
	{ "google-key", "AIza", 'w', 35 },		{ "google-token", "ya29.", '.', 20 },
	{ "google-secret", "GOCSPX-", 'w', 20 },	{ "npm-token", "npm_", 'a', 36 },
	{ "pypi-token", "pypi-AgE", 'w', 50 },		{ "rubygems-key", "rubygems_", 'x', 48 },
	{ "docker-token", "dckr_pat_", 'w', 20 },	{ "docker-token", "dckr_oat_", 'w', 20 },
	{ "huggingface-token", "hf_", 'a', 30 },	{ "linear-key", "lin_api_", 'a', 20 },
	{ "linear-key", "lin_oauth_", 'a', 20 },	{ "shopify-token", "shpat_", 'x', 32 },
	{ "shopify-token", "shpss_", 'x', 32 },		{ "shopify-token", "shpca_", 'x', 32 },
	{ "square-token", "sq0atp-", 'w', 22 },		{ "square-token", "sq0csp-", 'w', 40 },
	{ "sendgrid-key", "SG.", '.', 40 },		{ "mailgun-key", "key-", 'x', 32 },
	{ "digitalocean-token", "dop_v1_", 'x', 64 },	{ "digitalocean-token", "doo_v1_", 'x', 64 },
	{ "digitalocean-token", "dor_v1_", 'x', 64 },	{ "vault-token", "hvs.", '.', 20 },
	{ "vault-token", "hvb.", '.', 20 },		{ "vault-token", "hvr.", '.', 20 },
	{ "postman-key", "PMAK-", 'w', 30 },		{ "grafana-token", "glsa_", 'w', 30 },
	{ "grafana-token", "glc_", '/', 30 },		{ "newrelic-key", "NRAK-", 'A', 20 },
	{ "databricks-token", "dapi", 'x', 32 },	{ "figma-token", "figd_", 'w', 30 },
	{ "notion-token", "ntn_", 'a', 30 },		{ "notion-token", "secret_", 'a', 40 },
	{ "supabase-key", "sbp_", 'x', 40 },		{ "supabase-key", "sb_secret_", 'w', 20 },
	{ "replicate-token", "r8_", 'a', 30 },		{ "groq-key", "gsk_", 'a', 40 },
	{ "xai-key", "xai-", 'a', 40 },			{ "perplexity-key", "pplx-", 'a', 40 },
	{ "age-key", "AGE-SECRET-KEY-1", 'A', 40 },	{ "atlassian-token", "ATATT3", '/', 40 },
	{ "atlassian-token", "ATCTT3", '/', 40 },	{ "buildkite-token", "bkua_", 'x', 40 },
	{ "circleci-token", "CCIPAT_", 'w', 30 },	{ "posthog-key", "phx_", 'a', 30 },
	{ "sentry-token", "sntrys_", '/', 40 },		{ "sentry-token", "sntryu_", 'x', 40 },
	{ "doppler-token", "dp.pt.", 'a', 30 },		{ "doppler-token", "dp.st.", '.', 30 },
	{ "twilio-key", "SK", 'x', 32 },		{ "fly-token", "FlyV1 ", '/', 30 },
	{ "fly-token", "fo1_", 'w', 30 },		{ "vercel-token", "vcp_", 'a', 20 },
	{ "cloudflare-token", "cfut_", 'w', 30 },	{ "pulumi-token", "pul-", 'x', 40 },
	{ "artifactory-key", "AKCp", 'a', 60 },		{ "cohere-key", "co_", 'a', 40 },
	{ "openai-key", "sess-", 'a', 40 },		{ "agate-token", "agt_", 'w', 20 },
};

static bool match_shape(const struct scan *sc, struct hit *hit)
{
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		const struct shape *sh = &shapes[i];
		size_t n, head = strlen(sh->prefix);

		if (sc->s[sc->at] != sh->prefix[0] || !begins(sc, sc->at, sh->prefix))
			continue;
		n = run_of(sc, sc->at + head, sh->set);
		if (n < sh->min)
			continue;
		/* A full stop behind it is the sentence's. */
		while (n > sh->min && sc->s[sc->at + head + n - 1] == '.')
			n--;
		*hit = (struct hit){ sh->kind, sc->at, sc->at + head + n };
		return true;
	}
	return false;
}

/* eyJ....eyJ....signature; an unsigned one ends in a dot */
static bool match_jwt(const struct scan *sc, struct hit *hit)
{
	size_t end = sc->at, parts = 0;

	if (!begins(sc, sc->at, "eyJ"))
		return false;
	for (;;) {
		size_t n = run_of(sc, end, 'w');

		if (!n || (!parts && n < 10))
			break;
		parts++;
		end += n;
		if (byte_at(sc, end) != '.' || parts == 5)
			break;
		end++;
	}
	if (parts < 2)
		return false;
	*hit = (struct hit){ "jwt", sc->at, end };
	return true;
}

/* From the BEGIN line to the END line, or to the end of the text. */
static bool match_pem(const struct scan *sc, struct hit *hit)
{
	const char *from = sc->s + sc->at, *dashes, *end;
	size_t left = sc->len - sc->at;

	if (!begins(sc, sc->at, "-----BEGIN "))
		return false;
	dashes = memmem(from + 11, left - 11, "-----", 5);
	if (!dashes || !memmem(from, (size_t)(dashes - from), "PRIVATE KEY", 11))
		return false;
	end = memmem(dashes + 5, left - (size_t)(dashes + 5 - from), "-----END ", 9);
	end = end ? memmem(end + 9, left - (size_t)(end + 9 - from), "-----", 5) : NULL;
	*hit = (struct hit){ "private-key", sc->at, end ? sc->at + (size_t)(end + 5 - from) : sc->len };
	return true;
}

/* digits:35 letters, as Telegram's bots have it */
static bool match_telegram(const struct scan *sc, struct hit *hit)
{
	size_t digits = 0, n;

	while (isdigit(byte_at(sc, sc->at + digits)))
		digits++;
	if (digits < 8 || digits > 10 || byte_at(sc, sc->at + digits) != ':')
		return false;
	n = run_of(sc, sc->at + digits + 1, 'w');
	if (n != 35)
		return false;
	*hit = (struct hit){ "telegram-token", sc->at, sc->at + digits + 1 + n };
	return true;
}

/* --- values that follow a name --- */

/* What the shell or a template fills in is not the secret itself; nor is a mask. */
static bool is_reference(const struct scan *sc, size_t i)
{
	int c = byte_at(sc, i);

	return !c || c == '$' || c == '`' || c == '<' || c == '{' || c == '%' || begins(sc, i, "[masked ") ||
	       begins(sc, i, "***");
}

/* The end of a value: a quote that opened it closes it, else a blank or a sign of the shell's. */
static size_t value_end(const struct scan *sc, size_t i, int quote)
{
	for (; i < sc->len; i++) {
		int c = byte_at(sc, i);

		if (quote ? c == quote : isspace(c) || strchr("'\"`;&|<>(),", c) != NULL)
			break;
		if (c == '\\' && i + 1 < sc->len)
			i++;
	}
	return i < sc->len ? i : sc->len;
}

static const char *const secret_parts[] = {
	"password", "passwd", "passphrase", "pwd", "pass", "secret", "token", "apikey", "credential",
	"credentials",
	"authorization", "accesskey", "privatekey", "authtoken", "accesstoken", "refreshtoken",
	"clientsecret", "secretkey",
	"sessiontoken", "bearer", "pat", NULL
};

static const char *const key_owners[] = {
	"api", "access", "private", "auth", "signing", "encryption", "master", "session", "secret",
	"account", "service", "admin", "ssh", "deploy", "license", NULL,
};

static bool is_part(const char *const *list, const char *part, size_t len)
{
	for (; *list; list++)
		if (strlen(*list) == len && !strncasecmp(*list, part, len))
			return true;
	return false;
}

static bool is_inner(char c)
{
	return c != '_' && c != '-' && c != '.';
}

/* What names end in that speak of something about a secret. */
static const char *const about_parts[] = {
	"file", "path", "dir", "url", "uri", "name", "id", "type", "count", "stdin", "env", "ttl",
	"expiry", "length", "size", "endpoint", "helper", "command", "cmd", "manager", "store",
	"policy", "limit", "version", "field", "column", "regex", "pattern", "format", NULL,
};

/* Does a name such as DB_PASSWORD, x-api-key or clientSecret speak of a secret? */
static bool is_secret_name(const char *name, size_t len)
{
	const char *before = NULL;
	size_t before_len = 0, i = 0, last = len;

	if (is_part(secret_parts, name, len))
		return true;
	while (last && is_inner(name[last - 1]))
		last--;
	if (last && is_part(about_parts, name + last, len - last))
		return false;
	while (i < len) {
		size_t n = 0;

		while (i + n < len && is_inner(name[i + n]) &&
		       !(n && isupper((unsigned char)name[i + n]) && islower((unsigned char)name[i + n - 1])))
			n++;
		if (n && is_part(secret_parts, name + i, n))
			return true;
		if (n == 3 && before && !strncasecmp(name + i, "key", 3) &&
		    is_part(key_owners, before, before_len))
			return true;
		if (n) {
			before = name + i;
			before_len = n;
		}
		i += n;
		i += i < len && !is_inner(name[i]);
		if (!n && i >= len)
			break;
	}
	return false;
}

/* Over "Bearer ", "Basic " and "token " in a header's value. */
static size_t skip_scheme(const struct scan *sc, size_t i)
{
	static const char *const schemes[] = {
		"bearer ", "basic ", "token ", "apikey ", "digest ", "negotiate ", NULL,
	};

	for (const char *const *w = schemes; *w; w++)
		if (begins_fold(sc, i, *w))
			return i + strlen(*w) + strspn(sc->s + i + strlen(*w), " ");
	return i;
}

/*
 * name=value, name: value, "name": "value", --name value, --name=value. The scan
 * stands at the name's first letter.
 */
static bool match_named(const struct scan *sc, struct hit *hit)
{
	size_t n = run_of(sc, sc->at, '.'), i = sc->at + n, end;
	bool is_option = sc->at >= 2 && sc->s[sc->at - 1] == '-' && sc->s[sc->at - 2] == '-';
	int quote = 0;

	if (!n || n > 64 || !is_secret_name(sc->s + sc->at, n))
		return false;
	if (byte_at(sc, i) == '"' || byte_at(sc, i) == '\'')	/* "name": in JSON */
		i++;
	if (byte_at(sc, i) == '=') {
		i++;
	} else if (byte_at(sc, i) == ':') {
		for (i++; byte_at(sc, i) == ' '; i++)
			;
	} else if (is_option && byte_at(sc, i) == ' ') {
		i++;
		if (byte_at(sc, i) == '-')
			return false;
	} else {
		return false;
	}
	if (byte_at(sc, i) == '"' || byte_at(sc, i) == '\'')
		quote = byte_at(sc, i++);
	i = skip_scheme(sc, i);
	end = value_end(sc, i, quote);
	/* Shorter ones are counts and flags: tokens=5, --token x */
	if (end < i + 4 || is_reference(sc, i))
		return false;
	*hit = (struct hit){ "value", i, end };
	return true;
}

/* scheme://user:password@host, and scheme://token@host when it is long. */
static bool match_url(const struct scan *sc, struct hit *hit)
{
	size_t from = sc->at + 3, i, colon = 0;

	if (!begins(sc, sc->at, "://") || !sc->at || !isalnum(byte_at(sc, sc->at - 1)))
		return false;
	for (i = from; i < sc->len && !isspace(byte_at(sc, i)) && !strchr("/?#'\"`<>", byte_at(sc, i)); i++) {
		if (byte_at(sc, i) == ':' && !colon)
			colon = i;
		if (byte_at(sc, i) == '@')
			break;
	}
	if (byte_at(sc, i) != '@')
		return false;
	from = colon ? colon + 1 : from;
	if (is_reference(sc, from) || (!colon && i - from < 16) || i == from)
		return false;
	*hit = (struct hit){ "url-password", from, i };
	return true;
}

/* -u user:password, as curl has it; -u 1000:1000 is a user and a group. */
static bool match_user_option(const struct scan *sc, struct hit *hit)
{
	size_t i = sc->at, end, colon;
	int quote = 0;

	if (!(begins(sc, i, "-u ") || begins(sc, i, "-U ")) || (i && !isspace(byte_at(sc, i - 1))))
		return false;
	for (i += 3; byte_at(sc, i) == ' '; i++)
		;
	if (byte_at(sc, i) == '"' || byte_at(sc, i) == '\'')
		quote = byte_at(sc, i++);
	end = value_end(sc, i, quote);
	for (colon = i; colon < end && sc->s[colon] != ':'; colon++)
		;
	if (colon + 1 >= end || memchr(sc->s + i, '/', colon - i) || is_reference(sc, colon + 1))
		return false;
	for (i = colon + 1; i < end && isdigit(byte_at(sc, i)); i++)
		;
	if (i == end)
		return false;
	*hit = (struct hit){ "password", colon + 1, end };
	return true;
}

/* Programs whose short option is a password. */
static const struct {
	const char *program, *option;
} password_options[] = {
	{ "mysql", "-p" }, { "mysqldump", "-p" }, { "mysqladmin", "-p" }, { "mariadb", "-p" }, { "sshpass",
	"-p" }, { "redis-cli", "-a" },
	{ "mongo", "-p" }, { "mongosh", "-p" }, { "ldapsearch", "-w" }, { "docker login", "-p" },
	{ "podman login", "-p" }, { "twine upload", "-p" },
	{ "unzip", "-P" }, { "zip", "-P" }, { "7z", "-p" },
};

/* Keep count of which of those programs the command at hand has named so far. */
static void see_programs(struct scan *sc)
{
	if (strchr(";|&\n", sc->s[sc->at])) {
		sc->programs = 0;
		return;
	}
	if (sc->at && !strchr(" /\t(\"';|&\n", sc->s[sc->at - 1]))
		return;
	for (size_t k = 0; k < ARRAY_LEN(password_options); k++) {
		size_t n = strlen(password_options[k].program);

		if (begins(sc, sc->at, password_options[k].program) && byte_at(sc, sc->at + n) == ' ')
			sc->programs |= 1u << k;
	}
}

static bool match_password_option(const struct scan *sc, struct hit *hit)
{
	if (sc->s[sc->at] != '-' || !sc->at || !isspace(byte_at(sc, sc->at - 1)))
		return false;
	for (size_t k = 0; k < ARRAY_LEN(password_options); k++) {
		size_t i = sc->at + 2, end;
		int quote = 0;

		if (!(sc->programs & 1u << k) || !begins(sc, sc->at, password_options[k].option))
			continue;
		/* mysql takes it glued only; the others may have it apart. */
		if (byte_at(sc, i) == ' ' && strncmp(password_options[k].program, "my", 2) &&
		    strcmp(password_options[k].program, "mariadb"))
			i++;
		if (byte_at(sc, i) == '"' || byte_at(sc, i) == '\'')
			quote = byte_at(sc, i++);
		end = value_end(sc, i, quote);
		if (end > i && sc->s[i] != '-' && !is_reference(sc, i)) {
			*hit = (struct hit){ "password", i, end };
			return true;
		}
	}
	return false;
}

/* --- long and without a pattern --- */

static bool is_mixed(const char *s, size_t len)
{
	size_t upper = 0, lower = 0, digits = 0;

	for (size_t i = 0; i < len; i++) {
		upper += isupper((unsigned char)s[i]) != 0;
		lower += islower((unsigned char)s[i]) != 0;
		digits += isdigit((unsigned char)s[i]) != 0;
	}
	return upper >= 4 && lower >= 4 && digits >= 4;
}

static bool match_long(const struct scan *sc, struct hit *hit)
{
	size_t n = run_of(sc, sc->at, 'w'), wide = run_of(sc, sc->at, '/');

	if (n >= 60 && is_mixed(sc->s + sc->at, n)) {
		*hit = (struct hit){ "long-token", sc->at, sc->at + n };
		return true;
	}
	/* base64 has slashes, but not every few letters as paths do */
	if (wide >= 100 && is_mixed(sc->s + sc->at, wide)) {
		*hit = (struct hit){ "long-token", sc->at, sc->at + wide };
		return true;
	}
	return false;
}

/* --- the pass --- */

/* Tried where a name or token begins, in this order. */
static bool (*const at_word[])(const struct scan *, struct hit *) = {
	match_shape, match_jwt, match_telegram, match_named, match_long,
};

/* Tried everywhere. */
static bool (*const anywhere[])(const struct scan *, struct hit *) = {
	match_pem, match_url, match_user_option, match_password_option,
};

static bool find_hit(const struct scan *sc, struct hit *hit)
{
	bool begins_word = is_word(byte_at(sc, sc->at)) && (!sc->at || !is_word(byte_at(sc, sc->at - 1)));
	/* An option's name begins behind its dashes. */
	bool behind_dash = sc->at && sc->s[sc->at - 1] == '-' && isalpha(byte_at(sc, sc->at));

	for (size_t i = 0; i < ARRAY_LEN(anywhere); i++)
		if (anywhere[i](sc, hit))
			return true;
	if (sc->s[sc->at] == '-' && begins_word && byte_at(sc, sc->at + 1) == '-')
		return false;
	for (size_t i = 0; (begins_word || behind_dash) && i < ARRAY_LEN(at_word); i++)
		if (at_word[i](sc, hit))
			return true;
	return false;
}

static int add_mask(struct buf *b, const char *salt, const char *secret, const struct hit *hit)
{
	char digest[DIGEST_HEX_SIZE];
	size_t len = hit->end - hit->start;

	if (!salt)
		return buf_addf(b, "[masked %s %zu]", hit->kind, len);
	digest_hex2(salt, strlen(salt), secret, len, digest);
	return buf_addf(b, "[masked %s %zu %.8s]", hit->kind, len, digest);
}

int redact_text(const char *text, size_t len, const char *salt, struct buf *ret, size_t *ret_masked)
{
	struct scan sc = { .s = text, .len = len };
	size_t masked = 0;
	int failed = 0;

	while (sc.at < len && !failed) {
		struct hit hit;

		see_programs(&sc);
		if (begins(&sc, sc.at, "[masked ")) {
			/* Of an earlier pass. */
			const char *end = memchr(text + sc.at, ']', len - sc.at);
			size_t n = end ? (size_t)(end - (text + sc.at)) + 1 : len - sc.at;

			failed = buf_add(ret, text + sc.at, n);
			sc.at += n;
		} else if (find_hit(&sc, &hit)) {
			failed = buf_add(ret, text + sc.at, hit.start - sc.at) ||
				 add_mask(ret, salt, text + hit.start, &hit);
			sc.at = hit.end;
			masked++;
		} else {
			failed = buf_addc(ret, text[sc.at++]);
		}
	}
	if (ret_masked)
		*ret_masked = masked;
	return failed ? -1 : 0;
}

char *redact_line(const char *text, size_t *ret_masked)
{
	struct buf b = { 0 };

	if (buf_adds(&b, "") < 0 || redact_text(text, strlen(text), NULL, &b, ret_masked) < 0) {
		buf_done(&b);
		return NULL;
	}
	return buf_steal(&b);
}
