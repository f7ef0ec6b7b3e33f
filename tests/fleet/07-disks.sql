-- SPDX-License-Identifier: GPL-2.0-or-later
-- What is the 99th percentile of the latency of each disk?
SELECT b.host, b.name, min(b.high) AS p99, max(b.total) AS requests, max(b.verdict) AS verdict
FROM (SELECT l.host, d.name, l.high, max(max(r.verdict)) OVER (PARTITION BY l.host, d.name) AS verdict,
             sum(sum(l.n)) OVER (PARTITION BY l.host, d.name ORDER BY l.high) AS below,
             sum(sum(l.n)) OVER (PARTITION BY l.host, d.name) AS total
      FROM latency l
      JOIN disk d ON d.recording = l.recording AND d.dev = l.subject
      JOIN v_recording r ON r.recording = l.recording
      WHERE l.kind = 'block'
      GROUP BY l.host, d.name, l.high) b
WHERE 100 * b.below >= 99 * b.total
GROUP BY b.host, b.name
ORDER BY b.host, b.name;
