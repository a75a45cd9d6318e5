/*
 * A thread with a working directory and a table of descriptors of its own: what
 * is true of the process is not true of it.
 *
 * EXPECT: action=file-write-create target=*thread.key
 */
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/escape/attack.h"

/* A server and its client, by descriptors of the thread alone. */
static void talk(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX, .sun_path = "thread.sock" };
	int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);

	works(bind(server, (struct sockaddr *)&to, sizeof(to)), "bind a socket of the thread's");
	works(listen(server, 1), "listen on it");
	works(connect(client, (struct sockaddr *)&to, sizeof(to)), "connect another to it");
	close(server);
	close(client);
}

static void *own(void *cookie)
{
	int slot = *(int *)cookie;
	int keys = open(".git/hooks", O_PATH | O_DIRECTORY);

	works(syscall(SYS_unshare, CLONE_FS | CLONE_FILES), "take an own directory and table");
	works(dup2(keys, slot), "fill the number with another directory");
	works(chdir("keys"), "change the thread's directory");
	refused(put("thread.key"), "make by the thread's directory");
	refused(put("server.key"), "overwrite by the thread's directory");
	refused(put_at(slot, "post-commit"), "plant by the thread's descriptor");
	refused(put(spell("/proc/thread-self/fd/%d/post-commit", slot)), "plant by /proc/thread-self");
	refused(put("/proc/thread-self/cwd/two.key"), "make by /proc/thread-self/cwd");
	talk();
	works(put("thread.txt"), "make an ordinary file by the thread's directory");
	return NULL;
}

int main(void)
{
	int slot = open("plain", O_PATH | O_DIRECTORY);
	pthread_t t;

	attack_begin();
	pthread_create(&t, NULL, own, &slot);
	pthread_join(t, NULL);
	works(access("keys/thread.txt", F_OK), "find it where the thread was");
	refused(access("thread.txt", F_OK), "find it where the process is");
	works(put_at(slot, "slot.txt"), "make an ordinary file by the process's descriptor");
	return attack_end();
}
