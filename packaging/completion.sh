#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# completion.sh NAME PROGRAM: bash completion for a program, made of what its --help prints,
# which its tables of options print. Written to standard output.
set -eu
name=$1 program=$2

# lines of "letter long argument"; - for none
options() {
	awk '/^ +(-[A-Za-z], )?--[a-z]/ {
		line = $0; letter = "-"; argument = "-"
		sub(/^ +/, "", line)
		if (match(line, /^-[A-Za-z], /)) { letter = substr(line, 1, 2); line = substr(line, 5) }
		match(line, /^--[a-z-]+/); long = substr(line, 1, RLENGTH); line = substr(line, RLENGTH + 1)
		if (match(line, /^ [^ ]+/)) argument = substr(line, 2, RLENGTH - 1)
		print letter, long, argument
	}'
}

# "pattern) what to offer" for the options that take an argument; the rest are file names
arguments() { # command or nothing
	while read -r letter long argument; do
		at=$1/$long
		[ "$letter" = - ] || at="$1/$letter | $at"
		case $argument in
		-) ;;
		*'|'*[A-Z]* | *[A-Z]*'|'*) echo "	$at) return ;;" ;;
		*'|'*) echo "	$at) words='$(echo "$argument" | tr '|' ' ')' ;;" ;;
		DIR) echo "	$at) mapfile -t COMPREPLY < <(compgen -d -- \"\$cur\"); return ;;" ;;
		*) echo "	$at) return ;;" ;;
		esac
	done
}
words() { awk '{ if ($1 != "-") print $1; print $2 }' | sort | tr '\n' ' '; }

commands=$("$program" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' | tr '\n' ' ')
# first words that are no commands of the list: "       obsrec doctor [--json]"
verbs=$("$program" --help | sed -n "s/^       $name \([a-z][a-z]*\) .*/\1/p" | tr '\n' ' ')
first="''"
# shellcheck disable=SC2016 # bash's, where it is used
[ -z "$commands" ] || first='${COMP_WORDS[1]}'
cat <<END
# bash completion for $name, made of its --help
_$name() {
	local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]}
	local command=$first words=''
	COMPREPLY=()
END
if [ -n "$commands" ]; then
	cat <<-END
		if [ "\$COMP_CWORD" -eq 1 ]; then
			mapfile -t COMPREPLY < <(compgen -W '$commands--help --version' -- "\$cur")
			return
		fi
	END
fi
if [ -z "$commands" ] && [ -n "$verbs" ]; then
	cat <<-END
		if [ "\$COMP_CWORD" -eq 1 ] && [[ \$cur != -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W '$verbs' -- "\$cur")
			return
		fi
	END
fi
echo '	case $command/$prev in'
if [ -z "$commands" ]; then
	"$program" --help | options | arguments ''
else
	for c in $commands; do "$program" "$c" --help | options | arguments "$c"; done
fi
echo '	esac'
echo '	if [ -z "$words" ] && [[ $cur == -* ]]; then'
echo '		case $command in'
if [ -z "$commands" ]; then
	echo "		*) words='$("$program" --help | options | words)' ;;"
else
	for c in $commands; do
		echo "		$c) words='$("$program" "$c" --help | options | words)--help' ;;"
	done
fi
cat <<END
		esac
	fi
	[ -z "\$words" ] || mapfile -t COMPREPLY < <(compgen -W "\$words" -- "\$cur")
}
complete -o default -F _$name $name
END
