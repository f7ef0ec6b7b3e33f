// SPDX-License-Identifier: GPL-2.0-or-later
/* What the running kernel offers for each group of events. */
#include "features.h"

#include "record/files/procfs.h"
#include "record/stacks/sampler.h"
#include "tracepoints.h"

#include <bpf/btf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COOKIE_TYPE    "btf_bpf_get_attach_cookie_trace" /* helpers leave their prototypes in BTF */
#define TASK_REGS_TYPE "btf_bpf_task_pt_regs"
#define COPY_TYPE      "btf_bpf_copy_from_user_task"
#define TASK_TYPE      "btf_bpf_get_current_task_btf"
#define UPROBE_TYPE    "/sys/bus/event_source/devices/uprobe/type"

#define TYPES "/sys/kernel/btf/vmlinux"

#define NO_PERF	       1000ull /* no level of perf_event_paranoid */
#define RECLAIM_UNSEEN "direct reclaim is not recorded"
#define LIMITS_UNSEEN  "reclaim for limits of cgroups is not recorded"
#define SOFT_UNSEEN    "reclaim for soft limits of cgroups is not recorded"
#define MEMCG	       "a kernel with CONFIG_MEMCG"

static const char samples_refused[] =
	"CPU samples are not recorded: kernel.perf_event_paranoid forbids them, and to watch new"
	" mappings of code";

struct btf *features_types(struct err *e)
{
	struct btf *btf = btf__load_vmlinux_btf();

	if (btf)
		return btf;
	if (access(TYPES, R_OK) == 0) /* of root alone */
		err_set(e, ERR_ENV,
			"cannot load the types of this kernel (BTF) from " TYPES
			": there is not enough memory, or libbpf is too old for them");
	else
		err_set(e, ERR_ENV,
			"this kernel has no BTF (in " TYPES "): it needs CONFIG_DEBUG_INFO_BTF");
	return NULL;
}

const char *const level_names[] = { "available", "degraded", "absent" };

/* lost: what is not seen without the tracepoint; NULL: the group needs it. */
static const struct need {
	u32 group;
	const char *tracepoint;
	const char * or ; /* an older kernel's name of it */
	const char *lost, *remedy;
} needs[] = {
	{ GROUP_core, "sched_process_fork", NULL, NULL, NULL },
	{ GROUP_core, "sched_process_exec", NULL, NULL, NULL },
	{ GROUP_core, "sched_process_exit", NULL, NULL, NULL },
	{ GROUP_core, "task_rename", NULL, NULL, NULL },
	{ GROUP_core, "cgroup_mkdir", NULL, "cgroups created later have no name",
	  "a kernel with CONFIG_CGROUPS" },
	{ GROUP_core, "cgroup_attach_task", NULL, "moves between cgroups are not recorded",
	  "a kernel with CONFIG_CGROUPS" },
	{ GROUP_syscalls, "sys_enter", NULL, NULL, "a kernel with CONFIG_FTRACE_SYSCALLS" },
	{ GROUP_syscalls, "sys_exit", NULL, NULL, "a kernel with CONFIG_FTRACE_SYSCALLS" },
	{ GROUP_syscalls, "io_uring_submit_req", "io_uring_submit_sqe",
	  "io_uring requests are not recorded", "a kernel with CONFIG_IO_URING" },
	{ GROUP_syscalls, "io_uring_complete", NULL, "io_uring completions are not recorded",
	  "a kernel with CONFIG_IO_URING" },
	{ GROUP_sched, "sched_switch", NULL, NULL, NULL },
	{ GROUP_sched, "sched_waking", NULL, NULL, NULL },
	{ GROUP_sched, "sched_wakeup_new", NULL, NULL, NULL },
	{ GROUP_sched, "sched_migrate_task", NULL, "migrations are not recorded",
	  "a kernel with CONFIG_SMP" },
	{ GROUP_sched, "softirq_entry", NULL, "time in softirqs is not recorded", NULL },
	{ GROUP_sched, "softirq_exit", NULL, "time in softirqs is not recorded", NULL },
	{ GROUP_sched, "irq_handler_entry", NULL, "time in interrupts is not recorded", NULL },
	{ GROUP_sched, "irq_handler_exit", NULL, "time in interrupts is not recorded", NULL },
	{ GROUP_block, "block_rq_issue", NULL, NULL, "a kernel with CONFIG_BLOCK" },
	{ GROUP_block, "block_rq_complete", NULL, NULL, "a kernel with CONFIG_BLOCK" },
	{ GROUP_block, "block_io_start", NULL,
	  "requests start when they enter the device queue, or when issued", "Linux 6.5 or later" },
	{ GROUP_net, "inet_sock_set_state", NULL, NULL, "a kernel with CONFIG_INET" },
	{ GROUP_net, "tcp_retransmit_skb", NULL, "retransmits are not recorded", NULL },
	{ GROUP_requests, "tcp_probe", NULL, "arrival is not recorded",
	  "a kernel with CONFIG_INET" },
	{ GROUP_requests, "sk_data_ready", NULL, "arrival at UDP and Unix sockets is estimated",
	  "Linux 6.4 or later" },
	{ GROUP_requests, "inet_sock_set_state", NULL, NULL, "a kernel with CONFIG_INET" },
	{ GROUP_requests, "sys_exit", NULL, NULL, "a kernel with CONFIG_FTRACE_SYSCALLS" },
	{ GROUP_files, "sys_exit", NULL, NULL, "a kernel with CONFIG_FTRACE_SYSCALLS" },
	{ GROUP_offsets, "sys_exit", NULL, NULL, "a kernel with CONFIG_FTRACE_SYSCALLS" },
	{ GROUP_hops, "net_dev_start_xmit", NULL, "when devices send is not recorded", NULL },
	{ GROUP_hops, "netif_receive_skb", NULL, "when devices receive is not recorded", NULL },
	{ GROUP_hops, "inet_sock_set_state", NULL, NULL, "a kernel with CONFIG_INET" },
	{ GROUP_hops, "sys_exit", NULL, NULL, "a kernel with CONFIG_FTRACE_SYSCALLS" },
	{ GROUP_process, "sched_process_exec", NULL, NULL, NULL },
	{ GROUP_process, "sched_process_exit", NULL, NULL, NULL },
	{ GROUP_pagecache, "mm_filemap_add_to_page_cache", NULL, NULL, NULL },
	{ GROUP_pagecache, "mm_filemap_delete_from_page_cache", NULL, NULL, NULL },
	{ GROUP_pagecache, "mm_filemap_get_pages", NULL,
	  "only misses are recorded: no lookups, no hits", "Linux 6.13 or later" },
	{ GROUP_pagecache, "mm_filemap_map_pages", NULL, "page faults that hit are not recorded",
	  "Linux 6.13 or later" },
	{ GROUP_pagecache, "mm_filemap_fault", NULL, "page faults are not recorded",
	  "Linux 6.13 or later" },
	{ GROUP_pressure, "mm_vmscan_direct_reclaim_begin", NULL, RECLAIM_UNSEEN, NULL },
	{ GROUP_pressure, "mm_vmscan_direct_reclaim_end", NULL, RECLAIM_UNSEEN, NULL },
	{ GROUP_pressure, "mm_vmscan_memcg_reclaim_begin", NULL, LIMITS_UNSEEN, MEMCG },
	{ GROUP_pressure, "mm_vmscan_memcg_reclaim_end", NULL, LIMITS_UNSEEN, MEMCG },
	{ GROUP_pressure, "mm_vmscan_memcg_softlimit_reclaim_begin", NULL, SOFT_UNSEEN, MEMCG },
	{ GROUP_pressure, "mm_vmscan_memcg_softlimit_reclaim_end", NULL, SOFT_UNSEEN, MEMCG },
};

#define NEEDS (sizeof(needs) / sizeof(needs[0]))

/* Tracepoints of interrupts, each of which some machines lack. */
static const char *const interrupts[] = { "local_timer_", "call_function_single_" };

bool feature_optional(const char *tracepoint)
{
	size_t i;

	for (i = 0; i < sizeof(interrupts) / sizeof(interrupts[0]); i++)
		if (strncmp(tracepoint, interrupts[i], strlen(interrupts[i])) == 0)
			return true;
	for (i = 0; i < NEEDS; i++)
		if (needs[i].lost && (strcmp(tracepoint, needs[i].tracepoint) == 0 ||
				      (needs[i].or &&strcmp(tracepoint, needs[i].or) == 0)))
			return true;
	return false;
}

static void lacks(struct feature *f, enum level level, const char *why, const char *remedy)
{
	size_t n = strlen(f->why), m = strlen(f->remedy);

	f->level = level > f->level ? level : f->level;
	snprintf(f->why + n, sizeof(f->why) - n, "%s%s", n ? "; " : "", why);
	if (remedy && !strstr(f->remedy, remedy))
		snprintf(f->remedy + m, sizeof(f->remedy) - m, "%s%s", m ? "; " : "", remedy);
}

bool feature_cookies(const struct btf *btf)
{
	return tracepoint_typedef(btf, COOKIE_TYPE);
}

bool feature_casts(const struct btf *btf)
{
	return btf__find_by_name_kind(btf, CAST_FUNCTION, BTF_KIND_FUNC) > 0;
}

bool feature_current_task(const struct btf *btf)
{
	return tracepoint_typedef(btf, TASK_TYPE);
}

bool feature_copies(const struct btf *btf)
{
	return tracepoint_typedef(btf, COPY_TYPE);
}

bool feature_task_regs(const struct btf *btf)
{
	return tracepoint_typedef(btf, TASK_REGS_TYPE);
}

/* What the switch program reads, by kernel: parts of the time on a CPU. */
static const struct part {
	const char *name, *type, *member, *why, *remedy;
} parts[] = {
	{ "stolen", "rq", "prev_steal_time_rq", "stolen time is not recorded per switch",
	  "a kernel with CONFIG_PARAVIRT_TIME_ACCOUNTING" },
	{ "throttled", "task_struct", "throttled",
	  "which switches a CPU quota caused is not recorded", "Linux 6.18 or later" },
};

#define PARTS (sizeof(parts) / sizeof(parts[0]))

static void find_parts(struct feature *f, const struct btf *btf)
{
	size_t i, size = sizeof(f->parts), n = snprintf(f->parts, size, "away");
	char *text = f->parts;

	if (tracepoint_args(btf, "softirq_entry") >= 0)
		n += snprintf(text + n, size - n, ",softirq");
	if (tracepoint_args(btf, "irq_handler_entry") >= 0)
		n += snprintf(text + n, size - n, ",irq");
	for (i = 0; i < PARTS; i++)
		if (tracepoint_member(btf, parts[i].type, parts[i].member) >= 0)
			n += snprintf(text + n, size - n, ",%s", parts[i].name);
		else
			lacks(f, LEVEL_AVAILABLE, parts[i].why, parts[i].remedy);
}

static void check_uprobes(struct feature *f)
{
	if (procfs_number(UPROBE_TYPE, 0) == 0)
		lacks(f, LEVEL_ABSENT, "the kernel has no uprobes",
		      "a kernel with CONFIG_UPROBE_EVENTS");
}

static void check_stacks(struct feature *f)
{
	if (procfs_number("/proc/sys/kernel/perf_event_paranoid", NO_PERF) == NO_PERF)
		lacks(f, LEVEL_ABSENT, "the kernel has no perf events",
		      "a kernel with CONFIG_PERF_EVENTS");
	else if (!sampler_allowed())
		lacks(f, LEVEL_DEGRADED, samples_refused,
		      "CAP_SYS_ADMIN, or sysctl kernel.perf_event_paranoid=2");
}

void features_find(struct feature ret[GROUP_MAX], const struct btf *btf)
{
	char why[200];
	size_t i;

	memset(ret, 0, GROUP_MAX * sizeof(*ret));
	for (i = 0; i < NEEDS; i++) {
		const struct need *n = &needs[i];

		if (tracepoint_args(btf, n->tracepoint) >= 0 ||
		    (n->or &&tracepoint_args(btf, n->or) >= 0))
			continue;
		snprintf(why, sizeof(why), "%s%s%s", n->lost ? n->lost : "no tracepoint ",
			 n->lost ? ": no tracepoint " : "", n->tracepoint);
		lacks(&ret[n->group], n->lost ? LEVEL_DEGRADED : LEVEL_ABSENT, why, n->remedy);
	}
	find_parts(&ret[GROUP_sched], btf);
	check_uprobes(&ret[GROUP_uprobe]);
	check_stacks(&ret[GROUP_cpu]);
}
