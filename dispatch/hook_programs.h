/*
 * dispatch/hook_programs.h - does a line that looks with git have it run what a repository names?
 *
 * In a run git is told by the environment to run none of it. Beside an agent that
 * somebody else started there is no environment to set, so where such a program
 * is named, a line with git in it does more than look.
 */
#ifndef DISPATCH_HOOK_PROGRAMS_H
#define DISPATCH_HOOK_PROGRAMS_H

struct verdict;

/**
 * hook_programs() - Deny what was allowed because git would run a program
 * @v:		changed in place
 * @line:	the shell line; one without "git" in it is left alone
 * @cwd:	clean; where the line begins
 *
 * Looked at are the repositories around @cwd and around each path that the line
 * reads. A configuration that cannot be taken in is a denial as well.
 */
void hook_programs(struct verdict *v, const char *line, const char *cwd);

#endif
