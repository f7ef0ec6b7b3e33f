-- SPDX-License-Identifier: GPL-2.0-or-later
SELECT kind, category, evidence, count() AS causes, uniqExact(host) AS hosts, avg(contribution), sum(n_slow), max(verdict)
FROM cause ALL INNER JOIN (SELECT recording, verdict FROM v_recording) USING (recording)
WHERE rank = 1
GROUP BY kind, category, evidence ORDER BY hosts DESC, causes DESC, kind, category, evidence
