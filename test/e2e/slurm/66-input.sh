#!/bin/bash
# Input for jobs beside srun's own (io.capture): who pushes reaches the processes that srun's --input names, and no
# other. A tool whose library reads its standard input, and a process of the job, push as any tool does.
. "$(dirname "$0")/../common/words.sh"

. "$(dirname "$0")/../output_jobs.sh"

configure "${logged[@]}" '[io]' 'capture = "on"'
mkfifo -m 666 "$test_dir/typed"
has() { [[ $(cat "$dir/read.$1") == "$2" ]]; } # RANK TEXT
ended() { [[ -e $dir/ended.$1 ]]; }            # RANK

# --- srun --input ------------------------------------------------------------------------------------

exec 9<>"$test_dir/typed"
start one -N2 -n2 --input=1 "$task" there read await=end <"$test_dir/typed"
running 2
echo typed >&9
ok "--input=1: rank 1 has srun's" until_true 20 has 1 typed
is "and what a tool pushes" "$(tool "$h1" push 1 words | head -n 1)" "push: PMIX_SUCCESS"
ok "behind it" until_true 20 has 1 $'typed\nwords'
is "what is for all" "$(tool "$h2" push all more | head -n 1)" "push: PMIX_SUCCESS"
ok "it has as well" until_true 20 has 1 $'typed\nwords\nmore'
is "--input=1: nothing is pushed to rank 0" "$(tool "$h1" push 0 words | head -n 1)" "push: PMIX_ERR_NOT_SUPPORTED"
is "which has ended and got nothing" "$(ended 0 && size_of "$dir/read.0")" 0
is "a tool ends the input of rank 1" "$(tool "$h1" close 1 | head -n 1)" "close: PMIX_SUCCESS"
ok "so it ends" until_true 20 ended 1
echo late >&9
exec 9>&-
end
is "and gets no more of srun's" "$(cat "$dir/read.1")" $'typed\nwords\nmore'

exec 9<>"$test_dir/typed"
start none -N2 -n2 --input=none "$task" there read await=end <"$test_dir/typed"
running 2
echo typed >&9
ok "--input=none: all inputs end" until_true 20 eval 'ended 0 && ended 1'
is "and take nothing of a tool" "$(tool "$h1" push all words | head -n 1)" "push: PMIX_ERR_IOF_COMPLETE"
exec 9>&-
end
is "nor of srun" "$(size_of "$dir"/read.*)" 0

# --- who pushes --------------------------------------------------------------------------------------

exec 9<>"$test_dir/typed"
start library -N2 -n2 "$task" there read await=end <"$test_dir/typed"
running 2
: >"$dir/types.said"
tool "$h1" typed 1 hold "$dir/end" >"$dir/types.said" 2>&1 <<<'typed at a tool' &
tools[types]=$!
ok "a tool's library reads its standard input" has_said types 'typed: PMIX_SUCCESS'
ok "for rank 1, which has it" until_true 20 has 1 'typed at a tool'
ok "to its end" until_true 20 ended 1
is "and rank 0 nothing" "$(size_of "$dir/read.0")" 0
exec 9>&-
end
over types

exec 9<>"$test_dir/typed"
# shellcheck disable=SC2016 # for the shell there
start process -N2 -n2 sh -c 'if [ "$SLURM_PROCID" = 0 ]; then exec "$0" - push 1 words close 1; else exec cat; fi' \
    "$clients/io_tool" <"$test_dir/typed"
end
exec 9>&-
ok "a process of the job pushes" grep -qx 'push: PMIX_SUCCESS' "$dir/out"
ok "to another one, which has it" grep -qx words "$dir/out"
is "and ends" "$code" 0

configure
ok "nothing is left" no_litter 30
done_testing
