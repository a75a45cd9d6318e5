/*
 * coreutils and other small programs of every system.
 */
#include <string.h>

#include "gates/options.h"

/* --- deleting --- */

/* The directory whose whole content @a names: itself, or the one before "/" and a star. */
static const char *emptied(struct judge *j, const struct arg *a)
{
	const char *path = place_resolve(j->arena, j->sh.cwd, a->text);
	const char *slash = strrchr(path, '/');

	if (slash && a->is_glob &&
	    (!strcmp(slash, "/*") || !strcmp(slash, "/.*") || !strcmp(slash, "/.[!.]*")))
		return slash == path ? "/" : arena_dup(j->arena, path, (size_t)(slash - path));
	return path;
}

static bool names_git_dir(const char *path)
{
	size_t n = strlen(path);

	return n >= 5 && !strcmp(path + n - 5, "/.git");
}

void judge_emptied(struct judge *j, const char *who, const struct arg *a)
{
	const char *dir = emptied(j, a);
	bool is_workspace = j->req->workspace && !strcmp(dir, j->req->workspace);

	if (is_workspace || names_git_dir(dir))
		judge_note(j, a, EFFECT_FILE_DELETE, PLACE_INSIDE, dir, ASKS, "ask list",
			   "'%s' takes away %s", who, is_workspace ? "the whole workspace" :
		"the repository's history");
	else if (place_is_root(j->req, dir))
		judge_note(j, a, EFFECT_FILE_DELETE, PLACE_OUTSIDE, dir, REFUSED, "deny list",
			   "'%s' takes away all of '%s'", who, dir);
}

static void check_mv(struct judge *j, struct parsed *p)
{
	for (size_t i = 0; i + !p->has_target < p->operands.n; i++)
		judge_emptied(j, p->who, &p->operands.v[i]);
}

static void check_rm(struct judge *j, struct parsed *p)
{
	if (!opt_has(p, "r R recursive"))
		return;
	for (size_t i = 0; i < p->operands.n; i++)
		judge_emptied(j, p->who, &p->operands.v[i]);
}

/* --- one operand: made in the current directory --- */

static void check_ln(struct judge *j, struct parsed *p)
{
	if (p->operands.n == 1 && !p->has_target) {
		struct arg here = p->operands.v[0];
		const char *slash = strrchr(here.text, '/');

		here.text = slash ? slash + 1 : here.text;
		judge_path(j, p->who, &here, USE_WRITE);
	}
}

/* install -d DIR... makes them all. */
static void check_install(struct judge *j, struct parsed *p)
{
	for (size_t i = 0; opt_has(p, "d directory") && i < p->operands.n; i++)
		judge_path(j, p->who, &p->operands.v[i], USE_WRITE);
}

static void check_mktemp(struct judge *j, struct parsed *p)
{
	static const struct arg made = { .text = "/tmp/tmp.XXXXXXXXXX", .is_known = true };
	struct arg a = made;

	if (opt_has(p, "u dry-run"))
		return;
	a.start = p->name->start;
	a.end = p->name->end;
	judge_path(j, p->who, p->operands.n ? &p->operands.v[0] : &a, USE_WRITE);
}

/* --- words of their own kind --- */

static void check_dd(struct judge *j, struct parsed *p)
{
	for (size_t i = 0; i < p->operands.n; i++) {
		struct arg a = p->operands.v[i];

		if (!strncmp(a.text, "if=", 3)) {
			judge_note(j, &a, EFFECT_PROCESS_SPAWN, PLACE_NONE, "dd", REFUSED, "deny list",
				   "'dd if=' copies raw data");
			a.text += 3;
			judge_path(j, p->who, &a, USE_READ);
		} else if (!strncmp(a.text, "of=", 3)) {
			a.text += 3;
			judge_path(j, p->who, &a, USE_WRITE);
		} else if (!a.is_known) {
			judge_unknown(j, p->who, &a, "gets a word that could name a file to write");
		}
	}
}

/* "+FORMAT" prints; any other word sets the clock. */
static void check_date(struct judge *j, struct parsed *p)
{
	for (size_t i = 0; i < p->operands.n; i++)
		if (p->operands.v[i].text[0] != '+')
			judge_unknown(j, p->who, &p->operands.v[i], "sets the clock");
}

/* BSD-style letters: "e" shows environments. */
static void check_ps(struct judge *j, struct parsed *p)
{
	for (size_t i = 0; i < p->operands.n; i++) {
		const char *s = p->operands.v[i].text;

		if (s[0] != '-' && strchr(s, 'e') &&
		    strspn(s, "aAcdeEfFgGhHjklLmMnNoOpPrsStTuUvVwWxXyZ") == strlen(s))
			judge_note(j, &p->operands.v[i], EFFECT_SECRET_ACCESS, PLACE_SECRET, p->who, CHANGES,
				   "secret", "'%s %s' shows the variables of other processes", p->who, s);
	}
}

static void check_stty(struct judge *j, struct parsed *p)
{
	for (size_t i = 0; i < p->operands.n; i++)
		if (!arg_is(&p->operands.v[i], "size") && !arg_is(&p->operands.v[i], "speed"))
			judge_unknown(j, p->who, &p->operands.v[i], "changes the terminal");
}

/* A program file given to ldd may choose its own loader, which is then run. */
static void check_ldd(struct judge *j, struct parsed *p)
{
	for (size_t i = 0; i < p->operands.n; i++) {
		const char *path = place_resolve(j->arena, j->sh.cwd, p->operands.v[i].text);

		if (place_of(j->req, path, USE_LOOK) != PLACE_SYSTEM)
			judge_unknown(j, p->who, &p->operands.v[i], "can run the file it looks at");
	}
}

/* Names of hosts are asked of the network. */
static void check_getent(struct judge *j, struct parsed *p)
{
	if (p->operands.n > 1 && strstr(p->operands.v[0].text, "hosts"))
		apply_role(j, p->who, 'N', &p->operands, 1);
}

/* Show forms only; "ip netns exec" and "ip link set" are something else. */
static void check_ip(struct judge *j, struct parsed *p)
{
	static const char known[] = " a ad addr address r ro route l li link n neigh neighbor rule maddr "
		"show list ls dev up -4 -6 -br -brief -c -color -color=never -o -oneline -s -stats -d "
		"-details -j -json -p -pretty -N -h -human -family inet inet6 table all main default "
		"scope global ";

	for (size_t i = 0; i < p->operands.n; i++) {
		const struct arg *a = &p->operands.v[i];
		const char *hit = a->is_known ? strstr(known, a->text) : NULL;
		bool is_name = i && arg_is(&p->operands.v[i - 1], "dev");

		if (!is_name && !(hit && hit[-1] == ' ' && hit[strlen(a->text)] == ' '))
			judge_unknown(j, p->who, a, "has an effect that is not known with this");
	}
}

static const char ls_options[] =
	"-1aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ -I:- -T:- -w:- --all --almost-all --author --block-size:- "
		"--classify? --color? --context --dereference --dereference-command-line "
		"--dereference-command-line-symlink-to-dir --directory --dired --escape --file-type "
		"--format:- --full-time --group-directories-first --hide:- --hide-control-chars "
		"--human-readable --hyperlink? --ignore:- --ignore-backups --indicator-style:- --inode "
		"--kibibytes --literal --no-group --numeric-uid-gid --quote-name --quoting-style:- "
		"--recursive --reverse --show-control-chars --si --size --sort:- --tabsize:- --time:- "
		"--time-style:- --width:- --zero";

static const char sum_options[] =
	"-bctwz -l:- -a:- --binary --check --ignore-missing --length:- --quiet --status --strict --tag "
		"--text --untagged --warn --zero --algorithm:- --debug";

#define ENDS_RUN "ends the machine's run"
#define CUTS_DISKS "writes to disks as a whole"

/* Without a second word it writes a file of its own naming. */
static void check_pdftotext(struct judge *j, struct parsed *p)
{
	if (p->operands.n < 2)
		judge_note(j, p->name, EFFECT_WORKSPACE_MUTATION, PLACE_INSIDE, p->who, CHANGES, "write",
			   "'%s' writes a file beside the one it reads", p->who);
	else if (!arg_is(&p->operands.v[1], "-"))
		judge_path(j, p->who, &p->operands.v[1], USE_WRITE);
}

const struct program table_core[] = {
	/* reading files */
	ROW("cat", "-AbeEnstTuv --number --number-nonblank --show-all --show-ends --show-nonprinting "
		"--show-tabs --squeeze-blank", "R*"),
	ROW("tac", "-br -s:- --before --regex --separator:-", "R*"),
	ROW("nl", "-b:- -d:- -f:- -h:- -i:- -l:- -n:- -p -s:- -v:- -w:- --body-numbering:- "
		"--footer-numbering:- --header-numbering:- --join-blank-lines:- --line-increment:- "
		"--no-renumber --number-format:- --number-separator:- --number-width:- "
		"--section-delimiter:- --starting-line-number:-", "R*"),
	ROW("od|hd", "-abcdfilosvx -A:- -j:- -N:- -S:- -t:- -w? --address-radix:- --endian:- --format:- "
		"--output-duplicates --read-bytes:- --skip-bytes:- --strings? --traditional --width?",
	    "R*"),
	ROW("hexdump", "-bCcdovx -e:- -f:R -n:- -s:- -L? --canonical --length:- --skip:- --no-squeezing "
		"--color?", "R*"),
	ROW("xxd", "-abCdeEiprRuv -c:- -g:- -l:- -n:- -o:- -s:-", "RW"),
	ROW("base64|base32|basenc", "-di -w:- --decode --ignore-garbage --wrap:- --base16 --base2lsbf "
		"--base2msbf --base32 --base32hex --base64 --base64url --z85", "R"),
	ROW("head", "-qvz -# -c:- -n:- --bytes:- --lines:- --quiet --silent --verbose --zero-terminated",
	    "R*"),
	ROW("tail", "-fFqvz -# -c:- -n:- -s:- --bytes:- --lines:- --follow? --retry --pid:- "
		"--sleep-interval:- --max-unchanged-stats:- --quiet --silent --verbose --zero-terminated",
	    "R*"),
	ROW("wc", "-clmwL --bytes --chars --lines --words --max-line-length --files0-from:R --total:-",
	    "R*"),
	ROW("sum|cksum|md5sum|sha1sum|sha224sum|sha256sum|sha384sum|sha512sum|b2sum", sum_options, "R*"),
	ROW("strings", "-afdwo -n:- -t:- -e:- -s:- -# --all --data --bytes:- --radix:- --encoding:- "
		"--include-all-whitespace",
	  "R*"),
	ROW("file", "-bcdhikLlNnrsSvzZ0E -C!U -p!U -m:U -f:R -F:- -P:- -e:- --brief --compile!U "
		"--dereference --debug --exclude:- --exclude-quiet:- --extension --files-from:R "
		"--keep-going --list --magic-file:U --mime --mime-type --mime-encoding --no-buffer "
		"--no-dereference --no-pad --no-sandbox --parameter:- --preserve-date!U --print0 --raw "
		"--separator:- --special-files --uncompress --uncompress-noreport --apple "
		"--checking-printout",
	  "R*"),

	/* looking at names */
	ROW("ls|dir|vdir", ls_options, "L*"),
	ROW("stat", "-Lft -c:- --cached:- --dereference --file-system --format:- --printf:- --terse", "L*"),
	ROW("du", "-0abcDhHklLmPsSx -B:- -d:- -t:- -X:R --all --apparent-size --block-size:- --bytes "
		"--count-links --dereference --dereference-args --exclude:- --exclude-from:R "
		"--files0-from:R --human-readable --inodes --max-depth:- --no-dereference --null "
		"--one-file-system --separate-dirs --si --summarize --threshold:- --time? --time-style:- "
		"--total", "L*"),
	ROW("df", "-aHhiklPTv -B:- -t:- -x:- --all --block-size:- --exclude-type:- --human-readable "
		"--inodes --local --no-sync --output? --portability --print-type --si --sync --total "
		"--type:-", "L*"),
	ROW("readlink", "-efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing "
		"--no-newline --quiet --silent --verbose --zero", "L*"),
	ROW("realpath", "-eLmPqsz --canonicalize-existing --canonicalize-missing --logical --no-symlinks "
		"--physical --quiet --relative-base:- --relative-to:- --strip --zero", "L*"),
	ROW("tree", "-aACdDfFghiJlnNpqQrsStuUvxX -c -H:- -I:- -L:- -o:W -P:- -R!U -T:- --charset:- "
		"--device --dirsfirst --du --filelimit:- --filesfirst --fromfile --fromtabfile "
		"--gitignore --gitfile:R --ignore-case --info --infofile:R --inodes --matchdirs "
		"--metafirst --nolinks --noreport --prune --si --sort:- --timefmt:-",
	  "L*"),
	ROW("exa|eza|lsd", "-1lGRxFaAdDfrsbBghHimMnoSuUZT -L:- -I:- -t:- --oneline --long --grid --across --recurse --tree --icons? "
		"--color? --colour? --color-scale? --all --almost-all --list-dirs --directory-only --only-dirs --only-files --level:- "
		"--depth:- --reverse --sort:- --group-directories-first --group-dirs:- --ignore-glob:- --git-ignore --git --no-git "
		"--binary --bytes --group --header --links --inode --modified --blocks --time:- --accessed --created --changed "
		"--time-style:- --no-permissions --no-filesize --no-user --no-time --extended --octal-permissions --total-size "
		"--classify? --hyperlink? --date:- --size:- --blocks:- --header --human-readable",
	  "L*"),
	ROW("hexyl", "-vpC -n:- -c:- -s:- -b:- --length:- --bytes:- --skip:- --block-size:- --no-squeezing --color:- --border:- "
		"--plain --no-characters --display-offset:- --panels:- --group-size:-", "R*"),
	ROW("pdfinfo|pdffonts|pdfimages", "= -f:- -l:- --box --meta --rawdates --enc:- --listenc --opw:- --upw:- --list --isodates --dests --url "
		"--loc --subst", "R"),
	ROW("pdftotext", "= -f:- -l:- -r:- -x:- -y:- -W:- -H:- -q --layout --raw --nopgbrk --enc:- --eol:- --nodiag --table --fixed:- --bbox "
		"--htmlmeta --opw:- --upw:-", "R-", .check = check_pdftotext),
	ROW("pkg-config|pkgconf", "-vh --version --modversion --cflags --libs --libs-only-l --libs-only-L --libs-only-other "
		"--cflags-only-I --cflags-only-other --exists --atleast-version:- --exact-version:- --max-version:- --list-all "
		"--list-package-names --print-errors --silence-errors --short-errors --static --variable:- --print-variables "
		"--print-requires --print-requires-private --print-provides --path --validate --uninstalled", "-*"),
	ROW("ifconfig", "-as -v", ""),
	ROW("route", "-ne46v", ""),
	ROW("basename", "-az -s:- --multiple --suffix:- --zero", "-*"),
	ROW("dirname", "-z --zero", "-*"),
	ROW("pathchk", "-pP --portability", "-*"),
	ROW("lsattr|getfacl", "-aRdvlpcestn --absolute-names --omit-header --recursive", "L*"),
	ROW("namei", "-xmolvn --modes --owners --long --vertical --nosymlinks --mountpoints", "L*"),

	/* facts, and words in, words out */
	ROW("date", "-0Ru -d:- -f:R -I? -r:L -s:U --date:- --debug --file:R --iso-8601? --reference:L "
		"--resolution --rfc-2822 --rfc-3339:- --rfc-email --set:U --universal --utc", "-*",
	    .check = check_date),
	ROW("hostname", "-aAdfIisy -F:U --alias --all-fqdns --all-ip-addresses --domain --fqdn "
		"--ip-address --long --short", ""),
	{ .name = "uname|arch|hostid|id|groups|whoami|who|users|uptime|tty|nproc|lscpu|lsblk|free|vmstat|"
		"lsusb|lspci|locale|getconf|lsb_release|logname|w|last|pwdx|pgrep|pidof|pstree|pmap|"
		"numfmt|seq|factor|expr|sleep|yes|cal|ncal|which|whereis|whatis|apropos|clear|tput|sync|"
		"lsmod|findmnt|mountpoint|iostat|mpstat|infocmp|zdump|figlet|lslocks|lsns|lsmem|ipcs|top|"
		"netstat" },
	{ .name = "ps", .check = check_ps },
	{ .name = "ip", .check = check_ip },
	ROW("ss", "-hVnrapleomtiu46wx0dsZzSMHOQTB -f:- -A:- -K!U -D:W -F:R -E --numeric --all --listening "
		"--processes --tcp --udp --summary --options --info --extended --memory --unix --no-header",
	    "-*"),
	ROW("lsof", "-aCbhlnNOPRtUvVwXKEfg -c:- -d:- -i? -p:- -s? -u:- -F? -r? -S? -T?", "-*"),
	ROW("stty", "-ag -F:L --all --save --file:L", "-*", .check = check_stty),
	ROW("getent", "-i -s:- --service:- --no-idn", "-*", .check = check_getent),
	ROW("ldd", "-druv --data-relocs --function-relocs --unused --verbose", "R*", .check = check_ldd),
	ROW("nm|size", "-aABCDgorSulnpPxdeV -f:- -t:- --demangle? --dynamic --extern-only --defined-only "
		"--undefined-only --numeric-sort --print-size --size-sort --reverse-sort --radix:- "
		"--format:- --totals --common", "R*"),
	ROW("objdump", "-afpPhxDSdsgertTCFlwz -b:- -m:- -j:- -M:- -E:- --disassemble? --disassemble-all "
		"--source --syms --headers --all-headers --section:- --demangle? --no-show-raw-insn "
		"--reloc --dynamic-syms --file-headers --private-headers --start-address:- "
		"--stop-address:- --full-contents --line-numbers --wide --disassembler-options:-", "R*"),
	ROW("readelf", "-aehlSsgtnrudVAcDWLzCI -x:- -p:- -R:- -w? --all --file-header --program-headers "
		"--segments --section-headers --sections --symbols --syms --dyn-syms --notes --relocs "
		"--dynamic --version-info --wide --headers --hex-dump:- --string-dump:- --debug-dump? "
		"--demangle?", "R*"),
	ROW("addr2line|c++filt", "-aCfipsn_ -e:R -j:- -b:- --addresses --exe:R --functions --demangle? "
		"--pretty-print --inlines --basenames", "-*"),

	/* writing */
	ROW("cp", "-abdfHilLnpPrRsTuvxZ -S:- -t:Wd --archive --attributes-only --backup? --context? "
		"--copy-contents --dereference --force --interactive --link --no-clobber --no-dereference "
		"--no-preserve:- --no-target-directory --one-file-system --parents --preserve? "
		"--recursive --reflink? --remove-destination --sparse:- --strip-trailing-slashes "
		"--suffix:- --symbolic-link --target-directory:Wd --update? --verbose",
	  "R*W"),
	ROW("mv", "-bfinTuvZ -S:- -t:Wd --backup? --context --force --interactive --no-clobber "
		"--no-target-directory --strip-trailing-slashes --suffix:- --target-directory:Wd "
		"--update? --verbose", "M*W",
	    .check = check_mv),
	ROW("rm", "-dfiIrRv --dir --force --interactive? --no-preserve-root --one-file-system "
		"--preserve-root? --recursive --verbose", "D*", .check = check_rm),
	ROW("rmdir", "-pv --ignore-fail-on-non-empty --parents --verbose", "D*"),
	ROW("unlink", "", "D"),
	ROW("mkdir", "-pvZ -m:- --context? --mode:- --parents --verbose", "W*"),
	ROW("mkfifo", "-Z -m:- --context? --mode:-", "W*"),
	ROW("mknod", "-Z -m:- --context? --mode:-", "W-*"),
	ROW("ln", "-bdfFiLnPrsTv -S:- -t:Wd --backup? --directory --force --interactive --logical "
		"--no-dereference --no-target-directory --physical --relative --suffix:- --symbolic "
		"--target-directory:Wd --verbose", "-*W",
	  .check = check_ln),
	ROW("link", "", "-W"),
	ROW("install", "-bcCdDpsTvZ -g:- -m:- -o:- -S:- -t:Wd --backup? --compare --context? --directory "
		"--group:- --mode:- --no-target-directory --owner:- --preserve-context "
		"--preserve-timestamps --strip --strip-program:C --suffix:- --target-directory:Wd "
		"--verbose", "R*W", .check = check_install),
	ROW("touch", "-acfhm -d:- -r:L -t:- --date:- --no-create --no-dereference --reference:L --time:-",
	    "W*"),
	ROW("truncate", "-co -r:L -s:- --io-blocks --no-create --reference:L --size:-", "W*"),
	ROW("tee", "-aip --append --ignore-interrupts --output-error?", "W*"),
	ROW("chmod", "-cfvRrwxXst --changes --quiet --silent --verbose --no-preserve-root --preserve-root "
		"--recursive --reference:L^", "-W*"),
	ROW("chown|chgrp|chcon", "-cfhHLPRv -l:- -r:- -t:- -u:- --changes --dereference --from:- "
		"--no-dereference --no-preserve-root --preserve-root --quiet --recursive --reference:L^ "
		"--silent --verbose --range:- --role:- --type:- --user:-", "-W*"),
	ROW("shred", "-fuvxz -n:- -s:- --exact --force --iterations:- --random-source:R --remove? "
		"--size:- --verbose --zero",
	  "D*"),
	ROW("mktemp", "-dqtu -p:W --directory --dry-run --quiet --suffix:- --tmpdir?", "-",
	    .check = check_mktemp),
	ROW("split", "-deux -a:- -b:- -C:- -l:- -n:- -t:- -# --additional-suffix:- --bytes:- "
		"--elide-empty-files --filter:S --hex-suffixes? --line-bytes:- --lines:- --number:- "
		"--numeric-suffixes? --separator:- --suffix-length:- --unbuffered --verbose", "RW",
		  .class = EFFECT_WORKSPACE_MUTATION, .weight = CHANGES, .why =
		"writes a file for each piece"),
	ROW("csplit", "-kqsz -b:- -f:W -n:- --digits:- --elide-empty-files --keep-files --prefix:W "
		"--quiet --silent --suffix-format:- --suppress-matched", "R-*",
	    .class = EFFECT_WORKSPACE_MUTATION, .weight = CHANGES,
	  .why = "writes a file for each piece"),
	{ .name = "dd", .check = check_dd },
	ROW("setfacl|chattr", NULL, NULL, .class = EFFECT_WORKSPACE_MUTATION, .weight = CHANGES,
	    .why = "changes attributes"),
	ROW("strip|objcopy|ranlib|patchelf", NULL, NULL, .class = EFFECT_WORKSPACE_MUTATION,
	    .weight = CHANGES, .why = "rewrites files"),
	ROW("fallocate", "-cdinpvxz -l:- -o:- --length:- --offset:- --verbose", "W*"),
	ROW("rename|prename|mmv", NULL, NULL, .class = EFFECT_WORKSPACE_MUTATION, .weight = CHANGES,
	    .why = "renames files"),

	/* never */
	{ .name = "shutdown|reboot|halt|poweroff|init|telinit", .class = EFFECT_ENCLOSURE_CONTROL,
	    .weight = REFUSED,
	  .why = ENDS_RUN },
	{ .name = "mkfs|fdisk|parted|sfdisk|cfdisk|gdisk|sgdisk|wipefs|mkswap|swapon|swapoff|cryptsetup|"
		"lvm|mke2fs|blkdiscard",
	  .class = EFFECT_ENCLOSURE_CONTROL, .weight = REFUSED, .why = CUTS_DISKS },
	{ 0 }
};
