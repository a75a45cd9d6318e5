/*
 * base/mode.h - what a run is for; it decides what may change
 *
 * chat may write its workspace; the other three only look.
 */
#ifndef BASE_MODE_H
#define BASE_MODE_H

enum mode { MODE_CHAT, MODE_REVIEW, MODE_PLAN, MODE_ORCHESTRATE, MODE_NUM };

/* mode_name() - the word used on the command line and in JSON */
const char *mode_name(enum mode m);

/* mode_parse() - 0 and *ret set, or -1 for a word that is no mode */
int mode_parse(const char *word, enum mode *ret);

/* mode_is_readonly() - 1 if the workspace must not change */
static inline int mode_is_readonly(enum mode m)
{
	return m != MODE_CHAT;
}

#endif
