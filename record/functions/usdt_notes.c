// SPDX-License-Identifier: GPL-2.0-or-later
/* The layout of the notes: https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation */
#include "usdt_notes.h"

#include <string.h>

#define NT_STAPSDT  3
#define NOTES_MAX   100000
#define COUNTER_MAX UINT32_MAX /* perf_event_open takes the place of a semaphore in 32 bits */

/* What a note begins with. */
struct places {
	u64 address, base, semaphore;
};

/* The next text of a note, which ends in it; NULL: there is none. */
static const char *take_text(const char **at, const char *end)
{
	const char *text = *at, *nul = end > text ? memchr(text, '\0', end - text) : NULL;

	if (!nul)
		return NULL;
	*at = nul + 1;
	return text;
}

static bool take_places(const struct elffile *f, const char **at, const char *end,
			struct places *ret)
{
	u32 narrow[3];

	if (gelf_getclass(f->elf) == ELFCLASS64) {
		if (end - *at < (ptrdiff_t)sizeof(*ret))
			return false;
		memcpy(ret, *at, sizeof(*ret));
		*at += sizeof(*ret);
		return true;
	}
	if (end - *at < (ptrdiff_t)sizeof(narrow))
		return false;
	memcpy(narrow, *at, sizeof(narrow));
	*ret = (struct places){ narrow[0], narrow[1], narrow[2] };
	*at += sizeof(narrow);
	return true;
}

/* Segments may claim more than the file has. */
static bool in_file(const struct elffile *f, u64 offset, u64 size)
{
	return elffile_chunk(f, offset, size, ELF_T_BYTE) != NULL;
}

/* Where the note's addresses are now: a file may have been moved after it was linked. */
static bool settle(const struct elffile *f, u64 base, struct places *p, struct usdt_note *ret)
{
	if (p->base && base) {
		p->address += base - p->base;
		p->semaphore += p->semaphore ? base - p->base : 0;
	}
	ret->address = p->address;
	if (!elffile_offset(f, p->address, &ret->offset) || !in_file(f, ret->offset, 1))
		return false;
	return !p->semaphore ||
	       (elffile_data_offset(f, p->semaphore, &ret->semaphore) && ret->semaphore &&
		ret->semaphore <= COUNTER_MAX && in_file(f, ret->semaphore, sizeof(u16)));
}

/* What all notes of a file are read with. */
struct file {
	const struct elffile *elf;
	u32 machine;
	u64 base; /* address of .stapsdt.base; 0: none */
};

/* False: it does not hold together. */
static bool read_note(const struct file *f, const char *at, size_t size, struct usdt_note *ret)
{
	const char *end = at + size, *args;
	struct places p;

	*ret = (struct usdt_note){ 0 };
	if (!take_places(f->elf, &at, end, &p))
		return false;
	ret->provider = take_text(&at, end);
	ret->name = ret->provider ? take_text(&at, end) : NULL;
	args = ret->name ? take_text(&at, end) : NULL;
	if (!args || !*ret->provider || !*ret->name || !settle(f->elf, f->base, &p, ret))
		return false;
	ret->n_args = usdt_args_read(ret->args, args, f->machine);
	return true;
}

static bool is_probe(const Elf_Data *d, const GElf_Nhdr *n, size_t name)
{
	static const char owner[] = "stapsdt";

	return n->n_type == NT_STAPSDT && n->n_namesz == sizeof(owner) &&
	       memcmp((const char *)d->d_buf + name, owner, sizeof(owner)) == 0;
}

int usdt_each(const struct elffile *f,
	      int (*visit)(void *arg, const struct usdt_note *note, struct err *e), void *arg,
	      struct err *e)
{
	size_t at = 0, name, desc, next;
	struct file file = { .elf = f };
	struct usdt_note note;
	GElf_Shdr sh;
	GElf_Ehdr eh;
	GElf_Nhdr n;
	Elf_Data *d;
	int count = 0, ret;

	if (!gelf_getehdr(f->elf, &eh))
		return 0;
	file.machine = eh.e_machine;
	file.base = elffile_section(f, ".stapsdt.base", &sh) ? sh.sh_addr : 0;
	d = elffile_data(f, elffile_section(f, ".note.stapsdt", &sh));
	while (d && count < NOTES_MAX && (next = gelf_getnote(d, at, &n, &name, &desc)) > 0) {
		at = next;
		if (!is_probe(d, &n, name) ||
		    !read_note(&file, (const char *)d->d_buf + desc, n.n_descsz, &note))
			continue;
		ret = visit(arg, &note, e);
		if (ret < 0)
			return ret;
		count++;
	}
	return count;
}
