#!/bin/bash
# A stranger on the hosts of a job says to its daemons everything that libpmix' protocol lets him say,
# as whoever he likes, and is not let in: not one byte comes back, nothing runs in the victim's name,
# and the job goes on.
. "$(dirname "$0")/../words.sh"

configure '[log]' "file = \"$victims_log/%n.%j.%s\""
# A job with every role there is: the daemons of its step and of a spawned one, the session (for what it
# publishes) and the launcher (for what it spawns).
cat >"$test_dir/program" <<TXT
#!/bin/sh
[ "\$PMIX_RANK" != 0 ] || "$clients/publish" put fault.word text
exec "$clients/spawn" count=1 pmix.mapby=node:oversubscribe keep -- /bin/sleep 300
TXT
chmod 755 "$test_dir/program"
begin_job 2 2 "$test_dir/program"
ok "a job runs that has published and spawned" until_true 60 grep -q '^spawned' "$out"
output=$(cat "$out")
host=$(host_name 1)
steal_environment "$host" spawn
nspace=$(stolen PMIX_NAMESPACE)

# --------------------------------------------------------------------------- with a real library

disguised_is_kept_out "$host"

# ---------------------------------------------------------------------- whatever he says he is

before=$(sizes)
seen=0
for at in $(all_hosts); do
    for port in $(ports "$at"); do
        seen=$((seen + 1))
        nothing_came "a port of a daemon: every claim of user, name, rank, module and kind" \
            "$at" "tcp:$port" mode=sweep wait=10 "nspace=$nspace" "victim=$victim"
    done
done
ok "these were two ports of each daemon of the job's and the spawned step" test "$seen" -ge 6
ok "the launcher runs" test -n "$(daemons head)"
is "the launcher has no port that one could reach" "$(ports head)" ""
session=$(on_host "$host" sh -c 'for p in $(pgrep -x pmixhostd -u "$0"); do
    tr "\0" "\n" <"/proc/$p/cmdline" | grep -qx -e --session && echo "$p"; done' "$victim")
ok "the session runs" test -n "$session"
is "the session has no port that one could reach" \
    "$(on_host "$host" ss -Hltnp | grep -E "pid=($(paste -sd '|' <<<"$session")),")" ""
for flag in 0 3 4 5 8; do
    for port in $(ports "$host" | grep '^127'); do
        nothing_came "he proves with munge who he is, and names the victim's process" \
            "$host" "tcp:$port" psec=munge "cred==$(as_stranger "$host" munge -n)" flag=$flag \
            "nspace=$nspace" rank=0 "uid=$victim" "gid=$victim"
    done
done
for way in silent half lies rubbish cut reset deaf; do
    for port in $(ports "$host"); do
        nothing_came "he behaves badly at a port of a daemon: $way" "$host" "tcp:$port" mode=$way \
            times=30 wait=2 "nspace=$nspace" uid=$victim gid=$victim cred=$victim:$victim
    done
done
# The listener takes both families of addresses; Slurm's own sockets of srun here only one.
listeners=$(on_host head ss -Hltnp | grep '"srun"' | awk '$4 ~ /^\*:/ {print $4}' | tr -d '*:')
ok "srun has a listener" test -n "$listeners"
for listener in $listeners; do
    nothing_came "srun's listener says nothing to him" head "tcp:127.0.0.1:$listener" mode=sweep wait=3 \
        "nspace=$nspace" "victim=$victim"
done
for door in $(on_host "$host" ss -Hlxp | grep pmixhostd | grep -o '@[^ ]*' | tr -d @); do
    nothing_came "the task door says nothing to him" "$host" "abstract:$door" mode=all times=90 wait=2 \
        "nspace=$nspace"
done
for path in $(on_host "$host" find /tmp/.pmixhost-$victim -type s); do
    attack "$host" "unix:$path" mode=all times=30 wait=2
    like "he does not even reach a contact socket" "$said" '^tried 30: 30 refused'
done

# ---------------------------------------------------------------------------------- what it cost

ok "the job still runs" job_runs
settled() { [[ -z $(has_grown "$before" "$(sizes)" 16384 16) ]]; }
ok "no daemon has grown by more than 16 MiB or 16 descriptors" until_true 20 settled
is "no daemon has left a process behind" "$(zombies)" ""
like "the log names whose connections were closed" "$(cat "$victims_log"/*)" "connection of uid $stranger[ ,].*PMIx server"
lines=$(log_lines)
echo "# $lines lines"
ok "and is no longer for thousands of them" test "$lines" -lt 300

end_job
ok "nothing is left" no_litter 30
done_testing
