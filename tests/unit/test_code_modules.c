// SPDX-License-Identifier: GPL-2.0-or-later
/* Modules: which mappings are of one, and who can open it. */
#define _GNU_SOURCE /* memfd_create */
#include "record/stacks/code_module.h"
#include "record/stacks/raw_queue.h"
#include "record/stacks/stack_records.h"
#include "tests/lib/ownmaps.h"
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* As .NET maps what it generates: the file has a name. */
static void generated_code_in_shared_memory_is_generated_code(void **state)
{
	int fd = memfd_create("doublemapper", 0), at;
	void *code = MAP_FAILED;
	struct code_modules m = { 0 };
	struct code_maps maps;

	(void)state;
	if (fd >= 0 && ftruncate(fd, 4096) == 0)
		code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	assert_true(code != MAP_FAILED);
	own_maps(&maps);
	assert_true(code_modules_start(&m));
	at = code_module_find(&m, code_maps_find(&maps, (uintptr_t)code), getpid());
	assert_true(at > 0);
	/* without rights, or emulated, it cannot be read: then it may be a program */
	assert_int_equal(m.list[at].kind, m.list[at].unread ? CODE_ELF : CODE_JIT);
	assert_int_equal(m.list[at].pid, m.list[at].unread ? 0 : getpid());
	code_modules_free(&m);
	code_maps_free(&maps);
	munmap(code, 4096);
	close(fd);
}

/* A program can be there as well, as when one was started by fexecve. */
static void a_program_in_shared_memory_is_a_program(void **state)
{
	int fd = memfd_create("program", 0), exe = open("/proc/self/exe", O_RDONLY), at;
	struct code_modules m = { 0 };
	struct code_maps maps;
	struct stat st;
	void *code;

	(void)state;
	assert_int_equal(fstat(exe, &st), 0);
	while (sendfile(fd, exe, NULL, st.st_size) > 0)
		;
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	assert_true(code != MAP_FAILED);
	own_maps(&maps);
	assert_true(code_modules_start(&m));
	at = code_module_find(&m, code_maps_find(&maps, (uintptr_t)code), getpid());
	assert_true(at > 0);
	assert_int_equal(m.list[at].kind, CODE_ELF);
	assert_true(m.list[at].unread || m.list[at].elf.elf);
	code_modules_free(&m);
	code_maps_free(&maps);
	munmap(code, 4096);
	close(exe);
	close(fd);
}

/* A process that has ended. */
static u32 dead(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return (u32)pid;
}

/* Short processes of the same program: the file is read with the help of the first that lives. */
static void a_file_whose_process_has_ended_is_read_by_another(void **state)
{
	struct code_modules m = { 0 };
	struct code_maps maps;
	struct code_map *own, first, second, third, last;
	int gone, at;

	(void)state;
	own_maps(&maps);
	assert_true(code_modules_start(&m));
	own = code_maps_find(&maps, (uintptr_t)dead);
	assert_non_null(own);
	own->dev++; /* the path leads to another file */
	first = second = third = last = *own;
	gone = code_module_find(&m, &first, dead());
	assert_true(gone > 0 && m.list[gone].unread);
	assert_int_equal(code_module_find(&m, &second, dead()), gone); /* no module for each */
	at = code_module_find(&m, &third, getpid());
	assert_true(at > 0 && at != gone && !m.list[at].unread);
	assert_non_null(m.list[at].elf.elf);
	assert_int_equal(code_module_find(&m, &last, dead()), at);
	code_modules_free(&m);
	code_maps_free(&maps);
}

/* The last short process of a program: nothing else has it mapped. */
static void a_file_whose_process_has_ended_is_read_by_its_path(void **state)
{
	struct code_modules m = { 0 };
	struct code_maps maps;
	struct code_map *own, named, removed;
	u64 address = 0;
	int at;

	(void)state;
	own_maps(&maps);
	assert_true(code_modules_start(&m));
	own = code_maps_find(&maps, (uintptr_t)dead);
	assert_non_null(own);
	named = removed = *own;
	at = code_module_find(&m, &named, dead());
	assert_true(at > 0 && !m.list[at].unread);
	assert_non_null(m.list[at].elf.elf);
	assert_true(code_module_address(&m.list[at], &named, (uintptr_t)dead, &address));
	removed.ino++; /* another file has the name now */
	at = code_module_find(&m, &removed, dead());
	assert_true(at > 0 && m.list[at].unread && m.list[at].gone);
	assert_null(m.list[at].elf.elf);
	/* its offset in the file is known all the same */
	assert_true(code_module_address(&m.list[at], &removed, (uintptr_t)dead, &address));
	assert_true(address == (uintptr_t)dead - own->start + own->offset);
	code_modules_free(&m);
	code_maps_free(&maps);
}

/* A process in a container: no path here leads to the file. */
static void a_file_whose_process_has_ended_is_read_by_one_that_was_seen_before(void **state)
{
	static struct raw_queue q;
	struct code_process *p = &q.processes[7];
	struct stack_tables *t = &q.tables;
	struct code_frame frame;
	struct code_map *own, gone;
	struct ev_frame ev;
	u64 seen;

	(void)state;
	assert_true(raw_queue_start(&q, 0));
	p->pid = getpid();
	own_maps(&p->maps);
	own = code_maps_find(&p->maps, (uintptr_t)dead);
	assert_non_null(own);
	own->dev++;
	gone = *own;
	gone.path = "/not/here/prog";
	frame.module = code_module_find(&q.modules, &gone, dead());
	assert_true(frame.module > 0 && !q.modules.list[frame.module].unread);
	assert_non_null(q.modules.list[frame.module].elf.elf);
	/* with --private, an address in a file is written, if it could be read or not */
	gone.ino++;
	gone.module = -1;
	frame.module = code_module_find(&q.modules, &gone, dead());
	assert_true(frame.module > 0 && q.modules.list[frame.module].unread);
	assert_true(code_module_address(&q.modules.list[frame.module], &gone, (uintptr_t)dead,
					&frame.address));
	seen = frame.address;
	assert_int_not_equal(stack_tables_add(t, &frame, 1), 0);
	stack_records_frame(&ev, &q, t, 1, true);
	assert_int_equal(ev.address, seen);
	frame.module = 0;
	assert_int_not_equal(stack_tables_add(t, &frame, 1), 0);
	stack_records_frame(&ev, &q, t, 2, true);
	assert_int_equal(ev.address, 0); /* where it is in memory is a secret */
	raw_queue_free(&q);
}

/* A function without a name is one of a report by where it starts. */
static void an_address_has_the_start_of_its_function(void **state)
{
	u64 start = (uintptr_t)an_address_has_the_start_of_its_function, address = 0;
	struct code_modules m = { 0 };
	struct code_maps maps;
	struct code_map *own;
	GElf_Shdr sh;
	u32 in_stub;
	int at;

	(void)state;
	own_maps(&maps);
	assert_true(code_modules_start(&m));
	own = code_maps_find(&maps, start);
	assert_non_null(own);
	at = code_module_find(&m, own, getpid());
	assert_true(at > 0 && code_module_address(&m.list[at], own, start, &address));
	assert_int_equal(code_module_offset(&m.list[at], address), 0);
	assert_int_equal(code_module_offset(&m.list[at], address + 7), 7);
	assert_int_equal(code_module_offset(&m.list[at], 1), 0); /* no code is there */
	/* each stub of a call into a library has its own; linkers may say nothing of them */
	if (elffile_section(&m.list[at].elf, ".plt", &sh) && sh.sh_entsize > 4 &&
	    sh.sh_size > 4 * sh.sh_entsize) {
		in_stub = code_module_offset(&m.list[at], sh.sh_addr + 3 * sh.sh_entsize + 3);
		assert_true(in_stub == 3 || in_stub == 0);
	}
	code_modules_free(&m);
	code_maps_free(&maps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(generated_code_in_shared_memory_is_generated_code),
		cmocka_unit_test(a_program_in_shared_memory_is_a_program),
		cmocka_unit_test(a_file_whose_process_has_ended_is_read_by_another),
		cmocka_unit_test(a_file_whose_process_has_ended_is_read_by_its_path),
		cmocka_unit_test(
			a_file_whose_process_has_ended_is_read_by_one_that_was_seen_before),
		cmocka_unit_test(an_address_has_the_start_of_its_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
