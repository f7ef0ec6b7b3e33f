// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What share of a CPU is fair. The kernel shares out CPU time level by level
 * (Documentation/scheduler/sched-design-CFS.rst, "Group Scheduler Extensions to CFS"; weights:
 * Documentation/admin-guide/cgroup-v2.rst, cpu.weight): the CPU is divided among what is
 * directly in the root, threads by the weights of their nice values and groups by theirs; what a
 * group gets is divided in the same way inside. Only what is runnable at the time takes part.
 *
 * Each CPU's root has a virtual clock that advances by dt / (sum of weights). Each group
 * has one on each CPU where it has runnable threads; it advances by the group's weight there
 * times the gain of the clock above / (sum of weights inside). A thread's fair share over any
 * interval is its weight times the gain of the clock of its group: the product down the tree.
 *
 * A group has one weight, but threads on several CPUs. Each CPU counts the part of it that
 * the group has of its load there, as calc_group_shares in kernel/sched/fair.c. It is an
 * approximation: here load is the weight that is runnable now, there the other CPUs count with
 * decaying means. As there, it is found again when something changes on the CPU itself. Quotas are
 * not in it: threads that wait for the next period count as runnable. Nor are sessions (autogroup).
 *
 * A group of unknown weight shares as if it were not there: its threads are in the
 * one above (cgroup v2 without controller cpu). One made while recording that ended before it was
 * looked at has the weight of every new group, if its siblings have weights.
 */
#include "track_shares.h"

#include "track_cpu.h"

#include <stdlib.h>

#define SHARE_GROUPS 100000
#define SHARE_NODES  500000 /* (group, CPU); above that, threads count in the root */
#define DEPTH_MAX    32	    /* the recorder looks no deeper */
#define NEW_GROUP    1024   /* weight of a group that has none of its own */

struct share_group {
	u64 id, parent;
	u32 weight;   /* 0: none is known */
	bool divides; /* groups in it have weights */
	u32 n;	      /* what is runnable in it, on all CPUs, and its weight */
	double load;
};

struct share_node {
	struct share_group *group;
	struct share_node *above; /* NULL: the root of a CPU */
	u16 cpu;
	u16 depth;
	u32 n; /* what is runnable in it, on this CPU, and its weight */
	double load;
	double weight;	    /* of the node in the one above */
	double clock, seen; /* ns for a weight of 1; the clock above when this one was set */
};

struct share_cpu {
	struct share_node root;
	struct idmap nodes; /* id of a group -> its node here */
	u64 at;
	bool halted;
};

struct shares {
	struct idmap groups;
	struct share_cpu *cpus[STREAM_MAX];
	size_t n_nodes;
	u32 version; /* one more whenever threads may be in another group than before */
};

/* A process that went to another group as a whole. */
struct moved {
	u64 at, to;
};

static struct shares *own(const struct replay *r)
{
	return r->own[TRACK_shares];
}

static struct share_cpu *share_cpu(struct replay *r, u16 number)
{
	struct share_cpu **c = &own(r)->cpus[number % STREAM_MAX];

	if (!*c)
		*c = calloc(1, sizeof(**c));
	return *c;
}

/* ---- groups ---- */

/* The group, made if need be; NULL without error: there are too many. */
static int group_of(struct share_group **ret, struct replay *r, u64 id, struct err *e)
{
	struct shares *s = own(r);
	struct share_group *g = idmap_get(&s->groups, id);

	*ret = g;
	if (g || s->groups.n >= SHARE_GROUPS)
		return 0;
	g = idmap_add(&s->groups, id, sizeof(*g), SHARE_GROUPS, "control groups", e);
	if (!g)
		return ERR_FAIL;
	g->id = id;
	s->version++;
	*ret = g;
	return 0;
}

static int shares_on_first(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_cgroup_weight *ev = rec->event;
	struct row_cgroup_weight *row = bulk_add(r->bulk, cgroup_weight);
	struct share_group *g, *above;

	row->ts = replay_time(r, rec->ts);
	row->cgroup = ev->cgroup & INT64_MAX;
	row->parent = ev->parent & INT64_MAX;
	row->weight = ev->weight;
	if (group_of(&above, r, ev->parent, e) < 0 || group_of(&g, r, ev->cgroup, e) < 0)
		return ERR_FAIL;
	if (above)
		above->divides = true;
	if (!g)
		return 0;
	g->parent = ev->parent;
	if (!g->weight) /* as far as is known it has been this since it was made */
		g->weight = ev->weight;
	return 0;
}

static int shares_on_weight(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_cgroup_weight *ev = rec->event;
	struct share_group *g = idmap_get(&own(r)->groups, ev->cgroup);

	(void)e;
	if (g && ev->weight)
		g->weight = ev->weight;
	return 0;
}

/* If it lived long enough, the first pass has found its weight. */
static int shares_on_made(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_cgroup_made *ev = rec->event;
	struct share_group *g, *above;

	if (!own(r)->groups.n || !ev->parent) /* the recorder knew no weights, or of no parents */
		return 0;
	if (group_of(&g, r, ev->id, e) < 0)
		return ERR_FAIL;
	above = idmap_get(&own(r)->groups, ev->parent);
	if (!g || g->weight)
		return 0;
	g->parent = ev->parent;
	if (above && above->divides)
		g->weight = NEW_GROUP;
	return 0;
}

/* The group that threads in this one share time in; 0: the root. */
static u64 sharing(const struct shares *s, u64 id)
{
	const struct share_group *g;
	int i;

	for (i = 0; id && i < DEPTH_MAX; i++) {
		g = idmap_get(&s->groups, id);
		if (!g)
			return 0;
		if (g->weight)
			return id;
		id = g->parent;
	}
	return 0;
}

/* ---- shares ---- */

static struct share_node *node_of(struct shares *s, struct share_cpu *c, u16 cpu, u64 id, int depth)
{
	struct share_node *n, *above;
	struct share_group *g;

	id = sharing(s, id);
	if (!id || depth == DEPTH_MAX)
		return &c->root;
	n = idmap_get(&c->nodes, id);
	if (n)
		return n;
	g = idmap_get(&s->groups, id);
	above = node_of(s, c, cpu, g->parent, depth + 1);
	n = idmap_get(&c->nodes, id); /* a damaged recording may say that a group is in itself */
	if (n || above->depth == DEPTH_MAX || s->n_nodes == SHARE_NODES)
		return n ? n : above;
	n = calloc(1, sizeof(*n));
	if (!n || idmap_put(&c->nodes, id, n, SHARE_NODES, NULL) < 0) {
		free(n);
		return above;
	}
	s->n_nodes++;
	n->group = g;
	n->above = above;
	n->cpu = cpu;
	n->depth = above->depth + 1;
	return n;
}

/* Brings the clocks up to date, from the root down to this one's. */
static void advance(struct share_cpu *c, struct share_node *n, u64 ts)
{
	if (!n->above) {
		if (n->n && !c->halted && ts > c->at)
			n->clock += (double)(ts - c->at) / n->load;
		c->at = ts;
		return;
	}
	advance(c, n->above, ts);
	if (n->n)
		n->clock += n->weight * (n->above->clock - n->seen) / n->load;
	n->seen = n->above->clock;
}

/* Weight comes into an advanced node or leaves it (or neither: then only others have changed). */
static void change(struct share_node *n, double weight, int count)
{
	struct share_group *g = n->group;
	bool was = n->n > 0;
	double old = n->weight;

	n->n += count;
	n->load = n->n ? n->load + weight : 0; /* nothing is left of what rounding has added */
	if (!n->above || (!was && !n->n))
		return;
	g->n += count;
	g->load = g->n ? g->load + weight : 0;
	n->weight = n->n ? g->weight * n->load / g->load : 0;
	change(n->above, n->weight - old, (n->n > 0) - was);
}

void shares_halt(struct replay *r, u16 cpu, bool halt, u64 ts)
{
	struct share_cpu *c = r->everything ? share_cpu(r, cpu) : NULL;

	if (!c)
		return;
	advance(c, &c->root, ts);
	c->halted = halt;
}

static u64 group_at(const struct thread *t)
{
	const struct moved *m = t->process->own[TRACK_shares];
	const struct served *s = served_of(t);

	return m->at > s->grouped ? m->to : s->group;
}

void shares_enqueue(struct replay *r, struct thread *t, u16 cpu, u64 ts)
{
	struct share_cpu *c = share_cpu(r, cpu);
	struct served *s = served_of(t);

	if (!c || !r->everything || !s->weight)
		return;
	if (!s->node || s->node->cpu != cpu || s->placed != own(r)->version)
		s->node = node_of(own(r), c, cpu, group_at(t), 0);
	c->root.cpu = cpu;
	s->placed = own(r)->version;
	s->queue = cpu;
	s->counted = s->weight;
	s->queued = true;
	advance(c, s->node, ts);
	change(s->node, s->counted, 1);
	s->fair0 = s->node->clock;
}

void shares_settle(struct replay *r, struct thread *t, u64 ts)
{
	struct served *s = served_of(t);
	struct share_cpu *c = s->queued ? share_cpu(r, s->queue) : NULL;
	double gain;

	if (!c)
		return;
	advance(c, s->node, ts);
	gain = s->counted * (s->node->clock - s->fair0);
	s->fair += gain;
	s->lag += gain;
	s->fair0 = s->node->clock;
	change(s->node, 0, 0);
}

void shares_dequeue(struct replay *r, struct thread *t, u64 ts)
{
	if (!served_of(t)->queued)
		return;
	shares_settle(r, t, ts);
	change(served_of(t)->node, -(double)served_of(t)->counted, -1);
	served_of(t)->queued = false;
}

bool shares_in_place(const struct replay *r, const struct thread *t)
{
	return served_of(t)->queued && served_of(t)->placed == own(r)->version;
}

u64 shares_group(const struct thread *t)
{
	const struct share_node *n = served_of(t)->node;

	return n && n->above ? n->group->id : 0;
}

void shares_member(struct thread *t, u64 group, u64 ts)
{
	if (served_of(t)->group != group)
		served_of(t)->placed = 0;
	served_of(t)->group = group;
	served_of(t)->grouped = ts;
}

void shares_moved(struct replay *r, struct thread *t, bool whole, u64 group, u64 ts)
{
	struct moved *m = t->process->own[TRACK_shares];

	shares_member(t, group, ts);
	if (whole) {
		*m = (struct moved){ ts, group };
		own(r)->version++; /* its other threads are looked at when they next get a CPU */
	}
	if (!served_of(t)->queued)
		return;
	shares_dequeue(r, t, ts);
	shares_enqueue(r, t, served_of(t)->queue, ts);
}

static void cpu_nodes_free(struct share_cpu *c)
{
	idmap_free_all(&c->nodes);
	free(c);
}

static void shares_free(void *slot)
{
	struct shares *s = slot;
	size_t i;

	for (i = 0; i < STREAM_MAX; i++)
		if (s->cpus[i])
			cpu_nodes_free(s->cpus[i]);
	idmap_free_all(&s->groups);
}

/* The first pass gathers what weights the groups have at the start; the second follows changes. */
static const struct handler handlers[] = {
	{ EV_cgroup_weight, true, shares_on_first },
	{ EV_cgroup_weight, false, shares_on_weight },
	{ EV_cgroup_made, false, shares_on_made },
	{ 0 },
};

const struct tracker track_shares = {
	.name = "shares",
	.handlers = handlers,
	.of_replay = sizeof(struct shares),
	.of_process = sizeof(struct moved),
	.free = shares_free,
};
