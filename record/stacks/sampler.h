/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clocks that sample the CPUs: one software event for each. */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <stdbool.h>

struct bpf_link;
struct bpf_program;

struct sampler {
	u32 rate; /* per second and CPU; 0: none */
	struct bpf_link **links;
	int n;
};

/* ns between two samples of a CPU. */
u64 sampler_period(u32 rate);

/* False if the kernel refuses them, by kernel.perf_event_paranoid and our capabilities. */
bool sampler_allowed(void);

/* Starts a clock on each CPU that is online, with prog as its handler. */
int sampler_attach(struct sampler *s, struct bpf_program *prog, struct err *e);

void sampler_detach(struct sampler *s);
