/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the user asked for: the command line of obsrec. */
#pragma once

#include "format/err.h"
#include "format/event.h"
#include "groups.h"
#include "record/functions/usdt_wish.h"
#include "start_at.h"
#include "syscall_set.h"

#include <stdbool.h>
#include <stdio.h>

#define TARGETS_MAX  256 /* -p */
#define PROBES_MAX   64	 /* -u; -U */
#define CGROUPS_MAX  16	 /* --cgroup, --container */
#define RING_DEFAULT (8ull << 20)
#define LABELS_MAX   32 /* --label */
#define TRIGGERS_MAX 8	/* --trigger */

/* A threshold whose passing makes a snapshot. */
struct trigger {
	enum { TRIGGER_SYSCALL, TRIGGER_RUNQ, TRIGGER_CALL } kind;
	const char *text; /* as given */
	char name[64];	  /* system call or "any"; function */
	u64 limit;	  /* ns */
};

struct options {
	bool all; /* -a */
	u32 pids[TARGETS_MAX];
	int n_pids;
	const char *comm;		  /* --comm: a pattern; NULL: none */
	const char *cgroups[CGROUPS_MAX]; /* --cgroup or --container */
	int n_cgroups;
	bool containers;		/* they are containers */
	char **command;			/* NULL: none */
	bool follow;			/* children of targets too */
	u64 duration;			/* ns; 0: until stopped */
	struct start_at at;		/* when to start */
	u64 max_size;			/* bytes of the file; 0: no limit */
	u64 min_free;			/* bytes that must stay free on its file system */
	const char *output;		/* NULL: a name is made; "-": standard output */
	u32 wished;			/* groups, as a bit mask: what was asked for */
	u32 groups;			/* of these, what this kernel has */
	u32 required;			/* of these, named by -e: must be available */
	bool add_groups;		/* -e +...: in addition to the default ones */
	const char *labels[LABELS_MAX]; /* key=value */
	int n_labels;
	bool hide;	/* --private: no command lines, paths, addresses */
	bool no_names;	/* --no-names: requests are not named */
	u32 heads;	/* --heads: bytes kept of each receive */
	u64 last;	/* flight mode: ns to keep; 0: no limit */
	u64 last_bytes; /* flight mode: bytes to keep; 0: no limit */
	struct trigger triggers[TRIGGERS_MAX];
	int n_triggers;
	u64 after;	    /* ns recorded after a trigger */
	u64 pause;	    /* ns between two triggered snapshots */
	bool some_syscalls; /* --syscalls: only those in the set */
	u64 syscalls[SYSCALL_BITMAP_WORDS];
	const char *functions[PROBES_MAX]; /* FILE:FUNCTION */
	int n_functions;
	const char *usdt[PROBES_MAX]; /* FILE:[PROVIDER:]PROBE[..PROBE] */
	int n_usdt;
	u32 args; /* recorded of each call of a function */
	struct text_wish text;
	u64 hot; /* calls per second above which a function has no events; 0: never */
	enum { RETURNS_SAFE, RETURNS_ALWAYS, RETURNS_NEVER } returns;
	u64 ring;	     /* bytes a CPU, a power of two */
	u32 sample_rate;     /* samples of stacks per second and CPU; 0: none */
	bool rate_required;  /* named by --sample-rate: must be available */
	u64 stack_threshold; /* ns of a wait whose stacks are recorded; 0: of none */
	bool stack_rations;  /* not of all of them if there are many */
	bool quiet, stats, verbose;
	bool dry_run;
	/* hidden: take the way of older kernels, or of those that show less */
	bool raw_tp;	 /* without tp_btf */
	bool raw_calls;	 /* the same for programs of group syscalls */
	bool stock_ring; /* the kernel's kind of rings */
	bool by_irq;	 /* without the preemption counter */
	bool no_cookie;	 /* uprobes without cookies */
	bool no_start;	 /* without block_io_start */
	bool help, version;
};

/* True if blocks are kept in memory until a snapshot is asked for. */
static inline bool options_flight(const struct options *o)
{
	return o->last || o->last_bytes;
}

/* True if functions that are called often are switched to histograms. */
static inline bool options_hot(const struct options *o)
{
	return o->hot && o->n_functions;
}

/* True if bytes of connections are read to name requests. */
static inline bool options_names(const struct options *o)
{
	return o->groups & 1u << GROUP_requests && !o->no_names && !o->hide;
}

/* "syscall read > 100ms", "runq > 50ms", "call FUNC > 20ms". */
int trigger_parse(struct trigger *ret, const char *text, struct err *e);

/* "250ms", "5s", "1.5" (seconds), "2m", as ns; what names the option in the error. */
int options_time(u64 *ret, const char *what, const char *text, struct err *e);

/* Reads the command line; checks what can be checked without the kernel. */
int options_read(struct options *ret, int argc, char **argv, struct err *e);

/* Refuses options that do not go together; fills in the groups. */
int options_complete(struct options *o, struct err *e);

/* Adds the processes of "123,456" to a list of up to TARGETS_MAX. */
int options_pids(u32 *list, int *n, const char *text, struct err *e);

/* verbs: lines of usage of those commands that do not record. */
void options_help(FILE *f, const char *verbs);
