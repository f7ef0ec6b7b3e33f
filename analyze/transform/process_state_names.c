// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads that a filter's names and cgroups mean: known before the first state is. */
#include "process_state.h"

#include <fnmatch.h>
#include <string.h>

static int mark(struct idmap *m, u64 id, struct err *e)
{
	return idmap_put(m, id, m, TASK_LIMIT, e);
}

static bool name_matches(const struct filter *f, const comm16 comm)
{
	char name[sizeof(comm16) + 1] = "";
	int i;

	memcpy(name, comm, sizeof(comm16));
	for (i = 0; i < f->n_comms; i++)
		if (fnmatch(f->comms[i], name, 0) == 0)
			return true;
	return false;
}

/* Which thread a record names, and how; 0: none. */
static u32 named(const struct record *rec, const char **ret_comm)
{
	const void *ev = rec->event;

	*ret_comm = NULL;
	if (!ev)
		return 0;
	if (rec->type == EV_thread)
		*ret_comm = ((const struct ev_thread *)ev)->comm;
	else if (rec->type == EV_exec)
		*ret_comm = ((const struct ev_exec *)ev)->comm;
	else if (rec->type == EV_rename)
		*ret_comm = ((const struct ev_rename *)ev)->comm;
	else if (rec->type == EV_fork)
		*ret_comm = ((const struct ev_fork *)ev)->comm;
	return rec->type == EV_fork ? ((const struct ev_fork *)ev)->child : rec->tid;
}

/* True for the filter's cgroup and those below it. */
static bool path_matches(const struct filter *f, const char *path, size_t n)
{
	static const char mount[] = "/sys/fs/cgroup";
	const char *wanted = f->cgroup;
	size_t k;

	if (strncmp(wanted, mount, sizeof(mount) - 1) == 0)
		wanted += sizeof(mount) - 1;
	k = strlen(wanted);
	while (k && wanted[k - 1] == '/')
		k--;
	return n >= k && memcmp(path, wanted, k) == 0 && (n == k || path[k] == '/');
}

static int note_cgroup(struct process_state *p, const struct record *rec, struct err *e)
{
	u64 id;

	if (!rec->event || (rec->type != EV_cgroup && rec->type != EV_cgroup_made))
		return 0;
	id = rec->type == EV_cgroup ? ((const struct ev_cgroup *)rec->event)->id
				    : ((const struct ev_cgroup_made *)rec->event)->id;
	return path_matches(p->filter, rec->tail, rec->tail_len) ? mark(&p->cgroups, id, e) : 0;
}

/* Which thread a record puts into which cgroup; 0: none. */
static u32 grouped(const struct record *rec, u64 *ret_cgroup)
{
	const void *ev = rec->event;

	*ret_cgroup = 0;
	if (!ev)
		return 0;
	if (rec->type == EV_thread)
		*ret_cgroup = ((const struct ev_thread *)ev)->cgroup;
	else if (rec->type == EV_fork)
		*ret_cgroup = ((const struct ev_fork *)ev)->cgroup;
	else if (rec->type == EV_cgroup_move)
		*ret_cgroup = ((const struct ev_cgroup_move *)ev)->cgroup;
	if (rec->type == EV_fork)
		return ((const struct ev_fork *)ev)->child;
	return rec->type == EV_cgroup_move ? ((const struct ev_cgroup_move *)ev)->target : rec->tid;
}

static int note_thread(struct process_state *p, const struct record *rec, struct err *e)
{
	const char *comm;
	u64 cgroup;
	u32 tid = named(rec, &comm);

	if (comm && tid && name_matches(p->filter, comm))
		return mark(&p->named, tid, e);
	tid = grouped(rec, &cgroup);
	return tid && cgroup && idmap_get(&p->cgroups, cgroup) ? mark(&p->named, tid, e) : 0;
}

/* Both kinds of names are in group core and in the recorder's stream. */
static int walk(struct process_state *p, struct reader *r,
		int (*on)(struct process_state *p, const struct record *rec, struct err *e),
		struct err *e)
{
	struct record rec;
	int ret;

	reader_excerpt(r, UINT64_MAX, UINT64_MAX, 1u << GROUP_core);
	while ((ret = reader_next(r, &rec, e)) > 0) {
		ret = on(p, &rec, e);
		if (ret < 0)
			break;
	}
	reader_rewind(r);
	reader_limit(r, 0, UINT64_MAX);
	return ret;
}

int process_state_names(struct process_state *p, struct reader *r, struct err *e)
{
	int ret = 0;

	if (p->filter->cgroup)
		ret = walk(p, r, note_cgroup, e);
	if (ret == 0 && p->filter->cgroup && !p->cgroups.n)
		return err_set(e, ERR_FAIL, "the recording knows no cgroup %.200s",
			       p->filter->cgroup);
	if (ret == 0 && (p->filter->n_comms || p->filter->cgroup))
		ret = walk(p, r, note_thread, e);
	return ret;
}
