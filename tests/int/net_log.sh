#!/bin/bash
# --net-log: each connection that was allowed is told when it ends, truly: where to, by which way,
# how many bytes each way, how long, and whose it was. Without it they are not told.
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_sandbox
command -v curl >/dev/null || skip "curl is not installed"
command -v python3 >/dev/null || skip "python3 is not installed"

cat >"$WORK/server.py" <<'PY'
import http.server, time

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/slow":
            time.sleep(1.5)
        body = b"x" * 100000
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

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
echo "127.0.0.1 web.test" >"$WORK/hosts"
mkdir "$WORK/dir"
cd "$WORK/dir" || exit 1
head -c 50000 /dev/zero >post

# What the records of $WORK/out say, a line each: protocol host port in out ms program
cat >"$WORK/records.py" <<'PY'
import json, sys
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e["type"] == "network.connection":
        print(e["protocol"], e["host"], e["port"], e["bytesIn"], e["bytesOut"], e["ms"], e.get("comm"), e.get("exe", "?"),
              "pid" if e.get("pid", 0) > 1 else "nobody", e.get("error", ""))
PY

# record PROTOCOL LEAST-IN LEAST-OUT LEAST-MS: exactly one such, of curl, and no more bytes than a head's beyond it
record() {
	awk -v p="$1" -v i="$2" -v o="$3" -v ms="$4" -v port="$port" '
		$1 == p && $2 == "web.test" && $3 == port && $4 >= i && $4 < i + 2000 && $5 >= o && $5 < o + 2000 &&
			$6 >= ms && $6 < ms + 10000 && $7 == "curl" && $8 ~ /curl$/ && $9 == "pid" { n++ }
		END { exit n != 1 }' "$WORK/records" || fail "no true record of '$1': $(cat "$WORK/records")"
}

for layout in "" 2; do
	export AGATE_LAYOUT=$layout
	[ -n "$layout" ] || unset AGATE_LAYOUT
	get="curl -sS --max-time 20 -o /dev/null"
	transparent="$get --noproxy '*' http://web.test:$port/d" ways=4
	[ -z "$layout" ] || transparent=true ways=3	# no way out but the proxies
	run 0 "$AGATE" run --hosts "$WORK/hosts" --allow-domain "web.test:$port" --net-log --json -- bash -c "
		$get http://web.test:$port/slow; $get -p --data-binary @post http://web.test:$port/b
		$get -x \$ALL_PROXY http://web.test:$port/c; $transparent; $get http://evil.test/; true"
	python3 "$WORK/records.py" "$WORK/out" >"$WORK/records" || fail "its records cannot be read"
	record http 100000 0 1500
	record connect 100000 50000 0
	record socks5 100000 0 0
	[ -n "$layout" ] || record transparent 100000 0 0
	[ "$(wc -l <"$WORK/records")" = $ways ] || fail "other records: $(cat "$WORK/records")"
	run 0 "$AGATE" run --hosts "$WORK/hosts" --allow-domain "web.test:$port" --json -- bash -c "$get http://web.test:$port/a"
	silent "$WORK/out" network.connection
done

# Of a connection that lasts while many others come and go, it is still known whose it was.
unset AGATE_LAYOUT
run 0 "$AGATE" run --hosts "$WORK/hosts" --allow-domain "web.test:$port" --net-log --json -- bash -c "
	python3 -c 'import os, socket, time
s = socket.create_connection((\"web.test\", $port))
while not os.path.exists(\"done\"): time.sleep(0.1)' &
	for i in \$(seq 60); do $get --noproxy '*' http://web.test:$port/a; done
	touch done; wait"
python3 "$WORK/records.py" "$WORK/out" >"$WORK/records"
[ "$(grep -c ' curl ' "$WORK/records")" = 60 ] || fail "not 60 records of curl: $(sort "$WORK/records" | uniq -c | head)"
grep -q ' python3 ' "$WORK/records" || fail "the long connection has lost its name: $(tail -n 2 "$WORK/records")"
exit 0
