/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory that one recording may take: all allocations together, as the kernel counts them.
 * What is justified grows with the file, so that only a file whose claims are out of proportion
 * reaches the limit. While it is loaded, it is measured every few records. From then on, large
 * arrays and maps of analyses ask before they grow.
 */
#pragma once

#include "format/err.h"
#include "format/event.h"

struct budget {
	u64 start;   /* resident bytes before */
	u64 limit;   /* bytes that may be added */
	u64 records; /* seen so far */
};

/* file_bytes: size of the recording. It stays in force until the next one is loaded. */
void budget_start(struct budget *b, u64 file_bytes);

/* Call for each record. ERR_DAMAGED when the limit is reached; measured every few records. */
int budget_check(struct budget *b, struct err *e);
