#!/bin/bash
# The command gate through the real program: the cases as one batch, statuses, and that what a
# mode refuses does not start, changes nothing and is on record.
# timeout: 240
# once: verdicts know nothing of who asks
# shellcheck disable=SC2016 # scripts in quotes are the run's
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_agate

repo=$WORK/repo
sample_repo "$repo"
cd "$repo" || exit 1
before=$(fingerprint "$repo")

# --- every case whose paths mean the same here, as a batch: one object a line, in order ---
# A case's escapes are those of a JSON string, but for the quotes.
grep -v '^#' "$ROOT/tests/unit/gates/cases.tsv" | grep -vE '~|\$HOME|\$\{HOME|/home|\.\./|\.\.( |;|$)' >"$WORK/cases"
awk -F '\t' '{ gsub(/"/, "\\\"", $3); printf "{\"mode\":\"%s\",\"line\":\"%s\"}\n", $2, $3 }' "$WORK/cases" >"$WORK/batch"
timeout 60 "$AGATE" check --batch "$WORK/batch" >"$WORK/answers" 2>"$WORK/err"
[ $? = 126 ] || fail "a batch with denials does not end in 126"
[ "$(wc -l <"$WORK/answers")" = "$(wc -l <"$WORK/batch")" ] || fail "a line without an answer"
sed -E 's/.*"verdict":"([a-z]+)".*/\1/' "$WORK/answers" | paste - "$WORK/cases" |
	awk -F '\t' '$1 != $2 { print $3 ": " $4 ": " $1 ", not " $2; wrong++ } END { exit wrong > 0 }' >"$WORK/out" ||
	fail "verdicts differ from the cases"
for key in n verdict reason rule span effects; do
	holds "an answer without '$key'" test "$(grep -c "\"$key\":" "$WORK/answers")" = "$(wc -l <"$WORK/batch")"
done

# --- statuses and words of a single line ---
run 0 "$AGATE" check --mode plan 'git log | head'
run 126 "$AGATE" check --mode plan 'git log > x'
says "$WORK/out" "^deny: plan mode only looks, and '>' writes 'x'"
run 3 "$AGATE" check --mode chat 'cd src && git push'
says "$WORK/out" "^ask: 'git push' sends commits to a remote"
run 126 "$AGATE" check --mode chat 'git push -f'
run 3 "$AGATE" check --mode chat 'echo "'
run 126 "$AGATE" check --mode review 'echo "'

# --- launching: refused before anything starts, and recorded ---
not_started() {
	local mode=$1
	shift
	run 126 "$AGATE" run --mode "$mode" --approve none -- "$@"
	says "$WORK/err" '^agate: denied'
}
not_started plan bash -c 'echo x > planted'
not_started review touch planted
not_started orchestrate git commit --allow-empty -m x
not_started chat sudo touch planted
not_started chat bash -c 'ls; git push --force'
not_started chat git push
run 0 "$AGATE" violations --json
[ "$(grep -c '"action":"command-deny"' "$WORK/out")" -ge 6 ] || fail "a refusal is not on record"
says "$WORK/out" '"mode":"orchestrate"'

# --- and what plan mode allows runs ---
run 0 "$AGATE" run --mode plan -- bash -c 'for f in src/*.c; do grep -c main "$f"; done | head -n 1'
says "$WORK/out" '^1$'
run 0 "$AGATE" run --mode plan -- git status --short
says "$WORK/out" 'notes.txt'

[ "$(fingerprint "$repo")" = "$before" ] || fail "the repository has changed"
