#!/bin/sh
# How the sources are written: lines of at most 120 characters, the form of .clang-format, and paths in comments and
# documents that exist; and no file that a tarball would lack.
cd "${top_srcdir:-${srcdir:-.}}" || exit 1
echo 1..5
result() { # NUMBER TEXT COMPLAINTS
	if [ -z "$3" ]; then
		echo "ok $1 - $2"
	else
		echo "not ok $1 - $2"
		printf '%s\n' "$3" | head -n 20 | sed 's/^/# /'
	fi
}
folders="common plugins server-glue test tools"
# shellcheck disable=SC2086 # a list
sources=$(find $folders -name '*.cc' -o -name '*.h' -o -name '*.c' | sort)

# A table may be wider than that where one line of it is one thing.
# shellcheck disable=SC2086 # a list
result 1 "no line of a source is longer than 120 characters" \
	"$(awk '/clang-format off/ { off = 1 } /clang-format on/ { off = 0 } FNR == 1 { off = 0 }
		length($0) > 120 && !off { print FILENAME ":" FNR ": " length($0) " characters" }' $sources)"

# Another version of clang-format makes something else in places.
form="the sources have the form of .clang-format"
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
	# shellcheck disable=SC2086 # a list
	result 2 "$form" "$(clang-format --dry-run --ferror-limit=1 $sources 2>&1 | grep 'warning:\|error:' |
		cut -d: -f1 | sort -u)"
else
	echo "ok 2 - $form # SKIP there is no clang-format 14"
fi

# PATH.{h,cc} and PATH/ too; what is made, or is a pattern, is left out.
# shellcheck disable=SC2086 # a list
named=$(grep -noHE '(^|[^A-Za-z0-9_/.$}<*-])(common|contrib|plugins|server-glue|test|tools)/[A-Za-z0-9_./{},-]+' \
	$sources contrib/doc/*.md contrib/doc/*/*.md README configure.ac Makefile.am |
	sed -E 's/^([^:]*:[0-9]+):[^A-Za-z]?(.*)$/\1 \2/; s/[.,]+$//')
result 3 "paths that are named exist" "$(printf '%s\n' "$named" | while read -r place path; do
	case $path in
	*\{*\}*) path=${path%%\{*}; path=${path%.} ;;
	*/.libs/* | *.inc | common/[xX] | common/x.h | contrib/build-aux | *_) continue ;; # made, or a pattern
	esac
	for there in "$path" "$path".* "test/e2e/$path".*; do
		[ -e "$there" ] && continue 2
	done
	echo "$place: there is no $path"
done
# Those without their top folder; not other people's, nor what is included.
# shellcheck disable=SC2086 # a list
grep -noHE '(^|[^A-Za-z0-9_/.$}<*"-])[a-z_][a-z_0-9]*(/[a-z_0-9]+)+\.(h|cc|c|sh|mk|md)\b' \
	$sources contrib/doc/*.md contrib/doc/*/*.md README |
	sed -E 's/^([^:]*:[0-9]+):[^a-z_]*/\1 /' | grep -vE ' (src|include|jumbo|slurm|slurmstepd)/' |
	while read -r place path; do
		folder=${place%/*}
		for there in "" server-glue/ common/ plugins/ plugins/slurm/ tools/ test/ test/e2e/ contrib/ contrib/doc/ \
			"$folder/" "${folder%/*}/"; do
			[ -e "$there$path" ] && continue 2
		done
		echo "$place: there is no $path"
	done)"

# What the makefiles do not name is in no tarball, and nothing is built from one. Built here, it would not be missed.
result 4 "the makefiles name each source" "$(for path in $(find common plugins server-glue tools -name '*.cc' -o -name '*.h'); do
	grep -qF "$path" Makefile.am $(find $folders -name '*.mk') || echo "$path"
done)"

# The thread sanitizer runs those that are named alone.
result 5 "tests with threads are named in test/unit/with-threads" "$(for path in $(grep -lE \
	'std::thread|start_thread|pthread_create|LibraryThread|SlowCalls|Worker([^A-Za-z]|$)' test/unit/*.cc test/sim/*.cc); do
	grep -qxF "${path%.cc}" test/unit/with-threads || echo "${path%.cc}"
done)"
