// SPDX-License-Identifier: GPL-2.0-or-later
/* System V ABI, chapters 4 and 5. Notes and tables are found by section. */
#include "elf_image.h"

#include "format/go_table.h"
#include "format/line_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define SECTIONS_MAX 65536
#define NOTES_MAX    (1u << 20)	  /* bytes of all notes */
#define TEXTS_MAX    (192u << 20) /* bytes of the names of a table */
#define LINES_MAX    (128u << 20) /* bytes of a section with source lines, or of a table of Go */
#define PACKED_TO    1032	  /* zlib makes at most so many bytes of one */
#define PART	     4096
#define SYMBOLS_MAX  (1ull << 24)
#define NAME_MOST    4096

enum { SHT_NOTES = 7, SHT_EMPTY = 8, SHT_ALL_SYMBOLS = 2, SHT_EXPORTED = 11 };
enum { NOTE_BUILD_ID = 3, FLAG_COMPRESSED = 0x800, COMPRESSED_ZLIB = 1 };
enum { TYPE_NONE = 0, TYPE_FUNCTION = 2, TYPE_CHOSEN = 10 };

struct section {
	u32 name, type, link;
	u64 flags, offset, size;
};

static u64 number(const struct elf_image *f, const u8 *at, int n)
{
	u64 v = 0;
	int i;

	for (i = 0; i < n; i++)
		v |= (u64)at[f->big ? n - 1 - i : i] << 8 * i;
	return v;
}

static bool read_at(const struct elf_image *f, void *to, size_t n, u64 offset)
{
	return offset <= f->size && n <= f->size - offset &&
	       pread(f->fd, to, n, (off_t)offset) == (ssize_t)n;
}

/* ---- sections ---- */

static bool read_section(const struct elf_image *f, u32 i, struct section *ret)
{
	u8 h[64];
	int w = f->wide ? 8 : 4;

	if (i >= f->n || !read_at(f, h, f->wide ? 64 : 40, f->sections + (u64)i * f->header_size))
		return false;
	ret->name = (u32)number(f, h, 4);
	ret->type = (u32)number(f, h + 4, 4);
	ret->flags = number(f, h + 8, w);
	ret->offset = number(f, h + 8 + 2 * w, w);
	ret->size = number(f, h + 8 + 3 * w, w);
	ret->link = (u32)number(f, h + 8 + 4 * w, 4);
	return ret->type == SHT_EMPTY ||
	       (ret->offset <= f->size && ret->size <= f->size - ret->offset);
}

/* Content from malloc; NULL: none, or above the limit. */
static u8 *read_bytes(const struct elf_image *f, const struct section *s, u64 limit)
{
	u8 *bytes = s->type != SHT_EMPTY && s->size && s->size <= limit ? malloc(s->size) : NULL;

	if (bytes && !read_at(f, bytes, s->size, s->offset)) {
		free(bytes);
		bytes = NULL;
	}
	return bytes;
}

/* The number of sections and where they are named may stand in the first section. */
static bool find_sections(struct elf_image *f, const u8 *h)
{
	struct section first;

	f->sections = f->wide ? number(f, h + 0x28, 8) : number(f, h + 0x20, 4);
	f->header_size = (u32)number(f, h + (f->wide ? 0x3a : 0x2e), 2);
	f->n = (u32)number(f, h + (f->wide ? 0x3c : 0x30), 2);
	f->texts = (u32)number(f, h + (f->wide ? 0x3e : 0x32), 2);
	if (!f->sections || f->header_size < (f->wide ? 64u : 40u))
		return false;
	if (!f->n || f->texts == 0xffff) {
		u32 n = f->n;

		f->n = 1;
		if (!read_section(f, 0, &first))
			return false;
		f->n = n ? n : (u32)(first.size < SECTIONS_MAX ? first.size : SECTIONS_MAX + 1);
		f->texts = f->texts == 0xffff ? first.link : f->texts;
	}
	return f->n <= SECTIONS_MAX;
}

static bool find_build_id(struct elf_image *f, const u8 *notes, u64 n)
{
	u64 at = 0, name, desc;

	while (n - at >= 12) {
		name = number(f, notes + at, 4);
		desc = number(f, notes + at + 4, 4);
		u32 type = (u32)number(f, notes + at + 8, 4);

		at += 12;
		if (name > n - at || ((name + 3) & ~3ull) > n - at)
			return false;
		if (desc > n - at - ((name + 3) & ~3ull))
			return false;
		if (type == NOTE_BUILD_ID && name == 4 && memcmp(notes + at, "GNU", 4) == 0 &&
		    desc) {
			memcpy(f->build_id, notes + at + 4,
			       desc < BUILD_ID_SIZE ? desc : BUILD_ID_SIZE);
			return true;
		}
		at += (name + 3) & ~3ull;
		at += ((desc + 3) & ~3ull) < n - at ? (desc + 3) & ~3ull : n - at;
	}
	return false;
}

static bool read_build_id(struct elf_image *f)
{
	u64 left = NOTES_MAX;
	struct section s;
	bool found = false;
	u8 *notes;
	u32 i;

	for (i = 1; i < f->n && !found; i++) {
		if (!read_section(f, i, &s) || s.type != SHT_NOTES || s.size > left)
			continue;
		left -= s.size;
		notes = read_bytes(f, &s, NOTES_MAX);
		found = notes && find_build_id(f, notes, s.size);
		free(notes);
	}
	return found;
}

bool elf_image_open(struct elf_image *ret, int fd)
{
	struct elf_image f = { .fd = fd };
	struct stat st;
	u8 h[64];

	*ret = f;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 64)
		return false;
	f.size = (u64)st.st_size;
	if (!read_at(&f, h, sizeof(h), 0) || memcmp(h, "\177ELF", 4) != 0)
		return false;
	f.wide = h[4] == 2;
	f.big = h[5] == 2;
	if ((h[4] != 1 && h[4] != 2) || (h[5] != 1 && h[5] != 2) || !find_sections(&f, h) ||
	    !read_build_id(&f))
		return false;
	*ret = f;
	return true;
}

/* ---- symbols ---- */

static void offer_symbol(const struct elf_image *f, struct code_names *names, const u8 *s,
			 const char *texts, u64 n, u32 source)
{
	u64 text = number(f, s, 4);
	u64 value = f->wide ? number(f, s + 8, 8) : number(f, s + 4, 4);
	u64 size = f->wide ? number(f, s + 16, 8) : number(f, s + 8, 4);
	u8 type = s[f->wide ? 4 : 12] & 15;
	size_t left;

	if (!number(f, s + (f->wide ? 6 : 14), 2) || text >= n || !texts[text] ||
	    (type != TYPE_NONE && type != TYPE_FUNCTION && type != TYPE_CHOSEN))
		return;
	left = n - text < NAME_MOST ? n - text : NAME_MOST;
	if (memchr(texts + text, '\0', left))
		code_names_offer(names, texts + text, value, size, source);
}

static void offer_table(const struct elf_image *f, struct code_names *names,
			const struct section *s, u32 source)
{
	u64 each = f->wide ? 24 : 16, end = s->size, at, n;
	struct section texts;
	u8 *part = NULL, *bytes = NULL;

	if (!read_section(f, s->link, &texts))
		return;
	bytes = read_bytes(f, &texts, TEXTS_MAX);
	part = malloc(PART * each);
	end = end < SYMBOLS_MAX * each ? end : SYMBOLS_MAX * each;
	for (at = 0; bytes && part && at < end && names->left; at += n) {
		u64 i;

		n = end - at < PART * each ? end - at : PART * each;
		if (!read_at(f, part, n, s->offset + at))
			break;
		for (i = 0; i + each <= n; i += each)
			offer_symbol(f, names, part + i, (char *)bytes, texts.size, source);
	}
	free(bytes);
	free(part);
}

static bool find_table(const struct elf_image *f, u32 type, struct section *ret)
{
	u32 i;

	for (i = 1; i < f->n; i++)
		if (read_section(f, i, ret) && ret->type == type)
			return true;
	return false;
}

bool elf_image_is_full(const struct elf_image *f)
{
	struct section s;

	return find_table(f, SHT_ALL_SYMBOLS, &s);
}

/* ---- source lines ---- */

/* Takes bytes over. */
static u8 *unpack(const struct elf_image *f, u8 *bytes, u64 n, size_t *ret_n)
{
	u64 header = f->wide ? 24 : 12, size = 0;
	u8 *out = NULL;
	uLongf got;

	if (n > header && number(f, bytes, 4) == COMPRESSED_ZLIB)
		size = f->wide ? number(f, bytes + 8, 8) : number(f, bytes + 4, 4);
	if (size && size <= LINES_MAX && size / PACKED_TO <= n)
		out = malloc(size);
	got = size;
	if (out && (uncompress(out, &got, bytes + header, n - header) != Z_OK || got != size)) {
		free(out);
		out = NULL;
	}
	free(bytes);
	*ret_n = out ? size : 0;
	return out;
}

static struct line_bytes bytes_named(const struct elf_image *f, const char *name)
{
	struct line_bytes ret = { 0 };
	size_t n = strlen(name) + 1;
	struct section s, texts;
	char text[32];
	u8 *bytes;
	u32 i;

	if (!read_section(f, f->texts, &texts))
		return ret;
	for (i = 1; i < f->n; i++) {
		if (!read_section(f, i, &s) || s.name > texts.size || n > texts.size - s.name ||
		    !read_at(f, text, n, texts.offset + s.name) || memcmp(text, name, n) != 0)
			continue;
		ret.n = s.size;
		bytes = read_bytes(f, &s, LINES_MAX);
		ret.at = bytes && s.flags & FLAG_COMPRESSED ? unpack(f, bytes, s.size, &ret.n)
							    : bytes;
		ret.n = ret.at ? ret.n : 0;
		break;
	}
	return ret;
}

static void find_lines(const struct elf_image *f, struct code_names *names)
{
	struct line_table t = { .big = f->big };

	t.lines = bytes_named(f, ".debug_line");
	if (t.lines.n) {
		t.line_strings = bytes_named(f, ".debug_line_str");
		t.strings = bytes_named(f, ".debug_str");
		line_table_find(names, &t);
	}
	free((void *)t.lines.at);
	free((void *)t.line_strings.at);
	free((void *)t.strings.at);
}

/* What the runtime of Go knows of its own functions. */
static void find_go(const struct elf_image *f, struct code_names *names)
{
	static const char *const sections[] = { ".gopclntab", ".data.rel.ro.gopclntab" };
	struct line_bytes table;
	size_t i;

	for (i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		table = bytes_named(f, sections[i]);
		if (table.n)
			go_table_find(names, table.at, table.n, f->big);
		free((void *)table.at);
	}
}

void elf_image_names(const struct elf_image *f, struct code_names *names, u32 source)
{
	struct section s;

	if (find_table(f, SHT_EXPORTED, &s))
		offer_table(f, names, &s, source);
	if (find_table(f, SHT_ALL_SYMBOLS, &s))
		offer_table(f, names, &s, source);
	else
		find_go(f, names);
	find_lines(f, names);
}
