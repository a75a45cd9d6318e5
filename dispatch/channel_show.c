#include <string.h>

#include "base/json.h"
#include "dispatch/channel_internal.h"

#define KEPT_MAX (512u * 1024 * 1024)	/* of --output-format json --verbose, which tells all at its end */

static int is_result(const struct json *j)
{
	const char *type = json_str(json_get(j, "type"));

	return type && !strcmp(type, "result");
}

/* As claude prints it: the answer, or what went wrong; one after the other with an empty line between. */
static int show_text(struct show *s, const struct json *j, struct buf *out)
{
	const char *text = json_str(json_get(j, "result"));
	const struct json *errors = json_get(j, "errors");

	if (s->results++)
		buf_addc(out, '\n');
	if (text) {
		buf_addf(out, "%s\n", text);
		return out->failed ? -1 : 0;
	}
	for (const struct json *e = json_first(errors); e; e = json_next(e))
		if (json_str(e))
			buf_addf(out, "Error: %s\n", json_str(e));
	if (!json_count(errors))
		buf_addf(out, "Error: %s\n", json_str(json_get(j, "subtype")) ? json_str(json_get(j, "subtype")) : "failed");
	return out->failed ? -1 : 0;
}

static int keep(struct show *s, const char *line, size_t len, const struct json *j)
{
	s->kept.max = KEPT_MAX;
	if (!s->verbose && !is_result(j))
		return 0;
	if (!s->verbose)
		buf_clear(&s->kept);
	else
		buf_addc(&s->kept, s->kept.len ? ',' : '[');
	return buf_add(&s->kept, line, len);
}

int show_line(struct show *s, const char *line, size_t len, const struct json *j, struct buf *out)
{
	switch (s->format) {
	case CHANNEL_TEXT:
		return is_result(j) ? show_text(s, j, out) : 0;
	case CHANNEL_JSON:
		return keep(s, line, len, j);
	default:
		return buf_add(out, line, len) < 0 ? -1 : buf_addc(out, '\n');
	}
}

int show_end(struct show *s, struct buf *out)
{
	if (s->format != CHANNEL_JSON || !s->kept.len)
		return 0;
	if (s->verbose)
		buf_addc(&s->kept, ']');
	buf_addc(&s->kept, '\n');
	return s->kept.failed ? -1 : buf_add(out, s->kept.data, s->kept.len);
}

void show_done(struct show *s)
{
	buf_done(&s->kept);
}
