// SPDX-License-Identifier: GPL-2.0-or-later
/* The floor of every recorder: programs at both ends of a system call that do nothing. */
#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>

SEC("tp_btf/sys_enter")
int empty_enter(void *ctx)
{
	return 0;
}

SEC("tp_btf/sys_exit")
int empty_exit(void *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
