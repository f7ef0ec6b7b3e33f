# SPDX-License-Identifier: GPL-2.0-or-later
# The work of redis.sh, with call stacks. Sourced by tests/bench/bench.sh, see micro.sh.
title_stacks="redis-server as above, with call stacks, 99 times per second: CPU of the server per request"
unit_stacks=us
tools_stacks='untraced obsrec-bare obsrec perf-dwarf bpftrace-profile'

about_stacks() { comm=redis-server groups=syscalls,sched,cpu binary='' function=''; }
needs_stacks() { needs_redis; }
begin_stacks() { begin_redis; }
go_stacks() { go_redis "$1"; }
end_stacks() { end_redis; }
