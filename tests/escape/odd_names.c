/*
 * Guarded names with bytes in them that confuse: new lines, escapes, bytes that
 * are no text, and a guarded name at the end of a deep tree.
 *
 * EXPECT: action=file-write-create target=*line.key
 * EXPECT: action=file-write-create target=*.pem
 */
#include "tests/escape/attack.h"

int main(void)
{
	static const char *const names[] = { "new\nline.key", "\033[2Jclear.pem", "\xff\xfe.pem", " .p12", "-rf.pfx",
					     ".env.\"quoted\"", ".env.\t", "\\.key", "%s%n.key" };

	attack_begin();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		refused(put(names[i]), "make odd name %zu", i);
	works(put("new\nline.txt"), "make an ordinary odd name");
	for (int i = 0; i < 120; i++) {
		works(mkdir("a-directory-with-a-long-name", 0755), "make level %d", i);
		if (chdir("a-directory-with-a-long-name") < 0) {
			works(-1, "enter level %d", i);
			break;
		}
	}
	refused(put("deep.key"), "make a key deep down");
	refused(put(".env"), "make .env there");
	works(put("deep.txt"), "make an ordinary file there");
	return attack_end();
}
