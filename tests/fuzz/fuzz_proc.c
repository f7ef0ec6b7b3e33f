// SPDX-License-Identifier: GPL-2.0-or-later
/* What the recorder parses of /proc, control groups and small texts: the first byte chooses. */
#include "fuzz.h"

#include "record/files/fdinfo.h"
#include "record/functions/binaries.h"
#include "record/functions/pattern.h"
#include "record/host/accept_queues.h"
#include "record/host/cgroup_weights.h"
#include "record/host/cgroups.h"
#include "record/host/comm_glob.h"
#include "record/host/containers.h"
#include "record/host/held.h"
#include "record/host/lock_list.h"
#include "record/host/pressure.h"
#include "record/host/snapshot.h"
#include "record/host/sockets.h"
#include "record/host/waiting.h"
#include "record/options/options.h"
#include "record/options/start_at.h"
#include "record/options/syscall_set.h"
#include "record/stacks/code_maps.h"
#include "record/stacks/perf_map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static void stat_line(char *text, size_t size)
{
	struct ev_file_lock lock;
	struct ev_thread ev;
	u32 holder = 0;

	(void)size;
	snapshot_parse_stat(&ev, text, 100);
	snapshot_parse_limits(text);
	lock_list_parse(&lock, text, &holder);
}

static void socket_lines(char *text, size_t size)
{
	static const u16 families[] = { AF_INET, AF_INET6, AF_UNIX };
	struct socket_info list[16];
	struct err e = { 0 };
	size_t n = 0, i;
	char *line;

	(void)size;
	while ((line = strsep(&text, "\n")))
		for (i = 0; i < 3 && n < 16; i++)
			n += sockets_parse(&list[n], line, families[i], SOCK_STREAM);
	sockets_tell_accepted(list, n, &e);
}

static void weight(char *text, size_t size)
{
	(void)size;
	cgroup_weights_parse(text, true);
	cgroup_weights_parse(text, false);
}

static void glob(char *text, size_t size)
{
	char *comm = strchr(text, '\n');
	struct comm_glob g;
	struct err e = { 0 };

	(void)size;
	if (comm)
		*comm++ = '\0';
	if (comm_glob_make(&g, text, &e) == 0)
		comm_glob_match(&g, comm ? comm : "");
}

static void trigger(char *text, size_t size)
{
	struct trigger t;
	struct err e = { 0 };
	u64 ns;

	(void)size;
	trigger_parse(&t, text, &e);
	options_time(&ns, "x", text, &e);
}

static void calls(char *text, size_t size)
{
	u64 set[SYSCALL_BITMAP_WORDS] = { 0 };
	struct err e = { 0 };

	(void)size;
	syscall_set(set, syscall_own_abi(), text, &e);
}

static void cache(char *text, size_t size)
{
	const char *path;
	size_t at = 0;

	while ((path = binaries_cached(text, size, "libc", &at)))
		if (!strstr(path, "/libc") || at > size + 1)
			fuzz_fail("another library");
}

static void pattern(char *text, size_t size)
{
	static struct names names;
	struct elfsym sym = { .name = "_ZN2ns1fEi", .version = "V1", .file = "a.c" };
	struct pattern p;
	struct err e = { 0 };

	(void)size;
	names_make(&names, sym.name);
	if (pattern_read(&p, text, &e) == 0)
		pattern_fits(&p, &sym, &names);
	pattern_free(&p);
	names_make(&names, text);
	names_show(&names);
}

static void cgroup(char *text, size_t size)
{
	static const struct container c = { .runtime = "docker",
					    .id = "0123456789",
					    .name = "web" };
	const char *path = cgroups_path(text, size % 3);

	if (path)
		container_is(&c, path);
}

static void mappings(char *text, size_t size)
{
	struct code_maps m;

	(void)size;
	if (code_maps_parse(&m, strdup(text))) {
		code_maps_find(&m, 0x1000);
		code_maps_free(&m);
	}
}

static void generated(char *text, size_t size)
{
	size_t length = strlen(text), part = length / 2;
	struct perf_map m = { 0 };
	const struct perf_function *f;

	perf_map_add(&m, strndup(text, part), part);
	perf_map_add(&m, strdup(text + part), length - part);
	f = perf_map_find(&m, 0x1000);
	if (f && strlen(perf_map_name(&m, f)) > size)
		fuzz_fail("a name outside the text");
	perf_map_free(&m);
}

static void open_file(char *text, size_t size)
{
	struct fdinfo f;
	u32 mount, dev;

	(void)size;
	fdinfo_parse(&f, text);
	fdinfo_parse_mount(text, &mount, &dev);
}

static void lock_held(char *text, size_t size)
{
	struct ev_futex_wait ev;
	u64 at;

	(void)size;
	held_parse(&ev, &at, text, 202);
	held_own(text);
}

static void pressure(char *text, size_t size)
{
	(void)size;
	pressure_value(text, "nr_throttled ");
	pressure_total(text, "some ");
	accept_queues_count(text, "ListenDrops");
}

static void tcp_info(char *text, size_t size)
{
	struct socket_info i = { 0 };

	waiting_take(&i, text, size);
}

static void start(char *text, size_t size)
{
	struct start_at at;
	struct err e = { 0 };

	(void)size;
	if (start_at_parse(&at, text, 1795345200000000000, &e) == 0)
		start_at_moment(&at, 1795345200000000000);
}

static void (*const parsers[])(char *text, size_t size) = {
	stat_line, socket_lines, weight,    glob,      trigger,	  calls,    cache,    pattern,
	cgroup,	   mappings,	 generated, open_file, lock_held, pressure, tcp_info, start,
};

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	text = fuzz_text(data + 1, size - 1);
	parsers[data[0] % (sizeof(parsers) / sizeof(parsers[0]))](text, size - 1);
	free(text);
	return 0;
}
