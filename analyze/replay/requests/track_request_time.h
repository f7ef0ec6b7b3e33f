/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the time of requests goes, and others' answers. */
#pragma once

#include "analyze/replay/io/descriptors.h"

/*
 * A request's first receive (last: what happened on the connection before; 0: nothing); each of its
 * sends; its end, after the row of request was made.
 */
int request_time_begin(struct replay *r, struct thread *t, struct file *f,
		       const struct call_view *v, u64 last, struct err *e);
int request_time_send(struct replay *r, struct thread *t, struct file *f, u64 ts, struct err *e);
/* Returns its time off the CPU, ns; UINT64_MAX: not known. */
u64 request_time_end(struct replay *r, struct process *p, const struct file *f);
/* After request_time_begin, maybe again: its first byte arrived then; 0: not known. */
void request_arrived(const struct replay *r, struct thread *t, struct file *f, u64 arrival);
/* The receive at ts got what has no answer: no request begins there. */
void request_withdraw(struct file *f, u64 ts);
/*
 * The receive at ts got these bytes; the number of the connection may not have been known before.
 * rest: of the request, bytes to come after them; 0: not known.
 */
void request_read(struct replay *r, struct thread *t, struct file *f, u32 conn, u32 pos, u32 len,
		  u32 rest, u64 ts);
/*
 * What it reads after it began the answer, up to the announced length, is of the body: no request.
 */
bool request_is_late_body(const struct request *q, u64 bytes);
void request_late_body(struct request *q, u64 arrival, u64 ts, u64 bytes);
/* The next send. From an acknowledgement of all on, it is the server that waits. */
void request_has_room(const struct replay *r, struct file *f, u64 entry);
/*
 * It ends: what a send handed over may stay in the socket. Its answer ends when the last byte
 * leaves. Returns its time until then, ns.
 */
u64 request_left(struct replay *r, struct file *f);
/*
 * Columns first_after and failed_after of an answer whose rest could not be sent: how long its
 * client had waited, without the time in which it did not read. sent: entry of the send that
 * failed; 0: none did.
 */
struct row_request_error;
void request_waited(struct row_request_error *row, const struct file *f, u64 sent);
bool request_is_split(const struct file *f);
/* How long its request waited before the first receive, as far as that is known; ns. */
u64 requests_queued(const struct file *f);
/* A call on a connected socket that moved bytes. */
void request_upstream(struct replay *r, struct thread *t, struct file *f, const struct call_view *v,
		      bool send, u64 bytes);

/* A connected socket ends, or the recording: what was outstanding on it. */
void upstream_end(struct replay *r, const struct process *p, s32 fd, const struct file *f,
		  bool closed);
