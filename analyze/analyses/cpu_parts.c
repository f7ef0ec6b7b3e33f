// SPDX-License-Identifier: GPL-2.0-or-later
/* Parts of the time on a CPU, and time in direct reclaim, by process. */
#include "cpu_parts.h"

#define MATTERS 0.01  /* of the duration: less CPU time, or less reclaim, is no finding */
#define SHOWN	0.005 /* of the time on a CPU: a smaller part is left out */

#define PART(name)                                                              \
	" iif(total(" #name ") < ?3 * total(run), NULL, 100 * sum(1.0 * " #name \
	") / total(run)) AS \"" #name ":%\""

static const struct finding_query parts = {
	FINDING_cpu_parts,
	NOTE,
	OBSERVED,
	"SELECT pid, tid, run, exec, softirq, irq, stolen FROM thread WHERE exec IS NOT NULL"
	" ORDER BY run DESC",
	"SELECT 'process' AS kind, pid AS id, 100 * total(run) / ?2 AS \"run:%\"," PART(softirq) "," PART(
		irq) "," PART(stolen) " FROM thread WHERE exec IS NOT NULL GROUP BY pid"
				      " HAVING total(run) >= max(?1, 1) ORDER BY total(run) DESC, pid LIMIT 3",
	NULL,
};

static const struct finding_query reclaim = {
	FINDING_cpu_reclaim,
	WARNING,
	OBSERVED,
	"SELECT * FROM reclaim ORDER BY dur DESC",
	"SELECT 'process' AS kind, t.pid AS id, count(*) AS n, total(r.dur) AS \"time:ns\","
	" max(r.dur) AS \"max:ns\", sum(r.kind > 0) AS limited FROM reclaim r"
	" CROSS JOIN (SELECT tid, max(pid) AS pid FROM thread GROUP BY tid) t ON t.tid=r.tid"
	" GROUP BY t.pid HAVING total(r.dur) >= max(?1, 1) ORDER BY total(r.dur) DESC, t.pid LIMIT 3",
	NULL,
};

void cpu_parts_put(struct analysis_ctx *c)
{
	find_rows(c, &parts, "ddd", c->duration * MATTERS, 1.0 * c->duration, SHOWN);
	find_rows(c, &reclaim, "d", c->duration * MATTERS);
}
