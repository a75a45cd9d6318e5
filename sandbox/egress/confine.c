#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "sandbox/egress/confine.h"

/* A terminal's Ctrl-C is for the command; the helper ends when its supervisor does. */
static const int ignored[] = { SIGPIPE, SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU };

static int close_others(int keep_fd)
{
	if (keep_fd > 3 && close_range(3, (unsigned int)keep_fd - 1, 0) < 0)
		return -1;
	return close_range((unsigned int)(keep_fd < 3 ? 3 : keep_fd + 1), ~0U, 0);
}

static int set_limits(void)
{
	const struct rlimit no_core = { 0, 0 };
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return -1;
	files.rlim_cur = files.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &files) < 0 || setrlimit(RLIMIT_CORE, &no_core) < 0 ? -1 : 0;
}

int confine_start(int keep_fd, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		signal(ignored[i], SIG_IGN);
	if (close_others(keep_fd) < 0)
		return err_set(err, ERR_SYS, errno, "egress: cannot close inherited descriptors");
	if (set_limits() < 0)
		return err_set(err, ERR_SYS, errno, "egress: cannot set limits");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(err, ERR_SYS, errno, "egress: cannot confine this process");
	return 0;
}

int confine_serve(struct err *err)
{
	if (chdir("/") < 0)
		return err_set(err, ERR_SYS, errno, "egress: cannot leave the current directory");
	return 0;
}
