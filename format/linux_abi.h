/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers of Linux that recordings contain: the same on each processor that is recorded, whatever
 * the machine that reads them has. Errors: errnos.h.
 */
#pragma once

#define LINUX_KTHREADD 2 /* pid: parent of the kernel's threads */

/* include/linux/socket.h, net.h */
enum { LINUX_AF_UNIX = 1, LINUX_AF_INET = 2, LINUX_AF_INET6 = 10 };
enum { LINUX_SOCK_STREAM = 1, LINUX_SOCK_DGRAM = 2 };

/* include/net/tcp_states.h */
enum {
	LINUX_TCP_ESTABLISHED = 1,
	LINUX_TCP_SYN_SENT = 2,
	LINUX_TCP_SYN_RECV = 3,
	LINUX_TCP_FIN_WAIT2 = 5,
	LINUX_TCP_CLOSE = 7,
	LINUX_TCP_CLOSE_WAIT = 8,
	LINUX_TCP_LAST_ACK = 9,
	LINUX_TCP_LISTEN = 10,
	LINUX_TCP_CLOSING = 11,
};

/* st_mode: include/uapi/linux/stat.h */
enum {
	LINUX_S_IFMT = 0170000,
	LINUX_S_IFIFO = 0010000,
	LINUX_S_IFCHR = 0020000,
	LINUX_S_IFDIR = 0040000,
	LINUX_S_IFBLK = 0060000,
	LINUX_S_IFREG = 0100000,
	LINUX_S_IFSOCK = 0140000,
};

/* bits of a thread's state: include/linux/sched.h, since 4.14 */
enum {
	LINUX_TASK_UNINTERRUPTIBLE = 0x0002,
	LINUX_TASK_STOPPED_TRACED = 0x000c,
	LINUX_TASK_FROZEN = 0x8000, /* since 6.1 */
	LINUX_TASK_GONE = 0x00b0,   /* EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD */
	LINUX_TASK_NOLOAD = 0x0400, /* idle kernel threads: uninterruptible without a wait */
};

/* fcntl(2) and flock(2): include/uapi/asm-generic/fcntl.h */
enum { LINUX_LOCK_EX = 2, LINUX_LOCK_NB = 4, LINUX_LOCK_UN = 8 };
enum { LINUX_F_SETLK = 6, LINUX_F_SETLKW = 7, LINUX_F_OFD_SETLK = 37, LINUX_F_OFD_SETLKW = 38 };
enum { LINUX_F_WRLCK = 1, LINUX_F_UNLCK = 2 };

#define LINUX_FUTEX_WAITERS 0x80000000u
#define LOCK_CONTENDED	    2 /* value of a lock that others wait for: glibc, musl, Go, Rust */
#define LOCK_OWNER	    8 /* offset of __owner from __lock in glibc's pthread_mutex_t */

/* operations of futex(2): include/uapi/linux/futex.h */
enum {
	LINUX_FUTEX_WAIT = 0,
	LINUX_FUTEX_WAKE = 1,
	LINUX_FUTEX_REQUEUE = 3,
	LINUX_FUTEX_CMP_REQUEUE = 4,
	LINUX_FUTEX_WAKE_OP = 5,
	LINUX_FUTEX_LOCK_PI = 6,
	LINUX_FUTEX_UNLOCK_PI = 7,
	LINUX_FUTEX_WAIT_BITSET = 9,
	LINUX_FUTEX_WAKE_BITSET = 10,
	LINUX_FUTEX_WAIT_REQUEUE_PI = 11,
	LINUX_FUTEX_CMP_REQUEUE_PI = 12,
	LINUX_FUTEX_LOCK_PI2 = 13,
	LINUX_FUTEX_TID_MASK = 0x3fffffff, /* of the word of a robust or PI lock */
	LINUX_FUTEX_MASK = 0x7f,	   /* without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */
};
