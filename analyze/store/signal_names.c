// SPDX-License-Identifier: GPL-2.0-or-later
#include "signal_names.h"

#include <stddef.h>

static const char *const names[] = {
	[1] = "SIGHUP",	  [2] = "SIGINT",   [3] = "SIGQUIT",  [4] = "SIGILL",  [5] = "SIGTRAP",
	[6] = "SIGABRT",  [7] = "SIGBUS",   [8] = "SIGFPE",   [9] = "SIGKILL", [11] = "SIGSEGV",
	[15] = "SIGTERM", [24] = "SIGXCPU", [25] = "SIGXFSZ", [31] = "SIGSYS",
};

const char *signal_name(int number)
{
	return number >= 0 && number < (int)(sizeof(names) / sizeof(names[0])) ? names[number]
									       : NULL;
}
