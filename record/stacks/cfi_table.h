/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call frame information of a file: .eh_frame or .debug_frame, and where the entry of an address
 * is. The content is untrusted: nothing is allocated or executed by what it claims.
 */
#pragma once

#include "record/functions/elffile.h"

struct cfi_table {
	const u8 *data; /* the section's; libelf owns it */
	size_t size;
	u64 at; /* address of data */
	bool eh;
	struct cfi_place {
		u64 start; /* of the function */
		u32 entry; /* offset in data */
	} * list;	   /* by start */
	u32 n;
};

/* False: there is none that can be read, or it needs more bytes of memory than room. */
bool cfi_table_open(struct cfi_table *ret, const struct elffile *f, const char *section, u64 room);

/* Bytes that it takes in memory, also if it could not be opened. */
u64 cfi_table_bytes(const struct cfi_table *t);

void cfi_table_close(struct cfi_table *t);

/* Bytes that are read one after the other. Beyond the end they are 0, and fail is set. */
struct cfi_bytes {
	const u8 *at, *end;
	bool fail; /* more was read than there is */
};

u64 cfi_fixed(struct cfi_bytes *b, u32 size);
u64 cfi_uleb(struct cfi_bytes *b);
s64 cfi_sleb(struct cfi_bytes *b);

/* The instructions of an address: those of the CIE, then those of the FDE. */
struct cfi_entry {
	struct cfi_bytes common, own;
	u64 start, size; /* of the function */
	u64 code_align;
	s64 data_align;
	u64 ra; /* register of the return address */
	u8 encoding;
	bool sized; /* 'z': instructions follow the augmentation data */
	bool signal;
};

bool cfi_table_find(const struct cfi_table *t, u64 address, struct cfi_entry *ret);
