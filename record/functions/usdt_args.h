/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments of static probes as compilers describe them: "-4@%edi 8@-16(%rbp)", "4@[sp, 12]". */
#pragma once

#include "format/event.h"

#include <stddef.h>

#define USDT_ARGS_MAX  12 /* of one probe: sys/sdt.h has no more */
#define USDT_TYPES_MAX (5 * USDT_ARGS_MAX)

/*
 * Reads the descriptors of a probe in a file for this machine (EM_X86_64, EM_386, EM_AARCH64).
 * Returns how many arguments there are; kind of one that obsrec cannot read is USDT_NONE: floating
 * point, and addresses by the name of a symbol.
 */
int usdt_args_read(struct usdt_arg ret[USDT_ARGS_MAX], const char *text, u32 machine);

/* Their types: "s32 u64 ?". */
void usdt_args_types(const struct usdt_arg *args, int n, char ret[USDT_TYPES_MAX]);
