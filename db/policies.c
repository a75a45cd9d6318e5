#include <assert.h>

#include "base/clock.h"
#include "base/err.h"
#include "db/db_internal.h"
#include "db/policies.h"

struct adding {
	const struct policy_row *row;
	int64_t id, now_us;
};

/* An equal rule that has expired makes room for the new one. */
static int drop_expired(struct db *db, const struct adding *a, struct err *err)
{
	return sql_run(db, err,
		       "UPDATE policies SET removed_us = ?, removed_by = 'expiry' WHERE scope = ? AND scope_id = ?"
		       " AND rule = ? AND removed_us IS NULL AND expires_us <= ?",
		       "ixxti", a->now_us, a->row->scope, a->row->scope_id, a->row->rule, a->now_us);
}

static int add_tx(struct db *db, void *cookie, struct err *err)
{
	struct adding *a = cookie;
	const struct policy_row *row = a->row;
	int64_t same = 0;

	if (drop_expired(db, a, err) < 0 ||
	    sql_int(db, err, &same,
		    "SELECT id FROM policies WHERE scope = ? AND scope_id = ? AND rule = ? AND removed_us IS NULL",
		    "xxt", row->scope, row->scope_id, row->rule) < 0)
		return -1;
	if (same) {
		a->id = same;
		return err_set(err, ERR_BUSY, 0, "the same rule is in force already, as number %lld", (long long)same);
	}
	if (sql_run(db, err,
		    "INSERT INTO policies(scope, scope_id, rule, provenance, created_by, created_us, expires_us)"
		    " VALUES(?, ?, ?, ?, ?, ?, ?)",
		    "xxtxxin", row->scope, row->scope_id, row->rule, row->provenance, row->created_by,
		    row->created_us ? row->created_us : a->now_us, row->expires_us) < 0)
		return -1;
	a->id = sqlite3_last_insert_rowid(db->sql);
	return 0;
}

int policy_add(struct db *db, const struct policy_row *row, int64_t *ret_id, struct err *err)
{
	struct adding a = { .row = row, .now_us = clock_wall_us() };
	int r;

	assert(row->scope && row->scope_id && row->rule && row->provenance);
	r = tx_run(db, add_tx, &a, err);
	if (a.id)
		*ret_id = a.id;
	return r;
}

struct removing {
	int64_t id;
	const char *by;
};

static int remove_tx(struct db *db, void *cookie, struct err *err)
{
	const struct removing *r = cookie;

	if (sql_run(db, err, "UPDATE policies SET removed_us = ?, removed_by = ? WHERE id = ? AND removed_us IS NULL",
		    "ixi", clock_wall_us(), r->by, r->id) < 0)
		return -1;
	if (sqlite3_changes(db->sql))
		return 0;
	return err_set(err, ERR_NOTFOUND, 0, "no rule %lld is in force", (long long)r->id);
}

int policy_remove(struct db *db, int64_t id, const char *by, struct err *err)
{
	struct removing r = { .id = id, .by = by };

	return tx_run(db, remove_tx, &r, err);
}

struct reader {
	policy_fn *fn;
	void *cookie;
};

static int read_policy(void *cookie, sqlite3_value **v)
{
	const struct reader *reader = cookie;
	const struct policy_row row = {
		.id = sqlite3_value_int64(v[0]),
		.scope = text_of(v[1]),
		.scope_id = text_of(v[2]),
		.rule = text_of(v[3]),
		.provenance = text_of(v[4]),
		.created_by = text_of(v[5]),
		.created_us = sqlite3_value_int64(v[6]),
		.expires_us = sqlite3_value_int64(v[7]),
		.removed_us = sqlite3_value_int64(v[8]),
		.removed_by = text_of(v[9]),
	};

	return reader->fn(reader->cookie, &row);
}

int policies_each(struct db *db, const struct policy_filter *filter, policy_fn *fn, void *cookie,
		  struct err *err)
{
	struct query q = {
		.db = db, .keys = { "id", NULL },
		.select = "SELECT id, scope, scope_id, rule, provenance, created_by, created_us, expires_us,"
			  " removed_us, removed_by FROM policies",
	};
	struct reader reader = { .fn = fn, .cookie = cookie };

	query_text(&q, "scope = ?", filter->scope);
	query_text(&q, "scope_id = ?", filter->scope_id);
	if (!filter->with_removed)
		query_plain(&q, "removed_us IS NULL");
	return query_each(&q, read_policy, &reader, err);
}
