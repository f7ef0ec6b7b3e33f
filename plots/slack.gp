# SPDX-License-Identifier: GPL-2.0-or-later
# Slack over time: mean wait in epoll, poll, select, and the idle share of the threads that wait there.
# Called: gnuplot -c slack.gp DATA PICTURE FORMAT NOTE
# DATA: time [s], process, mean wait [ms], idle share [%], events lost in the window (0, 1),
# length of the window [s]
data = ARG1
png = ARG3 eq "png"
if (png) set terminal pngcairo size 900,440 font "sans,11"
if (!png) set terminal svg size 900,440 font "sans,12" background "white"
set output ARG2
set datafile separator "\t"
process = system(sprintf("head -n 1 '%s' | cut -f 2", data))
set title sprintf("Room left in %s: waits in epoll, poll and select\n%s", process, ARG4) noenhanced
set xlabel "time since the begin of the recording [s]"
set ylabel "idle share [%]"
set y2label "mean duration of a wait [ms]"
set xrange [0:*]
set yrange [0:105]
set logscale y2
set y2range [*:*]
set grid ytics lc rgb "#dddddd"
set key below
set border 11
set tics nomirror
set y2tics
set style fill pattern 4
plot data using ($1 + $6 / 2):($5 > 0 ? 105 : 1/0):6 with boxes lc rgb "#999999" title "events lost", \
     data using 1:4 with steps lw 3 lc rgb "#0072b2" title "idle share (left)", \
     data using 1:3 axes x1y2 with points pt 7 ps 0.7 lc rgb "#d55e00" title "mean wait (right)"
