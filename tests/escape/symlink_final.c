/*
 * An innocent name that is a symbolic link to a guarded one, there or not yet.
 *
 * EXPECT: action=file-write-data target=*.env
 * EXPECT: action=file-write-create target=*later.pem
 */
#include "tests/escape/attack.h"

int main(void)
{
	attack_begin();
	refused(put("linkfile"), "overwrite through a link that was there");
	works(symlink("keys/server.key", "innocent"), "make a link to a key");
	refused(put("innocent"), "overwrite a key through a link");
	works(symlink("plain/../later.pem", "dangling"), "make a link to nothing");
	refused(put("dangling"), "make a certificate through a dangling link");
	works(symlink("dangling", "twice"), "make a link to a dangling link");
	refused(put("twice"), "make a certificate through two links");
	refused(truncate("innocent", 0), "truncate a key through a link");
	works(symlink("made.txt", "fine"), "make a link to an ordinary name");
	works(put("fine"), "make an ordinary file through a link");
	return attack_end();
}
