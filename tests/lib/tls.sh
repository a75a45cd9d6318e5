# tests/lib/tls.sh - sourced behind int.sh: a root of the test's own and hosts with TLS
# shellcheck shell=bash

# make_root: root.pem and root.key in the current directory
make_root() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout root.key -out root.pem -days 2 \
		-subj "/CN=test root" -addext basicConstraints=critical,CA:TRUE >openssl.log 2>&1 ||
		fail "openssl: $(tail -n 3 openssl.log)"
}

# make_host FILE NAME...: FILE.pem and FILE.key, signed by the root, for these names
make_host() {
	local file=$1
	shift
	printf 'subjectAltName=%s\n' "$(printf 'DNS:%s,' "$@" | sed 's/,$//')" >"$file.ext"
	{
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$file.key" -out "$file.csr" -subj "/CN=$1" &&
			openssl x509 -req -in "$file.csr" -CA root.pem -CAkey root.key -CAcreateserial -days 2 \
				-extfile "$file.ext" -out "$file.pem"
	} >openssl.log 2>&1 || fail "openssl: $(tail -n 3 openssl.log)"
}

# serve_tls SCRIPT OUT ARGUMENT...: a python server in the background that prints its port first; it is in $port then
serve_tls() {
	local script=$1 out=$2
	shift 2
	rm -f "$out"
	python3 "$script" "$@" >"$out" 2>"$out.log" &
	at_end "kill $! 2>/dev/null"
	within 10 test -s "$out" || fail "the test's own server did not start: $(tail -n 3 "$out.log")"
	# shellcheck disable=SC2034 # for who sources this
	port=$(head -n 1 "$out")
}
