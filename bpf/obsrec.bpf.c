// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All programs as one object. A program is called <group>__<what>; the second
 * flavour of one, with __raw at its end, is for kernels where tp_btf does not load.
 * Sections begin with ?, so nothing is loaded that obsrec did not choose.
 */
#include "common.bpf.h"

#include "cgroup.bpf.h"
#include "comm.bpf.h"
#include "context.bpf.h"
#include "stack.bpf.h"
#include "trigger.bpf.h"

#include "hot.bpf.h"

#include "block.bpf.c"
#include "core.bpf.c"
#include "cpu.bpf.c"
#include "hops.bpf.c"
#include "net.bpf.c"
#include "pagecache.bpf.c"
#include "pressure.bpf.c"
#include "process.bpf.c"
#include "requests.bpf.c"
#include "sched.bpf.c"
#include "sleepers.bpf.c"
#include "syscalls.bpf.c"
#include "uprobe.bpf.c"

char LICENSE[] SEC("license") = "GPL";
