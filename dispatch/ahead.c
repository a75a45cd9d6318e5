#include <signal.h>

#include "base/own.h"
#include "db/db.h"
#include "dispatch/ahead.h"
#include "sandbox/policy.h"

#define STACK_SIZE (1024u * 1024)

static void *open_db(void *cookie)
{
	struct ahead *a = cookie;

	if (db_open(a->state_dir, &a->db, &a->err) < 0)
		a->db = NULL;
	return NULL;
}

static void *look(void *cookie)
{
	(void)cookie;
	policy_look_ahead();
	return NULL;
}

void ahead_start(struct ahead *a, const char *state_dir, int looks)
{
	pthread_attr_t attr;
	sigset_t all, old;

	*a = (struct ahead){ .state_dir = state_dir };
	if (pthread_attr_init(&attr))
		return;
	sigfillset(&all);	/* signals are the first thread's business */
	if (!pthread_attr_setstacksize(&attr, STACK_SIZE) && !pthread_sigmask(SIG_SETMASK, &all, &old)) {
		a->is_opening = !pthread_create(&a->opener, &attr, open_db, a);
		a->is_looking = looks && policy_reads_more() && !pthread_create(&a->looker, &attr, look, NULL);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	pthread_attr_destroy(&attr);
}

static void end_opening(struct ahead *a)
{
	if (a->is_opening)
		pthread_join(a->opener, NULL);
	a->is_opening = 0;
}

int ahead_db(struct ahead *a, struct db **ret, struct err *err)
{
	if (!a->is_opening)
		return db_open(a->state_dir, ret, err);
	end_opening(a);
	if (!a->db && err)
		*err = a->err;
	*ret = TAKE(a->db);
	return *ret ? 0 : -1;
}

void ahead_end(struct ahead *a)
{
	end_opening(a);
	db_close(TAKE(a->db));
	if (a->is_looking)
		pthread_join(a->looker, NULL);
	a->is_looking = 0;
}
