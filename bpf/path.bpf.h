/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Group files: calls that name files, recorded when they return. The path is what the
 * program asked for; it is still in memory then, since the kernel has just read it.
 */
#pragma once

#define PATH_TAIL 256 /* bytes kept of a path */

const volatile u8 paths[1024] = {}; /* by number: format/shapes.h */

/* What both records say of a call that names a file. */
struct naming {
	u64 ts, dur;
	s64 ret;
	u32 tid;
	u16 nr;
	u8 abi;
};

static __always_inline void read_path(char *tail, u64 path)
{
	__builtin_memset(tail, 0, PATH_TAIL);
	if (path && !hide)
		bpf_probe_read_user_str(tail, PATH_TAIL, (void *)path);
}

static __always_inline void emit_open(struct counts *c, const struct naming *n, s32 dir, u64 path,
				      u32 flags, u32 mode)
{
	struct ev_file_open *e = reserve(c, n->ts, n->tid, EV_file_open, sizeof(*e) + PATH_TAIL);

	if (!e)
		return;
	e->dur = n->dur;
	e->ret = n->ret;
	e->dir = dir;
	e->flags = flags;
	e->mode = mode;
	e->nr = n->nr;
	e->abi = n->abi;
	e->unused = 0;
	read_path(e->path, path);
	ev_submit(e);
}

static __always_inline void emit_change(struct counts *c, const struct naming *n, s32 dir, u64 path,
					u64 size, u8 which)
{
	struct ev_file_change *e =
		reserve(c, n->ts, n->tid, EV_file_change, sizeof(*e) + PATH_TAIL);

	if (!e)
		return;
	e->dur = n->dur;
	e->ret = n->ret;
	e->size = size;
	e->dir = dir;
	e->nr = n->nr;
	e->abi = n->abi;
	e->which = which;
	read_path(e->path, path);
	ev_submit(e);
}

static __always_inline void opened(struct counts *c, const struct naming *n, u8 form, s32 dir,
				   u64 path, u64 arg, u64 next)
{
	struct {
		u64 flags, mode;
	} how = { arg, next };

	if (form & PATH_HOW && bpf_probe_read_user(&how, sizeof(how), (void *)arg) < 0)
		how.flags = how.mode = 0;
	if (!(form & (PATH_HOW | PATH_FLAGS))) /* creat(2) */
		how.flags = 01101, how.mode = arg;
	emit_open(c, n, dir, path, how.flags, how.mode);
}

/* A call of the given form has returned: one record, two if it names two files. */
static __always_inline void named(const struct naming *n, u8 form, const u64 *arg)
{
	struct counts *c = count_seen(GROUP_files), *second;
	u64 size = 0;

	if (!c)
		return;
	switch (form & PATH_FORM) {
	case PATH_0:
		if (form & PATH_OPENS)
			opened(c, n, form, WORKING_DIRECTORY, arg[0], arg[1], arg[2]);
		else
			emit_change(c, n, WORKING_DIRECTORY, arg[0], form & PATH_SIZE ? arg[1] : 0,
				    0);
		return;
	case PATH_1:
		if (form & PATH_OPENS)
			opened(c, n, form, arg[0], arg[1], arg[2], arg[3]);
		else
			emit_change(c, n, arg[0], arg[1], 0, 0);
		return;
	case PATH_FD:
		size = form & PATH_SIZE ? arg[1] : 0;
		emit_change(c, n, arg[0], 0, size, 0);
		return;
	default:
		break;
	}
	second = count_seen(GROUP_files);
	switch (form & PATH_FORM) {
	case PATHS_0_1:
		emit_change(c, n, WORKING_DIRECTORY, arg[0], 0, 0);
		if (second)
			emit_change(second, n, WORKING_DIRECTORY, arg[1], 0, 1);
		return;
	case PATHS_1_3:
		emit_change(c, n, arg[0], arg[1], 0, 0);
		if (second)
			emit_change(second, n, arg[2], arg[3], 0, 1);
		return;
	default: /* PATHS_0_2 */
		emit_change(c, n, WORKING_DIRECTORY, arg[0], 0, 0);
		if (second)
			emit_change(second, n, arg[1], arg[2], 0, 1);
	}
}
