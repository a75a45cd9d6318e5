/*
 * A process that may not be looked into must not be let through for that.
 */
#include <sys/prctl.h>

#include "tests/escape/attack.h"

int main(void)
{
	attack_begin();
	works(prctl(PR_SET_DUMPABLE, 0), "become non-dumpable");
	refused(put(".env.hidden"), "make .env.hidden");
	refused(put(".env"), "overwrite .env");
	refused(put("linkdir/hidden.key"), "make a key through a link");
	refused(rename("README", "hidden.pem"), "rename onto a certificate");
	refused(truncate("keys/server.key", 0), "truncate a key");
	refused(mkdir("src/.env", 0755), "make a directory .env");
	return attack_end();
}
