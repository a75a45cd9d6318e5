/*
 * Secrets in commands are masked, and nothing else is. The tokens here are made
 * up from letters in order; they open nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <time.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/strv.h"
#include "gates/redact.h"

/* Expands %N{set} to N bytes of a set: no token stands here whole for a scanner to find. */
static void expand(const char *from, struct buf *to)
{
	static const char letters[] = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzAcDgH";
	static const char hex[] = "0123456789abcdef", capitals[] = "ABCDEFGHIJKLMNOP2345";

	for (; *from; from++) {
		char *end;
		long n;
		const char *set;

		if (from[0] != '%' || from[1] < '0' || from[1] > '9') {
			buf_addc(to, *from);
			continue;
		}
		n = strtol(from + 1, &end, 10);
		set = *end == 'x' ? hex : *end == 'A' ? capitals : letters;
		for (long i = 0; i < n; i++)
			buf_addc(to, set[(size_t)i % strlen(set)]);
		from = end;
	}
}

static void check(const char *text, const char *want, size_t masks)
{
	OWN(buf) struct buf in = { 0 }, out = { 0 }, again = { 0 };
	size_t n = 99;

	buf_adds(&in, "");
	expand(text, &in);
	assert_int_equal(redact_text(in.data ? in.data : "", in.len, NULL, &out, &n), 0);
	if (strcmp(out.data ? out.data : "", want) || n != masks)
		fail_msg("'%s'\n became '%s' (%zu masks)\n not     '%s'", in.data, out.data, n, want);
	/* Twice is as good as once. */
	assert_int_equal(redact_text(out.data ? out.data : "", out.len, NULL, &again, &n), 0);
	assert_string_equal(again.data ? again.data : "", want);
	assert_int_equal(n, 0);
}

/* %Nl letters, %Nx hexadecimal, %NA capitals and digits */
static const struct { const char *kind, *token; } shapes[] = {
	{ "anthropic-key", "sk-ant-api03-%90l" },
	{ "openai-key", "sk-proj-%48l" },
	{ "openai-key", "sk-svcacct-%48l" },
	{ "api-key", "sk-%48l" },
	{ "github-token", "ghp_%36l" },
	{ "github-token", "gho_%36l" },
	{ "github-token", "ghs_%36l" },
	{ "github-token", "ghu_%36l" },
	{ "github-token", "ghr_%76l" },
	{ "github-token", "ghs_%6x.%300l.%210l" },
	{ "github-token", "github_pat_%82l" },
	{ "gitlab-token", "glpat-%20l" },
	{ "aws-key-id", "AKIA%16A" },
	{ "aws-key-id", "ASIA%16A" },
	{ "slack-token", "xoxb-%12x-%12x-%24l" },
	{ "google-key", "AIza%35l" },
	{ "google-token", "ya29.%60l" },
	{ "npm-token", "npm_%36l" },
	{ "pypi-token", "pypi-AgE%60l" },
	{ "docker-token", "dckr_pat_%27l" },
	{ "huggingface-token", "hf_%34l" },
	{ "stripe-key", "sk_live_%24l" },
	{ "sendgrid-key", "SG.%22l.%43l" },
	{ "digitalocean-token", "dop_v1_%64x" },
	{ "vault-token", "hvs.%24l" },
	{ "databricks-token", "dapi%32x" },
	{ "linear-key", "lin_api_%40l" },
	{ "jwt", "eyJ%33l.eyJ%50l.%43l" },
	{ "groq-key", "gsk_%52l" },
	{ "telegram-token", "123456789:%35l" },
	{ "long-token", "%64l" },
	{ "age-key", "AGE-SECRET-KEY-1%58A" },
};

static void keys_are_known_by_their_shape(void **state)
{
	static const char *const frames[] = {
		"curl https://x/?a=%s", "echo %s", "X=1 run '%s'", "(%s)", "a\n%s\nb", "%s",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		OWN(buf) struct buf token = { 0 };

		expand(shapes[i].token, &token);
		for (size_t f = 0; f < ARRAY_LEN(frames); f++) {
			const char *hole = strstr(frames[f], "%s");
			OWN(buf) struct buf in = { 0 }, want = { 0 };

			buf_addf(&in, "%.*s%s%s", (int)(hole - frames[f]), frames[f], token.data, hole + 2);
			buf_addf(&want, "%.*s[masked %s %zu]%s", (int)(hole - frames[f]), frames[f],
				 shapes[i].kind, token.len, hole + 2);
			check(in.data, want.data, 1);
		}
	}
}

static void private_keys_are_masked_whole(void **state)
{
	(void)state;
	check("cat > k <<E\n-----BEGIN RSA PRIVATE KEY-----\nabc\ndef\n-----END RSA PRIVATE KEY-----\nE",
	      "cat > k <<E\n[masked private-key 69]\nE", 1);
	check("x -----BEGIN OPENSSH PRIVATE KEY-----\nabc", "x [masked private-key 39]", 1);
	check("-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
	      "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----", 0);
}

static void values_of_secret_names_are_masked(void **state)
{
	static const struct { const char *in, *want; } cases[] = {
		{ "DB_PASSWORD=hunter22 ./run", "DB_PASSWORD=[masked value 8] ./run" },
		{ "export API_KEY='abcd efgh'", "export API_KEY='[masked value 9]'" },
		{ "x --password hunter22 y", "x --password [masked value 8] y" },
		{ "x --token=abcdef12", "x --token=[masked value 8]" },
		{ "x --api-key \"abcdef12\"", "x --api-key \"[masked value 8]\"" },
		{ "curl -H 'Authorization: Bearer abcdef123456' u",
		"curl -H 'Authorization: Bearer [masked value 12]' u" },
		{ "curl -H \"X-Api-Key: abcdef\" u", "curl -H \"X-Api-Key: [masked value 6]\" u" },
		{ "curl -d '{\"client_secret\":\"abcdef\",\"a\":1}' u",
		"curl -d '{\"client_secret\":\"[masked value 6]\",\"a\":1}' u" },
		{ "curl -d 'password=abcdef&x=1' u", "curl -d 'password=[masked value 6]&x=1' u" },
		{ "aws_secret_access_key = abcdefgh", "aws_secret_access_key = abcdefgh" },
		{ "accessToken: abcdefgh", "accessToken: [masked value 8]" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(cases[i].in, cases[i].want, strcmp(cases[i].in, cases[i].want) != 0);
}

static void passwords_in_urls_and_options_are_masked(void **state)
{
	static const struct { const char *in, *want; } cases[] = {
		{ "git clone https://bob:s3cret@x.com/r",
		"git clone https://bob:[masked url-password 6]@x.com/r" },
		{ "psql postgres://u:p!ss22@h:5432/db",
		"psql postgres://u:[masked url-password 6]@h:5432/db" },
		{ "git clone https://abcdefghijklmnopqrst@x.com/r",
		"git clone https://[masked url-password 20]@x.com/r" },
		{ "git clone ssh://git@github.com/x", "git clone ssh://git@github.com/x" },
		{ "curl -u bob:s3cret https://x", "curl -u bob:[masked password 6] https://x" },
		{ "docker run -u 1000:1000 x", "docker run -u 1000:1000 x" },
		{ "mysql -uroot -phunter2 db", "mysql -uroot -p[masked password 7] db" },
		{ "sshpass -p hunter2 ssh h", "sshpass -p [masked password 7] ssh h" },
		{ "redis-cli -a hunter2", "redis-cli -a [masked password 7]" },
		{ "mkdir -p hunter2", "mkdir -p hunter2" },
		{ "true; mkdir -p a; mysql db", "true; mkdir -p a; mysql db" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(cases[i].in, cases[i].want, strcmp(cases[i].in, cases[i].want) != 0);
}

static void ordinary_lines_stay_as_they_are(void **state)
{
	static const char *const lines[] = {
		"",
		"ls -la",
		"git log --author=bob --format='%h %s'",
		"curl -H \"Authorization: Bearer $TOKEN\" https://x",
		"export GITHUB_TOKEN=$(gh auth token)",
		"PASSWORD=\"${PASSWORD:-x}\" run",
		"x --token-file /run/secrets/x",
		"x --max-tokens 4096",
		"x --password-stdin",
		"grep -rn password src",
		"echo token",
		"git checkout 0123456789abcdef0123456789abcdef01234567",
		"sha256sum -c <<< '%64x  a'",
		"docker run -v /a/b/c:/d -p 8080:80 img",
		"cat src/components/authentication/providers/GitHubOAuth2TokenProviderImplementation.test.tsx",
		"https://example.com/a?b=c",
		"user@example.com:path/x",
		"kubectl get secret my-secret -o yaml",
		"vault kv get secret/data/x",
		"sk-learn is a library; task-force; disk-usage",
		"ghp_short npm_config x",
		"password= next",
		"key: value, monkey=banana",
		"--pass",
		"[masked value 8]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		OWN(buf) struct buf want = { 0 };

		buf_adds(&want, "");
		expand(lines[i], &want);
		check(lines[i], want.data ? want.data : "", 0);
	}
}

static void a_salt_gives_the_same_secret_the_same_digits(void **state)
{
	OWN(buf) struct buf a = { 0 }, b = { 0 }, c = { 0 };
	static const char line[] = "--password hunter22; --password hunter22";

	(void)state;
	redact_text(line, strlen(line), "salt", &a, NULL);
	redact_text(line, strlen(line), "other", &b, NULL);
	redact_text(line, 20, "salt", &c, NULL);
	assert_string_not_equal(a.data, b.data);
	assert_memory_equal(a.data, c.data, c.len);
	assert_non_null(strstr(a.data, "[masked value 8 "));
	assert_null(strstr(a.data, "hunter22"));
}

static void words_are_masked_by_what_stands_before_them(void **state)
{
	static const struct {
		const char *words[6], *want;
	} cases[] = {
		{ { "x", "--password", "hunter22", "y z" }, "x|--password|[masked value 8]|y z" },
		{ { "x", "--password", "two words", "y" }, "x|--password|[masked value 9]|y" },
		{ { "sshpass", "-p", "hunter22", "ssh", "h" }, "sshpass|-p|[masked password 8]|ssh|h" },
		{ { "mysql", "-phunter22", "-u", "root" }, "mysql|-p[masked password 8]|-u|root" },
		{ { "x", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "z" }, "x|[masked github-token 40]|z" },
		{ { "-H", "Authorization: Bearer hunter2-x", "u" }, "-H|Authorization: Bearer [masked value 9]|u" },
		{ { "grep", "-rn", "password", "src dir/x.c" }, "grep|-rn|password|src dir/x.c" },
		{ { "a", "", "b\nc" }, "a||b\nc" },
		{ { "" }, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		OWN(strv) struct strv ret = { 0 };
		OWN(buf) struct buf joined = { 0 };

		assert_int_equal(redact_words(cases[i].words, NULL, &ret, NULL), 0);
		buf_adds(&joined, "");
		for (size_t k = 0; k < ret.n; k++)
			buf_addf(&joined, "%s%s", k ? "|" : "", ret.v[k]);
		assert_string_equal(joined.data, cases[i].want);
	}
}

static void long_text_takes_little_time(void **state)
{
	static const char *const bits[] = {
		"a", "-", "--password ", "://", "eyJ", "-----BEGIN ", "[masked ", "mysql -p", "=", "'",
	};
	clock_t start = clock();	/* of the processor: machines are busy */

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bits); i++) {
		OWN(buf) struct buf in = { 0 }, out = { 0 };

		while (in.len < 64 * 1024)
			buf_adds(&in, bits[i]);
		assert_int_equal(redact_text(in.data, in.len, NULL, &out, NULL), 0);
	}
	assert_true(clock() - start < 5 * CLOCKS_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_known_by_their_shape),
		cmocka_unit_test(private_keys_are_masked_whole),
		cmocka_unit_test(values_of_secret_names_are_masked),
		cmocka_unit_test(passwords_in_urls_and_options_are_masked),
		cmocka_unit_test(ordinary_lines_stay_as_they_are),
		cmocka_unit_test(a_salt_gives_the_same_secret_the_same_digits),
		cmocka_unit_test(words_are_masked_by_what_stands_before_them),
		cmocka_unit_test(long_text_takes_little_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
