/*
 * Files that some program of the owner's obeys when it works in the checkout.
 *
 * EXPECT: action=file-write-create target=*.bashrc
 * EXPECT: action=file-write-create target=*.mcp.json
 */
#include "tests/escape/attack.h"

int main(void)
{
	static const char *const names[] = { ".gitconfig", ".bashrc", ".bash_profile", ".zshrc", ".zprofile",
					     ".profile", ".ripgreprc", ".mcp.json", ".gitmodules" };

	attack_begin();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		refused(put(names[i]), "make %s", names[i]);
		refused(put(spell("src/%s", names[i])), "make src/%s", names[i]);
	}
	return attack_end();
}
