// SPDX-License-Identifier: GPL-2.0-or-later
/* Flight mode: what makes a snapshot, and making one. */
#include "format/syscall.h"
#include "record/pump/records.h"
#include "recorder.h"
#include "session.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define SECOND 1000000000ull

/* The name of what took too long; a wait in the run queue has none. */
static const char *name_of(const struct recorder *r, const struct hit *h, char *text, size_t size)
{
	const struct sites *sites = probes_sites(r->probes);

	if (h->kind == TRIGGER_SYSCALL)
		return syscall_name(syscall_own_abi(), h->item, text, size);
	if (h->kind == TRIGGER_CALL && h->item < (u32)sites->n)
		return site_function(&sites->list[h->item]);
	return "";
}

/* What passed a threshold, in words, with the time of day that --from of obsanalyze takes. */
static void describe(const struct recorder *r, char *text, size_t size)
{
	static const char *const kinds[] = { "syscall", "runq", "call" };
	const struct hit *h = &r->hit;
	char name[64], at[32] = "";
	struct ev_clock now;
	struct tm tm;
	time_t second;
	u64 real;

	session_clocks(&now);
	real = now.realtime - (now.monotonic - h->ts);
	second = real / SECOND;
	if (gmtime_r(&second, &tm))
		strftime(at, sizeof(at), "%H:%M:%S", &tm);
	snprintf(text, size, "%s%s%.60s of thread %u took %.3f ms, until %s.%03u UTC",
		 kinds[h->kind < 3 ? h->kind : 0], h->kind == TRIGGER_RUNQ ? "" : " ",
		 name_of(r, h, name, sizeof(name)), h->tid, h->dur / 1e6, at,
		 (unsigned int)(real % SECOND / 1000000));
}

/* Facts hold for the whole of a recording: they come before all that happened in it. */
static void date_back(struct buf *facts, u64 ts)
{
	struct ev_header *h;
	size_t at;

	for (at = 0; at < facts->len; at += h->size) {
		h = (struct ev_header *)(facts->data + at);
		h->ts = ts;
	}
}

/* The facts of a recording of its own; they go into facts, not into the stream. */
static int gather(struct recorder *r, const char *why, struct buf *facts, struct err *e)
{
	int ret, i;

	pump_divert(r->pump, facts);
	ret = session_begin(r->pump, r->probes, &r->targets, &r->quotas, r->argc, r->argv, e);
	if (ret == 0)
		ret = records_info(r->pump, e, "begin=%" PRIu64, flight_begin(r->flight));
	if (ret == 0)
		ret = records_info(r->pump, e, "flight=%u", r->n_made + 1);
	if (ret == 0)
		ret = records_info(r->pump, e, "end=%s", why);
	for (i = 0; i < r->options.n_triggers && ret == 0; i++)
		ret = records_info(r->pump, e, "trigger.%d=%s", i, r->options.triggers[i].text);
	if (ret == 0 && r->suppressed)
		ret = records_info(r->pump, e, "triggers_suppressed=%" PRIu64, r->suppressed);
	if (ret == 0)
		ret = stacks_define(r->stacks, r->pump, e);
	if (ret == 0)
		ret = hot_put_modes(r->hot, flight_earliest(r->flight), r->pump, e);
	pump_divert(r->pump, NULL);
	if (ret == 0 && r->heads)
		ret = heads_add_names(r->heads, 1, records_now(), facts, e) < 0 ? ERR_FAIL : 0;
	if (ret == 0 && r->connections)
		ret = connections_add(r->connections, flight_begin(r->flight), facts, e);
	if (ret == 0)
		date_back(facts, flight_earliest(r->flight));
	return ret;
}

static int write_file(struct recorder *r, const char *path, const struct buf *facts, u64 *bytes,
		      struct err *e)
{
	struct output out = { .fd = -1 };
	int ret = output_open(&out, path, e), r2;

	if (ret < 0)
		return ret;
	if (output_free(out.fd) < r->options.min_free + flight_kept(r->flight))
		ret = err_set(e, ERR_FAIL, "not enough free space for %.300s", path);
	if (ret == 0)
		ret = flight_write(r->flight, out.fd, out.uuid, facts, bytes, e);
	r2 = output_close(&out, ret < 0 ? NULL : e);
	return ret < 0 ? ret : r2;
}

int incident_write(struct recorder *r, const char *why, struct err *e)
{
	char path[PATH_MAX];
	struct buf facts = { 0 };
	u64 bytes = 0;
	int ret = gather(r, why, &facts, e);

	do
		output_snapshot_path(path, sizeof(path), r->options.output, ++r->number);
	while (output_exists(path));
	if (ret == 0)
		ret = write_file(r, path, &facts, &bytes, e);
	buf_free(&facts);
	if (ret < 0)
		return ret;
	r->n_made++;
	r->bytes_made += bytes;
	if (!r->options.quiet)
		fprintf(stderr, "obsrec: wrote %s (%.1f MB): %s\n", path, bytes / 1e6, why);
	return 0;
}

static void take_hit(struct recorder *r, u64 now)
{
	struct hit hit;

	if (!probes_hit(r->probes, &r->hits, &hit))
		return;
	if (r->due || (r->triggered && now - r->triggered < r->options.pause)) {
		r->suppressed += hit.count;
		return;
	}
	r->suppressed += hit.count - 1;
	r->hit = hit;
	r->due = hit.ts + r->options.after;
	r->triggered = now;
}

int incident_ask(struct recorder *r, const char *why, struct err *e)
{
	int ret;

	if (r->flush) /* it is written first, as soon as it can be */
		return 0;
	ret = stacks_flush(r->stacks, r->pump, e);
	if (ret == 0)
		ret = hot_collect(r->hot, r->pump, e);
	if (ret == 0)
		snprintf(r->asked, sizeof(r->asked), "%s", why);
	return ret == 0 ? pump_flush(r->pump, &r->flush, e) : ret;
}

int incident_poll(struct recorder *r, struct err *e)
{
	u64 now = records_now();
	char why[200];

	if (r->options.n_triggers)
		take_hit(r, now);
	if (r->flush) {
		if (!pump_flushed(r->pump, r->flush))
			return 0;
		r->flush = 0;
		return incident_write(r, r->asked, e);
	}
	if (!r->due || now < r->due)
		return 0;
	r->due = 0;
	describe(r, why, sizeof(why));
	return incident_ask(r, why, e);
}

const char *incident_reason(struct recorder *r, const char *why)
{
	take_hit(r, records_now());
	if (!r->due)
		return why;
	describe(r, r->reason, sizeof(r->reason));
	return r->reason;
}
