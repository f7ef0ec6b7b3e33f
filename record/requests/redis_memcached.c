// SPDX-License-Identifier: GPL-2.0-or-later
/* redis (RESP and inline commands) and memcached (text and binary). */
#include "parse.h"

#include <stdio.h>
#include <strings.h>

#define ARGS_MAX (1u << 20)
#define BULK_MAX (512u << 20)
#define WORD_MAX 32
#define HEADER	 24 /* memcached, binary */
#define LINE_MAX 2048

/* Commands by name: what is not here may be a value. */
static const char redis_commands[] =
	" ACL APPEND ASKING AUTH BGREWRITEAOF BGSAVE BITCOUNT BITFIELD BITFIELD_RO BITOP BITPOS "
	"BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH BZMPOP BZPOPMAX BZPOPMIN CLIENT CLUSTER COMMAND "
	"CONFIG COPY DBSIZE DEBUG DECR DECRBY DEL DISCARD DUMP ECHO EVAL EVALSHA EVALSHA_RO "
	"EVAL_RO EXEC EXISTS EXPIRE EXPIREAT EXPIRETIME FAILOVER FCALL FCALL_RO FLUSHALL FLUSHDB "
	"FUNCTION GEOADD GEODIST GEOHASH GEOPOS GEORADIUS GEORADIUSBYMEMBER GEORADIUSBYMEMBER_RO "
	"GEORADIUS_RO GEOSEARCH GEOSEARCHSTORE GET GETBIT GETDEL GETEX GETRANGE GETSET HDEL HELLO "
	"HEXISTS HEXPIRE HGET HGETALL HGETDEL HGETEX HINCRBY HINCRBYFLOAT HKEYS HLEN HMGET HMSET "
	"HPERSIST HPEXPIRE HPTTL HRANDFIELD HSCAN HSET HSETEX HSETNX HSTRLEN HTTL HVALS INCR "
	"INCRBY INCRBYFLOAT INFO KEYS LASTSAVE LATENCY LCS LINDEX LINSERT LLEN LMOVE LMPOP LOLWUT "
	"LPOP LPOS LPUSH LPUSHX LRANGE LREM LSET LTRIM MEMORY MGET MIGRATE MODULE MONITOR MOVE MSET "
	"MSETNX MULTI OBJECT PERSIST PEXPIRE PEXPIREAT PEXPIRETIME PFADD PFCOUNT PFDEBUG PFMERGE "
	"PFSELFTEST PING PSETEX PSUBSCRIBE PSYNC PTTL PUBLISH PUBSUB PUNSUBSCRIBE QUIT RANDOMKEY "
	"READONLY READWRITE RENAME RENAMENX REPLCONF REPLICAOF RESET RESTORE RESTORE-ASKING ROLE "
	"RPOP RPOPLPUSH RPUSH RPUSHX SADD SAVE SCAN SCARD SCRIPT SDIFF SDIFFSTORE SELECT SENTINEL "
	"SET SETBIT SETEX SETNX SETRANGE SHUTDOWN SINTER SINTERCARD SINTERSTORE SISMEMBER SLAVEOF "
	"SLOWLOG SMEMBERS SMISMEMBER SMOVE SORT SORT_RO SPOP SPUBLISH SRANDMEMBER SREM SSCAN "
	"SSUBSCRIBE STRLEN SUBSCRIBE SUBSTR SUNION SUNIONSTORE SUNSUBSCRIBE SWAPDB SYNC TIME TOUCH "
	"TTL TYPE UNLINK UNSUBSCRIBE UNWATCH WAIT WAITAOF WATCH XACK XADD XAUTOCLAIM XCLAIM XDEL "
	"XGROUP XINFO XLEN XPENDING XRANGE XREAD XREADGROUP XREVRANGE XSETID XTRIM ZADD ZCARD "
	"ZCOUNT ZDIFF ZDIFFSTORE ZINCRBY ZINTER ZINTERCARD ZINTERSTORE ZLEXCOUNT ZMPOP ZMSCORE "
	"ZPOPMAX ZPOPMIN ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANGESTORE ZRANK ZREM "
	"ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANGE ZREVRANGEBYLEX "
	"ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE ZUNION ZUNIONSTORE "
	"FT.SEARCH FT.AGGREGATE JSON.GET JSON.SET JSON.MGET TS.ADD TS.RANGE BF.ADD BF.EXISTS ";

static const char memcached_verbs[] =
	" get gets gat gats set add replace append prepend cas delete incr decr touch stats "
	"flush_all version verbosity quit mg ms md ma mn me watch lru slabs cache_memlimit ";

static bool listed(const char *list, const char *word)
{
	char bounded[WORD_MAX + 3];

	snprintf(bounded, sizeof(bounded), " %.*s ", WORD_MAX, word);
	return *word && !strchr(word, ' ') && strstr(list, bounded);
}

bool redis_knows(const char *command)
{
	return listed(redis_commands, command);
}

bool memcached_knows(const char *verb)
{
	return listed(memcached_verbs, verb);
}

/* A word up to WORD_MAX, in capitals. */
static void take_word(char *ret, const u8 *b, size_t n)
{
	size_t i;

	for (i = 0; i < n && i < WORD_MAX && b[i] > ' ' && b[i] <= '~'; i++)
		ret[i] = b[i] >= 'a' && b[i] <= 'z' ? b[i] - 32 : b[i];
	ret[i == n ? i : 0] = '\0'; /* other bytes, or too long: no name */
}

/*
 * Whether the argument after the first one can be REPLY, by the n bytes that are there. What they
 * leave open may be: which requests have answers is then not known.
 */
static bool may_be_reply(const u8 *b, size_t n)
{
	static const char text[] = "\r\n$5\r\nREPLY";

	return strncasecmp((const char *)b, text, n < strlen(text) ? n : strlen(text)) == 0;
}

/* The same of a line, which is there up to its end. */
static bool is_reply(const u8 *b, size_t at, size_t end)
{
	while (at < end && b[at] == ' ')
		at++;
	return end - at >= 5 && strncasecmp((const char *)b + at, "REPLY", 5) == 0;
}

/* A command at at, whose first word begins at from and has len bytes; reply: as of CLIENT. */
static void add_command(struct stream *s, struct found *f, u32 at, const u8 *b, size_t from,
			size_t len, bool reply)
{
	static const char unordered[] = " SUBSCRIBE PSUBSCRIBE SSUBSCRIBE UNSUBSCRIBE "
					"PUNSUBSCRIBE SUNSUBSCRIBE MONITOR SYNC PSYNC ";
	char word[WORD_MAX + 1];
	u32 name;

	take_word(word, b + from, len);
	name = found_add(f, at, PROTOCOL_REDIS, redis_knows(word) ? word : "unknown command");
	if (listed(unordered, word) || (strcmp(word, "CLIENT") == 0 && reply)) {
		asked_forget(&s->asked);
		s->asked.unordered = true;
	}
	asked_one(&s->asked, name);
}

enum { WRONG = -1, SHORT = -2 };

/* "*3\r\n" or "$5\r\n" at at: the number; where it ends. */
static s64 read_number(const u8 *b, size_t at, size_t n, u8 mark, u32 max, size_t *end)
{
	s64 v = 0;
	size_t i;

	if (at >= n)
		return SHORT;
	if (b[at] != mark)
		return WRONG;
	for (i = at + 1; i < n && b[i] >= '0' && b[i] <= '9'; i++) {
		v = v * 10 + b[i] - '0';
		if (v > max)
			return WRONG;
	}
	if (i + 1 >= n)
		return i < n && b[i] != '\r' ? WRONG : SHORT;
	if (i == at + 1 || b[i] != '\r' || b[i + 1] != '\n')
		return WRONG;
	*end = i + 2;
	return v;
}

/* A new command in RESP: up to the end of its first argument. Returns bytes, or WRONG, SHORT. */
static s64 start_command(struct stream *s, struct found *f, const u8 *b, size_t at, size_t n)
{
	size_t end = at, name;
	s64 args = read_number(b, at, n, '*', ARGS_MAX, &end), len;

	if (args <= 0)
		return args == 0 ? (s64)(end - at) : args;
	len = read_number(b, end, n, '$', BULK_MAX, &name);
	if (len < 0)
		return len;
	if (len <= WORD_MAX && name + len > n)
		return SHORT;
	s->args = args - 1;
	add_command(s, f, at, b, name, len,
		    s->args && name + len <= n && may_be_reply(b + name + len, n - name - len));
	return name + len + 2 - at;
}

static s64 inline_command(struct stream *s, struct found *f, const u8 *b, size_t at, size_t n)
{
	size_t end = seek(b, at, n, '\n'), word = at;

	if (end == n)
		return n - at < LINE_MAX ? SHORT : WRONG;
	while (word < end && b[word] > ' ')
		word++;
	if (word > at) /* empty lines are none */
		add_command(s, f, at, b, at, word - at, is_reply(b, word, end));
	return end + 1 - at;
}

u64 parse_redis(struct stream *s, struct found *f, const u8 *b, size_t n)
{
	size_t end;
	u64 at = 0;
	s64 step;

	while (at < n) {
		if (s->args) {
			step = read_number(b, at, n, '$', BULK_MAX, &end);
			step = step < 0 ? step : (s64)(end - at) + step + 2;
			s->args -= step > 0;
		} else if (b[at] == '*') {
			step = start_command(s, f, b, at, n);
		} else {
			step = inline_command(s, f, b, at, n);
		}
		if (step < 0) {
			s->args = step == WRONG ? 0 : s->args;
			f->lost = step == WRONG;
			f->incomplete = step == SHORT;
			return at;
		}
		at += step;
	}
	return at;
}

/* The number in a line's word of this index; WRONG: none. */
static s64 word_number(const u8 *b, size_t at, size_t end, int index)
{
	s64 v = 0;

	for (; index && at < end; index--) {
		at = seek(b, at, end, ' ');
		while (at < end && b[at] == ' ')
			at++;
	}
	if (at >= end || b[at] < '0' || b[at] > '9')
		return WRONG;
	for (; at < end && b[at] >= '0' && b[at] <= '9' && v <= BULK_MAX; at++)
		v = v * 10 + b[at] - '0';
	return v > BULK_MAX ? WRONG : v;
}

enum quiet {
	ANSWERED,
	MAYBE_QUIET, /* q of mg: answered if it is a hit */
	QUIET,	     /* noreply, or q of another meta command: errors are answered, if at all */
};

/* Has a word after which there may be no answer. */
static enum quiet is_quiet(const u8 *line, size_t n)
{
	size_t at, word, end;

	if (n && line[n - 1] == '\r')
		n--;
	for (at = seek(line, 0, n, ' '); at < n; at = end) {
		word = at + 1;
		end = seek(line, word, n, ' ');
		if (end - word == 7 && memcmp(line + word, "noreply", 7) == 0)
			return QUIET;
		if (n > 2 && line[0] == 'm' && line[2] == ' ' && end - word == 1 &&
		    line[word] == 'q')
			return line[1] == 'g' ? MAYBE_QUIET : QUIET;
	}
	return ANSWERED;
}

static u64 memcached_text(struct stream *s, struct found *f, const u8 *b, size_t at, size_t n)
{
	static const char stores[] = " set add replace append prepend cas ";
	size_t end = seek(b, at, n, '\n'), word = at, k;
	char verb[WORD_MAX + 1];
	enum quiet quiet;
	s64 data = 0;

	while (word < end && b[word] > ' ')
		word++;
	k = word - at < WORD_MAX ? word - at : 0;
	memcpy(verb, b + at, k);
	verb[k] = '\0';
	f->incomplete = end == n && n - at < LINE_MAX && (k || word == end);
	if (f->incomplete)
		return at;
	if (!memcached_knows(verb)) {
		f->lost = true;
		return at;
	}
	if (listed(stores, verb))
		data = word_number(b, at, end, 4);
	else if (strcmp(verb, "ms") == 0)
		data = word_number(b, at, end, 2);
	quiet = is_quiet(b + at, end - at);
	s->quiet = quiet == QUIET;
	if (!s->quiet)
		asked_one(&s->asked, found_add(f, at, PROTOCOL_MEMCACHED, verb));
	if (quiet || listed(" quit watch ", verb)) {
		asked_forget(&s->asked);
		s->asked.unordered = true;
	}
	f->lost = end == n || data < 0;
	return f->lost ? at
		       : end + 1 + (data || listed(stores, verb) || verb[1] == 's' ? data + 2 : 0);
}

static const char *const opcodes[] = {
	"get",	  "set",     "add",	 "replace",   "delete",	 "incr",  "decr",   "quit",
	"flush",  "getq",    "noop",	 "version",   "getk",	 "getkq", "append", "prepend",
	"stat",	  "setq",    "addq",	 "replaceq",  "deleteq", "incrq", "decrq",  "quitq",
	"flushq", "appendq", "prependq", "verbosity", "touch",	 "gat",	  "gatq",
};

/* From this to that one, only an error has an answer; of getq and its kind, a hit has one. */
#define SETQ	 0x11
#define PREPENDQ 0x1a

#define OPCODES (sizeof(opcodes) / sizeof(opcodes[0]))

const char *memcached_opcode(u8 opcode)
{
	return opcode < OPCODES ? opcodes[opcode] : "unknown opcode";
}

u64 parse_memcached(struct stream *s, struct found *f, const u8 *b, size_t n)
{
	u64 at = 0;

	while (at < n && !f->lost && !f->incomplete) {
		if (b[at] != 0x80) {
			at = memcached_text(s, f, b, at, n);
			continue;
		}
		f->incomplete = n - at < HEADER;
		if (f->incomplete)
			break;
		f->lost = be32(b + at + 8) > BULK_MAX;
		if (f->lost)
			break;
		s->quiet = b[at + 1] >= SETQ && b[at + 1] <= PREPENDQ;
		if (!s->quiet)
			found_add(f, at, PROTOCOL_MEMCACHED, memcached_opcode(b[at + 1]));
		at += HEADER + be32(b + at + 8);
	}
	return at;
}
