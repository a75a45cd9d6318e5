/*
 * The tools of Claude Code, up to 2.1.332. Which fields a tool may have is in the
 * row where a field could change what it touches.
 */
#include "gates/tool_internal.h"

#define ROW(names_, ...) { .names = names_, __VA_ARGS__ }

/* Decisions: in chat, in chat inside our sandbox, in the modes that only look. */
#define ALWAYS .chat = DECISION_ALLOW, .held = DECISION_ALLOW, .looking = DECISION_ALLOW
#define ASKED .chat = DECISION_ASK, .held = DECISION_ASK, .looking = DECISION_DENY
#define NEVER .chat = DECISION_DENY, .held = DECISION_DENY, .looking = DECISION_DENY
#define ASKED_OUTSIDE .chat = DECISION_ASK, .held = DECISION_ALLOW, .looking = DECISION_DENY

#define READS(field, may_lack, names_, fields_) \
	ROW(names_, ALWAYS, .judge = judge_file, .subject = field, .may_lack_subject = may_lack, .use = USE_READ, .fields = fields_)
#define WRITES(field, names_, fields_) \
	ROW(names_, ALWAYS, .judge = judge_file, .subject = field, .use = USE_WRITE, .fields = fields_)

const struct tool_row tool_rows[] = {
	/* --- shell lines --- */
	ROW("Bash", ALWAYS, .judge = judge_shell, .subject = "command",
	    .fields = "command timeout description run_in_background dangerouslyDisableSandbox"),
	ROW("Monitor", ALWAYS, .judge = judge_monitor, .subject = "command", .may_lack_subject = true,
	    .fields = "description timeout_ms persistent command ws"),

	/* --- files --- */
	READS("file_path", false, "Read", "file_path offset limit pages allow_large"),
	READS("notebook_path", false, "NotebookRead", "notebook_path cell_id"),
	READS("path", true, "Grep", "pattern path glob output_mode -B -A -C context -n -i -o type head_limit offset multiline"),
	ROW("Glob", ALWAYS, .judge = judge_glob, .subject = "path", .may_lack_subject = true, .use = USE_LOOK,
	    .fields = "pattern path"),
	ROW("LS", ALWAYS, .judge = judge_file, .subject = "path", .may_lack_subject = true, .use = USE_LOOK,
	    .fields = "path ignore"),
	WRITES("file_path", "Write", "file_path content"),
	WRITES("file_path", "Edit", "file_path old_string new_string replace_all"),
	WRITES("file_path", "MultiEdit", "file_path edits"),
	WRITES("notebook_path", "NotebookEdit", "notebook_path cell_id new_source cell_type edit_mode"),

	/* --- the network; a search is answered by the model's own provider --- */
	ROW("WebFetch", .judge = judge_url, .subject = "url", .fields = "url prompt offset", .class = EFFECT_NETWORK_EGRESS,
	    .chat = DECISION_ALLOW, .held = DECISION_ALLOW, .looking = DECISION_ASK,
	    .why = "reaches out, and somebody has to say yes where nothing is to be touched"),
	ROW("WebSearch", .subject = "query", .class = EFFECT_NETWORK_EGRESS,
	    .chat = DECISION_ALLOW, .held = DECISION_ALLOW, .looking = DECISION_ASK,
	    .why = "reaches out, and somebody has to say yes where nothing is to be touched"),

	/* --- agents, whose own calls come here as well --- */
	ROW("Agent|Task", ALWAYS, .judge = judge_agent, .subject = "description", .may_lack_subject = true,
	    .fields = "description prompt subagent_type model effort run_in_background resume name team_name mode isolation max_turns"),
	ROW("ExitPlanMode", ALWAYS, .judge = judge_leave_plan),
	ROW("AskUserQuestion", ALWAYS, .judge = judge_question),

	/* --- the session's own book-keeping --- */
	ROW("TodoWrite|TodoRead|TaskCreate|TaskGet|TaskList|TaskUpdate|TaskStop|TaskOutput|BashOutput|KillShell|"
	    "KillBash|AgentOutputTool|ListAgents|SendMessage|TeamCreate|TeamDelete|EnterPlanMode|"
	    "ToolSearch|StructuredOutput|ReportFindings|ReadNotifications|CronList|CronDelete|ScheduleWakeup|"
	    "OfferChromeSetup|ShowOnboardingRolePicker", ALWAYS),

	/* --- instructions that come from files, and may run commands while they are read --- */
	ROW("Skill|SlashCommand", ASKED_OUTSIDE, .subject = "skill", .may_lack_subject = true, .class = EFFECT_PROCESS_SPAWN,
	    .why = "reads instructions that can run commands of their own"),
	ROW("Workflow", ASKED_OUTSIDE, .subject = "name", .may_lack_subject = true, .class = EFFECT_PROCESS_SPAWN,
	    .why = "runs a script"),
	ROW("CronCreate", ASKED_OUTSIDE, .class = EFFECT_WORKSPACE_MUTATION, .why = "can leave work for later sessions"),
	ROW("EnterWorktree|ExitWorktree", ASKED_OUTSIDE, .subject = "name", .may_lack_subject = true,
	    .class = EFFECT_WORKSPACE_MUTATION, .why = "makes or removes a git worktree, which runs the repository's hooks"),

	/* --- servers --- */
	ROW("ListMcpResourcesTool|ReadMcpResourceTool|ReadMcpResourceDirTool|ListMcpResources|ReadMcpResource|"
	    "ReadMcpResourceDir|RefreshMcpTools", ASKED, .subject = "server", .may_lack_subject = true,
	    .class = EFFECT_PROCESS_SPAWN, .why = "asks an MCP server, and what that does is not known"),
	ROW("Artifact|Projects|ClaudeDesign|SendFeedback|PushNotification|RemoteTrigger|SendUserFile", ASKED,
	    .class = EFFECT_NETWORK_EGRESS, .why = "hands something over to a service outside"),
	ROW("Config|ProposeSkills|ProposeGoal", ASKED, .class = EFFECT_WORKSPACE_MUTATION,
	    .why = "changes what later sessions obey"),
	{ 0 },
};
