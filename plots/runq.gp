# SPDX-License-Identifier: GPL-2.0-or-later
# Waits in the run queue: how many of which length, over time. Called: gnuplot -c runq.gp DATA PICTURE FORMAT NOTE START
# DATA: time [s], process, length of the window [s], shortest wait of the class [us], longest, waits,
# events lost in the window (0, 1)
data = ARG1; file = ARG2; form = ARG3; note = ARG4; start = ARG5 + 0; high = 440
load ARG0[1:strstrt(ARG0, "runq.gp") - 1]."style.gp"
load ARG0[1:strstrt(ARG0, "runq.gp") - 1]."clock.gp"
set title sprintf("How long %s waited for a CPU%s", cell(2), under) noenhanced
set xlabel when
set ylabel "wait in the run queue [us]"
set cblabel "waits of this length in the window [number]"
set logscale y
set logscale cb
set xrange [0:*] noextend
stats data using (stringcolumn(5) eq "nan" ? 0 : $5) nooutput name "Y"
stats data using 7 nooutput name "L"
stats data using (stringcolumn(6) eq "nan" ? 0 : $6) nooutput name "N"
set cbrange [1:N_max < 10 ? 10 : N_max]
set yrange [*:Y_max]
unset key
set palette defined (0 "#56b4e9", 0.35 "#0072b2", 0.65 "#cc79a7", 1 "#d55e00")
if (L_max > 0) { set xlabel when."; hatched: events lost" }
hatch = L_max > 0 ? 1 : 0
plot data using ($1 + $3 / 2):(sqrt($4 * $5)):1:($1 + $3):4:5:6 with boxxyerror fs solid 1 lc palette notitle, \
     for [i = 1:hatch] data using ($1 + $3 / 2):($7 > 0 ? Y_max : 1/0):3 with boxes fs pattern 4 lc rgb lost notitle
