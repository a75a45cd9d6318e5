/*
 * gates/place.h - what kind of place a path is, judged as text
 *
 * A path may hold PLACE_HOLE bytes where only the running shell knows what will
 * stand there. Names are compared without regard to case, since the file system
 * may not mind it either.
 */
#ifndef GATES_PLACE_H
#define GATES_PLACE_H

#include <stdbool.h>

#include "gates/command.h"

struct arena;

#define PLACE_HOLE '\001'

enum place_use { USE_LOOK, USE_READ, USE_WRITE, USE_DELETE, USE_MOVE };

/**
 * place_resolve() - A path as the process would mean it, cleaned
 * @cwd:	clean absolute, or NULL when not known
 * @text:	as written, with "~" already replaced; may be empty
 *
 * /proc/self/cwd and /proc/self/root are replaced by what they are. ".." is
 * taken textually.
 * Return: in the arena; relative and as written when @cwd is not known
 */
const char *place_resolve(struct arena *a, const char *cwd, const char *text);

/* place_of() - where a resolved path lies, for this use of it */
enum effect_place place_of(const struct command_request *req, const char *path, enum place_use use);

/* place_is_root() - 1 if deleting @path takes the workspace, home, or a top directory with it */
bool place_is_root(const struct command_request *req, const char *path);

/* place_is_dot_home() - true below ~/.name, where programs keep what is theirs */
bool place_is_dot_home(const struct command_request *req, const char *path);

/* place_is_secret_name() - 1 if a variable of that name usually holds a credential */
bool place_is_secret_name(const char *name);

#endif
