// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A part of a recording as a recording of its own. The first pass takes what the recorder said
 * before all events; the second walks in order of time: up to the start of the part only
 * the state of processes is kept, then it is written as a snapshot, then records are copied.
 * Each CPU's counters are written again, so that seen = emitted + lost + suppressed holds for
 * the part as well; what the filter leaves out counts as suppressed.
 */
#include "excerpt.h"

#include "analyze/base/counted.h"
#include "analyze/base/outfile.h"
#include "analyze/base/when.h"
#include "excerpt_conns.h"
#include "excerpt_cpu.h"
#include "format/convert.h"
#include "format/facts.h"
#include "format/frame.h"
#include "process_state.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_key(const struct record *rec, const char *key)
{
	size_t n = strlen(key);

	return rec->type == EV_info && rec->tail_len > n && memcmp(rec->tail, key, n) == 0 &&
	       rec->tail[n] == '=';
}

static int put_info(struct excerpt *x, u64 ts, const char *key, const char *value)
{
	struct buf text = { 0 };
	int ret = buf_printf(&text, x->e, "%s=%s", key, value);

	if (ret == 0)
		ret = record_new(x->schema->by_id[EV_info], ts, 0, text.data, text.len, &x->own,
				 x->e);
	buf_free(&text);
	return ret < 0 ? ret : excerpt_flush_own(x, false);
}

static int copy_own(struct excerpt *x, const struct record *rec)
{
	int ret = conversion_put(&x->conversion, rec->raw, &x->own, x->e);

	return ret < 0 ? ret : excerpt_flush_own(x, false);
}

/* True if the part states this fact again. */
static bool restated(const struct excerpt *x, const struct record *rec)
{
	if (rec->type != EV_info)
		return false;
	switch (fact_find(rec->tail, rec->tail_len)->cut) {
	case CUT_FROM:
		return x->filter->from.kind != WHEN_NONE;
	case CUT_TO:
		return x->filter->to.kind != WHEN_NONE;
	case CUT_CHOICE:
		return filter_chooses(x->filter);
	case CUT_DROPPED:
		return true;
	default:
		return false;
	}
}

/* Calls counted in histograms: of the interval that ends at ts. */
static bool is_count(const struct record *rec)
{
	return rec->type == EV_call_count || rec->type == EV_call_bucket;
}

/* What the recorder said is copied at once, but for state and for what goes on through time. */
static int first_pass(struct excerpt *x)
{
	struct record rec;
	int ret;

	reader_limit(x->reader, UINT64_MAX, UINT64_MAX);
	while ((ret = reader_next(x->reader, &rec, x->e)) > 0) {
		bool timed = rec.event && (rec.type == EV_clock || rec.type == EV_self ||
					   rec.type == EV_missed || rec.type == EV_program ||
					   rec.type == EV_syscall || rec.type == EV_syscall_args ||
					   rec.type == EV_call_mode || is_count(&rec) ||
					   counted_on(&rec) != STREAM_RECORDER);
		bool state = rec.event && (rec.type == EV_thread || rec.type == EV_fd ||
					   rec.type == EV_counters || rec.type == EV_connection);

		ret = process_state_first(x->state, &rec, x->e);
		if (ret == 0 && rec.type == EV_counters && rec.event)
			ret = excerpt_base(x, &rec);
		if (ret == 0 && !timed && !state && !restated(x, &rec) &&
		    !filter_is_elsewhere(x->filter, &rec))
			ret = copy_own(x, &rec);
		if (ret < 0)
			return ret;
	}
	reader_rewind(x->reader);
	return ret;
}

/* Names of requests, which come up to a second after their first use, are in all parts. */
static int copy_names(struct excerpt *x)
{
	struct record rec;
	int ret, at;

	reader_choose(x->reader,
		      &(struct reader_choice){ 0, UINT64_MAX, 1u << GROUP_recorder, -1 });
	while ((ret = reader_next(x->reader, &rec, x->e)) > 0) {
		if (rec.type != EV_request_name || rec.stream == STREAM_RECORDER)
			continue;
		at = conversion_put(&x->conversion, rec.raw, &x->own, x->e);
		if (at < 0)
			return at;
		if (rec.ts < x->from)
			le_put((u8 *)x->own.data + at, x->from, 8);
		if (rec.ts >= x->to)
			le_put((u8 *)x->own.data + at, x->to - 1, 8);
		ret = excerpt_flush_own(x, false);
		if (ret < 0)
			return ret;
	}
	reader_rewind(x->reader);
	return ret;
}

/* ---- the snapshot ---- */

static int by_tid(const void *a, const void *b)
{
	const struct state_thread *x = *(struct state_thread *const *)a,
				  *y = *(struct state_thread *const *)b;

	return x->ev.h.tid < y->ev.h.tid ? -1 : x->ev.h.tid > y->ev.h.tid;
}

static int put_files(struct excerpt *x, struct state_process *proc, u64 ts)
{
	struct state_fd *f;
	int ret = 0;
	s64 fd;

	if (proc->written)
		return 0;
	proc->written = true;
	for (fd = 0; ret == 0 && (f = fdmap_next(&proc->files, &fd)); fd++) {
		f->ev.h.ts = ts;
		ret = convert_struct(x->schema->by_id[EV_fd], &f->ev, f->path ? f->path : "",
				     f->path ? strlen(f->path) : 0, &x->own, x->e);
		ret = ret < 0 ? ret : excerpt_flush_own(x, false);
	}
	return ret;
}

static int put_thread(struct excerpt *x, struct state_thread *t, u64 ts)
{
	bool whole = t->chosen || !filter_chooses(x->filter);
	const char *line = whole && t->ev.h.tid == t->ev.pid ? t->process->cmdline : NULL;
	int ret;

	t->ev.h.ts = ts;
	t->ev.target = filter_chooses(x->filter) ? t->chosen : t->tracked;
	ret = convert_struct(x->schema->by_id[EV_thread], &t->ev, line ? line : "",
			     line ? strlen(line) : 0, &x->own, x->e);
	ret = ret < 0 ? ret : excerpt_flush_own(x, false);
	return ret < 0 || !whole ? ret : put_files(x, t->process, ts);
}

static int put_threads(struct excerpt *x, u64 ts)
{
	struct state_thread **list = calloc(x->state->threads.n + 1, sizeof(*list)), *t;
	size_t at = 0, n = 0, i;
	int ret = 0;

	if (!list)
		return err_set(x->e, ERR_FAIL, "out of memory for threads");
	while ((t = idmap_each(&x->state->threads, &at)))
		list[n++] = t;
	/* the map's order is random; the same part has the same bytes */
	qsort(list, n, sizeof(*list), by_tid);
	for (i = 0; i < n && ret == 0; i++)
		ret = put_thread(x, list[i], ts);
	free(list);
	return ret;
}

/* The part begins: everything that was the case at this moment. */
static int put_head(struct excerpt *x)
{
	u64 ts = x->filter->from.kind ? x->from : x->origin.begin;
	char begin[32];
	int ret = 0;

	x->headed = true;
	snprintf(begin, sizeof(begin), "%llu", (unsigned long long)ts);
	if (x->filter->from.kind)
		ret = put_info(x, ts, "begin", begin);
	if (ret == 0 && filter_chooses(x->filter)) /* each thread says whether it is one */
		ret = put_info(x, ts, "targets", "chosen");
	if (ret == 0 && x->clock.len)
		ret = buf_add(&x->own, x->clock.data, x->clock.len, x->e);
	buf_clear(&x->clock);
	if (ret == 0)
		ret = put_info(x, ts, "snapshot_begin", begin);
	if (ret == 0)
		ret = put_threads(x, ts);
	if (ret == 0)
		ret = excerpt_conns_put(x, ts);
	return ret < 0 ? ret : put_info(x, ts, "snapshot", begin);
}

static int put_tail(struct excerpt *x)
{
	const struct recording_state *st = reader_state(x->reader);
	char text[2 * sizeof(st->uuid) + 1];
	u64 end = x->to < x->origin.end ? x->to : x->origin.end;
	struct buf what = { 0 };
	size_t i;
	int ret = 0;

	if (x->filter->to.kind) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)end);
		ret = put_info(x, end, "stopped", text);
	}
	for (i = 0; i < sizeof(st->uuid); i++)
		snprintf(text + 2 * i, 3, "%02x", st->uuid[i]);
	if (ret == 0)
		ret = put_info(x, end, "source", text);
	if (ret == 0)
		ret = filter_describe(x->filter, &what, x->e);
	if (ret == 0 && what.len)
		ret = put_info(x, end, "excerpt", what.data);
	buf_free(&what);
	return ret < 0 ? ret : excerpt_flush_own(x, true);
}

/* ---- the second pass ---- */

/* A call that was under way when the part ends is written like those at the end of a recording. */
static int put_unfinished(struct excerpt *x, const struct record *rec)
{
	const struct event_desc *ev = x->schema->by_id[rec->type];
	const struct ev_syscall *call = rec->event; /* dur and flags: at the same place in both */
	u8 flags = rec->type == EV_syscall ? call->flags
					   : ((const struct ev_syscall_args *)rec->event)->flags;
	u64 enter = rec->ts - call->dur;
	int at;

	if (flags & SYSCALL_NO_ENTRY || call->dur > rec->ts || enter >= x->to ||
	    !process_state_wants(x->state, rec))
		return 0;
	at = conversion_put(&x->conversion, rec->raw, &x->own, x->e);
	if (at < 0)
		return at;
	le_put((u8 *)x->own.data + at, x->to, 8);
	record_set(ev, (u8 *)x->own.data + at, "dur", x->to - enter);
	record_set(ev, (u8 *)x->own.data + at, "ret", 0);
	record_set(ev, (u8 *)x->own.data + at, "flags", flags | SYSCALL_UNFINISHED);
	return excerpt_flush_own(x, false);
}

static bool is_call(const struct record *rec)
{
	return rec->event && (rec->type == EV_syscall || rec->type == EV_syscall_args);
}

/* A snapshot that was taken after state had been lost, between the facts that frame it. */
static int take_snapshot(struct excerpt *x, const struct record *rec)
{
	bool fact = has_key(rec, "snapshot") || has_key(rec, "snapshot_begin");
	int ret = 0;

	if (!process_state_later(x->state, rec) || rec->ts >= x->to ||
	    (!fact && rec->type != EV_thread && rec->type != EV_fd))
		return 0;
	if (!fact)
		ret = process_state_take(x->state, rec, x->e);
	if (ret == 0 && !fact)
		ret = excerpt_conns_take(x, rec);
	if (ret == 0 && rec->ts >= x->from && (fact || process_state_wants(x->state, rec)))
		return copy_own(x, rec);
	return ret;
}

/* Stacks may come after the records of their time. */
static int take_stack(struct excerpt *x, const struct record *rec, u32 cpu)
{
	bool keep = process_state_wants(x->state, rec);
	int ret = 0;

	if (rec->ts < x->from || rec->ts >= x->to)
		return 0;
	if (cpu < STREAM_MAX)
		ret = excerpt_counted(x, rec, cpu, keep);
	return ret == 0 && keep ? copy_own(x, rec) : ret;
}

/* The recorder's records that go on through time. */
static int take_own(struct excerpt *x, const struct record *rec)
{
	int ret;

	if (!rec->event)
		return 0;
	if (counted_on(rec) != STREAM_RECORDER)
		return take_stack(x, rec, counted_on(rec));
	if (rec->type == EV_info || rec->type == EV_thread || rec->type == EV_fd)
		return take_snapshot(x, rec);
	if (rec->type == EV_connection) /* of a part: the moment at which it starts */
		return excerpt_conns_take(x, rec);
	if (rec->type == EV_clock && rec->ts < x->from) { /* the last one before the part */
		buf_clear(&x->clock);
		ret = conversion_put(&x->conversion, rec->raw, &x->clock, x->e);
		return ret < 0 ? ret : 0;
	}
	if (rec->type == EV_program || (rec->type == EV_call_mode && rec->ts < x->to))
		return copy_own(x, rec);
	if (is_count(rec) && rec->ts >= x->from && rec->ts < x->to &&
	    process_state_wants(x->state, rec))
		return copy_own(x, rec);
	if (is_call(rec) && x->filter->to.kind && rec->ts >= x->to)
		return put_unfinished(x, rec);
	if (is_call(rec))
		return rec->ts >= x->from && process_state_wants(x->state, rec) ? copy_own(x, rec)
										: 0;
	if ((rec->type == EV_clock || rec->type == EV_self || rec->type == EV_missed) &&
	    rec->ts >= x->from && (rec->ts < x->to || !x->filter->to.kind))
		return copy_own(x, rec);
	return 0;
}

static int take_record(struct excerpt *x, const struct record *rec)
{
	bool within = rec->ts >= x->from && rec->ts < x->to;
	struct ev_segment placed;
	bool wanted;
	int ret = 0;

	if (!x->headed && rec->ts >= x->from)
		ret = put_head(x);
	if (ret < 0)
		return ret;
	if (rec->stream == STREAM_RECORDER)
		return take_own(x, rec);
	if (rec->type == EV_counters && rec->event)
		return excerpt_counters(x, rec, within);
	if (rec->type == EV_request_name) /* copied already */
		return 0;
	if (rec->ts >= x->to)
		return is_call(rec) ? put_unfinished(x, rec) : 0;
	/* before and after: who is chosen by this very record, or leaves with it, has it */
	wanted = within && process_state_wants(x->state, rec);
	ret = process_state_take(x->state, rec, x->e);
	if (ret == 0)
		ret = excerpt_conns_take(x, rec);
	if (ret < 0 || !within)
		return ret;
	wanted |= process_state_wants(x->state, rec) || excerpt_conns_want(x, rec);
	return excerpt_record(x, rec, excerpt_conns_place(x, rec, &placed) ? &placed : NULL,
			      wanted);
}

static int second_pass(struct excerpt *x)
{
	struct record rec;
	int ret;

	reader_excerpt(x->reader, x->from, x->to, x->early);
	while ((ret = reader_next(x->reader, &rec, x->e)) > 0) {
		ret = take_record(x, &rec);
		if (ret < 0)
			return ret;
	}
	if (ret == 0 && !x->headed)
		ret = put_head(x);
	if (ret == 0)
		ret = excerpt_cpus_end(x);
	if (ret == 0)
		ret = put_tail(x);
	if (ret == 0 && filter_chooses(x->filter))
		ret = process_state_any(x->state, x->e);
	return ret < 0 ? ret : writer_finish(x->writer, x->e);
}

/* ---- all ---- */

static int resolve(struct excerpt *x)
{
	int ret = origin_read(&x->origin, x->reader, x->e);

	return ret < 0 ? ret : filter_times(&x->from, &x->to, x->filter, &x->origin, x->e);
}

static int start(struct excerpt *x, int fd)
{
	const struct recording_state *st = reader_state(x->reader);
	const struct schema *schema = reader_schema(x->reader);
	bool cut_off = !st->complete && x->to > st->ts_max;
	u8 uuid[16];
	int ret;

	ret = resolve(x);
	if (ret == 0)
		ret = schema_union(&x->schema, &schema, 1, x->e);
	if (ret < 0)
		return ret;
	conversion_make(&x->conversion, schema, x->schema);
	/*
	 * What everybody did before can only be known from all that happened. Without switches
	 * only the making, naming and ending of threads count, and connections.
	 */
	x->early = st->groups & 1u << GROUP_sched
			   ? UINT32_MAX
			   : 1u << GROUP_core | 1u << GROUP_requests | 1u << GROUP_net;
	ret = process_state_open(&x->state, x->filter, x->reader, x->e);
	if (ret == 0)
		ret = process_state_names(x->state, x->reader, x->e);
	if (ret == 0)
		ret = excerpt_cpus_begin(x);
	if (ret == 0)
		ret = random_bytes(uuid, sizeof(uuid), x->e);
	if (ret == 0)
		ret = writer_open_as(&x->writer, fd, uuid,
				     st->made | (filter_active(x->filter) ? FRAME_EXCERPT : 0) |
					     (cut_off ? FRAME_REPAIRED : 0),
				     x->schema, x->e);
	return ret;
}

int excerpt_make(struct excerpt_summary *ret, struct reader *r, const struct filter *f, int fd,
		 struct err *e)
{
	struct excerpt *x = calloc(1, sizeof(*x));
	int got;

	if (!x)
		return err_set(e, ERR_FAIL, "out of memory");
	x->reader = r;
	x->filter = f;
	x->e = e;
	got = start(x, fd);
	if (got == 0)
		got = first_pass(x);
	if (got == 0)
		got = copy_names(x);
	if (got == 0)
		got = second_pass(x);
	*ret = (struct excerpt_summary){
		.records = x->records,
		.from = elapsed(x->origin.begin, x->from),
		.to = elapsed(x->origin.begin, x->to < x->origin.end ? x->to : x->origin.end),
	};
	excerpt_cpus_free(x);
	excerpt_conns_free(x);
	process_state_free(x->state);
	writer_free(x->writer);
	schema_free(x->schema);
	buf_free(&x->own);
	buf_free(&x->clock);
	free(x);
	return got;
}

int excerpt_open(struct reader **ret, struct reader *r, const struct filter *f, struct err *e)
{
	struct excerpt_summary summary;
	int fd = outfile_nameless(e), got;

	if (fd < 0)
		return ERR_FAIL;
	got = excerpt_make(&summary, r, f, fd, e);
	if (got == 0)
		return reader_open_fd(ret, fd, e);
	close(fd);
	return got;
}

int excerpt_reader(struct reader **ret, bool *ret_damaged, const char *path, const struct filter *f,
		   struct err *e)
{
	struct reader *whole = NULL;
	int got = reader_open(&whole, path, e);

	*ret = got == 0 ? whole : NULL;
	*ret_damaged = got == 0 && !reader_state(whole)->sound;
	if (got < 0 || !filter_active(f))
		return got;
	got = excerpt_open(ret, whole, f, e);
	if (got < 0)
		*ret = NULL;
	*ret_damaged |= reader_state(whole)->damaged > 0;
	reader_free(whole);
	return got;
}
