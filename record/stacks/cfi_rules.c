// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi_rules.h"

#include <string.h>

#define INSTRUCTIONS_MAX 65536
#define REMEMBERED_MAX	 16
#define OPERATIONS_MAX	 256
#define DEPTH_MAX	 32

bool unwind_read(const struct unwind_state *s, u64 address, u64 *ret)
{
	u64 at = address - s->stack_at;

	if (at > s->stack_size || s->stack_size - at < sizeof(*ret))
		return false;
	memcpy(ret, s->stack + at, sizeof(*ret));
	return true;
}

/* ---- instructions ---- */

/* DW_CFA_*: the upper two bits, or all */
enum {
	ADVANCE = 0x40,
	OFFSET = 0x80,
	RESTORE = 0xc0,
	NOP = 0x00,
	ADVANCE_1 = 0x02,
	ADVANCE_2 = 0x03,
	ADVANCE_4 = 0x04,
	OFFSET_EXTENDED = 0x05,
	RESTORE_EXTENDED = 0x06,
	UNDEFINED = 0x07,
	SAME_VALUE = 0x08,
	REGISTER = 0x09,
	REMEMBER = 0x0a,
	RECALL = 0x0b,
	DEF_CFA = 0x0c,
	DEF_CFA_REGISTER = 0x0d,
	DEF_CFA_OFFSET = 0x0e,
	DEF_CFA_EXPRESSION = 0x0f,
	EXPRESSION = 0x10,
	OFFSET_EXTENDED_SF = 0x11,
	DEF_CFA_SF = 0x12,
	DEF_CFA_OFFSET_SF = 0x13,
	VAL_OFFSET = 0x14,
	VAL_OFFSET_SF = 0x15,
	VAL_EXPRESSION = 0x16,
	NEGATE_RA_STATE = 0x2d, /* arm64; SPARC: window save */
	ARGS_SIZE = 0x2e,
	NEGATIVE_OFFSET = 0x2f,
};

struct run {
	const struct cfi_entry *entry;
	struct cfi_rules now, initial, remembered[REMEMBERED_MAX];
	u32 depth;
	u64 place, address;
	bool fail;
};

static void set(struct run *r, u64 reg, enum rule_kind kind, s64 offset)
{
	if (reg < UNWIND_REGS)
		r->now.r[reg] = (struct cfi_rule){ .kind = kind, .offset = offset };
}

static void restore(struct run *r, u64 reg)
{
	if (reg < UNWIND_REGS)
		r->now.r[reg] = r->initial.r[reg];
}

static struct cfi_rule block(struct run *r, struct cfi_bytes *b, enum rule_kind kind)
{
	u64 size = cfi_uleb(b);
	struct cfi_rule rule = { .kind = kind, .code = b->at, .size = size };

	if (size > (u64)(b->end - b->at)) {
		r->fail = true;
		return (struct cfi_rule){ 0 };
	}
	b->at += size;
	return rule;
}

static void set_block(struct run *r, struct cfi_bytes *b, enum rule_kind kind)
{
	u64 reg = cfi_uleb(b);
	struct cfi_rule rule = block(r, b, kind);

	if (reg < UNWIND_REGS)
		r->now.r[reg] = rule;
}

static void remember(struct run *r, bool back)
{
	if (back ? !r->depth : r->depth == REMEMBERED_MAX)
		r->fail = true;
	else if (back)
		r->now = r->remembered[--r->depth];
	else
		r->remembered[r->depth++] = r->now;
}

static void define_cfa(struct run *r, struct cfi_bytes *b, u8 op)
{
	s64 align = op == DEF_CFA_SF || op == DEF_CFA_OFFSET_SF ? r->entry->data_align : 0;

	if (op == DEF_CFA_EXPRESSION) {
		r->now.cfa = block(r, b, RULE_EXPRESSION);
		return;
	}
	if (op != DEF_CFA_OFFSET && op != DEF_CFA_OFFSET_SF)
		r->now.cfa_reg = cfi_uleb(b);
	r->now.cfa.kind = RULE_VALUE;
	if (op != DEF_CFA_REGISTER)
		r->now.cfa.offset = align ? (u64)cfi_sleb(b) * align : cfi_uleb(b);
}

/* Instructions that set the rule of a register, which is their first operand. */
static void set_register(struct run *r, struct cfi_bytes *b, u8 op)
{
	u64 reg = cfi_uleb(b), align = r->entry->data_align;

	switch (op) {
	case OFFSET_EXTENDED:
		return set(r, reg, RULE_AT, cfi_uleb(b) * align);
	case OFFSET_EXTENDED_SF:
		return set(r, reg, RULE_AT, (u64)cfi_sleb(b) * align);
	case NEGATIVE_OFFSET:
		return set(r, reg, RULE_AT, -(cfi_uleb(b) * align));
	case VAL_OFFSET:
		return set(r, reg, RULE_VALUE, cfi_uleb(b) * align);
	case VAL_OFFSET_SF:
		return set(r, reg, RULE_VALUE, (u64)cfi_sleb(b) * align);
	case REGISTER:
		return set(r, reg, RULE_REGISTER, cfi_uleb(b));
	case UNDEFINED:
		return set(r, reg, RULE_UNDEFINED, 0);
	case SAME_VALUE:
		return set(r, reg, RULE_SAME, 0);
	case RESTORE_EXTENDED:
		return restore(r, reg);
	}
	r->fail = true;
}

static void extended(struct run *r, struct cfi_bytes *b, u8 op)
{
	switch (op) {
	case NOP:
	case NEGATE_RA_STATE:
		return;
	case ARGS_SIZE:
		cfi_uleb(b);
		return;
	case ADVANCE_1:
	case ADVANCE_2:
	case ADVANCE_4:
		r->place += cfi_fixed(b, 1u << (op - ADVANCE_1)) * r->entry->code_align;
		return;
	case REMEMBER:
	case RECALL:
		return remember(r, op == RECALL);
	case DEF_CFA:
	case DEF_CFA_SF:
	case DEF_CFA_REGISTER:
	case DEF_CFA_OFFSET:
	case DEF_CFA_OFFSET_SF:
	case DEF_CFA_EXPRESSION:
		return define_cfa(r, b, op);
	case EXPRESSION:
		return set_block(r, b, RULE_AT_EXPRESSION);
	case VAL_EXPRESSION:
		return set_block(r, b, RULE_EXPRESSION);
	}
	set_register(r, b, op);
}

/* Up to the address. */
static bool execute(struct run *r, struct cfi_bytes b)
{
	u32 steps = 0;
	u8 op, low;

	while (b.at < b.end && !r->fail && r->place <= r->address) {
		op = cfi_fixed(&b, 1);
		low = op & 0x3f;
		if ((op & 0xc0) == ADVANCE)
			r->place += low * r->entry->code_align;
		else if ((op & 0xc0) == OFFSET)
			set(r, low, RULE_AT, cfi_uleb(&b) * (u64)r->entry->data_align);
		else if ((op & 0xc0) == RESTORE)
			restore(r, low);
		else
			extended(r, &b, op);
		r->fail |= b.fail || ++steps > INSTRUCTIONS_MAX;
	}
	return !r->fail;
}

bool cfi_rules_at(struct cfi_rules *ret, const struct cfi_entry *e, u64 address)
{
	struct run r = { .entry = e, .place = e->start, .address = address };

	if (!execute(&r, e->common))
		return false;
	r.initial = r.now;
	r.depth = 0;
	r.place = e->start;
	if (!execute(&r, e->own))
		return false;
	*ret = r.now;
	return true;
}

/* ---- expressions ---- */

/* DW_OP_* */
enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_MUL = 0x1e,
	OP_OR = 0x21,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_SHR = 0x25,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_NOP = 0x96,
	OP_CALL_FRAME_CFA = 0x9c,
};

static bool binary(u8 op, u64 *a, u64 b)
{
	switch (op) {
	case OP_PLUS:
		*a += b;
		return true;
	case OP_MINUS:
		*a -= b;
		return true;
	case OP_AND:
		*a &= b;
		return true;
	case OP_OR:
		*a |= b;
		return true;
	case OP_SHL:
		*a = b < 64 ? *a << b : 0;
		return true;
	case OP_SHR:
		*a = b < 64 ? *a >> b : 0;
		return true;
	case OP_GE:
		*a = (s64)*a >= (s64)b;
		return true;
	case OP_MUL:
		*a *= b;
		return true;
	}
	return false;
}

static u64 constant(struct cfi_bytes *b, u8 op)
{
	u32 size = 1u << ((op - OP_CONST1U) / 2);
	u64 v = cfi_fixed(b, size);

	if (op & 1 && size < 8 && v >> (8 * size - 1)) /* the odd ones are signed */
		v |= ~0ull << (8 * size);
	return v;
}

/* Pushes what an operation without operands on the stack stands for. */
static bool push(struct cfi_bytes *b, u8 op, const struct unwind_state *s, const u64 *cfa, u64 *ret)
{
	u64 reg;

	if (op >= OP_LIT0 && op <= OP_LIT31) {
		*ret = op - OP_LIT0;
	} else if ((op >= OP_BREG0 && op <= OP_BREG31) || op == OP_BREGX) {
		reg = op == OP_BREGX ? cfi_uleb(b) : (u64)op - OP_BREG0;
		if (reg >= UNWIND_REGS)
			return false;
		*ret = s->r[reg] + (u64)cfi_sleb(b);
	} else if (op >= OP_CONST1U && op <= OP_CONST8S) {
		*ret = constant(b, op);
	} else if (op == OP_CONSTU || op == OP_CONSTS) {
		*ret = op == OP_CONSTU ? cfi_uleb(b) : (u64)cfi_sleb(b);
	} else if (op == OP_CALL_FRAME_CFA && cfa) {
		*ret = *cfa;
	} else {
		return false;
	}
	return true;
}

bool cfi_expression(const struct cfi_rule *rule, const struct unwind_state *s, const u64 *cfa,
		    u64 *ret)
{
	struct cfi_bytes b = { rule->code, rule->code + rule->size, false };
	u64 stack[DEPTH_MAX];
	size_t depth = 0, n;
	u8 op;

	if (cfa)
		stack[depth++] = *cfa;
	for (n = 0; b.at < b.end && !b.fail; n++) {
		op = cfi_fixed(&b, 1);
		if (n > OPERATIONS_MAX)
			return false;
		if (op == OP_NOP)
			continue;
		if (depth < DEPTH_MAX && push(&b, op, s, cfa, &stack[depth])) {
			depth++;
		} else if (depth && op == OP_PLUS_UCONST) {
			stack[depth - 1] += cfi_uleb(&b);
		} else if (depth && depth < DEPTH_MAX && op == OP_DUP) {
			stack[depth] = stack[depth - 1];
			depth++;
		} else if (depth && op == OP_DEREF) {
			if (!unwind_read(s, stack[depth - 1], &stack[depth - 1]))
				return false;
		} else if (depth >= 2 && binary(op, &stack[depth - 2], stack[depth - 1])) {
			depth--;
		} else {
			return false;
		}
	}
	if (!depth || b.fail)
		return false;
	*ret = stack[depth - 1];
	return true;
}
