/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns events.def and groups.def into structs and ids, for BPF programs and
 * for user space. No event is named here. Included by bpf/, so it must
 * not include anything that a BPF compiler lacks.
 */
#pragma once

#ifndef __bpf__ /* BPF programs have these from bpf/kernel.h */
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
#endif

typedef char comm16[16]; /* NUL-padded; not terminated when all 16 are used */
typedef u8 addr16[16];

/* The first 16 bytes of every record. */
struct ev_header {
	u64 ts;	  /* CLOCK_MONOTONIC, ns */
	u32 tid;  /* see events.def */
	u16 type; /* EV_* */
	u16 size; /* of the whole record, header and tail included; a multiple of 8 */
};

/* Stands in a program for uprobes where a kernel without cookies needs the site's
 * (record/probes/uprobe_legacy.c). */
#define SITE_COOKIE_UNSET 0x0b5eb0a7c00c1e5aull

#define EV_SIZE_MAX 8192 /* no record is longer */

enum ev_type {
#define EVENT(id, name, group, doc) EV_##name = (id),
#define FIELD(type, name, kind, doc)
#define TAIL(name, doc)
#define END
#include "events.def"
#undef EVENT
#undef FIELD
#undef TAIL
#undef END
};

#define EVENT(id, name, group, doc) \
	struct ev_##name {          \
		struct ev_header h;
#define FIELD(type, name, kind, doc) type name;
#define TAIL(name, doc)		     char name[];
#define END \
	}   \
	;
#include "events.def"
#undef EVENT
#undef FIELD
#undef TAIL
#undef END

/* No padding: the fields of an event fill its struct. */
#define EVENT(id, name, group, doc)  _Static_assert(sizeof(struct ev_##name) == 16
#define FIELD(type, name, kind, doc) +sizeof(type)
#define TAIL(name, doc)
#define END			     , "an event has a gap between its fields");
#include "events.def"
#undef EVENT
#undef FIELD
#undef TAIL
#undef END

enum ev_group {
#define GROUP(id, name, asked, doc) GROUP_##name = (id),
#include "groups.def"
#undef GROUP
	GROUP_MAX = 16, /* groups that fit into the counters */
};

/* flags of syscall and syscall_args */
#define SYSCALL_NO_ENTRY   1
#define SYSCALL_UNFINISHED 2
#define SYSCALL_FUTEX	   4  /* arg5 is the address of a futex */
#define SYSCALL_ONE_FD	   8  /* poll, ppoll: arg5 is the only descriptor of the set */
#define SYSCALL_FILE_LOCK  16 /* fcntl: arg3 to arg5 are of its struct flock */

/* flags of file_lock */
#define FILE_LOCK_WRITE	 1
#define FILE_LOCK_FLOCK	 2
#define FILE_LOCK_ENDING 4

/* flags of switch */
#define SWITCH_PREEMPT	 1
#define SWITCH_IOWAIT	 2
#define SWITCH_THROTTLED 4

/* flags of site */
#define SITE_ENTRY	   1
#define SITE_RETURN	   2
#define SITE_SKIPPED_ENDBR 4
#define SITE_SPAN	   8
#define SITE_MARK	   16

/* flags of file_io */
#define FILE_IO_WRITE	1
#define FILE_IO_APPEND	2
#define FILE_IO_UNKNOWN 4
#define FILE_IO_GIVEN	8

/* flags of fd */
#define FD_CLOSED_BY_EXEC 1

/* a site's cookie: its id in 32 bits, which arguments are recorded, and of which machine */
#define SITE_COOKIE_ARGS 32 /* from this bit on, 8 bits */
#define SITE_COOKIE_TEXT 40 /* from this bit on, 16 bits: place that describes a text, and 1 */
#define SITE_COOKIE_I386 (1ull << 63)
#define SITE_COOKIE_ONCE (1ull << 62) /* returns are not recorded */
#define SITE_ARGS_MAX	 4

/*
 * Functions that are called too often for an event each (--hot): histograms of the calls of one
 * function by one thread, filled by bpf/hot.bpf.h, read by record/probes/hot.c. Buckets are
 * those of analyze/stats/hist.h: below 32 exact, above at most 1/32 of their value wide.
 */
#define HOT_SITES   256
#define HOT_SLOTS   1024 /* pairs of function and thread; a power of two */
#define HOT_OPEN    8	 /* calls of a pair that are open at one time: recursion */
#define HOT_BUCKETS 1152 /* below 2^40 ns; the last one has longer ones too */

enum hot_mode {
	HOT_NEVER,
	HOT_ON,
	HOT_COOL
}; /* COOL: events, but calls counted before may be open */

struct hot_slot {
	u64 key; /* HOT_USED | site << 32 | tid; 0: free */
	u64 entries, wall, cpu, longest, longest_cpu, migrated;
	u64 sp[HOT_OPEN]; /* of open calls; 0: free */
	struct hot_open {
		u64 ts, ran, since; /* sum_exec_runtime, exec_start of the thread */
		u32 cpu, unused;
	} open[HOT_OPEN];
	u32 walls[HOT_BUCKETS], cpus[HOT_BUCKETS]; /* wrap */
};

#define HOT_USED (1ull << 63)

/* Calls of each function on one CPU. */
struct hot_calls {
	u64 n[HOT_SITES];
};

/*
 * A place in the code where a static probe (USDT) is passed, or a function whose entry or return
 * is an end of a span, and how arguments are read: made by record/functions/usdt_args.c, obeyed by
 * bpf/usdt.bpf.h. USDT_ENTRY: nothing is attached, it describes the text argument of a function.
 */
enum usdt_kind { USDT_NONE, USDT_VALUE, USDT_MEMORY };

#define USDT_NO_REG 0xff

struct usdt_arg {
	s64 value; /* a constant, to which registers are added */
	u8 kind;   /* USDT_MEMORY: the sum is an address */
	u8 size;   /* 1, 2, 4 or 8 bytes */
	u8 is_signed;
	u8 shift;      /* of the second register, at most 3 */
	u8 base, next; /* registers: bytes from the start of pt_regs, or USDT_NO_REG */
	u16 unused;
};

/* KEYED: of a span whose start and end have the same first argument, on any threads. */
enum usdt_which { USDT_MARK, USDT_BEGIN, USDT_END, USDT_KEYED_BEGIN, USDT_KEYED_END, USDT_ENTRY };

/* A text as it is, or without its values (record/requests/statement.h). */
enum usdt_text { TEXT_NONE, TEXT_AS_IS, TEXT_STATEMENT };

struct usdt_place {
	struct usdt_arg arg[SITE_ARGS_MAX], text; /* text: a pointer */
	u32 site;
	u8 which, args, has_text, text_max; /* enum usdt_text; bytes without the NUL */
};

/* flags of usdt.unread and call_text.unread: a bit for each argument, and */
#define USDT_TEXT_UNREAD    16
#define USDT_TEXT_CUT	    32
#define USDT_TEXT_STATEMENT 64
#define USDT_TEXT_NULL	    128

#define USDT_TEXT_MAX 256 /* bytes, with the NUL */

enum fd_role { ROLE_UNKNOWN, ROLE_LISTENING, ROLE_ACCEPTED, ROLE_CONNECTED, ROLE_BOUND };

enum bound { BOUND_UNKNOWN, BOUND_TO_ONE, BOUND_TO_SOME, BOUND_TO_ALL };

/*
 * Keys of the map of sockets that belong to targets, which both sides fill: by address, by inode,
 * by network namespace << 16 | port that they listen on.
 */
enum sock_key { KEY_SOCK, KEY_INO, KEY_PORT };

struct sock_id {
	u64 value, kind;
};

/* Its values: the number of the connection (0: none yet) and these above it. */
#define SOCK_SERVER    (1ull << 32) /* the peer opened it */
#define SOCK_CLIENT    (1ull << 33)
#define SOCK_INO_KNOWN (1ull << 34)

/* flags of segment */
#define SEGMENT_FIN	1
#define SEGMENT_BACKLOG 2
#define SEGMENT_ACKED	4 /* of segment_next */
#define SEGMENT_DSACK	8
#define SEGMENT_HELD	16

/* flags of hop */
#define HOP_SENDS     1
#define HOP_FROM_PEER 2

/* flags of head */
#define HEAD_AT_LEAST 1
#define HEAD_MORE     2
#define HEAD_GUESSED  8
#define HEAD_QUIET    16

/* flags of answer */
#define ANSWER_MORE  1
#define ANSWER_WHOLE 2

/* The word of a connection, by its number as below: all answers are wanted. */
#define PIPELINED 1

/*
 * Bytes on their way from a program to obsrec, which puts a head or an answer into their place:
 * never in a file.
 */
#define RAW_HEAD   0xff00
#define RAW_REST   0xff01 /* further bytes of the receive of the last RAW_HEAD */
#define RAW_ANSWER 0xff02
#define RAW_MORE   0xff03 /* further bytes of the send of the last RAW_ANSWER */

struct ev_raw {
	struct ev_header h;
	u32 conn, pos, len; /* as in head */
	u32 n;		    /* valid bytes */
	u8 bytes[];
};

/*
 * How much is read of the receives of a connection, by its number modulo HINTS. obsrec alone writes
 * the hints, the programs alone count long receives: neither can undo what the other wrote. Each
 * word has the upper half of the number as well: a word of another connection counts as 0.
 */
#define HINTS	   65536
#define LONG_TRIES 32 /* long receives that are read whole without a hint */
enum hint {
	HINT_NEW,
	HINT_ENDS, /* of long receives both ends are read: long messages */
	HINT_DEEP, /* long receives are read whole: several requests per receive */
	HINT_NONE,
};
#define HINT_BITS 8

static inline u32 hint_word(u32 conn, u32 value)
{
	return conn / HINTS << HINT_BITS | value;
}

static inline u32 hint_value(u32 word, u32 conn)
{
	return word >> HINT_BITS == conn / HINTS ? word & ((1u << HINT_BITS) - 1) : 0;
}

/* 1 if a long receive is read whole, by these words; else 0. Counts it. */
static inline int hint_deep(const volatile u32 *hint, volatile u32 *count, u32 conn)
{
	u32 how = hint_value(*hint, conn), n;

	if (how != HINT_NEW)
		return how == HINT_DEEP;
	n = hint_value(*count, conn);
	if (n >= LONG_TRIES)
		return 0;
	*count = hint_word(conn, n + 1);
	return 1;
}

#define HEAD_DEEP  16
#define HEAD_SHORT 64
#define HEAD_PIECE 4096 /* bytes read at once */

/* What a system call does with a connection, and where its bytes are. */
#define MOVE_RECEIVES 1
#define MOVE_SENDS    2
#define MOVE_VECTOR   4	 /* second argument: struct iovec */
#define MOVE_MESSAGE  8	 /* second argument: struct msghdr */
#define MOVE_FLAGS    16 /* recvfrom, recvmmsg: the fourth argument is flags; recvmsg: the third */
#define MOVE_PEER     32 /* fifth argument, or the first of struct msghdr: address of the peer */
#define MOVE_MANY     64 /* second argument: array of struct mmsghdr; it returns how many */

/*
 * What BPF programs and obsrec know of a thread, in one word: flags, and the time at which it
 * entered the system call that it is in. 0: not known; WORD_LEFT: it is in none.
 */
#define WORD_WANTED	(1ull << 63) /* it is a target */
#define WORD_STACK_DUE	(1ull << 62) /* its stack is to be copied before it leaves the kernel */
#define WORD_LEFT	1ull	     /* instead of a time: it was at the end of one */
#define WORD_TIME(word) ((word) & ~(WORD_WANTED | WORD_STACK_DUE))

static inline u64 word_entered(u64 word)
{
	return WORD_TIME(word) == WORD_LEFT ? 0 : WORD_TIME(word);
}

static inline int word_left(u64 word)
{
	return WORD_TIME(word) == WORD_LEFT;
}

/*
 * What BPF programs pass of a stack to obsrec, through a ring of its own: never written to a file.
 * A wait comes in two parts: the kernel's frames when the thread runs again, its registers and its
 * stack when it is about to leave the kernel, or to sleep again. A wait outside of system calls
 * has both in one, with its stack unless another thread's took the place. So does that of a
 * sleeper: a thread that still waits when the recording ends.
 */
#define STACK_WAITS   100 /* stacks of waits of a thread per second at most, after a burst */
#define STACK_FRAMES  127
#define STACK_BYTES   (32u << 10) /* copied at most */
#define STACK_REGS    34
#define STACKS_KEPT   128	  /* of threads that sleep outside of system calls */
#define SLEEPER_BYTES (24u << 10) /* of a sleeper: its descriptor has a buffer of 32 KiB */
#define SLEPT_STEP    (1u << 16)  /* ns: its dur is between whole steps of the clock */

enum raw_stack_kind { RAW_SAMPLE, RAW_WAIT, RAW_WAIT_USER, RAW_SLEEPER };

struct raw_stack {
	u64 ts, dur; /* dur: of a wait */
	u64 mm;	     /* differs after exec */
	u32 tid, pid;
	u16 cpu;
	u8 kind, context, state, user; /* state: of a wait; user: it has user memory */
	u16 n_kernel;
	u32 n_stack;	      /* bytes copied from the stack pointer on */
	u32 outside;	      /* 1: the wait was not in a system call */
	u64 regs[STACK_REGS]; /* as the kernel has them in pt_regs */
	u64 kernel[STACK_FRAMES];
}; /* n_stack bytes follow */

enum wake_context { CONTEXT_TASK, CONTEXT_SOFTIRQ, CONTEXT_HARDIRQ, CONTEXT_NMI };

enum syscall_abi { ABI_X86_64, ABI_I386, ABI_X32, ABI_AARCH64, ABI_ARM };
