// SPDX-License-Identifier: GPL-2.0-or-later
#include "verdict_kind.h"

#include <string.h>

const struct verdict_row verdict_kinds[N_VERDICTS] = {
	[VERDICT_none] = { "", "causes" },
#define VERDICT(name, more) [VERDICT_##name] = { #name, more },
#include "verdicts.def"
#undef VERDICT
};

enum verdict_kind verdict_kind_of(const char *name)
{
	int i;

	for (i = N_VERDICTS - 1; i > VERDICT_none; i--)
		if (strcmp(verdict_kinds[i].name, name) == 0)
			break;
	return i;
}
