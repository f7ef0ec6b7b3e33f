// SPDX-License-Identifier: GPL-2.0-or-later
/* Whom to record. */
#include "targets.h"

#include "record/files/procfs.h"
#include "record/probes/probes.h"
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARK_ROUNDS 100

static int find_cgroups(struct targets *t, struct err *e)
{
	const struct options *o = t->options;
	struct target_cgroup *g;
	int i, ret = 0;

	t->groups = calloc(o->n_cgroups + 1, sizeof(*t->groups));
	if (!t->groups)
		return err_set(e, ERR_FAIL, "out of memory for cgroups");
	for (i = 0; i < o->n_cgroups && ret == 0; i++) {
		g = &t->groups[t->n_groups];
		ret = o->containers
			      ? cgroups_container(&t->cgroups, o->cgroups[i], g->dir, &g->mount, e)
			      : cgroups_lookup(&t->cgroups, o->cgroups[i], g->dir, &g->mount, e);
		if (ret == 0 && g->mount->hierarchy != t->groups[0].mount->hierarchy)
			ret = err_set(e, ERR_FAIL,
				      "the cgroups %.200s and %.200s are not in the same "
				      "hierarchy",
				      t->groups[0].dir, g->dir);
		t->n_groups += ret == 0;
	}
	return ret;
}

int targets_find(struct targets *ret, const struct options *o, struct err *e)
{
	struct targets *t = ret;
	int r;

	*t = (struct targets){ .options = o };
	r = cgroups_find(&t->cgroups, e);
	if (r == 0 && o->comm)
		r = comm_glob_make(&t->comm, o->comm, e);
	if (r == 0 && o->n_cgroups)
		r = find_cgroups(t, e);
	return r;
}

void targets_free(struct targets *t)
{
	free(t->groups);
	cgroups_free(&t->cgroups);
	*t = (struct targets){ 0 };
}

struct marking {
	const struct targets *targets;
	struct probes *probes;
	unsigned int pid;
	bool fresh; /* found a thread that was not marked */
};

static int mark_thread(void *arg, unsigned int tid, struct err *e)
{
	struct marking *m = arg;

	(void)e;
	if (probes_marked(m->probes, tid))
		return 0;
	m->fresh = true;
	probes_mark(m->probes, tid);
	return 0;
}

/* Threads made by marked ones are marked by the kernel side; repeat for the others. */
static int mark_process(struct marking *m, unsigned int pid, struct err *e)
{
	char path[64];
	int i, ret = 0;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	m->fresh = true;
	for (i = 0; i < MARK_ROUNDS && m->fresh && ret == 0; i++) {
		m->fresh = false;
		ret = procfs_each(path, mark_thread, m, e);
	}
	return ret;
}

/* A process whose parent is a target. */
static int mark_child(void *arg, unsigned int pid, struct err *e)
{
	struct marking *m = arg;
	char path[64], line[1024];
	struct ev_thread stat;
	bool fresh = m->fresh;
	int ret;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (probes_marked(m->probes, pid) || pid == (unsigned int)getpid() ||
	    procfs_read(path, line, sizeof(line)) < 0 ||
	    snapshot_parse_stat(&stat, line, 100) < 0 || !probes_marked(m->probes, stat.parent))
		return 0;
	ret = mark_process(m, pid, e);
	m->fresh = fresh || probes_marked(m->probes, pid);
	return ret;
}

/* Generation by generation, until a walk finds none. */
static int mark_children(struct marking *m, struct err *e)
{
	int i, ret = 0;

	m->fresh = true;
	for (i = 0; i < MARK_ROUNDS && m->fresh && ret == 0; i++) {
		m->fresh = false;
		ret = procfs_each("/proc", mark_child, m, e);
	}
	return ret;
}

static int mark_named_thread(void *arg, unsigned int tid, struct err *e)
{
	struct marking *m = arg;
	char path[64], comm[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", m->pid, tid);
	procfs_line(path, comm, sizeof(comm));
	if (!comm[0] || !comm_glob_match(&m->targets->comm, comm))
		return 0;
	/* the name of the first thread is that of the process */
	return tid == m->pid ? mark_process(m, m->pid, e) : mark_thread(m, tid, e);
}

static int mark_named(void *arg, unsigned int pid, struct err *e)
{
	struct marking *m = arg;
	char path[64];

	if (pid == (unsigned int)getpid())
		return 0;
	m->pid = pid;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	return procfs_each(path, mark_named_thread, m, e);
}

/* In version 1 threads of one process may be in different groups. */
static int mark_members(void *arg, const char *dir, const char *path, struct err *e)
{
	struct marking *m = arg;
	bool processes = m->targets->groups[0].mount->version2;
	char file[PATH_MAX + 16];
	unsigned int number;
	int ret = 0;
	FILE *f;

	(void)path;
	snprintf(file, sizeof(file), "%s/%s", dir, processes ? "cgroup.procs" : "tasks");
	f = fopen(file, "re");
	while (f && ret == 0 && fscanf(f, "%u", &number) == 1)
		ret = processes ? mark_process(m, number, e) : mark_thread(m, number, e);
	if (f)
		fclose(f);
	return ret;
}

int targets_mark(const struct targets *t, struct probes *probes, bool first, struct err *e)
{
	struct marking m = { .targets = t, .probes = probes };
	const struct options *o = t->options;
	char path[64];
	int i, ret = 0;

	for (i = 0; i < o->n_pids && ret == 0; i++) {
		snprintf(path, sizeof(path), "/proc/%u/task", o->pids[i]);
		if (access(path, R_OK) < 0 && first)
			return err_set(e, ERR_FAIL,
				       "no process %u; pidof NAME or ps -e finds "
				       "processes",
				       o->pids[i]);
		ret = mark_process(&m, o->pids[i], e);
	}
	if (ret == 0 && o->n_pids && o->follow && first)
		ret = mark_children(&m, e);
	if (ret == 0 && o->comm)
		ret = procfs_each("/proc", mark_named, &m, e);
	for (i = 0; i < t->n_groups && ret == 0; i++)
		ret = cgroups_walk(t->groups[i].mount, t->groups[i].dir, mark_members, &m, e);
	return ret;
}
