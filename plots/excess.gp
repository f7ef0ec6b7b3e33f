# SPDX-License-Identifier: GPL-2.0-or-later
# What a unit of work spends its time on before and after. Called: gnuplot -c excess.gp DATA PICTURE FORMAT NOTE
# DATA: unit, category, time of it before [ms], after [ms], units before, after, its colour (1-10), events lost on both sides
data = ARG1; file = ARG2; form = ARG3; note = ARG4
stats data using 3 nooutput name "N"
rows = N_records
high = 262 + 12 * rows
load ARG0[1:strstrt(ARG0, "excess.gp") - 1]."style.gp"
load ARG0[1:strstrt(ARG0, "excess.gp") - 1]."states.gp"
gone = cell(8) + 0 > 0 ? sprintf("; %s events lost", cell(8)) : ""
set title sprintf("Before and after: where the time of %s went%s%s", cell(1), gone, under) noenhanced
set xlabel "mean time of one [ms]"
set yrange [-0.6:1.6]
set xrange [0:*]
unset grid
set grid xtics lc rgb "#909090" lw 0.4 dt 3
set ytics (sprintf("before\nn = %s", field(1, 5)) 1, sprintf("after\nn = %s", field(1, 6)) 0) scale 0
set key below maxrows 4 width 2
array ubase[rows]
array sbase[rows]
array hue[rows]
baseline = 0.0
slow = 0.0
do for [r = 1:rows] {
	ubase[r] = baseline; sbase[r] = slow; hue[r] = int(field(r, 7))
	baseline = baseline + real(field(r, 3)); slow = slow + real(field(r, 4))
}
# offset, not a blank: HTML drops those
set label 1 sprintf("%.3g ms", baseline) at baseline, 1 left offset 0.7,0
set label 2 sprintf("%.3g ms", slow) at slow, 0 left offset 0.7,0
set xrange [0:(baseline > slow ? baseline : slow) * 1.15]
plot for [r = 1:rows] data every ::(r - 1)::(r - 1) using (ubase[r] + $3 / 2):(1):(ubase[r]):(ubase[r] + $3):(0.65):(1.35) \
	with boxxyerror lc rgb colour[hue[r]] notitle, \
     for [r = 1:rows] data every ::(r - 1)::(r - 1) using (sbase[r] + $4 / 2):(0):(sbase[r]):(sbase[r] + $4):(-0.35):(0.35) \
	with boxxyerror lc rgb colour[hue[r]] title field(r, 2) noenhanced
