-- SPDX-License-Identifier: GPL-2.0-or-later
-- What is the 99th percentile of the latency of GET, by kernel?
SELECT b.kernel, min(b.high) AS p99, max(b.total) AS requests, max(b.verdict) AS verdict
FROM (SELECT r.kernel, l.high, max(max(r.verdict)) OVER (PARTITION BY r.kernel) AS verdict,
             sum(sum(l.n)) OVER (PARTITION BY r.kernel ORDER BY l.high) AS below,
             sum(sum(l.n)) OVER (PARTITION BY r.kernel) AS total
      FROM latency l
      JOIN request_name n ON n.recording = l.recording AND n.id = l.item
      JOIN v_recording r ON r.recording = l.recording
      WHERE l.kind = 'name' AND n.name = 'GET'
      GROUP BY r.kernel, l.high) b
WHERE 100 * b.below >= 99 * b.total
GROUP BY b.kernel
ORDER BY b.kernel;
