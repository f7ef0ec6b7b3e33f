# SPDX-License-Identifier: GPL-2.0-or-later
# Who ran, who waited and who woke whom while one unit of work lasted. Called: gnuplot -c timeline.gp DATA PICTURE FORMAT NOTE START
# DATA: unit, its start [s], row of the thread (0: at the top), its name, from [ms after the start], to,
# kind of state (1-10), row of the thread that ended the wait or nan, what was lost or empty
data = ARG1; file = ARG2; form = ARG3; note = ARG4; start = ARG5 + 0
stats data using 3 nooutput name "R"
rows = R_max + 1
high = 217 + 26 * rows
load ARG0[1:strstrt(ARG0, "timeline.gp") - 1]."style.gp"
load ARG0[1:strstrt(ARG0, "timeline.gp") - 1]."states.gp"
gone = strlen(cell(9)) ? "\n".cell(9) : ""
at_start = start > 0 ? strftime("%H:%M:%02.3S UTC", start + real(cell(2))) : cell(2)." s"
set title sprintf("%s, at %s%s%s", cell(1), at_start, gone, under) noenhanced
set xlabel "time since its start [ms]"
unset grid
set border 1
set style fill solid 1 border
set key below maxrows 3
stats data using 6 nooutput name "X"
used = ""
do for [i = 1:10] {
	stats data using ($7 == i ? 1 : 0) nooutput name "U"
	if (U_max > 0) { used = used." ".i }
}
stats data using (stringcolumn(8) eq "nan" ? 0 : 1) nooutput name "W"
woken = W_max > 0 ? 1 : 0
set xrange [0:*] noextend
set yrange [rows - 0.4:-0.6]
thick(k) = k == 1 ? 0.36 : k == 2 ? 0.3 : 0.14
plot for [i in used] data using ($7 == i + 0 ? ($5 + $6) / 2 : 1/0):3:5:6:($3 - thick(i + 0)):($3 + thick(i + 0)):ytic(4) \
	with boxxyerror lc rgb colour[i + 0] title name[i + 0], \
     for [i = 1:woken] data using 6:8:(0):($3 - $8) with vectors head size graph 0.012,25 filled lw 1.2 lc rgb "black" title "wakes"
