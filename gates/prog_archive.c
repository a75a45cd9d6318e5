/*
 * tar, whose first word may be a cluster without a dash, and what its modes do.
 */
#include <ctype.h>
#include <string.h>

#include "gates/options.h"

static const char tar_options[] =
	"-cdrtuxAzjJZavwpPkOmhlnosSUWBiGRM0 -f:- -b:- -C:L -T:R -X:R -I:S -K:- -N:- -V:- -L:- -F:C -H:- "
		"-g:W --create --compare --diff --append --list --update --extract --get --delete "
		"--catenate --concatenate --test-label --gzip --gunzip --bzip2 --xz --lzma --lzip --lzop "
		"--zstd --compress --auto-compress --no-auto-compress --verbose --file:- --directory:L "
		"--files-from:R --exclude-from:R --exclude:- --exclude-vcs --exclude-vcs-ignores "
		"--exclude-backups --exclude-caches --use-compress-program:S --to-command:S --checkpoint? "
		"--checkpoint-action:C --info-script:C --new-volume-script:C --rsh-command:C "
		"--rmt-command:C --index-file:W --listed-incremental:W --volno-file:W --to-stdout "
		"--strip-components:- --wildcards --no-wildcards --wildcards-match-slash --anchored "
		"--no-anchored --ignore-case --no-ignore-case --null --no-null --numeric-owner --owner:- "
		"--group:- --mode:- --mtime:- --sort:- --transform:- --xform:- --full-time --occurrence? "
		"--warning:- --totals? --block-number --format:- --one-file-system --keep-old-files "
		"--skip-old-files --overwrite --preserve-permissions --same-permissions --same-owner "
		"--no-same-owner --no-same-permissions --dereference --hard-dereference --verify "
		"--remove-files!U --recursion --no-recursion --absolute-names --force-local "
		"--ignore-zeros --show-defaults --show-transformed-names --touch --xattrs --acls "
		"--selinux --no-xattrs --sparse --posix --label:- --quoting-style:- --utc --clamp-mtime "
		"--starting-file:-";

static const struct program tar_row = { .name = "tar", .opts = tar_options, .operands = "-*" };

/* "tar xzf a.tgz": letters that take a value take the words behind, in turn. */
static void separate_letters(struct judge *j, const struct args *words, struct args *ret)
{
	const struct arg *first = &words->v[0];
	size_t next = 1;

	for (const char *c = first->text; *c; c++) {
		args_add(j, ret, arg_of(arena_printf(j->arena, "-%c", *c), first));
		if (strchr("fbCTXIKNVLFHg", *c) && next < words->n)
			args_add(j, ret, words->v[next++]);
	}
	for (; next < words->n; next++)
		args_add(j, ret, words->v[next]);
}

static const struct opt *either(const struct parsed *p, const char *a, const char *b)
{
	const struct opt *o = opt_find(p, a);

	return o ? o : opt_find(p, b);
}

static void note_archive(struct judge *j, const struct parsed *p, enum place_use use)
{
	const struct opt *o = either(p, "f", "file");
	const char *colon;

	if (!o || !o->has_value || arg_is(&o->value, "-"))
		return;
	colon = strchr(o->value.text, ':');
	if (colon && !memchr(o->value.text, '/', (size_t)(colon - o->value.text)))
		judge_note(j, &o->value, EFFECT_NETWORK_EGRESS, PLACE_NONE, o->value.text, CHANGES, "network",
			   "'%s' asks another host for '%s'", p->who, o->value.text);
	else
		judge_path(j, p->who, &o->value, use);
}

static void note_extraction(struct judge *j, const struct parsed *p)
{
	const struct opt *dir = either(p, "C", "directory");
	struct arg here = { .text = ".", .is_known = true, .start = p->name->start, .end = p->name->end };

	if (opt_has(p, "O to-stdout") || opt_has(p, "to-command"))
		return;
	judge_path(j, p->who, dir && dir->has_value ? &dir->value : &here, USE_WRITE);
}

void check_tar(struct judge *j, struct parsed *p)
{
	struct args words = { 0 };
	struct parsed inner = { .who = p->who, .name = p->name };

	args_add(j, &words, *p->name);
	if (p->operands.n && p->operands.v[0].is_known && p->operands.v[0].text[0] != '-') {
		separate_letters(j, &p->operands, &words);
	} else {
		for (size_t i = 0; i < p->operands.n; i++)
			args_add(j, &words, p->operands.v[i]);
	}
	options_read(j, tar_options, &words, &inner);
	if (inner.is_help)
		return;
	options_apply(j, &tar_row, &inner);
	if (opt_has(&inner, "x extract get")) {
		note_archive(j, &inner, USE_READ);
		note_extraction(j, &inner);
	} else if (opt_has(&inner, "t list d diff compare test-label")) {
		note_archive(j, &inner, USE_READ);
	} else if (opt_has(&inner, "c create r append u update A catenate concatenate delete")) {
		note_archive(j, &inner, USE_WRITE);
		for (size_t i = 0; i < inner.operands.n; i++)
			judge_path(j, p->who, &inner.operands.v[i], USE_READ);
	}
}
