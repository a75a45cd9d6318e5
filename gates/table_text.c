/*
 * Searching, comparing, editing and packing.
 */
#include <string.h>

#include "gates/options.h"

/* "+command" as a word is run by pagers and editors. */
static void check_pager(struct judge *j, struct parsed *p)
{
	for (size_t i = 0; i < p->operands.n; i++)
		if (p->operands.v[i].text[0] == '+')
			judge_unknown(j, p->who, &p->operands.v[i], "gets commands to run at its start");
}

/* At "env" or "$ENV" in a jq program: true unless it is one field whose name is no credential's. */
static bool reads_secrets(const char *env)
{
	char name[64];
	size_t n;

	env += *env == '$' ? 4 : 3;
	n = *env == '.' ? strspn(env + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") : 0;
	if (!n || n >= sizeof(name))
		return true;
	memcpy(name, env + 1, n);
	name[n] = '\0';
	return place_is_secret_name(name);
}

static bool is_env_word(const char *program, const char *hit)
{
	static const char letters[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (hit > program && (strchr(letters, hit[-1]) || hit[-1] == '.' || hit[-1] == '"'))
		return false;
	return !hit[3] || (!strchr(letters, hit[3]) && hit[3] != '"');
}

static void check_jq(struct judge *j, struct parsed *p)
{
	const struct arg *a = p->operands.n ? &p->operands.v[0] : NULL;
	bool found = false;

	if (!a || opt_has(p, "f from-file"))
		return;
	for (const char *hit = a->text; (hit = strstr(hit, "$ENV")); hit++)
		found |= reads_secrets(hit);
	for (const char *hit = a->text; (hit = strstr(hit, "env")); hit++)
		found |= is_env_word(a->text, hit) && reads_secrets(hit);
	if (found)
		judge_note(j, a, EFFECT_SECRET_ACCESS, PLACE_SECRET, p->who, CHANGES, "secret",
			   "'%s' reads the variables, credentials among them", p->who);
}

/* gzip and kin replace their files unless told to print. */
static void check_squeeze(struct judge *j, struct parsed *p)
{
	bool only_prints = opt_has(p, "c l t stdout to-stdout list test");

	for (size_t i = 0; i < p->operands.n; i++) {
		if (arg_is(&p->operands.v[i], "-"))
			continue;
		judge_path(j, p->who, &p->operands.v[i], only_prints ? USE_READ : USE_WRITE);
	}
}

static void check_unzip(struct judge *j, struct parsed *p)
{
	const struct opt *dir = opt_find(p, "d");
	struct arg here = { .text = ".", .is_known = true, .start = p->name->start, .end = p->name->end };

	if (!opt_has(p, "l t p c Z z v"))
		judge_path(j, p->who, dir && dir->has_value ? &dir->value : &here, USE_WRITE);
}

/* ar and cpio: letters of the first word decide. */
static void check_ar(struct judge *j, struct parsed *p)
{
	const char *mode = p->operands.n ? p->operands.v[0].text : "";

	mode += *mode == '-';
	if (*mode && !strpbrk(mode, "tp"))
		judge_note(j, p->name, EFFECT_WORKSPACE_MUTATION, PLACE_NONE, p->who, CHANGES, "write",
			   "'%s' writes files", p->who);
	for (size_t i = 1; i < p->operands.n; i++)
		judge_path(j, p->who, &p->operands.v[i], USE_READ);
}

static const char grep_options[] =
	"-abcEFGhHiIlLnoPqrRsTUvVwxyzZ -# -A:- -B:- -C:- -D:- -d:- -e:-^ -f:R^ -m:- --after-context:- "
		"--basic-regexp --before-context:- --binary --binary-files:- --byte-offset --color? "
		"--colour? --context? --count --dereference-recursive --devices:- --directories:- "
		"--exclude:- --exclude-dir:- --exclude-from:R --extended-regexp --file:R^ "
		"--files-with-matches --files-without-match --fixed-strings --ignore-case --include:- "
		"--initial-tab --invert-match --label:- --line-buffered --line-number --line-regexp "
		"--max-count:- --no-filename --no-ignore-case --no-messages --null --null-data "
		"--only-matching --perl-regexp --quiet --recursive --regexp:-^ --silent --text "
		"--unix-byte-offsets --with-filename --word-regexp --group-separator:- "
		"--no-group-separator";

static const char rg_options[] =
	"-abcFhHiIlLnNopPqsSuUvVwxz.0 -A:- -B:- -C:- -d:- -E:- -e:-^ -f:R^ -g:- -j:- -m:- -M:- -r:- -t:- "
		"-T:- --after-context:- --auto-hybrid-regex --before-context:- --binary --block-buffered "
		"--byte-offset --case-sensitive --color:- --colors:- --column --context:- "
		"--context-separator:- --count --count-matches --crlf --debug --dfa-size-limit:- "
		"--encoding:- --engine:- --field-context-separator:- --field-match-separator:- --file:R^ "
		"--files!^ --files-with-matches --files-without-match --fixed-strings --follow "
		"--generate:- --glob:- --glob-case-insensitive --heading --hidden --hostname-bin:C "
		"--hyperlink-format:- --iglob:- --ignore --ignore-case --ignore-file:R "
		"--ignore-file-case-insensitive --include-zero --invert-match --json --line-buffered "
		"--line-number --line-regexp --max-columns:- --max-columns-preview --max-count:- "
		"--max-depth:- --max-filesize:- --mmap --multiline --multiline-dotall --no-binary "
		"--no-config --no-context-separator --no-encoding --no-filename --no-heading --no-hidden "
		"--no-ignore --no-ignore-dot --no-ignore-exclude --no-ignore-files --no-ignore-global "
		"--no-ignore-messages --no-ignore-parent --no-ignore-vcs --no-json --no-line-number "
		"--no-messages --no-mmap --no-pcre2-unicode --no-pre --no-require-git --no-unicode --null "
		"--null-data --one-file-system --only-matching --passthru --path-separator:- --pcre2 "
		"--pcre2-version --pre:S --pre-glob:- --pretty --quiet --regex-size-limit:- --regexp:-^ "
		"--replace:- --search-zip --smart-case --sort:- --sort-files --sortr:- --stats "
		"--stop-on-nonmatch --text --threads:- --trace --trim --type:- --type-add:- "
		"--type-clear:- --type-list!^ --type-not:- --unrestricted --vimgrep --with-filename "
		"--word-regexp";

static const char diff_options[] =
	"-abBcdeEilnNpPqrstTuvwyZ -# -C:- -D:- -F:- -I:- -S:- -U:- -W:- -x:- -X:R --brief --color? "
		"--context? --ed --exclude:- --exclude-from:R --expand-tabs --from-file:R --to-file:R "
		"--horizon-lines:- --ifdef:- --ignore-all-space --ignore-blank-lines --ignore-case "
		"--ignore-file-name-case --ignore-matching-lines:- --ignore-space-change "
		"--ignore-tab-expansion --ignore-trailing-space --initial-tab --label:- --left-column "
		"--minimal --new-file --no-dereference --normal --paginate --palette:- --rcs --recursive "
		"--report-identical-files --show-c-function --show-function-line:- --side-by-side "
		"--speed-large-files --starting-file:- --strip-trailing-cr --suppress-blank-empty "
		"--suppress-common-lines --tabsize:- --text --unchanged-line-format:- --old-line-format:- "
		"--new-line-format:- --line-format:- --unidirectional-new-file --unified? --width:- "
		"--unchanged-group-format:- --changed-group-format:- --old-group-format:- "
		"--new-group-format:-";

static const char sort_options[] =
	"-bcCdfghiMnrRsuVmz -k:- -t:- -o:W -S:- -T:T --batch-size:- --buffer-size:- --check? "
		"--compress-program:S --debug --dictionary-order --field-separator:- --files0-from:R "
		"--general-numeric-sort --human-numeric-sort --ignore-case --ignore-leading-blanks "
		"--ignore-nonprinting --key:- --merge --month-sort --numeric-sort --output:W --parallel:- "
		"--random-sort --random-source:R --reverse --sort:- --stable --temporary-directory:T "
		"--unique --version-sort --zero-terminated";

static const char sed_options[] =
	"-nErsuz -e:- -f:C -i? -l:- --quiet --silent --debug --expression:- --file:C --follow-symlinks "
		"--in-place? --line-length:- --null-data --posix --regexp-extended --sandbox --separate "
		"--unbuffered --zero-terminated";

static const char awk_options[] =
	"+ -bcCgkMnNOPrsStV -F:- -v:- -f:C -e:- -E:C -i:C -l:C -o?U -d?U -p?U -D?U -L? -W:U "
		"--field-separator:- --assign:- --file:C --exec:C --include:C --load:C --source:- "
		"--pretty-print?U --dump-variables?U --profile?U --debug?U --sandbox --posix "
		"--re-interval --non-decimal-data --characters-as-bytes --csv --lint? --traditional "
		"--bignum --optimize --gen-pot --use-lc-numeric";

static const char squeeze_options[] =
	"-cdfklLnNqrtvVz123456789eF0 -S:- -T:- -M:- -b:- -o:W -D:R -C:- -p:- -m:- --stdout --to-stdout "
		"--decompress --uncompress --force --keep --list --test --quiet --verbose --best --fast "
		"--no-name --name --recursive --suffix:- --threads:- --format:- --check:- --extreme "
		"--ultra --rm!U --long? --rsyncable --synchronous --ascii --robot --ignore-check "
		"--memlimit? --compress --block-size:- --no-progress --no-check --processes:- --stdout";

#define EDITS "edits files, and runs what its user types"

const struct program table_text[] = {
	/* searching */
	ROW("grep|egrep|fgrep|rgrep|zgrep|zegrep|zfgrep|xzgrep|bzgrep|zstdgrep", grep_options, "-R*"),
	ROW("rg", rg_options, "-R*"),
	ROW("ag", "-acdDfFghHilLnoQrRsSuUvVwWzt0 -A? -B? -C? -p:R -G:- -m:- --pager:C --nopager --ackmate "
		"--after? --before? --break --count --color --nocolor --column --filename --nofilename "
		"--files-with-matches --files-without-matches --hidden --ignore:- --ignore-dir:- "
		"--ignore-case --literal --nogroup --group --numbers --nonumbers --case-sensitive "
		"--smart-case --stats --vimgrep --word-regexp --depth:- --file-search-regex:-",
	  "-R*"),
	{ .name = "find", .check = check_find },
	{ .name = "fd|fdfind", .check = check_fd },
	ROW("look", "-adf -t:-", "-R"),
	ROW("locate|plocate|mlocate", "-AbceEiLpPqrsSwW0N -d:R -l:- -n:- --all --basename --count "
		"--existing --ignore-case --limit:- --null --quiet --regexp:- --regex --statistics "
		"--wholename", "-*"),

	/* comparing */
	ROW("diff|zdiff", diff_options, "RR"),
	ROW("colordiff|wdiff|dwdiff", "-abBcdeEilnNpPqrstTuvwyZ1234 -U:- --unified? --color?", "RR"),
	ROW("cmp|zcmp", "-blsv -i:- -n:- --bytes:- --ignore-initial:- --print-bytes --quiet --silent "
		"--verbose", "RR--"),
	ROW("comm", "-123z --check-order --nocheck-order --output-delimiter:- --total --zero-terminated",
	    "RR"),
	ROW("diff3", "-aAeEimTxX3 -L:- --diff-program:C --easy-only --ed --initial-tab --label:- --merge "
		"--overlap-only --show-all --show-overlap --strip-trailing-cr --text", "RRR"),
	ROW("sdiff", "-abBdEHilstWZ -I:- -o:W -w:- --diff-program:C --output:W --ignore-case "
		"--ignore-all-space --width:- --suppress-common-lines --left-column --minimal --text",
	    "RR"),
	ROW("patch", NULL, NULL, .class = EFFECT_WORKSPACE_MUTATION, .weight = CHANGES, .why =
		"changes files as a patch says"),

	/* sorting and cutting */
	ROW("sort", sort_options, "R*"),
	ROW("uniq", "-cdDiuz -# -f:- -s:- -w:- --all-repeated? --check-chars:- --count --group? "
		"--ignore-case --repeated --skip-chars:- --skip-fields:- --unique --zero-terminated", "RW"),
	ROW("shuf", "-erz -i:- -n:- -o:W --echo --head-count:- --input-range:- --output:W "
		"--random-source:R --repeat --zero-terminated", "R*"),
	ROW("cut", "-nsz -b:- -c:- -d:- -f:- --bytes:- --characters:- --complement --delimiter:- "
		"--fields:- --only-delimited --output-delimiter:- --zero-terminated", "R*"),
	ROW("paste", "-sz -d:- --delimiters:- --serial --zero-terminated", "R*"),
	ROW("join", "-iz -1:- -2:- -a:- -e:- -j:- -o:- -t:- -v:- --check-order --header --ignore-case "
		"--nocheck-order --zero-terminated", "RR"),
	ROW("tr", "-cCdst --complement --delete --squeeze-repeats --truncate-set1", "-*"),
	ROW("column", "-teLdJx -c:- -s:- -o:- -N:- -R:- -H:- -E:- -O:- -W:- -T:- -n:- -l:- -r:- -i:- -p:- "
		"--table --separator:- --output-separator:- --output-width:- --table-columns:- "
		"--table-right:- --table-name:- --json --fillrows --keep-empty-lines --table-hide:- "
		"--table-order:- --table-truncate:- --table-wrap:- --table-noheadings "
		"--table-columns-limit:- --tree:- --tree-id:- --tree-parent:- --table-noextreme:- "
		"--table-maxout --table-header-repeat", "R*"),
	ROW("expand|unexpand", "-aif -t:- -# --initial --tabs:- --all --first-only", "R*"),
	ROW("fold", "-bs -w:- -# --bytes --spaces --width:-", "R*"),
	ROW("fmt", "-cstu -# -g:- -p:- -w:- --crown-margin --goal:- --prefix:- --split-only "
		"--tagged-paragraph --uniform-spacing --width:-", "R*"),
	ROW("pr", "-acdfFJmrtTv -# -D:- -e? -h:- -i? -l:- -n? -N:- -o:- -s? -S? -w:- -W:- --across "
		"--columns:- --date-format:- --double-space --header:- --indent:- --length:- --merge "
		"--number-lines? --omit-header --page-width:- --width:-",
	  "R*"),
	ROW("ptx|tsort|rev|colrm|ul|col|colcrt|unix2dos-info", "-bfhpx -l:- -t:-", "R*"),
	ROW("iconv", "-clsv -f:- -t:- -o:W --from-code:- --to-code:- --output:W --list --silent --verbose",
	    "R*"),
	ROW("dos2unix|unix2dos", NULL, NULL, .class = EFFECT_WORKSPACE_MUTATION, .weight = CHANGES,
	    .why = "rewrites files"),

	/* little languages */
	ROW("sed|gsed", sed_options, "-*", .check = check_sed),
	ROW("awk|gawk|mawk|nawk|original-awk", awk_options, "-*", .check = check_awk),
	ROW("jq|gojq|jaq", "-acCehjMnrRsS -f:R^ -L:R --arg:2- --argjson:2- --args --ascii-output "
		"--build-configuration --color-output --compact-output --exit-status --from-file:R^ "
		"--indent:- --join-output --jsonargs --monochrome-output --null-input --raw-input "
		"--raw-output --raw-output0 --rawfile:2R --seq --slurp --slurpfile:2R --sort-keys "
		"--stream --stream-errors --tab --unbuffered",
	  "-R*", .check = check_jq),
	ROW("yq", "-CeMnNPrRvj -i!I -I:- -o:- -p:- -s:U --colors --exit-status --indent:- --inplace!I "
		"--in-place!I --no-colors --no-doc --null-input --output-format:- --input-format:- "
		"--prettyPrint --raw-output --unwrapScalar? --tojson --yaml-output --split-exp:U "
		"--from-file:U", "-R*"),
	ROW("xmllint", "-o:W --noout --format --nonet --xpath:- --output:W --schema:R --dtdvalid:R "
		"--noblanks --recover --html --encode:- --pretty:- --huge --noent:U --xinclude:U "
		"--shell:U --valid", "R*"),
	ROW("bc", "-hilqsvw --interactive --mathlib --quiet --standard --warn", "C*"),
	ROW("xsltproc|m4|dc|ed|ex", NULL, NULL, .class = EFFECT_PROCESS_SPAWN, .weight = CHANGES,
	    .why = "can run commands"),

	/* pagers and editors */
	ROW("less|zless", "-aABcCdeEfFgGiIJKmMnNqQrRsSuUwWX~L -# -b:- -h:- -j:- -k:U -o:W -O:W -p:- -P:- "
		"-t:U -T:U -x:- -y:- -z:- -D:- --chop-long-lines --LINE-NUMBERS --line-numbers --no-init "
		"--quit-if-one-screen --quit-at-eof --raw-control-chars --RAW-CONTROL-CHARS "
		"--squeeze-blank-lines --ignore-case --IGNORE-CASE --tabs:- --pattern:- --use-color "
		"--no-lessopen --lesskey-file:U --log-file:W --LOG-FILE:W --tag:U --tag-file:U",
	  "R*", .check = check_pager),
	ROW("more|zmore|most|pg", "-dlfpcsu -n:- -#", "R*", .check = check_pager),
	ROW("zcat|gzcat|bzcat|xzcat|lzcat|zstdcat|lz4cat", "-cdfkqv --force --quiet --verbose --stdout "
		"--decompress", "R*"),
	ROW("bat|batcat", "-pAnsuPfd -# -l:- -H:- -r:- -m:- --plain --show-all --number --language:- "
		"--highlight-line:- --line-range:- --style:- --color:- --paging:- --pager:C --theme:- "
		"--wrap:- --tabs:- --decorations:- --diff --list-languages --list-themes --no-paging "
		"--file-name:- --terminal-width:- --italic-text:- --map-syntax:-",
	  "R*"),
	ROW("man", "-adfkKwWcDiIhOuV7t -T? -X? -Z -R:- -e:- -P:C -H?C -C:C -M:U -m:- -L:- -l:R -S:- -s:- "
		"-E:- -p:- -r:- -B?C --all --apropos --whatis --where --path --pager:C --html?C "
		"--local-file:R --config-file:C --manpath:U --sections:- --locale:- --no-hyphenation "
		"--no-justification --encoding:- --global-apropos --regex --wildcard --names-only "
		"--ignore-case --match-case --prompt:- --preprocessor:- --default --update!U "
		"--gxditview?C --browser?C", "-*"),
	ROW("info", "-aOwkV -f:R -n:- -o:W --apropos:- --file:R --node:- --output:W --where --subnodes "
		"--all", "-*"),
	{ .name = "vi|vim|nvim|view|vimdiff|nano|pico|emacs|emacsclient|micro|helix|hx|joe|mcedit|code|"
		"subl|gedit|kate",
	  .class = EFFECT_PROCESS_SPAWN, .weight = CHANGES, .why = EDITS },

	/* looking code over, without running any of it */
	ROW("shellcheck", "-axV -C? -e:- -f:- -i:- -o:- -P:L -s:- -S:- -W:- --check-sourced --color? "
		"--include:- --exclude:- --format:- --norc --enable:- --source-path:L --shell:- "
		"--severity:- --wiki-link-count:- --external-sources --list-optional", "R*"),
	ROW("clang-format", "-i!I -n --assume-filename:- --cursor:- --dry-run --dump-config "
		"--fallback-style:- --ferror-limit:- --files:R --length:- --lines:- --offset:- "
		"--output-replacements-xml --sort-includes --style:- --verbose --Werror --Wno-error:-",
	    "R*"),
	ROW("gofmt", "-dels -w!I -r:- --cpuprofile:W", "R*"),

	/* packing */
	{ .name = "tar|gtar|bsdtar", .check = check_tar },
	ROW("gzip|gunzip|bzip2|bunzip2|xz|unxz|lzma|unlzma|zstd|unzstd|lz4|unlz4|pigz|lzip|brotli",
	    squeeze_options, "-*",
	  .check = check_squeeze),
	ROW("unzip", "-abCDfjKLMnopqulUVWtTvZzc12 -d:- -x:- -X:- -P:- -O:- -I:-", "R-*",
	    .check = check_unzip),
	ROW("zipinfo", "-12slmvhMtTzCZ", "R-*"),
	ROW("zip|zipnote|zipsplit|7z|7za|7zr|rar|unrar|unar", NULL, NULL,
	    .class = EFFECT_WORKSPACE_MUTATION, .weight = CHANGES,
	  .why = "writes files"),
	{ .name = "ar", .check = check_ar },
	{ .name = "cpio|pax", .class = EFFECT_WORKSPACE_MUTATION, .weight = CHANGES,
	    .why = "writes files" },

	/* counting lines of code */
	ROW("tokei|scc|cloc|sloccount", "-ft -s:- -e:- --files --by-file --json --sort:- --exclude:- "
		"--quiet --vcs:- --exclude-dir:- --include-lang:-", "R*"),
	{ 0 }
};
