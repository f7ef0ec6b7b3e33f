// SPDX-License-Identifier: GPL-2.0-or-later
/* Another process computes without pause on the server's CPU. */
#include "stage.h"

#include <stdio.h>

static void burn(void)
{
	stage_pin(0);
	while (!stage_faulty())
		stage_sleep(10000000);
	for (;;)
		stage_spin(1000000000);
}

static void handle(void)
{
	stage_spin(stage.work);
}

int main(int argc, char **argv)
{
	stage_start(argc, argv);
	printf("culprit=%d\n", stage_child("burner", burn));
	stage_pin(0);
	stage_serve(handle);
}
