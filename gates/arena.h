/*
 * gates/arena.h - memory of one verdict, freed as a whole
 *
 * Reading a line makes thousands of small things that all die together. An
 * arena that runs out of memory, or is asked for more than its bound, does not
 * return: it leaves by longjmp(3) to the frame that set @out, which denies.
 * Nothing between that frame and an allocation may hold another resource.
 */
#ifndef GATES_ARENA_H
#define GATES_ARENA_H

#include <setjmp.h>
#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks;	/* newest first */
	char *free;
	size_t room;			/* bytes left at @free */
	size_t total;			/* bytes handed out */
	jmp_buf out;			/* set by the owner before the first allocation */
};

#define ARENA_MAX_BYTES (64u * 1024 * 1024)

/* arena_alloc() - zeroed, aligned for anything; never NULL */
void *arena_alloc(struct arena *a, size_t size);

/* arena_dup() - a copy with a NUL behind it */
char *arena_dup(struct arena *a, const char *s, size_t len);

char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void arena_done(struct arena *a);

/* ARENA_NEW(a, T) - one zeroed T */
#define ARENA_NEW(a, T) ((T *)arena_alloc((a), sizeof(T)))

/* --- bytes that grow inside an arena; a zeroed struct is empty --- */
struct bytes {
	char *s;	/* NUL-terminated once anything was added, else NULL */
	size_t len, cap;
};

void bytes_addc(struct arena *a, struct bytes *t, char c);
void bytes_add(struct arena *a, struct bytes *t, const char *s, size_t len);

#endif
