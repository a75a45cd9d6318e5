/*
 * sandbox/egress/egress.h - the only way out of a run: by name, through this process
 *
 * A helper of its own, one a run. It accepts on sockets that belong to the
 * sandbox's network namespace and connects from the host's, after asking the
 * policy. HTTP (CONNECT and plain) on one listening socket, SOCKS5 on the other.
 *
 * The supervisor talks to it over a SOCK_SEQPACKET socket:
 *
 *	to the helper, once:	{"type":"config"} with descriptors: a memory file
 *				with the configuration (config.h), the listening
 *				socket for HTTP, the one for SOCKS5
 *	from it:		{"type":"ready"}, or {"type":"error","reason":...} and its end;
 *				then messages as in report.h
 *
 * End of file on that socket ends the helper; its connections are closed.
 */
#ifndef SANDBOX_EGRESS_EGRESS_H
#define SANDBOX_EGRESS_EGRESS_H

struct err;

/**
 * egress_main() - Be the helper: confine this process, serve until the supervisor ends it
 * @control_fd:	borrowed; every other descriptor above 2 is closed
 *
 * Changes the whole process (limits, signals, descriptors), so nothing else
 * should live in it. Return: 0 when the supervisor closed its side, -1 with @err
 */
int egress_main(int control_fd, struct err *err);

#endif
