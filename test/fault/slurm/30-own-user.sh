#!/bin/bash
# What processes of the job's own user do wrong at the daemon hurts no other process: a connection
# that says nothing, and a hello that is refused, though it names a process of the job.
. "$(dirname "$0")/../words.sh"

# Before each rank's program somebody of the same user was there: in the words of stranger.c.
after() { # DESCRIPTION WORD ...
    local description=$1
    shift
    # shellcheck disable=SC2016 # for the task's shell
    client_after 'timeout 20 "$STRANGER" env '"$*"' >/dev/null 2>&1
        exec "$HELLO"'
    ok "$description: the real process gets through PMIx_Init" all_ok 4
}
client_after() { # SHELL-TEXT
    STRANGER=$strangers/stranger HELLO=$clients/hello CLIENT_LIMIT=30 job 2 2 /bin/sh -c "$1"
}

after "a hello with munge and a forged credential" psec=munge cred==MUNGE:forged: wait=2
after "one with a module that there is not" psec=unknown wait=2
after "one with no module" psec= cred=none wait=2
after "one with a wrong group" psec=native cred=60001:0 wait=2
after "one without a credential" psec=native cred=none wait=2
after "one as a tool of the same name" flag=4 wait=2
after "one as a tool that this host has started" flag=5 wait=2
after "one whose lengths lie" mode=lies times=12 wait=2
after "one that is reset at once" mode=reset times=20
after "half of one" mode=cut times=20
# shellcheck disable=SC2016 # for the task's shell
client_after 'cd '"$test_dir"'
    "$STRANGER" env mode=silent times=40 wait=60 ready=silent.$SLURM_PROCID >/dev/null 2>&1 &
    "$STRANGER" env mode=drip times=10 wait=60 ready=drip.$SLURM_PROCID >/dev/null 2>&1 &
    until [ -e silent.$SLURM_PROCID ] && [ -e drip.$SLURM_PROCID ]; do sleep 0.1; done
    exec "$HELLO"'
ok "forty connections that say nothing, ten that say a byte a second: all get through PMIx_Init" all_ok 4
begin=$SECONDS
client 2 2 barrier 10 5
ok "and the next job is as if nothing had been" eval 'all_ok 4 && ((SECONDS - begin < 20))'
ok "nothing is left" no_litter 30
done_testing
