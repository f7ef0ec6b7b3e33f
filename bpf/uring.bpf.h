/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * io_uring: requests that are submitted and completed without a system call each. They
 * belong to group syscalls, so that who uses them does not look idle.
 */
#pragma once

#define IORING_SETUP_SQPOLL 2
#define REQ_F_FIXED_FILE    1
#define FILE_PTR_FLAGS	    7UL /* low bits of a registered file's address */

/* By IORING_OP_*: those that work on a descriptor; of others that field is left over. */
#define OPS_WITH_FILE 0x3fc3cb064dc3277eULL

/* What the tracepoints pass: record/probes/tracepoints.c decides by their arity. */
enum submit_form { SUBMIT_REQUEST, SUBMIT_REQUEST_SECOND, SUBMIT_VALUES };
enum complete_form { COMPLETE_CQE, COMPLETE_REQUEST, COMPLETE_VALUES };
const volatile u32 uring_submit_form = SUBMIT_REQUEST;
const volatile u32 uring_complete_form = COMPLETE_CQE;

/* Rings that a target has used: completions may run in other threads. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, u8);
} wanted_uring SEC(".maps");

static __always_inline u64 user_data_of(struct io_kiocb *req)
{
	if (bpf_core_field_exists(req->cqe))
		return BPF_CORE_READ(req, cqe.user_data);
	return BPF_CORE_READ((struct io_kiocb___old *)req, user_data);
}

/* The file that the program has registered with the ring under this number. */
static __always_inline struct file *registered_file(struct io_ring_ctx *ring, u32 slot)
{
	struct io_fixed_file *files;
	struct io_rsrc_node **nodes, *node = NULL;
	unsigned long file = 0;

	if (bpf_core_field_exists(ring->file_table.data.nodes)) {
		nodes = BPF_CORE_READ(ring, file_table.data.nodes);
		if (slot < BPF_CORE_READ(ring, file_table.data.nr))
			bpf_probe_read_kernel(&node, sizeof(node), nodes + slot);
		file = node ? BPF_CORE_READ(node, file_ptr) : 0;
	} else if (bpf_core_field_exists(ring->file_table.files) &&
		   bpf_core_field_exists(ring->nr_user_files)) {
		files = BPF_CORE_READ(ring, file_table.files);
		if (slot < BPF_CORE_READ(ring, nr_user_files))
			bpf_probe_read_kernel(&file, sizeof(file), files + slot);
	}
	return (void *)(file & ~FILE_PTR_FLAGS);
}

/* Since 5.18 the kernel looks the file up after the tracepoint of the submission. */
static __always_inline struct file *uring_file(struct io_kiocb *req, u8 opcode)
{
	struct file *f = BPF_CORE_READ(req, file);
	int fd;

	if (f || !bpf_core_field_exists(req->cqe.fd) || opcode > 63 ||
	    !(OPS_WITH_FILE >> opcode & 1))
		return f;
	fd = BPF_CORE_READ(req, cqe.fd);
	if (BPF_CORE_READ(req, flags) & REQ_F_FIXED_FILE)
		return registered_file(BPF_CORE_READ(req, ctx), fd);
	return file_at(fd);
}

static __always_inline int emit_submit(void *ring, struct io_kiocb *req, u64 user_data, u8 opcode)
{
	struct counts *c = count_seen(GROUP_syscalls);
	u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid(), name;
	struct file *f = NULL;
	struct ev_uring_submit *e;
	u8 one = 1;

	if (!c || !current_wanted(c, id))
		return 0;
	name = name_of(ring);
	if (!filter_all && !bpf_map_lookup_elem(&wanted_uring, &name))
		bpf_map_update_elem(&wanted_uring, &name, &one, BPF_ANY);
	e = ev_reserve(c, ts, (u32)id, uring_submit);
	if (!e)
		return 0;
	/* named at both ends or at neither: 5.15, and 5.10 with its io_uring, do not at the second
	 */
	e->request = req && uring_complete_form != COMPLETE_VALUES ? name_of(req) : 0;
	e->ring = name;
	e->user_data = user_data;
	e->opcode = opcode;
	e->sq_thread = !!(BPF_CORE_READ((struct io_ring_ctx *)ring, flags) & IORING_SETUP_SQPOLL);
	if (req)
		f = uring_file(req, opcode);
	e->ino = f ? BPF_CORE_READ(f, f_inode, i_ino) : 0;
	e->dev = f ? BPF_CORE_READ(f, f_inode, i_sb, s_dev) : 0;
	e->mode = f ? BPF_CORE_READ(f, f_inode, i_mode) & S_IFMT : 0;
	ev_submit(e);
	return 0;
}

static __always_inline int on_uring_submit(u64 *ctx)
{
	struct io_kiocb *req;

	if (uring_submit_form == SUBMIT_VALUES)
		return emit_submit((void *)ctx[0], NULL, ctx[2], ctx[1]);
	req = uring_submit_form == SUBMIT_REQUEST ? (void *)ctx[0] : second_arg(ctx);
	return emit_submit(BPF_CORE_READ(req, ctx), req, user_data_of(req),
			   BPF_CORE_READ(req, opcode));
}

static __always_inline int emit_completed(void *ring, void *req, u64 user_data, s64 ret)
{
	struct counts *c = count_seen(GROUP_syscalls);
	u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid(), name = name_of(ring);
	struct ev_uring_complete *e;

	if (!c)
		return 0;
	if (!filter_all && !bpf_map_lookup_elem(&wanted_uring, &name)) {
		count(c, filtered);
		return 0;
	}
	e = ev_reserve(c, ts, (u32)id, uring_complete);
	if (!e)
		return 0;
	e->request = req ? name_of(req) : 0;
	e->ring = name;
	e->user_data = user_data;
	e->ret = ret;
	ev_submit(e);
	return 0;
}

static __always_inline int on_uring_complete(u64 *ctx)
{
	struct io_uring_cqe *cqe;

	if (uring_complete_form == COMPLETE_VALUES)
		return emit_completed((void *)ctx[0], NULL, ctx[1], (s64)ctx[2]);
	if (uring_complete_form == COMPLETE_REQUEST)
		return emit_completed((void *)ctx[0], (void *)ctx[1], ctx[2], (s32)ctx[3]);
	cqe = (void *)ctx[2];
	return emit_completed((void *)ctx[0], (void *)ctx[1], BPF_CORE_READ(cqe, user_data),
			      BPF_CORE_READ(cqe, res));
}

#define URING(what, tracepoint, fn)                                      \
	SEC("?tp_btf/" tracepoint) int syscalls__##what(u64 *ctx)        \
	{                                                                \
		return fn(ctx);                                          \
	}                                                                \
	SEC("?raw_tp/" tracepoint) int syscalls__##what##__raw(u64 *ctx) \
	{                                                                \
		return fn(ctx);                                          \
	}

/* one of the first two exists */
URING(uring_submit, "io_uring_submit_req", on_uring_submit)
URING(uring_submit_old, "io_uring_submit_sqe", on_uring_submit)
URING(uring_complete, "io_uring_complete", on_uring_complete)
