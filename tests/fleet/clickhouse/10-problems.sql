-- SPDX-License-Identifier: GPL-2.0-or-later
SELECT host_name, start_realtime, name, kind, requests, p50, p99, pause_max, waited, worst
FROM (SELECT recording, name, kind, requests, p50, p99, pause_max, waited, worst
      FROM (SELECT recording, if(subject_kind = 'server', subject, NULL) AS server, kind, requests, p50, p99, pause_max, waited,
                   verdict AS worst
            FROM verdict WHERE status = 'problem')
      ALL LEFT JOIN (SELECT recording, id AS server, name FROM server) USING (recording, server))
ALL INNER JOIN (SELECT recording, host_name, start_realtime FROM fleet_recording) USING (recording)
ORDER BY p99 DESC, recording, name, kind
