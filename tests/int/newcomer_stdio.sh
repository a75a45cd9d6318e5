#!/bin/bash
# Input, output, terminal and exit status pass through a run as if agate were not there.
# timeout: 240
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_sandbox
sample_repo "$WORK/repo"
cd "$WORK/repo" || exit 1

# --- bytes ---

head -c 3000000 /dev/urandom >"$WORK/noise"
timeout 60 "$AGATE" run -- cat <"$WORK/noise" >"$WORK/back" 2>"$WORK/err" || fail "cat ended with $?"
cmp "$WORK/noise" "$WORK/back" || fail "what went in did not come out"
run 0 "$AGATE" run -- sh -c 'printf "a\0b\r\n\n"; printf "e\n" >&2'
printf 'a\0b\r\n\n' | cmp - "$WORK/out" || fail "stdout is not as written"
says "$WORK/err" '^e$'
[ ! -s "$WORK/out" ] || silent "$WORK/out" '^agate'
# A closed descriptor must not become whatever agate opens first.
timeout 60 "$AGATE" run -- cat <&- >"$WORK/out" 2>"$WORK/err"
[ ! -s "$WORK/out" ] || fail "a closed stdin had something to read"
timeout 60 "$AGATE" run -- sh -c 'readlink /proc/self/fd/0' <&- >"$WORK/out" 2>"$WORK/err"
silent "$WORK/out" 'agate'
run 0 "$AGATE" run -- sh -c 'test ! -t 0 && test ! -t 1 && test ! -t 2'
seq 300000 >"$WORK/want"
run 0 "$AGATE" run -- seq 300000
cmp "$WORK/want" "$WORK/out" || fail "long output is not whole"
run 0 "$AGATE" run --json -- sh -c 'seq 20000; seq 20000 >&2; printf last'
tail -n 3 "$WORK/out" >"$WORK/tail"
says "$WORK/out" '"type":"stdout"'
python3 - "$WORK/out" <<'PY' || fail "events are not in order"
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
types = [e["type"] for e in events]
last_output = max(i for i, t in enumerate(types) if t in ("stdout", "stderr"))
assert types.count("exit") == 1 and types.index("exit") > last_output, types[-6:]
assert [e["seq"] for e in events] == sorted(e["seq"] for e in events)
text = "".join(e.get("data") or "" for e in events if e["type"] == "stdout")
assert text.endswith("20000\nlast"), text[-40:]
assert len(text.split()) == 20001, len(text.split())
PY

# --- how it ended ---

for code in 0 1 7 77 124 125 126 127 255; do
	run $code "$AGATE" run -- sh -c "exit $code"
done
for sig in TERM KILL SEGV INT; do
	run $((128 + $(kill -l $sig))) "$AGATE" run -- sh -c "kill -$sig \$\$"
done
run 127 "$AGATE" run -- no-such-command
says "$WORK/err" 'no-such-command'
run 127 "$AGATE" run -- ./README
run 124 "$AGATE" run --timeout 1s -- sleep 30
run 3 "$AGATE" run -- sh -c 'exit 3' -- --help --json
run 0 "$AGATE" run -- echo x --version --json
says "$WORK/out" '^x --version --json$'
run 0 "$AGATE" run echo y --mode none
says "$WORK/out" '^y --mode none$'

# --- a terminal ---

on_terminal() {
	local want=$1 rc
	shift
	timeout 60 "$ROOT/tests/lib/terminal" "$WORK/script" "$AGATE" run "$@" >"$WORK/out" 2>"$WORK/err"
	rc=$?
	tr -d '\r' <"$WORK/out" >"$WORK/out2" && mv "$WORK/out2" "$WORK/out"
	[ $rc = "$want" ] || fail "on a terminal: exit status $rc, not $want"
}

cat >"$WORK/script" <<'END'
wait ready
size 33 101
type go\r
wait done
END
# shellcheck disable=SC2016 # expanded inside
on_terminal 4 -- bash -c 'test -t 0 && test -t 1 && test -t 2 && echo ready; read -r x; stty size; echo "got $x"; tty; echo done; exit 4'
says "$WORK/out" '^33 101$'
says "$WORK/out" '^got go$'

cat >"$WORK/script" <<'END'
wait ready
type \x03
wait interrupted
END
on_terminal 5 -- bash -c 'trap "echo interrupted; exit 5" INT; echo ready; while :; do sleep 0.1; done'
on_terminal 130 -- python3 -c 'import signal,time; signal.signal(signal.SIGINT, signal.SIG_DFL); print("ready interrupted", flush=True); time.sleep(30)'

# An interactive shell with jobs of its own.
cat >"$WORK/script" <<'END'
wait prompt>
type sleep 50\r
pause 1
type \x1a
wait Stopped
wait prompt>
type jobs; echo a-$((6 * 7))\r
wait a-42
type fg\r
pause 0.5
type \x03
wait prompt>
type exit 6\r
END
on_terminal 6 --env PS1='prompt> ' -- bash --norc --noprofile -i
silent "$WORK/out" 'no job control|cannot set terminal process group'

# Afterwards the terminal is as it was: nothing is left raw.
cat >"$WORK/script" <<'END'
wait again
END
cat >"$WORK/around.sh" <<END
stty -a | grep -o -- '-\\?icanon\\|-\\?echo ' | tr '\\n' ' '
"$AGATE" run -- sh -c 'stty -echo -icanon; exit 0' 2>/dev/null
stty -a | grep -o -- '-\\?icanon\\|-\\?echo ' | tr '\\n' ' '
"$AGATE" run --timeout 1s -- sleep 20 2>/dev/null
read -t 0 -r x
echo again
END
timeout 60 "$ROOT/tests/lib/terminal" "$WORK/script" bash "$WORK/around.sh" >"$WORK/out" 2>&1 || fail "after a run: exit status $?"
