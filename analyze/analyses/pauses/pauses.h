/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the analysis pauses share. */
#pragma once

#include "analyze/store/columns/columns.h"
#include "analyze/store/db.h"
#include "analyze/store/state.h"

#include <stddef.h>

#define PAUSES_MOST 1000

struct pause {
	s64 server;	   /* server.id; 0: of a process */
	s64 service, name; /* of a part: its one process, or name; 0 */
	s64 start, end;
	s64 latest;		       /* end of those of its thread that do not start after it */
	s64 waiting, max_wait, waited; /* waited: ns, all of them */
	s64 next_wait, max_ts, max_fd; /* the second longest wait; of the longest: read, fd */
	s64 victims, victim_wait;      /* without its own request, if others waited */
	s64 connection;		       /* of the first that waited */
	bool several;		       /* connections that waited */
	bool stall;		       /* of some requests of its name: pause_stalls.h */
	s64 covered;		       /* ns of a part, by one pause of the whole server */
	bool cut;		       /* others are answered in one of its name */
	double usual;		       /* ns, p99 of a part outside its pauses; 0: not known */
	s64 pid, tid;
	s64 request, request_ts, request_dur; /* request 0: none was read */
	s64 fd, client, received, sent;
	int readers;		  /* requests of the thread that were read before its middle */
	struct row_request first; /* of these the one whose answer ended it */
	s64 first_id;		  /* 0: none */
	struct row_request read;  /* the last one that the thread itself read before its middle */
	s64 read_id;		  /* 0: none, or it has no answer */
	bool reads;		  /* there is one */
	s64 worked;		  /* ns since then that it was on a CPU, or queued for one */
	bool green;		  /* the reader waits for work of a runtime: pause_green.c */
	bool edge, lossy;

	s64 spent[N_STATES];
	s64 longest, partner; /* of run-queue waits; then of its largest state. -1: not known */
	s64 waker[N_STATES];  /* that ended the last wait in the state; 0: none */
	s64 abi, nr, call;    /* call 0: none */
};

/* pause_thread.c: a request that waited in it until `end`; it may be the one that spans it. */
void pause_waited(struct pause *p, const struct row_request *row, s64 rowid, s64 end);

/* ns of it within this time. */
s64 pause_within(const struct pause *p, s64 ts, s64 end);

/* States in which a thread of such a runtime has no work. */
#define GREEN_IDLE "state_id('futex'), state_id('poll'), state_id('timer')"

/* pause_green.c: which thread of such a process worked most. The pauses are sorted again. */
int pauses_green(struct pause *v, size_t n, sqlite3 *db, struct err *e);

/* pause_thread.c: what the threads of the pauses did in them. The pauses are sorted. */
int pauses_threads(struct pause *v, size_t n, sqlite3 *db, struct err *e);
