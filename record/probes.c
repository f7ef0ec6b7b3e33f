// SPDX-License-Identifier: GPL-2.0-or-later
/* The BPF programs of a recording. */
#include "probes.h"

#include "rings.h"
#include "shape_table.h"
#include "tracepoints.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "bpf/obsrec.skel.h"

#define PROGRAMS_MAX  64
#define RAW_SUFFIX    "__raw"	   /* for kernels where tp_btf does not load */
#define COUNT_MARK    "__count"	   /* for kernels that show their preemption counter */
#define IRQ_MARK      "__irq"	   /* for those that do not: bpf/context.bpf.h */
#define PID_MAX_LIMIT (4u << 20)   /* the kernel's own (include/linux/threads.h) */
#define WANTED	      (1ull << 63) /* of a thread's word: bpf/common.bpf.h */
#define GRACE	      20000	   /* us: longer than any of our programs runs */

#define CAP_SYS_ADMIN_BIT 21
#define CAP_PERFMON_BIT	  38
#define CAP_BPF_BIT	  39

struct program {
	struct bpf_program *prog;
	struct bpf_link *link; /* NULL: uprobes, whose links belong to sites */
	u32 group;
	enum hook hook;
};

struct probes {
	struct obsrec_bpf *skel;
	struct program programs[PROGRAMS_MAX];
	int n_programs;
	struct rings rings;
	int n_rings;
	struct cpu_counts *counts;
	u64 *threads;
	u32 n_threads;
	size_t counts_size, threads_size;
	struct sites sites;
	int stats_fd;
	bool by_count; /* wake-ups tell their context by the preemption counter */
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

/* A number from the first line of a file under /proc or /sys. */
static u64 read_number(const char *path, u64 fallback)
{
	unsigned long long v;
	FILE *f = fopen(path, "re");

	if (!f)
		return fallback;
	if (fscanf(f, "%llu", &v) != 1)
		v = fallback;
	fclose(f);
	return v;
}

/* Names the capabilities that are missing, before the kernel says only "not permitted". */
static int check_rights(const struct options *o, struct err *e)
{
	bool uprobes = o->groups & 1u << GROUP_uprobe;
	unsigned long long caps = 0;
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	if (f)
		fclose(f);
	if (caps & 1ull << CAP_SYS_ADMIN_BIT)
		return 0;
	if (uprobes)
		return err_set(e, ERR_ENV,
			       "no rights: recording functions needs the capability "
			       "CAP_SYS_ADMIN; run obsrec as root, for example with sudo");
	if (caps & 1ull << CAP_BPF_BIT && caps & 1ull << CAP_PERFMON_BIT)
		return 0;
	return err_set(e, ERR_ENV,
		       "no rights: recording needs the capabilities CAP_BPF and "
		       "CAP_PERFMON; run obsrec as root, for example with sudo");
}

/* Group of a program by the text before "__" in its name; -1: not a program of ours. */
static int group_of(const char *name)
{
	static const char *const names[GROUP_MAX] = {
#define GROUP(id, name, asked, doc) [id] = #name,
#include "format/groups.def"
#undef GROUP
	};
	int g;

	for (g = 0; g < GROUP_MAX; g++)
		if (names[g] && strncmp(name, names[g], strlen(names[g])) == 0 &&
		    strncmp(name + strlen(names[g]), "__", 2) == 0)
			return g;
	return -1;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

/* Tracepoints that not every kernel has; without them the group tells less. */
static bool optional_tracepoint(const char *name)
{
	return strcmp(name, "block_io_start") == 0 || strncmp(name, "local_timer_", 12) == 0 ||
	       strncmp(name, "call_function_single_", 21) == 0;
}

/* True if the kernel can give a BPF program the address of its preemption counter. */
static bool shows_preempt_count(void)
{
#if defined(__aarch64__)
	return true; /* it is a field of the thread */
#else
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[256];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, " __preempt_count\n") || strstr(line, " pcpu_hot\n");
	if (f)
		fclose(f);
	return found;
#endif
}

static int choose_program(struct probes *p, struct bpf_program *prog, const struct options *o,
			  const struct btf *btf, bool raw, struct err *e)
{
	const char *name = bpf_program__name(prog), *section = bpf_program__section_name(prog);
	const char *tracepoint = strchr(section, '/');
	int group = group_of(name);
	enum hook hook = HOOK_TP_BTF;

	if (group < 0 || !(o->groups & 1u << group))
		return 0;
	if (tracepoint) {
		hook = raw ? HOOK_RAW_TP : HOOK_TP_BTF;
		if (ends_with(name, RAW_SUFFIX) != raw ||
		    strstr(name, p->by_count ? IRQ_MARK : COUNT_MARK))
			return 0;
		if (tracepoint_args(btf, tracepoint + 1) < 0) {
			if (optional_tracepoint(tracepoint + 1))
				return 0;
			return err_set(
				e, ERR_ENV,
				"this kernel has no tracepoint %s, which the group %.*s needs; "
				"leave the group out with -e",
				tracepoint + 1, (int)strcspn(name, "_"), name);
		}
	} else {
		hook = strcmp(section, "uretprobe") == 0 ? HOOK_URETPROBE : HOOK_UPROBE;
	}
	if (p->n_programs == PROGRAMS_MAX)
		return err_set(e, ERR_FAIL, "too many BPF programs");
	bpf_program__set_autoload(prog, true);
	p->programs[p->n_programs++] = (struct program){ prog, NULL, group, hook };
	return 0;
}

/* What the programs have to know of this kernel and of the options. */
static void configure(struct probes *p, const struct options *o, const struct btf *btf)
{
	struct obsrec_bpf__rodata *ro = p->skel->rodata;
	u64 key = 0;

	/* without randomness, addresses of requests stay as they are: still right */
	if (getrandom(&key, sizeof(key), GRND_NONBLOCK) < 0)
		key = 0;
	ro->request_key = key;
	ro->self_tgid = getpid();
	ro->filter_all = o->all;
	ro->follow = o->follow;
	ro->ring_own = p->rings.own;
	ro->ring_size = o->ring;
	ro->switch_has_state = tracepoint_args(btf, "sched_switch") >= 4;
	ro->issue_has_queue = tracepoint_args(btf, "block_rq_issue") >= 2;
	ro->has_io_start = tracepoint_args(btf, "block_io_start") >= 1;
	ro->complete_has_status = tracepoint_status(btf);
	shape_table_fill(ro->shapes, sizeof(ro->shapes));
}

static int load(struct probes *p, const struct options *o, const struct btf *btf, bool raw,
		struct err *e)
{
	struct bpf_program *prog;

	p->n_programs = 0;
	p->skel = obsrec_bpf__open();
	if (!p->skel)
		return err_errno(e, ERR_ENV, "cannot open the BPF programs");
	bpf_object__for_each_program(prog, p->skel->obj) if (choose_program(p, prog, o, btf, raw,
									    e) < 0) return ERR_FAIL;
	configure(p, o, btf);
	if (rings_prepare(&p->rings, p->skel->obj, e) < 0)
		return ERR_FAIL;
	if (bpf_map__set_max_entries(p->skel->maps.counters, p->n_rings) < 0 ||
	    bpf_map__set_max_entries(p->skel->maps.threads, p->n_threads) < 0 ||
	    bpf_map__set_max_entries(p->skel->maps.depths, p->n_rings) < 0)
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

	for (i = 0; i < p->n_programs; i++) {
		g = &p->programs[i];
		if (g->hook == HOOK_UPROBE || g->hook == HOOK_URETPROBE)
			continue;
		g->link = bpf_program__attach(g->prog);
		if (!g->link)
			return err_errno(e, ERR_ENV, "cannot attach the BPF program %s",
					 bpf_program__name(g->prog));
	}
	return 0;
}

static int open_all(struct probes *p, const struct options *o, struct err *e)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int ret;

	if (!btf)
		return err_set(e, ERR_ENV,
			       "this kernel does not describe itself (no BTF in "
			       "/sys/kernel/btf/vmlinux): it needs CONFIG_DEBUG_INFO_BTF");
	ret = rings_choose(&p->rings, p->n_rings, o->ring, o->stock_ring, e);
	if (ret == 0)
		ret = o->raw_tp ? ERR_ENV : load(p, o, btf, false, e);
	if (ret < 0 && (o->raw_tp || !p->skel))
		ret = load(p, o, btf, true, e);
	btf__free(btf);
	if (ret == 0)
		ret = rings_open(&p->rings, p->skel->obj, e);
	if (ret < 0)
		return ret;
	p->counts = map_array(p->skel->maps.counters, p->n_rings * sizeof(*p->counts), false,
			      &p->counts_size);
	p->threads = map_array(p->skel->maps.threads, p->n_threads * sizeof(*p->threads), true,
			       &p->threads_size);
	if (!p->counts || !p->threads)
		return err_errno(e, ERR_ENV, "cannot map the counters");
	if (o->stats)
		p->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (o->stats && p->stats_fd < 0)
		return err_errno(e, ERR_ENV, "the kernel does not measure BPF programs (--stats)");
	ret = attach_tracepoints(p, e);
	return ret < 0 ? ret
		       : sites_attach(&p->sites, p->skel->progs.uprobe__call,
				      p->skel->progs.uprobe__return, e);
}

int probes_open(struct probes **ret, const struct options *o, struct err *e)
{
	struct probes *p;
	int r;

	libbpf_aloud = o->verbose;
	libbpf_set_print(collect);
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(e, ERR_FAIL, "out of memory");
	p->stats_fd = -1;
	p->by_count = shows_preempt_count();
	p->n_rings = libbpf_num_possible_cpus();
	p->n_threads = read_number("/proc/sys/kernel/pid_max", PID_MAX_LIMIT);
	if (p->n_rings <= 0 || p->n_rings > STREAM_MAX)
		r = err_set(e, ERR_ENV, "cannot tell the number of CPUs");
	else
		r = sites_resolve(&p->sites, o, e);
	if (r == 0)
		r = check_rights(o, e);
	if (r == 0)
		r = open_all(p, o, e);
	if (r < 0)
		probes_free(p);
	else
		*ret = p;
	return r;
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
		__atomic_fetch_or(&p->threads[tid], WANTED, __ATOMIC_RELAXED);
}

u64 probes_entered(const struct probes *p, u32 tid)
{
	return tid < p->n_threads ? p->threads[tid] & ~WANTED : 0;
}

void probes_enable(struct probes *p)
{
	__atomic_store_n(&p->skel->bss->enabled, 1, __ATOMIC_RELEASE);
}

void probes_disable(struct probes *p)
{
	int i;

	__atomic_store_n(&p->skel->bss->enabled, 0, __ATOMIC_RELEASE);
	for (i = 0; i < p->n_programs; i++) {
		bpf_link__destroy(p->programs[i].link);
		p->programs[i].link = NULL;
	}
	usleep(GRACE);
}

bool probes_program(const struct probes *p, int i, struct program_info *ret)
{
	struct bpf_prog_info info = { 0 };
	u32 size = sizeof(info);

	if (i >= p->n_programs)
		return false;
	*ret = (struct program_info){
		.name = bpf_program__name(p->programs[i].prog),
		.group = p->programs[i].group,
		.hook = p->programs[i].hook,
	};
	if (bpf_obj_get_info_by_fd(bpf_program__fd(p->programs[i].prog), &info, &size) == 0) {
		ret->runs = info.run_cnt;
		ret->time = info.run_time_ns;
		ret->missed = info.recursion_misses;
	}
	return true;
}

const struct sites *probes_sites(const struct probes *p)
{
	return &p->sites;
}

struct totals probes_totals(const struct probes *p)
{
	struct totals t = { 0 };
	int cpu, g;

	for (cpu = 0; cpu < p->n_rings; cpu++) {
		const struct group_counts *c = p->counts[cpu].group;

		for (g = 0; g < GROUP_MAX; g++)
			t.records += c[g].emitted;
		t.events += c[GROUP_syscalls].emitted - c[GROUP_syscalls].nostate;
		t.lost += counts_lost(&p->counts[cpu]);
	}
	t.events += t.records;
	return t;
}

void probes_free(struct probes *p)
{
	int i;

	if (!p)
		return;
	sites_free(&p->sites);
	for (i = 0; i < p->n_programs; i++)
		bpf_link__destroy(p->programs[i].link);
	rings_free(&p->rings);
	if (p->counts)
		munmap(p->counts, p->counts_size);
	if (p->threads)
		munmap(p->threads, p->threads_size);
	if (p->stats_fd >= 0)
		close(p->stats_fd);
	obsrec_bpf__destroy(p->skel);
	free(p);
}
