#!/bin/bash
# Programs that know nothing of proxies reach what is allowed by its name, and nothing else:
# each client of this host is tried without a proxy variable. A server of ours speaks HTTP,
# enough of PostgreSQL and Redis, and enough of ssh, to say "reached".
# timeout: 300
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_sandbox
command -v python3 >/dev/null || skip "python3 is not installed"

cat >"$WORK/server.py" <<'PY'
import socket, socketserver, struct

WORD = b"reached"

class Handler(socketserver.BaseRequestHandler):
    def http(self):
        body = WORD + b" by http\n"
        self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body))

    def ssh(self):
        text = WORD + b" by ssh"
        payload = struct.pack(">BII", 1, 2, len(text)) + text + struct.pack(">I", 0)
        padding = 8 - (5 + len(payload)) % 8
        padding += 8 if padding < 4 else 0
        self.request.sendall(b"SSH-2.0-test\r\n" + struct.pack(">IB", 1 + len(payload) + padding, padding)
                             + payload + b"\0" * padding)
        self.request.recv(4096)

    def postgres(self, first):
        if struct.unpack(">II", first[:8])[1] == 80877103:      # may we have TLS?
            self.request.sendall(b"N")
            self.request.recv(4096)
        fields = b"SFATAL\0C28000\0M" + WORD + b" by postgres\0\0"
        self.request.sendall(b"E" + struct.pack(">I", 4 + len(fields)) + fields)

    def handle(self):
        self.request.settimeout(2)
        try:
            first = self.request.recv(4096)
        except socket.timeout:
            first = b""
        if first.startswith(b"SSH-") or not first:
            self.ssh()
        elif first[:1] in (b"*", b"P") and b"PING" in first:
            self.request.sendall(b"+" + WORD + b" by redis\r\n")
        elif first[:1] == b"\0":
            self.postgres(first)
        else:
            self.http()

class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64

# One that nobody gets through to: its backlog is full.
full = socket.socket()
full.bind(("127.0.0.1", 0))
full.listen(0)
stuck = [socket.socket() for _ in range(4)]
for s in stuck:
    s.setblocking(False)
    s.connect_ex(full.getsockname())
closed = socket.socket()
closed.bind(("127.0.0.1", 0))

server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], full.getsockname()[1], closed.getsockname()[1], flush=True)
server.serve_forever()
PY
python3 "$WORK/server.py" >"$WORK/port" &
server=$!
at_end "kill $server 2>/dev/null"
within 10 test -s "$WORK/port" || fail "the test's own server did not start"
read -r port full closed <"$WORK/port"
echo "127.0.0.1 db.test a.wild.test unruled.test
100::1 far.test # a range that leads nowhere" >"$WORK/hosts"
mkdir "$WORK/dir"
cd "$WORK/dir" || exit 1

# inside STATUS SCRIPT [OPTIONS]: without any variable that names a proxy
inside() {
	local want=$1 script=$2
	shift 2
	# shellcheck disable=SC2016 # the inner shell expands it
	run "$want" "$AGATE" run --hosts "$WORK/hosts" --allow-domain "db.test:$port" \
		--allow-domain "*.wild.test:$port" "$@" -- bash -c '
		for v in $(compgen -e); do case $v in *[Pp][Rr][Oo][Xx][Yy]*|JAVA_TOOL_OPTIONS|GIT_SSH_COMMAND) unset $v;; esac; done
		'"$script"
}

# reaches PROGRAM HOW SCRIPT: told and left out where this host lacks the program
tried=0
reaches() {
	command -v "$1" >/dev/null || { echo "not tried: $1 is not installed"; return 0; }
	tried=$((tried + 1))
	inside 0 "$3; true"
	grep -q "reached by $2" "$WORK/out" "$WORK/err" || fail "$1 did not reach its server"
	violations >"$WORK/violations"
	[ ! -s "$WORK/violations" ] || fail "$1 left rows: $(head -n 3 "$WORK/violations")"
}

cat >"$WORK/dir/Get.java" <<'JAVA'
import java.net.URI;
import java.net.http.*;

public class Get {
    public static void main(String[] args) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(args[0])).build();
        System.out.print(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
    }
}
JAVA
cat >"$WORK/dir/get.js" <<'JS'
const socket = require("net").connect(Number(process.argv[3]), process.argv[2]);
socket.on("data", (data) => process.stdout.write(data));
socket.write("GET / HTTP/1.0\r\n\r\n");
JS
cat >"$WORK/dir/get.py" <<'PY'
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), 10) as s:
    s.sendall(b"GET / HTTP/1.0\r\n\r\n")
    print(s.recv(4096).decode())
    print(s.getpeername()[1])
PY
cat >"$WORK/dir/many.py" <<'PY'
import asyncio, sys

async def one(i):
    r, w = await asyncio.open_connection("db.test" if i % 2 else "a.wild.test", int(sys.argv[1]))
    w.write(b"GET / HTTP/1.0\r\n\r\n")
    data = await r.read()
    w.close()
    return b"reached by http" in data

async def main():
    print(sum(await asyncio.gather(*[one(i) for i in range(200)])), "of 200")

asyncio.run(main())
PY

reaches curl http "curl -sS --noproxy '*' http://db.test:$port/"
reaches python3 http "python3 get.py db.test $port"
reaches node http "node get.js a.wild.test $port"
reaches node http "node -e 'fetch(\"http://db.test:$port/\").then(r => r.text()).then(console.log)'"
reaches java http "java Get.java http://db.test:$port/"
reaches perl http "perl -MIO::Socket::INET -e '
	\$s = IO::Socket::INET->new(\"db.test:$port\") or die \$@; print \$s \"GET / HTTP/1.0\\r\\n\\r\\n\"; print <\$s>'"
reaches nc http "printf 'GET / HTTP/1.0\r\n\r\n' | nc -w 5 db.test $port"
reaches socat http "printf 'GET / HTTP/1.0\r\n\r\n' | socat -t 5 - TCP:db.test:$port"
reaches bash http "exec 3<>/dev/tcp/db.test/$port; printf 'GET / HTTP/1.0\r\n\r\n' >&3; cat <&3"
reaches wget http "wget -qO- --no-proxy http://a.wild.test:$port/"
reaches psql postgres "psql -h db.test -p $port -U x x"
reaches redis-cli redis "redis-cli -h db.test -p $port PING"
reaches ssh ssh "ssh -F none -o BatchMode=yes -o StrictHostKeyChecking=no -p $port db.test true"
reaches git ssh "git ls-remote ssh://git@db.test:$port/repo"
reaches go http "cd \$(mktemp -d) && printf 'package main\nimport (\"fmt\"; \"io\"; \"net/http\")\nfunc main() {
	r, err := http.Get(\"http://db.test:$port/\"); if err != nil { panic(err) }
	b, _ := io.ReadAll(r.Body); fmt.Print(string(b)) }\n' >m.go && go run m.go"
[ $tried -gt 2 ] || fail "hardly any client was there to be tried"

# Many at once, some to the same address.
inside 0 "python3 many.py $port"
says "$WORK/out" '^200 of 200$'

# getaddrinfo(3) gives both families, and the same each time.
inside 0 "python3 -c 'import socket
for _ in range(2): print(sorted({a[4][0] for a in socket.getaddrinfo(\"db.test\", 1)}))'"
says "$WORK/out" "^\['198.18.0.1', 'fd00:a6a7::1'\]\$"
[ "$(sort -u "$WORK/out" | wc -l)" = 1 ] || fail "a name changed its address"

# What no rule admits has no address, not even if it is mapped; the record has it once, by name.
inside 0 "for i in 1 2; do python3 get.py unruled.test $port; python3 get.py secret.exfil.test 53; done; true"
refused network-dns unruled.test
refused network-dns secret.exfil.test
silent "$WORK/out" reached

# Who asked is on record, whether by the C library or by hand; the answer comes at once, and says that there is no such name.
cat >"$WORK/dir/ask.py" <<'PY'
import socket, sys, time
q = b"\x12\x34\x01\0\0\1\0\0\0\0\0\0\5naked\4test\0\0\1\0\1"
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
s.sendto(q, ("127.0.0.1", 53))
print("rcode", s.recv(512)[3] & 15)
start = time.monotonic()
try:
    socket.getaddrinfo("libc.test", 1)
except socket.gaierror as e:
    print("no such name" if e.errno == socket.EAI_NONAME else e, "at once" if time.monotonic() - start < 2 else "late")
PY
inside 0 "python3 ask.py; ! getent hosts getent.test"
says "$WORK/out" '^rcode 3$'
says "$WORK/out" '^no such name at once$'
for pair in naked.test:python3 libc.test:python3 getent.test:getent; do
	refused network-dns "${pair%:*}"
	grep "\"${pair%:*}\"" "$WORK/violations" | grep -q "\"comm\":\"${pair#*:}\"" || fail "nobody is named as having asked for ${pair%:*}"
done

# Whatever is sent to the name server, by either way, it stays; and its door opens for nobody it was not told of.
cat >"$WORK/dir/odd.py" <<'PY'
import os, random, socket, struct
q = lambda name, t=1: b"\x12\x34\1\0\0\1\0\0\0\0\0\0" + name + struct.pack(">HH", t, 1)
odd = [b"", b"\0", b"\xff" * 12, b"\xff" * 4096, q(b"\xc0\x0c"), q(b"\1a\xc0\x0c"), q(b"\x3f" + b"a" * 63 + b"\xc0\x0c"),
       q(b"\x40" + b"a" * 64 + b"\0"), q(b"\4a\0b.\0"), q(b"\3\xff\xfe\xfd\4test\0"), q((b"\x3f" + b"a" * 63) * 3 + b"\x3d" + b"b" * 61 + b"\0"),
       q((b"\x3f" + b"a" * 63) * 4 + b"\0"), q(b"\1*\4test\0"), q(b"\0", 255), q(b"\2\r\n\4test\0"), b"\x12\x34\1\0\xff\xff\xff\xff\xff\xff\xff\xff"]
odd += [os.urandom(random.randrange(600)) for _ in range(300)]
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.connect(("127.0.0.1", 53))
for m in odd:
    u.send(m)
for m in odd:
    s = socket.create_connection(("127.0.0.1", 53), 5)
    try:
        s.sendall(struct.pack(">H", len(m)) + m)
        s.settimeout(0.01)
        s.recv(600)
    except OSError:
        pass
    s.close()
s = socket.create_connection(("127.0.0.1", 53), 5)
one = q(b"\2db\4test\0")
for b in struct.pack(">H", len(one)) + one:      # a byte at a time
    s.sendall(bytes([b]))
print("tcp rcode", s.recv(600)[5] & 15)
print("still", socket.gethostbyname("db.test"))
# The listening socket of the helper, asked for by itself.
c = socket.socket(); c.settimeout(8)
print("door", c.connect_ex(("127.0.0.1", 8445)))
PY
inside 0 "python3 odd.py"
says "$WORK/out" '^tcp rcode 0$'
says "$WORK/out" '^still 198.18.0.1$'
says "$WORK/out" '^door 111$'
refused network-dns '?255?254?253.test'
refused network-outbound 127.0.0.1
grep '"127.0.0.1"' "$WORK/violations" | grep -q '"comm":"python3"' || fail "nobody is named as having tried the helper's door"

# Datagrams elsewhere than to the name server are on record, those too that no filter can see, and lead nowhere.
cat >"$WORK/dir/udp.py" <<'PY'
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for send in (lambda: s.sendto(b"x", ("192.0.2.7", 443)), lambda: s.sendto(b"x", ("192.0.2.8", 53)),
             lambda: s.connect(("192.0.2.9", 443)), lambda: s.sendmsg([b"x"], [], 0, ("192.0.2.10", 443))):
    try:
        print("sent", send())
    except OSError as e:
        print(e.strerror)
a, b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
a.bind(("127.0.0.1", 0))
print("own", b.sendto(b"hello", a.getsockname()), a.recv(9))
PY
inside 0 "python3 udp.py"
silent "$WORK/out" '^sent'
says "$WORK/out" "^own 5 b'hello'"
for target in 192.0.2.7:443 192.0.2.8:53 192.0.2.9:443 "datagrams to addresses that are not here"; do
	refused network-outbound "$target"
done
grep '"192.0.2.7:443"' "$WORK/violations" | grep -q '"comm":"python3"' || fail "nobody is named as having sent a datagram"

# Another port, an address nobody was given, a literal; the program is on record where it connected.
inside 0 "python3 get.py db.test 81; python3 get.py 198.18.9.9 443; python3 get.py 192.0.2.1 443; true"
refused network-outbound db.test:81
refused network-outbound 198.18.9.9:443
refused network-outbound 192.0.2.1:443
grep 'db.test:81"' "$WORK/violations" | grep -q '"comm":"python3"' || fail "nobody is named as having asked for db.test:81"

# With the network off no name has an address.
inside 0 "python3 get.py db.test $port; true" --network deny
refused network-dns db.test
silent "$WORK/out" reached

# What the host says to a connection is what the program hears, in whichever way it waits, and it is on record.
cat >"$WORK/dir/fail.py" <<'PY'
import asyncio, errno, os, signal, socket, sys, threading, time
name, port, full, closed = sys.argv[1], *map(int, sys.argv[2:])

def tried(host, port, timeout=None, family=socket.AF_INET):
    s = socket.socket(family)
    s.settimeout(timeout)
    try:
        s.connect((host, port))
        return "connected"
    except OSError as e:
        return errno.errorcode.get(e.errno, "timed out")
    finally:
        s.close()

print("blocking", tried(name, closed), "waiting", tried(name, closed, 5), "v6", tried(name, closed, 5, socket.AF_INET6))
print("far", tried("far.test", 443), tried("far.test", 443, 5))

async def loop():
    try:
        await asyncio.open_connection(name, closed, family=socket.AF_INET)
    except OSError as e:
        print("asyncio", errno.errorcode[e.errno])
asyncio.run(loop())

# Nobody else waits for those who wait, and they can still be called.
threads = [threading.Thread(target=tried, args=(name, full), daemon=True) for _ in range(12)]
for t in threads:
    t.start()
time.sleep(0.5)
start = time.monotonic()
for i in range(50):
    open("file%d" % i, "w").close()
print("connected meanwhile", tried(name, port))
print("files", "at once" if time.monotonic() - start < 1.5 else "late")
signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(InterruptedError()))
signal.setitimer(signal.ITIMER_REAL, 0.5)
start = time.monotonic()
try:
    socket.socket().connect((name, full))
except InterruptedError:
    print("called", "in time" if time.monotonic() - start < 2 else "late")
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, b"\1" + b"\0" * 15)
start = time.monotonic()
print("own time", s.connect_ex((socket.gethostbyname(name), full)) == errno.EINPROGRESS, "kept" if time.monotonic() - start < 3 else "over")
sys.stdout.flush()
os._exit(0)
PY
inside 0 "python3 fail.py db.test $port $full $closed" --allow-domain "db.test:$full" --allow-domain "db.test:$closed" \
	--allow-domain far.test --json
says "$WORK/out" 'blocking ECONNREFUSED waiting ECONNREFUSED v6 ECONNREFUSED'
says "$WORK/out" 'far EHOSTUNREACH EHOSTUNREACH'
says "$WORK/out" 'asyncio ECONNREFUSED'
says "$WORK/out" 'connected meanwhile connected'
says "$WORK/out" 'files at once'
says "$WORK/out" 'called in time'
says "$WORK/out" 'own time True kept'
says "$WORK/out" "\"type\":\"network.connection\",\"host\":\"db.test\",\"port\":$closed,.*\"error\":\"refused the connection\".*\"comm\":\"python3\""
says "$WORK/out" '"host":"far.test","port":443,.*"error":"cannot be reached"'

# Connections that were allowed are told when asked for.
inside 0 "python3 get.py db.test $port" --net-log --json
says "$WORK/out" '"type":"network.connection".*"host":"db.test"'
says "$WORK/out" '"protocol":"transparent","bytesIn":[1-9][0-9]*,"bytesOut":18,"ms":[0-9]+,"pid":[0-9]+,"comm":"python3"'
exit 0
