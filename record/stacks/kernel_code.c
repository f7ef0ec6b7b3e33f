// SPDX-License-Identifier: GPL-2.0-or-later
/* Addresses are stored from the start of the kernel or module: where it is loaded is a secret. */
#include "kernel_code.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANGES_MAX 4096
#define KERNEL	   "[kernel]"
#define GENERATED  "[bpf]"
#define BEFORE	   (1ull << 30) /* bytes of generated code below the first address seen */

static int by_address(const void *a, const void *b)
{
	const struct kernel_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void add(struct kernel_code *k, u64 start, u64 end, const char *name)
{
	struct kernel_range *r = &k->list[k->n];

	if (k->n == RANGES_MAX || start >= end)
		return;
	*r = (struct kernel_range){ .start = start, .end = end };
	snprintf(r->name, sizeof(r->name), "%s", name);
	k->n++;
}

/* Whether the line, "ffffffff81000000 T _text\n", is of this symbol of the kernel; *ret: address.
 */
static bool symbol_is(const char *line, const char *end, u64 *ret)
{
	const char *name = strrchr(line, ' ');

	if (!name || strcmp(name, end) != 0)
		return false;
	*ret = strtoull(line, NULL, 16);
	return true;
}

/*
 * Who opens it sees the addresses, also when they are read later: its text would take several
 * MB.
 */
static void open_symbols(struct kernel_code *k)
{
	char *line = NULL;
	size_t size = 0;
	u64 start = 0, end = 0;

	k->symbols = fopen("/proc/kallsyms", "re"); /* of /proc itself */
	while (k->symbols && !end && getline(&line, &size, k->symbols) > 0)
		if (!symbol_is(line, " _text\n", &start))
			symbol_is(line, " _etext\n", &end);
	free(line);
	add(k, start, end, KERNEL);
	if (k->symbols && !end) { /* addresses are hidden */
		fclose(k->symbols);
		k->symbols = NULL;
	}
}

static void find_modules(struct kernel_code *k)
{
	unsigned long long at, size;
	char line[1024], name[64];
	FILE *f = fopen("/proc/modules", "re"); /* of /proc itself */

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %llu %*s %*s %*s %llx", name, &size, &at) == 3 && at)
			add(k, at, at + size, name);
	if (f)
		fclose(f);
}

void kernel_code_open(struct kernel_code *k)
{
	*k = (struct kernel_code){ .list = calloc(RANGES_MAX, sizeof(*k->list)) };
	if (!k->list)
		return;
	open_symbols(k);
	find_modules(k);
	qsort(k->list, k->n, sizeof(*k->list), by_address);
}

/* Programs come and go, so they are no ranges: what is neither the kernel nor a module. */
static struct kernel_range *generated(struct kernel_code *k, u64 pc)
{
	struct kernel_range *r = &k->generated;

	if (!k->symbols || !(pc >> 63))
		return NULL;
	if (!r->start) {
		*r = (struct kernel_range){ .start = (pc & ~0xfffull) - BEFORE };
		snprintf(r->name, sizeof(r->name), GENERATED);
	}
	return r;
}

/* The kernel shows the ELF notes of its own file, and of those of its modules. */
static void read_build_id(struct elffile *ret, const char *module)
{
	struct note {
		u32 name_size, size, type;
		char owner[4];
		u8 id[BUILD_ID_MAX];
	} note;
	char path[128] = "/sys/kernel/notes", notes[4096];
	size_t n = 0, at = 0, used;
	FILE *f;

	if (strcmp(module, KERNEL) != 0)
		snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id", module);
	f = fopen(path, "re"); /* of /sys itself */
	if (f) {
		n = fread(notes, 1, sizeof(notes), f);
		fclose(f);
	}
	for (; at + offsetof(struct note, id) < n; at += used) {
		memset(&note, 0, sizeof(note));
		memcpy(&note, notes + at, n - at < sizeof(note) ? n - at : sizeof(note));
		if (note.name_size > sizeof(notes) || note.size > sizeof(notes))
			return;
		used = offsetof(struct note, owner) + (note.name_size + 3) / 4 * 4 +
		       (note.size + 3) / 4 * 4;
		if (note.type != NT_GNU_BUILD_ID || note.name_size != 4 ||
		    memcmp(note.owner, "GNU", 4) != 0 || note.size > BUILD_ID_MAX)
			continue;
		ret->build_id_size = note.size;
		memcpy(ret->build_id, note.id, note.size);
		return;
	}
}

void kernel_code_find(struct kernel_code *k, struct code_modules *m, u64 pc, int *ret_module,
		      u64 *ret_address)
{
	u32 low = 0, high = k->n, middle;
	struct kernel_range *r;

	while (low < high) { /* to the first range after pc */
		middle = low + (high - low) / 2;
		if (k->list[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_module = 0;
	*ret_address = 0;
	r = low && pc < k->list[low - 1].end ? &k->list[low - 1] : generated(k, pc);
	if (!r)
		return;
	if (!r->module) {
		r->module = code_module_add(
			m, strcmp(r->name, KERNEL) == 0 ? CODE_KERNEL : CODE_KMOD, r->name);
		if (r->module && r != &k->generated)
			read_build_id(&m->list[r->module].elf, r->name);
	}
	*ret_module = r->module;
	*ret_address = pc - r->start;
}

u64 kernel_code_at(const struct kernel_code *k, int module, u64 address)
{
	u32 i;

	if (module && k->generated.module == module)
		return k->generated.start + address;
	for (i = 0; i < k->n; i++)
		if (k->list[i].module == module)
			return k->list[i].start + address;
	return 0;
}

void kernel_code_close(struct kernel_code *k)
{
	if (k->symbols)
		fclose(k->symbols);
	free(k->list);
	*k = (struct kernel_code){ 0 };
}
