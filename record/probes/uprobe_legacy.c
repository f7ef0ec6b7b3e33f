// SPDX-License-Identifier: GPL-2.0-or-later
/* What libbpf does for uprobes with cookies, for kernels without. */
#include "uprobe_legacy.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PMU	       "/sys/bus/event_source/devices/uprobe/"
#define LOAD_64	       (BPF_LD | BPF_DW | BPF_IMM) /* takes two instructions */
#define FDS_PER_ATTACH 2
#define SEMAPHORE_BIT  32 /* of attr.config: PMU "format/ref_ctr_offset", since 4.20 */

/* The number in a file of the uprobe's kind of events, after an optional "config:"; -1: none. */
static int pmu_number(const char *file, const char *format)
{
	FILE *f = fopen(file, "re");
	int v = -1;

	if (f && fscanf(f, format, &v) != 1)
		v = -1;
	if (f)
		fclose(f);
	return v;
}

static int open_event(const struct uprobe_legacy_at *at)
{
	int type = pmu_number(PMU "type", "%d"), bit = 0;
	struct perf_event_attr a = {
		.size = sizeof(a),
		.config1 = (u64)(unsigned long)at->path,
		.config2 = at->offset,
	};

	if (at->back)
		bit = pmu_number(PMU "format/retprobe", "config:%d");
	if (type < 0 || bit < 0) {
		errno = ENOENT;
		return -1;
	}
	a.type = type;
	a.config = (at->back ? 1ull << bit : 0) | at->semaphore << SEMAPHORE_BIT;
	return syscall(SYS_perf_event_open, &a, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
}

/* A copy of the program with every SITE_COOKIE_UNSET replaced; returns its descriptor. */
static int load_copy(const struct bpf_program *prog, u64 cookie)
{
	size_t n = bpf_program__insn_cnt(prog), i, found = 0;
	struct bpf_insn *copy = malloc(n * sizeof(*copy));
	int fd;

	if (!copy)
		return -1;
	memcpy(copy, bpf_program__insns(prog), n * sizeof(*copy));
	for (i = 0; i + 1 < n; i++) {
		if (copy[i].code != LOAD_64)
			continue;
		if (!copy[i].src_reg && (u32)copy[i].imm == (u32)SITE_COOKIE_UNSET &&
		    (u32)copy[i + 1].imm == (u32)(SITE_COOKIE_UNSET >> 32)) {
			copy[i].imm = (u32)cookie;
			copy[i + 1].imm = cookie >> 32;
			found++;
		}
		i++;
	}
	errno = EINVAL;
	fd = found ? bpf_prog_load(BPF_PROG_TYPE_KPROBE, bpf_program__name(prog), "GPL", copy, n,
				   NULL)
		   : -1;
	free(copy);
	return fd;
}

int uprobe_legacy_attach(struct uprobe_legacy *c, const struct bpf_program *prog,
			 const struct uprobe_legacy_at *at, u64 cookie, struct err *e)
{
	int *fds = realloc(c->fds, (c->n + FDS_PER_ATTACH) * sizeof(*fds));
	int event;

	if (!fds)
		return err_set(e, ERR_FAIL, "out of memory for uprobes");
	c->fds = fds;
	fds[c->n] = load_copy(prog, cookie);
	if (fds[c->n] < 0)
		return err_errno(e, ERR_ENV, "the kernel refuses a program for %s", at->path);
	c->n++;
	event = open_event(at);
	if (event < 0)
		return err_errno(e, ERR_ENV, "cannot create a uprobe in %s", at->path);
	fds[c->n++] = event;
	if (ioctl(event, PERF_EVENT_IOC_SET_BPF, fds[c->n - 2]) < 0 ||
	    ioctl(event, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return err_errno(e, ERR_ENV, "cannot attach to %s", at->path);
	return 0;
}

/* Events before their programs. */
void uprobe_legacy_free(struct uprobe_legacy *c)
{
	while (c->n > 0)
		close(c->fds[--c->n]);
	free(c->fds);
	*c = (struct uprobe_legacy){ 0 };
}
