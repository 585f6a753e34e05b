#!/bin/bash
# Tools of other hosts come by the gate: munge says whose they are, and the rules say from where they may come. Who lies
# there is test/fault/slurm/40-remote.sh.
. "$(dirname "$0")/../common/words.sh"
log=$test_dir/daemons.log
chmod 1777 "$test_dir"
. "$(dirname "$0")/../remote_gate.sh"

there=$(address_of "$h3")
tool() { # USER HOST WHAT ...
    at "$1" "$2" "$clients/tool" uri "$remote_uri" "${@:3}"
}
refused() { # USER HOST
    like "$1" "$(tool "${@:2}" who)" '^init: PMIX_ERR'
}

rules "\"allow everything $own_jobs $head_address\"" "\"allow observe,output $own_jobs $there\""
start_gate "$head_address:$gate_port"
wait "$gate_job"
like "without a socket for this host it does not serve" "$(cat "$gate_log")" 'none of its sockets is one of 127.0.0.0/8'
ok "with one for other hosts beside it, it does" open_gate
ok "and says how to find it" logged "tools of other hosts are served at ${remote_uri//./\\.}\$"
like "who has no job gets a clear error" "$(tool pmixuser1 "$h3" who)" '^init: PMIX_ERR'
ok "and the log says why" until_true 10 logged 'refused: uid 60001, by the .*desk: no step of the user runs that pmixhost serves'

job_program=(sh -c "echo there \$PMIX_RANK; i=0; while [ \$i -lt 2000 ]; do echo a line of mine; sleep 0.2; i=\$((i + 1)); done")
ok "a job runs" begin pmixuser1 mine "$h1"
mine=$nspace
of_mine=$(tool pmixuser1 "$h3" who namespaces table "$mine" signal 10 "$mine")
like "a tool on a third host finds its user's job" "$of_mine" "^tool $mine\\.tool\\..*namespace $mine"
like "and its processes" "$of_mine" 'process 0 '
like "but may do no more than its host" "$of_mine" 'signal: PMIX_ERR_NO_PERMISSIONS'
ok "the job's log has that, and from where it came" until_true 5 grep -qF \
    "tools: refused: uid 60001, from $there: control of job" "$log"
ok "the gate's has the rule that let it come" logged \
    "tools: allowed: uid 60001, from ${there//./\\.}: observe of jobs of uid 60001, by .*\"allow observe,output"
like "one on the gate's host comes as ever" "$(at pmixuser1 head "$clients/tool" system yes namespaces)" "^namespace $mine"

# As a site gives it to tools: the gate's file with that address.
files=$test_dir/files
install -d -m 1777 "$files"
on_host head cat "/tmp/pmix.sys.$(on_host head hostname)" | sed "1s|;.*|;tcp4://$head_address:$gate_port|" >"$files/gate"
chmod 644 "$files/gate"
name_there=$(on_host "$h3" hostname)
ln "$files/gate" "$files/pmix.sys.$name_there"
ln "$files/gate" "$files/pmix.$name_there.tool.$mine"
like "it is the system's server there, where a file says so" \
    "$(at pmixuser1 "$h3" env PMIX_SYSTEM_TMPDIR="$files" "$clients/tool" system yes namespaces)" "^namespace $mine"
install -d -m 1777 "$test_dir/pulled"
like "a tool of a third host reads output, if let" \
    "$(at pmixuser1 "$h3" env PMIX_SYSTEM_TMPDIR="$files" "$clients/io_tool" "$mine" pull "$test_dir/pulled" all out bytes 50)" \
    'pull: PMIX_SUCCESS.*finalize: PMIX_SUCCESS'
ok "byte for byte" cmp -n "$(stat -c %s "$test_dir/pulled/0.out")" "$test_dir/pulled/0.out" "$test_dir/of-mine"

refused "another user's tool finds none of it" pmixuser2 "$h3"
job_program=("$clients/visited")
ok "and has its own" begin pmixuser2 other "$h2"
other=$nspace
theirs=$(tool pmixuser2 "$h3" namespaces table "$mine")
like "which it finds" "$theirs" "^namespace $other"
unlike "without the first one's" "$theirs" "namespace $mine|process 0"

refused "of a host that no rule names, no tool comes" pmixuser1 "$h4"
ok "nor does anybody read what it says" logged \
    "refused: from $(address_of "$h4") port [0-9]+: no rule of the site .* lets anybody look at jobs from there"
like "a tool that does not use munge" "$(at pmixuser1 "$h3" env PMIX_MCA_psec=native "$clients/tool" uri "$remote_uri" who)" \
    '^init: PMIX_ERR'
ok "is told why in the log" logged "refused: from $there port [0-9]+: it uses the security module 'native'"
refused "root's tool has no desk" root "$h3"
ok "and root is told so" logged "refused: from $there port [0-9]+: root's tools have no desk"

tool pmixuser1 "$h3" who hold "$test_dir/go" namespaces >"$test_dir/held" &
held=$!
ok "a tool stays" until_true 20 grep -q '^held' "$test_dir/held"
install -d -m 1777 "$test_dir/followed"
at pmixuser1 "$h3" env PMIX_SYSTEM_TMPDIR="$files" "$clients/io_tool" "$mine" pull "$test_dir/followed" all out \
    hold "$test_dir/go" >"$test_dir/reads" &
reads=$!
ok "one reads" until_true 20 test -s "$test_dir/followed/0.out"
rules "\"allow everything $own_jobs $head_address\"" "\"deny everything by pmixuser1 to jobs of anyone from $there\"" \
    "\"allow everything $own_jobs $there\""
ok "the rules change" reload
refused "who may not come any more does not" pmixuser1 "$h3"
ok "and the log has the line" logged "tools: refused: uid 60001, from $there: observe of jobs .*deny everything by pmixuser1"
like "another user does" "$(tool pmixuser2 "$h3" namespaces)" "^namespace $other"
like "and this one on the gate's host" "$(at pmixuser1 head "$clients/tool" system yes namespaces)" "^namespace $mine"
has_read=$(stat -c %s "$test_dir/followed/0.out")
ok "who reads goes on" until_true 10 eval '(($(stat -c %s "$test_dir/followed/0.out") > has_read))'
touch "$test_dir/go"
wait "$held" "$reads"
like "and who was here" "$(cat "$test_dir/held")" "namespace $mine.*finalize: PMIX_SUCCESS"
end_gate_jobs

# Rights are those of both hosts.
rules "\"allow observe $own_jobs $head_address\"" "\"allow everything $own_jobs $there\""
ok "the gate's own host may do less" reload
job_pids=()
ok "a new job runs" begin pmixuser1 lesser "$h1"
like "so may who comes through it" "$(tool pmixuser1 "$h3" signal 10 "$nspace")" 'signal: PMIX_ERR_NO_PERMISSIONS'
ok "by the address of that host" until_true 5 grep -qF "refused: uid 60001, from $head_address: control of job" "$log"

close_gate
is "it ends in order" "$?" 0
((test_failures == 0)) || diag "$(cat "$gate_log" "$log")"
end_gate_jobs

# Who has no job: as on the gate's own host, with the rights of both.
lets() { configure_logged '[tools]' "policy = [\"allow $1 $own_jobs $there\", \"allow everything $own_jobs $head_address\"]" '[gate]' 'door = ""'; }
lets everything
ok "a gate that lets tools start jobs" open_gate
alone=$(tool pmixuser1 "$h3" namespaces spawn true)
like "a tool of another host is let in without a job" "$alone" 'namespaces: PMIX_SUCCESS'
like "and hears that its spawn names no allocation" "$alone" 'spawn: PMIX_ERR_JOB_ALLOC_FAILED'
lets observe
ok "where its host may do less" reload
like "it starts nothing" "$(tool pmixuser1 "$h3" spawn true)" 'spawn: PMIX_ERR_NO_PERMISSIONS'
close_gate
((test_failures == 0)) || diag "$(cat "$gate_log" "$log")"
configure
ok "nothing is left" no_litter 30
done_testing
