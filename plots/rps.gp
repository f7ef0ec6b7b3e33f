# SPDX-License-Identifier: GPL-2.0-or-later
# Requests a second over time. Called: gnuplot -c rps.gp DATA PICTURE FORMAT NOTE
# DATA: time [s], process, turns/s, sends/s, calls/s, events lost in the window (0, 1)
data = ARG1
png = ARG3 eq "png"
if (png) set terminal pngcairo size 900,440 font "sans,11"
if (!png) set terminal svg size 900,440 font "sans,12" background "white"
set output ARG2
set datafile separator "\t"
process = system(sprintf("head -n 1 '%s' | cut -f 2", data))
set title sprintf("Requests answered by %s\n%s", process, ARG4) noenhanced
set xlabel "time since the begin of the recording [s]"
set ylabel "requests [1/s]"
set yrange [0:*]
set grid ytics lc rgb "#dddddd"
set key below
set border 3
set tics nomirror
set style fill pattern 4
stats data using 4 nooutput name "SENDS"
stats data using 3 nooutput name "TURNS"
top = (SENDS_max > TURNS_max ? SENDS_max : TURNS_max) * 1.1
plot data using 1:($6 > 0 ? top : 1/0) with boxes lc rgb "#999999" title "events lost", \
     data using 1:4 with steps lw 5 lc rgb "#f0c36d" title "sends", \
     data using 1:3 with steps lw 2 lc rgb "#0072b2" title "turns (receive, then send)"
