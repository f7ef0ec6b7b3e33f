# SPDX-License-Identifier: GPL-2.0-or-later
# Requests per second and their latency over time. Called: gnuplot -c rps.gp DATA PICTURE FORMAT NOTE START
# DATA: time [s], service, requests/s, sends/s, length of the window [s], events lost in it (0, 1),
# median, 99th percentile and longest of the latency in the step around it [ms]
data = ARG1; file = ARG2; form = ARG3; note = ARG4; start = ARG5 + 0; high = 560
load ARG0[1:strstrt(ARG0, "rps.gp") - 1]."style.gp"
load ARG0[1:strstrt(ARG0, "rps.gp") - 1]."clock.gp"
set multiplot layout 2,1 title sprintf("Requests answered by %s, and how long they took%s", cell(2), under) noenhanced
set lmargin 11
set rmargin 3
set ylabel "requests, sends [1/s]"
set yrange [0:*]
set xrange [0:*]
stats data using (column(4) > column(3) ? column(4) : column(3)) nooutput name "R"
stats data using 6 nooutput name "L"
stats data using (stringcolumn(9) eq "nan" ? 0 : $9) nooutput name "P"
top = R_max * 1.1
set format y "%.10g"
if (L_max > 0) {
	plot data using ($1 + $5 / 2):($6 > 0 ? top : 1/0):5 with boxes fs pattern 4 lc rgb lost title "events lost", \
	     data using 1:4 with steps lw 4 lc rgb orange title "sends", \
	     data using 1:3 with steps lw 1.6 lc rgb blue title "requests (receive, then send)"
} else {
	plot data using 1:4 with steps lw 4 lc rgb orange title "sends", \
	     data using 1:3 with steps lw 1.6 lc rgb blue title "requests (receive, then send)"
}
set xlabel when
set ylabel "latency [ms]"
set format y "%g"
set yrange [*:*]
stats data using (stringcolumn(7) eq "nan" ? P_max : $7) nooutput name "M"
if (P_max > 0 && M_min >= P_max) { set yrange [P_max / 2:P_max * 2] }
set logscale y
if (L_max > 0 && P_max > 0) {
	plot data using ($1 + $5 / 2):($6 > 0 ? P_max * 1.5 : 1/0):5 with boxes fs pattern 4 lc rgb lost notitle, \
	     data using 1:9 with steps lw 1.5 lc rgb dark title "longest", \
	     data using 1:8 with steps lw 2 lc rgb red title "99th percentile", \
	     data using 1:7 with steps lw 2 lc rgb green title "median"
}
if (L_max == 0 && P_max > 0) {
	plot data using 1:9 with steps lw 1.5 lc rgb dark title "longest", \
	     data using 1:8 with steps lw 2 lc rgb red title "99th percentile", \
	     data using 1:7 with steps lw 2 lc rgb green title "median"
}
unset multiplot
