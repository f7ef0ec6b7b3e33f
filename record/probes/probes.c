// SPDX-License-Identifier: GPL-2.0-or-later
/* The BPF programs of a recording. */
#include "probes.h"

#include "probe_config.h"
#include "record/files/procfs.h"
#include "record/process/privileges.h"
#include "record/pump/rings.h"
#include "record/stacks/sampler.h"
#include "tracepoints.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/obsrec.skel.h"

#define PID_MAX_LIMIT (4u << 20) /* the kernel's own (include/linux/threads.h) */
#define OPEN_FILES    96	 /* maps, streams, files of our own */
#define GRACE	      20000	 /* us: longer than any of our programs runs */

struct probes {
	struct obsrec_bpf *skel;
	struct programs programs;
	struct rings rings;
	int n_rings;
	struct cpu_counts *counts;
	u64 *threads;
	u32 n_threads;
	size_t counts_size, threads_size;
	struct sites sites;
	struct feature features[GROUP_MAX];
	int stats_fd;
	struct sampler sampler;
	u64 looked_missed; /* when probes_look_missed was last called */
};

/*
 * libbpf's messages: its callback takes no argument, so the last one that says why
 * something failed has to wait here for the error that follows.
 */
static __thread char libbpf_says[300];
static __thread bool libbpf_aloud;

static int collect(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (libbpf_aloud)
		return vfprintf(stderr, fmt, ap);
	if (level == LIBBPF_WARN) {
		vsnprintf(libbpf_says, sizeof(libbpf_says), fmt, ap);
		libbpf_says[strcspn(libbpf_says, "\n")] = '\0';
	}
	return 0;
}

static int load(struct probes *p, const struct options *o, const struct targets *t,
		const struct btf *btf, bool raw, struct err *e)
{
	p->skel = obsrec_bpf__open();
	if (!p->skel)
		return err_errno(e, ERR_ENV, "cannot open the BPF programs");
	if (programs_choose(&p->programs, p->skel->obj, o, btf, raw, e) < 0)
		return ERR_FAIL;
	if (privileges_limits(OPEN_FILES + 2 * p->programs.n + p->n_rings + 4 * p->sites.n +
				      2 * p->sites.n_places,
			      e) < 0)
		return ERR_FAIL;
	probe_config(p->skel, o, t, &p->sites, btf);
	p->skel->rodata->ring_own = p->rings.own;
	p->skel->rodata->preempt_count_at = p->programs.preempt_count_at;
	p->skel->rodata->per_cpu_offsets_at = p->programs.per_cpu_offsets_at;
	p->sites.no_cookies = o->no_cookie || !feature_cookies(btf);
	p->skel->rodata->has_cookies = !p->sites.no_cookies;
	p->sampler.rate = o->sample_rate;
	p->skel->rodata->has_task_regs = feature_task_regs(btf);
	if (rings_prepare(&p->rings, p->skel->obj, e) < 0)
		return ERR_FAIL;
	if (probe_config_sizes(p->skel, o, &p->sites, p->n_rings, p->n_threads) < 0)
		return err_errno(e, ERR_ENV, "cannot size the BPF maps");
	if (obsrec_bpf__load(p->skel) == 0)
		return 0;
	err_errno(e, ERR_ENV, "the kernel refuses the BPF programs (%.200s)", libbpf_says);
	obsrec_bpf__destroy(p->skel);
	p->skel = NULL;
	return ERR_ENV;
}

static void *map_array(struct bpf_map *map, size_t size, bool writable, size_t *ret_size)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *m;

	*ret_size = (size + page - 1) / page * page;
	m = mmap(NULL, *ret_size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
		 bpf_map__fd(map), 0);
	return m == MAP_FAILED ? NULL : m;
}

static int attach_tracepoints(struct probes *p, struct err *e)
{
	struct program *g;
	int i;

	for (i = 0; i < p->programs.n; i++) {
		g = &p->programs.list[i];
		if (g->hook == HOOK_PERF_EVENT && sampler_attach(&p->sampler, g->prog, e) < 0)
			return ERR_ENV;
		if (g->hook >= HOOK_UPROBE)
			continue;
		g->link = bpf_program__attach(g->prog);
		if (!g->link)
			return err_errno(e, ERR_ENV, "cannot attach the BPF program %s",
					 bpf_program__name(g->prog));
	}
	return 0;
}

/* Groups that the kernel lacks are left out, unless the user named them. */
static int narrow(struct probes *p, struct options *o, const struct btf *btf, struct err *e)
{
	const struct feature *f = p->features;
	int g;

	features_find(p->features, btf);
	if (!o->rate_required && !sampler_allowed())
		o->sample_rate = 0;
	for (g = 0; g < GROUP_MAX; g++) {
		if (!(o->groups & 1u << g) || f[g].level != LEVEL_ABSENT)
			continue;
		if (o->required & 1u << g || groups[g].asked == ALWAYS ||
		    groups[g].asked == TARGETS)
			return err_set(e, ERR_ENV, "this kernel cannot record the group %s: %s%s%s",
				       groups[g].name, f[g].why,
				       f[g].remedy[0] ? "; it needs " : "", f[g].remedy);
		o->groups &= ~(1u << g);
	}
	return 0;
}

static int open_all(struct probes *p, struct options *o, const struct targets *t, struct err *e)
{
	struct btf *btf = features_types(e);
	struct site_programs programs;
	int ret;

	if (!btf)
		return ERR_ENV;
	ret = narrow(p, o, btf, e);
	if (ret == 0)
		ret = rings_choose(&p->rings, p->n_rings, o->ring, o->stock_ring, e);
	if (ret < 0) {
		btf__free(btf);
		return ret;
	}
	ret = o->raw_tp ? ERR_ENV : load(p, o, t, btf, false, e);
	if (ret < 0 && (o->raw_tp || !p->skel))
		ret = load(p, o, t, btf, true, e);
	btf__free(btf);
	if (ret == 0)
		ret = probe_config_cgroups(p->skel, t, e);
	if (ret == 0)
		ret = rings_open(&p->rings, p->skel->obj, e);
	if (ret < 0)
		return ret;
	programs =
		(struct site_programs){ p->skel->progs.uprobe__call, p->skel->progs.uprobe__return,
					p->skel->progs.uprobe__usdt, p->skel->maps.usdt_places };
	p->counts = map_array(p->skel->maps.counters, p->n_rings * sizeof(*p->counts), false,
			      &p->counts_size);
	p->threads = map_array(p->skel->maps.threads, p->n_threads * sizeof(*p->threads), true,
			       &p->threads_size);
	if (!p->counts || !p->threads)
		return err_errno(e, ERR_ENV, "cannot map the counters");
	if (o->dry_run)
		return 0;
	if (o->stats)
		p->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (o->stats && p->stats_fd < 0)
		return err_errno(e, ERR_ENV, "the kernel does not measure BPF programs (--stats)");
	ret = attach_tracepoints(p, e);
	return ret < 0 ? ret : sites_attach(&p->sites, &programs, e);
}

static int probes_new(struct probes **ret, struct err *e)
{
	struct probes *p = calloc(1, sizeof(*p));

	if (!p)
		return err_set(e, ERR_FAIL, "out of memory");
	*ret = p;
	p->stats_fd = -1;
	return 0;
}

static int probes_count(struct probes *p, struct err *e)
{
	int cpus = libbpf_num_possible_cpus();

	if (cpus <= 0 || cpus > STREAM_MAX)
		return err_set(e, ERR_ENV, "cannot determine the number of CPUs");
	p->n_rings = cpus;
	p->n_threads = procfs_number("/proc/sys/kernel/pid_max", PID_MAX_LIMIT);
	return 0;
}

int probes_open(struct probes **ret, struct options *o, const struct targets *t, struct err *e)
{
	struct probes *p = NULL;
	int r;

	libbpf_aloud = o->verbose;
	libbpf_set_print(collect);
	r = probes_new(&p, e);
	if (r == 0)
		r = sites_resolve(&p->sites, o, e);
	if (r == 0)
		r = probe_config_check(o, &p->sites, e);
	/* what is wrong with the command line is said first, also in a root without /sys */
	if (r == 0)
		r = probes_count(p, e);
	if (r == 0)
		r = privileges_check(o, e);
	if (r == 0)
		r = open_all(p, o, t, e);
	if (r < 0)
		probes_free(p);
	else
		*ret = p;
	return r;
}

/* Loads the programs of one group, in either form, and takes them out again. */
static void try_group(struct probes *p, u32 group, const struct btf *btf, struct feature *f)
{
	struct options o = { .groups = 1u << group, .ring = RING_DEFAULT };
	struct targets none = { .options = &o };
	struct err e = { 0 };
	int ret = load(p, &o, &none, btf, false, &e);

	if (ret < 0)
		ret = load(p, &o, &none, btf, true, &e);
	if (ret < 0) {
		f->level = LEVEL_ABSENT;
		snprintf(f->why, sizeof(f->why), "%.390s", e.text);
	} else if (programs_raw(&p->programs) && f->level == LEVEL_AVAILABLE) {
		snprintf(f->why, sizeof(f->why),
			 "typed tracepoints do not load: raw ones are used%s",
			 group == GROUP_sched ? "; waits have no kernel frames" : "");
	}
	if (p->skel)
		obsrec_bpf__destroy(p->skel);
	p->skel = NULL;
}

int probes_survey(struct feature ret[GROUP_MAX], struct err *e)
{
	struct btf *btf = features_types(e);
	struct options none = { 0 };
	struct probes *p = NULL;
	u32 g;
	int r;

	libbpf_set_print(collect);
	if (!btf)
		return ERR_ENV;
	features_find(ret, btf);
	r = probes_new(&p, e);
	if (r == 0)
		r = probes_count(p, e);
	if (r == 0)
		r = rings_choose(&p->rings, p->n_rings, RING_DEFAULT, false, e);
	for (g = 0; r == 0 && g < GROUP_MAX; g++)
		if (groups[g].name && g != GROUP_recorder && ret[g].level != LEVEL_ABSENT &&
		    privileges_check(&none, NULL) == 0)
			try_group(p, g, btf, &ret[g]);
	probes_free(p);
	btf__free(btf);
	return r;
}

void probes_plan(const struct probes *p, const struct options *o, FILE *f)
{
	static const char *const names[] = { "function", "span", "mark" };
	u64 maps = probe_config_memory(p->skel->obj);
	int i;

	programs_print(&p->programs, f);
	for (i = 0; i < p->sites.n; i++)
		fprintf(f, "%-10s %-10s %s at offset 0x%llx\n", names[p->sites.list[i].kind], "",
			p->sites.list[i].text, (unsigned long long)p->sites.list[i].offset);
	if (o->all)
		fprintf(f, "%-10s all threads of the host\n", "targets");
	else
		fprintf(f, "%-10s %u threads now\n", "targets", probes_targets(p));
	fprintf(f, "%-10s %.1f MB: %d rings of %llu KB, %.1f MB of maps\n", "memory",
		(p->n_rings * o->ring + maps) / 1e6, p->n_rings, (unsigned long long)o->ring >> 10,
		maps / 1e6);
}

struct ring *probes_rings(struct probes *p, int *ret_n)
{
	*ret_n = p->n_rings;
	return p->rings.list;
}

bool probes_own_rings(const struct probes *p)
{
	return p->rings.own;
}

const struct cpu_counts *probes_counts(const struct probes *p)
{
	return p->counts;
}

void probes_mark(struct probes *p, u32 tid)
{
	if (tid < p->n_threads)
		__atomic_fetch_or(&p->threads[tid], WORD_WANTED, __ATOMIC_RELAXED);
}

bool probes_marked(const struct probes *p, u32 tid)
{
	return tid < p->n_threads &&
	       __atomic_load_n(&p->threads[tid], __ATOMIC_RELAXED) & WORD_WANTED;
}

struct probe_hints probes_hints(struct probes *p)
{
	struct obsrec_bpf__bss *b = p->skel->bss;

	return (struct probe_hints){ b->hints, b->pipelined, &b->any_pipelined };
}

void probes_sockets_changed(const struct probes *p)
{
	__atomic_fetch_add(&p->skel->bss->sock_epoch, 1, __ATOMIC_RELEASE);
}

int probes_sleepers(struct probes *p)
{
	return programs_sleepers(&p->programs);
}

void probes_detach(struct probes *p)
{
	programs_detach(&p->programs, true);
}

int probes_map(const struct probes *p, const char *name)
{
	return bpf_object__find_map_fd_by_name(p->skel->obj, name);
}

volatile u8 *probes_hot_modes(const struct probes *p)
{
	return p->skel->bss->hot_modes;
}

u32 probes_targets(const struct probes *p)
{
	u32 tid, n = 0;

	for (tid = 0; tid < p->n_threads; tid++)
		n += probes_marked(p, tid);
	return n;
}

u32 probes_new_targets(const struct probes *p)
{
	return __atomic_load_n(&p->skel->bss->new_targets, __ATOMIC_RELAXED);
}

u64 probes_lost(const struct probes *p, u32 group)
{
	const struct cpu_counts *c = p->counts;
	u64 lost = 0;

	for (; c < p->counts + p->n_rings; c++)
		lost += c->group[group].lost_full + c->group[group].lost_other;
	return lost;
}

bool probes_hit(const struct probes *p, u64 *seen, struct hit *ret)
{
	u64 count = __atomic_load_n(&p->skel->bss->hit.count, __ATOMIC_ACQUIRE);

	if (count == *seen)
		return false;
	*ret = (struct hit){
		.count = count - *seen,
		.ts = p->skel->bss->hit.ts,
		.dur = p->skel->bss->hit.dur,
		.tid = p->skel->bss->hit.tid,
		.kind = p->skel->bss->hit.kind,
		.item = p->skel->bss->hit.item,
	};
	*seen = count;
	return true;
}

u64 probes_entered(const struct probes *p, u32 tid)
{
	return tid < p->n_threads ? word_entered(p->threads[tid]) : 0;
}

void probes_enable(struct probes *p)
{
	__atomic_store_n(&p->skel->bss->enabled, 1, __ATOMIC_RELEASE);
}

void probes_pause(void *probes)
{
	__atomic_store_n(&((struct probes *)probes)->skel->bss->enabled, 0, __ATOMIC_RELEASE);
}

void probes_disable(struct probes *p)
{
	p->skel->bss->looks_at_sleepers = 1;
	probes_pause(p);
	programs_detach(&p->programs, false);
	sampler_detach(&p->sampler);
	usleep(GRACE);
}

bool probes_program(const struct probes *p, int i, struct program_info *ret)
{
	struct bpf_prog_info info = { 0 };
	u32 size = sizeof(info);

	if (i >= p->programs.n)
		return false;
	*ret = (struct program_info){
		.name = bpf_program__name(p->programs.list[i].prog),
		.group = p->programs.list[i].group,
		.hook = p->programs.list[i].hook,
		.newly = p->programs.list[i].newly,
	};
	if (bpf_obj_get_info_by_fd(bpf_program__fd(p->programs.list[i].prog), &info, &size) == 0) {
		ret->runs = info.run_cnt;
		ret->time = info.run_time_ns;
		ret->missed = info.recursion_misses;
	}
	return true;
}

u64 probes_look_missed(struct probes *p, u64 now, u64 *ret_since)
{
	struct program_info info;
	struct program *program;
	u64 all = 0;
	int i;

	for (i = 0; probes_program(p, i, &info); i++) {
		program = &p->programs.list[i];
		program->newly = p->looked_missed ? info.missed - program->missed : 0;
		program->missed = info.missed;
		all += program->newly;
	}
	*ret_since = p->looked_missed;
	p->looked_missed = now;
	return all;
}

const struct feature *probes_features(const struct probes *p)
{
	return p->features;
}

const struct sites *probes_sites(const struct probes *p)
{
	return &p->sites;
}

void probes_free(struct probes *p)
{
	if (!p)
		return;
	sites_free(&p->sites);
	programs_detach(&p->programs, true);
	bpf_link__destroy(p->programs.sleepers_link);
	sampler_detach(&p->sampler);
	rings_free(&p->rings);
	if (p->counts)
		munmap(p->counts, p->counts_size);
	if (p->threads)
		munmap(p->threads, p->threads_size);
	if (p->stats_fd >= 0)
		close(p->stats_fd);
	if (p->skel)
		obsrec_bpf__destroy(p->skel);
	free(p);
}
