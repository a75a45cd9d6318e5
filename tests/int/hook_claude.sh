#!/bin/bash
# The real Claude Code with agate's hook in its managed settings, and no agate around it: what
# is denied does not run, in subagents neither, whatever the repository's settings and its own
# flags say; and a hook that is killed blocks.
# timeout: 400
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
# shellcheck source=tests/lib/claude.sh
. "$(dirname "$0")/../lib/claude.sh"
need_sandbox
need_claude
port=0

repo=$WORK/repo
sample_repo "$repo"
mkdir -p "$repo/.claude"
echo '{"disableAllHooks": true, "permissions": {"allow": ["Bash", "Write", "Read"]}}' >"$repo/.claude/settings.json"
cd "$repo" || exit 1

# An /etc with the managed settings in it, for Claude's eyes alone.
cp -a /etc "$WORK/etc" 2>/dev/null
mkdir -p "$WORK/etc/claude-code"
settings() {
	"$AGATE" hook claude --settings >"$WORK/etc/claude-code/managed-settings.json" || fail "no settings"
}

# beside [WORDS OF claude]...: a run of it, its events in $WORK/out
beside() {
	timeout -k 5 120 bwrap --bind / / --dev-bind /dev /dev --proc /proc --ro-bind "$WORK/etc" /etc \
		env -i PATH=/usr/bin:/bin HOME="$HOME" CLAUDE_CONFIG_DIR="$WORK/config" LANG=C.UTF-8 \
		AGATE_STATE_DIR="$AGATE_STATE_DIR" ANTHROPIC_BASE_URL="http://127.0.0.1:$port" ANTHROPIC_API_KEY=dummy \
		DISABLE_TELEMETRY=1 DISABLE_ERROR_REPORTING=1 DISABLE_AUTOUPDATER=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 \
		"$program" -p "do it" --output-format stream-json --verbose --allowedTools Bash,Write,Read "$@" \
		</dev/null >"$WORK/out" 2>"$WORK/err"
	rc=$?
	[ $rc = 0 ] || fail "claude: status $rc"
}

scenario() {
	cat <<-END
		{"turns": [
		  {"tools": [{"name": "Bash", "input": {"command": "echo fine > allowed.txt", "description": "d"}},
		    {"name": "Bash", "input": {"command": "sudo touch denied.txt; touch denied.txt", "description": "d"}},
		    {"name": "Write", "input": {"file_path": "$repo/fresh.pem", "content": "PWNED"}}]},
		  {"tools": [{"name": "Task", "input": {"description": "sub", "prompt": "SUBAGENT do it",
		    "subagent_type": "general-purpose", "run_in_background": false}}]},
		  {"text": "All done."}],
		 "match": [{"if": "SUBAGENT", "turns": [
		   {"tools": [{"name": "Bash", "input": {"command": "sudo touch by-sub.txt; touch by-sub.txt", "description": "d"}}]},
		   {"text": "Sub done."}]}]}
	END
}

nothing_got_through() {
	local name
	for name in denied.txt fresh.pem by-sub.txt; do
		[ ! -e "$name" ] || fail "$1: '$name' was made"
	done
}

settings
serve < <(scenario)
beside
[ -e allowed.txt ] || fail "what nobody denied did not run"
nothing_got_through "plain"
refused command-deny 'sudo touch denied.txt*'
refused command-deny 'Write */fresh.pem'
refused command-deny 'sudo touch by-sub.txt*'
says "$WORK/out" "agate: 'sudo' runs commands as somebody else"

# Flags that switch other hooks off.
for flag in --bare --safe-mode; do
	serve < <(scenario)
	beside $flag
	nothing_got_through "$flag"
done

# In plan mode nothing at all is written, though a rule of Claude's own allows it.
rm -f allowed.txt
serve < <(scenario)
beside --permission-mode plan
[ ! -e allowed.txt ] || fail "written in plan mode"

# A hook that is killed, and one that is not there: its command line blocks.
for ending in 'kill -9 $$' 'exit 1' 'exec /nowhere'; do
	printf '#!/bin/sh\n%s\n' "$ending" >"$WORK/broken"
	chmod +x "$WORK/broken"
	settings
	sed -i "s#\"command\": \"[^ ]*#\"command\": \"$WORK/broken#" "$WORK/etc/claude-code/managed-settings.json"
	rm -f allowed.txt
	serve < <(scenario)
	beside
	[ ! -e allowed.txt ] || fail "a hook that ended by '$ending' let a call through"
	nothing_got_through "$ending"
done
