/*
 * A connect that has to wait was judged for the socket there was; by its next attempt the
 * name is a link to a socket of the host. And the same without waiting, as a race.
 *
 * RUN: --read {host}
 */
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "tests/escape/attack.h"

static struct sockaddr_un at = { .sun_family = AF_UNIX, .sun_path = "plain/server" };

static int serve(void)
{
	int server = socket(AF_UNIX, SOCK_STREAM, 0);

	unlink(at.sun_path);
	works(bind(server, (struct sockaddr *)&at, sizeof(at)), "bind a server");
	works(listen(server, 0), "listen");
	return server;
}

/* Connects, and ends with status 1 if somebody else than the server answers. */
static pid_t client(int turns)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	for (int i = 0; i < turns; i++) {
		struct sockaddr_un peer = { 0 };
		socklen_t len = sizeof(peer);
		int s = socket(AF_UNIX, SOCK_STREAM | (turns > 1 ? SOCK_NONBLOCK : 0), 0);

		if (!connect(s, (struct sockaddr *)&at, sizeof(at)) && !getpeername(s, (struct sockaddr *)&peer, &len) &&
		    strstr(peer.sun_path, "host.sock"))
			_exit(1);
		close(s);
	}
	_exit(0);
}

static void waited_for(pid_t pid, const char *what)
{
	int status = 0;

	waitpid(pid, &status, 0);
	errno = EACCES;
	refused(WIFEXITED(status) && WEXITSTATUS(status) == 1 ? 0 : -1, "%s", what);
}

int main(void)
{
	int server;
	pid_t waits, racer;

	attack_begin();
	works(symlink(spell("%s/host.sock", told("ATTACK_HOST")), "plain/link"), "make a link");
	server = serve();
	for (int i = 0; i < 2; i++)	/* who fill the queue */
		works(connect(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), (struct sockaddr *)&at, sizeof(at)) < 0 && errno != EAGAIN ? -1 : 0,
		      "connect to it");
	waits = client(1);
	usleep(100 * 1000);
	works(rename("plain/link", at.sun_path), "put the link where the server was");
	waited_for(waits, "be connected to the host's after a wait");
	close(server);
	works(symlink(spell("%s/host.sock", told("ATTACK_HOST")), "plain/link"), "make a link");
	server = serve();
	racer = client(4000);
	for (int i = 0; i < 4000; i++)
		if (syscall(SYS_renameat2, AT_FDCWD, "plain/link", AT_FDCWD, at.sun_path, 2) < 0)
			break;
	waited_for(racer, "be connected to the host's in a race");
	close(server);
	return attack_end();
}
