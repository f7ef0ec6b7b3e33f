-- SPDX-License-Identifier: GPL-2.0-or-later
SELECT program, uniqExact(host), count(), sum(run) AS on_cpu, sum(softirq + irq), sum(stolen), max(verdict)
FROM thread
ALL INNER JOIN (SELECT recording, pid, comm AS program, verdict FROM process_local
                ALL INNER JOIN (SELECT recording, verdict FROM v_recording) USING (recording)) USING (recording, pid)
GROUP BY program ORDER BY on_cpu DESC, program
