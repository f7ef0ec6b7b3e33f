-- SPDX-License-Identifier: GPL-2.0-or-later
-- Which system calls fail, with which error?
SELECT n.name, x.error, count(DISTINCT x.host) AS hosts, sum(x.n) AS calls, max(r.verdict) AS verdict
FROM syscall_error x
JOIN syscall_name n ON n.recording = x.recording AND n.abi = x.abi AND n.nr = x.nr
JOIN v_recording r ON r.recording = x.recording
GROUP BY n.name, x.error
ORDER BY calls DESC, n.name, x.error;
