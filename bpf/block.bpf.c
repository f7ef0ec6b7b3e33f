// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Group block: requests from submission to completion. With targets, a request
 * is followed if a target submitted it: the set of these is kept in a map.
 */

const volatile bool issue_has_queue = false; /* block_rq_issue(q, rq): until 5.11 */
const volatile bool complete_has_status =
	true;				 /* block_rq_complete has a blk_status_t: since 5.16 */
const volatile bool has_io_start = true; /* block_io_start exists: since 6.5 */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, u8);
} wanted_requests SEC(".maps");

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

	/* copied: the verifier forbids arithmetic on the pointer itself */
	bpf_probe_read_kernel(&io.request, sizeof(io.request), &rq);
	io.request ^= request_key;
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

static __always_inline int on_start(struct request *rq, const bool btf)
{
	struct counts *c = count_seen(GROUP_block);
	u64 ts = bpf_ktime_get_ns();
	u32 tid = bpf_get_current_pid_tgid();
	struct io io;
	u8 one = 1;

	if (!c)
		return 0;
	if (!wanted(tid)) {
		count(c, filtered);
		return 0;
	}
	io = describe(rq, btf);
	if (!filter_all)
		bpf_map_update_elem(&wanted_requests, &io.request, &one, BPF_ANY);
	emit_io(c, ts, tid, EV_block_start, &io);
	return 0;
}

SEC("?tp_btf/block_io_start")
int BPF_PROG(block__start, struct request *rq)
{
	return on_start(rq, true);
}

SEC("?raw_tp/block_io_start")
int BPF_PROG(block__start__raw, struct request *rq)
{
	return on_start(rq, false);
}

/* Without block_io_start the thread that issues is taken for the submitter's group. */
static __always_inline bool request_wanted(u64 request, u32 tid)
{
	if (filter_all)
		return true;
	if (!has_io_start && wanted(tid))
		return true;
	return bpf_map_lookup_elem(&wanted_requests, &request) != NULL;
}

static __always_inline int on_issue(struct request *rq, const bool btf)
{
	struct counts *c = count_seen(GROUP_block);
	u64 ts = bpf_ktime_get_ns();
	u32 tid = bpf_get_current_pid_tgid();
	struct io io;
	u8 one = 1;

	if (!c)
		return 0;
	io = describe(rq, btf);
	if (!request_wanted(io.request, tid)) {
		count(c, filtered);
		return 0;
	}
	if (!filter_all && !has_io_start)
		bpf_map_update_elem(&wanted_requests, &io.request, &one, BPF_ANY);
	emit_io(c, ts, tid, EV_block_issue, &io);
	return 0;
}

SEC("?tp_btf/block_rq_issue")
int block__issue(u64 *ctx)
{
	return on_issue(issue_has_queue ? (void *)ctx[1] : (void *)ctx[0], true);
}

SEC("?raw_tp/block_rq_issue")
int block__issue__raw(u64 *ctx)
{
	return on_issue(issue_has_queue ? (void *)ctx[1] : (void *)ctx[0], false);
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
	if (!filter_all && !bpf_map_lookup_elem(&wanted_requests, &io.request)) {
		count(c, filtered);
		return 0;
	}
	if (!filter_all && bytes >= io.bytes)
		bpf_map_delete_elem(&wanted_requests, &io.request);
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
