// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The programs of all units are run once. A row is from its address to that of the next row of its
 * sequence. Code that the linker removed is at address 0. The directory of compilation is only in
 * tables of DWARF 5; older ones have relative paths.
 */
#include "line_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_MOST   1024
#define FORMATS_MAX 16 /* parts of an entry of DWARF 5 */

enum form {
	FORM_DATA2 = 5,
	FORM_DATA4,
	FORM_DATA8,
	FORM_STRING,
	FORM_BLOCK,
	FORM_DATA1 = 0x0b,
	FORM_STRP = 0x0e,
	FORM_UDATA,
	FORM_DATA16 = 0x1e,
	FORM_LINE_STRP,
};

struct cursor {
	const u8 *at, *end;
	bool big, bad; /* bad: something goes beyond the end */
};

/* What a unit's header has. */
struct unit {
	const struct line_table *t;
	u32 version, offset_size; /* 4 or 8 */
	u8 min_length, range, opcode_base;
	int8_t base;
	const u8 *lengths;   /* operands of standard opcodes */
	struct cursor files; /* from the directories on */
	struct cursor program;
};

struct row {
	u64 address;
	u64 file, line;
};

static u64 fixed(struct cursor *c, u32 n)
{
	u64 v = 0;
	u32 i;

	if (c->bad || (size_t)(c->end - c->at) < n) {
		c->bad = true;
		return 0;
	}
	for (i = 0; i < n; i++)
		v |= (u64)c->at[c->big ? n - 1 - i : i] << 8 * i;
	c->at += n;
	return v;
}

static void skip(struct cursor *c, u64 n)
{
	if ((u64)(c->end - c->at) < n)
		c->bad = true;
	else
		c->at += n;
}

static u64 leb(struct cursor *c, bool is_signed)
{
	u64 v = 0;
	u32 shift = 0;
	u8 b;

	do {
		b = (u8)fixed(c, 1);
		v |= shift < 64 ? (u64)(b & 0x7f) << shift : 0;
		shift += 7;
	} while (b & 0x80 && !c->bad);
	if (is_signed && b & 0x40 && shift < 64)
		v |= ~0ull << shift;
	return v;
}

static const char *text(struct cursor *c)
{
	const u8 *begin = c->at, *zero = memchr(begin, '\0', (size_t)(c->end - begin));

	if (c->bad || !zero) {
		c->bad = true;
		return "";
	}
	c->at = zero + 1;
	return (const char *)begin;
}

static const char *text_at(struct line_bytes b, u64 at)
{
	return at < b.n && memchr(b.at + at, '\0', b.n - at) ? (const char *)b.at + at : "";
}

/* ---- names of files ---- */

struct entry {
	const char *name;
	u64 directory;
};

/* One part of an entry of DWARF 5: its text or its number. */
static void read_form(const struct unit *u, struct cursor *c, u64 form, const char **name, u64 *n)
{
	static const u8 sizes[] = {
		[FORM_DATA1] = 1, [FORM_DATA2] = 2, [FORM_DATA4] = 4, [FORM_DATA8] = 8
	};

	if (form == FORM_STRING)
		*name = text(c);
	else if (form == FORM_LINE_STRP)
		*name = text_at(u->t->line_strings, fixed(c, u->offset_size));
	else if (form == FORM_STRP)
		*name = text_at(u->t->strings, fixed(c, u->offset_size));
	else if (form == FORM_UDATA)
		*n = leb(c, false);
	else if (form == FORM_BLOCK)
		skip(c, leb(c, false));
	else if (form == FORM_DATA16)
		skip(c, 16);
	else if (form < sizeof(sizes) && sizes[form])
		*n = fixed(c, sizes[form]);
	else
		c->bad = true;
}

/* Reads a table of directories or files up to the entry; *ret is set if it is there. */
static void read_entries(const struct unit *u, struct cursor *c, u64 wanted, struct entry *ret)
{
	u64 kinds[FORMATS_MAX], forms[FORMATS_MAX], n, i;
	u32 formats = (u32)fixed(c, 1), k;

	c->bad |= formats > FORMATS_MAX;
	for (k = 0; k < formats && !c->bad; k++) {
		kinds[k] = leb(c, false);
		forms[k] = leb(c, false);
	}
	n = leb(c, false);
	/* entries without parts would take no bytes */
	for (i = 0; formats && i < n && !c->bad; i++) {
		struct entry entry = { "", 0 };

		for (k = 0; k < formats && !c->bad; k++) {
			const char *name = "";
			u64 number = 0;

			read_form(u, c, forms[k], &name, &number);
			if (kinds[k] == 1)
				entry.name = name;
			if (kinds[k] == 2)
				entry.directory = number;
		}
		if (i == wanted && !c->bad)
			*ret = entry;
	}
}

/* The same up to DWARF 4, where the first entry has number 1. */
static void read_old_entries(struct cursor *c, bool files, u64 wanted, struct entry *ret)
{
	u64 i, directory = 0;
	const char *name;

	for (i = 1; *(name = text(c)) && !c->bad; i++) {
		if (files) {
			directory = leb(c, false);
			leb(c, false); /* when it was modified */
			leb(c, false); /* its length */
		}
		if (i == wanted && !c->bad)
			*ret = (struct entry){ name, directory };
	}
}

static struct entry find_entry(const struct unit *u, bool file, u64 number)
{
	struct cursor c = u->files;
	struct entry ret = { "", 0 }, none;
	bool last;

	for (last = false;; last = true) {
		struct entry *into = last == file ? &ret : &none;

		if (u->version >= 5)
			read_entries(u, &c, number, into);
		else
			read_old_entries(&c, last, number, into);
		if (last == file)
			return ret;
	}
}

static void find_path(const struct unit *u, u64 file, char path[PATH_MOST])
{
	struct entry name = find_entry(u, true, file), in = { "", 0 }, top = { "", 0 };
	int n;

	path[0] = '\0';
	if (!*name.name)
		return;
	if (*name.name != '/')
		in = find_entry(u, false, name.directory);
	if (*name.name != '/' && *in.name != '/' && name.directory && u->version >= 5)
		top = find_entry(u, false, 0);
	n = snprintf(path, PATH_MOST, "%s%s%s%s%s", top.name, *top.name ? "/" : "", in.name,
		     *in.name ? "/" : "", name.name);
	if (n >= PATH_MOST)
		path[0] = '\0';
}

/* ---- rows ---- */

static void take_rows(struct code_names *names, const struct unit *u, const struct row *from,
		      u64 to)
{
	char path[PATH_MOST];
	bool found = false;
	u32 i;

	if (!from->line || from->line > INT32_MAX || from->address >= to)
		return;
	for (i = code_names_first(names, from->address);
	     i < names->n && names->list[i].address < to && names->left; i++, names->left--) {
		struct code_name *c = &names->list[i];

		if (c->line)
			continue;
		if (!found) {
			u64 walked = (u64)(u->files.end - u->files.at);

			names->left -= walked / 16 < names->left ? walked / 16 : names->left;
			find_path(u, from->file, path);
			found = true;
		}
		c->file = *path ? strdup(path) : NULL;
		c->line = c->file ? (u32)from->line : 0;
		if (!names->left)
			return;
	}
}

struct machine {
	struct row row, last;
	bool any; /* last is a row of this sequence */
};

static void put_row(struct code_names *names, const struct unit *u, struct machine *m)
{
	if (m->any && m->last.address)
		take_rows(names, u, &m->last, m->row.address);
	m->last = m->row;
	m->any = true;
}

static void run_extended(struct code_names *names, const struct unit *u, struct machine *m,
			 struct cursor *c)
{
	u64 n = leb(c, false);
	const u8 *begin = c->at;
	u8 op;

	if (!n || (u64)(c->end - c->at) < n) {
		c->bad = true;
		return;
	}
	op = (u8)fixed(c, 1);
	if (op == 1) {
		put_row(names, u, m);
		*m = (struct machine){ .row = { 0, 1, 1 } };
	} else if (op == 2) {
		m->row.address = n - 1 <= 8 ? fixed(c, (u32)n - 1) : 0;
	}
	c->at = begin + n;
}

static void run_standard(const struct unit *u, struct machine *m, struct cursor *c, u8 op)
{
	u8 i;

	if (op == 2)
		m->row.address += u->min_length * leb(c, false);
	else if (op == 3)
		m->row.line += leb(c, true);
	else if (op == 4)
		m->row.file = leb(c, false);
	else if (op == 8)
		m->row.address += u->min_length * (u64)((255 - u->opcode_base) / u->range);
	else if (op == 9)
		m->row.address += fixed(c, 2);
	else
		for (i = 0; i < u->lengths[op - 1]; i++)
			leb(c, false);
}

static void run(struct code_names *names, const struct unit *u)
{
	struct machine m = { .row = { 0, 1, 1 } };
	struct cursor c = u->program;

	while (c.at < c.end && !c.bad && names->left) {
		u8 op = (u8)fixed(&c, 1);

		if (op >= u->opcode_base) {
			op -= u->opcode_base;
			m.row.address += (u64)u->min_length * (op / u->range);
			m.row.line += (u64)(s64)(u->base + op % u->range);
			put_row(names, u, &m);
		} else if (op == 0) {
			run_extended(names, u, &m, &c);
		} else if (op == 1) {
			put_row(names, u, &m);
		} else {
			run_standard(u, &m, &c, op);
		}
	}
}

/* ---- units ---- */

/* c is the unit after its length. False: it has no rows that can be read. */
static bool read_unit(struct unit *u, struct cursor *c)
{
	u64 n;

	u->version = (u32)fixed(c, 2);
	if (u->version < 2 || u->version > 5)
		return false;
	if (u->version == 5)
		skip(c, 2); /* sizes of addresses */
	n = fixed(c, u->offset_size);
	if (c->bad || n > (u64)(c->end - c->at))
		return false;
	u->program = (struct cursor){ c->at + n, c->end, c->big, false };
	c->end = u->program.at;
	u->min_length = (u8)fixed(c, 1);
	skip(c, u->version >= 4 ? 2 : 1); /* of VLIW code; what is a statement */
	u->base = (int8_t)fixed(c, 1);
	u->range = (u8)fixed(c, 1);
	u->opcode_base = (u8)fixed(c, 1);
	u->lengths = c->at;
	skip(c, u->opcode_base ? u->opcode_base - 1u : 0);
	u->files = *c;
	return !c->bad && u->range && u->opcode_base;
}

void line_table_find(struct code_names *names, const struct line_table *t)
{
	struct cursor all = { t->lines.at, t->lines.at + t->lines.n, t->big, false };

	while (all.at < all.end && names->left) {
		struct unit u = { .t = t, .offset_size = 4 };
		u64 n = fixed(&all, 4);
		struct cursor c;

		if (n == 0xffffffff) {
			u.offset_size = 8;
			n = fixed(&all, 8);
		}
		if (all.bad || n > (u64)(all.end - all.at))
			return;
		c = (struct cursor){ all.at, all.at + n, t->big, false };
		all.at += n;
		if (read_unit(&u, &c))
			run(names, &u);
	}
}
