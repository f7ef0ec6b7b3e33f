/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that opens files for safe_open.c, and what the two say to each other. */
#pragma once

#include "safe_open.h"

#include <limits.h>

#define SAFE_TEXT_MAX 4096

enum safe_op {
	OP_OPEN,
	OP_DIRECTORY,
	OP_STAT,
	OP_STAT_IN,
	OP_EXECUTABLE,
	OP_TEXT,
	OP_COPY,
	OP_PARTS, /* and the file, parked */
	OP_PLACE, /* parts, and the file's place */
};

struct safe_request {
	enum safe_op op;
	u32 owner;
	u64 from, max;
	safe_parts_fn parts; /* the worker is a fork: an address is the same there */
	char path[PATH_MAX];
};

struct safe_reply {
	int error;
	u32 size;
	struct safe_stat stat;
	char text[SAFE_TEXT_MAX]; /* of OP_TEXT; of parts, the reason why there is none */
};

/* Answers what comes on the socket; does not return. */
void safe_worker(int sock);
