/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pauses of a part of a server, while the rest of it answers: of one process with several
 * connections, or of one name of requests. An answer counts from its first byte. At least two
 * connections wait: a single request that takes long is no pause.
 */
#pragma once

#include "analyze/base/idmap.h"
#include "analyze/stats/hist.h"
#include "analyze/store/columns/columns.h"
#include "pauses.h"
#include "silences.h"

#define PARTS_MOST 128

struct pause_part {
	s64 server, service, name; /* one of service and name is 0 */
	struct hist outside;	   /* latency of its requests that touch none of its pauses */
};

struct pause_parts {
	struct pause_part of[PARTS_MOST];
	u32 n;
	struct idmap services; /* service.id -> slot + 1 */
	struct idmap names;    /* parts_key -> slot + 1 */
	struct silences silences;
	struct pause *v;
	size_t n_v;
};

/* servers: ids by slot. */
int parts_read(struct pause_parts *p, sqlite3 *db, const s64 *servers, u32 n, s64 duration,
	       struct err *e);

/* One request of the server with this slot, for silences_answer or silences_arrival. */
void parts_take(struct pause_parts *p, u32 server, const struct row_request *row,
		void (*take)(struct silences *s, u32 slot, s64 arrival, s64 end));

/* After these: makes v. */
int parts_found(struct pause_parts *p, struct err *e);

/* Third pass: who waited. */
void parts_wait(struct pause_parts *p, u32 server, const struct row_request *row, s64 rowid);

/*
 * Drops those in which one connection waited, or that a pause of the whole server (v, n) covers by
 * more than half, unless others were answered in the middle of such a pause of the same name. Sets
 * column usual.
 */
void parts_choose(struct pause_parts *p, const struct pause *v, size_t n);

void parts_free(struct pause_parts *p);
