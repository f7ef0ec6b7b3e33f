/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command after --: started, held until everything is attached, let go, waited for. */
#pragma once

#include "priority.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid; /* 0: none */
	int gate;  /* written to let it go */
	bool ended;
	int status; /* as of wait(2), once ended */
};

/* Fails if the command cannot be found or executed: said before anything is attached or written. */
int child_possible(const char *name, struct err *e);

/* Forks; the child waits at the gate with the signal mask and priority given, then executes argv.
 */
int child_start(struct child *c, char **argv, const sigset_t *mask, const struct priority *p,
		struct err *e);

/* Lets the child execute its command. ERR_FAIL if the command cannot be executed, within 5 s. */
int child_go(struct child *c, const char *name, struct err *e);

/* Reaps the child if it has ended. */
void child_poll(struct child *c);

/* The exit status that stands for the child's: 128 + n for signal n. */
int child_status(const struct child *c);

/*
 * The recording ends before the child: SIGTERM, and SIGKILL if it has not ended after grace_ms.
 * At most another second is waited. Returns false if it was killed or still runs.
 */
bool child_end(struct child *c, int grace_ms);
