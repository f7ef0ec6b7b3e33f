// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * System calls by number: which one a record is about is looked up once, for all trackers.
 */
#include "syscall_view.h"

static const struct syscall_desc not_known = { .x86_64 = -1, .aarch64 = -1 };

void syscall_view_start(struct replay *r)
{
	const struct syscall_desc *d;
	int i;

	for (i = 0; i < SYSCALL_NR_MAX; i++)
		r->calls[0][i] = r->calls[1][i] = &not_known;
	for (d = syscalls; d->name; d++) {
		if (d->x86_64 >= 0)
			r->calls[0][d->x86_64] = d;
		if (d->aarch64 >= 0)
			r->calls[1][d->aarch64] = d;
	}
}

static const struct syscall_desc *syscall_of(const struct replay *r, u8 abi, u16 nr)
{
	if (nr >= SYSCALL_NR_MAX || (abi != ABI_X86_64 && abi != ABI_AARCH64))
		return &not_known;
	return r->calls[abi == ABI_AARCH64][nr];
}

/* The first argument; of futex_waitv, whose futexes are in memory, the futex. 0: not known. */
static u64 first_arg(const struct ev_syscall_args *a, const struct syscall_desc *d)
{
	if (a->flags & SYSCALL_FUTEX)
		return a->arg5;
	return d->class == CALL_FUTEX_WAITV ? 0 : a->arg0;
}

struct call_view view_syscall(const struct replay *r, const struct record *rec)
{
	const struct ev_syscall *s = rec->event;
	const struct ev_syscall_args *a = rec->event;
	const struct syscall_desc *d;

	if (s->h.type == EV_syscall)
		return (struct call_view){ .desc = syscall_of(r, s->abi, s->nr),
					   .ts = rec->ts,
					   .dur = s->dur,
					   .ret = s->ret,
					   .arg = { (u64)(s64)s->fd, 0, s->count, 0 },
					   .polled = -1,
					   .nr = s->nr,
					   .abi = s->abi,
					   .flags = s->flags };
	d = syscall_of(r, a->abi, a->nr);
	return (struct call_view){ .desc = d,
				   .ts = rec->ts,
				   .dur = a->dur,
				   .ret = a->ret,
				   .arg = { first_arg(a, d), a->arg1, a->arg2, a->arg3 },
				   .polled = a->flags & SYSCALL_ONE_FD ? (s32)a->arg5 : -1,
				   .nr = a->nr,
				   .abi = a->abi,
				   .flags = a->flags };
}

u64 call_entry(const struct call_view *v)
{
	return v->flags & SYSCALL_NO_ENTRY ? 0 : elapsed(v->dur, v->ts);
}
