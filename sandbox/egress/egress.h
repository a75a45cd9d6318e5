/*
 * sandbox/egress/egress.h - the only way out of a run: by name, through this process
 *
 * A helper of its own, one a run. It accepts on sockets that belong to the
 * sandbox's network namespace and connects from the host's, after asking the
 * policy. Proxies for HTTP (CONNECT and plain) and SOCKS5; for programs that
 * know neither, a name server whose addresses lead here.
 *
 * The supervisor talks to it over a SOCK_SEQPACKET socket:
 *
 *	to the helper, first:	{"type":"config"} with descriptors: see EGRESS_FD_*
 *	then, any number of:	{"type":"caller",...}: transparent.h
 *				{"type":"connected-inside",...}: publish.h
 *	from it:		{"type":"ready"}, or {"type":"error","reason":...} and its end;
 *				then messages as in report.h
 *
 * End of file on that socket ends the helper; its connections are closed.
 *
 * Who may use the proxies: their sockets are made in the sandbox's own network
 * namespace, on its loopback, and handed out of it as descriptors. Only the
 * run's processes are in that namespace, no address of the host leads there,
 * and whoever could enter it (root, or the same user by way of ptrace) could
 * as well read a password out of the command's environment. So none is wanted
 * there. Where listeners lie on the host's loopback instead, which every user
 * of the host can reach, "proxyCredential" of the configuration has to be said:
 * Proxy-Authorization (Basic) over HTTP, name and password over SOCKS5.
 */
#ifndef SANDBOX_EGRESS_EGRESS_H
#define SANDBOX_EGRESS_EGRESS_H

struct err;

/*
 * What comes with the configuration, in this order. All sockets but the file
 * belong to the sandbox's network namespace. There may be the first three only,
 * and where the kernel knows no IPv6 the last two are missing. Behind them comes one
 * listening socket for each of the configuration's "hostPorts", in its order.
 */
enum egress_fd {
	EGRESS_FD_CONFIG,		/* a memory file: config.h */
	EGRESS_FD_HTTP,
	EGRESS_FD_SOCKS,
	EGRESS_FD_DNS_UDP,		/* bound */
	EGRESS_FD_DNS_TCP,
	EGRESS_FD_TRANSPARENT4,
	EGRESS_FD_KNOCK4,		/* raw: knock.h */
	EGRESS_FD_TRANSPARENT6,
	EGRESS_FD_KNOCK6,
	EGRESS_FD_NUM
};

/**
 * egress_main() - Be the helper: confine this process, serve until the supervisor ends it
 * @control_fd:	borrowed; every other descriptor above 2 is closed
 *
 * Changes the whole process (limits, signals, descriptors), so nothing else
 * should live in it. Return: 0 when the supervisor closed its side, -1 with @err
 */
int egress_main(int control_fd, struct err *err);

#endif
