/*
 * sandbox/init/proto.h - what the supervisor and agate-init say to each other
 *
 * Two conversations, each over its own SOCK_SEQPACKET pair, one struct a
 * message, native byte order (both ends are built together). Lengths are
 * checked before use. The plan of a sandbox travels as one sealed memory file,
 * the "blob": a struct blob_head, then the sections it points to.
 *
 *	stage → supervisor	MSG_LISTENERS (fds), MSG_NOTIFY (fd), MSG_FAIL
 *	supervisor → stage	MSG_PLAN (fd), MSG_FILTER, MSG_GO
 *	supervisor → broker	MSG_JOIN (fds), MSG_SERVE (fd), MSG_INSIDE
 *	broker → supervisor	MSG_JOINED (fds), MSG_READY, MSG_VIOLATION, MSG_CALLER, MSG_INSIDE (fd), MSG_FAIL
 *
 * In order: PLAN, LISTENERS, JOIN, JOINED, FILTER, NOTIFY, SERVE, READY, GO.
 * From READY on the supervisor may send any number of INSIDE, each of which is answered.
 *
 * In the layout without namespaces ("bare") the proxies' sockets and their place are
 * the supervisor's, so LISTENERS and JOINED carry no descriptors, and JOIN only the plan.
 *
 * End of file from the stage after MSG_GO, without MSG_FAIL, means the command
 * was executed.
 */
#ifndef SANDBOX_INIT_PROTO_H
#define SANDBOX_INIT_PROTO_H

#include <limits.h>
#include <stdint.h>

#define BLOB_MAGIC 0x61676231u	/* "agb1" */
#define BLOB_MAX (4u * 1024 * 1024)

/* Where the listeners of the egress helper stand, inside. */
#define PROXY_HTTP_PORT 3128
#define PROXY_SOCKS_PORT 1080
#define TRANSPARENT_PORT 8445

/*
 * Addresses that stand for names: the DNS stub hands them out, and they are
 * local to the run's network namespace. 198.18.0.0/15 and fd00:a6a7::/32.
 */
#define POOL4_NET 0xc6120000u
#define POOL4_BITS 15
#define POOL6_PREFIX { 0xfd, 0x00, 0xa6, 0xa7 }
#define POOL6_BITS 32

/* Where what only root may read is not for a run that root starts either. */
#define SECRET_ROOTS "/etc", "/opt"

#define PROTO_HOST_PORTS 8	/* ports of the host's loopback that a run may reach */

/* The rule of a refusal without namespaces, which --host-port lifts. */
#define PROTO_RULE_HOSTS_SERVICE "a service of the host"

enum zone_kind {
	ZONE_READ,	/* read-only by mount; a write is refused and told */
	ZONE_WRITE,	/* the broker writes on the command's behalf, name rules hold */
	ZONE_NATIVE,	/* private to the run: Landlock grants all, nothing comes back to the host */
	ZONE_PRIVATE,	/* as NATIVE, but a WRITE zone lies below it, so the broker does the writing */
	ZONE_DEV,	/* the minimal /dev: writing granted by Landlock, no making */
	ZONE_PROC,	/* /proc: a few files of the command's own processes */
	ZONE_HIDDEN,	/* bare only: the rest of the host; neither read nor written */
	ZONE_NUM
};

/* A subtree as seen inside; the longest matching path decides. Offsets are into the blob. */
struct blob_zone {
	uint32_t kind;
	uint32_t path_off;	/* NUL-terminated clean path */
	uint32_t rule_off;	/* what a refusal names: "mode plan", "protectedPaths", ... */
	uint32_t from_host;	/* 1: may hold sockets of the host: connect() is judged */
	uint32_t quiet;		/* 1: attributes refused here are not told: git touches objects it shares */
};

struct blob_head {
	uint32_t magic;
	uint32_t total;			/* bytes of the whole blob */
	uint32_t zones_off, n_zones;	/* array of struct blob_zone */
	uint32_t rules_off, n_rules;	/* array of uint32_t offsets of texts for names_add() */
	uint32_t reads_off, n_reads;	/* the same: what may not be read; used where reads are notified */
	uint32_t sockets_off, n_sockets;	/* the same: paths of allowed unix sockets */
	uint32_t literals_off, n_literals;	/* the same: addresses allowed as such, "1.2.3.4" or "::1", any port */
	/*
	 * The same, clean paths below read-only zones that stay closed to reading whatever becomes of the
	 * mounts over them, see closed.h: what only root may read, what a rule names, and what is shown
	 * again inside those.
	 */
	uint32_t root_only_off, n_root_only;
	uint32_t closed_off, n_closed;
	uint32_t shown_off, n_shown;
	/* two arrays of struct sock_filter: changes by descriptor trapped as well, or spared */
	uint32_t filter_off[2], n_filter[2];
	uint32_t fold_case;		/* 1: what is writable may take ".ENV" for ".env" */
	uint32_t may_seal;		/* 1: all that is writable is private, so sealing makes up for the spared */
	uint32_t listen_proxies;	/* 1: open the two proxy listeners */
	uint32_t is_bare;		/* 1: no namespaces: Landlock holds reads and TCP too */
	uint32_t reads_are_ours;	/* 1: only the broker knows of something in view that it may not be read, so it opens for reading too */
	uint32_t reads_more;		/* 1: as who we are, more can be read in the system's directories than by others: root's */
	uint32_t proxy_ports[2];	/* HTTP and SOCKS, on loopback */
	uint32_t n_host_ports, host_ports[PROTO_HOST_PORTS];
	/* bare only: where on loopback the helper listens for each of them, since its own place is the host's */
	uint32_t host_port_at[PROTO_HOST_PORTS];
	uint32_t ignored_signals;	/* bit n: signal n was ignored when agate was started, as under nohup(1) */
	/* rlimits of the command; 0: leave */
	uint64_t limit_cpu_s, limit_memory, limit_file, limit_pids, limit_files;
};

enum msg_type { MSG_PLAN = 1, MSG_LISTENERS, MSG_NOTIFY, MSG_FILTER, MSG_GO, MSG_JOIN, MSG_JOINED, MSG_SERVE, MSG_READY, MSG_VIOLATION, MSG_CALLER, MSG_INSIDE, MSG_FAIL };

struct msg_plain {
	uint32_t type;
};

/*
 * MSG_JOINED and MSG_FILTER: which of the two filters is enough. With
 * MSG_JOINED come the sockets only the broker may open: see enum net_fd; without
 * IPv6 in the kernel the last two are missing. Behind them one listening socket for each of
 * the plan's host_ports.
 */
enum { FILTER_ALL, FILTER_SPARED };
enum net_fd { NET_DNS_UDP, NET_DNS_TCP, NET_TRANSPARENT4, NET_KNOCK4, NET_TRANSPARENT6, NET_KNOCK6, NET_NUM };
#define NET_FDS_MAX (NET_NUM + PROTO_HOST_PORTS)

struct msg_filter {
	uint32_t type;
	uint32_t which;
};

/* What could not be done: "cannot <what>: <strerror(sys)>". */
struct msg_fail {
	uint32_t type;
	int32_t sys;
	uint32_t is_exec;	/* 1: everything held, but the command could not be executed */
	char what[256];
};

/* Descriptors of MSG_JOIN, in this order. */
enum join_fd { JOIN_NETNS, JOIN_MNTNS, JOIN_BLOB, JOIN_NUM };

/* Texts follow the struct, each NUL-terminated, in the order of violation_text. */
enum violation_text { VT_TARGET, VT_RESOLVED, VT_RULE, VT_COMM, VT_EXE, VT_ARGV, VT_NUM };

enum file_action {
	ACT_READ_DATA, ACT_WRITE_CREATE, ACT_WRITE_DATA, ACT_WRITE_RENAME, ACT_WRITE_LINK, ACT_WRITE_MKDIR,
	ACT_WRITE_SYMLINK, ACT_WRITE_UNLINK, ACT_WRITE_MODE, ACT_WRITE_NODE, ACT_UNIX_CONNECT, ACT_BIND,
	ACT_NETWORK, ACT_NETWORK_BIND, ACT_SYSCALL, ACT_NUM
};

struct msg_violation {
	uint32_t type;
	uint32_t action;	/* enum file_action */
	int32_t nr;		/* system call number */
	uint32_t count;
	int64_t pid;		/* thread group, as the host counts */
	uint32_t text_len;	/* bytes that follow */
};

/*
 * Who is about to connect to the egress helper: the local port names the
 * connection, so that a refusal there can be told with the program that asked.
 * Sent before the connection is made. For a transparent connection also where
 * the program thinks it goes.
 */
struct msg_caller {
	uint32_t type;
	uint32_t port;		/* local, host byte order */
	uint32_t family;	/* AF_INET or AF_INET6 of the destination; 0: a proxy was asked for */
	uint32_t to_port;	/* host byte order */
	uint8_t to[16];		/* 4 or 16 bytes, network byte order */
	int64_t pid;
	char comm[16];
	char exe[256];
};

/*
 * A connection from the host to a published port: the supervisor asks for a socket
 * connected to 127.0.0.1 or ::1 inside, which comes with the answer unless @sys says why not.
 */
struct msg_inside {
	uint32_t type;
	uint32_t port;
	int64_t id;
	int32_t sys;		/* answer: 0, or errno; EPERM for what is not the run's own server */
	uint32_t unused;
};

#define MSG_MAX (sizeof(struct msg_violation) + 3 * PATH_MAX)

#endif
