// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A load like that of YCSB (Cooper et al., SoCC 2010) on redis or PostgreSQL: records of ten fields
 * of 100 bytes.
 *
 * ycsb redis|postgres PORT MIX THREADS RECORDS SECONDS SEED
 *
 * MIX load: inserts RECORDS records. A: half reads, half updates of a field; B: 95 % reads; C:
 * reads; D: 95 % reads of the newest, inserts; E: 95 % scans of up to 100 records, inserts; F: half
 * reads, half read-modify-write. Keys are zipfian (0.99), and scrambled but for D. Each thread
 * sends the next request when it has the answer. Prints one line of JSON; latencies in us; records:
 * with those inserted, RECORDS of the next mix.
 */
#include "tests/lib/tool.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FIELDS	    10
#define FIELD	    100
#define SCAN	    100
#define THREADS_MAX 64
#define THETA	    0.99
#define BUCKETS	    2000 /* of latencies: 1 % wide, from 1 us on */

struct client {
	pthread_t thread;
	FILE *in;
	int fd, n_text;
	char text[16384]; /* requests to be sent */
	uint64_t seed, errors, n[BUCKETS], done;
	double sum;
};

static bool is_redis;
static char mix;
static int port, n_threads;
static uint64_t records, loaded, end_ns, base_seed; /* loaded: atomic */
static double zeta_n, eta, seconds;
static struct client clients[THREADS_MAX];

/* Gray et al., SIGMOD 1994, as in YCSB */
static uint64_t zipf(struct client *c)
{
	double u = random_01(&c->seed), uz = u * zeta_n;
	uint64_t rank;

	if (uz < 1)
		return 0;
	if (uz < 1 + pow(0.5, THETA))
		return 1;
	rank = (uint64_t)((double)records * pow(eta * u - eta + 1, 1 / (1 - THETA)));
	return rank < records ? rank : records - 1;
}

static void zipf_start(void)
{
	double two = 1 + pow(0.5, THETA);

	for (uint64_t i = 1; i <= records; i++)
		zeta_n += pow((double)i, -THETA);
	eta = (1 - pow(2.0 / (double)records, 1 - THETA)) / (1 - two / zeta_n);
}

static uint64_t some_key(struct client *c)
{
	uint64_t max = __atomic_load_n(&loaded, __ATOMIC_RELAXED);

	return mix == 'D' ? max - 1 - zipf(c) : mixed(zipf(c)) % records;
}

static void add(struct client *c, const char *text)
{
	int n = snprintf(c->text + c->n_text, sizeof(c->text) - c->n_text, "%s", text);

	if (n < 0 || c->n_text + n >= (int)sizeof(c->text))
		die("request");
	c->n_text += n;
}

/* ---- redis: a hash for each record, and their keys in a sorted set, as YCSB has them ---- */

static void redis_words(struct client *c, int n, ...)
{
	char head[32];
	va_list words;

	va_start(words, n);
	for (int i = 0; i < n; i++) {
		const char *word = va_arg(words, const char *);

		snprintf(head, sizeof(head), "$%zu\r\n", strlen(word));
		add(c, head);
		add(c, word);
		add(c, "\r\n");
	}
	va_end(words);
}

static void redis_answer(struct client *c)
{
	char line[256], skipped[2048];
	long n;

	if (!fgets(line, sizeof(line), c->in))
		die("redis");
	n = strtol(line + 1, NULL, 10);
	if (line[0] == '-')
		c->errors++;
	for (n = line[0] == '$' ? n + 2 : 0; n > 1;
	     n -= n < (long)sizeof(skipped) ? n : (long)sizeof(skipped))
		if (fread(skipped, 1, n < (long)sizeof(skipped) ? n : (long)sizeof(skipped),
			  c->in) == 0)
			die("redis");
	if (line[0] == '*')
		for (n = strtol(line + 1, NULL, 10); n > 0; n--)
			redis_answer(c);
}

/* ---- PostgreSQL: simple queries ---- */

static void postgres_query(struct client *c, const char *sql)
{
	uint32_t n = htonl((uint32_t)strlen(sql) + 5);

	c->text[0] = 'Q';
	memcpy(c->text + 1, &n, 4);
	c->n_text = 5;
	add(c, sql);
	c->n_text++; /* with its 0 */
}

/* Up to ReadyForQuery. */
static void postgres_answer(struct client *c)
{
	unsigned char head[5];
	char skipped[2048];
	uint32_t n, part;

	do {
		if (fread(head, 1, 5, c->in) != 5)
			die("postgres");
		c->errors += head[0] == 'E';
		memcpy(&n, head + 1, 4);
		for (n = ntohl(n) - 4; n; n -= part) {
			part = n < sizeof(skipped) ? n : sizeof(skipped);
			if (fread(skipped, 1, part, c->in) != part)
				die("postgres");
		}
	} while (head[0] != 'Z');
}

static void postgres_greet(struct client *c)
{
	static const char options[] = "user\0postgres\0database\0postgres\0";
	uint32_t head[2] = { htonl(8 + sizeof(options)), htonl(0x30000) };

	if (write(c->fd, head, 8) != 8 || write(c->fd, options, sizeof(options)) != sizeof(options))
		die("postgres");
	postgres_answer(c);
}

/* ---- operations ---- */

static void exchange(struct client *c, int answers)
{
	if (send(c->fd, c->text, c->n_text, MSG_NOSIGNAL) != c->n_text)
		die("send");
	c->n_text = 0;
	while (answers--)
		is_redis ? redis_answer(c) : postgres_answer(c);
}

static void value_of(struct client *c, char *value)
{
	for (int i = 0; i < FIELD; i++)
		value[i] = "abcdefghijklmnop"[mixed(c->seed + i) % 16];
	value[FIELD] = 0;
	c->seed++;
}

static void read_one(struct client *c, uint64_t key)
{
	char text[128];

	if (is_redis) {
		snprintf(text, sizeof(text), "user%010" PRIu64, key);
		add(c, "*2\r\n");
		redis_words(c, 2, "HGETALL", text);
	} else {
		snprintf(text, sizeof(text), "SELECT * FROM usertable WHERE k='user%010" PRIu64 "'",
			 key);
		postgres_query(c, text);
	}
	exchange(c, 1);
}

static void update(struct client *c, uint64_t key)
{
	char text[256], name[32], value[FIELD + 1];
	int field = (int)(random_01(&c->seed) * FIELDS);

	value_of(c, value);
	snprintf(name, sizeof(name), "f%d", field);
	if (is_redis) {
		snprintf(text, sizeof(text), "user%010" PRIu64, key);
		add(c, "*4\r\n");
		redis_words(c, 4, "HSET", text, name, value);
	} else {
		snprintf(text, sizeof(text),
			 "UPDATE usertable SET %s='%s' WHERE k='user%010" PRIu64 "'", name, value,
			 key);
		postgres_query(c, text);
	}
	exchange(c, 1);
}

static void insert(struct client *c)
{
	uint64_t key = __atomic_fetch_add(&loaded, 1, __ATOMIC_RELAXED);
	char text[FIELDS * (FIELD + 8) + 64], name[16], value[FIELD + 1];
	int n;

	if (is_redis) {
		snprintf(text, sizeof(text), "user%010" PRIu64, key);
		add(c, "*22\r\n");
		redis_words(c, 2, "HSET", text);
		for (int i = 0; i < FIELDS; i++) {
			snprintf(name, sizeof(name), "f%d", i);
			value_of(c, value);
			redis_words(c, 2, name, value);
		}
		add(c, "*4\r\n");
		redis_words(c, 4, "ZADD", "usertable", "0", text);
		exchange(c, 2);
		return;
	}
	n = snprintf(text, sizeof(text), "INSERT INTO usertable VALUES('user%010" PRIu64 "'", key);
	for (int i = 0; i < FIELDS; i++) {
		value_of(c, value);
		n += snprintf(text + n, sizeof(text) - n, ",'%s'", value);
	}
	snprintf(text + n, sizeof(text) - n, ")");
	postgres_query(c, text);
	exchange(c, 1);
}

static void scan(struct client *c, uint64_t key)
{
	int n = 1 + (int)(random_01(&c->seed) * SCAN);
	char text[160], limit[16];

	snprintf(limit, sizeof(limit), "%d", n);
	if (!is_redis) {
		snprintf(text, sizeof(text),
			 "SELECT * FROM usertable WHERE k>='user%010" PRIu64
			 "' ORDER BY k LIMIT %s",
			 key, limit);
		postgres_query(c, text);
		exchange(c, 1);
		return;
	}
	snprintf(text, sizeof(text), "[user%010" PRIu64, key);
	add(c, "*7\r\n");
	redis_words(c, 7, "ZRANGEBYLEX", "usertable", text, "+", "LIMIT", "0", limit);
	for (int i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "user%010" PRIu64, key + i);
		add(c, "*2\r\n");
		redis_words(c, 2, "HGETALL", text);
	}
	exchange(c, 1 + n);
}

static void operation(struct client *c)
{
	double u = random_01(&c->seed);
	uint64_t key;

	if (mix == 'l' || ((mix == 'D' || mix == 'E') && u < .05)) {
		insert(c);
		return;
	}
	key = some_key(c);
	if (mix == 'E') {
		scan(c, key);
		return;
	}
	if (mix != 'A' || u >= .5)
		if (mix != 'B' || u >= .05)
			read_one(c, key);
	if ((u < .5 && (mix == 'A' || mix == 'F')) || (u < .05 && mix == 'B'))
		update(c, key);
}

static void *run(void *arg)
{
	struct client *c = arg;
	uint64_t from;
	double us;
	int bucket;

	while (mix == 'l' ? __atomic_load_n(&loaded, __ATOMIC_RELAXED) < records
			  : now_ns() < end_ns) {
		from = now_ns();
		operation(c);
		us = (double)(now_ns() - from) / 1e3;
		c->sum += us;
		c->done++;
		bucket = us > 1 ? (int)(log(us) / log(1.01)) : 0;
		c->n[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
	}
	return NULL;
}

static void open_client(struct client *c, int i)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int one = 1;

	c->seed = mixed(base_seed * THREADS_MAX + i);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	c->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		die("connect");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c->in = fdopen(dup(c->fd), "r");
	if (!c->in)
		die("fdopen");
	if (!is_redis)
		postgres_greet(c);
}

static double quantile(const uint64_t *n, uint64_t total, double q)
{
	uint64_t seen = 0;
	int i;

	for (i = 0; i < BUCKETS - 1 && (double)(seen += n[i]) < q * (double)total; i++)
		;
	return pow(1.01, i + .5);
}

static void print(double took)
{
	uint64_t n[BUCKETS] = { 0 }, done = 0, errors = 0;
	double sum = 0;

	for (int i = 0; i < n_threads; i++) {
		for (int j = 0; j < BUCKETS; j++)
			n[j] += clients[i].n[j];
		done += clients[i].done;
		errors += clients[i].errors;
		sum += clients[i].sum;
	}
	printf("{\"n\": %" PRIu64 ", \"errors\": %" PRIu64
	       ", \"rate\": %.1f, \"mean\": %.1f, \"p50\": %.1f, \"p99\": %.1f, \"records\": %" PRIu64
	       "}\n",
	       done, errors, (double)done / took, sum / (double)(done ? done : 1),
	       quantile(n, done, .5), quantile(n, done, .99), loaded);
}

int main(int argc, char **argv)
{
	uint64_t begin;

	if (argc == 8)
		n_threads = (int)strtol(argv[4], NULL, 10);
	if (n_threads < 1 || n_threads > THREADS_MAX || !strchr("lABCDEF", argv[3][0])) {
		fprintf(stderr,
			"usage: ycsb redis|postgres PORT load|A|B|C|D|E|F THREADS RECORDS SECONDS SEED\n");
		return 1;
	}
	is_redis = strcmp(argv[1], "redis") == 0;
	port = (int)strtol(argv[2], NULL, 10);
	mix = argv[3][0];
	records = strtoull(argv[5], NULL, 10);
	seconds = strtod(argv[6], NULL);
	base_seed = strtoull(argv[7], NULL, 10);
	loaded = mix == 'l' ? 0 : records;
	zipf_start();
	for (int i = 0; i < n_threads; i++)
		open_client(&clients[i], i);
	begin = now_ns();
	end_ns = begin + (uint64_t)(seconds * 1e9);
	for (int i = 0; i < n_threads; i++)
		if (pthread_create(&clients[i].thread, NULL, run, &clients[i]) != 0)
			die("pthread_create");
	for (int i = 0; i < n_threads; i++)
		pthread_join(clients[i].thread, NULL);
	print((double)(now_ns() - begin) / 1e9);
	return 0;
}
