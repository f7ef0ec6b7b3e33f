# SPDX-License-Identifier: GPL-2.0-or-later
# What all pictures share; loaded by each, after `data = ARG1; file = ARG2; form = ARG3; note = ARG4`,
# and `high`, its height. form: svg, png, or inline: svg without ground, for light and dark documents.
# The colours are Okabe and Ito's, distinct for colour-blind readers.
if (!exists("high")) high = 400
if (form eq "png") set terminal pngcairo noenhanced size 1520,2*high font "sans,13" fontscale 1.5 linewidth 2 pointscale 1.6
if (form eq "svg") set terminal svg noenhanced size 760,high dynamic font "sans,13" background "white"
if (form eq "inline") set terminal svg noenhanced size 760,high dynamic font "sans,13"
set output file
set datafile separator "\t"
set encoding utf8
set border 3 lc rgb "black"
set tics nomirror
set grid ytics lc rgb "#909090" lw 0.4 dt 3
set key below samplen 2 spacing 1.1 height 1
set format "%g"
set xlabel offset 0,0.4
set style fill solid 0.85 noborder
blue = "#0072b2"; red = "#d55e00"; green = "#009e73"; orange = "#e69f00"
sky = "#56b4e9"; purple = "#cc79a7"; yellow = "#d8c92a"; grey = "#8a8a8a"; dark = "#555555"
lost = "#8a8a8a"
# the second line of a title: what the user wrote
under = strlen(note) ? "\n".note : ""
field(r, c) = system(sprintf("sed -n %dp '%s' | cut -f %d | sed 's/\\\\x20/ /g'", r, data, c))
cell(n) = field(1, n)
