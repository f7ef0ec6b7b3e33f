// SPDX-License-Identifier: GPL-2.0-or-later
#include "signals.h"

#include <stddef.h>
#include <sys/signalfd.h>

void signals_hold(sigset_t *old)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, old);
	signal(SIGINT, SIG_DFL); /* a script's shell has what runs in the background ignore it */
	signal(SIGQUIT, SIG_DFL);
	signal(SIGCHLD, SIG_DFL); /* ignored, it takes the end of the command away */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a limit of the file size fails as a full disk does */
}

void signals_that_stop(sigset_t *set)
{
	struct sigaction hup;

	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	if (sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler != SIG_IGN) /* nohup */
		sigaddset(set, SIGHUP);
	sigaddset(set, SIGQUIT);
}

int signals_take(int *fd, struct err *e)
{
	sigset_t set;

	signals_that_stop(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	*fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return *fd < 0 ? err_errno(e, ERR_FAIL, "cannot receive signals") : 0;
}

void signals_let_kill(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}
