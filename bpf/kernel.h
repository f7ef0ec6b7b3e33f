/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's types, as far as our programs read them, written by hand so that
 * building needs no kernel headers. Offsets here mean nothing: CO-RE relocates each
 * access to the running kernel. ___old marks a field's former shape.
 */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

/* names that libbpf's headers expect */
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef signed char __s8;
typedef short __s16;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;
typedef _Bool bool;

#define __VMLINUX_H__ /* libbpf's macros then use the kernel's names of registers */
#define NULL	      ((void *)0)
#define true 1
#define false 0

enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_F_MMAPABLE = 1 << 10, BPF_F_NO_PREALLOC = 1 };
enum { BPF_RB_NO_WAKEUP = 1 };
enum { BPF_RB_AVAIL_DATA = 0, BPF_RB_RING_SIZE = 1 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r10, r9, r8, ax, dx, si, di, orig_ax, ip, sp;
	unsigned long bx, bp, cx; /* libbpf's macros name them */
	unsigned long r11, r12, r13, r14, r15;
};
struct thread_info {
	u32 status; /* TS_COMPAT */
	u32 cpu;    /* since 5.16 */
};
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	u64 regs[31];
	u64 sp, pc, pstate;
};
struct pt_regs {
	u64 regs[31];
	u64 sp, pc, pstate, orig_x0;
	s32 syscallno;
};
struct thread_info {
	unsigned long flags; /* TIF_32BIT */
	struct {
		u32 count;
	} preempt;
	u32 cpu;
};
#endif

struct cred {
	struct {
		u32 val;
	} euid;
};

struct qstr {
	const unsigned char *name;
};

struct super_block {
	u32 s_dev;
};

struct inode {
	u16 i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	s64 i_size;
	u32 i_generation;
};

struct address_space {
	struct inode *host;
};

struct file {
	struct inode *f_inode;
	struct address_space *f_mapping;
	void *private_data;
	s64 f_pos;
	unsigned int f_flags;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct fdtable {
	u32 max_fds;
	struct file **fd;
	unsigned long *close_on_exec;
};

struct files_struct {
	struct fdtable *fdt;
};

struct kernfs_node {
	u64 id;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct upid {
	s32 nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

enum cgroup_subsys_id { cpu_cgrp_id = 1 };

struct css_set {
	struct cgroup_subsys_state *subsys[16];
	struct cgroup *dfl_cgrp;
};

struct task_io_accounting {
	u64 read_bytes, write_bytes;
};

struct signal_struct {
	struct {
		int counter;
	} live;
	u64 utime, stime;
	unsigned long maj_flt, maxrss;
	struct task_io_accounting ioac;
};

struct mm_struct {
	unsigned long arg_start, arg_end;
};

struct rq {
	u64 prev_steal_time_rq; /* with CONFIG_PARAVIRT_TIME_ACCOUNTING */
};

struct cfs_rq {
	struct rq *rq; /* with CONFIG_FAIR_GROUP_SCHED */
};

struct sched_entity {
	u64 exec_start;
	u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq; /* with CONFIG_FAIR_GROUP_SCHED */
};

struct task_struct {
	struct thread_info thread_info;
	struct sched_entity se;
	bool throttled;	      /* since 6.18 */
	unsigned int __state; /* since 5.14 */
	int prio;
	s32 pid;
	s32 tgid;
	unsigned int in_iowait : 1;
	struct pid *thread_pid;
	const struct cred *cred;
	char comm[16];
	int exit_code;
	struct files_struct *files;
	struct css_set *cgroups;
	struct task_struct *real_parent;
	struct signal_struct *signal;
	struct mm_struct *mm;
	u64 utime, stime;
	unsigned long maj_flt;
	u64 start_boottime; /* since 5.5 */
	struct task_io_accounting ioac;
	void *stack;
};

struct task_struct___old {
	long state;	  /* until 5.14 */
	unsigned int cpu; /* until 5.16 */
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct linux_binprm {
	const char *filename;
};

struct in6_addr {
	u8 in6_u[16];
};

struct ns_common {
	u32 inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	u16 skc_family;
	volatile unsigned char skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	possible_net_t skc_net;
};

struct socket;

struct sk_buff_head {
	struct sk_buff *next, *prev;
	u32 qlen;
};

struct sock {
	struct sock_common __sk_common;
	struct sk_buff_head sk_receive_queue;
	u32 sk_ack_backlog;
	int sk_err;
	u16 sk_protocol; /* a bit field until 5.5 */
	struct socket *sk_socket;
	struct {
		int owned;
	} sk_lock;
};

struct socket {
	short type;
	struct file *file;
	struct sock *sk;
};

struct udp_sock {
	struct sk_buff_head reader_queue;
};

struct sockaddr_un {
	char sun_path[108];
};

struct unix_address {
	int len; /* of name, with the family */
	struct sockaddr_un name[0];
};

struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};

struct inet_sock {
	u16 inet_sport; /* stays when the port is given back */
};

struct tcp_sock {
	u32 srtt_us, total_retrans;
	u64 bytes_acked, bytes_received;
	u32 rcv_nxt, copied_seq, snd_una, snd_nxt, snd_sml, snd_wnd, write_seq;
	u32 mss_cache, packets_out, snd_cwnd;
};

struct net_device {
	char name[16];
	int ifindex;
	possible_net_t nd_net;
};

struct sk_buff {
	u32 len, data_len;
	char cb[48];
	struct net_device *dev;
	u16 protocol, network_header;
	unsigned char *head, *data;
};

struct tcp_skb_cb {
	u32 seq, end_seq, ack_seq;
	u8 tcp_flags; /* as wide as two since 6.15 */
};

struct folio {
	struct address_space *mapping;
	unsigned long index;
	unsigned long _flags_1;
};

struct page { /* what tracepoints passed until 5.16 */
	struct address_space *mapping;
	unsigned long index;
};

enum pageflags { PG_head = 6 };

struct vm_fault;

struct io_rsrc_node { /* since 6.13 */
	unsigned long file_ptr;
};

struct io_rsrc_data {
	unsigned int nr;
	struct io_rsrc_node **nodes;
};

struct io_fixed_file { /* until 6.12 */
	unsigned long file_ptr;
};

struct io_file_table {
	struct io_rsrc_data data;
	struct io_fixed_file *files;
};

struct io_ring_ctx {
	unsigned int flags;
	unsigned int nr_user_files; /* until 6.12 */
	struct io_file_table file_table;
};

struct io_cqe {
	u64 user_data;
	int fd;
};

struct io_kiocb {
	struct file *file;
	u8 opcode;
	unsigned int flags; /* as wide as two since 6.8 */
	struct io_cqe cqe;  /* since 5.19 */
	struct io_ring_ctx *ctx;
};

struct io_kiocb___old {
	u64 user_data; /* until 5.18 */
};

struct io_uring_cqe {
	u64 user_data;
	s32 res;
};

struct gendisk {
	int major;
	int first_minor;
};

struct request_queue {
	struct gendisk *disk; /* since 5.15 */
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	u64 __sector;
};

struct request___old {
	struct gendisk *rq_disk; /* until 5.17 */
};

#pragma clang attribute pop
