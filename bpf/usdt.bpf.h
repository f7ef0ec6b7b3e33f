/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Static probes (USDT): a record when one is passed, with the arguments that its place describes.
 */
#pragma once

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* places, set before loading */
	__type(key, u32);
	__type(value, struct usdt_place);
} usdt_places SEC(".maps");

static __always_inline u64 register_at(const struct pt_regs *regs, u8 at)
{
	u64 v = 0;

	if (at != USDT_NO_REG)
		bpf_probe_read_kernel(&v, sizeof(v), (const char *)regs + at);
	return v;
}

/* The value of an argument, extended by its size and sign; false: it cannot be read. */
static __always_inline bool read_usdt_arg(u64 *ret, const struct pt_regs *regs,
					  const struct usdt_arg *a)
{
	u64 v = a->value + register_at(regs, a->base), memory[2] = {};
	u32 size = a->size & 15, unused;

	*ret = 0;
	if (a->next != USDT_NO_REG)
		v += register_at(regs, a->next) << (a->shift & 3);
	if (a->kind == USDT_MEMORY) {
		if (bpf_probe_read_user(memory, size, (const void *)v))
			return false;
		v = memory[0];
	}
	unused = (64 - 8 * size) & 63;
	v <<= unused;
	*ret = a->is_signed ? (u64)((s64)v >> unused) : v >> unused;
	return a->kind != USDT_NONE;
}

static __always_inline void fill_usdt(struct ev_usdt *e, const struct pt_regs *regs,
				      const struct usdt_place *p)
{
	u64 v[SITE_ARGS_MAX] = {};
	u32 i, unread = 0;

#pragma clang loop unroll(full)
	for (i = 0; i < SITE_ARGS_MAX; i++)
		if (i < p->args && !read_usdt_arg(&v[i], regs, &p->arg[i]))
			unread |= 1u << i;
	e->arg0 = v[0];
	e->arg1 = v[1];
	e->arg2 = v[2];
	e->arg3 = v[3];
	e->site = p->site;
	e->which = p->which;
	e->args = p->args;
	e->unread = unread;
	e->unused = 0;
}

static __always_inline void emit_usdt(struct counts *c, u64 ts, u32 tid, const struct pt_regs *regs,
				      const struct usdt_place *p)
{
	struct ev_usdt *e = ev_reserve(c, ts, tid, usdt);

	if (!e)
		return;
	fill_usdt(e, regs, p);
	ev_submit(e);
}

/* Flags of the text, which is read to USDT_TEXT_MAX bytes. */
static __always_inline u8 read_text(char *text, const struct pt_regs *regs,
				    const struct usdt_place *p)
{
	u8 flags = p->has_text == TEXT_STATEMENT ? USDT_TEXT_STATEMENT : 0;
	u32 max = p->text_max;
	long n;
	u64 at;

	__builtin_memset(text, 0, USDT_TEXT_MAX);
	if (!read_usdt_arg(&at, regs, &p->text))
		return flags | USDT_TEXT_UNREAD;
	if (!at)
		return flags | USDT_TEXT_NULL;
	n = bpf_probe_read_user_str(text, max + 1, (const void *)at);
	if (n < 0)
		return flags | USDT_TEXT_UNREAD;
	return n > max ? flags | USDT_TEXT_CUT : flags;
}

static __always_inline void emit_usdt_text(struct counts *c, u64 ts, u32 tid,
					   const struct pt_regs *regs, const struct usdt_place *p)
{
	struct ev_usdt *e = reserve(c, ts, tid, EV_usdt, sizeof(*e) + USDT_TEXT_MAX);

	if (!e)
		return;
	fill_usdt(e, regs, p);
	e->unread |= read_text(e->text, regs, p);
	ev_submit(e);
}
