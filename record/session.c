// SPDX-License-Identifier: GPL-2.0-or-later
/* What a recording says of its host, its clocks and itself. */
#include "session.h"

#include "format/version.h"
#include "made.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define CLOCK_TRIES 20

/* First line of a file, without its end; empty if there is none. */
static void read_line(const char *path, char *line, int size)
{
	FILE *f = fopen(path, "re");

	line[0] = '\0';
	if (!f)
		return;
	if (fgets(line, size, f))
		line[strcspn(line, "\n")] = '\0';
	fclose(f);
}

/* PRETTY_NAME of os-release(5), without its quotes. */
static void distribution(char *name, int size)
{
	static const char key[] = "PRETTY_NAME=";
	FILE *f = fopen("/etc/os-release", "re");
	char line[256];

	name[0] = '\0';
	while (f && fgets(line, sizeof(line), f)) {
		char *v = line + sizeof(key) - 1;

		if (strncmp(line, key, sizeof(key) - 1) != 0)
			continue;
		v += *v == '"';
		v[strcspn(v, "\"\n")] = '\0';
		snprintf(name, size, "%s", v);
		break;
	}
	if (f)
		fclose(f);
}

static int put_host(struct pump *p, struct err *e)
{
	static const struct {
		const char *key, *path;
	} files[] = {
		{ "boot_id", "/proc/sys/kernel/random/boot_id" },
		{ "clocksource",
		  "/sys/devices/system/clocksource/clocksource0/current_clocksource" },
		{ "cpus_online", "/sys/devices/system/cpu/online" },
		{ "cpus_possible", "/sys/devices/system/cpu/possible" },
	};
	char line[256];
	struct utsname u;
	size_t i;
	int ret;

	if (uname(&u) < 0)
		return err_errno(e, ERR_FAIL, "cannot tell the name of this host");
	ret = made_info(p, e, "host=%s", u.nodename);
	if (ret == 0)
		ret = made_info(p, e, "kernel=%s", u.release);
	if (ret == 0)
		ret = made_info(p, e, "machine=%s", u.machine);
	distribution(line, sizeof(line));
	if (ret == 0)
		ret = made_info(p, e, "distribution=%s", line);
	if (ret == 0)
		ret = made_info(p, e, "cpus=%ld", sysconf(_SC_NPROCESSORS_ONLN));
	for (i = 0; i < sizeof(files) / sizeof(files[0]) && ret == 0; i++) {
		read_line(files[i].path, line, sizeof(line));
		ret = made_info(p, e, "%s=%s", files[i].key, line);
	}
	return ret;
}

static int put_command_line(struct pump *p, int argc, char **argv, struct err *e)
{
	char text[2048] = "";
	int i;

	for (i = 0; i < argc; i++) {
		strncat(text, i ? " " : "", sizeof(text) - strlen(text) - 1);
		strncat(text, argv[i], sizeof(text) - strlen(text) - 1);
	}
	return made_info(p, e, "command=%s", text);
}

/* Who and what is recorded; the replay relies on these. */
static int put_scope(struct pump *p, const struct options *o, struct err *e)
{
	static const char *const names[GROUP_MAX] = {
#define GROUP(id, name, asked, doc) [id] = #name,
#include "format/groups.def"
#undef GROUP
	};
	char text[TARGETS_MAX * 11 + 8] = "";
	int i, n = 0, ret;

	for (i = 0; i < GROUP_MAX; i++)
		if (names[i] && o->groups & 1u << i)
			n += snprintf(text + n, sizeof(text) - n, "%s%s", n ? "," : "", names[i]);
	ret = made_info(p, e, "groups=%s", text);
	for (i = n = 0; i < o->n_pids; i++)
		n += snprintf(text + n, sizeof(text) - n, "%s%u", n ? "," : "", o->pids[i]);
	if (ret == 0)
		ret = made_info(p, e, "targets=%s", o->all ? "all" : text);
	if (ret == 0)
		ret = made_info(p, e, "follow=%d", o->follow);
	if (ret == 0)
		ret = made_info(p, e, "ring=%llu", (unsigned long long)o->ring);
	return ret;
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
		read_line(path, line, sizeof(line));
		if (sscanf(line, "%u:%u", &major, &minor) != 2)
			continue;
		ev.dev = major << 20 | minor;
		snprintf(path, sizeof(path), "/sys/block/%s/size", f->d_name);
		read_line(path, line, sizeof(line));
		ev.sectors = strtoull(line, NULL, 10);
		snprintf(path, sizeof(path), "/sys/block/%s/queue/rotational", f->d_name);
		read_line(path, line, sizeof(line));
		ev.rotational = line[0] == '1';
		ret = made_put(p, &ev, sizeof(ev), f->d_name, e);
	}
	if (d)
		closedir(d);
	return ret;
}

static int put_sites(struct pump *p, const struct probes *probes, struct err *e)
{
	const struct sites *sites = probes_sites(probes);
	int i, ret = 0;

	for (i = 0; ret == 0 && i < sites->n; i++) {
		const struct site *s = &sites->list[i];
		struct ev_site ev = {
			.h = { .type = EV_site },
			.offset = s->sym.offset,
			.address = s->sym.address,
			.id = i,
			.flags = SITE_ENTRY | SITE_RETURN |
				 (s->sym.skipped_endbr ? SITE_SKIPPED_ENDBR : 0),
		};

		ret = made_put(p, &ev, sizeof(ev), s->text, e);
	}
	return ret;
}

int session_begin(struct pump *p, const struct probes *probes, const struct options *o, int argc,
		  char **argv, struct err *e)
{
	int ret = made_info(p, e, "obsrec=%s", OBS_VERSION);

	if (ret == 0)
		ret = put_host(p, e);
	if (ret == 0)
		ret = put_command_line(p, argc, argv, e);
	if (ret == 0)
		ret = put_scope(p, o, e);
	if (ret == 0)
		ret = made_info(p, e, "ring_kind=%s", probes_own_rings(probes) ? "own" : "ringbuf");
	if (ret == 0)
		ret = put_disks(p, e);
	if (ret == 0)
		ret = put_sites(p, probes, e);
	if (ret == 0)
		ret = session_tick(p, e);
	return ret;
}

static u64 read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* The others are read between two readings of MONOTONIC; the tightest pair of several is kept. */
static int put_clocks(struct pump *p, struct err *e)
{
	struct ev_clock ev = { .h = { .type = EV_clock }, .spread = UINT64_MAX };
	u64 a, b, boot, real;
	int i;

	for (i = 0; i < CLOCK_TRIES; i++) {
		a = read_clock(CLOCK_MONOTONIC);
		boot = read_clock(CLOCK_BOOTTIME);
		real = read_clock(CLOCK_REALTIME);
		b = read_clock(CLOCK_MONOTONIC);
		if (b - a >= ev.spread)
			continue;
		ev.monotonic = a + (b - a) / 2;
		ev.boottime = boot;
		ev.realtime = real;
		ev.spread = b - a;
	}
	return made_put(p, &ev, sizeof(ev), NULL, e);
}

static int put_self(struct pump *p, struct err *e)
{
	struct ev_self ev = { .h = { .type = EV_self } };
	struct pump_stats s;
	struct rusage u;

	pump_stats(p, &s);
	getrusage(RUSAGE_SELF, &u);
	ev.drainer = s.drainer;
	ev.compressor = s.compressor;
	ev.process = read_clock(CLOCK_PROCESS_CPUTIME_ID);
	ev.ring_bytes = s.ring_bytes;
	ev.file_bytes = s.file_bytes;
	ev.high_water = s.high_water;
	ev.rss = u.ru_maxrss * 1024ull;
	return made_put(p, &ev, sizeof(ev), NULL, e);
}

int session_tick(struct pump *p, struct err *e)
{
	int ret = put_clocks(p, e);

	return ret < 0 ? ret : put_self(p, e);
}

int session_end(struct pump *p, const struct probes *probes, const char *why, struct err *e)
{
	struct program_info info;
	int i, ret;

	ret = session_tick(p, e);
	for (i = 0; ret == 0 && probes_program(probes, i, &info); i++) {
		struct ev_program ev = {
			.h = { .type = EV_program },
			.runs = info.runs,
			.time = info.time,
			.missed = info.missed,
			.group = info.group,
			.hook = info.hook,
		};

		ret = made_put(p, &ev, sizeof(ev), info.name, e);
	}
	return ret < 0 ? ret : made_info(p, e, "end=%s", why);
}
