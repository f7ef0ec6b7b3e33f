// SPDX-License-Identifier: GPL-2.0-or-later
/* PostgreSQL (protocol 3) and MySQL, MariaDB: messages and the first keyword of statements. */
#include "parse.h"

#include <stdio.h>

#define MESSAGE_MAX  (1u << 30)
#define STARTUP_MAX  10000
#define PG_SSL	     80877103
#define PG_GSS	     80877104
#define KEYWORD_MAX  16
#define NEEDED_BYTES 256 /* of a message with a statement: enough for its name and keyword */
#define CLIENT_SSL   0x0800

static const char *const keywords[] = {
	"SELECT",   "INSERT",	  "UPDATE",  "DELETE",	 "BEGIN",      "COMMIT",   "ROLLBACK",
	"START",    "SET",	  "SHOW",    "WITH",	 "CREATE",     "DROP",	   "ALTER",
	"TRUNCATE", "COPY",	  "EXPLAIN", "ANALYZE",	 "VACUUM",     "DECLARE",  "FETCH",
	"CLOSE",    "CALL",	  "DO",	     "LOCK",	 "SAVEPOINT",  "RELEASE",  "PREPARE",
	"EXECUTE",  "DEALLOCATE", "DISCARD", "LISTEN",	 "NOTIFY",     "UNLISTEN", "REPLACE",
	"LOAD",	    "USE",	  "GRANT",   "REVOKE",	 "CHECKPOINT", "REINDEX",  "CLUSTER",
	"COMMENT",  "REFRESH",	  "RESET",   "MERGE",	 "VALUES",     "TABLE",	   "END",
	"ABORT",    "MOVE",	  "HANDLER", "DESCRIBE", "DESC",       "OPTIMIZE", "KILL",
	"FLUSH",    "UNLOCK",	  "RENAME",  "CHECK",	 "XA",
};

#define KEYWORDS (sizeof(keywords) / sizeof(keywords[0]))

/* Offset after blanks, brackets and comments. */
static size_t skip_blank(const u8 *t, size_t n)
{
	size_t i = 0;

	for (;;) {
		while (i < n && (t[i] == ' ' || (t[i] >= '\t' && t[i] <= '\r') || t[i] == '('))
			i++;
		if (i + 1 < n && t[i] == '/' && t[i + 1] == '*') {
			for (i += 2; i + 1 < n && !(t[i] == '*' && t[i + 1] == '/'); i++)
				;
			i += 2;
		} else if (i + 1 < n && t[i] == '-' && t[i + 1] == '-') {
			i = seek(t, i, n, '\n');
		} else {
			return i < n ? i : n;
		}
	}
}

/* 0: other; else index + 1. */
static u32 keyword_of(const u8 *t, size_t n)
{
	char word[KEYWORD_MAX + 1];
	size_t at = skip_blank(t, n), k = 0, i;

	for (; at < n && k < KEYWORD_MAX && (t[at] | 32) >= 'a' && (t[at] | 32) <= 'z'; at++)
		word[k++] = t[at] & ~32;
	word[k] = '\0';
	for (i = 0; i < KEYWORDS; i++)
		if (strcmp(keywords[i], word) == 0)
			return i + 1;
	return 0;
}

const char *sql_keyword(const u8 *text, size_t n)
{
	u32 k = keyword_of(text, n);

	return k ? keywords[k - 1] : "other";
}

static u32 add(struct found *f, u32 at, enum protocol p, const char *what, const char *keyword)
{
	char name[NAME_BYTES];

	snprintf(name, sizeof(name), "%s%s%s", what, keyword ? " " : "", keyword ? keyword : "");
	return found_add(f, at, p, name);
}

static u32 hash_text(const u8 *t, size_t n)
{
	u32 h = 2166136261u;

	while (n--)
		h = (h ^ *t++) * 16777619u;
	return h ? h : 1;
}

/* Parse: statement name, statement. */
static void pg_parse(struct stream *s, const u8 *t, size_t n)
{
	size_t end = seek(t, 0, n, 0);
	u32 name = hash_text(t, end), i;

	if (end == n)
		return;
	for (i = 0; i < STATEMENTS && s->statements[i].name != name; i++)
		;
	if (i == STATEMENTS) {
		i = s->newest;
		s->newest = (s->newest + 1) % STATEMENTS;
	}
	s->statements[i].name = name;
	s->statements[i].keyword = keyword_of(t + end + 1, n - end - 1) + 1;
}

/* Bind: portal, statement name. */
static void pg_bind(struct stream *s, const u8 *t, size_t n)
{
	size_t portal = seek(t, 0, n, 0), end = seek(t, portal + 1, n, 0);
	u32 name, i;

	s->bound = 0;
	if (end >= n)
		return;
	name = hash_text(t + portal + 1, end - portal - 1);
	for (i = 0; i < STATEMENTS; i++)
		if (s->statements[i].name == name)
			s->bound = s->statements[i].keyword;
}

/* Sync ends the requests since the one before, of which there may be none. */
static void pg_sync(struct asked *a)
{
	u32 last = (a->first + a->n + ASKED - 1) % ASKED;

	if (a->n && !a->list[last].id)
		a->list[last].id = 1;
	else
		asked_add(a, 0, 1);
}

static void pg_message(struct stream *s, struct found *f, u32 at, u8 type, const u8 *t, size_t n)
{
	if (strchr("QEFS", type))
		s->asked.open = type == 'E';
	switch (type) {
	case 'Q':
		asked_add(&s->asked, add(f, at, PROTOCOL_POSTGRES, "Query", sql_keyword(t, n)), 1);
		break;
	case 'P':
		pg_parse(s, t, n);
		break;
	case 'B':
		pg_bind(s, t, n);
		s->whole = true; /* its error follows other messages */
		break;
	case 'E':
		asked_add(&s->asked,
			  add(f, at, PROTOCOL_POSTGRES, "Execute",
			      !s->bound	      ? NULL
			      : s->bound == 1 ? "other"
					      : keywords[s->bound - 2]),
			  0);
		break;
	case 'F':
		asked_add(&s->asked, add(f, at, PROTOCOL_POSTGRES, "FunctionCall", NULL), 1);
		break;
	case 'S':
		pg_sync(&s->asked);
		break;
	}
}

/* The greeting: its length and a code, without a type. */
static u64 pg_startup(struct stream *s, struct found *f, const u8 *b, size_t n)
{
	u32 len, code;

	f->incomplete = n < 8;
	if (f->incomplete)
		return 0;
	len = be32(b);
	code = be32(b + 4);
	f->lost = len < 8 || len > STARTUP_MAX;
	s->started = code != PG_SSL && code != PG_GSS;
	s->waits_tls = !s->started;
	return f->lost ? 0 : len;
}

u64 parse_postgres(struct stream *s, struct found *f, const u8 *b, size_t n)
{
	size_t here;
	u64 at = 0;
	u32 len;

	while (at < n) {
		if (!s->started) {
			at += pg_startup(s, f, b + at, n - at);
			if (f->lost || f->incomplete)
				return at;
			continue;
		}
		f->incomplete = n - at < 5;
		if (f->incomplete)
			return at;
		len = be32(b + at + 1);
		f->lost =
			!strchr("QPBDESCXFdcfHp", b[at]) || !b[at] || len < 4 || len > MESSAGE_MAX;
		if (f->lost)
			return at;
		here = n - at - 5 < len - 4 ? n - at - 5 : len - 4;
		f->incomplete = here < len - 4 && here < NEEDED_BYTES && strchr("QPB", b[at]);
		if (f->incomplete)
			return at;
		pg_message(s, f, at, b[at], b + at + 5, here);
		at += 1 + (u64)len;
	}
	return at;
}

static const struct {
	u8 code;
	bool statement;
	const char *name; /* NULL: no request: it has no answer */
} commands[] = {
	{ 0x01, false, NULL },		{ 0x02, false, "Init DB" },
	{ 0x03, true, "Query" },	{ 0x04, false, "Field List" },
	{ 0x09, false, "Statistics" },	{ 0x0e, false, "Ping" },
	{ 0x11, false, "Change User" }, { 0x12, false, "Binlog Dump" },
	{ 0x16, true, "Prepare" },	{ 0x17, false, "Execute" },
	{ 0x18, false, NULL },		{ 0x19, false, NULL },
	{ 0x1a, false, "Reset" },	{ 0x1b, false, "Set Option" },
	{ 0x1c, false, "Fetch" },	{ 0x1f, false, "Reset Connection" },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void mysql_command(struct stream *s, struct found *f, u32 at, const u8 *t, size_t n)
{
	size_t i;
	u32 name;

	for (i = 0; i < COMMANDS && commands[i].code != t[0]; i++)
		;
	if (i < COMMANDS && !commands[i].name)
		return;
	t++;
	n--;
	if (n > 2 && !t[0] && t[1] == 1) { /* query attributes: none */
		t += 2;
		n -= 2;
	}
	if (i == COMMANDS)
		name = add(f, at, PROTOCOL_MYSQL, "unknown command", NULL);
	else
		name = add(f, at, PROTOCOL_MYSQL, commands[i].name,
			   commands[i].statement ? sql_keyword(t, n) : NULL);
	asked_add(&s->asked, name, 1);
}

u64 parse_mysql(struct stream *s, struct found *f, const u8 *b, size_t n)
{
	size_t here;
	u64 at = 0;
	u32 len;

	while (at < n) {
		f->incomplete = n - at < 4;
		if (f->incomplete)
			return at;
		len = b[at] | b[at + 1] << 8 | b[at + 2] << 16;
		here = n - at - 4 < len ? n - at - 4 : len;
		if (b[at + 3] == 1 && !s->started && len >= 32 && here >= 2 &&
		    (b[at + 5] & CLIENT_SSL >> 8) && len == 32)
			s->waits_tls = true;
		if (b[at + 3] == 0) { /* others continue a command, or log in */
			s->started = true;
			f->lost = len == 0;
			f->incomplete = here < len && here < NEEDED_BYTES;
			if (f->lost || f->incomplete)
				return at;
			mysql_command(s, f, at, b + at + 4, here);
		}
		at += 4 + len;
	}
	return at;
}
