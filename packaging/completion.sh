#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# completion.sh NAME PROGRAM [bash|zsh|fish]: completion for a program, made of what its --help
# prints, which its tables of options print. Written to standard output.
set -eu
name=$1 program=$2 shell=${3:-bash}

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

words() { awk '{ if ($1 != "-") print $1; print $2 }' | sort | tr '\n' ' '; }

commands=$("$program" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' | tr '\n' ' ')
# first words that are no commands of the list: "       obsrec doctor [--json]"
verbs=$("$program" --help | sed -n "s/^       $name \([a-z][a-z]*\) .*/\1/p" | tr '\n' ' ')
# lines of "command letter long argument", - for none; a program without commands has one of its own
table() {
	for c in ${commands:-$name}; do
		help=$c
		[ -n "$commands" ] || help=''
		"$program" $help --help | options | sed "s/^/$c /"
	done
}

# names of containers and starts of their ids; no quotes: it stands between those of three shells
containers='(find /sys/fs/cgroup -type d | grep -oE [0-9a-f]{64} | cut -c 1-12; timeout 1 podman ps --format {{.Names}};
	timeout 1 docker ps --format {{.Names}}) 2>/dev/null | sort -u'
containers=$(echo "$containers" | tr -d '\n\t')
analyses=$(sed -n 's/^ANALYSIS(\(.*\))/\1/p' "$(dirname "$0")/../analyze/analyses/analyses.def" | tr '\n' ' ')

formats="$(sed -n 's/^EXPORT("\([a-z-]*\)".*/\1/p' "$(dirname "$0")/../analyze/export/exports.def" | tr '\n' ' ')csv"
# what an argument can be: words, "list" and words, "pids", "containers", "dirs", "files" or nothing known
kind() { # command, option, argument
	case $1/$2/$3 in
	*/-) ;;
	*/--analysis/*) echo "$analyses" ;;
	export/--format/*) echo "$formats" ;;
	schema/--table/* | export/--table/*) "$program" schema --names | cut -d' ' -f 1 | tr '\n' ' ' ;;
	*/--event/*) "$program" schema | sed -n 's/^\([a-z_]*\) (.*/\1/p' | tr '\n' ' ' ;;
	*/--events/*) echo "list $("$program" list groups | sed -n 's/^\([a-z]\{1,\}\) .*/\1/p' | tr '\n' ' ')" ;;
	*/--syscalls/*) echo "list $("$program" list syscalls | sed -n 's/^\([a-z]\{1,\}\) .*/\1/p' | tr '\n' ' ')" ;;
	*/--container/*) echo containers ;;
	*/FILE) echo files ;;
	*/PID*) echo pids ;;
	*/DIR) echo dirs ;;
	*/*[A-Z.]*) echo any ;;
	*'|'*) echo "$3" | tr '|' ' ' ;;
	*) echo any ;;
	esac
}

# "pattern) what to offer" for the options that take an argument, of the table
bash_arguments() {
	while read -r c letter long argument; do
		at=$c/$long
		[ "$letter" = - ] || at="$c/$letter | $at"
		what=$(kind "$c" "$long" "$argument")
		case $what in
		'') ;;
		pids) echo "	$at) mapfile -t COMPREPLY < <(compgen -W \"\$(ps -A -o pid=)\" -- \"\$cur\"); return ;;" ;;
		containers) echo "	$at) mapfile -t COMPREPLY < <(compgen -W \"\$(sh -c '$containers')\" -- \"\$cur\"); return ;;" ;;
		dirs) echo "	$at) mapfile -t COMPREPLY < <(compgen -d -- \"\$cur\"); return ;;" ;;
		list\ *)
			echo "	$at) mapfile -t COMPREPLY < <(compgen -P \"\${cur%\"\${cur##*[,+!]}\"}\" -W '${what#list }' --" \
				"\"\${cur##*[,+!]}\"); return ;;"
			;;
		files | any) echo "	$at) return ;;" ;;
		*) echo "	$at) words='$what' ;;" ;;
		esac
	done
}

zsh_completion() {
	printf '#compdef %s\n# zsh completion for %s, made of its --help\n_%s() {\n' "$name" "$name" "$name"
	echo "	local command=\${words[2]} known='$commands$verbs'"
	[ -n "$commands" ] || echo "	command=$name"
	echo '	if (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then'
	echo '		compadd -- ${=known}'
	[ -z "$commands" ] || echo '		return'
	printf '	fi\n	case $command/${words[CURRENT-1]} in\n'
	table | while read -r c letter long argument; do
		at="$c/$long"
		[ "$letter" = - ] || at="$c/$letter | $at"
		what=$(kind "$c" "$long" "$argument")
		case $what in
		'') ;;
		pids) echo "	$at) _pids; return ;;" ;;
		containers) echo "	$at) compadd -- \${(f)\"\$(sh -c '$containers')\"}; return ;;" ;;
		list\ *) echo "	$at) compset -P '*[,+!]'; compadd -- ${what#list }; return ;;" ;;
		dirs) echo "	$at) _files -/; return ;;" ;;
		files) echo "	$at) _files; return ;;" ;;
		any) echo "	$at) return ;;" ;;
		*) echo "	$at) compadd -- $what; return ;;" ;;
		esac
	done
	printf '	esac\n	if [[ $PREFIX != -* ]]; then\n		_files\n		return\n	fi\n	case $command in\n'
	for c in ${commands:-$name}; do
		echo "	$c) compadd -- $(table | awk -v c="$c" '$1 == c { print $2 == "-" ? "" : $2, $3 }' | tr '\n' ' ')--help ;;"
	done
	printf '	esac\n}\n_%s "$@"\n' "$name"
}

fish_completion() {
	echo "# fish completion for $name, made of its --help"
	for c in $commands $verbs; do echo "complete -c $name -n __fish_use_subcommand -f -a $c"; done
	table | while read -r c letter long argument; do
		line="complete -c $name -l ${long#--}"
		[ "$letter" = - ] || line="$line -s ${letter#-}"
		[ -z "$commands" ] || line="$line -n '__fish_seen_subcommand_from $c'"
		what=$(kind "$c" "$long" "$argument")
		case $what in
		'') ;;
		containers) line="$line -x -a '(sh -c \"$containers\")'" ;;
		list\ *) line="$line -x -a '(__fish_complete_list , \"string split \\\" \\\" -- ${what#list }\")'" ;;
		pids) line="$line -x -a '(__fish_complete_pids)'" ;;
		dirs) line="$line -x -a '(__fish_complete_directories)'" ;;
		files) line="$line -r" ;;
		any) line="$line -x" ;;
		*) line="$line -x -a '$what'" ;;
		esac
		echo "$line"
	done
}

if [ "$shell" != bash ]; then
	"${shell}_completion"
	exit 0
fi

first=$name
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
table | bash_arguments
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
