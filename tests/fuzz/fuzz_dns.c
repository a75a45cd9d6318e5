/* What outside bytes can do to the DNS stub: a query is read within its bytes, and its answer fits. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "sandbox/egress/dns.h"
#include "sandbox/egress/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* An answer is the question with its flags, counts and records; all of it must be there. */
static void check_answer(const struct dns_query *q, const struct dns_reply *r)
{
	uint8_t out[DNS_ANSWER_MAX];
	size_t n = dns_write(q, r, out);

	if (n < 12 + q->question_len || n > sizeof(out) || !(out[2] & 0x80) || out[5] != 1 || out[7] > 3 ||
	    memcmp(out + 12, q->question, q->question_len))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct dns_reply replies[] = {
		{ .ip = { { AF_INET, { 198, 18, 0, 1 } }, { AF_INET6, { 0xfd } } }, .n_ip = 2, .ttl_s = 5 },
		{ .rcode = DNS_REFUSED,
		  .why = "agate: blocked 'a name that is told in full length, however long that may be': no rule "
			 "allows it, which is a reason that goes on and on until there is no more room for it in "
			 "an answer, at which point it is cut; the client does not mind, as it is only text, and "
			 "whoever reads it has long understood that this name is not to be had from in here" },
		{ .rcode = DNS_BADVERS },
	};
	struct dns_query q;
	struct host h;
	struct ip ip;
	const char *why;

	if (dns_parse(data, len, &q) < 0)
		return 0;
	if (strlen(q.name) >= DNS_TEXT_SIZE || q.question_len < 5 || q.question_len > 259)
		abort();
	for (size_t i = 0; i < ARRAY_LEN(replies); i++)
		check_answer(&q, &replies[i]);
	/* A name that can be a host's is its own plain form. */
	if (host_parse(q.name, strlen(q.name), &h, &why) == 0 && !h.is_address && strcmp(h.text, q.name))
		abort();
	if (dns_reverse(q.name, &ip) == 0) {
		const struct dns_reply ptr = { .ptr = "a.name.that.was.given.example", .ttl_s = 5 };

		check_answer(&q, &ptr);
	}
	return 0;
}
