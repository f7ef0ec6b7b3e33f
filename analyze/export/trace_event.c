// SPDX-License-Identifier: GPL-2.0-or-later
/* Events of Chrome's trace event format. */
#include "trace_event.h"

#include "format/escape.h"

#include <string.h>

#define ADD(w, ...)                                                                  \
	do {                                                                         \
		if ((w)->failed == 0)                                                \
			(w)->failed = buf_printf(&(w)->out->b, (w)->e, __VA_ARGS__); \
	} while (0)

static void add_string(struct trace_writer *w, const char *text)
{
	ADD(w, "\"");
	if (w->failed == 0)
		w->failed = escape_add(&w->out->b, ESCAPE_JSON, text, strlen(text), w->e);
	ADD(w, "\"");
}

void trace_open(struct trace_writer *w, char phase, s64 pid, s64 tid, s64 ts)
{
	ADD(w, "%s\n{\"ph\":\"%c\",\"pid\":%lld,\"tid\":%lld", w->any ? "," : "", phase,
	    (long long)pid, (long long)tid);
	w->any = true;
	w->args = false;
	/* the format counts microseconds; three digits after the point keep the nanoseconds */
	ts = ts > 0 ? ts : 0;
	if (phase != 'M')
		ADD(w, ",\"ts\":%lld.%03lld", (long long)(ts / 1000), (long long)(ts % 1000));
}

void trace_name(struct trace_writer *w, const char *name)
{
	ADD(w, ",\"name\":");
	add_string(w, name);
}

void trace_words(struct trace_writer *w, const char *json)
{
	ADD(w, ",%s", json);
}

static void add_key(struct trace_writer *w, const char *key)
{
	ADD(w, "%s\"%s\":", w->args ? "," : ",\"args\":{", key);
	w->args = true;
}

void trace_arg(struct trace_writer *w, const char *key, s64 value)
{
	add_key(w, key);
	ADD(w, "%lld", (long long)value);
}

void trace_arg_text(struct trace_writer *w, const char *key, const char *text)
{
	add_key(w, key);
	add_string(w, text);
}

int trace_close(struct trace_writer *w)
{
	ADD(w, "%s}", w->args ? "}" : "");
	if (w->failed == 0)
		w->failed = sink_more(w->out, w->e);
	return w->failed;
}

/* One metadata event: a name, or a place among the others. */
static int add_meta(struct trace_writer *w, s64 pid, s64 tid, const char *what, const char *name,
		    s64 place)
{
	trace_open(w, 'M', pid, tid, 0);
	ADD(w, ",\"name\":\"%s\"", what);
	if (name)
		trace_arg_text(w, "name", name);
	else
		trace_arg(w, "sort_index", place);
	return trace_close(w);
}

int trace_process(struct trace_writer *w, s64 pid, const char *name, s64 place)
{
	add_meta(w, pid, 0, "process_name", name, 0);
	return add_meta(w, pid, 0, "process_sort_index", NULL, place);
}

int trace_track(struct trace_writer *w, s64 pid, s64 tid, const char *name, s64 place)
{
	add_meta(w, pid, tid, "thread_name", name, 0);
	return add_meta(w, pid, tid, "thread_sort_index", NULL, place);
}
