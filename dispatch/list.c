#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "dispatch/cli.h"
#include "dispatch/list.h"
#include "dispatch/show.h"

void list_init(struct list *l, const struct list_column *columns, int as_json)
{
	*l = (struct list){ .columns = columns, .as_json = as_json };
	for (; columns[l->n_columns].key; l->n_columns++)
		l->width[l->n_columns] = show_width(columns[l->n_columns].title);
	assert(l->n_columns <= LIST_MAX_COLUMNS);
}

/* What a person sees of a value: nothing for null, masked text else. */
static char *cell(const struct json *value)
{
	if (json_type(value) == JSON_NONE || json_type(value) == JSON_NULL)
		return strdup("-");
	if (json_str(value))
		return show_text(*json_str(value) ? json_str(value) : "-");
	return json_print(value);
}

static int add_cells(struct list *l, const struct json *row)
{
	for (size_t i = 0; i < l->n_columns; i++) {
		char *text = cell(json_get(row, l->columns[i].key));

		if (text && show_width(text) > l->width[i])
			l->width[i] = show_width(text);
		if (strv_take(&l->cells, text) < 0)
			return -1;
	}
	l->n_rows++;
	return 0;
}

static int flush(struct list *l, struct err *err)
{
	int r = cli_print(&l->out, err);

	buf_clear(&l->out);
	return r;
}

static int add_line(struct list *l, const struct json *row, struct err *err)
{
	OWN(mem) char *text = json_print(row);

	if (!text || buf_adds(&l->out, text) < 0 || buf_addc(&l->out, '\n') < 0)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	return l->out.len > 65536 ? flush(l, err) : 0;
}

int list_add(struct list *l, const struct json *row, struct err *err)
{
	if (l->as_json)
		return add_line(l, row, err);
	return add_cells(l, row) < 0 ? err_set(err, ERR_NOMEM, 0, "out of memory") : 0;
}

static void print_cell(struct list *l, size_t column, const char *text)
{
	int pad = (int)(l->width[column] - show_width(text));
	int last = column + 1 == l->n_columns;

	if (l->columns[column].right)
		buf_addf(&l->out, "%*s%s", pad, "", text);
	else
		buf_addf(&l->out, "%s%*s", text, last ? 0 : pad, "");
	buf_adds(&l->out, last ? "\n" : "  ");
}

static void print_table(struct list *l)
{
	for (size_t c = 0; c < l->n_columns; c++)
		print_cell(l, c, l->columns[c].title);
	for (size_t i = 0; i < l->cells.n; i++)
		print_cell(l, i % l->n_columns, l->cells.v[i]);
}

int list_end(struct list *l, const char *none, struct err *err)
{
	int r;

	if (!l->as_json && !l->n_rows) {
		say_bare("%s", none);
		list_done(l);
		return 0;
	}
	if (!l->as_json)
		print_table(l);
	r = flush(l, err);
	list_done(l);
	return r;
}

void list_done(struct list *l)
{
	strv_done(&l->cells);
	buf_done(&l->out);
}
