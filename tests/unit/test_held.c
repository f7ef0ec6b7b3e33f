// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/queues/verdict_held.c: a proxy whose connections to another server are kept for
 * clients that send nothing, and what only looks so.
 */
#include "tests/lib/pooled.h"

#define SECONDS	       6
#define CLIENTS_ASKING 6
#define POOL	       2

/* What happens in the middle of the recording for 2 s. */
struct middle {
	bool begins;	  /* two clients start a transaction, and send nothing */
	bool returns;	  /* they send again afterwards; else others have the connections */
	bool to_end;	  /* it lasts until the end */
	bool question;	  /* the server does not answer the transactions' last statement */
	bool spare;	  /* there is a third connection, without use */
	bool local;	  /* the connections are of Unix sockets, */
	const char *path; /* to this one; NULL: not known, only their numbers are */
};

struct run {
	struct pool_text x;
	long pos[CLIENTS];
};

static void begin(struct text *x, const struct middle *m)
{
	static const char *const names[] = { "Query SELECT", "Query BEGIN", "Query COMMIT" };
	char number[32];
	int i;

	text_line(x, "@recorder\n0 0 clock monotonic=1 realtime=1795345200000000001 boottime=1");
	text_line(x,
		  "1 0 info text=\"targets=all\"\n2 0 info text=\"groups=core,syscalls,requests\"");
	text_line(x, "3 100 thread pid=100 state=83 comm=\"proxy\"");
	for (i = 0; i < 3; i++)
		text_line(x, "4 0 request_name id=%d protocol=6 name=\"%s\"", i + 1, names[i]);
	for (i = 0; i < CLIENTS; i++)
		text_line(
			x,
			"5 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1 sport=80"
			" dport=%d daddr=10.0.0.9",
			10 + i, 1000 + i, 4000 + i);
	for (i = 0; i < POOL + m->spare && !m->local; i++)
		text_line(
			x,
			"5 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=3 socktype=1 sport=%d"
			" dport=5432 daddr=10.0.0.7",
			100 + i, 2000 + i, 5000 + i);
	for (i = 0; i < POOL + m->spare && m->local; i++) {
		snprintf(number, sizeof(number), "socket:[%d]", 2000 + i);
		text_line(x,
			  "5 100 fd pid=100 fd=%d mode=0140000 ino=%d family=1 role=3 socktype=1"
			  " path=\"%s\"",
			  100 + i, 2000 + i, m->path ? m->path : number);
	}
	text_line(x, "31 0 info text=\"begin=31\"\n@cpu 0");
	for (i = 0; i < CLIENTS; i++)
		text_line(x, "%d 0 connection sock=%d ino=%d conn=%d family=2 side=1", 40 + i,
			  i + 1, 1000 + i, i + 1);
}

static void reads(struct run *r, int c, int name, long at)
{
	pool_line(&r->x, at, "0 segment conn=%d pos=%ld len=10 unread=0", c + 1, r->pos[c]);
	pool_line(&r->x, at + 10000, "100 syscall nr=read fd=%d dur=1000 ret=10", 10 + c);
	pool_line(&r->x, at + 10000, "100 head conn=%d pos=%ld len=10 name=%d requests=1", c + 1,
		  r->pos[c], name);
	r->pos[c] += 10;
}

/* A request that is read at, asked then on a connection, and answered. */
static void serves(struct run *r, int c, int name, long at, long asked, int connection)
{
	reads(r, c, name, at);
	pool_line(&r->x, asked, "100 syscall nr=write fd=%d dur=1000 ret=10", 100 + connection);
	pool_line(&r->x, asked + POOL_MS, "100 syscall nr=read fd=%d dur=1000 ret=10",
		  100 + connection);
	pool_line(&r->x, asked + POOL_MS + 10000, "100 syscall nr=write fd=%d dur=1000 ret=20",
		  10 + c);
}

static void busy(struct run *r, long from, long to)
{
	long t = from;
	int i = 0;

	for (; t < to; t += 3 * POOL_MS, i++)
		serves(r, 2 + i % CLIENTS_ASKING, 1, t, t + 20000, i % POOL);
}

static sqlite3 *judged(struct middle m)
{
	long start = 2000 * POOL_MS, end = start + 2000 * POOL_MS, last = SECONDS * 1000 * POOL_MS;
	struct text x = { 0 };
	struct run r = { 0 };
	sqlite3 *db;
	int i, at;

	begin(&x, &m);
	r.x.v = calloc(POOL_LINES, sizeof(*r.x.v));
	busy(&r, POOL_MS, start - 20 * POOL_MS);
	for (i = 0; i < POOL; i++)
		serves(&r, i, m.begins ? 2 : 1, start + i * POOL_MS, start + i * POOL_MS + 20000,
		       i);
	for (i = 0; i < POOL && m.question; i++) {
		reads(&r, i, 1, start + (5 + i) * POOL_MS);
		pool_line(&r.x, start + (5 + i) * POOL_MS + 20000,
			  "100 syscall nr=write fd=%d dur=1000 ret=10", 100 + i);
	}
	for (i = 0; i < CLIENTS_ASKING; i++) {
		at = 10 + i;
		if (m.to_end)
			reads(&r, 2 + i, 1, start + at * POOL_MS);
		else
			serves(&r, 2 + i, 1, start + at * POOL_MS, end + (20 + 2 * i) * POOL_MS,
			       i % POOL);
	}
	for (i = 0; i < POOL && m.question && !m.to_end; i++) {
		pool_line(&r.x, end + i * POOL_MS, "100 syscall nr=read fd=%d dur=1000 ret=10",
			  100 + i);
		pool_line(&r.x, end + i * POOL_MS + 10000,
			  "100 syscall nr=write fd=%d dur=1000 ret=20", 10 + i);
	}
	for (i = 0; i < POOL && m.returns; i++)
		serves(&r, i, m.begins ? 3 : 1, end + (5 + 2 * i) * POOL_MS,
		       end + (5 + 2 * i) * POOL_MS + 20000, i);
	if (!m.to_end)
		busy(&r, end + 100 * POOL_MS, last - 20 * POOL_MS);
	db = pool_loaded(&x, &r.x, m.to_end ? end : last);
	analysed(db, "pauses");
	analysed(db, "verdict");
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem pauses");
	return db;
}

#define HELD(name, what) FINDING_VALUE("verdict_held", name, what)

static void connections_are_kept_for_silent_clients(void **state)
{
	static const struct middle all[] = {
		{ .begins = true, .returns = true },
		{ .begins = true, .to_end = true },
		{ .returns = true }, /* a pool by session: no transaction is seen */
		{ .begins = true, .returns = true, .local = true },
		{ .begins = true, .returns = true, .local = true, .path = "/run/db.sock" },
		{ .begins = true, .returns = true, .local = true, .path = "@db" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		sqlite3 *db = judged(all[i]);

		is_number(db, HELD("n", "v.number"), POOL);
		is_within(db, HELD("full", "v.number"), 95, 100);
		is_within(db, HELD("quiet", "v.number"), 1.9e9, 2.02e9);
		is_number(db, HELD("waited", "v.number"), CLIENTS_ASKING);
		is_within(db, HELD("queued", "v.number"), 1.9e9, 2.02e9);
		is_number(db, HELD("others", "v.number"), 1);
		is_text(db, HELD("client", "substr(v.text, 1, 12)"), "10.0.0.9:400");
		is_number(db, HELD("transaction", "count(v.text)"), all[i].begins);
		is_text(db,
			"SELECT f.remote FROM finding_value v JOIN fd f ON f.rowid=v.id WHERE v.name='upstream'",
			all[i].path    ? all[i].path
			: all[i].local ? ""
				       : "10.0.0.7:5432");
		is_number(db, FINDING_VALUE("pause_cause", "upstream", "count(v.text)"), 0);
		db_close(db);
	}
}

/* The server has questions; a connection is left; other clients use the connections first. */
static void what_only_looks_so(void **state)
{
	static const struct middle all[] = {
		{ .begins = true, .returns = true, .question = true },
		{ .begins = true, .to_end = true, .question = true },
		{ .begins = true, .returns = true, .spare = true },
		{ .begins = true, .returns = true, .spare = true, .local = true },
		{ .begins = false, .returns = false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		sqlite3 *db = judged(all[i]);

		is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_held'", 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(connections_are_kept_for_silent_clients),
		T(what_only_looks_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
