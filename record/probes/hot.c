// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions that are called too often for an event each. */
#include "hot.h"

#include "record/pump/records.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SECOND	     1e9
#define LEAST_PERIOD 100000000ull /* ns; a rate over less is noise */
#define COOL_PART    2		  /* below this part of the limit a function has cooled */

struct hot {
	u64 above; /* calls per second */
	const struct sites *functions;
	int n_cpus;
	volatile u8 *modes; /* enum hot_mode of each site, which the programs obey */
	const struct hot_calls *calls;
	const struct hot_slot *slots;
	size_t calls_size, slots_size;
	struct hot_slot *read; /* slots as they were read last */
	u64 read_at, decided;  /* ns */
	struct hot_site {
		u64 calls, rate;
		u64 switched; /* ns */
	} sites[HOT_SITES];
};

_Static_assert(SITES_MAX <= HOT_SITES, "each site has its place");

static void *map_pages(int fd, size_t size, size_t *ret_size)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *m;

	*ret_size = (size + page - 1) / page * page;
	m = mmap(NULL, *ret_size, PROT_READ, MAP_SHARED, fd, 0);
	return m == MAP_FAILED ? NULL : m;
}

int hot_new(struct hot **ret, struct probes *p, const struct options *o, struct err *e)
{
	struct hot *h;

	if (!options_hot(o))
		return 0;
	*ret = h = calloc(1, sizeof(*h));
	if (!h)
		return err_set(e, ERR_FAIL, "out of memory for histograms of functions");
	h->above = o->hot;
	h->functions = probes_sites(p);
	h->modes = probes_hot_modes(p);
	probes_rings(p, &h->n_cpus);
	h->calls = map_pages(probes_map(p, "hot_calls"), h->n_cpus * sizeof(*h->calls),
			     &h->calls_size);
	h->slots = map_pages(probes_map(p, "hot_slots"), HOT_SLOTS * sizeof(*h->slots),
			     &h->slots_size);
	if (!h->calls || !h->slots)
		return err_errno(e, ERR_ENV, "cannot map the histograms of functions");
	h->read = calloc(HOT_SLOTS, sizeof(*h->read));
	h->read_at = h->decided = records_now();
	return h->read ? 0 : err_set(e, ERR_FAIL, "out of memory for histograms of functions");
}

/* ---- what was counted ---- */

struct bucket {
	u64 low, high;
};

static struct bucket bucket_at(u32 i)
{
	u32 shift = i < 64 ? 0 : (i >> 5) - 1;
	u64 low = i < 64 ? i : (u64)(32 + (i & 31)) << shift;

	return (struct bucket){ low, low + (1ull << shift) };
}

/* The programs go on counting: each number is read once. */
static u32 gained(u32 *before, const u32 *bucket)
{
	u32 now = __atomic_load_n(bucket, __ATOMIC_RELAXED), n = now - *before;

	*before = now;
	return n;
}

static u64 gained_long(u64 *before, const u64 *value)
{
	u64 now = __atomic_load_n(value, __ATOMIC_RELAXED), n = now - *before;

	*before = now;
	return n;
}

/* What the buckets of one histogram gained. Returns the calls in them. */
static u64 gather_buckets(u32 *read, const u32 *now, u32 gain[HOT_BUCKETS])
{
	u64 n = 0;
	u32 i;

	for (i = 0; i < HOT_BUCKETS; i++) {
		gain[i] = gained(&read[i], &now[i]);
		n += gain[i];
	}
	return n;
}

static int put_buckets(struct pump *p, const struct ev_call_count *of, u32 what,
		       const u32 gain[HOT_BUCKETS], struct err *e)
{
	struct ev_call_bucket ev = { .h = of->h, .site = of->site, .what = what };
	u32 i;
	int ret = 0;

	ev.h.type = EV_call_bucket;
	for (i = 0; i < HOT_BUCKETS && ret == 0; i++) {
		if (!gain[i])
			continue;
		ev.low = bucket_at(i).low;
		ev.high = bucket_at(i).high;
		ev.n = gain[i];
		ret = records_put(p, &ev, sizeof(ev), NULL, e);
	}
	return ret;
}

static int collect_slot(struct pump *p, struct hot_slot *read, const struct hot_slot *now, u64 ts,
			u64 dur, struct err *e)
{
	struct ev_call_count ev = { .h = { .ts = ts, .tid = (u32)now->key, .type = EV_call_count },
				    .dur = dur,
				    .site = now->key >> 32 & (HOT_SITES - 1) };
	u32 walls[HOT_BUCKETS], cpus[HOT_BUCKETS];
	u64 n_cpus;
	int ret;

	/* a return counts after its entry: read in the other order, none is without */
	ev.n = gather_buckets(read->walls, now->walls, walls);
	n_cpus = gather_buckets(read->cpus, now->cpus, cpus);
	ev.wall = gained_long(&read->wall, &now->wall);
	ev.cpu = gained_long(&read->cpu, &now->cpu);
	ev.migrated = gained_long(&read->migrated, &now->migrated);
	ev.longest = __atomic_load_n(&now->longest, __ATOMIC_RELAXED);
	ev.longest_cpu = __atomic_load_n(&now->longest_cpu, __ATOMIC_RELAXED);
	ev.entries = gained_long(&read->entries, &now->entries);
	/* time and bucket of a return that counts just now belong to different readings */
	if (!ev.n && !ev.entries && !ev.wall && !n_cpus)
		return 0;
	ret = records_put(p, &ev, sizeof(ev), NULL, e);
	if (ret == 0)
		ret = put_buckets(p, &ev, 0, walls, e);
	return ret < 0 ? ret : put_buckets(p, &ev, 1, cpus, e);
}

static int collect(struct hot *h, u64 ts, struct pump *p, struct err *e)
{
	u64 dur = ts - h->read_at;
	int i, ret = 0;

	for (i = 0; i < HOT_SLOTS && ret == 0; i++)
		if (h->slots[i].key)
			ret = collect_slot(p, &h->read[i], &h->slots[i], ts, dur, e);
	h->read_at = ts;
	return ret;
}

int hot_collect(struct hot *h, struct pump *p, struct err *e)
{
	return h ? collect(h, records_now(), p, e) : 0;
}

/* ---- switching ---- */

static int put_mode(const struct hot *h, int site, u64 ts, struct pump *p, struct err *e)
{
	struct ev_call_mode ev = { .h = { .ts = ts, .type = EV_call_mode },
				   .rate = h->sites[site].rate,
				   .limit = h->above,
				   .site = site,
				   .mode = h->modes[site] };

	return records_put(p, &ev, sizeof(ev), NULL, e);
}

/* The record has the time before the switch: no call is counted before it. */
static int switch_to(struct hot *h, int site, enum hot_mode mode, struct pump *p, struct err *e)
{
	u64 now = records_now();

	h->sites[site].switched = now;
	h->modes[site] = mode;
	return put_mode(h, site, now, p, e);
}

static u64 calls_of(const struct hot *h, int site)
{
	u64 n = 0;
	int cpu;

	for (cpu = 0; cpu < h->n_cpus; cpu++)
		n += __atomic_load_n(&h->calls[cpu].n[site], __ATOMIC_RELAXED);
	return n;
}

static int decide(struct hot *h, int site, u64 period, struct pump *p, struct err *e)
{
	struct hot_site *s = &h->sites[site];
	u64 calls = calls_of(h, site), n = calls - s->calls;

	s->calls = calls;
	s->rate = n * (SECOND / period);
	if (h->modes[site] != HOT_ON && s->rate > h->above)
		return switch_to(h, site, HOT_ON, p, e);
	if (h->modes[site] == HOT_ON && s->rate < h->above / COOL_PART)
		return switch_to(h, site, HOT_COOL, p, e);
	return 0;
}

int hot_tick(struct hot *h, struct pump *p, struct err *e)
{
	u64 now = records_now(), period;
	int i, ret;

	if (!h)
		return 0;
	period = now - h->decided;
	ret = collect(h, now, p, e);
	if (period < LEAST_PERIOD)
		return ret;
	h->decided = now;
	for (i = 0; i < h->functions->n && ret == 0; i++)
		if (h->functions->list[i].kind == SITE_IS_FUNCTION)
			ret = decide(h, i, period, p, e);
	return ret;
}

int hot_put_modes(const struct hot *h, u64 ts, struct pump *p, struct err *e)
{
	int i, ret = 0;

	for (i = 0; h && i < h->functions->n && ret == 0; i++)
		if (h->modes[i] == HOT_ON && h->sites[i].switched < ts)
			ret = put_mode(h, i, ts, p, e);
	return ret;
}

void hot_free(struct hot *h)
{
	if (!h)
		return;
	if (h->calls)
		munmap((void *)h->calls, h->calls_size);
	if (h->slots)
		munmap((void *)h->slots, h->slots_size);
	free(h->read);
	free(h);
}
