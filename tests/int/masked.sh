#!/bin/bash
# No secret that stands in a command gets into the state directory: not by a run's row, its events,
# its decisions, its refusals or the questions asked about it, nor by a hook's event.
# timeout: 240
# once: records know nothing of who asks
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_sandbox

repo=$WORK/repo
sample_repo "$repo"
cd "$repo" || exit 1

long=$(head -c 390 /dev/urandom | base64 -w0)
jwt="eyJhbGciOiJIUzI1NiJ9.$(printf '{"sub":"planted-subject-1","iat":1}' | base64 -w0 | tr -d =).Qm9ndXMtc2lnbmF0dXJlLWZvci10ZXN0cw"
# SECRET, then the words it stands in; "@" is the secret.
secrets=(
	"ghp_16C7e42F292c6912E7710c838347Ae178B4a" 'true @'
	"github_pat_11ABCDEFG0abcdefghijkl_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz01" 'true x=@'
	"sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-AbCdEfGhIj-AA" 'true --key @'
	"wJalrXUtnFEMIK7MDENGbPxRfiCYzzTESTKEYzz1" 'true AWS_SECRET_ACCESS_KEY=@'
	"xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx" 'true @'
	"glpat-AbCdEfGhIjKlMnOpQrSt" 'true @'
	"$jwt" 'true @'
	"$long" 'true @'
	"hunter2-first" 'true --password @'
	"hunter2-second" 'true --password=@'
	"hunter2-third" 'true https://user:@@h.test/x'
	"hunter2 with blanks" 'true --password @'
	"dXNlcjpodW50ZXIyLWZvdXJ0aA" 'true -H "Authorization: Basic @"'
	"hunter2-fifth" 'true -H "Authorization: Bearer @"'
	"hunter2-sixth" 'curl -u "me:@" http://h.test/'
)
n=${#secrets[@]}

# The words, one a line of $words
words_of() {
	local text=${secrets[$1 + 1]}
	# shellcheck disable=SC2016 # for the shell that reads it
	eval "set -- $(printf '%s' "$text" | sed 's/@/"$secret"/; s/"\(.*\)"$secret"\(.*\)"$/"\1$secret\2"/')"
	words=("$@")
}

for ((i = 0; i < n; i += 2)); do
	secret=${secrets[i]}
	words_of "$i"
	case "${words[*]}" in *"$secret"*) ;; *) fail "the test plants nothing: ${words[*]}" ;; esac
	timeout 30 "$AGATE" run --discard -- "${words[@]}" >/dev/null 2>&1
	timeout 30 "$AGATE" run --mode plan -- touch "${words[@]}" >/dev/null 2>&1
	timeout 30 "$AGATE" run -- sudo "${words[@]}" >/dev/null 2>&1
	# Known by its shape wherever it stands, as no program's name and in what is said of that, too.
	[ "${secrets[i + 1]}" != 'true @' ] || timeout 30 "$AGATE" run -- "$secret" x >/dev/null 2>&1
	timeout 30 "$AGATE" run --approve db --approve-timeout 100ms -- git push "${words[@]:1}" >/dev/null 2>&1
	printf '%q ' "${words[@]}" >"$WORK/line"
	for line in "$(cat "$WORK/line")" "sudo $(cat "$WORK/line")"; do
		jq -nc --arg cwd "$repo" --arg line "$line" '{session_id:"s",cwd:$cwd,permission_mode:"default",
			hook_event_name:"PreToolUse",tool_name:"Bash",tool_input:{command:$line},tool_use_id:"t"}' |
			timeout 30 "$AGATE" hook claude >/dev/null 2>&1
	done
done
run 0 "$AGATE" runs --json
[ "$(wc -l <"$WORK/out")" -ge $((n + n / 2)) ] || fail "the runs are not on record"
says "$WORK/out" 'masked'

# All bytes of all files, the log of the database too; no copy of the workspace was kept.
find "$AGATE_STATE_DIR" -type f -print0 | xargs -0 cat >"$WORK/bytes"
for ((i = 0; i < n; i += 2)); do
	! grep -aqF -e "${secrets[i]}" "$WORK/bytes" ||
		fail "'${secrets[i]:0:40}' of '${secrets[i + 1]}' is in the state: $(grep -aoF -e "${secrets[i]}" "$WORK/bytes" | wc -l) times, as $(
			grep -aoE ".{60}${secrets[i]:0:20}.{20}" "$WORK/bytes" | head -n 3 | tr -c '[:print:]\n' '?')"
done
