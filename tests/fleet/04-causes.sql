-- SPDX-License-Identifier: GPL-2.0-or-later
-- What makes requests slow, on how many hosts?
SELECT c.kind, c.category, c.evidence, count(*) AS causes, count(DISTINCT c.host) AS hosts,
       avg(c.contribution) AS contribution, sum(c.n_slow) AS slow_requests, max(r.verdict) AS verdict
FROM cause c
JOIN v_recording r ON r.recording = c.recording
WHERE c.rank = 1
GROUP BY c.kind, c.category, c.evidence
ORDER BY hosts DESC, causes DESC, c.kind, c.category, c.evidence;
