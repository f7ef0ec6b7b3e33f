-- SPDX-License-Identifier: GPL-2.0-or-later
SELECT kernel, arrayFirst((bound, below) -> 100 * below >= 99 * assumeNotNull(total), groupArray(high) AS bounds,
                          arrayCumSum(groupArray(n))) AS p99, sum(n) AS total, max(worst)
FROM (SELECT kernel, high, sum(n) AS n, max(verdict) AS worst
      FROM (SELECT recording, high, n FROM latency
            ALL INNER JOIN (SELECT recording, id AS item FROM request_name_local WHERE name = 'GET') USING (recording, item)
            WHERE kind = 'name')
      ALL INNER JOIN (SELECT recording, kernel, verdict FROM fleet_recording) USING (recording)
      GROUP BY kernel, high ORDER BY kernel, high)
GROUP BY kernel ORDER BY kernel
