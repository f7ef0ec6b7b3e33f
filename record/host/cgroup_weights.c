// SPDX-License-Identifier: GPL-2.0-or-later
/* The weights by which cgroups share CPU time. */
#include "cgroup_weights.h"

#include "format/grow.h"
#include "record/files/procfs.h"
#include "record/pump/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHTS_MAX 100000
#define NICE_0	    1024 /* weight of a thread with nice 0, and cpu.shares of a new group */
#define DEFAULT	    100	 /* cpu.weight of a new group */
#define IDLE	    3	 /* of a group with cpu.idle: there cpu.weight reads 0 */

u32 cgroup_weights_parse(const char *text, bool version2)
{
	char *end;
	unsigned long long v = strtoull(text, &end, 10);

	if (end == text || v > 1 << 20)
		return 0;
	if (!version2)
		return v;
	return v ? (v * NICE_0 + DEFAULT / 2) / DEFAULT : IDLE;
}

static int by_group(const void *a, const void *b)
{
	const struct weight *x = a, *y = b;

	return x->cgroup < y->cgroup ? -1 : x->cgroup > y->cgroup;
}

static int add(struct weights *w, const struct weight *one, struct err *e)
{
	if (GROW(w->found, w->n_found, "cgroups", e) < 0)
		return ERR_FAIL;
	w->found[w->n_found++] = *one;
	return 0;
}

/* The number of the directory above; 0 at the mount point. */
static u64 parent_of(const char *dir, const char *path)
{
	char above[PATH_MAX];
	int n = (int)(strrchr(dir, '/') - dir);

	if (strcmp(path, "/") == 0)
		return 0;
	snprintf(above, sizeof(above), "%.*s", n, dir);
	return cgroups_id(above);
}

int cgroup_weights_look(struct weights *w, struct pump *p, const struct cgroup_mount *m,
			const char *dir, const char *path, struct err *e)
{
	struct ev_cgroup_weight ev = { .h = { .type = EV_cgroup_weight } };
	const struct weight *before;
	char file[PATH_MAX + 16], text[32];
	struct weight now;

	/* all is below the root, which in version 1 has a number without a meaning */
	if (w->n_found == WEIGHTS_MAX || (!m->version2 && strcmp(path, "/") == 0))
		return 0;
	snprintf(file, sizeof(file), "%s/%s", dir, m->version2 ? "cpu.weight" : "cpu.shares");
	procfs_line(file, text, sizeof(text));
	now.weight = cgroup_weights_parse(text, m->version2);
	now.cgroup = now.weight ? cgroups_id(dir) : 0;
	if (!now.cgroup) /* gone, or the controller is not on for it */
		return 0;
	before = w->n_recorded ? bsearch(&now, w->recorded, w->n_recorded, sizeof(now), by_group)
			       : NULL;
	if (add(w, &now, e) < 0)
		return ERR_FAIL;
	if (before && before->weight == now.weight)
		return 0;
	ev.cgroup = now.cgroup;
	ev.parent = parent_of(dir, path);
	ev.weight = now.weight;
	return records_put(p, &ev, sizeof(ev), NULL, e);
}

void cgroup_weights_looked(struct weights *w)
{
	free(w->recorded);
	w->recorded = w->found;
	w->n_recorded = w->n_found;
	w->found = NULL;
	w->n_found = 0;
	if (w->n_recorded)
		qsort(w->recorded, w->n_recorded, sizeof(*w->recorded), by_group);
}

void cgroup_weights_free(struct weights *w)
{
	free(w->recorded);
	free(w->found);
	*w = (struct weights){ 0 };
}
