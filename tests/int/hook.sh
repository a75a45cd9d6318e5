#!/bin/bash
# agate hook claude: what it answers, what it records, and that nothing whatever makes it
# let a call through by accident.
# timeout: 240
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_agate

repo=$WORK/repo
sample_repo "$repo"
cd "$repo" || exit 1
export CLAUDE_PROJECT_DIR=$repo

# event TOOL INPUT [MODE]: a PreToolUse event as Claude sends it
event() {
	printf '{"session_id":"s1","transcript_path":"%s/.claude/projects/p/s1.jsonl","cwd":"%s","permission_mode":"%s",' \
		"$HOME" "$repo" "${3-default}"
	printf '"hook_event_name":"PreToolUse","tool_name":"%s","tool_input":%s,"tool_use_id":"toolu_%s"}' "$1" "$2" "$1"
}

# asked TOOL INPUT [OPTIONS]...: its answer in $WORK/out, its status in $rc
asked() {
	local tool=$1 input=$2
	shift 2
	event "$tool" "$input" "${as-default}" | timeout -k 5 20 "$AGATE" hook claude "$@" >"$WORK/out" 2>"$WORK/err"
	rc=${PIPESTATUS[1]}
}

# answers DECISION TOOL INPUT [OPTIONS]...: none, allow, ask or deny
answers() {
	local want=$1
	shift
	asked "$@"
	[ "$rc" = 0 ] || fail "status $rc for: $*"
	if [ "$want" = none ]; then
		[ ! -s "$WORK/out" ] || fail "an opinion on: $*"
	else
		says "$WORK/out" '^\{"hookSpecificOutput":\{"hookEventName":"PreToolUse","permissionDecision":"'"$want"'"'
	fi
}

answers none Bash '{"command":"ls src"}'
answers none Bash '{"command":"echo x > a"}'
answers deny Bash '{"command":"sudo ls"}'
answers ask Bash '{"command":"git push"}'
answers deny Bash '{"command":"echo x > a"}' --mode plan
as=plan answers deny Bash '{"command":"echo x > a"}'
as=plan answers none Bash '{"command":"ls"}'
as=bypassPermissions answers deny Bash '{"command":"sudo ls"}'
# Nobody can tell git to run none of what a repository names, so there it does not only look.
mkdir -p inner && git -C inner init -q && git -C inner config diff.x.textconv ./evil
as=plan answers none Bash '{"command":"git diff; git log"}'
as=plan answers deny Bash '{"command":"cd inner && git diff"}'
as=plan answers deny Bash '{"command":"git -C inner log -p"}'
answers none Bash '{"command":"git -C inner log -p"}'
git config core.fsmonitor ./evil
as=plan answers deny Bash '{"command":"git status"}'
says "$WORK/out" 'core.fsmonitor'
as=plan answers none Bash '{"command":"ls src"}'
git config --unset core.fsmonitor
rm -rf inner
answers none Read '{"file_path":"README"}'
answers deny Read "{\"file_path\":\"$HOME/.ssh/id_rsa\"}"
answers none Write '{"file_path":"src/new.c","content":"x"}'
answers deny Write '{"file_path":".env","content":"x"}'
answers deny Write '{"file_path":".git/hooks/pre-commit","content":"x"}'
answers deny Edit '{"file_path":"/etc/hosts","old_string":"a","new_string":"b"}'
answers none Grep '{"pattern":"x"}'
answers none WebFetch '{"url":"https://api.test/x","prompt":"p"}' --allow-domain api.test
answers ask WebFetch '{"url":"https://api.test/x","prompt":"p"}'
answers deny WebFetch '{"url":"https://api.test/x","prompt":"p"}' --deny-domain api.test
mkdir -p "$HOME/.config/agate"
echo '{"allowedDomains": ["own.test"], "deniedDomains": ["bad.test"]}' >"$HOME/.config/agate/config.json"
answers none WebFetch '{"url":"https://own.test/x","prompt":"p"}'
answers deny Bash '{"command":"curl https://bad.test/x"}'
answers deny Read "{\"file_path\":\"$HOME/.config/agate/config.json\"}"
rm "$HOME/.config/agate/config.json"
answers deny WebFetch '{"url":"http://169.254.169.254/latest","prompt":"p"}'
answers ask mcp__tracker__close '{"id":1}'
answers none mcp__tracker__close '{"id":1}' --allow-tool mcp__tracker
answers deny Invented '{}'
answers deny TodoWrite '{}' --deny-tool TodoWrite
answers none TodoWrite '{}'
answers allow Read '{"file_path":"README"}' --decide
answers allow Bash '{"command":"ls src"}' --decide
answers none Bash '{"command":"./build.sh"}' --decide
answers deny Read '{"file_path":"README"}' --deny-read README

# Where the disk decides: links, and one to nowhere.
ln -s "$HOME/.bashrc" start
ln -s /etc shadowdir
answers deny Write '{"file_path":"start","content":"x"}'
answers deny Bash '{"command":"echo x >> start"}'
answers deny Read '{"file_path":"shadowdir/shadow"}'
[ ! -e "$HOME/.bashrc" ] || fail "judging has made a file"

# Stored rules hold here too: they deny, and they answer what would be asked.
rule() {
	run 0 "$AGATE" rules add "$@"
	number=$(grep -oE '[0-9]+' "$WORK/out" | head -n 1)
}
rule deny --tool Write --path "$repo/src/**" --reason "src is frozen"
answers deny Write '{"file_path":"src/new.c","content":"x"}'
says "$WORK/out" 'src is frozen'
answers none Write '{"file_path":"new.c","content":"x"}'
run 0 "$AGATE" rules rm "$number"
answers none Write '{"file_path":"src/new.c","content":"x"}'
rule allow --command 'git push'
answers none Bash '{"command":"git push"}'
answers allow Bash '{"command":"git push"}' --decide
answers deny Bash '{"command":"git push"}' --mode plan
run 0 "$AGATE" rules rm "$number"
mkdir .agate
echo '{"version":1,"rules":[{"class":"networkEgress","decision":"deny"' >.agate/policy.json
answers deny Read '{"file_path":"README"}'
rm -r .agate

# On record: the decision with its call's id, and the refusal.
refused command-deny 'sudo ls'
refused command-deny 'Write .env'

# --- nothing lets a call through by accident ---

# blocked WORDS: what just ran ended in the status that blocks, and said why
blocked() {
	[ "$rc" = 2 ] || fail "$1: status $rc"
	[ ! -s "$WORK/out" ] || fail "$1: an answer all the same"
	says "$WORK/err" '^agate: denied: .'
}

# given TEXT: the hook with these bytes
given() {
	printf '%b' "$1" | timeout -k 5 20 "$AGATE" hook claude >"$WORK/out" 2>"$WORK/err"
	rc=${PIPESTATUS[1]}
}

for text in '' '{' 'null' '[]' 'ls' '{}' '\0' '\xff\xfe' '{"hook_event_name":"PreToolUse"}' \
	'{"hook_event_name":"Stop","cwd":"/","tool_name":"Bash","tool_input":{}}'; do
	given "$text"
	blocked "input '$text'"
done
event Bash '{"command":"ls"}' | head -c 120 >"$WORK/cut"
given "$(cat "$WORK/cut")"
blocked "a cut event"
{ event Bash '{"command":"' | head -c -1; head -c 1100000 /dev/zero | tr '\0' x; echo '"}}'; } |
	timeout -k 5 20 "$AGATE" hook claude >"$WORK/out" 2>"$WORK/err"
rc=${PIPESTATUS[1]}
blocked "over a mebibyte"
timeout -k 5 20 "$AGATE" hook claude <&- >"$WORK/out" 2>"$WORK/err"
rc=$?
blocked "no input at all"
for words in '' 'codex' 'claude extra' 'claude --no-such-option' 'claude --mode nonsense' 'claude --allow-domain'; do
	# shellcheck disable=SC2086 # words
	event Bash '{"command":"ls"}' | timeout -k 5 20 "$AGATE" hook $words >"$WORK/out" 2>"$WORK/err"
	rc=${PIPESTATUS[1]}
	[ "$rc" = 2 ] || fail "agate hook $words: status $rc"
done
asked WebFetch '{"url":"https://api.test/","prompt":"p"}' --allow-domain 'two words'
says "$WORK/out" '"permissionDecision":"deny"'

# The user's file, when it cannot be read.
mkdir -p "$HOME/.config/agate"
echo '{"allowedDomains": [' >"$HOME/.config/agate/config.json"
event Bash '{"command":"ls"}' | timeout -k 5 20 "$AGATE" hook claude >"$WORK/out" 2>"$WORK/err"
rc=${PIPESTATUS[1]}
blocked "a broken configuration"
rm "$HOME/.config/agate/config.json"

# An input that never ends: the time is up before Claude's is.
begin=$SECONDS
sleep 8 | timeout -k 5 20 "$AGATE" hook claude >"$WORK/out" 2>"$WORK/err"
rc=${PIPESTATUS[1]}
blocked "an input that never ends"
says "$WORK/err" 'did not come to a verdict in time'
[ $((SECONDS - begin)) -ge 4 ] || fail "the time was up at once"

# Signals while it waits for its input.
mkfifo "$WORK/fifo"
for sig in HUP INT QUIT ILL TRAP ABRT BUS FPE USR1 SEGV USR2 ALRM TERM XCPU XFSZ VTALRM PROF IO SYS TSTP TTIN TTOU 40; do
	"$AGATE" hook claude <"$WORK/fifo" >"$WORK/out" 2>"$WORK/err" &
	pid=$!
	exec 7>"$WORK/fifo"
	within 5 grep -q '^SigCgt:.*ffff' "/proc/$pid/status" || fail "it did not start"
	kill -s "$sig" $pid
	wait $pid
	rc=$?
	exec 7>&-
	blocked "signal $sig"
done

# Signals at any moment: a whole answer, or blocked. Our own trap would be the child's until it has begun.
trap - TERM
event Bash '{"command":"sudo ls"}' >"$WORK/event"
for i in $(seq 1 40); do
	"$AGATE" hook claude <"$WORK/event" >"$WORK/out" 2>"$WORK/err" &
	pid=$!
	sleep "0.$(printf '%03d' $((i % 20)))"
	kill -TERM $pid 2>/dev/null
	wait $pid
	rc=$?
	[ "$rc" = 2 ] || { [ "$rc" = 0 ] && grep -q '"deny"' "$WORK/out"; } ||
		[ "$rc" = 143 ] || fail "TERM at some moment: status $rc"	# 143: it was not loaded yet
done
trap 'exit 143' TERM

# Nobody hears the answer.
"$AGATE" hook claude <"$WORK/event" >&- 2>"$WORK/err"
rc=$?
: >"$WORK/out"
blocked "stdout closed"
"$AGATE" hook claude <"$WORK/event" >/dev/full 2>"$WORK/err"
rc=$?
blocked "stdout full"
"$AGATE" hook claude <"$WORK/event" >/dev/null 2>&-
[ $? = 2 ] || fail "no descriptor to speak on"

# A database that cannot take the decision: a file in its place, damage, no room, another one's.
event Bash '{"command":"ls"}' >"$WORK/event"
broken() {
	AGATE_STATE_DIR=$2 timeout -k 5 20 "$AGATE" hook claude <"$WORK/event" >"$WORK/out" 2>"$WORK/err"
	rc=$?
	blocked "$1"
}
: >"$WORK/file"
broken "a file for a state directory" "$WORK/file"
mkdir -p "$WORK/damaged/runs" "$WORK/dir/agate.db"
chmod 700 "$WORK/damaged" "$WORK/dir"
head -c 8192 /dev/urandom >"$WORK/damaged/agate.db"
broken "a damaged database" "$WORK/damaged"
broken "a directory for a database" "$WORK/dir"
(
	ulimit -f 8
	AGATE_STATE_DIR=$WORK/small timeout -k 5 20 "$AGATE" hook claude <"$WORK/event" >"$WORK/out" 2>"$WORK/err"
)
rc=$?
blocked "no room for the record"

# Out of memory, from too little to start with to enough: never let through by a crash. What
# cannot even be loaded is caught by the hook's own command line.
line=$("$AGATE" hook claude --settings | sed -n 's/.*"command": "\(.*\)",*$/\1/p')
case $line in *"hook claude || exit 2") ;; *) fail "odd settings: $line" ;; esac
event Bash '{"command":"sudo ls"}' >"$WORK/event"
for kib in 1000 4000 8000 16000 20000 24000 28000 32000 40000 60000 200000; do
	(
		ulimit -v $kib
		exec /bin/sh -c "$line" <"$WORK/event" >"$WORK/out" 2>"$WORK/err"
	)
	rc=$?
	[ "$rc" = 2 ] || [ "$rc" = 127 ] || [ "$rc" = 126 ] || { [ "$rc" = 0 ] && grep -q '"deny"' "$WORK/out"; } ||
		fail "with $kib KiB: status $rc"
done
[ "$rc" = 0 ] || fail "200 MB are not enough"

# Killed, which no program can catch: the command line blocks for it.
cat >"$WORK/killed" <<-END
	#!/bin/sh
	kill -9 \$\$
END
chmod +x "$WORK/killed"
/bin/sh -c "$WORK/killed ${line#* }" 2>/dev/null
[ $? = 2 ] || fail "a killed hook does not block"

# The small program is the same.
small=$(dirname "$AGATE")/agate-hook
[ -x "$small" ] || fail "'$small' was not built"
case $line in *"agate-hook claude || exit 2") ;; *) fail "the settings do not name the small program: $line" ;; esac
"$small" claude <"$WORK/event" >"$WORK/out" 2>"$WORK/err" || fail "agate-hook: status $?"
says "$WORK/out" '"permissionDecision":"deny"'
for words in '' 'codex' 'claude --no-such-option' 'claude --help'; do
	# shellcheck disable=SC2086 # words
	"$small" $words <"$WORK/event" >"$WORK/out" 2>"$WORK/err"
	rc=$?
	[ "$rc" = 2 ] || fail "agate-hook $words: status $rc"
done
echo '{' | "$small" claude >"$WORK/out" 2>"$WORK/err"
rc=${PIPESTATUS[1]}
blocked "agate-hook with a broken event"

# With 0, 1 or 2 missing no file of ours takes their place.
"$small" claude <"$WORK/event" >&- 2>"$WORK/err"
rc=$?
: >"$WORK/out"
blocked "agate-hook with stdout closed"
"$small" claude <&- >"$WORK/out" 2>"$WORK/err"
rc=$?
blocked "agate-hook with stdin closed"
"$small" claude <"$WORK/event" >&- 2>&- <&-
[ $? = 2 ] || fail "agate-hook with no descriptor at all"
event Bash '{"command":"ls"}' | "$small" claude >"$WORK/out" 2>&-
[ "${PIPESTATUS[1]}" = 0 ] || fail "agate-hook without stderr has no answer"
run 0 "$AGATE" violations --json
