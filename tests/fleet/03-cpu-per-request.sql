-- SPDX-License-Identifier: GPL-2.0-or-later
-- Which release made CPU time per request grow? A release is the build-id of the program.
SELECT m.path, m.build_id, min(r.start_realtime) AS since, count(DISTINCT r.recording) AS recordings,
       sum(q.exchanges) AS requests, 1e0 * sum(q.cpu) / sum(q.exchanges) AS cpu_per_request,
       max(r.verdict) AS verdict
FROM request_stat q
JOIN service s ON s.recording = q.recording AND s.id = q.service
JOIN process p ON p.recording = s.recording AND p.pid = s.pid
JOIN module m ON m.recording = p.recording AND m.kind = 'file' AND m.path LIKE '%/' || p.comm
JOIN v_recording r ON r.recording = q.recording
WHERE q.exchanges > 0
GROUP BY m.path, m.build_id
ORDER BY m.path, since, m.build_id;
