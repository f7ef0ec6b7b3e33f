// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's CPU clock is a timer: no hardware counter is needed, so virtual machines have it. */
#include "sampler.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

u64 sampler_period(u32 rate)
{
	return rate ? 1000000000ull / rate : 0;
}

static int open_clock(u32 rate, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = sampler_period(rate),
		.exclude_idle = 1,
	};

	return syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

bool sampler_allowed(void)
{
	int fd = open_clock(1, 0);

	if (fd < 0)
		return errno != EACCES && errno != EPERM;
	close(fd);
	return true;
}

int sampler_attach(struct sampler *s, struct bpf_program *prog, struct err *e)
{
	int cpu, fd, cpus = libbpf_num_possible_cpus();

	if (!s->rate)
		return 0;
	s->links = calloc(cpus > 0 ? cpus : 1, sizeof(*s->links));
	if (!s->links)
		return err_set(e, ERR_FAIL, "out of memory");
	for (cpu = 0; cpu < cpus; cpu++) {
		fd = open_clock(s->rate, cpu);
		if (fd < 0 && errno == ENODEV)
			continue; /* offline */
		if (fd < 0)
			return err_errno(e, ERR_ENV,
					 "cannot sample CPU %d; leave samples out with "
					 "--sample-rate 0",
					 cpu);
		s->links[s->n] = bpf_program__attach_perf_event(prog, fd);
		if (!s->links[s->n]) {
			close(fd);
			return err_errno(e, ERR_ENV, "cannot attach the BPF program %s",
					 bpf_program__name(prog));
		}
		s->n++;
	}
	return 0;
}

void sampler_detach(struct sampler *s)
{
	while (s->n)
		bpf_link__destroy(s->links[--s->n]); /* closes the clock, too */
	free(s->links);
	s->links = NULL;
}
