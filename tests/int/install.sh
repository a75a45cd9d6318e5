#!/bin/bash
# What `make install` puts down works from there, without the tree it was built in.
# timeout: 120
# once: what is installed does not depend on who installs it
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_sandbox

dest=$WORK/dest
cd "$ROOT" || exit 1
RUN_SECONDS=100 run 0 make -s B="$(dirname "$AGATE")" install DESTDIR="$dest" prefix=/usr
for f in bin/agate bin/agate-hook lib/agate/agate-init share/man/man1/agate.1 share/man/man5/agate-policy.5 \
	share/bash-completion/completions/agate; do
	holds "'$f' was not installed" test -s "$dest/usr/$f"
done
holds "no data was installed" test -n "$(ls "$dest/usr/share/agate")"

sample_repo "$WORK/repo"
cd "$WORK/repo" || exit 1
installed=$dest/usr/bin/agate
run 0 "$installed" run -- sh -c 'echo from inside; cat README'
says "$WORK/out" '^from inside$'
run 0 "$installed" doctor
silent "$WORK/out" '^missing .*(installed|helper)'
run 0 bash -c ". '$dest/usr/share/bash-completion/completions/agate' && complete -p agate"
run 0 "$installed" hook claude --settings
says "$WORK/out" "$dest/usr/bin/agate-hook claude"
