-- SPDX-License-Identifier: GPL-2.0-or-later
-- Which requests take the most time, on all hosts together, and how many fail?
SELECT n.name, count(DISTINCT q.host) AS hosts, sum(q.exchanges) AS requests, sum(q.errors) AS errors,
       sum(q.latency) AS total, max(q.max) AS longest, sum(q.queued) AS queued, sum(q.cpu) AS cpu,
       max(r.verdict) AS verdict
FROM request_stat q
JOIN request_name n ON n.recording = q.recording AND n.id = q.name
JOIN v_recording r ON r.recording = q.recording
GROUP BY n.name
ORDER BY total DESC, n.name;
