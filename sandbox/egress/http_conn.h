/*
 * sandbox/egress/http_conn.h - one HTTP connection of a client, for its two files alone
 *
 *	http_proxy.c	requests and answers; a turn of the machine
 *	http_inspect.c	connections that are looked into: their beginning, TLS, what may be asked
 */
#ifndef SANDBOX_EGRESS_HTTP_CONN_H
#define SANDBOX_EGRESS_HTTP_CONN_H

#include "sandbox/egress/egress_internal.h"
#include "sandbox/egress/http.h"
#include "sandbox/egress/stream.h"

#define HTTP_IN_MAX (HTTP_HEAD_MAX + 4096)	/* a head has to fit, and then some */

enum state {
	SNIFF,		/* a connection to one host: is it TLS or HTTP? */
	SHAKE_DOWN,	/* the handshake with the program */
	READ_HEAD,
	DIALLING,
	SHAKE_UP,	/* the handshake with the host */
	EXCHANGE
};

/* What a step of the machine says. */
enum step { WAIT, GO, END, GONE };	/* GONE: the connection was handed on and freed */

struct request {
	struct destination to;
	struct http_body body;
	struct buf head;	/* as sent upstream; kept until it is answered, for a second try */
	int is_connect;
	int is_head;
	int minor;
	int close;		/* the client wants to end behind it */
	int offers_upgrade;
	const struct chain_proxy *hop;	/* the request itself goes to this proxy; NULL: to the host */
	int had_body;
	int body_done;
};

struct response {
	struct http_scan scan;
	struct http_body body;
	int started;		/* a first byte came */
	int head_done;
	int done;
	int chunked;		/* towards the client */
	int close_down;		/* the client's connection ends behind it */
	int close_up;		/* upstream's does */
	int interim;
};

struct http_conn {
	struct client client;
	struct egress *eg;
	uint16_t peer_port;
	enum state state;
	struct stream down, up;
	struct host up_host;		/* where up leads */
	uint16_t up_port;
	const struct chain_proxy *up_hop;
	int up_used;			/* it has answered before */
	struct link_info link;		/* of up */
	struct dial *dial;
	struct http_scan scan;
	int got_blank_line;		/* in front of a request; one is forgiven */
	struct request req;
	struct response res;
	struct flow flow;		/* moves a response's body; from is -1 when there is none */
	enum flow_state flow_state;
	int is_within;			/* it is looked into and leads to one host: */
	struct destination within;
	int secure;			/* over TLS, on both sides */
	int is_stream;			/* of HTTP/2: the client's side ends when it has given up, and not before */
};

/* --- http_proxy.c --- */
void http_conn_free(struct http_conn *c);
/* http_say_goodbye() - close the client's connection once it has read what it was sent; always GONE */
enum step http_say_goodbye(struct http_conn *c);
enum step http_answer_failure(struct http_conn *c, int status, const char *why, int close);
enum step http_answer_upstream_failure(struct http_conn *c, int status, const char *what);
/* http_send_head() - the exchange begins */
enum step http_send_head(struct http_conn *c);
/* http_conn_new() - watched, with nothing read yet; NULL with @fd closed */
struct http_conn *http_conn_new(struct egress *eg, int fd, uint16_t peer_port);
/* http_run() - turn the machine until it has to wait; may free @c */
void http_run(struct http_conn *c);

/* --- http_inspect.c --- */
enum step http_sniff(struct http_conn *c);
enum step http_shake_down(struct http_conn *c);
enum step http_shake_up(struct http_conn *c);
/* http_shake_up_start() - up is connected: TLS to the host */
enum step http_shake_up_start(struct http_conn *c);

/* What judging a request took; its strings live here. */
struct inspection {
	struct buf path;
	struct buf secrets;
};

/**
 * http_inspect() - May this request be sent as it is? Puts credentials in
 * @head, @uri:	changed to what is to be sent, with bytes of @in
 * @v:		allowed, or why not
 */
void http_inspect(const struct http_conn *c, struct http_head *head, struct http_uri *uri, struct inspection *in,
		  struct egress_verdict *v);
void http_inspection_done(struct inspection *in);

#endif
