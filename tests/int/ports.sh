#!/bin/bash
# A server inside is reached from the host at the port that was published, and a server of the
# host from inside at the port that was given; nothing else on either side, in both layouts.
# timeout: 300
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_sandbox
command -v curl >/dev/null || skip "curl is not installed"
command -v python3 >/dev/null || skip "python3 is not installed"
unset LAYOUT
mkdir "$WORK/dir" "$WORK/host"
echo "from inside" >"$WORK/dir/word"
echo "from the host" >"$WORK/host/word"
cd "$WORK/dir" || exit 1
get='curl -sS --max-time 10'

# free_port: one that nobody listens on now
free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# serve DIR PORT [ADDRESS]: a server of the host until the test ends
serve() {
	(cd "$1" && exec python3 -m http.server "$2" --bind "${3:-127.0.0.1}" >/dev/null 2>&1) &
	at_end "kill $! 2>/dev/null"
	within 20 curl -sf -o /dev/null "http://${3:-127.0.0.1}:$2/" || fail "the test's own server did not start"
}

# publishing OPTIONS...: a run with a server on $inside; $server is its process
publishing() {
	timeout -k 5 60 "$AGATE" run "$@" -- bash -c "exec python3 -m http.server $inside --bind ${bound:-127.0.0.1}" \
		>"$WORK/out" 2>"$WORK/err" &
	server=$!
}

ended() {
	kill "$server" 2>/dev/null
	wait "$server" 2>/dev/null
}

reached() {
	[ "$(curl -sS --max-time 5 "$1" 2>/dev/null)" = "$2" ]
}

cat >"$WORK/dir/ways.py" <<'PY'
import os, socket, sys, urllib.parse
port = int(sys.argv[1])
reached = []

def ask(s, words=b""):
    s.settimeout(3)
    s.sendall(words + b"GET /word HTTP/1.0\r\n\r\n")
    data = b""
    while True:
        more = s.recv(4096)
        if not more:
            return data
        data += more

def attempt(what, connect):
    try:
        if b"from the host" in connect():
            reached.append(what)
    except OSError:
        pass

for family, host in [(socket.AF_INET, h) for h in ("127.0.0.1", "127.1.2.3", "0.0.0.0", "198.18.0.1", "198.18.255.254", "255.255.255.255")] + [
        (socket.AF_INET6, h) for h in ("::1", "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0", "fd00:a6a7::1", "::127.0.0.1", "64:ff9b::7f00:1")]:
    for bound in (0, 1):
        def direct():
            s = socket.socket(family)
            s.settimeout(3)
            if bound:
                s.bind(("::" if family == socket.AF_INET6 else "0.0.0.0", 0))
            s.connect((host, port))
            return ask(s)
        attempt("%s %d" % (host, bound), direct)

http = urllib.parse.urlsplit(os.environ["HTTP_PROXY"])
import base64
word = base64.b64encode(("%s:%s" % (http.username, http.password)).encode()).decode()
auth = "Proxy-Authorization: Basic %s\r\n" % word if http.username else ""
for host in ("localhost", "127.0.0.1", "[::1]", "127.1", "2130706433", "0x7f000001", "localhost.", "a.localhost", "[::ffff:127.0.0.1]", "0.0.0.0"):
    for line in ("CONNECT %s:%d HTTP/1.1\r\nHost: x\r\n%s\r\n" % (host, port, auth),
                 "GET http://%s:%d/word HTTP/1.1\r\nHost: %s:%d\r\nConnection: close\r\n%s\r\n" % (host, port, host, port, auth)):
        attempt(line.split("\r")[0], lambda: ask(socket.create_connection((http.hostname, http.port), 3), line.encode()))
print("reached:", ", ".join(reached) or "none")
PY
own=$(free_port)
serve "$WORK/host" "$own"
other=$(free_port)
serve "$WORK/host" "$other"

for LAYOUT in "" 2; do
	export AGATE_LAYOUT=$LAYOUT
	[ -n "$LAYOUT" ] || unset AGATE_LAYOUT

	# --- from the host to a server inside ---
	outside=$(free_port)
	inside=$(free_port)
	publishing --publish "$outside:$inside" --json
	within 20 reached "http://127.0.0.1:$outside/word" "from inside" || fail "the published server was not reached"
	# Many at once.
	: >"$WORK/many"
	many=()
	for _ in 1 2 3 4 5 6 7 8; do
		curl -sS --max-time 10 "http://127.0.0.1:$outside/word" >>"$WORK/many" &
		many+=($!)
	done
	wait "${many[@]}"
	[ "$(sort -u "$WORK/many")" = "from inside" ] || fail "many at once: $(head -n 3 "$WORK/many")"
	ended
	says "$WORK/out" "\"type\":\"network.published\",\"address\":\"127.0.0.1\",\"port\":$outside,\"inside\":$inside"
	says "$WORK/out" "\"type\":\"network.connection\",\"host\":\"127.0.0.1\",\"port\":$outside,\"protocol\":\"publish\""
	! reached "http://127.0.0.1:$outside/word" "from inside" || fail "it is reached when the run is over"

	# Nobody listens inside: the connection ends, with the reason on record, and the run goes on.
	run 0 "$AGATE" run --publish "$outside:$inside" --json -- bash -c 'echo up; sleep 3' &
	sleep 1.5
	$get "http://127.0.0.1:$outside/" >/dev/null 2>&1 && fail "an answer came from nobody"
	wait $!
	says "$WORK/out" "\"protocol\":\"publish\".*\"error\":\"nobody listens there inside\""

	# IPv6 on both ends, and a port that is picked.
	if python3 -c 'import socket; socket.socket(socket.AF_INET6).bind(("::1", 0))' 2>/dev/null && [ -z "$LAYOUT" ]; then
		bound=::1 publishing --publish "[::1]:$outside:$inside"
		within 20 reached "http://[::1]:$outside/word" "from inside" || fail "not reached by IPv6"
		ended
	fi
	publishing --publish "0:$inside"
	within 20 grep -q "port $inside inside is 127.0.0.1:" "$WORK/err" || fail "it does not say which port was picked"
	picked=$(sed -n "s/.*port $inside inside is 127.0.0.1:\([0-9]*\) here.*/\1/p" "$WORK/err")
	within 20 reached "http://127.0.0.1:$picked/word" "from inside" || fail "the picked port '$picked' was not reached"
	ended

	# The same port on both sides.
	publishing --publish "$inside" --json
	within 20 reached "http://127.0.0.1:$inside/word" "from inside" || fail "not reached at the server's own port"
	ended
	says "$WORK/out" "\"type\":\"network.published\",\"address\":\"127.0.0.1\",\"port\":$inside,\"inside\":$inside"

	# A port that is taken: nothing starts.
	run 125 "$AGATE" run --publish "$own:$inside" -- touch started
	says "$WORK/err" "cannot publish on '127.0.0.1:$own': Address already in use"
	run 125 "$AGATE" run --publish "$own" -- touch started
	says "$WORK/err" "cannot publish on '127.0.0.1:$own': Address already in use"

	# --- from inside to a server of the host ---
	run 0 "$AGATE" run --host-port "$own" --json -- bash -c "
		$get http://localhost:$own/word; $get http://127.0.0.1:$own/word
		python3 -c 'import urllib.request as u; print(u.urlopen(\"http://localhost:$own/word\").read().decode())'
		$get http://127.0.0.1:$other/word || echo no other"
	[ "$(grep -o 'from the host' "$WORK/out" | wc -l)" = 3 ] || fail "the host's server was not reached three times"
	says "$WORK/out" 'no other'
	says "$WORK/out" "\"type\":\"network.connection\",\"host\":\"localhost\",\"port\":$own,\"protocol\":\"host-port\""
	says "$WORK/out" '"protocol":"host-port".*"comm":"python3"'
	# However it is spelt, by whichever way: one port, and no other. The helper's own sockets are nobody's to use.
	run 0 "$AGATE" run --host-port "$own" --allow-domain x.test -- python3 ways.py "$other"
	says "$WORK/out" '^reached: none$'
	refused network-outbound "localhost:$other"
	refused network-outbound "127.0.0.1:$other"
	# Through the proxy it is still no destination, and what would help is known.
	run 0 "$AGATE" run --host-port "$own" -- bash -c "$get --noproxy '' http://localhost:$other/word; true"
	refused network-outbound "localhost:$other"
	"$AGATE" violations --suggest >"$WORK/suggested" 2>&1
	says "$WORK/suggested" "^--host-port $other\$"
	# A deny rule beats it.
	run 0 "$AGATE" run --host-port "$own" --deny-domain localhost -- bash -c "$get http://127.0.0.1:$own/word; true"
	silent "$WORK/out" "from the host"
	refused network-outbound "localhost:$own"
	# Without it, not even the port that another run has.
	run 0 "$AGATE" run -- bash -c "$get http://127.0.0.1:$own/word; $get http://localhost:$own/word; true"
	silent "$WORK/out" "from the host"
done
unset AGATE_LAYOUT
[ ! -e "$WORK/dir/started" ] || fail "a command was started without its published port"

# --- what cannot be ---
run 125 "$AGATE" run --publish 0.0.0.0:8080 -- true
says "$WORK/err" "'0.0.0.0' is not a loopback address"
run 125 "$AGATE" run --publish 8080:3128 -- true
says "$WORK/err" "inside, port 3128 is the run's HTTP proxy"
run 125 "$AGATE" run --host-port 53 -- true
run 125 "$AGATE" run --host-port 5432 --network deny -- true
says "$WORK/err" "cannot use '--host-port' with '--network deny'"

# The digest covers them, in one spelling.
digest() {
	"$AGATE" plan "$@" -- true 2>&1 | grep -oE '[0-9a-f]{64}' | head -n 1
}
plain=$(digest)
with=$(digest --publish 8080 --host-port 5432)
same=$(digest --publish localhost:8080:8080 --host-port 5432)
holds "the digest does not cover the ports" test "$plain" != "$with"
holds "digests differ by spelling: $with, $same" test "$with" = "$same"
run 0 "$AGATE" plan --publish 8080 --host-port 5432 -- true
says "$WORK/out" '"publish"'
says "$WORK/out" '"127.0.0.1:8080:8080"'
exit 0
