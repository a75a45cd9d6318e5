#!/bin/bash
# git's own ways to run something, pointed at a program of the run: whatever the run's
# git obeys inside, nothing of it may run outside, now or when agate reads the result.
set -u
mkdir -p evil
cat >evil/run <<'END'
#!/bin/sh
touch "$ATTACK_HOST/ran" 2>/dev/null
exit 0
END
chmod +x evil/run
for hook in pre-commit post-commit post-checkout post-index-change reference-transaction fsmonitor-watchman; do
	cp evil/run "evil/$hook"
done
git config core.hooksPath "$PWD/evil" || { echo "BROKEN: git config"; exit 2; }
git config core.fsmonitor "$PWD/evil/run"
git config filter.evil.clean "$PWD/evil/run; cat"
git config filter.evil.smudge "$PWD/evil/run; cat"
git config diff.external "$PWD/evil/run"
git config core.sshCommand "$PWD/evil/run"
git config credential.helper "!$PWD/evil/run"
git config gpg.program "$PWD/evil/run"
echo '* filter=evil diff=evil' >.gitattributes
echo changed >>README
git add README .gitattributes evil || { echo "BROKEN: git add"; exit 2; }
git commit -q -m "with a hook" || { echo "BROKEN: git commit"; exit 2; }
if [ -e "$ATTACK_HOST/ran" ]; then
	echo "SUCCEEDED: wrote to the host"
	exit 1
fi
exit 0
