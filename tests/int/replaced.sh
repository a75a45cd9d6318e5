#!/bin/bash
# timeout: 240
# What was hidden at the start stays so when somebody on the host puts another file in its place while
# the run goes on, and what comes beside it is hidden too: a mount over the old file no longer helps.
# shellcheck source=tests/lib/int.sh
. "$(dirname "$0")/../lib/int.sh"
need_agate
sample_repo "$WORK/repo"
cd "$WORK/repo" || exit 1

# look.sh: what can be read before and after a line comes in
cat >look.sh <<'SH'
look() {
	for p; do
		if got=$(cat "$p" 2>&1); then echo "$p: $got"; else echo "$p: closed"; fi
	done
}
look "$@" >before
echo ready
read -r -t 30 go || exit 9
look "$@"
echo made >made && echo made >~/made && echo made >"${TMPDIR:-/tmp}/made" &&
	cat made ~/made "${TMPDIR:-/tmp}/made" /etc/hostname /proc/self/comm >/dev/null || exit 8
SH

# during FUNCTION PATH... : a run that looks at the paths, before and after the host does what the function says
during() {
	local change=$1
	shift
	rm -f "$WORK/ctl"
	mkfifo "$WORK/ctl"
	timeout -k 5 60 "$AGATE" run "${options[@]}" -- bash look.sh "$@" <"$WORK/ctl" >"$WORK/out" 2>"$WORK/err" &
	exec 7>"$WORK/ctl"
	within 20 grep -q ready "$WORK/out" || fail "the run did not start"
	"$change"
	echo go >&7
	exec 7>&-
	wait $! || fail "exit status $?"
}

# closed PATH...: as the last run saw it
closed() {
	local p
	for p; do
		grep -Eq "^$p: (closed|.*(Permission denied|No such file))" "$WORK/out" || fail "'$p' could be read"
	done
	silent "$WORK/out" 'secret'
}

# replace FILE MODE WORDS: another file, as passwd(1) and useradd(8) put theirs
replace() {
	(umask 077 && echo "$3" >"$1.replaced")
	chmod "$2" "$1.replaced"
	mv "$1.replaced" "$1"
}

# use LAYOUT
use() {
	unset AGATE_LAYOUT
	layout=$1
	[ "$layout" = 1 ] || export AGATE_LAYOUT=$layout
}

layouts=(1)
AGATE_LAYOUT=2 "$AGATE" run -- true >/dev/null 2>&1 && layouts+=(2)
bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev true 2>/dev/null || layouts=("${layouts[@]:1}")
[ ${#layouts[@]} != 0 ] || skip "no layout holds here"

# --- credentials in the directories of tools ---

log_in() {
	replace ~/.nvm/.npmrc 600 secret-new
	echo secret-made >~/.npm-global/etc/npmrc
	echo secret-made >~/miniconda3/.condarc
}

tools() {
	rm -rf "$HOME"
	mkdir -p ~/.nvm/versions/bin ~/.npm-global/bin ~/.npm-global/etc ~/miniconda3/bin
	printf '#!/bin/sh\necho tool\n' >~/.nvm/versions/bin/agate-tool
	chmod 755 ~/.nvm/versions/bin/agate-tool
	ln -s versions/bin ~/.nvm/current
	echo secret-old >~/.nvm/.npmrc
	echo plain >~/.nvm/plain
	echo plain >~/.npm-global/etc/plain
	options=(--env "PATH=$HOME/.nvm/versions/bin:$HOME/.npm-global/bin:$HOME/miniconda3/bin:$PATH")
	PATH=$HOME/.nvm/versions/bin:$HOME/.npm-global/bin:$HOME/miniconda3/bin:$PATH during log_in \
		~/.nvm/.npmrc ~/.npm-global/etc/npmrc ~/miniconda3/.condarc ~/.nvm/plain ~/.nvm/current/agate-tool ~/.npm-global/etc/plain
	closed ~/.nvm/.npmrc ~/.npm-global/etc/npmrc ~/miniconda3/.condarc
	says "$WORK/out" '/.nvm/plain: plain'
	says "$WORK/out" '/.npm-global/etc/plain: plain'
	says "$WORK/out" '/.nvm/current/agate-tool: #!/bin/sh'
	# shellcheck disable=SC2016 # for the shell inside
	PATH=$HOME/.nvm/versions/bin:$PATH run 0 "$AGATE" run -- bash -c 'agate-tool && [ -L "$0"/current ] &&
		! touch "$0"/new 2>/dev/null && ! touch "$0"/versions/new 2>/dev/null && ls -A "$0"' ~/.nvm
	says "$WORK/out" '^tool$'
}

for l in "${layouts[@]}"; do
	use "$l"
	tools
done

# --- secrets in what the user shows of the home ---

log_in_more() {
	replace ~/.config/git/credentials 600 secret-new
	mkdir ~/.config/gh
	echo secret-made >~/.config/gh/hosts.yml
	echo plain >~/.config/made
}

# home COMMAND: that done first
home() {
	rm -rf ~/.config
	mkdir -p ~/.config/app ~/.config/git
	echo plain >~/.config/app/f
	echo secret-old >~/.config/git/credentials
	"$@"
	during log_in_more \
		~/.config/git/credentials ~/.config/gh/hosts.yml ~/.config/app/f ~/.config/made
	closed ~/.config/git/credentials ~/.config/gh/hosts.yml
	says "$WORK/out" '/.config/app/f: plain'
}

for l in "${layouts[@]}"; do
	use "$l"
	options=(--read "$HOME/.config")
	home true
	# Too much to be shown one by one, and what may be written: then every open is the broker's.
	home mkdir ~/.config/d{1..101}
	says "$WORK/out" '/.config/made: plain'
	options=(--write "$HOME/.config")
	home true
	says "$WORK/out" '/.config/made: plain'
done

# --- what only root may read ---

[ "$(id -u)" = 0 ] || exit 0
etc=/etc/agate-test-$$
at_end "rm -rf $etc.*"

change_passwords() {
	replace "$etc.key" 600 secret-new
	replace "$etc.d/key" 600 secret-new
	mv "$etc.d/shut" "$etc.d/was"
	mkdir -m 700 "$etc.d/shut"
	echo secret-new >"$etc.d/shut/f"
	(umask 077 && echo secret-made >"$etc.made" && echo secret-made >"$etc.d/made")
}

# system [OPTION...]
system() {
	rm -rf "$etc".*
	mkdir "$etc.d" "$etc.d/shut"
	echo secret-old >"$etc.key"
	echo secret-old >"$etc.d/key"
	echo secret-old >"$etc.d/shut/f"
	echo plain >"$etc.d/plain"
	echo plain >"$etc.plain"
	chmod 600 "$etc.key" "$etc.d/key"
	chmod 700 "$etc.d/shut"
	options=("$@")
	during change_passwords \
		"$etc.key" "$etc.d/key" "$etc.d/shut/f" "$etc.made" "$etc.d/made" "$etc.d/was/f" "$etc.d/plain" "$etc.plain"
	closed "$etc.key" "$etc.d/key" "$etc.d/shut/f" "$etc.made" "$etc.d/made" "$etc.d/was/f"
	says "$WORK/out" "$etc.d/plain: plain"
	says "$WORK/out" "$etc.plain: plain"
}

# What the user hands over can be opened again, wherever it lies.
handed() {
	echo handed >"$WORK/handed"
	mkfifo "$WORK/fifo"
	for file in /dev/stdin /proc/self/fd/0; do
		run 0 "$AGATE" run -- cat $file <"$WORK/handed"
		says "$WORK/out" '^handed$'
		run 0 "$AGATE" run -- cat $file < <(echo piped)
		says "$WORK/out" '^piped$'
		(echo through && exec sleep 20) >"$WORK/fifo" &
		run 0 "$AGATE" run -- head -n 1 $file <"$WORK/fifo"
		kill $!
		says "$WORK/out" '^through$'
		run 0 "$AGATE" run -- bash -c "cat $file <<<here"
		says "$WORK/out" '^here$'
	done
	rm "$WORK/fifo"
	run 0 "$AGATE" run -- bash -c 'cp /bin/true ./t && ./t && cp /bin/true /tmp/t && /tmp/t && cp /bin/true ~/t && ~/t &&
		cat /dev/null /etc/passwd /proc/self/status >/dev/null && [ -r /etc/resolv.conf ] && cat /etc/resolv.conf'
}

for l in "${layouts[@]}"; do
	use "$l"
	system
	[ "$layout" = 2 ] || handed
	system --audit-reads
	refused file-read-data "$etc.key"
	system --deny-read '*.none'
done
