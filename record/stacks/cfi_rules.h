/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules of one address: where the caller's registers are (DWARF 5, 6.4.2), and their
 * expressions. Untrusted: steps, depths and registers are bounded, nothing is allocated.
 */
#pragma once

#include "cfi_table.h"

#if defined(__aarch64__)
#define UNWIND_FP	  29
#define UNWIND_SP	  31
#define UNWIND_PC	  32
#define UNWIND_REGS	  33
#define UNWIND_KEPT	  11			     /* x19 to x29 */
#define UNWIND_ADDRESS(v) ((v) & ((1ull << 48) - 1)) /* without an authentication code */
#else
#define UNWIND_FP	  6
#define UNWIND_SP	  7
#define UNWIND_PC	  16
#define UNWIND_REGS	  17
#define UNWIND_KEPT	  6 /* rbx, rbp, r12 to r15 */
#define UNWIND_ADDRESS(v) (v)
#endif

/* A thread in user mode: registers by DWARF's numbers, and a copy of its stack. */
struct unwind_state {
	u64 r[UNWIND_REGS];
	const u8 *stack;
	u64 stack_at; /* address of its first byte */
	u32 stack_size;
	bool exact; /* r[UNWIND_PC] was interrupted there: it is no return address */
};

/* 8 bytes of the copied stack; false: they are not in it. */
bool unwind_read(const struct unwind_state *s, u64 address, u64 *ret);

enum rule_kind {
	RULE_SAME,
	RULE_UNDEFINED,
	RULE_AT,       /* at CFA + offset */
	RULE_VALUE,    /* CFA + offset itself */
	RULE_REGISTER, /* in register offset */
	RULE_AT_EXPRESSION,
	RULE_EXPRESSION, /* its value */
};

struct cfi_rules {
	struct cfi_rule {
		enum rule_kind kind;
		s64 offset;
		const u8 *code; /* of an expression */
		u32 size;
	} r[UNWIND_REGS], cfa; /* cfa: RULE_EXPRESSION, or else register + offset */
	u64 cfa_reg;
};

/* Those at an address within the entry. */
bool cfi_rules_at(struct cfi_rules *ret, const struct cfi_entry *e, u64 address);

/* The value of an expression. cfa: pushed first; NULL: it is what is computed. */
bool cfi_expression(const struct cfi_rule *rule, const struct unwind_state *s, const u64 *cfa,
		    u64 *ret);
