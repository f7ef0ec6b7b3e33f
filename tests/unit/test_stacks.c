// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks: mappings, perf maps, tables, unwinding of this program's own stack. */
#include "record/pump/records.h"
#include "record/stacks/code_names.h"
#include "record/stacks/raw_queue.h"
#include "tests/lib/ownmaps.h"
#include "tests/lib/unit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void maps_are_parsed(void **state)
{
	static const char text[] =
		"00400000-00401000 r--p 00000000 fe:01 77                         /bin/x\n"
		"00401000-00402000 r-xp 00001000 fe:01 77                         /bin/x (deleted)\n"
		"nonsense\n"
		"00500000-00400000 r-xp 00000000 00:00 0 \n"
		"00600000-00700000 rwxp 00000000 00:00 0 \n"
		"00700000-00701000 r-xp 00000000 00:00 0                          [vdso]\n"
		"00650000-00660000 r-xp 00000000 00:00 0                          /overlaps\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0          [vsyscall]";
	struct code_maps m;

	(void)state;
	assert_true(code_maps_parse(&m, strdup(text)));
	assert_int_equal(m.n, 4);
	assert_null(code_maps_find(&m, 0x400fff));
	assert_int_equal(code_maps_find(&m, 0x401000)->kind, CODE_ELF);
	assert_true(code_maps_find(&m, 0x401fff)->deleted);
	assert_string_equal(code_maps_find(&m, 0x401fff)->path, "/bin/x");
	assert_null(code_maps_find(&m, 0x402000));
	assert_int_equal(code_maps_find(&m, 0x6fffff)->kind, CODE_JIT);
	assert_int_equal(code_maps_find(&m, 0x700000)->kind, CODE_VDSO);
	assert_int_equal(code_maps_find(&m, 0xffffffffff600000)->kind, CODE_NONE);
	code_maps_free(&m);
}

/* The path of this program as a module. */
static void own_path(char *ret, size_t size)
{
	struct code_modules m = { 0 };
	struct code_maps maps;
	int at;

	own_maps(&maps);
	assert_true(code_modules_start(&m));
	at = code_module_find(&m, code_maps_find(&maps, (uintptr_t)own_path), getpid());
	assert_true(at > 0 && !m.list[at].unread);
	snprintf(ret, size, "%s", m.list[at].path);
	code_modules_free(&m);
	code_maps_free(&maps);
}

/* Does another process see that this file runs here? Not under an emulator, which is what runs
 * there. */
static bool is_exe(const char *path)
{
	struct stat file, exe;
	int status = 1;
	pid_t child = fork();

	if (child == 0) {
		char proc[32];

		snprintf(proc, sizeof(proc), "/proc/%d/exe", getppid());
		_exit(stat(proc, &exe) == 0 && stat(path, &file) == 0 && exe.st_ino == file.st_ino
			      ? 0
			      : 1);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status == 0;
}

static void a_program_is_called_as_its_link(void **state)
{
	char exe[PATH_MAX - 32], link[PATH_MAX], other[PATH_MAX], path[PATH_MAX], name[16];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	(void)state;
	assert_true(n > 0);
	exe[n] = '\0';
	n = strrchr(exe, '/') - exe;
	snprintf(link, sizeof(link), "%.*s/stk%d", (int)n, exe, getpid());
	snprintf(other, sizeof(other), "%.*s/not%d", (int)n, exe, getpid());
	assert_int_equal(symlink(exe, link), 0);
	assert_int_equal(symlink("/bin/sh", other), 0);
	prctl(PR_GET_NAME, name);
	own_path(path, sizeof(path));
	assert_string_equal(path, exe);
	prctl(PR_SET_NAME, strrchr(other, '/') + 1);
	own_path(path, sizeof(path));
	assert_string_equal(path, exe);
	prctl(PR_SET_NAME, "../x");
	own_path(path, sizeof(path));
	assert_string_equal(path, exe);
	prctl(PR_SET_NAME, strrchr(link, '/') + 1);
	own_path(path, sizeof(path));
	assert_string_equal(path, is_exe(exe) ? link : exe);
	prctl(PR_SET_NAME, name);
	unlink(link);
	unlink(other);
}

static void stacks_are_stored_once(void **state)
{
	struct code_frame a[] = { { 1, 10 }, { 1, 20 }, { 2, 10 } };
	struct code_frame b[] = { { 1, 11 }, { 1, 20 }, { 2, 10 } };
	struct stack_tables t = { 0 };
	u32 one, two;

	(void)state;
	assert_true(stack_tables_start(&t, false));
	one = stack_tables_add(&t, a, 3);
	two = stack_tables_add(&t, b, 3);
	assert_int_equal(one, 3);
	assert_int_equal(two, 4);
	assert_int_equal(stack_tables_add(&t, a, 3), one);
	assert_int_equal(t.stacks[one].caller, t.stacks[two].caller);
	assert_int_equal(t.stacks[1].caller, 0);
	assert_int_equal(stack_tables_add(&t, a, 0), 0);
	assert_int_equal(t.n_frames, 5);
	stack_tables_free(&t);
}

/* A stack without its inner frames would count as time of their caller itself. */
static void full_tables_give_no_part_of_a_stack(void **state)
{
	struct code_frame caller = { 1, 1 }, f[] = { { 1, 2 }, { 1, 1 } };
	struct stack_tables t = { 0 };
	u32 outer, inner;

	(void)state;
	assert_true(stack_tables_start(&t, false));
	outer = stack_tables_add(&t, &caller, 1);
	inner = stack_tables_add(&t, f, 2);
	while (stack_tables_add(&t, f, 2))
		f[0].address++;
	assert_true(t.n_frames > 100000);
	assert_int_equal(stack_tables_add(&t, &caller, 1), outer);
	f[0].address = 2;
	assert_int_equal(stack_tables_add(&t, f, 2), inner);
	stack_tables_free(&t);
}

#if defined(__x86_64__)
static u8 raw[sizeof(struct raw_stack) + STACK_BYTES];

/* Registers and stack as the kernel would have them at this call. Frames have gaps that nothing
 * else may read. */
__attribute__((noinline, no_sanitize("address"))) static u32 catch_here(struct raw_stack *r)
{
	u64 ip, sp, bp;
	u32 i;

	__asm__ volatile("lea 0f(%%rip), %0\n0: mov %%rsp, %1\nmov %%rbp, %2"
			 : "=r"(ip), "=r"(sp), "=r"(bp));
	memset(r, 0, sizeof(*r));
	r->pid = r->tid = getpid();
	r->ts = 1;
	r->user = 1;
	r->kind = RAW_SAMPLE;
	r->regs[4] = bp;
	r->regs[16] = ip;
	r->regs[17] = 0x33;
	r->regs[19] = sp;
	r->n_stack = 256;
	for (i = 0; i < r->n_stack; i++)
		((volatile u8 *)(r + 1))[i] = ((volatile u8 *)sp)[i];
	return r->n_stack;
}

__attribute__((noinline)) static u32 middle_of_test(struct raw_stack *r)
{
	u32 n = catch_here(r);

	__asm__ volatile("" ::: "memory");
	return n;
}

static struct raw_queue queue;

static void callers_are_found(void **state)
{
	struct raw_stack *r = (struct raw_stack *)raw;
	struct code_name names[2] = { 0 };
	struct buf out = { 0 };
	const struct ev_sample *ev;
	const struct code_module *module;
	const struct code_frame *f;
	struct stack_node node;
	u32 size = middle_of_test(r);
	int i;

	(void)state;
	assert_true(raw_queue_start(&queue, 99));
	raw_queue_take(&queue, r, sizeof(*r) + size, true, &out);
	ev = (const struct ev_sample *)out.data;
	assert_int_equal(out.len, sizeof(*ev));
	assert_int_not_equal(ev->user_stack, 0);
	assert_int_equal(ev->kernel_stack, 0);
	/* the copy ends before the outermost frame */
	assert_int_equal(ev->flags, STACK_USER_CUT);
	for (node.caller = ev->user_stack, i = 0; i < 2; i++) {
		node = queue.tables.stacks[node.caller];
		f = &queue.tables.frames[node.frame];
		names[0].address = f->address;
		module = &queue.modules.list[f->module];
		code_names_parked(names, 1, module->parked, module->path, -1);
		/* the compiler may add to it: .constprop.0 */
		assert_non_null(strstr(names[0].name, i ? "middle_of_test" : "catch_here"));
		assert_non_null(names[0].file);
		assert_non_null(strstr(names[0].file, "test_stacks.c"));
		code_name_free(&names[0]);
		names[0] = (struct code_name){ 0 };
	}
	buf_clear(&out);
	/* lengths that lie, and registers of 32-bit code */
	raw_queue_take(&queue, r, sizeof(*r) + size - 1, true, &out);
	raw_queue_take(&queue, r, 10, true, &out);
	assert_int_equal(out.len, 0);
	r->regs[17] = 0x23;
	raw_queue_take(&queue, r, sizeof(*r) + size, true, &out);
	assert_int_equal(((const struct ev_sample *)out.data)->flags, STACK_NO_USER);
	buf_free(&out);
	raw_queue_free(&queue);
}

/* Code that came to memory after the last reading of the mappings. */
static void later_mappings_are_read(void **state)
{
	struct raw_stack *r = (struct raw_stack *)raw;
	const struct ev_sample *ev;
	struct buf out = { 0 };
	void *code;

	(void)state;
	memset(&queue, 0, sizeof(queue));
	assert_true(raw_queue_start(&queue, 99));
	code = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	middle_of_test(r);
	r->ts = records_now();
	r->n_stack = 0;
	r->regs[16] = (u64)code;
	raw_queue_take(&queue, r, sizeof(*r), true, &out);
	ev = (const struct ev_sample *)out.data;
	assert_int_equal(ev->flags, STACK_NO_USER);
	buf_clear(&out);
	assert_int_equal(mprotect(code, 4096, PROT_READ | PROT_EXEC), 0);
	raw_queue_take(&queue, r, sizeof(*r), true, &out); /* a sample from before the reading */
	assert_int_equal(((const struct ev_sample *)out.data)->flags, STACK_NO_USER);
	buf_clear(&out);
	r->ts = records_now() + 190000000;
	raw_queue_take(&queue, r, sizeof(*r), true, &out);
	ev = (const struct ev_sample *)out.data;
	assert_int_not_equal(ev->user_stack, 0);
	assert_int_equal(queue.tables.frames[queue.tables.stacks[ev->user_stack].frame].address,
			 (u64)code);
	munmap(code, 4096);
	buf_free(&out);
	raw_queue_free(&queue);
}

/* Flight mode: what no kept event needs is closed, ids of kept events keep their meaning. */
static void old_code_is_forgotten(void **state)
{
	struct raw_stack *r = (struct raw_stack *)raw;
	const u64 minute = 60000000000ull;
	struct buf out = { 0 };
	u32 size = middle_of_test(r), old, files, i;
	u64 now = minute;

	(void)state;
	memset(&queue, 0, sizeof(queue));
	assert_true(raw_queue_start(&queue, 99));
	raw_queue_take(&queue, r, sizeof(*r) + size, true, &out);
	old = ((const struct ev_sample *)out.data)->user_stack;
	for (files = 0, i = 1; i < queue.modules.n; i++)
		files += queue.modules.list[i].elf.elf != NULL;
	assert_true(files > 0);
	raw_queue_forget(&queue, 1, now); /* new tables; events of the old ones are kept */
	assert_int_equal(queue.older.n_stacks, old + 1);
	assert_int_equal(queue.tables.n_stacks, 1);
	raw_queue_forget(&queue, now - 1, now + minute); /* one of them is kept still */
	assert_int_equal(queue.older.n_stacks, old + 1);
	raw_queue_forget(&queue, now + 1, now + minute - 1); /* too early */
	assert_int_equal(queue.older.n_stacks, old + 1);
	buf_clear(&out);
	r->ts = now;
	raw_queue_take(&queue, r, sizeof(*r) + size, true, &out);
	i = ((const struct ev_sample *)out.data)->user_stack;
	assert_int_not_equal(i, old);
	assert_true(i > queue.tables.first && queue.tables.first > queue.older.n_stacks);
	for (i = 0; i < 3; i++) { /* what was not seen for two times is closed */
		now += 2 * minute;
		raw_queue_forget(&queue, now, now);
	}
	for (i = 1; i < queue.modules.n; i++)
		assert_true(queue.modules.list[i].kind < CODE_ELF &&
			    !queue.modules.list[i].elf.elf);
	assert_int_equal(queue.modules.cfi_bytes, 0);
	assert_null(raw_queue_process(&queue, getpid()));
	buf_clear(&out); /* and found again */
	r->ts = now;
	raw_queue_take(&queue, r, sizeof(*r) + size, true, &out);
	assert_int_not_equal(((const struct ev_sample *)out.data)->user_stack, 0);
	buf_free(&out);
	raw_queue_free(&queue);
}

/* Whatever is in registers and stack: it ends, and no memory beyond the copy is read. */
static void garbage_is_survived(void **state)
{
	struct raw_stack *r = (struct raw_stack *)raw;
	struct buf out = { 0 };
	u32 size = middle_of_test(r), i, k, seed = 1;
	u64 *words = (u64 *)(r + 1);

	(void)state;
	memset(&queue, 0, sizeof(queue));
	assert_true(raw_queue_start(&queue, 99));
	for (i = 0; i < 3000; i++) {
		middle_of_test(r);
		for (k = 0; k < 4; k++) {
			seed = seed * 1103515245 + 12345;
			if (seed & 0x10000)
				words[seed % (size / 8)] ^= 1ull << (seed >> 20 & 63);
			else
				r->regs[seed % 17] += (s32)seed >> (seed & 31);
		}
		raw_queue_take(&queue, r, sizeof(*r) + size, true, &out);
		buf_clear(&out);
	}
	buf_free(&out);
	raw_queue_free(&queue);
}
#endif

#if defined(__x86_64__)
/* A function that has popped the register that its rule still calls saved. */
__asm__(".text\n"
	"popping: .cfi_startproc\n"
	"push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset 3, -16\n"
	"nop\npop %rbx\n.cfi_def_cfa_offset 8\n"
	"popped: ret\n"
	".cfi_endproc\n");
extern const char popping[], popped[];

/* One step from an address of this program. */
static enum cfi_step step_from(struct unwind_state *s, const u64 *stack, u32 size)
{
	struct code_modules m = { 0 };
	struct code_maps maps;
	struct cfi_rows *rows = cfi_rows_new();
	struct code_map *map;
	enum cfi_step ret;
	u64 address;
	int at;

	own_maps(&maps);
	assert_true(code_modules_start(&m));
	map = code_maps_find(&maps, s->r[UNWIND_PC]);
	at = code_module_find(&m, map, getpid());
	assert_true(code_module_address(&m.list[at], map, s->r[UNWIND_PC], &address));
	s->stack = (const u8 *)stack;
	s->stack_size = size;
	s->stack_at = s->r[UNWIND_SP] = 0x7000;
	s->exact = true;
	ret = cfi_rows_step(rows, &m.list[at], at, address, s);
	cfi_rows_free(rows);
	code_modules_free(&m);
	code_maps_free(&maps);
	return ret;
}

static void popped_registers_keep_their_value(void **state)
{
	static const u64 stack[] = { 11, 22, 33 };
	struct unwind_state s = { .r[3] = 77, .r[UNWIND_PC] = (uintptr_t)popped };

	(void)state;
	assert_int_equal(step_from(&s, stack, sizeof(stack)), CFI_STEP);
	assert_int_equal(s.r[3], 77);
	assert_int_equal(s.r[UNWIND_PC], 11);
	assert_int_equal(s.r[UNWIND_SP], 0x7008);
	s = (struct unwind_state){ .r[3] = 77, .r[UNWIND_PC] = (uintptr_t)popping + 1 };
	assert_int_equal(step_from(&s, stack, sizeof(stack)), CFI_STEP);
	assert_int_equal(s.r[3], 11);
	assert_int_equal(s.r[UNWIND_PC], 22);
	s.r[UNWIND_PC] = (uintptr_t)popping + 1; /* a copy that ends before the return address */
	assert_int_equal(step_from(&s, stack, 8), CFI_FAIL);
}
#endif

static void waits_are_put_together(void **state)
{
	static struct raw_queue q;
	static struct raw_stack r;
	const struct ev_offcpu *ev;
	struct buf out = { 0 };

	(void)state;
	assert_true(raw_queue_start(&q, 0));
	r = (struct raw_stack){
		.ts = 1000, .dur = 50, .tid = 7, .pid = 7, .kind = RAW_WAIT, .state = 2, .user = 1
	};
	raw_queue_take(&q, &r, sizeof(r), true, &out);
	assert_int_equal(out.len, 0); /* until its second part comes */
	r.kind = RAW_WAIT_USER;
	r.tid = 8;
	raw_queue_take(&q, &r, sizeof(r), true, &out);
	assert_int_equal(out.len, 0);
	r.tid = 7;
	raw_queue_take(&q, &r, sizeof(r), true, &out);
	assert_int_equal(out.len, sizeof(*ev));
	ev = (const struct ev_offcpu *)out.data;
	assert_int_equal(ev->h.ts, 1000);
	assert_int_equal(ev->dur, 50);
	assert_int_equal(ev->state, 2);
	raw_queue_take(&q, &r, sizeof(r), true, &out); /* a second part alone */
	assert_int_equal(out.len, sizeof(*ev));
	buf_clear(&out);
	r.kind = RAW_WAIT;
	raw_queue_take(&q, &r, sizeof(r), true, &out);
	raw_queue_expire(&q, 2000, &out);
	assert_int_equal(out.len, 0);
	raw_queue_expire(&q, UINT64_MAX, &out);
	assert_int_equal(out.len, sizeof(*ev));
	assert_int_equal(((const struct ev_offcpu *)out.data)->flags, STACK_NO_USER);
	r.user = 0; /* a thread of the kernel has one part */
	raw_queue_take(&q, &r, sizeof(r), true, &out);
	assert_int_equal(out.len, 2 * sizeof(*ev));
	buf_free(&out);
	raw_queue_free(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_are_parsed),
		cmocka_unit_test(a_program_is_called_as_its_link),
		cmocka_unit_test(stacks_are_stored_once),
		cmocka_unit_test(full_tables_give_no_part_of_a_stack),
		cmocka_unit_test(waits_are_put_together),
#if defined(__x86_64__)
		cmocka_unit_test(callers_are_found),
		cmocka_unit_test(garbage_is_survived),
		cmocka_unit_test(popped_registers_keep_their_value),
		cmocka_unit_test(later_mappings_are_read),
		cmocka_unit_test(old_code_is_forgotten),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
