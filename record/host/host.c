// SPDX-License-Identifier: GPL-2.0-or-later
/* What a laptop has to know of the host. */
#include "host.h"

#include "containers.h"
#include "format/grow.h"
#include "format/syscall.h"
#include "record/files/procfs.h"
#include "record/probes/shape_table.h"
#include "record/pump/records.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define CPU_DIR	     "/sys/devices/system/cpu"
#define QUOTAS_MAX   1000
#define SEARCH_SHARE 1000 /* of the time goes to searching cgroups for quotas, weights */
#define NAMES_LINE   3800 /* bytes of names of system calls in one fact */

/* The value of a key at the start of a line, without quotes; empty if there is none. */
static void value_of(const char *path, const char *key, char *value, size_t size)
{
	FILE *f = fopen(path, "re");
	char line[1024], *v;

	value[0] = '\0';
	while (f && !value[0] && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, strlen(key)) != 0)
			continue;
		v = line + strlen(key);
		v += strspn(v, " \t:=\"");
		v[strcspn(v, "\"\n")] = '\0';
		snprintf(value, size, "%s", v);
	}
	if (f)
		fclose(f);
}

/* "0:0:0 1:0:1": CPU, socket, core. */
static void topology(char *text, size_t size)
{
	long cpu, n = sysconf(_SC_NPROCESSORS_CONF);
	size_t at = 0;
	char path[128];

	text[0] = '\0';
	for (cpu = 0; cpu < n && at + 40 < size; cpu++) {
		snprintf(path, sizeof(path), CPU_DIR "/cpu%ld/topology/physical_package_id", cpu);
		at += snprintf(text + at, size - at, "%s%ld:%lld", at ? " " : "", cpu,
			       (long long)procfs_number(path, -1));
		snprintf(path, sizeof(path), CPU_DIR "/cpu%ld/topology/core_id", cpu);
		at += snprintf(text + at, size - at, ":%lld", (long long)procfs_number(path, -1));
	}
}

static int put_facts(struct pump *p, struct err *e)
{
	static const struct {
		const char *key, *path, *prefix; /* prefix: of the line; NULL: the first line */
	} facts[] = {
		{ "distribution", "/etc/os-release", "PRETTY_NAME" },
		{ "boot_id", "/proc/sys/kernel/random/boot_id", NULL },
		{ "clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource",
		  NULL },
		{ "cpus_online", CPU_DIR "/online", NULL },
		{ "cpus_possible", CPU_DIR "/possible", NULL },
		{ "cpu_model", "/proc/cpuinfo", "model name" },
		{ "cpu_governor", CPU_DIR "/cpu0/cpufreq/scaling_governor", NULL },
		{ "memory", "/proc/meminfo", "MemTotal" },
		{ "autogroup", "/proc/sys/kernel/sched_autogroup_enabled", NULL },
	};
	char line[4000];
	struct utsname u;
	size_t i;
	int ret;

	if (uname(&u) < 0)
		return err_errno(e, ERR_FAIL, "cannot determine the host name");
	ret = records_info(p, e, "host=%s", u.nodename);
	if (ret == 0)
		ret = records_info(p, e, "kernel=%s", u.release);
	if (ret == 0)
		ret = records_info(p, e, "machine=%s", u.machine);
	if (ret == 0)
		ret = records_info(p, e, "cpus=%ld", sysconf(_SC_NPROCESSORS_ONLN));
	for (i = 0; i < sizeof(facts) / sizeof(facts[0]) && ret == 0; i++) {
		if (facts[i].prefix)
			value_of(facts[i].path, facts[i].prefix, line, sizeof(line));
		else
			procfs_line(facts[i].path, line, sizeof(line));
		if (line[0])
			ret = records_info(p, e, "%s=%s", facts[i].key, line);
	}
	topology(line, sizeof(line));
	return ret < 0 ? ret : records_info(p, e, "topology=%s", line);
}

/* The numbers of this machine's system calls, for a reader that knows fewer. */
static int put_names(struct pump *p, struct err *e)
{
	const struct syscall_desc *d;
	char line[NAMES_LINE + 64] = "";
	int ret = 0, n = 0;
	s32 nr;

	for (d = syscalls; d->name && ret == 0; d++) {
		nr = shape_table_number(d->name);
		if (nr >= 0)
			n += snprintf(line + n, sizeof(line) - n, " %d:%s", nr, d->name);
		if (n < NAMES_LINE)
			continue;
		ret = records_info(p, e, "syscalls.%u=%s", syscall_own_abi(), line + 1);
		n = 0;
	}
	return ret < 0 || !n ? ret
			     : records_info(p, e, "syscalls.%u=%s", syscall_own_abi(), line + 1);
}

static int put_disks(struct pump *p, struct err *e)
{
	DIR *d = opendir("/sys/block");
	unsigned int major, minor;
	char path[512], line[64];
	struct dirent *f;
	int ret = 0;

	while (d && ret == 0 && (f = readdir(d))) {
		struct ev_disk ev = { .h = { .type = EV_disk } };

		snprintf(path, sizeof(path), "/sys/block/%s/dev", f->d_name);
		procfs_line(path, line, sizeof(line));
		if (sscanf(line, "%u:%u", &major, &minor) != 2)
			continue;
		ev.dev = major << 20 | minor;
		snprintf(path, sizeof(path), "/sys/block/%s/size", f->d_name);
		ev.sectors = procfs_number(path, 0);
		snprintf(path, sizeof(path), "/sys/block/%s/queue/rotational", f->d_name);
		ev.rotational = procfs_number(path, 0) == 1;
		ret = records_put(p, &ev, sizeof(ev), f->d_name, e);
	}
	if (d)
		closedir(d);
	return ret;
}

static int put_mounts(struct pump *p, struct err *e)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[4096], point[1024], type[64], source[512], text[1700], *rest;
	unsigned int major, minor;
	int ret = 0;

	while (f && ret == 0 && fgets(line, sizeof(line), f)) {
		struct ev_mount ev = { .h = { .type = EV_mount } };

		rest = strstr(line, " - ");
		if (!rest || sscanf(line, "%*d %*d %u:%u %*s %1023s", &major, &minor, point) != 3 ||
		    sscanf(rest, " - %63s %511s", type, source) != 2)
			continue;
		ev.dev = major << 20 | minor;
		snprintf(text, sizeof(text), "%s %s %s", type, source, point);
		ret = records_put(p, &ev, sizeof(ev), text, e);
	}
	if (f)
		fclose(f);
	return ret;
}

struct putting {
	struct pump *pump;
	const struct targets *targets;
	struct container_files files;
};

static int put_cgroup(void *arg, const char *dir, const char *path, struct err *e)
{
	struct ev_cgroup ev = { .h = { .type = EV_cgroup }, .id = cgroups_id(dir) };
	struct ev_container of = { .h = { .type = EV_container }, .cgroup = ev.id };
	struct putting *p = arg;
	struct container c;
	char text[256];
	int ret = records_put(p->pump, &ev, sizeof(ev), path, e);

	if (ret < 0 || !container_of_cgroup(&c, dir, path, &p->files))
		return ret;
	snprintf(text, sizeof(text), "%s %s %s", c.runtime, c.id, c.name);
	return records_put(p->pump, &of, sizeof(of), text, e);
}

int host_put(struct pump *p, const struct targets *t, struct err *e)
{
	const struct cgroup_mount *cpu = t->cgroups.cpu;
	struct putting put = { .pump = p, .targets = t };
	int ret = put_facts(p, e);

	if (ret == 0)
		ret = put_names(p, e);
	if (ret == 0)
		ret = put_disks(p, e);
	if (ret == 0 && !t->options->hide)
		ret = put_mounts(p, e);
	if (ret == 0 && cpu)
		ret = records_info(p, e, "cgroups=%s", cpu->version2 ? "2" : "1");
	if (ret == 0 && cpu && !t->options->hide)
		ret = cgroups_walk(cpu, cpu->path, put_cgroup, &put, e);
	container_files_end(&put.files);
	return ret;
}

/* The number after a word in cpu.stat; 0 if there is none. */
static u64 stat_of(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at ? strtoull(at + strlen(word), NULL, 10) : 0;
}

/* Quota and period in us, of either version; false: no limit. */
static bool quota_of(const char *dir, bool version2, u64 *quota, u64 *period)
{
	char path[PATH_MAX + 32], text[128], *end;
	long long q;

	snprintf(path, sizeof(path), "%s/%s", dir, version2 ? "cpu.max" : "cpu.cfs_quota_us");
	procfs_line(path, text, sizeof(text));
	q = strtoll(text, &end, 10);
	if (end == text || q <= 0)
		return false;
	*quota = q;
	*period = strtoull(end, NULL, 10);
	if (!version2) {
		snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", dir);
		*period = procfs_number(path, 0);
	}
	return true;
}

static void forget_dirs(struct quotas *q)
{
	while (q->n > 0)
		free(q->dirs[--q->n]);
	free(q->dirs);
	q->dirs = NULL;
}

void quotas_free(struct quotas *q)
{
	forget_dirs(q);
	cgroup_weights_free(&q->weights);
	pressure_end(&q->pressures);
	accept_queues_end(&q->accepts);
	q->due = 0;
}

void quotas_restart(struct quotas *q)
{
	cgroup_weights_free(&q->weights);
	q->due = 0;
}

struct seeking {
	struct pump *pump;
	const struct cgroup_mount *cpu;
	struct quotas *quotas;
};

static int look_at_group(void *arg, const char *dir, const char *path, struct err *e)
{
	struct seeking *s = arg;
	struct quotas *q = s->quotas;
	u64 quota, period;

	if (cgroup_weights_look(&q->weights, s->pump, s->cpu, dir, path, e) < 0)
		return ERR_FAIL;
	if (q->n == QUOTAS_MAX || !quota_of(dir, s->cpu->version2, &quota, &period))
		return 0;
	if (GROW(q->dirs, q->n, "cgroups", e) < 0)
		return ERR_FAIL;
	q->dirs[q->n] = strdup(dir);
	q->n += q->dirs[q->n] != NULL;
	return 0;
}

static int put_throttle(struct pump *p, const char *dir, bool version2, struct err *e)
{
	struct ev_throttle ev = { .h = { .type = EV_throttle } };
	char file[PATH_MAX + 16], text[1024];
	u64 quota = 0, period = 0;

	ev.cgroup = cgroups_id(dir);
	if (!ev.cgroup) /* gone */
		return 0;
	quota_of(dir, version2, &quota, &period);
	snprintf(file, sizeof(file), "%s/cpu.stat", dir);
	procfs_read(file, text, sizeof(text));
	ev.periods = stat_of(text, "nr_periods ");
	ev.throttled = stat_of(text, "nr_throttled ");
	ev.time = version2 ? stat_of(text, "throttled_usec ") * 1000
			   : stat_of(text, "throttled_time ");
	ev.quota = quota * 1000;
	ev.period = period * 1000;
	return records_put(p, &ev, sizeof(ev), NULL, e);
}

static bool has_quota(const struct quotas *q, const char *dir)
{
	size_t i;

	for (i = 0; i < q->n; i++)
		if (strcmp(q->dirs[i], dir) == 0)
			return true;
	return false;
}

int host_put_throttles(struct pump *p, const struct targets *t, struct quotas *q, struct err *e)
{
	const struct cgroup_mount *cpu = t->cgroups.cpu;
	struct seeking s = { p, cpu, q };
	u64 begin = records_now();
	const char *dir;
	size_t i;
	int k, ret = 0;

	if (!cpu)
		return 0;
	if (begin >= q->due) {
		forget_dirs(q);
		ret = cgroups_walk(cpu, cpu->path, look_at_group, &s, e);
		cgroup_weights_looked(&q->weights);
		if (!safe_stopping()) /* else the walk may have ended early */
			q->due = records_now() + (records_now() - begin) * SEARCH_SHARE;
	}
	for (i = 0; i < q->n && ret == 0; i++)
		ret = put_throttle(p, q->dirs[i], cpu->version2, e);
	for (k = 0; ret == 0 && (dir = pressure_cpu_dir(&q->pressures, t, k)); k++)
		if (!has_quota(q, dir)) /* that it has none is a fact, too */
			ret = put_throttle(p, dir, cpu->version2, e);
	return ret;
}
