#!/bin/bash
# How a refusal is told: by which program with which words, its secrets masked; and what the user asked not to hear of.
# timeout: 90
. "$(dirname "$0")/../lib/int.sh"
need_agate
sample_repo "$WORK/repo"
cd "$WORK/repo" || exit 1
token=ghp_$(printf 'A1b2C3d4E5f6%.0s' 1 2 3)
export AGATE_CONFIG=$WORK/config.json
printf '{"ignoreViolations": {"*": ["**/.npmrc-not"], "cp -f": ["**/.env"]}}' >"$AGATE_CONFIG"

printf 'cp -f README .env\ninstall -S "%s" README x.key\ntouch "it'\''s.key"\n' "$token" >do.sh
run 1 "$AGATE" run --keep -- bash do.sh
says "$WORK/err" 'refused: [0-9]*, and [1-9][0-9]* more that are ignored'
id=$("$AGATE" runs --json | head -n 1 | sed 's/.*"run":"\([^"]*\)".*/\1/')
"$AGATE" violations --run "$id" --json >"$WORK/rows"
grep -q '"raw":"cp -f README .env"' "$WORK/rows" || fail "no row tells the words: $(cat "$WORK/rows")"
grep -q "touch 'it'" "$WORK/rows" || fail "words are not quoted: $(cat "$WORK/rows")"
cat "$AGATE_STATE_DIR"/agate.db* | grep -q "$token" && fail "a secret of a command line is on record"
printf '{"ignoreViolations": {"*": "x"}}' >"$AGATE_CONFIG"
run 125 "$AGATE" run -- true
says "$WORK/err" ignoreViolations
exit 0
