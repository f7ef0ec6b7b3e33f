# SPDX-License-Identifier: GPL-2.0-or-later
# The time axis: time of day at round seconds, at most `most` of them, above a day with dates; without a clock, seconds.
# Loaded after style.gp, with start, the wall clock at the start of the recording [s since 1970] or 0, x of data in column 1,
# and most, else 4. Sets when, the label.
if (!exists("most")) most = 4
when = "time since the start of the recording [s]"
if (start > 0) {
	when = "time of day [UTC]"
	stats data using 1 nooutput name "T"
	steps = "0.001 0.002 0.005 0.01 0.02 0.05 0.1 0.2 0.5 1 2 5 10 15 30 60 120 300 600 900 1800 3600 7200 14400 43200 86400"
	step = 86400.0 * ceil(T_max / most / 86400)
	do for [i = words(steps):1:-1] { if (T_max <= most * real(word(steps, i))) { step = real(word(steps, i)) } }
	places = step >= 1 ? 0 : step >= 0.1 ? 1 : step >= 0.01 ? 2 : 3
	if (T_max > 86400) { when = "time [UTC]" }
	hand = step >= 86400 ? "%Y-%m-%d" : T_max > 86400 ? "%m-%d %H:%M" : places ? sprintf("%%H:%%M:%%02.%dS", places) : "%H:%M:%S"
	first = ceil(start / step) * step - start
	set xtics ()
	do for [i = 0:most] {
		at = first + i * step
		if (at <= 0.94 * T_max) { set xtics add (strftime(hand, start + at) at) }
	}
}
