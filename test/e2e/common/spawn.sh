#!/bin/bash
# PMIx_Spawn on either backend: who is started where, what it gets, what cannot be, and the end.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"

children() { grep -c '^child ' <<<"$output"; }
on_hosts() { grep -o 'on [^ ]*$' <<<"$output" | sort | uniq -c | wc -l; }

client 1 1 spawn pmix.mapby=node:oversubscribe
ok "one child" eval 'passed && [[ $(children) == 1 ]]'
client 2 2 spawn count=4 rank=3 pmix.mapby=node:oversubscribe
ok "four children of the last rank, on two hosts" eval 'passed && [[ $(children) == 4 && $(on_hosts) == 2 ]]'
like "their parent is that rank" "$output" 'parent [^ ]* 3, on'
client 2 1 spawn rank=all pmix.mapby=node:oversubscribe
ok "two ranks at the same moment" eval 'passed && [[ $(children) == 2 ]]'
client 2 1 spawn count=2 pmix.mapby=node:oversubscribe -- "$clients/spawn" child -- "$clients/spawn" child
ok "two programs in one job" eval 'passed && [[ $(grep -c "^child [0-3] of 4" <<<"$output") == 4 ]]'
TEST_LIMIT=150 client 1 1 spawn pmix.mapby=node:oversubscribe times=10 -- /bin/true
ok "ten times, one after the other" eval 'passed && [[ $(grep -c "^spawned " <<<"$output") == 10 ]]'
TEST_LIMIT=150 client 1 1 spawn connect="$test_dir/asked" pmix.mapby=node:oversubscribe times=2 -- \
    /bin/sh -c 'until [ -e "$0" ]; do sleep 0.05; done' "$test_dir/asked"
ok "a connect to a child that ends without PMIx does not wait for it" \
    eval 'all_ok 1 && (($(grep -c "^connect: " <<<"$output") == 2))'
[[ $backend != slurm ]] || until_true 30 none_clears_up # else the job gets other hosts
client 2 1 spawn "pmix.host=$(host_name 2)"
ok "a host that PMIX_HOST names" eval 'passed && [[ $(children) == 1 ]] && grep -q "^child .* on $(host_name 2)\$" <<<"$output"'
# shellcheck disable=SC2016 # for the child's shell
client 1 1 spawn cwd=/usr env='A=x  y' pmix.envar.set=B=b pmix.envar.prepnd=PATH=/first -- \
    /bin/sh -c 'echo "got: $PWD $A $B ${PATH%%:*} $1 $2"' sh 'one two' '*'
like "arguments, environment and directory" "$output" 'got: /usr x  y b /first one two \*'

if [[ $backend == local ]]; then
    job_options=(--timeout 3)
    begin=$SECONDS
    client 1 1 spawn -- /bin/sh -c 'exec sleep 100'
    ok "the time of a job is that of what it has spawned, too" eval '((status == 124 && SECONDS - begin < 40))'
    job_options=()
fi
files=$(ulimit -Sn)
ulimit -Sn 333
# shellcheck disable=SC2016 # for the child's shell
client 1 1 spawn -- /bin/sh -c 'echo "files: $(ulimit -Sn)"'
like "as many open files as who has called the launcher" "$output" 'files: 333'
# shellcheck disable=SC2016
job 1 80 /bin/sh -c 'echo "files: $(ulimit -Sn)"'
is "of which many tasks have no more either" "$(grep -c 'files: 333' <<<"$output")" 80
ulimit -Sn "$files"

refused() { # DESCRIPTION STATUS ARGUMENT ...
    local description=$1 wanted=$2
    shift 2
    client 1 1 spawn status=ERROR "$@"
    like "$description" "$output" "refused $wanted "
    ok "$description: the caller lives on" all_ok 1
}
refused "a missing program" 'PMIX_ERR_JOB_EXE_NOT_FOUND' -- /no/such
refused "a missing directory" 'PMIX_ERR_JOB_WDIR_NOT_FOUND' cwd=/nodir
refused "a file that is no program" 'PMIX_ERR_JOB_APP_NOT_EXECUTABLE' -- /etc/passwd
refused "a host that there is not" 'PMIX_ERR_NOT_FOUND' pmix.host=n9
refused "a required directive that is not known" 'PMIX_ERR_NOT_SUPPORTED' 'my.own!=yes'

client 1 1 spawn quit -- /bin/sh -c 'sleep 1; echo the last word'
like "children go on when the parent has ended well, and are waited for" "$output" 'the last word'
client 1 1 spawn keep abort -- /bin/sleep 3600
ok "an abort of the parent takes the children along" eval 'failed && ended_in_time'

done_testing
