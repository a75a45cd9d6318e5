#!/bin/bash
# timeout: 120
# What the user opens to a run by name: one socket of the host, one device; and nothing beside it.
. "$(dirname "$0")/../lib/int.sh"
need_agate
sample_repo "$WORK/repo"
cd "$WORK/repo" || exit 1
mkdir "$WORK/run"
cat >"$WORK/serve.py" <<'EOF'
import os, socket, sys, threading
def serve(path):
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    s.listen(8)
    while True:
        c, _ = s.accept()
        c.sendall(b"hello from " + os.path.basename(path).encode() + b"\n")
        c.close()
for p in sys.argv[1:]:
    threading.Thread(target=serve, args=(p,), daemon=True).start()
threading.Event().wait(100)
EOF
python3 "$WORK/serve.py" "$WORK/run/mine.sock" "$WORK/run/other.sock" &
at_end "kill $! 2>/dev/null"
for _ in $(seq 100); do [ -S "$WORK/run/other.sock" ] && break; sleep 0.05; done
cat >ask.py <<'EOF'
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(10)
s.connect(sys.argv[1])
sys.stdout.write(s.recv(100).decode())
EOF
# May it be opened? What a run is refused is EACCES or ENOENT; anything else comes from the device.
cat >seen.py <<'EOF'
import errno, os, sys
try:
    os.open(sys.argv[1], os.O_RDWR)
except OSError as e:
    sys.exit(e.errno in (errno.EACCES, errno.ENOENT, errno.EPERM))
EOF
device=		# one that no run has by itself, and we may open
for d in /dev/net/tun /dev/cpu_dma_latency /dev/vsock /dev/kvm /dev/dri/renderD128; do
	[ -n "$device" ] || ! [ -c "$d" ] || ! python3 seen.py "$d" || device=$d
done
mine=$WORK/run/mine.sock other=$WORK/run/other.sock
for layout in 1 2; do
	[ $layout = 1 ] || export AGATE_LAYOUT=2
	"$AGATE" run -- true >/dev/null 2>&1 || continue
	run 0 "$AGATE" run --allow-unix-socket "$mine" -- python3 ask.py "$mine"
	says "$WORK/out" 'hello from mine.sock'
	run 1 "$AGATE" run --allow-unix-socket "$mine" -- python3 ask.py "$other"
	run 1 "$AGATE" run -- python3 ask.py "$mine"
	run 1 "$AGATE" run --allow-unix-socket "$mine" --read "$WORK/run" -- python3 ask.py "$other"
	says "$WORK/err" unix-connect
	run 0 "$AGATE" run --mode plan --allow-unix-socket "$mine" -- cat README
	if [ -n "$device" ]; then
		run 1 "$AGATE" run -- python3 seen.py "$device"
		run 0 "$AGATE" run --device "$device" -- python3 seen.py "$device"
	fi
done
unset AGATE_LAYOUT
run 125 "$AGATE" run --allow-unix-socket "$WORK/repo/README" -- true
says "$WORK/err" 'not a socket'
run 125 "$AGATE" run --allow-unix-socket "$WORK/nothing" -- true
run 125 "$AGATE" run --device /dev/mem -- true
says "$WORK/err" 'more of the machine'
run 0 "$AGATE" plan --allow-unix-socket "$mine" --device /dev/full -- true
says "$WORK/out" '"devices":\["/dev/full"\]'
