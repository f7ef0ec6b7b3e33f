-- SPDX-License-Identifier: GPL-2.0-or-later
SELECT host_name, max(cpus), uniqExact(recording), sum(woken + preempted) AS run_queue, sum(run),
       sum(woken + preempted) / sum(wall), max(verdict)
FROM thread ALL INNER JOIN (SELECT recording, host_name, cpus, verdict FROM v_recording) USING (recording)
WHERE wall > 0
GROUP BY host_name ORDER BY run_queue DESC, host_name
