// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Static probes and spans: the text of -U and -u, or a binary with notes, whose arguments stay
 * within the registers.
 */
#include "fuzz.h"

#include "record/functions/span_wish.h"
#include "record/functions/usdt_notes.h"
#include "record/functions/usdt_wish.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define REGISTERS 256 /* bytes of pt_regs that any machine has for them */

static void check(const struct usdt_arg *args, int n)
{
	char types[USDT_TYPES_MAX];
	int i;

	if (n < 0 || n > USDT_ARGS_MAX)
		fuzz_fail("too many arguments");
	for (i = 0; i < n; i++)
		if (args[i].kind > USDT_MEMORY || args[i].shift > 3 || args[i].size > 8 ||
		    (args[i].base != USDT_NO_REG && args[i].base + 8 > REGISTERS) ||
		    (args[i].next != USDT_NO_REG && args[i].next + 8 > REGISTERS))
			fuzz_fail("an argument outside the registers");
	usdt_args_types(args, n, types);
}

static int visit(void *arg, const struct usdt_note *note, struct err *e)
{
	(void)e;
	if (note->offset >= *(size_t *)arg || note->semaphore >= *(size_t *)arg)
		fuzz_fail("a probe outside the file");
	check(note->args, note->n_args);
	return strlen(note->provider) + strlen(note->name) > *(size_t *)arg ? ERR_FAIL : 0;
}

static void read_span(const char *text)
{
	struct span_wish wish;
	struct err e = { 0 };
	int i;

	if (span_wish_read(&wish, text, &e) < 0)
		return;
	if (!span_wish_is(text))
		fuzz_fail("a span without two functions");
	for (i = 0; i < 2; i++)
		if (!wish.at[i].text[0] || wish.at[i].key > SPAN_KEY_MAX ||
		    (wish.keyed && wish.at[i].back != !wish.at[i].key))
			fuzz_fail("an end of a span without name or key");
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const u32 machines[] = { EM_X86_64, EM_386, EM_AARCH64 };
	struct usdt_arg args[USDT_ARGS_MAX];
	struct usdt_wish wish;
	struct err e = { 0 };
	struct elffile f;
	char *text = fuzz_text(data, size);
	size_t i;

	usdt_wish_read(&wish, text, &e);
	read_span(text);
	for (i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		check(args, usdt_args_read(args, text, machines[i]));
	free(text);
	if (elffile_open(&f, fuzz_file(data, size), "/fuzz/binary", &e) < 0)
		return 0;
	usdt_each(&f, visit, &size, &e);
	elffile_close(&f);
	return 0;
}
