/*
 * A path from outside and a pattern: the first line is the pattern, the rest the
 * path. What is sent on reads as the same path again, has no dot segments, and a
 * rule for everything takes it; the matcher ends on anything.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/strv.h"
#include "sandbox/egress/route.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void try_rule(const char *pattern, const char *path)
{
	static const struct span get = { "GET", 3 };
	struct route_set set = { 0 };
	OWN(strv) struct strv allow = { 0 };
	OWN(strv) struct strv none = { 0 };
	struct egress_verdict v;
	struct host h;
	const char *why;

	if (strv_add(&allow, pattern) < 0 || host_parse("a.test", 6, &h, &why) < 0)
		abort();
	if (route_add(&set, "a.test", &allow, &none, "fuzz", NULL) == 0) {
		route_judge(&set, &h, 443, get, path, &v);
		if (!v.allowed && !v.reason[0])
			abort();
	}
	route_done(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	OWN(buf) struct buf sent = { 0 };
	OWN(buf) struct buf judged = { 0 };
	OWN(buf) struct buf sent2 = { 0 };
	OWN(buf) struct buf judged2 = { 0 };
	OWN(mem) char *text = strndup((const char *)data, len < 4096 ? len : 4096);
	char *path = text ? strchr(text, '\n') : NULL;
	const char *why;

	if (!path)
		return 0;
	*path++ = '\0';
	route_match(text, path);
	if (route_path((struct span){ path, strlen(path) }, &sent, &judged, &why) < 0)
		return 0;
	if (route_path((struct span){ sent.data, sent.len }, &sent2, &judged2, &why) < 0 ||
	    strcmp(sent.data, sent2.data) || strcmp(judged.data, judged2.data) || judged.data[0] != '/' ||
	    !route_match("/**", judged.data))
		abort();
	for (const char *s = judged.data; (s = strstr(s, "/..")); s += 3)
		if (!s[3] || s[3] == '/')
			abort();
	try_rule(text, judged.data);
	return 0;
}
