# tests/lib/int.sh - sourced by tests/int/*.sh: a private world and words to judge it with
# shellcheck shell=bash
#
# A script is one test: it exits 0 when all held, 77 through skip, 1 through the first fail.
# It may say in its first 40 lines "# timeout: SECONDS" (180 unless said), and "# once: why"
# if a second round as an ordinary user proves nothing.
#
# Afterwards: ROOT the tree, AGATE the program, WORK a directory that goes away at the end,
# HOME and AGATE_STATE_DIR inside it; no AGATE_ or GIT_ variable of the caller is left.

set -u
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
AGATE=${AGATE:-$ROOT/build/agate}
export SHARED=$ROOT/../shared
cache=${AGATE_TEST_CACHE:-/var/tmp/agate-test-cache-$(id -u)}
while read -r name; do
	unset "$name"
done < <(compgen -e | grep -E '^(AGATE_|CC_SERVER_|GIT_|XDG_|.*_[Pp][Rr][Oo][Xx][Yy]$)' | grep -v '^GIT_SSL')
export AGATE_TEST_CACHE=$cache

WORK=$(mktemp -d "${TMPDIR:-/tmp}/agate-int.XXXXXX") || exit 1
mkdir -p "$WORK/home"
export HOME=$WORK/home AGATE_STATE_DIR=$WORK/state LC_ALL=C.UTF-8
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=tester GIT_AUTHOR_EMAIL=tester@example.invalid
export GIT_COMMITTER_NAME=tester GIT_COMMITTER_EMAIL=tester@example.invalid
PATH=$(dirname "$AGATE"):$PATH
cleanups=()

# at_end COMMAND: run when the script ends, last said first; one string, evaluated then
at_end() {
	cleanups=("$1" "${cleanups[@]}")
}

leave() {
	local rc=$? c
	for c in "${cleanups[@]}"; do
		eval "$c"
	done
	cd /
	chmod -R u+rwX "$WORK" 2>/dev/null
	rm -rf "$WORK"
	exit $rc
}
trap leave EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

skip() {
	echo "$*"
	exit 77
}

# fail WORDS...: the test ends here; what the last run() printed is shown
fail() {
	echo "FAIL: $*"
	[ ! -s "$WORK/out" ] || { echo "--- its stdout"; tail -n 40 "$WORK/out" | cut -c 1-300; }
	[ ! -s "$WORK/err" ] || { echo "--- its stderr"; tail -n 40 "$WORK/err" | cut -c 1-300; }
	exit 1
}

# The last command of a pipe is no subshell: `... | run 0 X` must be able to fail the test.
shopt -s lastpipe

# run STATUS COMMAND...: it must end with that exit status; output in $WORK/out and $WORK/err
run() {
	local want=$1 rc
	shift
	timeout -k 5 "${RUN_SECONDS:-60}" "$@" >"$WORK/out" 2>"$WORK/err"
	rc=$?
	[ "$rc" = "$want" ] || fail "exit status $rc, not $want: $*"
}

# says FILE PATTERN / silent FILE PATTERN: an extended expression is, or is not, in a file
says() {
	grep -Eq -- "$2" "$1" || fail "nothing in $(basename "$1") matches '$2': $(tail -n 3 "$1" | cut -c 1-300)"
}

silent() {
	! grep -Eq -- "$2" "$1" || fail "$(basename "$1") must not match '$2': $(grep -E -m 3 -- "$2" "$1")"
}

# holds WORDS COMMAND...: the command must succeed
holds() {
	local words=$1
	shift
	"$@" || fail "$words"
}

# within SECONDS COMMAND...: it comes true in time
within() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

# fingerprint DIR...: changes if a name, kind, mode, owner, size, time, link or content does. Not
# with an object's time: git renews it, through an alternate too, when it would write the object again
fingerprint() {
	local dir
	for dir; do
		(cd "$dir" && find . -path '*/objects/*' -type f -printf '%y %m %U:%G %s - %l %p\n' -o \
			-printf '%y %m %U:%G %s %T@ %l %p\n' | LC_ALL=C sort &&
			find . -type f -print0 | LC_ALL=C sort -z | xargs -0r sha256sum)
	done | sha256sum | cut -c 1-64
}

# sample_repo DIR: a small git repository with what agate guards, and uncommitted work
sample_repo() {
	mkdir -p "$1/src" "$1/keys"
	git -C "$1" init -q -b main
	printf 'int main(void)\n{\n\treturn 0;\n}\n' >"$1/src/main.c"
	printf '.env\n*.key\n*.o\n' >"$1/.gitignore"
	printf 'sample\n' >"$1/README"
	git -C "$1" add -A
	git -C "$1" commit -q -m "first"
	printf 'TOKEN=real-secret\n' >"$1/.env"
	printf 'real-private-key\n' >"$1/keys/server.key"
	printf 'not yet committed\n' >"$1/notes.txt"
}

# violations [OPTIONS]: rows as NDJSON
violations() {
	timeout -k 5 30 "$AGATE" violations --json "$@"
}

# refused ACTION TARGET-GLOB [RUN]: such a refusal is on record
refused() {
	local run=()
	[ -z "${3-}" ] || run=(--run "$3")
	violations "${run[@]}" >"$WORK/violations" 2>&1
	"$ROOT/tests/lib/rows" "$1" "$2" <"$WORK/violations" ||
		fail "no row '$1' for '$2' among: $(head -c 2000 "$WORK/violations")"
}

# need_agate, need_sandbox: skip where the thing under test cannot be
need_agate() {
	[ -x "$AGATE" ] || fail "'$AGATE' is not built"
}

need_sandbox() {
	need_agate
	command -v bwrap >/dev/null || skip "bubblewrap is not installed"
	bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev true 2>"$WORK/bwrap" ||
		skip "this host gives no namespaces: $(tail -n 1 "$WORK/bwrap")"
}
