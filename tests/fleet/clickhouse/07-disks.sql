-- SPDX-License-Identifier: GPL-2.0-or-later
SELECT host, name, arrayFirst((bound, below) -> 100 * below >= 99 * assumeNotNull(total), groupArray(high) AS bounds,
                              arrayCumSum(groupArray(n))) AS p99, sum(n) AS total, max(worst)
FROM (SELECT host, name, high, sum(n) AS n, max(verdict) AS worst FROM latency
      ALL INNER JOIN (SELECT recording, dev AS subject, name, verdict FROM disk_local
                      ALL INNER JOIN (SELECT recording, verdict FROM v_recording) USING (recording))
      USING (recording, subject)
      WHERE kind = 'block' GROUP BY host, name, high ORDER BY host, name, high)
GROUP BY host, name ORDER BY host, name
