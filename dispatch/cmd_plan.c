#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "dispatch/asked.h"
#include "dispatch/cli.h"
#include "dispatch/exit.h"
#include "dispatch/run_internal.h"
#include "sandbox/seatbelt.h"
#include "sandbox/spec.h"

static int print_json(const struct sandbox_spec *spec, const char *digest, struct buf *b)
{
	OWN(json) struct json *j = json_new_object();
	OWN(json) struct json *s = spec_to_json(spec);
	OWN(mem) char *text = NULL;

	if (j && s && json_add_str(j, "digest", digest) && json_add_copy(j, "spec", s))
		text = json_print_canonical(j);
	return text ? buf_addf(b, "%s\n", text) : -1;
}

/* Two lines: the canonical text as it is hashed, then the hash. */
static int print_plan(const struct sandbox_spec *spec, int as_json, struct err *err)
{
	char digest[DIGEST_HEX_SIZE];
	OWN(mem) char *text = spec_canonical(spec, digest);
	OWN(buf) struct buf b = { 0 };

	if (!text || (as_json ? print_json(spec, digest, &b) : buf_addf(&b, "%s\n%s\n", text, digest)) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return cli_print(&b, err) < 0 ? -1 : EXIT_OK;
}

static int print_profile_json(const char *profile, const char *digest, struct buf *b)
{
	OWN(json) struct json *j = json_new_object();
	OWN(mem) char *text = NULL;

	if (j && json_add_str(j, "backend", "seatbelt") && json_add_str(j, "digest", digest) &&
	    json_add_str(j, "profile", profile))
		text = json_print_canonical(j);
	return text ? buf_addf(b, "%s\n", text) : -1;
}

/* The file systems of macOS fold case unless somebody chose otherwise. */
static int print_seatbelt(const struct sandbox_spec *spec, int as_json, struct err *err)
{
	char digest[DIGEST_HEX_SIZE];
	OWN(mem) char *text = spec_canonical(spec, digest);
	OWN(buf) struct buf profile = { 0 };
	OWN(buf) struct buf json = { 0 };

	if (!text)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (seatbelt_profile(spec, 1, &profile, err) < 0)
		return -1;
	if (as_json && print_profile_json(profile.data, digest, &json) < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return cli_print(as_json ? &json : &profile, err) < 0 ? -1 : EXIT_OK;
}

/* As a run would be here; where none can be held, and for another system, as it would be elsewhere. */
static int choose_layout(struct run *run, int backend, struct err *err)
{
	struct err unused = { 0 };

	if (backend == PLAN_SEATBELT || runner_choose("require", &run->runner, &run->runner_note, &unused) < 0)
		run->runner = &runner_native;
	run->guest_home = run->runner->is_bare ? place_run_dir(&run->desk.place, "plan/home") :
						 strdup(run->desk.place.home);
	return run->guest_home ? 0 : err_set(err, ERR_NOMEM, 0, "out of memory");
}

static int make_plan(struct run *run, int backend, struct err *err)
{
	OWN(spec) struct sandbox_spec spec = { 0 };

	if (choose_layout(run, backend, err) < 0 || run_find_host(run, err) < 0 || run_make_seam(run, err) < 0 ||
	    run_plan_rules(run, err) < 0 || run_preview(run, &spec, err) < 0)
		return -1;
	return (backend == PLAN_SEATBELT ? print_seatbelt : print_plan)(&spec, run->req->json, err);
}

static int plan(const struct cli_args *args, struct err *err)
{
	OWN(request) struct run_request req = { 0 };
	struct run run = { .req = &req };
	int status;

	if (asked_read(args, &req, err) < 0 || desk_open(&run.desk, err) < 0)
		return -1;
	status = make_plan(&run, ((const struct asked *)args->values)->backend, err);
	run_forget_host(&run);
	free(run.guest_home);
	undo_gates(&run);
	desk_done(&run.desk);
	return status;
}

static void init(void *values)
{
	asked_init(values);
}

const struct command cmd_plan = {
	.name = "plan", .operands = "[--] COMMAND [ARGUMENT...]",
	.summary = "print the SandboxSpec a run would have, and its digest; start nothing",
	.more = "The options are those of agate run. The run in it is called \"plan\" and its workspace is not\n"
		"made, so repositories that only a copy would show are not in it. First line: the canonical\n"
		"JSON; second line: its SHA-256. With --json both are in one object. --backend seatbelt\n"
		"prints a profile for macOS's sandbox-exec instead, made from the same spec; it cannot be run\n"
		"here.\n",
	.opts = { { request_rows, asked_rows, asked_plan_rows } }, .size = sizeof(struct asked), .init = init,
	.flags = CMD_STOP, .max = (size_t)-1, .fn = plan,
};
