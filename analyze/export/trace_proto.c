// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Perfetto's protocol. Each track is a sequence of packets of its own: its number is the default of
 * all its events, and times are differences from the event before. Names are written once a
 * sequence. Packets go out in compressed groups (compressed_packets), so memory stays bounded.
 */
#include "analyze/base/idmap.h"
#include "packer.h"
#include "protobuf.h"
#include "trace_event.h"

#include <stdlib.h>
#include <string.h>

#define GROUP	    (256u << 10) /* bytes of packets that are compressed together */
#define LEVEL	    2		 /* of zlib: beyond it, time grows faster than size shrinks */
#define LITERALS    64		 /* a power of 2 */
#define NAMES_MAX   200000	 /* what is beyond is written in full */
#define TRACKS_MAX  3000000
#define GLOBAL	    1	      /* sequence of what belongs to no track */
#define CLOCK_TRACK 64	      /* first number that a sequence may define itself */
#define FIRST_GROUP 300000001 /* process ids from here on are groups of tracks, not processes */

enum { CLOCK_REAL = 1, CLOCK_MONO = 3, CLOCK_BOOT = 6 };
enum { STATE_CLEARED = 1, ORDER_EXPLICIT = 3 };

struct track_state {
	u64 number; /* of the track and of its sequence */
	s64 last;   /* ns: the event before */
	struct idmap known;
};

struct name {
	struct name *next; /* of the same hash */
	u64 id;
	char text[];
};

struct proto {
	struct pb packets; /* not yet compressed */
	struct pb fresh;   /* names of the present event that its sequence lacks */
	struct idmap names, pids;
	struct {
		const char *text;
		u64 id;
	} literals[LITERALS]; /* by address */
	u64 n_names, n_tracks;
	s64 boottime;
	struct packer *packer;
};

/* ---- packets ---- */

static int keep(struct trace_writer *w)
{
	struct proto *p = w->state;

	if (w->failed == 0)
		w->failed = p->packets.failed < 0 ? p->packets.failed : p->fresh.failed;
	return w->failed;
}

/* Writes the packets that were compressed last, as one. */
static int write_packed(struct trace_writer *w)
{
	struct proto *p = w->state;
	struct pb out = { .b = w->out->b, .e = w->e };
	struct buf packed;
	size_t at;

	w->failed = packer_take(p->packer, &packed, w->e);
	if (w->failed != 0 || !packed.len)
		return w->failed;
	at = pb_open(&out, PF_trace_packet);
	pb_bytes(&out, PF_packet_compressed_packets, packed.data, packed.len);
	pb_close(&out, at);
	w->out->b = out.b;
	w->failed = out.failed;
	if (w->failed == 0)
		w->failed = sink_more(w->out, w->e);
	return w->failed;
}

/* Lets the packets be compressed, if they are enough. */
static int flush(struct trace_writer *w, size_t enough)
{
	struct proto *p = w->state;

	if (keep(w) != 0 || p->packets.b.len < enough || !p->packets.b.len)
		return w->failed;
	if (write_packed(w) == 0)
		packer_give(p->packer, &p->packets.b);
	return w->failed;
}

static size_t open_packet(struct proto *p, u64 sequence)
{
	size_t at = pb_open(&p->packets, PF_trace_packet);

	pb_number(&p->packets, PF_packet_sequence_id, sequence);
	return at;
}

static int close_packet(struct trace_writer *w, size_t at)
{
	struct proto *p = w->state;

	pb_close(&p->packets, at);
	return flush(w, GROUP);
}

/* ---- clocks ---- */

static void put_clock(struct pb *b, u64 id, s64 ns, bool incremental)
{
	size_t at = pb_open(b, PF_clock_snapshot_clocks);

	pb_number(b, PF_clock_id, id);
	pb_number(b, PF_clock_timestamp, ns);
	if (incremental)
		pb_number(b, PF_clock_is_incremental, 1);
	pb_close(b, at);
}

static int proto_start(struct trace_writer *w, const struct trace_facts *facts)
{
	struct proto *p = w->state = calloc(1, sizeof(*p));
	size_t packet, at;

	if (!p)
		return w->failed = err_set(w->e, ERR_FAIL, "out of memory for packets");
	p->packer = packer_new(LEVEL, w->cpus);
	if (!p->packer)
		return w->failed = err_set(w->e, ERR_FAIL, "out of memory to compress");
	p->packets.e = p->fresh.e = w->e;
	p->n_tracks = GLOBAL;
	p->boottime = facts->boottime;
	packet = open_packet(p, GLOBAL);
	pb_number(&p->packets, PF_packet_sequence_flags, STATE_CLEARED);
	at = pb_open(&p->packets, PF_packet_clock_snapshot);
	pb_number(&p->packets, PF_clock_snapshot_primary_trace_clock, CLOCK_BOOT);
	put_clock(&p->packets, CLOCK_BOOT, facts->boottime, false);
	put_clock(&p->packets, CLOCK_MONO, facts->monotonic, false);
	if (facts->realtime)
		put_clock(&p->packets, CLOCK_REAL, facts->realtime, false);
	pb_close(&p->packets, at);
	return close_packet(w, packet);
}

/* ---- tracks ---- */

static u64 process_track(struct trace_writer *w, s64 pid)
{
	struct proto *p = w->state;
	u64 number = (uintptr_t)idmap_get(&p->pids, pid);

	if (number || w->failed != 0)
		return number;
	number = ++p->n_tracks;
	w->failed = idmap_put(&p->pids, pid, (void *)(uintptr_t)number, TRACKS_MAX, w->e);
	return number;
}

static int proto_process(struct trace_writer *w, s64 pid, const char *name, s64 place)
{
	struct proto *p = w->state;
	u64 number = process_track(w, pid);
	size_t packet, at, inner;

	if (w->failed != 0)
		return w->failed;
	packet = open_packet(p, GLOBAL);
	at = pb_open(&p->packets, PF_packet_track_descriptor);
	pb_number(&p->packets, PF_track_descriptor_uuid, number);
	if (pid < FIRST_GROUP) {
		inner = pb_open(&p->packets, PF_track_descriptor_process);
		pb_number(&p->packets, PF_process_pid, pid);
		pb_text(&p->packets, PF_process_process_name, name);
		pb_close(&p->packets, inner);
	} else {
		pb_text(&p->packets, PF_track_descriptor_name, name);
	}
	pb_number(&p->packets, PF_track_descriptor_child_ordering, ORDER_EXPLICIT);
	pb_number(&p->packets, PF_track_descriptor_sibling_order_rank, place);
	pb_close(&p->packets, at);
	return close_packet(w, packet);
}

static void put_descriptor(struct pb *b, const struct trace_track *k, u64 parent, const char *name,
			   s64 place)
{
	size_t at = pb_open(b, PF_packet_track_descriptor), inner;

	pb_number(b, PF_track_descriptor_uuid, k->state->number);
	if (k->kind == TRACK_THREAD) {
		inner = pb_open(b, PF_track_descriptor_thread);
		pb_number(b, PF_thread_pid, k->pid);
		pb_number(b, PF_thread_tid, k->tid);
		pb_text(b, PF_thread_thread_name, name);
		pb_close(b, inner);
	} else {
		pb_text(b, PF_track_descriptor_name, name);
		pb_number(b, PF_track_descriptor_parent_uuid, parent);
	}
	if (k->kind == TRACK_COUNTER)
		pb_close(b, pb_open(b, PF_track_descriptor_counter));
	pb_number(b, PF_track_descriptor_sibling_order_rank, place);
	pb_close(b, at);
}

static int proto_track(struct trace_writer *w, struct trace_track *k, const char *name, s64 place)
{
	struct proto *p = w->state;
	size_t packet, at, inner;
	u64 parent = 0;

	if (k->kind != TRACK_THREAD && !idmap_get(&p->pids, k->pid))
		proto_process(w, k->pid, "", 0); /* one without a name */
	if (w->failed != 0)
		return w->failed;
	if (k->kind != TRACK_THREAD)
		parent = process_track(w, k->pid);
	k->state = calloc(1, sizeof(*k->state));
	if (!k->state)
		return w->failed = err_set(w->e, ERR_FAIL, "out of memory for tracks");
	k->state->number = ++p->n_tracks;
	packet = open_packet(p, k->state->number);
	pb_number(&p->packets, PF_packet_sequence_flags, STATE_CLEARED);
	at = pb_open(&p->packets, PF_packet_defaults);
	inner = pb_open(&p->packets, PF_defaults_track_event);
	pb_number(&p->packets, PF_track_event_track_uuid, k->state->number);
	pb_close(&p->packets, inner);
	pb_number(&p->packets, PF_defaults_timestamp_clock_id, CLOCK_TRACK);
	pb_close(&p->packets, at);
	put_descriptor(&p->packets, k, parent, name, place);
	pb_close(&p->packets, packet);

	packet = open_packet(p, k->state->number);
	at = pb_open(&p->packets, PF_packet_clock_snapshot);
	put_clock(&p->packets, CLOCK_TRACK, 0, true);
	put_clock(&p->packets, CLOCK_BOOT, p->boottime, false);
	pb_close(&p->packets, at);
	return close_packet(w, packet);
}

/* ---- events ---- */

static u64 hash_of(const char *text)
{
	u64 hash = 0xcbf29ce484222325u; /* FNV-1a; names that collide share a list */

	for (; *text; text++)
		hash = (hash ^ (u8)*text) * 0x100000001b3u;
	return hash;
}

/* The number of a name; 0: there are too many. */
static u64 name_id(struct trace_writer *w, const char *text)
{
	struct proto *p = w->state;
	u64 hash = hash_of(text);
	struct name *first = idmap_get(&p->names, hash), *n;
	size_t len = strlen(text) + 1;

	for (n = first; n; n = n->next)
		if (strcmp(n->text, text) == 0)
			return n->id;
	if (p->n_names == NAMES_MAX || w->failed != 0)
		return 0;
	n = malloc(sizeof(*n) + len);
	if (!n) {
		w->failed = err_set(w->e, ERR_FAIL, "out of memory for names");
		return 0;
	}
	memcpy(n->text, text, len);
	n->next = first;
	n->id = ++p->n_names;
	w->failed = idmap_put(&p->names, hash, n, NAMES_MAX, w->e);
	if (w->failed != 0) {
		free(n);
		return 0;
	}
	return n->id;
}

/* The same of a text that is part of the program. */
static u64 literal_id(struct trace_writer *w, const char *text)
{
	struct proto *p = w->state;
	size_t at = ((uintptr_t)text ^ (uintptr_t)text >> 6) % LITERALS;

	if (p->literals[at].text != text) {
		p->literals[at].text = text;
		p->literals[at].id = name_id(w, text);
	}
	return p->literals[at].id;
}

/* The number of a name in a sequence, which learns it if need be; 0: write it in full. */
static u64 intern(struct trace_writer *w, struct track_state *s, enum perfetto_field list,
		  const char *text, u64 id)
{
	struct proto *p = w->state;
	u64 key = (u64)list << 32 | id;
	size_t at;

	if (!id || idmap_get(&s->known, key) || w->failed != 0)
		return id;
	w->failed = idmap_put(&s->known, key, s, 3 * NAMES_MAX, w->e);
	at = pb_open(&p->fresh, list);
	pb_number(&p->fresh, PF_interned_iid, id);
	pb_text(&p->fresh, PF_interned_name, text);
	pb_close(&p->fresh, at);
	return id;
}

static void put_args(struct trace_writer *w, struct track_state *s, const struct trace_event *v)
{
	struct pb *b = &((struct proto *)w->state)->packets;
	unsigned int i;
	size_t at;

	for (i = 0; i < v->n_args; i++) {
		at = pb_open(b, PF_track_event_debug_annotations);
		pb_number(b, PF_debug_annotation_name_iid,
			  intern(w, s, PF_interned_data_debug_annotation_names, v->args[i].key,
				 literal_id(w, v->args[i].key)));
		if (v->args[i].text)
			pb_text(b, PF_debug_annotation_string_value, v->args[i].text);
		else
			pb_number(b, PF_debug_annotation_int_value, v->args[i].value);
		pb_close(b, at);
	}
}

static void put_track_event(struct trace_writer *w, struct track_state *s,
			    const struct trace_event *v)
{
	static const u8 types[] = { [TRACE_BEGIN] = 1,
				    [TRACE_END] = 2,
				    [TRACE_INSTANT] = 3,
				    [TRACE_ARROW] = 3,
				    [TRACE_COUNTER] = 4 };
	struct pb *b = &((struct proto *)w->state)->packets;
	size_t at = pb_open(b, PF_packet_track_event);
	u64 id;

	pb_number(b, PF_track_event_type, types[v->kind]);
	if (v->kind == TRACE_COUNTER) {
		pb_number(b, PF_track_event_counter_value, v->args[0].value);
	} else if (v->kind != TRACE_END) {
		id = intern(w, s, PF_interned_data_event_names, v->name, name_id(w, v->name));
		if (id)
			pb_number(b, PF_track_event_name_iid, id);
		else
			pb_text(b, PF_track_event_name, v->name);
		id = v->category ? intern(w, s, PF_interned_data_event_categories, v->category,
					  literal_id(w, v->category))
				 : 0;
		if (id)
			pb_number(b, PF_track_event_category_iids, id);
		put_args(w, s, v);
		if (v->arrow)
			pb_number(b,
				  v->kind == TRACE_ARROW ? PF_track_event_flow_ids_old
							 : PF_track_event_terminating_flow_ids_old,
				  v->arrow);
	}
	pb_close(b, at);
}

static int proto_event(struct trace_writer *w, struct trace_track *k, const struct trace_event *v)
{
	struct proto *p = w->state;
	struct track_state *s = k->state;
	s64 ts = v->ts > s->last ? v->ts : s->last;
	size_t packet;

	if (w->failed != 0)
		return w->failed;
	packet = open_packet(p, s->number);
	pb_number(&p->packets, PF_packet_timestamp, ts - s->last);
	s->last = ts;
	put_track_event(w, s, v);
	if (p->fresh.b.len)
		pb_bytes(&p->packets, PF_packet_interned_data, p->fresh.b.data, p->fresh.b.len);
	buf_clear(&p->fresh.b);
	return close_packet(w, packet);
}

static int proto_end(struct trace_writer *w)
{
	return flush(w, 0) == 0 ? write_packed(w) : w->failed;
}

static void proto_free_track(struct track_state *s)
{
	if (s)
		idmap_free(&s->known);
	free(s);
}

static void proto_free(struct trace_writer *w)
{
	struct proto *p = w->state;
	struct name *n, *next;
	size_t at = 0;

	if (!p)
		return;
	while ((n = idmap_each(&p->names, &at)))
		for (; n; n = next) {
			next = n->next;
			free(n);
		}
	idmap_free(&p->names);
	idmap_free(&p->pids);
	buf_free(&p->packets.b);
	buf_free(&p->fresh.b);
	packer_free(p->packer);
	free(p);
}

const struct trace_form trace_proto = {
	.start = proto_start,
	.process = proto_process,
	.track = proto_track,
	.event = proto_event,
	.end = proto_end,
	.free_track = proto_free_track,
	.free = proto_free,
};
