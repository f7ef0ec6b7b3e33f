/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of requests, how many a receive holds, and their errors: see track_names.c. */
#pragma once

#include "analyze/replay/io/descriptors.h"

/* A call on a server's socket returned, after the request took note of it. */
int names_on_call(struct replay *r, struct thread *t, struct file *f, const struct call_view *v,
		  bool send, struct err *e);

/*
 * The request with an answer ends. name: as its row has it; wait: its time off the CPU, ns,
 * UINT64_MAX: not known.
 */
int names_on_request(struct replay *r, struct file *f, u32 name, bool lossy, u64 wait,
		     struct err *e);

/*
 * The answer to the request that is open reports an error; status 0: it could not be written by the
 * send that was entered at sent.
 */
int names_failed(struct replay *r, struct thread *t, struct file *f, u8 protocol, u32 status,
		 const char *code, u64 sent, u64 ts, struct err *e);
/* The request that is open is a question of DNS. */
int names_dns(struct replay *r, struct thread *t, struct file *f, u64 ts, struct err *e);

/*
 * The thread ran a statement: where the protocol shows no name of the request that is open on the
 * socket from which it received last, or only the kind of statement, that is its name.
 */
int names_on_statement(struct replay *r, struct thread *t, const char *text, u64 ts, struct err *e);

/* Forgets what the request held, for the next one. */
void names_reset(struct file *f);

/* Of the request that is open: name (0: none), how many requests it holds (0: not known), errors.
 */
u32 names_first(const struct file *f);
u64 names_held(const struct file *f);
/* The name of what a process receives that sends a log to a replica; 0: it does not. */
int names_of_replica(struct replay *r, u32 *ret, const struct process *p, struct err *e);
/* PROTOCOL_* of that name; 0: not known. */
u8 names_protocol(const struct replay *r, const struct file *f);
u32 names_errors(const struct file *f);

/* Where CPU time for the request that is open is added; NULL: nowhere. */
u64 *names_cpu(const struct file *f);
