-- SPDX-License-Identifier: GPL-2.0-or-later
-- Rows of a recording are on one server: questions join with what that server has.
CREATE VIEW IF NOT EXISTS v_recording AS SELECT recording, host_name, kernel, cpus, start_realtime, verdict
FROM (SELECT recording, maxIf(value, key = 'host') AS host_name, maxIf(value, key = 'kernel') AS kernel,
             toInt64(maxIf(value, key = 'cpus')) AS cpus,
             toInt64(maxIf(value, key = 'start_realtime_ns')) AS start_realtime
      FROM recording_local GROUP BY recording)
ALL LEFT JOIN (SELECT recording, multiIf(max(verdict = 'LOSSY') > 0, 'LOSSY', max(verdict = 'TRUNCATED') > 0, 'TRUNCATED',
                                         'COMPLETE') AS verdict
               FROM coverage_local GROUP BY recording) USING (recording)
