#!/bin/sh
# The man pages are written by hand, but for the section OPTIONS of pmixhost(1), which `pmixhost completion --man` writes:
# is it that? And is each option that `pmixhost COMMAND --help` shows, in each form, in what
# pmixhost(1) says of that command? Those of `pmixhost run` are in pmixhost-run(1). And is each command and option of a
# page's synopsis, and each of pmixhost-run(1)'s list, one that there is?
pages=${srcdir:-.}/contrib/man
pmixhost=${top_builddir:-.}/tools/pmixhost
echo 1..6
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
	# "  -r,--rank", and by CLI11 of 2.5 and newer "  -r,     --rank"
	"$pmixhost" "$@" --help | sed -nE 's/^ {2,10}(-[A-Za-z-]+(, *-[A-Za-z-]+)*).*/\1/p' | tr -d ' ' | tr ',' '\n' | grep -vxe -h -e --help
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
# Of "COMMAND<TAB>TEXT" lines the options, "COMMAND<TAB>OPTION" each.
named() {
	sed 's/[][|,()]/ /g' | awk -F'\t' '{ words = split($2, word, " "); for (i = 1; i <= words; i++) if (word[i] ~ /^--?[A-Za-z]/) print $1 "\t" word[i] }' | sort -u
}
synopsis=$(sed '/^\.SH DESCRIPTION/,$d' "$pages/pmixhost.1")
printf '%s\n' "$synopsis" >man_page.synopsis
asked=$(said man_page.synopsis)
rm -f man_page.synopsis
# shellcheck disable=SC2086 # a name may be two words
result 3 "and of none that there is not" "$(echo "$asked" | cut -f 1 | sort -u | grep -vx run | while read -r name; do
		"$pmixhost" $name --help >/dev/null 2>&1 || { echo "$name: no such command"; continue; }
		of_page=$(echo "$asked" | grep "^$name	" | named | cut -f 2)
		for option in $of_page; do options $name | grep -qxe "$option" || echo "$name: $option"; done
	done)"
listed=$(awk '/^\.TP/ { names_come = 1; next } names_come { gsub(/\\-/, "-"); gsub(/\\f[A-Z]/, ""); gsub(/"/, " "); sub(/^\.[BIR]+ /, ""); print "run\t" $0; names_come = 0 }' \
	"$pages/pmixhost-run.1" | named | cut -f 2)
result 4 "nor does pmixhost-run(1)" "$(for option in $listed; do options run | grep -qxe "$option" || echo "$option"; done)"
# Else what was looked at above was nothing.
there=$(echo "$commands" | wc -l)
[ "$there" -ge 20 ] && options kill | grep -qx -e --timeout || there="only: $commands"
[ "$(echo "$asked" | named | grep -c .)" -ge 60 ] && [ "$(echo "$listed" | grep -c .)" -ge 20 ] || there="of the pages only: $asked $listed"
result 5 "and there are such" "${there##[0-9]*}"
section=$(awk '/^\.SH/ { inside = $2 == "OPTIONS" } inside' "$pages/pmixhost.1")
result 6 "the section OPTIONS is what the parsers have" "$({ [ -n "$section" ] && [ "$section" = "$("$pmixhost" completion --man)" ]; } ||
	echo "renew it with: pmixhost completion --man")"
