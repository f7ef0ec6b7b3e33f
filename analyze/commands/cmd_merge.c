// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * merge: recordings of several hosts, or successive ones of one host, as one recording on
 * one clock: that of the first. Readings of the wall clocks give the offset of the clocks.
 * Hosts stay distinct by their numbers: process ids, CPUs and devices of each have a range of their
 * own.
 */
#include "analyze/transform/merge.h"

#include "analyze/base/limits.h"
#include "analyze/base/outfile.h"
#include "cmd.h"
#include "format/escape.h"
#include "format/frame.h"
#include "remake.h"
#include "several.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_COUNTERS 8

static const struct opt opts[] = {
	REMAKE_OPTS,
	FILTER_OPTS,
	{ 0 },
};

extern const struct command command_merge;

/* Where a CPU's stream stands, when recordings of one host follow each other. */
struct carry {
	u32 nth; /* of the source whose blocks come */
	u64 pos_add, pos_end;
	u64 lost_add, lost;
	u32 counted[GROUP_MAX]; /* source of the last counters */
	u64 base[GROUP_MAX][N_COUNTERS], last[GROUP_MAX][N_COUNTERS];
};

/* ---- whose is whose ---- */

static int overlaps(const struct source *a, const struct source *b, struct err *e)
{
	if (a->origin.end <= b->origin.begin || b->origin.end <= a->origin.begin)
		return 0;
	return err_set(e, ERR_FAIL,
		       "%.200s and %.200s were recorded on one host at the same time: their events "
		       "would count twice. Record both with one obsrec: -p 1,2, or -a",
		       a->path, b->path);
}

static int give_numbers(struct merge *m, struct err *e)
{
	u32 i, k;
	int ret = 0;

	for (i = 0; i < m->n && ret == 0; i++) {
		struct source *s = &m->sources[i];

		s->nth = i + 1;
		s->number = m->n_hosts;
		for (k = 0; k < i && ret == 0; k++) {
			if (!s->boot[0] || strcmp(s->boot, m->sources[k].boot) != 0)
				continue;
			s->number = m->sources[k].number;
			s->realtime = m->sources[k].realtime; /* one clock, whatever NTP did */
			ret = overlaps(&m->sources[k], s, e);
			if (ret == 0 && s->flight)
				ret = err_set(
					e, ERR_FAIL,
					"%.400s is a part of a longer run: obsanalyze cut creates a recording of it that can follow another",
					s->path);
		}
		m->n_hosts += s->number == m->n_hosts;
	}
	if (ret == 0 && m->n_hosts > HOST_LIMIT)
		return err_set(e, ERR_FAIL, "recordings of at most %d hosts can be merged",
			       HOST_LIMIT);
	return ret;
}

static bool one_run(const struct source *a, const struct source *b)
{
	return a->runs == 1 && b->runs == 1 && (a->part || b->part) &&
	       strcmp(a->whole, b->whole) == 0;
}

/* Ids that a recorder counts are of its run, which all parts of its recording share. */
static int give_runs(struct merge *m, struct err *e)
{
	u32 i, k, room;
	int ret = 0;

	for (i = 0; i < m->n && ret == 0; i++) {
		struct source *s = &m->sources[i];

		for (k = 0; k < i; k++)
			if (one_run(s, &m->sources[k]))
				break;
		for (room = 1; room < s->runs; room *= 2)
			;
		s->run = k < i ? m->sources[k].run : (m->n_runs + room - 1) / room * room;
		if (k == i)
			m->n_runs = s->run + s->runs;
		if (m->n_runs > MERGE_RUNS)
			return err_set(e, ERR_FAIL, "at most %u recordings can be merged into one",
				       MERGE_RUNS);
		s->ids = &m->ids;
		s->names = m->names;
		ret = merge_ids_read(&m->ids, s->nth, s->number, s->reader, e);
	}
	return ret;
}

static int give_shifts(struct merge *m, struct err *e)
{
	s64 low = 0, begin;
	u32 i;

	for (i = 0; i < m->n; i++) {
		struct source *s = &m->sources[i];

		if (m->n_hosts > 1 && !s->readings)
			return err_set(
				e, ERR_FAIL,
				"%.400s has no reading of the wall clock: it cannot be put on "
				"one clock with others",
				s->path);
		if (s->number != m->sources[0].number)
			s->shift = (s64)((u64)s->realtime - (u64)m->sources[0].realtime);
		begin = (s64)s->origin.begin + s->shift;
		low = begin < low ? begin : low;
	}
	/* a host that was booted much later began before the first one's clock did; a margin is
	 * left for what the recorder wrote before the start */
	for (i = 0; low < 0 && i < m->n; i++)
		m->sources[i].shift += -low + 60000000000ll;
	return 0;
}

/* Of each host the first in time has the state that all begins with. */
static void find_followers(struct merge *m)
{
	u32 i, k;

	for (i = 0; i < m->n; i++)
		for (k = 0; k < m->n; k++)
			m->sources[i].follows |=
				m->sources[k].number == m->sources[i].number &&
				m->sources[k].origin.begin < m->sources[i].origin.begin;
}

static int by_begin(const void *a, const void *b)
{
	const struct source *x = *(struct source *const *)a, *y = *(struct source *const *)b;
	s64 s = (s64)x->origin.begin + x->shift, t = (s64)y->origin.begin + y->shift;

	if (s != t)
		return s < t ? -1 : 1;
	return x->nth < y->nth ? -1 : x->nth > y->nth;
}

static int check_scope(const struct merge *m, struct err *e)
{
	const struct source *a = &m->sources[0], *s;
	u32 i;

	for (i = 1; i < m->n; i++) {
		s = &m->sources[i];
		if (strcmp(a->targets, "all") == 0 && strcmp(s->targets, "all") == 0)
			continue;
		if ((strcmp(a->targets, "all") == 0) != (strcmp(s->targets, "all") == 0) ||
		    a->follow != s->follow)
			return err_set(
				e, ERR_FAIL,
				"%.200s and %.200s cannot be merged: one includes all processes, or children, the other does not",
				a->path, s->path);
	}
	return 0;
}

/* ---- the streams of the CPUs ---- */

static struct carry *carry_of(struct merge *m, u32 stream, struct err *e)
{
	struct carry *c = idmap_get(&m->carries, stream);

	if (c)
		return c;
	c = idmap_add(&m->carries, stream, sizeof(*c), STREAM_MAX, "CPUs", e);
	if (!c)
		return NULL;
	return c;
}

/* Counters go on from where those of the host's earlier recording ended. */
static int carry_counters(struct merge *m, const struct event_desc *ev, u8 *record, struct err *e)
{
	static const char *const fields[N_COUNTERS] = { "seen",	      "emitted", "lost_full",
							"lost_other", "self",	 "filtered",
							"nostate",    "counted" };
	const struct field_desc *cpu = event_field(ev, "cpu"), *group = event_field(ev, "group");
	const struct field_desc *f;
	struct carry *c;
	u64 g;
	int i;

	if (!cpu || !group)
		return 0;
	g = field_value(group, record);
	c = carry_of(m, (u32)field_value(cpu, record), e);
	if (!c || g >= GROUP_MAX)
		return c ? 0 : ERR_FAIL;
	if (c->counted[g] != m->source->nth)
		memcpy(c->base[g], c->last[g], sizeof(c->base[g]));
	c->counted[g] = m->source->nth;
	for (i = 0; i < N_COUNTERS; i++) {
		f = event_field(ev, fields[i]);
		if (!f)
			continue;
		c->last[g][i] = c->base[g][i] + field_value(f, record);
		le_put(record + f->offset, c->last[g][i], f->size);
	}
	return 0;
}

static int move_record(void *arg, const struct event_desc *ev, struct buf *out, size_t start,
		       struct err *e)
{
	struct merge *m = arg;
	u8 *record = (u8 *)out->data + start;
	int ret = source_move(m->source, ev, record, e);

	if (ret == 0 && ev->id == EV_counters)
		ret = carry_counters(m, ev, record, e);
	return ret;
}

static int move_block(void *arg, struct block_info *info, struct err *e)
{
	struct merge *m = arg;
	struct carry *c;

	if (info->stream >= MERGE_CPUS && m->n_hosts > 1)
		return err_set(e, ERR_FAIL,
			       "recordings of hosts with more than %u CPUs cannot be merged",
			       MERGE_CPUS);
	info->stream += MERGE_CPUS * m->source->number;
	c = carry_of(m, info->stream, e);
	if (!c)
		return ERR_FAIL;
	if (c->nth != m->source->nth) {
		c->nth = m->source->nth;
		c->pos_add = c->pos_end - info->pos_begin;
		c->lost_add = c->lost;
	}
	info->pos_begin += c->pos_add;
	info->pos_end += c->pos_add;
	info->lost += c->lost_add;
	c->pos_end = info->pos_end;
	c->lost = info->lost;
	return 0;
}

static int merge_cpus(struct merge *m, struct err *e)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < m->n && ret == 0; i++) {
		struct rewrite w = {
			.reader = m->order[i]->reader,
			.writer = m->writer,
			.conversion = m->order[i]->conversion,
			.on_record = move_record,
			.on_block = move_block,
			.cpus_only = true,
			.arg = m,
			.progress = m->progress,
			.done = m->done,
			.all = m->all,
		};

		m->source = m->order[i];
		ret = rewrite_blocks(&w, e);
		m->done = w.done;
	}
	return ret;
}

/* ---- all ---- */

static int prepare(struct merge *m, int fd, struct err *e)
{
	const struct schema *schemas[MERGE_MAX];
	const struct recording_state *st;
	u32 flags = FRAME_MERGED, i;
	u8 uuid[16];
	int ret = give_numbers(m, e);

	if (ret == 0)
		ret = give_runs(m, e);
	if (ret == 0)
		ret = give_shifts(m, e);
	find_followers(m);
	if (ret == 0)
		ret = check_scope(m, e);
	for (i = 0; i < m->n; i++) {
		st = reader_state(m->sources[i].reader);
		schemas[i] = reader_schema(m->sources[i].reader);
		m->order[i] = &m->sources[i];
		flags |= st->made | (st->complete ? 0 : FRAME_REPAIRED);
		m->all += st->records;
	}
	qsort(m->order, m->n, sizeof(m->order[0]), by_begin);
	if (ret == 0)
		ret = schema_union(&m->schema, schemas, m->n, e);
	for (i = 0; i < m->n && ret == 0; i++)
		conversion_make(&m->sources[i].conversion, schemas[i], m->schema);
	if (ret == 0)
		ret = random_bytes(uuid, sizeof(uuid), e);
	return ret < 0 ? ret : writer_open_as(&m->writer, fd, uuid, flags, m->schema, e);
}

static void print_sources(const struct merge *m)
{
	struct buf host = { 0 };
	u32 i;

	for (i = 0; i < m->n; i++) {
		const struct source *s = &m->sources[i];

		buf_clear(&host);
		escape_add(&host, ESCAPE_TEXT, s->host, strlen(s->host), NULL);
		fprintf(stderr, "%s: host %s, process ids +%u, CPUs +%u, clock %+.9f s +-%.3g us\n",
			s->path, host.len ? host.data : "unknown", MERGE_PIDS * s->number,
			MERGE_CPUS * s->number, (double)s->shift / 1e9, (double)s->error / 1e3);
	}
	buf_free(&host);
}

static int make(struct merge *m, int fd, struct progress *p, struct err *e)
{
	int ret = prepare(m, fd, e);

	m->progress = p;
	if (ret == 0)
		ret = merge_scope(m, e);
	if (ret == 0)
		ret = merge_offsets(m, e);
	if (ret == 0)
		ret = merge_own(m, e);
	if (ret == 0)
		ret = merge_cpus(m, e);
	return ret < 0 ? ret : writer_finish(m->writer, e);
}

static void merge_free(struct merge *m)
{
	u32 i;

	if (!m)
		return;
	for (i = 0; i < m->n; i++)
		source_close(&m->sources[i]);
	idmap_free_all(&m->carries);
	merge_ids_free(&m->ids);
	writer_free(m->writer);
	schema_free(m->schema);
	buf_free(&m->own);
	free(m);
}

static int merge_open(struct merge **ret, char **paths, int n, const struct filter *f,
		      struct err *e)
{
	struct merge *m = calloc(1, sizeof(*m));
	int got = 0;

	if (!m)
		return err_set(e, ERR_FAIL, "out of memory");
	for (; (int)m->n < n && got == 0; m->n++)
		got = source_open(&m->sources[m->n], paths[m->n], f, e);
	if (got == 0)
		*ret = m;
	else
		merge_free(m);
	return got;
}

static const char *damaged_path(const struct merge *m)
{
	u32 i;

	for (i = 0; i < m->n; i++)
		if (m->sources[i].damaged)
			return m->sources[i].path;
	return NULL;
}

int merge_files(int fd, char **paths, int n, const struct filter *f, const char **ret_damaged,
		struct err *e)
{
	struct merge *m = NULL;
	struct progress p;
	int ret;

	*ret_damaged = NULL;
	if (n > MERGE_MAX)
		return err_set(e, ERR_FAIL, "at most %d recordings can be merged", MERGE_MAX);
	ret = merge_open(&m, paths, n, f, e);
	if (ret < 0)
		return ret;
	progress_start(&p, "merging", "records");
	ret = make(m, fd, &p, e);
	progress_end(&p);
	if (ret == 0)
		*ret_damaged = damaged_path(m);
	merge_free(m);
	return ret;
}

static int merge(struct merge *m, const struct remake_config *c, struct err *e)
{
	struct outfile o = { .fd = -1 };
	struct progress p;
	int ret;

	progress_start(&p, "merging", "records"); /* before a file is made that would be left */
	ret = outfile_open(&o, c->output, c->force, e);
	if (ret == 0)
		ret = make(m, o.fd, &p, e);
	if (ret == 0)
		ret = outfile_keep(&o, e);
	progress_clear(&p);
	if (ret == 0)
		print_sources(m);
	outfile_close(&o);
	progress_end(&p);
	return ret == 0 && damaged_path(m) ? cmd_damaged(damaged_path(m)) : ret;
}

static int run(int argc, char **argv, struct err *e)
{
	struct remake_config c = { 0 };
	int first = cmd_words(&command_merge, &c, argc, argv, 2, MERGE_MAX, e), ret;
	struct merge *m = NULL;

	if (first < 0)
		return first;
	if (!c.output)
		return err_set(e, ERR_FAIL, "name the recording to make with -o");
	ret = merge_open(&m, argv + first, argc - first, &c.filter, e);
	if (ret == 0)
		ret = merge(m, &c, e);
	merge_free(m);
	return ret;
}

const struct command command_merge = {
	.name = "merge",
	.words = "-o FILE RECORDING RECORDING...",
	.doc = "merge recordings of several hosts, or successive ones",
	.opts = opts,
	.run = run,
};
