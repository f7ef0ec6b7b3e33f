// SPDX-License-Identifier: GPL-2.0-or-later
/* What the recording says of itself: host, clocks, targets, probed functions, disks, own cost. */
#include "analyze/replay/io/track_syscalls.h"
#include "analyze/replay/requests/track_calls.h"
#include "format/grow.h"
#include "track_loss.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TARGETS_MAX 65536

static int put_fact(struct replay *r, const char *key, const char *value, struct err *e)
{
	return row_put(r->db, recording, e, .key = key, .value = value);
}

/* "targets=all" or "targets=12,345": whose events are in the recording. */
static int read_targets(struct replay *r, const char *value, struct err *e)
{
	char *end;

	r->everything = strcmp(value, "all") == 0;
	r->chosen = strcmp(value, "chosen") == 0;
	if (r->chosen)
		return 0;
	for (; !r->everything && *value && r->n_targets < TARGETS_MAX; value = end) {
		unsigned long pid = strtoul(value, &end, 10);

		if (end == value || pid > UINT32_MAX)
			return err_set(e, ERR_DAMAGED,
				       "the recording's list of targets is damaged");
		if (GROW(r->targets, r->n_targets, "targets", e) < 0)
			return ERR_FAIL;
		r->targets[r->n_targets++] = pid;
		end += *end == ',';
	}
	return 0;
}

/* "groups=core,syscalls": which of them were recorded. */
static void read_groups(struct replay *r, const char *value)
{
	const struct schema *s = reader_schema(r->reader);
	u32 g;

	for (g = 0; g < GROUP_MAX; g++) {
		const char *at = s->groups[g].name[0] ? strstr(value, s->groups[g].name) : NULL;
		size_t n = strlen(s->groups[g].name);

		if (at && (at == value || at[-1] == ',') && (!at[n] || at[n] == ','))
			r->groups |= 1u << g;
	}
}

/* A time given as text; what is no time before the record itself is the record's. */
static u64 instant(const char *value, u64 ts)
{
	u64 t = strtoull(value, NULL, 10);

	return t && t < ts ? t : ts;
}

/* "syscalls.0=0:read 1:write": names of the recording's own table, for calls that ours lacks. */
static int read_names(struct replay *r, u8 abi, const char *value, struct err *e)
{
	const char *name;
	char *end;
	size_t n;

	for (; *value; value = name + n + (name[n] == ' ')) {
		unsigned long nr = strtoul(value, &end, 10);

		if (end == value || *end != ':' || nr >= SYSCALL_NR_MAX)
			return err_set(e, ERR_DAMAGED,
				       "the recording's names of system calls are damaged");
		name = end + 1;
		n = strcspn(name, " ");
		if (syscalls_recorded_name(r, abi, nr, name, n, e) < 0)
			return ERR_FAIL;
	}
	return 0;
}

static int facts_on_info(struct replay *r, const struct record *rec, struct err *e)
{
	char *text = strndup(rec->tail, rec->tail_len), *value;
	int ret = 0;

	if (!text)
		return err_set(e, ERR_FAIL, "out of memory for facts");
	value = strchr(text, '=');
	if (value && strncmp(text, "syscalls.", 9) == 0) {
		ret = read_names(r, strtoul(text + 9, NULL, 10), value + 1, e);
	} else if (value) {
		*value++ = '\0';
		ret = put_fact(r, text, value, e);
		if (ret == 0 && strcmp(text, "targets") == 0)
			ret = read_targets(r, value, e);
		else if (strcmp(text, "groups") == 0)
			read_groups(r, value);
		else if (strcmp(text, "follow") == 0)
			r->follow = strcmp(value, "0") != 0;
		else if (strcmp(text, "begin") == 0)
			r->begin = instant(value, rec->ts);
		else if (strcmp(text, "snapshot") == 0 && !r->snapshot_end)
			r->snapshot_end = rec->ts;
		else if (strlen(text) > 7 && strcmp(text + strlen(text) - 7, ".gap_ns") == 0)
			ret = loss_on_gap(r, value, e);
		else if (strcmp(text, "flight") == 0)
			r->flight = true;
		else if (strcmp(text, "stopped") == 0)
			r->stopped = rec->ts;
	}
	free(text);
	return ret;
}

static int facts_on_clock(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_clock *ev = rec->event;
	u64 now = ev->monotonic;

	(void)e;
	r->end = now > r->end ? now : r->end;
	if (!r->clock_monotonic) {
		r->clock_monotonic = now;
		r->clock_realtime = ev->realtime;
		r->clock_boottime = ev->boottime;
	}
	return 0;
}

/* The colon after the file: the first that is not a part of "::". */
static char *end_of_file(char *text)
{
	for (; (text = strchr(text, ':')); text += strspn(text, ":"))
		if (text[1] != ':')
			return text;
	return NULL;
}

static int facts_on_site(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_site *ev = rec->event;
	char *text = strndup(rec->tail, rec->tail_len), *function, id[41] = "";
	int ret;

	if (!text)
		return err_set(e, ERR_FAIL, "out of memory for facts");
	function = end_of_file(text);
	if (function)
		*function++ = '\0';
	if (ev->build_id0)
		snprintf(id, sizeof(id), "%016llx%016llx%08x", (unsigned long long)ev->build_id0,
			 (unsigned long long)ev->build_id1, ev->build_id2);
	ret = row_put(r->db, site, e, .id = ev->id, .file = text,
		      .kind = ev->flags & SITE_MARK   ? "mark"
			      : ev->flags & SITE_SPAN ? "span"
						      : "function",
		      .function = function ? function : "", .returns = !!(ev->flags & SITE_RETURN),
		      .args = ev->args, .offset = ev->offset & INT64_MAX, .build_id = id);
	if (ret == 0 && ev->flags & SITE_ENTRY && !(ev->flags & SITE_RETURN))
		ret = calls_entries_only(r, ev->id, e);
	free(text);
	return ret;
}

static int facts_on_disk(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_disk *ev = rec->event;
	char name[64] = "";

	memcpy(name, rec->tail, rec->tail_len < sizeof(name) ? rec->tail_len : sizeof(name) - 1);
	return row_put(r->db, disk, e, .dev = ev->dev, .name = name, .rotational = ev->rotational,
		       .sectors = ev->sectors & INT64_MAX);
}

static int facts_on_doctor(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_doctor *ev = rec->event;
	const struct schema *s = reader_schema(r->reader);
	char why[700] = "";

	memcpy(why, rec->tail, rec->tail_len < sizeof(why) ? rec->tail_len : sizeof(why) - 1);
	return row_put(r->db, doctor, e,
		       .grp = ev->group < GROUP_MAX ? s->groups[ev->group].name : "unknown",
		       .level = ev->level, .why = why);
}

/* "type source mount-point" */
static int facts_on_mount(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_mount *ev = rec->event;
	char *text = strndup(rec->tail, rec->tail_len), *source, *target;
	int ret;

	if (!text)
		return err_set(e, ERR_FAIL, "out of memory for facts");
	source = text + strcspn(text, " ");
	source += *source == ' ';
	target = source + strcspn(source, " ");
	target += *target == ' ';
	if (source > text)
		source[-1] = '\0';
	if (target > source)
		target[-1] = '\0';
	ret = row_put(r->db, mount, e, .dev = ev->dev, .type = text, .source = source,
		      .target = target);
	free(text);
	return ret;
}

static int facts_on_self(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_self *ev = rec->event;
	struct row_overhead *row = bulk_add(r->bulk, overhead);

	(void)e;
	row->ts = replay_time(r, rec->ts);
	row->drainer = ev->drainer & INT64_MAX;
	row->compressor = ev->compressor & INT64_MAX;
	row->process = ev->process & INT64_MAX;
	row->ring_bytes = ev->ring_bytes & INT64_MAX;
	row->file_bytes = ev->file_bytes & INT64_MAX;
	row->high_water = ev->high_water & INT64_MAX;
	row->rss = ev->rss & INT64_MAX;
	return 0;
}

static int put_number(struct replay *r, const char *key, u64 value, struct err *e)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return put_fact(r, key, text, e);
}

/* The start by each clock, and as UTC, by the first reading of the clocks. */
static int put_start(struct replay *r, struct err *e)
{
	u64 real = r->clock_realtime - r->clock_monotonic + r->begin;
	time_t seconds = real / 1000000000u;
	char text[64] = "", full[96];
	struct tm tm;
	int ret;

	if (!r->clock_monotonic || !gmtime_r(&seconds, &tm))
		return 0;
	ret = put_number(r, "start_monotonic_ns", r->begin, e);
	if (ret == 0)
		ret = put_number(r, "start_boottime_ns",
				 r->clock_boottime - r->clock_monotonic + r->begin, e);
	if (ret == 0)
		ret = put_number(r, "start_realtime_ns", real, e);
	if (ret < 0)
		return ret;
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(full, sizeof(full), "%s.%03uZ", text, (unsigned int)(real / 1000000u % 1000u));
	return put_fact(r, "start", full, e);
}

static int facts_finish(struct replay *r, struct err *e)
{
	const struct recording_state *st = reader_state(r->reader);
	const struct {
		const char *key;
		u64 value;
	} numbers[] = {
		{ "duration_ns", elapsed(r->begin, r->end) },
		{ "complete", st->complete },
		{ "sound", st->sound },
		{ "file_bytes", st->file_bytes },
		{ "ignored_bytes", st->ignored },
		{ "records", st->records },
		{ "damaged_blocks", st->damaged },
		{ "gaps", st->gaps },
	};
	char uuid[2 * sizeof(st->uuid) + 1];
	size_t i;
	int ret;

	for (i = 0; i < sizeof(st->uuid); i++)
		snprintf(uuid + 2 * i, 3, "%02x", st->uuid[i]);
	ret = put_fact(r, "uuid", uuid, e);
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && ret == 0; i++)
		ret = put_number(r, numbers[i].key, numbers[i].value, e);
	return ret < 0 ? ret : put_start(r, e);
}

static const struct handler handlers[] = {
	{ EV_info, true, facts_on_info },   { EV_clock, true, facts_on_clock },
	{ EV_site, true, facts_on_site },   { EV_disk, true, facts_on_disk },
	{ EV_self, true, facts_on_self },   { EV_doctor, true, facts_on_doctor },
	{ EV_mount, true, facts_on_mount }, { 0 },
};

const struct tracker track_facts = {
	.name = "facts",
	.handlers = handlers,
	.finish = facts_finish,
};
