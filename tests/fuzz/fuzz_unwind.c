// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread in a binary: 8 words of 8 bytes, then the binary. The first is its pc; the registers are
 * these words, and its stack is the input.
 */
#include "fuzz.h"

#include "record/stacks/cfi_rows.h"

#include <string.h>
#include <unistd.h>

#define WORDS	 8
#define FRAMES	 64
#define STACK_AT 0x10000000

static void start(struct unwind_state *s, const u64 *words, const u8 *data, size_t size)
{
	int i;

	*s = (struct unwind_state){
		.stack = data, .stack_at = STACK_AT, .stack_size = size, .exact = true
	};
	for (i = 0; i < UNWIND_REGS; i++)
		s->r[i] = words[i % WORDS];
	s->r[UNWIND_SP] = STACK_AT;
	s->r[UNWIND_PC] = words[0];
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct code_modules modules;
	static struct cfi_rows *rows;
	static int number;
	struct code_module m = { .kind = CODE_ELF };
	struct unwind_state s;
	struct err e = { 0 };
	u64 words[WORDS];
	int i;

	if (!rows)
		rows = cfi_rows_new();
	if (size < sizeof(words) ||
	    elffile_open(&m.elf, fuzz_file(data + sizeof(words), size - sizeof(words)),
			 "/fuzz/binary", &e) < 0)
		return 0;
	memcpy(words, data, sizeof(words));
	modules.cfi_bytes = 0;
	code_module_cfi(&modules, &m);
	if (modules.cfi_bytes > 8 * size)
		fuzz_fail("more memory than the file has bytes");
	number = number % 1000000 + 1; /* each input is a module of its own */
	start(&s, words, data, size);
	for (i = 0; i < FRAMES; i++)
		if (cfi_rows_step(rows, &m, number, s.r[UNWIND_PC] - !s.exact, &s) != CFI_STEP)
			break;
	cfi_table_close(&m.eh_frame);
	cfi_table_close(&m.debug_frame);
	elffile_close(&m.elf);
	return 0;
}
