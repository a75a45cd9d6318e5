#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "dispatch/channel_internal.h"
#include "dispatch/hook_event.h"

#define LINE_DEPTH 200u
#define PENDING_MAX 1000u
#define GREETING_MS 90000	/* until "initialize" is answered; a loaded machine takes its time */
#define SETTLE_MS 3000		/* from the end of its last task to the turn that tells of it */
#define ENDING_MS 60000		/* from our end of file to its exit */
#define HOOK_SECONDS 86400	/* a question may wait for a person; unanswered it blocks */

#define GREETING_ID "agate-initialize"
#define CALLBACK_ID "agate"

/* A call that waits for its answer. */
struct pending {
	uint64_t id;
	char *request, *use;
	struct json *wrapped;	/* {"input": ...} of a permission request, which gets it back; NULL: a hook's */
};

enum phase { SILENT, GREETING, TALKING, CLOSING, BROKEN };

struct channel {
	struct channel_params p;
	enum phase phase;
	struct buf in, out;
	struct uses uses;
	struct pending *pending;
	size_t n_pending, cap_pending;
	uint64_t last_id;
	struct show show;
	char *cwd;		/* where the agent stands, as it said itself */
	int is_busy;		/* a turn goes on */
	size_t tasks;		/* that run in the background */
	int has_result, has_failed;
	int was_cut;		/* the line being read held what our reader cannot carry */
};

/* --- saying something --- */

static void break_off(struct channel *ch, const char *what, enum err_code code, const char *why)
{
	struct err err = { 0 };

	if (ch->phase == BROKEN)
		return;
	ch->phase = BROKEN;
	err_set(&err, code, 0, "%s", why);
	ch->p.ops->broken(ch->p.cookie, what, &err);
}

static void no_memory(struct channel *ch)
{
	break_off(ch, NULL, ERR_NOMEM, "out of memory");
}

/* Takes @j over. */
static void say(struct channel *ch, struct json *j)
{
	OWN(json) struct json *owned = j;
	OWN(mem) char *text = owned ? json_print(owned) : NULL;

	if (ch->phase == BROKEN || ch->phase == CLOSING)
		return;
	buf_clear(&ch->out);
	if (!text || buf_adds(&ch->out, text) < 0 || buf_addc(&ch->out, '\n') < 0)
		no_memory(ch);
	else
		ch->p.ops->to_agent(ch->p.cookie, ch->out.data, ch->out.len);
}

static struct json *new_message(const char *type, const char *inner, struct json **ret_inner)
{
	OWN(json) struct json *j = json_new_object();

	if (!json_add_str(j, "type", type))
		return NULL;
	*ret_inner = json_add_object(j, inner);
	return *ret_inner ? TAKE(j) : NULL;
}

static void greet(struct channel *ch)
{
	struct json *request, *hook;
	OWN(json) struct json *j = new_message("control_request", "request", &request);

	if (!j || !json_add_str(j, "request_id", GREETING_ID) || !json_add_str(request, "subtype", "initialize")) {
		no_memory(ch);
		return;
	}
	hook = json_add_object(json_add_array(json_add_object(request, "hooks"), "PreToolUse"), NULL);
	if (!json_add_str(hook, "matcher", "*") ||
	    !json_add_str(json_add_array(hook, "hookCallbackIds"), NULL, CALLBACK_ID) ||
	    !json_add_int(hook, "timeout", HOOK_SECONDS)) {
		no_memory(ch);
		return;
	}
	say(ch, TAKE(j));
}

static void send_prompt(struct channel *ch)
{
	struct json *message;
	OWN(json) struct json *j = new_message("user", "message", &message);

	if (!j || !json_add_str(message, "role", "user") || !json_add_str(message, "content", ch->p.prompt))
		no_memory(ch);
	else
		say(ch, TAKE(j));
}

/* A reply to the agent's request; the caller fills *ret_inner, if it asks for it. */
static struct json *new_reply(const char *request, const char *subtype, struct json **ret_inner)
{
	OWN(json) struct json *j = new_message("control_response", "response", ret_inner);

	if (!j || !json_add_str(*ret_inner, "subtype", subtype) || !json_add_str(*ret_inner, "request_id", request))
		return NULL;
	return TAKE(j);
}

/* --- answers --- */

static struct json *permission(const struct pending *q, enum decision d, const char *reason)
{
	OWN(json) struct json *j = json_new_object();
	int is_allowed = d == DECISION_ALLOW;

	if (!json_add_str(j, "behavior", is_allowed ? "allow" : "deny"))
		return NULL;
	if (is_allowed ? !json_add_copy(j, "updatedInput", json_get(q->wrapped, "input")) : !json_add_str(j, "message", reason))
		return NULL;
	return TAKE(j);
}

static void reply(struct channel *ch, const struct pending *q, enum decision d, const char *reason)
{
	OWN(json) struct json *answer = q->wrapped ? permission(q, d, reason) : hook_answer(d, reason);
	struct json *inner;
	OWN(json) struct json *j = new_reply(q->request, "success", &inner);

	if (!answer || !j || !json_add_copy(inner, "response", answer))
		no_memory(ch);
	else
		say(ch, TAKE(j));
}

static void pending_done(struct pending *q)
{
	free(q->request);
	free(q->use);
	json_free(q->wrapped);
}

static void drop(struct channel *ch, size_t i)
{
	pending_done(&ch->pending[i]);
	ch->pending[i] = ch->pending[--ch->n_pending];
}

void channel_answer(struct channel *ch, uint64_t id, enum decision d, const char *reason)
{
	enum use_state state = d == DECISION_ALLOW ? USE_ALLOWED : USE_DENIED;

	for (size_t i = 0; i < ch->n_pending; i++) {
		const struct pending *q = &ch->pending[i];

		if (q->id != id)
			continue;
		if (uses_set(&ch->uses, q->use, state) < 0)
			no_memory(ch);
		else
			reply(ch, q, state == USE_ALLOWED ? DECISION_ALLOW : DECISION_DENY,
			      reason && *reason ? reason : state == USE_ALLOWED ? "agate: allowed" : "agate: denied");
		drop(ch, i);
		return;
	}
}

/* --- questions --- */

static int reserve(struct channel *ch)
{
	size_t cap = ch->cap_pending ? ch->cap_pending * 2 : 16;
	struct pending *grown;

	if (ch->n_pending < ch->cap_pending)
		return 0;
	grown = ch->n_pending < PENDING_MAX ? realloc(ch->pending, cap * sizeof(*grown)) : NULL;
	if (!grown)
		return -1;
	ch->pending = grown;
	ch->cap_pending = cap;
	return 0;
}

/* Takes *q over; its number, or 0 when the run is broken off. */
static uint64_t add_pending(struct channel *ch, struct pending *q)
{
	if (!q->request || !q->use || reserve(ch) < 0 || uses_set(&ch->uses, q->use, USE_ASKED) < 0) {
		pending_done(q);
		no_memory(ch);
		return 0;
	}
	q->id = ++ch->last_id;
	ch->pending[ch->n_pending++] = *q;
	return q->id;
}

static void on_hook(struct channel *ch, const char *request_id, const struct json *request)
{
	const char *callback = json_str(json_get(request, "callback_id")), *denied = NULL;
	struct hook_event ev = { 0 };
	struct pending q = { 0 };
	struct err err = { 0 };
	uint64_t id;

	if (hook_event_read(json_get(request, "input"), &ev, &err) < 0)
		denied = err.msg;
	if (!ev.tool_use)
		ev.tool_use = json_str(json_get(request, "tool_use_id"));
	if (!callback || strcmp(callback, CALLBACK_ID) != 0)
		denied = "agate: nobody asked for this hook";
	else if (!denied && ch->was_cut)
		denied = "agate: the call holds a NUL byte or half a character";
	else if (!denied && !ev.tool_use)
		denied = "agate: the call has no id";
	q.request = strdup(request_id);
	q.use = strdup(ev.tool_use ? ev.tool_use : "");
	id = add_pending(ch, &q);
	if (id && denied)
		channel_answer(ch, id, DECISION_DENY, denied);
	else if (id)
		ch->p.ops->asked(ch->p.cookie, id, &ev);
}

static struct json *wrap(const struct json *input)
{
	OWN(json) struct json *j = json_new_object();

	return json_add_copy(j, "input", input) ? TAKE(j) : NULL;
}

/* Asked for what its own rules leave open, after the hook: the same call has the same answer. */
static void on_permission(struct channel *ch, const char *request_id, const struct json *request)
{
	const struct hook_event ev = {
		.tool = json_str(json_get(request, "tool_name")), .input = json_get(request, "input"),
		.tool_use = json_str(json_get(request, "tool_use_id")), .cwd = ch->cwd,
	};
	int is_read = ev.tool && json_type(ev.input) == JSON_OBJECT && ev.tool_use && ev.cwd && !ch->was_cut;
	enum use_state known = is_read ? uses_state(&ch->uses, ev.tool_use) : USE_UNKNOWN;
	struct pending q = {
		.request = strdup(request_id), .use = strdup(ev.tool_use ? ev.tool_use : ""),
		.wrapped = is_read ? wrap(ev.input) : json_new_object(),
	};
	uint64_t id = 0;

	if (!q.wrapped) {
		pending_done(&q);
		no_memory(ch);
	} else {
		id = add_pending(ch, &q);
	}
	if (id && !is_read)
		channel_answer(ch, id, DECISION_DENY, "agate: the call cannot be read");
	else if (id && known == USE_ALLOWED)
		channel_answer(ch, id, DECISION_ALLOW, NULL);
	else if (id && known == USE_DENIED)
		channel_answer(ch, id, DECISION_DENY, "agate: denied before");
	else if (id)
		ch->p.ops->asked(ch->p.cookie, id, &ev);
}

static void refuse(struct channel *ch, const char *request_id)
{
	struct json *inner;
	OWN(json) struct json *j = new_reply(request_id, "error", &inner);

	if (!j || !json_add_str(inner, "error", "agate does not answer this"))
		no_memory(ch);
	else
		say(ch, TAKE(j));
}

static void on_request(struct channel *ch, const struct json *j)
{
	static const struct {
		const char *subtype;
		void (*fn)(struct channel *ch, const char *request_id, const struct json *request);
	} kinds[] = { { "hook_callback", on_hook }, { "can_use_tool", on_permission } };
	const struct json *request = json_get(j, "request");
	const char *id = json_str(json_get(j, "request_id")), *subtype = json_str(json_get(request, "subtype"));

	if (!id || !subtype) {
		break_off(ch, NULL, ERR_INPUT, "claude asked for something, and it cannot be told what");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!strcmp(subtype, kinds[i].subtype)) {
			kinds[i].fn(ch, id, request);
			return;
		}
	refuse(ch, id);
}

static void on_cancel(struct channel *ch, const struct json *j)
{
	const char *id = json_str(json_get(j, "request_id"));

	for (size_t i = 0; id && i < ch->n_pending; i++) {
		uint64_t question = ch->pending[i].id;

		if (strcmp(ch->pending[i].request, id) != 0)
			continue;
		if (uses_set(&ch->uses, ch->pending[i].use, USE_DENIED) < 0)
			no_memory(ch);
		drop(ch, i);
		ch->p.ops->withdrawn(ch->p.cookie, question);
		return;
	}
}

/* --- the course of the talk --- */

static void hang_up(struct channel *ch)
{
	if (ch->phase != TALKING)
		return;
	ch->phase = CLOSING;
	ch->p.ops->hang_up(ch->p.cookie);
	ch->p.ops->timer(ch->p.cookie, ENDING_MS);
}

static void on_response(struct channel *ch, const struct json *j)
{
	const struct json *response = json_get(j, "response");
	const char *id = json_str(json_get(response, "request_id")), *subtype = json_str(json_get(response, "subtype"));

	if (ch->phase != GREETING || !id || strcmp(id, GREETING_ID) != 0)
		return;
	if (!subtype || strcmp(subtype, "success") != 0) {
		break_off(ch, NULL, ERR_MISSING, "claude does not take hooks over its control channel");
		return;
	}
	ch->p.ops->timer(ch->p.cookie, 0);
	ch->phase = TALKING;
	ch->is_busy = 1;
	send_prompt(ch);
}

/* A key's source that is the repository's, or a program's, is none that agate gave it. */
static int is_known_source(const char *source)
{
	static const char *const known[] = {
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "/login managed key", "none", "user",
		"org", "temporary", "oauth",
	};

	for (size_t i = 0; source && i < ARRAY_LEN(known); i++)
		if (!strcmp(source, known[i]))
			return 1;
	return 0;
}

static void on_init(struct channel *ch, const struct json *j)
{
	const char *mode = json_str(json_get(j, "permissionMode")), *cwd = json_str(json_get(j, "cwd"));
	const char *why = NULL;

	if (ch->phase == GREETING)
		why = "claude began before it had taken the hook";
	else if (!mode || (strcmp(mode, ch->p.permission_mode) != 0 && strcmp(mode, "plan") != 0))
		why = "claude is not in the permission mode it was started in";
	else if (!is_known_source(json_str(json_get(j, "apiKeySource"))))
		why = "claude has its key from a source that agate did not give it";
	else if (!ch->p.ask->has_servers && json_count(json_get(j, "mcp_servers")))
		why = "claude has started MCP servers that nobody gave it";
	if (why) {
		break_off(ch, NULL, ERR_POLICY, why);
		return;
	}
	free(ch->cwd);
	ch->cwd = cwd && path_is_clean(cwd) ? strdup(cwd) : NULL;
	ch->is_busy = 1;
	if (ch->phase == TALKING)
		ch->p.ops->timer(ch->p.cookie, 0);
}

static void on_tasks(struct channel *ch, const struct json *j)
{
	ch->tasks = json_count(json_get(j, "tasks"));
	if (ch->phase == TALKING && !ch->is_busy && !ch->tasks)
		ch->p.ops->timer(ch->p.cookie, SETTLE_MS);
}

static void on_informational(struct channel *ch, const struct json *j)
{
	static const char *const bad[] = { "hook_no_verdict", "managed_hooks_not_loaded" };
	const char *tag = json_str(json_get(j, "tag"));

	for (size_t i = 0; tag && i < ARRAY_LEN(bad); i++)
		if (!strcmp(tag, bad[i]))
			break_off(ch, tag, ERR_POLICY, "claude went on without the answer of a hook");
}

static void on_system(struct channel *ch, const struct json *j)
{
	static const struct {
		const char *subtype;
		void (*fn)(struct channel *ch, const struct json *j);
	} kinds[] = {
		{ "init", on_init }, { "background_tasks_changed", on_tasks }, { "informational", on_informational },
	};
	const char *subtype = json_str(json_get(j, "subtype"));

	for (size_t i = 0; subtype && i < ARRAY_LEN(kinds); i++)
		if (!strcmp(subtype, kinds[i].subtype))
			kinds[i].fn(ch, j);
}

static void on_result(struct channel *ch, const struct json *j)
{
	ch->has_result = 1;
	if (json_bool(json_get(j, "is_error"), &ch->has_failed) < 0)
		ch->has_failed = 0;
	ch->is_busy = 0;
	if (!ch->tasks)
		hang_up(ch);
}

/* --- results of calls --- */

static const struct json *meta_of(const struct json *event, const char *use)
{
	for (const struct json *m = json_first(json_get(event, "tool_result_meta")); m; m = json_next(m)) {
		const char *id = json_str(json_get(m, "id"));

		if (id && !strcmp(id, use))
			return m;
	}
	return NULL;
}

/* A call that claude itself turned down before it asked anybody: no such tool, wrong input, aborted. */
static int never_ran(const struct json *item, const struct json *meta)
{
	static const char mark[] = "<tool_use_error>";
	const char *text = json_str(json_get(item, "content"));
	const char *decision = json_str(json_get(json_get(meta, "permission_decision"), "decision"));
	int is_error = 0;

	if (json_bool(json_get(item, "is_error"), &is_error) < 0 || !is_error)
		return 0;
	if (decision && !strcmp(decision, "accept"))
		return 0;
	return json_str(json_get(meta, "non_execution_kind")) || (text && !strncmp(text, mark, sizeof(mark) - 1));
}

static void on_tool_result(struct channel *ch, const struct json *event, const struct json *item)
{
	const char *use = json_str(json_get(item, "tool_use_id"));
	const struct json *meta = use ? meta_of(event, use) : NULL;
	const char *decision = json_str(json_get(json_get(meta, "permission_decision"), "decision"));
	enum use_state state = use ? uses_state(&ch->uses, use) : USE_UNKNOWN;
	int is_error = 0;

	if (state == USE_ALLOWED)
		return;
	if (state == USE_DENIED) {
		if (json_bool(json_get(item, "is_error"), &is_error) < 0 || !is_error ||
		    (decision && !strcmp(decision, "accept")))
			break_off(ch, use, ERR_POLICY, "claude ran a call that was denied");
		return;
	}
	if (!never_ran(item, meta))
		break_off(ch, use, ERR_POLICY, state == USE_ASKED ? "claude ran a call before it had an answer" :
			  "claude ran a call that nobody was asked about");
}

static void on_user(struct channel *ch, const struct json *j)
{
	const struct json *content = json_get(json_get(j, "message"), "content");

	if (json_type(content) != JSON_ARRAY)
		return;
	for (const struct json *item = json_first(content); item && ch->phase != BROKEN; item = json_next(item)) {
		const char *type = json_str(json_get(item, "type"));

		if (type && !strcmp(type, "tool_result"))
			on_tool_result(ch, j, item);
	}
}

/* --- lines --- */

static const struct {
	const char *type;
	int is_ours;		/* and not the user's */
	void (*fn)(struct channel *ch, const struct json *j);
} kinds[] = {
	{ "control_request", 1, on_request },	{ "control_response", 1, on_response },
	{ "control_cancel_request", 1, on_cancel }, { "keep_alive", 1, NULL },
	{ "system", 0, on_system },		{ "user", 0, on_user },
	{ "result", 0, on_result },
};

static void show(struct channel *ch, const char *line, size_t len, const struct json *j)
{
	buf_clear(&ch->out);
	if (show_line(&ch->show, line, len, j, &ch->out) < 0)
		no_memory(ch);
	else if (ch->out.len)
		ch->p.ops->to_user(ch->p.cookie, ch->out.data, ch->out.len);
}

static void on_json(struct channel *ch, const char *line, size_t len, const struct json *j)
{
	const char *type = json_str(json_get(j, "type"));
	size_t i = 0;

	if (!type) {
		break_off(ch, NULL, ERR_INPUT, "claude said something that has no type");
		return;
	}
	while (i < ARRAY_LEN(kinds) && strcmp(type, kinds[i].type) != 0)
		i++;
	/* What has happened is shown before it has consequences, but not after the end. */
	if (i == ARRAY_LEN(kinds) || !kinds[i].is_ours)
		show(ch, line, len, j);
	if (ch->phase != BROKEN && i < ARRAY_LEN(kinds) && kinds[i].fn)
		kinds[i].fn(ch, j);
}

static void on_line(struct channel *ch, const char *line, size_t len)
{
	const struct json_limits limits = { .max_bytes = CHANNEL_LINE_MAX, .max_depth = LINE_DEPTH };
	OWN(json) struct json *j = NULL;
	OWN(mem) char *copy = NULL;
	const char *text = line;
	struct err err = { 0 };

	ch->was_cut = 0;
	if (!len)
		return;
	if (memmem(line, len, "\\u", 2)) {
		copy = malloc(len);
		if (!copy) {
			no_memory(ch);
			return;
		}
		memcpy(copy, line, len);
		ch->was_cut = channel_text(copy, len);
		text = copy;
	}
	if (json_parse(text, len, &limits, &j, &err) < 0) {
		err_wrap(&err, "claude said something that cannot be read");
		break_off(ch, NULL, err.code, err.msg);
		return;
	}
	on_json(ch, line, len, j);
}

void channel_read(struct channel *ch, const char *data, size_t len)
{
	size_t at = 0;

	if (ch->phase == BROKEN)
		return;
	ch->in.max = CHANNEL_LINE_MAX + (1u << 20);
	if (buf_add(&ch->in, data, len) < 0) {
		no_memory(ch);
		return;
	}
	while (ch->phase != BROKEN) {
		const char *line = ch->in.data + at, *end = memchr(line, '\n', ch->in.len - at);

		if (!end)
			break;
		on_line(ch, line, (size_t)(end - line));
		at += (size_t)(end - line) + 1;
	}
	buf_eat(&ch->in, at);
	if (ch->in.len > CHANNEL_LINE_MAX)
		break_off(ch, NULL, ERR_LIMIT, "claude said something that is too long");
}

void channel_end(struct channel *ch)
{
	if (ch->phase == BROKEN)
		return;
	if (ch->in.len)
		on_line(ch, ch->in.data, ch->in.len);
	buf_clear(&ch->in);
	buf_clear(&ch->out);
	if (ch->phase == BROKEN)
		return;
	if (show_end(&ch->show, &ch->out) < 0)
		no_memory(ch);
	else if (ch->out.len)
		ch->p.ops->to_user(ch->p.cookie, ch->out.data, ch->out.len);
}

/* --- life --- */

void channel_start(struct channel *ch)
{
	if (ch->phase != SILENT)
		return;
	ch->phase = GREETING;
	ch->p.ops->timer(ch->p.cookie, GREETING_MS);
	greet(ch);
}

void channel_timeout(struct channel *ch)
{
	if (ch->phase == GREETING)
		break_off(ch, NULL, ERR_LIMIT, "claude did not take the hook in time");
	else if (ch->phase == CLOSING)
		break_off(ch, NULL, ERR_LIMIT, "claude did not end after its last result");
	else if (ch->phase == TALKING && !ch->is_busy && !ch->tasks)
		hang_up(ch);
}

int channel_is_done(const struct channel *ch)
{
	return ch->phase == CLOSING && ch->has_result;
}

int channel_has_failed(const struct channel *ch)
{
	return ch->has_failed;
}

struct channel *channel_new(const struct channel_params *p)
{
	struct channel *ch = calloc(1, sizeof(*ch));

	if (!ch)
		return NULL;
	ch->p = *p;
	ch->show = (struct show){ .format = p->ask->format, .verbose = p->ask->verbose };
	return ch;
}

void channel_free(struct channel *ch)
{
	if (!ch)
		return;
	while (ch->n_pending)
		drop(ch, 0);
	free(ch->pending);
	uses_done(&ch->uses);
	show_done(&ch->show);
	buf_done(&ch->in);
	buf_done(&ch->out);
	free(ch->cwd);
	free(ch);
}
