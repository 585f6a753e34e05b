#!/bin/sh
# The man pages are written by hand: is each option that `pmixhost COMMAND --help` shows, in each form, in what
# pmixhost(1) says of that command? Those of `pmixhost run` are in pmixhost-run(1).
pages=${srcdir:-.}/contrib/man
pmixhost=${top_builddir:-.}/tools/pmixhost
echo 1..3
result() { # NUMBER TEXT COMPLAINTS
	if [ -z "$3" ]; then
		echo "ok $1 - $2"
	else
		echo "not ok $1 - $2"
		printf '%s\n' "$3" | sed 's/^/# /'
	fi
}

# A page's lines without marks, each with the command that it is about: "COMMAND<TAB>TEXT".
said() { # PAGE
	awk '
		{ text = $0; gsub(/\\-/, "-", text); gsub(/\\f[A-Z]/, "", text); gsub(/"/, "", text)
		  sub(/^\.[BIR][BIR]? /, "", text) }
		/^\.SH/ { section = $2; count = depth = 0; next }
		/^\.RS/ { depth++; next }
		/^\.RE/ { depth--; next }
		/^\.TP/ { names_come = depth == 0 && section == "COMMANDS"; next }
		section == "SYNOPSIS" && sub(/^pmixhost /, "", text) {
			words = split(text, word, " ")
			count = split(word[1], about, "|")
			if (words > 1 && word[2] ~ /^[a-z]/) about[1] = about[1] " " word[2]
		}
		names_come { count = text ~ /^policy / ? 1 : split(text, about, /[ ,]+/); if (count == 1) about[1] = text; names_come = 0 }
		{ for (i = 1; i <= count; i++) print about[i] "\t" text }
	' "$1"
}
# The options of a command, one a line, in all forms.
options() { # WORD ...
	"$pmixhost" "$@" --help | sed -nE 's/^  (-[A-Za-z-][A-Za-z,-]*).*/\1/p' | tr ',' '\n' | grep -vxe -h -e --help
}
missing() { # TEXT OPTION ...: those that the text does not say
	text=$1
	shift
	for option; do
		echo "$text" | grep -qE -e "(^|[^A-Za-z-])$option([^A-Za-z-]|\$)" || echo "$option"
	done
}
commands=$("$pmixhost" help | sed -nE 's/^  ([a-z]+)  +.*/\1/p' | grep -vx -e run -e policy)
# shellcheck disable=SC2046,SC2086 # options are words, and so are some names
result 1 "pmixhost(1) says of each command all of its options" "$(page=$(said "$pages/pmixhost.1")
	for name in $commands 'policy show' 'policy explain'; do
		missing "$(echo "$page" | grep "^$name	")" $(options $name) | sed "s/^/$name: /"
	done)"
# shellcheck disable=SC2046
result 2 "pmixhost-run(1) says all those of run" "$(missing "$(sed 's/\\-/-/g' "$pages/pmixhost-run.1")" $(options run))"
# Else what was looked at above was nothing.
there=$(echo "$commands" | wc -l)
[ "$there" -ge 20 ] && options kill | grep -qx -e --timeout || there="only: $commands"
result 3 "and there are such" "${there##[0-9]*}"
