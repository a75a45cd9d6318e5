/*
 * Switches of the kernel below /proc and /sys.
 */
#include "tests/escape/attack.h"

int main(void)
{
	static const char *const switches[] = {
		"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/kernel/modprobe",
		"/proc/sys/vm/drop_caches", "/proc/sys/net/ipv4/ip_forward", "/proc/sys/fs/binfmt_misc/register",
		"/proc/sysrq-trigger", "/proc/1/oom_score_adj", "/proc/self/loginuid", "/proc/self/uid_map",
		"/proc/self/gid_map", "/proc/self/setgroups", "/sys/kernel/uevent_helper",
		"/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/release_agent",
	};

	attack_begin();
	for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++) {
		int fd = open(switches[i], O_WRONLY);

		/* Opening may be let be; changing may not. */
		refused(fd < 0 ? -1 : write(fd, "agate-escape", 12), "set %s", switches[i]);
	}
	refused(sethostname("agate-escape", 12), "set the name of the host");
	return attack_end();
}
