-- SPDX-License-Identifier: GPL-2.0-or-later
-- On which hosts do threads wait for a CPU?
SELECT r.host_name, max(r.cpus) AS cpus, count(DISTINCT r.recording) AS recordings,
       sum(t.woken + t.preempted) AS run_queue, sum(t.run) AS on_cpu,
       1e0 * sum(t.woken + t.preempted) / sum(t.wall) AS share, max(r.verdict) AS verdict
FROM thread t
JOIN v_recording r ON r.recording = t.recording
WHERE t.wall > 0
GROUP BY r.host_name
ORDER BY run_queue DESC, r.host_name;
