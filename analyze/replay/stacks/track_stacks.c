// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call stacks of samples and waits, their frames, modules and the names of functions. Ids come
 * from the recording: the first record of an id counts, and a caller has a smaller number, so that
 * no stack is a circle.
 */
#include "format/code_name.h"
#include "stack_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDS_MAX	  1000000 /* stacks; frames; what comes after them has no name */
#define THRESHOLD 1000000 /* ns: of recordings that do not name it */
#define QUEUED_BY 8	  /* the wait itself may be so much shorter: the rest is run queue */

enum kind { STACKS, FRAMES, MODULES, SYMBOLS, N_KINDS };

struct stacks {
	struct stack_rows rows; /* first: stack_rows_of */
	struct idmap known[N_KINDS];
};

/* 1: this id is new; 0: not, or there are too many. */
static int is_new(struct replay *r, enum kind kind, u64 id, struct err *e)
{
	struct stacks *own = r->own[TRACK_stacks];
	struct idmap *known = &own->known[kind];

	if (!id || known->n >= IDS_MAX || idmap_get(known, id))
		return 0;
	return idmap_put(known, id, own, IDS_MAX, e) < 0 ? ERR_FAIL : 1;
}

static int stacks_on_stack(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_stack *ev = rec->event;
	struct row_stack *row;
	int ret = is_new(r, STACKS, ev->id, e);

	if (ret <= 0)
		return ret;
	row = bulk_add(r->bulk, stack);
	row->id = ev->id;
	row->caller = ev->caller < ev->id ? ev->caller : 0;
	row->frame = ev->frame;
	return 0;
}

static int stacks_on_frame(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_frame *ev = rec->event;
	struct row_frame *row;
	int ret = is_new(r, FRAMES, ev->id, e);

	if (ret <= 0)
		return ret;
	row = bulk_add(r->bulk, frame);
	row->id = ev->id;
	/* all its bits, as SQLite has them */
	row->address = (s64)ev->address == BULK_NULL ? 0 : (s64)ev->address;
	row->module = ev->module;
	row->start = ev->offset && ev->offset < ev->address && ev->address <= INT64_MAX
			     ? (s64)(ev->address - ev->offset)
			     : BULK_NULL;
	return 0;
}

static char *text_of(const char *text, size_t n, struct err *e)
{
	char *copy = strndup(text, n);

	if (!copy)
		err_set(e, ERR_FAIL, "out of memory for names");
	return copy;
}

static int stacks_on_module(struct replay *r, const struct record *rec, struct err *e)
{
	static const char *const kinds[] = { "unknown", "kernel",    "kernel module", "file",
					     "vdso",	"generated", "other" };
	const struct ev_module *ev = rec->event;
	char id[48], *path;
	int ret = is_new(r, MODULES, ev->id, e);

	if (ret <= 0)
		return ret;
	path = text_of(rec->tail, rec->tail_len, e);
	if (!path)
		return ERR_FAIL;
	snprintf(id, sizeof(id), "%016" PRIx64 "%016" PRIx64 "%08" PRIx32, (uint64_t)ev->build_id0,
		 (uint64_t)ev->build_id1, (uint32_t)ev->build_id2);
	ret = row_put(r->db, module, e, .id = ev->id,
		      .kind = kinds[ev->kind < sizeof(kinds) / sizeof(kinds[0]) ? ev->kind : 0],
		      .path = *path ? path : NULL,
		      .build_id = ev->build_id0 || ev->build_id1 || ev->build_id2 ? id : NULL,
		      .pid = ev->pid, .deleted = ev->flags & 1);
	free(path);
	return ret;
}

/*
 * V8 compiles a function again when it is called often, and names it after how: "JS:*f" is
 * optimized, "LazyCompile:~f" interpreted by an older version. It is one function.
 */
static void drop_tier(char *name)
{
	static const char *const kinds[] = { "JS:", "LazyCompile:", "Function:", "Eval:",
					     "Script:" };
	size_t i, n;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		n = strlen(kinds[i]);
		if (strncmp(name, kinds[i], n) != 0 || !name[n] || !strchr("*^~+", name[n]))
			continue;
		memcpy(name, kinds[0], 3);
		memmove(name + 3, name + n + 1, strlen(name + n + 1) + 1);
		return;
	}
}

static int stacks_on_symbol(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_symbol *ev = rec->event;
	const char *tab = ev->line ? memchr(rec->tail, '\t', rec->tail_len) : NULL;
	size_t n = tab ? (size_t)(tab - rec->tail) : rec->tail_len;
	char *name, *file = NULL;
	int ret = n ? is_new(r, SYMBOLS, ev->frame, e) : 0;

	if (ret <= 0)
		return ret;
	name = text_of(rec->tail, n, e);
	if (name && ev->source == NAME_PERF_MAP)
		drop_tier(name);
	if (name && tab)
		file = text_of(tab + 1, rec->tail_len - n - 1, e);
	ret = !name || (tab && !file) ? ERR_FAIL
				      : row_put(r->db, symbol, e, .frame = ev->frame, .name = name,
						.offset = ev->offset, .file = file,
						.line = file ? ev->line : 0, .source = ev->source);
	free(name);
	free(file);
	return ret;
}

static int stacks_on_sample(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_sample *ev = rec->event;
	struct row_sample *row = stack_rows_sample(r, e);

	if (!row)
		return ERR_FAIL;
	*row = (struct row_sample){
		.ts = replay_time(r, rec->ts),
		.tid = rec->tid,
		.pid = ev->pid,
		.cpu = ev->cpu,
		.weight = (s64)(ev->weight & INT64_MAX),
		.kernel_stack = ev->kernel_stack,
		.user_stack = ev->user_stack,
		.flags = ev->flags,
		.context = ev->context,
		.request = BULK_NULL,
	};
	return 0;
}

static int stacks_on_offcpu(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_offcpu *ev = rec->event;
	struct row_offcpu *row = stack_rows_offcpu(r, e);
	s64 end = replay_time(r, rec->ts), start = replay_time(r, elapsed(ev->dur, rec->ts));

	if (!row)
		return ERR_FAIL;
	*row = (struct row_offcpu){
		.ts = start,
		.dur = end - start,
		.tid = rec->tid,
		.pid = ev->pid,
		.state = BULK_NULL,
		.waited = BULK_NULL,
		.nr = BULK_NULL,
		.object = BULK_NULL,
		.kernel_stack = ev->kernel_stack,
		.user_stack = ev->user_stack,
		.flags = ev->flags,
		.request = BULK_NULL,
		.weight = end - start,
	};
	return 0;
}

static int stacks_on_sleeper(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_sleeper *ev = rec->event;
	struct row_offcpu *row = stack_rows_offcpu(r, e);
	s64 end = replay_time(r, rec->ts);
	s64 start = ev->dur ? replay_time(r, elapsed(ev->dur, rec->ts)) : 0;

	if (!row)
		return ERR_FAIL;
	start = start < 0 ? 0 : start;
	*row = (struct row_offcpu){
		.ts = start,
		.dur = end > start ? end - start : 0,
		.tid = rec->tid,
		.pid = ev->pid,
		.state = BULK_NULL,
		.waited = BULK_NULL,
		.nr = BULK_NULL,
		.object = BULK_NULL,
		.kernel_stack = ev->kernel_stack,
		.user_stack = ev->user_stack,
		.flags = (ev->flags & 0xff) | OFFCPU_LASTS,
		.request = BULK_NULL,
		.weight = end > start ? end - start : 0,
	};
	return 0;
}

/* Number of an info text "key=number"; 0: it has another key. */
static u64 fact_of(const struct record *rec, const char *key)
{
	size_t n = strlen(key);
	char value[24];

	if (rec->tail_len <= n || memcmp(rec->tail, key, n) != 0)
		return 0;
	snprintf(value, sizeof(value), "%.*s", (int)(rec->tail_len - n), rec->tail + n);
	return strtoull(value, NULL, 10);
}

static int stacks_on_info(struct replay *r, const struct record *rec, struct err *e)
{
	struct stack_rows *rows = stack_rows_of(r);
	u64 threshold = fact_of(rec, "stack_threshold="), rate = fact_of(rec, "stack_waits=");

	(void)e;
	if (threshold) {
		rows->shortest = threshold / QUEUED_BY + 1;
		rows->threshold = (s64)(threshold & INT64_MAX);
	}
	if (rate)
		rows->always = (s64)(1000000000 / rate);
	return 0;
}

static int stacks_start(struct replay *r, struct err *e)
{
	struct stack_rows *rows = stack_rows_of(r);

	(void)e;
	if (!has_group(r, GROUP_cpu))
		rows->shortest = 0;
	else if (!rows->shortest)
		rows->shortest = THRESHOLD / QUEUED_BY;
	return 0;
}

static int stacks_finish(struct replay *r, struct err *e)
{
	const struct stacks *own = r->own[TRACK_stacks];

	if (!own->known[STACKS].n)
		return 0;
	return db_exec(r->db, e,
		       "CREATE INDEX stack_id ON stack(id); CREATE INDEX frame_id ON frame(id);"
		       "CREATE INDEX symbol_of ON symbol(frame); CREATE INDEX module_id ON"
		       " module(id)");
}

static void stacks_free(void *slot)
{
	struct stacks *own = slot;
	int i;

	for (i = 0; i < N_KINDS; i++)
		idmap_free(&own->known[i]);
	stack_rows_free(&own->rows);
}

static const struct handler handlers[] = {
	{ EV_info, true, stacks_on_info },
	{ EV_stack, false, stacks_on_stack },
	{ EV_frame, false, stacks_on_frame },
	{ EV_module, false, stacks_on_module },
	{ EV_symbol, false, stacks_on_symbol },
	{ EV_sample, false, stacks_on_sample },
	{ EV_offcpu, false, stacks_on_offcpu },
	{ EV_sleeper, false, stacks_on_sleeper },
	{ 0 },
};

const struct tracker track_stacks = {
	.name = "stacks",
	.handlers = handlers,
	.of_replay = sizeof(struct stacks),
	.start = stacks_start,
	.finish = stacks_finish,
	.stored = stack_rows_put,
	.free = stacks_free,
};
