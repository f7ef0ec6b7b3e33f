/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a verdict knows of errors, processes that end, connections that are not served, answers too
 * late. */
#pragma once

#include "format/buf.h"
#include "format/event.h"

#include <stdbool.h>

#define CRASH_ENDS 1e9 /* ns: after it, its parent ends others */

/* A time range with a larger share of errors; n 0: there is none. */
struct verdict_errors {
	double share, before, n;	      /* %; errors in it */
	double start, end, good, good_before; /* other answers per window */
	double windows[2];		      /* outside, in it */
	s64 name;			      /* of most of them; 0: none */
	double name_n, name_of, name_before; /* errors and answers of that name in it; %, outside */
	double first;	 /* arrival of the first of these requests that failed */
	struct buf code; /* most frequent */
	bool refused;	 /* which is HTTP 4xx, next to as many good answers as before */
	bool usual;	 /* most, or as many in another time range, are in windows not slow */
	double again, again_n, again_end; /* other such time ranges; errors in them */
	bool connections; /* all are of none of its requests: failed logins, ended connections */
	double logins;	  /* connections that were opened in it, where they are refused logins; 0 */
	/* of the whole recording: */
	enum { ERRORS_OWN, ERRORS_UNWRITTEN, ERRORS_LOGIN, N_ERRORS } what;
	bool each;	      /* logins: commands report it */
	double of, least;     /* share of these; a larger share than least is a problem */
	bool of_name;	      /* of the answers of one name */
	double cut, complete; /* bytes on average, of answers that end early; others have so many */
	double kept;   /* of these, where the server itself ends them: its connection was kept; 0 */
	double waited; /* ns, from their requests to the close of the connection */
	s64 upstream;  /* fd.rowid: closed before each of these, or with it if kept; 0 */
	bool dead_server; /* of a name that waits for a name server: verdict_name_server.c */
};

/* Nearly all of them are of one name: they are said of it. */
static inline bool verdict_errors_named(const struct verdict_errors *m)
{
	return m->name_n >= 0.9 * m->n && !m->refused;
}

/* Datagrams that the server read and did not answer, as it had others; n 0: no more than before. */
struct verdict_datagrams {
	double n, of;		  /* from the first of them on */
	double start, end;	  /* of these; end: at most that of the recording */
	double before;		  /* answers before it */
	double asked[2], sent[2]; /* per second: questions, answers; before it, since */
	double all;		  /* of the recording, if n */
	bool first;		  /* they are the problem */
};

/* Processes that a signal ended while requests on their connections had no answer; the first. */
struct verdict_crash {
	double n, ts, waiting;
	double faults; /* of these, by a fault of their own */
	double ended;  /* processes of the server that its parent ended right after it */
	s64 pid;
	int signal;
	bool last; /* no process of the server answered afterwards, connections were open */
};

/* Connections that a system call kept from being served, or that were accepted late; n 0: none. */
struct verdict_unserved {
	double n, start, end;
	bool accepted;	      /* and closed without a request */
	double late, longest; /* connections that were accepted later; the wait of one, ns */
	s64 call, error, tid; /* number of the system call << 8 | abi, 0: none; errno; who */
	double first;	      /* of these failures */
	double alone;	      /* one failed then, and none was accepted afterwards; 0: not so */
};

/* Connections that wait in the accept queue until the end, none was accepted since start; n 0:
 * none.
 */
struct verdict_unaccepted {
	double n, start, first, end; /* the most; ns of the first and last reading that has some */
	s64 pid, fd, tid;	     /* of the last that was accepted; who accepted it */
	s64 port;
	bool own;	       /* others of its server have sockets of their own */
	double idle, stopped;  /* ns of this thread */
	bool halted;	       /* it was stopped for most of that time */
	double clients, quiet; /* connections that are open; without a request since first */
	struct buf client;     /* the most of these are from there */
	double of_client;
};

/* New connections that were answered and closed at once, before anything was read; n 0: none. */
struct verdict_turned {
	double n, of, start, end; /* of: accepted from the first to the last */
	double least, most;	  /* bytes sent on one */
	double from_n, clients;	  /* those of one client, the most; 0: not known */
	char from[64];
	bool first; /* they are the problem */
};

/* From the end of a process that listened on a port until the next one did, the longest; n 0: none.
 */
struct verdict_outage {
	double n, total; /* of these times, ns */
	double start, end;
	double lost; /* attempts to connect that recorded clients made in vain */
	s64 pid, next, port;
	int code;	/* that it ended with; 0: by a signal, or in order */
	s64 name;	/* of the last request that each of them read, never answered; 0: none */
	double waiting; /* connections that nothing accepts since */
	bool open;	/* until the recording ends */
	bool first;	/* it is the problem */
};

/* Connection attempts that the kernel dropped because an accept queue was full; n 0: none. */
struct verdict_accept {
	double n, start, end, max;
	double first; /* ns: the reading that ends the first interval of the recording has some; 0
		       */
	s64 port;
};

/* Requests that failed before a server that they asked answered; n 0: none. */
struct verdict_awaited {
	s64 row; /* fd.rowid of a socket to it */
	double n, of;
	double open;	    /* ns, until they failed */
	double late, usual; /* ns, to its answers: to these; to others; NAN: none */
};
