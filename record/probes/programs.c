// SPDX-License-Identifier: GPL-2.0-or-later
/* Which BPF programs a recording needs, by their names and sections. */
#include "programs.h"

#include "features.h"
#include "tracepoints.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>

#define RAW_SUFFIX  "__raw"    /* for kernels where tp_btf does not load */
#define COUNT_MARK  "__count"  /* for kernels that show their preemption counter */
#define IRQ_MARK    "__irq"    /* for those that do not: bpf/context.bpf.h */
#define ITERATOR    "iter"     /* a section: not attached, read through a descriptor */
#define INSERT_MARK "__insert" /* for those without block_io_start: bpf/insert.bpf.c */

/* Group of a program by the text before "__" in its name; -1: not a program of ours. */
static int group_of(const char *name)
{
	int g;

	for (g = 0; g < GROUP_MAX; g++)
		if (groups[g].name && strncmp(name, groups[g].name, strlen(groups[g].name)) == 0 &&
		    strncmp(name + strlen(groups[g].name), "__", 2) == 0)
			return g;
	return -1;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

/* Address of a symbol by a line of /proc/kallsyms; others see zeros there than who may see them. */
static bool symbol(const char *line, const char *name, u64 *ret)
{
	char type, found[64];
	unsigned long long address;

	if (!strstr(line, name) || sscanf(line, "%llx %c %63s", &address, &type, found) != 3 ||
	    strcmp(found, name) != 0 || !address)
		return false;
	*ret = address;
	return true;
}

/* Looks for the kernel's preemption counter and where each CPU's own variables begin. */
static void find_preempt_count(struct programs *ret, const struct btf *btf)
{
	FILE *f;
	char line[256];
	u64 hot = 0;
	int member;

	ret->by_count = true;
#if defined(__aarch64__)
	(void)btf;
	return; /* it is a field of the thread */
#endif
	f = fopen("/proc/kallsyms", "re");
	while (f && fgets(line, sizeof(line), f)) {
		symbol(line, "__preempt_count", &ret->preempt_count_at);
		symbol(line, "__per_cpu_offset", &ret->per_cpu_offsets_at);
		symbol(line, "pcpu_hot", &hot);
	}
	if (f)
		fclose(f);
	/* from 6.2 to 6.14 it was a member of that */
	member = tracepoint_member(btf, "pcpu_hot", "preempt_count");
	if (!ret->preempt_count_at && hot && member >= 0)
		ret->preempt_count_at = hot + member;
	ret->by_count = ret->preempt_count_at && ret->per_cpu_offsets_at;
}

/* Whether this kernel takes the flavour in a program's name, if it has one. */
static bool flavour_fits(const struct programs *list, const char *name, const char *tracepoint)
{
	if (strstr(name, list->by_count ? IRQ_MARK : COUNT_MARK))
		return false;
	if (strcmp(tracepoint, "block_io_start") == 0)
		return !list->no_start;
	return list->no_start || !strstr(name, INSERT_MARK);
}

/* Calls are seen by the same programs, whether they, their paths, bytes or all are recorded. */
static bool program_wanted(const struct options *o, const char *name, int group)
{
	if (o->groups & 1u << group)
		return true;
	if (strncmp(name, "syscalls__exit", 14) == 0)
		return o->groups & (1u << GROUP_files | 1u << GROUP_requests | 1u << GROUP_offsets);
	if (strncmp(name, "net__state", 10) == 0)
		return o->groups & 1u << GROUP_requests;
	return o->groups & 1u << GROUP_files && strncmp(name, "syscalls__enter", 15) == 0;
}

/* Adds the program if it is one of those that are needed. */
static int choose(struct programs *list, struct bpf_program *prog, const struct options *o,
		  const struct btf *btf, bool raw, struct err *e)
{
	const char *name = bpf_program__name(prog), *section = bpf_program__section_name(prog);
	const char *tracepoint = strchr(section, '/');
	int group = group_of(name);
	enum hook hook = HOOK_TP_BTF;

	if (group < 0 || !program_wanted(o, name, group))
		return 0;
	if (strncmp(section, ITERATOR, strlen(ITERATOR)) == 0) {
		list->sleepers = o->stack_threshold && feature_copies(btf) ? prog : NULL;
		if (list->sleepers)
			bpf_program__set_autoload(prog, true);
		return 0;
	}
	if (tracepoint) {
		raw |= group == GROUP_syscalls && list->raw_calls;
		hook = raw ? HOOK_RAW_TP : HOOK_TP_BTF;
		if (ends_with(name, RAW_SUFFIX) != raw || !flavour_fits(list, name, tracepoint + 1))
			return 0;
		if (tracepoint_args(btf, tracepoint + 1) < 0) {
			if (feature_optional(tracepoint + 1))
				return 0;
			return err_set(
				e, ERR_ENV,
				"this kernel has no tracepoint %s, which the group %.*s needs; "
				"leave the group out with -e",
				tracepoint + 1, (int)strcspn(name, "_"), name);
		}
	} else {
		hook = strcmp(section, "perf_event") == 0  ? HOOK_PERF_EVENT
		       : strcmp(section, "uretprobe") == 0 ? HOOK_URETPROBE
							   : HOOK_UPROBE;
	}
	if (list->n == PROGRAMS_MAX)
		return err_set(e, ERR_FAIL, "too many BPF programs");
	bpf_program__set_autoload(prog, true);
	list->list[list->n++] = (struct program){ .prog = prog, .group = group, .hook = hook };
	return 0;
}

int programs_sleepers(struct programs *list)
{
	if (list->sleepers && !list->sleepers_link)
		list->sleepers_link = bpf_program__attach_iter(list->sleepers, NULL);
	return list->sleepers_link ? bpf_iter_create(bpf_link__fd(list->sleepers_link)) : -1;
}

void programs_print(const struct programs *list, FILE *f)
{
	static const char *const hooks[] = { "",       "tp_btf",    "raw_tp",
					     "uprobe", "uretprobe", "perf_event" };
	const char *section, *at;
	int i;

	for (i = 0; i < list->n; i++) {
		section = bpf_program__section_name(list->list[i].prog);
		at = strchr(section, '/');
		fprintf(f, "%-10s %-10s %s\n", groups[list->list[i].group].name,
			hooks[list->list[i].hook], at ? at + 1 : "every function below");
	}
}

void programs_detach(struct programs *list, bool all)
{
	static const char needed[] = "sched__switch";
	bool keep = !all && list->sleepers_link;
	int i;

	for (i = 0; i < list->n; i++) {
		if (keep &&
		    strncmp(bpf_program__name(list->list[i].prog), needed, strlen(needed)) == 0)
			continue;
		bpf_link__destroy(list->list[i].link);
		list->list[i].link = NULL;
	}
}

int programs_choose(struct programs *ret, struct bpf_object *object, const struct options *o,
		    const struct btf *btf, bool raw, struct err *e)
{
	struct bpf_program *prog = NULL;
	int r = 0;

	ret->n = 0;
	ret->sleepers = NULL;
	find_preempt_count(ret, btf);
	ret->by_count &= !o->by_irq;
	ret->raw_calls = o->raw_calls || !feature_current_task(btf);
	ret->no_start = o->no_start || tracepoint_args(btf, "block_io_start") < 0;
	while (r == 0 && (prog = bpf_object__next_program(object, prog)))
		r = choose(ret, prog, o, btf, raw, e);
	return r;
}

bool programs_raw(const struct programs *list)
{
	int i;

	for (i = 0; i < list->n; i++)
		if (list->list[i].hook == HOOK_RAW_TP)
			return true;
	return false;
}
