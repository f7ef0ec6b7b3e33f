// SPDX-License-Identifier: GPL-2.0-or-later
#include "callstacks.h"

#include "frame_sql.h"
#include "function_waits.h"

#include <stdlib.h>
#include <string.h>

#define STACKS_MAX 1000000
#define MOST	   0.75
#define SHOWN	   3  /* functions of a path */
#define NAME_SHOWN 60 /* bytes of a name in a path: templates are longer */

/* Equal names of one side are one function. No table is made: the database may be read-only. */
static const char codes_sql[] =
	"SELECT f.id, " FRAME_NAME " AS name, " FRAME_IN_KERNEL
	" AS kernel, coalesce(m.path GLOB '*/libc.so*' OR m.path GLOB '*/libc-2*' OR m.path GLOB"
	" '*/libpthread*' OR m.path GLOB '*/ld-*' OR m.kind='vdso', 0), y.name IS NOT NULL,"
	" coalesce(y.name IN (SELECT name FROM syscall_name UNION SELECT '__' || name FROM syscall_name), 0),"
	" nullif(y.file, ''), y.line, coalesce(m.kind='generated', 0) FROM" FRAME_OF
	" ORDER BY name, kernel, f.address, f.id LIMIT 1000000";

struct loading {
	struct callstacks *s;
	u32 room;	     /* for codes: a database of others may have frames twice */
	struct idmap frames; /* frame.id -> its code */
};

static int take_code(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct loading *l = arg;
	struct callstacks *s = l->s;
	const char *name = db_text(q, 1);
	bool kernel = sqlite3_column_int(q, 2);
	struct code *c = &s->codes[s->n_codes];

	if (!s->n_codes || c->kernel != kernel || strcmp(c->name, name) != 0) {
		if (s->n_codes >= l->room)
			return 1;
		c = &s->codes[s->n_codes + 1];
		*c = (struct code){ .name = strdup(name), .kernel = kernel };
		if (!c->name)
			return err_set(e, ERR_FAIL, "out of memory for functions");
		s->n_codes++;
	}
	c->runtime |= sqlite3_column_int(q, 3) != 0;
	c->named |= sqlite3_column_int(q, 4) != 0;
	c->call |= c->runtime && sqlite3_column_int(q, 5);
	c->script |= sqlite3_column_int(q, 8) != 0;
	if (!c->file && sqlite3_column_int64(q, 7) > 0 && db_text_or(q, 6, NULL)) {
		c->file = strdup(db_text(q, 6));
		c->line = (u32)sqlite3_column_int64(q, 7);
		if (!c->file)
			return err_set(e, ERR_FAIL, "out of memory for functions");
	}
	return idmap_put(&l->frames, (u64)sqlite3_column_int64(q, 0), c, STACKS_MAX, e);
}

static int take_stack(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct loading *l = arg;
	struct callstacks *s = l->s;
	const struct code *c = idmap_get(&l->frames, (u64)sqlite3_column_int64(q, 2));
	struct call_node *n = &s->nodes[s->n + 1];

	/* callers have smaller numbers: they are here already */
	*n = (struct call_node){ callstacks_at(s, sqlite3_column_int64(q, 1)),
				 c ? (u32)(c - s->codes) : 0 };
	s->n++;
	return idmap_put(&s->places, (u64)sqlite3_column_int64(q, 0), n, STACKS_MAX, e);
}

static int load(struct callstacks *s, sqlite3 *db, struct err *e)
{
	struct loading l = { .s = s };
	s64 n = 0, stacks = 0;
	int ret = db_int(db, &n, e, "SELECT min(count(*), 1000000) FROM frame", "");

	if (ret == 0)
		ret = db_int(db, &stacks, e, "SELECT min(count(*), 1000000) FROM stack", "");
	if (ret < 0)
		return ret;
	l.room = (u32)n;
	s->codes = calloc((size_t)n + 2, sizeof(*s->codes));
	s->nodes = calloc((size_t)stacks + 1, sizeof(*s->nodes));
	if (s->codes)
		s->codes[0].name = strdup("[unknown]");
	if (!s->codes || !s->nodes || !s->codes[0].name)
		return err_set(e, ERR_FAIL, "out of memory for stacks");
	ret = db_each(db, e, take_code, &l, codes_sql, "");
	if (ret == 0)
		ret = db_each(db, e, take_stack, &l,
			      "SELECT id, caller, frame FROM stack ORDER BY id LIMIT 1000000", "");
	idmap_free(&l.frames);
	if (ret == 0) {
		s->codes[callstacks_gap(s)] = (struct code){ .name = strdup("..."), .named = true };
		if (!s->codes[callstacks_gap(s)].name)
			ret = err_set(e, ERR_FAIL, "out of memory for stacks");
	}
	return ret;
}

int callstacks_load(struct callstacks *s, sqlite3 *db, struct err *e)
{
	s64 any = 0;
	int ret = db_int(db, &any, e, "SELECT EXISTS (SELECT 1 FROM stack)", "");

	return ret < 0 || !any ? ret : load(s, db, e);
}

void callstacks_free(struct callstacks *s)
{
	u32 i;

	for (i = 0; s->codes && i <= callstacks_gap(s); i++) {
		free(s->codes[i].name);
		free(s->codes[i].file);
	}
	free(s->codes);
	free(s->nodes);
	idmap_free(&s->places);
}

u32 callstacks_at(const struct callstacks *s, s64 id)
{
	const struct call_node *n = idmap_get(&s->places, (u64)id);

	return n ? (u32)(n - s->nodes) : 0;
}

u32 callstacks_codes(const struct callstacks *s, s64 user, s64 kernel, u32 *codes)
{
	const s64 ids[] = { kernel, user };
	u32 n = 0, at;
	int i;

	for (i = 0; i < 2; i++)
		for (at = callstacks_at(s, ids[i]); at && n < STACK_DEEP; at = s->nodes[at].caller)
			codes[n++] = s->nodes[at].code;
	return n;
}

u32 callstacks_sampled(const struct callstacks *s, s64 user, s64 kernel, bool in_user, u32 *codes)
{
	u32 n = callstacks_codes(s, user, kernel, codes);

	if (!in_user || n < 2 || callstacks_at(s, kernel) || !s->codes[codes[0]].call)
		return n;
	memmove(codes, codes + 1, (n - 1) * sizeof(*codes));
	return n - 1;
}

int callstacks_place(struct buf *out, const struct code *c, struct err *e)
{
	const char *slash = c->file ? strrchr(c->file, '/') : NULL;

	if (!c->file)
		return 0;
	return buf_printf(out, e, " (%s:%u)", slash ? slash + 1 : c->file, c->line);
}

/*
 * Of "JS:get /srv/app/node_modules/router/lib/index.js:47:12" what names the file: its package, or
 * its last directory; and how long "JS:get" is. NULL: it is another name.
 */
static const char *script_of(const char *name, int *ret_n)
{
	static const char packages[] = "/node_modules/";
	const char *path = strncmp(name, "JS:", 3) == 0 ? strstr(name, " /") : NULL, *file, *at;

	if (!path && strncmp(name, "JS:", 3) == 0)
		path = strstr(name, " file:///");
	*ret_n = path ? (int)(path - name) : 0;
	file = path ? strrchr(path, '/') : NULL;
	while (file && file > path + 1 && file[-1] != '/')
		file--;
	for (at = path; at && (at = strstr(at, packages)); at++)
		file = at + strlen(packages);
	return file;
}

/* The end of a long path has the line. */
static const char *end_of(const char *file)
{
	size_t n = strlen(file);

	return n > NAME_SHOWN ? file + n - NAME_SHOWN : file;
}

static int say_name(struct buf *out, const struct callstacks *s, u32 code, const char *after,
		    struct err *e)
{
	const char *name = s->codes[code].name, *file, *waits;
	int n;

	file = script_of(name, &n);
	if (file)
		return buf_printf(out, e, "%.*s %s%s%s", n < NAME_SHOWN ? n : NAME_SHOWN, name,
				  end_of(file) == file ? "" : "...", end_of(file), after);
	waits = function_waits(name);
	if (waits)
		return buf_printf(out, e, "%s (%s)%s", name, waits, after);
	return buf_printf(out, e, "%.*s%s%s", NAME_SHOWN, name,
			  strlen(name) > NAME_SHOWN ? "..." : "", after);
}

static bool is_entry(const char *name)
{
	static const char *const starts[] = {
		"entry_SYSCALL", "entry_INT80",	   "do_syscall_64", "x64_sys_call",
		"do_int80_",	 "syscall_return", "ret_from_fork", "el0_svc",
		"el0t_64_sync",	 "invoke_syscall", "do_el0_svc",    "asm_sysvec_",
		"asm_exc_",	 "asm_common_",
	};
	size_t i;

	for (i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (strncmp(name, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

u32 callstacks_useful(const struct callstacks *s, u32 *codes, u32 n)
{
	u32 i, left = 0;

	for (i = 0; i < n; i++) {
		const struct code *c = &s->codes[codes[i]];

		if (c->named && !(c->kernel && is_entry(c->name)))
			codes[left++] = codes[i];
	}
	return left;
}

int callstacks_say(struct buf *out, const struct callstacks *s, const u32 *codes, u32 n,
		   struct err *e)
{
	u32 i, shown = n < SHOWN ? n : SHOWN, named = 0;
	int ret = 0;

	for (i = 0; i < shown && codes[i] != callstacks_gap(s); i++)
		;
	shown += i < shown && shown < n;
	while (named < n && !s->codes[codes[named]].named)
		named++;
	if (named >= shown && named < n)
		ret = say_name(out, s, codes[named], named > shown ? " > ... > " : " > ", e);
	for (i = shown; i > 0 && ret == 0; i--)
		ret = say_name(out, s, codes[i - 1], i > 1 ? " > " : "", e);
	return ret;
}

int callstacks_callers(struct buf *out, const struct callstacks *s, s64 user, bool useful,
		       struct err *e)
{
	u32 codes[STACK_DEEP], n = callstacks_codes(s, user, 0, codes), from = 0;

	n = useful ? callstacks_useful(s, codes, n) : n;
	while (from < n && s->codes[codes[from]].runtime)
		from++;
	/* a thread of the C library alone: what there is */
	if (from == n)
		from = 0;
	return callstacks_say(out, s, codes + from, n - from, e);
}

u32 callstacks_most(const struct callstacks *s, const u32 *codes, const double *shares, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (s->codes[codes[i]].script && s->codes[codes[i]].named)
			return codes[i];
	for (i = 0; i < n; i++)
		if (shares[i] >= MOST && s->codes[codes[i]].named && !s->codes[codes[i]].kernel)
			return codes[i];
	return 0;
}

int callstacks_running(struct buf *out, const struct callstacks *s, const u32 *codes, u32 n,
		       u32 most, struct err *e)
{
	u32 user = 0, at;
	int ret = 0;

	while (user < n && s->codes[codes[user]].kernel)
		user++;
	for (at = user; most && at < n && codes[at] != most; at++)
		;
	if (most && at < n && at >= user + SHOWN) {
		ret = say_name(out, s, most, " > ... > ", e);
		n = user + SHOWN - 1;
		n -= codes[n - 1] == callstacks_gap(s);
	}
	ret = ret < 0 ? ret : callstacks_say(out, s, codes + user, n - user, e);
	if (ret == 0 && user)
		ret = buf_printf(out, e, "%s%.*s (kernel)", out->len ? " > " : "", NAME_SHOWN,
				 s->codes[codes[0]].name);
	return ret;
}
