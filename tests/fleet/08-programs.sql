-- SPDX-License-Identifier: GPL-2.0-or-later
-- Which programs use the most CPU time, and how much of it in interrupts?
SELECT p.comm, count(DISTINCT t.host) AS hosts, count(*) AS threads, sum(t.run) AS on_cpu,
       sum(t.softirq + t.irq) AS interrupts, sum(t.stolen) AS stolen, max(r.verdict) AS verdict
FROM thread t
JOIN process p ON p.recording = t.recording AND p.pid = t.pid
JOIN v_recording r ON r.recording = t.recording
GROUP BY p.comm
ORDER BY on_cpu DESC, p.comm;
