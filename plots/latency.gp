# SPDX-License-Identifier: GPL-2.0-or-later
# Which share of requests took at most how long; of each recording, if several are compared.
# Called: gnuplot -c latency.gp DATA PICTURE FORMAT NOTE
# DATA: recording (a name; empty if there is one only), service, latency [ms], share of requests that took
# at most so long [%], number of requests in all, what was lost or empty; sorted by recording and latency
data = ARG1; file = ARG2; form = ARG3; note = ARG4
load ARG0[1:strstrt(ARG0, "latency.gp") - 1]."style.gp"
gone = strlen(cell(6)) ? "\n".cell(6) : ""
set title sprintf("How long requests to %s took%s%s", cell(2), gone, under) noenhanced
set xlabel "latency [ms]"
set ylabel "requests that took at most so long [%]"
stats data using 3 nooutput name "X"
set logscale x
set xrange [X_min * 0.9:X_max * 1.1]
set yrange [0:100]
set grid xtics ytics lc rgb "#909090" lw 0.4 dt 3
names = system(sprintf("cut -f 1 '%s' | uniq | sed 's/^$/-/' | tr ' ' '_'", data))
n = words(names)
array colour[4] = [blue, red, green, purple]
label(i) = word(names, i) eq "-" ? sprintf("n = %s", cell(5)) : word(names, i)
is(i) = (stringcolumn(1) eq word(names, i)) || (word(names, i) eq "-") ? 1 : 0
do for [q in "50 90 99"] {
	set arrow from graph 0, first q + 0 to graph 1, first q + 0 nohead dt 2 lw 0.7 lc rgb dark
	set label q." %" at graph 0.005, first q - 2.5
}
plot for [i = 1:n] data using (is(i) ? $3 : 1/0):4 with steps lw 2 lc rgb colour[(i - 1) % 4 + 1] title label(i) noenhanced
