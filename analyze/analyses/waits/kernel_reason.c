// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions of Linux 5.10 to 6.18 that name a wait. Rows in order: the first that is anywhere in
 * the stack decides, so that a write within reclaim is reclaim. The kernel leaves functions of the
 * scheduler out of the stack of a thread that does not run, and those of mutexes and semaphores
 * are among them: what is innermost then has called one.
 */
#include "kernel_reason.h"

#include <string.h>

static const struct {
	const char *function;
	bool innermost; /* it names the wait only there */
	const char *reason;
} reasons[] = {
	{ "mem_cgroup_handle_over_high", false, "memory.high limit" },
	{ "__mem_cgroup_handle_over_high", false, "memory.high limit" },
	{ "try_to_free_mem_cgroup_pages", false, "reclaim for a cgroup limit" },
	{ "try_to_free_pages", false, "direct reclaim" },
	{ "__perform_reclaim", false, "direct reclaim" },
	{ "try_to_compact_pages", false, "compaction" },
	{ "out_of_memory", false, "out of memory" },
	{ "balance_dirty_pages", false, "dirty page limit" },
	{ "balance_dirty_pages_ratelimited_flags", false, "dirty page limit" },
	{ "do_swap_page", false, "swap in" },
	{ "jbd2_log_wait_commit", false, "journal commit" },
	{ "ext4_fc_commit", false, "journal commit" },
	{ "jbd2_journal_commit_transaction", false, "journal commit" },
	{ "wait_transaction_locked", false, "journal full or locked" },
	{ "add_transaction_credits", false, "journal full or locked" },
	{ "start_this_handle", false, "journal full or locked" },
	{ "do_get_write_access", false, "journal buffer" },
	{ "xfs_log_force_seq", false, "journal commit" },
	{ "xfs_log_force_lsn", false, "journal commit" },
	{ "xlog_wait_on_iclog", false, "journal commit" },
	{ "xlog_grant_head_wait", false, "journal full or locked" },
	{ "btrfs_sync_log", false, "journal commit" },
	{ "btrfs_wait_for_commit", false, "journal commit" },
	{ "wait_current_trans", false, "journal full or locked" },
	{ "nfs_wait_bit_killable", false, "NFS server" },
	{ "rpc_wait_bit_killable", false, "NFS server" },
	{ "request_wait_answer", false, "FUSE server" },
	{ "lock_mm_and_find_vma", true, "mmap lock" },
	{ "do_user_addr_fault", true, "mmap lock" },
	{ "exc_page_fault", true, "mmap lock" },
	{ "do_page_fault", true, "mmap lock" },
	{ "__get_user_pages_locked", true, "mmap lock" },
	{ "vm_mmap_pgoff", true, "mmap lock" },
	{ "__vm_munmap", true, "mmap lock" },
	{ "__x64_sys_munmap", true, "mmap lock" },
	{ "do_mprotect_pkey", true, "mmap lock" },
	{ "do_madvise", true, "mmap lock" },
	{ "madvise_lock", true, "mmap lock" },
	{ "__do_sys_brk", true, "mmap lock" },
	{ "__x64_sys_brk", true, "mmap lock" },
	{ "__do_sys_mremap", true, "mmap lock" },
	{ "do_mremap", true, "mmap lock" },
	{ "__x64_sys_mremap", true, "mmap lock" },
	{ "dup_mmap", true, "mmap lock" },
	{ "dup_mm", true, "mmap lock" },
	{ "__vma_start_write", true, "mmap lock" },
	{ "__vma_enter_locked", true, "mmap lock" },
	{ "exit_mmap", true, "mmap lock" },
	{ "m_start", true, "mmap lock" },
	{ "wbt_wait", false, "writeback throttling" },
	{ "blk_mq_get_tag", false, "full device queue" },
	{ "rq_qos_wait", false, "I/O limit of a cgroup" },
	{ "folio_wait_writeback", false, "page under writeback" },
	{ "wait_on_page_writeback", false, "page under writeback" },
	{ "__filemap_fdatawait_range", false, "page under writeback" },
	{ "filemap_fault", false, "page fault on a file" },
	{ "folio_wait_bit_common", false, "page lock" },
	{ "__folio_lock", false, "page lock" },
	{ "__lock_page", false, "page lock" },
	{ "wait_on_page_bit_common", false, "page lock" },
	{ "blkdev_issue_flush", false, "flush of the device" },
	{ "submit_bio_wait", false, "block request" },
	{ "synchronize_rcu", false, "RCU grace period" },
	{ "__flush_work", false, "kernel work queue" },
};

/* Compilers add ".isra.0" and the like. */
static bool is_function(const char *name, const char *function)
{
	size_t n = strlen(function);

	return strncmp(name, function, n) == 0 && (!name[n] || name[n] == '.');
}

/* One of the kernel's functions of a stack, or of its innermost frame. */
static bool has(const struct callstacks *s, const u32 *codes, u32 n, const char *function)
{
	u32 k;

	for (k = 0; k < n; k++) {
		const struct code *c = &s->codes[codes[k]];

		if (c->kernel && is_function(c->name, function))
			return true;
	}
	return false;
}

const char *kernel_reason(const struct callstacks *s, s64 kernel_stack)
{
	u32 codes[STACK_DEEP], n = callstacks_codes(s, 0, kernel_stack, codes);
	size_t i;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (has(s, codes, reasons[i].innermost && n ? 1 : n, reasons[i].function))
			return reasons[i].reason;
	return NULL;
}
