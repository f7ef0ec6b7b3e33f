# SPDX-License-Identifier: GPL-2.0-or-later
# Slack over time: mean wait in epoll, poll, select, and the idle share of the threads that wait there.
# Called: gnuplot -c slack.gp DATA PICTURE FORMAT NOTE START
# DATA: time [s], the server's processes, mean wait [ms], idle share [%], events lost in the window (0, 1),
# length of the window [s], the knee of saturation [1/s] or nan, rate beyond it in this window (0, 1) or nan, of what
data = ARG1; file = ARG2; form = ARG3; note = ARG4; start = ARG5 + 0; most = 3
load ARG0[1:strstrt(ARG0, "slack.gp") - 1]."style.gp"
load ARG0[1:strstrt(ARG0, "slack.gp") - 1]."clock.gp"
stats data using 5 nooutput name "L"
set title sprintf("Room left in %s: waits in epoll, poll and select%s", cell(2), under) noenhanced
set xlabel when
set ylabel "idle share [%]"
set y2label "mean duration of a wait [ms]"
set xrange [0:*] noextend
set yrange [0:105]
# in no window may a wait have ended: then there is no mean, and gnuplot's stats would have no result
stats data using (stringcolumn(3) eq "nan" ? 0 : $3) nooutput name "H"
stats data using (stringcolumn(3) eq "nan" ? H_max : $3) nooutput name "W"
# a logarithmic axis has marks at powers of ten only: one with none of them between its ends says nothing
wide = W_min > 0 && W_max > 10 * W_min
if (wide) { set logscale y2; set y2range [W_min * 0.8:W_max * 1.25] }
if (!wide) { set y2range [0:W_max > 0 ? W_max * 1.25 : 1] }
set border 11
set y2tics
knee = cell(7)
has = knee ne "nan" && knee ne "" ? 1 : 0
shade = 0
if (has) {
	stats data using 8 nooutput name "K"
	shade = K_max > 0 ? 1 : 0
}
beyond = shade ? sprintf("beyond the knee of %.0f %s/s", real(knee), cell(9)) : ""
gone = L_max > 0 ? 1 : 0
plot for [i = 1:shade] data using ($1 + $6 / 2):($8 > 0 ? 105 : 1/0):6 with boxes fs solid 0.3 lc rgb purple title beyond noenhanced, \
     for [i = 1:gone] data using ($1 + $6 / 2):($5 > 0 ? 105 : 1/0):6 with boxes fs pattern 4 lc rgb lost title "events lost", \
     data using 1:4:6:(0) with vectors nohead lw 3 lc rgb blue title "idle share (left)", \
     data using ($1 + $6 / 2):3 axes x1y2 with points pt 7 ps 0.8 lc rgb red title "mean wait (right)"
