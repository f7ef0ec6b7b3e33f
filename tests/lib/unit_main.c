// SPDX-License-Identifier: GPL-2.0-or-later
/* The main of the program that holds the unit tests, which has their names as links. */
#include <stdio.h>
#include <string.h>

#define UNIT(name) int name##_main(void);
#include "tests/units.def" /* made by the Makefile */
#undef UNIT

static const struct {
	const char *name;
	int (*run)(void);
} units[] = {
#define UNIT(name) { #name, name##_main },
#include "tests/units.def"
#undef UNIT
};

int main(int argc, char **argv)
{
	const char *name = argc > 0 ? argv[0] : "";
	size_t i;

	if (strrchr(name, '/'))
		name = strrchr(name, '/') + 1;
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(units[i].name, name) == 0)
			return units[i].run();
	fprintf(stderr, "units: call it by the name of a test, as .output/unit/test_heads\n");
	return 2;
}
