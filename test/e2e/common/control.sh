#!/bin/bash
# What a process may ask of its host beside data and collectives.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"

# What pmixhost's credentials say: with it, munge(1) can make one that is late, or another user's.
purpose='pmixhost: a credential of PMIx_Get_credential'
munge_of() { # USER OPTION ...: a credential
    local user=$1
    shift
    if [[ $backend == slurm ]]; then
        as_user "$user" munge "$@"
    else
        munge "$@"
    fi
}

uid_of() { # USER
    if [[ $backend == slurm ]]; then as_user root id -u "$1"; else id -u "$1"; fi
}

if [[ $backend == slurm ]] || munge -n >/dev/null 2>&1; then
    for shape in 1x2 3x2; do
        client "${shape%x*}" "${shape#*x}" credential exchange
        ok "credentials are made, checked elsewhere, and refused when forged or used, $shape" \
            all_ok $((${shape%x*} * ${shape#*x}))
    done
    [[ $backend == slurm ]] && other=pmixuser2 || other=$(id -un)
    client 1 1 credential check "$(munge_of "$other" -s "$purpose")" "$(uid_of "$other")"
    ok "whose process made a credential is what munge says" all_ok 1
    client 1 1 credential check "$(munge_of "$other" -s "anything")" bad
    ok "a credential for another purpose is refused" all_ok 1
    late=$(munge_of "$other" -t 1 -s "$purpose")
    expires=$((SECONDS + 3))
    expired() { ((SECONDS >= expires)); }
    until_true 10 expired
    client 1 1 credential check "$late" bad
    ok "a credential whose time is up is refused" all_ok 1
else
    client 2 2 credential none
    ok "without munge there are no credentials" all_ok 4
fi

for shape in 1x3 3x2; do
    h=${shape%x*} p=${shape#*x} n=$((${shape%x*} * ${shape#*x}))
    for target in all 0 $((n - 1)); do
        client "$h" "$p" control signal 10 "$target"
        ok "SIGUSR1 to $target, $shape" all_ok "$n"
    done
    client "$h" "$p" control signal 40 0 1 2
    ok "a real-time signal to three of them, $shape" all_ok "$n"
    client "$h" "$p" control checkpoint
    ok "the event of a checkpoint comes to all of the job, who asked for it too, $shape" all_ok "$n"
    client "$h" "$p" control several 12 $((n - 1))
    ok "two signals in one call, $shape" all_ok "$n"
    client "$h" "$p" control pause $((n - 1))
    ok "pause and resume, $shape" all_ok "$n"
    client "$h" "$p" control refused
    ok "what is not there is not found, what is not offered is not supported, $shape" all_ok "$n"
    client "$h" "$p" control declared
    ok "a job says that it can be preempted and how its checkpoints are made, $shape" all_ok "$n"
done
for how in kill terminate; do
    client 3 2 control end "$how" 3
    ok "$how one of another host: the others go on" eval "ended_in_time && so_many_ok 5"
    client 3 2 control end "$how" 1 2 5
    ok "$how one of each host: the others go on" eval "ended_in_time && so_many_ok 3"
    client 3 2 control whole "$how"
    ok "$how the whole job" eval "failed && ended_in_time && so_many_ok 0"
    [[ $how == terminate ]] || is "and the exit status says so" "$status" 137
done
configure '[transport]' 'radix = 2' # so that some hosts are behind others
client 4 2 control signal 10 all
ok "SIGUSR1 to all, by way of other hosts" all_ok 8
client 4 2 control signal 10 0 6 7
ok "SIGUSR1 to some, by way of other hosts" all_ok 8
client 4 2 control whole terminate
ok "terminate the whole job, by way of other hosts" eval "failed && ended_in_time && so_many_ok 0"
configure
client 2 1 control cleanup "$CLIENT_DIR/litter"
litter_gone() { [[ ! -e $CLIENT_DIR/litter ]]; } # the daemon may still be at it
ok "the library keeps its share of the directives: a file is removed at the end" \
    eval "all_ok 2 && until_true 30 litter_gone"

# lines_are WORD N: every rank of N has logged its line to WORD (out, err) once; N 0: none has.
lines_are() {
    local rank
    (($(grep -c "^hear $1 [0-9]*$" <<<"$output") == $2)) || return 1
    for ((rank = 0; rank < $2; rank++)); do
        grep -qx "hear $1 $rank" <<<"$output" || return 1
    done
}
for shape in 1x2 3x2; do
    h=${shape%x*} p=${shape#*x} n=$((${shape%x*} * ${shape#*x}))
    client "$h" "$p" log say hear
    ok "PMIx_Log to stdout and stderr, $shape" eval "all_ok $n && lines_are out $n && lines_are err $n"
    job "$h" "$p" bash -c "exec $clients/log say hear 2>/dev/null"
    ok "each to its own, $shape" eval "all_ok $n && lines_are out $n && lines_are err 0"
    client "$h" "$p" log once hear
    ok "PMIX_LOG_ONCE: only to the first that works, $shape" \
        eval "all_ok $n && lines_are err $n && lines_are out 0"
    client "$h" "$p" log statuses
    ok "what cannot be logged to is refused, $shape" all_ok "$n"
done
client 2 1 log labelled hear
like "a line with channel and time" "$output" \
    '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z stdout: hear out 1'
client 2 1 log dated hear
like "a line with the time that its process gives" "$output" '1971-01-01T00:00:00Z hear out 1'
client 2 1 log xml "hear <&>"
like "as XML, which names the process" "$output" \
    '<stdout nspace="[^"]+" rank="1">hear &#060;&#038;&#062; out 1&#010;</stdout>'
client 2 1 log repeated hear
ok "a line with PMIX_LOG_KEY and PMIX_LOG_VAL comes once, however often it is logged" \
    eval "all_ok 2 && lines_are err 2"
client 2 1 log each-time hear
ok "and each time where PMIX_LOG_AGG says so" eval "all_ok 2 && (($(grep -c '^hear err [01]$' <<<"$output") == 6))"
client 1 1 log blob
ok "bytes that are to be sent somewhere are refused" all_ok 1
client 2 1 log large
ok "what no pipe holds is refused" all_ok 2
if [[ $backend == slurm ]]; then
    job_options=(-J recorded --comment "of the user")
    client 3 1 log record hear
    ok "what goes to the job's record is told to be there, and refused when it gets too long" all_ok 3
    job_options=()
    comment=$(as_user root squeue -h -t all -n recorded -o %k)
    like "it is behind the job's comment" "$comment" '^of the user; \['
    ok "with the words of all hosts" eval '((        $(grep -o "\[[^ ]*:[0-2]\] step [0-2] is done" <<<"$comment" | sort -u | wc -l) == 3))'
    configure '[log]' 'job_record = "off"'
    client 1 1 log no-record
    ok "a site that keeps no record refuses it" all_ok 1
    configure
else
    client 1 1 log no-record
    ok "there is no record of jobs" all_ok 1
fi
post=$test_dir/post
mkdir -p "$post"
chmod 1777 "$post"
cat >"$test_dir/sendmail" <<'END'
#!/bin/sh
case $* in *refused*) exit 67 ;; esac
{ echo "for $*"; cat; } >"$(mktemp "${0%/*}/post/letter.XXXXXX")"
END
chmod 755 "$test_dir/sendmail"
configure '[log]' "mail = \"$test_dir/sendmail\""
client 2 1 log mail
ok "a mail goes where the site says, and what is none is refused" all_ok 2
configure
is "one from each, and no other" "$(cat "$post"/letter.* 2>/dev/null | sort -u)" "
From: job@site
Subject: news
To: op@site, boss@site
all is well
for -i -- op@site boss@site"
is "that is two" "$(cat "$post"/letter.* 2>/dev/null | grep -c '^Subject')" 2
client 2 2 log monitor
ok "the library monitors heartbeats" all_ok 4
for what in heartbeat size access modify; do
    client 3 2 monitor $what
    ok "an alert comes to all others: $what" all_ok 6
done
client 2 2 monitor beats
ok "and none as long as it beats" all_ok 4

done_testing
