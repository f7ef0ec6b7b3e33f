-- SPDX-License-Identifier: GPL-2.0-or-later
SELECT name, error, uniqExact(host), sum(n) AS calls, max(verdict)
FROM syscall_error
ALL INNER JOIN (SELECT recording, abi, nr, name, verdict FROM syscall_name_local
                ALL INNER JOIN (SELECT recording, verdict FROM v_recording) USING (recording)) USING (recording, abi, nr)
GROUP BY name, error ORDER BY calls DESC, name, error
