// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One thread, a known service time (exponential, mean -w), a known number of sends a request
 * (-k). Offered more than it can do, it is saturated; recorded twice, it is an A/A pair.
 */
#include "stage.h"

static void handle(void)
{
	stage_spin(stage_exponential(stage.work));
}

int main(int argc, char **argv)
{
	stage_start(argc, argv);
	stage_pin(0);
	stage_serve(handle);
}
