/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a thread waited in the kernel, from the functions of its kernel stack. */
#pragma once

#include "analyze/store/stacks/callstacks.h"

/* "journal commit", "mmap lock", ...; NULL: no function of the stack has a known meaning. */
const char *kernel_reason(const struct callstacks *s, s64 kernel_stack);
