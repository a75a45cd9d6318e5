/*
 * dispatch/ignore.h - refusals that the user has seen enough of
 *
 *	"ignoreViolations": { "*": ["/usr/lib/node_modules"], "git push": ["**" "/.cache"] }
 *
 * By the words a command line holds ("*": any), the paths or other targets that
 * are of no interest. What is ignored stays refused and stays on record; only the
 * summary at the end of a run leaves it out. A target that begins with "/" or
 * "**" "/" is a rule of sandbox/names.h, any other text has to be in the target.
 */
#ifndef DISPATCH_IGNORE_H
#define DISPATCH_IGNORE_H

struct err;
struct json;
struct violation;

/* ignore_check() - is @rules (or NULL) as it should be? 0, or -1 with @err: ERR_INPUT, ERR_LIMIT */
int ignore_check(const struct json *rules, struct err *err);

/* ignore_match() - 1 if checked @rules (or NULL: 0) name this refusal; out of memory: 0 */
int ignore_match(const struct json *rules, const struct violation *v);

#endif
