// SPDX-License-Identifier: GPL-2.0-or-later
/* Entries are listed once, when the file is opened: a search table in the file may lie. */
#include "cfi_table.h"

#include <stdlib.h>
#include <string.h>

#define INDIRECT    0x80
#define RELATIVE    0x10 /* to its own place */
#define LEB_MAX	    10	 /* bytes of a number: time is bounded, too */
#define LETTERS_MAX 16

/* ---- bytes ---- */

u64 cfi_fixed(struct cfi_bytes *b, u32 size)
{
	u64 v = 0;

	if ((size_t)(b->end - b->at) < size) {
		b->fail = true;
		b->at = b->end;
		return 0;
	}
	/* the file has this machine's byte order */
	memcpy((u8 *)&v + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof(v) - size : 0), b->at,
	       size);
	b->at += size;
	return v;
}

/* Seven bits a byte, the lowest first. */
static u64 leb(struct cfi_bytes *b, bool is_signed)
{
	u32 shift = 0;
	u64 v = 0;
	u8 byte;

	do {
		byte = cfi_fixed(b, 1);
		v |= shift < 64 ? (u64)(byte & 0x7f) << shift : 0;
		shift += 7;
	} while (byte & 0x80 && shift < 7 * LEB_MAX);
	b->fail |= byte >> 7;
	if (is_signed && shift < 64 && byte & 0x40)
		v |= ~0ull << shift;
	return v;
}

u64 cfi_uleb(struct cfi_bytes *b)
{
	return leb(b, false);
}

s64 cfi_sleb(struct cfi_bytes *b)
{
	return (s64)leb(b, true);
}

static const u8 *text(struct cfi_bytes *b)
{
	size_t left = b->end - b->at;
	const u8 *s = b->at, *end = memchr(s, '\0', left < LETTERS_MAX ? left : LETTERS_MAX);

	if (!end) {
		b->fail = true;
		b->at = b->end;
		return (const u8 *)"";
	}
	b->at = end + 1;
	return s;
}

/* A number of one of DWARF's encodings of pointers. */
static u64 pointer(const struct cfi_table *t, struct cfi_bytes *b, u8 encoding, bool relative)
{
	static const u8 sizes[16] = { 8, 0, 2, 4, 8, 0, 0, 0, 0, 0, 2, 4, 8, 0, 0, 0 };
	u32 size = sizes[encoding & 0xf];
	u64 place = t->at + (b->at - t->data), v;

	if (!size || encoding & INDIRECT || (encoding & 0x70) > RELATIVE) {
		b->fail = true;
		return 0;
	}
	v = cfi_fixed(b, size);
	if (encoding & 8 && size < 8 && v >> (8 * size - 1))
		v |= ~0ull << (8 * size);
	return relative && encoding & RELATIVE ? v + place : v;
}

/* ---- entries ---- */

/* The content of the entry at an offset: what follows its length. */
static struct cfi_bytes entry_at(const struct cfi_table *t, size_t offset, size_t *next)
{
	struct cfi_bytes b = { t->data + offset, t->data + t->size, false };
	u64 length = cfi_fixed(&b, 4);

	if (length == 0xffffffff || length > (u64)(b.end - b.at))
		b.fail = true; /* the 64-bit format is for sections of more than 4 GB */
	else
		b.end = b.at + length;
	*next = b.end - t->data;
	return b;
}

/* Whether an entry is a CIE; else the offset of its CIE. */
static bool is_common(const struct cfi_table *t, struct cfi_bytes *b, u64 *ret)
{
	u64 place = b->at - t->data, id = cfi_fixed(b, 4);

	*ret = t->eh ? place - id : id;
	return t->eh ? id == 0 : id == 0xffffffff;
}

/* "zPLR...": data of each letter, in their order. */
static void read_augmentation(const struct cfi_table *t, struct cfi_entry *e, const u8 *letters)
{
	u8 encoding;

	for (; *letters && !e->common.fail; letters++)
		switch (*letters) {
		case 'R':
			e->encoding = cfi_fixed(&e->common, 1);
			break;
		case 'L':
			cfi_fixed(&e->common, 1);
			break;
		case 'P':
			encoding = cfi_fixed(&e->common, 1);
			pointer(t, &e->common, encoding & 0xf, false);
			break;
		case 'S':
			e->signal = true;
			break;
		case 'B': /* arm64: a key of return addresses */
			break;
		default:
			return; /* the length is known */
		}
}

static bool read_common(const struct cfi_table *t, u64 offset, struct cfi_entry *e)
{
	const u8 *letters, *behind;
	u64 ignored, size;
	size_t next;
	u8 version;

	if (offset >= t->size)
		return false;
	e->common = entry_at(t, offset, &next);
	if (e->common.fail || !is_common(t, &e->common, &ignored))
		return false;
	version = cfi_fixed(&e->common, 1);
	letters = text(&e->common);
	if (version != 1 && version != 3 && version != 4)
		return false;
	if (version == 4 && cfi_fixed(&e->common, 2) != 8)
		return false; /* addresses of 8 bytes, no segments */
	e->code_align = cfi_uleb(&e->common);
	e->data_align = cfi_sleb(&e->common);
	e->ra = version == 1 ? cfi_fixed(&e->common, 1) : cfi_uleb(&e->common);
	if (!*letters)
		return !e->common.fail;
	if (*letters != 'z')
		return false;
	size = cfi_uleb(&e->common);
	if (size > (u64)(e->common.end - e->common.at))
		return false;
	behind = e->common.at + size;
	read_augmentation(t, e, letters + 1);
	e->sized = true;
	e->common.at = behind;
	return !e->common.fail;
}

/* Of an FDE: CIE, range and instructions. */
static bool read_entry(const struct cfi_table *t, u64 offset, struct cfi_entry *e)
{
	size_t next;
	u64 common, size;

	*e = (struct cfi_entry){ .own = entry_at(t, offset, &next) };
	if (e->own.fail || is_common(t, &e->own, &common) || !read_common(t, common, e))
		return false;
	e->start = pointer(t, &e->own, e->encoding, true);
	e->size = pointer(t, &e->own, e->encoding & 0xf, false);
	if (e->sized) {
		size = cfi_uleb(&e->own);
		if (size > (u64)(e->own.end - e->own.at))
			return false;
		e->own.at += size;
	}
	return !e->own.fail;
}

/* ---- the list ---- */

static int by_start(const void *a, const void *b)
{
	const struct cfi_place *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

/* With a list, fills it. Returns the number of entries. */
static u32 walk(const struct cfi_table *t, struct cfi_place *list)
{
	struct cfi_bytes b;
	struct cfi_entry e;
	size_t at, next;
	u64 common;
	u32 n = 0;

	for (at = 0; at + 4 < t->size; at = next) {
		b = entry_at(t, at, &next);
		if (b.fail || (b.at == b.end && t->eh))
			break;
		if (b.at == b.end || is_common(t, &b, &common))
			continue;
		if (list && read_entry(t, at, &e) && e.size)
			list[n++] = (struct cfi_place){ e.start, at };
		else if (!list)
			n++;
	}
	return n;
}

bool cfi_table_open(struct cfi_table *ret, const struct elffile *f, const char *section, u64 room)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elffile_section(f, section, &sh);
	Elf_Data *d = NULL;
	u32 n;

	*ret = (struct cfi_table){ .eh = section[1] == 'e' };
	if (scn && sh.sh_type != SHT_NOBITS && !(sh.sh_flags & SHF_COMPRESSED) &&
	    gelf_getclass(f->elf) == ELFCLASS64 && sh.sh_size <= room && sh.sh_size < UINT32_MAX)
		d = elffile_data(f, scn);
	if (!d || !d->d_buf || d->d_size > sh.sh_size)
		return false;
	ret->data = d->d_buf;
	ret->size = d->d_size;
	ret->at = sh.sh_addr;
	n = walk(ret, NULL);
	if (ret->size + n * sizeof(*ret->list) <= room)
		ret->list = calloc(n ? n : 1, sizeof(*ret->list));
	if (!ret->list)
		return false;
	ret->n = walk(ret, ret->list);
	qsort(ret->list, ret->n, sizeof(*ret->list), by_start);
	return true;
}

u64 cfi_table_bytes(const struct cfi_table *t)
{
	return t->size + (u64)t->n * sizeof(*t->list);
}

void cfi_table_close(struct cfi_table *t)
{
	free(t->list);
	*t = (struct cfi_table){ 0 };
}

bool cfi_table_find(const struct cfi_table *t, u64 address, struct cfi_entry *ret)
{
	u32 low = 0, high = t->n, middle;

	while (low < high) { /* to the first one after the address */
		middle = low + (high - low) / 2;
		if (t->list[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && read_entry(t, t->list[low - 1].entry, ret) &&
	       address - ret->start < ret->size;
}
