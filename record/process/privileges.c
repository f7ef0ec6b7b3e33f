// SPDX-License-Identifier: GPL-2.0-or-later
/* Rights that recording needs, and giving them back. */
#include "privileges.h"

#include <bpf/bpf.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

#define BIT(cap)   (1ull << (cap))
#define STACK_NEED (256 << 10) /* of a thread; the limit is the size that threads get */

struct caps {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[2];
};

static u64 effective(void)
{
	struct caps c = { { _LINUX_CAPABILITY_VERSION_3, 0 }, { { 0 } } };

	if (syscall(SYS_capget, &c.header, c.data) < 0)
		return 0;
	return c.data[0].effective | (u64)c.data[1].effective << 32;
}

int privileges_check(const struct options *o, struct err *e)
{
	u64 caps = effective();

	if (caps & BIT(CAP_SYS_ADMIN))
		return 0;
	if (o->groups & 1u << GROUP_uprobe)
		return err_set(e, ERR_ENV,
			       "no rights: recording functions needs the capability "
			       "CAP_SYS_ADMIN; run obsrec as root, for example with sudo");
	if (caps & BIT(CAP_BPF) && caps & BIT(CAP_PERFMON))
		return 0;
	return err_set(e, ERR_ENV,
		       "no rights: recording needs the capabilities CAP_BPF and "
		       "CAP_PERFMON; run obsrec as root, for example with sudo");
}

void privileges_missing(char *text, size_t size)
{
	u64 caps = effective();

	text[0] = '\0';
	if (!(caps & BIT(CAP_SYS_PTRACE)))
		snprintf(
			text, size,
			"without CAP_SYS_PTRACE, fds that processes of other users opened before are not known");
}

/* Kernels before 5.19 require CAP_BPF to query what a program has missed. */
static u64 kept(const struct options *o)
{
	u64 keep = BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH);
	unsigned int major = 0, minor = 0;
	struct utsname u;

	if (o->command)
		keep |= BIT(CAP_KILL);
	if (o->groups & 1u << GROUP_cpu) /* files of mappings, deleted ones too */
		keep |= BIT(CAP_CHECKPOINT_RESTORE);
	if (options_flight(o)) /* makes more files later */
		keep |= BIT(CAP_DAC_OVERRIDE) | BIT(CAP_CHOWN);
	if (uname(&u) < 0 || sscanf(u.release, "%u.%u", &major, &minor) != 2 || major < 5 ||
	    (major == 5 && minor < 19))
		keep |= BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYS_ADMIN);
	return keep;
}

int privileges_drop(const struct options *o, struct err *e)
{
	struct caps c = { { _LINUX_CAPABILITY_VERSION_3, 0 }, { { 0 } } };
	u64 keep = kept(o) & effective();
	int cap;

	/* without the right to do so there is nothing that an exec could bring back */
	for (cap = 0; cap < 64; cap++)
		if (!(keep & BIT(cap)))
			prctl(PR_CAPBSET_DROP, cap);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	c.data[0].effective = c.data[0].permitted = keep;
	c.data[1].effective = c.data[1].permitted = keep >> 32;
	if (syscall(SYS_capset, &c.header, c.data) < 0)
		return err_errno(e, ERR_FAIL, "cannot drop capabilities");
	return 0;
}

static int stack_suffices(struct err *e)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_STACK, &l) < 0 || l.rlim_cur >= STACK_NEED)
		return 0;
	return err_set(e, ERR_ENV,
		       "the limit of the stack is %llu KiB, %d are needed; raise it with ulimit -s",
		       (unsigned long long)l.rlim_cur >> 10, STACK_NEED >> 10);
}

int privileges_limits(u32 files, struct err *e)
{
	struct rlimit l;

	if (stack_suffices(e) < 0)
		return ERR_ENV;
	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return 0;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
	if (l.rlim_max >= files)
		return 0;
	return err_set(e, ERR_ENV,
		       "the limit of open files is %llu, %u are needed; raise it with ulimit -n",
		       (unsigned long long)l.rlim_max, files);
}
