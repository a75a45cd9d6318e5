#!/bin/bash
# The command line from end to end: help, errors, check, plan, and runs without a sandbox,
# so that it says what it says on any host. What a sandbox holds is tested elsewhere.
# timeout: 240
# shellcheck disable=SC2016,SC2015 # scripts in quotes are the run's; A && B || fail is meant so
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_agate

repo=$WORK/repo
sample_repo "$repo"
cd "$repo" || exit 1
before=$(fingerprint "$repo")
off=(run --sandbox off)

# --- words and mistakes: nothing is made, the status is 125, there is a next step ---
run 0 "$AGATE" --version
says "$WORK/out" '^agate [0-9]'
run 0 "$AGATE" help
cp "$WORK/out" "$WORK/help"
for command in run plan check runs show diff apply discard violations recover doctor; do
	says "$WORK/help" "^  $command "
	run 0 "$AGATE" "$command" --help
	says "$WORK/out" "^usage: agate $command"
	run 0 "$AGATE" help "$command"
done
silent "$WORK/help" 'egress'

# wrong PATTERN WORDS...: status 125, and this on stderr
wrong() {
	local pattern=$1
	shift
	run 125 "$AGATE" "$@"
	says "$WORK/err" "^agate: $pattern"
	[ ! -s "$WORK/out" ] || fail "an error wrote to stdout: $*"
}
wrong 'no command was given'
says "$WORK/err" '^hint: '
wrong "no such command: 'rum'" rum
says "$WORK/err" '^hint: did you mean agate run\?'
wrong 'there is no command to run' run
wrong "unknown option '--moed'" run --moed plan -- true
says "$WORK/err" '^hint: did you mean --mode\?'
wrong "option '--mode': 'yolo' is none of: chat, review, plan, orchestrate" run --mode yolo -- true
wrong "option '--timeout': 'soon' is no duration" run --timeout soon -- true
wrong "option '--json' takes no value" run --json=yes -- true
wrong "cannot use '--workspace overlay'" run --workspace overlay -- true
wrong "option '--approve': 'nobody' is none of" run --approve nobody -- true
wrong "cannot run '--agent acp'" run --agent acp -- true
wrong "cannot hold '--network deny' with '--sandbox off'" run --sandbox off --network deny -- true
wrong "cannot show '/no/such/path' by --read" run --read /no/such/path -- true
wrong "may not show .* agate's own state" run --read "$AGATE_STATE_DIR" -- true
wrong "may not open .* original checkout" run --write "$repo" -- true
wrong "cannot work on .*: the home directory lies in it" run --repo "$WORK" -- true
wrong "--allow-domain: rule '\*\.com'" run --allow-domain '*.com' -- true
wrong ".*LD_PRELOAD.*loader obeys it" run --sandbox off --env LD_PRELOAD=x -- true
wrong "no run 'zzz'" show zzz
wrong 'agate show needs RUN' show
wrong 'there is no run yet' show last
wrong ".*is none of: file, network" violations --layer nosuch
run 0 "$AGATE" runs
[ ! -s "$WORK/out" ] || fail "a refused request left a run behind"
[ -z "$(ls "$AGATE_STATE_DIR/runs")" ] || fail "a refused request left a directory behind"

# --- a request from a file: the same names, whole or not at all ---
echo '{"command":["sh","-c","echo $GREETING"],"sandbox":"off","env":["GREETING=hello"]}' >"$WORK/req.json"
run 0 "$AGATE" run --request "$WORK/req.json"
says "$WORK/out" '^hello$'
run 0 "$AGATE" run --request - <"$WORK/req.json"
says "$WORK/out" '^hello$'
run 0 "$AGATE" run --request "$WORK/req.json" --env GREETING=bye
says "$WORK/out" '^bye$'
wrong 'the command is given twice' run --request "$WORK/req.json" -- true
echo '{"command":["true"],"sandbx":"off"}' >"$WORK/req.json"
wrong "request: unknown field 'sandbx'" run --request "$WORK/req.json"
echo '{"command":["true"],"timeout":-1}' >"$WORK/req.json"
wrong "request: field 'timeout'" run --request "$WORK/req.json"
echo '{"command":["true"]' >"$WORK/req.json"
wrong 'cannot read request' run --request "$WORK/req.json"

# --- check: verdicts and their statuses ---
run 0 "$AGATE" check 'git log --oneline'
says "$WORK/out" '^allow'
run 126 "$AGATE" check 'echo hi; sudo rm x'
says "$WORK/out" '^deny: .*sudo'
says "$WORK/out" '\^\^\^\^'
run 3 "$AGATE" check 'npm publish'
says "$WORK/out" '^ask: '
run 126 "$AGATE" check --mode plan 'git commit -m x'
run 126 "$AGATE" check --json 'sudo ls'
says "$WORK/out" '^\{"verdict":"deny","reason":".+","rule":".+","span":\[[0-9]+,[0-9]+\],"effects":\['
printf '%s\n' 'ls' 'sudo ls' '{"line":"git status\ngit commit -m x","mode":"plan"}' '' >"$WORK/lines"
run 126 "$AGATE" check --batch "$WORK/lines"
[ "$(grep -c '^{"n":' "$WORK/out")" = 4 ] || fail "not one object a line"
says "$WORK/out" '^\{"n":1,"verdict":"allow"'
says "$WORK/out" '^\{"n":2,"verdict":"deny"'
says "$WORK/out" '^\{"n":3,"verdict":"deny"'
says "$WORK/out" '^\{"n":4,"verdict":"allow"'
printf 'ls\n' | run 0 "$AGATE" check --batch -
# A batch is escaped: the end of the here-document is on a line of its own, and one backslash is left.
printf '%s\n' 'cat <<E\nx\nE' 'find . -name x -exec grep y {} \\;' "grep '\bx' y" | run 0 "$AGATE" check --mode plan --batch -
printf '%s\n' 'cat <<E\nx\nE\ntouch y' | run 126 "$AGATE" check --mode plan --batch -
says "$WORK/out" '"span":\[15,20\]|"span":\[1[0-9],'
wrong 'agate check needs either one line or --batch' check

# --- plan: the same twice, a digest that is one, nothing started ---
run 0 "$AGATE" plan --mode plan --deny-write '*.c' --allow-domain example.com -- make
cp "$WORK/out" "$WORK/plan"
run 0 "$AGATE" plan --mode plan --deny-write '*.c' --allow-domain example.com -- make
cmp -s "$WORK/out" "$WORK/plan" || fail "the same request has two plans"
says "$WORK/plan" '"mode":"plan"'
says "$WORK/plan" '"egressAllowlist":\["example.com"\]'
says "$WORK/plan" '"\*\*/\*\.c"'
[ "$(head -n 1 "$WORK/plan" | tr -d '\n' | sha256sum | cut -c 1-64)" = "$(sed -n 2p "$WORK/plan")" ] ||
	fail "the second line is not the digest of the first"
run 0 "$AGATE" plan --json --network deny -- make
says "$WORK/out" '^\{"digest":"[0-9a-f]{64}","spec":\{.*"networkEnabled":false'

# --- a run without a sandbox: its own tree, home and environment; the original stays ---
export AGATE_TEST_SECRET=s3cret
run 7 "$AGATE" "${off[@]}" -- bash -c '
	echo "pwd $PWD"; echo "home $HOME"; echo "secret ${AGATE_TEST_SECRET-none}"
	cat notes.txt .env; echo changed >>README; echo new >new.txt; rm src/main.c
	git add -A && git commit -qm "by the run" && git log --oneline | wc -l
	exit 7'
says "$WORK/err" 'DISABLED by --sandbox off'
says "$WORK/out" "^pwd $AGATE_STATE_DIR/runs/r[0-9a-z]+/ws"
says "$WORK/out" "^home $AGATE_STATE_DIR/runs/r[0-9a-z]+/home"
says "$WORK/out" '^secret none$'
says "$WORK/out" '^not yet committed$'
says "$WORK/out" '^2$'
says "$WORK/err" '^changed: '
says "$WORK/err" '^hint: agate diff r'
[ "$(fingerprint "$repo")" = "$before" ] || fail "the original changed"
id=$("$AGATE" runs --json | sed -n 's/^{"run":"\([^"]*\)".*/\1/p' | head -n 1)
run 0 "$AGATE" show "$id"
says "$WORK/out" '^outcome +exit 7$'
run 0 "$AGATE" diff "$id"
says "$WORK/out" '^\+new$'
says "$WORK/out" '^\+changed$'
run 0 "$AGATE" diff --stat last
says "$WORK/out" '^deleted .*src/main.c$'
run 0 "$AGATE" diff --json "${id:0:12}"
says "$WORK/out" '"path":"new.txt","kind":"added"'
run 0 "$AGATE" apply "$id"
[ "$(cat new.txt)" = new ] && [ ! -e src/main.c ] || fail "the changes were not brought over"
git log --oneline "agate/$id" | grep -q 'by the run' || fail "the commit was not brought over"
run 0 "$AGATE" discard "$id"
run 125 "$AGATE" diff "$id"
says "$WORK/err" 'has no workspace any more'

# --- exit statuses, without and with the words ---
run 0 "$AGATE" "${off[@]}" -- true
run 1 "$AGATE" "${off[@]}" -- false
run 127 "$AGATE" "${off[@]}" -- no-such-program-here
says "$WORK/err" "no-such-program-here"
run 126 "$AGATE" "${off[@]}" -- sudo true
says "$WORK/err" '^agate: denied by command: '
refused command-deny 'sudo true'
run 124 "$AGATE" "${off[@]}" --timeout 300ms -- sleep 60
run 143 "$AGATE" "${off[@]}" -- sh -c 'kill -TERM $$'
run 126 "$AGATE" "${off[@]}" --mode plan -- git commit -m x
run 126 "$AGATE" "${off[@]}" --network ask -- curl https://example.com
mkdir "$WORK/bin"
printf '#!/bin/sh\necho "$@"; echo "$CLAUDE_CONFIG_DIR"; echo "$ANTHROPIC_API_KEY"\n' >"$WORK/bin/claude"
chmod +x "$WORK/bin/claude"
run 126 env PATH="$WORK/bin:$PATH" "$AGATE" "${off[@]}" -- claude --dangerously-skip-permissions -p x
says "$WORK/err" "^agate: denied by seam: claude may not be given '--dangerously-skip-permissions'"
# Not a printing claude: that one is spoken with, see channel.sh.
run 0 env PATH="$WORK/bin:$PATH" "$AGATE" "${off[@]}" -- claude mcp list
says "$WORK/out" '^--setting-sources= --strict-mcp-config --permission-mode=default mcp list$'
says "$WORK/out" "^$AGATE_STATE_DIR/runs/r[0-9a-z]+/home/.config/claude$"
says "$WORK/out" '^agate-placeholder$'
run 0 env AGATE_SANDBOX=off "$AGATE" run -- sh -c 'echo $#; echo "$@"' sh --json -- --help
says "$WORK/out" '^--json -- --help$'

# --- events: in order, exit last of the command's, bytes kept, the status all the same ---
run 5 "$AGATE" "${off[@]}" --json -- sh -c 'printf "gr\303\274n\n"; printf "\377\n" >&2; exit 5'
python3 - "$WORK/out" <<'CHECK' || fail "the events are not as they must be"
import base64, json, sys
events = [json.loads(l) for l in open(sys.argv[1])]
types = [e["type"] for e in events]
seqs = [e["seq"] for e in events]
assert seqs == sorted(seqs), seqs
assert all(len(e["ts"]) == 27 and e["ts"].endswith("Z") for e in events)
assert len({e["run"] for e in events}) == 1
at = types.index
assert at("run.admitted") < at("workspace.ready") < at("starting") < at("ready") < at("stdout") < at("exit"), types
assert at("stderr") < at("exit") < at("run.ended"), types
out = "".join(e["data"] for e in events if e["type"] == "stdout")
assert out == "gr\u00fcn\n", out
err = b"".join(base64.b64decode(e["base64"]) for e in events if e["type"] == "stderr")
assert err == b"\xff\n", err
assert events[at("exit")]["exitCode"] == 5
CHECK
# somebody who stops reading ends the run
timeout 30 "$AGATE" "${off[@]}" --json -- sh -c 'while :; do echo x; sleep 0.02; done' 2>/dev/null | head -n 12 >/dev/null
[ "${PIPESTATUS[0]}" = 125 ] || fail "a reader that is gone did not end the run"

# --- stdin goes through; signals reach the command and it may answer ---
printf 'ping\n' | run 0 "$AGATE" "${off[@]}" -- cat
says "$WORK/out" '^ping$'
"$AGATE" "${off[@]}" -- bash -c 'trap "exit 9" TERM; echo up; while :; do sleep 0.05; done' >"$WORK/up1" 2>/dev/null &
pid=$!
within 20 grep -qs up "$WORK/up1" || fail "the command did not start"
kill -TERM $pid
wait $pid
[ $? = 9 ] || fail "the command could not answer a signal"
"$AGATE" "${off[@]}" -- bash -c 'trap "" TERM; echo up; setsid sleep 1000 & while :; do sleep 0.05; done' >"$WORK/up2" 2>/dev/null &
pid=$!
within 20 grep -qs up "$WORK/up2" || fail "the command did not start"
kill -TERM $pid
sleep 0.3
kill -TERM $pid
wait $pid
[ $? = 137 ] || fail "a second signal did not end it"

# --- a terminal: its size and kind go through, Ctrl-C is the command's, Ctrl-Z stops and fg goes on ---
cat >"$WORK/terminal.py" <<'PY'
import fcntl, os, pty, select, struct, sys, termios, time

def session(argv, steps):
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(argv[0], argv)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    out, at, end = b"", 0, time.time() + 30
    while time.time() < end:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                data = os.read(fd, 4096)
            except OSError:
                data = b""
            if not data:
                break
            out += data
        if steps and out.find(steps[0][0], at) >= 0:
            at = out.find(steps[0][0], at) + len(steps[0][0])
            time.sleep(0.3)
            os.write(fd, steps.pop(0)[1])
    else:
        os.kill(pid, 9)
        sys.exit("hangs: %r" % out)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if steps:
        sys.exit("never came: %r in %r" % (steps[0][0], out))
    return status, out

os.environ["PS1"] = "$ "
run = [sys.argv[1], "run", "--sandbox", "off", "--"]
status, out = session(run + ["bash", "-c", "trap 'exit 7' INT; stty size; echo up; while :; do sleep 0.1; done"],
                      [(b"up\r\n", b"\x03")])
assert status == 7 and b"33 77" in out, (status, out)
line = " ".join(run) + " bash -c 'echo up; sleep 1; echo do''ne'; echo st=$?; exit\n"
status, out = session(["bash", "--norc", "-i"], [(b"$ ", line.encode()), (b"up\r\n", b"\x1a"),
                                                 (b"Stopped", b"fg; echo st=$?; exit\n")])
assert b"done\r\n" in out and b"st=0" in out, out
PY
timeout 90 python3 "$WORK/terminal.py" "$AGATE" >"$WORK/out" 2>&1 || fail "the terminal does not go through"

# --- a supervisor that is killed: found, its processes ended, its row closed ---
"$AGATE" "${off[@]}" --env MARK="$WORK" -- bash -c 'echo work >left.txt; echo up; sleep 1000' >"$WORK/up3" 2>/dev/null &
pid=$!
within 20 grep -qs up "$WORK/up3" || fail "the command did not start"
kill -KILL $pid
wait $pid 2>/dev/null
run 0 "$AGATE" recover
says "$WORK/out" 'closed as lost, its workspace kept'
run 0 "$AGATE" runs --json --limit 1
says "$WORK/out" '"endKind":"lost"'
alive() {
	grep -slzx "MARK=$WORK" /proc/[0-9]*/environ 2>/dev/null | grep -q .
}
! alive || fail "a process outlived the killed supervisor and recover"
run 0 "$AGATE" diff --stat last
says "$WORK/out" 'left.txt'
run 0 "$AGATE" recover
says "$WORK/err" 'nothing was left behind'

# --- what comes from outside cannot fool the terminal ---
run 126 "$AGATE" "${off[@]}" -- sudo $'\e[2Jevil\nagate: all is well'
silent "$WORK/err" $'\e'
run 0 "$AGATE" violations --run last
silent "$WORK/out" $'\e'

# --- completion knows what --help knows ---
run 0 "$AGATE" complete run --mo
says "$WORK/out" '^--mode$'
run 0 "$AGATE" complete run --mode ''
says "$WORK/out" '^orchestrate$'
run 0 "$AGATE" complete sh
says "$WORK/out" '^show$'
