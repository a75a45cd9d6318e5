# tests/lib/count.sh - sourced: count what passed, failed and was skipped, and show it
# shellcheck shell=bash
# A test is told in one line; a failing one shows its output.

: "${tmp:?a directory for output}"

passed=0
failed=0
skipped=0
reasons=()
losers=()

section() {
	printf '== %s\n' "$1"
}

pass() {
	passed=$((passed + 1))
	printf 'ok      %s\n' "$1"
}

skip() {
	skipped=$((skipped + 1))
	reasons+=("$1: $2")
	printf 'skip    %s: %s\n' "$1" "$2"
}

# fail NAME WHY [OUTPUT FILE]
fail() {
	failed=$((failed + 1))
	losers+=("$1: $2")
	printf 'FAILED  %s: %s\n' "$1" "$2"
	[ -z "${3-}" ] || tail -n 200 "$3" | sed 's/^/        | /'
}

# status_words STATUS: what an exit status says to a person
status_words() {
	case $1 in
	124 | 137) echo "took too long (or was killed)" ;;
	*) echo "exit status $1" ;;
	esac
}

# settle NAME STATUS OUTPUT: one test that ended: 0 passes, 77 skips for the reason in its last line
settle() {
	case $2 in
	0) pass "$1" ;;
	77) skip "$1" "$(tail -n 1 "$3")" ;;
	*) fail "$1" "$(status_words "$2")" "$3" ;;
	esac
}

# judge NAME COMMAND...: run one test and settle it
judge() {
	local name=$1
	shift
	"$@" >"$tmp/out" 2>&1
	settle "$name" $? "$tmp/out"
}

# count_tap NAME STATUS FILE: many tests in one program, told by it in cmocka's TAP.
# cmocka writes a skip as "not ok N # SKIP name", with the reason printed before it.
count_tap() {
	local name=$1 rc=$2 file=$3 p f s planned
	read -r p f s planned < <(awk '
		/^not ok [0-9]+ # SKIP/ { s++; next }
		/^ok [0-9]+ /           { p++; next }
		/^not ok [0-9]+ /       { f++; next }
		/^1\.\.[0-9]+$/         { n += substr($0, 4) }
		END { print p + 0, f + 0, s + 0, n + 0 }' "$file")
	passed=$((passed + p))
	skipped=$((skipped + s))
	while IFS= read -r line; do
		reasons+=("$name: $line")
	done < <(awk '
		/^not ok [0-9]+ # SKIP/ { sub(/^not ok [0-9]+ # SKIP /, ""); print $0 ": " (why ? why : "says no reason"); why = ""; next }
		/^(not )?ok |^#|^1\.\./ { why = ""; next }
		{ why = $0 }' "$file")
	if [ "$f" -gt 0 ]; then
		failed=$((failed + f - 1))
		fail "$name" "$f of $planned tests" "$file"
	elif [ "$rc" != 0 ]; then
		fail "$name" "$(status_words "$rc"), though $p of $planned tests passed" "$file"
	elif [ "$planned" = 0 ] || [ $((p + s)) -lt "$planned" ]; then
		fail "$name" "ran $((p + s)) of $planned tests" "$file"
	else
		printf 'ok      %s: %s passed%s\n' "$name" "$p" "$([ "$s" = 0 ] || echo ", $s skipped")"
	fi
}

# finish: the reasons, the failures once more, the counting line; the shell ends
finish() {
	local line
	if [ ${#reasons[@]} -gt 0 ]; then
		section "skipped, and why"
		printf '%s\n' "${reasons[@]}"
	fi
	if [ ${#losers[@]} -gt 0 ]; then
		section "failed"
		printf '%s\n' "${losers[@]}"
	fi
	echo
	printf '%s passed, %s failed, %s skipped\n' "$passed" "$failed" "$skipped"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
	exit $?
}
