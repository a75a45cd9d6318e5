#!/bin/bash
# The only way out of a run is by name, through the proxies, to what was allowed; every refusal
# is told to the program and is on record. Servers of our own stand in for the world.
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_sandbox
command -v curl >/dev/null || skip "curl is not installed"
command -v python3 >/dev/null || skip "python3 is not installed"

cat >"$WORK/server.py" <<'PY'
import http.server, sys

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        port = self.server.server_address[1]
        places = {"/to-loopback": f"http://127.0.0.1:{port}/secret", "/to-evil": "http://evil.test/",
                  "/to-metadata": "http://169.254.169.254/latest/", "/to-decimal": f"http://2130706433:{port}/secret"}
        body = b"" if self.path in places else f"{self.path} for {self.headers['Host']}\n".encode()
        self.send_response(302 if self.path in places else 200)
        if self.path in places:
            self.send_header("Location", places[self.path])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
PY
python3 "$WORK/server.py" >"$WORK/port" &
server=$!
at_end "kill $server 2>/dev/null"
within 10 test -s "$WORK/port" || fail "the test's own server did not start"
port=$(cat "$WORK/port")
echo "127.0.0.1 web.test deep.sub.wild.test wild.test denied.wild.test # all at home
169.254.169.254 rebound.test" >"$WORK/hosts"
mkdir "$WORK/dir"
cd "$WORK/dir" || exit 1

# inside STATUS SCRIPT [OPTIONS]: a run with these rules
inside() {
	local want=$1 script=$2
	shift 2
	run "$want" "$AGATE" run --hosts "$WORK/hosts" --allow-domain "web.test:$port" \
		--allow-domain "*.wild.test:$port" --deny-domain denied.wild.test --allow-domain rebound.test \
		"$@" -- bash -c "$script"
}

get='curl -sS --max-time 20'

# What is allowed works in each of the three ways, and nothing is on record for it.
inside 0 "$get http://web.test:$port/plain
	$get -p http://web.test:$port/tunnel
	$get -x \$ALL_PROXY http://web.test:$port/socks
	$get http://web.test:$port/one http://web.test:$port/two
	$get -d posted http://deep.sub.wild.test:$port/x"
for what in plain tunnel socks one two; do
	says "$WORK/out" "^/$what for web.test:$port\$"
done
says "$WORK/out" posted
violations >"$WORK/violations"
[ ! -s "$WORK/violations" ] || fail "allowed connections left rows: $(head -n 3 "$WORK/violations")"

# A big body arrives whole.
inside 0 "head -c 20000000 /dev/zero | tr '\\0' x >big
	$get --data-binary @big http://web.test:$port/ | cmp - big && echo same"
says "$WORK/out" '^same$'

# What is not allowed is told by name, with what would allow it, in each of the three ways.
inside 0 "$get http://evil.test/; $get https://evil.test:8443/ -v; $get -x \$ALL_PROXY http://evil.test:81/; true"
says "$WORK/out" "^agate: blocked 'evil.test:80': no rule allows it\$"
says "$WORK/out" "--allow-domain 'evil.test'"
says "$WORK/err" "403 agate: blocked 'evil.test:8443'"
for target in evil.test:80 evil.test:8443 evil.test:81; do
	refused network-outbound "$target"
done

# The apex of a wildcard, a denied name below it, another port, metadata, this machine.
inside 0 "$get http://wild.test:$port/; $get http://denied.wild.test:$port/; $get http://web.test/
	$get http://169.254.169.254/; $get http://metadata.google.internal/; $get http://rebound.test/
	$get --noproxy '' http://127.0.0.1:$port/secret; $get --noproxy '' http://localhost:$port/secret
	$get --noproxy '' 'http://[::ffff:127.0.0.1]:$port/secret'; true"
for target in "wild.test:$port" "denied.wild.test:$port" web.test:80 169.254.169.254:80 \
	metadata.google.internal:80 rebound.test:80 "127.0.0.1:$port" "localhost:$port"; do
	refused network-outbound "$target"
done
silent "$WORK/out" secret
says "$WORK/out" "'rebound.test' resolves to a cloud metadata address"
says "$WORK/out" "denied by the rule 'denied.wild.test'"

# Redirects lead nowhere else than the program may go by itself.
inside 0 "for p in loopback evil metadata decimal; do $get --noproxy '' -L http://web.test:$port/to-\$p; done; true"
silent "$WORK/out" secret
[ "$(grep -c "^agate: blocked '" "$WORK/out")" = 4 ] || fail "not four refusals behind redirects"

# Past the proxies only names that are allowed lead anywhere: no server of the host, no address, no other name.
inside 0 "$get --noproxy '*' http://127.0.0.1:$port/secret; $get --noproxy '*' http://evil.test:$port/secret
	exec 3<>/dev/tcp/192.0.2.1/80; echo \$?; true"
silent "$WORK/out" secret
refused network-outbound 192.0.2.1:80
refused network-dns evil.test
inside 0 "$get --noproxy '*' http://web.test:$port/; true"
says "$WORK/out" "/ for web.test:$port"

# Without a network the proxies answer and allow nothing.
inside 0 "$get http://web.test:$port/secret; true" --network deny
silent "$WORK/out" 'secret for'
says "$WORK/out" "the network is off for this run"

# A rule that can be read in two ways ends the run before the command.
for rule in '*' '*.com' 'fo*o.example.com' 127.1 http://web.test; do
	run 125 "$AGATE" run --allow-domain "$rule" -- bash -c "echo started; $get http://web.test/"
done
exit 0
