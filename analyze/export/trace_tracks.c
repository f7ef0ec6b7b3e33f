// SPDX-License-Identifier: GPL-2.0-or-later
/* Tracks whose slices nest, and tracks for slices that do not. */
#include "trace_tracks.h"

#include "analyze/base/limits.h"
#include "format/grow.h"

#include <stdlib.h>
#include <string.h>

#define NEST_MAX 65536	/* slices open at once on one track */
#define MAPS_MAX 300000 /* processes, disks */

void trace_arg(struct trace_event *v, const char *key, s64 value)
{
	if (v->n_args < TRACE_ARGS)
		v->args[v->n_args++] = (struct trace_arg){ .key = key, .value = value };
}

void trace_arg_text(struct trace_event *v, const char *key, const char *text)
{
	if (v->n_args < TRACE_ARGS)
		v->args[v->n_args++] = (struct trace_arg){ .key = key, .text = text };
}

static int end_until(struct trace_writer *w, struct track *k, s64 ts)
{
	while (k->n && k->open[k->n - 1].end <= ts && w->failed == 0) {
		struct open_slice *s = &k->open[--k->n];
		struct trace_event v = { .kind = TRACE_END, .ts = s->end, .name = s->name };

		w->form->event(w, &k->k, &v);
		free(s->name);
	}
	return w->failed;
}

static int keep_open(struct trace_writer *w, struct track *k, s64 end, const char *name)
{
	u32 cap = 2 * k->cap + 2;
	struct open_slice *grown;
	char *copy;

	if (k->n == k->cap) {
		grown = realloc(k->open, cap * sizeof(*grown));
		if (!grown)
			return err_set(w->e, ERR_FAIL, "out of memory for tracks");
		k->open = grown;
		k->cap = cap;
	}
	copy = strdup(name);
	if (!copy)
		return err_set(w->e, ERR_FAIL, "out of memory for tracks");
	k->open[k->n++] = (struct open_slice){ end, copy };
	return 0;
}

int track_begin(const struct part *p, struct track *k, struct span span, struct trace_event *v)
{
	struct trace_writer *w = p->w;

	span.ts = span.ts < p->span.ts ? p->span.ts : span.ts;
	span.end = span.end > p->span.end ? p->span.end : span.end;
	if (end_until(w, k, span.ts) != 0)
		return w->failed;
	if (k->n && k->open[k->n - 1].end < span.end)
		span.end = k->open[k->n - 1].end;
	if (k->n == NEST_MAX || span.ts > span.end)
		return 1;
	w->failed = keep_open(w, k, span.end, v->name);
	if (w->failed != 0)
		return w->failed;
	v->kind = TRACE_BEGIN;
	v->ts = span.ts;
	return w->form->event(w, &k->k, v);
}

int track_instant(const struct part *p, struct track *k, struct trace_event *v)
{
	v->kind = TRACE_INSTANT;
	return end_until(p->w, k, v->ts) != 0 ? p->w->failed : p->w->form->event(p->w, &k->k, v);
}

int track_end(struct trace_writer *w, struct track *k)
{
	return end_until(w, k, INT64_MAX);
}

void track_free(const struct trace_writer *w, struct track *k)
{
	if (w->form->free_track)
		w->form->free_track(k->k.state);
	while (k->n)
		free(k->open[--k->n].name);
	free(k->open);
	*k = (struct track){ 0 };
}

int lanes_take(struct lanes *l, s64 ts, struct err *e)
{
	u32 i;

	for (i = 0; i < l->n; i++)
		if (!l->tracks[i].n || l->tracks[i].open[0].end <= ts)
			return (int)i;
	if (l->n == LANES_MAX)
		return -1;
	if (GROW(l->tracks, l->n, "tracks", e) < 0)
		return ERR_FAIL - 1;
	l->tracks[l->n] = (struct track){ 0 };
	return (int)l->n++;
}

struct lanes *lanes_of(struct lane_map *map, u64 id, struct err *e)
{
	struct lanes *l = idmap_get(&map->index, id);

	if (l)
		return l;
	l = idmap_add(&map->index, id, sizeof(*l), MAPS_MAX, "tracks", e);
	if (!l)
		return NULL;
	*(map->first ? map->last : &map->first) = l;
	map->last = &l->next;
	return l;
}

int lanes_end(struct trace_writer *w, const struct lane_map *map)
{
	struct lanes *l;
	u32 i;

	for (l = map->first; l; l = l->next)
		for (i = 0; i < l->n; i++)
			track_end(w, &l->tracks[i]);
	return w->failed;
}

void lanes_free(const struct trace_writer *w, struct lane_map *map)
{
	struct lanes *l, *next;
	u32 i;

	for (l = map->first; l; l = next) {
		next = l->next;
		for (i = 0; i < l->n; i++)
			track_free(w, &l->tracks[i]);
		free(l->tracks);
		free(l);
	}
	idmap_free(&map->index);
}

int track_name(struct trace_writer *w, struct track *k, enum trace_track_kind kind, s64 pid,
	       s64 tid, const char *name, s64 place)
{
	k->k.named = true;
	k->k.kind = kind;
	k->k.pid = pid;
	k->k.tid = tid;
	return w->form->track(w, &k->k, name, place);
}

int counters_put(struct trace_writer *w, struct counters *c, s64 ts, s64 pid, const s64 *values,
		 struct err *e)
{
	struct track *k = idmap_get(&c->of, pid);
	int i, ret = w->failed;

	if (!k) {
		k = calloc((size_t)c->n, sizeof(*k));
		if (!k)
			return err_set(e, ERR_FAIL, "out of memory for tracks");
		if (idmap_put(&c->of, pid, k, TASK_LIMIT, e) < 0) {
			free(k);
			return ERR_FAIL;
		}
		for (i = 0; i < c->n; i++)
			track_name(w, &k[i], TRACK_COUNTER, pid, c->first + i, c->names[i], i);
	}
	for (i = 0; i < c->n && ret == 0; i++) {
		struct trace_event v = { .kind = TRACE_COUNTER, .ts = ts, .name = c->names[i] };

		trace_arg(&v, "n", values[i]);
		ret = w->form->event(w, &k[i].k, &v);
	}
	return ret;
}

void counters_free(const struct trace_writer *w, struct counters *c)
{
	struct track *k;
	size_t at = 0;
	int i;

	while ((k = idmap_each(&c->of, &at))) {
		for (i = 0; i < c->n; i++)
			track_free(w, &k[i]);
		free(k);
	}
	idmap_free(&c->of);
}
