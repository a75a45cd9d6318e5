/*
 * What a mount hides, when somebody on the host puts another file in its place while the run
 * goes on, and what is made beside it.
 *
 * RUN: --read {other}
 * HOST: etc=/etc/agate-escape-$ATTACK_PID; nvm=$ATTACK_HOME/.nvm
 * HOST: trap 'rm -f $etc.*' EXIT; trap 'exit 1' TERM
 * HOST: umask 077
 * HOST: [ $(id -u) != 0 ] || echo secret >$etc.key
 * HOST: echo ready
 * HOST: seen() { n=0; until find "$ATTACK_STATE" -name "$1" 2>/dev/null | grep -q .; do n=$((n + 1)); [ $n -lt 400 ] || exit 1; sleep 0.05; done; }
 * HOST: seen attack-begun
 * HOST: stamp=$(stat -c %y "$nvm"); mv "$nvm/.npmrc" "$nvm/was"; echo secret >"$nvm/.npmrc"
 * HOST: if [ $(id -u) = 0 ]; then echo secret >$etc.new; mv $etc.new $etc.key; echo secret >$etc.made; fi
 * HOST: echo go >"$ATTACK_OTHER/go"; chmod 644 "$ATTACK_OTHER/go"
 * HOST: seen attack-done
 * HOST: rm -f "$ATTACK_OTHER/go"; mv "$nvm/was" "$nvm/.npmrc"; touch -d "$stamp" "$nvm"
 */
#include <stdint.h>

#include "tests/escape/attack.h"

static int wait_for(const char *path)
{
	for (int i = 0; i < 400; i++) {
		if (!access(path, F_OK))
			return 0;
		usleep(50000);
	}
	return -1;
}

static long mark(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0644);

	if (fd >= 0)
		close(fd);
	return fd;
}

static void look(const char *path)
{
	refused(open(path, O_RDONLY), "open %s", path);
	refused(open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK), "open %s in another way", path);
	refused(syscall(SYS_openat2, AT_FDCWD, path, &(uint64_t[3]){ O_RDONLY, 0, 0 }, 3 * sizeof(uint64_t)),
		"open %s with openat2", path);
}

/* A descriptor that only names it, opened again. */
static void look_again(const char *path)
{
	int fd = open(path, O_PATH);

	if (fd < 0)
		return;
	refused(open(spell("/proc/self/fd/%d", fd), O_RDONLY), "open %s through a descriptor", path);
	refused(open(spell("/proc/thread-self/root%s", path), O_RDONLY), "open %s below another root", path);
	close(fd);
}

int main(void)
{
	const char *home = told("ATTACK_HOME"), *pid = told("ATTACK_PID");
	char *const paths[] = { strdup(spell("%s/.nvm/.npmrc", home)), strdup(spell("%s/.nvm/was", home)),
				strdup(spell("/etc/agate-escape-%s.key", pid)),
				strdup(spell("/etc/agate-escape-%s.made", pid)) };

	attack_begin();
	works(open(spell("%s/.nvm/versions/bin/tool", home), O_RDONLY), "read a tool");
	works(mark("attack-begun"), "make a file");
	works(wait_for(spell("%s/go", told("ATTACK_OTHER"))), "hear from the host");
	/* Without namespaces the broker opens what the caller may read, and goes by the names there were. */
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		if (bare() && i % 2)
			continue;
		look(paths[i]);
		look_again(paths[i]);
	}
	works(mark("attack-done"), "make another file");
	return attack_end();
}
