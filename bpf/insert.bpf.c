// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Group block on kernels without block_io_start (until 6.5), programs with __insert in their name:
 * a request starts when it is inserted into the device's queue or, if it never is, when it is
 * issued. Preallocated: older kernels warn of a tracing program whose map allocates.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, u8);
} inserted SEC(".maps");

static __always_inline int starts_once(struct request *rq, const bool btf)
{
	u64 ts = bpf_ktime_get_ns(), key = 0;
	u32 tid = bpf_get_current_pid_tgid();
	struct counts *c;
	struct io io;
	u8 one = 1;

	if (!enabled)
		return 0;
	io = describe(rq, btf);
	key = io.request;
	if (bpf_map_update_elem(&inserted, &key, &one, BPF_NOEXIST) < 0)
		return 0; /* started before */
	c = count_seen(GROUP_block);
	if (c)
		emit_io(c, ts, tid, EV_block_start, &io);
	return 0;
}

static __always_inline int forget(struct request *rq, u32 bytes, const bool btf)
{
	struct io io = describe(rq, btf);

	if (bytes >= io.bytes)
		bpf_map_delete_elem(&inserted, &io.request);
	return 0;
}

/* Attached in the order of the names in the object: a start comes before its issue. */
#define INSERT(what, tracepoint)                                                               \
	SEC("?tp_btf/" tracepoint) int block__##what##__insert(u64 *ctx)                       \
	{                                                                                      \
		return starts_once(issue_has_queue ? second_arg(ctx) : (void *)ctx[0], true);  \
	}                                                                                      \
	SEC("?raw_tp/" tracepoint) int block__##what##__insert__raw(u64 *ctx)                  \
	{                                                                                      \
		return starts_once(issue_has_queue ? second_arg(ctx) : (void *)ctx[0], false); \
	}

INSERT(queued, "block_rq_insert")
INSERT(direct, "block_rq_issue")

SEC("?tp_btf/block_rq_complete")
int BPF_PROG(block__forget__insert, struct request *rq, s32 error, u32 bytes)
{
	return forget(rq, bytes, true);
}

SEC("?raw_tp/block_rq_complete")
int BPF_PROG(block__forget__insert__raw, struct request *rq, s32 error, u32 bytes)
{
	return forget(rq, bytes, false);
}
