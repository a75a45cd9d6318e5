#include "base/own.h"
#include "sandbox/egress/h2_lib.h"
#include "sandbox/egress/late.h"

struct h2_lib h2_lib;

#define CALL(name) { #name, offsetof(struct h2_lib, name) },
static const struct late_call calls[] = { H2_CALLS(CALL) };

int h2_lib_load(struct err *err)
{
	if (h2_lib.nghttp2_session_server_new2)
		return 0;
	if (late_load("libnghttp2.so.14", calls, ARRAY_LEN(calls), &h2_lib, err) == 0)
		return 0;
	h2_lib = (struct h2_lib){ 0 };
	return -1;
}
