/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the time of threads goes: what others may know of a sleep. */
#pragma once

#include "analyze/replay/track.h"

/* A sleep that is over; its reason is known when the system call around it returns. */
struct sleep {
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
	const struct syscall_desc *desc; /* NULL: none */
	u64 enter;
	s32 nr;
	s32 fd; /* first argument */
	u64 arg0, arg1;
	s32 polled; /* as in struct call_view */
};

struct sleeping {
	u64 early_wake;	    /* woken while still on the CPU, about to sleep; 0: no */
	struct sleep sleep; /* the one that goes on, or just went over */
	struct sleep *waits;
	u32 n_waits, cap_waits;
	struct inside open; /* at the end of the recording */
	u32 last_waker;	    /* of the last wake-up, asleep or not */
	u8 last_context;
	u64 last_wake;	   /* 0: none */
	bool lock_failed;  /* the last call was a try to lock a file, or followed one: it failed */
	struct past *past; /* NULL unless its process serves; past.h */
};

static inline struct sleeping *sleeping_of(const struct thread *t)
{
	return t->own[TRACK_states];
}

/*
 * The thread is in user mode, or has just left in (NULL: not known): sleeps since in->enter
 * were in that call, older ones in none. Afterwards its clocks are exact up to now.
 */
int states_settle(struct replay *r, struct thread *t, const struct inside *in, struct err *e);

/* What its state was cannot be followed by what happens at ts: it is not known. */
void states_contradict(struct replay *r, struct thread *t, u64 ts);

/* Nothing was seen of it yet: it was in this state since the recording began, or since it started.
 */
void states_first(struct replay *r, struct thread *t, enum state state);
