#!/bin/bash
# timeout: 240
# The layout without namespaces: what it holds by itself, and that nothing outlives a run whoever dies.
. "$(dirname "$0")/../lib/int.sh"
need_agate
export AGATE_LAYOUT=2
sample_repo "$WORK/repo"
cd "$WORK/repo" || exit 1
mkdir -p "$WORK/other"
echo secret >"$WORK/other/secret.txt"
timeout 60 "$AGATE" run --sandbox require -- true >"$WORK/out" 2>"$WORK/err" || {
	grep -q 'Landlock\|cannot be had' "$WORK/err" && skip "$(grep -m 1 agate: "$WORK/err")"
	fail "no run without namespaces"
}
says "$WORK/err" 'ON without namespaces'

# inside SCRIPT: as a file, since the command policy reads what stands on the command line
inside() {
	printf '%s\n' "$2" >script.sh
	run "$1" "$AGATE" run --keep -- bash ./script.sh
	rm -f script.sh
}
before=$(fingerprint "$WORK/repo/src" "$WORK/repo/keys" "$WORK/other")

inside 0 "
	! cat '$WORK/other/secret.txt' || exit 1
	! cat '$WORK/repo/README' || exit 2
	! ls '$WORK/other' || exit 3
	! ln '$WORK/other/secret.txt' here || exit 4
	! ln /etc/hostname here || exit 5
	! cat /proc/self/root$WORK/other/secret.txt || exit 6
	! cat /proc/self/cwd/../../../../other/secret.txt || exit 7
	! echo x >>'$WORK/other/secret.txt' || exit 8
	! mv '$WORK/other' mine || exit 9
	echo private >\"\$TMPDIR/a\" && ln -s \"\$TMPDIR/a\" link && cat link || exit 10
	git commit -q --allow-empty -m inside && git log --oneline || exit 11
	mkdir d && echo y >d/f && mv d e && cat e/f || exit 12
	echo out >/dev/stdout && echo err >/dev/stderr || exit 13
"
[ "$(fingerprint "$WORK/repo/src" "$WORK/repo/keys" "$WORK/other")" = "$before" ] || fail "the host changed"

# A file the user hands over may be opened again, with the rights it has and no more.
printf 'echo again >/dev/stdout\n' >script.sh
timeout 60 "$AGATE" run -- bash ./script.sh >"$WORK/log" 2>"$WORK/err" || fail "could not write to /dev/stdout"
says "$WORK/log" again
rm -f script.sh

# What it leaves in the background ends with it.
inside 0 "setsid sleep 4711 & (sleep 4712 &) ; sleep 0.2"
! pgrep -f 'sleep 471[12]' >/dev/null || fail "something outlived the run"

# kill_one PATTERN: a run loses one of its processes; none of the rest may live on
kill_one() {
	printf 'setsid sleep 4713 & (sleep 4714 &) ; sleep 4715\n' >script.sh
	timeout 60 "$AGATE" run -- bash ./script.sh >"$WORK/out" 2>"$WORK/err" &
	local job=$!
	within 20 pgrep -f 'sleep 4715' >/dev/null || fail "the run did not start"
	kill -KILL "$(pgrep -f "$1" | head -n 1)"
	wait "$job"
	within 15 eval '! pgrep -f "sleep 471[345]" >/dev/null' || fail "processes outlived '$1': $(pgrep -fa 'sleep 471')"
	rm -f script.sh
}
kill_one '^agate-init bare'
kill_one "^$AGATE run"
kill_one 'sleep 4715'
exit 0
