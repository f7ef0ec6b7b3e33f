/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the BPF programs have to know before they are loaded: options, targets, this kernel. */
#pragma once

#include "record/functions/sites.h"
#include "record/host/targets.h"

struct bpf_object;
struct btf;
struct obsrec_bpf;

/* Fills the constants of programs that are open, but not loaded. */
void probe_config(struct obsrec_bpf *skel, const struct options *o, const struct targets *t,
		  const struct sites *sites, const struct btf *btf);

/* Triggers on functions must name probed ones. */
int probe_config_check(const struct options *o, const struct sites *sites, struct err *e);

/* Sizes the maps, before loading; < 0: errno. */
int probe_config_sizes(struct obsrec_bpf *skel, const struct options *o, const struct sites *sites,
		       u32 n_cpus, u32 n_threads);

/* What the maps of loaded programs take but for the rings, as the kernel charges it, in bytes. */
u64 probe_config_memory(struct bpf_object *object);

/* Hands the targets' cgroups to loaded programs. */
int probe_config_cgroups(struct obsrec_bpf *skel, const struct targets *t, struct err *e);
