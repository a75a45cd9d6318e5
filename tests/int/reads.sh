#!/bin/bash
# timeout: 240
# What may not be read: nested rules, the most specific of which holds, paths and patterns, with and without namespaces.
. "$(dirname "$0")/../lib/int.sh"
need_agate
sample_repo "$WORK/repo"
cd "$WORK/repo" || exit 1
mkdir -p shut/open/shut/open shut/made "$WORK/other/in/deep"
for d in shut shut/open shut/open/shut shut/open/shut/open shut/made; do
	echo "content of $d" >$d/f
	echo "key of $d" >$d/a.secret
done
echo key >top.secret
echo other >"$WORK/other/f"
echo in >"$WORK/other/in/f"
echo deep >"$WORK/other/in/deep/f"
ln -s shut/f link
cat >look.sh <<'EOF'
# look.sh WORD PATH...: each path must be readable (yes) or refused with EACCES (no)
word=$1
shift
for p; do
	if got=$(cat "$p" 2>&1); then is=yes; else is=no; fi
	[ $is = $word ] || { echo "$p: readable $is, wanted $word"; exit 1; }
	[ $is = yes ] || [[ $got == *'Permission denied'* ]] || { echo "$p: $got"; exit 1; }
	[ $is = no ] || [ -n "$got" ] || { echo "$p: empty"; exit 1; }
done
EOF
rules=(--deny-read "$WORK/repo/shut" --allow-read shut/open --deny-read ./shut/open/shut --allow-read "$WORK/repo/shut/open/shut/open"
	--deny-read '*.secret' --allow-read '*/open/a.secret' --read "$WORK/other" --deny-read "$WORK/other/in" --allow-read "$WORK/other/in/deep")

look() {
	run 0 "$AGATE" run "${rules[@]}" -- bash -c '
		bash look.sh no shut/f shut/made/f shut/open/shut/f top.secret shut/open/shut/a.secret link "'"$WORK"'/other/in/f" &&
		bash look.sh yes shut/open/f shut/open/shut/open/f README "'"$WORK"'/other/f" "'"$WORK"'/other/in/deep/f" &&
		! ls shut && ! ls shut/open/shut && ls shut/open >/dev/null &&
		echo new >shut/open/written && cat shut/open/written'
	[ "$(cat "$WORK/out")" = new ] || fail "not what was written"
}
look
AGATE_LAYOUT=2 "$AGATE" run -- true >/dev/null 2>&1 && {
	rules=("${rules[@]/\*\/open\/a.secret/shut/open/f}")
	AGATE_LAYOUT=2 look
}

# Where a mount hides a directory, nothing is written in it either.
run 1 "$AGATE" run --deny-read shut --allow-read shut/open -- bash -c 'echo x >shut/made/x'
# One rule for the same path each way: what allows wins. Later words change nothing.
run 0 "$AGATE" run --deny-read shut --allow-read shut -- cat shut/f
run 0 "$AGATE" run --allow-read shut --deny-read shut -- cat shut/f
# In plan mode it is shown again, and stays read-only.
run 1 "$AGATE" run --mode plan --deny-read shut --allow-read shut/open -- cat shut/f
run 0 "$AGATE" run --mode plan --deny-read shut --allow-read shut/open -- cat shut/open/f
# What may be written keeps being so inside what is hidden.
run 0 "$AGATE" run --deny-read "$WORK/other" --write "$WORK/other/in" -- bash -c 'echo more >>"'"$WORK"'/other/in/f" && ! ls "'"$WORK"'/other"'
says "$WORK/other/in/f" more
# Nobody shows agate's own state.
run 125 "$AGATE" run --allow-read "$AGATE_STATE_DIR" -- true
says "$WORK/err" "agate's own state"
