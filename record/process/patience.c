// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* sigandset, pthread_clockjoin_np */
#include "patience.h"

#include "privileges.h"
#include "seccomp.h"
#include "signals.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS	   250
#define SIGNAL_MS  1000 /* since a signal */
#define WRITING_MS 2000 /* since another end */

struct patience {
	pthread_t thread;
	const struct options *options;
	void (*stop)(void *);
	void *arg;
	int end;		  /* eventfd */
	bool took, asked, ending; /* atomic */
};

static bool get(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static void set(bool *flag)
{
	__atomic_store_n(flag, true, __ATOMIC_RELEASE);
}

/* Is a signal that stops not read yet? */
static bool unread(const sigset_t *stops)
{
	sigset_t pending, both;

	return sigpending(&pending) == 0 && sigandset(&both, &pending, stops) == 0 &&
	       !sigisemptyset(&both);
}

static const char *what(const struct options *o)
{
	return options_flight(o)	     ? "a snapshot"
	       : !o->output		     ? "the recording"
	       : strcmp(o->output, "-") == 0 ? "standard output"
					     : o->output;
}

/* The next signal that stops ends the process; a hangup does so only after another signal. */
static void take_over(struct patience *p, sigset_t *stops)
{
	const struct timespec now = { 0 };

	while (sigtimedwait(stops, NULL, &now) > 0)
		set(&p->took);
	if (get(&p->took))
		set(&p->asked);
	p->stop(p->arg);
	fprintf(stderr, "obsrec: %s is not written yet; %s signal ends obsrec without the rest\n",
		what(p->options), get(&p->asked) ? "another" : "a");
	if (!get(&p->asked)) {
		sigdelset(stops, SIGHUP);
		sigdelset(stops, SIGQUIT);
	}
	pthread_sigmask(SIG_UNBLOCK, stops, NULL);
}

static void *look(void *arg)
{
	struct patience *p = arg;
	struct pollfd end = { p->end, POLLIN, 0 };
	int signal_ms = 0, writing_ms = 0;
	struct err e = { 0 };
	sigset_t stops;

	/* each thread has its own; the others start after the main thread has given them up */
	if (privileges_drop(p->options, &e) < 0 || seccomp_install(&e) < 0)
		return NULL;
	signals_that_stop(&stops);
	while (signal_ms < SIGNAL_MS && writing_ms < WRITING_MS) {
		if (poll(&end, 1, LOOK_MS) > 0)
			return NULL;
		/* what is read is answered by the end of the recording, not before */
		signal_ms = get(&p->asked) || unread(&stops) ? signal_ms + LOOK_MS : 0;
		writing_ms += get(&p->ending) ? LOOK_MS : 0;
	}
	take_over(p, &stops);
	while (poll(&end, 1, LOOK_MS) <= 0) /* signals are delivered to this thread */
		;
	return NULL;
}

int patience_start(struct patience **ret, const struct options *o, void (*stop)(void *), void *arg,
		   struct err *e)
{
	struct patience *p = calloc(1, sizeof(*p));

	*ret = NULL;
	if (p) {
		p->options = o;
		p->stop = stop;
		p->arg = arg;
		p->end = eventfd(0, EFD_CLOEXEC);
	}
	if (p && p->end >= 0 && pthread_create(&p->thread, NULL, look, p) == 0) {
		*ret = p;
		return 0;
	}
	if (p && p->end >= 0)
		close(p->end);
	free(p);
	return err_set(e, ERR_FAIL, "cannot start the recorder's threads");
}

bool patience_took(const struct patience *p)
{
	return get(&p->took);
}

void patience_asked(struct patience *p)
{
	if (p)
		set(&p->asked);
}

void patience_ending(struct patience *p)
{
	if (p)
		set(&p->ending);
}

void patience_end(struct patience *p)
{
	struct timespec until;

	if (!p)
		return;
	eventfd_write(p->end, 1);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += 1;
	if (pthread_clockjoin_np(p->thread, NULL, CLOCK_MONOTONIC, &until) != 0)
		return;
	close(p->end);
	free(p);
}
