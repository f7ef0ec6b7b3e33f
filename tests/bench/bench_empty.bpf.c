// SPDX-License-Identifier: GPL-2.0-or-later
/* The floor of every recorder: programs that do nothing, at the hooks that obsrec uses. */
#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>

#define EMPTY(name, section) \
	SEC("?" section)     \
	int name(void *ctx)  \
	{                    \
		return 0;    \
	}

EMPTY(syscalls__enter, "tp_btf/sys_enter")
EMPTY(syscalls__exit, "tp_btf/sys_exit")
EMPTY(sched__switch, "tp_btf/sched_switch")
EMPTY(sched__waking, "tp_btf/sched_waking")
EMPTY(block__start, "tp_btf/block_io_start")
EMPTY(block__issue, "tp_btf/block_rq_issue")
EMPTY(block__complete, "tp_btf/block_rq_complete")
EMPTY(requests__segment, "tp_btf/tcp_probe")
EMPTY(uprobe__call, "uprobe")
EMPTY(uprobe__return, "uretprobe")

char LICENSE[] SEC("license") = "GPL";
