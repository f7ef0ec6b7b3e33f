// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chrome's trace event format, as JSON: what chrome://tracing, speedscope and older viewers read. A
 * slice is written as its begin and its end: two numbers that are equal stay equal when a viewer
 * reads them as floating point, which begin + duration would not.
 */
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

static void open_event(struct trace_writer *w, char phase, s64 pid, s64 tid, s64 ts)
{
	ADD(w, "%s\n{\"ph\":\"%c\",\"pid\":%lld,\"tid\":%lld", w->any ? "," : "", phase,
	    (long long)pid, (long long)tid);
	w->any = true;
	/* the format counts microseconds; three digits after the point keep the nanoseconds */
	ts = ts > 0 ? ts : 0;
	if (phase != 'M')
		ADD(w, ",\"ts\":%lld.%03lld", (long long)(ts / 1000), (long long)(ts % 1000));
}

static int close_event(struct trace_writer *w)
{
	ADD(w, "}");
	if (w->failed == 0)
		w->failed = sink_more(w->out, w->e);
	return w->failed;
}

static int json_start(struct trace_writer *w, const struct trace_facts *facts)
{
	size_t i;

	/* what no viewer shows, but the file contains */
	ADD(w, "{\"otherData\":{");
	for (i = 0; facts->texts[i][0]; i++) {
		ADD(w, "%s\"%s\":", i ? "," : "", facts->texts[i][0]);
		add_string(w, facts->texts[i][1]);
	}
	ADD(w, "},\"traceEvents\":[");
	return w->failed;
}

/* One metadata event: a name, or a place among the others. */
static void add_meta(struct trace_writer *w, s64 pid, s64 tid, const char *what, const char *name,
		     s64 place)
{
	open_event(w, 'M', pid, tid, 0);
	ADD(w, ",\"name\":\"%s\",\"args\":{", what);
	if (name) {
		ADD(w, "\"name\":");
		add_string(w, name);
	} else {
		ADD(w, "\"sort_index\":%lld", (long long)place);
	}
	ADD(w, "}");
	close_event(w);
}

static int json_process(struct trace_writer *w, s64 pid, const char *name, s64 place)
{
	add_meta(w, pid, 0, "process_name", name, 0);
	add_meta(w, pid, 0, "process_sort_index", NULL, place);
	return w->failed;
}

static int json_track(struct trace_writer *w, struct trace_track *k, const char *name, s64 place)
{
	if (k->kind == TRACK_COUNTER) /* known by the name of its events */
		return w->failed;
	add_meta(w, k->pid, k->tid, "thread_name", name, 0);
	add_meta(w, k->pid, k->tid, "thread_sort_index", NULL, place);
	return w->failed;
}

static void add_args(struct trace_writer *w, const struct trace_event *v)
{
	unsigned int i;

	for (i = 0; i < v->n_args; i++) {
		ADD(w, "%s\"%s\":", i ? "," : ",\"args\":{", v->args[i].key);
		if (v->args[i].text)
			add_string(w, v->args[i].text);
		else
			ADD(w, "%lld", (long long)v->args[i].value);
	}
	ADD(w, "%s", v->n_args ? "}" : "");
}

static int json_event(struct trace_writer *w, struct trace_track *k, const struct trace_event *v)
{
	open_event(w, "BEisC"[v->kind], k -> pid, k -> kind == TRACK_COUNTER ? 0 : k -> tid,
		   v -> ts);
	ADD(w, ",\"name\":");
	add_string(w, v->name);
	if (v->category)
		ADD(w, ",\"cat\":\"%s\"", v->category);
	if (v->kind == TRACE_INSTANT)
		ADD(w, ",\"s\":\"t\"");
	if (v->kind == TRACE_ARROW)
		ADD(w, ",\"id\":%llu", (unsigned long long)v->arrow);
	add_args(w, v);
	close_event(w);
	if (v->kind != TRACE_BEGIN || !v->arrow)
		return w->failed;
	open_event(w, 'f', k->pid, k->tid, v->ts);
	ADD(w, ",\"name\":\"wakes\",\"cat\":\"wakeup\",\"id\":%llu,\"bp\":\"e\"",
	    (unsigned long long)v->arrow);
	return close_event(w);
}

static int json_end(struct trace_writer *w)
{
	ADD(w, "\n]}\n");
	return w->failed;
}

const struct trace_form trace_json = {
	.start = json_start,
	.process = json_process,
	.track = json_track,
	.event = json_event,
	.end = json_end,
};
