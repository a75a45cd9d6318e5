/*
 * sandbox/init/broker.h - the broker: does each permitted act on the command's behalf
 *
 * The command may not create, rename, link or open for writing (Landlock); the
 * filter hands such calls to us. For each we read what was asked from the
 * caller's memory, find the place it names, judge that place, and act on
 * descriptors: never on a path the command could still change. Answering
 * "continue" is only done where the kernel itself still decides.
 *
 * We live in the command's mount and network namespaces but not in its pid
 * namespace. Each worker thread has a file-system context of its own (umask and
 * working directory), see base.c.
 */
#ifndef SANDBOX_INIT_BROKER_H
#define SANDBOX_INIT_BROKER_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <linux/seccomp.h>

#include "sandbox/calls.h"
#include "sandbox/init/proto.h"
#include "sandbox/names.h"

struct zone {
	enum zone_kind kind;
	const char *path;
	size_t len;
	const char *rule;
	int from_host;
	int quiet;
};

struct broker {
	int ctl;		/* to the supervisor */
	int notify;		/* the filter's listener */
	pid_t command;		/* where it is our child: without namespaces */
	pid_t bare;		/* our own pid where there are no namespaces, else 0 */
	int proc;		/* the host's /proc, opened before we joined */
	int root;		/* "/" of the command's mount namespace */
	const struct blob_head *blob;
	struct names names;	/* what may not be written */
	struct names reads;	/* what may not be read */
	int reads_by_pattern;	/* one of them has a glob: every open is ours */
	struct zone *zones;
	size_t n_zones;
	uint64_t *mounts;	/* ids of the namespace's mounts, sorted */
	size_t n_mounts;
	/* Readers act on places; a writer may move directories, and with them the
	 * names that readers judged. Nobody else can: Landlock sees to that. */
	pthread_rwlock_t tree;
	pthread_mutex_t ctl_lock;
};

/* A directory that calls start from, kept open because the next call often starts there as well. */
struct base {
	int fd;			/* O_PATH, or -1 */
	uint64_t mount, ino;	/* which one it is; not used again while it is open */
	uint32_t major, minor;
};

#define BASES 16	/* a worker's */

/* What one thread keeps from call to call. */
struct worker {
	struct broker *b;
	atomic_uint handing;	/* odd while a descriptor that it handed over is still open here as well */
	int stands_in;		/* the descriptor of its working directory, or -1: anywhere */
	mode_t mask;		/* its umask */
	struct base bases[BASES];
	unsigned int oldest;	/* of bases: the next to go */
	struct {		/* the last answer of base_find(): a call with two paths asks twice */
		uint64_t id;
		int at, fd;
		char path[PATH_MAX];
	} last;
	pid_t pidfd_of;		/* the caller that pidfd is, or 0 */
	int pidfd;
};

/* One call under way, on a worker's stack. */
struct request {
	struct broker *b;
	struct worker *w;
	const struct seccomp_notif *n;
	const struct call *call;
	pid_t tid;
	const char *given;	/* the path as the program wrote it, for the record */
};

enum answer_kind { ANSWER_ERRNO, ANSWER_VALUE, ANSWER_CONTINUE, ANSWER_FD, ANSWER_LATER };

struct answer {
	enum answer_kind kind;
	int err;	/* ERRNO */
	int fd;		/* FD: ours, closed after it was handed over */
	int cloexec;	/* FD */
	int alone;	/* FD: closed here before the caller goes on, which takes a second switch to it */
};

static inline struct answer answer_errno(int err)
{
	return (struct answer){ .kind = ANSWER_ERRNO, .err = err, .fd = -1 };
}

static inline struct answer answer_continue(void)
{
	return (struct answer){ .kind = ANSWER_CONTINUE, .fd = -1 };
}

/* answer_result() - of a system call's 0 or -1 and errno */
struct answer answer_result(int r);

/* --- workers.c --- */

/* workers_start() - begin to answer calls, on threads of their own. 0, or -1 and errno */
int workers_start(struct broker *b);
/*
 * workers_settle() - Wait until what was handed over before now is open nowhere but at its callers
 *
 * Under load a caller may be done with a file before the thread that opened it gets
 * to close it. A program that is open for writing anywhere cannot be executed, so
 * whoever makes a file one waits here; for a tenth of a second at most.
 */
void workers_settle(const struct request *r);
/* start_thread() - one more thread that runs @fn(@b); 0, or -1 and errno */
int start_thread(void *(*fn)(void *), struct broker *b);

/* --- target.c: looking at the caller --- */

/* target_read() - @len bytes from @addr of its memory; 0, or -1 and errno */
int target_read(pid_t tid, uint64_t addr, void *to, size_t len);
/* target_text() - a NUL-terminated string of at most @size bytes; its length, or -1 (ENAMETOOLONG, EFAULT) */
ssize_t target_text(pid_t tid, uint64_t addr, char *to, size_t size);
int target_alive(const struct request *r);	/* 1 if the notification is still valid */
int target_umask(const struct request *r, mode_t *ret);
/* target_umask_changes() - it calls umask(2) now: forget what is remembered */
void target_umask_changes(const struct request *r);
/* target_ids() - thread group as we count, and both ids as the command counts */
int target_ids(const struct request *r, pid_t *ret_tgid, pid_t *ret_inner_tgid, pid_t *ret_inner_tid);
enum target_map { TARGET_USERS, TARGET_GROUPS };
/*
 * target_id() - user or group @id as we count, whose user namespace may be another than the command's.
 * 0, or -1 and errno: EPERM for one that is nobody there, as outside for one that is somebody else
 */
int target_id(const struct request *r, enum target_map which, uint32_t id, uint32_t *ret);
/* target_tgid() - its thread group alone, as we count; cheaper. -1 and errno */
pid_t target_tgid(const struct request *r);
/* target_is_ours() - 1 if @pid, as we count, descends from us; without namespaces that is the run */
int target_is_ours(const struct broker *b, pid_t pid);
/* target_fd_flags() - the O_* flags of its descriptor @fd, or -1, also for one that is open for nothing (O_PATH) */
int target_fd_flags(const struct request *r, int fd);
/* target_take_fd() - a copy of its descriptor @fd, or -1; before kernel 6.9 out of its group's first thread's table */
int target_take_fd(const struct request *r, int fd);
/* target_take_first_fd() - a copy of the descriptor @fd of its group's first thread, or -1 */
int target_take_first_fd(const struct request *r, int fd);
/*
 * target_take_own_fd() - the same, cheaper the second time, and for certain out of its own table, which a
 * thread may have to itself. -1 where the kernel cannot do this for a thread that is not its group's first.
 */
int target_take_own_fd(const struct request *r, int fd);

/* --- base.c: where a walk starts, and where a worker stands --- */

void worker_init(struct worker *w, struct broker *b);
void worker_done(struct worker *w);

/**
 * base_find() - The caller's working directory, or the directory behind its descriptor @at
 * @ret_path:	PATH_MAX bytes: where it is now; "" when that cannot be said (gone, or too deep)
 *
 * Return: a descriptor (O_PATH) of the worker's, good until its next call; or -1 and the errno the caller
 * should see: EBADF, ENOENT, ENOTDIR, or EACCES for what is not of this mount namespace
 */
int base_find(const struct request *r, int at, char *ret_path);
/*
 * stand_in() - make @fd, which stays open, the working directory of this thread; 0 or -1. In the host's
 * /proc, "self/fd/N" names a descriptor of ours in calls without an *at form
 */
int stand_in(const struct request *r, int fd);
/* stand_briefly() - the same for a descriptor that may be closed after this call */
int stand_briefly(const struct request *r, int fd);
/* take_umask() - make files as the caller would: 0, or -1 when its umask cannot be read */
int take_umask(const struct request *r);
/* is_ours() - does @mount belong to the command's mount namespace? */
int is_ours(const struct broker *b, uint64_t mount);

/* --- walk.c: from a path to a place --- */

struct place {
	int dir;			/* O_PATH; the place's own: place_done() */
	int dir_is_lent;		/* but for this: it is base_find()'s, or the broker's root */
	int object;			/* -1, or O_PATH of the thing itself when it was reached without a name */
	int foreign;			/* object is not of this mount namespace (a descriptor the command was started with) */
	int foreign_flags;		/* O_* flags of a descriptor of it that the caller has, or -1 */
	int must_be_dir;		/* the path ended in a slash */
	char name[NAME_MAX + 1];	/* below dir; "" when only object counts */
	char path[PATH_MAX];		/* where it is, as the command would see it; or "pipe:[1]" and the like */
	const struct zone *zone;	/* of path; NULL for what is not in the tree */
	const char *denied;		/* a rule met on the way, through a link, or by the place itself */
};

#define WALK_FOLLOW 1u	/* a link as last part is followed */
#define WALK_EMPTY 2u	/* an empty path means the descriptor itself */
#define WALK_NAME 4u	/* the last part is a name to be made, moved or removed: never followed, slashes behind it or not */

/**
 * walk() - Find the place a path names
 * @at:		the caller's descriptor number or AT_FDCWD
 * @resolve:	openat2(2) RESOLVE_ flags to hold to, or 0
 *
 * Return: 0, or -1 and the errno the caller should see. The last part need not exist.
 */
int walk(const struct request *r, int at, const char *path, unsigned int flags, uint64_t resolve,
	 struct place *ret);
/* walk_fd() - the place of the caller's open descriptor */
int walk_fd(const struct request *r, int fd, struct place *ret);
/* walk_lexical() - @path as text, absolute and clean, for one that leads nowhere; 0 or -1 */
int walk_lexical(const struct request *r, int at, const char *path, char *ret, size_t size);
/**
 * walk_text() - Where @text leads as long as no part of it is a link
 * @ret_path:	PATH_MAX bytes: where that is, for who judges
 *
 * Nothing is looked up but where it starts. Whoever acts has to go along the
 * same text, behind path_rest(), from the descriptor that is returned, by an
 * openat2(2) with RESOLVE_NO_SYMLINKS.
 * Return: as base_find(), or -1 where text does not do: empty, or with "..", or
 * ending in "/", or too long; then walk() says more
 */
int walk_text(const struct request *r, int at, const char *text, char *ret_path);
/* path_rest() - @text without the slashes it begins with */
const char *path_rest(const char *text);
void place_done(struct place *p);

static inline void own_place(struct place *p)
{
	place_done(p);
}

int mounts_load(struct broker *b);

/* --- judge.c: what may be done there --- */

const struct zone *zone_of(const struct broker *b, const char *path);
/* proc_is_closed() - 1 if @path lies below a /proc/PID that is not the command's to look into */
int proc_is_closed(const struct broker *b, const char *path);
/* holds_zone() - 1 if @path is a zone's or one of its ancestors */
int holds_zone(const struct broker *b, const char *path);
/* judge_write() - 0 if it may be changed; else the errno, *ret_rule naming what decided */
int judge_write(const struct request *r, const struct place *p, const char **ret_rule);
/* judge_attributes() - the same for mode, owner, times and attributes: a device node is the host's own */
int judge_attributes(const struct request *r, const struct place *p, const char **ret_rule);
/*
 * judge_read() - the rule that forbids reading at clean @path, or NULL. Where mounts hold it, this is for
 * the record; where there are none, also what is out of view
 */
const char *judge_read(const struct broker *b, const char *path);
/* judge_place_read() - the same for a place, which may be nowhere in the tree */
const char *judge_place_read(const struct broker *b, const struct place *p);
/*
 * judge_secret() - the rule that forbids reading @p, which is open as @fd, or NULL: what only root may
 * read in the system's directories is not for a run that root starts, whenever it came
 */
const char *judge_secret(const struct broker *b, const struct place *p, int fd);
/* leads_into_view() - 1 if @p is out of view, but a link that may lead elsewhere: "/dev/stdin" */
int leads_into_view(const struct broker *b, const struct place *p);
/* is_native() - the kernel decides by itself there; "continue" is the right answer */
int is_native(const struct place *p);

/* --- report.c --- */

/* refuse() - put the refusal on record, then answer @err */
struct answer refuse(const struct request *r, enum file_action action, const struct place *p,
		     const char *rule, int err);
/* report_caller() - fill in who the caller is and send @m */
void report_caller(const struct request *r, struct msg_caller *m);
/* report_lost() - @n datagrams that the kernel refused, and nobody knows whose */
void report_lost(struct broker *b, unsigned long n, const char *rule);
void report_flush(struct broker *b);
void *report_thread(void *broker);

/* --- seal.c --- */

/**
 * seal_denied() - Mount what is denied and exists read-only over itself
 *
 * Called with the capabilities that joining gave, before the command runs.
 * Denied names cannot be made later, so this is all of them: what is done by
 * descriptor (fchmod, futimens, fsetxattr) to a protected file then ends in
 * EROFS without our help.
 *
 * Return: 0; -1 when there are too many or the tree is too large, and then
 * changes by descriptor have to be trapped. What was mounted stays.
 */
int seal_denied(struct broker *b);

/*
 * seal_devices() - Mount the device nodes read-only, which leaves the devices writable: nodes are the
 * host's, and who owns them, as root does, could change their mode by a descriptor.
 * 0; -1 where that is not to be had, and then changes by descriptor have to be trapped
 */
int seal_devices(struct broker *b);

/* --- the acts --- */
struct answer do_open(const struct request *r, int at, uint64_t path, uint64_t flags, uint64_t mode,
		      uint64_t resolve);
struct answer do_call(const struct request *r);
void index_acts(void);	/* once, before the first do_call() */

/* ops_name.c */
struct answer do_mkdir(const struct request *r, int at, uint64_t path, uint64_t mode);
struct answer do_mknod(const struct request *r, int at, uint64_t path, uint64_t mode, uint64_t dev);
struct answer do_symlink(const struct request *r, uint64_t target, int at, uint64_t path);
struct answer do_link(const struct request *r, int at1, uint64_t path1, int at2, uint64_t path2, uint64_t flags);
struct answer do_rename(const struct request *r, int at1, uint64_t path1, int at2, uint64_t path2, uint64_t flags);
struct answer do_unlink(const struct request *r, int at, uint64_t path, uint64_t flags);

/* ops_attr.c */
struct answer do_truncate(const struct request *r, uint64_t path, uint64_t len);
struct answer do_chmod(const struct request *r, int at, uint64_t path, uint64_t mode, uint64_t flags);
struct answer do_fchmod(const struct request *r, int fd, uint64_t mode);
struct answer do_chown(const struct request *r, int at, uint64_t path, uint64_t uid, uint64_t gid, uint64_t flags);
struct answer do_fchown(const struct request *r, int fd, uint64_t uid, uint64_t gid);

/* How the times are laid out in the caller's memory. */
enum times_kind { TIMES_SPEC, TIMES_VAL, TIMES_UTIMBUF };
struct answer do_utimes(const struct request *r, int at, uint64_t path, uint64_t times, enum times_kind kind,
			uint64_t flags);
struct answer do_setxattr(const struct request *r, uint64_t path, unsigned int walk_flags);
struct answer do_removexattr(const struct request *r, uint64_t path, unsigned int walk_flags);
struct answer do_fsetxattr(const struct request *r);
struct answer do_fremovexattr(const struct request *r);

/* ops_sock.c */
struct answer do_bind(const struct request *r);
struct answer do_connect(const struct request *r);
struct answer do_listen(const struct request *r);
struct answer do_sendto(const struct request *r);

/* ops_peer.c: calls about another process */
struct answer do_peer(const struct request *r, uint64_t pid);
struct answer do_peer_kind(const struct request *r, uint64_t kind, uint64_t of_process, uint64_t pid);

/* reap.c: where there is no process namespace to end */

/* reap_tree() - kill and reap everything below us; returns when nothing is left, or after some seconds */
void reap_tree(const struct broker *b);

/* fd_path() - where our descriptor @fd is; 0, or -1 and errno */
int fd_path(const struct broker *b, int fd, char ret[PATH_MAX]);

#endif
