-- SPDX-License-Identifier: GPL-2.0-or-later
SELECT name, uniqExact(host), sum(exchanges), sum(errors), sum(latency) AS total, max(longest), sum(queued), sum(cpu), max(verdict)
FROM (SELECT recording, host, name AS item, exchanges, errors, latency, max AS longest, queued, cpu FROM request_stat)
ALL INNER JOIN (SELECT recording, id AS item, name, verdict FROM request_name
                ALL INNER JOIN (SELECT recording, verdict FROM v_recording) USING (recording)) USING (recording, item)
GROUP BY name ORDER BY total DESC, name
