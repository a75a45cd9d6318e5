#!/bin/bash
# The real Claude Code CLI, pinned, driven by a scripted stand-in for the model's API: it
# reaches the API through the egress proxy alone, its tools run in the sandbox, its edits
# land in the workspace, and what they may not is refused and on record.
# timeout: 560
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_sandbox

fake=$SHARED/clients/fake_anthropic.py
[ -r "$fake" ] || skip "the stand-in for the API is not beside this checkout (shared/clients)"
case $(uname -m) in
x86_64) arch=x64 ;;
aarch64) arch=arm64 ;;
*) skip "there is no Claude Code for $(uname -m)" ;;
esac

# The package is some 380 MB, so it stays in a cache; the lock file pins it by content.
package=$AGATE_TEST_CACHE/claude
program=$package/node_modules/@anthropic-ai/claude-code-linux-$arch/claude
install_claude() {
	command -v npm >/dev/null || skip "npm is not installed"
	mkdir -p "$package" || skip "no place for the package: $package"
	cp "$ROOT"/tests/lib/claude/package*.json "$ROOT/.npmrc" "$package/"
	rm -f "$package/.whole"
	(cd "$package" && HOME=$WORK timeout -k 5 400 npm ci --ignore-scripts --no-audit --no-fund) \
		>"$WORK/npm" 2>&1 || skip "npm cannot be reached: $(grep -m 1 'npm error' "$WORK/npm" || tail -n 1 "$WORK/npm")"
	cp "$package/package-lock.json" "$package/.whole"
}
cmp -s "$ROOT/tests/lib/claude/package-lock.json" "$package/.whole" || install_claude
owner=$(stat -c %u "$program") || fail "npm installed no '$program'"
[ "$owner" = 0 ] || [ "$owner" = "$(id -u)" ] || fail "'$program' belongs to somebody else"

# As installed for a person: a program on the PATH, below the home directory.
mkdir -p "$HOME/.local/bin" "$HOME/.ssh"
ln -s "$program" "$HOME/.local/bin/claude"
PATH=$HOME/.local/bin:$PATH
echo "a private key" >"$HOME/.ssh/id_rsa"

repo=$WORK/repo
sample_repo "$repo"
echo "deny me" >"$repo/secret.txt"
cat >"$repo/try.sh" <<-END
	echo PWNED > .env; echo PWNED > src/.env.local; cat $HOME/.ssh/id_rsa; cat secret.txt; echo still here > src/ok.txt
END

# serve SCENARIO: the stand-in on loopback, under a name that only the hosts file knows
serve() {
	sed -e "s#@REPO@#$repo#g; s#@HOME@#$HOME#g" "$ROOT/tests/lib/claude/$1.json" >"$WORK/scenario.json"
	rm -f "$WORK/port"
	python3 "$fake" --scenario "$WORK/scenario.json" --port-file "$WORK/port" --log "$WORK/api.log" >"$WORK/fake.out" 2>&1 &
	fake_pid=$!
	at_end "kill $fake_pid 2>/dev/null"
	within 10 test -s "$WORK/port" || fail "the stand-in did not start: $(cat "$WORK/fake.out")"
	port=$(cat "$WORK/port")
	echo "127.0.0.1 api.test" >"$WORK/hosts"
}

# drive PROMPT [OPTIONS OF agate run]...: one run; $id becomes its id
drive() {
	local prompt=$1
	shift
	cd "$repo" || exit 1
	RUN_SECONDS=150 run 0 "$AGATE" run --agent claude --keep --hosts "$WORK/hosts" \
		--allow-domain "api.test:$port" --env "ANTHROPIC_BASE_URL=http://api.test:$port" "$@" \
		-- claude -p "$prompt" --output-format stream-json --verbose --allowedTools Bash,Write,Read
	id=$(timeout 20 "$AGATE" runs --json | sed -n 's/.*"run":"\([^"]*\)".*/\1/p' | head -n 1)
	[ -n "$id" ] || fail "no run is on record"
	kill $fake_pid
	wait $fake_pid 2>/dev/null
}

before=$(fingerprint "$repo" "$HOME/.ssh")

serve edits
drive "edit the file"
says "$WORK/out" '"subtype":"success"'
says "$WORK/out" 'All done'
says "$WORK/api.log" '"path": "/v1/messages'
run 0 "$AGATE" diff "$id"
says "$WORK/out" '^\+a line by claude'
says "$WORK/out" 'src/new.txt'
says "$WORK/out" '^\+written by claude'
[ "$(fingerprint "$repo" "$HOME/.ssh")" = "$before" ] || fail "the original changed under the first run"
run 0 "$AGATE" show "$id"

serve refused
drive "do what you may not" --deny-read "$repo/secret.txt"
cp "$WORK/out" "$WORK/stream"
says "$WORK/stream" '"subtype":"success"'
silent "$WORK/stream" 'a private key'
silent "$WORK/stream" 'deny me'
refused 'file-write-create|file-write-data' '*/.env' "$id"
refused 'file-write-create' '*/src/.env.local' "$id"
refused 'file-read-data' '*/secret.txt' "$id"
refused 'command-deny' 'echo PWNED > .env' "$id"
refused 'command-deny' 'Write */fresh.key' "$id"
refused 'command-deny' 'Read */secret.txt' "$id"
run 0 "$AGATE" diff "$id"
says "$WORK/out" '^\+still here'
silent "$WORK/out" 'PWNED'
[ "$(fingerprint "$repo" "$HOME/.ssh")" = "$before" ] || fail "the original changed under the second run"

# Nothing but the API was spoken to, and by the model's path alone.
silent "$WORK/api.log" '"path": "/(api|v2)/'
