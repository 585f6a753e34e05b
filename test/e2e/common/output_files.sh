#!/bin/bash
# What spawned processes write goes to files (PMIX_IOF_OUTPUT_TO_FILE and kin), on either backend.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"

# The children's directory is the user's to write in.
files=$test_dir/files
mkdir -m 1777 "$files"
in_file() { cat "$files"/$1; } # PATTERN
spawn() { client 2 1 spawn cwd="$files" pmix.mapby=node:oversubscribe "$@"; }
written() { grep -Eo "(line|error) of [0-9]+" <<<"$output" | sort; }
# shellcheck disable=SC2016 # for the child's shell
both='echo "line of $PMIX_RANK"; echo "error of $PMIX_RANK" >&2'

spawn count=2 'pmix.iof.file!=plain' -- /bin/sh -c "$both"
ok "two children are started" all_ok 2
in_files() {
    [[ $(in_file 'plain.*.[01].stdout') == $'line of 0\nline of 1' ]] &&
        [[ $(in_file 'plain.*.[01].stderr') == $'error of 0\nerror of 1' ]]
}
ok "what children write is in files" until_true 20 in_files # the daemon may still be at it
is "and printed as well" "$(written)" $'error of 0\nerror of 1\nline of 0\nline of 1'
# What is left in its pipe when a process ends.
all_kept() { [[ $(in_file "end$1.*.0.stdout" | wc -c) == 350000 ]]; }
for i in 1 2 3; do
    spawn "pmix.iof.file!=end$i" -- /bin/sh -c 'yes | head -c 300000; yes | exec head -c 50000'
    ok "all that a process wrote before its end is in its file, $i" until_true 20 all_kept "$i"
done
spawn count=2 'pmix.iof.dir!=a/b' 'pmix.iof.fonly!=yes' 'pmix.iof.mrg!=yes' -- /bin/sh -c "$both"
in_one() { [[ $(in_file 'a/b/*/rank.1/stdout' 2>/dev/null) == $'line of 1\nerror of 1' && $(find "$files/a" -type f -size +0 | wc -l) == 2 ]]; }
ok "both streams in one, in directories" until_true 20 in_one
is "there is no other file" "$(find "$files/a" -type f | wc -l)" 2
is "and nothing is printed" "$(written)" ""
spawn 'pmix.iof.file!=%r/of-%n' 'pmix.iof.fpt!=yes' -- /bin/sh -c "$both"
named() { [[ $(in_file "0/of-$(sed -n 's/^spawned \([^ ]*\).*/\1/p' <<<"$output").stdout" 2>/dev/null) == "line of 0" ]]; }
ok "a name with namespace and rank in it" until_true 20 named

refused() { # DESCRIPTION STATUS ARGUMENT ...
    spawn status=ERROR "${@:3}" -- /bin/true
    like "$1" "$output" "refused $2 "
    ok "$1: the caller lives on" all_ok 2
}
refused "a file that cannot be made" PMIX_ERR_JOB_FAILED_TO_LAUNCH pmix.iof.file=/proc/none/out
like "and why" "$output" 'cannot go to a file: /proc/none/out.*: No such file or directory'
refused "one file for two" PMIX_ERR_BAD_PARAM count=2 pmix.iof.file=one-%n pmix.iof.fpt=yes
refused "a file and a directory at once" PMIX_ERR_BAD_PARAM pmix.iof.file=one pmix.iof.dir=other
[[ $backend == local ]] || ok "nothing is left" no_litter 30
done_testing
