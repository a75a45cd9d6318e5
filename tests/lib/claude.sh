# tests/lib/claude.sh - sourced behind int.sh: the real Claude Code, pinned, and a stand-in for its API
# shellcheck shell=bash

# need_claude: $program becomes the CLI, from the cache or npm; skip where it cannot be had
need_claude() {
	local arch package owner
	fake=$SHARED/clients/fake_anthropic.py
	[ -r "$fake" ] || skip "the stand-in for the API is not beside this checkout (shared/clients)"
	command -v python3 >/dev/null || skip "python3 is not installed"
	case $(uname -m) in
	x86_64) arch=x64 ;;
	aarch64) arch=arm64 ;;
	*) skip "there is no Claude Code for $(uname -m)" ;;
	esac
	package=$AGATE_TEST_CACHE/claude
	program=$package/node_modules/@anthropic-ai/claude-code-linux-$arch/claude
	if ! cmp -s "$ROOT/tests/lib/claude/package-lock.json" "$package/.whole"; then
		command -v npm >/dev/null || skip "npm is not installed"
		mkdir -p "$package" || skip "no place for the package: $package"
		cp "$ROOT"/tests/lib/claude/package*.json "$ROOT/.npmrc" "$package/"
		rm -f "$package/.whole"
		(cd "$package" && HOME=$WORK timeout -k 5 400 npm ci --ignore-scripts --no-audit --no-fund) \
			>"$WORK/npm" 2>&1 || skip "npm cannot be reached: $(tail -n 1 "$WORK/npm")"
		cp "$package/package-lock.json" "$package/.whole"
	fi
	owner=$(stat -c %u "$program") || fail "npm installed no '$program'"
	[ "$owner" = 0 ] || [ "$owner" = "$(id -u)" ] || fail "'$program' belongs to somebody else"
	mkdir -p "$HOME/.local/bin"
	ln -s "$program" "$HOME/.local/bin/claude"
	PATH=$HOME/.local/bin:$PATH
}

# shellcheck disable=SC2034 # port and hosts are for those who source this
# serve: the stand-in, on loopback, with the scenario on standard input; $port becomes its port
serve() {
	cat >"$WORK/scenario.json"
	rm -f "$WORK/port"
	[ -z "${fake_pid-}" ] || kill "$fake_pid" 2>/dev/null
	: >"$WORK/api.log"
	python3 "$fake" --scenario "$WORK/scenario.json" --port-file "$WORK/port" --log "$WORK/api.log" >"$WORK/fake.out" 2>&1 &
	fake_pid=$!
	at_end "kill $fake_pid 2>/dev/null"
	within 20 test -s "$WORK/port" || fail "the stand-in did not start: $(cat "$WORK/fake.out")"
	port=$(cat "$WORK/port")
	echo "127.0.0.1 api.test" >"$WORK/hosts"
}
