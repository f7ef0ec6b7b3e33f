// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The program's own descriptors, derived from events.def; the text of a schema
 * block, written and parsed side by side; look-ups; and the projection of a
 * file's layout onto the program's structs.
 */
#include "schema.h"

#include "frame.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	u16 size;
} types[] = {
	[TYPE_u8] = { "u8", 1 },	  [TYPE_u16] = { "u16", 2 },
	[TYPE_u32] = { "u32", 4 },	  [TYPE_u64] = { "u64", 8 },
	[TYPE_s32] = { "s32", 4 },	  [TYPE_s64] = { "s64", 8 },
	[TYPE_comm16] = { "comm16", 16 }, [TYPE_addr16] = { "addr16", 16 },
};

static const struct {
	const char *name;
	const char *unit;
} kinds[] = {
#define KIND(name, unit, doc) { #name, unit },
#include "kinds.def"
#undef KIND
	{ "UNKNOWN", "" },
};

static const char own_text[] = "obsrec-schema 1\n"
#define GROUP(id, name, asked, doc) "group\t" #id "\t" #name "\t" doc "\n"
#include "groups.def"
#undef GROUP
#define EVENT(id, name, group, doc)  "event\t" #id "\t" #name "\t" #group "\t" doc "\n"
#define FIELD(type, name, kind, doc) "field\t" #type "\t" #name "\t" #kind "\t" doc "\n"
#define TAIL(name, doc)		     "tail\t" #name "\t" doc "\n"
#define END
#include "events.def"
#undef EVENT
#undef FIELD
#undef TAIL
#undef END
	;

/* How one field of a file's record becomes one field of the program's struct. */
struct field_copy {
	const struct field_desc *from;
	const struct field_desc *to;
};

struct projection {
	bool identical; /* the file's layout is the program's */
	u16 size;	/* of the program's struct */
	u16 n;
	struct field_copy copies[SCHEMA_FIELD_MAX];
};

const char *kind_name(enum field_kind k)
{
	return kinds[k].name;
}

const char *kind_unit(enum field_kind k)
{
	return kinds[k].unit;
}

const char *type_name(enum field_type t)
{
	return types[t].name;
}

const struct event_desc *schema_event(const struct schema *s, const char *name)
{
	int i;

	for (i = 0; i < SCHEMA_EVENT_MAX; i++)
		if (s->by_id[i] && strcmp(s->by_id[i]->name, name) == 0)
			return s->by_id[i];
	return NULL;
}

const struct field_desc *event_field(const struct event_desc *ev, const char *name)
{
	int i;

	for (i = 0; i < ev->n_fields; i++)
		if (strcmp(ev->fields[i].name, name) == 0)
			return &ev->fields[i];
	return NULL;
}

u64 field_value(const struct field_desc *f, const u8 *record)
{
	u64 v;

	if (f->size > 8)
		return 0;
	record += f->offset; /* sizes that are known here are one load */
	v = f->size == 8   ? le_get(record, 8)
	    : f->size == 4 ? le_get(record, 4)
	    : f->size == 2 ? le_get(record, 2)
			   : le_get(record, f->size);
	if (f->type == TYPE_s32)
		v = (u64)(s64)(s32)(u32)v;
	return v;
}

const char *event_tail(const struct event_desc *ev, const u8 *record, u16 size, size_t *ret_len)
{
	const char *text = (const char *)record + ev->size;

	*ret_len = ev->tail[0] && size > ev->size ? strnlen(text, size - ev->size) : 0;
	return *ret_len ? text : "";
}

/* ---- the text of a schema block ---- */

int schema_write(const struct schema *s, struct buf *out, struct err *e)
{
	const struct event_desc *ev;
	int i, f, ret;

	ret = buf_printf(out, e, "obsrec-schema 1\n");
	for (i = 0; i < GROUP_MAX && ret == 0; i++)
		if (s->groups[i].name[0])
			ret = buf_printf(out, e, "group\t%d\t%s\t%s\n", i, s->groups[i].name,
					 s->groups[i].doc);
	for (i = 0; i < SCHEMA_EVENT_MAX && ret == 0; i++) {
		ev = s->by_id[i];
		if (!ev)
			continue;
		ret = buf_printf(out, e, "event\t%d\t%s\t%s\t%s\n", i, ev->name,
				 s->groups[ev->group].name, ev->doc);
		for (f = 0; f < ev->n_fields && ret == 0; f++)
			ret = buf_printf(out, e, "field\t%s\t%s\t%s\t%s\n",
					 type_name(ev->fields[f].type), ev->fields[f].name,
					 kind_name(ev->fields[f].kind), ev->fields[f].doc);
		if (ret == 0 && ev->tail[0])
			ret = buf_printf(out, e, "tail\t%s\t%s\n", ev->tail, ev->tail_doc);
	}
	return ret;
}

#define WORDS_MAX 5

struct parser {
	struct schema *s;
	struct event_desc *ev; /* the event whose fields follow */
	int line;
	struct err *e;
};

static int refuse(struct parser *p, const char *what)
{
	return err_set(p->e, ERR_DAMAGED, "the schema of the recording is damaged: line %d: %s",
		       p->line, what);
}

/* Names become identifiers of SQL and of text output, so only [a-z0-9_] is let in. */
static bool good_name(const char *word)
{
	size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return n > 0 && n < SCHEMA_NAME_MAX && word[n] == '\0' && (word[0] < '0' || word[0] > '9');
}

/* A decimal number below limit, or -1. */
static int small_number(const char *word, int limit)
{
	int v = 0;

	if (!*word || strlen(word) > 6)
		return -1;
	for (; *word; word++) {
		if (*word < '0' || *word > '9')
			return -1;
		v = v * 10 + (*word - '0');
	}
	return v < limit ? v : -1;
}

static void copy_doc(char *doc, const char *word)
{
	strncpy(doc, word, SCHEMA_DOC_MAX - 1);
}

static int parse_group(struct parser *p, char **word)
{
	int id = small_number(word[1], GROUP_MAX);

	if (id < 0 || !good_name(word[2]) || p->s->groups[id].name[0])
		return refuse(p, "a group needs a number of its own and a name");
	strncpy(p->s->groups[id].name, word[2], SCHEMA_NAME_MAX - 1);
	copy_doc(p->s->groups[id].doc, word[3]);
	return 0;
}

static int parse_event(struct parser *p, char **word)
{
	int id = small_number(word[1], SCHEMA_EVENT_MAX);
	int group;

	if (id <= 0 || p->s->by_id[id])
		return refuse(p, "an event needs a number of its own");
	if (!good_name(word[2]) || schema_event(p->s, word[2]))
		return refuse(p, "an event needs a name of its own");
	for (group = 0; group < GROUP_MAX; group++)
		if (p->s->groups[group].name[0] && strcmp(p->s->groups[group].name, word[3]) == 0)
			break;
	if (group == GROUP_MAX)
		return refuse(p, "an event belongs to no group");
	p->ev = calloc(1, sizeof(*p->ev));
	if (!p->ev)
		return err_set(p->e, ERR_FAIL, "out of memory for the schema");
	p->s->by_id[id] = p->ev;
	p->ev->id = id;
	p->ev->group = group;
	p->ev->size = sizeof(struct ev_header);
	strncpy(p->ev->name, word[2], SCHEMA_NAME_MAX - 1);
	copy_doc(p->ev->doc, word[4]);
	return 0;
}

static int parse_field(struct parser *p, char **word)
{
	struct field_desc *f;
	unsigned int t, k;

	if (!p->ev || p->ev->tail[0] || p->ev->n_fields == SCHEMA_FIELD_MAX)
		return refuse(p, "a field stands where none can be");
	if (!good_name(word[2]) || event_field(p->ev, word[2]))
		return refuse(p, "a field needs a name of its own");
	for (t = 0; t < sizeof(types) / sizeof(types[0]); t++)
		if (strcmp(types[t].name, word[1]) == 0)
			break;
	if (t == sizeof(types) / sizeof(types[0]))
		return refuse(p, "a field has an unknown type");
	for (k = 0; k < KIND_UNKNOWN; k++)
		if (strcmp(kinds[k].name, word[3]) == 0)
			break;
	f = &p->ev->fields[p->ev->n_fields++];
	f->type = t;
	f->kind = k;
	f->size = types[t].size;
	f->offset = p->ev->size;
	p->ev->size += f->size;
	strncpy(f->name, word[2], SCHEMA_NAME_MAX - 1);
	copy_doc(f->doc, word[4]);
	return 0;
}

static int parse_tail(struct parser *p, char **word)
{
	if (!p->ev || p->ev->tail[0] || !good_name(word[1]) || event_field(p->ev, word[1]))
		return refuse(p, "a tail stands where none can be");
	strncpy(p->ev->tail, word[1], SCHEMA_NAME_MAX - 1);
	copy_doc(p->ev->tail_doc, word[2]);
	return 0;
}

static const struct {
	const char *word;
	int words;
	int (*parse)(struct parser *p, char **word);
} items[] = {
	{ "group", 4, parse_group },
	{ "event", 5, parse_event },
	{ "field", 5, parse_field },
	{ "tail", 3, parse_tail },
};

static int parse_line(struct parser *p, char *line)
{
	char *word[WORDS_MAX];
	size_t i;
	int n = 0;

	p->line++;
	if (p->line == 1)
		return strcmp(line, "obsrec-schema 1") == 0 ? 0 : refuse(p, "it is no schema");
	for (; n < WORDS_MAX && line; n++)
		word[n] = strsep(&line, "\t");
	for (i = 0; i < sizeof(items) / sizeof(items[0]); i++)
		if (strcmp(items[i].word, word[0]) == 0)
			return n == items[i].words && !line ? items[i].parse(p, word)
							    : refuse(p, "wrong number of words");
	return refuse(p, "an unknown item");
}

/* Events must leave no gap, and the header's size must be able to tell a record's end. */
static int check_events(struct parser *p)
{
	int i;

	for (i = 0; i < SCHEMA_EVENT_MAX; i++)
		if (p->s->by_id[i] && p->s->by_id[i]->size % 8)
			return refuse(p, "the fields of an event do not fill groups of 8 bytes");
	return 0;
}

static int parse_text(struct schema **ret, const char *text, size_t len, struct err *e)
{
	struct parser p = { .e = e };
	char *copy = NULL, *rest, *line;
	int r = ERR_FAIL;

	if (len > SCHEMA_TEXT_MAX || memchr(text, '\0', len))
		return err_set(e, ERR_DAMAGED, "the schema of the recording is damaged: no text");
	copy = strndup(text, len);
	p.s = calloc(1, sizeof(*p.s));
	if (!copy || !p.s) {
		err_set(e, ERR_FAIL, "out of memory for the schema");
		goto out;
	}
	rest = copy;
	while ((line = strsep(&rest, "\n")) && rest) {
		r = parse_line(&p, line);
		if (r < 0)
			goto out;
	}
	r = p.line && !*line ? check_events(&p) : refuse(&p, "the last line is cut");
	if (r < 0)
		goto out;
	*ret = p.s;
	p.s = NULL;
	r = 0;
out:
	schema_free(p.s);
	free(copy);
	return r;
}

/* ---- from the file's layout to the program's ---- */

static bool convertible(const struct field_desc *a, const struct field_desc *b)
{
	return a->type == b->type || (a->size <= 8 && b->size <= 8);
}

static struct projection *projection_new(const struct event_desc *from, const struct event_desc *to)
{
	struct projection *p = calloc(1, sizeof(*p));
	const struct field_desc *src;
	int i;

	if (!p)
		return NULL;
	p->size = to->size;
	p->identical = from->size >= to->size && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	for (i = 0; i < to->n_fields; i++) {
		src = event_field(from, to->fields[i].name);
		if (!src || src->type != to->fields[i].type || src->offset != to->fields[i].offset)
			p->identical = false;
		if (src && convertible(src, &to->fields[i]))
			p->copies[p->n++] = (struct field_copy){ src, &to->fields[i] };
	}
	return p;
}

const struct schema *schema_own(void)
{
	static struct schema *own; /* derived from constants: not state */

	if (!own)
		parse_text(&own, own_text, sizeof(own_text) - 1, NULL);
	return own;
}

int schema_parse(struct schema **ret, const char *text, size_t len, struct err *e)
{
	const struct schema *own = schema_own();
	const struct event_desc *to;
	struct schema *s = NULL;
	int i, r;

	r = own ? parse_text(&s, text, len, e) : err_set(e, ERR_FAIL, "out of memory");
	for (i = 0; r == 0 && i < SCHEMA_EVENT_MAX; i++) {
		to = own->by_id[i];
		if (!s->by_id[i] || !to || strcmp(to->name, s->by_id[i]->name) != 0)
			continue;
		s->projections[i] = projection_new(s->by_id[i], to);
		if (!s->projections[i])
			r = err_set(e, ERR_FAIL, "out of memory for the schema");
	}
	if (r == 0)
		*ret = s;
	else
		schema_free(s);
	return r;
}

void schema_free(struct schema *s)
{
	int i;

	if (!s)
		return;
	for (i = 0; i < SCHEMA_EVENT_MAX; i++) {
		free(s->by_id[i]);
		free(s->projections[i]);
	}
	free(s);
}

/* The low size bytes of v in the host's own order: works for signed fields too. */
static void store(u8 *at, u64 v, u16 size)
{
	u8 v8 = v;
	u16 v16 = v;
	u32 v32 = v;

	if (size == 1)
		memcpy(at, &v8, 1);
	else if (size == 2)
		memcpy(at, &v16, 2);
	else if (size == 4)
		memcpy(at, &v32, 4);
	else
		memcpy(at, &v, 8);
}

const void *schema_project(const struct schema *s, u16 id, const u8 *record, void *scratch)
{
	const struct projection *p = id < SCHEMA_EVENT_MAX ? s->projections[id] : NULL;
	u8 *out = scratch;
	u64 ts = 0;
	int i;

	if (!p)
		return NULL;
	if (p->identical)
		return record;
	memset(out, 0, p->size);
	for (i = 7; i >= 0; i--)
		ts = ts << 8 | record[i];
	store(out, ts, 8);
	store(out + 8, record[8] | record[9] << 8 | record[10] << 16 | (u32)record[11] << 24, 4);
	store(out + 12, id, 2);
	store(out + 14, p->size, 2);
	for (i = 0; i < p->n; i++) {
		const struct field_copy *c = &p->copies[i];

		if (c->to->size > 8)
			memcpy(out + c->to->offset, record + c->from->offset, c->to->size);
		else
			store(out + c->to->offset, field_value(c->from, record), c->to->size);
	}
	return out;
}
