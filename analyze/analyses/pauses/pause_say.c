// SPDX-License-Identifier: GPL-2.0-or-later
/* What the threads of pauses did: the findings below that of the pauses. */
#include "pause_answered.h"
#include "pause_did.h"

#include "analyze/store/error_names.h"
#include "format/buf.h"

#include <string.h>

#define MOST 50.0 /* %, of the pauses */

/* Next to another cause, or where threads serve any request, states of less of the pauses are none.
 */
#define CAUSE_LEAST 25.0 /* % */

#define SAID_LEAST 1.0 /* %, of the pauses: less explains nothing */

#define ROOT_FIRST 50 /* %, of the pause: such an end of its chain is said first */

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
		VALUE_TEXT("collects", p->function.len ? p->collects : NULL),
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

	if (!(largest_share(p) >= SAID_LEAST))
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

/* What is of the server as a whole; *ret_rest: it was idle. */
static int put_server(struct analysis_ctx *c, const struct judged *j, const struct judged *at,
		      struct pause_cause *p, bool *ret_rest, struct err *e)
{
	const char *named = p->request && !p->green ? p->name.data : NULL;
	int ret = p->unexplained ? pause_open_put(c, j, named, e) : 0;

	if (ret == 0)
		ret = pause_recycled_put(c, at, p->pid, e);
	if (ret == 0 && at->about.kind == SUBJECT_server && !p->upstream.address.len)
		ret = pause_rest_put(c, at, &p->root, p->green, ret_rest, e);
	if (*ret_rest)
		p->root.tid = 0; /* who polls is of no use */
	return ret;
}

/* What its threads did, and the requests that may be why. */
static int put_thread(struct analysis_ctx *c, struct judged *j, struct pause_cause *p, bool rest,
		      struct err *e)
{
	bool little = false;
	int ret = p->green ? pause_before_put(c, j, e) : 0;

	if (ret == 0)
		ret = explains_little(&little, c->db, j, p, e);
	if (ret == 0 && !little && !rest)
		ret = put_pause_cause(c, j, p, e);
	if (ret == 0 && !p->unexplained && !p->root.serving.len)
		ret = pause_open_put(c, j, p->request ? p->name.data : NULL, e);
	return ret;
}

/* The cause of the pauses, the end of the chain of one of them, the programs at its disk. */
static int say_pause_end(struct analysis_ctx *c, struct judged *j, struct pause_cause *p,
			 struct err *e)
{
	struct judged_pause one;
	struct judged at = *j; /* as if this were the only one */
	struct pause_reclaim memory = { 0 };
	bool first, disk, of_disk, rest = false;
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
	p->unexplained = p->green || is_unexplained(p);
	if (ret == 0)
		ret = put_server(c, j, &at, p, &rest, e);
	if (ret == 0 && first)
		ret = pause_root_put(c, &p->root, e);
	if (ret == 0 && first && disk)
		ret = pause_disk_put(c, j, &p->root, e);
	if (ret == 0 && p->root.all_read)
		ret = pause_worker_put(c, j, &at, p->pid, e);
	if (ret == 0 && p->largest == DID_input && p->root.tid <= 0)
		ret = pause_awaited_put(c, j, e);
	if (ret == 0)
		ret = p->largest == DID_stopped ? pause_stopped_put(c, j, p->tid, e)
						: pause_signal_put(c, j, p->tid, e);
	if (ret == 0)
		ret = put_calls(c, j, p, of_disk, e);
	if (ret == 0)
		ret = put_thread(c, j, p, rest, e);
	if (ret == 0 && 100 * memory.share < MOST)
		ret = pause_reclaim_put(c, j, &memory, p->tid, e);
	if (ret == 0 && p->largest == DID_lock)
		ret = pause_filelock_put(c, j, e);
	if (ret == 0 && !p->green && !rest && is_unexplained(p))
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
	int ret = pause_did(c, j, &p, e);

	if (ret == 0 && p.upstream.address.len)
		ret = pause_asks(c, j, &p.upstream, p.partner, e);
	if (ret == 0)
		ret = say_pause_end(c, j, &p, e);
	if (ret == 0)
		ret = pause_silent_put(c, j, e);
	pause_did_free(&p);
	return ret;
}
