#!/bin/bash
# The control channel of a printing claude: what is asked, recorded, shown and waited for, and
# that an agent which speaks it badly is ended. Its part is played by a small program.
# timeout: 400
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_sandbox
command -v python3 >/dev/null || skip "python3 is not installed"

repo=$WORK/repo
sample_repo "$repo"
mkdir -p "$WORK/bin"
cp "$ROOT/tests/lib/claude/odd_agent.py" "$WORK/bin/claude"
PATH=$WORK/bin:$PATH
cd "$repo" || exit 1

# agent STATUS ODD [OPTIONS OF agate run]... -- WORDS...: one run; $id becomes its id
agent() {
	local want=$1 odd=$2
	shift 2
	run "$want" "$AGATE" run --agent claude --env "ODD=$odd" "$@" </dev/null
	id=$("$AGATE" runs --json | sed -n 's/.*"run":"\([^"]*\)".*/\1/p' | head -n 1)
}

# --- a good one: each format, as claude itself would print it ---
agent 0 good --keep -- claude -p "do it"
says "$WORK/out" "^prompt 'do it', answers \['allow', 'deny'\]$"
[ "$(wc -l <"$WORK/out")" = 1 ] || fail "more than the answer"
refused command-deny 'sudo id' "$id"
run 0 "$AGATE" diff "$id"
says "$WORK/out" '^\+by the agent'
run 0 "$AGATE" discard "$id"

agent 0 good --discard -- claude -p "do it" --output-format json
says "$WORK/out" '^\{"type": "result".*\}$'
agent 0 good --discard -- claude -p "do it" --output-format json --verbose
says "$WORK/out" '^\[\{"type": "system".*\},\{"type": "user".*\]$'
agent 0 good --discard -- claude -p "do it" --output-format stream-json --verbose
says "$WORK/out" '^\{"type": "system", "subtype": "init"'
says "$WORK/out" '"tool_use_id": "t2", "content": "denied"'
silent "$WORK/out" 'control_request|control_response'
agent 126 good --discard -- claude -p "do it" --output-format stream-json --verbose --no-such-option
agent 126 good --discard -- claude -p "do it" --output-format stream-json

# The prompt may come on standard input, or both.
run 0 "$AGATE" run --agent claude --env ODD=good --discard -- claude -p <<<"from standard input"
says "$WORK/out" "^prompt 'from standard input'"
run 0 "$AGATE" run --agent claude --env ODD=good --discard -- claude -p "look at" <<<"this"
says "$WORK/out" "^prompt 'look at\\\\nthis'"
agent 125 good --discard -- claude -p
says "$WORK/err" 'nobody says what claude is to do'

# In a mode that looks, and without a sandbox.
agent 0 good --discard --mode plan -- claude -p "do it"
says "$WORK/out" "answers \['deny', 'deny'\]"
refused command-deny 'echo by the agent*' "$id"
agent 0 good --discard --sandbox off -- claude -p "do it"
says "$WORK/out" "answers \['allow', 'deny'\]"

# As events: what it said, and what was decided.
agent 0 good --discard --json -- claude -p "do it"
says "$WORK/out" '"type":"gate.allow".*"toolUse":"t1"'
says "$WORK/out" '"type":"gate.deny".*"toolUse":"t2"'
says "$WORK/out" '"type":"stdout","data":"prompt '

# A slow reader gets all of it.
"$AGATE" run --agent claude --env ODD=talks --discard -- claude -p "do it" --output-format stream-json --verbose \
	</dev/null 2>"$WORK/err" | { sleep 2; wc -c; } >"$WORK/out"
[ "${PIPESTATUS[0]}" = 0 ] || fail "a slow reader"
[ "$(cat "$WORK/out")" -gt 2000000 ] || fail "not all of it: $(cat "$WORK/out")"

# --- its own failure is its own ---
agent 3 fails --discard -- claude -p "do it"
says "$WORK/out" '^Error: Reached max turns \(1\)$'
agent 1 aborted --discard -- claude -p "do it"
agent 125 silent --discard -- claude -p "do it"
says "$WORK/err" 'ended before it had answered'

# --- one that is not mediated is ended, and why is on record ---
for odd in unasked disobeys early mode server helper unheard; do
	agent 126 $odd --discard -- claude -p "do it"
	refused command-unasked '*' "$id"
	says "$WORK/err" 'claude (ran|is not|began|has|went)'
done
for odd in refuses garbage; do
	agent 125 $odd --discard -- claude -p "do it"
	says "$WORK/err" 'claude (does not take|said something)'
done
RUN_SECONDS=120 agent 125 long --discard -- claude -p "do it"
says "$WORK/err" 'too long'
agent 0 server --discard -- claude -p "do it" --mcp-config servers.json

# --- a question waits for a person, and the run with it ---
run 0 "$AGATE" rules add ask --command touch
# begin NAME COMMAND [OPTIONS]...: in the background; $question becomes the number of its question
begin() {
	local name=$1 command=$2
	shift 2
	timeout -k 5 60 "$AGATE" run --agent claude --env ODD=waits --env "ODD_COMMAND=$command" --discard "$@" \
		-- claude -p "do it" </dev/null >"$WORK/$name.out" 2>"$WORK/$name.err" &
	begun=$!
	within 20 grep -qs 'approvals allow' "$WORK/$name.err" || fail "no question: $(cat "$WORK/$name.err")"
	question=$(sed -n 's/.*approvals allow \([0-9]*\).*/\1/p' "$WORK/$name.err" | head -n 1)
}
begin yes "touch a" --approve db
run 0 "$AGATE" approvals allow "$question"
wait $begun || fail "allowed, and status $?: $(cat "$WORK/yes.err")"
says "$WORK/yes.out" '^touch a: allow$'
begin no "touch b" --approve db
run 0 "$AGATE" approvals deny "$question"
wait $begun || fail "denied, and status $?"
says "$WORK/no.out" '^touch b: deny$'
begin late "touch c" --approve db --approve-timeout 1
wait $begun || fail "late, and status $?"
says "$WORK/late.out" '^touch c: deny$'
begin killed "touch d" --approve db
kill -TERM $begun
wait $begun
run 0 "$AGATE" approvals list
silent "$WORK/out" 'touch d'
agent 0 waits --env "ODD_COMMAND=touch e" --discard --approve none -- claude -p "do it"
says "$WORK/out" '^touch e: deny$'
refused command-deny 'touch e' "$id"
agent 0 withdraws --env "ODD_COMMAND=touch f" --discard --approve db -- claude -p "do it"
run 0 "$AGATE" approvals list
silent "$WORK/out" 'touch f'

# --- a secret in a command is masked in the record ---
key=ghp_$(printf 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8')
agent 0 waits --env "ODD_COMMAND=sudo curl -H 'Authorization: Bearer $key' x" --discard -- claude -p "do it"
violations --run "$id" >"$WORK/violations"
silent "$WORK/violations" "$key"
says "$WORK/violations" 'masked'
