/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The signals of obsrec's own process. */
#pragma once

#include "format/err.h"

#include <signal.h>

/* Until something is recorded, signals to stop act as usual; old is the mask for the command. */
void signals_hold(sigset_t *old);

/* Those that end a recording; not one that is ignored, as nohup has it. */
void signals_that_stop(sigset_t *set);

/* From now on signals are read from *fd, not delivered. */
int signals_take(int *fd, struct err *e);

/* A second signal while finishing kills as usual. */
void signals_let_kill(void);
