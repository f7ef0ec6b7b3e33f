# SPDX-License-Identifier: GPL-2.0-or-later
# The results of tests/bench.sh as one table in Markdown.

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { printf "%.4g", NR ? (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 : 0 }'; }

# One row. Costs are medians of the rounds; the numbers of a tracer are sums over them.
row() { # work, tool
	cost=$results/$1.$2.cost
	if [ ! -s "$cost" ]; then
		echo "| $(name_of "$2") | $(cat "$results/$1.$2.why" 2>/dev/null || echo 'not measured') | | | | | | | |"
		return
	fi
	eval "unit=\$unit_$1"
	base=$(median "$results/$1.untraced.cost")
	floor=$(median "$results/$1.empty.cost")
	rate=$(awk 'NF > 1 { print $2 }' "$cost" >"$work/rates" && [ -s "$work/rates" ] && median "$work/rates")
	rate=${rate:+; $rate $(awk 'NF > 2 { print $3; exit }' "$cost")}
	cat "$results/$1.$2.did" 2>/dev/null | sort -k5n | awk -v name="$(name_of "$2")" -v unit="$unit" -v cost="$(median "$cost")" \
		-v least="$(sort -n "$cost" | head -n 1 | cut -d' ' -f1)" -v most="$(sort -n "$cost" | tail -n 1 | cut -d' ' -f1)" \
		-v base="$base" -v floor="$floor" -v tool="$2" -v rate="$rate" '
		{ events += $1; lost += $2; bytes += $3; cpu += $4; rss = $5 }
		function times() { return floor > base && tool != "untraced" && tool != "empty" ? sprintf("%.1f", (cost - base) / (floor - base)) : "" }
		END {
			printf "| %s | %s %s (%s-%s)%s | %s | %s", name, cost + 0, unit, least + 0, most + 0, rate,
				tool == "untraced" ? "" : sprintf("%+.4g", cost - base), times()
			if (NR && events)
				printf " | %d | %s | %.1f | %.0f | %.0f |\n", events / NR,
					lost ? sprintf("%d (%.1f %%)", lost / NR, 100 * lost / (events + lost)) : "0",
					bytes / events, cpu / events, rss / 1024
			else
				printf " | | | | | |\n"
		}'
}

table() {
	echo "Measured $(cat "$results/date") on $(cat "$results/machine"), with $(cat "$results/versions")."
	echo "Each cost is the median of $(cat "$results/rounds") interleaved rounds, with the least and the most of them."
	for w in $works; do
		[ -s "$results/$w.untraced.cost" ] || [ -s "$results/$w.why" ] || continue
		eval "echo; echo \"**\$title_$w**\""
		echo
		if [ -s "$results/$w.why" ]; then
			cat "$results/$w.why"
			continue
		fi
		echo '| tracer | cost | added | x empty hooks | events a round | lost | bytes an event | CPU of the tracer, ns an event | peak memory, MiB |'
		echo '|---|---|---|---|---|---|---|---|---|'
		for t in $tools; do row "$w" "$t"; done
	done
	cat "$results/files" 2>/dev/null
}

# Puts what it reads between the marks of README.md.
update_readme() {
	cat >"$work/table"
	awk -v table="$work/table" '
		/<!-- bench: end -->/ { inside = 0 }
		!inside { print }
		/<!-- bench: begin/ { inside = 1; while ((getline line < table) > 0) print line }' README.md >"$work/readme" &&
		cat "$work/readme" >README.md
}
