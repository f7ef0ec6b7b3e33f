// SPDX-License-Identifier: GPL-2.0-or-later
/* Where stacks end that do not lead to the start of a thread; names of kernel functions. */
#define _GNU_SOURCE /* REG_RIP */
#include "record/stacks/code_names.h"
#include "record/stacks/raw_queue.h"
#include "tests/lib/unit.h"

#include <signal.h>
#include <ucontext.h>

#if defined(__x86_64__)
static struct {
	struct raw_stack raw;
	u8 stack[65536];
} handled;
static u8 other_stack[65536];

/* Also of what lies between variables. */
static __attribute__((no_sanitize_address)) void copy_stack(u8 *to, const volatile u8 *from,
							    size_t n)
{
	while (n--)
		*to++ = *from++;
}

/* The registers and so many bytes of the stack of what a signal interrupted. */
static void copy_moment(const ucontext_t *context, size_t n)
{
	static const u8 from[] = { REG_R15, REG_R14, REG_R13, REG_R12, REG_RBP, REG_RBX,
				   REG_R11, REG_R10, REG_R9,  REG_R8,  REG_RAX, REG_RCX,
				   REG_RDX, REG_RSI, REG_RDI, REG_RAX, REG_RIP };
	const greg_t *regs = context->uc_mcontext.gregs;
	u32 i;

	handled.raw = (struct raw_stack){ .pid = getpid(), .user = 1, .kind = RAW_SAMPLE };
	for (i = 0; i < sizeof(from); i++)
		handled.raw.regs[i] = regs[from[i]];
	handled.raw.regs[17] = 0x33;
	handled.raw.regs[19] = regs[REG_RSP];
	handled.raw.n_stack = n;
	copy_stack(handled.stack, (const u8 *)(uintptr_t)regs[REG_RSP], n);
}

/* The moment in which the handler below is interrupted, on the other stack. */
static void on_second(int number, siginfo_t *info, void *context)
{
	const ucontext_t *c = context;
	const u8 *sp = (const u8 *)(uintptr_t)c->uc_mcontext.gregs[REG_RSP];

	(void)number;
	(void)info;
	copy_moment(c, other_stack + sizeof(other_stack) - sp);
}

void on_first(int number); /* the assembly has its name */
void on_first(int number)
{
	(void)number;
	raise(SIGUSR2);
}

static void a_handler_on_another_stack_is_an_end_of_its_own(void **state)
{
	struct sigaction first = { .sa_handler = on_first, .sa_flags = SA_ONSTACK };
	struct sigaction second = { .sa_sigaction = on_second,
				    .sa_flags = SA_ONSTACK | SA_SIGINFO };
	stack_t room = { .ss_sp = other_stack, .ss_size = sizeof(other_stack) };
	static struct raw_queue q;
	struct buf out = { 0 };
	const struct ev_sample *ev;

	(void)state;
	assert_int_equal(sigaltstack(&room, NULL), 0);
	assert_int_equal(sigaction(SIGUSR1, &first, NULL), 0);
	assert_int_equal(sigaction(SIGUSR2, &second, NULL), 0);
	raise(SIGUSR1);
	assert_true(handled.raw.n_stack > 0);
	assert_true(raw_queue_start(&q, 0));
	raw_queue_take(&q, &handled.raw, sizeof(handled.raw) + handled.raw.n_stack, true, &out);
	assert_int_equal(out.len, sizeof(*ev));
	ev = (const struct ev_sample *)out.data;
	assert_int_equal(ev->flags, STACK_USER_CUT | STACK_HANDLER);
	/* a copy that ends before the signal's frame is cut, for whatever reason */
	handled.raw.n_stack = 64;
	buf_clear(&out);
	raw_queue_take(&q, &handled.raw, sizeof(handled.raw) + 64, true, &out);
	assert_int_equal(((const struct ev_sample *)out.data)->flags, STACK_USER_CUT);
	buf_free(&out);
	raw_queue_free(&q);
}

/* A function as __do_global_dtors_aux: without call frame information, stopped at its start, after
 * it has pushed the frame pointer, and when that is set. */
int undescribed(void);
__asm__(".pushsection .text\n"
	"undescribed: ud2\n"
	"push %rbp\n"
	"ud2\n"
	"mov %rsp, %rbp\n"
	"ud2\n"
	"pop %rbp\n"
	"ret\n"
	".popsection\n");
/* Such a one with a frame, in which an old return address is left. */
int with_old_word(void);
__asm__(".pushsection .text\n"
	"with_old_word: push %rbp\n"
	"mov %rsp, %rbp\n"
	"sub $16, %rsp\n"
	"lea on_first + 1(%rip), %rax\n"
	"mov %rax, (%rsp)\n"
	"ud2\n"
	"leave\n"
	"ret\n"
	".popsection\n");

#define STOPS 5
#define UD2   2 /* bytes */

static struct code_frame callers[STOPS][2]; /* of each stop: the first frame and its caller */
static int stops;
static struct raw_queue stopped;

static void on_stop(int number, siginfo_t *info, void *context)
{
	static struct code_frame frames[UNWIND_FRAMES];
	struct code_process p = { .pid = getpid() };
	ucontext_t *c = context;
	enum unwind_end end;

	(void)number;
	(void)info;
	copy_moment(c, 512);
	if (unwind(&stopped.unwinder, &p, &handled.raw, frames, &end) > 1)
		memcpy(callers[stops], frames, sizeof(callers[stops]));
	stops++;
	code_process_free(&stopped.unwinder, &p);
	c->uc_mcontext.gregs[REG_RIP] += UD2;
}

static __attribute__((noinline)) const void *calls_undescribed(void)
{
	undescribed();
	with_old_word();
	/* once more, while the frame pointer holds something else */
	__asm__ volatile("push %%rbp\n mov $8, %%ebp\n call with_old_word\n pop %%rbp" ::
				 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
				   "memory", "cc");
	return __builtin_return_address(0);
}

static void what_compilers_add_has_its_caller(void **state)
{
	struct sigaction stop = { .sa_sigaction = on_stop, .sa_flags = SA_SIGINFO };
	struct sigaction before;
	u64 start = (uintptr_t)undescribed, caller = (uintptr_t)calls_undescribed;
	int i;

	(void)state;
	assert_true(raw_queue_start(&stopped, 0));
	assert_int_equal(sigaction(SIGILL, &stop, &before), 0);
	assert_non_null(calls_undescribed());
	sigaction(SIGILL, &before, NULL);
	assert_int_equal(stops, STOPS);
	for (i = 0; i < STOPS; i++) {
		assert_int_not_equal(callers[i][1].module, 0);
		/* both are of one file */
		assert_in_range(callers[i][1].address - callers[0][0].address + start, caller + 1,
				caller + 100);
	}
	raw_queue_free(&stopped);
}
#endif

static void kernel_symbols_are_the_nearest_before(void **state)
{
	static const char text[] = "ffffffff81000000 T _text\nffffffff81000100 t inner\n"
				   "ffffffff81000100 D data\nffffffffc0000010 t late\t[mod]\n"
				   "ffffffffc0000000 t early\t[mod]\nffffffff81000080 T outer\n";
	static const struct {
		u64 address;
		const char *name;
		u64 start;
	} want[] = { { 0x1000, NULL, 0 },
		     { 0xffffffff81000000, "_text", 0xffffffff81000000 },
		     { 0xffffffff8100007f, "_text", 0xffffffff81000000 },
		     { 0xffffffff81000090, "outer", 0xffffffff81000080 },
		     { 0xffffffff81000090, "outer", 0xffffffff81000080 },
		     { 0xffffffff81000200, "inner", 0xffffffff81000100 },
		     { 0xffffffffc000000f, "early", 0xffffffffc0000000 },
		     { 0xffffffffc0000fff, "late", 0xffffffffc0000010 } };
	struct code_name list[8] = { 0 };
	FILE *symbols;
	int i;

	(void)state;
	for (i = 0; i < 8; i++)
		list[i].address = want[i].address;
	symbols = fmemopen((void *)text, sizeof(text) - 1, "r");
	assert_non_null(symbols);
	for (i = 0; i < 2; i++) /* as two snapshots do */
		code_names_kernel(list, 8, symbols);
	fclose(symbols);
	for (i = 0; i < 8; i++) {
		if (!want[i].name) {
			assert_null(list[i].name);
			continue;
		}
		assert_string_equal(list[i].name, want[i].name);
		assert_int_equal(list[i].start, want[i].start);
		code_name_free(&list[i]);
	}
}

static long resident_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[200];
	long kib = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "RssAnon: %ld", &kib) == 1)
			break;
	fclose(f);
	return kib;
}

/* They are 4 MB and more, and needed only when names are. */
static void kernel_symbols_take_no_memory(void **state)
{
	struct code_name name = { 0 };
	struct kernel_code k;
	long before = resident_kib();
	u32 i = 0;

	(void)state;
	kernel_code_open(&k);
	if (!k.symbols) { /* without the rights */
		kernel_code_close(&k);
		skip();
	}
	assert_true(resident_kib() - before <= 2000);
	while (k.list[i].name[0] != '[')
		i++;
	name.address = k.list[i].start;
	code_names_kernel(&name, 1, k.symbols);
	assert_true(resident_kib() - before <= 2000);
	assert_non_null(name.name);
	code_name_free(&name);
	kernel_code_close(&k);
}

/* /proc/kallsyms has functions of modules after those of the kernel, with the module's name. */
static void functions_of_kernel_modules_have_names(void **state)
{
	struct kernel_range list[] = {
		{ .start = -0x10000ull, .end = -0x8000ull, .name = "[kernel]" },
		{ .start = -0x1000ull, .end = -0x800ull, .name = "loop" },
	};
	struct kernel_code k = { .list = list, .n = 2, .symbols = tmpfile() };
	struct code_name name = { 0 };
	struct code_modules m;
	int module;

	(void)state;
	assert_non_null(k.symbols);
	fputs("ffffffffffff0000 T _text\nffffffffffff4000 T vfs_read\n"
	      "fffffffffffff000 t loop_exit\t[loop]\nfffffffffffff100 t lo_ioctl\t[loop]\n"
	      "fffffffffffff180 t lo_release\t[loop]\n",
	      k.symbols);
	assert_true(code_modules_start(&m));
	kernel_code_find(&k, &m, -0xec0ull, &module, &name.address);
	assert_int_equal(m.list[module].kind, CODE_KMOD);
	assert_string_equal(m.list[module].path, "loop");
	assert_int_equal(name.address, 0x140);
	name.address = kernel_code_at(&k, module, name.address);
	code_names_kernel(&name, 1, k.symbols);
	assert_non_null(name.name);
	assert_string_equal(name.name, "lo_ioctl");
	code_name_free(&name);
	code_modules_free(&m);
	fclose(k.symbols);
}

/* Code of the kernel outside it and its modules: BPF programs. None of a process is. */
static void code_that_the_kernel_generated_has_a_module(void **state)
{
	struct kernel_range list[] = { { .start = -0x1000ull, .end = -0x800ull, .name = "loop" } };
	struct kernel_code k = { .list = list, .n = 1 };
	struct code_modules m;
	const u64 pc = -0x100000ull, before = pc - 0x2000, user = 0x7f0000001000ull;
	int module, same;
	u64 address;

	(void)state;
	assert_true(code_modules_start(&m));
	kernel_code_find(&k, &m, pc, &module, &address);
	assert_int_equal(module, 0); /* addresses are hidden: nothing is known */
	k.symbols = stdin;
	kernel_code_find(&k, &m, user, &module, &address);
	assert_int_equal(module, 0);
	kernel_code_find(&k, &m, -0xf00ull, &module, &address);
	assert_string_equal(m.list[module].path, "loop");
	assert_int_equal(address, 0x100);
	kernel_code_find(&k, &m, pc, &module, &address);
	assert_int_equal(m.list[module].kind, CODE_KMOD);
	assert_string_equal(m.list[module].path, "[bpf]");
	assert_true(kernel_code_at(&k, module, address) == pc);
	assert_true(address != pc); /* where it is loaded is a secret */
	kernel_code_find(&k, &m, before, &same, &address);
	assert_int_equal(same, module);
	assert_true(kernel_code_at(&k, same, address) == before);
	code_modules_free(&m);
}

static u64 slept[2]; /* ts and dur of the event */

static bool sleeper(struct raw_queue *q, u64 ts, u64 dur, u64 ended)
{
	const struct raw_stack r = {
		.ts = ts, .dur = dur, .tid = 7, .pid = 7, .kind = RAW_SLEEPER, .user = 1
	};
	struct buf out = { 0 };
	const struct ev_sleeper *ev;

	raw_queue_sleeper(q, &r, ended, true, &out);
	ev = (const struct ev_sleeper *)out.data;
	if (ev) {
		assert_int_equal(out.len, sizeof(*ev));
		assert_int_equal(ev->h.tid, 7);
		slept[0] = ev->h.ts;
		slept[1] = ev->dur;
	}
	buf_free(&out);
	return ev;
}

/* They are looked at after the end: a wait that starts after it is none. */
static void sleepers_are_those_of_the_end(void **state)
{
	static struct raw_queue q;

	(void)state;
	assert_true(raw_queue_start(&q, 0));
	assert_true(sleeper(&q, 1000000000, 500000000, 900000000));
	assert_int_equal(slept[0], 900000000);
	assert_int_equal(slept[1], 400000000);
	assert_false(sleeper(&q, 1000000000, 100000000, 900000000));
	/* between steps of the clock: 6000 ns after the end, and before it */
	assert_false(sleeper(&q, 100 * SLEPT_STEP + 10, 3 * SLEPT_STEP, 97 * SLEPT_STEP - 6000));
	assert_true(sleeper(&q, 100 * SLEPT_STEP - 10, 3 * SLEPT_STEP, 97 * SLEPT_STEP + 6000));
	assert_in_range(slept[1], 1, SLEPT_STEP);
	assert_true(sleeper(&q, 1000000000, 0, 900000000)); /* since before the recording */
	assert_int_equal(slept[1], 0);
	raw_queue_free(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		cmocka_unit_test(a_handler_on_another_stack_is_an_end_of_its_own),
		cmocka_unit_test(what_compilers_add_has_its_caller),
#endif
		cmocka_unit_test(sleepers_are_those_of_the_end),
		cmocka_unit_test(kernel_symbols_are_the_nearest_before),
		cmocka_unit_test(kernel_symbols_take_no_memory),
		cmocka_unit_test(functions_of_kernel_modules_have_names),
		cmocka_unit_test(code_that_the_kernel_generated_has_a_module),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
