// SPDX-License-Identifier: GPL-2.0-or-later
/* Who is there, with which name, state and descriptors. */
#include "process_state.h"

#include "analyze/base/counted.h"
#include "format/linux_abi.h"

#include <stdlib.h>
#include <string.h>

#define LEFT_MAX 65536 /* threads that ended: for stacks that come up to a second later */

static int mark(struct idmap *m, u64 id, struct err *e)
{
	return idmap_put(m, id, m, TASK_LIMIT, e);
}

int census_open(struct census **ret, const struct filter *f, const struct reader *r, struct err *e)
{
	struct census *c = calloc(1, sizeof(*c));
	const struct schema *s = reader_schema(r);
	int i, k, n;

	if (!c)
		return err_set(e, ERR_FAIL, "out of memory");
	c->filter = f;
	c->switches = reader_state(r)->groups & 1u << GROUP_sched;
	c->close_call = syscall_by_name("close");
	c->everything = true; /* until the recording names its targets */
	for (i = 0; i < SCHEMA_EVENT_MAX; i++)
		for (k = n = 0; s->by_id[i] && k < s->by_id[i]->n_fields && n < 4; k++)
			if (s->by_id[i]->fields[k].kind == KIND_PID)
				c->pid_fields[i][n++] = &s->by_id[i]->fields[k];
	*ret = c;
	return 0;
}

/* ---- members ---- */

static struct household *home_of(struct census *c, u32 pid, struct err *e)
{
	struct household *h = idmap_get(&c->homes, pid);

	if (h)
		return h;
	h = idmap_add(&c->homes, pid, sizeof(*h), TASK_LIMIT, "processes", e);
	if (!h)
		return NULL;
	h->pid = pid;
	return h;
}

static void leave(struct census *c, struct member *m)
{
	struct household *h = m->home;
	struct err none = { 0 };

	if (c->left.n == LEFT_MAX)
		idmap_free(&c->left);
	if (m->chosen && idmap_put(&c->left, m->ev.h.tid, c, LEFT_MAX, &none) < 0)
		idmap_free(&c->left);
	idmap_take(&c->members, m->ev.h.tid);
	free(m);
	if (--h->members)
		return;
	idmap_take(&c->homes, h->pid);
	household_free(c, h);
}

static struct member *join(struct census *c, const struct ev_thread *ev, struct err *e)
{
	struct household *h = home_of(c, ev->pid, e);
	struct member *m = h ? calloc(1, sizeof(*m)) : NULL;

	if (!m) {
		err_set(e, ERR_FAIL, "out of memory for threads");
		return NULL;
	}
	m->ev = *ev;
	m->home = h;
	h->members++;
	if (idmap_put(&c->members, ev->h.tid, m, TASK_LIMIT, e) < 0) {
		h->members--;
		free(m);
		return NULL;
	}
	m->tracked = c->everything || ev->target || idmap_get(&c->targets, ev->pid);
	return m;
}

/* Whether the filter means this thread; a child comes with its parent unless that was meant alone.
 */
static void choose(struct census *c, struct member *m, const struct member *maker)
{
	const struct filter *f = c->filter;
	bool alone = false;
	int i;

	m->chosen = idmap_get(&c->named, m->ev.h.tid) || idmap_get(&c->named, m->ev.pid);
	for (i = 0; i < f->n_pids; i++)
		m->chosen |= f->pids[i] == m->ev.pid;
	if (maker && maker->chosen && !maker->alone)
		m->chosen |= !f->no_follow || m->ev.pid == maker->ev.pid;
	for (i = 0; i < f->n_tids; i++)
		alone |= f->tids[i] == m->ev.h.tid;
	m->alone = alone && !m->chosen;
	m->chosen |= alone;
	m->chosen &= m->tracked;
	c->n_chosen += m->chosen;
}

static int on_thread(struct census *c, const struct record *rec, struct err *e)
{
	const struct ev_thread *ev = rec->event;
	struct member *m;

	if (!rec->tid)
		return 0;
	m = idmap_get(&c->members, rec->tid);
	/* a later snapshot knows better: whose it is, its name, whether it has become a target */
	if (m && m->ev.pid != ev->pid) {
		leave(c, m);
		m = NULL;
	}
	if (m) {
		m->tracked |= ev->target != 0;
		memcpy(m->ev.comm, ev->comm, sizeof(m->ev.comm));
	} else {
		m = join(c, ev, e);
	}
	if (!m)
		return ERR_FAIL;
	if (!m->chosen) /* one that came with its parent stays */
		choose(c, m, NULL);
	if (rec->tid == m->ev.pid)
		household_text(&m->home->cmdline, rec->tail, rec->tail_len);
	return 0;
}

static int on_fd(struct census *c, const struct record *rec, struct err *e)
{
	const struct ev_fd *ev = rec->event;
	struct household *h = idmap_get(&c->homes, ev->pid);

	return h ? household_put(c, h, ev, rec->tail, rec->tail_len, e) : 0;
}

static int on_fork(struct census *c, const struct record *rec, struct err *e)
{
	const struct ev_fork *ev = rec->event;
	struct member *maker = idmap_get(&c->members, rec->tid), *m;
	struct ev_thread t = { 0 };

	if (!ev->child)
		return 0;
	m = idmap_get(&c->members, ev->child);
	if (m && (m->fresh || m->gone)) { /* its end was not seen; the number is used again */
		leave(c, m);
		maker = idmap_get(&c->members, rec->tid);
		m = NULL;
	}
	if (maker)
		t = maker->ev;
	t.h.tid = ev->child;
	t.pid = ev->child_pid;
	t.uid = ev->uid;
	t.state = 'R';
	t.start = t.runtime = 0;
	t.cgroup = ev->cgroup;
	t.target = ev->target;
	if (ev->child == ev->child_pid)
		t.parent = ev->pid;
	memcpy(t.comm, ev->comm, sizeof(t.comm));
	m = m ? m : join(c, &t, e);
	if (!m)
		return ERR_FAIL;
	m->fresh = true;
	m->tracked =
		c->everything || ev->target ||
		(!c->marked && maker && maker->tracked && (c->follow || ev->child_pid == ev->pid));
	choose(c, m, maker);
	if (maker && m->home != maker->home && ev->child == ev->child_pid)
		return household_inherit(c, m->home, maker->home, e);
	return 0;
}

static int on_exec(struct census *c, const struct record *rec, struct err *e)
{
	const struct ev_exec *ev = rec->event;
	struct member *m = idmap_get(&c->members, rec->tid), *other;
	int ret = 0;

	if (ev->old_tid && ev->old_tid != rec->tid) {
		/* a thread that is not the leader takes the leader's number */
		other = idmap_take(&c->members, ev->old_tid);
		if (m && other)
			leave(c, m);
		m = other ? other : m;
		if (other) {
			other->ev.h.tid = rec->tid;
			ret = idmap_put(&c->members, rec->tid, other, TASK_LIMIT, e);
		}
		if (ret < 0) {
			other->home->members--;
			free(other);
			return ret;
		}
	}
	if (!m)
		return 0;
	memcpy(m->ev.comm, ev->comm, sizeof(m->ev.comm));
	household_text(&m->home->cmdline, rec->tail, rec->tail_len);
	return 0;
}

/* It is a target from now on. */
static void now_tracked(struct census *c, struct member *m)
{
	if (m->tracked)
		return;
	m->tracked = true;
	choose(c, m, NULL);
}

static int on_move(struct census *c, const struct record *rec, struct err *e)
{
	const struct ev_cgroup_move *ev = rec->event;
	struct member *m = idmap_get(&c->members, ev->target);

	(void)e;
	if (!m)
		return 0;
	m->ev.cgroup = ev->cgroup;
	if (ev->wanted)
		now_tracked(c, m);
	return 0;
}

static int on_rename(struct census *c, const struct record *rec, struct err *e)
{
	const struct ev_rename *ev = rec->event;
	struct member *m = idmap_get(&c->members, rec->tid);

	(void)e;
	if (!m)
		return 0;
	memcpy(m->ev.comm, ev->comm, sizeof(m->ev.comm));
	if (ev->target)
		now_tracked(c, m);
	return 0;
}

/* It still runs until its last switch, if that is recorded. */
static int on_end(struct census *c, const struct record *rec, struct err *e)
{
	struct member *m = idmap_get(&c->members, rec->tid);

	(void)e;
	if (m && c->switches)
		m->gone = true;
	else if (m)
		leave(c, m);
	return 0;
}

static int on_switch(struct census *c, const struct record *rec, struct err *e)
{
	const struct ev_switch *ev = rec->event;
	struct member *m = rec->tid ? idmap_get(&c->members, rec->tid) : NULL;

	(void)e;
	if (m && ev->state & LINUX_TASK_GONE && !(ev->flags & SWITCH_PREEMPT)) {
		leave(c, m);
	} else if (m) {
		m->ev.state = !ev->state || ev->flags & SWITCH_PREEMPT ? 'R'
			      : ev->state & LINUX_TASK_STOPPED_TRACED  ? 'T'
			      : ev->state & LINUX_TASK_UNINTERRUPTIBLE ? 'D'
								       : 'S';
	}
	m = ev->next ? idmap_get(&c->members, ev->next) : NULL;
	if (m)
		m->ev.state = 'R';
	return 0;
}

static int on_waking(struct census *c, const struct record *rec, struct err *e)
{
	const struct ev_waking *ev = rec->event;
	struct member *m = ev->target ? idmap_get(&c->members, ev->target) : NULL;

	(void)e;
	if (m)
		m->ev.state = 'R';
	return 0;
}

static int on_syscall(struct census *c, const struct record *rec, struct err *e)
{
	const struct ev_syscall *ev = rec->event;
	bool x86 = ev->abi == ABI_X86_64 && ev->nr == c->close_call->x86_64;
	bool arm = ev->abi == ABI_AARCH64 && ev->nr == c->close_call->aarch64;
	struct member *m;

	(void)e;
	if (ev->ret != 0 || ev->flags & SYSCALL_UNFINISHED || !(x86 || arm))
		return 0;
	m = idmap_get(&c->members, rec->tid);
	if (m)
		household_drop(c, m->home, ev->fd);
	return 0;
}

/* The request of a record of group block; NULL: none. */
static const u64 *request_of(const struct record *rec)
{
	if (rec->type == EV_block_start || rec->type == EV_block_issue)
		return &((const struct ev_block_start *)rec->event)->request;
	return rec->type == EV_block_complete
		       ? &((const struct ev_block_complete *)rec->event)->request
		       : NULL;
}

bool census_chosen(const struct census *c, u32 tid)
{
	const struct member *m = tid ? idmap_get(&c->members, tid) : NULL;

	return m && m->chosen;
}

static int on_request(struct census *c, const struct record *rec, struct err *e)
{
	const u64 *request = request_of(rec);

	if (rec->type == EV_block_complete)
		idmap_take(&c->requests, *request);
	else if (rec->type == EV_block_start && census_chosen(c, rec->tid))
		return idmap_put(&c->requests, *request, c, REQUEST_LIMIT, e);
	return 0;
}

static const struct {
	u16 event;
	int (*on)(struct census *c, const struct record *rec, struct err *e);
} handlers[] = {
	{ EV_switch, on_switch },
	{ EV_waking, on_waking },
	{ EV_syscall, on_syscall },
	{ EV_fd, on_fd },
	{ EV_fork, on_fork },
	{ EV_exec, on_exec },
	{ EV_cgroup_move, on_move },
	{ EV_thread, on_thread },
	{ EV_exit, on_end },
	{ EV_rename, on_rename },
	{ EV_block_start, on_request },
	{ EV_block_complete, on_request },
};

int census_take(struct census *c, const struct record *rec, struct err *e)
{
	size_t i;

	for (i = 0; rec->event && i < sizeof(handlers) / sizeof(handlers[0]); i++)
		if (handlers[i].event == rec->type)
			return handlers[i].on(c, rec, e);
	return 0;
}

static int read_targets(struct census *c, const char *value, size_t n, struct err *e)
{
	u64 id = 0;
	size_t i;
	int ret = 0;

	c->everything = n == 3 && memcmp(value, "all", 3) == 0;
	c->marked = n == 6 && memcmp(value, "chosen", 6) == 0;
	for (i = 0; i < n && !c->everything && ret == 0; i++) {
		id = value[i] >= '0' && value[i] <= '9' ? id * 10 + (u64)(value[i] - '0') : 0;
		if (id && (i + 1 == n || value[i + 1] == ','))
			ret = mark(&c->targets, (u32)id, e);
	}
	return ret;
}

bool census_later(const struct census *c, const struct record *rec)
{
	return c->snapshot_end && rec->ts > c->snapshot_end;
}

int census_first(struct census *c, const struct record *rec, struct err *e)
{
	if (!rec->event)
		return 0;
	if (rec->type == EV_thread && !census_later(c, rec))
		return on_thread(c, rec, e);
	if (rec->type == EV_fd && !census_later(c, rec))
		return on_fd(c, rec, e);
	if (rec->type != EV_info)
		return 0;
	if (rec->tail_len > 9 && memcmp(rec->tail, "snapshot=", 9) == 0 && !c->snapshot_end)
		c->snapshot_end = rec->ts;
	if (rec->tail_len > 8 && memcmp(rec->tail, "targets=", 8) == 0)
		return read_targets(c, rec->tail + 8, rec->tail_len - 8, e);
	if (rec->tail_len > 7 && memcmp(rec->tail, "follow=", 7) == 0)
		c->follow = rec->tail[7] != '0';
	return 0;
}

bool census_wants(struct census *c, const struct record *rec)
{
	const struct field_desc *const *f = c->pid_fields[rec->type];
	const u64 *request;
	int i;

	if (!filter_chooses(c->filter))
		return true;
	request = rec->event ? request_of(rec) : NULL;
	if (request && rec->type != EV_block_start)
		return idmap_get(&c->requests, *request) != NULL;
	if (census_chosen(c, rec->tid))
		return true;
	if (counted_on(rec) != rec->stream && idmap_get(&c->left, rec->tid))
		return true;
	for (i = 0; i < 4 && f[i]; i++)
		if (census_chosen(c, (u32)field_value(f[i], rec->raw)))
			return true;
	return false;
}

int census_somebody(const struct census *c, struct err *e)
{
	return c->n_chosen ? 0
			   : err_set(e, ERR_FAIL,
				     "the filter means no process or thread of which the recording "
				     "has events");
}

void census_free(struct census *c)
{
	struct household *h;
	struct member *m;
	size_t at = 0;

	if (!c)
		return;
	while ((m = idmap_each(&c->members, &at)))
		free(m);
	at = 0;
	while ((h = idmap_each(&c->homes, &at)))
		household_free(c, h);
	idmap_free(&c->members);
	idmap_free(&c->homes);
	idmap_free(&c->targets);
	idmap_free(&c->named);
	idmap_free(&c->cgroups);
	idmap_free(&c->requests);
	idmap_free(&c->left);
	free(c);
}
