// SPDX-License-Identifier: GPL-2.0-or-later
/* Following a request from server to server. */
#include "request_tree.h"

#include "analyze/store/other_end.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUESTIONS_MAX 1000 /* of a thread while a request lasts */

enum happening { RECEIVED, ANSWERED, ASKED };

/* What threads did while a request lasted, one after the other. */
struct thread_doings {
	s64 request;  /* the one that is followed */
	bool current; /* what this thread received last belongs to it */
	struct asked {
		s64 id, ts;
		bool ours;
	} asked[QUESTIONS_MAX];
	int n;
	bool cut;
};

static int take_doing(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct thread_doings *t = arg;
	s64 id = sqlite3_column_int64(q, 1);
	int i;

	(void)e;
	switch ((enum happening)sqlite3_column_int(q, 0)) {
	case RECEIVED:
		t->current = id == t->request;
		break;
	case ASKED:
		t->cut |= t->n == QUESTIONS_MAX;
		if (t->n < QUESTIONS_MAX) {
			t->asked[t->n++] =
				(struct asked){ id, sqlite3_column_int64(q, 2), t->current };
		}
		break;
	case ANSWERED:
		for (i = t->n - 1; i >= 0 && t->asked[i].id != id; i--)
			;
		t->current = i >= 0 && t->asked[i].ours;
		break;
	}
	return 0;
}

/*
 * What this thread asked for the request. Of requests that another thread received it takes over
 * one after the other: each when it has answered the one before.
 */
static int questions_of(struct thread_doings *t, sqlite3 *db, const struct row_request *r, s64 tid,
			struct err *e)
{
	static const char sql[] =
		"SELECT 0 AS what, rowid AS id, ts FROM request"
		" WHERE pid=?1 AND coalesce(receiver, tid)=?2 AND ts BETWEEN ?3 AND ?4"
		" UNION ALL SELECT 0, id, max(ts, coalesce(lag(end) OVER (ORDER BY end), 0))"
		" FROM (SELECT rowid AS id, ts, ts + dur AS end FROM request WHERE pid=?1"
		" AND tid=?2 AND receiver IS NOT NULL AND ts <= ?4 AND ts + dur >= ?3)"
		" UNION ALL SELECT 1, rowid, ts + dur FROM upstream"
		" WHERE pid=?1 AND tid=?2 AND ts <= ?4 AND ts + dur BETWEEN ?3 AND ?4"
		" UNION ALL SELECT 2, rowid, ts FROM upstream"
		" WHERE pid=?1 AND coalesce(asker, tid)=?2 AND ts BETWEEN ?3 AND ?4"
		" ORDER BY ts, what";

	t->current = false;
	return db_each(db, e, take_doing, t, sql, "iiii", r->pid, tid, r->ts, r->ts + r->dur);
}

static int by_time(const void *a, const void *b)
{
	const struct asked *x = a, *y = b;

	return (x->ts > y->ts) - (x->ts < y->ts);
}

/* Which questions were asked for this request, in order of time, and how many others there were. */
static int all_questions(struct thread_doings *t, sqlite3 *db, struct step *s, struct err *e)
{
	static const char others[] =
		"SELECT count(*) FROM upstream WHERE pid=?1 AND ts >= ?2 AND ts + dur <= ?3"
		" AND coalesce(asker, tid) NOT IN"
		" (SELECT tid FROM request WHERE pid=?1 AND ts <= ?3 AND ts + dur >= ?2"
		" UNION SELECT receiver FROM request WHERE pid=?1 AND ts <= ?3 AND ts + dur >= ?2"
		" AND receiver IS NOT NULL UNION SELECT tid FROM unanswered WHERE pid=?1 AND ts <= ?3"
		" AND tid IS NOT NULL)";
	const struct row_request *r = &s->request;
	int ret = 0;

	t->request = s->id;
	if (r->receiver != BULK_NULL)
		ret = questions_of(t, db, r, r->receiver, e);
	if (ret == 0)
		ret = questions_of(t, db, r, r->tid, e);
	if (t->n)
		qsort(t->asked, t->n, sizeof(t->asked[0]), by_time);
	return ret < 0 ? ret
		       : db_int(db, &s->of_others, e, others, "iii", r->pid, r->ts, r->ts + r->dur);
}

static int get_request(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct step *s = arg;

	(void)e;
	row_get(q, request, &s->request);
	s->is_request = true;
	return 1;
}

static int get_state(void *arg, sqlite3_stmt *q, struct err *e)
{
	s64 state = sqlite3_column_int64(q, 0), *states = arg;

	(void)e;
	if (state > STATE_run && state < N_STATES)
		states[state] += sqlite3_column_int64(q, 1);
	return 0;
}

static int get_states(struct step *s, sqlite3 *db, struct err *e)
{
	int ret = db_each(db, e, get_state, s->queue,
			  "SELECT state, dur FROM request_queue WHERE request=?1", "i", s->id);

	return ret < 0 ? ret
		       : db_each(db, e, get_state, s->waits,
				 "SELECT state, dur FROM request_wait WHERE request=?1", "i",
				 s->id);
}

static int get_question(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct step *s = arg;

	(void)e;
	row_get(q, upstream, &s->question);
	return 1;
}

/* The process and descriptor at the other end of a question's connection. */
struct end {
	s64 pid, fd;
	s64 before; /* last answer received on this connection before the question, or 0 */
	char translated[80];
};

static int get_end(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct end *end = arg;

	(void)e;
	end->pid = sqlite3_column_int64(q, 0);
	end->fd = sqlite3_column_int64(q, 1);
	end->before = sqlite3_column_int64(q, 2);
	snprintf(end->translated, sizeof(end->translated), "%s", db_text(q, 3));
	return 1;
}

#define PORT(address) "substr(" address ", length(rtrim(" address ", '0123456789')))"

/* One port can have connections to several servers: the end of none of these. */
#define NOT_OF_ANOTHER                                                 \
	" AND NOT EXISTS (SELECT 1 FROM fd x WHERE x.role='connected'" \
	" AND x.local=o.remote AND x.remote=o.local)"

/*
 * Addresses are the same text at both ends, unless something translates one of them: the server's
 * (the client's address and port are the same), or the client's (its port is the same). Loopback
 * addresses are those of one host.
 */
#define END_OF_CLIENT                                                                               \
	"SELECT o.pid, o.fd, coalesce((SELECT max(p.ts + p.dur) FROM upstream p"                    \
	" WHERE p.pid=?1 AND p.fd=?2 AND p.ts < ?3), 0), %s"                                        \
	" FROM (SELECT local, remote FROM fd WHERE pid=?1 AND fd=?2 AND ts <= ?3"                   \
	" ORDER BY ts DESC LIMIT 1) m JOIN fd o ON %s"                                              \
	" WHERE m.remote<>'' AND o.role='accepted' AND o.ts <= ?4 + ?7"                             \
	" AND coalesce(o.end, ?4 + ?7) >= ?3 - ?7 AND (o.pid > ?5 AND o.pid < ?6 OR " OFF_LOOPBACK( \
		"m.remote") ")"                                                                     \
			    " ORDER BY o.pid > ?5 AND o.pid < ?6 DESC, o.ts DESC LIMIT 1"

static const struct {
	const char *translated, *matches;
} ends[] = {
	{ "''", "o.local=m.remote AND o.remote=m.local" },
	{ "o.local", "o.remote=m.local" NOT_OF_ANOTHER },
	{ "o.remote", "o.local=m.remote AND " PORT("o.remote") "=" PORT("m.local") NOT_OF_ANOTHER },
};

/* By how much clocks of hosts may differ before they are corrected. */
static s64 slack(const struct host_clocks *c)
{
	s64 ret = 0, one;
	int i;

	for (i = 0; i < c->n; i++) {
		one = llabs(c->v[i].add) + c->v[i].error;
		ret = one > ret ? one : ret;
	}
	return ret;
}

static int find_end(struct end *end, const struct request_tree *t, sqlite3 *db,
		    const struct row_upstream *u, struct err *e)
{
	s64 low, high;
	char sql[1000];
	size_t i;
	int ret = 0;

	host_pids(&t->clocks, u->pid, &low, &high);
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]) && ret == 0 && !end->pid; i++) {
		snprintf(sql, sizeof(sql), END_OF_CLIENT, ends[i].translated, ends[i].matches);
		ret = db_each(db, e, get_end, end, sql, "iiiiiii", u->pid, u->fd, u->ts,
			      u->ts + u->dur, low, high, slack(&t->clocks));
	}
	return ret;
}

/* The row of the peer's request; 0: see s->end. */
static int peer_request(s64 *ret, const struct request_tree *t, sqlite3 *db, struct step *s,
			struct err *e)
{
	/* of several hosts: as far as the error of the clocks allows, the one of the same size */
	static const char sql[] =
		"SELECT rowid FROM request WHERE pid=?1 AND fd=?2 AND ts > ?3 - ?5 AND ts < ?4 + ?5"
		" AND (?5=0 OR coalesce(first_send, ts) <= ?4 + ?5)"
		" ORDER BY ?5>0 AND recv_bytes=?6 DESC, ts DESC LIMIT 1";
	const struct row_upstream *u = &s->question;
	const struct host_clock *mine = host_of(&t->clocks, u->pid), *peers;
	struct end end = { 0 };
	int r = find_end(&end, t, db, u, e);
	s64 shift;

	*ret = 0;
	if (r < 0)
		return r;
	s->end = end.pid ? PATH_NO_REQUEST : PATH_NO_PROCESS;
	if (!end.pid)
		return 0;
	memcpy(s->translated, end.translated, sizeof(s->translated));
	peers = host_of(&t->clocks, end.pid);
	shift = mine->add - peers->add;
	return db_int(db, ret, e, sql, "iiiiii", end.pid, end.fd, end.before + shift,
		      u->ts + u->dur + shift, mine == peers ? 0 : mine->error + peers->error,
		      u->send_bytes);
}

static int open_requests(int *ret, sqlite3 *db, const struct step *s, s64 request, struct err *e)
{
	s64 n = 0;
	int r = db_int(db, &n, e,
		       "SELECT count(*) FROM request WHERE pid=?1 AND tid=?2 AND ts <= ?3"
		       " AND ts + dur > ?3 AND rowid <> ?4",
		       "iiii", s->question.pid, s->question.tid, s->question.ts, request);

	*ret = n;
	return r;
}

static struct step *add_step(struct request_tree *t, int depth, s64 id)
{
	struct step *s = &t->v[t->n];

	t->cut |= t->n == TREE_STEPS_MAX;
	if (t->n == TREE_STEPS_MAX)
		return NULL;
	t->n++;
	*s = (struct step){ .depth = depth, .id = id };
	return s;
}

static bool is_in(const struct request_tree *t, s64 request)
{
	int i;

	for (i = 0; i < t->n; i++)
		if (t->v[i].is_request && t->v[i].id == request)
			return true;
	return false;
}

/* A loopback delivers before the send returns: that direction took no time then. */
static s64 network_time(const struct row_upstream *u, const struct row_request *r)
{
	s64 there = r->ts - r->queued - u->ts, back = u->ts + u->dur - (r->ts + r->dur);

	return (there > 0 ? there : 0) + (back > 0 ? back : 0);
}

static int add_request(struct request_tree *t, sqlite3 *db, int depth, s64 id, struct err *e);

static int add_question(struct request_tree *t, sqlite3 *db, int depth, s64 id, s64 of,
			struct err *e)
{
	struct step *s = add_step(t, depth, id);
	s64 request = 0;
	int ret;

	if (!s)
		return 0;
	ret = db_each(db, e, get_question, s, "SELECT * FROM upstream WHERE rowid=?1", "i", id);
	if (ret == 0)
		ret = open_requests(&s->others, db, s, of, e);
	if (ret == 0)
		ret = peer_request(&request, t, db, s, e);
	if (ret < 0 || !request)
		return ret;
	s->end = is_in(t, request)	       ? PATH_SEEN
		 : depth + 1 >= TREE_DEPTH_MAX ? PATH_TOO_DEEP
					       : PATH_FOLLOWED;
	if (s->end != PATH_FOLLOWED || t->n == TREE_STEPS_MAX)
		return 0;
	return add_request(t, db, depth + 1, request, e);
}

static int add_request(struct request_tree *t, sqlite3 *db, int depth, s64 id, struct err *e)
{
	struct step *s = add_step(t, depth, id);
	struct thread_doings *doings;
	int i, ret;

	if (!s)
		return 0;
	ret = db_each(db, e, get_request, s, "SELECT * FROM request WHERE rowid=?1", "i", id);
	if (ret == 0 && !s->is_request)
		return err_set(e, ERR_FAIL, "there is no request %lld", (long long)id);
	doings = calloc(1, sizeof(*doings));
	if (!doings)
		return err_set(e, ERR_FAIL, "out of memory for a request");
	if (ret == 0)
		ret = get_states(s, db, e);
	if (ret == 0)
		ret = all_questions(doings, db, s, e);
	t->cut |= doings->cut;
	for (i = 0; i < doings->n && ret == 0; i++)
		if (doings->asked[i].ours)
			ret = add_question(t, db, depth + 1, doings->asked[i].id, id, e);
	free(doings);
	return ret;
}

const struct step *request_tree_peer(const struct request_tree *t, const struct step *question)
{
	const struct step *peer = question + 1;

	return question->end == PATH_FOLLOWED && peer < t->v + t->n && peer->is_request ? peer
											: NULL;
}

/* All times on one clock. */
static void place(struct request_tree *t)
{
	const struct host_clock *h;
	const struct step *peer;
	struct step *s;
	int i;

	for (i = 0; i < t->n; i++) {
		s = &t->v[i];
		h = host_of(&t->clocks, s->is_request ? s->request.pid : s->question.pid);
		s->request.ts += h->add;
		s->question.ts += h->add;
		if (s->request.first_send != BULK_NULL)
			s->request.first_send += h->add;
		if (s->question.first_send != BULK_NULL)
			s->question.first_send += h->add;
	}
	for (i = 0; i < t->n; i++) {
		s = &t->v[i];
		peer = s->is_request ? NULL : request_tree_peer(t, s);
		if (peer)
			s->network = network_time(&s->question, &peer->request);
	}
}

int request_tree_make(struct request_tree *ret, sqlite3 *db, s64 id, struct err *e)
{
	s64 around = 0;
	int got = db_int(db, &around, e, "SELECT ts FROM request WHERE rowid=?1", "i", id);

	ret->n = 0;
	ret->cut = false;
	if (got == 0)
		got = host_clocks_make(&ret->clocks, db, around, e);
	if (got == 0)
		got = add_request(ret, db, 0, id, e);
	if (got == 0)
		place(ret);
	return got;
}

int request_tree_slowest(s64 *ret, sqlite3 *db, const char *name, struct err *e)
{
	return db_int(db, ret, e,
		      "SELECT rowid FROM request WHERE ?1 IS NULL OR name IN"
		      " (SELECT id FROM request_name WHERE name=?1)"
		      " ORDER BY lossy, dur + queued DESC LIMIT 1",
		      "s", name);
}

static void offer(struct part *best, enum part_kind kind, int step, enum state state, s64 ns)
{
	if (ns > best->ns)
		*best = (struct part){ kind, step, state, ns };
}

/* What it asked explains its waits for others' answers. */
static void offer_waits(struct part *best, const struct request_tree *t, int i)
{
	/* in which a thread waits for an answer */
	static const enum state asking[] = { STATE_client, STATE_poll, STATE_socket };
	const struct step *s = &t->v[i];
	s64 waits[N_STATES], asked = 0, run = s->request.dur, part;
	size_t k;
	int j;

	memcpy(waits, s->waits, sizeof(waits));
	for (j = i + 1; j < t->n && t->v[j].depth > s->depth; j++)
		asked += t->v[j].depth == s->depth + 1 && !t->v[j].is_request ? t->v[j].question.dur
									      : 0;
	for (k = 0; k < N_STATES; k++)
		run -= waits[k];
	for (k = 0; k < sizeof(asking) / sizeof(asking[0]); k++) {
		part = asked < waits[asking[k]] ? asked : waits[asking[k]];
		waits[asking[k]] -= part;
		asked -= part;
	}
	if (s->request.split == 1)
		offer(best, PART_CPU, i, STATE_run, run);
	for (k = 0; k < N_STATES; k++)
		offer(best, PART_WAIT, i, (enum state)k, waits[k]);
}

struct part request_tree_longest(const struct request_tree *t)
{
	struct part best = { 0 };
	const struct step *s;
	int i;

	for (i = 0; i < t->n; i++) {
		s = &t->v[i];
		if (s->is_request) {
			offer(&best, PART_QUEUE, i, STATE_run, s->request.queued);
			offer_waits(&best, t, i);
		} else if (s->end == PATH_FOLLOWED) {
			offer(&best, PART_NETWORK, i, STATE_run, s->network);
		} else {
			offer(&best, PART_PEER, i, STATE_run, s->question.dur);
		}
	}
	return best;
}
