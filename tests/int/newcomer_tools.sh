#!/bin/bash
# What everybody's tools do in a workspace, they do inside as they do outside: each line of
# the table is run outside first, in a copy, and has to say and leave the same inside.
# timeout: 420
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_sandbox

repo=$WORK/repo
sample_repo "$repo"
# shellcheck disable=SC2016 # make and sh expand these
printf 'all: prog\nprog: src/main.c\n\t$(CC) -o $@ $<\nclean:\n\trm -f prog\n' >"$repo/Makefile"
printf '#!/bin/sh\necho a script: "$@"\n' >"$repo/script"
chmod +x "$repo/script"
ln -s src "$repo/link"
cat >"$repo/race.py" <<'PY'
import concurrent.futures, os, subprocess, tempfile
def one(i):
    d = tempfile.mkdtemp(dir=".")
    p = os.path.join(d, "f%d" % i)
    with open(p, "w") as f:
        f.write(str(i))
    os.replace(p, p + ".done")
    out = subprocess.run(["cat", p + ".done"], capture_output=True, text=True).stdout
    os.unlink(p + ".done")
    os.rmdir(d)
    return int(out)
with concurrent.futures.ThreadPoolExecutor(16) as ex:
    print(sum(ex.map(one, range(400))))
PY
git -C "$repo" add -A
git -C "$repo" commit -q -m "more"

# name : what is asked of it (a script; its output and exit status are compared)
tasks() {
	cat <<-'END'
	redirect : echo a >a; echo b >>a; cat <a; : >a; wc -c <a; echo to-stderr >/dev/stderr; echo to-fd >/dev/fd/1; cat <<<here
	pipes : seq 1000 | tee all.txt | tail -n 1; mkfifo p; (seq 3 >p &) ; cat p; rm p; diff <(seq 3) <(seq 4); echo $?
	umask : umask 027; touch u; mkdir ud; stat -c '%a' u ud; umask 0; touch v; stat -c %a v; install -m 4711 v w; stat -c %a w
	modes : touch m; chmod 600 m; stat -c %a m; chmod u+x,g+r m; stat -c %a m; chmod +t src; stat -c %a src; cp -p m n; stat -c %a n
	times : touch -d 2001-02-03 t; stat -c %Y t; cp -a t t2; stat -c %Y t2; touch -r t src; stat -c %Y src
	links : ln a.txt b.txt 2>&1; echo x >a.txt; ln a.txt b.txt; stat -c %h a.txt; ln -s a.txt c.txt; readlink c.txt; ln -sfn src d; readlink d; rm b.txt; stat -c %h a.txt
	rename : mkdir -p x/y; echo 1 >x/y/z; mv x w2; cat w2/y/z; mv w2/y .; cat y/z; mv -n y w2; ls w2; mv README README.new; ls
	tree : mkdir -p deep/$(seq -s / 60); find deep | wc -l; rm -rf deep; ls
	find : find . -name .git -prune -o -type f -print | LC_ALL=C sort; find src -name '*.c' -exec grep -l main {} +
	editor : printf 'int x;\n' >f.c; cp f.c f.c~; printf 'int y;\n' >.f.c.swp; mv .f.c.swp f.c; cat f.c; sed -i s/y/z/ f.c; cat f.c; perl -pi -e s/z/w/ f.c; cat f.c
	tar : tar cf ../t.tar . 2>/dev/null; tar czf t.tgz src; mkdir out; tar xzf t.tgz -C out; cat out/src/main.c; tar tf t.tgz | sort
	make : make -s 2>&1; ./prog; echo $?; make -s; make -s clean; ls
	gcc : gcc -O2 -c src/main.c -o m.o && nm m.o; ar rcs libm2.a m.o && gcc -o p2 libm2.a; ./p2; echo $?; file -b p2 2>/dev/null | cut -c1-10
	git : git status --short; echo 1 >>README; git add -A; git commit -q -m one; git log --format=%s; git stash list; echo 2 >>README; git stash -q; cat README; git stash pop -q; cat README; git diff --stat
	gitbranch : git checkout -q -b side; echo s >s; git add s; git commit -q -m side; git checkout -q -; git merge -q --no-ff -m merged side; git log --format=%s; git tag v1; git describe --tags; git rebase -q HEAD; git gc -q; git fsck 2>&1 | grep -v dangling; git branch --list side
	gitclone : git clone -q . copy; git -C copy log --format=%s; git -C copy config user.name x; git -C copy config user.name; rm -rf copy; ls; git init -q new; ls -A new; git config a.b c; git config a.b; git remote add o https://example.invalid/x; git remote
	gitworktree : git worktree add -q wt -b wt; ls wt; git -C wt commit -q --allow-empty -m w; git worktree remove wt; git branch -D -q wt; git clean -nd | sort
	python : python3 -c 'import os,tempfile,json; d=tempfile.mkdtemp(); open(d+"/x","w").write("1"); print(os.listdir(d)); import sqlite3; c=sqlite3.connect("db.sqlite"); c.execute("create table t(a)"); c.execute("insert into t values(7)"); c.commit(); print(c.execute("select * from t").fetchall())'
	threads : python3 race.py; ls
	process : python3 -c 'import multiprocessing as m; p=m.Pool(4); print(sum(p.map(abs, range(-50, 0))))'
	node : command -v node >/dev/null || exit 0; node -e 'const fs=require("fs"); fs.mkdirSync("nd/e",{recursive:true}); fs.writeFileSync("nd/e/f","x"); fs.renameSync("nd/e/f","nd/g"); fs.rmSync("nd",{recursive:true}); console.log(fs.readdirSync(".").length > 3, process.cwd() === process.env.PWD)'
	bigfile : dd if=/dev/zero of=big bs=1M count=64 status=none; stat -c %s big; truncate -s 1G sparse; stat -c %s sparse; cp --sparse=always sparse s2; stat -c %s s2; fallocate -l 1M fa; stat -c %s fa; rm big sparse s2 fa
	mmap : python3 -c 'import mmap; f=open("mm","w+b"); f.truncate(8192); m=mmap.mmap(f.fileno(),8192); m[0:5]=b"hello"; m.flush(); print(open("mm","rb").read(5))'
	locks : flock lock -c 'flock -n lock -c "echo got" || echo busy'; python3 -c 'import fcntl; f=open("lf","w"); fcntl.lockf(f, fcntl.LOCK_EX); print("locked")'
	tmp : mktemp -d >/dev/null && d=$(mktemp -d) && echo x >$d/f && mv $d/f . && cat f; ls /var/tmp | wc -l >/dev/null; echo s >/dev/shm/agate-s && cat /dev/shm/agate-s && rm /dev/shm/agate-s
	errors : echo x 2>&1 >no/such/dir; cat nothing 2>&1; mkdir src 2>&1; rmdir src 2>&1; mv nothing x 2>&1; ln README README 2>&1; rm nothing 2>&1; cd README 2>&1; echo x 2>&1 >src; true
	eloop : ln -s l1 l2; ln -s l2 l1; cat l1 2>&1; echo x 2>&1 >l1; readlink l1; rm l1 l2
	manyfiles : mkdir many; for i in $(seq 2000); do echo $i >many/$i; done; ls many | wc -l; cat many/* | awk '{s+=$1} END {print s}'; rm -r many
	exec : ./script a b; bash -c 'exec -a other sh -c "echo \$0"'; env -i /bin/echo empty; nice -n 1 echo nice; timeout 1 sleep 5; echo $?; sh -c 'kill -SEGV $$' 2>/dev/null; echo $?
	wait : sleep 0.1 & sleep 0.1 & wait; echo waited; (exit 7); echo $?; trap 'echo trapped' USR1; kill -USR1 $$; echo after
	id : test "$(id -u)" = "$(stat -c %u README)"; echo $?; test -w README; echo $?; test -w /etc/passwd; test "$(pwd)" = "$PWD"; echo $?
	END
}

# picture DIR: what a task left, but for times and what git and tools number differently
picture() {
	(cd "$1" && find . -path ./.git -prune -o -printf '%y %m %s %l %p\n' |
		grep -vE '^d|__pycache__|\./(copy|new|wt)(/|$)' | LC_ALL=C sort)
}

failed=0
tasks >"$WORK/tasks"
while IFS= read -r line; do
	name=${line%% : *}
	printf '%s\n' "${line#* : }" >"$repo/task.sh"
	rm -rf "$WORK/outside"
	cp -a "$repo" "$WORK/outside"
	(cd "$WORK/outside" && timeout 60 env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$HOME" LANG=C.UTF-8 \
		GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t \
		PYTHONDONTWRITEBYTECODE=1 PWD="$PWD" bash task.sh) >"$WORK/want" 2>"$WORK/want.err" </dev/null
	want=$?
	(cd "$repo" && timeout 90 "$AGATE" run --keep --env PYTHONDONTWRITEBYTECODE=1 -- bash task.sh) \
		>"$WORK/got" 2>"$WORK/got.err" </dev/null
	got=$?
	sed -i "s#$WORK/outside#$repo#g" "$WORK/want"
	ws=$(timeout 20 "$AGATE" runs --json | sed -n '1s/.*"workspacePath":"\([^"]*\)".*/\1/p')
	if [ $got != $want ] || ! diff "$WORK/want" "$WORK/got" >"$WORK/diff" ||
		! diff <(picture "$WORK/outside") <(picture "$ws") >"$WORK/diff"; then
		echo "--- $name: exit status $got, not $want"
		head -n 15 "$WORK/diff"
		grep -v '^hint' "$WORK/got.err" | head -n 12
		failed=$((failed + 1))
	fi
done <"$WORK/tasks"
[ $failed = 0 ] || fail "$failed tasks went another way inside than outside"
