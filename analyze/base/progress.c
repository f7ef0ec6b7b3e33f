// SPDX-License-Identifier: GPL-2.0-or-later
/* How far a long command is, and how it is broken off. */
#include "progress.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIRST	500000000ull /* ns until a line is drawn: short work needs none */
#define BETWEEN 200000000ull
#define OPCODES 200000 /* of SQLite, between two looks at the flag */

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

/* A signal handler has nothing else to tell it by. */
static volatile sig_atomic_t interrupted;

static void note(int number)
{
	(void)number;
	interrupted = 1;
}

static u64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

void progress_show(struct progress *p, const char *what, const char *unit)
{
	*p = (struct progress){ .what = what, .unit = unit, .started = now() };
	interrupted = 0;
}

void progress_start(struct progress *p, const char *what, const char *unit)
{
	struct sigaction act = { .sa_handler = note, .sa_flags = SA_RESETHAND }, old;
	size_t i;

	progress_show(p, what, unit);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		/* what the shell lets us ignore (nohup) stays ignored */
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &act, NULL);
	}
}

int progress_tick(void *arg, u64 done, u64 all, struct err *e)
{
	struct progress *p = arg;
	double seconds, rate;
	u64 t = now();

	if (interrupted)
		return err_set(e, ERR_FAIL, "interrupted while %s: nothing was kept", p->what);
	if (t - p->started < FIRST || t - p->last < BETWEEN || !isatty(STDERR_FILENO))
		return 0;
	p->last = t;
	p->shown = true;
	seconds = (double)(t - p->started) / 1e9;
	rate = (double)done / seconds;
	fprintf(stderr, "\r\033[K%s: %.0f %%, %.3g million %s/s, %.0f s left", p->what,
		all ? 100.0 * (double)(done < all ? done : all) / (double)all : 100.0, rate / 1e6,
		p->unit, all > done && rate > 0 ? (double)(all - done) / rate : 0.0);
	return 0;
}

static int look(void *arg)
{
	(void)arg;
	return interrupted;
}

bool progress_interrupted(void)
{
	return interrupted;
}

void progress_guard(sqlite3 *db)
{
	sqlite3_progress_handler(db, OPCODES, look, NULL);
}

void progress_clear(struct progress *p)
{
	if (p->shown)
		fprintf(stderr, "\r\033[K");
	p->shown = false;
}

void progress_end(struct progress *p)
{
	struct sigaction act = { .sa_handler = SIG_DFL }, old;
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == note)
			sigaction(signals[i], &act, NULL);
	progress_clear(p);
}
