// SPDX-License-Identifier: GPL-2.0-or-later
/* What a recording says of its host, its clocks and itself. */
#include "session.h"

#include "format/buf.h"
#include "format/escape.h"
#include "format/version.h"
#include "record/pump/records.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <time.h>

#define CLOCK_TRIES 20

/* As it can be given to a shell again. */
static int put_command_line(struct pump *p, int argc, char **argv, struct err *e)
{
	struct buf text = { 0 };
	int i, ret = 0;

	for (i = 0; i < argc && ret == 0; i++) {
		ret = i ? buf_add(&text, " ", 1, e) : 0;
		if (ret == 0)
			ret = escape_word(&text, argv[i], e);
	}
	if (ret == 0)
		ret = records_info(p, e, "command=%.2047s", text.data);
	buf_free(&text);
	return ret;
}

/* Of names and cgroups, and of several kinds, the snapshot has the threads that are chosen. */
static int put_targets(struct pump *p, const struct options *o, struct err *e)
{
	char text[TARGETS_MAX * 11 + 8] = "";
	bool mixed = o->comm || o->n_cgroups;
	int i, n = 0, row = 0, ret;

	for (i = 0; i < o->n_pids; i++)
		n += snprintf(text + n, sizeof(text) - n, "%s%u", n ? "," : "", o->pids[i]);
	ret = records_info(p, e, "targets=%s", o->all ? "all" : n && !mixed ? text : "chosen");
	if (ret == 0 && o->comm)
		ret = records_info(p, e, "target.%d=comm %s", row++, o->comm);
	for (i = 0; i < o->n_cgroups && ret == 0; i++)
		ret = records_info(p, e, "target.%d=%s %s", row++,
				   o->containers ? "container" : "cgroup", o->cgroups[i]);
	if (ret == 0 && n && mixed)
		ret = records_info(p, e, "target.%d=pid %s", row, text);
	return ret;
}

/* What is recorded; the replay relies on these. */
static int put_scope(struct pump *p, const struct options *o, struct err *e)
{
	char text[256] = "";
	int i, n = 0, ret;

	for (i = 0; i < GROUP_MAX; i++)
		if (groups[i].name && o->groups & 1u << i)
			n += snprintf(text + n, sizeof(text) - n, "%s%s", n ? "," : "",
				      groups[i].name);
	ret = records_info(p, e, "groups=%s", text);
	if (ret == 0)
		ret = put_targets(p, o, e);
	if (ret == 0)
		ret = records_info(p, e, "follow=%d", o->follow);
	if (ret == 0)
		ret = records_info(p, e, "ring=%llu", (unsigned long long)o->ring);
	if (ret == 0)
		ret = records_info(p, e, "private=%d", o->hide);
	if (ret == 0 && o->groups & 1u << GROUP_requests)
		ret = records_info(p, e, "names=%d", options_names(o));
	if (ret == 0 && o->groups & 1u << GROUP_requests)
		ret = records_info(p, e, "nagle=marked");
	if (ret == 0 && o->heads)
		ret = records_info(p, e, "heads=%u", o->heads);
	if (ret == 0 && o->groups & 1u << GROUP_cpu)
		ret = records_info(p, e, "sample_rate=%u", o->sample_rate);
	if (ret == 0 && o->groups & 1u << GROUP_cpu)
		ret = records_info(p, e, "stack_threshold=%llu",
				   (unsigned long long)o->stack_threshold);
	if (ret == 0 && o->groups & 1u << GROUP_cpu && o->stack_rations)
		ret = records_info(p, e, "stack_waits=%u", STACK_WAITS);
	for (i = 0; i < o->n_labels && ret == 0; i++)
		ret = records_info(p, e, "label.%s", o->labels[i]);
	return ret;
}

/* What could be recorded here, and why not more. */
static int put_doctor(struct pump *p, const struct probes *probes, const struct options *o,
		      struct err *e)
{
	const struct feature *f = probes_features(probes);
	char text[700];
	int g, ret = 0;

	for (g = 0; g < GROUP_MAX && ret == 0; g++) {
		struct ev_doctor ev = { .h = { .type = EV_doctor },
					.group = g,
					.level = f[g].level };

		if (!groups[g].name || !(o->wished & 1u << g))
			continue;
		snprintf(text, sizeof(text), "%s%s%s", f[g].why, f[g].remedy[0] ? "; remedy: " : "",
			 f[g].remedy);
		ret = records_put(p, &ev, sizeof(ev), text, e);
	}
	return ret;
}

/* Up to 8 bytes as one number, so that its hexadecimal digits are the build-id's. */
static u64 digits(const u8 *bytes, u32 from, u32 to)
{
	u64 v = 0;

	for (; from < to; from++)
		v = v << 8 | bytes[from];
	return v;
}

static int put_sites(struct pump *p, const struct probes *probes, struct err *e)
{
	static const u32 kinds[] = { [SITE_IS_SPAN] = SITE_SPAN, [SITE_IS_MARK] = SITE_MARK };
	const struct sites *sites = probes_sites(probes);
	int i, ret = 0;

	for (i = 0; ret == 0 && i < sites->n; i++) {
		const struct site *s = &sites->list[i];
		const u8 *id = s->binary->build_id;
		struct ev_site ev = {
			.h = { .type = EV_site },
			.offset = s->offset,
			.address = s->address,
			.id = i,
			.flags = SITE_ENTRY | (s->no_return ? 0 : SITE_RETURN) |
				 (s->skipped_endbr ? SITE_SKIPPED_ENDBR : 0) | kinds[s->kind],
			.bytes = s->size,
			.ino = s->binary->ino,
			.build_id0 = digits(id, 0, 8),
			.build_id1 = digits(id, 8, 16),
			.build_id2 = digits(id, 16, 20),
			.dev = major(s->binary->dev) << 20 | minor(s->binary->dev),
			.source = s->source,
			.args = s->args,
		};

		ret = records_put(p, &ev, sizeof(ev), s->text, e);
	}
	return ret;
}

static u64 read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

void session_clocks(struct ev_clock *ev)
{
	u64 a, b, boot, real;
	int i;

	*ev = (struct ev_clock){ .h = { .type = EV_clock }, .spread = UINT64_MAX };
	for (i = 0; i < CLOCK_TRIES; i++) {
		a = read_clock(CLOCK_MONOTONIC);
		boot = read_clock(CLOCK_BOOTTIME);
		real = read_clock(CLOCK_REALTIME);
		b = read_clock(CLOCK_MONOTONIC);
		if (b - a >= ev->spread)
			continue;
		ev->monotonic = a + (b - a) / 2;
		ev->boottime = boot;
		ev->realtime = real;
		ev->spread = b - a;
	}
}

static int put_clocks(struct pump *p, struct err *e)
{
	struct ev_clock ev;

	session_clocks(&ev);
	return records_put(p, &ev, sizeof(ev), NULL, e);
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
	return records_put(p, &ev, sizeof(ev), NULL, e);
}

/* Programs that were not run: the kernel counts that, looking every second locates it. */
static int put_missed(struct pump *p, struct probes *probes, struct err *e)
{
	struct ev_missed ev = { .h = { .ts = records_now(), .type = EV_missed } };
	struct program_info info;
	int i, ret = 0;

	if (!probes_look_missed(probes, ev.h.ts, &ev.since))
		return 0;
	for (i = 0; ret == 0 && probes_program(probes, i, &info); i++) {
		ev.count = info.newly;
		ev.group = info.group;
		if (info.newly)
			ret = records_put(p, &ev, sizeof(ev), info.name, e);
	}
	return ret;
}

/* all: what is read less often than once per second, too. */
static int tick(struct pump *p, struct probes *probes, const struct targets *t, struct quotas *q,
		bool all, struct err *e)
{
	int ret = put_clocks(p, e);

	if (ret == 0)
		ret = put_missed(p, probes, e);
	if (ret == 0)
		ret = put_self(p, e);
	if (ret == 0)
		ret = pressure_read(p, probes, t, &q->pressures, all, e);
	if (ret == 0)
		ret = accept_queues_read(&q->accepts, p, probes, t, e);
	return ret < 0 ? ret : host_put_throttles(p, t, q, e);
}

int session_tick(struct pump *p, struct probes *probes, const struct targets *t, struct quotas *q,
		 struct err *e)
{
	return tick(p, probes, t, q, false, e);
}

int session_begin(struct pump *p, struct probes *probes, const struct targets *t, struct quotas *q,
		  int argc, char **argv, struct err *e)
{
	const struct options *o = t->options;
	int ret = records_info(p, e, "obsrec=%s", OBS_VERSION);

	if (ret == 0)
		ret = host_put(p, t, e);
	if (ret == 0 && !o->hide)
		ret = put_command_line(p, argc, argv, e);
	if (ret == 0)
		ret = put_scope(p, o, e);
	if (ret == 0)
		ret = records_info(p, e, "ring_kind=%s",
				   probes_own_rings(probes) ? "own" : "ringbuf");
	if (ret == 0 && o->groups & 1u << GROUP_sched)
		ret = records_info(p, e, "switch_parts=%s",
				   probes_features(probes)[GROUP_sched].parts);
	if (ret == 0)
		ret = put_doctor(p, probes, o, e);
	if (ret == 0)
		ret = put_sites(p, probes, e);
	quotas_restart(q);
	if (ret == 0)
		ret = tick(p, probes, t, q, true, e);
	return ret;
}

int session_end(struct pump *p, struct probes *probes, const struct targets *t, struct quotas *q,
		const char *why, struct err *e)
{
	struct program_info info;
	int i, ret;

	ret = tick(p, probes, t, q, true, e);
	for (i = 0; ret == 0 && probes_program(probes, i, &info); i++) {
		struct ev_program ev = {
			.h = { .type = EV_program },
			.runs = info.runs,
			.time = info.time,
			.missed = info.missed,
			.group = info.group,
			.hook = info.hook,
		};

		ret = records_put(p, &ev, sizeof(ev), info.name, e);
	}
	return ret < 0 || !why ? ret : records_info(p, e, "end=%s", why);
}
