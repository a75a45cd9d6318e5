/*
 * No capabilities, none to get, no way to another user, and both locks shut.
 */
#include <grp.h>
#include <sys/prctl.h>

#include "tests/escape/attack.h"

static unsigned long long status_field(const char *name, int base)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[512];
	unsigned long long value = ~0ULL;

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) == 0)
			value = strtoull(line + strlen(name), NULL, base);
	if (f)
		fclose(f);
	return value;
}

int main(void)
{
	static const char *const sets[] = { "CapInh:", "CapPrm:", "CapEff:", "CapAmb:", "CapBnd:" };

	attack_begin();
	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
		/* Nobody but root can lower it, and where nothing can be gained it bounds nothing. */
		if (bare() && getuid() && !strcmp(sets[i], "CapBnd:"))
			continue;
		errno = EPERM;
		refused(status_field(sets[i], 16) == 0 ? -1 : 0, "hold something in %s", sets[i]);
	}
	works(status_field("NoNewPrivs:", 10) == 1 ? 0 : -1, "have NoNewPrivs");
	works(status_field("Seccomp:", 10) == 2 ? 0 : -1, "have a filter");
	refused(getuid() == 0 ? -1 : setuid(0), "become root");
	refused(setgroups(0, NULL), "drop groups");
	refused(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0), "raise a capability");
	refused(syscall(SYS_open_by_handle_at, AT_FDCWD, (int[8]){ 8, 1 }, O_RDONLY), "open by a handle");
	refused(syscall(SYS_bpf, 0, (char[64]){ 0 }, 64), "load a program into the kernel");
	refused(syscall(SYS_perf_event_open, (char[128]){ 0 }, 0, -1, -1, 0), "count events");
	refused(syscall(SYS_userfaultfd, 0), "handle page faults");
	refused(syscall(SYS_kexec_load, 0, 0, 0, 0), "load a kernel");
	refused(syscall(SYS_init_module, "x", 1, ""), "load a module");
	refused(syscall(SYS_reboot, 0xfee1deadL, 672274793L, 0x01234567L, 0), "restart the machine");
	return attack_end();
}
