/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call stacks in memory: each a function and the stack of its caller. */
#pragma once

#include "analyze/base/idmap.h"
#include "analyze/store/db.h"
#include "format/buf.h"

#define STACK_DEEP 512 /* frames of a stack that are looked at */

struct code {
	char *name; /* function, or file+0xaddress; untrusted */
	char *file; /* source of its lowest address that has one; NULL: not known */
	u32 line;
	bool kernel;
	bool named;   /* has a symbol */
	bool runtime; /* of the C library: its caller is what a person looks for */
	bool script;  /* generated from a script, or bytecode */
	bool call;    /* of the C library, with the name of a system call */
};

struct call_node {
	u32 caller; /* its place in nodes, smaller; 0: none */
	u32 code;   /* its place in codes */
};

struct callstacks {
	struct call_node *nodes; /* from 1 */
	struct code *codes;	 /* from 1; the last one is "..." */
	u32 n, n_codes;
	struct idmap places; /* stack.id -> place */
};

/* Zero-initialise. Without stacks all is empty. */
int callstacks_load(struct callstacks *s, sqlite3 *db, struct err *e);
void callstacks_free(struct callstacks *s);

/* The place of stack.id; 0: none. */
u32 callstacks_at(const struct callstacks *s, s64 id);

/* Codes of a stack, innermost first; returns how many of at most STACK_DEEP. */
u32 callstacks_codes(const struct callstacks *s, s64 user, s64 kernel, u32 *codes);

/*
 * The same of a sample on a CPU. in_user: a sample without a kernel stack was taken in user mode; a
 * function that only makes a system call then says nothing, and its caller is the first.
 */
u32 callstacks_sampled(const struct callstacks *s, s64 user, s64 kernel, bool in_user, u32 *codes);

/*
 * Takes out what is of no use to a person: frames without a name, and those in which the kernel is
 * entered. Returns how many are left.
 */
u32 callstacks_useful(const struct callstacks *s, u32 *codes, u32 n);

/* The code that stands in a path for functions which differ. */
static inline u32 callstacks_gap(const struct callstacks *s)
{
	return s->n_codes + 1;
}

/* Appends " (file:line)", the file without directories; nothing if it is not known. */
int callstacks_place(struct buf *out, const struct code *c, struct err *e);

/* Appends "outer > inner" of at most three functions, and a gap between, out of n codes, innermost
 * first; before them the nearest caller with a name if they have none, as in a binary without
 * symbols. */
int callstacks_say(struct buf *out, const struct callstacks *s, const u32 *codes, u32 n,
		   struct err *e);

/*
 * Appends the three innermost functions that called into the C library or the kernel; nothing if
 * the stack is not known. useful: only those of callstacks_useful.
 */
int callstacks_callers(struct buf *out, const struct callstacks *s, s64 user, bool useful,
		       struct err *e);

/*
 * Of a path, innermost first, with the share of the time in each: the innermost function of a
 * script or, without scripts, the innermost one in user mode that three quarters of the time are
 * in. As a rule a person wrote it, and what it calls is of libraries. 0: there is none.
 */
u32 callstacks_most(const struct callstacks *s, const u32 *codes, const double *shares, u32 n);

/*
 * As callstacks_say, of a path on a CPU: three functions in user mode, and the one of the kernel.
 * Of these three, the first is the code most, if there is one and it is not below. 0: none.
 */
int callstacks_running(struct buf *out, const struct callstacks *s, const u32 *codes, u32 n,
		       u32 most, struct err *e);
