#!/bin/bash
# Questions and answers: from another process, at a terminal, from nobody; used once, expiring,
# many at once, surviving restarts, and remembered as far as was said.
# timeout: 300
# shellcheck disable=SC2016 # scripts in quotes are the run's
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_agate

repo=$WORK/repo
sample_repo "$repo"
cd "$repo" || exit 1
off=(run --sandbox off)
run 0 "$AGATE" rules add ask --class fileDelete --reason 'somebody looks first'

is() {
	[ "$1" = "$2" ] || fail "'$1' is not '$2'${3+: $3}"
}

# json FILTER FILE: one line of Python over each object of NDJSON
json() {
	python3 -c 'import json, sys
for line in open(sys.argv[2]):
    j = json.loads(line)
    print(eval(sys.argv[1]))' "$1" "$2"
}

# waiting N: so many questions wait
waiting() {
	[ "$(timeout 20 "$AGATE" approvals list --json | wc -l)" = "$1" ]
}

# begin NAME OPTIONS...: a run in the background; its status will be in $WORK/NAME.rc
begin() {
	local name=$1
	shift
	(
		timeout -k 5 60 "$AGATE" "${off[@]}" "$@" >"$WORK/$name.out" 2>"$WORK/$name.err" </dev/null
		echo $? >"$WORK/$name.rc.new"
		mv "$WORK/$name.rc.new" "$WORK/$name.rc"
	) &
}

ended() {
	[ -e "$WORK/$1.rc" ]
}

# ends NAME STATUS
ends() {
	within 30 ended "$1" || fail "run '$1' does not end: $(cat "$WORK/$1.err")"
	is "$(cat "$WORK/$1.rc")" "$2" "status of '$1': $(tail -n 3 "$WORK/$1.err")"
}

# supervisor: the process of the newest run of ours
supervisor() {
	timeout 20 "$AGATE" runs --json | head -n 1 >"$WORK/newest"
	json 'j["supervisorPid"]' "$WORK/newest"
}

# --- nobody is there ---
run 126 "$AGATE" "${off[@]}" --approve none -- rm notes.txt
says "$WORK/err" '^agate: denied by guard: nobody can be asked: rule 1 asks about fileDelete .*: somebody looks first'
run 126 "$AGATE" "${off[@]}" -- rm notes.txt	# no terminal: the same without being told
run 126 setsid "$AGATE" "${off[@]}" --approve tty -- rm notes.txt
says "$WORK/err" 'there is no terminal to ask at'
run 0 "$AGATE" approvals list
says "$WORK/err" '^nobody waits for an answer'

# --- another process answers ---
begin yes --approve db -- rm notes.txt
within 20 waiting 1 || fail "no question: $(cat "$WORK/yes.err")"
says "$WORK/yes.err" "waits for an answer: agate approvals allow 1, or deny 1"
run 0 "$AGATE" approvals list --json
is "$(json 'j["id"], j["state"], j["command"], j["rule"], j["classes"], j["mode"], len(j["digest"])' "$WORK/out")" \
	"(1, 'waiting', 'rm notes.txt', 'rule 1', 'fileDelete', 'chat', 64)"
run 0 "$AGATE" approvals show 1 --json
is "$(json 'j["request"]["argv"]' "$WORK/out")" "['rm', 'notes.txt']"
run 0 "$AGATE" approvals allow 1 --note 'go on'
ends yes 0
run 0 "$AGATE" diff last --json
says "$WORK/out" 'notes.txt'
run 0 "$AGATE" approvals show 1 --json
is "$(json 'j["state"], j["answeredBy"], j["note"]' "$WORK/out")" "('used', 'uid $(id -u)', 'go on')"

# --- answering twice is an error that changes nothing ---
run 125 "$AGATE" approvals allow 1
says "$WORK/err" "^agate: question 1 is answered already: allowed by uid $(id -u)"
run 125 "$AGATE" approvals deny 1 --remember EXACT
run 0 "$AGATE" rules list --json
is "$(wc -l <"$WORK/out")" 1 "a late answer was remembered"
run 125 "$AGATE" approvals deny 77
says "$WORK/err" '^agate: no question 77'
run 125 "$AGATE" approvals allow x
run 125 "$AGATE" approvals allow 1 --for 1h
says "$WORK/err" 'how long to --remember'

# --- an answer counts once: the next run asks again; no is no ---
begin no --approve db -- rm notes.txt
within 20 waiting 1 || fail "the second run did not ask"
run 0 "$AGATE" approvals deny 2 --note 'not today'
ends no 126
says "$WORK/no.err" "^agate: denied by guard: uid $(id -u) said no: not today: rule 1 asks"
refused guard-fileDelete 'rm notes.txt'

# --- time over ---
begin late --approve db --approve-timeout 1 -- rm notes.txt
ends late 126
says "$WORK/late.err" 'nobody answered in time'
run 125 "$AGATE" approvals allow 3
says "$WORK/err" '^agate: question 3 has expired'

# --- the run is stopped: its question goes with it ---
begin stopped --approve db -- rm notes.txt
within 20 waiting 1 || fail "the run to be stopped did not ask"
kill -TERM "$(supervisor)"
ends stopped 143
within 10 waiting 0 || fail "the question of a stopped run waits on"
run 125 "$AGATE" approvals allow 4
says "$WORK/err" '^agate: question 4 is no longer asked'

# --- the supervisor is killed: nothing runs, and the answer of later helps nobody ---
begin killed --approve db -- touch "$WORK/must-not-be"
sleep 0.1
ends killed 0	# touch asks nobody
rm -f "$WORK/must-not-be"
begin dead --approve db -- rm notes.txt
within 20 waiting 1 || fail "the run to be killed did not ask"
kill -KILL "$(supervisor)"
within 20 ended dead || fail "a killed run goes on"
run 0 "$AGATE" recover
run 125 "$AGATE" approvals allow 5
says "$WORK/err" '^agate: question 5 is no longer asked'

# --- rules that come while somebody thinks ---
begin changed --approve db -- rm notes.txt
within 20 waiting 1 || fail "no question"
run 0 "$AGATE" rules add deny --class fileDelete --reason 'since just now'
run 0 "$AGATE" approvals allow 6
ends changed 126
says "$WORK/changed.err" 'rule 2 denies fileDelete .*: since just now'
run 0 "$AGATE" rules rm 2

# --- many at once, each with its own answer ---
for i in 1 2 3 4 5 6; do
	begin "many$i" --approve db -- rm "file$i"
done
within 40 waiting 6 || fail "six runs, but $(timeout 20 "$AGATE" approvals list --json | wc -l) questions"
timeout 20 "$AGATE" approvals list --json >"$WORK/many"
while read -r id command; do
	case $command in
	*[135]) run 0 "$AGATE" approvals allow "$id" ;;
	*) run 0 "$AGATE" approvals deny "$id" ;;
	esac
done < <(json 'str(j["id"]) + " " + j["command"]' "$WORK/many")
for i in 1 3 5; do
	ends "many$i" 1	# rm runs, and finds no such file
done
for i in 2 4 6; do
	ends "many$i" 126
done

# --- remembered: exactly, by its words, by its place ---
begin exact --approve db -- rm notes.txt
within 20 waiting 1
id=$(timeout 20 "$AGATE" approvals list --json | sed 's/.*"id":\([0-9]*\).*/\1/')
run 0 "$AGATE" approvals allow "$id" --remember EXACT --for 1h --json
rule=$(json 'j["remembered"]' "$WORK/out")
ends exact 0
run 0 "$AGATE" "${off[@]}" --approve none -- rm notes.txt
run 126 "$AGATE" "${off[@]}" --approve none -- rm notes.txt README
(cd src && run 126 "$AGATE" "${off[@]}" --approve none -- rm notes.txt) || exit 1
run 0 "$AGATE" rules list --json
is "$(json 'j["provenance"], "expires" in j' "$WORK/out" | tail -n 1)" "('remembered', True)"
run 0 "$AGATE" rules rm "$rule"
run 126 "$AGATE" "${off[@]}" --approve none -- rm notes.txt

begin dir --approve db -- rm src/main.c
within 20 waiting 1
id=$(timeout 20 "$AGATE" approvals list --json | sed 's/.*"id":\([0-9]*\).*/\1/')
run 0 "$AGATE" approvals allow "$id" --remember dir
ends dir 0
run 1 "$AGATE" "${off[@]}" --approve none -- rm src/other.c
run 126 "$AGATE" "${off[@]}" --approve none -- rm README

begin prefix --approve db -- npm publish --tag x
within 20 waiting 1
id=$(timeout 20 "$AGATE" approvals list --json | sed 's/.*"id":\([0-9]*\).*/\1/')
run 125 "$AGATE" approvals allow "$id" --remember DIR
says "$WORK/err" 'cannot remember this: not all it does is about paths'
run 0 "$AGATE" approvals deny "$id" --remember PREFIX
ends prefix 126
run 126 "$AGATE" rules explain 'env npm publish'
says "$WORK/out" '^deny'

# --- what the owner asks is asked each time ---
echo '{"version":1,"rules":[{"class":"gitCommit","decision":"ask"}]}' >"$WORK/managed.json"
export AGATE_MANAGED_POLICY=$WORK/managed.json
begin owner --approve db -- git commit --allow-empty -m x
within 20 waiting 1
id=$(timeout 20 "$AGATE" approvals list --json | sed 's/.*"id":\([0-9]*\).*/\1/')
run 125 "$AGATE" approvals allow "$id" --remember EXACT
says "$WORK/err" 'it has to be asked each time'
run 0 "$AGATE" approvals allow "$id"
ends owner 0
unset AGATE_MANAGED_POLICY

# --- as events, for who starts runs by program ---
begin events --json --approve db -- rm README
within 20 waiting 1
within 10 grep -q '"type":"approval.asked"' "$WORK/events.out" || fail "no approval.asked while it waits"
id=$(grep '"approval.asked"' "$WORK/events.out" | sed 's/.*"id":\([0-9]*\).*/\1/')
run 0 "$AGATE" approvals allow "$id"
ends events 0
says "$WORK/events.out" '"type":"approval.answered".*"answer":"allow","by":"uid '
says "$WORK/events.out" '"type":"gate.allow".*"answeredBy":"uid '

# --- every decision is a row: who answered, after how long ---
if command -v sqlite3 >/dev/null; then
	rows=$(sqlite3 "$AGATE_STATE_DIR/agate.db" "SELECT verdict, gate, rule, classes, answered_by, waited_us > 0,
		length(request) FROM v_decisions WHERE line = 'rm README' ORDER BY id DESC LIMIT 1")
	is "$rows" "allow|guard|rule 1|fileDelete|uid $(id -u)|1|64"
	rows=$(sqlite3 "$AGATE_STATE_DIR/agate.db" "SELECT verdict, answered_by FROM v_decisions ORDER BY id LIMIT 1")
	is "$rows" "deny|nobody"
fi

# --- at the terminal ---
if command -v python3 >/dev/null; then
	# tty STATUS WORD: a run on a terminal, answered by that word
	tty() {
		printf 'wait may this run?\nwait > \ntype %s\n' "$2" >"$WORK/script"
		timeout -k 5 60 "$ROOT/tests/lib/terminal" "$WORK/script" "$AGATE" "${off[@]}" "${@:3}" >"$WORK/out" 2>"$WORK/err"
		is "$?" "$1" "$(tail -n 5 "$WORK/out")"
	}
	tty 0 'yes\r' -- rm README
	says "$WORK/out" 'why asked: rule 1 asks about fileDelete'
	tty 126 'no\r' -- rm README
	tty 126 '\r' -- rm README
	tty 126 'yeah\r' -- rm README
	tty 126 '\x04' --approve tty -- rm README
	tty 0 'exact\r' -- rm README
	run 0 "$AGATE" "${off[@]}" --approve none -- rm README
	# What no answer would change, nobody is asked about.
	printf 'pause 0\n' >"$WORK/script"
	timeout -k 5 60 "$ROOT/tests/lib/terminal" "$WORK/script" "$AGATE" "${off[@]}" -- rm .env >"$WORK/out" 2>&1
	is "$?" 126 "$(tail -n 5 "$WORK/out")"
	silent "$WORK/out" 'may this run'
fi
exit 0
