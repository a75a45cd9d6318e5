#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/event.h"
#include "base/json.h"
#include "dispatch/ignore.h"
#include "sandbox/names.h"

#define MAX_RULES 1000

static int is_rule(const char *target)
{
	return target[0] == '/' || !strncmp(target, "**/", 3);
}

/* A rule that is compiled for one question: refusals are few. */
static int rule_fits(const char *rule, const char *path)
{
	struct names n = { 0 };
	int fits = path && path[0] == '/' && !names_add(&n, rule) && names_denied(&n, path);

	names_done(&n);
	return fits;
}

static int check_target(const char *command, const struct json *item, struct err *err)
{
	const char *target = json_str(item);
	struct names n = { 0 };
	int bad;

	if (!target || !*target)
		return err_set(err, ERR_INPUT, 0, "ignoreViolations: '%s' needs a list of paths or other targets", command);
	if (!is_rule(target))
		return 0;
	bad = names_add(&n, target) < 0;
	names_done(&n);
	return bad ? err_set(err, errno == ENOMEM ? ERR_NOMEM : ERR_INPUT, 0, "ignoreViolations: '%s' is not a rule for a path",
			     target) : 0;
}

int ignore_check(const struct json *rules, struct err *err)
{
	size_t n = 0;

	if (!rules)
		return 0;
	if (json_type(rules) != JSON_OBJECT)
		return err_set(err, ERR_INPUT, 0, "ignoreViolations is not an object");
	for (const struct json *c = json_first(rules); c; c = json_next(c)) {
		if (!*json_key(c) || json_type(c) != JSON_ARRAY)
			return err_set(err, ERR_INPUT, 0, "ignoreViolations: '%s' needs a list of paths or other targets", json_key(c));
		for (const struct json *t = json_first(c); t; t = json_next(t))
			if (check_target(json_key(c), t, err) < 0)
				return -1;
		n += json_count(c);
		if (n > MAX_RULES)
			return err_set(err, ERR_LIMIT, 0, "ignoreViolations has more than %d targets", MAX_RULES);
	}
	return 0;
}

static int command_fits(const char *words, const struct violation *v)
{
	return !strcmp(words, "*") || (v->raw && strstr(v->raw, words)) || (v->comm && !strcmp(v->comm, words));
}

static int target_fits(const char *target, const struct violation *v)
{
	if (is_rule(target))
		return rule_fits(target, v->resolved ? v->resolved : v->target);
	return (v->target && strstr(v->target, target)) || (v->resolved && strstr(v->resolved, target));
}

int ignore_match(const struct json *rules, const struct violation *v)
{
	for (const struct json *c = json_first(rules); c; c = json_next(c)) {
		if (!command_fits(json_key(c), v))
			continue;
		for (const struct json *t = json_first(c); t; t = json_next(t))
			if (target_fits(json_str(t), v))
				return 1;
	}
	return 0;
}
