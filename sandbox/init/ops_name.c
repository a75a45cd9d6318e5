/*
 * sandbox/init/ops_name.c - calls that make, move and remove names
 *
 * Each acts on the directory that was judged, with one last name. Renames run
 * alone (see the lock in broker.h), so a name cannot move between verdict and
 * act.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/init/broker.h"
#include "sandbox/init/sys.h"

#define OWN_PLACE __attribute__((cleanup(own_place))) struct place

/* What a call that makes a new name asks for. */
struct making {
	struct request r;
	char text[PATH_MAX];
	struct place p;
};

/* What is there already is not made; and what has a slash behind its name would be a directory. 0, or the errno. */
static int cannot_be_made(const struct place *p, int is_dir)
{
	struct stat st;

	if (!fstatat(p->dir, p->name, &st, AT_SYMLINK_NOFOLLOW))
		return EEXIST;
	if (errno != ENOENT)
		return errno;
	/* Nobody makes anything in /proc. */
	return (p->must_be_dir && !is_dir) || (p->zone && p->zone->kind == ZONE_PROC) ? ENOENT : 0;
}

/*
 * Read, walk and judge the name to be made. Returns 0 when the act may go on,
 * else 1 with the answer.
 */
static int prepare(struct making *m, int at, uint64_t path, enum file_action action, struct answer *ret)
{
	int err, is_dir = action == ACT_WRITE_MKDIR, impossible;
	const char *rule;

	m->p = (struct place){ .dir = -1, .object = -1 };
	*ret = answer_errno(EFAULT);
	if (target_text(m->r.tid, path, m->text, sizeof(m->text)) < 0 ||
	    walk(&m->r, at, m->text, WALK_NAME, 0, &m->p) < 0) {
		*ret = answer_errno(errno);
		return 1;
	}
	m->r.given = m->text;
	if (!target_alive(&m->r)) {
		*ret = answer_errno(EINTR);
		return 1;
	}
	if (is_native(&m->p)) {
		*ret = answer_continue();
		return 1;
	}
	if (!m->p.name[0]) {	/* ".", "/", or what a magic link leads to: it is there already */
		*ret = answer_errno(EEXIST);
		return 1;
	}
	err = judge_write(&m->r, &m->p, &rule);
	if (!err && (is_dir || !m->p.must_be_dir))
		return 0;
	/* What fails anyway and changes nothing is no refusal. */
	impossible = cannot_be_made(&m->p, is_dir);
	*ret = impossible ? answer_errno(impossible) : refuse(&m->r, action, &m->p, rule, err);
	return 1;
}

struct answer do_mkdir(const struct request *r, int at, uint64_t path, uint64_t mode)
{
	struct making m = { .r = *r };
	struct answer a;

	if (!prepare(&m, at, path, ACT_WRITE_MKDIR, &a))
		a = take_umask(r) < 0 ? answer_errno(ESRCH) :
		    answer_result(mkdirat(m.p.dir, m.p.name, (mode_t)mode & 07777));
	place_done(&m.p);
	return a;
}

/* What the kernel would refuse before it looks at the path. */
static int bad_kind(mode_t mode)
{
	switch (mode & S_IFMT) {
	case 0:
	case S_IFREG:
	case S_IFCHR:
	case S_IFBLK:
	case S_IFIFO:
	case S_IFSOCK:
		return 0;
	case S_IFDIR:
		return EPERM;
	default:
		return EINVAL;
	}
}

struct answer do_mknod(const struct request *r, int at, uint64_t path, uint64_t mode, uint64_t dev)
{
	struct making m = { .r = *r };
	int bad = bad_kind((mode_t)mode);
	struct answer a;

	if (bad)
		return answer_errno(bad);
	if (!prepare(&m, at, path, ACT_WRITE_NODE, &a))
		a = take_umask(r) < 0 ? answer_errno(ESRCH) :
		    answer_result(mknodat(m.p.dir, m.p.name, (mode_t)mode, (dev_t)dev));
	place_done(&m.p);
	return a;
}

struct answer do_symlink(const struct request *r, uint64_t target, int at, uint64_t path)
{
	struct making m = { .r = *r };
	char to[PATH_MAX];
	const char *rule;
	struct answer a;

	if (target_text(r->tid, target, to, sizeof(to)) < 0)
		return answer_errno(errno);
	if (!prepare(&m, at, path, ACT_WRITE_SYMLINK, &a)) {
		/* ".claude" → "tmp" would bring tmp/commands under a protected name. */
		rule = m.p.zone->kind == ZONE_WRITE ? names_heads(&r->b->names, m.p.path) : NULL;
		a = rule ? refuse(&m.r, ACT_WRITE_SYMLINK, &m.p, rule, EACCES) :
			   answer_result(symlinkat(to, m.p.dir, m.p.name));
	}
	place_done(&m.p);
	return a;
}

/* --- link --- */

/*
 * Without mounts, what lies in a directory of the host stays there: a socket of the host's
 * would be one of the run's own elsewhere.
 */
static int leaves_host(const struct broker *b, const struct place *from, const struct place *to)
{
	return b->bare && from->zone && to->zone && from->zone != to->zone &&
	       (from->zone->from_host || to->zone->from_host);
}

/*
 * Where there are mounts, the kernel lets nothing pass between them. Where not,
 * we do not: a file that may only be read must get no second name that may be
 * written, and in private directories the command moves things without us, so
 * that what we judged could change before it arrives.
 */
static int crosses_mounts(const struct broker *b, const struct place *from, const struct place *to)
{
	int is_writable = from->zone && (from->zone->kind == ZONE_WRITE || from->zone->kind == ZONE_PRIVATE);

	if (leaves_host(b, from, to))
		return 1;
	return b->bare && !(is_native(from) ? is_native(to) : is_writable && !is_native(to));
}

/* The source of a link: a second name for a protected file would be a way around its rule. */
static int judge_source(const struct request *r, const struct place *from, const char **ret_rule)
{
	*ret_rule = judge_place_read(r->b, from);
	if (*ret_rule)
		return EACCES;
	if (from->denied) {
		*ret_rule = from->denied;
		return EACCES;
	}
	if (from->zone && from->zone->kind == ZONE_WRITE) {
		*ret_rule = names_denied(&r->b->names, from->path);
		return *ret_rule ? EACCES : 0;
	}
	return 0;
}

static struct answer link_places(const struct request *r, const struct place *from, const struct place *to)
{
	char link[32];

	if (from->name[0])
		return answer_result(linkat(from->dir, from->name, to->dir, to->name, 0));
	/* An open descriptor, O_TMPFILE among them. A foreign one is on no mount of ours. */
	if (from->foreign && from->path[0] == '/' && !strstr(from->path, "(deleted)"))
		return answer_errno(EXDEV);
	snprintf(link, sizeof(link), "self/fd/%d", from->object);
	return answer_result(linkat(r->b->proc, link, to->dir, to->name, AT_SYMLINK_FOLLOW));
}

/* 0 for what is there; else -1 and errno */
static int look_up(const struct place *p)
{
	struct stat st;

	return p->name[0] ? fstatat(p->dir, p->name, &st, AT_SYMLINK_NOFOLLOW) : 0;
}

struct answer do_link(const struct request *r, int at1, uint64_t path1, int at2, uint64_t path2, uint64_t flags)
{
	unsigned int how = (flags & AT_SYMLINK_FOLLOW ? WALK_FOLLOW : 0) |
			   (flags & AT_EMPTY_PATH ? WALK_EMPTY : 0);
	struct request told = *r;
	char text1[PATH_MAX], text2[PATH_MAX];
	OWN_PLACE from = { .dir = -1, .object = -1 }, to = { .dir = -1, .object = -1 };
	const char *rule;
	int err, impossible;

	if (flags & ~(uint64_t)(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
		return answer_errno(EINVAL);
	if (target_text(r->tid, path1, text1, sizeof(text1)) < 0 ||
	    target_text(r->tid, path2, text2, sizeof(text2)) < 0)
		return answer_errno(errno);
	told.given = text1;
	if (walk(&told, at1, text1, how, 0, &from) < 0 || look_up(&from) < 0 || walk(&told, at2, text2, WALK_NAME, 0, &to) < 0)
		return answer_errno(errno);
	if (!target_alive(r))
		return answer_errno(EINTR);
	if (is_native(&from) && is_native(&to))
		return answer_continue();
	if (!to.name[0])
		return answer_errno(EEXIST);
	impossible = cannot_be_made(&to, 0);
	if (impossible)
		return answer_errno(impossible);
	err = judge_source(r, &from, &rule);
	if (err)
		return refuse(&told, ACT_WRITE_LINK, &from, rule, err);
	told.given = text2;
	err = judge_write(r, &to, &rule);
	if (err)
		return refuse(&told, ACT_WRITE_LINK, &to, rule, err);
	if (crosses_mounts(r->b, &from, &to))
		return answer_errno(EXDEV);
	return link_places(r, &from, &to);
}

/* --- rename --- */

struct moving {
	struct request r;
	struct place from, to;
	char text[2][PATH_MAX];
	unsigned int flags;
};

/* May what is at @from, of type @mode, once it stands at @to, be there? 0, or the errno with the rule. */
static int judge_arrival(const struct request *r, const struct place *from, mode_t mode, const struct place *to,
			 const char **ret_rule)
{
	const struct names *names = &r->b->names;
	int fd, found;

	if (S_ISLNK(mode)) {
		*ret_rule = to->zone && to->zone->kind == ZONE_WRITE ? names_heads(names, to->path) : NULL;
		return *ret_rule ? EACCES : 0;
	}
	if (!S_ISDIR(mode))
		return 0;
	fd = openat(from->dir, from->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno;
	/* What it holds must be allowed where it goes, and must not be protected by where it is. */
	found = to->zone && to->zone->kind == ZONE_WRITE ? names_tree(names, fd, to->path, ret_rule) : 0;
	if (!found && from->zone && from->zone->kind == ZONE_WRITE)
		found = names_tree(names, fd, from->path, ret_rule);
	if (!found)	/* moved away, what must not be read would be another name */
		found = names_tree(&r->b->reads, fd, from->path, ret_rule);
	close(fd);
	return found ? EACCES : 0;
}

/*
 * One end of the move: may this name be taken away, or put there? What holds a
 * mount of the sandbox stays where it is, or the zone would no longer be found
 * by its path. Answers for the record.
 */
static int judge_end(struct moving *m, const struct place *p, int which, struct answer *ret)
{
	const char *rule = "holds a mount of the sandbox";
	const char *unreadable = judge_read(m->r.b, p->path);
	int err = holds_zone(m->r.b, p->path) ? EBUSY : judge_write(&m->r, p, &rule);

	if (!err && unreadable) {
		err = EACCES;
		rule = unreadable;
	}
	if (!err)
		return 0;
	m->r.given = m->text[which];
	*ret = refuse(&m->r, ACT_WRITE_RENAME, p, rule, err);
	return 1;
}

static int judge_move(struct moving *m, const struct place *from, mode_t mode, const struct place *to, int which,
		      struct answer *ret)
{
	const char *rule = NULL;
	int err = judge_arrival(&m->r, from, mode, to, &rule);

	if (!err)
		return 0;
	m->r.given = m->text[which];
	*ret = rule ? refuse(&m->r, ACT_WRITE_RENAME, to, rule, err) : answer_errno(err);
	return 1;
}

/*
 * What fails whatever is judged, in the kernel's order. @err says why the new name could not be
 * looked up, else it is there as @other.
 */
static int cannot_move(const struct moving *m, mode_t mode, mode_t other, int err)
{
	int exchanges = (m->flags & RENAME_EXCHANGE) != 0;

	if (err && err != ENOENT)
		return err;
	if (!err && (m->flags & RENAME_NOREPLACE))
		return EEXIST;
	if (err && exchanges)
		return ENOENT;
	if (exchanges && m->to.must_be_dir && !S_ISDIR(other))
		return ENOTDIR;
	if (!S_ISDIR(mode) && (m->from.must_be_dir || (m->to.must_be_dir && !exchanges)))
		return ENOTDIR;
	return 0;
}

static struct answer move(struct moving *m)
{
	struct stat st, other;
	struct answer a;
	int err, impossible;

	if (fstatat(m->from.dir, m->from.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return answer_errno(errno);
	err = fstatat(m->to.dir, m->to.name, &other, AT_SYMLINK_NOFOLLOW) < 0 ? errno : 0;
	impossible = cannot_move(m, st.st_mode, err ? 0 : other.st_mode, err);
	if (impossible)
		return answer_errno(impossible);
	if (judge_end(m, &m->from, 0, &a) || judge_end(m, &m->to, 1, &a) ||
	    judge_move(m, &m->from, st.st_mode, &m->to, 1, &a))
		return a;
	if ((m->flags & RENAME_EXCHANGE) && judge_move(m, &m->to, other.st_mode, &m->from, 0, &a))
		return a;
	/* With RENAME_WHITEOUT comes a device node, which is not ours to make. */
	if (m->flags & ~(unsigned int)(RENAME_NOREPLACE | RENAME_EXCHANGE))
		return answer_errno(EINVAL);
	return answer_result((int)syscall(SYS_renameat2, m->from.dir, m->from.name, m->to.dir, m->to.name,
					  m->flags));
}

/* What the kernel would refuse before it looks at a path. */
static int bad_rename_flags(unsigned int flags)
{
	return (flags & ~(unsigned int)(RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT)) ||
	       ((flags & RENAME_EXCHANGE) && (flags & (RENAME_NOREPLACE | RENAME_WHITEOUT)));
}

struct answer do_rename(const struct request *r, int at1, uint64_t path1, int at2, uint64_t path2, uint64_t flags)
{
	struct moving m = { .r = *r, .flags = (unsigned int)flags,
			    .from = { .dir = -1, .object = -1 }, .to = { .dir = -1, .object = -1 } };
	struct answer a;

	if (bad_rename_flags(m.flags))
		return answer_errno(EINVAL);
	m.r.given = m.text[0];
	if (target_text(r->tid, path1, m.text[0], PATH_MAX) < 0 ||
	    target_text(r->tid, path2, m.text[1], PATH_MAX) < 0 ||
	    walk(&m.r, at1, m.text[0], WALK_NAME, 0, &m.from) < 0 || walk(&m.r, at2, m.text[1], WALK_NAME, 0, &m.to) < 0)
		a = answer_errno(errno);
	else if (!target_alive(r))
		a = answer_errno(EINTR);
	else if (is_native(&m.from) && is_native(&m.to))
		a = answer_continue();
	else if (!m.from.name[0] || !m.to.name[0])
		a = answer_errno(EBUSY);
	else if (leaves_host(r->b, &m.from, &m.to) || (r->b->bare && is_native(&m.from) != is_native(&m.to)))
		a = answer_errno(EXDEV);
	else
		a = move(&m);
	place_done(&m.from);
	place_done(&m.to);
	return a;
}

/* --- unlink, rmdir --- */

/* What cannot be removed since it is no name: "/", "." or "..". */
static int errno_of_dots(const char *text, uint64_t flags)
{
	size_t len = strlen(text);

	if (!(flags & AT_REMOVEDIR))
		return EISDIR;
	while (len && text[len - 1] == '/')
		len--;
	if (!len)
		return EBUSY;
	return len > 1 && text[len - 2] == '.' ? ENOTEMPTY : EINVAL;
}

struct answer do_unlink(const struct request *r, int at, uint64_t path, uint64_t flags)
{
	struct request told = *r;
	OWN_PLACE p = { .dir = -1, .object = -1 };
	char text[PATH_MAX];
	const char *rule;
	struct stat st;
	int err;

	if (flags & ~(uint64_t)AT_REMOVEDIR)
		return answer_errno(EINVAL);
	if (target_text(r->tid, path, text, sizeof(text)) < 0)
		return answer_errno(errno);
	told.given = text;
	if (walk(&told, at, text, WALK_NAME, 0, &p) < 0)
		return answer_errno(errno);
	if (!target_alive(r))
		return answer_errno(EINTR);
	if (is_native(&p))
		return answer_continue();
	if (!p.name[0])
		return answer_errno(errno_of_dots(text, flags));
	err = judge_write(r, &p, &rule);
	/* What is not there is not refused. */
	if ((err || p.must_be_dir) && fstatat(p.dir, p.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return answer_errno(errno);
	if (err)
		return refuse(&told, ACT_WRITE_UNLINK, &p, rule, err);
	if (p.must_be_dir && !(flags & AT_REMOVEDIR))
		return answer_errno(S_ISDIR(st.st_mode) ? EISDIR : ENOTDIR);
	return answer_result(unlinkat(p.dir, p.name, (int)flags));
}
