/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trackers of series: what requests are answered on, what threads wait for, by window. */
#ifndef OBS_TRACK_SERIES_H
#define OBS_TRACK_SERIES_H

#include "analyze/replay/track.h"

/* track_uses.c: which system calls are used on sockets */
int uses_count(struct replay *r, struct socket_use **ret, u32 pid, u32 service,
	       const struct call_view *v, bool send, u64 bytes, struct err *e);
void uses_note(struct turn *t, struct socket_use *u);
/* A turn with receives and sends ends. */
void uses_on_turn(const struct turn *t);
int uses_finish(struct replay *r, struct err *e);
void uses_free(struct replay *r);

/* track_services.c: what requests are answered on: server sockets and probed functions */

/* The service of a server's socket. */
int services_of_file(struct replay *r, struct process *p, struct file *f, struct err *e);
/* A receive or a send on a server's socket, before the turn takes note of it. */
void services_on_recv(struct replay *r, struct file *f, u64 ts);
void services_on_send(struct replay *r, struct file *f, u64 ts);
/* A turn with receives and sends ends. */
void services_on_turn(struct file *f);
/* A probed call returned, or was entered and its return is not recorded: dur UINT64_MAX. */
int services_on_call(struct replay *r, struct process *p, u32 site, u64 ts, u64 dur, struct err *e);
/* Writes the services of a process that ends. */
int services_end(struct replay *r, struct process *p, struct err *e);
void services_free(struct replay *r);
u32 service_id(const struct service *s);

/* track_series.c: time and counts of threads and resources in windows of one step */
enum resource_kind {
	RESOURCE_NONE,
	RESOURCE_SOCKET,
	RESOURCE_PIPE,
	RESOURCE_CHAR,
	RESOURCE_FUTEX,
	RESOURCE_EPOLL,
	RESOURCE_DISK,
};
int series_start(struct replay *r, struct err *e);
/*
 * Adds the time from..to, cut at the edges of windows, and counts in the window of to. For
 * one (kind, tid, resource) calls come in order of time. resource 0: none. What fails is told by
 * series_finish.
 */
void series_add(struct replay *r, enum series_kind kind, u32 tid, u32 resource, u64 from, u64 to,
		u64 n, u64 refused);
/* The wait that was just added, and ended at ts, was ended by its timeout. */
void series_timeout(struct replay *r, enum series_kind kind, u32 tid, u32 resource, u64 ts);
/* A thread was in this state. */
void series_state(struct replay *r, u32 tid, enum state state, bool iowait, u64 from, u64 to);
/* The number of a resource: a socket, pipe or character device by dev and inode, a futex by
 * pid and address, a disk by dev. 0: there are too many. */
u32 series_resource(struct replay *r, enum resource_kind kind, u32 pid, u64 dev, u64 number);
/* The number of what fd refers to in p; 0: none that is followed. */
u32 series_file(struct replay *r, const struct process *p, s32 fd, struct file *f);
int series_finish(struct replay *r, struct err *e);
void series_free(struct replay *r);

/* track_waits.c: system calls that wait, as series */
int waits_start(struct replay *r, struct err *e);
int waits_on_syscall(struct replay *r, const struct record *rec, struct err *e);

/* track_epoll.c: epoll instances and the files in them */
/* A thread waited for the instance, which is a resource; calls come in order of `to`. */
int epolls_wait(struct replay *r, u32 id, u64 from, u64 to, struct err *e);
/* epoll_ctl succeeded; resource: of the file. */
int epolls_ctl(struct replay *r, const struct process *p, u32 id, u32 op, s32 fd, u32 resource,
	       u64 ts, struct err *e);
int epolls_finish(struct replay *r, struct err *e);
void epolls_free(struct replay *r);

#endif
