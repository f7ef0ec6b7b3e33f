#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Golden tests: tests/golden/<case>/cmd is run by sh in an empty directory, with OBSANALYZE,
# PACK and TESTDATA set; stdout, stderr and exit must be as in the case's files.
# --update writes these files again. ONLY=case: that one.
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
sub=${SUB:-}
unset COLUMNS
export PACK="$top/.output$sub/pack" TESTDATA="$top/testdata" PAGER=cat NO_COLOR=1 TZ=UTC
if [ -n "$sub" ]; then OBSANALYZE="$top/.output$sub/obsanalyze"; else OBSANALYZE="$top/obsanalyze"; fi
export OBSANALYZE
work=$(mktemp -d)
if [ -n "${EMULATED:-}" ]; then # another processor's: through a script of one word
	for p in "$PACK" "$OBSANALYZE"; do
		printf '#!/bin/sh\nexec /bin/sh "%s" "%s" "$@"\n' "$EMULATED" "$p" >"$work/$(basename "$p")"
		chmod 755 "$work/$(basename "$p")"
	done
	PACK=$work/pack OBSANALYZE=$work/obsanalyze
fi
trap 'rm -rf "$work"' EXIT
bad=0
for dir in tests/golden/${ONLY:-*}/; do
	name=$(basename "$dir")
	rm -rf "$work/run"
	mkdir "$work/run"
	(cd "$work/run" && sh "$top/$dir/cmd" >"$work/stdout" 2>"$work/stderr" </dev/null)
	echo $? >"$work/exit"
	if [ "${1:-}" = --update ]; then
		cp "$work/stdout" "$work/stderr" "$work/exit" "$dir"
		continue
	fi
	if diff -u "$dir/exit" "$work/exit" && diff -u "$dir/stdout" "$work/stdout" &&
		diff -u "$dir/stderr" "$work/stderr"; then
		echo "ok golden $name"
	else
		echo "not ok golden $name"
		bad=1
	fi
done
exit $bad
