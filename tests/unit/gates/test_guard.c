/*
 * The table of cases was written before the code.
 */
#include "tests/unit/gates/guard_fixture.h"

#define NOBODY 0	/* no rule decides */

struct resolution {
	const char *sentence;
	const char *rules;	/* stored ones: JSON objects with commas between */
	const char *line;
	enum mode mode;
	enum decision want;
	int winner;		/* number of the rule that decides, from 1; NOBODY */
	const char *managed, *repository;	/* likewise; NULL: none. They are counted before the stored ones */
};

static const struct resolution resolutions[] = {
	/* --- one rule --- */
	{ "without rules nothing is in the way", "", "rm a", MODE_CHAT, DECISION_ALLOW, NOBODY, NULL, NULL },
	{ "a rule for a class denies it", "{" HERE CLASS("fileDelete") DENY "}", "rm a", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "a rule for a class asks", "{" HERE CLASS("fileDelete") ASK "}", "rm a", MODE_CHAT, DECISION_ASK, 1, NULL, NULL },
	{ "another class is not its business", "{" HERE CLASS("gitPush") DENY "}", "rm a", MODE_CHAT, DECISION_ALLOW, NOBODY, NULL, NULL },
	{ "a list of classes is any of them", "{" HERE "\"class\":[\"gitPush\",\"fileDelete\"]," DENY "}", "rm a", MODE_CHAT,
	  DECISION_DENY, 1, NULL, NULL },
	{ "one command among others is enough", "{" HERE CLASS("fileDelete") DENY "}", "ls && rm a; ls", MODE_CHAT,
	  DECISION_DENY, 1, NULL, NULL },
	{ "the strictest effect of a line counts",
	  "{" HERE CLASS("fileDelete") ASK "},{" HERE CLASS("workspaceMutation") DENY "}", "rm a; touch b", MODE_CHAT,
	  DECISION_DENY, 2, NULL, NULL },

	/* --- scopes --- */
	{ "a rule of another workspace is not ours", "{\"scope\":\"workspace\",\"scopeId\":\"/x\"," CLASS("fileDelete") DENY "}",
	  "rm a", MODE_CHAT, DECISION_ALLOW, NOBODY, NULL, NULL },
	{ "a rule of another agent is not ours", "{\"scope\":\"agent\",\"scopeId\":\"acp\"," CLASS("fileDelete") DENY "}",
	  "rm a", MODE_CHAT, DECISION_ALLOW, NOBODY, NULL, NULL },
	{ "a rule of another space is not ours", "{\"scope\":\"space\",\"scopeId\":\"s2\"," CLASS("fileDelete") DENY "}",
	  "rm a", MODE_CHAT, DECISION_ALLOW, NOBODY, NULL, NULL },
	{ "the nearer scope decides: space over agent",
	  "{" AGENT CLASS("fileDelete") ASK "},{" SPACE CLASS("fileDelete") ALLOW "}", "rm a", MODE_CHAT, DECISION_ALLOW, 2, NULL, NULL },
	{ "the nearer scope decides: agent over workspace",
	  "{" HERE CLASS("fileDelete") ASK "},{" AGENT CLASS("fileDelete") ALLOW "}", "rm a", MODE_CHAT, DECISION_ALLOW, 2, NULL, NULL },
	{ "this workspace over every workspace",
	  "{" EVERYWHERE CLASS("fileDelete") ASK "},{" HERE CLASS("fileDelete") ALLOW "}", "rm a", MODE_CHAT, DECISION_ALLOW, 2, NULL, NULL },
	{ "a nearer scope may be stricter, too",
	  "{" HERE CLASS("fileDelete") ALLOW "},{" SPACE CLASS("fileDelete") ASK "}", "rm a", MODE_CHAT, DECISION_ASK, 2, NULL, NULL },
	{ "a hard denial beats an allowance of a nearer scope",
	  "{" EVERYWHERE CLASS("fileDelete") DENY "},{" SPACE CLASS("fileDelete") ALLOW "}", "rm a", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "a hard denial beats an allowance that is more special",
	  "{" HERE CLASS("fileDelete") DENY "},{" HERE CLASS("fileDelete") ONLY("paths", "/w/a") ALLOW "}", "rm a", MODE_CHAT,
	  DECISION_DENY, 1, NULL, NULL },
	{ "a hard denial beats a remembered answer",
	  "{" HERE CLASS("fileDelete") DENY "},{" SPACE CLASS("fileDelete") "\"provenance\":\"remembered\"," ALLOW "}", "rm a",
	  MODE_CHAT, DECISION_DENY, 1, NULL, NULL },

	/* --- within one scope --- */
	{ "in one scope a rule with constraints goes first",
	  "{" HERE CLASS("fileDelete") ASK "},{" HERE CLASS("fileDelete") ONLY("paths", "build") ALLOW "}", "rm build/x", MODE_CHAT,
	  DECISION_ALLOW, 2, NULL, NULL },
	{ "where they do not fit the other one does",
	  "{" HERE CLASS("fileDelete") ASK "},{" HERE CLASS("fileDelete") ONLY("paths", "build") ALLOW "}", "rm src/x", MODE_CHAT,
	  DECISION_ASK, 1, NULL, NULL },
	{ "among equals the stricter one", "{" HERE CLASS("fileDelete") ALLOW "},{" HERE CLASS("fileDelete") ASK "}", "rm a",
	  MODE_CHAT, DECISION_ASK, 2, NULL, NULL },
	{ "the longer command goes first", "{" HERE COMMAND("npm") ASK "},{" HERE COMMAND("npm test") ALLOW "}", "npm test",
	  MODE_CHAT, DECISION_ALLOW, 2, NULL, NULL },
	{ "the longer command goes first, also when it is the stricter",
	  "{" HERE COMMAND("npm") ALLOW "},{" HERE COMMAND("npm run x") ASK "}", "npm run x", MODE_CHAT, DECISION_ASK, 2, NULL, NULL },
	{ "a remembered answer goes before an equal question",
	  "{" HERE CLASS("fileDelete") ONLY("paths", "a") ASK "},{" HERE CLASS("fileDelete") ONLY("paths", "a")
	  "\"provenance\":\"remembered\"," ALLOW "}", "rm a", MODE_CHAT, DECISION_ALLOW, 2, NULL, NULL },
	{ "but not before a question of a nearer scope",
	  "{" SPACE CLASS("fileDelete") ASK "},{" HERE CLASS("fileDelete") "\"provenance\":\"remembered\"," ALLOW "}", "rm a",
	  MODE_CHAT, DECISION_ASK, 1, NULL, NULL },

	/* --- enforcement --- */
	{ "an advisory denial blocks nothing", "{" HERE CLASS("fileDelete") DENY ADVISORY "}", "rm a", MODE_CHAT,
	  DECISION_ALLOW, NOBODY, NULL, NULL },
	{ "an advisory rule does not stand in front of others",
	  "{" SPACE CLASS("fileDelete") ASK ADVISORY "},{" HERE CLASS("fileDelete") DENY "}", "rm a", MODE_CHAT, DECISION_DENY, 2, NULL, NULL },
	{ "a soft denial asks, and an answer may override it", "{" HERE CLASS("fileDelete") DENY SOFT "}", "rm a", MODE_CHAT,
	  DECISION_ASK, 1, NULL, NULL },
	{ "a soft denial can be lifted by a nearer rule",
	  "{" HERE CLASS("fileDelete") DENY SOFT "},{" SPACE CLASS("fileDelete") ALLOW "}", "rm a", MODE_CHAT, DECISION_ALLOW, 2, NULL, NULL },
	{ "a soft denial does not weaken a hard one",
	  "{" SPACE CLASS("fileDelete") DENY SOFT "},{" HERE CLASS("fileDelete") DENY "}", "rm a", MODE_CHAT, DECISION_DENY, 2, NULL, NULL },

	/* --- expiry --- */
	{ "an expired rule does nothing", "{" HERE CLASS("fileDelete") "\"expires\":\"2026-01-01T00:00:00Z\"," DENY "}", "rm a",
	  MODE_CHAT, DECISION_ALLOW, NOBODY, NULL, NULL },
	{ "one that has not expired does", "{" HERE CLASS("fileDelete") "\"expires\":\"2030-01-01T00:00:00Z\"," DENY "}", "rm a",
	  MODE_CHAT, DECISION_DENY, 1, NULL, NULL },

	/* --- what cannot be told --- */
	{ "a denial of a branch applies to a push that names it", "{" HERE CLASS("gitPush") ONLY("refs", "main") DENY "}",
	  "git push origin main", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "and to a push to that branch from another", "{" HERE CLASS("gitPush") ONLY("refs", "main") DENY "}",
	  "git push origin topic:main", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "and to one that names it in full", "{" HERE CLASS("gitPush") ONLY("refs", "main") DENY "}",
	  "git push origin topic:refs/heads/main", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "not to another branch, about which the gate asks as ever", "{" HERE CLASS("gitPush") ONLY("refs", "main") DENY "}",
	  "git push origin topic", MODE_CHAT, DECISION_ASK, NOBODY, NULL, NULL },
	{ "a denial stays one when the branch cannot be told", "{" HERE CLASS("gitPush") ONLY("refs", "main") DENY "}",
	  "git push origin $BRANCH", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "as when none is named", "{" HERE CLASS("gitPush") ONLY("refs", "main") DENY "}", "git push", MODE_CHAT,
	  DECISION_DENY, 1, NULL, NULL },
	{ "as when all are", "{" HERE CLASS("gitPush") ONLY("refs", "main") DENY "}", "git push --all origin", MODE_CHAT,
	  DECISION_DENY, 1, NULL, NULL },
	{ "as through an alias of the line's own", "{" HERE CLASS("gitPush") ONLY("refs", "main") DENY "}",
	  "git -c alias.p=push p origin main", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "an allowance does not apply when the branch cannot be told",
	  "{" HERE CLASS("gitPush") ASK "},{" HERE CLASS("gitPush") ONLY("refs", "topic/*") ALLOW "}", "git push origin $B",
	  MODE_CHAT, DECISION_ASK, 1, NULL, NULL },
	{ "an allowance has to cover every branch that is named",
	  "{" HERE CLASS("gitPush") ASK "},{" HERE CLASS("gitPush") ONLY("refs", "topic/*") ALLOW "}",
	  "git push origin topic/a main", MODE_CHAT, DECISION_ASK, 1, NULL, NULL },
	{ "then it answers", "{" HERE CLASS("gitPush") ASK "},{" HERE CLASS("gitPush") ONLY("refs", "topic/*") ALLOW "}",
	  "git push origin topic/a topic/b", MODE_CHAT, DECISION_ALLOW, 2, NULL, NULL },
	{ "anything but: what is left out is free", "{" HERE CLASS("gitPush") ONLY("refs", "!topic/*") DENY "}",
	  "git push origin topic/a", MODE_CHAT, DECISION_ASK, NOBODY, NULL, NULL },
	{ "anything but: all else is meant", "{" HERE CLASS("gitPush") ONLY("refs", "!topic/*") DENY "}",
	  "git push origin v1", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "a path only the shell knows stays denied", "{" HERE CLASS("fileDelete") ONLY("paths", "/w/keep/**") DENY "}",
	  "rm $X", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "a glob that cannot reach there is free", "{" HERE CLASS("fileDelete") ONLY("paths", "/w/keep/**") DENY "}",
	  "rm build/*.o", MODE_CHAT, DECISION_ALLOW, NOBODY, NULL, NULL },
	{ "a glob that can is not", "{" HERE CLASS("fileDelete") ONLY("paths", "/w/keep/*.txt") DENY "}", "rm keep/*",
	  MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "deleting a directory deletes what is below", "{" HERE CLASS("fileDelete") ONLY("paths", "/w/keep/**") DENY "}",
	  "rm -r /w/keep", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "as does deleting one above", "{" HERE CLASS("fileDelete") ONLY("paths", "/w/a/keep/**") DENY "}", "rm -r a", MODE_CHAT,
	  DECISION_DENY, 1, NULL, NULL },
	{ "a relative path is the workspace's", "{" HERE CLASS("fileDelete") ONLY("paths", "src/**") DENY "}", "rm src/a.c",
	  MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "a bare name holds at any depth", "{" HERE "\"class\":[\"fileRead\",\"secretAccess\"]," ONLY("paths", "*.key") DENY "}",
	  "cat a/b/x.key", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },

	/* --- hosts --- */
	{ "a host by name", "{" HERE CLASS("networkEgress") ONLY("hosts", "evil.example") DENY "}",
	  "curl https://evil.example/x", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "in any writing", "{" HERE CLASS("networkEgress") ONLY("hosts", "evil.example") DENY "}",
	  "curl http://u:p@EVIL.example.:8080/x", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "another host is free", "{" HERE CLASS("networkEgress") ONLY("hosts", "evil.example") DENY "}",
	  "curl https://good.example/x", MODE_CHAT, DECISION_ALLOW, NOBODY, NULL, NULL },
	{ "a star in front is what is below", "{" HERE CLASS("networkEgress") ONLY("hosts", "*.evil.example") DENY "}",
	  "curl https://a.b.evil.example/", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "and not the name itself", "{" HERE CLASS("networkEgress") ONLY("hosts", "*.evil.example") DENY "}",
	  "curl https://evil.example/", MODE_CHAT, DECISION_ALLOW, NOBODY, NULL, NULL },
	{ "a host only the shell knows stays denied", "{" HERE CLASS("networkEgress") ONLY("hosts", "evil.example") DENY "}",
	  "curl \"$URL\"", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "as one that no word names", "{" HERE CLASS("networkEgress") ONLY("hosts", "evil.example") DENY "}",
	  "nc -l 80", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },

	/* --- counts --- */
	{ "more things than a denial bears", "{" HERE CLASS("fileDelete") "\"constraint\":{\"maxCount\":2}," DENY "}", "rm a b c",
	  MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "no more than that", "{" HERE CLASS("fileDelete") "\"constraint\":{\"maxCount\":2}," DENY "}", "rm a b", MODE_CHAT,
	  DECISION_ALLOW, NOBODY, NULL, NULL },
	{ "a number that cannot be told is too many", "{" HERE CLASS("fileDelete") "\"constraint\":{\"maxCount\":2}," DENY "}",
	  "rm *.o", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "as many as an allowance bears",
	  "{" HERE CLASS("fileDelete") ASK "},{" HERE CLASS("fileDelete") "\"constraint\":{\"maxCount\":2}," ALLOW "}", "rm a b",
	  MODE_CHAT, DECISION_ALLOW, 2, NULL, NULL },
	{ "more than it bears",
	  "{" HERE CLASS("fileDelete") ASK "},{" HERE CLASS("fileDelete") "\"constraint\":{\"maxCount\":2}," ALLOW "}", "rm a b c",
	  MODE_CHAT, DECISION_ASK, 1, NULL, NULL },

	/* --- commands --- */
	{ "a command by its words", "{" HERE COMMAND("make deploy") DENY "}", "make deploy X=1", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "behind wrappers", "{" HERE COMMAND("make deploy") DENY "}", "env A=1 nohup timeout 5 make deploy", MODE_CHAT,
	  DECISION_DENY, 1, NULL, NULL },
	{ "in a shell of its own", "{" HERE COMMAND("make deploy") DENY "}", "bash -c 'cd x && make deploy'", MODE_CHAT,
	  DECISION_DENY, 1, NULL, NULL },
	{ "in a substitution", "{" HERE COMMAND("make deploy") DENY "}", "echo \"$(make deploy)\"", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "in a function", "{" HERE COMMAND("make deploy") DENY "}", "f() { make deploy; }; f", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "by its path", "{" HERE COMMAND("make deploy") DENY "}", "/usr/bin/make deploy", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "with options between", "{" HERE COMMAND("make deploy") DENY "}", "make -C x -s deploy", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "another command is free", "{" HERE COMMAND("make deploy") DENY "}", "make test", MODE_CHAT, DECISION_ALLOW, NOBODY, NULL, NULL },
	{ "as one that only speaks of it", "{" HERE COMMAND("make deploy") DENY "}", "echo make deploy", MODE_CHAT,
	  DECISION_ALLOW, NOBODY, NULL, NULL },
	{ "one only the shell knows stays denied", "{" HERE COMMAND("make deploy") DENY "}", "make $TARGET", MODE_CHAT,
	  DECISION_DENY, 1, NULL, NULL },
	{ "as one that is not known at all", "{" HERE COMMAND("make deploy") DENY "}", "$RUN", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "flags in any order and cluster", "{" HERE COMMAND("ls -la") DENY "}", "ls -a -l x", MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "a command that is allowed answers for its effects",
	  "{" HERE CLASS("fileDelete") ASK "},{" HERE COMMAND("rm build/x") ALLOW "}", "rm build/x", MODE_CHAT, DECISION_ALLOW, 2, NULL, NULL },
	{ "not when another one is with it",
	  "{" HERE CLASS("fileDelete") ASK "},{" HERE COMMAND("rm build/x") ALLOW "}", "rm build/x; rm y", MODE_CHAT,
	  DECISION_ASK, 1, NULL, NULL },
	{ "one that only reads may be with it",
	  "{" HERE CLASS("fileDelete") ASK "},{" HERE COMMAND("rm build/x") ALLOW "}", "ls && rm build/x", MODE_CHAT,
	  DECISION_ALLOW, 2, NULL, NULL },
	{ "not when it writes by the way",
	  "{" HERE CLASS("workspaceMutation") ASK "},{" HERE COMMAND("ls") ALLOW "}", "ls > out", MODE_CHAT, DECISION_ASK, 1, NULL, NULL },
	{ "a constraint on commands",
	  "{" HERE CLASS("fileDelete") ASK "},{" HERE CLASS("fileDelete") ONLY("commands", "rm build/x") ALLOW "}", "rm build/x",
	  MODE_CHAT, DECISION_ALLOW, 2, NULL, NULL },
	{ "a line byte for byte", "{" HERE CLASS("fileDelete") ASK "},{" HERE ONLY("lines", "rm 'a'") ALLOW "}", "rm 'a'", MODE_CHAT,
	  DECISION_ALLOW, 2, NULL, NULL },
	{ "and no other", "{" HERE CLASS("fileDelete") ASK "},{" HERE ONLY("lines", "rm 'a'") ALLOW "}", "rm  'a'", MODE_CHAT,
	  DECISION_ASK, 1, NULL, NULL },
	{ "a line that cannot be read may be any command", "{" HERE COMMAND("make deploy") DENY "}", "echo 'x", MODE_CHAT,
	  DECISION_DENY, 1, NULL, NULL },
	{ "constraints alone: any effect on that path", "{" HERE ONLY("paths", "/w/vendor/**") DENY "}", "touch vendor/x",
	  MODE_CHAT, DECISION_DENY, 1, NULL, NULL },
	{ "and no other effect", "{" HERE ONLY("paths", "/w/vendor/**") DENY "}", "curl https://x.example/", MODE_CHAT,
	  DECISION_ALLOW, NOBODY, NULL, NULL },
	{ "all lists have to fit",
	  "{" HERE CLASS("fileDelete") "\"constraint\":{\"paths\":[\"src\"],\"commands\":[\"find\"]}," DENY "}", "rm src/a",
	  MODE_CHAT, DECISION_ALLOW, NOBODY, NULL, NULL },

	/* --- the gate before --- */
	{ "what it denies no rule allows", "{" SPACE CLASS("enclosureControl") ALLOW "},{" SPACE COMMAND("sudo") ALLOW "}", "sudo ls",
	  MODE_CHAT, DECISION_DENY, NOBODY, NULL, NULL },
	{ "what it asks stays asked", "", "npm publish", MODE_CHAT, DECISION_ASK, NOBODY, NULL, NULL },
	{ "unless a rule for the class has answered", "{" HERE CLASS("vendorSyncWrite") ALLOW "}", "npm publish", MODE_CHAT,
	  DECISION_ALLOW, 1, NULL, NULL },
	{ "or one for the command", "{" HERE COMMAND("npm publish") ALLOW "}", "npm publish --tag x", MODE_CHAT, DECISION_ALLOW, 1, NULL, NULL },
	{ "a rule for one question answers no other", "{" HERE CLASS("vendorSyncWrite") ALLOW "}",
	  "npm publish && git push origin x", MODE_CHAT, DECISION_ASK, NOBODY, NULL, NULL },
	{ "harmless company needs no answer", "{" HERE CLASS("gitPush") ALLOW "}", "make && git push origin x", MODE_CHAT,
	  DECISION_ALLOW, 1, NULL, NULL },

	/* --- modes that only look --- */
	{ "no rule lifts what a mode denies", "{" SPACE CLASS("fileDelete") ALLOW "}", "rm a", MODE_PLAN, DECISION_DENY, NOBODY, NULL, NULL },
	{ "not for a push", "{" SPACE CLASS("gitPush") ALLOW "}", "git push origin x", MODE_REVIEW, DECISION_DENY, NOBODY, NULL, NULL },
	{ "not by the command", "{" SPACE COMMAND("npm publish") ALLOW "}", "npm publish", MODE_ORCHESTRATE, DECISION_DENY,
	  NOBODY, NULL, NULL },
	{ "a rule may deny what the mode allows", "{" HERE CLASS("fileRead") ONLY("paths", "secret.txt") DENY "}",
	  "cat secret.txt", MODE_PLAN, DECISION_DENY, 1, NULL, NULL },
	{ "reading is free", "{" HERE CLASS("fileDelete") ASK "}", "cat a", MODE_PLAN, DECISION_ALLOW, NOBODY, NULL, NULL },

	/* --- the machine's owner, and the repository --- */
	{ "a managed rule tightens", "{" SPACE CLASS("fileDelete") ALLOW "}", "rm a", MODE_CHAT, DECISION_ASK, 1,
	  .managed = "{" CLASS("fileDelete") ASK "}" },
	{ "a managed rule loosens nothing", "{" HERE CLASS("fileDelete") ASK "}", "rm a", MODE_CHAT, DECISION_ASK, 2,
	  .managed = "{" CLASS("fileDelete") ALLOW "}" },
	{ "nor what the gate before asks", "", "npm publish", MODE_CHAT, DECISION_ASK, NOBODY,
	  .managed = "{" CLASS("vendorSyncWrite") ALLOW "}" },
	{ "it may leave its own questions out", "", "rm build/x", MODE_CHAT, DECISION_ALLOW, NOBODY,
	  .managed = "{" CLASS("fileDelete") ASK "},{" CLASS("fileDelete") ONLY("paths", "build") ALLOW "}" },
	{ "a soft managed denial asks", "", "rm a", MODE_CHAT, DECISION_ASK, 1, .managed = "{" CLASS("fileDelete") DENY SOFT "}" },
	{ "a repository's rule tightens", "{" SPACE CLASS("fileDelete") ALLOW "}", "rm a", MODE_CHAT, DECISION_DENY, 1,
	  .repository = "{" CLASS("fileDelete") DENY "}" },
	{ "a repository's rule loosens nothing", "{" HERE CLASS("fileDelete") ASK "}", "rm a", MODE_CHAT, DECISION_ASK, 2,
	  .repository = "{" CLASS("fileDelete") ALLOW "}" },
	{ "nor does it answer", "", "npm publish", MODE_CHAT, DECISION_ASK, NOBODY,
	  .repository = "{" COMMAND("npm publish") ALLOW "}" },
	{ "an answer does not hold against a managed question", "{" HERE COMMAND("npm publish") ALLOW "}", "npm publish", MODE_CHAT,
	  DECISION_ASK, 1, .managed = "{" CLASS("vendorSyncWrite") ASK "}" },
};

static int winner(const struct world *w)
{
	return w->res.rule ? (int)(w->res.rule - w->set.v) + 1 : NOBODY;
}

static int check_one(const struct resolution *c)
{
	struct world w;
	int bad;

	open_world(&w);
	add_rules(&w.set, c->managed, RULE_FILE_MANAGED);
	add_rules(&w.set, c->repository, RULE_FILE_REPOSITORY);
	add_rules(&w.set, c->rules, RULE_FILE_PLAIN);
	judge(&w, c->line, c->mode);
	bad = w.res.decision != c->want || winner(&w) != c->winner;
	if (bad) {
		print_error("%s: '%s' is %s by %d (%s: %s), not %s by %d\n", c->sentence, c->line,
			    decision_name(w.res.decision), winner(&w), w.res.name, w.res.reason, decision_name(c->want),
			    c->winner);
		for (size_t i = 0; i < w.res.notes_n; i++)
			print_error("    %zu %s: %s\n", i + 1, guard_fate_name(w.res.notes[i].fate), w.res.notes[i].why);
	}
	if (w.res.decision != DECISION_ALLOW && !w.res.reason[0]) {
		print_error("%s: no reason\n", c->sentence);
		bad = 1;
	}
	close_world(&w);
	return bad;
}

static void rules_are_resolved_as_the_table_says(void **state)
{
	int bad = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(resolutions); i++)
		bad += check_one(&resolutions[i]);
	if (bad)
		fail_msg("%d of %zu cases are wrong", bad, ARRAY_LEN(resolutions));
}

/* --- what holds for every line --- */

#define OWN_CASES "tests/unit/gates/cases.tsv"

typedef void line_fn(const char *line, enum mode mode, const struct rule_set *set);

static void each_case(line_fn *fn, const struct rule_set *set)
{
	OWN(file) FILE *f = fopen(OWN_CASES, "r");
	OWN(mem) char *row = NULL;
	size_t size = 0, n = 0;
	ssize_t len;

	assert_non_null(f);
	while ((len = getline(&row, &size, f)) > 0) {
		enum mode mode;
		char *word, *line;

		row[strcspn(row, "\n")] = '\0';
		if (!row[0] || row[0] == '#')
			continue;
		strtok(row, "\t");
		word = strtok(NULL, "\t");
		line = strtok(NULL, "\t");
		assert_int_equal(mode_parse(word, &mode), 0);
		unescape(line);
		fn(line, mode, set);
		n++;
	}
	assert_true(n > 500);
}

static void stays(const char *line, enum mode mode, const struct rule_set *set)
{
	enum decision before, after = decide(line, mode, set, &before);

	if (before != after)
		fail_msg("%s: '%s' was %s, and is %s", mode_name(mode), line, decision_name(before), decision_name(after));
}

static void without_rules_every_verdict_stays_what_it_was(void **state)
{
	struct rule_set none = { 0 };

	(void)state;
	each_case(stays, &none);
}

static void gets_no_looser(const char *line, enum mode mode, const struct rule_set *set)
{
	enum decision before, after = decide(line, mode, set, &before);

	if (after < before && (before == DECISION_DENY || mode_is_readonly(mode)))
		fail_msg("%s: '%s' was %s, and is %s", mode_name(mode), line, decision_name(before), decision_name(after));
}

static void the_loosest_rules_lift_no_denial(void **state)
{
	OWN(rule_set) struct rule_set set = { 0 };

	(void)state;
	add_rules(&set, "{" SPACE COMMAND("**") ALLOW "},{" SPACE "\"class\":[\"fileDelete\",\"fileWriteOutsideWorktree\","
		  "\"gitCommit\",\"gitPush\",\"prCreate\",\"prPublish\",\"vendorSyncWrite\",\"networkEgress\",\"secretAccess\","
		  "\"packageInstall\",\"processSpawn\",\"workspaceMutation\",\"enclosureControl\"]," ALLOW "}", RULE_FILE_PLAIN);
	each_case(gets_no_looser, &set);
}

static void is_denied(const char *line, enum mode mode, const struct rule_set *set)
{
	enum decision before, after = decide(line, mode, set, &before);

	/* A condition of the shell's own runs nothing. */
	if (after != DECISION_DENY && *line && *line != '#' && strncmp(line, "[[", 2) != 0)
		fail_msg("%s: '%s' is %s", mode_name(mode), line, decision_name(after));
}

static void a_denial_of_every_command_denies_every_line(void **state)
{
	OWN(rule_set) struct rule_set set = { 0 };

	(void)state;
	add_rules(&set, "{" HERE COMMAND("**") DENY "}", RULE_FILE_PLAIN);
	each_case(is_denied, &set);
}

/* --- failing closed --- */

static void a_set_that_cannot_be_read_denies_everything_and_says_where(void **state)
{
	struct world w;

	(void)state;
	open_world(&w);
	rule_set_broken(&w.set, "rule 12: field 'decision' must be allow, ask or deny");
	rule_set_broken(&w.set, "a second problem");
	judge(&w, "ls", MODE_CHAT);
	assert_int_equal(w.res.decision, DECISION_DENY);
	assert_string_equal(w.res.reason, "rule 12: field 'decision' must be allow, ask or deny");
	assert_string_equal(w.res.gate, "guard");
	close_world(&w);
}

static void without_a_workspace_nothing_is_allowed(void **state)
{
	struct world w;

	(void)state;
	open_world(&w);
	w.req.workspace = NULL;
	judge(&w, "ls", MODE_CHAT);
	assert_int_equal(w.res.decision, DECISION_DENY);
	assert_string_equal(w.res.name, "no workspace");
	close_world(&w);
}

static void effects_beyond_the_list_may_be_any(void **state)
{
	OWN(verdict) struct verdict v = { .decision = DECISION_ALLOW };
	OWN(rule_set) struct rule_set set = { 0 };
	OWN(guard_result) struct guard_result res = { 0 };
	const struct guard_request req = { .workspace = "/w", .root = "/w", .verdict = &v, .now_us = NOW };

	(void)state;
	v.effects_n = 256;
	v.effects = calloc(v.effects_n, sizeof(*v.effects));
	add_rules(&set, "{" HERE CLASS("gitPush") DENY "}", RULE_FILE_PLAIN);
	guard_judge(&req, &set, &res);
	assert_int_equal(res.decision, DECISION_DENY);
}

static void a_line_too_large_to_judge_is_denied(void **state)
{
	struct world w;
	char *line = malloc(200001);

	(void)state;
	memset(line, 'a', 200000);
	line[200000] = '\0';
	open_world(&w);
	add_rules(&w.set, "{" HERE COMMAND("make") DENY "}", RULE_FILE_PLAIN);
	judge(&w, line, MODE_CHAT);
	assert_int_equal(w.res.decision, DECISION_DENY);
	close_world(&w);
	free(line);
}

/* --- tools --- */

static enum decision call_tool(const char *rules, const char *tool, enum effect_class class, const char *path,
			       enum decision before)
{
	OWN(verdict) struct verdict v = { .decision = before, .rule = "tool", .reason = "somebody has to say yes" };
	OWN(rule_set) struct rule_set set = { 0 };
	OWN(guard_result) struct guard_result res = { 0 };
	const struct guard_request req = { .workspace = "/w", .root = "/w", .cwd = "/w", .tool = tool, .verdict = &v,
					   .now_us = NOW };

	v.effects = calloc(1, sizeof(*v.effects));
	v.effects_n = 1;
	v.effects[0] = (struct effect){ .class = class, .place = path ? PLACE_INSIDE : PLACE_NONE,
					.subject = path ? strdup(path) : NULL };
	add_rules(&set, rules, RULE_FILE_PLAIN);
	guard_judge(&req, &set, &res);
	return res.decision;
}

static void a_rule_for_a_tool_is_about_calls_of_that_tool(void **state)
{
	static const char allow[] = "{" HERE ONLY("tools", "mcp__files__*") ALLOW "}";
	static const char deny[] = "{" HERE ONLY("tools", "mcp__files__*") DENY "}";

	(void)state;
	assert_int_equal(call_tool(allow, "mcp__files__list", EFFECT_PROCESS_SPAWN, NULL, DECISION_ASK), DECISION_ALLOW);
	assert_int_equal(call_tool(allow, "mcp__web__get", EFFECT_PROCESS_SPAWN, NULL, DECISION_ASK), DECISION_ASK);
	assert_int_equal(call_tool(deny, "mcp__files__list", EFFECT_PROCESS_SPAWN, NULL, DECISION_ALLOW), DECISION_DENY);
	assert_int_equal(call_tool(deny, "Write", EFFECT_WORKSPACE_MUTATION, "/w/a", DECISION_ALLOW), DECISION_ALLOW);
	assert_int_equal(call_tool(deny, NULL, EFFECT_WORKSPACE_MUTATION, "/w/a", DECISION_ALLOW), DECISION_ALLOW);
}

static void rules_about_paths_hold_for_tools_as_for_commands(void **state)
{
	static const char deny[] = "{" HERE CLASS("workspaceMutation") ONLY("paths", "vendor/**") DENY "}";
	static const char command[] = "{" HERE COMMAND("**") DENY "}";

	(void)state;
	assert_int_equal(call_tool(deny, "Write", EFFECT_WORKSPACE_MUTATION, "/w/vendor/x", DECISION_ALLOW), DECISION_DENY);
	assert_int_equal(call_tool(deny, "Write", EFFECT_WORKSPACE_MUTATION, "/w/src/x", DECISION_ALLOW), DECISION_ALLOW);
	/* A tool that runs no command is no business of rules about commands. */
	assert_int_equal(call_tool(command, "Write", EFFECT_WORKSPACE_MUTATION, "/w/a", DECISION_ALLOW), DECISION_ALLOW);
}

/* --- what became of each rule --- */

static void every_rule_is_accounted_for(void **state)
{
	static const enum guard_fate want[] = {
		GUARD_OTHER_SCOPE, GUARD_EXPIRED, GUARD_OTHER_THING, GUARD_NO_FIT, GUARD_UNSURE, GUARD_ADVISES, GUARD_OUTRANKED,
		GUARD_AGREES, GUARD_DECIDES,
	};
	struct world w;

	(void)state;
	open_world(&w);
	add_rules(&w.set,
		  "{\"scope\":\"agent\",\"scopeId\":\"acp\"," CLASS("gitPush") DENY "},"
		  "{" HERE CLASS("gitPush") "\"expires\":\"2020-01-01T00:00:00Z\"," DENY "},"
		  "{" HERE CLASS("fileDelete") DENY "},"
		  "{" HERE CLASS("gitPush") ONLY("commands", "git fetch") DENY "},"
		  "{" HERE CLASS("gitPush") ONLY("refs", "topic") ALLOW "},"
		  "{" HERE CLASS("gitPush") DENY ADVISORY "},"
		  "{" SPACE CLASS("gitPush") ALLOW "},"
		  "{" EVERYWHERE CLASS("gitPush") DENY "},"
		  "{" HERE CLASS("gitPush") DENY "}", RULE_FILE_PLAIN);
	judge(&w, "git push origin $X", MODE_CHAT);
	assert_int_equal(w.res.notes_n, ARRAY_LEN(want));
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		assert_ptr_equal(w.res.notes[i].rule, &w.set.v[i]);
		if (w.res.notes[i].fate != want[i])
			fail_msg("rule %zu: %s (%s), not %s", i + 1, guard_fate_name(w.res.notes[i].fate), w.res.notes[i].why,
				 guard_fate_name(want[i]));
		assert_true(w.res.notes[i].why[0]);
	}
	assert_string_equal(w.res.name, "'t.json': rule 9");
	assert_string_equal(w.res.reason, "'t.json': rule 9 denies gitPush 'git push'");
	assert_int_equal(w.res.has_class, 1);
	assert_int_equal(w.res.class, EFFECT_GIT_PUSH);
	close_world(&w);
}

static void the_reason_of_a_rule_is_told_and_masked(void **state)
{
	struct world w;

	(void)state;
	open_world(&w);
	add_rules(&w.set, "{" HERE CLASS("fileDelete") "\"reason\":\"keep\\u001bit\"," DENY "}", RULE_FILE_PLAIN);
	judge(&w, "rm a", MODE_CHAT);
	assert_string_equal(w.res.reason, "'t.json': rule 1 denies fileDelete '/w/a': keep?it");
	close_world(&w);
}

static void a_question_says_whether_a_rule_could_answer_it(void **state)
{
	struct world w;

	(void)state;
	open_world(&w);
	judge(&w, "npm publish", MODE_CHAT);
	assert_true(w.res.may_remember && !w.res.is_override);
	close_world(&w);
	open_world(&w);
	add_rules(&w.set, "{" HERE CLASS("fileDelete") DENY SOFT "}", RULE_FILE_PLAIN);
	judge(&w, "rm a", MODE_CHAT);
	assert_true(w.res.may_remember && w.res.is_override);
	close_world(&w);
	open_world(&w);
	add_rules(&w.set, "{" CLASS("fileDelete") ASK "}", RULE_FILE_MANAGED);
	judge(&w, "rm a", MODE_CHAT);
	assert_true(!w.res.may_remember);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_resolved_as_the_table_says),
		cmocka_unit_test(without_rules_every_verdict_stays_what_it_was),
		cmocka_unit_test(the_loosest_rules_lift_no_denial),
		cmocka_unit_test(a_denial_of_every_command_denies_every_line),
		cmocka_unit_test(a_set_that_cannot_be_read_denies_everything_and_says_where),
		cmocka_unit_test(without_a_workspace_nothing_is_allowed),
		cmocka_unit_test(effects_beyond_the_list_may_be_any),
		cmocka_unit_test(a_line_too_large_to_judge_is_denied),
		cmocka_unit_test(a_rule_for_a_tool_is_about_calls_of_that_tool),
		cmocka_unit_test(rules_about_paths_hold_for_tools_as_for_commands),
		cmocka_unit_test(every_rule_is_accounted_for),
		cmocka_unit_test(the_reason_of_a_rule_is_told_and_masked),
		cmocka_unit_test(a_question_says_whether_a_rule_could_answer_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
