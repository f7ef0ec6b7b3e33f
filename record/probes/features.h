/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the running kernel offers for each event class, by its BTF, not by its version. */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <stdbool.h>

struct btf;

enum level { LEVEL_AVAILABLE, LEVEL_DEGRADED, LEVEL_ABSENT };
extern const char *const level_names[];

struct feature {
	enum level level;
	char why[400];	  /* empty: nothing is missing */
	char remedy[200]; /* empty: there is none */
	char parts[64];	  /* of sched: what switches say of the time on a CPU, words with commas */
};

/* The types of the running kernel, from btf__load_vmlinux_btf(); NULL with ERR_ENV. */
struct btf *features_types(struct err *e);

/* One for each group; of those without name, level is LEVEL_AVAILABLE and why empty. */
void features_find(struct feature ret[GROUP_MAX], const struct btf *btf);

/* True if programs can load from any address of the kernel (since 6.2). */
#define CAST_FUNCTION "bpf_rdonly_cast"
bool feature_casts(const struct btf *btf);

/* True if programs can copy memory of a thread that sleeps (since 5.18). */
bool feature_copies(const struct btf *btf);

/* True if programs can ask for the registers of a thread (since 5.15). */
bool feature_task_regs(const struct btf *btf);

/* True if programs of typed tracepoints can ask for the running thread (since 5.11). */
bool feature_current_task(const struct btf *btf);

/* True if programs get the id of the probe (since 5.15). */
bool feature_cookies(const struct btf *btf);

/* True if the tracepoint is optional: without it the group records less. */
bool feature_optional(const char *tracepoint);
