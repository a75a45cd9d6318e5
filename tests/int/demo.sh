#!/bin/bash
# The demonstration does its job, says what it must, and fails when something gets through.
# timeout: 240
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_sandbox

RUN_SECONDS=200 AGATE_DEMO_DIR=$WORK/demo run 0 env AGATE="$AGATE" AGATE_DEMO_DIR="$WORK/demo" "$ROOT/tests/lib/demo"
says "$WORK/out" 'agent: commit its change: done'
says "$WORK/out" 'agent: write .env: refused'
says "$WORK/out" 'good bye'
says "$WORK/out" 'is as it was, to the byte'
says "$WORK/out" 'apply '

# A gate that lets all through must make it fail: the same with the sandbox off.
cat >"$WORK/open" <<END
#!/bin/bash
[ "\$1" = run ] && set -- run --sandbox off "\${@:2}"
exec "$AGATE" "\$@"
END
chmod +x "$WORK/open"
RUN_SECONDS=200 run 1 env AGATE="$WORK/open" AGATE_DEMO_DIR="$WORK/demo2" "$ROOT/tests/lib/demo"
says "$WORK/out" 'WRONG: not refused: write .env'
