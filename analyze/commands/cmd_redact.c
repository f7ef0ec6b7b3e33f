// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * redact: the same recording with other words: command lines, paths, addresses and the host's
 * name are replaced, numbers stay. Text of a kind that is not named here is replaced, too.
 */
#include "analyze/transform/pseudonym.h"

#include "analyze/base/outfile.h"
#include "analyze/transform/rewrite.h"
#include "cmd.h"
#include "format/facts.h"
#include "format/frame.h"
#include "remake.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct config {
	struct remake_config out;
	const char *key_file;
	bool names;
	u8 key[PSEUDONYM_KEY];
};

CMD_SET_TEXT(set_key, key_file)
CMD_SET_FLAG(set_names, names)

static const struct opt opts[] = {
	REMAKE_OPTS,
	{ "names", 0, NULL, "replace names of threads, too", set_names },
	{ "key", 0, "FILE",
	  "secret of at least 16 bytes: the same secret gives the same words; "
	  "default: random, not stored",
	  set_key },
	FILTER_OPTS,
	{ 0 },
};

extern const struct command command_redact;

enum treatment { KEEP, WORD, PATH, PATH_COLON, FROM_SLASH, SYMBOL, FACT };

/* Tails by event; those of all others become WORDs. */
static const struct {
	const char *event;
	enum treatment how;
} tails[] = {
	{ "info", FACT },
	{ "fd", PATH },
	{ "exec", PATH },
	{ "site", PATH_COLON },
	{ "disk", KEEP },
	{ "program", KEEP },
	{ "cgroup", PATH },
	{ "cgroup_made", PATH },
	{ "file_open", PATH },
	{ "file_change", PATH },
	{ "doctor", KEEP },
	{ "missed", KEEP },
	{ "psi", PATH },
	{ "cgroup_memory", PATH },
	{ "answer", KEEP },
	{ "answer_more", KEEP },
	{ "request_name", FROM_SLASH },
	{ "module", PATH },
	{ "symbol", SYMBOL },
};

/* Facts that tell of no user; the values of all others become WORDs. */
static bool is_plain(const char *key, size_t n)
{
	size_t digits = 0;

	while (digits < n && key[digits] >= '0' && key[digits] <= '9')
		if (++digits < n && key[digits] == '.') { /* "2.host": of a merged recording */
			key += digits + 1;
			n -= digits + 1;
			digits = 0;
		}
	return fact_find(key, n)->redact == FACT_PLAIN;
}

static int put_word(const struct config *c, const char *text, size_t n, struct buf *out,
		    struct err *e)
{
	char word[PSEUDONYM_WORD];

	pseudonym_word(c->key, text, n, word);
	return buf_add(out, word, strlen(word), e);
}

static int put_fact(const struct config *c, const char *text, size_t n, struct buf *out,
		    struct err *e)
{
	const char *equals = memchr(text, '=', n);
	size_t key = equals ? (size_t)(equals - text) : 0;
	int ret;

	if (!equals)
		return put_word(c, text, n, out, e);
	if (is_plain(text, key))
		return buf_add(out, text, n, e);
	ret = buf_add(out, text, key + 1, e);
	return ret < 0 ? ret : put_word(c, equals + 1, n - key - 1, out, e);
}

/* "file:function": functions are needed to read the report. */
static int put_path_colon(const struct config *c, const char *text, size_t n, struct buf *out,
			  struct err *e)
{
	size_t path = n;
	int ret;

	while (path && text[path - 1] != ':')
		path--;
	path = path ? path - 1 : n;
	ret = pseudonym_path(c->key, text, path, out, e);
	return ret < 0 ? ret : buf_add(out, text + path, n - path, e);
}

/* "GET /path": the method is needed to read the report. */
static int put_from_slash(const struct config *c, const char *text, size_t n, struct buf *out,
			  struct err *e)
{
	const char *slash = memchr(text, '/', n);
	size_t plain = slash ? (size_t)(slash - text) : n;
	int ret = buf_add(out, text, plain, e);

	return ret < 0 || !slash ? ret : pseudonym_path(c->key, slash, n - plain, out, e);
}

/* "function\tsource file" */
static int put_symbol(const struct config *c, const char *text, size_t n, struct buf *out,
		      struct err *e)
{
	const char *tab = memchr(text, '\t', n);
	size_t function = tab ? (size_t)(tab + 1 - text) : n;
	int ret = buf_add(out, text, function, e);

	return ret < 0 ? ret : pseudonym_path(c->key, text + function, n - function, out, e);
}

static enum treatment treatment_of(const struct event_desc *ev)
{
	size_t i;

	for (i = 0; i < sizeof(tails) / sizeof(tails[0]); i++)
		if (strcmp(tails[i].event, ev->name) == 0)
			return tails[i].how;
	return WORD;
}

/* Replaces the tail of the record at start, the last in out. */
static int redact_tail(const struct config *c, const struct event_desc *ev, struct buf *out,
		       size_t start, struct err *e)
{
	const u8 *record = (const u8 *)out->data + start;
	enum treatment how = treatment_of(ev);
	struct buf text = { 0 };
	size_t n, size;
	const char *tail = event_tail(ev, record, (u16)(out->len - start), &n);
	int ret = 0;

	if (!n || how == KEEP)
		return 0;
	if (how == FACT)
		ret = put_fact(c, tail, n, &text, e);
	else if (how == PATH)
		ret = pseudonym_path(c->key, tail, n, &text, e);
	else if (how == PATH_COLON)
		ret = put_path_colon(c, tail, n, &text, e);
	else if (how == FROM_SLASH)
		ret = put_from_slash(c, tail, n, &text, e);
	else if (how == SYMBOL)
		ret = put_symbol(c, tail, n, &text, e);
	else
		ret = put_word(c, tail, n, &text, e);
	if (text.len > (size_t)EV_SIZE_MAX - ev->size)
		text.len = EV_SIZE_MAX - ev->size;
	size = (ev->size + text.len + 7) & ~(size_t)7;
	out->len = start + ev->size;
	if (ret == 0)
		ret = buf_reserve(out, size - ev->size + 1, e);
	if (ret == 0) {
		memset(out->data + out->len, 0, size - ev->size);
		memcpy(out->data + out->len, text.data, text.len);
		le_put((u8 *)out->data + start + 14, size, 2);
		out->len = start + size;
	}
	buf_free(&text);
	return ret;
}

static u16 family_of(const struct event_desc *ev, const u8 *record, const u8 *address)
{
	static const u8 zeros[12];
	int i;

	for (i = 0; i < ev->n_fields; i++)
		if (ev->fields[i].kind == KIND_FAMILY)
			return (u16)field_value(&ev->fields[i], record);
	return memcmp(address + 4, zeros, sizeof(zeros)) == 0 ? 2 : 10;
}

static int redact(void *arg, const struct event_desc *ev, struct buf *out, size_t start,
		  struct err *e)
{
	const struct config *c = arg;
	u8 *record = (u8 *)out->data + start;
	char word[PSEUDONYM_WORD];
	int i;

	for (i = 0; i < ev->n_fields; i++) {
		const struct field_desc *f = &ev->fields[i];
		char *at = (char *)record + f->offset;

		if (f->type == TYPE_addr16) {
			pseudonym_address(c->key, family_of(ev, record, (u8 *)at), (u8 *)at);
		} else if (f->type == TYPE_comm16 && c->names) {
			pseudonym_word(c->key, at, strnlen(at, 16), word);
			memset(at, 0, 16);
			memcpy(at, word, strlen(word));
		}
	}
	return redact_tail(c, ev, out, start, e);
}

static int make(void *arg, struct reader *r, int fd, struct progress *p, struct err *e)
{
	const struct recording_state *st = reader_state(r);
	const struct config *c = arg;
	struct rewrite w = {
		.reader = r, .progress = p, .all = st->records, .on_record = redact, .arg = arg
	};
	u32 flags = st->made | FRAME_REDACTED | (st->complete ? 0 : FRAME_REPAIRED);
	u8 uuid[16];
	int ret = random_bytes(uuid, sizeof(uuid), e);

	conversion_make(&w.conversion, reader_schema(r), reader_schema(r));
	if (ret == 0)
		ret = writer_open_as(&w.writer, fd, uuid, flags, reader_schema(r), e);
	if (ret == 0)
		ret = rewrite_blocks(&w, e);
	if (ret == 0)
		ret = rewrite_info(w.writer, reader_schema(r), st->ts_max, e,
				   "redacted=command lines, paths, addresses, host name%s",
				   c->names ? ", names of threads" : "");
	if (ret == 0)
		ret = writer_finish(w.writer, e);
	progress_clear(p);
	if (ret == 0)
		fprintf(stderr, "%llu records; left as they were: %sfunctions, ports, numbers\n",
			(unsigned long long)w.done, c->names ? "" : "names of threads, ");
	writer_free(w.writer);
	return ret;
}

/* The key is a hash of the whole file. */
static int read_key(struct config *c, struct err *e)
{
	u8 text[65536], salt[PSEUDONYM_KEY] = "obsanalyze key";
	size_t n;
	FILE *f;
	bool failed;
	int i;

	if (!c->key_file)
		return random_bytes(c->key, sizeof(c->key), e);
	f = fopen(c->key_file, "rb");
	n = f ? fread(text, 1, sizeof(text), f) : 0;
	failed = !f || ferror(f); /* a part of the key is another key */
	if (f)
		fclose(f);
	if (failed)
		return err_errno(e, ERR_FAIL, "cannot read the key %.400s", c->key_file);
	if (n < PSEUDONYM_KEY)
		return err_set(e, ERR_FAIL, "the key %.400s has fewer than %d bytes", c->key_file,
			       PSEUDONYM_KEY);
	for (i = 0; i < 2; i++) {
		salt[15] = (u8)i;
		le_put(c->key + 8 * i, siphash(salt, text, n), 8);
	}
	return 0;
}

static int run(int argc, char **argv, struct err *e)
{
	struct config c = { 0 };
	int first = cmd_words(&command_redact, &c, argc, argv, 1, 1, e);
	int ret = first < 0 ? first : read_key(&c, e);

	return ret < 0 ? ret : remake(argv[first], &c.out, "redacting", make, &c, e);
}

const struct command command_redact = {
	.name = "redact",
	.words = "-o FILE RECORDING",
	.doc = "replace command lines, paths and addresses; numbers stay",
	.opts = opts,
	.run = run,
};
