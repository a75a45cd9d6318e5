/*
 * Two names exchanged in one call: the guarded one comes first, or second, or is
 * below a directory that is exchanged.
 *
 * EXPECT: action=file-write-rename|file-write-create|file-write-unlink target=*.env
 */
#include <linux/fs.h>

#include "tests/escape/attack.h"

static long exchange(const char *a, const char *b)
{
	return syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

int main(void)
{
	attack_begin();
	works(put("innocent.txt"), "make an ordinary file");
	refused(exchange("innocent.txt", ".env"), "exchange with .env");
	refused(exchange(".env", "innocent.txt"), "exchange .env with it");
	refused(exchange("keys/server.key", "innocent.txt"), "exchange a key with it");
	refused(exchange("keys/server.key", "keys/cert.pem"), "exchange two guarded files");
	works(mkdir("evil", 0755), "make a directory");
	works(put("evil/hello.md"), "fill it");
	refused(exchange("evil", ".claude/commands"), "exchange with .claude/commands");
	works(mkdir("outer", 0755), "make a directory");
	works(mkdir("outer/commands", 0755), "make one in it");
	works(put("outer/commands/hello.md"), "fill it");
	refused(exchange("outer", ".claude"), "exchange its parent with .claude");
	return attack_end();
}
