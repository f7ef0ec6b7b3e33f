// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Group pagecache: pages looked up (since 6.13), added and taken out. A page that is
 * added by the thread that looked it up was a miss.
 */
#define PAGE_ORDER_MASK 0xff

struct vm_area_struct;

static __always_inline void emit_pages(u16 type, struct folio *folio)
{
	struct counts *c = count_seen(GROUP_pagecache);
	u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	unsigned long flags = 0, order = 0;
	struct ev_page_add *e;
	struct inode *inode;

	if (!c || !current_wanted(c, id))
		return;
	inode = BPF_CORE_READ(folio, mapping, host);
	bpf_probe_read_kernel(&flags, sizeof(flags), folio); /* always its first word */
	if (bpf_core_field_exists(folio->_flags_1) &&
	    flags & 1ul << bpf_core_enum_value(enum pageflags, PG_head))
		order = BPF_CORE_READ(folio, _flags_1) & PAGE_ORDER_MASK;
	e = reserve(c, ts, (u32)id, type, sizeof(*e));
	if (!e)
		return;
	e->ino = BPF_CORE_READ(inode, i_ino);
	e->index = BPF_CORE_READ(folio, index);
	e->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	e->pages = 1u << (order & 31);
	ev_submit(e);
}

/* Before folios. */
static __always_inline void emit_page(u16 type, struct page *page)
{
	struct counts *c = count_seen(GROUP_pagecache);
	u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	struct ev_page_add *e;
	struct inode *inode;

	if (!c || !current_wanted(c, id))
		return;
	inode = BPF_CORE_READ(page, mapping, host);
	e = reserve(c, ts, (u32)id, type, sizeof(*e));
	if (!e)
		return;
	e->ino = BPF_CORE_READ(inode, i_ino);
	e->index = BPF_CORE_READ(page, index);
	e->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	e->pages = 1;
	ev_submit(e);
}

static __always_inline int on_pages(u16 type, void *object)
{
	if (bpf_core_type_exists(struct folio))
		emit_pages(type, object);
	else
		emit_page(type, object);
	return 0;
}

static __always_inline int on_get(struct address_space *mapping, u64 first, u64 last, u32 how)
{
	struct counts *c = count_seen(GROUP_pagecache);
	u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	struct ev_page_get *e;

	if (!c || !current_wanted(c, id))
		return 0;
	e = ev_reserve(c, ts, (u32)id, page_get);
	if (!e)
		return 0;
	e->ino = BPF_CORE_READ(mapping, host, i_ino);
	e->first = first;
	e->last = last;
	e->dev = BPF_CORE_READ(mapping, host, i_sb, s_dev);
	e->how = how;
	ev_submit(e);
	return 0;
}

#define PAGECACHE(what, tracepoint, call)                                 \
	SEC("?tp_btf/" tracepoint) int pagecache__##what(u64 *ctx)        \
	{                                                                 \
		return call;                                              \
	}                                                                 \
	SEC("?raw_tp/" tracepoint) int pagecache__##what##__raw(u64 *ctx) \
	{                                                                 \
		return call;                                              \
	}

PAGECACHE(add, "mm_filemap_add_to_page_cache", on_pages(EV_page_add, (void *)ctx[0]))
PAGECACHE(remove, "mm_filemap_delete_from_page_cache", on_pages(EV_page_remove, (void *)ctx[0]))
PAGECACHE(get, "mm_filemap_get_pages", on_get((void *)ctx[0], ctx[1], ctx[2], 0))
PAGECACHE(map, "mm_filemap_map_pages", on_get((void *)ctx[0], ctx[1], ctx[2], 1))
PAGECACHE(fault, "mm_filemap_fault", on_get((void *)ctx[0], ctx[1], ctx[1], 2))
