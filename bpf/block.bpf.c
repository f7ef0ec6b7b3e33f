// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Group block: requests from submission to completion, of all processes: a disk is
 * shared, and who waits for it waits for what others have asked of it.
 */

const volatile bool issue_has_queue = false; /* block_rq_issue(q, rq): until 5.11 */
const volatile bool complete_has_status =
	true; /* block_rq_complete has a blk_status_t: since 5.16 */

/* errno of a blk_status_t, by the kernel's own table (block/blk-core.c). */
static const u8 status_errno[] = {
	0, 95, 110, 28, 67, 121, 52, 61, 84, 12, 5,
};

struct io {
	u64 request, sector;
	u32 dev, bytes, op;
};

static __always_inline struct io describe(struct request *rq, const bool btf)
{
	struct gendisk *disk;
	struct io io = {
		.sector = GET(btf, rq, __sector),
		.bytes = GET(btf, rq, __data_len),
		.op = GET(btf, rq, cmd_flags),
	};

	io.request = name_of(rq);
	if (bpf_core_field_exists(struct request___old, rq_disk))
		disk = BPF_CORE_READ((struct request___old *)rq, rq_disk);
	else
		disk = BPF_CORE_READ(rq, q, disk);
	if (disk)
		io.dev = BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor);
	return io;
}

/* block_start and block_issue have the same fields. */
static __always_inline void emit_io(struct counts *c, u64 ts, u32 tid, u16 type,
				    const struct io *io)
{
	struct ev_block_start *e = reserve(c, ts, tid, type, sizeof(*e));

	if (!e)
		return;
	e->request = io->request;
	e->sector = io->sector;
	e->dev = io->dev;
	e->bytes = io->bytes;
	e->op = io->op;
	e->unused = 0;
	ev_submit(e);
}

static __always_inline int on_io(struct request *rq, u16 type, const bool btf)
{
	struct counts *c = count_seen(GROUP_block);
	u64 ts = bpf_ktime_get_ns();
	struct io io;

	if (!c)
		return 0;
	io = describe(rq, btf);
	emit_io(c, ts, (u32)bpf_get_current_pid_tgid(), type, &io);
	return 0;
}

SEC("?tp_btf/block_io_start")
int BPF_PROG(block__start, struct request *rq)
{
	return on_io(rq, EV_block_start, true);
}

SEC("?raw_tp/block_io_start")
int BPF_PROG(block__start__raw, struct request *rq)
{
	return on_io(rq, EV_block_start, false);
}

#include "insert.bpf.c"

SEC("?tp_btf/block_rq_issue")
int block__issue(u64 *ctx)
{
	return on_io(issue_has_queue ? second_arg(ctx) : (void *)ctx[0], EV_block_issue, true);
}

SEC("?raw_tp/block_rq_issue")
int block__issue__raw(u64 *ctx)
{
	return on_io(issue_has_queue ? second_arg(ctx) : (void *)ctx[0], EV_block_issue, false);
}

static __always_inline s32 error_of(s32 error)
{
	u32 status = error;

	if (!complete_has_status)
		return error;
	if (!(status & 0xff))
		return 0;
	status &= 0xff;
	return status < sizeof(status_errno) ? -(s32)status_errno[status] : -5;
}

static __always_inline int on_complete(struct request *rq, s32 error, u32 bytes, const bool btf)
{
	struct counts *c = count_seen(GROUP_block);
	u64 ts = bpf_ktime_get_ns();
	struct ev_block_complete *e;
	struct io io;

	if (!c)
		return 0;
	io = describe(rq, btf);
	e = ev_reserve(c, ts, (u32)bpf_get_current_pid_tgid(), block_complete);
	if (!e)
		return 0;
	e->request = io.request;
	e->sector = io.sector;
	e->dev = io.dev;
	e->bytes = bytes;
	e->op = io.op;
	e->error = error_of(error);
	ev_submit(e);
	return 0;
}

SEC("?tp_btf/block_rq_complete")
int BPF_PROG(block__complete, struct request *rq, s32 error, u32 bytes)
{
	return on_complete(rq, error, bytes, true);
}

SEC("?raw_tp/block_rq_complete")
int BPF_PROG(block__complete__raw, struct request *rq, s32 error, u32 bytes)
{
	return on_complete(rq, error, bytes, false);
}
