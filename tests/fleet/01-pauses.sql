-- SPDX-License-Identifier: GPL-2.0-or-later
-- Which hosts had pauses of 200 ms and more since a time, and in which states were their threads?
SELECT r.host_name, s.name AS server, count(*) AS pauses, max(p.dur) AS longest, sum(p.waiting) AS requests,
       sum(p.run) AS on_cpu, sum(p.woken + p.preempted) AS run_queue, sum(p.futex) AS futex,
       sum(p.disk) AS disk, sum(p.client) AS upstream, max(r.verdict) AS verdict
FROM pause p
JOIN v_recording r ON r.recording = p.recording
LEFT JOIN server s ON s.recording = p.recording AND s.id = p.server
WHERE p.dur >= 200000000 AND r.start_realtime + p.ts >= 1795000000000000000
GROUP BY r.host_name, s.name
ORDER BY longest DESC, r.host_name, server;
