/*
 * sandbox/init/ops_read.c - opens that change nothing, where they are trapped at all
 *
 * They are when refusals to read are to be on record, and when a pattern says
 * what may not be read. Literal rules are held by masks that the mounts put in
 * place, so the kernel may go on by itself. A pattern is held by us alone, so
 * then every file is opened here, and "continue" is never the answer: the
 * caller could swap the path after we looked.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sandbox/init/later.h"
#include "sandbox/init/opening.h"

/*
 * Does clean @path lie in a denied directory that is in view? A mask stands there,
 * which shows nothing but what is allowed again, so that everything else looks
 * missing; but it is closed, and that is what we say. Where the whole directory is
 * out of view, its files are missing as for anybody who has none.
 */
static int is_in_closed_tree(const struct broker *b, const char *path)
{
	char dir[2 * PATH_MAX];
	struct stat st;
	char *slash;

	if (path[0] != '/' || strlen(path) >= sizeof(dir))
		return 0;
	strcpy(dir, path);
	while ((slash = strrchr(dir, '/')) && slash > dir) {
		*slash = '\0';
		if (judge_read(b, dir) && !fstatat(b->root, dir + 1, &st, AT_SYMLINK_NOFOLLOW))
			return 1;
	}
	return 0;
}

/* The errno for what a rule hides and is not there. */
static int missing_errno(const struct broker *b, const char *path)
{
	return is_in_closed_tree(b, path) ? EACCES : ENOENT;
}

static int is_missing(const struct place *p)
{
	struct stat st;

	return p->name[0] && fstatat(p->dir, p->name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

/* On record only: the mounts decide. */
static struct answer told_read(const struct opening *o, int at, const char *text)
{
	__attribute__((cleanup(own_place))) struct place p;
	const struct request *r = o->r;
	char lexical[2 * PATH_MAX];
	const char *rule;

	if (!walk(r, at, text, o->flags & O_NOFOLLOW ? 0 : WALK_FOLLOW, 0, &p)) {
		rule = judge_place_read(r->b, &p);
		if (rule && is_missing(&p))
			return refuse(r, ACT_READ_DATA, &p, rule, missing_errno(r->b, p.path));
		return rule ? refuse(r, ACT_READ_DATA, &p, rule, EACCES) : answer_continue();
	}
	/* It is not there, and a rule names where it would be: that was tried. */
	if (errno != ENOENT || walk_lexical(r, at, text, lexical, sizeof(lexical)) < 0)
		return answer_continue();
	rule = judge_read(r->b, lexical);
	return rule ? refuse(r, ACT_READ_DATA, NULL, rule, missing_errno(r->b, lexical)) : answer_continue();
}

/* One of its standard descriptors usually is that terminal and can be opened again. */
struct answer open_terminal(const struct opening *o)
{
	char link[48];
	struct stat st;

	for (int i = 0; i <= 2; i++) {
		int fd;

		snprintf(link, sizeof(link), "%d/fd/%d", (int)o->r->tid, i);
		if (fstatat(o->r->b->proc, link, &st, 0) < 0 || !S_ISCHR(st.st_mode) || major(st.st_rdev) < 136 ||
		    major(st.st_rdev) > 143)	/* Unix98 terminals */
			continue;
		fd = openat(o->r->b->proc, link, open_flags(o->flags & ~OPEN_FINDING));
		if (fd >= 0)
			return open_give(o, fd, open_flags(o->flags & ~OPEN_FINDING));
	}
	return answer_errno(ENXIO);
}

/* A FIFO: outside, the caller would wait for somebody to write. */
static struct answer read_fifo(const struct opening *o, int fd, int used)
{
	if (o->flags & O_NONBLOCK)
		return open_give(o, fd, used);
	return read_later(o->r, fd, (o->flags & O_CLOEXEC) != 0);
}

static struct answer read_name(const struct opening *o)
{
	int used = open_flags((o->flags & ~OPEN_FINDING) | O_NOFOLLOW | (o->p->must_be_dir ? O_DIRECTORY : 0));
	const char *rule;
	struct stat st;
	int fd;

	if (!strcmp(o->p->path, "/dev/tty"))
		return open_terminal(o);
	/* What the kernel would refuse the caller is not refused to us. */
	if (proc_is_closed(o->r->b, o->p->path))
		return answer_errno(EACCES);
	fd = openat(o->p->dir, o->p->name, used);
	if (fd < 0)
		return answer_errno(errno);
	rule = judge_secret(o->r->b, o->p, fd);
	if (rule) {
		close(fd);
		return refuse(o->r, ACT_READ_DATA, o->p, rule, EACCES);
	}
	if (!fstat(fd, &st) && S_ISFIFO(st.st_mode))
		return read_fifo(o, fd, used);
	return open_give(o, fd, used);
}

/* What the command was given when it started may be opened again with the rights it has. */
static struct answer read_object(const struct opening *o)
{
	if (o->p->foreign && o->p->path[0] == '/' &&
	    (o->p->foreign_flags < 0 || (o->p->foreign_flags & O_ACCMODE) == O_WRONLY))
		return refuse(o->r, ACT_READ_DATA, o->p, "not opened for this by the user", EACCES);
	return open_again(o, o->p->object, o->flags);
}

/* The walk itself met nothing: perhaps since a mask is on the way. */
static struct answer not_found(const struct request *r, int at, const char *text, int err)
{
	char lexical[2 * PATH_MAX];
	const char *rule = NULL;

	if (err == ENOENT && !walk_lexical(r, at, text, lexical, sizeof(lexical)) && is_in_closed_tree(r->b, lexical))
		rule = judge_read(r->b, lexical);
	return rule ? refuse(r, ACT_READ_DATA, NULL, rule, EACCES) : answer_errno(err);
}

static struct answer judged_read(struct opening *o, int at, const char *text, uint64_t resolve)
{
	const struct request *r = o->r;

	for (int i = 0; i < OPEN_ATTEMPTS; i++) {
		__attribute__((cleanup(own_place))) struct place p;
		struct answer a;
		const char *rule;

		if (walk(r, at, text, !(o->flags & O_NOFOLLOW) && i ? WALK_FOLLOW : 0, resolve, &p) < 0)
			return not_found(r, at, text, errno);
		if (!target_alive(r))
			return answer_errno(EINTR);
		o->p = &p;
		if (!(o->flags & O_NOFOLLOW) && !i && leads_into_view(r->b, &p))
			continue;
		rule = judge_place_read(r->b, &p);
		/* Looking for what is not there is not reading it. */
		if (rule && is_missing(&p) && missing_errno(r->b, p.path) == ENOENT)
			return answer_errno(ENOENT);
		if (rule)
			return refuse(r, ACT_READ_DATA, &p, rule, EACCES);
		a = p.name[0] ? read_name(o) : read_object(o);
		if (a.kind != ANSWER_ERRNO || a.err != ELOOP || (o->flags & O_NOFOLLOW))
			return a;
	}
	return answer_errno(ELOOP);
}

struct answer open_read(struct opening *o, int at, const char *text, uint64_t resolve)
{
	if (!o->r->b->reads.n)
		return answer_continue();
	return o->r->b->reads_by_pattern ? judged_read(o, at, text, resolve) : told_read(o, at, text);
}
