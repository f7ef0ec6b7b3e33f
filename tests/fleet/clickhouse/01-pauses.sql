-- SPDX-License-Identifier: GPL-2.0-or-later
SELECT host_name, name, count(), max(dur) AS longest, sum(waiting), sum(run), sum(woken + preempted), sum(futex), sum(disk),
       sum(client), max(verdict)
FROM (SELECT recording, ts, dur, waiting, run, woken, preempted, futex, disk, client, name FROM pause
      ALL LEFT JOIN (SELECT recording, id AS server, name FROM server_local) USING (recording, server)
      WHERE dur >= 200000000)
ALL INNER JOIN (SELECT recording, host_name, start_realtime, verdict FROM fleet_recording) USING (recording)
WHERE start_realtime + ts >= 1795000000000000000
GROUP BY host_name, name
ORDER BY longest DESC, host_name, name NULLS FIRST
