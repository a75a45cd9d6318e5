# tests/bench/lib.sh - sourced: a place to measure in, the launchers, the table
# shellcheck shell=bash
#
#     BENCH_DIR     where to measure (a directory below $HOME's file system is the honest
#                   choice; default: a new one below /var/tmp, removed at the end)
#     BENCH_PEER    "no" leaves the peer out
#     ROUNDS        how often each command runs
# shellcheck disable=SC2034 # what is set here is used by those who source it
set -u
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${1:-build}
case $build in /*) ;; *) build=$ROOT/$build ;; esac
AGATE=${AGATE:-$build/agate}
[ -x "$AGATE" ] || { echo "bench: '$AGATE' is not built" >&2; exit 1; }
cache=${AGATE_TEST_CACHE:-/var/tmp/agate-test-cache-$(id -u)}

if [ -n "${BENCH_DIR-}" ]; then
	mkdir -p "$BENCH_DIR" || exit 1
	bench=$(cd "$BENCH_DIR" && pwd -P)
else
	bench=$(mktemp -d /var/tmp/agate-bench.XXXXXX) || exit 1
	trap 'chmod -R u+rwX "$bench"; rm -rf "$bench"' EXIT
fi
export AGATE_STATE_DIR=$bench/state HOME=$bench/home LC_ALL=C.UTF-8
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=b GIT_AUTHOR_EMAIL=b@example.invalid
export GIT_COMMITTER_NAME=b GIT_COMMITTER_EMAIL=b@example.invalid
mkdir -p "$HOME"

measure=$bench/measure
"${CC:-cc}" -std=gnu17 -D_GNU_SOURCE -O2 -o "$measure" "$ROOT/tests/bench/measure.c" || exit 1

# The namespaces and mounts that agate makes, by bubblewrap alone: what the rest costs is ours.
bare=(bwrap --unshare-user --unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup
	--die-with-parent --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib
	--symlink usr/lib64 /lib64 --symlink usr/sbin /sbin --ro-bind /etc /etc
	--proc /proc --dev /dev --tmpfs /tmp --tmpfs /run --tmpfs /var/tmp --dir "$HOME")

# find_peer: sets peer to the words that run the peer's launcher, or leaves it empty and says why
peer=()
find_peer() {
	local at=$cache/peer node
	[ "${BENCH_PEER-}" != no ] || return 0
	if ! cmp -s "$ROOT/tests/bench/peer/package-lock.json" "$at/.whole"; then
		mkdir -p "$at" && cp "$ROOT"/tests/bench/peer/package*.json "$ROOT/.npmrc" "$at/"
		(cd "$at" && timeout 300 npm ci --ignore-scripts --no-audit --no-fund) >"$bench/npm" 2>&1 &&
			cp "$at/package-lock.json" "$at/.whole"
	fi
	node=$(echo "$at"/node_modules/node-linux-*/bin/node)
	if [ ! -e "$at/.whole" ] || [ ! -x "$node" ]; then
		echo "without the peer: npm cannot be reached" >&2
	elif ! command -v socat >/dev/null || ! command -v rg >/dev/null; then
		echo "without the peer: it needs socat and ripgrep" >&2
	else
		cat >"$bench/peer.json" <<-END
			{"network": {"allowedDomains": ["example.com"], "deniedDomains": []},
			 "filesystem": {"denyRead": ["~/.ssh"], "allowRead": [], "allowWrite": [".", "/tmp"], "denyWrite": [".env"]}}
		END
		peer=("$node" "$at/node_modules/@anthropic-ai/sandbox-runtime/dist/cli.js" -s "$bench/peer.json")
	fi
}

# table FIRST-COLUMN: rows "name<TAB>median<TAB>least<TAB>most<TAB>cpu" as a table, with each
# median as a ratio of the row called bwrap
table() {
	awk -F '\t' -v title="$1" '
		{ name[NR] = $1; median[NR] = $2; least[NR] = $3; most[NR] = $4; cpu[NR] = $5 }
		$1 == "bwrap" { base = $2 }
		END {
			printf "%-34s %10s %10s %10s %10s %8s\n", title, "median ms", "least", "most", "cpu ms", "x bwrap"
			for (i = 1; i <= NR; i++)
				printf "%-34s %10.2f %10.2f %10.2f %10.2f %8s\n", name[i], median[i], least[i], most[i], cpu[i],
					base ? sprintf("%.2f", median[i] / base) : "-"
		}'
}

# files DIR N: N hundred small files, a hundred in each directory
files() {
	mkdir -p "$1"
	awk -v top="$1" -v n="$2" 'BEGIN {
		for (d = 1; d <= n; d++) {
			dir = top "/d" d; system("mkdir -p " dir)
			for (f = 1; f <= 100; f++) {
				file = dir "/f" f ".txt"
				for (l = 1; l <= 20; l++) print "line", l, "of file", f, "in", d > file
				close(file)
			}
		}
	}'
}

# tree DIR: 20,000 small files in 200 directories, in a git repository
tree() {
	mkdir -p "$1"
	git -C "$1" init -q -b main
	files "$1" 200
	git -C "$1" add -A
	git -C "$1" -c gc.auto=0 commit -q -m "all"	# no work behind our back
}
