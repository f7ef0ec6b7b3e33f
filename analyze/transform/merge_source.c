// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One of the recordings that are merged: its facts, and the offset of its clock from the wall
 * clock. Offsets between hosts come later, from messages: causes/request/host_clocks.c.
 */
#include "merge_source.h"

#include "excerpt.h"
#include "format/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READINGS_MAX 65536

static int by_value(const void *a, const void *b)
{
	const s64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Copies the value of a fact; longer ones are cut. */
static void take_fact(const struct record *rec, const char *key, char *to, size_t size)
{
	size_t k = strlen(key), n = rec->tail_len;

	if (n <= k || memcmp(rec->tail, key, k) != 0 || rec->tail[k] != '=')
		return;
	n -= k + 1;
	n = n < size ? n : size - 1;
	memcpy(to, rec->tail + k + 1, n);
	to[n] = '\0';
}

/* "2.pid_offset=10000000": merging moved the numbers of a host. */
static bool is_moved(const struct record *rec)
{
	static const char key[] = ".pid_offset=";
	size_t n = strlen(key), at = 0;

	while (at < rec->tail_len && rec->tail[at] >= '0' && rec->tail[at] <= '9')
		at++;
	return at && rec->tail_len > at + n && memcmp(rec->tail + at, key, n) == 0 &&
	       rec->tail[at + n] != '0';
}

static void take_facts(struct source *s, const struct record *rec)
{
	char follow[8] = "", runs[8] = "";

	s->several |= is_moved(rec);
	if (rec->tail_len > 7 && memcmp(rec->tail, "flight=", 7) == 0)
		s->flight = true;
	if (rec->tail_len > 9 && memcmp(rec->tail, "snapshot=", 9) == 0 && !s->snapshot_end)
		s->snapshot_end = rec->ts;
	take_fact(rec, "host", s->host, sizeof(s->host));
	take_fact(rec, "boot_id", s->boot, sizeof(s->boot));
	take_fact(rec, "targets", s->targets, sizeof(s->targets));
	take_fact(rec, "groups", s->groups, sizeof(s->groups));
	take_fact(rec, "follow", follow, sizeof(follow));
	take_fact(rec, "runs", runs, sizeof(runs));
	if (runs[0])
		s->runs = (u32)strtoul(runs, NULL, 10);
	if (!s->whole[0])
		take_fact(rec, "source", s->whole, sizeof(s->whole));
	if (follow[0])
		s->follow = strcmp(follow, "0") != 0;
}

/* Offset between wall clock and the clock of the events: the median of all readings. */
static int read_clocks(struct source *s, struct err *e)
{
	s64 *offsets = calloc(READINGS_MAX, sizeof(*offsets));
	const struct ev_clock *clock;
	struct record rec;
	u64 spread = 0;
	size_t n = 0;
	int ret;

	if (!offsets)
		return err_set(e, ERR_FAIL, "out of memory for clocks");
	reader_limit(s->reader, UINT64_MAX, UINT64_MAX);
	while ((ret = reader_next(s->reader, &rec, e)) > 0) {
		clock = rec.event;
		if (rec.event && rec.type == EV_info)
			take_facts(s, &rec);
		if (!rec.event || rec.type != EV_clock || n == READINGS_MAX)
			continue;
		offsets[n++] = (s64)(clock->realtime - clock->monotonic);
		spread = clock->spread > spread ? clock->spread : spread;
	}
	qsort(offsets, n, sizeof(*offsets), by_value);
	if (n) {
		s->realtime = offsets[n / 2];
		s->error = (u64)(offsets[n - 1] - offsets[0]) / 2 + spread;
	}
	s->readings = n;
	free(offsets);
	reader_rewind(s->reader);
	return ret;
}

/* It is no part of another recording: it is known by its own id. */
static void put_uuid(struct source *s)
{
	const struct recording_state *st = reader_state(s->reader);
	size_t i;

	for (i = 0; i < sizeof(st->uuid); i++)
		snprintf(s->whole + 2 * i, 3, "%02x", st->uuid[i]);
}

int source_open(struct source *s, const char *path, const struct filter *f, struct err *e)
{
	int ret;

	s->path = path;
	s->follow = true;
	s->runs = 1;
	ret = excerpt_reader(&s->reader, &s->damaged, path, f, e);
	if (ret == 0)
		ret = origin_read(&s->origin, s->reader, e);
	if (ret == 0)
		ret = read_clocks(s, e);
	s->part = s->whole[0];
	if (ret == 0 && !s->part)
		put_uuid(s);
	if (ret == 0 && (!s->runs || s->runs > MERGE_RUNS))
		ret = err_set(e, ERR_DAMAGED, "%.400s claims to be merged of %u runs", path,
			      s->runs);
	if (ret == 0 && s->several)
		ret = err_set(
			e, ERR_FAIL,
			"%.400s was merged of several hosts: merge the recordings that it was "
			"made of, all at once",
			path);
	return ret;
}

/*
 * Numbers that name something, whose kind does not tell so: within one host, within one run of the
 * recorder, which counts them; or what has the same number in several runs if it is the same.
 */
enum scope { OF_HOST, OF_RUN, OF_SITE, OF_NAME };

static const struct {
	const char *event, *field; /* event NULL: of any */
	enum scope scope;
	u64 step; /* of hosts; exclusive or: these numbers use all their bits */
} names[] = {
	{ "site", "id", OF_SITE, 0 },
	{ NULL, "site", OF_SITE, 0 },
	{ NULL, "request", OF_HOST, 1ull << 48 },
	{ NULL, "ring", OF_HOST, 1ull << 48 },
	{ NULL, "sock", OF_HOST, 1ull << 48 },
	{ "cgroup", "id", OF_HOST, 1ull << 48 },
	{ "cgroup_made", "id", OF_HOST, 1ull << 48 },
	{ NULL, "cgroup", OF_HOST, 1ull << 48 },
	{ NULL, "parent", OF_HOST, 1ull << 48 }, /* a group's; processes' are of kind PID */
	{ NULL, "netns", OF_HOST, 1ull << 25 },	 /* these inodes begin at 0xf0000000 */
	{ NULL, "conn", OF_RUN, 0 },
	{ "request_name", "id", OF_NAME, 0 },
	{ NULL, "name", OF_NAME, 0 },
	{ "stack", "id", OF_RUN, 0 },
	{ "frame", "id", OF_RUN, 0 },
	{ "module", "id", OF_RUN, 0 },
	{ NULL, "caller", OF_RUN, 0 },
	{ NULL, "kernel_stack", OF_RUN, 0 },
	{ NULL, "user_stack", OF_RUN, 0 },
	{ NULL, "frame", OF_RUN, 0 },
	{ NULL, "module", OF_RUN, 0 },
};

#define N_NAMES (sizeof(names) / sizeof(names[0]))

/* The bits of a run's number from bit 30 down, so that few runs leave each many numbers. */
static u64 run_bits(u32 run)
{
	u64 bits = 0;
	int i;

	for (i = 30; run; i--, run >>= 1)
		bits |= (u64)(run & 1) << i;
	return bits;
}

/* Its row of names, or N_NAMES; found once per field. */
static size_t name_of(const struct source *s, const struct event_desc *ev,
		      const struct field_desc *f)
{
	u8 *known = &s->names[ev->id][f - ev->fields];
	size_t i;

	for (i = 0; !*known && i < N_NAMES; i++)
		if ((!names[i].event || strcmp(names[i].event, ev->name) == 0) &&
		    strcmp(names[i].field, f->name) == 0)
			break;
	if (!*known)
		*known = (u8)(i + 1);
	return *known - 1u;
}

static int move_name(const struct source *s, const struct event_desc *ev,
		     const struct field_desc *f, u64 *v, struct err *e)
{
	size_t i = name_of(s, ev, f);

	if (i == N_NAMES)
		return 0;
	if (names[i].scope == OF_SITE)
		return merge_ids_move(s->ids, MERGE_SITE, s->nth, v, e);
	if (!*v) /* none, or the host */
		return 0;
	if (names[i].scope == OF_NAME)
		return merge_ids_move(s->ids, MERGE_NAME, s->nth, v, e);
	*v ^= names[i].scope == OF_RUN ? run_bits(s->run) : names[i].step * s->number;
	return 0;
}

/* A time on another clock than that of the events. */
static bool other_clock(const struct event_desc *ev, const struct field_desc *f)
{
	(void)ev;
	return strcmp(f->name, "start") == 0 || strcmp(f->name, "boottime") == 0 ||
	       strcmp(f->name, "realtime") == 0;
}

static int move_field(const struct source *s, const struct event_desc *ev,
		      const struct field_desc *f, u8 *record, struct err *e)
{
	u64 v = field_value(f, record), old = v;
	int ret = 0;

	if (f->kind == KIND_PID && v >= MERGE_PIDS)
		return err_set(e, ERR_DAMAGED, "a recording claims a process %llu",
			       (unsigned long long)v);
	if (f->kind == KIND_CPU && v >= MERGE_CPUS)
		return err_set(e, ERR_FAIL,
			       "recordings of hosts with more than %u CPUs cannot be "
			       "merged",
			       MERGE_CPUS);
	if (f->kind == KIND_PID && v)
		v += (u64)MERGE_PIDS * s->number;
	else if (f->kind == KIND_CPU)
		v += (u64)MERGE_CPUS * s->number;
	else if (f->kind == KIND_DEV && v)
		v ^= (u64)s->number << MERGE_DEV_BIT;
	else if (f->kind == KIND_ID)
		ret = move_name(s, ev, f, &v, e);
	else if (f->kind == KIND_TIME && !other_clock(ev, f))
		v += (u64)s->shift;
	if (v != old)
		le_put(record + f->offset, v, f->size);
	return ret;
}

int source_move(const struct source *s, const struct event_desc *ev, u8 *record, struct err *e)
{
	u32 tid = (u32)le_get(record + 8, 4);
	int i, ret = 0;

	if (tid >= MERGE_PIDS)
		return err_set(e, ERR_DAMAGED, "a recording claims a thread %u", tid);
	le_put(record, le_get(record, 8) + (u64)s->shift, 8);
	le_put(record + 8, tid ? tid + MERGE_PIDS * s->number : 0, 4);
	for (i = 0; i < ev->n_fields && ret == 0; i++)
		if (ev->fields[i].size <= 8)
			ret = move_field(s, ev, &ev->fields[i], record, e);
	return ret;
}

void source_close(struct source *s)
{
	reader_free(s->reader);
	s->reader = NULL;
}
