/*
 * Paths that end where the mapped memory does, that start in none, that are as
 * long as a path may be, that have no end.
 *
 * EXPECT: action=file-write-create target=*edge.key
 */
#include <sys/mman.h>

#include "tests/escape/attack.h"

int main(void)
{
	char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *edge, *longest;
	size_t n;

	attack_begin();
	munmap(two + 4096, 4096);
	edge = two + 4096 - sizeof("edge.key");
	memcpy(edge, "edge.key", sizeof("edge.key"));
	refused(put(edge), "make a key whose name ends with the page");
	edge = two + 4096 - sizeof("plain/edge.txt");
	memcpy(edge, "plain/edge.txt", sizeof("plain/edge.txt"));
	works(put(edge), "make an ordinary file whose name ends with the page");
	memset(two, 'a', 4096);
	refused(put(two + 4000), "make a file whose name does not end");
	refused(put(two + 4096), "make a file whose name is not there");
	refused(put(NULL), "make a file without a name");
	refused(rename("README", two + 4096), "rename to a name that is not there");

	longest = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (n = 0; n < 4096 - 16; n += 2)
		memcpy(longest + n, "./", 2);
	strcpy(longest + n, "longest.key");
	refused(put(longest), "make a key by the longest path");
	strcpy(longest + n, "longest.txt");
	works(put(longest), "make an ordinary file by the longest path");
	memmove(longest + 100, longest, 5000 - 100);
	for (n = 0; n < 100; n += 2)
		memcpy(longest + n, "./", 2);
	refused(put(longest), "make a file by a path longer than that");
	return attack_end();
}
