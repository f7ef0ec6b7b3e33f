// SPDX-License-Identifier: GPL-2.0-or-later
/* Group uprobe: entry and return of functions, and static probes, that the user named. */
#include "usdt.bpf.h"

/* What the return instruction has taken off the stack. */
static __always_inline u64 return_pops(u64 cookie)
{
#if defined(__TARGET_ARCH_x86)
	return cookie & SITE_COOKIE_I386 ? 4 : 8;
#else
	return 0;
#endif
}

/* Integer arguments, as the calling convention of C has them; on i386 after the return address. */
static __always_inline void read_args(u64 ret[SITE_ARGS_MAX], struct pt_regs *regs, u64 cookie)
{
	u32 words[SITE_ARGS_MAX] = { 0 }, args = cookie >> SITE_COOKIE_ARGS & 0xff;
	bool i386 = cookie & SITE_COOKIE_I386;

	if (i386) /* zeros: no such stack */
		bpf_probe_read_user(words, sizeof(words), (const void *)(PT_REGS_SP(regs) + 4));
	ret[0] = args < 1 ? 0 : i386 ? words[0] : PT_REGS_PARM1(regs);
	ret[1] = args < 2 ? 0 : i386 ? words[1] : PT_REGS_PARM2(regs);
	ret[2] = args < 3 ? 0 : i386 ? words[2] : PT_REGS_PARM3(regs);
	ret[3] = args < 4 ? 0 : i386 ? words[3] : PT_REGS_PARM4(regs);
}

const volatile bool has_cookies = true; /* bpf_get_attach_cookie exists: since 5.15 */

static __always_inline u64 cookie_of(struct pt_regs *regs)
{
	u64 cookie;

	if (has_cookies)
		return bpf_get_attach_cookie(regs);
	/* found and replaced in a copy of the program for each site */
	asm volatile("%0 = %1 ll" : "=r"(cookie) : "i"(SITE_COOKIE_UNSET));
	return cookie;
}

/* Counts the event; true if it is to be recorded. */
static __always_inline bool call_wanted(struct counts *c, u64 pid_tgid)
{
	if (pid_tgid >> 32 == self_tgid) {
		count(c, self);
		return false;
	}
	if (!wanted((u32)pid_tgid)) {
		count(c, filtered);
		return false;
	}
	return true;
}

#define FILL_CALL(e, regs, cookie)                               \
	do {                                                     \
		u64 v[SITE_ARGS_MAX];                            \
                                                                 \
		read_args(v, regs, cookie);                      \
		(e)->sp = PT_REGS_SP(regs);                      \
		(e)->arg0 = v[0];                                \
		(e)->arg1 = v[1];                                \
		(e)->arg2 = v[2];                                \
		(e)->arg3 = v[3];                                \
		(e)->site = (u32)(cookie);                       \
		(e)->args = (cookie) >> SITE_COOKIE_ARGS & 0xff; \
	} while (0)

static __always_inline int call_with_args(struct pt_regs *regs, struct counts *c, u64 ts, u32 tid,
					  u64 cookie)
{
	struct ev_call_args *e = ev_reserve(c, ts, tid, call_args);

	if (!e)
		return 0;
	FILL_CALL(e, regs, cookie);
	ev_submit(e);
	return 0;
}

static __always_inline int call_with_text(struct pt_regs *regs, struct counts *c, u64 ts, u32 tid,
					  u64 cookie)
{
	u32 place = (cookie >> SITE_COOKIE_TEXT & 0xffff) - 1;
	struct usdt_place *p = bpf_map_lookup_elem(&usdt_places, &place);
	struct ev_call_text *e;

	if (!p) {
		count(c, filtered);
		return 0;
	}
	e = reserve(c, ts, tid, EV_call_text, sizeof(*e) + USDT_TEXT_MAX);
	if (!e)
		return 0;
	FILL_CALL(e, regs, cookie);
	e->unused = 0;
	e->unread = read_text(e->text, regs, p);
	ev_submit(e);
	return 0;
}

SEC("?uprobe")
int uprobe__call(struct pt_regs *regs)
{
	struct counts *c = count_seen(GROUP_uprobe);
	u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid(), cookie;
	struct ev_call *e;

	if (!c || !call_wanted(c, id))
		return 0;
	cookie = cookie_of(regs);
	if (slow_functions)
		call_begins(id, (u32)cookie, PT_REGS_SP(regs), ts);
	if (hot_above && hot_entry(cookie, (u32)id, PT_REGS_SP(regs), ts)) {
		count(c, counted);
		return 0;
	}
	if (cookie >> SITE_COOKIE_TEXT & 0xffff)
		return call_with_text(regs, c, ts, (u32)id, cookie);
	if (cookie >> SITE_COOKIE_ARGS & 0xff)
		return call_with_args(regs, c, ts, (u32)id, cookie);
	e = ev_reserve(c, ts, (u32)id, call);
	if (!e)
		return 0;
	e->sp = PT_REGS_SP(regs);
	e->site = (u32)cookie;
	e->unused = 0;
	ev_submit(e);
	return 0;
}

SEC("?uretprobe")
int uprobe__return(struct pt_regs *regs)
{
	struct counts *c = count_seen(GROUP_uprobe);
	u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid(), cookie;
	struct ev_return *e;

	if (!c || !call_wanted(c, id))
		return 0;
	cookie = cookie_of(regs);
	if (slow_functions)
		call_ends(id, (u32)cookie, PT_REGS_SP(regs) - return_pops(cookie), ts);
	if (hot_above && hot_return(cookie, (u32)id, PT_REGS_SP(regs) - return_pops(cookie), ts)) {
		count(c, counted);
		return 0;
	}
	e = ev_reserve(c, ts, (u32)id, return );
	if (!e)
		return 0;
	e->sp = PT_REGS_SP(regs) - return_pops(cookie);
	e->value = PT_REGS_RC(regs);
	e->site = (u32)cookie;
	e->unused = 0;
	ev_submit(e);
	return 0;
}

/* A span is open on a thread; one with a key in a process, where the key is. */
static __always_inline void check_span(const struct pt_regs *regs, const struct usdt_place *p,
				       u64 id, u64 ts)
{
	bool keyed = p->which == USDT_KEYED_BEGIN || p->which == USDT_KEYED_END;
	u32 owner = keyed ? id >> 32 : (u32)id;
	u64 key = 0;

	if (keyed && !read_usdt_arg(&key, regs, &p->arg[0]))
		return;
	if (p->which == USDT_BEGIN || p->which == USDT_KEYED_BEGIN)
		call_begins(owner, p->site, key, ts);
	if (p->which == USDT_END || p->which == USDT_KEYED_END)
		call_ends(owner, p->site, key, ts);
}

/* Spans have no stack pointer: their ends may be in another function than their starts. */
SEC("?uprobe")
int uprobe__usdt(struct pt_regs *regs)
{
	struct counts *c = count_seen(GROUP_uprobe);
	u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	const struct usdt_place *p;
	u32 place;

	if (!c || !call_wanted(c, id))
		return 0;
	place = cookie_of(regs);
	p = bpf_map_lookup_elem(&usdt_places, &place);
	if (!p) {
		count(c, filtered);
		return 0;
	}
	if (slow_functions)
		check_span(regs, p, id, ts);
	if (p->has_text)
		emit_usdt_text(c, ts, (u32)id, regs, p);
	else
		emit_usdt(c, ts, (u32)id, regs, p);
	return 0;
}
