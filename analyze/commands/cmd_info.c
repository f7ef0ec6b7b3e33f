// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * info: what is in this file? Answers from the index and the recorder's own records; the
 * events themselves are not read, so the size of the recording does not matter, unless a filter
 * asks for a part.
 */
#include "analyze/base/sink.h"

#include "analyze/transform/excerpt.h"
#include "cmd.h"
#include "format/escape.h"
#include "format/facts.h"
#include "format/recording.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct config {
	struct filter filter; /* first: its options look for it there */
	bool json;
};

CMD_SET_FLAG(set_json, json)

static const struct opt opts[] = {
	{ "json", 'j', NULL, "one JSON object", set_json },
	FILTER_OPTS,
	{ 0 },
};

extern const struct command command_info;

struct info {
	struct buf *out;
	bool json;
	struct err *e;
	u64 clock_offset;    /* realtime - monotonic; 0: not known */
	struct ev_self self; /* the last */
};

/* One line, or one member; value comes from the recording. */
static int put(struct info *i, const char *key, size_t n, const char *value, size_t len)
{
	enum escape_for how = i->json ? ESCAPE_JSON : ESCAPE_TEXT;

	buf_printf(i->out, i->e, i->json ? ",\n  \"" : "");
	escape_add(i->out, how, key, n, i->e);
	buf_printf(i->out, i->e, i->json ? "\": \"" : ": ");
	escape_add(i->out, how, value, len, i->e);
	return buf_printf(i->out, i->e, i->json ? "\"" : "\n");
}

static int put_text(struct info *i, const char *key, const char *value)
{
	return put(i, key, strlen(key), value, strlen(value));
}

static int put_number(struct info *i, const char *key, u64 value, const char *unit)
{
	if (i->json)
		return buf_printf(i->out, i->e, ",\n  \"%s\": %llu", key,
				  (unsigned long long)value);
	return buf_printf(i->out, i->e, "%s: %llu%s\n", key, (unsigned long long)value, unit);
}

/* "program.sched__switch: 12345 runs, 210 ns each, 0 missed" */
static int put_program(struct info *i, const struct record *rec)
{
	const struct ev_program *p = rec->event;
	char key[80], value[128];

	snprintf(key, sizeof(key), "program.%.*s", (int)(rec->tail_len < 60 ? rec->tail_len : 60),
		 rec->tail);
	if (p->runs)
		snprintf(value, sizeof(value), "%llu runs, %llu ns each, %llu missed",
			 (unsigned long long)p->runs, (unsigned long long)(p->time / p->runs),
			 (unsigned long long)p->missed);
	else
		snprintf(value, sizeof(value), "0 runs counted (--stats counts them), %llu missed",
			 (unsigned long long)p->missed);
	return put_text(i, key, value);
}

/* What the host could not record, and why. */
static int put_lack(struct info *i, const struct record *rec, const struct schema *s)
{
	static const char *const levels[] = { "available", "degraded", "absent" };
	const struct ev_doctor *d = rec->event;
	char key[SCHEMA_NAME_MAX + 16];

	if (!d->level || d->level > 2 || d->group >= GROUP_MAX)
		return 0;
	snprintf(key, sizeof(key), "%s.%s", levels[d->level], s->groups[d->group].name);
	return put(i, key, strlen(key), rec->tail, rec->tail_len);
}

static int put_record(struct info *i, const struct record *rec, const struct schema *s)
{
	const struct ev_clock *clock = rec->event;
	const char *equals;

	if (!rec->event)
		return 0;
	if (rec->type == EV_clock && !i->clock_offset)
		i->clock_offset = clock->realtime - clock->monotonic;
	if (rec->type == EV_self)
		i->self = *(const struct ev_self *)rec->event;
	if (rec->type == EV_program)
		return put_program(i, rec);
	if (rec->type == EV_doctor)
		return put_lack(i, rec, s);
	if (rec->type != EV_info || !fact_find(rec->tail, rec->tail_len)->shown)
		return 0;
	equals = memchr(rec->tail, '=', rec->tail_len);
	if (!equals)
		return 0;
	return put(i, rec->tail, equals - rec->tail, equals + 1,
		   rec->tail_len - (equals + 1 - rec->tail));
}

static int put_groups(struct info *i, const struct reader *r)
{
	const struct schema *s = reader_schema(r);
	char text[GROUP_MAX * SCHEMA_NAME_MAX] = "";
	int g;

	for (g = 1; g < GROUP_MAX; g++)
		if (reader_state(r)->groups & 1u << g && s->groups[g].name[0]) {
			strncat(text, text[0] ? "," : "", sizeof(text) - strlen(text) - 1);
			strncat(text, s->groups[g].name, sizeof(text) - strlen(text) - 1);
		}
	return put_text(i, "groups_with_events", text);
}

static int put_start(struct info *i, u64 ts)
{
	u64 real = ts + i->clock_offset;
	time_t seconds = real / 1000000000u;
	char text[64];
	struct tm tm;

	if (!i->clock_offset || !gmtime_r(&seconds, &tm))
		return 0;
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return put_text(i, "first_event", text);
}

/* What recording has cost: computation and communication. */
static int put_cost(struct info *i, const struct recording_state *st)
{
	u64 ns = st->ts_max > st->ts_min ? st->ts_max - st->ts_min : 1;
	const struct {
		const char *key;
		u64 value;
	} numbers[] = {
		{ "recorder_cpu_ns", i->self.process },
		{ "recorder_drainer_cpu_ns", i->self.drainer },
		{ "recorder_compressor_cpu_ns", i->self.compressor },
		{ "recorder_memory_bytes", i->self.rss },
		{ "ring_bytes", i->self.ring_bytes },
		{ "ring_bytes_per_second", (u64)(i->self.ring_bytes / (ns / 1e9)) },
		{ "ring_high_water_bytes", i->self.high_water },
		{ "file_bytes_per_second", (u64)(st->file_bytes / (ns / 1e9)) },
	};
	size_t k;
	int ret = 0;

	for (k = 0; k < sizeof(numbers) / sizeof(numbers[0]) && ret == 0; k++)
		ret = put_number(i, numbers[k].key, numbers[k].value, "");
	return ret;
}

/* Takes off what was lost before a snapshot of flight mode begins: its blocks count from then. */
static int lost_within(u64 *lost, struct reader *r, struct err *e)
{
	const struct ev_counters *c;
	struct record rec;
	u64 before = 0;
	int ret = 0;

	*lost = reader_state(r)->lost;
	if (!*lost)
		return 0;
	reader_limit(r, UINT64_MAX, UINT64_MAX);
	while ((ret = reader_next(r, &rec, e)) > 0)
		if (rec.type == EV_counters && rec.event) {
			c = rec.event;
			before += c->lost_full + c->lost_other;
		}
	reader_rewind(r);
	*lost -= before < *lost ? before : *lost;
	return ret;
}

static int put_contents(struct info *i, const char *path, struct reader *r)
{
	u64 lost = 0;
	int ret = lost_within(&lost, r, i->e);

	const struct recording_state *st = reader_state(r);
	const struct {
		const char *key;
		u64 value;
		const char *unit;
	} numbers[] = {
		{ "file_bytes", st->file_bytes, "" },
		{ "records", st->records, "" },
		{ "blocks", st->blocks, "" },
		{ "record_bytes", st->raw, "" },
		{ "duration_ns", st->ts_max - st->ts_min, "" },
		{ "cpus_with_events", st->streams, "" },
		{ "lost", lost, "" },
		{ "ignored_bytes", st->ignored, "" },
	};
	struct record rec;
	size_t k;

	if (ret == 0)
		ret = buf_printf(i->out, i->e, i->json ? "{\n  \"schema\": \"obs-info/1\"" : "");
	if (ret == 0)
		ret = put_text(i, "file", path);
	if (ret == 0)
		ret = put_text(i, "end_found",
			       st->complete ? "yes" : "no: the recording was cut off");
	for (k = 0; k < sizeof(numbers) / sizeof(numbers[0]) && ret == 0; k++)
		ret = put_number(i, numbers[k].key, numbers[k].value, numbers[k].unit);
	reader_limit(r, UINT64_MAX, UINT64_MAX); /* the recorder's own stream only */
	while (ret == 0 && (ret = reader_next(r, &rec, i->e)) > 0)
		ret = put_record(i, &rec, reader_schema(r));
	if (ret == 0)
		ret = put_start(i, st->ts_min);
	if (ret == 0)
		ret = put_groups(i, r);
	return ret < 0 ? ret : put_cost(i, st);
}

static int put_all(struct info *i, const char *path, struct reader *r)
{
	int ret = put_contents(i, path, r);

	return ret < 0 ? ret : buf_printf(i->out, i->e, i->json ? "\n}\n" : "");
}

static int run(int argc, char **argv, struct err *e)
{
	struct config c = { 0 };
	struct buf out = { 0 };
	struct info i = { .out = &out, .e = e };
	struct reader *r;
	bool damaged;
	int first = cmd_words(&command_info, &c, argc, argv, 1, 1, e), ret = first;

	if (ret >= 0)
		ret = excerpt_reader(&r, &damaged, argv[first], &c.filter, e);
	if (ret < 0)
		return ret;
	i.json = c.json;
	ret = put_all(&i, argv[first], r);
	if (ret == 0)
		ret = sink_write(&out, NULL, e);
	if (ret == 0 && (damaged || reader_state(r)->damaged))
		ret = cmd_damaged(argv[first]);
	buf_free(&out);
	reader_free(r);
	return ret;
}

const struct command command_info = {
	.name = "info",
	.words = "RECORDING",
	.doc = "print facts about the file, without reading all of it",
	.opts = opts,
	.run = run,
};
