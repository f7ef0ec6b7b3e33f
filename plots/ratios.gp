# SPDX-License-Identifier: GPL-2.0-or-later
# Ratios of after to before with their intervals, a row a metric. Called: gnuplot -c ratios.gp DATA PICTURE FORMAT NOTE
# DATA: row (from 1), metric, ratio, lower and upper end of its 95 % interval, verdict (1 slower, 2 faster, 3 more or less,
# 4 equivalent, 5 inconclusive), threshold (a share), events lost on both sides
data = ARG1; file = ARG2; form = ARG3; note = ARG4
set datafile separator "\t"
stats data using 1 nooutput name "N"
rows = int(N_max)
high = 170 + 24 * rows
load ARG0[1:strstrt(ARG0, "ratios.gp") - 1]."style.gp"
stats data using 4 nooutput name "L"
stats data using 5 nooutput name "H"
array name[5] = ["slower", "faster", "more or less", "equivalent", "inconclusive"]
array colour[5] = [red, green, purple, blue, grey]
array shape[5] = [7, 5, 13, 9, 6]
used = ""
do for [i = 1:5] {
	stats data using ($6 == i ? 1 : 0) nooutput name "U"
	if (U_max > 0) { used = used." ".i }
}
gone = cell(8) + 0 > 0 ? sprintf("; %s events lost", cell(8)) : ""
set title sprintf("After / before, with 95 %% intervals%s%s", gone, under) noenhanced
set xlabel "after / before [1]; shaded: within the threshold"
set logscale x
near = 1 + 2 * real(cell(7))
low = L_min < 1 / near ? L_min / 1.08 : 1 / near
top = H_max > near ? H_max * 1.08 : near
# what changed by more is drawn at the edge, else nothing next to it could be read
low = low < 0.2 ? 0.2 : low
top = top > 5 ? 5 : top
inside(x) = x < low ? low : x > top ? top : x
set xrange [low:top]
ticks = top / low > 4 ? "0.2 0.3 0.5 0.7 1 1.5 2 3 5" : top / low > 1.6 ? "0.5 0.6 0.7 0.8 0.9 1 1.1 1.2 1.4 1.6 1.8 2 2.5" : \
	"0.8 0.85 0.9 0.95 1 1.05 1.1 1.15 1.2 1.25"
set xtics () scale 0.5
do for [t in ticks] { set xtics add (t t + 0) }
set ytics () scale 0
do for [r = 1:rows] { set ytics add (sprintf("%s: %.3g", field(r, 2), real(field(r, 3))) r) }
set yrange [rows + 0.6:0.4]
set border 1
set key below maxcols 2 maxrows 3
unset grid
set grid xtics lc rgb "#909090" lw 0.4 dt 3
set object 1 rectangle from 1 / (1 + real(cell(7))), graph 0 to 1 + real(cell(7)), graph 1 behind fc rgb sky fs solid 0.25 noborder
set arrow 1 from 1, graph 0 to 1, graph 1 nohead lw 1.2 lc rgb dark
plot for [i in used] data using ($6 == i + 0 ? inside($3) : NaN):1:(inside($4)):(inside($5)) with xerrorbars lw 2 pt shape[i + 0] ps 0.8 \
	lc rgb colour[i + 0] title name[i + 0]
