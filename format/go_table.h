/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of Go programs, by section .gopclntab: the runtime needs it, so stripped ones have it
 * too (Go 1.2 and later; src/runtime/symtab.go and src/internal/abi of Go). Untrusted.
 */
#pragma once

#include "code_name.h"

#include <stddef.h>

/* Not of programs whose table has no address of the code: those that are relocated when loaded. */
void go_table_find(struct code_names *names, const u8 *table, size_t n, bool big);
