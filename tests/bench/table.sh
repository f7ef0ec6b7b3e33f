# SPDX-License-Identifier: GPL-2.0-or-later
# The results of tests/bench/bench.sh as one table in Markdown.

# Numbers with three digits at least, and no exponents.
digits='function digits(v) { return sprintf(v >= 100 || v <= -100 ? "%.0f" : v >= 10 || v <= -10 ? "%.1f" : "%.2f", v) }'

# Median, min and max of the first column; then both without the one extreme, from five on.
spread() {
	sort -n "$1" | awk '{ v[NR] = $1 } END { out = NR > 4
		print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, v[1], v[NR], v[1 + out], v[NR - out] }'
}

# One row. Costs are medians of the rounds; the numbers of a tracer are means over them. What is not
# above the spread of the untraced rounds, but for one outlier of five, is not called a cost, and nothing is divided by it.
row() { # work, tool
	cost=$results/$1.$2.cost
	if [ ! -s "$cost" ]; then
		echo "| $(name_of "$2") | $(cat "$results/$1.$2.why" 2>/dev/null || echo 'not measured') | | | | | | | |"
		return
	fi
	eval "unit=\$unit_$1"
	rate=$(awk 'NF > 1 { print $2 }' "$cost" >"$work/rates" && [ -s "$work/rates" ] && spread "$work/rates" | cut -d' ' -f1)
	cat "$results/$1.$2.did" 2>/dev/null | awk -v name="$(name_of "$2")" -v unit="$unit" -v tool="$2" \
		-v own="$(spread "$cost")" -v untraced="$(spread "$results/$1.untraced.cost")" -v empty="$([ ! -s "$results/$1.empty.cost" ] || spread "$results/$1.empty.cost")" \
		-v rate="$rate" -v of="$(awk 'NF > 2 { print $3; exit }' "$cost")" "$digits"'
		{ events += $1; lost += $2; bytes += $3; cpu += $4; rss = $5 > rss ? $5 : rss }
		END {
			split(own, c); split(untraced, u); split(empty, m)
			printf "| %s | %s %s (%s-%s)%s |", name, digits(c[1]), unit, digits(c[2]), digits(c[3]),
				rate ? "; " digits(rate) " " of : ""
			if (tool == "untraced")
				printf " | |"
			else if (c[4] <= u[5])
				printf " %s%s, in the noise | |", c[1] < u[1] ? "" : "+", digits(c[1] - u[1])
			else
				printf(" +%s | %s |", digits(c[1] - u[1]), tool == "empty" || empty == "" ? "" : m[4] <= u[5] ? \
					"empty hooks in the noise" : sprintf("%.1f", (c[1] - u[1]) / (m[1] - u[1])))
			if (NR && events)
				printf " %d | %s | %.1f | %.0f | %.0f |\n", events / NR,
					lost ? sprintf("%d (%.1f %%)", lost / NR, 100 * lost / (events + lost)) : "0",
					bytes / events, cpu / events, rss / 1024
			else
				printf " | | | | |\n"
		}'
}

table() {
	echo "Measured $(cat "$results/date") on $(cat "$results/machine"), with $(cat "$results/versions")."
	echo "Each cost is the median of $(cat "$results/rounds") interleaved rounds, with min and max."
	for w in $works; do
		[ -s "$results/$w.untraced.cost" ] || [ -s "$results/$w.why" ] || continue
		eval "echo; echo \"**\$title_$w**\""
		echo
		if [ -s "$results/$w.why" ]; then
			cat "$results/$w.why"
			continue
		fi
		echo '| tracer | cost | added | x empty hooks | events per round | lost | bytes per event | CPU of the tracer, ns per event | peak memory, MiB |'
		echo '|---|---|---|---|---|---|---|---|---|'
		for t in $(tools_of "$w"); do row "$w" "$t"; done
		echo
		echo "Measured $(cat "$results/$w.date"), $(cat "$results/$w.rounds") rounds."
	done
	cat "$results/counted" "$results/stack_memory" "$results/requests" "$results/files" "$results/thesis" 2>/dev/null
}

# Puts the tables that it reads between the marks of docs/bench.md. Those of works that were not measured stay.
update_page() {
	cat >"$work/table"
	awk -v table="$work/table" '
		function take(line, blocks, names) { # a block is a title and what follows
			if (line ~ /^\*\*/) names[++names[0]] = now = line
			blocks[now] = blocks[now] line "\n"
		}
		BEGIN {
			fresh_names[0] = old_names[0] = 0
			while ((getline line < table) > 0) take(line, fresh, fresh_names)
		}
		/<!-- bench: end -->/ {
			kept = 0
			for (i = 1; i <= old_names[0]; i++) kept += !(old_names[i] in fresh)
			printf "%s", kept ? old[""] : fresh[""]
			for (i = 1; i <= old_names[0]; i++)
				printf "%s", old_names[i] in fresh ? fresh[old_names[i]] : old[old_names[i]]
			for (i = 1; i <= fresh_names[0]; i++)
				if (!(fresh_names[i] in old)) printf "%s%s", "\n", fresh[fresh_names[i]]
			inside = 0
		}
		inside { take($0, old, old_names); next }
		{ print }
		/<!-- bench: begin/ { inside = 1; now = "" }' docs/bench.md >"$work/page" &&
		cat "$work/page" >docs/bench.md
}
