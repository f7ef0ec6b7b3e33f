/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns events.def and groups.def into structs and ids, for BPF programs and
 * for user space. No event is named here. Included by bpf/, so it must
 * not include anything that a BPF compiler lacks.
 */
#ifndef OBS_EVENT_H
#define OBS_EVENT_H

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
 * (record/cookieless.c). */
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
#define SYSCALL_FUTEX	   4 /* arg5 is the address of a futex */
#define SYSCALL_ONE_FD	   8 /* poll, ppoll: arg5 is the only descriptor of the set */

/* flags of switch */
#define SWITCH_PREEMPT	 1
#define SWITCH_IOWAIT	 2
#define SWITCH_THROTTLED 4

/* flags of site */
#define SITE_ENTRY	   1
#define SITE_RETURN	   2
#define SITE_SKIPPED_ENDBR 4

/* flags of fd */
#define FD_CLOSED_BY_EXEC 1

/* a site's cookie: its id in 32 bits, how many arguments are recorded, and of which machine */
#define SITE_COOKIE_ARGS 32 /* from this bit on, 8 bits */
#define SITE_COOKIE_I386 (1ull << 63)
#define SITE_ARGS_MAX	 4

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

enum wake_context { CONTEXT_TASK, CONTEXT_SOFTIRQ, CONTEXT_HARDIRQ, CONTEXT_NMI };

enum syscall_abi { ABI_X86_64, ABI_I386, ABI_X32, ABI_AARCH64, ABI_ARM };

#endif
