#!/bin/bash
# From a clean clone: the two commands the README opens with, as somebody new types them.
# timeout: 540
# once: it builds everything, and building is the same for all
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_sandbox
git -C "$ROOT" rev-parse -q --verify HEAD >"$WORK/head" 2>&1 || skip "this tree is no git repository"

says "$ROOT/README.md" 'make demo'
says "$ROOT/README.md" 'make check'
git clone -q --no-hardlinks "$ROOT" "$WORK/clone" || fail "cannot clone"
cd "$WORK/clone" || exit 1
(timeout -k 5 120 npm ci --ignore-scripts --no-audit --no-fund) >"$WORK/npm" 2>&1 ||
	skip "npm cannot be reached: $(grep -m 1 'npm error' "$WORK/npm" || tail -n 1 "$WORK/npm")"
rm -rf node_modules

RUN_SECONDS=400 run 0 env -u AGATE -u AGATE_STATE_DIR make demo
says "$WORK/out" 'is as it was, to the byte'
for f in build/agate build/agate-init; do
	holds "make left no '$f'" test -x "$f"
done
git status --short >"$WORK/status"
[ ! -s "$WORK/status" ] || fail "building leaves files that git sees: $(cat "$WORK/status")"
# Nothing to do a second time.
run 0 make -q all
run 0 make clean
holds "make clean leaves the build" test ! -e build
