#!/bin/bash
# Java, which has a store of trusted roots of its own, believes the run's authority: by the
# place where the system has the store, and by the options that builds are started with.
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
# shellcheck source=tests/lib/tls.sh
. "$ROOT/tests/lib/tls.sh"
need_sandbox
for tool in java python3 openssl; do
	command -v $tool >/dev/null || skip "$tool is not installed"
done
java --list-modules 2>/dev/null | grep -q '^jdk\.compiler' || skip "this Java cannot run a source file"

cd "$WORK" || exit 1
make_root
make_host host api.test
cat >server.py <<'PY'
import http.server, ssl

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with open("seen", "a") as f:
            f.write(f"{self.path} {self.headers.get('x-api-key')}\n")
        self.send_response(200)
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"answer")

    def log_message(self, *args):
        pass

http.server.ThreadingHTTPServer.request_queue_size = 4000
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("host.pem", "host.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
PY
serve_tls server.py port
echo "127.0.0.1 api.test" >hosts
printf 'the-real-key\n' >key
chmod 600 key
cat >config.json <<JSON
{ "allowedDomains": ["api.test:$port"],
  "credentials": [{ "name": "KEY", "hosts": ["api.test:$port"], "from": {"file": "$WORK/key"} }],
  "tlsTerminate": {"extraCaCertPaths": ["$WORK/root.pem"]} }
JSON
chmod 600 config.json
export AGATE_CONFIG=$WORK/config.json
mkdir dir
cd dir || exit 1
cat >Ask.java <<'JAVA'
import java.net.URI;
import java.net.URL;
import java.net.http.*;

public class Ask {
	public static void main(String[] args) throws Exception {
		HttpRequest r = HttpRequest.newBuilder(URI.create(args[0] + "/client")).header("X-Api-Key", System.getenv("KEY")).build();
		HttpResponse<String> a = HttpClient.newHttpClient().send(r, HttpResponse.BodyHandlers.ofString());
		System.out.println("client " + a.version() + " " + a.body());
		System.out.println("url " + new String(new URL(args[0] + "/url").openStream().readAllBytes()));
	}
}
JAVA

# No proxy is told to Java: it looks the name up and connects. Its words on stderr stay its own.
places=0
for place in /etc/ssl/certs/java/cacerts /etc/pki/java/cacerts; do
	[ ! -f $place ] || places=1
done
run 0 "$AGATE" run --hosts "$WORK/hosts" --workspace in-place -- bash -c "java Ask.java https://api.test:$port &&
	env -u JAVA_TOOL_OPTIONS java \$MAVEN_OPTS Ask.java https://api.test:$port; echo \"options: \${JAVA_TOOL_OPTIONS-none}\"
	if command -v keytool >/dev/null; then keytool -list -keystore /run/agate/ca.jks -storepass changeit | grep -c trustedCertEntry; else echo 99; fi"
[ "$(grep -c '^client HTTP_. answer$' "$WORK/out")" = 2 ] || fail "HttpClient did not get its answers: $(cat "$WORK/out")"
[ "$(grep -c '^url answer$' "$WORK/out")" = 2 ] || fail "URL did not get its answers: $(cat "$WORK/out")"
says "$WORK/seen" '^/client the-real-key$'
says "$WORK/out" '^[1-9][0-9]+$'
[ $places = 0 ] || says "$WORK/out" '^options: none$'
[ $places = 0 ] || silent "$WORK/err" 'Picked up'

# What is asked for comes before what is offered.
run 0 "$AGATE" run --hosts "$WORK/hosts" --env MAVEN_OPTS=-Xmx64m -- printenv MAVEN_OPTS
says "$WORK/out" '^-Xmx64m$'

# Without anything to look into Java's own store stays.
cat >"$WORK/config.json" <<<'{}'
run 0 "$AGATE" run -- bash -c "ls /run/agate; printenv MAVEN_OPTS || echo none"
silent "$WORK/out" 'ca\.jks'
says "$WORK/out" '^none$'
exit 0
