/*
 * sandbox/seatbelt.h - a SandboxSpec as a Seatbelt profile, for sandbox-exec(1) of macOS
 *
 * The same spec, the same verdicts, as far as a profile can say them. Pure: text
 * from data. NOTHING HERE HAS RUN ON macOS: agate is a program for Linux, and the
 * profile is checked by an evaluator of its own in the unit tests, which holds
 * it against the Linux verdicts. What the tests cannot know is how the real
 * kernel reads it; where that was in doubt the stricter form stands.
 *
 * There are no mounts on macOS: the command sees host paths. A bind shown
 * elsewhere (hostPath unlike guestPath) is opened at its hostPath, under the
 * rules of its guestPath. What is private on Linux (/tmp and its like) has no
 * counterpart and stays closed: TMPDIR has to point into a writable bind.
 *
 * In short, last match wins:
 *	1	nothing, then the few services a process needs: no Apple events, no
 *		launch services, no name service, no trust daemon
 *	2	reading: the system's directories and the binds; then denyRead and
 *		allowRead, the more specific the stronger
 *	3	writing: the writable binds; in each, denyWrite with its exceptions,
 *		what a mode makes read-only, and protectedPaths
 *	4	removing and moving: directories that lead to something denied
 *	5	executing: what is readable and not writable, and execGrantRoots
 *	6	network: the two proxies on localhost, allowUnixSockets
 *
 * Stricter than Linux, since a profile sees paths and not what lies there:
 *	- a directory that leads to something denied can be neither moved nor
 *	  removed, even if it is empty
 *	- a directory by a name that leads into a rule ("x/.claude" for
 *	  "** /.claude/commands") cannot be made, since a moved one looks the same.
 *	  Not so where the rule is about a git directory: git init and git clone
 *	  must work, and what a run brings in its own git directories is inert for
 *	  the host anyway; so there, and only there, a directory with live hooks
 *	  can be moved into place, which Linux refuses
 *	- programs in writable places need an execGrantRoots entry, which Linux ignores
 *	- hard links, sockets the run makes itself, listening, and named semaphores
 *	- with fold_case, denials hold for ASCII letters of either case
 * Not held: other spellings that a file system may take for the same name
 * (Unicode case folding and normalization).
 */
#ifndef SANDBOX_SEATBELT_H
#define SANDBOX_SEATBELT_H

struct buf;
struct err;
struct sandbox_spec;

/**
 * seatbelt_profile() - The profile text
 * @spec:	must pass spec_check(); for twins of its denies see spec_twins()
 * @fold_case:	1 for a file system that takes ".ENV" for ".env", as macOS's do by default
 * @ret:	the text is appended; bytes, valid UTF-8 unless a rule's bracket has part of a character
 * @err:	ERR_INPUT, as spec_check(); ERR_LIMIT when a rule with its exceptions makes an
 *		expression out of all proportion; ERR_NOMEM
 *
 * Return: 0, or -1 with @ret as it was
 */
int seatbelt_profile(const struct sandbox_spec *spec, int fold_case, struct buf *ret, struct err *err);

#endif
