# SPDX-License-Identifier: GPL-2.0-or-later
# What slow units of work spend their time on, and what baseline ones do. Called: gnuplot -c causes.gp DATA PICTURE FORMAT NOTE
# DATA: unit, category, time of it in a baseline unit [ms], in a slow one [ms], baseline units, slow units, its colour (1-10),
# what was lost or empty
data = ARG1; file = ARG2; form = ARG3; note = ARG4
stats data using 3 nooutput name "N"
rows = N_records
high = 262 + 12 * rows
load ARG0[1:strstrt(ARG0, "causes.gp") - 1]."style.gp"
load ARG0[1:strstrt(ARG0, "causes.gp") - 1]."states.gp"
gone = strlen(cell(8)) ? "\n".cell(8) : ""
set title sprintf("Slow and baseline %s: where their time goes%s%s", field(1, 1), gone, under) noenhanced
set xlabel "mean time of one [ms]"
set yrange [-0.6:1.6]
set xrange [0:*]
unset grid
set grid xtics lc rgb "#909090" lw 0.4 dt 3
set ytics (sprintf("baseline\nn = %s", field(1, 5)) 1, sprintf("slow\nn = %s", field(1, 6)) 0) scale 0
set key below maxrows 4
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
