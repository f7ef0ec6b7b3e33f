-- SPDX-License-Identifier: GPL-2.0-or-later
CREATE TABLE IF NOT EXISTS fleet_recording (recording String, host_name Nullable(String), kernel Nullable(String),
       cpus Nullable(Int64), start_realtime Nullable(Int64), verdict Nullable(String))
ENGINE = Distributed('fleet', currentDatabase(), 'v_recording')
