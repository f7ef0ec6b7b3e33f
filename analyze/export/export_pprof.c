// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPU samples as a profile of pprof: profile.proto, not compressed. A location is a function;
 * process and thread are labels. Strings are numbered in the order in which they are written.
 */
#include "analyze/store/fact.h"
#include "analyze/store/stacks/callstacks.h"
#include "cpu_stacks.h"
#include "export.h"
#include "format/escape.h"
#include "protobuf.h"

#include <stdio.h>
#include <string.h>

/* Of messages Profile, ValueType, Sample, Label, Location, Line and Function. */
enum profile_field {
	PROFILE_TYPE = TAG(1, BYTES),
	PROFILE_SAMPLE = TAG(2, BYTES),
	PROFILE_LOCATION = TAG(4, BYTES),
	PROFILE_FUNCTION = TAG(5, BYTES),
	PROFILE_STRING = TAG(6, BYTES),
	PROFILE_TIME = TAG(9, VARINT),
	PROFILE_DURATION = TAG(10, VARINT),
	PROFILE_COMMENT = TAG(13, VARINT),
	TYPE_NAME = TAG(1, VARINT),
	TYPE_UNIT = TAG(2, VARINT),
	SAMPLE_LOCATION = TAG(1, VARINT),
	SAMPLE_VALUE = TAG(2, VARINT),
	SAMPLE_LABEL = TAG(3, BYTES),
	LABEL_KEY = TAG(1, VARINT),
	LABEL_TEXT = TAG(2, VARINT),
	LOCATION_ID = TAG(1, VARINT),
	LOCATION_LINE = TAG(4, BYTES),
	LINE_FUNCTION = TAG(1, VARINT),
	LINE_NUMBER = TAG(2, VARINT),
	FUNCTION_ID = TAG(1, VARINT),
	FUNCTION_NAME = TAG(2, VARINT),
	FUNCTION_FILE = TAG(4, VARINT),
};

static const char *const fixed[] = { "",	"samples", "count", "cpu", "nanoseconds",
				     "process", "thread",  "stack" };

enum { TEXT_SAMPLES = 1, TEXT_COUNT, TEXT_CPU, TEXT_NS, TEXT_PROCESS, TEXT_THREAD, TEXT_STACK };

struct profile {
	struct sink *out;
	struct pb p;
	struct buf text;
	struct callstacks stacks;
	u64 strings; /* how many are written */
	struct {
		char name[64];
		u64 number;
	} last[2]; /* process, thread */
	bool any;
};

/* Writes a string and returns its number. */
static u64 put_string(struct profile *f, const char *text, const char *mark)
{
	buf_clear(&f->text);
	if (f->p.failed == 0)
		f->p.failed = escape_add(&f->text, ESCAPE_TEXT, text, strlen(text), f->p.e);
	if (f->p.failed == 0)
		f->p.failed = buf_printf(&f->text, f->p.e, "%s", mark);
	pb_bytes(&f->p, PROFILE_STRING, f->text.data, f->text.len);
	return f->strings++;
}

static void put_type(struct pb *p, u64 name, u64 unit)
{
	size_t at = pb_open(p, PROFILE_TYPE);

	pb_number(p, TYPE_NAME, name);
	pb_number(p, TYPE_UNIT, unit);
	pb_close(p, at);
}

/* A function and a location of the same number. */
static void put_function(struct profile *f, u64 id, const struct code *c)
{
	u64 name = put_string(f, c->name, c->kernel ? "_[k]" : "");
	u64 file = c->file ? put_string(f, c->file, "") : 0;
	struct pb *p = &f->p;
	size_t at = pb_open(p, PROFILE_FUNCTION), line;

	pb_number(p, FUNCTION_ID, id);
	pb_number(p, FUNCTION_NAME, name);
	if (file)
		pb_number(p, FUNCTION_FILE, file);
	pb_close(p, at);
	at = pb_open(p, PROFILE_LOCATION);
	pb_number(p, LOCATION_ID, id);
	line = pb_open(p, LOCATION_LINE);
	pb_number(p, LINE_FUNCTION, id);
	if (file)
		pb_number(p, LINE_NUMBER, c->line);
	pb_close(p, line);
	pb_close(p, at);
}

static void put_label(struct pb *p, u64 key, u64 text)
{
	size_t at = pb_open(p, SAMPLE_LABEL);

	pb_number(p, LABEL_KEY, key);
	pb_number(p, LABEL_TEXT, text);
	pb_close(p, at);
}

static void put_name(struct profile *f, int which, const char *name)
{
	if (f->any && strcmp(f->last[which].name, name) == 0)
		return;
	snprintf(f->last[which].name, sizeof(f->last[which].name), "%s", name);
	f->last[which].number = put_string(f, f->last[which].name, "");
}

static int write_out(struct profile *f)
{
	struct buf *b = &f->p.b;

	if (f->p.failed == 0 && b->len)
		f->p.failed = buf_add(&f->out->b, b->data, b->len, f->p.e);
	buf_clear(b);
	return f->p.failed < 0 ? f->p.failed : sink_more(f->out, f->p.e);
}

/* A row of CPU_STACKS. */
static int put_sample(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct profile *f = arg;
	struct pb *p = &f->p;
	s64 flags = sqlite3_column_int64(q, 5);
	u32 codes[STACK_DEEP], i;
	u32 n = callstacks_codes(&f->stacks, sqlite3_column_int64(q, 3), sqlite3_column_int64(q, 4),
				 codes);
	u64 note = 0;
	size_t at;

	(void)e;
	put_name(f, 0, db_text_or(q, 0, "?"));
	put_name(f, 1, db_text_or(q, 1, "?"));
	if (flags & STACK_LACKS)
		note = put_string(f, flags & STACK_NONE ? STACK_NONE_TEXT : STACK_LACKS_TEXT, "");
	f->any = true;
	at = pb_open(p, PROFILE_SAMPLE);
	for (i = 0; i < n; i++)
		pb_number(p, SAMPLE_LOCATION, codes[i]);
	pb_number(p, SAMPLE_VALUE, sqlite3_column_int64(q, 7));
	pb_number(p, SAMPLE_VALUE, sqlite3_column_int64(q, 6));
	put_label(p, TEXT_PROCESS, f->last[0].number);
	put_label(p, TEXT_THREAD, f->last[1].number);
	if (note)
		put_label(p, TEXT_STACK, note);
	pb_close(p, at);
	return write_out(f); /* 1: the reader is gone */
}

static int put_head(struct profile *f, sqlite3 *db, struct err *e)
{
	s64 start = 0, duration = 0;
	char verdict[16];
	u32 i;
	int ret = coverage_verdict(verdict, sizeof(verdict), db, e);

	if (ret == 0)
		ret = fact_number(&start, db, "start_realtime_ns", e);
	if (ret == 0)
		ret = fact_number(&duration, db, "duration_ns", e);
	if (ret < 0)
		return ret;
	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		put_string(f, fixed[i], "");
	put_type(&f->p, TEXT_SAMPLES, TEXT_COUNT);
	put_type(&f->p, TEXT_CPU, TEXT_NS);
	pb_number(&f->p, PROFILE_TIME, start);
	pb_number(&f->p, PROFILE_DURATION, duration);
	pb_number(&f->p, PROFILE_COMMENT, put_string(f, "recording: ", verdict));
	for (i = 1; i <= f->stacks.n_codes; i++)
		put_function(f, i, &f->stacks.codes[i]);
	return write_out(f);
}

int export_pprof(struct sink *out, sqlite3 *db, const struct export_part *part, struct err *e)
{
	struct profile f = { .out = out, .p.e = e };
	int ret = callstacks_load(&f.stacks, db, e);

	(void)part;
	if (ret == 0)
		ret = put_head(&f, db, e);
	if (ret == 0)
		ret = db_each(db, e, put_sample, &f, CPU_STACKS, "");
	if (ret == 0 && !f.any)
		ret = err_set(e, ERR_FAIL, "%s", NO_SAMPLES);
	callstacks_free(&f.stacks);
	buf_free(&f.text);
	buf_free(&f.p.b);
	return ret;
}
