# SPDX-License-Identifier: GPL-2.0-or-later
# Spacing of requests: variance against rate, and CV^2 over time.
# Called: gnuplot -c saturation.gp DATA PICTURE FORMAT NOTE
# DATA: time [s], service, receives/s, variance of gaps between receives [us^2], over its largest,
# CV^2, the same three of sends, events lost in the window (0, 1), length of the window [s]
data = ARG1
png = ARG3 eq "png"
if (png) set terminal pngcairo size 1000,460 font "sans,11"
if (!png) set terminal svg size 1000,460 font "sans,12" background "white"
set output ARG2
set datafile separator "\t"
service = system(sprintf("head -n 1 '%s' | cut -f 2", data))
set grid lc rgb "#dddddd"
set key below
set border 3
set tics nomirror
set multiplot layout 1,2 title sprintf("Spacing of requests at %s\n%s", service, ARG4) noenhanced
set xlabel "receives [1/s], windows without loss"
set ylabel "variance of gaps / its largest [1]"
set xrange [0:*]
set yrange [0:1.05]
set format x "%.0s%c"
plot data using ($10 > 0 ? 1/0 : $3):5 with points pt 7 ps 0.7 lc rgb "#0072b2" title "receives", \
     data using ($10 > 0 ? 1/0 : $3):8 with points pt 6 ps 0.8 lc rgb "#d55e00" title "sends"
set format x "%g"
set xlabel "time since the begin of the recording [s]"
set ylabel "CV^2 of gaps [1]; 1: random"
set yrange [0:*]
set style fill pattern 4
stats data using 6 nooutput name "RECV"
stats data using 9 nooutput name "SEND"
top = (RECV_max > SEND_max ? RECV_max : SEND_max) * 1.1
set yrange [0:top > 1.2 ? top : 1.2]
plot data using ($1 + $11 / 2):($10 > 0 ? top : 1/0):11 with boxes lc rgb "#999999" title "events lost", \
     1 with lines lw 1 dt 2 lc rgb "#666666" notitle, \
     data using 1:6 with steps lw 2 lc rgb "#0072b2" title "receives", \
     data using 1:9 with steps lw 2 lc rgb "#d55e00" title "sends"
unset multiplot
