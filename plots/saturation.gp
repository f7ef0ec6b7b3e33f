# SPDX-License-Identifier: GPL-2.0-or-later
# Spacing of requests: variance against rate, with the knee, and CV^2 over time.
# Called: gnuplot -c saturation.gp DATA PICTURE FORMAT NOTE START
# DATA: time [s], service, receives/s, variance of gaps between receives [us^2], over its largest,
# CV^2, the same three of sends, events lost in the window (0, 1), length of the window [s],
# knee of receives [1/s] and its interval, or nan
data = ARG1; file = ARG2; form = ARG3; note = ARG4; start = ARG5 + 0; high = 440; most = 2
load ARG0[1:strstrt(ARG0, "saturation.gp") - 1]."style.gp"
stats data using (stringcolumn(6) eq "nan" ? 0 : $6) nooutput name "RECV"
stats data using (stringcolumn(9) eq "nan" ? 0 : $9) nooutput name "SEND"
stats data using 10 nooutput name "L"
set grid xtics ytics lc rgb "#909090" lw 0.4 dt 3
set multiplot layout 1,2 title sprintf("Spacing of requests at %s%s", cell(2), under) noenhanced
set xlabel "receives [1/s], windows without loss"
set ylabel "variance of gaps / its largest [1]"
set xrange [0:*]
set yrange [0:1.05]
set format x "%.0s%c"

knee = cell(12)
if (knee ne "nan" && knee ne "") {
	set object 1 rectangle from real(cell(13)), graph 0 to real(cell(14)), graph 1 behind fc rgb purple fs solid 0.25 noborder
	set arrow 1 from real(knee), graph 0 to real(knee), graph 1 nohead lw 2 lc rgb purple
	set label 1 sprintf("knee %.0f/s", real(knee)) at real(knee), graph 0.96 offset 0.7,0
}
stats data using ($10 > 0 || stringcolumn(3) eq "nan" ? 0 : 1) nooutput name "V"
if (V_max == 0) {
	set xrange [0:1]
	set label 2 "no window without loss" at graph 0.5, graph 0.5 center
}
plot data using ($10 > 0 ? 1/0 : $3):5 with points pt 7 ps 0.6 lc rgb blue title "receives", \
     data using ($10 > 0 ? 1/0 : $3):8 with points pt 6 ps 0.7 lc rgb red title "sends"
unset object
unset arrow
unset label
set xrange [0:*] noextend
set format x "%g"

load ARG0[1:strstrt(ARG0, "saturation.gp") - 1]."clock.gp"
set xlabel when
set ylabel "CV² of gaps [1]; 1: random"
top = (RECV_max > SEND_max ? RECV_max : SEND_max) * 1.1
top = top > 1.2 ? top : 1.2
set yrange [0:top]
set arrow 2 from graph 0, first 1 to graph 1, first 1 nohead dt 2 lw 1 lc rgb dark
if (L_max > 0) {
	plot data using ($1 + $11 / 2):($10 > 0 ? top : 1/0):11 with boxes fs pattern 4 lc rgb lost title "events lost", \
	     data using 1:6:11:(0) with vectors nohead lw 2 lc rgb blue title "receives", \
	     data using 1:9:11:(0) with vectors nohead lw 2 lc rgb red title "sends"
} else {
	plot data using 1:6:11:(0) with vectors nohead lw 2 lc rgb blue title "receives", \
	     data using 1:9:11:(0) with vectors nohead lw 2 lc rgb red title "sends"
}
unset multiplot
