/*
 * timeout: 60
 * The address of a connect, and the socket itself, changed by one thread while
 * another's call is being judged: first a place anybody may go to, then a socket
 * of the host that a bind shows.
 *
 * RUN: --read {host}
 * EXPECT: action=unix-connect target=*host.sock
 */
#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "tests/escape/attack.h"

enum { SECONDS = 4 };

static time_t end;
static struct sockaddr_un host = { .sun_family = AF_UNIX };
static struct sockaddr_un seen;		/* what the striker names, flipped */
static int number;			/* the striker's socket, flipped too */
static volatile int reached;

static void set_family(sa_family_t family)
{
	memcpy(&seen, &family, sizeof(family));
}

static void *flip(void *cookie)
{
	const struct sockaddr_in near = { .sin_family = AF_INET, .sin_port = htons(9),
					  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	(void)cookie;
	while (time(NULL) < end) {
		memcpy(&seen, &near, sizeof(near));
		memcpy((char *)&seen + 2, (char *)&host + 2, sizeof(host) - 2);
		set_family(AF_UNSPEC);
		set_family(AF_UNIX);
		seen.sun_path[0] = 0;		/* an abstract name */
		memcpy(&seen, &host, sizeof(host));
	}
	return NULL;
}

static void *swap(void *cookie)
{
	int inet = socket(AF_INET, SOCK_STREAM, 0), local = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)cookie;
	while (time(NULL) < end) {
		dup2(inet, number);
		dup2(local, number);
	}
	return NULL;
}

static void *strike(void *cookie)
{
	(void)cookie;
	while (time(NULL) < end) {
		struct sockaddr_un peer = { 0 };
		socklen_t len = sizeof(peer);
		int own = socket(AF_UNIX, SOCK_STREAM, 0), fd = cookie ? own : number;

		if (connect(fd, (struct sockaddr *)&seen, sizeof(seen)) == 0 &&
		    !getpeername(fd, (struct sockaddr *)&peer, &len) && peer.sun_family == AF_UNIX && peer.sun_path[0])
			reached = 1;
		close(own);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[6];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	attack_begin();
	snprintf(host.sun_path, sizeof(host.sun_path), "%s/host.sock", told("ATTACK_HOST"));
	works(access(host.sun_path, F_OK), "see the socket that --read shows");
	refused(connect(fd, (struct sockaddr *)&host, sizeof(host)), "reach it plainly");
	number = dup(fd);
	end = time(NULL) + SECONDS;
	for (long i = 0; i < 6; i++)
		pthread_create(&t[i], NULL, i < 2 ? flip : i < 3 ? swap : strike, (void *)(i - 3));
	for (int i = 0; i < 6; i++)
		pthread_join(t[i], NULL);
	errno = EACCES;
	refused(reached ? 0 : -1, "reach it by changing the address or the socket meanwhile");
	return attack_end();
}
