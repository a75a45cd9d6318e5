/*
 * Guarded names by absolute paths, and by paths with more in them than they need.
 *
 * EXPECT: action=file-write-create target=*.env.abs
 * EXPECT: action=file-write-data target=*.env
 */
#include "tests/escape/attack.h"

int main(void)
{
	const char *repo = told("ATTACK_REPO");

	attack_begin();
	refused(put(spell("%s/.env.abs", repo)), "make by an absolute path");
	refused(put(spell("%s/.env", repo)), "overwrite by an absolute path");
	refused(put(spell("%s//.//.env", repo)), "overwrite through doubled slashes");
	refused(put(spell("%s/src/../plain/.././.env", repo)), "overwrite through dots");
	refused(put(spell("/proc/../%s/new.key", repo)), "make through /proc/..");
	refused(put(spell("/../../../..%s/new.pem", repo)), "make from above the root");
	refused(put("linkdir/../.env"), "overwrite through a link and back");
	return attack_end();
}
