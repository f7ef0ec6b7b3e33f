// SPDX-License-Identifier: GPL-2.0-or-later
#include "nameless.h"

#include "analyze/base/idmap.h"
#include "format/grow.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX  1000000
#define MODULES_MAX 100000
#define KIND_ELF    3 /* of event module */

struct module {
	u8 build_id[BUILD_ID_SIZE];
	char *path;
	bool known; /* has a build-id */
};

struct frame {
	u64 address;
	u32 id, module_id;
	const struct module *module;
};

struct reading {
	struct idmap modules, ids, named;
	struct frame *frames;
	u32 n;
};

static void put_digits(u8 *to, u64 v, int n)
{
	while (n--)
		*to++ = (u8)(v >> 8 * n);
}

static int on_module(struct reading *g, const struct record *rec, struct err *e)
{
	static const u8 none[BUILD_ID_SIZE];
	const struct ev_module *ev = rec->event;
	struct module *m;

	if (ev->kind != KIND_ELF || g->modules.n >= MODULES_MAX || idmap_get(&g->modules, ev->id))
		return 0;
	m = calloc(1, sizeof(*m));
	if (!m || !(m->path = strndup(rec->tail, rec->tail_len)) ||
	    idmap_put(&g->modules, ev->id, m, MODULES_MAX, e) < 0) {
		if (m)
			free(m->path);
		free(m);
		return err_set(e, ERR_FAIL, "out of memory for modules");
	}
	put_digits(m->build_id, ev->build_id0, 8);
	put_digits(m->build_id + 8, ev->build_id1, 8);
	put_digits(m->build_id + 16, ev->build_id2, 4);
	m->known = memcmp(m->build_id, none, sizeof(none)) != 0;
	return 0;
}

static int on_frame(struct reading *g, const struct record *rec, struct err *e)
{
	const struct ev_frame *ev = rec->event;

	if (g->n >= FRAMES_MAX || idmap_get(&g->ids, ev->id))
		return 0;
	if (GROW(g->frames, g->n, "frames", e) < 0)
		return ERR_FAIL;
	g->frames[g->n++] = (struct frame){ ev->address, ev->id, ev->module, NULL };
	return idmap_put(&g->ids, ev->id, g, FRAMES_MAX, e);
}

static int read_all(struct reading *g, struct reader *r, struct err *e)
{
	const struct reader_choice recorder = { .to = UINT64_MAX,
						.groups = 1u << GROUP_recorder,
						.stream = STREAM_RECORDER };
	struct record rec;
	int ret;

	reader_choose(r, &recorder);
	while ((ret = reader_next(r, &rec, e)) > 0) {
		if (!rec.event)
			continue;
		if (rec.type == EV_module)
			ret = on_module(g, &rec, e);
		else if (rec.type == EV_frame)
			ret = on_frame(g, &rec, e);
		else if (rec.type == EV_symbol && g->named.n < FRAMES_MAX)
			ret = idmap_put(&g->named, ((const struct ev_symbol *)rec.event)->frame, g,
					FRAMES_MAX, e);
		if (ret < 0)
			return ret;
	}
	return ret;
}

static int by_file(const void *a, const void *b)
{
	const struct frame *x = a, *y = b;
	int d = memcmp(x->module->build_id, y->module->build_id, BUILD_ID_SIZE);

	if (d)
		return d;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Leaves those that have no name, in a file that can be found. */
static void choose(struct nameless *ret, struct reading *g)
{
	u32 i, k = 0;

	for (i = 0; i < g->n; i++) {
		struct frame f = g->frames[i];

		if (idmap_get(&g->named, f.id))
			continue;
		f.module = idmap_get(&g->modules, f.module_id);
		if (f.module && f.module->known)
			g->frames[k++] = f;
		else
			ret->n_without++;
	}
	g->n = k;
	if (k)
		qsort(g->frames, k, sizeof(*g->frames), by_file);
}

static int put_files(struct nameless *ret, const struct reading *g, struct err *e)
{
	struct nameless_file *f = NULL;
	u32 i;

	ret->frames = calloc((size_t)g->n + 1, sizeof(*ret->frames));
	ret->files = calloc(g->modules.n + 1, sizeof(*ret->files));
	if (!ret->frames || !ret->files)
		return err_set(e, ERR_FAIL, "out of memory for frames");
	for (i = 0; i < g->n; i++) {
		const struct module *m = g->frames[i].module;

		if (!f || memcmp(f->build_id, m->build_id, BUILD_ID_SIZE) != 0) {
			f = &ret->files[ret->n_files];
			f->path = strdup(m->path);
			if (!f->path)
				return err_set(e, ERR_FAIL, "out of memory for modules");
			memcpy(f->build_id, m->build_id, BUILD_ID_SIZE);
			f->first = i;
			ret->n_files++;
		}
		ret->frames[i].address = g->frames[i].address;
		ret->frames[i].frame = g->frames[i].id;
		ret->n++;
		f->n++;
	}
	return 0;
}

int nameless_read(struct nameless *ret, struct reader *r, struct err *e)
{
	struct reading g = { 0 };
	struct module *m;
	size_t at = 0;
	int r2;

	*ret = (struct nameless){ 0 };
	r2 = read_all(&g, r, e);
	if (r2 == 0) {
		choose(ret, &g);
		r2 = put_files(ret, &g, e);
	}
	while ((m = idmap_each(&g.modules, &at))) {
		free(m->path);
		free(m);
	}
	idmap_free(&g.modules);
	idmap_free(&g.ids);
	idmap_free(&g.named);
	free(g.frames);
	return r2;
}

u32 nameless_named(const struct nameless *n, const struct nameless_file *f)
{
	u32 i, named = 0;

	for (i = f->first; i < f->first + f->n; i++)
		named += n->frames[i].name != NULL;
	return named;
}

void nameless_free(struct nameless *n)
{
	u32 i;

	for (i = 0; n->frames && i < n->n; i++)
		code_name_free(&n->frames[i]);
	for (i = 0; n->files && i < n->n_files; i++)
		free(n->files[i].path);
	free(n->frames);
	free(n->files);
}
