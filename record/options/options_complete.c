// SPDX-License-Identifier: GPL-2.0-or-later
/* Which options go together, and what follows from them. */
#include "options.h"

#include <string.h>

#define LAST_BYTES (256ull << 20) /* flight mode keeps no more, if only a time is given */

static void complete_groups(struct options *o)
{
	bool chosen = o->required && !o->add_groups;
	int i;

	o->groups = o->required;
	for (i = 0; i < GROUP_MAX; i++) {
		if (!groups[i].name)
			continue;
		if (groups[i].asked == ALWAYS || (groups[i].asked == DEFAULT && !chosen) ||
		    (groups[i].asked == TARGETS && o->n_functions + o->n_usdt))
			o->groups |= 1u << i;
	}
	if (o->groups & 1u << GROUP_hops) /* which numbers connections */
		o->groups |= 1u << GROUP_requests;
	o->wished = o->groups;
}

static int check(struct options *o, struct err *e)
{
	bool flight = options_flight(o);
	bool chosen = o->n_pids || o->comm || o->n_cgroups;

	if (chosen + o->all + !!o->command != 1)
		return err_set(e, ERR_FAIL,
			       "%s: -p PID, --comm GLOB, --cgroup PATH or --container NAME "
			       "(these combine), or -a (the whole host), or -- COMMAND; see --help",
			       chosen || o->all ? "choose one" : "select what to record");
	if (o->required & 1u << GROUP_uprobe && !(o->n_functions + o->n_usdt))
		return err_set(e, ERR_FAIL,
			       "the group uprobe needs functions or static probes: -u "
			       "FILE:FUNCTION, -U FILE:PROBE");
	if (o->n_triggers && !flight)
		return err_set(e, ERR_FAIL,
			       "--trigger needs --last, for example --last 60s: it writes what is "
			       "kept in memory");
	if (flight && o->output && strcmp(o->output, "-") == 0)
		return err_set(e, ERR_FAIL,
			       "--last writes a file for each snapshot: -o needs a name");
	if (flight && !o->last_bytes)
		o->last_bytes = LAST_BYTES;
	return 0;
}

int options_complete(struct options *o, struct err *e)
{
	if (check(o, e) < 0)
		return ERR_FAIL;
	complete_groups(o);
	return 0;
}
