// SPDX-License-Identifier: GPL-2.0-or-later
/* Definitions come in the order of their numbers, which makes them small in the file. */
#include "stack_records.h"

#include "record/pump/records.h"

#include <stdlib.h>
#include <string.h>

/* n bytes as the digits of a build-id are read. */
static u64 digits(const u8 *id, int n)
{
	u64 v = 0;

	while (n--)
		v = v << 8 | *id++;
	return v;
}

static int put_module(const struct code_module *m, u32 id, struct pump *p, bool hide, struct err *e)
{
	u8 build_id[20] = { 0 };
	bool generated = m->kind == CODE_JIT;
	bool hidden = hide && (m->kind == CODE_ELF || m->kind == CODE_FILE);
	struct ev_module ev = {
		.h = { .type = EV_module },
		.id = id,
		.ino = hidden ? 0 : m->ino,
		.dev = hidden ? 0 : m->dev,
		.pid = generated ? m->pid : 0,
		.kind = m->kind,
		.flags = m->deleted | m->unread << 1,
	};

	memcpy(build_id, m->elf.build_id, m->elf.build_id_size < 20 ? m->elf.build_id_size : 20);
	ev.build_id0 = digits(build_id, 8);
	ev.build_id1 = digits(build_id + 8, 8);
	ev.build_id2 = digits(build_id + 16, 4);
	return records_put(p, &ev, sizeof(ev), hidden ? NULL : m->path, e);
}

void stack_records_frame(struct ev_frame *ret, const struct raw_queue *q,
			 const struct stack_tables *t, u32 i, bool hide)
{
	const struct code_frame *f = &t->frames[i];
	bool absolute = !f->module || q->modules.list[f->module].kind == CODE_JIT;

	*ret = (struct ev_frame){
		.h = { .type = EV_frame },
		.address = hide && absolute ? 0 : f->address,
		.id = t->first + i,
		.module = f->module,
	};
	if (f->module)
		ret->offset = code_module_offset(&q->modules.list[f->module], f->address);
}

static int put_frame(struct raw_queue *q, const struct stack_tables *t, u32 i,
		     struct stack_written *w, struct pump *p, bool hide, struct err *e)
{
	const struct code_frame *f = &t->frames[i];
	const struct code_module *m = &q->modules.list[f->module];
	struct ev_frame ev;
	int ret = 0;

	stack_records_frame(&ev, q, t, i, hide);
	if (f->module && !w->modules[f->module]) {
		w->modules[f->module] = 1;
		ret = put_module(m, f->module, p, hide, e);
	}
	return ret < 0 ? ret : records_put(p, &ev, sizeof(ev), NULL, e);
}

static int put_stack(const struct stack_tables *t, u32 i, struct pump *p, struct err *e)
{
	const struct stack_node *node = &t->stacks[i];
	struct ev_stack ev = {
		.h = { .type = EV_stack },
		.id = t->first + i,
		.caller = node->caller ? t->first + node->caller : 0,
		.frame = t->first + node->frame,
	};

	return records_put(p, &ev, sizeof(ev), NULL, e);
}

int stack_records_new(struct raw_queue *q, const struct stack_tables *t, struct stack_written *w,
		      struct pump *p, bool hide, struct err *e)
{
	int ret = 0;

	if (!w->modules)
		w->modules = calloc(CODE_MODULES_MAX, 1);
	if (!w->frames)
		w->frames = w->stacks = 1;
	if (!w->modules)
		return err_set(e, ERR_FAIL, "out of memory for stacks");
	for (; ret == 0 && w->frames < t->n_frames; w->frames++)
		ret = put_frame(q, t, w->frames, w, p, hide, e);
	for (; ret == 0 && w->stacks < t->n_stacks; w->stacks++)
		ret = put_stack(t, w->stacks, p, e);
	return ret;
}
