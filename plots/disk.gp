# SPDX-License-Identifier: GPL-2.0-or-later
# Latency of block requests and how many were in flight, over time. Called: gnuplot -c disk.gp DATA PICTURE FORMAT NOTE START
# DATA: time [s], device, length of the window [s], events lost in it (0, 1), requests/s, median and 99th percentile of the
# latency [ms], mean wait before the device got it [ms], mean number of others in flight
data = ARG1; file = ARG2; form = ARG3; note = ARG4; start = ARG5 + 0; high = 560
load ARG0[1:strstrt(ARG0, "disk.gp") - 1]."style.gp"
load ARG0[1:strstrt(ARG0, "disk.gp") - 1]."clock.gp"
set multiplot layout 2,1 title sprintf("Requests to disk %s%s", cell(2), under) noenhanced
set lmargin 11
set rmargin 10
set xrange [0:*] noextend
set ylabel "latency [ms]"
set logscale y
stats data using 4 nooutput name "L"
stats data using (stringcolumn(7) eq "nan" ? 0 : $7) nooutput name "P"
stats data using (stringcolumn(8) eq "nan" ? 0 : $8) nooutput name "Q"
hatch = L_max > 0 ? 1 : 0
queued = Q_max > 0 ? 1 : 0
plot for [i = 1:hatch] data using ($1 + $3 / 2):($4 > 0 ? P_max * 1.2 : 1/0):3 with boxes fs pattern 4 lc rgb lost title "events lost", \
     data using 1:7:3:(0) with vectors nohead lw 2 lc rgb red title "99th percentile", \
     data using 1:6:3:(0) with vectors nohead lw 2 lc rgb green title "median", \
     for [i = 1:queued] data using 1:($8 > 0 ? $8 : 1/0):3:(0) with vectors nohead lw 1.5 lc rgb blue title "of it, before the device got it (mean)"
unset logscale y
set xlabel when
set ylabel "in flight [mean number]"
set y2label "requests [1/s]"
set y2range [0:*]
stats data using (stringcolumn(9) eq "nan" ? 0 : $9) nooutput name "D"
set yrange [0:(D_max > 0 ? D_max * 1.05 : 1)]
set y2tics
set format y2 "%.10g"
set border 11
plot data using 1:9:3:(0) with vectors nohead lw 2 lc rgb purple title "others in flight (left)", \
     data using 1:5 axes x1y2 with steps lw 1.5 lc rgb orange title "requests (right)"
unset multiplot
