# Requests a second over time. Called: gnuplot -c rps.gp DATA PICTURE FORMAT NOTE
# DATA: time [s], process, turns/s, sends/s, calls/s, events lost in the window (0, 1)
data = ARG1
if (ARG3 eq "png") set terminal pngcairo size 900,420 font "sans,11"; else set terminal svg size 900,420 font "sans,12" background "white"
set output ARG2
set datafile separator "\t"
stats data using 3 nooutput
turns_mean = STATS_mean
process = system(sprintf("head -n 1 '%s' | cut -f 2", data))
set title sprintf("Requests answered by %s\n{/*0.85 %s}", process, ARG4) noenhanced
set xlabel "time since the first event [s]"
set ylabel "requests [1/s]"
set yrange [0:*]
set grid ytics lc rgb "#dddddd"
set key outside bottom center horizontal
set border 3
set tics nomirror
set style fill pattern 4 border
set format y "%'.0f"
set decimal locale
plot data using 1:($6 > 0 ? 1e12 : 1/0) with boxes lc rgb "#999999" title "events lost", \
     data using 1:4 with steps lw 2 lc rgb "#e69f00" title "sends", \
     data using 1:3 with steps lw 2 lc rgb "#0072b2" title "turns (receive, then send)"
