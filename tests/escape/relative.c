/*
 * Guarded names by plain relative paths, made new or opened for writing, with
 * each call and flag that can.
 *
 * EXPECT: action=file-write-create target=*.env.local
 * EXPECT: action=file-write-create target=*src/.env
 * EXPECT: action=file-write-create target=*fresh.key
 * EXPECT: action=file-write-data target=*.env
 * EXPECT: action=file-write-data target=*keys/server.key
 */
#include "tests/escape/attack.h"

int main(void)
{
	static const int ways[] = { O_WRONLY, O_RDWR, O_WRONLY | O_APPEND, O_WRONLY | O_TRUNC,
				    O_RDWR | O_CREAT, O_RDWR | O_CREAT | O_NOFOLLOW };
	int dir = open("keys", O_RDONLY | O_DIRECTORY);

	attack_begin();
	refused(put(".env.local"), "make .env.local");
	refused(put("src/.env"), "make src/.env");
	refused(put("fresh.key"), "make fresh.key");
	refused(put("./plain/../a.pfx"), "make a.pfx");
	refused(put_at(dir, "b.p12"), "make b.p12 beneath a directory");
	refused(pwn(creat("c.pem", 0600)), "creat c.pem");
	refused(pwn(open("d.key", O_CREAT | O_EXCL | O_RDONLY, 0600)), "make d.key for reading");
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		refused(pwn(open(".env", ways[i], 0600)), "open .env with %#x", ways[i]);
		refused(pwn(openat(dir, "server.key", ways[i], 0600)), "open server.key with %#x", ways[i]);
	}
	works(open(".env", O_RDONLY), "read .env");
	return attack_end();
}
