// SPDX-License-Identifier: GPL-2.0-or-later
/* The numbers that follow from the rules of an address are kept, by address. */
#include "cfi_rows.h"

#include <stdlib.h>
#include <string.h>

#define ROWS (1u << 15)

#if defined(__aarch64__)
static const u8 kept[UNWIND_KEPT] = { 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29 };
#else
static const u8 kept[UNWIND_KEPT] = { 3, 6, 12, 13, 14, 15 };
#endif

struct row {
	u64 address;
	int module; /* 0: free */
	enum { ROW_NONE, ROW_FAST, ROW_END, ROW_HARD } kind;
	s32 cfa;
	s32 at[UNWIND_KEPT + 1]; /* from the CFA; the last is of the return address */
	u32 saved;		 /* bit mask: which of them are saved */
	u8 cfa_reg, ra;		 /* ra: register of the return address */
	bool signal;
};

struct cfi_rows {
	struct row rows[ROWS];
	u32 n;
};

struct cfi_rows *cfi_rows_new(void)
{
	return calloc(1, sizeof(struct cfi_rows));
}

void cfi_rows_clear(struct cfi_rows *r)
{
	memset(r, 0, sizeof(*r));
}

void cfi_rows_free(struct cfi_rows *r)
{
	free(r);
}

/* ---- rows ---- */

static bool find_rules(const struct code_module *m, u64 address, struct cfi_rules *ret,
		       struct cfi_entry *e)
{
	return (cfi_table_find(&m->eh_frame, address, e) && cfi_rules_at(ret, e, address)) ||
	       (cfi_table_find(&m->debug_frame, address, e) && cfi_rules_at(ret, e, address));
}

/* Whether the row is a simple one; then its numbers are taken over. */
static bool simplify(struct row *row, const struct cfi_rules *rules)
{
	const struct cfi_rule *rule;
	int i;

	if (row->signal || rules->cfa.kind != RULE_VALUE || rules->cfa_reg >= UNWIND_REGS ||
	    rules->cfa.offset != (s32)rules->cfa.offset)
		return false;
	row->cfa_reg = rules->cfa_reg;
	row->cfa = rules->cfa.offset;
	for (i = 0; i <= UNWIND_KEPT; i++) {
		rule = &rules->r[i < UNWIND_KEPT ? kept[i] : row->ra];
		if (rule->kind == RULE_SAME || rule->kind == RULE_UNDEFINED)
			continue;
		if (rule->kind != RULE_AT || rule->offset != (s32)rule->offset)
			return false;
		row->at[i] = rule->offset;
		row->saved |= 1u << i;
	}
	return true;
}

static void fill(struct row *row, const struct code_module *m)
{
	struct cfi_rules rules;
	struct cfi_entry e;

	row->kind = ROW_NONE;
	if (!find_rules(m, row->address, &rules, &e) || e.ra >= UNWIND_REGS)
		return;
	row->ra = e.ra;
	row->signal = e.signal;
	row->kind = rules.r[e.ra].kind == RULE_UNDEFINED ? ROW_END
		    : simplify(row, &rules)		 ? ROW_FAST
							 : ROW_HARD;
}

static struct row *row_at(struct cfi_rows *r, const struct code_module *m, int module, u64 address)
{
	u64 hash = (address * 0x9e3779b97f4a7c15ull) ^ ((u64)module * 0xff51afd7ed558ccdull);
	u32 i = (hash >> 32) & (ROWS - 1);

	while (r->rows[i].module && (r->rows[i].module != module || r->rows[i].address != address))
		i = (i + 1) & (ROWS - 1);
	if (r->rows[i].module)
		return &r->rows[i];
	if (r->n >= ROWS / 4 * 3) {
		cfi_rows_clear(r);
		i = (hash >> 32) & (ROWS - 1);
	}
	r->n++;
	r->rows[i].module = module;
	r->rows[i].address = address;
	fill(&r->rows[i], m);
	return &r->rows[i];
}

/* ---- steps ---- */

/*
 * Compilers leave the rule of a register as it is when the end of a function pops it: its place is
 * below the stack pointer then, and it has its caller's value.
 */
static enum cfi_step step_fast(const struct row *row, struct unwind_state *s)
{
	u64 cfa = s->r[row->cfa_reg] + row->cfa, values[UNWIND_KEPT + 1];
	u32 saved = row->saved;
	int i;

	values[UNWIND_KEPT] = s->r[row->ra];
	for (i = 0; i <= UNWIND_KEPT; i++)
		if (i < UNWIND_KEPT && cfa + row->at[i] < s->r[UNWIND_SP])
			saved &= ~(1u << i);
		else if (saved & 1u << i && !unwind_read(s, cfa + row->at[i], &values[i]))
			return CFI_FAIL;
	for (i = 0; i < UNWIND_KEPT; i++)
		if (saved & 1u << i)
			s->r[kept[i]] = values[i];
	s->r[UNWIND_PC] = UNWIND_ADDRESS(values[UNWIND_KEPT]);
	s->r[UNWIND_SP] = cfa;
	return CFI_STEP;
}

/* The caller's value of a register; false: it is not known. */
static bool value_of(const struct cfi_rule *rule, int reg, const struct unwind_state *s, u64 cfa,
		     u64 *ret)
{
	switch (rule->kind) {
	case RULE_SAME:
		*ret = reg == UNWIND_SP ? cfa : s->r[reg];
		return true;
	case RULE_AT:
		return unwind_read(s, cfa + rule->offset, ret);
	case RULE_VALUE:
		*ret = cfa + rule->offset;
		return true;
	case RULE_REGISTER:
		*ret = (u64)rule->offset < UNWIND_REGS ? s->r[rule->offset] : 0;
		return (u64)rule->offset < UNWIND_REGS;
	case RULE_EXPRESSION:
		return cfi_expression(rule, s, &cfa, ret);
	case RULE_AT_EXPRESSION:
		return cfi_expression(rule, s, &cfa, ret) && unwind_read(s, *ret, ret);
	case RULE_UNDEFINED:
		break;
	}
	return false;
}

/* Any rule. The rules are found again each time: they are rare. */
static enum cfi_step step_hard(const struct row *row, const struct code_module *m,
			       struct unwind_state *s)
{
	struct unwind_state to = *s;
	struct cfi_rules rules;
	struct cfi_entry e;
	u64 cfa, v;
	int i;

	if (!find_rules(m, row->address, &rules, &e))
		return CFI_FAIL;
	if (rules.cfa.kind == RULE_EXPRESSION) {
		if (!cfi_expression(&rules.cfa, s, NULL, &cfa))
			return CFI_FAIL;
	} else if (rules.cfa_reg < UNWIND_REGS) {
		cfa = s->r[rules.cfa_reg] + rules.cfa.offset;
	} else {
		return CFI_FAIL;
	}
	for (i = 0; i < UNWIND_REGS; i++)
		if (value_of(&rules.r[i], i, s, cfa, &v))
			to.r[i] = v;
		else if (i == row->ra)
			return CFI_FAIL;
	to.r[UNWIND_PC] = UNWIND_ADDRESS(to.r[row->ra]);
	*s = to;
	return CFI_STEP;
}

enum cfi_step cfi_rows_step(struct cfi_rows *r, const struct code_module *m, int module,
			    u64 address, struct unwind_state *s)
{
	const struct row *row = row_at(r, m, module, address);
	enum cfi_step ret = CFI_NONE;

	if (row->kind == ROW_END)
		return CFI_END;
	if (row->kind == ROW_FAST)
		ret = step_fast(row, s);
	else if (row->kind == ROW_HARD)
		ret = step_hard(row, m, s);
	if (ret == CFI_STEP)
		s->exact = row->signal;
	return ret;
}
