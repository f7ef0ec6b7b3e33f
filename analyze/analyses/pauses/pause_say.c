// SPDX-License-Identifier: GPL-2.0-or-later
/* What the threads of pauses did: the findings below that of the pauses. */
#include "analyze/analyses/waits/cpu_quota.h"
#include "pause_answered.h"
#include "pause_contender.h"
#include "pause_root.h"

#include "analyze/store/error_names.h"
#include "format/buf.h"

#include <string.h>

/* Of the pauses that count, the states of their threads; and the request of the longest. */
#define MOST 50.0 /* %, of the pauses */
#define STATES                                                                                 \
	"run, woken + preempted, works * futex, disk, blocked, client, works * poll + socket," \
	" pipe, works * timer, child, lock, stopped, other"
/* works 0: in these states it waits for work of a runtime with green threads. */
#define PAUSES \
	"(SELECT *, NOT EXISTS (SELECT 1 FROM thread t WHERE t.tid=p.tid AND green) AS works FROM pause p)"

enum did {
	DID_run,
	DID_runq,
	DID_futex,
	DID_disk,
	DID_blocked,
	DID_client,
	DID_input,
	DID_pipe,
	DID_timer,
	DID_child,
	DID_lock,
	DID_stopped,
	DID_other,
	N_DID
};

/* A second state is said too if it has this part of the time of the largest. */
#define NOTABLE (1.0 / 3)

/* Next to another cause, or where threads serve any request, states of less of the pauses are none.
 */
#define CAUSE_LEAST 25.0 /* % */

#define ROOT_FIRST 50 /* %, of the pause: such an end of its chain is said first */

struct pause_cause {
	double spent[N_DID], total;
	s64 id, tid, pid, partner, fd, request_ts, client, received, sent;
	bool request, green;
	int largest, same, n;
	int second; /* with a third of the largest or more; N_DID: none */
	struct buf peer, call, function, name, failed;
	const char *did; /* the waker, for most of the first pause; NULL: not known */
	double did_ns;
	double others; /* threads with a request that were in the same state */
	double in_function, samples;
	bool in_longest; /* of several pauses: these samples are of the longest one */
	bool on_file;	 /* calls on a file are most of them, and said */
	struct buf ids;	 /* of the pauses, as JSON */
	struct pause_contender contender;
	struct quota quota; /* of the longest */
	struct pause_upstream upstream;
	struct pause_root root;
};

static const char *const did_says[N_DID] = {
	"on CPU",
	"waiting for a CPU",
	"waiting for a futex",
	"waiting for a disk",
	"uninterruptible (D)",
	"waiting for an upstream",
	"waiting for input",
	"waiting for a pipe",
	"sleeping until a timer",
	"waiting for a child process",
	"waiting for a file lock",
	"stopped by a signal, a debugger or the cgroup freezer",
	"sleeping",
};

static int read_states(struct analysis_ctx *c, const struct judged *j, struct pause_cause *p,
		       struct err *e)
{
	static const char sql[] =
		"SELECT " STATES
		", dur, tid, pid, partner, request, fd, request_ts, peer, recv_bytes,"
		" send_bytes, id, works FROM " PAUSES
		" WHERE server=?1 AND id IN (SELECT value FROM json_each(?2))"
		" ORDER BY id";
	int largest[JUDGED_PAUSES], i, k, ret;
	sqlite3_stmt *q = NULL;

	ret = buf_printf(&p->ids, e, "[0");
	for (i = 0; i < j->n_pauses && ret == 0; i++)
		if (j->pauses[i].counts)
			ret = buf_printf(&p->ids, e, ",%lld", (long long)j->pauses[i].id);
	if (ret == 0)
		ret = buf_printf(&p->ids, e, "]");
	if (ret == 0)
		ret = db_query(&q, c->db, e, sql, "is",
			       j->about.kind == SUBJECT_server ? j->about.id : 0, p->ids.data);
	while (ret >= 0 && p->n < JUDGED_PAUSES && (ret = db_step(q, e)) > 0) {
		largest[p->n] = 0;
		for (k = 0; k < N_DID; k++) {
			p->spent[k] += sqlite3_column_double(q, k);
			if (sqlite3_column_double(q, k) > sqlite3_column_double(q, largest[p->n]))
				largest[p->n] = k;
		}
		p->total += sqlite3_column_double(q, N_DID);
		if (p->n++)
			continue;
		p->tid = sqlite3_column_int64(q, N_DID + 1);
		p->pid = sqlite3_column_int64(q, N_DID + 2);
		p->partner = sqlite3_column_int64(q, N_DID + 3);
		p->request = sqlite3_column_type(q, N_DID + 4) != SQLITE_NULL;
		p->fd = sqlite3_column_int64(q, N_DID + 5);
		p->request_ts = sqlite3_column_int64(q, N_DID + 6);
		p->client = sqlite3_column_int64(q, N_DID + 7);
		p->received = sqlite3_column_int64(q, N_DID + 8);
		p->sent = sqlite3_column_int64(q, N_DID + 9);
		p->id = sqlite3_column_int64(q, N_DID + 10);
		p->green = !sqlite3_column_int(q, N_DID + 11);
	}
	sqlite3_finalize(q);
	for (k = 0; k < N_DID; k++)
		p->largest = p->spent[k] > p->spent[p->largest] ? k : p->largest;
	p->second = N_DID;
	for (k = 0; k < N_DID; k++)
		if (k != p->largest && p->spent[k] >= NOTABLE * p->spent[p->largest] &&
		    p->spent[k] > (p->second < N_DID ? p->spent[p->second] : 0))
			p->second = k;
	/* what waits for a CPU is what it runs there */
	if (p->green && p->largest == DID_runq && p->second == N_DID && p->spent[DID_run] > 0)
		p->second = DID_run;
	for (i = 0; i < p->n; i++)
		p->same += largest[i] == p->largest;
	return ret < 0 ? ret : 0;
}

/* What the waker did for most of the first pause. */
static int read_waker(struct analysis_ctx *c, const struct judged *j, struct pause_cause *p,
		      struct err *e)
{
	static const char sql[] =
		"WITH p AS (SELECT ts, dur FROM pause WHERE server=?1 AND partner=?2 ORDER BY id LIMIT 1)"
		" SELECT s.state, sum(min(s.ts + s.dur, p.ts + p.dur) - max(s.ts, p.ts)) AS ns FROM p JOIN"
		" thread_state s ON s.tid=?2 AND s.ts < p.ts + p.dur AND s.ts + s.dur > p.ts"
		" GROUP BY s.state ORDER BY ns DESC LIMIT 1";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "ii",
			   j->about.kind == SUBJECT_server ? j->about.id : 0, p->partner);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0 && sqlite3_column_int(q, 0) >= 0 && sqlite3_column_int(q, 0) < N_STATES) {
		p->did_ns = sqlite3_column_double(q, 1);
		p->did = verdict_does[sqlite3_column_int(q, 0)];
	}
	return db_end(q, ret);
}

/* The client with its port, as its socket has it; and the longest system call of that pause. */
static int read_names(struct analysis_ctx *c, const struct judged *j, struct pause_cause *p,
		      struct err *e)
{
	static const char peer[] =
		"SELECT coalesce(nullif((SELECT remote FROM fd WHERE pid=?1 AND fd=?2 AND ts <= ?3"
		" ORDER BY ts DESC LIMIT 1), ''), (SELECT nullif(address, '') FROM client WHERE id=?4))";
	static const char name[] =
		"SELECT n.name FROM request r JOIN request_name n ON n.id=r.name WHERE r.pid=?1 AND r.fd=?2"
		" AND r.ts=?3";
	static const char call[] =
		"SELECT n.name FROM pause p JOIN syscall_name n USING(abi, nr) WHERE p.id=?1"
		" AND 2 * call > dur";
	static const char failed[] =
		"SELECT code || coalesce(' (' || (SELECT name FROM " LOCK_ERRORS
		" x WHERE x.code=f.code) || ')', '') FROM (SELECT " ERROR_CODE_OF
		" AS code FROM pause p JOIN request_error e ON e.pid=p.pid AND e.client=p.peer AND e.ts BETWEEN"
		" p.request_ts AND p.request_ts + p.request_dur WHERE p.id=?1 LIMIT 1) f";
	int ret = 0;

	if (p->request)
		ret = db_add_text(&p->failed, c->db, e, failed, "i", p->id);
	if (ret == 0 && p->request)
		ret = db_add_text(&p->peer, c->db, e, peer, "iiii", p->pid, p->fd, p->request_ts,
				  p->client);
	if (ret == 0 && p->request)
		ret = db_add_text(&p->name, c->db, e, name, "iii", p->pid, p->fd, p->request_ts);
	if (ret == 0)
		ret = db_add_text(&p->call, c->db, e, call, "i", p->id);
	return ret < 0 || p->partner <= 0 ? ret : read_waker(c, j, p, e);
}

/* What it ran in all pauses; if that is not what it ran in the longest one, this one. */
static int read_function(struct analysis_ctx *c, const struct judged *j, struct pause_cause *p,
			 struct err *e)
{
	const struct judged_pause *longest = judged_longest(j);
	struct judged_pause copy = longest ? *longest : (struct judged_pause){ 0 };
	const struct judged one = { .pauses = &copy, .n_pauses = 1 };
	struct buf function = { 0 };
	double part = 0, samples = 0;
	int ret = pause_stack(&p->function, &p->in_function, &p->samples, c->db, j, p->tid, e);

	if (ret == 0 && p->n > 1)
		ret = pause_stack(&function, &part, &samples, c->db, &one, p->tid, e);
	p->in_longest =
		function.len && (!p->function.len || strcmp(function.data, p->function.data) != 0);
	if (p->in_longest) {
		buf_free(&p->function);
		p->function = function;
		p->in_function = part;
		p->samples = samples;
	} else {
		buf_free(&function);
	}
	return ret;
}

/* The quota that explains why the thread of the longest pause waited for a CPU. */
static int read_quota(struct analysis_ctx *c, struct pause_cause *p, struct err *e)
{
	s64 from = 0, to = 0;
	int ret = db_int(c->db, &from, e, "SELECT ts FROM pause WHERE id=?", "i", p->id);

	if (ret == 0)
		ret = db_int(c->db, &to, e, "SELECT ts + dur FROM pause WHERE id=?", "i", p->id);
	if (ret == 0)
		ret = quota_read(&p->quota, c->db, p->pid, p->pid, from, to, e);
	if (!p->quota.explains)
		p->quota.cgroup = 0;
	return ret;
}

/* Why it waited for a CPU. */
static int read_queued(struct analysis_ctx *c, const struct judged *j, struct pause_cause *p,
		       struct err *e)
{
	int ret = read_quota(c, p, e);

	return ret < 0 || p->quota.cgroup
		       ? ret
		       : pause_contender(c->db, j, p->ids.data, p->pid, &p->contender, e);
}

/* %, of the pauses; NAN: there are none. */
static double largest_share(const struct pause_cause *p)
{
	double spent = p->spent[p->largest] + (p->upstream.address.len ? p->spent[DID_input] : 0);

	return p->total > 0 ? 100 * fmin(spent / p->total, 1) : NAN;
}

static double second_share(const struct pause_cause *p)
{
	return p->second < N_DID ? 100 * p->spent[p->second] / p->total : NAN;
}

static int explains_little(bool *ret, sqlite3 *db, const struct judged *j,
			   const struct pause_cause *p, struct err *e)
{
	s64 said = 0; /* 1: something; 2: why connections are not accepted */
	int err = db_int(
		db, &said, e,
		"SELECT max(1 + (kind IN ('verdict_kept_then', 'verdict_open_limit'))) FROM finding WHERE parent=?1 AND parent > 0",
		"i", j->finding);

	*ret = (said || p->green) && largest_share(p) + fmax(second_share(p), 0) < CAUSE_LEAST;
	*ret |= said > 1 && p->largest == DID_input;
	return err;
}

/* The request with a name in which the waker released a lock; 0: none. */
static s64 released_in(const struct pause_cause *p)
{
	const struct release *r = &p->root.release;

	return r->request && r->waker == p->partner && r->name ? r->request : 0;
}

static const char *text_of(const struct buf *b)
{
	return b->len ? b->data : NULL;
}

static const char *call_of(const struct pause_cause *p, bool exact, bool file)
{
	if (file)
		return text_of(&p->root.calls);
	/* "in futex" says no more than the state, where the caller is known */
	if (p->root.caller.len && (exact || p->largest == DID_input || p->largest == DID_futex))
		return NULL;
	return p->largest == DID_runq || p->on_file ? NULL : text_of(&p->call);
}

static int put_pause_cause(struct analysis_ctx *c, const struct judged *j, struct pause_cause *p,
			   struct err *e)
{
	bool runq = p->largest == DID_runq, cpu = p->largest == DID_run;
	bool input = p->largest == DID_input;
	bool file = p->largest == DID_other && p->root.file.len;
	bool exact = p->root.wait && (input || p->largest == DID_pipe || file);
	bool waker = p->partner > 0 && !cpu && !runq;
	const struct pause_root *r = &p->root;
	bool did = p->did && !cpu && !runq && r->tid <= 0; /* else the chain's end says it */
	const struct pause_upstream *u = &p->upstream;
	const struct value values[] = {
		VALUE_SUBJECT("thread", thread, p->tid),
		VALUE_NUMBER("share", largest_share(p), "%"),
		VALUE_TEXT("state", exact ? r->wait : did_says[p->largest]),
		VALUE_TEXT("second", p->second < N_DID ? did_says[p->second] : NULL),
		VALUE_NUMBER("second_share", second_share(p), "%"),
		VALUE_TEXT(r->sends ? "to" : "from", exact ? text_of(&r->of) : NULL),
		VALUE_NUMBER("others", p->others > 0 ? p->others : NAN, ""),
		VALUE_TEXT("caller", text_of(&r->caller)),
		VALUE_TEXT("which", p->n > 1 ? "the pauses" : "the pause"),
		VALUE_NUMBER("same", p->n > 1 ? p->same : NAN, ""),
		VALUE_NUMBER("count", p->n > 1 ? p->n : NAN, ""),
		VALUE_TEXT("request", p->name.len ? p->name.data : "request"),
		VALUE_TEXT("client", text_of(&p->peer)),
		VALUE_NUMBER("in", p->request ? (double)p->received : NAN, "bytes"),
		VALUE_NUMBER("out", p->request ? (double)p->sent : NAN, "bytes"),
		VALUE_TEXT("failed", text_of(&p->failed)),
		VALUE_TEXT(cpu ? "function" : "computing", text_of(&p->function)),
		VALUE_NUMBER("part", p->function.len ? 100 * p->in_function : NAN, "%"),
		VALUE_NUMBER("samples", p->function.len ? p->samples : NAN, ""),
		VALUE_TEXT("sampled", p->in_longest ? "the longest pause" : NULL),
		VALUE_TEXT("call", call_of(p, exact, file)),
		VALUE_TEXT("file", file ? text_of(&r->file) : NULL),
		VALUE_TEXT("filesystem", file ? text_of(&r->filesystem) : NULL),
		VALUE_TEXT("reason", r->reason),
		VALUE_MAYBE("released", request, waker ? released_in(p) : 0),
		VALUE_TEXT("did", did ? p->did : NULL),
		VALUE_NUMBER("did_ns", did ? p->did_ns : NAN, "ns"),
		VALUES_UPSTREAM(u, text_of(&u->address)),
		VALUE_TEXT("peer_function", text_of(&u->function)),
		VALUE_MAYBE("quota", cgroup, p->quota.cgroup),
		VALUE_NUMBER("throttled", p->quota.cgroup ? p->quota.throttled : NAN, ""),
		VALUE_NUMBER("periods", p->quota.cgroup ? p->quota.periods : NAN, ""),
		VALUE_TEXT("before", input ? text_of(&r->before) : NULL),
		VALUE_WHO("contender", p->contender.of),
		VALUE_NUMBER("contender_processes", p->contender.processes, ""),
		VALUE_NUMBER("contender_share", p->contender.share, "%"),
		VALUE_TEXT("contender_function", text_of(&p->contender.function)),
		VALUE_MAYBE("forked_by", process, p->contender.forked_by),
		VALUE_MAYBE("waker", thread, waker ? p->partner : 0),
		{ 0 },
	};
	struct finding f = { FINDING_pause_cause, PROBLEM, OBSERVED, j->about, NULL, values,
			     j->finding };

	if (!(largest_share(p) > 0))
		return 0;
	f.evidence = runq && p->quota.cgroup ? OVERLAP : waker ? CAUSAL : OBSERVED;
	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

/* No thread that was seen, nor a request that one of them worked on, is why. */
static bool is_unexplained(const struct pause_cause *p)
{
	return p->root.tid <= 0 && !p->upstream.address.len &&
	       (p->largest == DID_futex || (!p->request && largest_share(p) < MOST));
}

/* The pause whose chain is followed: the longest, or where the thread waits for a futex, as it does
 * in most of them, the one with most of that. */
static int choose_pause(struct judged_pause *ret_one, sqlite3 *db, const struct judged *j,
			const struct pause_cause *p, struct err *e)
{
	static const char sql[] = "SELECT id FROM pause WHERE counts AND tid=?1 AND server=?2 AND"
				  " futex > 0 ORDER BY futex DESC, id LIMIT 1";
	const struct judged_pause *longest = judged_longest(j);
	s64 id = longest->id;
	int i, ret = p->largest == DID_futex && j->about.kind == SUBJECT_server
			     ? db_int(db, &id, e, sql, "ii", p->tid, j->about.id)
			     : 0;

	*ret_one = *longest;
	for (i = 0; i < j->n_pauses && ret == 0; i++)
		if (j->pauses[i].id == id)
			*ret_one = j->pauses[i];
	return ret;
}

/* The calls on one file; then why its disk was waited for: the first screen has few lines. */
static int put_calls(struct analysis_ctx *c, struct judged *j, struct pause_cause *p, bool of_disk,
		     struct err *e)
{
	int ret = p->root.file.len || j->about.kind != SUBJECT_server
			  ? 0
			  : pause_calls_put(c, j, &p->on_file, e);

	return ret == 0 && of_disk && p->on_file ? pause_disk_put(c, j, &p->root, e) : ret;
}

/* The cause of the pauses, the end of the chain of one of them, the programs at its disk. */
static int say_pause_end(struct analysis_ctx *c, struct judged *j, struct pause_cause *p,
			 struct err *e)
{
	struct judged_pause one;
	struct judged at = *j; /* as if this were the only one */
	struct pause_reclaim memory = { 0 };
	bool first, disk, of_disk, little = false;
	int ret;

	if (!judged_longest(j))
		return 0;
	ret = mark_pauses(c, j, e);
	if (ret == 0)
		ret = choose_pause(&one, c->db, j, p, e);
	if (ret < 0)
		return ret;
	at.pauses = &one;
	at.n_pauses = 1;
	p->root.judged = &at;
	ret = pause_root(c, &p->root, p->tid, e);
	first = p->root.share >= ROOT_FIRST && !p->upstream.address.len;
	disk = p->root.tid > 0 && p->root.state == STATE_disk;
	of_disk = !(first && disk) && (p->largest == DID_disk || disk);
	if (ret == 0)
		ret = pause_reclaim(&memory, c->db, j, p->tid, e);
	/* what to mend comes before who suffers */
	if (ret == 0 && 100 * memory.share >= MOST)
		ret = pause_reclaim_put(c, j, &memory, p->tid, e);
	if (ret == 0 && first)
		ret = pause_root_put(c, &p->root, e);
	if (ret == 0 && first && disk)
		ret = pause_disk_put(c, j, &p->root, e);
	if (ret == 0 && p->root.all_read)
		ret = pause_worker_put(c, j, &at, p->pid, e);
	if (ret == 0 && p->largest == DID_input && p->root.tid <= 0)
		ret = pause_awaited_put(c, j, e);
	if (ret == 0)
		ret = pause_signal_put(c, j, p->tid, e);
	if (ret == 0)
		ret = put_calls(c, j, p, of_disk, e);
	if (ret == 0 && p->green)
		ret = pause_before_put(c, j, e);
	if (ret == 0)
		ret = explains_little(&little, c->db, j, p, e);
	if (ret == 0 && !little)
		ret = put_pause_cause(c, j, p, e);
	if (ret == 0 && 100 * memory.share < MOST)
		ret = pause_reclaim_put(c, j, &memory, p->tid, e);
	if (ret == 0 && p->largest == DID_lock)
		ret = pause_filelock_put(c, j, e);
	if (ret == 0 && !p->green && is_unexplained(p))
		ret = pause_before_put(c, j, e);
	if (ret == 0 && !first && !p->upstream.address.len)
		ret = pause_root_put(c, &p->root, e);
	if (ret == 0 && of_disk && !p->on_file)
		ret = pause_disk_put(c, j, &p->root, e);
	pause_reclaim_free(&memory);
	pause_root_free(&p->root);
	return ret;
}

int verdict_pause_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	struct pause_cause p = { .contender = { .share = NAN, .processes = NAN } };
	int ret = read_states(c, j, &p, e);

	if (ret == 0)
		ret = read_names(c, j, &p, e);
	if (ret == 0 && (p.largest == DID_runq || p.second == DID_runq))
		ret = read_queued(c, j, &p, e);
	if (ret == 0 && j->about.kind == SUBJECT_server)
		ret = pause_others(&p.others, c->db, p.id, e);
	if (ret == 0 && (p.largest == DID_run || p.second == DID_run))
		ret = read_function(c, j, &p, e);
	if (ret == 0 && (p.largest == DID_input || p.largest == DID_client) &&
	    j->about.kind == SUBJECT_server)
		ret = pause_upstream(c, j, p.tid, true, &p.upstream, e);
	if (ret == 0 && p.upstream.address.len)
		ret = pause_asks(c, j, &p.upstream, p.partner, e);
	p.largest = p.upstream.address.len && p.largest == DID_input ? DID_client : p.largest;
	/* both are waits for the same answer */
	if (p.upstream.address.len && (p.second == DID_input || p.second == DID_client))
		p.second = N_DID;
	if (ret == 0)
		ret = say_pause_end(c, j, &p, e);
	pause_upstream_free(&p.upstream);
	buf_free(&p.contender.function);
	buf_free(&p.ids);
	buf_free(&p.function);
	buf_free(&p.peer);
	buf_free(&p.call);
	buf_free(&p.name);
	buf_free(&p.failed);
	return ret;
}
