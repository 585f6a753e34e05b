#!/bin/bash
# A stranger on another host says to a gate that serves tools of other hosts what he likes: as whom he likes, with
# credentials of others, again and again, or nothing at all. He gets nothing, and keeps nobody out.
. "$(dirname "$0")/../words.sh"
log=$test_dir/daemons.log
. "$(dirname "$0")/../../e2e/remote_gate.sh"

there=$(address_of "$h3") door=tcp:$head_address:$gate_port
# says DESCRIPTION USER HOST ANSWERED WORD ...: a hello from there, to which so many of his connections get an answer.
says() {
    local description=$1 user=$2 host=$3 answered=$4
    shift 4
    like "$description" "$(at "$user" "$host" "$strangers/stranger" "$door" psec=munge flag=3 wait=3 "$@")" \
        "tried [0-9]+: 0 refused, [0-9]+ closed, [0-9]+ open to the end, $answered answered"
}
credential() { at pmixuser1 "$1" munge "${2:--n}"; }
named() { ok "which the log names" until_true 5 logged "refused: from $there port [0-9]+: .*$1"; }
tool_comes() { [[ $(at pmixuser1 "$h3" "$clients/tool" uri "$remote_uri" namespaces) == *"namespace $nspace"* ]]; }

rules "\"allow everything $own_jobs $head_address,$there\""
ok "a gate serves tools of other hosts" open_gate
ok "and a job runs" begin pmixuser1 mine "$h1"
ok "whose tools come from there" tool_comes
own=(uid=60001 gid=60001)

# --- credentials
kept=$(credential "$h3")
says "with a credential of the own, somebody is let in" pmixuser1 "$h3" 1 "cred==$kept" "${own[@]}"
says "with the same once more, nobody is" pmixuser1 "$h3" 0 "cred==$kept" "${own[@]}"
named "Replayed credential"
says "nor in another form" pmixuser1 "$h3" 0 "cred== ${kept#*:}" "${own[@]}"
named "not as munge writes one"
# What is not promised (security.md): munge does not say who shows it.
says "one that was not used yet is its bearer's there" pmixuser2 "$h3" 1 "cred==$(credential "$h3")" "${own[@]}"
says "with one of his own he is not another user" pmixuser2 "$h3" 0 "cred==$(at pmixuser2 "$h3" munge -n)" "${own[@]}"
named "it claims uid 60001 and gid 60001, and munge says uid 60002"
says "nor of another group" pmixuser1 "$h3" 0 "cred==$(credential "$h3")" uid=60001 gid=0
says "one that was made on another host is not taken" pmixuser2 "$h3" 0 "cred==$(credential "$h2")" "${own[@]}"
named "its credential was made on $(address_of "$h2"), says munge, and it comes from $there"
says "one that was made for something else neither" pmixuser2 "$h3" 0 "cred==$(credential "$h3" --string=purpose)" "${own[@]}"
named "made for another purpose"
says "nor a forged one" pmixuser2 "$h3" 0 "cred==MUNGE:AwQDAAAAAAAA:" "${own[@]}"
says "nor none" pmixuser2 "$h3" 0 cred=none "${own[@]}"
says "native counts for nothing here" pmixuser2 "$h3" 0 psec=native cred=60001:60001 "${own[@]}"
named "security module 'native'"
for flag in 0 5 8; do
    says "nobody comes as a process of the job: $flag" pmixuser1 "$h3" 0 "cred==$(credential "$h3")" flag=$flag \
        nspace="$nspace" rank=0 "${own[@]}"
done
says "nor with its name" pmixuser1 "$h3" 0 "cred==$(credential "$h3")" flag=4 nspace="$nspace" rank=0 "${own[@]}"

# --- on the gate's own host, where the kernel knows whose a connection is
kept=$(credential head)
says "there a credential that was not used yet is nobody else's either" pmixuser2 head 0 "cred==$kept" "${own[@]}"
ok "which the log says" until_true 5 logged "refused: from $head_address port [0-9]+: .*is of uid 60002, says the kernel"
says "its owner has one" pmixuser1 head 1 "cred==$(credential head)" "${own[@]}"

# --- whatever else he says
at pmixuser2 "$h3" "$strangers/stranger" "$door" mode=silent times=400 at_once=400 wait=14 ready="$test_dir/silent" >"$test_dir/of-silent" &
silent=$!
ok "four hundred connections that say nothing" until_true 10 test -e "$test_dir/silent"
for way in half drip rubbish lies cut reset deaf sweep; do
    says "he gets nothing: $way" pmixuser2 "$h3" 0 mode=$way times=60 victim=60001 nspace="$nspace" "${own[@]}" wait=2
done
ok "a tool comes meanwhile" tool_comes
like "and one of the gate's host" "$(at pmixuser1 head "$clients/tool" system yes namespaces)" "namespace $nspace"
wait "$silent"
like "who says nothing is closed, all of them" "$(cat "$test_dir/of-silent")" '^tried 400: 0 refused, 400 closed, 0 open to the end, 0 answered'
ok "in time" awk '/slowest close/ { exit $(NF - 1) > 13 }' "$test_dir/of-silent"
lines=$(grep -c . "$gate_log")
ok "the log is no longer for it ($lines lines)" test "$lines" -lt 150
is "the gate holds no connection of theirs" "$(on_host head ss -Htn state established sport = :$gate_port | wc -l)" 0
ok "and tools come" tool_comes

# --- again and again, from the host from which the victim's tools come
# flood DESCRIPTION NAME WORD ...: until the file NAME.over is there
flood() {
    at pmixuser2 "$h3" "$strangers/stranger" "$door" seconds=55 at_once=1000 wait=20 ready="$test_dir/$2.begun" until="$test_dir/$2.over" \
        "${@:3}" >"$test_dir/$2.said" &
    flooding=$!
    ok "$1" until_true 20 test -e "$test_dir/$2.begun"
}
ebbs() { # NAME; that the gate has closed them shows that it was one
    local closed
    : >"$test_dir/$1.over"
    wait "$flooding"
    closed=$(sed -n 's/^tried .* \([0-9]*\) closed.*/\1/p' "$test_dir/$1.said")
    diag "$1: $(<"$test_dir/$1.said")"
    ok "$1: the gate has closed hundreds of them" test "${closed:-0}" -gt 300
}
flood "connections that say nothing come again and again" nothing mode=silent pace=1500
came=0
for _ in {1..10}; do ! tool_comes || came=$((came + 1)); done
ok "of ten tools of the victim's at least eight come meanwhile" test "$came" -ge 8
ebbs nothing
# munge has to be asked about each of these. Where it is slower than they come some tools are left out, too.
flood "and so do messages that look like a tool's" forged mode=hello psec=munge flag=3 "cred==MUNGE:AwQDAAAAAAAA:" "${own[@]}" pace=1500
ok "one comes beside messages that look like a tool's" until_true 40 tool_comes
ebbs forged
ok "the job goes on" eval '[[ -n $(as_user root squeue -h -n mine -o %i) ]]'

close_gate
is "the gate ends in order" "$?" 0
((test_failures == 0)) || diag "$(tail -n 100 "$gate_log"; tail -n 60 "$log")"
end_gate_jobs
configure
ok "nothing is left" no_litter 30
done_testing
