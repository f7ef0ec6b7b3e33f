// SPDX-License-Identifier: GPL-2.0-or-later
/* What the BPF programs have to know before they are loaded. */
#include "probe_config.h"

#include "features.h"
#include "format/shapes.h"
#include "record/files/fdinfo.h"
#include "record/pump/rings.h"
#include "record/stacks/stacks.h"
#include "shape_table.h"
#include "tracepoints.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "bpf/obsrec.skel.h"

#define SCRATCHES   3		/* for each CPU: bpf/stack.bpf.h */
#define UNUSED_RING (64u << 10) /* a multiple of any page */

/*
 * True if the site's function has this name, with its file before it, as for -u, or without.
 * That of a C++ function may lack what is before ::, that of a library's symbol its version.
 */
static bool is_named(const struct site *s, const char *name)
{
	const char *file = strrchr(s->binary->shown, '/'), *function = site_function(s);
	const char *slash = strrchr(name, '/');
	size_t n, m;

	file = file ? file + 1 : s->binary->shown;
	n = strlen(file);
	slash = slash ? slash + 1 : name;
	if (strncmp(slash, file, n) == 0 && slash[n] == ':')
		name = slash + n + 1;
	n = strchr(name, '@') ? strlen(function) : strcspn(function, "@");
	m = strlen(name);
	return m && m <= n && memcmp(function + n - m, name, m) == 0 &&
	       (m == n || function[n - m - 1] == ':');
}

/* Thresholds of --trigger. Those of functions name sites. */
static void set_triggers(struct obsrec_bpf__rodata *ro, const struct options *o,
			 const struct sites *sites)
{
	const struct trigger *t;
	int i, k, nr;

	for (i = 0; i < o->n_triggers; i++) {
		t = &o->triggers[i];
		if (t->kind == TRIGGER_RUNQ)
			ro->slow_runq = t->limit;
		if (t->kind == TRIGGER_SYSCALL && strcmp(t->name, "any") == 0)
			ro->slow_any = t->limit;
		nr = t->kind == TRIGGER_SYSCALL ? shape_table_number(t->name) : -1;
		if (nr >= 0)
			ro->slow_us[nr] = t->limit / 1000 + 1;
		ro->slow_calls |= t->kind == TRIGGER_SYSCALL;
		ro->slow_functions |= t->kind == TRIGGER_CALL;
		for (k = 0; t->kind == TRIGGER_CALL && k < sites->n; k++)
			if (is_named(&sites->list[k], t->name))
				ro->slow_site_us[k] = t->limit / 1000 + 1;
	}
}

/*
 * libbpf searches a weak function that the kernel lacks in the BTF of modules, which takes
 * CAP_SYS_ADMIN, and before 1.4 it takes a refusal for a failed load. It searches once per object:
 * here, where the result does not matter.
 */
static void search_modules(struct bpf_program *any)
{
	bpf_program__set_attach_target(any, 0, CAST_FUNCTION);
}

/*
 * Maps that take memory as they grow do so safely from any context since 6.1; older kernels
 * warn of them, and can lock up. There all of it is taken at once.
 */
static void avoid_late_memory(struct obsrec_bpf *skel, const struct btf *btf)
{
	struct bpf_map *map;

	if (btf__find_by_name_kind(btf, "bpf_mem_alloc", BTF_KIND_STRUCT) > 0)
		return;
	bpf_object__for_each_map(map, skel->obj)
		bpf_map__set_map_flags(map, bpf_map__map_flags(map) & ~(u32)BPF_F_NO_PREALLOC);
}

void probe_config(struct obsrec_bpf *skel, const struct options *o, const struct targets *t,
		  const struct sites *sites, const struct btf *btf)
{
	struct obsrec_bpf__rodata *ro = skel->rodata;
	u64 key = 0;
	u32 nr;

	/* without randomness, addresses of objects stay as they are: still right */
	if (getrandom(&key, sizeof(key), GRND_NONBLOCK) < 0)
		key = 0;
	avoid_late_memory(skel, btf);
	ro->request_key = key;
	ro->self_tgid = getpid();
	ro->filter_all = o->all;
	ro->follow = o->follow;
	ro->ring_size = o->ring;
	ro->asked = o->groups;
	ro->hide = o->hide;
	ro->stack_threshold = o->groups & 1u << GROUP_cpu ? o->stack_threshold : 0;
	ro->stack_rations = o->stack_rations;
	ro->hot_above = options_hot(o) ? o->hot : 0;
	ro->page_size = sysconf(_SC_PAGESIZE);
	ro->switch_has_state = tracepoint_args(btf, "sched_switch") >= 4;
	ro->issue_has_queue = tracepoint_args(btf, "block_rq_issue") >= 2;
	ro->complete_has_status = tracepoint_status(btf);
	ro->uring_submit_form = tracepoint_uring_submit(btf);
	ro->uring_complete_form = tracepoint_uring_complete(btf);
	if (t->cgroups.cpu) {
		ro->cpu_is_v1 = !t->cgroups.cpu->version2;
		ro->cpu_hierarchy = t->cgroups.cpu->hierarchy;
	}
	ro->by_cgroup = t->n_groups > 0;
	if (t->n_groups)
		ro->cgroup_hierarchy = t->groups[0].mount->hierarchy;
	ro->by_comm = o->comm != NULL;
	ro->by_task = o->comm || o->n_pids;
	memcpy((void *)ro->comm_matches, t->comm.matches, sizeof(t->comm.matches));
	ro->comm_loops = t->comm.loops;
	ro->comm_accepts = t->comm.accepts;
	set_triggers(ro, o, sites);
	shape_table_fill(ro->shapes, sizeof(ro->shapes));
	for (nr = 0; o->some_syscalls && nr < sizeof(ro->shapes); nr++)
		if (!syscall_set_has(o->syscalls, nr))
			ro->shapes[nr] |= SHAPE_SKIP;
	path_table_fill(ro->paths, sizeof(ro->paths));
	io_table_fill(ro->ios, sizeof(ro->ios));
	ro->possible_cpus = libbpf_num_possible_cpus();
	ro->socks_followed = !o->all || o->groups & 1u << GROUP_requests;
	ro->heads = options_names(o);
	ro->has_casts = feature_casts(btf);
	if (!ro->has_casts)
		search_modules(skel->progs.uprobe__call);
	move_table_fill(ro->moves, sizeof(ro->moves));
	ro->nr_futex = shape_table_number("futex");
	ro->nr_waitv = shape_table_number("futex_waitv");
}

int probe_config_sizes(struct obsrec_bpf *skel, const struct options *o, const struct sites *sites,
		       u32 n_cpus, u32 n_threads)
{
	bool stacks = o->groups & 1u << GROUP_cpu;
	bool slept = stacks && skel->rodata->stack_threshold;
	const struct {
		struct bpf_map *map;
		u32 n;
	} sizes[] = {
		{ skel->maps.counters, n_cpus },
		{ skel->maps.threads, n_threads },
		{ skel->maps.depths, n_cpus },
		{ skel->maps.queues, n_cpus },
		{ skel->maps.spells, n_cpus },
		{ skel->maps.runnable, skel->rodata->slow_runq ? n_threads : 1 },
		{ skel->maps.raw_stacks, stacks ? stacks_ring_size(n_cpus) : UNUSED_RING },
		{ skel->maps.slept, slept ? n_threads / 2 + 1 : 1 },
		{ skel->maps.scratches, stacks ? n_cpus * SCRATCHES : 1 },
		{ skel->maps.kept_stacks, slept ? STACKS_KEPT : 1 },
		{ skel->maps.hot_calls, options_hot(o) ? n_cpus : 1 },
		{ skel->maps.hot_slots, options_hot(o) ? HOT_SLOTS : 1 },
		{ skel->maps.usdt_places, sites->n_places ? sites->n_places : 1 },
	};
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && ret == 0; i++)
		ret = bpf_map__set_max_entries(sizes[i].map, sizes[i].n);
	return ret;
}

u64 probe_config_memory(struct bpf_object *object)
{
	const struct bpf_map *map;
	u64 ret = 0;

	bpf_object__for_each_map(map, object)
	{
		if (bpf_map__fd(map) >= 0 && strcmp(bpf_map__name(map), RINGS_MAP) != 0)
			ret += fdinfo_map_bytes(bpf_map__fd(map));
	}
	return ret;
}

int probe_config_cgroups(struct obsrec_bpf *skel, const struct targets *t, struct err *e)
{
	int i, fd = bpf_map__fd(skel->maps.target_cgroups);
	u8 one = 1;
	u64 id;

	for (i = 0; i < t->n_groups; i++) {
		id = cgroups_id(t->groups[i].dir);
		if (bpf_map_update_elem(fd, &id, &one, BPF_ANY) < 0)
			return err_errno(e, ERR_ENV, "cannot pass %.200s to the BPF programs",
					 t->groups[i].dir);
	}
	return 0;
}

/* A call's length is known when it returns: one site at least has to record that. */
static int check_call_trigger(const struct sites *sites, const char *name, struct err *e)
{
	const char *why = NULL;
	int k, named = 0;

	for (k = 0; k < sites->n; k++) {
		if (!is_named(&sites->list[k], name))
			continue;
		if (!sites->list[k].no_return)
			return 0;
		why = sites->list[k].no_return;
		named++;
	}
	if (!named)
		return err_set(e, ERR_FAIL,
			       "--trigger names the function %.60s, which no -u or -U records%s",
			       name, sites->n ? "" : ": there is none");
	return err_set(e, ERR_FAIL,
		       "--trigger needs to see %.60s return, and returns are not recorded: %s",
		       name, why);
}

int probe_config_check(const struct options *o, const struct sites *sites, struct err *e)
{
	int i, ret = 0;

	for (i = 0; i < o->n_triggers && ret == 0; i++)
		if (o->triggers[i].kind == TRIGGER_CALL)
			ret = check_call_trigger(sites, o->triggers[i].name, e);
	return ret;
}
