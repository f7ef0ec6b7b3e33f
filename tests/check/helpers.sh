#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Helpers of benchmarks, of make validate and of the fleet tests, on results that are made up.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/shell.sh

# ---- the table of what stacks cost ----
results=$work requests=100
name_of() { echo "$1"; }
nproc() { echo 1; }
. tests/bench/table.sh
. tests/bench/counted.sh
# Two rounds of 10 s each. Programs that take samples run for 10 ms of it.
table_of() { # ms at the end of obsrec-bare, of the others
	for tool in obsrec-bare obsrec bpftrace-profile; do
		last=$2 taking=10000000
		[ $tool = obsrec-bare ] && last=$1 taking=0
		for _ in 1 2; do
			echo "5000000000 10000000 100000000 ${last}000000 1024 1000 10000000000 5 0 $taking 1000000 100 1000000 100"
		done >"$results/counted.$tool"
	done
	counted_table
}
all_of() { echo "$2" | awk -F ' *[|] *' -v tool="$1" '$2 == tool { print $13 }'; }
one=$(table_of 600 900) # of 60 s: 0.5 % more than obsrec-bare at the end, and 0.1 % of samples
is "stacks: the end of obsrec without them is no part" "$(all_of obsrec "$one")" "0.60 %"
is "stacks: the end of another tracer is one" "$(all_of bpftrace-profile "$one")" "2.60 %"
is "stacks: an end that takes no longer is none" "$(all_of obsrec "$(table_of 900 900)")" "0.10 %"

# ---- rows of make validate, of ClickHouse ----
PYTHONPATH=$top/tests/validate:$top/tests/fleet PYTHONDONTWRITEBYTECODE=1 python3 - "$work" <<-'P' || bad=1
	import pathlib, sys
	import clickhouse, colocation, lab
	bad = 0

	def holds(what, condition):
	    global bad
	    print("ok" if condition else "not ok", what)
	    bad |= not condition

	class Kind:
	    """A case"""

	def rows(fails_at):
	    def with_server(kind, seeds, *_):
	        for seed in seeds:
	            if seed == fails_at:
	                raise OSError("late")
	            yield {"seed": seed, "right": True}
	        if fails_at == "end":
	            raise lab.Failed("late")
	    colocation.with_server = with_server
	    return [(row["seed"], row["right"]) for row in colocation.runs(Kind, range(3), None, None)]
	holds("colocation: what fails at the end counts no run twice", rows("end") == [(0, True), (1, True), (2, True)])
	holds("colocation: what fails before counts each run once", rows(1) == [(0, True), (1, False), (2, False)])
	holds("colocation: so does what fails at the start", rows(0) == [(0, False), (1, False), (2, False)])

	table = b'pid,comm,cmdline\r\n1,"a ""b""\r\nc","x\ny"\r\n2,"",\r\n,"\r",3\r\n'
	holds("ClickHouse: lines in quotes are of one row",
	      list(clickhouse.csv_rows(table)) == [b'1,"a ""b""\r\nc","x\ny"\r\n', b'2,"",\\N\r\n', b'\\N,"\r",3\r\n'])
	holds("ClickHouse: a table without rows", not list(clickhouse.csv_rows(b"pid,comm\r\n")))

	# the first of two servers ends at once
	server = pathlib.Path(sys.argv[1], "tools/usr/sbin/clickhouse-server")
	server.parent.mkdir(parents=True)
	server.write_text("#!/bin/sh\ncase $PWD in *0) exit 1 ;; esac\nexec sleep 600\n")
	server.chmod(0o755)
	cluster = clickhouse.Cluster(sys.argv[1] + "/tools", pathlib.Path(sys.argv[1]))
	try:
	    with cluster:
	        holds("ClickHouse: a server does not start", False)
	except SystemExit:
	    holds("ClickHouse: no server is left when one does not start",
	          len(cluster.servers) == 2 and all(s.poll() is not None for s in cluster.servers))
	for s in cluster.servers:
	    s.kill()
	sys.exit(bad)
P
exit $bad
