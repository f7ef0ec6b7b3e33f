# SPDX-License-Identifier: GPL-2.0-or-later
# Which share of durations took at most how long, before and after; a panel for each kind of duration, a line for
# each recording. Called: gnuplot -c compare.gp DATA PICTURE FORMAT NOTE
# DATA: panel (from 1), its title, side (0: before, 1: after), recording of the side, duration [ms] or nan at the end
# of a line, share [%], what the side is called; sorted by panel, side, recording and share
data = ARG1; file = ARG2; form = ARG3; note = ARG4
set datafile separator "\t"
stats data using 1 nooutput name "P"
panels = int(P_max)
high = 70 + 340 * panels
load ARG0[1:strstrt(ARG0, "compare.gp") - 1]."style.gp"
set multiplot layout panels,1 title sprintf("How long it took before and after%s", under) noenhanced
set ylabel "took at most so long [%]"
set logscale x
set yrange [0:100]
set lmargin 9
set rmargin 3
set grid xtics ytics lc rgb "#909090" lw 0.4 dt 3
set key below maxrows 2
array name[2]
do for [p = 1:panels] {
	stats data using ($1 == p ? $5 : NaN) nooutput name "X"
	set title system(sprintf("awk -F '\t' '$1 == %d { print $2; exit }' '%s' | sed 's/\\\\x20/ /g'", p, data)) noenhanced
	do for [s = 0:1] {
		name[s + 1] = system(sprintf("awk -F '\t' '$1 == %d && $3 == %d { print $7; exit }' '%s' | sed 's/\\\\x20/ /g'", p, s, data))
	}
	set xrange [X_min * 0.9:X_max * 1.1]
	if (p == panels) { set xlabel "duration [ms]" }
	do for [q in "50 90 99"] {
		set arrow from graph 0, first q + 0 to graph 1, first q + 0 nohead dt 2 lw 0.7 lc rgb dark
		set label q." %" at graph 0.005, first q - 4
	}
	plot for [s = 0:1] data using ($1 == p && $3 == s ? $5 : NaN):6 with lines lw 2 dt 2 - s \
		lc rgb (s ? red : blue) title name[s + 1] noenhanced
	unset arrow
	unset label
}
unset multiplot
