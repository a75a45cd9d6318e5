#!/bin/bash
# Helpers, supervisors and commands die at the worst moment: nothing of the run lives on,
# nothing runs less confined, and what was lost is told and put in order.
# timeout: 120
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_sandbox
sample_repo "$WORK/repo"
mkdir "$WORK/jobs"
job=$WORK/jobs/job.sh
cd "$WORK/repo" || exit 1
before=$(fingerprint "$WORK/repo")

# start SCRIPT [OPTIONS]: a run in the background; $supervisor is its process, and it has begun
start() {
	local script=$1
	shift
	printf '%s\n' "$script" >"$job"
	rm -f "$WORK/stdout"
	"$AGATE" run --keep --read "$WORK/jobs" "$@" --env NONCE="$WORK" -- bash "$job" >"$WORK/stdout" 2>"$WORK/stderr" &
	supervisor=$!
	within 10 grep -q '^begun' "$WORK/stdout" || fail "the run did not begin: $(cat "$WORK/stderr")"
}

# ended: its exit status, once it is over, in $status
ended() {
	within "$1" gone "$supervisor" || fail "the run goes on $1 s later"
	wait "$supervisor"
	status=$?
}

gone() { ! kill -0 "$1" 2>/dev/null || [ "$(awk '{ print $3 }' "/proc/$1/stat" 2>/dev/null)" = Z ]; }

# nobody: no process carries the run's nonce any more
nobody() { ! grep -qlzsx "NONCE=$WORK" /proc/[0-9]*/environ; }

helper() { pgrep -P "$supervisor" -f "$1" | head -n 1; }

loop='echo begun; while :; do echo x >>plain.txt; sleep 0.05; done'

# The broker killed: the run ends as failed, the command with it.
start "$loop"
broker=$(helper 'agate-init broker')
[ -n "$broker" ] || fail "no broker is to be seen"
kill -KILL "$broker"
ended 10
[ "$status" = 125 ] || fail "a run that lost its broker ended with $status"
holds "the command outlived its broker" within 5 nobody
says "$WORK/stderr" '[a-z]'

# The command cannot see or signal its broker.
printf '! kill -0 %s 2>/dev/null && ! grep -qa "[a]gate-init.broker" /proc/[0-9]*/cmdline\n' "$broker" >"$job"
run 0 "$AGATE" run --read "$WORK/jobs" -- bash "$job"

# The supervisor killed outright: the tree goes at once, recover closes the record.
start "$loop"
kill -KILL "$supervisor"
wait "$supervisor" 2>/dev/null
holds "the command outlived its supervisor" within 5 nobody
run 0 "$AGATE" recover
run 0 "$AGATE" runs --json
says <(head -n 1 "$WORK/out") '"state":"(destroyed|error)"'
silent <(head -n 1 "$WORK/out") '"outcome":"exit 0"'

# Asked to end: the command gets the signal, its status says so.
start 'trap "echo told; exit 9" TERM; echo begun; while :; do sleep 0.05; done'
kill -TERM "$supervisor"
ended 15
says "$WORK/stdout" '^told$'
holds "something outlived the run" within 5 nobody

# A tree that ignores signals, at its time: killed whole, and told as a time-out.
start 'trap "" TERM INT HUP; for i in 1 2 3; do (trap "" TERM INT HUP; setsid sleep 60 & sleep 60) & done; echo begun; wait' --timeout 2s
ended 15
[ "$status" = 124 ] || fail "a time-out ended with $status"
holds "something outlived the time-out" within 5 nobody

# The output's reader goes away: no hang, nothing left.
echo 'exec yes' >"$job"
timeout 20 "$AGATE" run --read "$WORK/jobs" --env NONCE="$WORK" -- bash "$job" 2>"$WORK/stderr" | head -n 1 >"$WORK/stdout"
[ "${PIPESTATUS[0]}" != 124 ] || fail "the run hangs once nobody reads its output"
holds "something outlived its reader" within 5 nobody

[ "$(fingerprint "$WORK/repo")" = "$before" ] || fail "the original changed"
