/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of samples that exports of stacks read. */
#pragma once

/* An id that was used twice: its last owner's name. */
#define STACK_NAMES                                                                                  \
	"WITH thread_name AS (SELECT tid, comm || '[' || tid || ']' AS name, max(start) FROM thread" \
	" GROUP BY tid), process_name AS (SELECT pid, comm || '[' || pid || ']' AS name, max(start)" \
	" FROM process GROUP BY pid)"

/* Process, thread, NULL, user stack, kernel stack, flags, ns, samples: ordered by thread. */
#define CPU_STACKS                                                                            \
	STACK_NAMES                                                                           \
	" SELECT p.name, t.name, NULL, s.user_stack, s.kernel_stack, s.flags, sum(s.weight)," \
	" count(*) FROM sample s LEFT JOIN process_name p USING(pid) LEFT JOIN thread_name t" \
	" USING(tid) GROUP BY s.pid, s.tid, 4, 5, 6 ORDER BY s.pid, s.tid, 4, 5, 6"

/* Flags of a row, and what stands for the frames that it lacks. */
#define STACK_NONE	 4
#define STACK_LACKS	 5
#define STACK_NONE_TEXT	 "[user stack not found]"
#define STACK_LACKS_TEXT "[outer callers missing]"

#define NO_SAMPLES "the recording has no samples of the CPU (group cpu)"
