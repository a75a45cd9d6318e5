#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/request.h"
#include "dispatch/seam.h"

static int bash_check(const struct run_request *req, struct err *err)
{
	(void)req;
	(void)err;
	return 0;
}

static int bash_make(const struct run_request *req, const struct seam_facts *facts, struct seam *ret,
		     struct err *err)
{
	(void)facts;
	if (strv_copy(&ret->argv, &req->command) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return 0;
}

static const struct {
	int (*check)(const struct run_request *req, struct err *err);
	int (*make)(const struct run_request *req, const struct seam_facts *facts, struct seam *ret,
		    struct err *err);
} kinds[AGENT_NUM] = {
	[AGENT_BASH] = { bash_check, bash_make },
	[AGENT_CLAUDE] = { claude_check, claude_make },
	/* AGENT_ACP: request_settle() refuses it. */
};

int seam_check(const struct run_request *req, struct err *err)
{
	assert(req->agent >= 0 && req->agent < AGENT_NUM && kinds[req->agent].check);
	return kinds[req->agent].check(req, err);
}

int seam_make(const struct run_request *req, const struct seam_facts *facts, struct seam *ret,
	      struct err *err)
{
	OWN(seam) struct seam s = { 0 };

	assert(req->agent >= 0 && req->agent < AGENT_NUM && kinds[req->agent].make);
	if (kinds[req->agent].make(req, facts, &s, err) < 0)
		return -1;
	*ret = s;
	s = (struct seam){ 0 };
	return 0;
}

void seam_done(struct seam *s)
{
	strv_done(&s->argv);
	strv_done(&s->env);
	strv_done(&s->roots);
	strv_done(&s->writes);
	channel_ask_done(&s->channel);
	free(s->managed);
	*s = (struct seam){ 0 };
}

char *program_root(const char *program)
{
	static const char part[] = "/node_modules/";
	const char *modules = strstr(program, part);

	if (modules)
		return strndup(program, (size_t)(modules - program) + sizeof(part) - 2);
	return path_parent(program);
}
