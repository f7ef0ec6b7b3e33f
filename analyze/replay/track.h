/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the trackers of one replay share. A tracker follows one kind of thing
 * (tasks, thread states, descriptors, ...) through the records and writes its spans
 * and sums as rows. The order in which they see a record is that of the table in
 * load.c. Times here are CLOCK_MONOTONIC as recorded; rows hold replay_time().
 */
#ifndef OBS_TRACK_H
#define OBS_TRACK_H

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/base/when.h"
#include "analyze/replay/requests/request_size.h"
#include "analyze/stats/hist.h"
#include "analyze/store/bulk.h"
#include "analyze/store/state.h"
#include "format/recording.h"
#include "format/syscall.h"

/* A sleep that is over; its reason is known when the system call around it returns. */
struct wait {
	u64 start;
	u64 end;
	u32 waker;
	u16 cpu;
	u8 context;   /* enum wake_context */
	bool waked;   /* waker and context are known */
	bool blocked; /* uninterruptible */
	bool iowait;
	bool own_io; /* a block request of its own was in flight */
};

/* A system call that a thread is in, or was in when the recording ended. */
struct inside {
	u64 enter;
	s32 nr; /* -1: none */
	u8 abi;
	s32 fd; /* first argument */
	u64 arg0, arg1;
	s32 polled; /* as in struct call_view */
};

/* A wake-up that the thread caused in the call that it is in. */
struct roused {
	u64 ts;
	u32 tid;
};

/* A wait on a futex whose waker has not returned from its call yet. */
struct unpaired {
	u64 wake; /* 0: none */
	u32 futex;
};

/* The last intervals of a thread: enough to tell its clocks a while ago. */
#define PAST_MAX 128
struct past {
	u32 n; /* ever added */
	struct past_span {
		u64 end;
		u64 dur;
		enum state state;
	} span[PAST_MAX];
};

/* A probed call that has not returned. */
struct frame {
	u64 ts;
	u64 sp;
	u32 site;
	u32 n_args;
	u64 args[SITE_ARGS_MAX];
	bool nested;	     /* below so many open calls that the kernel gives no return probe */
	u64 children;	     /* wall time of probed calls made from it */
	u64 clock[N_STATES]; /* the thread's clocks at entry */
	u64 inner[N_STATES]; /* time in each state of probed calls made from it */
};

enum fd_kind { FD_UNKNOWN, FD_FILE, FD_DIRECTORY, FD_SOCKET, FD_PIPE, FD_CHAR, FD_BLOCK, FD_ANON };

/* What a descriptor refers to, and the request turn on it if it is a server's socket. */
struct file {
	u64 since; /* 0: before the recording */
	u64 ino;
	u32 dev;
	enum fd_kind kind;
	u8 role; /* enum fd_role */
	u8 socktype;
	u16 family, sport, dport;
	addr16 saddr, daddr;
	char *path; /* NULL: not known */
	bool cloexec;
	u64 told;	       /* when a snapshot last told of it */
	u32 resource;	       /* number of its row in table resource; 0: none yet */
	struct file_use *use;  /* of a regular file; NULL: none yet */
	bool serves;	       /* it is counted as a connection of its service */
	struct client *client; /* whose turns these are; NULL: not looked up yet, or too many */
	struct turn {
		struct service *service; /* NULL: not looked up yet */
		struct request_stream stream;
		u64 first_recv; /* 0: none yet */
		u64 last_send;	/* 0: none yet */
		u32 recvs, sends;
		u64 recv_bytes, send_bytes;
		u32 tid;
		u32 receiver; /* thread of the first receive */
		struct turn_call {
			struct socket_use *use;
			u32 n;
		} calls[4]; /* how often each system call occurred; a fifth is not counted */
	} turn;
	struct turn_time *time; /* where the turn's time goes; NULL: not known */
	u64 polled;		/* an epoll instance: return of the last call; 0: none */
	struct asking {		/* a connected socket: what was asked and not answered */
		u64 last_send;
		u32 sends;
		u64 bytes;
	} asking;
};

struct process {
	u32 pid;
	u32 parent;
	u32 uid;
	comm16 comm;
	char *cmdline; /* NULL: not known */
	bool has_args; /* and it is what the program that begins was given */
	u64 start;     /* 0: before the recording */
	u64 end;       /* 0: had not ended */
	u32 threads;   /* alive */
	struct file **files;
	u32 n_files;
	char *directory;	  /* working directory; NULL: not known */
	u64 told;		  /* when a snapshot last told of its descriptors */
	u64 cgroup;		  /* 0: not known */
	u64 moved, moved_to;	  /* when it went to another group as a whole, to which */
	struct service *services; /* what it answers requests on; NULL unless it has any */
	struct hist runq;	  /* run-queue latency of its threads */
	struct hist turn_latency, served_latency, exchange_latency;
	u32 active;	      /* threads that run or are in the run queue */
	double serial;	      /* sum of time / active */
	u64 serial_at;	      /* up to when */
	u64 alone;	      /* time in which exactly one was active */
	struct idmap futexes; /* address -> struct futex */
};

struct thread {
	u32 tid;
	struct process *process;
	comm16 comm;
	u64 start;	  /* 0: before the recording */
	bool tracked;	  /* its switches and wake-ups are all in the recording */
	bool seen;	  /* state and since are known */
	bool called;	  /* a system call of it has returned */
	enum state state; /* run, woken, preempted, stopped; other: asleep, reason not known yet */
	u64 since;	  /* begin of state */
	u16 cpu;
	char snapshot;	   /* state letter when the recording began; 0: not in the snapshot */
	u64 early_wake;	   /* woken while still on the CPU, about to sleep; 0: no */
	struct wait sleep; /* the one that goes on, or just went over */
	struct wait *waits;
	u32 n_waits, cap_waits;
	struct inside open;  /* at the end of the recording */
	u64 clock[N_STATES]; /* ns in each state; run is added at switch-out */
	u64 switches, preemptions, wakeups, defects;
	struct { /* parts of clock[STATE_run]: track_parts.c */
		s64 away;
		u64 stolen, softirq, irq, throttled;
	} parts;
	u32 own_tid;	/* in its pid namespace, as its waits for locks tell; 0: not known */
	u32 last_waker; /* of the last wake-up, asleep or not */
	u8 last_context;
	u64 last_wake;	       /* 0: none */
	u32 last_futex;	       /* on which that wake-up was called; 0: not known */
	u32 last_second;       /* FUTEX_WAKE_OP calls on two: the other; 0: none */
	struct roused *roused; /* ROUSED_MAX of them, or NULL */
	u32 n_roused;	       /* ever, since the last call returned */
	struct unpaired unpaired;
	struct past *past;   /* NULL unless its process serves requests */
	struct ready *ready; /* the same; track_ready.h */
	u64 asked, answered; /* the last exchange on a connected socket */
	struct serving {
		struct client *client; /* for whom it works; NULL: nobody */
		u64 cpu, since;	       /* clock of CPU time, and when it began to */
	} serving;
	u64 returned;		  /* when the last system call did; 0: none yet */
	struct page_watch *pages; /* what it does with the page cache; NULL: nothing yet */
	struct served {
		u64 migrations, waits, longest, idle_elsewhere;
		u64 idle0;		 /* the idle clock when the wait began */
		double fair0, fair, lag; /* see track_cpu.c */
		u64 actual, starved;
		double max_lag;
		double serial0, serial;
		u64 alone0, alone;
		u32 weight;  /* 0: real time, or not known */
		u32 counted; /* the same, as it is counted on the CPU where it is queued */
		u16 queue;   /* that CPU */
		struct share_node *node; /* and its group there; NULL: not looked up yet */
		u32 placed;		 /* when that was, as a version of struct shares */
		u64 group, grouped;	 /* its control group, since when */
		bool active, queued;
		u8 bound;	   /* enum bound */
		bool idle_unknown; /* a long wait while it was bound to some CPUs */
		u64 active_run;	   /* clock of run when it became active */
	} served;
	u32 io_dev; /* of the last own request that completed */
	u32 io_in_flight;
	u64 io_end; /* last completion of an own request */
	struct frame *frames;
	u32 n_frames, cap_frames;
};

/* Where events were lost, as block headers tell: sorted, not overlapping. */
struct loss_interval {
	u64 from, to;
};

/* A record of either kind of system call, seen alike. */
struct call_view {
	u64 ts, dur;
	s64 ret;
	u64 arg[4]; /* of a short record, arg[1] and arg[3] are 0 */
	s32 polled; /* the only descriptor that it polls; -1: none, several or not known */
	u16 nr;
	u8 abi, flags;
};

struct replay {
	sqlite3 *db;
	struct bulk *bulk;
	struct reader *reader;
	struct call_view call; /* the record at hand, where it is a system call's */
	u64 begin, end;	       /* of the recording */
	u64 stopped;	       /* when the programs were switched off; 0: not known */
	u64 snapshot_end;      /* of the first snapshot of the host; 0: not told */
	u64 resnapshot;	       /* begin of the later one that is being read; 0: none */
	bool events;	       /* the second pass: all records in order of time */
	bool flight;	       /* cut out of a longer run: counters have a base */
	u64 clock_monotonic, clock_realtime, clock_boottime; /* the first reading; 0: none */
	u32 groups;	 /* bit mask of the groups that were recorded */
	bool everything; /* -a: no filter */
	bool chosen;	 /* by name or control group: threads say whether they are */
	bool follow;	 /* children of targets are targets */
	u32 *targets;	 /* pids */
	u32 n_targets;
	struct loss_interval *losses;
	size_t n_losses;
	u64 step;		 /* ns of one window of series; 0: the default */
	u64 window;		 /* ns of one window of requests: a tenth of a step */
	struct idmap threads;	 /* tid -> struct thread */
	struct thread *last;	 /* most records come from the thread of the one before */
	struct idmap processes;	 /* pid -> struct process */
	u32 running[STREAM_MAX]; /* by CPU: thread that runs there; 0: idle or not known */
	u64 n_files;
	struct idmap syscall_stats;
	struct idmap socket_uses;
	u64 n_turns;
	struct cpu *cpus[STREAM_MAX];
	struct shares *shares;	  /* NULL: none yet */
	struct idmap antagonists; /* (waiting process, running thread) -> struct antagonist */
	u32 n_idle;		  /* CPUs that are known to be idle */
	u64 idle_clock, idle_at;  /* time with an idle CPU, up to when */
	struct futexes *futexes;
	struct idmap disk_ends; /* device -> struct disk_end */
	struct idmap throttles; /* control group -> its last reading */
	struct idmap readings;	/* track_pressure.c: key -> its last reading */
	struct idmap own_tids;	/* track_holder.c: process and id in its namespace -> tid */
	bool has_stolen;
	bool has_parts;		  /* switches say what became of the time on a CPU */
	bool has_throttled;	  /* and whether a quota took the CPU */
	struct idmap connections; /* socket -> struct connection */
	struct idmap accepting;	  /* addresses -> connection that nobody has accepted yet */
	struct idmap services;
	u32 n_services, kept_turns;
	struct idmap servers, server_names; /* track_servers.c */
	struct server *last_server;
	struct idmap clients; /* service and address -> struct client */
	struct series *series;
	struct epolls *epolls;
	struct idmap call_stats;
	u32 n_frames;	       /* open probed calls of all threads */
	struct idmap requests; /* block requests in flight */
	struct idmap block_stats;
	struct file_log *file_log;
	struct idmap page_uses;
	struct uring_log *uring;
	struct idmap call_names; /* abi << 16 | number -> name, as the recording has it */
	struct idmap named;	 /* system calls that have a row in syscall_name */
	struct loss_counts *counts;
	u8 families[2][SYSCALL_NR_MAX]; /* enum family, for x86_64 and aarch64 */
	u8 waits[2][SYSCALL_NR_MAX];	/* enum syscall_wait */
	s32 setaffinity[2];		/* number of sched_setaffinity in the same tables */
	u8 classes[2][SYSCALL_NR_MAX];	/* enum call_class of track_waits.c */
};

/* ns since the begin of the recording; 0 for anything before. */
static inline s64 replay_time(const struct replay *r, u64 ts)
{
	return (s64)(elapsed(r->begin, ts) & INT64_MAX);
}

typedef int (*track_fn)(struct replay *r, const struct record *rec, struct err *e);

/* track_tasks.c: threads and processes */
int tasks_on_thread(struct replay *r, const struct record *rec, struct err *e);
int tasks_on_fork(struct replay *r, const struct record *rec, struct err *e);
int tasks_on_exec(struct replay *r, const struct record *rec, struct err *e);
int tasks_on_exit(struct replay *r, const struct record *rec, struct err *e);
int tasks_on_move(struct replay *r, const struct record *rec, struct err *e);
int tasks_on_rename(struct replay *r, const struct record *rec, struct err *e);
/* The thread, made if need be; NULL: see e. tid must not be 0. */
struct thread *task_thread(struct replay *r, u32 tid, struct err *e);
/* Writes the thread's row and forgets it. */
int task_end(struct replay *r, struct thread *t, u64 ts, struct err *e);
int tasks_finish(struct replay *r, struct err *e);
void tasks_free(struct replay *r);

/* track_states.c: where threads' time goes */
int states_on_switch(struct replay *r, const struct record *rec, struct err *e);
int states_on_waking(struct replay *r, const struct record *rec, struct err *e);
int states_on_wakeup_new(struct replay *r, const struct record *rec, struct err *e);
int states_on_syscall(struct replay *r, const struct record *rec, struct err *e);
/*
 * How long the thread was in each state since then, up to now, a moment at which it is on a CPU and
 * settled; states are unknown as far as nobody remembers. Only with sched, of tracked threads.
 */
void states_since(const struct thread *t, u64 since, u64 now, u64 spent[N_STATES]);
/*
 * The thread is in user mode, or has just left in (NULL: not known): sleeps since in->enter
 * were in that call, older ones in none. Afterwards its clocks are exact up to now.
 */
int states_settle(struct replay *r, struct thread *t, const struct inside *in, struct err *e);
/* A new thread: runnable from ts on. */
void states_begin(struct thread *t, u64 ts);
/* Closes the thread's last state at ts. */
int states_end(struct replay *r, struct thread *t, u64 ts, struct err *e);

/* track_groups.c: control groups, their quotas and containers */
int groups_on_cgroup(struct replay *r, const struct record *rec, struct err *e);
int groups_on_cgroup_made(struct replay *r, const struct record *rec, struct err *e);
int groups_on_container(struct replay *r, const struct record *rec, struct err *e);
int groups_on_throttle(struct replay *r, const struct record *rec, struct err *e);
void groups_free(struct replay *r);

/* track_tcp.c: connections as TCP sees them */
int tcp_on_state(struct replay *r, const struct record *rec, struct err *e);
/* A descriptor was made: is it a connection that was waiting to be accepted? */
int tcp_on_fd(struct replay *r, const struct record *rec, struct err *e);
int tcp_on_retransmit(struct replay *r, const struct record *rec, struct err *e);
int tcp_finish(struct replay *r, struct err *e);
void tcp_free(struct replay *r);

/* track_futex.c: who waited for whom on which futex */
int futex_start(struct replay *r, struct err *e);
int futex_on_syscall(struct replay *r, const struct record *rec, struct err *e);
/* A task woke a thread. */
int futex_on_waking(struct replay *r, const struct record *rec, struct err *e);
/* Number of the futex at that address of the process, as column object of thread_state. */
s64 futex_id(struct replay *r, struct process *p, u64 address, struct err *e);
int futex_finish(struct replay *r, struct err *e);
void futex_free(struct replay *r);

/* track_fds.c: descriptors */
int fds_on_fd(struct replay *r, const struct record *rec, struct err *e);
int fds_on_syscall(struct replay *r, const struct record *rec, struct err *e);
/* What fd refers to in p; NULL: not known. */
struct file *file_of(const struct process *p, s32 fd);
void file_free(struct file *f);
/* A path as the program gave it, made absolute where its begin is known; NULL: no memory. */
char *path_absolute(const struct process *p, s32 dir, const char *text, size_t len);
/* "127.0.0.1:80", "[::1]:80", or "" for what is no internet address. */
#define ADDRESS_MAX 64
void address_text(char text[ADDRESS_MAX], u16 family, const u8 *a, u16 port);
/* A forked process gets copies of its parent's descriptors. */
int fds_inherit(struct replay *r, struct process *child, const struct process *parent, u64 ts,
		struct err *e);
int fds_end(struct replay *r, struct process *p, u64 ts, struct err *e);
/* exec: descriptors with the flag are closed. */
int fds_exec(struct replay *r, struct process *p, u64 ts, struct err *e);
/* Facts of the second pass: a later snapshot, which knows what is open, begins or ends. */
int fds_on_info(struct replay *r, const struct record *rec, struct err *e);

/* track_syscalls.c: system calls */
int syscalls_on_syscall(struct replay *r, const struct record *rec, struct err *e);
int syscalls_finish(struct replay *r, struct err *e);
void syscalls_free(struct replay *r);
/* Puts the call's name into syscall_name, once. */
int syscalls_name(struct replay *r, u8 abi, u16 nr, struct err *e);

/* A record of either kind of system call. */
struct call_view view_syscall(const struct record *rec);
/* Index into replay's tables by number: 0 x86_64, 1 aarch64; -1: none. */
int abi_table(u8 abi, u16 nr);

/* track_requests.c: requests on server sockets */

/* What a system call does with its descriptor; _MANY return a number of messages. */
enum family {
	FAMILY_NONE,
	FAMILY_RECV,
	FAMILY_SEND,
	FAMILY_RECV_MANY,
	FAMILY_SEND_MANY,
	FAMILY_CLOSE,
	FAMILY_CLOSE_RANGE,
	FAMILY_FCNTL,
	FAMILY_FCHDIR,
	FAMILY_EPOLL,
	FAMILY_POLL,
};
int requests_start(struct replay *r, struct err *e);
int requests_on_syscall(struct replay *r, const struct record *rec, struct err *e);
/* The socket is closed or the recording ends: its turn ends. */
int requests_end_turn(struct replay *r, struct process *p, s32 fd, struct file *f, struct err *e);

/* track_turns.c: where the time of turns goes, and others' answers */

/*
 * A turn's first receive (last: what happened on the connection before; 0: nothing); each of its
 * sends; its end, after the row of turn was made.
 */
int turns_begin(struct replay *r, struct thread *t, struct file *f, const struct call_view *v,
		u64 last, struct err *e);
int turns_send(struct replay *r, struct thread *t, struct file *f, u64 ts, struct err *e);
void turns_end(struct replay *r, struct process *p, const struct file *f);
bool turns_is_split(const struct file *f);
/* How long its request waited before the first receive, as far as that is known; ns. */
u64 turns_queued(const struct file *f);
/* A call on a connected socket that moved bytes. */
void turns_exchange(struct replay *r, struct thread *t, struct file *f, const struct call_view *v,
		    bool send, u64 bytes);

/* track_calls.c: probed functions */
int calls_on_call(struct replay *r, const struct record *rec, struct err *e);
int calls_on_call_args(struct replay *r, const struct record *rec, struct err *e);
/* Of this site no returns are recorded: its calls have no ends. */
int calls_entries_only(struct replay *r, u32 site, struct err *e);
int calls_on_return(struct replay *r, const struct record *rec, struct err *e);
/* The thread ends: what is open is counted. */
int calls_end(struct replay *r, struct thread *t, u64 ts, struct err *e);
int calls_finish(struct replay *r, struct err *e);
void calls_free(struct replay *r);

/* track_block.c: block requests */
int block_on_start(struct replay *r, const struct record *rec, struct err *e);
int block_on_issue(struct replay *r, const struct record *rec, struct err *e);
int block_on_complete(struct replay *r, const struct record *rec, struct err *e);
int block_finish(struct replay *r, struct err *e);
void block_free(struct replay *r);

/* track_loss.c: what was lost, where */
int loss_start(struct replay *r, struct err *e);
/* Counters in the recorder's stream: what they were before the recording begins. */
int loss_on_base(struct replay *r, const struct record *rec, struct err *e);
int loss_on_counters(struct replay *r, const struct record *rec, struct err *e);
int loss_on_program(struct replay *r, const struct record *rec, struct err *e);
int loss_on_missed(struct replay *r, const struct record *rec, struct err *e);
int loss_on_gap(struct replay *r, const char *from_to, struct err *e);
bool loss_has_gaps(const struct replay *r);
void loss_count_record(struct replay *r, const struct record *rec);
/* True if events were lost in [from, to], on any CPU, in any group. */
bool loss_overlaps(const struct replay *r, u64 from, u64 to);
int loss_finish(struct replay *r, struct err *e);
void loss_free(struct replay *r);

/* facts.c: what the recording says of itself */
int facts_on_info(struct replay *r, const struct record *rec, struct err *e);
int facts_on_clock(struct replay *r, const struct record *rec, struct err *e);
int facts_on_site(struct replay *r, const struct record *rec, struct err *e);
int facts_on_disk(struct replay *r, const struct record *rec, struct err *e);
int facts_on_doctor(struct replay *r, const struct record *rec, struct err *e);
int facts_on_mount(struct replay *r, const struct record *rec, struct err *e);
int facts_on_self(struct replay *r, const struct record *rec, struct err *e);
int facts_finish(struct replay *r, struct err *e);
void facts_free(struct replay *r);

/* Writes a histogram's buckets as rows of table latency. */
int latency_rows(struct replay *r, const char *kind, u64 subject, u64 item, const struct hist *h,
		 struct err *e);

#endif
