-- SPDX-License-Identifier: GPL-2.0-or-later
-- Which servers have a problem, the slowest first?
SELECT r.host_name, r.start_realtime, s.name AS server, v.kind, v.requests, v.p50, v.p99, v.pause_max, v.waited,
       v.verdict
FROM verdict v
JOIN v_recording r ON r.recording = v.recording
LEFT JOIN server s ON s.recording = v.recording AND v.subject_kind = 'server' AND s.id = v.subject
WHERE v.status = 'problem'
ORDER BY v.p99 DESC, r.recording, server, v.kind;
