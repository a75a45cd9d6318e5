#!/bin/bash
# HTTP/2 where TLS is looked into: streams side by side, bodies both ways, trailers, the rules and
# the credentials of HTTP/1.1, and frames of ill will, none of which ends more than its connection.
# timeout: 400
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
# shellcheck source=tests/lib/tls.sh
. "$ROOT/tests/lib/tls.sh"
need_sandbox
for tool in curl python3 openssl; do
	command -v $tool >/dev/null || skip "$tool is not installed"
done
curl --version | grep -q '^Features:.* HTTP2' || skip "this curl has no HTTP/2"
python3 -c "import ctypes; ctypes.CDLL(\"libnghttp2.so.14\")" 2>/dev/null || skip "libnghttp2 is not installed"

cd "$WORK" || exit 1
make_root
make_host host api.test other.test
cat >server.py <<'PY'
import http.server, ssl, hashlib, time

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self):
        if self.headers.get("Transfer-Encoding"):
            data = b""
            while n := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(n)
                self.rfile.readline()
            while (line := self.rfile.readline()) != b"\r\n":
                data += b"trailer " + line
            return data
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def say(self, data, fields={}):
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        for k, v in fields.items():
            self.send_header(k, v)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def do_GET(self):
        with open("seen", "ab") as f:
            f.write((self.requestline + "\n" + "".join(f"{k}: {v}\n" for k, v in self.headers.items())).encode())
        if self.path == "/big":
            self.say(b"0123456789abcdef" * (1 << 20))
        elif self.path == "/slow":
            time.sleep(1)
            self.say(b"slow")
        elif self.path == "/until-close":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"x" * 100000)
            self.close_connection = True
            try:
                self.connection.unwrap()  # says that this is the end, and no cut
            except OSError:
                pass
        elif self.path == "/cut":
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"only this")
            self.close_connection = True
        elif self.path == "/trailers":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.send_header("Trailer", "x-sum")
            self.end_headers()
            self.wfile.write(b"4\r\nbody\r\n0\r\nX-Sum: 42\r\n\r\n")
        else:
            self.say(b"answer to " + self.path.encode() + b"\n", {"X-Port": str(self.client_address[1])})

    do_HEAD = do_GET

    def do_POST(self):
        data = self.body()
        self.say(f"{len(data)} {hashlib.sha256(data).hexdigest()}\n".encode() if len(data) > 99 else data)

    def log_message(self, *args):
        pass

http.server.ThreadingHTTPServer.request_queue_size = 4000
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("host.pem", "host.key")
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(server.server_address[1], flush=True)
server.serve_forever()
PY
serve_tls server.py port
echo "127.0.0.1 api.test other.test" >hosts
printf 'sk-real-key-from-a-file\n' >key
chmod 600 key
cat >config.json <<JSON
{ "allowedDomains": ["api.test:$port", "other.test:$port"],
  "credentials": [
    { "name": "FILE_KEY", "hosts": ["api.test:$port"], "placeholder": "sk-", "from": {"file": "$WORK/key"} } ],
  "routes": [{"host": "other.test", "allow": ["GET /public/**"]}],
  "tlsTerminate": {"extraCaCertPaths": ["$WORK/root.pem"]} }
JSON
chmod 600 config.json
export AGATE_CONFIG=$WORK/config.json
mkdir dir
cd dir || exit 1

# inside STATUS SCRIPT
inside() {
	rm -f "$WORK/seen"
	run "$1" "$AGATE" run --hosts "$WORK/hosts" --workspace in-place -- bash -c "$2"
}
get='curl -sS --max-time 20 --http2'

# The usual client: rules, credentials, names, bodies, and what has no length.
head -c 3000000 /dev/urandom >upload
sum=$(sha256sum <upload | cut -d ' ' -f 1)
inside 0 "$get -o /dev/null -w 'version %{http_version}\n' https://api.test:$port/
	$get -H \"x-api-key: \$FILE_KEY\" -b 'a=1; b=2' https://api.test:$port/one https://api.test:$port/two
	$get https://api.test:$port/big | sha256sum
	$get --data-binary @upload https://api.test:$port/
	$get -T - https://api.test:$port/chunked -X POST <upload
	$get https://api.test:$port/until-close | wc -c; echo \"no length ended with \${PIPESTATUS[0]}\"
	$get https://api.test:$port/cut || echo cut with \$?
	$get -I https://api.test:$port/head; echo \"head ended with \$?\"
	$get --http1.1 https://api.test:$port/old
	$get -i -H 'Content-Type: application/grpc' -H 'TE: trailers' --data-binary x https://api.test:$port/a.b.C/Call
	$get -H \"x-api-key: \$FILE_KEY\" https://other.test:$port/public/x
	$get https://other.test:$port/private
	$get https://other.test:$port/public/y
	$get -H 'Host: other.test' https://api.test:$port/fronted; echo \"fronted ended with \$?\""
says "$WORK/out" '^version 2$'
says "$WORK/out" '^answer to /one$'
says "$WORK/out" '^answer to /two$'
says "$WORK/seen" '^x-api-key: sk-real-key-from-a-file$'
says "$WORK/seen" '^[Cc]ookie: a=1; b=2$'
says "$WORK/out" "^$(yes 0123456789abcdef | head -n 1048576 | tr -d '\n' | sha256sum | cut -d ' ' -f 1) "
[ "$(grep -c "^3000000 $sum\$" "$WORK/out")" = 2 ] || fail "the uploads did not arrive whole: $(grep ^3000000 "$WORK/out")"
says "$WORK/out" '^100000$'
says "$WORK/out" '^no length ended with 0$'
says "$WORK/out" 'cut with [1-9]'
says "$WORK/out" '^HTTP/2 200'
says "$WORK/out" '^answer to /old$'
says "$WORK/out" '^grpc-status: 12'
says "$WORK/out" '^grpc-message: .*excludeDomains'
says "$WORK/out" "placeholder of the credential 'FILE_KEY', which is for another host"
says "$WORK/out" "no request rule allows GET '/private'"
says "$WORK/out" '^answer to /public/y$'
says "$WORK/out" 'names another host than the connection'
silent "$WORK/out" '^answer to /fronted'
says "$WORK/out" '^head ended with 0$'
says "$WORK/out" '^fronted ended with 0$'
refused network-outbound "other.test:$port"
refused network-outbound "api.test:$port"

# Many streams at once, trailers, cancelled streams, uploads that the host answers slowly.
if command -v node >/dev/null; then
	cat >client.cjs <<'JS'
const http2 = require("http2"), fs = require("fs");
const session = http2.connect(process.argv[2], { ca: fs.readFileSync(process.env.SSL_CERT_FILE) });
const ask = (fields, body) => new Promise((resolve, reject) => {
	const s = session.request(fields), parts = [];
	let status, trailers;
	s.on("response", h => { status = h[":status"]; });
	s.on("trailers", t => { trailers = t; });
	s.on("data", d => parts.push(d));
	s.on("end", () => resolve({ status, trailers, body: Buffer.concat(parts) }));
	s.on("error", reject);
	s.end(body);
});
(async () => {
	const many = await Promise.all(Array.from({ length: 90 }, (_, i) => ask({ ":path": "/n" + i })));
	many.filter((a, i) => a.status !== 200).forEach(a => console.log("refused", a.status, a.body.toString()));
	console.log("many", many.filter((a, i) => a.status === 200 && a.body.toString() === `answer to /n${i}\n`).length);
	const mixed = await Promise.all(["/big", "/slow", "/slow", "/big"].map(p => ask({ ":path": p })));
	console.log("mixed", mixed.map(a => a.body.length).join(" "));
	console.log("trailers", (await ask({ ":path": "/trailers" })).trailers["x-sum"]);
	const up = session.request({ ":method": "POST", ":path": "/" }, { waitForTrailers: true });
	up.on("wantTrailers", () => up.sendTrailers({ "x-mine": "7" }));
	let got = "";
	up.on("data", d => { got += d; });
	up.end("small ");
	await new Promise(r => up.on("end", r));
	console.log("sent", got.trim());
	await Promise.all(Array.from({ length: 60 }, () => new Promise(r => {
		const s = session.request({ ":path": "/slow" });
		s.on("close", r);
		s.on("error", () => {});
		setTimeout(() => s.close(http2.constants.NGHTTP2_CANCEL), 100);
	})));
	console.log("after cancelling", (await ask({ ":path": "/still" })).status);
	session.close();
})().catch(e => { console.log("failed", e); process.exit(1); });
setTimeout(() => process.exit(2), 40000).unref();
JS
	inside 0 "node client.cjs https://api.test:$port"
	says "$WORK/out" '^many 90$'
	says "$WORK/out" '^mixed 16777216 4 4 16777216$'
	says "$WORK/out" '^trailers 42$'
	says "$WORK/out" '^sent small trailer X-Mine: 7|^sent small trailer x-mine: 7'
	says "$WORK/out" '^after cancelling 200$'
	connections=$(grep -c '^GET /n' "$WORK/seen")
	[ "$connections" = 90 ] || fail "$connections requests arrived, not 90"
fi

# Frames of ill will: each ends its stream or its connection; the helper goes on.
cat >frames.py <<'PY'
import os, socket, ssl, struct, sys

host, port = "api.test", int(sys.argv[1])
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

def frame(kind, flags, stream, data=b""):
    return struct.pack(">I", len(data))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + data

def text(s):
    return bytes([len(s)]) + s

def field(name, value):
    return b"\x00" + text(name) + text(value)

def head(method=b"GET", path=b"/x", authority=f"api.test:{port}".encode(), scheme=b"https", more=()):
    return b"".join([field(b":method", method), field(b":scheme", scheme), field(b":authority", authority),
                     field(b":path", path)] + [field(n, v) for n, v in more])

SETTINGS = frame(4, 0, 0)
def request(stream=1, flags=5, **how):
    return frame(1, flags, stream, head(**how))

def talk(data, wanted=None):
    """Send, read frames until the end, the wanted one, or some seconds of silence; a list of (type, flags, stream, payload)."""
    raw = socket.create_connection((host, port), 10)
    context = ssl.create_default_context()
    context.set_alpn_protocols(["h2"])
    s = context.wrap_socket(raw, server_hostname=host)
    assert s.selected_alpn_protocol() == "h2"
    s.settimeout(10 if wanted is None else 60)
    got, frames = b"", []
    try:
        for at in range(0, len(data), 16384):
            s.sendall(data[at:at + 16384])
        while True:
            part = s.recv(65536)
            if not part:
                frames.append(("end",))
                break
            got += part
            while len(got) >= 9:
                n = int.from_bytes(got[:3], "big")
                if len(got) < 9 + n:
                    break
                frames.append((got[3], got[4], int.from_bytes(got[5:9], "big"), got[9:9 + n]))
                got = got[9 + n:]
            if wanted is not None and any(f[0] == wanted for f in frames):
                break
    except TimeoutError:
        frames.append(("silence",))
    except (ConnectionError, ssl.SSLError):
        frames.append(("end",))
    s.close()
    return frames

def has(frames, kind):
    return [f for f in frames if f[0] == kind]

HEADERS, RST, GOAWAY = 1, 3, 7
def check(name, ok):
    print("ok" if ok else "BAD", name, flush=True)

P = PREFACE + SETTINGS
check("a plain request is answered", has(talk(P + request(), HEADERS), HEADERS))
for name, how in {
    "a method with a blank": {"method": b"GET /evil HTTP/1.1\r\nX:"},
    "a path with a line end": {"path": b"/x HTTP/1.1\r\nHost: other.test\r\n\r\n"},
    "a path with a blank": {"path": b"/x HTTP/1.1"},
    "an empty path": {"path": b""},
    "a whole address as a path": {"path": b"http://other.test/"},
    "a value with a line end": {"more": [(b"x", b"a\r\nTransfer-Encoding: chunked")]},
    "a name with a colon": {"more": [(b"x: y", b"a")]},
    "a name in upper case": {"more": [(b"X-Big", b"a")]},
    "a transfer coding": {"more": [(b"transfer-encoding", b"chunked")]},
    "a connection field": {"more": [(b"connection", b"close")]},
    "an upgrade": {"more": [(b"upgrade", b"h2c")]},
    "two paths": {"more": [(b":path", b"/y")]},
    "two lengths": {"more": [(b"content-length", b"0"), (b"content-length", b"5")]},
    "a length without a body": {"more": [(b"content-length", b"5")]},
    "another scheme": {"scheme": b"http"},
    "a tunnel": {"method": b"CONNECT"},
}.items():
    frames = talk(P + request(**how), RST)
    status = b"".join(f[3] for f in has(frames, HEADERS))
    check(name, (has(frames, RST) or has(frames, GOAWAY)) and not status)
for name, how in {"another authority": {"authority": b"other.test"}, "two names": {"more": [(b"host", b"other.test")]}}.items():
    frames = talk(P + request(**how), HEADERS)
    # 0x88 is ":status 200" in a header block's first byte.
    check(name, has(frames, HEADERS) and not any(f[3][:1] == b"\x88" for f in has(frames, HEADERS)))
check("no preface", has(talk(b"GET / HTTP/1.1\r\nHost: api.test\r\n\r\n"), "end"))
check("a frame that is too big", has(talk(P + frame(0, 0, 1, b"x" * 20000)), GOAWAY))
check("data for no stream", has(talk(P + frame(0, 0, 1, b"x")), GOAWAY))
check("a stream of our own", has(talk(P + request(2)), GOAWAY))
check("a push", has(talk(P + frame(5, 4, 1, struct.pack(">I", 2) + head())), GOAWAY))
check("settings that cannot be", has(talk(P + frame(4, 0, 0, struct.pack(">HI", 5, 1))), GOAWAY))
check("an empty window", has(talk(P + frame(8, 0, 0, struct.pack(">I", 0))), GOAWAY))
check("a window that overflows", has(talk(P + frame(8, 0, 0, struct.pack(">I", 0x7fffffff))), GOAWAY))
check("a ping of odd size", has(talk(P + frame(6, 0, 0, b"x")), GOAWAY))
check("no end of continuations", has(talk(P + frame(1, 1, 1, head()) + frame(9, 0, 1, field(b"a", b"b")) * 20000), "end"))
check("a header list without end", has(talk(P + frame(1, 1, 1, head()) + frame(9, 0, 1, field(b"a", b"b" * 120) * 100) * 7 + frame(9, 4, 1)), RST))
check("a bomb of indexed fields", has(talk(P + frame(1, 1, 1, head() + b"\x40" + text(b"x") + b"\x7f\xa1\x1e" + b"v" * 4000) + frame(9, 4, 1, b"\xbe" * 16000), RST), RST))
check("more lines than a stream", len(has(talk(P + b"".join(request(1 + 2 * i, path=b"/slow") for i in range(300)), None), RST)) >= 100)
check("resets in a row", has(talk(P + b"".join(request(1 + 2 * i, path=b"/slow") + frame(3, 0, 1 + 2 * i, struct.pack(">I", 8)) for i in range(20000))), "end"))
check("pings without end", has(talk(P + frame(6, 0, 0, b"12345678") * 60000), "end"))
check("settings without end", has(talk(P + SETTINGS * 60000), "end"))
check("empty data without end", has(talk(P + request(1, flags=4, method=b"POST") + frame(0, 0, 1) * 60000), "end"))
last = talk(P + request(), HEADERS)
check("a request after all that", has(last, HEADERS))
print(last)
PY
# A test of the test would be a server that takes it all: what is looked at is that each line says ok.
RUN_SECONDS=250 inside 0 "timeout 240 python3 frames.py $port"
silent "$WORK/out" '^BAD'
says "$WORK/out" '^ok a request after all that$'
silent "$WORK/seen" 'evil|other.test|^GET /y'
exit 0
