// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions of Linux 5.10 to 6.18 that name a wait. Rows in order: the first that is anywhere in
 * the stack decides, so that a write within reclaim is reclaim.
 */
#include "kernel_reason.h"

#include <string.h>

static const struct {
	const char *function;
	const char *also; /* the stack must have one that starts so, too; NULL: nothing */
	const char *reason;
} reasons[] = {
	{ "mem_cgroup_handle_over_high", NULL, "memory.high limit" },
	{ "__mem_cgroup_handle_over_high", NULL, "memory.high limit" },
	{ "try_to_free_mem_cgroup_pages", NULL, "reclaim for a cgroup limit" },
	{ "try_to_free_pages", NULL, "direct reclaim" },
	{ "__perform_reclaim", NULL, "direct reclaim" },
	{ "try_to_compact_pages", NULL, "compaction" },
	{ "out_of_memory", NULL, "out of memory" },
	{ "balance_dirty_pages", NULL, "dirty page limit" },
	{ "balance_dirty_pages_ratelimited_flags", NULL, "dirty page limit" },
	{ "do_swap_page", NULL, "swap in" },
	{ "jbd2_log_wait_commit", NULL, "journal commit" },
	{ "ext4_fc_commit", NULL, "journal commit" },
	{ "jbd2_journal_commit_transaction", NULL, "journal commit" },
	{ "wait_transaction_locked", NULL, "journal full or locked" },
	{ "add_transaction_credits", NULL, "journal full or locked" },
	{ "start_this_handle", NULL, "journal full or locked" },
	{ "do_get_write_access", NULL, "journal buffer" },
	{ "xfs_log_force_seq", NULL, "journal commit" },
	{ "xfs_log_force_lsn", NULL, "journal commit" },
	{ "xlog_wait_on_iclog", NULL, "journal commit" },
	{ "xlog_grant_head_wait", NULL, "journal full or locked" },
	{ "btrfs_sync_log", NULL, "journal commit" },
	{ "btrfs_wait_for_commit", NULL, "journal commit" },
	{ "wait_current_trans", NULL, "journal full or locked" },
	{ "nfs_wait_bit_killable", NULL, "NFS server" },
	{ "rpc_wait_bit_killable", NULL, "NFS server" },
	{ "request_wait_answer", NULL, "FUSE server" },
	{ "lock_mm_and_find_vma", "rwsem_down_", "mmap lock" },
	{ "do_user_addr_fault", "rwsem_down_", "mmap lock" },
	{ "mmap_read_lock_killable", "rwsem_down_", "mmap lock" },
	{ "vm_mmap_pgoff", "rwsem_down_", "mmap lock" },
	{ "__vm_munmap", "rwsem_down_", "mmap lock" },
	{ "do_mprotect_pkey", "rwsem_down_", "mmap lock" },
	{ "do_madvise", "rwsem_down_", "mmap lock" },
	{ "wbt_wait", NULL, "writeback throttling" },
	{ "blk_mq_get_tag", NULL, "full device queue" },
	{ "rq_qos_wait", NULL, "I/O limit of a cgroup" },
	{ "folio_wait_writeback", NULL, "page under writeback" },
	{ "wait_on_page_writeback", NULL, "page under writeback" },
	{ "__filemap_fdatawait_range", NULL, "page under writeback" },
	{ "filemap_fault", NULL, "page fault on a file" },
	{ "folio_wait_bit_common", NULL, "page lock" },
	{ "__folio_lock", NULL, "page lock" },
	{ "__lock_page", NULL, "page lock" },
	{ "wait_on_page_bit_common", NULL, "page lock" },
	{ "blkdev_issue_flush", NULL, "flush of the device" },
	{ "submit_bio_wait", NULL, "block request" },
	{ "rwsem_down_write_slowpath", NULL, "kernel read-write semaphore" },
	{ "rwsem_down_read_slowpath", NULL, "kernel read-write semaphore" },
	{ "__mutex_lock_slowpath", NULL, "kernel mutex" },
	{ "__mutex_lock", NULL, "kernel mutex" },
	{ "synchronize_rcu", NULL, "RCU grace period" },
	{ "__flush_work", NULL, "kernel work queue" },
	{ "io_schedule", NULL, "I/O" },
	{ "io_schedule_timeout", NULL, "I/O" },
};

/* Compilers add ".isra.0" and the like. */
static bool is_function(const char *name, const char *function)
{
	size_t n = strlen(function);

	return strncmp(name, function, n) == 0 && (!name[n] || name[n] == '.');
}

/* One of the kernel's functions of a stack. */
static bool has(const struct callstacks *s, const u32 *codes, u32 n, const char *function,
		bool start)
{
	u32 k;

	for (k = 0; k < n; k++) {
		const struct code *c = &s->codes[codes[k]];

		if (c->kernel && (start ? strncmp(c->name, function, strlen(function)) == 0
					: is_function(c->name, function)))
			return true;
	}
	return false;
}

const char *kernel_reason(const struct callstacks *s, s64 kernel_stack)
{
	u32 codes[STACK_DEEP], n = callstacks_codes(s, 0, kernel_stack, codes);
	size_t i;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (has(s, codes, n, reasons[i].function, false) &&
		    (!reasons[i].also || has(s, codes, n, reasons[i].also, true)))
			return reasons[i].reason;
	return NULL;
}
