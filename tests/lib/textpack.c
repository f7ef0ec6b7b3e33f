// SPDX-License-Identifier: GPL-2.0-or-later
/* Recordings written as text. */
#define _GNU_SOURCE /* strchrnul */
#include "textpack.h"

#include "format/frame.h"
#include "format/recording.h"
#include "format/syscall.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS_MAX 1024
#define RING_HEAD   8 /* bytes that a record takes in a ring in addition to its own */

struct packer {
	struct writer *writer;
	struct err *e;
	int line;
	u64 ts;
	int stream; /* index */
	struct {
		u32 id;
		u64 pos, lost;
	} streams[STREAMS_MAX];
	int n_streams;
	struct buf block;
	u32 groups;
	int records;
	u64 gap;
	u64 times, ts_step, tid_step; /* of the next record */
	bool again;
	bool cut;
};

static int refuse(struct packer *p, const char *what, const char *word)
{
	return err_set(p->e, ERR_FAIL, "line %d: %s %.60s", p->line, what, word);
}

static int end_block(struct packer *p)
{
	struct block_info info = { .groups = p->groups };
	int ret;

	if (!p->block.len)
		return 0;
	info.stream = p->streams[p->stream].id;
	info.lost = p->streams[p->stream].lost;
	if (info.stream != STREAM_RECORDER) {
		info.pos_begin = p->streams[p->stream].pos + p->gap;
		info.pos_end = info.pos_begin + p->block.len + RING_HEAD * p->records;
		p->streams[p->stream].pos = info.pos_end;
	}
	p->gap = 0;
	ret = writer_append(p->writer, &info, p->block.data, p->block.len, p->e);
	if (ret == 0 && p->again)
		ret = writer_append(p->writer, &info, p->block.data, p->block.len, p->e);
	p->again = false;
	buf_clear(&p->block);
	p->groups = p->records = 0;
	return ret;
}

static int set_stream(struct packer *p, u32 id)
{
	int i, ret = end_block(p);

	for (i = 0; i < p->n_streams && p->streams[i].id != id; i++)
		;
	if (i == STREAMS_MAX)
		return refuse(p, "too many streams", "");
	if (i == p->n_streams)
		p->streams[p->n_streams++].id = id;
	p->stream = i;
	return ret;
}

static int directive(struct packer *p, const char *line)
{
	unsigned long long v = 0, ts, tid;

	if (sscanf(line, "@cpu %llu", &v) == 1)
		return set_stream(p, v);
	if (strcmp(line, "@recorder") == 0)
		return set_stream(p, STREAM_RECORDER);
	if (strcmp(line, "@block") == 0)
		return end_block(p);
	if (sscanf(line, "@lost %llu", &v) == 1)
		p->streams[p->stream].lost = v;
	else if (sscanf(line, "@gap %llu", &v) == 1)
		p->gap = v;
	else if (sscanf(line, "@times %llu %llu %llu", &v, &ts, &tid) == 3)
		p->times = v, p->ts_step = ts, p->tid_step = tid;
	else if (strcmp(line, "@cut") == 0)
		p->cut = true;
	else if (strcmp(line, "@again") == 0)
		p->again = true;
	else
		return refuse(p, "unknown directive", line);
	return 0;
}

static bool number(const char *word, u64 *ret)
{
	char digits[40];
	size_t n = 0;
	char *end;

	for (; *word && n + 1 < sizeof(digits); word++)
		if (*word != '_')
			digits[n++] = *word;
	digits[n] = '\0';
	*ret = digits[0] == '-' ? (u64)strtoll(digits, &end, 0) : strtoull(digits, &end, 0);
	return n && end != digits && !*end && !*word;
}

/* Takes the escapes out of a quoted text, in place; returns its length or -1. */
static long unquote(char *word)
{
	char *to = word, *from = word + 1;
	unsigned int byte;

	if (*word != '"')
		return -1;
	for (; *from && *from != '"'; from++) {
		if (from[0] == '\\' && from[1] == 'x' && sscanf(from + 2, "%2x", &byte) == 1) {
			*to++ = byte;
			from += 3;
		} else if (from[0] == '\\' && from[1]) {
			*to++ = *++from;
		} else {
			*to++ = *from;
		}
	}
	return *from == '"' ? to - word : -1;
}

static bool address(const char *word, u8 *out)
{
	unsigned int a[4];

	if (sscanf(word, "%u.%u.%u.%u", &a[0], &a[1], &a[2], &a[3]) != 4)
		return false;
	for (int i = 0; i < 4; i++)
		out[i] = a[i];
	return true;
}

/* Names of codes, by the kind of the field; size: of the field, 0: any. */
static const struct code {
	u8 kind, size;
	const char *name;
	u32 value;
} codes[] = {
	/* bits of the scheduler; fields of 4 bytes have the letter of /proc/PID/stat instead */
	{ KIND_STATE, 2, "R", 0 },
	{ KIND_STATE, 2, "S", 1 },
	{ KIND_STATE, 2, "D", 2 },
	{ KIND_STATE, 2, "T", 4 },
	{ KIND_STATE, 2, "t", 8 },
	{ KIND_STATE, 2, "X", 16 },
	{ KIND_STATE, 2, "Z", 32 },
	{ KIND_STATE, 2, "I", 0x402 },
	{ KIND_MODE, 2, "anon", 0 },
	{ KIND_MODE, 2, "fifo", 0010000 },
	{ KIND_MODE, 2, "char", 0020000 },
	{ KIND_MODE, 2, "dir", 0040000 },
	{ KIND_MODE, 2, "block", 0060000 },
	{ KIND_MODE, 2, "file", 0100000 },
	{ KIND_MODE, 2, "link", 0120000 },
	{ KIND_MODE, 2, "socket", 0140000 },
	{ KIND_FAMILY, 0, "unix", 1 },
	{ KIND_FAMILY, 0, "inet", 2 },
	{ KIND_FAMILY, 0, "inet6", 10 },
	{ KIND_ROLE, 0, "listening", 1 },
	{ KIND_ROLE, 0, "accepted", 2 },
	{ KIND_ROLE, 0, "connected", 3 },
	{ KIND_ROLE, 0, "bound", 4 },
	{ KIND_CONTEXT, 0, "task", 0 },
	{ KIND_CONTEXT, 0, "softirq", 1 },
	{ KIND_CONTEXT, 0, "hardirq", 2 },
	{ KIND_CONTEXT, 0, "nmi", 3 },
	{ KIND_ABI, 0, "x86_64", 0 },
	{ KIND_ABI, 0, "i386", 1 },
	{ KIND_ABI, 0, "x32", 2 },
	{ KIND_ABI, 0, "aarch64", 3 },
	{ KIND_ABI, 0, "arm", 4 },
	{ KIND_BLOCKOP, 0, "READ", 0 },
	{ KIND_BLOCKOP, 0, "WRITE", 1 },
	{ KIND_BLOCKOP, 0, "FLUSH", 2 },
	{ KIND_BLOCKOP, 0, "DISCARD", 3 },
	/* futex(2): the field op of syscall_args, see set_word */
	{ KIND_ADDRESS, 0, "WAIT", 0 },
	{ KIND_ADDRESS, 0, "WAKE", 1 },
	{ KIND_ADDRESS, 0, "REQUEUE", 3 },
	{ KIND_ADDRESS, 0, "CMP_REQUEUE", 4 },
	{ KIND_ADDRESS, 0, "WAKE_OP", 5 },
	{ KIND_ADDRESS, 0, "LOCK_PI", 6 },
	{ KIND_ADDRESS, 0, "UNLOCK_PI", 7 },
	{ KIND_ADDRESS, 0, "WAIT_BITSET", 9 },
	{ KIND_ADDRESS, 0, "WAKE_BITSET", 10 },
	{ KIND_ADDRESS, 0, "PRIVATE", 128 },
};

/* The sum of names joined by |. */
static bool named(const struct field_desc *f, const char *word, u64 *ret)
{
	const char *end;
	size_t i, n;

	for (*ret = 0;; word = end + 1) {
		end = strchrnul(word, '|');
		n = end - word;
		for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
			if (codes[i].kind == f->kind &&
			    (!codes[i].size || codes[i].size == f->size) &&
			    strlen(codes[i].name) == n && strncmp(codes[i].name, word, n) == 0)
				break;
		if (i == sizeof(codes) / sizeof(codes[0]))
			return false;
		*ret |= codes[i].value;
		if (!*end)
			return true;
	}
}

/* A word that stands for a number in a field of its kind. */
static bool symbol(const struct field_desc *f, const char *word, u64 *ret)
{
	const struct schema *s = schema_own();
	const struct syscall_desc *d;
	int g;

	if (f->kind == KIND_SYSCALL && (d = syscall_by_name(word)) && d->x86_64 >= 0) {
		*ret = d->x86_64;
		return true;
	}
	for (g = 0; f->kind == KIND_GROUP && g < GROUP_MAX; g++)
		if (s->groups[g].name[0] && strcmp(s->groups[g].name, word) == 0) {
			*ret = g;
			return true;
		}
	if (f->kind == KIND_STATE && f->size == 4 && isalpha((unsigned char)*word) && !word[1]) {
		*ret = *word;
		return true;
	}
	return named(f, word, ret);
}

static int set_field(struct packer *p, const struct field_desc *f, char *value, u8 *record)
{
	u64 v;
	long n;
	int i;

	if (f->type == TYPE_comm16) {
		n = unquote(value);
		if (n < 0 || n > 16)
			return refuse(p, "a name of at most 16 bytes in quotes is needed, not",
				      value);
		memcpy(record + f->offset, value, n);
		return 0;
	}
	if (f->type == TYPE_addr16)
		return address(value, record + f->offset)
			       ? 0
			       : refuse(p, "an address like 127.0.0.1 is needed, not", value);
	if (!number(value, &v) && !symbol(f, value, &v))
		return refuse(p, "a number is needed, not", value);
	for (i = 0; i < f->size; i++)
		record[f->offset + i] = v >> 8 * i;
	return 0;
}

/* Splits off the next word; blanks inside quotes belong to it. */
static char *next_word(char **line)
{
	char *word = *line + strspn(*line, " \t"), *at = word;
	bool quoted = false;

	if (!*word)
		return NULL;
	for (; *at && (quoted || !isspace((unsigned char)*at)); at++) {
		if (*at == '\\' && at[1])
			at++;
		else if (*at == '"')
			quoted = !quoted;
	}
	*line = *at ? at + 1 : at;
	*at = '\0';
	return word;
}

static int set_word(struct packer *p, const struct event_desc *ev, char *word, u8 *record,
		    size_t *size)
{
	char *value = strchr(word, '=');
	const struct field_desc *f;
	long n;

	if (!value)
		return refuse(p, "field=value is needed, not", word);
	*value++ = '\0';
	f = event_field(ev, word);
	if (!f && ev->id == EV_syscall_args && strcmp(word, "op") == 0)
		f = event_field(ev, "arg1"); /* of futex */
	if (f)
		return set_field(p, f, value, record);
	if (!ev->tail[0] || strcmp(ev->tail, word) != 0)
		return refuse(p, "the event has no field", word);
	n = unquote(value);
	if (n < 0 || n + ev->size + 8 > EV_SIZE_MAX)
		return refuse(p, "a text in quotes is needed, not", value);
	memcpy(record + ev->size, value, n);
	*size = (ev->size + n + 7) & ~(size_t)7;
	return 0;
}

void textpack_header(void *record, u64 ts, u32 tid, u16 type, u16 size)
{
	u8 *at = record;

	le_put(at + offsetof(struct ev_header, ts), ts, 8);
	le_put(at + offsetof(struct ev_header, tid), tid, 4);
	le_put(at + offsetof(struct ev_header, type), type, 2);
	le_put(at + offsetof(struct ev_header, size), size, 2);
}

static int record(struct packer *p, char *line)
{
	char *ts = next_word(&line), *tid = next_word(&line), *name = next_word(&line), *word;
	const struct event_desc *ev = name ? schema_event(schema_own(), name) : NULL;
	u64 whole[EV_SIZE_MAX / 8] = { 0 }, v, id;
	size_t size = ev ? ev->size : 0;
	int ret = 0;

	if (!ev)
		return refuse(p, "ts, tid and the name of an event are needed;", name ? name : "");
	if (!number(*ts == '+' ? ts + 1 : ts, &v) || !number(tid, &id))
		return refuse(p, "ts and tid are numbers, not", ts);
	p->ts = *ts == '+' ? p->ts + v : v;
	while ((word = next_word(&line)))
		if (set_word(p, ev, word, (u8 *)whole, &size) < 0)
			return ERR_FAIL;
	p->groups |= 1u << ev->group;
	for (p->times += !p->times; p->times && ret == 0; p->times--) {
		textpack_header(whole, p->ts, id, ev->id, size);
		p->records++;
		ret = buf_add(&p->block, whole, size, p->e);
		id += p->tid_step;
		p->ts += p->times > 1 ? p->ts_step : 0;
	}
	p->ts_step = p->tid_step = 0;
	return ret;
}

int textpack(const char *text, int fd, struct err *e)
{
	static const u8 uuid[16] = "text recording";
	struct packer p = { .e = e };
	char *copy = strdup(text), *rest = copy, *line;
	int ret = copy ? writer_open(&p.writer, fd, uuid, e) : ERR_FAIL;

	if (ret == 0)
		ret = set_stream(&p, STREAM_RECORDER);
	while (ret == 0 && (line = strsep(&rest, "\n"))) {
		p.line++;
		line += strspn(line, " \t");
		if (*line == '@')
			ret = directive(&p, line);
		else if (*line && *line != '#')
			ret = record(&p, line);
	}
	if (ret == 0)
		ret = end_block(&p);
	if (ret == 0 && !p.cut)
		ret = writer_finish(p.writer, e);
	writer_free(p.writer);
	buf_free(&p.block);
	free(copy);
	return ret;
}
