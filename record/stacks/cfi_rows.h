/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One step from a frame to that of its caller, by the call frame information of a module (DWARF 5,
 * 6.4). Most rows are "CFA = register + offset, saved registers at CFA + offset": they are cached
 * by address. Others, and those of signal frames, are evaluated each time.
 */
#pragma once

#include "cfi_rules.h"
#include "code_module.h"

struct cfi_rows;

struct cfi_rows *cfi_rows_new(void);
void cfi_rows_free(struct cfi_rows *r);

/* Before a module is closed: they point into it. */
void cfi_rows_clear(struct cfi_rows *r);

enum cfi_step {
	CFI_NONE, /* nothing is said of this address */
	CFI_FAIL, /* a value is needed that is not in the copy */
	CFI_END,  /* the outermost frame */
	CFI_STEP, /* s is the caller */
};

/* address: as in the symbol table, of the module with this number. */
enum cfi_step cfi_rows_step(struct cfi_rows *r, const struct code_module *m, int module,
			    u64 address, struct unwind_state *s);
