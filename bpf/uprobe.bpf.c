// SPDX-License-Identifier: GPL-2.0-or-later
/* Group uprobe: entry and return of the functions that the user named. */

#if defined(__TARGET_ARCH_x86)
#define RETURN_POPS 8 /* the return instruction has taken the address off the stack */
#else
#define RETURN_POPS 0
#endif

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

/* Integer arguments, as the calling convention of C has them in registers. */
static __always_inline int call_with_args(struct pt_regs *regs, struct counts *c, u64 ts, u32 tid,
					  u64 cookie)
{
	u32 args = cookie >> SITE_COOKIE_ARGS;
	struct ev_call_args *e = ev_reserve(c, ts, tid, call_args);

	if (!e)
		return 0;
	e->sp = PT_REGS_SP(regs);
	e->arg0 = PT_REGS_PARM1(regs);
	e->arg1 = args > 1 ? PT_REGS_PARM2(regs) : 0;
	e->arg2 = args > 2 ? PT_REGS_PARM3(regs) : 0;
	e->arg3 = args > 3 ? PT_REGS_PARM4(regs) : 0;
	e->site = (u32)cookie;
	e->args = args;
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
	cookie = bpf_get_attach_cookie(regs);
	if (slow_functions)
		call_begins(id, (u32)cookie, PT_REGS_SP(regs), ts);
	if (cookie >> SITE_COOKIE_ARGS)
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
	u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	struct ev_return *e;
	u32 site;

	if (!c || !call_wanted(c, id))
		return 0;
	site = bpf_get_attach_cookie(regs);
	if (slow_functions)
		call_ends(id, site, PT_REGS_SP(regs) - RETURN_POPS, ts);
	e = ev_reserve(c, ts, (u32)id, return );
	if (!e)
		return 0;
	e->sp = PT_REGS_SP(regs) - RETURN_POPS;
	e->value = PT_REGS_RC(regs);
	e->site = site;
	e->unused = 0;
	ev_submit(e);
	return 0;
}
