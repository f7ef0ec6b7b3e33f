// SPDX-License-Identifier: GPL-2.0-or-later
/* record/: demangle.c, pattern.c, sites_find.c, binaries.c, syscall_set.c: names and sets of them.
 */
#include "tests/lib/unit.h"

#include "record/functions/binaries.h"
#include "record/functions/pattern.h"
#include "record/functions/sites.h"
#include "record/options/syscall_set.h"

#include <fnmatch.h>
#include <limits.h>

__attribute__((noinline)) int probe_me_please(int x)
{
	__asm__ volatile("");
	return x + 1;
}

static void own_functions_are_found(void **state)
{
	static struct sites s;
	struct options o = { .functions = { "/proc/self/exe:probe_me_please" }, .n_functions = 1 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(probe_me_please(1), 2);
	assert_int_equal(sites_resolve(&s, &o, &e), 0);
	assert_int_equal(s.n, 1);
	assert_true(s.list[0].offset > 0 && s.list[0].size > 0 && !s.list[0].no_return);
	assert_non_null(strstr(s.list[0].text, ":probe_me_please"));
	sites_free(&s);
	o.functions[0] = "/proc/self/exe:probe_me_pleas";
	assert_int_equal(sites_resolve(&s, &o, &e), ERR_FAIL);
	assert_non_null(strstr(e.text, "probe_me_please"));
	sites_free(&s);
	o.functions[0] = "/etc/passwd:main";
	assert_int_equal(sites_resolve(&s, &o, &e), ERR_FAIL);
	assert_non_null(strstr(e.text, "not an ELF"));
	o.functions[0] = "/no/such/file:ns::main";
	assert_int_equal(sites_resolve(&s, &o, &e), ERR_FAIL);
	assert_non_null(strstr(e.text, "/no/such/file: No such file"));
	o.functions[0] = "/dev/null:main";
	assert_int_equal(sites_resolve(&s, &o, &e), ERR_FAIL);
	assert_non_null(strstr(e.text, "is not a file"));
	sites_free(&s);
}

static void one_function_is_one_site(void **state)
{
	static struct sites s;
	struct options o = { .functions = { "/proc/self/exe:probe_me_please",
					    "/proc/self/exe:probe_me_*" },
			     .n_functions = 2,
			     .args = 3,
			     .returns = RETURNS_NEVER };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(sites_resolve(&s, &o, &e), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.list[0].args, 3);
	assert_string_equal(s.list[0].no_return, "--returns never");
	sites_free(&s);
}

/* What demangle_bare makes of a readable name. */
static const char *bare(const char *whole)
{
	static char text[DEMANGLED_MAX];

	snprintf(text, sizeof(text), "%s", whole);
	demangle_bare(text);
	return text;
}

static void parameters_and_results_are_stripped(void **state)
{
	(void)state;
	assert_string_equal(bare("f"), "f");
	assert_string_equal(bare("f(int)"), "f");
	assert_string_equal(bare("ns::f(int (*)(char), ns::g)"), "ns::f");
	assert_string_equal(bare("int ns::g<int>(int)"), "ns::g<int>");
	assert_string_equal(bare("std::vector<int, std::allocator<int> > h<3>(void)"), "h<3>");
	assert_string_equal(bare("ns::S::operator()(int) const"), "ns::S::operator()");
	assert_string_equal(bare("operator new[](unsigned long)"), "operator new[]");
	assert_string_equal(bare("bool operator< <int>(A<int> const&)"), "operator< <int>");
	assert_string_equal(bare("A::operator->() const"), "A::operator->");
	assert_string_equal(bare("A::operator char const*() const"), "A::operator char const*");
	assert_string_equal(bare("(anonymous namespace)::f(int)"), "(anonymous namespace)::f");
	assert_string_equal(bare("f(int)::{lambda(char)#1}::operator()(char) const"),
			    "f(int)::{lambda(char)#1}::operator()");
	assert_string_equal(bare("std::f[abi:cxx11](int)"), "std::f[abi:cxx11]");
	assert_string_equal(bare("A<(anonymous namespace)::B>::cooperator(int)"),
			    "A<(anonymous namespace)::B>::cooperator");
	assert_string_equal(bare(")>)"), ")>)");
	assert_string_equal(bare(""), "");
}

static void names_become_readable(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static char text[DEMANGLED_MAX], bomb[400];
	int i, n;

	(void)state;
	if (!demangle_possible())
		skip();
	assert_true(demangle("_ZN2ns1fEi", text));
	assert_string_equal(text, "ns::f(int)");
	assert_true(demangle("_ZN4core3fmt5write17h0123456789abcdefE", text));
	assert_string_equal(text, "core::fmt::write");
	assert_false(demangle("main", text));
	assert_false(demangle("_Znonsense", text));
	/* each parameter is the type before, twice: 2^30 words in all */
	n = snprintf(bomb, sizeof(bomb), "_Z1f1AIiiE");
	for (i = 0; i < 30; i++)
		n += snprintf(bomb + n, sizeof(bomb) - n, "S_IS%c_S%c_E", digits[i], digits[i]);
	assert_false(demangle(bomb, text));
	assert_string_equal(text, "");
	assert_true(demangle("_Z1f1AIiiES_IS0_S0_ES_IS1_S1_E", text)); /* a few are bearable */
	assert_string_equal(bare(text), "f");
}

static enum pattern_fit fit(const char *pattern, struct elfsym sym)
{
	static struct names names;
	struct pattern p;
	struct err e;
	enum pattern_fit ret;

	sym.version = sym.version ? sym.version : "";
	sym.file = sym.file ? sym.file : "";
	assert_int_equal(pattern_read(&p, pattern, &e), 0);
	names_make(&names, sym.name);
	ret = pattern_fits(&p, &sym, &names);
	pattern_free(&p);
	return ret;
}

static void patterns_fit_or_not(void **state)
{
	struct elfsym plain = { .name = "open" };
	struct elfsym old = { .name = "open", .version = "V1" };
	struct elfsym new = { .name = "open", .version = "V2", .default_version = true };
	struct elfsym local = { .name = "log", .file = "src/log.c" };
	struct pattern p;
	struct err e;

	(void)state;
	assert_int_equal(fit("open", plain), FIT_EXACT);
	assert_int_equal(fit("op*", plain), FIT_GLOB);
	assert_int_equal(fit("opens", plain), FIT_NONE);
	assert_int_equal(fit("open@V1", plain), FIT_NONE);
	assert_int_equal(fit("open", old), FIT_EXACT);
	assert_int_equal(fit("open@V1", old), FIT_EXACT);
	assert_int_equal(fit("open@@V1", old), FIT_NONE);
	assert_int_equal(fit("open@@", old), FIT_NONE);
	assert_int_equal(fit("open@@", new), FIT_EXACT);
	assert_int_equal(fit("open@V2", new), FIT_EXACT);
	assert_int_equal(fit("open@V[12]", old), FIT_EXACT);
	assert_int_equal(fit("log.c:log", local), FIT_EXACT);
	assert_int_equal(fit("src/log.c:log", local), FIT_EXACT);
	assert_int_equal(fit("*.c:l*", local), FIT_GLOB);
	assert_int_equal(fit("exp.c:log", local), FIT_NONE);
	assert_int_equal(pattern_read(&p, "open@", &e), ERR_FAIL);
	pattern_free(&p);
	assert_int_equal(pattern_read(&p, "log.c:", &e), ERR_FAIL);
	pattern_free(&p);
	assert_int_equal(pattern_read(&p, "@V1", &e), ERR_FAIL);
	pattern_free(&p);
}

static void libraries_have_short_names(void **state)
{
	(void)state;
	assert_true(binaries_name_fits("libc.so.6", "libc.so.6"));
	assert_true(binaries_name_fits("libc", "libc.so.6"));
	assert_true(binaries_name_fits("libc", "libc-2.31.so"));
	assert_true(binaries_name_fits("redis-server", "redis-server"));
	assert_false(binaries_name_fits("libc", "libcrypto.so.3"));
	assert_false(binaries_name_fits("libc.so", "libc.so.6"));
	assert_false(binaries_name_fits("libc", "libc-client"));
}

static void paths_of_the_linkers_cache(void **state)
{
	/* as in the file: a header, then names and paths in turn */
	static const char text[] =
		"glibc-ld.so.cache1.1\0libc.so.6\0/lib32/libc.so.6\0libc.so.6\0"
		"/lib/libc.so.6\0/lib/libc.so.6/no\0libm.so\0/lib/libm.so\0x/libc.so\0"
		"/opt/libc-2.31.so";
	static char one[PATH_MAX + 20];
	size_t at = 0;

	(void)state;
	assert_string_equal(binaries_cached(text, sizeof(text) - 1, "libc", &at), "/lib/libc.so.6");
	assert_string_equal(binaries_cached(text, sizeof(text) - 1, "libc", &at),
			    "/opt/libc-2.31.so");
	assert_null(binaries_cached(text, sizeof(text) - 1, "libc", &at));
	/* longer than any path */
	memset(one, '/', sizeof(one) - 1);
	memcpy(one + sizeof(one) - 5, "libc", 4);
	at = 0;
	assert_null(binaries_cached(one, sizeof(one) - 1, "libc", &at));
	at = 100;
	assert_string_equal(binaries_cached(one, sizeof(one) - 1, "libc", &at), one + 100);
}

static void dangerous_returns_are_known(void **state)
{
	(void)state;
	assert_true(elfsym_never_returns("_start"));
	assert_true(elfsym_never_returns("__sigsetjmp"));
	assert_true(elfsym_never_returns("_Unwind_RaiseException"));
	assert_false(elfsym_never_returns("start"));
	assert_false(elfsym_never_returns("malloc"));
}

static bool holds(const char *text, const char *name)
{
	u64 set[SYSCALL_BITMAP_WORDS];
	struct err e = { 0 };

	assert_int_equal(syscall_set(set, ABI_X86_64, text, &e), 0);
	return syscall_set_has(set, syscall_by_name(name)->x86_64);
}

static void sets_of_system_calls(void **state)
{
	u64 set[SYSCALL_BITMAP_WORDS], arm[SYSCALL_BITMAP_WORDS];
	struct err e = { 0 };

	(void)state;
	assert_int_equal(syscall_set(set, ABI_X86_64, "read,write", &e), 0);
	assert_int_equal(set[0], 3);
	assert_int_equal(set[1], 0);
	assert_int_equal(syscall_set(arm, ABI_AARCH64, "read,write", &e), 0);
	assert_int_equal(arm[0], 1ull << 63);
	assert_int_equal(arm[1], 1);
	assert_true(holds("net", "accept4") && !holds("net", "read"));
	assert_true(holds("net,!send*", "accept4") && !holds("net,!send*", "sendto"));
	assert_true(holds("!futex", "read") && !holds("!futex", "futex"));
	assert_true(holds("!file,openat", "openat") && !holds("!file,openat", "open"));
	assert_true(holds("epoll_*", "epoll_wait") && holds("all", "bpf"));
	assert_true(holds("time", "time") && holds("time", "timer_create") &&
		    holds("sync", "sync"));
	assert_int_equal(syscall_set(set, ABI_X86_64, "read,nosuch", &e), ERR_FAIL);
	assert_non_null(strstr(e.text, "nosuch"));
	assert_int_equal(syscall_set(set, ABI_X86_64, "", &e), ERR_FAIL);
	assert_int_equal(syscall_set(set, ABI_X86_64, "read,", &e), ERR_FAIL);
	assert_int_equal(syscall_set(set, ABI_X86_64, "read,!read", &e), ERR_FAIL);
	assert_non_null(strstr(e.text, "selects no system call"));
	/* it is a call, but not one of this machine */
	assert_int_equal(syscall_set(set, ABI_AARCH64, "open", &e), ERR_FAIL);
	assert_false(syscall_set_has(arm, SYSCALL_NR_MAX));
}

static bool means_a_call(const char *glob)
{
	const struct syscall_desc *s;

	for (s = syscalls; s->name; s++)
		if (fnmatch(glob, s->name, 0) == 0)
			return true;
	return false;
}

static void every_call_is_in_a_class_and_every_member_is_a_call(void **state)
{
	const struct syscall_class *c;
	const struct syscall_desc *s;
	char members[4096], *word, *rest;

	(void)state;
	for (s = syscalls; s->name; s++) {
		for (c = syscall_classes + 1; c->name && !syscall_class_has(c, s->name); c++)
			;
		if (!c->name)
			fail_msg("%s is in no class", s->name);
	}
	for (c = syscall_classes; c->name; c++) {
		snprintf(members, sizeof(members), "%s", c->members);
		for (word = strtok_r(members, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
			if (!means_a_call(word))
				fail_msg("%s of class %s means no call", word, c->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(own_functions_are_found),
		T(one_function_is_one_site),
		T(parameters_and_results_are_stripped),
		T(names_become_readable),
		T(patterns_fit_or_not),
		T(libraries_have_short_names),
		T(paths_of_the_linkers_cache),
		T(dangerous_returns_are_known),
		T(sets_of_system_calls),
		T(every_call_is_in_a_class_and_every_member_is_a_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
