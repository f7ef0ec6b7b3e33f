// SPDX-License-Identifier: GPL-2.0-or-later
/* Tracks whose slices nest, and tracks for slices that do not. */
#include "trace_tracks.h"

#include <stdlib.h>
#include <string.h>

#define NEST_MAX 65536	/* slices open at once on one track */
#define MAPS_MAX 300000 /* processes, disks */

static int end_until(struct trace_writer *w, struct track *k, s64 ts)
{
	while (k->n && k->open[k->n - 1].end <= ts && w->failed == 0) {
		struct open_slice *s = &k->open[--k->n];

		trace_open(w, 'E', k->pid, k->tid, s->end);
		trace_name(w, s->name);
		trace_close(w);
		free(s->name);
	}
	return w->failed;
}

int track_begin(struct trace_writer *w, struct track *k, struct span span, const char *name)
{
	u32 cap = 2 * k->cap + 2;
	struct open_slice *grown;
	char *copy;

	if (end_until(w, k, span.ts) != 0)
		return w->failed;
	if (k->n == NEST_MAX)
		return 1;
	if (k->n == k->cap) {
		grown = realloc(k->open, cap * sizeof(*grown));
		if (!grown)
			return err_set(w->e, ERR_FAIL, "out of memory for tracks");
		k->open = grown;
		k->cap = cap;
	}
	if (k->n && k->open[k->n - 1].end < span.end)
		span.end = k->open[k->n - 1].end;
	copy = strdup(name);
	if (!copy)
		return err_set(w->e, ERR_FAIL, "out of memory for tracks");
	k->open[k->n++] = (struct open_slice){ span.end, copy };
	trace_open(w, 'B', k->pid, k->tid, span.ts);
	trace_name(w, name);
	return w->failed;
}

int track_end(struct trace_writer *w, struct track *k)
{
	return end_until(w, k, INT64_MAX);
}

void track_free(struct track *k)
{
	while (k->n)
		free(k->open[--k->n].name);
	free(k->open);
	*k = (struct track){ 0 };
}

int lanes_take(struct lanes *l, s64 ts, struct err *e)
{
	struct track *grown;
	u32 i;

	for (i = 0; i < l->n; i++)
		if (!l->tracks[i].n || l->tracks[i].open[0].end <= ts)
			return (int)i;
	if (l->n == LANES_MAX)
		return -1;
	grown = realloc(l->tracks, (l->n + 1) * sizeof(*grown));
	if (!grown)
		return err_set(e, ERR_FAIL, "out of memory for tracks") - 1;
	l->tracks = grown;
	grown[l->n] = (struct track){ 0 };
	return (int)l->n++;
}

struct lanes *lanes_of(struct lane_map *map, u64 id, struct err *e)
{
	struct lanes *l = idmap_get(&map->index, id);

	if (l)
		return l;
	l = calloc(1, sizeof(*l));
	if (!l) {
		err_set(e, ERR_FAIL, "out of memory for tracks");
		return NULL;
	}
	if (idmap_put(&map->index, id, l, MAPS_MAX, e) < 0) {
		free(l);
		return NULL;
	}
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

void lanes_free(struct lane_map *map)
{
	struct lanes *l, *next;
	u32 i;

	for (l = map->first; l; l = next) {
		next = l->next;
		for (i = 0; i < l->n; i++)
			track_free(&l->tracks[i]);
		free(l->tracks);
		free(l);
	}
	idmap_free(&map->index);
}
