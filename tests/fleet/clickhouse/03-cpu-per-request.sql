-- SPDX-License-Identifier: GPL-2.0-or-later
SELECT path, build_id, min(start_realtime) AS since, uniqExact(recording), sum(exchanges), sum(cpu) / sum(exchanges), max(verdict)
FROM (SELECT recording, exchanges, cpu, comm FROM request_stat
      ALL INNER JOIN (SELECT recording, id AS service, comm FROM service_local
                      ALL INNER JOIN (SELECT recording, pid, comm FROM process_local) USING (recording, pid))
      USING (recording, service) WHERE exchanges > 0)
ALL INNER JOIN (SELECT recording, path, build_id, start_realtime, verdict FROM module
                ALL INNER JOIN (SELECT recording, start_realtime, verdict FROM v_recording) USING (recording)
                WHERE kind = 'file') USING (recording)
WHERE endsWith(assumeNotNull(path), concat('/', assumeNotNull(comm)))
GROUP BY path, build_id ORDER BY path, since, build_id
