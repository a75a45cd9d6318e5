/*
 * timeout: 90
 * Refusals in numbers, each another name: the record must not cost the run its
 * life, and what comes after them is refused and recorded like before.
 *
 * EXPECT: action=file-write-create target=*last-of-all.key
 */
#include "tests/escape/attack.h"

int main(void)
{
	long n = 0;

	attack_begin();
	for (int i = 0; i < 20000; i++)
		n += put(spell("flood-%d.key", i)) >= 0;
	for (int i = 0; i < 20000; i++)
		n += put(".env") >= 0;
	errno = EACCES;
	refused(n ? 0 : -1, "make any of 40000");
	refused(put("last-of-all.key"), "make one more");
	works(put("plain/after"), "make an ordinary file after them");
	return attack_end();
}
