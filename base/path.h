/*
 * base/path.h - path algebra, without the disk but for the one function that says so
 *
 * Paths are byte strings. "Clean" means absolute, no empty, "." or ".." parts,
 * no trailing slash (but "/" itself).
 */
#ifndef BASE_PATH_H
#define BASE_PATH_H

struct err;

/* path_is_clean() - 1 if @p is already in clean form */
int path_is_clean(const char *p);

/**
 * path_join() - @rel below @base, cleaned as text
 * @base:	clean absolute path, used when @rel is relative
 * @rel:	any path; absolute stands alone
 *
 * ".." is removed textually, so do not use it where links matter.
 * Return: a clean path, the caller's to free(); NULL when out of memory
 */
char *path_join(const char *base, const char *rel);

/* path_under() - 1 if clean @p is @dir itself or lies below it */
int path_under(const char *p, const char *dir);

/* path_base() - the part behind the last slash; points into @p */
const char *path_base(const char *p);

/* path_parent() - the clean parent of a clean path, the caller's to free() */
char *path_parent(const char *p);

/* path_expand() - "~" and "~/x" become below @home; else joined to @cwd; caller's to free() */
char *path_expand(const char *p, const char *home, const char *cwd);

/**
 * path_resolve() - Follow links as far as the path exists (reads the disk)
 * @p:		clean path, need not exist
 *
 * The longest existing prefix is resolved with realpath(3), the rest appended
 * as written. Return: caller's to free(); NULL on memory or a link loop
 */
char *path_resolve(const char *p);

#endif
