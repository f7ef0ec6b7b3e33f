// SPDX-License-Identifier: GPL-2.0-or-later
/* Untrusted text, so what is not understood completely is an argument that cannot be read. */
#include "usdt_args.h"

#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPERAND_MAX  64
#define REGISTER_MAX 8
#define SHIFT_MAX    3
#define WORD	     8 /* bytes of a register */

/* Registers of x86 by their names of 64, 32, 16 and 8 bits, and where the kernel's pt_regs has
 * them.
 */
static const struct x86_reg {
	const char *names[4];
	u8 at;
} x86_regs[] = {
	{ { "rax", "eax", "ax", "al" }, 10 * WORD },
	{ { "rbx", "ebx", "bx", "bl" }, 5 * WORD },
	{ { "rcx", "ecx", "cx", "cl" }, 11 * WORD },
	{ { "rdx", "edx", "dx", "dl" }, 12 * WORD },
	{ { "rsi", "esi", "si", "sil" }, 13 * WORD },
	{ { "rdi", "edi", "di", "dil" }, 14 * WORD },
	{ { "rbp", "ebp", "bp", "bpl" }, 4 * WORD },
	{ { "rsp", "esp", "sp", "spl" }, 19 * WORD },
	{ { "r8", "r8d", "r8w", "r8b" }, 9 * WORD },
	{ { "r9", "r9d", "r9w", "r9b" }, 8 * WORD },
	{ { "r10", "r10d", "r10w", "r10b" }, 7 * WORD },
	{ { "r11", "r11d", "r11w", "r11b" }, 6 * WORD },
	{ { "r12", "r12d", "r12w", "r12b" }, 3 * WORD },
	{ { "r13", "r13d", "r13w", "r13b" }, 2 * WORD },
	{ { "r14", "r14d", "r14w", "r14b" }, 1 * WORD },
	{ { "r15", "r15d", "r15w", "r15b" }, 0 },
};

/* A name from *at on, without its first letter or sign; false: none. */
static bool take_name(const char **at, char ret[REGISTER_MAX])
{
	size_t n = strspn(*at, "abcdefghijklmnopqrstuvwxyz0123456789");

	if (n == 0 || n >= REGISTER_MAX)
		return false;
	memcpy(ret, *at, n);
	ret[n] = '\0';
	*at += n;
	return true;
}

static bool take(const char **at, char c)
{
	*at += strspn(*at, " ");
	if (**at != c)
		return false;
	++*at;
	return true;
}

/* A number from *at on; false: none. */
static bool take_number(const char **at, s64 *ret)
{
	char *end;

	*at += strspn(*at, " ");
	if (!strchr("-0123456789", **at))
		return false;
	*ret = strtoll(*at, &end, 0);
	if (end == *at)
		return false;
	*at = end;
	return true;
}

static bool take_x86_reg(const char **at, u8 *ret)
{
	char name[REGISTER_MAX];
	size_t i, k;

	if (!take(at, '%') || !take_name(at, name))
		return false;
	for (i = 0; i < sizeof(x86_regs) / sizeof(x86_regs[0]); i++)
		for (k = 0; k < 4; k++)
			if (strcmp(name, x86_regs[i].names[k]) == 0) {
				*ret = x86_regs[i].at;
				return true;
			}
	/* the second byte of the first four */
	if (strlen(name) != 2 || name[1] != 'h' || !memchr("abcd", name[0], 4))
		return false;
	*ret = x86_regs[name[0] - 'a'].at + 1;
	return true;
}

/* "(%base)", "(%base,%next)", "(%base,%next,4)", "(,%next,8)" */
static bool take_x86_sum(const char **at, struct usdt_arg *ret)
{
	s64 scale = 1;

	if (!take(at, '('))
		return false;
	if (**at != ',' && !take_x86_reg(at, &ret->base))
		return false;
	if (take(at, ',') && !take_x86_reg(at, &ret->next))
		return false;
	if (take(at, ',') && !take_number(at, &scale))
		return false;
	while (ret->shift < SHIFT_MAX && 1 << ret->shift < scale)
		ret->shift++;
	return 1 << ret->shift == scale && take(at, ')');
}

static bool read_x86(const char *at, struct usdt_arg *ret)
{
	if (take(&at, '$')) {
		ret->kind = USDT_VALUE;
		return take_number(&at, &ret->value) && !*at;
	}
	if (*at == '%') {
		ret->kind = USDT_VALUE;
		return take_x86_reg(&at, &ret->base) && !*at;
	}
	ret->kind = USDT_MEMORY;
	if (*at != '(' && !take_number(&at, &ret->value))
		return false;
	return take_x86_sum(&at, ret) && !*at;
}

/* x0 to x30, w0 to w30, sp: in their order at the start of pt_regs. */
static bool take_arm_reg(const char **at, u8 *ret)
{
	char name[REGISTER_MAX], *end;
	unsigned long n;

	*at += strspn(*at, " ");
	if (!take_name(at, name))
		return false;
	n = strtoul(name + 1, &end, 10);
	if (strcmp(name, "sp") == 0)
		n = 31;
	else if ((name[0] != 'x' && name[0] != 'w') || name[1] < '0' || name[1] > '9' || *end ||
		 n > 30)
		return false;
	*ret = n * sizeof(u64);
	return true;
}

/* "[x0]", "[sp, 12]", "[x0, x1]", "[x0, x1, lsl 3]" */
static bool take_arm_sum(const char **at, struct usdt_arg *ret)
{
	s64 shift = 0;
	char word[REGISTER_MAX];

	if (!take(at, '[') || !take_arm_reg(at, &ret->base))
		return false;
	if (take(at, ',')) {
		take(at, '#');
		if (!take_number(at, &ret->value) && !take_arm_reg(at, &ret->next))
			return false;
	}
	if (take(at, ',')) {
		*at += strspn(*at, " ");
		if (!take_name(at, word) || strcmp(word, "lsl") != 0)
			return false;
		take(at, '#');
		if (!take_number(at, &shift) || shift < 0 || shift > SHIFT_MAX)
			return false;
	}
	ret->shift = shift;
	return take(at, ']');
}

static bool read_arm(const char *at, struct usdt_arg *ret)
{
	ret->kind = USDT_MEMORY;
	if (*at == '[')
		return take_arm_sum(&at, ret) && !*at;
	ret->kind = USDT_VALUE;
	if (strcmp(at, "xzr") == 0 || strcmp(at, "wzr") == 0)
		return true;
	return (take_number(&at, &ret->value) || take_arm_reg(&at, &ret->base)) && !*at;
}

/* "-4@%edi": the size, negative if signed, and the operand. */
static bool read_one(const char *text, u32 machine, struct usdt_arg *ret)
{
	s64 size;

	*ret = (struct usdt_arg){ .base = USDT_NO_REG, .next = USDT_NO_REG };
	if (!take_number(&text, &size) || !take(&text, '@'))
		return false;
	ret->is_signed = size < 0;
	if (size < -8 || size > 8)
		return false;
	ret->size = size < 0 ? -size : size;
	if (!ret->size || ret->size & (ret->size - 1))
		return false;
	return machine == EM_AARCH64 ? read_arm(text, ret) : read_x86(text, ret);
}

/* Its length: blanks inside of brackets do not end it. */
static size_t operand_length(const char *text)
{
	size_t n = strcspn(text, " ["), m;

	if (text[n] != '[')
		return n;
	m = strcspn(text + n, "]");
	n += m;
	return text[n] ? n + 1 : n;
}

int usdt_args_read(struct usdt_arg ret[USDT_ARGS_MAX], const char *text, u32 machine)
{
	bool known = machine == EM_X86_64 || machine == EM_386 || machine == EM_AARCH64;
	char operand[OPERAND_MAX];
	size_t length;
	int n = 0;

	for (text += strspn(text, " "); *text && n < USDT_ARGS_MAX; text += strspn(text, " ")) {
		length = operand_length(text);
		snprintf(operand, sizeof(operand), "%.*s", length < 100 ? (int)length : 100, text);
		if (!known || length >= sizeof(operand) || !read_one(operand, machine, &ret[n]))
			ret[n] = (struct usdt_arg){ .base = USDT_NO_REG, .next = USDT_NO_REG };
		n++;
		text += length;
	}
	return n;
}

void usdt_args_types(const struct usdt_arg *args, int n, char ret[USDT_TYPES_MAX])
{
	size_t at = 0;
	int i;

	ret[0] = '\0';
	for (i = 0; i < n; i++) {
		at += snprintf(ret + at, USDT_TYPES_MAX - at, "%s", i ? " " : "");
		if (args[i].kind == USDT_NONE)
			at += snprintf(ret + at, USDT_TYPES_MAX - at, "?");
		else
			at += snprintf(ret + at, USDT_TYPES_MAX - at, "%c%d",
				       args[i].is_signed ? 's' : 'u', 8 * args[i].size);
	}
}
