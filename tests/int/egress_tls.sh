#!/bin/bash
# A real key stays outside: the command has a placeholder, the host gets the key, and nobody
# else does. Connections that are looked into are believed by everybody's programs.
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_sandbox
for tool in curl python3 openssl; do
	command -v $tool >/dev/null || skip "$tool is not installed"
done

# A root of our own, and a certificate for the names of our hosts.
cd "$WORK" || exit 1
{
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout root.key -out root.pem -days 2 \
		-subj "/CN=test root" -addext basicConstraints=critical,CA:TRUE
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout host.key -out host.csr -subj "/CN=api.test"
	echo "subjectAltName=DNS:api.test,DNS:other.test,DNS:opaque.test" >ext
	openssl x509 -req -in host.csr -CA root.pem -CAkey root.key -CAcreateserial -days 2 -extfile ext -out host.pem
} >openssl.log 2>&1 || fail "openssl: $(tail -n 3 openssl.log)"

cat >server.py <<'PY'
import http.server, ssl

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = "".join(f"{k}: {v}\n" for k, v in self.headers.items()).encode()
        with open("seen", "ab") as f:
            f.write(self.requestline.encode() + b"\n" + body)
        body = b"answer to " + self.path.encode() + b"\n"
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
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("host.pem", "host.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
PY
python3 server.py >port 2>server.log &
server=$!
at_end "kill $server 2>/dev/null"
within 10 test -s port || fail "the test's own server did not start"
port=$(cat port)
echo "127.0.0.1 api.test other.test opaque.test" >hosts

printf 'sk-real-key-from-a-file\n' >key
chmod 600 key
cat >config.json <<JSON
{ "allowedDomains": ["api.test:$port", "other.test:$port", "opaque.test:$port"],
  "credentials": [
    { "name": "FILE_KEY", "hosts": ["api.test:$port"], "placeholder": "sk-", "from": {"file": "$WORK/key"} },
    { "name": "ENV_KEY", "hosts": ["api.test:$port"], "from": {"env": "REAL_ENV_KEY"} },
    { "name": "COMMAND_KEY", "hosts": ["api.test:$port"], "from": {"command": ["echo", "real-key-of-a-command"]},
      "header": {"name": "X-Added", "template": "Token {}"} } ],
  "routes": [{"host": "other.test", "allow": ["GET /public/**"]}],
  "tlsTerminate": {"extraCaCertPaths": ["$WORK/root.pem"]} }
JSON
chmod 600 config.json
export AGATE_CONFIG=$WORK/config.json REAL_ENV_KEY=real-key-of-a-variable
mkdir dir
cd dir || exit 1

# inside STATUS SCRIPT [OPTIONS]
inside() {
	local want=$1 script=$2
	shift 2
	rm -f "$WORK/seen"
	run "$want" "$AGATE" run --hosts "$WORK/hosts" "$@" -- bash -c "$script"
}
get='curl -sS --max-time 20'

# Each source, in the fields where clients put keys; the command never has the key.
inside 0 "env; $get -H \"x-api-key: \$FILE_KEY\" https://api.test:$port/one
	$get -H \"Authorization: Bearer \$ENV_KEY\" https://api.test:$port/two
	$get -u \"user:\$ENV_KEY\" https://api.test:$port/three
	grep -c CERTIFICATE \$SSL_CERT_FILE; grep -l 'PRIVATE KEY' \$SSL_CERT_FILE; true"
for answer in one two three; do
	says "$WORK/out" "^answer to /$answer\$"
done
says "$WORK/out" '^FILE_KEY=sk-[A-Za-z0-9]*$'
for secret in sk-real-key-from-a-file real-key-of-a-variable real-key-of-a-command; do
	silent "$WORK/out" $secret
	silent "$WORK/err" $secret
done
silent "$WORK/out" '^/run/agate/ca.pem$'
says "$WORK/seen" '^x-api-key: sk-real-key-from-a-file$'
says "$WORK/seen" '^[Aa]uthorization: Bearer real-key-of-a-variable$'
says "$WORK/seen" "^[Aa]uthorization: Basic $(printf user:real-key-of-a-variable | base64)\$"
[ "$(grep -c '^X-Added: Token real-key-of-a-command$' "$WORK/seen")" = 3 ] || fail "the header was not added to each request"
violations >"$WORK/violations"
[ ! -s "$WORK/violations" ] || fail "what is allowed left rows: $(head -n 3 "$WORK/violations")"

# Nowhere else: another host, the clear, a name that is not the connection's.
inside 0 "$get -H \"x-api-key: \$FILE_KEY\" https://other.test:$port/public/x
	$get https://api.test:$port/ -H 'Host: other.test'
	$get https://other.test:$port/private; $get https://other.test:$port/public/y; true"
says "$WORK/out" "placeholder of the credential 'FILE_KEY', which is for another host"
says "$WORK/out" 'names another host than the connection'
says "$WORK/out" "no request rule allows GET '/private'"
says "$WORK/out" '^answer to /public/y$'
silent "$WORK/seen" sk-real-key
refused network-outbound "other.test:$port"
refused network-outbound "api.test:$port"

# Everybody's programs believe it, whatever they look at; with no proxy variables as well.
inside 0 "python3 -c 'import urllib.request as r; print(r.urlopen(\"https://api.test:$port/python\").read().decode())'
	env -u SSL_CERT_FILE -u CURL_CA_BUNDLE $get https://api.test:$port/system-file
	$get --noproxy '*' https://api.test:$port/transparent
	$get -x \$ALL_PROXY https://api.test:$port/socks
	if command -v node >/dev/null; then
		node -e 'require(\"https\").get(\"https://api.test:$port/node\", r => r.pipe(process.stdout))'
	else
		echo answer to /node
	fi
	if command -v wget >/dev/null; then wget -q -O - https://api.test:$port/wget; else echo answer to /wget; fi"
for who in python system-file transparent socks node wget; do
	says "$WORK/out" "^answer to /$who\$"
done

# A tunnel that is not looked into is for its own host all the same, whichever way it was made.
inside 0 "ask='$get'
	\$ask https://opaque.test:$port/opaque
	for way in '' '--noproxy *' \"-x \$ALL_PROXY\"; do
		\$ask \$way -k --connect-to fronted.test:$port:opaque.test:$port https://fronted.test:$port/hidden || echo refused with \$?
		\$ask \$way -k --connect-to api.test:$port:opaque.test:$port https://api.test:$port/v1/hidden || echo refused with \$?
	done"
says "$WORK/out" '^answer to /opaque$'
[ "$(grep -c '^refused with 35$' "$WORK/out")" = 6 ] || fail "another name was let through: $(cat "$WORK/out")"
silent "$WORK/seen" hidden
violations >"$WORK/violations"
[ "$(grep -c 'TLS asks for .*fronted.test' "$WORK/violations")" -ge 1 ] || fail "fronting left no row"
refused network-outbound "opaque.test:$port"

# The key is in no process's arguments or environment, and in no file of the run.
inside 0 "touch started; until [ -e stop ]; do sleep 0.1; done" --workspace in-place &
waiting=$!
within 20 test -e started || fail "the run did not start"
for p in /proc/[0-9]*; do
	if { cat "$p/cmdline" "$p/environ" | tr '\0' '\n' | grep -v '^REAL_ENV_KEY=' |
		grep -e sk-real-key-from -e real-key-of-a-variable; } 2>/dev/null; then
		touch stop
		fail "a key is seen in $p"
	fi
done
if grep -r -l -e sk-real-key -e real-key-of-a "$AGATE_STATE_DIR"; then
	touch stop
	fail "a key is in the state directory"
fi
touch stop
wait $waiting || fail "the run that waited failed"

# A file that others can write, a source that gives nothing, a name that is passed as well.
chmod 666 "$WORK/config.json"
run 125 "$AGATE" run -- true
says "$WORK/err" 'can be written by somebody else'
chmod 600 "$WORK/config.json"
run 125 env -u REAL_ENV_KEY "$AGATE" run -- true
says "$WORK/err" "credential 'ENV_KEY': its env gives none"
run 125 "$AGATE" run --env FILE_KEY=x -- true
says "$WORK/err" "may not pass 'FILE_KEY'"
exit 0
