#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/own.h"
#include "dispatch/asked.h"
#include "dispatch/cli.h"

#define MAX_REQUEST (1024 * 1024)

const struct opt asked_rows[] = {
	OPT_ROW(struct asked, "request", OPT_TEXT, request, "FILE", "read the request from this JSON file, - for "
		"standard input", .argv_only = 1),
	{ 0 },
};

static const char *const backends[] = { "native", "seatbelt", NULL };

const struct opt asked_plan_rows[] = {
	OPT_ROW(struct asked, "backend", OPT_WORD, backend, NULL, "whose form to print: the SandboxSpec, or the "
		"profile macOS would be given", .words = backends, .argv_only = 1),
	{ 0 },
};

/* The second reading takes what either command does; each has had its own table before. */
static const struct opts rows = { { request_rows, asked_rows, asked_plan_rows } };

void asked_init(struct asked *asked)
{
	request_init(&asked->req);
}

static int read_file(const char *path, struct json **ret, struct err *err)
{
	OWN(buf) struct buf text = { 0 };
	int r = !strcmp(path, "-") ? io_read_fd(STDIN_FILENO, MAX_REQUEST, &text, err) :
		io_read_file(AT_FDCWD, path, MAX_REQUEST, &text, err);

	if (r < 0 || json_parse(text.data ? text.data : "", text.len, NULL, ret, err) < 0)
		return err_wrap(err, "cannot read request '%s'", path);
	return 0;
}

/* The command line once more, over what the file said, if there is one. */
static int over_file(const char *path, char *const words[], struct asked *asked, struct err *err)
{
	OWN(json) struct json *j = NULL;
	OWN(strv) struct strv operands = { 0 };
	int help;

	if (path && (read_file(path, &j, err) < 0 || request_from_json(j, &asked->req, err) < 0))
		return -1;
	return opts_parse(&rows, words, OPTS_STOP, asked, &operands, &help, err);
}

int asked_read(const struct cli_args *args, struct run_request *ret, struct err *err)
{
	const char *path = ((const struct asked *)args->values)->request;
	OWN(request) struct run_request req;
	struct asked asked = { 0 };
	const char *env = getenv("AGATE_SANDBOX");
	int r;

	asked_init(&asked);
	r = over_file(path, args->words, &asked, err);
	free(asked.request);
	req = asked.req;
	if (r < 0)
		return -1;
	if (args->n && req.command.n)
		return err_set(err, ERR_USAGE, 0, "the command is given twice: in '%s' and behind the options", path);
	if (strv_copyv(&req.command, (const char *const *)args->operand) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (request_settle(&req, env && *env ? env : getenv("CC_SERVER_SANDBOX"), err) < 0)
		return -1;
	*ret = req;
	req = (struct run_request){ 0 };
	return 0;
}
