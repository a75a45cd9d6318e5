/*
 * Command lines of code hosts: all of them ask the network; some publish.
 */
#include <string.h>

#include "gates/options.h"

/* gh api reads unless it is told a method or given fields. */
static void check_api(struct judge *j, struct parsed *p)
{
	bool is_write = false;

	for (size_t i = 0; i < p->operands.n; i++) {
		const char *s = p->operands.v[i].text;
		bool has_method = !strcmp(s, "-X") || !strcmp(s, "--method");
		const char *method = has_method && i + 1 < p->operands.n ? p->operands.v[i + 1].text
				     : !strncmp(s, "--method=", 9)       ? s + 9
				     : !strncmp(s, "-X", 2)              ? s + 2
									 : NULL;

		if (method && strcasecmp(method, "GET") && strcasecmp(method, "HEAD"))
			is_write = true;
		else if (!method &&
			 (!strncmp(s, "-f", 2) || !strncmp(s, "-F", 2) || !strncmp(s, "--field", 7) ||
			  !strncmp(s, "--raw-field", 11) || !strncmp(s, "--input", 7)))
			is_write = true;
		else if (!p->operands.v[i].is_known && s[0] == PLACE_HOLE)
			is_write = true;
	}
	for (size_t i = 0; i + 1 < p->operands.n; i++)
		if (arg_is(&p->operands.v[i], "-X") && !strcasecmp(p->operands.v[i + 1].text, "GET"))
			is_write = false;
	if (is_write)
		judge_note(j, p->name, EFFECT_VENDOR_SYNC_WRITE, PLACE_NONE, p->who, ASKS, "ask list",
			   "'%s' changes something at the code host", p->who);
}

#define ASKS_HOST .class = EFFECT_NETWORK_EGRESS, .weight = CHANGES, .why = "asks the code host"
#define PUBLISHES(kind) .class = kind, .weight = ASKS, .why = "changes something at the code host"

const struct program table_forge[] = {
	ROW("gh|glab|hub|tea", "+ -R:- --repo:- --hostname:-", OPERANDS_SUB, ASKS_HOST),
	ROW("gh pr|glab mr|tea pr|hub pr|gh issue|glab issue|tea issue|hub issue|gh release|glab release|"
		"gh repo|glab repo|gh secret|gh variable|gh workflow|gh run|gh gist|gh label|gh auth|"
		"gh cache|gh project|gh ruleset|gh ssh-key|gh gpg-key|gh codespace|gh extension|gh alias|"
		"gh config|gh org|gh search|gh attestation|glab ci|glab variable",
	    "+ -R:- --repo:-", OPERANDS_SUB, ASKS_HOST),
	{ .name = "gh pr create|gh pr new|glab mr create|glab mr new|tea pr create|hub pull-request",
	    PUBLISHES(EFFECT_PR_CREATE) },
	{ .name = "gh pr merge|gh pr close|gh pr review|gh pr comment|gh pr edit|gh pr ready|gh pr reopen|"
		"gh pr lock|gh pr unlock|gh pr update-branch|glab mr merge|glab mr close|glab mr approve|"
		"glab mr note|glab mr update|glab mr reopen",
	  PUBLISHES(EFFECT_PR_PUBLISH) },
	{ .name = "gh issue create|gh issue new|gh issue edit|gh issue comment|gh issue close|"
		"gh issue delete|gh issue reopen|gh issue lock|gh issue unlock|gh issue pin|"
		"gh issue unpin|gh issue transfer|gh issue develop|glab issue create|glab issue close|"
		"glab issue note|glab issue update|glab issue delete|gh release create|gh release delete|"
		"gh release edit|gh release upload|gh release delete-asset|glab release create|"
		"glab release delete|gh repo create|gh repo fork|gh repo delete|gh repo edit|"
		"gh repo rename|gh repo archive|gh repo unarchive|gh repo sync|gh repo deploy-key|"
		"glab repo create|glab repo fork|glab repo delete|gh secret set|gh secret delete|"
		"gh secret remove|gh variable set|gh variable delete|gh workflow run|gh workflow enable|"
		"gh workflow disable|gh run cancel|gh run rerun|gh run delete|gh gist create|gh gist edit|"
		"gh gist delete|gh gist rename|gh label create|gh label edit|gh label delete|"
		"gh label clone|gh cache delete|gh project create|gh project edit|gh project delete|"
		"gh project close|gh project item-add|gh project item-create|gh project item-edit|"
		"gh project item-delete|gh project item-archive|gh ssh-key add|gh ssh-key delete|"
		"gh gpg-key add|gh gpg-key delete|glab ci run|glab ci retry|glab ci cancel|"
		"glab variable set|glab variable delete",
	  PUBLISHES(EFFECT_VENDOR_SYNC_WRITE) },
	{ .name = "gh api|glab api", .check = check_api, ASKS_HOST },
	{ .name = "gh auth token|gh auth login|gh auth refresh|gh auth setup-git|glab auth login",
	    .class = EFFECT_SECRET_ACCESS,
	  .weight = ASKS, .why = "handles the credential of the code host" },
	{ .name = "gh extension install|gh extension exec|gh extension upgrade|gh alias set|"
		"gh alias import|gh codespace ssh|gh codespace create|gh codespace delete|gh copilot",
	    .class = EFFECT_PROCESS_SPAWN, .weight = ASKS,
	  .why = "runs or installs code from elsewhere" },
	{ 0 }
};
