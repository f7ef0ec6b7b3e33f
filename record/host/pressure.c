// SPDX-License-Identifier: GPL-2.0-or-later
/* PSI, CPU times and memory, from /proc and the files of cgroups. */
#include "pressure.h"

#include "record/files/procfs.h"
#include "record/pump/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEARCH_SHARE 1000	/* one part of so many of the time goes to looking for cgroups */
#define READ_SHARE   200	/* and to reading their files */
#define TEXT_BYTES   (16 << 10) /* of /proc/vmstat and memory.stat */

static const char *const resources[] = { "cpu", "io", "memory" };

u64 pressure_value(const char *text, const char *word)
{
	size_t n = strlen(word);
	const char *line;

	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, word, n) == 0 && (line[n] == ' ' || line[n] == ':'))
			return strtoull(line + n + 1, NULL, 10);
	}
	return 0;
}

u64 pressure_total(const char *text, const char *word)
{
	const char *line = strstr(text, word), *end = line ? strchr(line, '\n') : NULL;
	const char *total = line ? strstr(line, "total=") : NULL;

	return total && (!end || total < end) ? strtoull(total + 6, NULL, 10) * 1000 : 0;
}

/* ---- which cgroups ---- */

static void forget(struct pressures *s)
{
	while (s->n > 0)
		free(s->watched[--s->n].dir);
}

void pressure_end(struct pressures *s)
{
	forget(s);
	*s = (struct pressures){ 0 };
}

static bool is_watched(const struct pressures *s, const char *dir)
{
	int i;

	for (i = 0; i < s->n; i++)
		if (strcmp(s->watched[i].dir, dir) == 0)
			return true;
	return false;
}

/* The cgroup and all above it, without the root: a limit may be at any level. */
static void watch(struct pressures *s, const struct cgroup_mount *m, const char *path)
{
	char dir[PATH_MAX];
	size_t root = strlen(m->path);

	if (strstr(path, "/.."))
		return; /* outside of what is mounted here */
	snprintf(dir, sizeof(dir), "%s%.3000s", m->path, path);
	while (strlen(dir) > root + 1 && s->n < WATCHED_MAX && !is_watched(s, dir)) {
		s->watched[s->n].dir = strdup(dir);
		s->watched[s->n].mount = m;
		if (!s->watched[s->n].dir)
			return;
		s->n++;
		*strrchr(dir, '/') = '\0';
	}
}

struct search {
	struct pressures *pressures;
	const struct probes *probes;
	const struct targets *targets;
};

static int look_at_process(void *arg, unsigned int pid, struct err *e)
{
	const struct search *s = arg;
	const struct cgroups *c = &s->targets->cgroups;
	char path[64], text[4096], copy[4096];
	const char *group;
	int i;

	(void)e;
	if (!s->targets->options->all && !probes_marked(s->probes, pid))
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	if (procfs_read(path, text, sizeof(text)) < 0)
		return 0;
	for (i = 0; i < c->n_mounts; i++) {
		if (!c->mounts[i].version2 && &c->mounts[i] != c->cpu && &c->mounts[i] != c->memory)
			continue;
		memcpy(copy, text, sizeof(copy));
		group = cgroups_path(copy, c->mounts[i].hierarchy);
		if (group)
			watch(s->pressures, &c->mounts[i], group);
	}
	return s->pressures->n == WATCHED_MAX ? -1 : 0;
}

static void search(struct pressures *s, const struct probes *probes, const struct targets *t)
{
	struct search search = { s, probes, t };
	u64 begin = records_now();

	/* those of processes that have ended stay: what they did until then counts */
	if (s->n == WATCHED_MAX)
		forget(s);
	procfs_each("/proc", look_at_process, &search, NULL);
	s->search = records_now() + (records_now() - begin) * SEARCH_SHARE;
}

const char *pressure_cpu_dir(const struct pressures *s, const struct targets *t, int i)
{
	int k;

	for (k = 0; k < s->n; k++)
		if (s->watched[k].mount == t->cgroups.cpu && i-- == 0)
			return s->watched[k].dir;
	return NULL;
}

/* ---- what is read ---- */

static u64 from_ticks(unsigned long long ticks)
{
	static const u64 second = 1000000000;
	long hz = sysconf(_SC_CLK_TCK);

	return hz > 0 ? ticks * (second / (u64)hz) : 0;
}

static int put_cpus(struct pump *p, struct err *e)
{
	unsigned long long v[8];
	FILE *f = fopen("/proc/stat", "re"); /* of /proc itself */
	char line[512];
	int ret = 0;

	while (f && ret == 0 && fgets(line, sizeof(line), f)) {
		struct ev_cpu_time ev = { .h = { .type = EV_cpu_time } };

		if (strncmp(line, "cpu", 3) != 0)
			break;
		if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &ev.cpu, &v[0],
			   &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) != 9 ||
		    line[3] == ' ')
			continue;
		ev.user = from_ticks(v[0]);
		ev.nice = from_ticks(v[1]);
		ev.system = from_ticks(v[2]);
		ev.idle = from_ticks(v[3]);
		ev.iowait = from_ticks(v[4]);
		ev.irq = from_ticks(v[5]);
		ev.softirq = from_ticks(v[6]);
		ev.steal = from_ticks(v[7]);
		ret = records_put(p, &ev, sizeof(ev), NULL, e);
	}
	if (f)
		fclose(f);
	return ret;
}

/* dir is NULL for the host. */
static int put_psi(struct pump *p, const char *dir, const char *path, struct err *e)
{
	struct ev_psi ev = { .h = { .type = EV_psi }, .cgroup = dir ? cgroups_id(dir) : 0 };
	char file[PATH_MAX + 32], text[512];
	int ret = 0;

	if (dir && !ev.cgroup) /* gone */
		return 0;
	for (ev.resource = 0; ev.resource < 3 && ret == 0; ev.resource++) {
		snprintf(file, sizeof(file), "%s/%s%s", dir ? dir : "/proc/pressure",
			 resources[ev.resource], dir ? ".pressure" : "");
		if (procfs_read(file, text, sizeof(text)) <= 0)
			continue; /* the kernel has none, or it is switched off */
		ev.h.ts = 0;
		ev.some = pressure_total(text, "some ");
		ev.full = pressure_total(text, "full ");
		ret = records_put(p, &ev, sizeof(ev), path, e);
	}
	return ret;
}

static int put_host_memory(struct pump *p, struct err *e)
{
	struct ev_host_memory ev = { .h = { .type = EV_host_memory } };
	static const char *const stalls[] = { "allocstall_dma", "allocstall_dma32",
					      "allocstall_normal", "allocstall_movable",
					      "allocstall_device" };
	char *text = malloc(TEXT_BYTES);
	size_t i;

	if (!text)
		return err_set(e, ERR_FAIL, "out of memory");
	if (procfs_read("/proc/meminfo", text, TEXT_BYTES) > 0) {
		ev.total = pressure_value(text, "MemTotal") << 10;
		ev.available = pressure_value(text, "MemAvailable") << 10;
		ev.swap_total = pressure_value(text, "SwapTotal") << 10;
		ev.swap_free = pressure_value(text, "SwapFree") << 10;
	}
	if (procfs_read("/proc/vmstat", text, TEXT_BYTES) > 0) {
		for (i = 0; i < sizeof(stalls) / sizeof(stalls[0]); i++)
			ev.stalls += pressure_value(text, stalls[i]);
		ev.major_faults = pressure_value(text, "pgmajfault");
		ev.reclaimed = pressure_value(text, "pgsteal_direct");
		ev.refaults = pressure_value(text, "workingset_refault_file");
		ev.swapped_in = pressure_value(text, "pswpin");
		ev.swapped_out = pressure_value(text, "pswpout");
		ev.oom_kill = pressure_value(text, "oom_kill");
	}
	free(text);
	return records_put(p, &ev, sizeof(ev), NULL, e);
}

/* A number from a file of a cgroup; "max", and what is as large as no host has, is 0. */
static u64 number_of(const char *dir, const char *name)
{
	char file[PATH_MAX + 64];
	u64 v;

	snprintf(file, sizeof(file), "%s/%s", dir, name);
	v = procfs_number(file, 0);
	return v >> 60 ? 0 : v;
}

static void memory_v2(struct ev_cgroup_memory *ev, const char *dir, char *text)
{
	char file[PATH_MAX + 32];

	ev->current = number_of(dir, "memory.current");
	ev->swap = number_of(dir, "memory.swap.current");
	ev->max = number_of(dir, "memory.max");
	ev->high = number_of(dir, "memory.high");
	snprintf(file, sizeof(file), "%s/memory.events", dir);
	if (procfs_read(file, text, TEXT_BYTES) > 0) {
		ev->hit_high = pressure_value(text, "high");
		ev->hit_max = pressure_value(text, "max");
		ev->oom = pressure_value(text, "oom");
		ev->oom_kill = pressure_value(text, "oom_kill");
	}
	snprintf(file, sizeof(file), "%s/memory.stat", dir);
	if (procfs_read(file, text, TEXT_BYTES) > 0) {
		ev->major_faults = pressure_value(text, "pgmajfault");
		ev->reclaimed = pressure_value(text, "pgsteal_direct");
		ev->refaults = pressure_value(text, "workingset_refault_file");
	}
}

static void memory_v1(struct ev_cgroup_memory *ev, const char *dir, char *text)
{
	char file[PATH_MAX + 32];

	ev->current = number_of(dir, "memory.usage_in_bytes");
	ev->max = number_of(dir, "memory.limit_in_bytes");
	ev->hit_max = number_of(dir, "memory.failcnt");
	snprintf(file, sizeof(file), "%s/memory.oom_control", dir);
	if (procfs_read(file, text, TEXT_BYTES) > 0)
		ev->oom_kill = pressure_value(text, "oom_kill");
	snprintf(file, sizeof(file), "%s/memory.stat", dir);
	if (procfs_read(file, text, TEXT_BYTES) > 0) {
		ev->swap = pressure_value(text, "total_swap");
		ev->major_faults = pressure_value(text, "total_pgmajfault");
		ev->refaults = pressure_value(text, "total_workingset_refault_file");
	}
}

static int put_memory(struct pump *p, const struct watched *w, const char *path, struct err *e)
{
	struct ev_cgroup_memory ev = { .h = { .type = EV_cgroup_memory } };
	char file[PATH_MAX + 64], *text;

	snprintf(file, sizeof(file), "%s/%s", w->dir,
		 w->mount->version2 ? "memory.current" : "memory.usage_in_bytes");
	ev.cgroup = cgroups_id(w->dir);
	/* gone, or without the controller */
	if (!ev.cgroup || access(file, R_OK) < 0) /* of a cgroup file system */
		return 0;
	text = malloc(TEXT_BYTES);
	if (!text)
		return err_set(e, ERR_FAIL, "out of memory");
	if (w->mount->version2)
		memory_v2(&ev, w->dir, text);
	else
		memory_v1(&ev, w->dir, text);
	free(text);
	return records_put(p, &ev, sizeof(ev), path, e);
}

static int put_groups(struct pump *p, const struct targets *t, const struct pressures *s,
		      struct err *e)
{
	int i, ret = 0;

	for (i = 0; i < s->n && ret == 0; i++) {
		const struct watched *w = &s->watched[i];
		const char *path = t->options->hide ? NULL : w->dir + strlen(w->mount->path);

		if (w->mount->version2)
			ret = put_psi(p, w->dir, path, e);
		if (ret == 0 && (w->mount->version2 || w->mount == t->cgroups.memory))
			ret = put_memory(p, w, path, e);
	}
	return ret;
}

int pressure_read(struct pump *p, const struct probes *probes, const struct targets *t,
		  struct pressures *s, bool at_once, struct err *e)
{
	u64 begin = records_now();
	int ret;

	if (!(t->options->groups & 1u << GROUP_pressure) || (!at_once && begin < s->due))
		return 0;
	if (begin >= s->search)
		search(s, probes, t);
	begin = records_now();
	ret = put_cpus(p, e);
	if (ret == 0)
		ret = put_psi(p, NULL, NULL, e);
	if (ret == 0)
		ret = put_host_memory(p, e);
	if (ret == 0)
		ret = put_groups(p, t, s, e);
	s->due = records_now() + (records_now() - begin) * READ_SHARE;
	return ret;
}
