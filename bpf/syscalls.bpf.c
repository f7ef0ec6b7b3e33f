// SPDX-License-Identifier: GPL-2.0-or-later
/* Group syscalls: one record a call, written when it returns. */

#define SYSCALL_MASK 0x3ff
#define X32_BIT	     0x40000000
#define TS_COMPAT    2
#define TIF_32BIT    22

#define WAITV_MAX 128 /* futexes of one call */

/* commands of fcntl(2): include/uapi/asm-generic/fcntl.h */
#define F_SETLK	     6
#define F_SETLKW     7
#define F_OFD_SETLK  37
#define F_OFD_SETLKW 38

/* include/uapi/linux/futex.h */
#define FUTEX_WAIT	  0
#define FUTEX_LOCK_PI	  6
#define FUTEX_WAIT_BITSET 9
#define FUTEX_LOCK_PI2	  13
#define FUTEX_COMMAND	  0x7f
#define FUTEX_WAITERS	  0x80000000
#define FUTEX_TID_MASK	  0x3fffffff

#define LOCK_CONTENDED 2 /* value of a lock that others wait for */
#define LOCK_OWNER     8 /* offset of __owner from __lock in glibc's pthread_mutex_t */

const volatile u8 shapes[1024] = {};  /* by number: format/shapes.h */
const volatile u16 nr_futex = 0xffff; /* futex(2) */
const volatile u16 nr_waitv = 0xffff; /* futex_waitv: its futexes are in memory */

#if defined(__TARGET_ARCH_x86)
#define NATIVE_ABI	     ABI_X86_64
#define SYSCALL_ARG0(btf, r) GET(btf, r, di)
#define SYSCALL_ARG1(btf, r) GET(btf, r, si)
#define SYSCALL_ARG2(btf, r) GET(btf, r, dx)
#define SYSCALL_ARG3(btf, r) GET(btf, r, r10)
#define SYSCALL_ARG4(btf, r) GET(btf, r, r8)
#define SYSCALL_ARG5(btf, r) GET(btf, r, r9)
#elif defined(__TARGET_ARCH_arm64)
#define NATIVE_ABI	     ABI_AARCH64
#define SYSCALL_ARG0(btf, r) GET(btf, r, orig_x0)
#define SYSCALL_ARG1(btf, r) GET(btf, r, regs[1])
#define SYSCALL_ARG2(btf, r) GET(btf, r, regs[2])
#define SYSCALL_ARG3(btf, r) GET(btf, r, regs[3])
#define SYSCALL_ARG4(btf, r) GET(btf, r, regs[4])
#define SYSCALL_ARG5(btf, r) GET(btf, r, regs[5])
#endif

#include "fd.bpf.h"
#include "path.bpf.h"
#include "uring.bpf.h"

/* Which table of numbers this call is from. */
static __always_inline u8 abi_of(struct task_struct *t, s64 nr, const bool btf)
{
#if defined(__TARGET_ARCH_x86)
	if (nr & X32_BIT)
		return ABI_X32;
	if (GET(btf, t, thread_info.status) & TS_COMPAT)
		return ABI_I386;
#elif defined(__TARGET_ARCH_arm64)
	if (GET(btf, t, thread_info.flags) & 1UL << TIF_32BIT)
		return ABI_ARM;
#endif
	return NATIVE_ABI;
}

/* The id of the running thread in its own pid namespace. */
static __always_inline u32 own_tid(struct task_struct *t)
{
	struct pid *pid = BPF_CORE_READ(t, thread_pid);
	unsigned int level = BPF_CORE_READ(pid, level);
	void *own = (void *)&pid->numbers[0] + (level & 31) * bpf_core_type_size(struct upid);

	return BPF_CORE_READ((struct upid *)own, nr);
}

/* The thread id in a lock that is about to be waited for; false: no lock, as far as is known. */
static __always_inline bool lock_holder(u64 address, u32 op, u32 *value, u32 *ret)
{
	bool pi = op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2;

	*ret = 0;
	if (!pi && op != FUTEX_WAIT && op != FUTEX_WAIT_BITSET)
		return false;
	if (pi && bpf_probe_read_user(value, sizeof(*value), (void *)address))
		return false;
	if (pi || *value & FUTEX_WAITERS)
		*ret = *value & FUTEX_TID_MASK;
	else if (*value != LOCK_CONTENDED)
		return false;
	else
		bpf_probe_read_user(ret, sizeof(*ret), (void *)(address + LOCK_OWNER));
	return true;
}

/* Recorded at entry: the holder may change during the wait, and the call may never return. */
static __always_inline void on_futex(struct pt_regs *regs, u64 id, u64 word, const bool btf)
{
	u64 address = SYSCALL_ARG0(btf, regs);
	u32 op = SYSCALL_ARG1(btf, regs) & FUTEX_COMMAND, value = SYSCALL_ARG2(btf, regs), holder;
	struct task_struct *t;
	struct ev_futex_wait *e;
	struct counts *c;

	if (!(asked & 1 << GROUP_syscalls) || shapes[nr_futex & SYSCALL_MASK] & SHAPE_SKIP ||
	    !(filter_all || word & WORD_WANTED) || !lock_holder(address, op, &value, &holder))
		return;
	t = CURRENT(btf);
	if (abi_of(t, nr_futex, btf) != NATIVE_ABI)
		return;
	c = count_seen(GROUP_syscalls);
	if (!c)
		return;
	e = ev_reserve(c, word & ~WORD_WANTED, (u32)id, futex_wait);
	if (!e)
		return;
	e->address = address;
	e->value = value;
	e->holder = holder;
	e->own = own_tid(t);
	e->op = op;
	ev_submit(e);
}

/*
 * The entry of a call, and below its exit, ask the kernel for the thread once each: a call
 * of a helper costs as much as all our own instructions.
 */
static __always_inline int on_enter(struct pt_regs *regs, s64 nr, const bool btf)
{
	struct task_struct *t = btf ? bpf_get_current_task_btf() : NULL;
	u64 id = THREAD_ID(btf, t);
	u64 *word;

	if (!enabled || id >> 32 == self_tgid)
		return 0;
	word = thread_word(id);
	if (word && (filter_all || *word & WORD_WANTED))
		*word = (*word & WORD_WANTED) | bpf_ktime_get_ns();
	if (nr == nr_futex && word)
		on_futex(regs, id, *word, btf);
	return 0;
}

SEC("?tp_btf/sys_enter")
int BPF_PROG(syscalls__enter, struct pt_regs *regs, s64 nr)
{
	return on_enter(regs, nr, true);
}

SEC("?raw_tp/sys_enter")
int BPF_PROG(syscalls__enter__raw, struct pt_regs *regs, s64 nr)
{
	return on_enter(regs, nr, false);
}

/* What both kinds of record say of a call. */
struct call {
	u64 ts, dur;
	s64 ret;
	u32 tid;
	u16 nr;
	u8 abi, flags;
};

#include "datagram.bpf.h"
#include "head.bpf.h"
#include "offsets.bpf.h"

static __always_inline void emit_short(struct counts *c, const struct call *call,
				       struct pt_regs *regs, const bool btf)
{
	u64 arg0 = SYSCALL_ARG0(btf, regs), arg2 = SYSCALL_ARG2(btf, regs);
	struct ev_syscall *e = ev_reserve(c, call->ts, call->tid, syscall);

	if (!e)
		return;
	e->dur = call->dur;
	e->ret = call->ret;
	e->count = arg2;
	e->fd = arg0;
	e->nr = call->nr;
	e->abi = call->abi;
	e->flags = call->flags;
	ev_submit(e);
}

struct waitv { /* struct futex_waitv of include/uapi/linux/futex.h */
	u64 val, uaddr;
	u32 flags, unused;
};

/* Its result is the one that ended it; if none did, the first stands for all. */
static __always_inline bool futex_of_waitv(u64 list, s64 ret, u64 *address)
{
	const struct waitv *w = (const void *)list;

	if (ret > 0 && ret < WAITV_MAX)
		w += ret;
	return bpf_probe_read_user(address, sizeof(*address), &w->uaddr) == 0;
}

/* The descriptor of a set of one, which poll's first argument points to. */
static __always_inline bool only_fd(u8 shape, u64 set, u64 n, s32 *fd)
{
	return (shape & (FD_SOURCE | FD_ROLE)) == SHAPE_POLLS && n == 1 &&
	       bpf_probe_read_user(fd, sizeof(*fd), (void *)set) == 0;
}

struct file_lock { /* struct flock of include/uapi/asm-generic/fcntl.h, 64 bits */
	u16 type, whence;
	s64 start, len;
};

/* What fcntl locks or unlocks, in the arguments that it does not have. */
static __always_inline bool lock_of(u8 shape, u64 cmd, u64 user, u64 *arg3, u64 *arg4, u64 *arg5)
{
	struct file_lock l;

	if ((shape & FD_SOURCE) != FD_DUPLICATED ||
	    (cmd != F_SETLK && cmd != F_SETLKW && cmd != F_OFD_SETLK && cmd != F_OFD_SETLKW) ||
	    bpf_probe_read_user(&l, sizeof(l), (void *)user))
		return false;
	*arg3 = l.type | (u32)l.whence << 16;
	*arg4 = l.start;
	*arg5 = l.len;
	return true;
}

static __always_inline void emit_full(struct counts *c, const struct call *call,
				      struct pt_regs *regs, u8 shape, const bool btf)
{
	u64 arg0 = SYSCALL_ARG0(btf, regs), arg1 = SYSCALL_ARG1(btf, regs);
	u64 arg2 = SYSCALL_ARG2(btf, regs), arg3 = SYSCALL_ARG3(btf, regs);
	u64 arg4 = SYSCALL_ARG4(btf, regs), arg5 = SYSCALL_ARG5(btf, regs);
	struct ev_syscall_args *e;
	u8 flags = call->flags;
	s32 fd = -1;

	if (call->nr == nr_waitv && call->abi == NATIVE_ABI &&
	    futex_of_waitv(arg0, call->ret, &arg5))
		flags |= SYSCALL_FUTEX;
	if (only_fd(shape, arg0, arg1, &fd)) {
		flags |= SYSCALL_ONE_FD;
		arg5 = (u32)fd;
	}
	if (lock_of(shape, arg1, arg2, &arg3, &arg4, &arg5))
		flags |= SYSCALL_FILE_LOCK;
	e = ev_reserve(c, call->ts, call->tid, syscall_args);
	if (!e)
		return;
	e->dur = call->dur;
	e->ret = call->ret;
	e->arg0 = arg0;
	e->arg1 = arg1;
	e->arg2 = arg2;
	e->arg3 = arg3;
	e->arg4 = arg4;
	e->arg5 = arg5;
	e->unused = 0;
	e->nr = call->nr;
	e->abi = call->abi;
	e->flags = flags;
	ev_submit(e);
}

/* Its descriptors and paths: for groups core and files, whether or not the call is recorded. */
static __always_inline void follow_files(const struct call *call, u64 id, u8 shape, u8 form,
					 struct pt_regs *regs, const bool btf)
{
	u64 arg[4] = { SYSCALL_ARG0(btf, regs), SYSCALL_ARG1(btf, regs), SYSCALL_ARG2(btf, regs),
		       SYSCALL_ARG3(btf, regs) };
	struct naming n = { call->ts, call->dur, call->ret, call->tid, call->nr, call->abi };

	if (shape & FD_SOURCE)
		fds_changed(call->ts, id, shape, form, arg, call->ret);
	if (shape & FD_ROLE && call->ret >= 0 && asked & 1 << GROUP_requests)
		ready_follow((shape & FD_SOURCE) == FD_ARG0 ? arg[0] : call->ret,
			     (shape & FD_ROLE) >> FD_ROLE_SHIFT);
	if (form & PATH_DIRECTORY && !call->ret)
		directory_changed(call->ts, id, form, arg);
	if (form && !(form & PATH_DIRECTORY) && asked & 1 << GROUP_files)
		named(&n, form, arg);
}

/* The running thread's word if its calls are to be recorded, else NULL, which is counted. */
static __always_inline u64 *calling(struct counts *c, u64 id)
{
	u64 *word;

	if (id >> 32 == self_tgid) {
		if (c)
			count(c, self);
		return NULL;
	}
	word = thread_word(id);
	if (word && (filter_all || *word & WORD_WANTED))
		return word;
	if (c)
		count(c, filtered);
	return NULL;
}

static __always_inline int on_exit(struct pt_regs *regs, s64 ret, const bool btf)
{
	struct task_struct *t = CURRENT(btf);
	u64 id = THREAD_ID(btf, t), entered, *word;
	s64 nr = SYSCALL_NR(btf, regs);
	struct counts *c = NULL;
	struct call call;
	u8 shape, form;

	if (nr < 0 || !enabled) /* no system call: a debugger or seccomp took it away */
		return 0;
	if (asked & 1 << GROUP_syscalls) {
		c = count_seen(GROUP_syscalls);
		if (!c)
			return 0;
	}
	word = calling(c, id);
	if (!word)
		return 0;
	entered = word_entered(*word);
	if (*word & WORD_STACK_DUE)
		stack_leaves(id, word);
	*word = (*word & WORD_WANTED) | (asked & 1 << GROUP_syscalls ? WORD_LEFT : 0);
	call.ts = bpf_ktime_get_ns();
	call.tid = id;
	call.ret = ret;
	call.nr = nr & 0xffff;
	call.abi = abi_of(t, nr, btf);
	call.flags = entered ? 0 : SYSCALL_NO_ENTRY;
	call.dur = entered ? call.ts - entered : 0;
	if (slow_calls && entered)
		check_syscall(call.nr, call.tid, call.ts, call.dur);
	shape = call.abi == NATIVE_ABI ? shapes[nr & SYSCALL_MASK] : SHAPE_ARGS;
	form = call.abi == NATIVE_ABI ? paths[nr & SYSCALL_MASK] : 0;
	/* read here and again below: what is known of it would double the paths that lead there */
	if (c && asked & 1 << GROUP_requests && moves[nr & SYSCALL_MASK] & MOVE_PEER)
		datagram_moved(&call, moves[nr & SYSCALL_MASK], regs, btf);
	if (c && shape & SHAPE_SKIP)
		count(c, filtered);
	else if (c && shape & SHAPE_ARGS)
		emit_full(c, &call, regs, shape, btf);
	else if (c)
		emit_short(c, &call, regs, btf);
	if (c && !entered && !(shape & SHAPE_SKIP))
		count(c, nostate);
	if (asked & 1 << GROUP_offsets && call.abi == NATIVE_ABI && ios[nr & SYSCALL_MASK])
		offsets_of(&call, ios[nr & SYSCALL_MASK], regs, btf);
	if (shape & FD_SOURCE || form)
		follow_files(&call, id, shape, form, regs, btf);
	if (heads && call.abi == NATIVE_ABI &&
	    moves[nr & SYSCALL_MASK] & (MOVE_RECEIVES | MOVE_SENDS))
		bytes_moved(&call, moves[nr & SYSCALL_MASK], regs, btf);
	return 0;
}

SEC("?tp_btf/sys_exit")
int BPF_PROG(syscalls__exit, struct pt_regs *regs, long ret)
{
	return on_exit(regs, ret, true);
}

SEC("?raw_tp/sys_exit")
int BPF_PROG(syscalls__exit__raw, struct pt_regs *regs, long ret)
{
	return on_exit(regs, ret, false);
}
