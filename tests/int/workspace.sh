#!/bin/bash
# A run's private copy, in a real sandbox: whole, git works in it, the original is never written;
# diff, apply and discard bring back or take away, and nothing a run planted is obeyed on the host.
# timeout: 420
# shellcheck source=tests/lib/int.sh disable=SC2016 # the scripts are expanded inside
. "$(dirname "$0")/../lib/int.sh"
need_sandbox
cd "$WORK" || exit 1
git config --global init.defaultBranch main
git config --global protocol.file.allow always

inside() {
	local want=$1 repo=$2
	shift 2
	run "$want" "$AGATE" run --repo "$repo" --keep -- bash -euc "$*"
}

# --- everything is there, git works, the original stays as it is ---
sample_repo "$WORK/repo"
mkdir -p repo/deep/er && echo 1 >repo/deep/er/one && ln -s deep/er/one repo/link && echo obj >repo/x.o
ln repo/README repo/hard && mkfifo repo/pipe && touch -d 2001-02-03 repo/notes.txt
(cd repo && git add deep && echo more >>README && git add README && echo again >>README)
git -C repo status --porcelain --ignored >want
before=$(fingerprint repo)
inside 0 repo 'git status --porcelain --ignored'
holds "git status differs inside" diff want out
silent err 'error:|alternate'
[ "$(fingerprint repo)" = "$before" ] || fail "looking changed the original"
inside 0 repo 'test README -ef hard; test -p pipe; test "$(stat -c %Y notes.txt)" = "$(date -d 2001-02-03 +%s)"; test "$(readlink link)" = deep/er/one; pwd'
says out "^$WORK/repo\$"
inside 0 repo 'git log --oneline; git stash -q; git stash pop -q; git add -A; git commit -qm second; git tag t; git checkout -q -b other
	git commit -q --allow-empty -m third; git rebase -q t; git gc -q; git fsck --no-dangling; git config user.x y; git remote add r /x'
[ "$(fingerprint repo)" = "$before" ] || fail "a commit inside changed the original"

# --- what it changed, brought back on demand ---
inside 0 repo 'echo made >made; rm x.o; chmod 700 deep; mkdir d; echo 2 >d/two; git add made d; git commit -qm "made it"'
[ "$(fingerprint repo)" = "$before" ] || fail "the original was written"
run 0 "$AGATE" diff last
says out '^diff --git a/made b/made$'
says out '^deleted file mode 100644$'
run 0 "$AGATE" apply last
[ "$(cat repo/made) $(ls repo/x.o 2>/dev/null) $(stat -c %a repo/deep)" = "made  700" ] || fail "the changes did not arrive"
holds "the commit did not arrive" test "$(git -C repo log -1 --format=%s --branches='agate/*')" = "made it"
[ "$(git -C repo branch --show-current)" = main ] || fail "apply moved the user's branch"
run 0 "$AGATE" diff last
[ ! -s out ] || fail "something is left after apply"

# --- a conflict stops it all ---
inside 0 repo 'echo run >>README; echo innocent >innocent'
echo user >>repo/README
before=$(fingerprint repo)
run 125 "$AGATE" apply last
says err "conflict: 'README'"
[ "$(fingerprint repo)" = "$before" ] || fail "a refused apply wrote something"
run 0 "$AGATE" discard last
run 125 "$AGATE" diff last

# --- other kinds of source ---
git -C repo worktree add -q "$WORK/linked" HEAD
inside 0 linked 'test "$(git rev-parse --is-inside-work-tree)" = true; echo x >x; git add x; git commit -qm linked; git worktree list | wc -l'
says out '^1$'
git init -q lib && git -C lib commit -q --allow-empty -m lib
git init -q super && git -C super submodule -q add "$WORK/lib" vendor/lib && git -C super commit -qm sub
inside 0 super 'git submodule status; cd vendor/lib; echo y >y; git add y; git commit -qm inside; cd ../..; git add vendor/lib; git commit -qm bump'
git init -q unborn && echo a >unborn/a
inside 0 unborn 'git add a; git commit -qm root; git log --oneline'
run 0 "$AGATE" apply last
[ -n "$(git -C unborn log -1 --format=%s --branches='agate/*')" ] || fail "the root commit did not arrive"
git -C repo checkout -q --detach
inside 0 repo 'git status | head -n 1; git commit -q --allow-empty -m on'
mkdir plain && echo p >plain/p
inside 0 plain 'test ! -e .git; echo q >q; git init -q . ; git status --porcelain'
run 0 "$AGATE" apply last
[ "$(ls -A plain)" = "$(printf 'p\nq')" ] || fail "a git directory was brought over, or a file was not"
git clone -q --shared repo second
inside 0 second 'git log --oneline'
silent err 'alternate'

# --- refusals, in plain words ---
git clone -q repo busy && mkdir busy/.git/rebase-merge
run 125 "$AGATE" run --repo busy -- true
says err 'in the middle of a rebase'
git init -q --object-format=sha256 newer && git -C newer commit -q --allow-empty -m x
run 125 "$AGATE" run --repo newer -- true
says err 'sha256 object names'
run 125 "$AGATE" run --repo repo --workspace overlay -- true
says err 'not built yet'

# --- what a run plants is not obeyed ---
sample_repo "$WORK/trap"
before=$(fingerprint trap)
inside 0 trap 'printf "#!/bin/sh\ntouch %s/ran\n" '"$WORK"' >evil; chmod 755 evil; git config core.fsmonitor "$PWD/evil"
	echo "* filter=x diff=x" >.gitattributes; git config filter.x.clean "$PWD/evil"; git config diff.x.textconv "$PWD/evil"
	echo more >>README; git -c core.fsmonitor=false -c filter.x.clean=cat commit -qam x; echo more >>README; ln -s /etc/passwd way-out; echo /etc >>.git/objects/info/alternates'
[ "$(fingerprint trap)" = "$before" ] || fail "the original was written"
run 0 "$AGATE" diff last
run 126 "$AGATE" apply last
says err 'way-out: the link leads out of the tree'
[ "$(fingerprint trap)" = "$before" ] || fail "a refused apply wrote something"
[ ! -e ran ] || fail "something a run planted was executed on the host"
run 0 "$AGATE" discard last

# --- commits that cannot be read are nothing to throw away ---
sample_repo "$WORK/hurt"
inside 0 hurt 'git commit -q --allow-empty -m x; o=$(git rev-parse HEAD); rm -f ".git/objects/${o:0:2}/${o:2}"'
says err 'its commits cannot be read'
run 0 "$AGATE" diff last
says err 'its commits cannot be read'
run 126 "$AGATE" apply last
run 0 "$AGATE" discard last

# --- ten thousand files ---
for d in $(seq 100); do
	mkdir -p "many/d$d" && (cd "many/d$d" && seq 100 | xargs touch)
done
git -C many init -q && git -C many add -A && git -C many commit -qm many
RUN_SECONDS=120 inside 0 many 'git status --porcelain | wc -l; find . -path ./.git -prune -o -type f -print | wc -l; rm -r d1; mkdir -p a/b/c; chmod 500 a/b; chmod 0 d2'
says out '^0$'
says out '^10000$'
run 0 "$AGATE" discard last
[ -z "$(find state -name '.trash*')" ] || fail "discard left its trash"
exit 0
