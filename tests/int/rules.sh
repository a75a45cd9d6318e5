#!/bin/bash
# Guardrail rules from end to end: stored, managed, the repository's; what they do to runs, how
# they are explained, imported and exported. Without a sandbox, but for the rules that need one.
# timeout: 240
# shellcheck disable=SC2016 # scripts in quotes are the run's
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_agate

repo=$WORK/repo
sample_repo "$repo"
cd "$repo" || exit 1
off=(run --sandbox off --approve none)

# json FILTER FILE...: one line of Python over each object of NDJSON; prints what it says
json() {
	python3 -c 'import json, sys
for line in open(sys.argv[2]):
    j = json.loads(line)
    r = eval(sys.argv[1])
    print(r)' "$1" "$2"
}

is() {
	[ "$1" = "$2" ] || fail "'$1' is not '$2'${3+: $3}"
}

# --- words ---
run 0 "$AGATE" rules --help
says "$WORK/out" '^  explain '
run 125 "$AGATE" rules
says "$WORK/err" '^agate: agate rules needs to be told what to do'
run 125 "$AGATE" rules lsit
says "$WORK/err" '^hint: did you mean agate rules list\?'
run 0 "$AGATE" rules add --help
says "$WORK/out" '^usage: agate rules add \[OPTIONS\] allow\|ask\|deny'
run 125 "$AGATE" rules add maybe --class gitPush
run 125 "$AGATE" rules add deny --class gitpush
says "$WORK/err" "'gitpush' is none of: fileRead,fileDelete"
run 125 "$AGATE" rules add deny
says "$WORK/err" 'is about nothing'
run 125 "$AGATE" rules add deny --class gitPush --ref 'a b'
says "$WORK/err" "refs: pattern 'a b' holds a sign no ref has"
run 125 "$AGATE" rules add deny --class gitPush --match ls
says "$WORK/err" "should match 'ls'"
run 125 "$AGATE" rules add ask --scope agent --class gitPush
says "$WORK/err" "scope 'agent' needs an --id"
run 0 "$AGATE" rules list --json
is "$(wc -c <"$WORK/out")" 0 "nothing was stored"

# --- a rule that denies, and its record ---
run 0 "$AGATE" "${off[@]}" -- rm notes.txt
run 0 "$AGATE" rules add deny --class fileDelete --path notes.txt --reason 'notes are kept' \
	--match 'rm notes.txt' --not-match 'rm other'
is "$(cat "$WORK/out")" 1
run 126 "$AGATE" "${off[@]}" -- rm notes.txt
says "$WORK/err" "^agate: denied by guard: rule 1 denies fileDelete '.*/notes.txt': notes are kept"
says "$WORK/err" "^hint: the rule is 'rule 1'; agate rules explain"
refused guard-fileDelete '*notes.txt'
run 0 "$AGATE" "${off[@]}" -- rm README
run 126 "$AGATE" "${off[@]}" -- sh -c 'true; rm notes.txt'
run 126 "$AGATE" "${off[@]}" -- rm -r .
run 125 "$AGATE" rules add deny --class fileDelete --path notes.txt --reason 'notes are kept' \
	--match 'rm notes.txt' --not-match 'rm other'
says "$WORK/err" 'the same rule is in force already, as number 1'

# Another workspace is not concerned.
mkdir "$WORK/other" && echo x >"$WORK/other/notes.txt"
(cd "$WORK/other" && run 0 "$AGATE" "${off[@]}" -- rm notes.txt) || exit 1

# --- scopes, enforcement, expiry ---
run 0 "$AGATE" rules rm 1
run 0 "$AGATE" "${off[@]}" -- rm notes.txt
run 125 "$AGATE" rules rm 1
says "$WORK/err" '^agate: no rule 1 is in force'
run 0 "$AGATE" rules list --removed --json
is "$(json 'j["id"], j["removedBy"]' "$WORK/out")" "(1, 'uid $(id -u)')"
run 0 "$AGATE" rules add deny --id '*' --class fileDelete --json
json 'j["id"], j["scope"], j["scopeId"], j["class"], j["enforcement"]' "$WORK/out" >"$WORK/added"
says "$WORK/added" "\(2, 'workspace', '\*', \['fileDelete'\], 'hard'\)"
run 0 "$AGATE" rules add allow --scope agent --id bash --class fileDelete
run 126 "$AGATE" "${off[@]}" -- rm notes.txt
says "$WORK/err" 'rule 2 denies'
run 0 "$AGATE" rules rm 2
run 0 "$AGATE" rules add ask --class fileDelete
run 0 "$AGATE" "${off[@]}" -- rm notes.txt
run 0 "$AGATE" rules rm 3 4
run 0 "$AGATE" rules add deny --class fileDelete --enforcement advisory
run 0 "$AGATE" "${off[@]}" --json -- rm notes.txt
says "$WORK/out" '"type":"gate.advice".*"would":"deny"'
run 0 "$AGATE" rules rm 5
run 0 "$AGATE" rules add deny --class fileDelete --enforcement soft
run 126 "$AGATE" "${off[@]}" -- rm notes.txt
says "$WORK/err" 'nobody can be asked: rule 6 denies, softly, fileDelete'
run 0 "$AGATE" rules rm 6
run 0 "$AGATE" rules add deny --class fileDelete --for 1500ms
run 126 "$AGATE" "${off[@]}" -- rm notes.txt
sleep 1.6
run 0 "$AGATE" "${off[@]}" -- rm notes.txt
run 0 "$AGATE" rules explain 'rm notes.txt'
says "$WORK/out" 'expired +rule 7: deny fileDelete'
run 0 "$AGATE" rules rm 7

# --- what the modes deny no rule lifts ---
run 0 "$AGATE" rules add allow --scope agent --id bash --class fileDelete
run 0 "$AGATE" rules add allow --scope agent --id bash --command rm
run 126 "$AGATE" run --sandbox off --mode plan -- rm notes.txt
run 126 "$AGATE" rules explain --mode review 'rm notes.txt'
run 0 "$AGATE" rules rm 8 9

# --- what the policy asks a rule may have answered; what it denies not ---
run 3 "$AGATE" rules explain 'npm publish'
run 0 "$AGATE" rules add allow --command 'npm publish'
run 0 "$AGATE" rules explain 'npm publish --tag x'
says "$WORK/out" '^allow: it would be asked about, but rule 10 allows it'
run 3 "$AGATE" rules explain 'npm publish; npm unpublish x'
run 0 "$AGATE" rules add allow --command sudo
run 126 "$AGATE" rules explain 'sudo ls'
run 0 "$AGATE" rules rm 10 11

# --- explain as JSON: every rule, and why ---
run 0 "$AGATE" rules add deny --class gitPush --ref main
run 0 "$AGATE" rules add ask --class gitPush
run 0 "$AGATE" rules add ask --class fileDelete
run 126 "$AGATE" rules explain --json 'git push origin main'
is "$(json 'j["verdict"], j["gate"], j["rule"], [(r["rule"]["id"], r["fate"]) for r in j["rules"]]' "$WORK/out")" \
	"('deny', 'guard', 'rule 12', [(12, 'decides'), (13, 'outranked'), (14, 'nothing it is about')])"
run 3 "$AGATE" rules explain --json 'git push origin topic'
is "$(json 'j["verdict"], [r["fate"] for r in j["rules"]]' "$WORK/out")" "('ask', ['does not fit', 'decides', 'nothing it is about'])"
run 126 "$AGATE" rules explain 'git push'
says "$WORK/out" "^deny: rule 12 denies gitPush 'git push', whose branch cannot be told"

# --- export, import ---
run 0 "$AGATE" rules export
cp "$WORK/out" "$WORK/rules.json"
run 0 "$AGATE" rules test "$WORK/rules.json"
run 0 "$AGATE" rules rm 12 13 14
run 0 "$AGATE" rules import --json "$WORK/rules.json"
is "$(json 'j["outcome"]' "$WORK/out" | sort | uniq -c | tr -s ' ')" " 3 stored"
run 0 "$AGATE" rules import --json "$WORK/rules.json"
is "$(json 'j["outcome"]' "$WORK/out" | sort | uniq -c | tr -s ' ')" " 3 there already"
sed 's/"provenance":[^,]*/"provenance":	"remembered"/; s/"main"/"other"/' "$WORK/rules.json" >"$WORK/claims.json"
run 0 "$AGATE" rules import "$WORK/claims.json"
run 0 "$AGATE" rules list --json
is "$(json 'j["provenance"]' "$WORK/out" | sort -u)" "import"
echo '{"version":1,"rules":[{"class":"gitPush","decision":"deny"},{"decision":"deny"}]}' >"$WORK/bad.json"
run 125 "$AGATE" rules import "$WORK/bad.json"
says "$WORK/err" 'rule 2: is about nothing'
run 0 "$AGATE" rules list --json
mapfile -t ids < <(json 'j["id"]' "$WORK/out")
run 0 "$AGATE" rules rm "${ids[@]}"

# --- templates ---
for name in strict balanced permissive; do
	run 0 "$AGATE" rules import template "$name" --dry-run
	says "$WORK/out" '^would be stored  deny gitPush, refs main'
	run 0 "$AGATE" rules import template "$name"
	run 0 "$AGATE" rules test
	run 126 "$AGATE" rules explain 'git push origin main'
	run 3 "$AGATE" rules explain 'rm a'
	run 0 "$AGATE" rules list --json
	is "$(json 'j["provenance"]' "$WORK/out" | sort -u)" "template $name"
	run 0 "$AGATE" rules explain 'make && ls'
	case $name in
	strict) run 3 "$AGATE" rules explain 'curl https://example.com/' ;;
	permissive) run 0 "$AGATE" rules explain 'git push origin topic' ;;
	esac
	run 0 "$AGATE" rules list --json
	mapfile -t ids < <(json 'j["id"]' "$WORK/out")
	run 0 "$AGATE" rules rm "${ids[@]}"
done
run 125 "$AGATE" rules import template nosuch

# --- other programs' rules ---
mkdir .claude
cat >.claude/settings.json <<'EOF'
{"permissions": {"allow": ["Bash(npm publish:*)", "Edit(src/**)"],
 "ask": ["Bash(make deploy:*)"], "deny": ["Read(/keys/**)", "Bash(curl:*)"]}, "hooks": {}}
EOF
run 0 "$AGATE" rules import claude .claude/settings.json
says "$WORK/out" '^left out .*hooks .*it runs programs'
says "$WORK/out" '^made stricter +deny Bash\(curl:\*\)'
run 126 "$AGATE" rules explain 'cat keys/server.key'
run 126 "$AGATE" rules explain "bash -c 'curl x'"
run 3 "$AGATE" rules explain 'make deploy'
run 0 "$AGATE" rules explain 'npm publish --tag x'
echo '{"permissions":{"deny":["Bash(a && b)"]}}' >"$WORK/lost.json"
run 125 "$AGATE" rules import claude "$WORK/lost.json"
says "$WORK/err" 'nothing was stored: 1 entries that ask or deny would be lost'
says "$WORK/out" '^lost +deny Bash\(a && b\) +it is more than the words of one command'
run 0 "$AGATE" rules import claude --partial "$WORK/lost.json"
cat >"$WORK/default.rules" <<'EOF'
prefix_rule(pattern=["terraform", ["apply", "destroy"]], decision="forbidden", match=["terraform apply"])
EOF
run 0 "$AGATE" rules import codex "$WORK/default.rules"
run 126 "$AGATE" rules explain 'env terraform destroy'
echo 'prefix_rule(pattern=words())' >"$WORK/computed.rules"
run 125 "$AGATE" rules import codex "$WORK/computed.rules"
says "$WORK/err" "line 1: a value is "
run 0 "$AGATE" rules list --json
mapfile -t ids < <(json 'j["id"]' "$WORK/out")
run 0 "$AGATE" rules rm "${ids[@]}"

# --- the machine's owner and the repository may only tighten ---
managed() {
	echo "$1" >"$WORK/managed.json"
}
export AGATE_MANAGED_POLICY=$WORK/managed.json
run 0 "$AGATE" "${off[@]}" -- rm notes.txt	# a file that is not there says nothing
managed '{"version":1,"rules":[{"class":"fileDelete","decision":"deny","reason":"by the owner"}]}'
run 126 "$AGATE" "${off[@]}" -- rm notes.txt
says "$WORK/err" 'by the owner'
run 0 "$AGATE" rules add allow --class fileDelete
run 126 "$AGATE" "${off[@]}" -- rm notes.txt
managed '{"version":1,"rules":[{"class":"fileDelete","decision":"allow"}]}'
run 0 "$AGATE" rules add deny --class fileDelete
run 126 "$AGATE" "${off[@]}" -- rm notes.txt
managed '{"version":1,"rules":[{"class":"fileDelete","decision":"deny","typo":1}]}'
run 126 "$AGATE" "${off[@]}" -- true
says "$WORK/err" "^agate: denied by guard: '.*/managed.json': rule 1: rule: unknown field 'typo'"
run 126 "$AGATE" "${off[@]}" --mode plan -- ls
managed 'not json'
run 126 "$AGATE" "${off[@]}" -- true
run 0 "$AGATE" rules list --json
says "$WORK/err" '^agate: with these rules nothing runs: '
run 125 "$AGATE" rules test
managed '{"version":1,"rules":[{"class":"fileDelete","decision":"deny","match":["ls"]}]}'
run 126 "$AGATE" "${off[@]}" -- true
says "$WORK/err" "should match 'ls'"
if [ "$(id -u)" != 0 ]; then
	chmod 000 "$WORK/managed.json"
	run 126 "$AGATE" "${off[@]}" -- true
	says "$WORK/err" 'cannot open the managed rules'
fi
unset AGATE_MANAGED_POLICY
mkdir .agate
echo '{"version":1,"rules":[{"command":"make","decision":"deny"}]}' >.agate/policy.json
run 126 "$AGATE" "${off[@]}" -- make
says "$WORK/err" "'.agate/policy.json': rule 1 denies the command"
refused command-deny make
echo '{"version":1,"rules":[{"scope":"workspace","class":"fileDelete","decision":"allow"}]}' >.agate/policy.json
run 126 "$AGATE" "${off[@]}" -- true
says "$WORK/err" 'a rule of this file may not name a scope'
rm -r .agate
ln -s "$WORK" .agate
run 126 "$AGATE" "${off[@]}" -- true
says "$WORK/err" 'Too many levels of symbolic links'
rm .agate
echo x >.agate
run 0 "$AGATE" "${off[@]}" -- true
rm .agate

# --- a stored rule that was tampered with: everything is denied, with the place, until it is removed ---
if command -v sqlite3 >/dev/null; then
	sqlite3 "$AGATE_STATE_DIR/agate.db" "UPDATE policies SET rule = '{\"class\":[\"gitPush\"]}' WHERE id = (SELECT max(id) FROM policies WHERE removed_us IS NULL)"
	run 126 "$AGATE" "${off[@]}" -- true
	says "$WORK/err" "denied by guard: rule [0-9]+: field 'decision' must be allow, ask or deny"
	run 0 "$AGATE" rules list --json
	mapfile -t ids < <(json 'j["id"] if j.get("malformed") else None' "$WORK/out" | grep -v None)
	run 0 "$AGATE" rules rm "${ids[@]}"
	run 0 "$AGATE" "${off[@]}" -- true
fi

# --- a rule that denies the network is the sandbox's to hold ---
run 0 "$AGATE" rules list --json
mapfile -t ids < <(json 'j["id"]' "$WORK/out")
[ ${#ids[@]} = 0 ] || run 0 "$AGATE" rules rm "${ids[@]}"
run 0 "$AGATE" rules add deny --class networkEgress
run 126 "$AGATE" "${off[@]}" -- true
says "$WORK/err" 'without a sandbox nothing would hold them'
if bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev true 2>/dev/null; then
	run 0 "$AGATE" run --sandbox require --approve none -- true
	run 0 "$AGATE" show last --spec
	is "$(json 'j["networkEnabled"]' "$WORK/out")" False
	run 0 "$AGATE" plan --json -- true
	is "$(json 'j["spec"]["networkEnabled"]' "$WORK/out")" False "what is planned is what is run"
	run 0 "$AGATE" rules list --json
	run 0 "$AGATE" rules rm "$(json 'j["id"]' "$WORK/out")"
	run 0 "$AGATE" rules add deny --class networkEgress --host '*.evil.example'
	run 0 "$AGATE" run --sandbox require --approve none -- true
	run 0 "$AGATE" show last --spec
	is "$(json 'j["networkEnabled"], "*.evil.example" in j["deniedDomains"]' "$WORK/out")" "(True, True)"
fi
exit 0
