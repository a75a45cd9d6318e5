#include <assert.h>

#include "base/err.h"
#include "base/own.h"
#include "db/db_internal.h"

/*
 * One string a version, in order; a shipped one is never changed. Texts that come
 * back often (actions, paths, program names) stand once in words; the columns that
 * hold their numbers are not declared as references, since each insert would look
 * all ten of them up again. Digests are 32 bytes.
 *
 * A chain is a run's (id = runs.n) or, with id 0, that of the records written by
 * no supervisor. Views whose names begin with v_ are for people with an SQL tool
 * and stay stable; our own code does not read them.
 */
static const char *const migrations[] = {
	/* 1 */
	"CREATE TABLE runs("
	" n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, state TEXT NOT NULL,"
	" mode TEXT NOT NULL, agent TEXT, backend TEXT, repo TEXT, cwd TEXT, argv TEXT, spec TEXT,"
	" spec_digest TEXT, workspace_id TEXT, workspace_path TEXT, strategy TEXT, branch TEXT,"
	" base_commit TEXT, facts TEXT, supervisor_pid INTEGER, supervisor_start INTEGER,"
	" supervisor_boot TEXT, created_us INTEGER NOT NULL, started_us INTEGER, ended_us INTEGER,"
	" end_kind TEXT, exit_status INTEGER, reason TEXT,"
	" CHECK((ended_us IS NULL) = (end_kind IS NULL))) STRICT;"
	"CREATE INDEX runs_by_time ON runs(created_us);"
	"CREATE INDEX runs_by_repo ON runs(repo, created_us);"
	"CREATE INDEX runs_open ON runs(created_us) WHERE ended_us IS NULL;"

	"CREATE TABLE journal("
	" id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL REFERENCES runs(n),"
	" step TEXT NOT NULL, data TEXT, begun_us INTEGER NOT NULL, done_us INTEGER) STRICT;"
	"CREATE INDEX journal_by_run ON journal(run);"
	"CREATE INDEX journal_open ON journal(id) WHERE done_us IS NULL;"

	"CREATE TABLE words(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;"

	"CREATE TABLE chains("
	" id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, head BLOB NOT NULL CHECK(length(head) = 32),"
	" salt BLOB NOT NULL CHECK(length(salt) = 32)) STRICT;"
	"INSERT INTO chains VALUES(0, 0, zeroblob(32), randomblob(32));"

	"CREATE TABLE events("
	" chain INTEGER NOT NULL REFERENCES chains(id), seq INTEGER NOT NULL, ts_us INTEGER NOT NULL,"
	" type TEXT NOT NULL, data TEXT, digest BLOB NOT NULL, PRIMARY KEY(chain, seq)) STRICT, WITHOUT ROWID;"

	/* lasted_us: from the first to the last time, so that a single one costs nothing. */
	"CREATE TABLE violations("
	" id INTEGER PRIMARY KEY, chain INTEGER NOT NULL REFERENCES chains(id), seq INTEGER NOT NULL,"
	" run INTEGER REFERENCES runs(n), ts_us INTEGER NOT NULL, lasted_us INTEGER NOT NULL,"
	" count INTEGER NOT NULL, layer INTEGER NOT NULL, action INTEGER NOT NULL, target INTEGER,"
	" resolved INTEGER, rule INTEGER, reason INTEGER, syscall INTEGER, comm INTEGER, exe INTEGER,"
	" pid INTEGER, command_id TEXT, raw TEXT, digest BLOB NOT NULL) STRICT;"
	"CREATE UNIQUE INDEX violations_by_chain ON violations(chain, seq);"
	"CREATE INDEX violations_by_run ON violations(run, ts_us);"
	"CREATE INDEX violations_by_time ON violations(ts_us);"
	"CREATE INDEX violations_by_layer ON violations(layer, ts_us);"
	"CREATE INDEX violations_by_action ON violations(action, ts_us);"
	"CREATE INDEX violations_by_target ON violations(target, ts_us);"

	"CREATE TABLE decisions("
	" id INTEGER PRIMARY KEY, chain INTEGER NOT NULL REFERENCES chains(id), seq INTEGER NOT NULL,"
	" run INTEGER REFERENCES runs(n), ts_us INTEGER NOT NULL, verdict INTEGER NOT NULL, mode INTEGER,"
	" gate INTEGER, rule INTEGER, reason INTEGER, line TEXT NOT NULL, span_start INTEGER NOT NULL,"
	" span_end INTEGER NOT NULL, request TEXT, tool_use TEXT, digest BLOB NOT NULL) STRICT;"
	"CREATE UNIQUE INDEX decisions_by_chain ON decisions(chain, seq);"
	"CREATE INDEX decisions_by_run ON decisions(run, ts_us);"
	"CREATE INDEX decisions_by_time ON decisions(ts_us);"
	"CREATE INDEX decisions_by_verdict ON decisions(verdict, ts_us);"

	"CREATE TABLE seals("
	" n INTEGER PRIMARY KEY, chain INTEGER NOT NULL REFERENCES chains(id), ts_us INTEGER NOT NULL,"
	" seq INTEGER NOT NULL, head BLOB NOT NULL, counts BLOB NOT NULL, facts BLOB NOT NULL,"
	" digest BLOB NOT NULL) STRICT;"
	"CREATE INDEX seals_by_chain ON seals(chain, n);"

	"CREATE VIEW v_runs AS SELECT id AS run, state, mode, agent, backend, repo, cwd, argv, spec_digest,"
	" branch, base_commit, created_us, started_us, ended_us, end_kind, exit_status, reason FROM runs;"
	"CREATE VIEW v_events AS SELECT r.id AS run, e.seq, e.ts_us, e.type, e.data"
	" FROM events e JOIN runs r ON r.n = e.chain;"
	"CREATE VIEW v_violations AS SELECT v.id, r.id AS run, r.mode, v.seq, v.ts_us,"
	" v.ts_us + v.lasted_us AS last_us, v.count, la.text AS layer, ac.text AS action,"
	" ta.text AS target, re.text AS resolved, ru.text AS rule, rs.text AS reason,"
	" sy.text AS syscall, co.text AS comm, ex.text AS exe, v.pid, v.command_id, v.raw"
	" FROM violations v LEFT JOIN runs r ON r.n = v.run JOIN words la ON la.id = v.layer"
	" JOIN words ac ON ac.id = v.action LEFT JOIN words ta ON ta.id = v.target"
	" LEFT JOIN words re ON re.id = v.resolved LEFT JOIN words ru ON ru.id = v.rule"
	" LEFT JOIN words rs ON rs.id = v.reason LEFT JOIN words sy ON sy.id = v.syscall"
	" LEFT JOIN words co ON co.id = v.comm LEFT JOIN words ex ON ex.id = v.exe;"
	"CREATE VIEW v_decisions AS SELECT d.id, r.id AS run, d.seq, d.ts_us, ve.text AS verdict,"
	" mo.text AS mode, ga.text AS gate, ru.text AS rule, rs.text AS reason, d.line, d.span_start,"
	" d.span_end, d.request, d.tool_use"
	" FROM decisions d LEFT JOIN runs r ON r.n = d.run JOIN words ve ON ve.id = d.verdict"
	" LEFT JOIN words mo ON mo.id = d.mode LEFT JOIN words ga ON ga.id = d.gate"
	" LEFT JOIN words ru ON ru.id = d.rule LEFT JOIN words rs ON rs.id = d.reason;",

	/* 2: guardrail rules, questions to people, and who answered them */
	"ALTER TABLE decisions ADD COLUMN classes INTEGER;"
	"ALTER TABLE decisions ADD COLUMN answered INTEGER;"
	"ALTER TABLE decisions ADD COLUMN waited_us INTEGER;"
	"DROP VIEW v_decisions;"
	"CREATE VIEW v_decisions AS SELECT d.id, r.id AS run, d.seq, d.ts_us, ve.text AS verdict,"
	" mo.text AS mode, ga.text AS gate, ru.text AS rule, rs.text AS reason, d.line, d.span_start,"
	" d.span_end, d.request, d.tool_use, cl.text AS classes, an.text AS answered_by, d.waited_us"
	" FROM decisions d LEFT JOIN runs r ON r.n = d.run JOIN words ve ON ve.id = d.verdict"
	" LEFT JOIN words mo ON mo.id = d.mode LEFT JOIN words ga ON ga.id = d.gate"
	" LEFT JOIN words ru ON ru.id = d.rule LEFT JOIN words rs ON rs.id = d.reason"
	" LEFT JOIN words cl ON cl.id = d.classes LEFT JOIN words an ON an.id = d.answered;"

	/* A rule that was removed stays, since decisions name it. */
	"CREATE TABLE policies("
	" id INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, scope_id TEXT NOT NULL, rule TEXT NOT NULL,"
	" provenance TEXT NOT NULL, created_by TEXT, created_us INTEGER NOT NULL, expires_us INTEGER,"
	" removed_us INTEGER, removed_by TEXT) STRICT;"
	"CREATE UNIQUE INDEX policies_live ON policies(scope, scope_id, rule) WHERE removed_us IS NULL;"

	"CREATE TABLE approvals("
	" id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER REFERENCES runs(n), digest TEXT NOT NULL,"
	" question TEXT NOT NULL, state TEXT NOT NULL, asked_us INTEGER NOT NULL, expires_us INTEGER NOT NULL,"
	" answered_us INTEGER, answered_by TEXT, note TEXT, policy INTEGER REFERENCES policies(id),"
	" closed_us INTEGER) STRICT;"
	"CREATE UNIQUE INDEX approvals_open ON approvals(digest) WHERE state IN ('waiting', 'allowed');"
	"CREATE INDEX approvals_by_state ON approvals(state, id);",
};

int schema_version(void)
{
	return (int)ARRAY_LEN(migrations);
}

static int apply(struct db *db, int64_t from, struct err *err)
{
	OWN(buf) struct buf stamp = { 0 };

	for (int64_t v = from; v < schema_version(); v++)
		if (sqlite3_exec(db->sql, migrations[v], NULL, NULL, NULL) != SQLITE_OK)
			return db_fail(db, "bring up to date", err);
	buf_addf(&stamp, "PRAGMA application_id = %d; PRAGMA user_version = %d", DB_APPLICATION_ID,
		 schema_version());
	if (stamp.failed)
		return err_set(err, ERR_NOMEM, 0, "out of memory");
	if (sqlite3_exec(db->sql, stamp.data, NULL, NULL, NULL) != SQLITE_OK)
		return db_fail(db, "bring up to date", err);
	return 0;
}

static int update_tx(struct db *db, void *cookie, struct err *err)
{
	int64_t version = 0;

	(void)cookie;
	/* Somebody else may have done it while we waited for the lock. */
	if (sql_int(db, err, &version, "PRAGMA user_version", "") < 0)
		return -1;
	return version < schema_version() ? apply(db, version, err) : 0;
}

/* Settings that stay in the file: before its first table, and outside a transaction. */
static int prepare_file(struct db *db, struct err *err)
{
	static const char pragmas[] = "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL";
	int r;

	if (db_lock(db, err) < 0)
		return -1;
	r = sqlite3_exec(db->sql, pragmas, NULL, NULL, NULL);
	if (r != SQLITE_OK)
		db_fail(db, "set up", err);
	db_unlock(db);
	return r == SQLITE_OK ? 0 : -1;
}

int schema_update(struct db *db, struct err *err)
{
	assert(!db->in_tx);
	if (prepare_file(db, err) < 0)
		return -1;
	return tx_run(db, update_tx, NULL, err);
}
