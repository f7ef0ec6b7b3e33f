// SPDX-License-Identifier: GPL-2.0-or-later
/* redis (RESP and inline commands) and memcached (text and binary). */
#include "parse.h"

#include <stdio.h>
#include <string.h>

#define ARGS_MAX  (1u << 20)
#define BULK_MAX  (512u << 20)
#define WORD_MAX  32
#define WORDS_MAX (2 * WORD_MAX + 2)
#define HEADER	  24 /* memcached, binary */
#define LINE_MAX  2048

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

/* Of these commands the next word says what it does: the same of it. */
static const struct {
	const char *command, *words;
} redis_groups[] = {
	{ "ACL", " CAT DELUSER DRYRUN GENPASS GETUSER LIST LOAD LOG SAVE SETUSER USERS WHOAMI " },
	{ "CLIENT", " CACHING GETNAME GETREDIR ID INFO KILL LIST NO-EVICT NO-TOUCH PAUSE REPLY "
		    "SETINFO SETNAME TRACKING TRACKINGINFO UNBLOCK UNPAUSE " },
	{ "CLUSTER", " ADDSLOTS ADDSLOTSRANGE BUMPEPOCH COUNT-FAILURE-REPORTS COUNTKEYSINSLOT "
		     "DELSLOTS DELSLOTSRANGE FAILOVER FLUSHSLOTS FORGET GETKEYSINSLOT INFO KEYSLOT "
		     "LINKS MEET MYID MYSHARDID NODES REPLICAS REPLICATE RESET SAVECONFIG "
		     "SET-CONFIG-EPOCH SETSLOT SHARDS SLAVES SLOTS " },
	{ "COMMAND", " COUNT DOCS GETKEYS GETKEYSANDFLAGS INFO LIST " },
	{ "CONFIG", " GET RESETSTAT REWRITE SET " },
	{ "DEBUG", " CHANGE-REPL-ID DIGEST DIGEST-VALUE LOADAOF OBJECT POPULATE RELOAD RESTART "
		   "SEGFAULT SET-ACTIVE-EXPIRE SLEEP " },
	{ "FUNCTION", " DELETE DUMP FLUSH KILL LIST LOAD RESTORE STATS " },
	{ "LATENCY", " DOCTOR GRAPH HISTOGRAM HISTORY LATEST RESET " },
	{ "MEMORY", " DOCTOR MALLOC-STATS PURGE STATS USAGE " },
	{ "MODULE", " LIST LOAD LOADEX UNLOAD " },
	{ "OBJECT", " ENCODING FREQ IDLETIME REFCOUNT " },
	{ "PUBSUB", " CHANNELS NUMPAT NUMSUB SHARDCHANNELS SHARDNUMSUB " },
	{ "SCRIPT", " DEBUG EXISTS FLUSH KILL LOAD " },
	{ "SENTINEL", " CKQUORUM CONFIG FAILOVER FLUSHCONFIG GET-MASTER-ADDR-BY-NAME "
		      "IS-MASTER-DOWN-BY-ADDR MASTER MASTERS MONITOR MYID REMOVE REPLICAS RESET "
		      "SENTINELS SET SLAVES " },
	{ "SLOWLOG", " GET LEN RESET " },
	{ "XGROUP", " CREATE CREATECONSUMER DELCONSUMER DESTROY SETID " },
	{ "XINFO", " CONSUMERS GROUPS STREAM " },
};

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

	if (n > WORD_MAX) /* its end may not be there */
		n = 0;
	for (i = 0; i < n && b[i] > ' ' && b[i] <= '~'; i++)
		ret[i] = b[i] >= 'a' && b[i] <= 'z' ? b[i] - 32 : b[i];
	ret[i == n ? i : 0] = '\0'; /* other bytes: no name */
}

/* The words that may follow a command in its name; NULL: none. */
static const char *words_after(const char *command)
{
	size_t i;

	for (i = 0; i < sizeof(redis_groups) / sizeof(redis_groups[0]); i++)
		if (strcmp(redis_groups[i].command, command) == 0)
			return redis_groups[i].words;
	return NULL;
}

/* Adds the word after a command to it. */
static void add_word(char *name, size_t size, const u8 *b, size_t n)
{
	const char *words = words_after(name);
	char word[WORD_MAX + 1];
	size_t used = strlen(name);

	take_word(word, b, n);
	if (words && listed(words, word))
		snprintf(name + used, size - used, " %s", word);
}

/* A command at at, by its words. After CLIENT REPLY, which requests have answers is not known. */
static void add_command(struct stream *s, struct found *f, u32 at, const char *words)
{
	static const char unordered[] = " SUBSCRIBE PSUBSCRIBE SSUBSCRIBE UNSUBSCRIBE "
					"PUNSUBSCRIBE SUNSUBSCRIBE MONITOR SYNC PSYNC ";
	u32 name = found_add(f, at, PROTOCOL_REDIS, *words ? words : "unknown command");

	if (listed(unordered, words) || strcmp(words, "CLIENT REPLY") == 0) {
		asked_forget(&s->asked);
		s->asked.unordered = true;
	}
	asked_one(&s->asked, name);
}

/* The command of len bytes; empty if it is not known. */
static void take_command(char *ret, const u8 *b, size_t len)
{
	take_word(ret, b, len);
	if (!redis_knows(ret))
		*ret = '\0';
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
	size_t end = at, name, next;
	s64 args = read_number(b, at, n, '*', ARGS_MAX, &end), len, more;
	char words[WORDS_MAX];

	if (args <= 0)
		return args == 0 ? (s64)(end - at) : args;
	len = read_number(b, end, n, '$', BULK_MAX, &name);
	if (len < 0)
		return len;
	if (len <= WORD_MAX && name + len > n)
		return SHORT;
	take_command(words, b + name, len);
	if (args > 1 && words_after(words)) {
		more = read_number(b, name + len + 2, n, '$', BULK_MAX, &next);
		if (more == SHORT || (more > 0 && more <= WORD_MAX && next + more > n))
			return SHORT;
		if (more > 0)
			add_word(words, sizeof(words), b + next, more);
	}
	s->args = args - 1;
	add_command(s, f, at, words);
	return name + len + 2 - at;
}

static s64 inline_command(struct stream *s, struct found *f, const u8 *b, size_t at, size_t n)
{
	size_t end = seek(b, at, n, '\n'), word = at, next, last;
	char words[WORDS_MAX];

	if (end == n)
		return n - at < LINE_MAX ? SHORT : WRONG;
	while (word < end && b[word] > ' ')
		word++;
	for (next = word; next < end && b[next] == ' ';)
		next++;
	for (last = next; last < end && b[last] > ' ';)
		last++;
	if (word > at) { /* empty lines are none */
		take_command(words, b + at, word - at);
		add_word(words, sizeof(words), b + next, last - next);
		add_command(s, f, at, words);
	}
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
