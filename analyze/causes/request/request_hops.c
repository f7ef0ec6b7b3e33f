// SPDX-License-Identifier: GPL-2.0-or-later
/* The way of a question and of its answer through network devices. */
#include "request_hops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEN_MAX 4096 /* sightings of a question; later ones are left out */

/* A segment at a device. */
struct seen {
	s64 ts, device;
	u32 seq, len;
	bool sends, far;
	char name[32];
};

struct sightings {
	struct seen *v;
	int n;
	s64 add;   /* to the times of one end's host */
	bool back; /* wanted: those of the answer */
	bool far;  /* of the host of the receiver, another one */
	bool one;  /* segment, as far as seen */
};

static int get_seen(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct sightings *all = arg;
	struct seen *s = &all->v[all->n];

	(void)e;
	if (all->n == SEEN_MAX)
		return 1;
	all->n++;
	s->ts = sqlite3_column_int64(q, 0) + all->add;
	s->device = sqlite3_column_int64(q, 1);
	s->sends = sqlite3_column_int(q, 2);
	s->far = all->far;
	s->seq = (u32)sqlite3_column_int64(q, 3);
	s->len = (u32)sqlite3_column_int64(q, 4);
	snprintf(s->name, sizeof(s->name), "%s", db_text(q, 5));
	return 0;
}

/* Those recorded for one end of the connection. */
static int load(struct sightings *all, sqlite3 *db, s64 pid, s64 fd, s64 from, s64 to,
		bool from_peer, struct err *e)
{
	static const char sql[] =
		"SELECT h.ts, h.device, h.sends, h.seq, h.len, coalesce(d.name, '?')"
		" FROM hop h LEFT JOIN net_device d ON d.id=h.device"
		" WHERE h.ts BETWEEN ?3 AND ?4 AND h.from_peer=?5 AND h.conn IN"
		" (SELECT x.conn FROM hop_end x JOIN fd f ON f.ino=x.ino AND f.local=x.local AND"
		" f.remote=x.remote WHERE f.pid=?1 AND f.fd=?2 AND f.ts <= ?4"
		" AND coalesce(f.\"end\", ?4) >= ?3) ORDER BY h.ts, h.rowid";

	return db_each(db, e, get_seen, all, sql, "iiiii", pid, fd, from - all->add, to - all->add,
		       (s64)from_peer);
}

static int by_time(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return (x->ts > y->ts) - (x->ts < y->ts);
}

static bool has_byte(const struct seen *s, u32 byte)
{
	return byte - s->seq < s->len;
}

/* Where the first byte was seen last: there its way ends. */
static const struct seen *last_of(const struct sightings *all, u32 byte)
{
	int i = all->n - 1;

	while (i > 0 && !has_byte(&all->v[i], byte))
		i--;
	return &all->v[i];
}

/* The last way of the byte that arrived last; since: when it was sent. */
static int follow(struct hop *hops, struct sightings *all, s64 since)
{
	const struct seen *end, *arrived = NULL, *s;
	u32 byte;
	int i, k, n = 0;

	if (!all->n)
		return 0;
	end = last_of(all, all->v[0].seq + all->v[0].len - 1);
	for (i = 0; i < all->n; i++)
		if (all->v[i].device == end->device && all->v[i].sends == end->sends)
			arrived = &all->v[i];
	byte = arrived->seq + arrived->len - 1;
	all->one = true;
	for (s = all->v; s <= arrived; s++) {
		if (!has_byte(s, byte)) {
			all->one = false;
			continue;
		}
		for (k = 0; k < n; k++) /* sent again: from there on its way is another */
			if (hops[k].id == s->device && hops[k].sends == s->sends)
				break;
		if (k == HOPS_MAX)
			break;
		all->one = all->one && k == n; /* of copies the first one arrives */
		n = k;
		hops[n] = (struct hop){
			.id = s->device, .sends = s->sends, .far = s->far, .ts = s->ts
		};
		hops[n].dur = n ? s->ts - hops[n - 1].ts : since ? s->ts - since : -1;
		if (!n && since && hops[n].dur < 0)
			hops[n].dur = 0; /* it was sent before the call returned */
		memcpy(hops[n++].device, s->name, sizeof(s->name));
	}
	return n;
}

/* A host sees its own devices only: those of the receiver's before the sender's last are too early.
 */
static int count_against(const struct hop *hops, int n)
{
	int ret = 0;

	while (n && hops[n - 1].far)
		n--;
	while (n)
		ret += hops[--n].far;
	return ret;
}

static int direction(struct hop *hops, int *n, struct sightings *all, sqlite3 *db,
		     const struct request_tree *t, const struct step *q, s64 since, struct err *e)
{
	const struct step *peer = request_tree_peer(t, q);
	const struct row_upstream *u = &q->question;
	const struct host_clock *host = host_of(&t->clocks, u->pid), *other;
	s64 from = u->first_send != BULK_NULL ? u->first_send : u->ts, to = u->ts + u->dur;
	int ret;

	other = peer ? host_of(&t->clocks, peer->request.pid) : host;
	all->n = 0;
	all->add = host->add;
	all->far = host != other && all->back;
	ret = load(all, db, u->pid, u->fd, from, to, all->back, e);
	if (ret == 0 && peer) {
		all->add = other->add;
		all->far = host != other && !all->back;
		ret = load(all, db, peer->request.pid, peer->request.fd, from, to, !all->back, e);
	}
	if (ret < 0)
		return ret;
	qsort(all->v, all->n, sizeof(*all->v), by_time);
	*n = follow(hops, all, since);
	return 0;
}

int request_hops_make(struct request_hops *ret, sqlite3 *db, const struct request_tree *t,
		      const struct step *question, struct err *e)
{
	const struct step *peer = request_tree_peer(t, question);
	const struct row_upstream *u = &question->question;
	struct sightings all = { .v = calloc(SEEN_MAX, sizeof(*all.v)) };
	s64 answered = peer ? peer->request.ts + peer->request.dur : 0;
	int r;

	memset(ret, 0, sizeof(*ret));
	ret->arrival = ret->receive = -1;
	if (!all.v)
		return err_set(e, ERR_FAIL, "out of memory for hops");
	r = direction(ret->there, &ret->n_there, &all, db, t, question, u->ts, e);
	ret->against_there = count_against(ret->there, ret->n_there);
	if (peer && ret->n_there)
		ret->arrival =
			peer->request.ts - peer->request.queued - ret->there[ret->n_there - 1].ts;
	/* of several segments the first one arrives before the last one is seen */
	ret->against_there +=
		peer && peer->request.arrival_is && all.one && ret->n_there && ret->arrival < 0;
	all.back = true;
	if (r == 0)
		r = direction(ret->back, &ret->n_back, &all, db, t, question, answered, e);
	ret->against_back = count_against(ret->back, ret->n_back);
	if (ret->n_back)
		ret->receive = u->ts + u->dur - ret->back[ret->n_back - 1].ts;
	free(all.v);
	return r;
}
