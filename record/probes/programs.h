/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which BPF programs a recording needs: <group>__<what>, in the flavour that the kernel takes. */
#pragma once

#include "record/options/options.h"

struct bpf_link;
struct bpf_object;
struct bpf_program;
struct btf;

#define PROGRAMS_MAX 64

/* How a program is attached: the field hook of event program. */
enum hook { HOOK_TP_BTF = 1, HOOK_RAW_TP, HOOK_UPROBE, HOOK_URETPROBE, HOOK_PERF_EVENT };

struct programs {
	struct program {
		struct bpf_program *prog;
		struct bpf_link *link; /* NULL: uprobes, whose links belong to sites */
		u32 group;
		enum hook hook;
		u64 missed, newly; /* see probes_look_missed */
	} list[PROGRAMS_MAX];
	int n;
	struct bpf_program *sleepers;	/* read through a descriptor; NULL: not asked for */
	struct bpf_link *sleepers_link; /* NULL: not asked for yet */
	bool no_start;			/* requests start where they are inserted or issued */
	bool raw_calls; /* programs of group syscalls take raw_tp: they ask for the thread */
	bool by_count;	/* wake-ups tell their context by the preemption counter */
	u64 preempt_count_at, per_cpu_offsets_at; /* where it is (bpf/context.bpf.h) */
};

/* Sets those to load that the groups of o need; raw: raw_tp instead of tp_btf. */
int programs_choose(struct programs *ret, struct bpf_object *object, const struct options *o,
		    const struct btf *btf, bool raw, struct err *e);

/* A line for each. */
void programs_print(const struct programs *list, FILE *f);

/* A descriptor of the program of sleepers; -1: there is none. */
int programs_sleepers(struct programs *list);

/* Detaches them, but uprobes. Not all: the one that sleepers need stays attached, too. */
void programs_detach(struct programs *list, bool all);

/* True if one of them takes raw_tp. */
bool programs_raw(const struct programs *list);
