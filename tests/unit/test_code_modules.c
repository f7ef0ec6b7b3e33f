// SPDX-License-Identifier: GPL-2.0-or-later
/* Modules: which mappings are of one, and who can open it. */
#define _GNU_SOURCE /* memfd_create */
#include "record/stacks/code_module.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(generated_code_in_shared_memory_is_generated_code),
		cmocka_unit_test(a_program_in_shared_memory_is_a_program),
		cmocka_unit_test(a_file_whose_process_has_ended_is_read_by_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
