// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record/functions/usdt_args.c, usdt_wish.c, usdt_notes.c, usdt_find.c,
 * analyze/replay/requests/track_usdt.c: static probes from a file's notes to spans and marks.
 */
#include "tests/lib/unit.h"

#include "tests/lib/loaded.h"

#include "record/functions/sites.h"
#include "record/functions/usdt_notes.h"
#include "record/functions/usdt_wish.h"

#include <elf.h>

static struct usdt_arg args[USDT_ARGS_MAX];

static const char *types(const char *text, u32 machine)
{
	static char ret[USDT_TYPES_MAX];

	usdt_args_types(args, usdt_args_read(args, text, machine), ret);
	return ret;
}

static void is_arg(int i, u8 kind, s64 value, u8 base, u8 next, u8 shift)
{
	assert_int_equal(args[i].kind, kind);
	assert_int_equal(args[i].value, value);
	assert_int_equal(args[i].base, base);
	assert_int_equal(args[i].next, next);
	assert_int_equal(args[i].shift, shift);
}

/* Offsets in pt_regs: rdi 112, rbp 32, rax 80, rcx 88, rsp 152. */
static void arguments_of_x86(void **state)
{
	(void)state;
	assert_string_equal(types("-4@%edi 8@-16(%rbp)  2@$-7 -8@(%rcx,%rax,8)", EM_X86_64),
			    "s32 u64 u16 s64");
	is_arg(0, USDT_VALUE, 0, 112, USDT_NO_REG, 0);
	is_arg(1, USDT_MEMORY, -16, 32, USDT_NO_REG, 0);
	is_arg(2, USDT_VALUE, -7, USDT_NO_REG, USDT_NO_REG, 0);
	is_arg(3, USDT_MEMORY, 0, 88, 80, 3);
	assert_string_equal(types("1@%ah 1@%r15b 4@0x10(,%rax,4) 8@(%rsp)", EM_X86_64),
			    "u8 u8 u32 u64");
	is_arg(0, USDT_VALUE, 0, 81, USDT_NO_REG, 0);
	is_arg(1, USDT_VALUE, 0, 0, USDT_NO_REG, 0);
	is_arg(2, USDT_MEMORY, 16, USDT_NO_REG, 80, 2);
	is_arg(3, USDT_MEMORY, 0, 152, USDT_NO_REG, 0);
	assert_string_equal(types("-4@8(%ebp)", EM_386), "s32");
}

static void arguments_of_arm(void **state)
{
	(void)state;
	assert_string_equal(
		types("-4@[sp, 12] 8@x3 4@w30 8@[x1, x2, lsl 3] 8@[x0] 4@-1 4@wzr", EM_AARCH64),
		"s32 u64 u32 u64 u64 u32 u32");
	is_arg(0, USDT_MEMORY, 12, 31 * 8, USDT_NO_REG, 0);
	is_arg(1, USDT_VALUE, 0, 24, USDT_NO_REG, 0);
	is_arg(2, USDT_VALUE, 0, 240, USDT_NO_REG, 0);
	is_arg(3, USDT_MEMORY, 0, 8, 16, 3);
	is_arg(5, USDT_VALUE, -1, USDT_NO_REG, USDT_NO_REG, 0);
	is_arg(6, USDT_VALUE, 0, USDT_NO_REG, USDT_NO_REG, 0);
}

static void arguments_that_cannot_be_read(void **state)
{
	static const char *const bad[] = {
		"8f@%xmm0",
		"4@counter(%rip)",
		"4@8(%rip)",
		"3@%eax",
		"16@%rax",
		"@%rax",
		"4@",
		"4@%exx",
		"4@8(%rax,%rbx,3)",
		"4@(%rax",
		"4@%eax)",
		"4@$",
		"4@%hh",
		"4",
		"4@8(%rax,%rbx,64)",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_string_equal(types(bad[i], EM_X86_64), "?");
	assert_string_equal(types("8@[x0, x1, lsl 4]", EM_AARCH64), "?");
	assert_string_equal(types("8@x31 8@x-1 8@[x0", EM_AARCH64), "? ? ?");
	assert_string_equal(types("8@%rax", EM_S390), "?");
	assert_string_equal(
		types("8@$1 8@$1 8@$1 8@$1 8@$1 8@$1 8@$1 8@$1 8@$1 8@$1 8@$1 8@$1 8@$1",
		      EM_X86_64),
		"u64 u64 u64 u64 u64 u64 u64 u64 u64 u64 u64 u64");
	assert_string_equal(types("", EM_X86_64), "");
}

static void wishes_are_read(void **state)
{
	struct usdt_wish w;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(usdt_wish_read(&w, "shop:a__start(2,1:str)..a__done(3)", &e), 0);
	assert_string_equal(w.provider, "shop");
	assert_true(w.span && w.at[0].listed && w.at[1].listed);
	assert_string_equal(w.at[0].name, "a__start");
	assert_string_equal(w.at[1].name, "a__done");
	assert_int_equal(w.at[0].n, 1);
	assert_int_equal(w.at[0].args[0], 2);
	assert_int_equal(w.at[0].text, 1);
	assert_int_equal(w.at[1].args[0], 3);
	assert_int_equal(usdt_wish_read(&w, "lw*[!k]", &e), 0);
	assert_true(!w.span && !w.provider[0] && !w.at[0].listed);
}

static void wishes_are_refused(void **state)
{
	static const char *const bad[] = {
		"",	   "a(",  "a()",	 "a(0)",  "a(13)",	    "a(1,2,3,4,5)",
		"a..",	   "..b", "a..a",	 "a*..b", "a(1:str,2:str)", "a..b(1,2)",
		"p:",	   ":a",  "a..b(1:str)", "a b",	  "a(1)b",	    "a(1:text)",
		"a..b..c",
	};
	struct usdt_wish w;
	struct err e;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		e = (struct err){ 0 };
		if (usdt_wish_read(&w, bad[i], &e) != ERR_FAIL || !strstr(e.text, "--usdt"))
			fail_msg("'%s' was read", bad[i]);
	}
}

/* ---- a file with notes, made by hand ---- */

#define CODE	0x1000ull /* address of the code: at offset 0x200 */
#define DATA	0x3000ull /* of the data: at offset 0x300 */
#define BASE	0x5000ull /* of .stapsdt.base now; when it was linked: 0x4000 */
#define MOVED	0x1000ull
#define LENGTH	0x800
#define CLAIMED 0x900 /* bytes of code: more than the file has */

static u8 image[LENGTH];

struct note {
	u64 address, base, semaphore;
	const char *texts; /* provider, name, arguments, with their NULs */
	size_t n;
};

static u32 put_note(u32 at, const struct note *n)
{
	Elf64_Nhdr h = { 8, (u32)(24 + n->n), 3 };

	memcpy(image + at, &h, sizeof(h));
	memcpy(image + at + 12, "stapsdt", 8);
	memcpy(image + at + 20, n, 24);
	memcpy(image + at + 44, n->texts, n->n);
	return at + (u32)((44 + n->n + 3) & ~3ull);
}

static void put_section(int i, u32 name, u32 type, u64 address, u64 offset, u64 size)
{
	Elf64_Shdr s = { .sh_name = name, .sh_type = type, .sh_addr = address };

	s.sh_offset = offset;
	s.sh_size = size;
	s.sh_addralign = 4;
	memcpy(image + 0x100 + i * sizeof(s), &s, sizeof(s));
}

/* Headers, one segment of code, one of data, the notes, their base, the names. */
static void make_image(const struct note *notes, int n)
{
	static const char names[] = "\0.note.stapsdt\0.stapsdt.base\0.shstrtab";
	Elf64_Ehdr h = { .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = 1 };
	Elf64_Phdr code = { PT_LOAD, PF_R | PF_X, 0x300, CODE, CODE, CLAIMED, CLAIMED, 16 };
	Elf64_Phdr data = { PT_LOAD, PF_R | PF_W, 0x400, DATA, DATA, 0x100, 0x100, 16 };
	u32 at = 0x500;
	int i;

	memset(image, 0, sizeof(image));
	memcpy(h.e_ident, ELFMAG "\2\1\1", 7);
	h.e_phoff = 64;
	h.e_shoff = 0x100;
	h.e_ehsize = 64;
	h.e_phentsize = sizeof(code);
	h.e_phnum = 2;
	h.e_shentsize = sizeof(Elf64_Shdr);
	h.e_shnum = 4;
	h.e_shstrndx = 3;
	memcpy(image, &h, sizeof(h));
	memcpy(image + 64, &code, sizeof(code));
	memcpy(image + 64 + sizeof(code), &data, sizeof(data));
	for (i = 0; i < n; i++)
		at = put_note(at, &notes[i]);
	put_section(1, 1, SHT_NOTE, 0, 0x500, at - 0x500);
	put_section(2, 15, SHT_PROGBITS, BASE, 0x480, 1);
	put_section(3, 29, SHT_STRTAB, 0, 0x780, sizeof(names));
	memcpy(image + 0x780, names, sizeof(names));
}

struct seen {
	int n;
	u64 offset, semaphore;
	char name[64];
};

static int visit(void *arg, const struct usdt_note *note, struct err *e)
{
	struct seen *s = arg;

	(void)e;
	s->n++;
	s->offset = note->offset;
	s->semaphore = note->semaphore;
	snprintf(s->name, sizeof(s->name), "%s:%s", note->provider, note->name);
	return 0;
}

static struct seen walk(const struct note *notes, int n)
{
	struct seen s = { 0 };
	struct elffile f;
	struct err e = { 0 };
	void *copy = malloc(LENGTH);

	assert_non_null(copy);
	make_image(notes, n);
	memcpy(copy, image, LENGTH);
	if (elffile_from_memory(&f, copy, LENGTH, "hand-made", &e) < 0)
		fail_msg("%s", e.text);
	n = usdt_each(&f, visit, &s, &e);
	assert_int_equal(n, s.n);
	elffile_close(&f);
	return s;
}

#define TEXTS(text) (text), sizeof(text)

static void notes_are_read(void **state)
{
	static const struct note plain = { CODE + 8, BASE, 0, TEXTS("shop\0sold\0-4@%eax") };
	static const struct note moved = { CODE + 8 - MOVED, BASE - MOVED, DATA + 2 - MOVED,
					   TEXTS("shop\0sold\0") };
	struct seen s = walk(&plain, 1);

	(void)state;
	assert_int_equal(s.n, 1);
	assert_int_equal(s.offset, 0x308);
	assert_int_equal(s.semaphore, 0);
	assert_string_equal(s.name, "shop:sold");
	s = walk(&moved, 1);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.offset, 0x308);
	assert_int_equal(s.semaphore, 0x402);
}

static void unsound_notes_are_left_out(void **state)
{
	static const struct note notes[] = {
		{ 0x9000, BASE, 0, TEXTS("out\0code\0") }, /* not in the file */
		{ DATA, BASE, 0, TEXTS("no\0code\0") },	   /* not executed */
		{ CODE + 0x700, BASE, 0, TEXTS("past\0end\0") },
		{ CODE, BASE, 0x9000, TEXTS("no\0semaphore\0") }, /* not in the file */
		{ CODE, BASE, 0, "one", 3 },			  /* no NUL */
		{ CODE, BASE, 0, "two\0texts", 9 },		  /* the second has none */
		{ CODE, BASE, 0, "\0name\0\0", 7 },		  /* no provider */
		{ CODE, BASE, 0, "", 0 },			  /* ends after its places */
		{ CODE + 16, BASE, 0, TEXTS("shop\0last\0") },	  /* sound */
	};
	struct seen s = walk(notes, sizeof(notes) / sizeof(notes[0]));

	(void)state;
	assert_int_equal(s.n, 1);
	assert_int_equal(s.offset, 0x310);
	assert_string_equal(s.name, "shop:last");
}

/* ---- what is recorded of them ---- */

#define START                                                                        \
	"@recorder\n900 0 info text=\"targets=100\"\n901 0 info text=\"follow=1\"\n" \
	"902 0 info text=\"groups=core,uprobe\"\n"                                   \
	"904 0 clock monotonic=904 realtime=1700000000000000000 boottime=904\n"      \
	"905 100 thread pid=100 state=S comm=\"shop\"\n"                             \
	"906 0 site id=0 flags=11 text=\"/bin/shop:shop:a__start..a__done\"\n"       \
	"907 0 site id=1 flags=11 text=\"/bin/shop:shop:b__start..b__done\"\n"       \
	"908 0 site id=2 flags=17 text=\"/bin/shop:shop:sold\"\n"                    \
	"909 0 site id=3 flags=3 text=\"/bin/shop:serve\"\n"                         \
	"1000 0 info text=\"begin=1000\"\n@cpu 0\n"

static void spans_become_calls(void **state)
{
	sqlite3 *db = loaded(
		START "2000 100 usdt site=0 which=1 args=2 arg0=7 arg1=-1 unread=2 text=\"x y\"\n"
		      "2500 100 usdt site=0 which=2 args=1 arg0=-5\n"
		      "3000 100 usdt site=0 which=1 text=\"x y\"\n"
		      "3001 100 usdt site=0 which=2\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM call WHERE site=0", 2);
	is_number(db, "SELECT dur FROM call WHERE ts=1000", 500);
	is_number(db, "SELECT arg0 FROM call WHERE ts=1000", 7);
	is_null(db, "SELECT arg1 FROM call WHERE ts=1000"); /* could not be read */
	is_null(db, "SELECT arg2 FROM call WHERE ts=1000");
	is_number(db, "SELECT value FROM call WHERE ts=1000", -5);
	is_null(db, "SELECT value FROM call WHERE ts=2000");
	is_text(db, "SELECT text FROM v_call WHERE ts=1000", "x y");
	is_number(db, "SELECT count(*) FROM usdt_text", 1);
	is_text(db, "SELECT kind FROM site WHERE id=0", "span");
	is_text(db, "SELECT function FROM site WHERE id=0", "shop:a__start..a__done");
	is_number(db, "SELECT n FROM call_stat WHERE site=0", 2);
	db_close(db);
}

/* a starts, b starts, a ends, b ends; a function returns while b lasts; the inner of two a ends
 * first. */
static void spans_may_overlap(void **state)
{
	sqlite3 *db = loaded(START "2000 100 usdt site=0 which=1\n2100 100 call site=3 sp=500\n"
				   "2200 100 usdt site=1 which=1\n2300 100 usdt site=0 which=2\n"
				   "2400 100 return site=3 sp=500\n2500 100 usdt site=1 which=2\n"
				   "3000 100 usdt site=0 which=1\n3100 100 usdt site=0 which=1\n"
				   "3150 100 usdt site=0 which=2\n3500 100 usdt site=0 which=2\n");

	(void)state;
	is_number(db, "SELECT dur FROM call WHERE site=0 AND ts=1000", 300);
	is_number(db, "SELECT dur FROM call WHERE site=1", 300);
	is_number(db, "SELECT dur FROM call WHERE site=3", 300);
	is_number(db, "SELECT dur FROM call WHERE ts=2000", 500);
	is_number(db, "SELECT dur FROM call WHERE ts=2100", 50);
	is_number(db, "SELECT count(*) FROM call_defect", 0);
	db_close(db);
}

static void spans_without_partner_are_counted(void **state)
{
	sqlite3 *db = loaded(START "2000 100 usdt site=0 which=2\n2100 100 usdt site=0 which=1\n"
				   "2200 200 usdt site=0 which=2\n2300 100 usdt site=1 which=1\n"
				   "2400 100 usdt site=1 which=1\n2500 100 usdt site=1 which=2\n");

	(void)state;
	is_number(db, "SELECT unmatched FROM call_defect WHERE site=0", 2);
	is_number(db, "SELECT open FROM call_defect WHERE site=0", 1);
	is_number(db, "SELECT open FROM call_defect WHERE site=1", 1);
	is_number(db, "SELECT count(*) FROM call", 1);
	is_number(db, "SELECT dur FROM call", 100);
	db_close(db);
}

static void marks_have_rows_and_names(void **state)
{
	sqlite3 *db = loaded(
		START
		"2000 100 usdt site=2 args=4 arg0=1 arg1=2 arg2=3 arg3=4 unread=16 text=\"z\"\n"
		"2001 100 usdt site=2 args=1 arg0=-9 unread=1 text=\"z\"\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM mark", 2);
	is_text(db, "SELECT mark FROM v_mark", "shop:sold");
	is_number(db, "SELECT arg0 + arg1 + arg2 + arg3 FROM mark WHERE ts=1000", 10);
	is_null(db, "SELECT text FROM v_mark WHERE ts=1000");
	is_null(db, "SELECT arg0 FROM v_mark WHERE ts=1001");
	is_text(db, "SELECT text FROM v_mark WHERE ts=1001", "z");
	is_number(db, "SELECT entries FROM call_stat WHERE site=2", 2);
	is_number(db, "SELECT count(*) FROM call", 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(arguments_of_x86),
		T(arguments_of_arm),
		T(arguments_that_cannot_be_read),
		T(wishes_are_read),
		T(wishes_are_refused),
		T(notes_are_read),
		T(unsound_notes_are_left_out),
		T(spans_become_calls),
		T(spans_may_overlap),
		T(spans_without_partner_are_counted),
		T(marks_have_rows_and_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
