#!/bin/bash
# Control groups: doctor tells what holds, a limit ends the run either way, and a group that a
# killed run left is emptied and removed.
# timeout: 120
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_sandbox

# --- told as it is ---
run 0 "$AGATE" doctor
says "$WORK/out" 'memory and processes are limited'

# --- the limits hold, by the kernel or by the watch, and the end says which ---
cd "$WORK" || exit 1
sample_repo repo
cd repo || exit 1
cat >"$WORK/hog.py" <<'PY'
import time
held = []
for i in range(400):
    held.append(bytearray(1 << 20))
    time.sleep(0.005)
time.sleep(30)
PY
cat >"$WORK/forks.py" <<'PY'
import os, time
while True:
    try:
        if not os.fork():
            time.sleep(30)
            os._exit(0)
    except OSError:
        time.sleep(0.01)
PY
! timeout -k 5 60 "$AGATE" run --memory 96M -- python3 -c "$(cat "$WORK/hog.py")" >"$WORK/out" 2>"$WORK/err" ||
	fail "a run that took four times its memory ended well"
says "$WORK/err" 'memory: the run used|MemoryError'	# RLIMIT_DATA holds one process, the tree is watched
for layout in 1 2; do
	[ $layout = 1 ] || AGATE_LAYOUT=2 timeout -k 5 30 "$AGATE" run -- true 2>/dev/null || continue
	! AGATE_LAYOUT=$layout timeout -k 5 60 "$AGATE" run --pids 40 -- python3 -c "$(cat "$WORK/forks.py")" \
		>"$WORK/out" 2>"$WORK/err" || fail "a fork bomb ended well in layout $layout"
	says "$WORK/err" 'processes: the run used all of its 4[0-9]'
done

# --- what a killed run left ---
mount=$(awk '$0 ~ / - cgroup2 / && $4 == "/" { print $5; exit }' /proc/self/mountinfo)
[ -n "$mount" ] || skip "cgroup v2 is not mounted here: nothing can be left behind"
"$AGATE" run --sandbox off -- bash -c 'echo up; sleep 100' >"$WORK/up" 2>/dev/null &
pid=$!
within 20 grep -qs up "$WORK/up" || fail "the command did not start"
id=$("$AGATE" runs --json --limit 1 | sed -n 's/.*"run":"\([^"]*\)".*/\1/p')
dir=$(find "$AGATE_STATE_DIR" -type d -name "$id" | head -n 1)
[ -d "$dir" ] || fail "run '$id' has no directory"
group=$mount/agate-$id
if ! mkdir "$group" 2>/dev/null; then
	kill -KILL $pid
	timeout 30 "$AGATE" recover >/dev/null 2>&1
	skip "no group may be made in '$mount' by user $(id -u)"
fi
# shellcheck disable=SC2016 # expanded then
at_end 'rmdir "$group" 2>/dev/null'
# It has no mark of the run in its environment: only its group tells whose it is.
env -i setsid sleep 100 &
left=$!
echo $left >"$group/cgroup.procs" || fail "a process cannot be moved to '$group'"
printf '%s' "$group" >"$dir/cgroup"
kill -KILL $pid
wait $pid 2>/dev/null
run 0 "$AGATE" recover
says "$WORK/out" 'closed as lost'
[ ! -e "$group" ] || fail "the group of a killed run is still there"
wait $left
[ $? = 137 ] || fail "a process in the group of a killed run lives on"

# A file that names something else does nothing but say so.
"$AGATE" run --sandbox off -- bash -c 'echo up; sleep 100' >"$WORK/up2" 2>/dev/null &
pid=$!
within 20 grep -qs up "$WORK/up2" || fail "the command did not start"
id=$("$AGATE" runs --json --limit 1 | sed -n 's/.*"run":"\([^"]*\)".*/\1/p')
mkdir "$WORK/agate-$id"
printf '%s' "$WORK/agate-$id" >"$(find "$AGATE_STATE_DIR" -type d -name "$id" | head -n 1)/cgroup"
kill -KILL $pid
wait $pid 2>/dev/null
run 0 "$AGATE" recover
says "$WORK/err" 'cannot end the control group'
[ -d "$WORK/agate-$id" ] || fail "recover removed what is no group"
