# SPDX-License-Identifier: GPL-2.0-or-later
# Where the time of a process's threads went, stacked, over time. Called: gnuplot -c waits.gp DATA PICTURE FORMAT NOTE START
# DATA: time [s], process, length of the window [s], events lost in it (0, 1), then the mean number of
# threads: on a CPU, in the run queue, futex, disk, sockets, pipe, blocked, other sleep, unknown, poll
data = ARG1; file = ARG2; form = ARG3; note = ARG4; start = ARG5 + 0; high = 440
load ARG0[1:strstrt(ARG0, "waits.gp") - 1]."style.gp"
load ARG0[1:strstrt(ARG0, "waits.gp") - 1]."clock.gp"
load ARG0[1:strstrt(ARG0, "waits.gp") - 1]."states.gp"
set title sprintf("Where the time of %s went%s", cell(2), under) noenhanced
set xlabel when
set ylabel "threads in this state [mean number]"
set xrange [0:*] noextend
set yrange [0:*]
set style fill solid 1 noborder
set key below maxrows 3
used = ""
do for [i = 10:1:-1] {
	stats data using (column(4 + i)) nooutput name "U"
	if (U_max > 0) { used = used." ".i }
}
stats data using 4 nooutput name "L"
stats data using (sum [i = 5:14] column(i)) nooutput name "T"
stack(k) = (sum [i = 5:4 + k] column(i))
hatch = L_max > 0 ? 1 : 0
plot for [i in used] data using ($1 + $3 / 2):(stack(i + 0)):3 with boxes lc rgb colour[i + 0] title name[i + 0], \
     for [i = 1:hatch] data using ($1 + $3 / 2):($4 > 0 ? T_max : 1/0):3 with boxes fs pattern 4 lc rgb "black" title "events lost"
