#!/bin/bash
# A run that only looks may read with git, and no program that a repository's configuration
# names is run by that: not the repository's own, not that of one inside it.
# timeout: 240
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_sandbox

# shellcheck disable=SC2016 # lines for another shell
# tamper DIR: a repository that names a program of its own wherever git would take one
tamper() {
	mkdir -p "$1/tools"
	git -C "$1" init -q -b main
	git -C "$1" config core.fsmonitor "$2/tools/evil fsmonitor"
	git -C "$1" config core.pager "$2/tools/evil pager"
	git -C "$1" config pager.log "$2/tools/evil pager.log"
	git -C "$1" config core.hooksPath tools/hooks
	git -C "$1" config core.sshCommand "$2/tools/evil ssh"
	git -C "$1" config core.alternateRefsCommand "$2/tools/evil alternates"
	git -C "$1" config log.showSignature true
	git -C "$1" config format.pretty '%h %s %G?'
	git -C "$1" config gpg.program "$2/tools/evil"
	git -C "$1" config alias.st "!$2/tools/evil alias"
	git -C "$1" config alias.mailinfo-show "!$2/tools/evil alias"
	git -C "$1" config man.man.path "$2/tools/evil"
	printf '#!/bin/sh\nprintf "PLAN%%s\\n" "TED $0 $*" | tee /dev/stderr\ntouch "%s/trace" /tmp/trace\nexec cat\n' "$2" >"$1/tools/evil"
	mkdir "$1/tools/hooks"
	for hook in post-index-change post-checkout fsmonitor-watchman reference-transaction; do
		cp "$1/tools/evil" "$1/tools/hooks/$hook"
	done
	chmod -R 755 "$1/tools"
	printf '*.x diff=x\n*.c diff=c\n*.f filter=f\n' >"$1/.gitattributes"
	for f in a.x a.c a.f plain; do
		printf 'one\n' >"$1/$f"
	done
	git -C "$1" -c core.fsmonitor=false -c core.hooksPath=/dev/null add -A
	git -C "$1" -c core.fsmonitor=false -c core.hooksPath=/dev/null commit -q -m first
	# A commit that claims to be signed, so that the program that checks it is wanted.
	git -C "$1" cat-file commit HEAD | sed '/^committer/a gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----' |
		git -C "$1" hash-object -t commit -w --stdin >"$WORK/signed"
	git -C "$1" -c core.hooksPath=/dev/null update-ref refs/heads/main "$(cat "$WORK/signed")"
	git -C "$1" config diff.external "$2/tools/evil external"
	git -C "$1" config diff.x.textconv "$2/tools/evil textconv"
	git -C "$1" config diff.x.cachetextconv true
	git -C "$1" config diff.c.command "$2/tools/evil command"
	git -C "$1" config filter.f.clean "$2/tools/evil clean"
	git -C "$1" config filter.f.smudge "$2/tools/evil smudge"
	git -C "$1" config filter.f.required true
	for f in a.x a.c a.f plain; do
		printf 'two\n' >>"$1/$f"
	done
}

# A clone that lacks an object, and would ask a program for it.
lazy() {
	git -C "$1" config remote.far.url "ext::$2/tools/evil ext"
	git -C "$1" config remote.far.promisor true
	git -C "$1" config protocol.ext.allow always
	git -C "$1" config extensions.partialClone far
	git -C "$1" config core.repositoryFormatVersion 1
	local blob
	blob=$(git -C "$1" rev-parse HEAD:plain)
	git -C "$1" -c core.hooksPath=/dev/null update-ref refs/heads/main HEAD
	rm -f "$1/.git/objects/${blob:0:2}/${blob:2}"
}

repo=$WORK/repo
tamper "$repo" "$repo"
tamper "$repo/inner" "$repo/inner"
tamper "$repo/lazy" "$repo/lazy"
lazy "$repo/lazy" "$repo/lazy"
printf '[diff "w"]\n\ttextconv = tools/evil included\n' >"$repo/inner/more"
printf '[includeIf "onbranch:main"]\n\tpath = ../more\n' >>"$repo/inner/.git/config"
printf '*.w diff=w\n' >>"$repo/inner/.gitattributes"
printf 'w\n' >"$repo/inner/a.w"
git -C "$repo/inner" -c core.fsmonitor=false -c core.hooksPath=/dev/null add -N a.w
cd "$repo" || exit 1

# The trap works: git alone runs what is planted.
(cd inner && git diff) >"$WORK/bare" 2>&1
grep -q PLANTED "$WORK/bare" || fail "git runs nothing of what was planted"
rm -f inner/trace /tmp/trace

reads='git status --short; git diff; git diff --stat HEAD; git log -p; git log --oneline --graph; git show; git show HEAD:a.x
git blame a.x; git grep -n --textconv one; git whatchanged; git log --alternate-refs -1; git stash list; git describe --always
git diff --cached; git branch -av; git tag -l; git ls-files -m; git cat-file -p HEAD:a.f; git archive HEAD | tar -t; git reflog
git shortlog -s HEAD; git diff-index HEAD; git diff-files; git for-each-ref; git rev-list --all; git check-ignore -v x; git range-diff HEAD HEAD HEAD'

# looks MODE OPTIONS... -- LINE: allowed, and no trace of what was planted
looks() {
	local opts=()
	while [ "$1" != -- ]; do
		opts+=("$1")
		shift
	done
	timeout -k 5 100 "$AGATE" run "${opts[@]}" -- bash -c "$2" >"$WORK/out" 2>"$WORK/err"
	rc=$?
	[ "$rc" -lt 124 ] || [ "$rc" = 128 ] || fail "status $rc for: ${opts[*]} $2"
	silent "$WORK/out" PLANTED
	silent "$WORK/err" PLANTED
	for dir in "$repo" "$repo/inner" "$repo/lazy"; do
		[ ! -e "$dir/trace" ] || fail "a planted program ran in: $2"
	done
}

for mode in plan review orchestrate; do
	looks --mode "$mode" -- "$reads"
	says "$WORK/out" '^ M a.x'
	says "$WORK/out" '^\+two'
	says "$WORK/err" "git configuration names programs.*core.fsmonitor"
done
looks --mode plan -- "cd inner; $reads; git diff -- a.w; cd ../lazy; $reads; cd ..; git -C inner diff; git -C lazy log -p"
says "$WORK/out" '^\+two'
looks --mode plan --workspace in-place -- "$reads; cd inner; $reads"
says "$WORK/out" '^\+two'
looks --mode plan -- 'git diff | head -n 3; git diff HEAD | sed -n 1,2p; git diff -- a.c'
says "$WORK/out" '^\+two'
silent "$WORK/err" fatal
looks --mode plan --json -- 'git status'
says "$WORK/out" '"type":"workspace.programs".*"diff.w.textconv".*'
says "$WORK/out" '"filter.f.clean"'

# On a terminal git would start a pager.
if command -v script >/dev/null; then
	timeout -k 5 60 script -qec "$AGATE run --mode plan -- git log" /dev/null </dev/null >"$WORK/out" 2>&1
	silent "$WORK/out" 'PLANTED'
	says "$WORK/out" 'first'
fi

# Nothing that takes this away from git is let through.
# shellcheck disable=SC2016 # lines for another shell
for line in 'env -i git status' 'env -u GIT_CONFIG_COUNT git diff' 'unset GIT_CONFIG_COUNT; git diff' 'GIT_CONFIG_COUNT=0 git diff' \
	'export -n GIT_CONFIG_COUNT; git diff' 'declare +x GIT_CONFIG_COUNT; git diff' 'read GIT_CONFIG_COUNT <x; git diff' \
	'for GIT_CONFIG_COUNT in 0; do git diff; done' 'GIT_CONFIG_KEY_0=x git diff' 'GIT_ALLOW_PROTOCOL=ext git log' \
	'printf -v GIT_CONFIG_COUNT 0; git diff' '((GIT_CONFIG_COUNT=0)); git diff' 'exec -c git diff' 'git -c core.fsmonitor=tools/evil status' \
	'git --git-dir=inner/.git status' 'env GIT_DIR=inner/.git git status' 'env - git status' 'git --config-env=core.fsmonitor=HOME status' \
	'unset ${!GIT_*}; git diff' 'let GIT_CONFIG_COUNT=0; git diff' 'mapfile -t GIT_CONFIG_COUNT <x; git diff' \
	': ${GIT_EXTERNAL_DIFF:=tools/evil}; git diff' 'git mailinfo-show' 'git st'; do
	timeout 20 "$AGATE" check --mode plan "$line" >"$WORK/out" 2>"$WORK/err"
	[ $? = 126 ] || fail "plan lets through: $line"
done

# Where nothing is ordinary but the configuration, nothing is said; and chat is left as it is.
mkdir "$WORK/clean"
sample_repo "$WORK/clean"
cd "$WORK/clean" || exit 1
run 0 "$AGATE" run --mode plan -- git status --short
silent "$WORK/err" 'names programs'
cd "$repo/inner" || exit 1
# shellcheck disable=SC2016 # the run's variables
run 0 "$AGATE" run --discard -- sh -c 'test -z "${GIT_CONFIG_COUNT-}" && test -z "${GIT_PAGER-}"'
silent "$WORK/err" 'names programs'
