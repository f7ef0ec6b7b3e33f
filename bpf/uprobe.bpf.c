// SPDX-License-Identifier: GPL-2.0-or-later
/* Group uprobe: entry and return of the functions that the user named. */

/* What the return instruction has taken off the stack. */
static __always_inline u64 return_pops(u64 cookie)
{
#if defined(__TARGET_ARCH_x86)
	return cookie & SITE_COOKIE_I386 ? 4 : 8;
#else
	return 0;
#endif
}

/* The C programs of i386 have their arguments behind the return address. */
static __always_inline void args_of_i386(struct ev_call_args *e, u64 sp, u32 args)
{
	u32 words[SITE_ARGS_MAX] = { 0 };

	if (bpf_probe_read_user(words, sizeof(words), (const void *)(sp + 4)) < 0)
		return; /* zeros: no such stack */
	e->arg0 = words[0];
	e->arg1 = args > 1 ? words[1] : 0;
	e->arg2 = args > 2 ? words[2] : 0;
	e->arg3 = args > 3 ? words[3] : 0;
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

/* Integer arguments, as the calling convention of C has them. */
static __always_inline int call_with_args(struct pt_regs *regs, struct counts *c, u64 ts, u32 tid,
					  u64 cookie)
{
	u32 args = cookie >> SITE_COOKIE_ARGS & 0xff;
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
	if (cookie & SITE_COOKIE_I386)
		args_of_i386(e, e->sp, args);
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
