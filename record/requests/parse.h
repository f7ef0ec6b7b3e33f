/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading requests out of the bytes of a connection. Bytes come from anywhere: nothing in them is
 * trusted, every length is checked against what is there.
 *
 * A parser begins at the start of a message and goes from message to message by their lengths,
 * which may lead beyond the bytes at hand; the next bytes of the connection are then skipped up to
 * there.
 */
#pragma once

#include "format/buf.h"
#include "request_names.h"

#include <string.h>

#define START	  2    /* position of the first byte at most: a SYN may count */
#define RUNS_MAX  64   /* runs of requests of one name, per piece */
#define CARRY_MAX 4096 /* bytes of an incomplete message that are kept until the rest comes */
/* types of TLS records */
#define TLS_HANDSHAKE 0x16
#define TLS_DATA      0x17
#define STATEMENTS    8

/* HPACK: what the dynamic table of a connection has, as far as names need it. */
struct hpack;

#define ANSWER_LINE 2048 /* bytes of a line, or of a message, of an answer that are kept */

/* How far the answers of a connection are read. */
struct answers {
	bool in_step;
	u8 number;	     /* MySQL: of the last packet */
	bool part;	     /* MySQL: the next packet continues one of the greatest size */
	u32 name;	     /* MySQL: of the request that is being answered */
	u32 next;	     /* position of the byte after those that were read */
	u32 index;	     /* answers of this send so far */
	u32 skip;	     /* bytes of a value or message to come */
	u32 parts;	     /* redis: elements to come of the present answer */
	struct hpack *hpack; /* HTTP/2 */
	u16 n_line;
	u8 line[ANSWER_LINE];
};

#define ASKED 256

/*
 * Requests whose answers are to come, in their order; HTTP/2 by stream, whose number chooses the
 * place. The order is not known from where bytes of either direction are missing until a receive
 * that begins with a request: a server answers what it has read before it reads on.
 */
struct asked {
	struct {
		u32 name;
		u32 id; /* HTTP/2: stream; PostgreSQL: 1: ReadyForQuery follows; lines: requests */
	} list[ASKED];
	u16 first, n;
	bool unknown;
	bool open;	/* PostgreSQL: Sync is to come */
	bool unordered; /* redis, memcached: requests without an answer, or with several */
};

/* What is known of a connection between two receives. */
struct stream {
	u32 conn;	/* 0: none */
	u8 protocol;	/* enum protocol */
	bool in_step;	/* next is the start of a message */
	bool started;	/* the protocol's greeting is over */
	bool guessed;	/* first seen in the middle */
	bool waits_tls; /* TLS was asked for */
	bool deep;	/* long receives are read whole */
	bool whole;	/* all answers are wanted */
	bool quiet;	/* what began last has no answer */
	u8 tries;	/* receives in which no protocol was recognized */
	bool fed;	/* from is known */
	u32 from;	/* position of the latest bytes that were read */
	u32 next;	/* position of the next message */
	u32 args;	/* redis: arguments to come of the present command */
	u32 last;	/* HTTP/2: last stream opened by the client */
	struct {
		u32 name; /* hash */
		u32 keyword;
	} statements[STATEMENTS]; /* PostgreSQL */
	u32 bound;
	u8 newest;
	struct hpack *hpack; /* HTTP/2 */
	struct asked asked;
	struct answers answers;
	u16 n_carried;
	u8 carried[CARRY_MAX];
};

struct run {
	u32 offset, name, count;
};

/* What one piece of a stream has. */
struct found {
	struct request_names *names;
	struct run runs[RUNS_MAX];
	int n;
	bool incomplete; /* ended in a message whose length is not known yet */
	bool lost;	 /* where the next message starts cannot be known */
	bool hello;	 /* TLS begins here, with the first message of its handshake */
	bool expects;	 /* HTTP/1: the last request here has its body sent after an answer */
};

#define ERRORS_MAX 64

/* Errors in a row with one code and name. first: answers of the same send before them. */
struct error_run {
	u32 first, count, name; /* name 0: not known */
	u16 status;
	u8 protocol;
	char code[16];
};

/* Errors in one piece of answers. */
struct errors_found {
	struct request_names *names;
	struct error_run runs[ERRORS_MAX];
	int n;
	bool lost;   /* further answers are not known */
	bool missed; /* one was not looked at */
};

/* Whether all answers of a send can be read in this protocol. */
bool answers_known(u8 protocol);
void answers_read(struct stream *s, struct errors_found *f, const struct ev_raw *raw);

/* What is put in place of the bytes of an answer. s: maybe of another connection. */
int answer_put(struct stream *s, struct request_names *names, const struct ev_raw *raw,
	       struct buf *out, struct err *e);

/* Reads what begins at b: a message with its length before it. Returns bytes that it took. */
bool frames_known(u8 protocol);
size_t frames_take(struct stream *s, struct errors_found *f, const u8 *b, size_t n);

/* A header block that the server sent for a stream; b NULL: its bytes are not there. */
void http2_answered(struct stream *s, struct errors_found *f, u8 flags, u32 id, const u8 *b,
		    size_t n);

/* A code of so many bytes, or none. */
void errors_add(struct errors_found *f, struct error_run run, const u8 *code, size_t n);

/* To at most so many runs, 1 or more: their sum stays. other: name of those joined. */
void errors_shorten(struct errors_found *f, int max, u32 other);

/* A request whose answer is to come; the oldest such request has it now. */
void asked_add(struct asked *a, u32 name, u32 id);
u32 asked_take(struct asked *a);
/* The same of redis and memcached, whose requests have one answer each. */
void asked_one(struct asked *a, u32 name);
u32 asked_answered(struct asked *a);
void asked_forget(struct asked *a);

/* A request begins at this offset; returns the id of its name. */
u32 found_add(struct found *f, u32 offset, enum protocol protocol, const char *name);

/* To at most so many runs, 1 or more. */
void found_shorten(struct found *f, int max);

/*
 * Reads messages from b on. Returns the offset where the next one starts: beyond n if the last one
 * is longer; within n if it is incomplete (then set in f) or lost.
 */
typedef u64 parse_fn(struct stream *s, struct found *f, const u8 *b, size_t n);
parse_fn parse_http1, parse_http2, parse_redis, parse_memcached, parse_postgres, parse_mysql;

/* The parser of a protocol; NULL: it cannot be read. */
parse_fn *parser_of(u8 protocol);

/* The protocol that a client speaks who sends these first bytes; start: of the connection. */
enum protocol protocol_detect(const u8 *b, size_t n, bool start);

/* True if a HTTP request line starts here: "GET /". method: its length. */
bool http1_starts(const u8 *b, size_t n, size_t *method);

/* True for a command of redis, in capitals; for a command of memcached's text protocol. */
bool redis_knows(const char *command);
bool memcached_knows(const char *verb);
const char *memcached_opcode(u8 opcode);

/* The first keyword of a statement, in capitals: one of a list, or "other". */
const char *sql_keyword(const u8 *text, size_t n);

/* A path as a template: query dropped, segments that look like values become :id. */
void path_template(char *ret, size_t size, const char *path, size_t n);

/* What a header block has of a request, or of its answer. */
struct headers {
	char method[16], path[NAME_BYTES]; /* "": not known */
	bool has_path;
	bool grpc; /* by the content type */
	u16 status;
	s32 grpc_status; /* below 0: none */
};

/* false: it makes no sense. */
bool hpack_decode(struct hpack *h, const u8 *b, size_t n, struct headers *ret);
struct hpack *hpack_new(void);
/* Headers were missed: what the table had is not known. */
void hpack_forget(struct hpack *h);

/* A word of capitals and digits: an error code; "" for none. */
void take_code(char *ret, size_t size, const u8 *b, size_t at, size_t n);

/* Status of an answer of HTTP/1 that reports an error; 0: it is none. */
u16 http1_status(const u8 *b, size_t n);

static inline u32 be32(const u8 *b)
{
	return (u32)b[0] << 24 | (u32)b[1] << 16 | (u32)b[2] << 8 | b[3];
}

/* Offset of the first of these bytes from at on; n: there is none. */
static inline size_t seek(const u8 *b, size_t at, size_t n, u8 wanted)
{
	const u8 *p = at < n ? memchr(b + at, wanted, n - at) : NULL;

	return p ? (size_t)(p - b) : n;
}
