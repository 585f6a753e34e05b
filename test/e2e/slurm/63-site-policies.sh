#!/bin/bash
# What an administrator who has only the man page writes, and what comes of it: the example of pmixhost.conf(5) and
# three other sites' rules pass `pmixhost config --check`, which warns of what gives nothing, `pmixhost policy explain`
# decides as their writer means it, and the daemons of a job decide as it explains, for tools on the job's host and on
# the login host. What it explains of jobs of others, the gate and such a job do in 68-visit.
. "$(dirname "$0")/../common/words.sh"

log=$test_dir/daemons.log pmixhost=$PMIXHOST_BUILD/tools/pmixhost rules=$test_dir/rules
host=$(host_name 1)
login=10.99.0.1 # the login host's address, as the job's hosts see it

# pmixuser1 and pmixuser2 are in the group pmixteam, and each in one of its own; root is in none of these.

site() { # NAME [WARNING], and the rules as lines of standard input
    site=$1
    { echo '[tools]' && cat; } >"$rules"
    if [[ -n ${2:-} ]]; then
        like "$site: config --check warns" "$(as_user root "$pmixhost" config --check "$rules" 2>&1; echo "code $?")" \
            "^warning: $rules:[0-9]*: $2.*code 0"
    else
        ok "$site: config --check finds nothing" says_nothing as_user root "$pmixhost" config --check "$rules"
    fi
}
says_nothing() { output=$("$@" 2>&1) && [[ -z $output ]]; }
# explain FILE WHO WHOSE WHERE ACTION: sets $output, and $decision to "allowed" or "refused"
explain() {
    output=$(as_user root "$pmixhost" policy explain --file "$1" --user "$2" --owner "$3" --host "$4" \
        --action "$5" 2>&1)
    decision=${output%%:*}
}
decides() { # reads WHO WHOSE WHERE ACTION WANTED
    local who whose where action wanted
    while read -r who whose where action wanted; do
        explain "$rules" "$who" "$whose" "$where" "$action"
        is "$site: $who from $where: $action of jobs of $whose" "$decision" "$wanted" || diag "$output"
    done
}

# ------------------------------------------------------------------------------ what the writers mean

# The words of the man page, with users and groups that there are.
example() {
    sed -n '/^\.SS Examples/,/^\.fi/{/^\./d; s/\\(aq/'"'"'/g; s/\\(dq/"/g; /^\[tools\]/d; p}' \
        "$PMIXHOST_SOURCE/contrib/man/pmixhost.conf.5" | sed 's/@support/@pmixuser2/; s/@climate/@pmixteam/g'
}
like "the man page has an example" "$(example)" '@pmixuser2 .*@pmixteam '
site "the man page's example" < <(example)
decides <<END
pmixuser2 root here observe refused
root root here observe refused
pmixuser2 pmixuser1 here output refused
pmixuser2 pmixuser1 10.20.3.4 observe allowed
pmixuser2 pmixuser1 10.20.3.4 spawn allowed
pmixuser2 pmixuser1 10.21.3.4 observe refused
pmixuser1 pmixuser2 here debug refused
pmixuser1 pmixuser2 10.20.3.4 debug allowed
pmixuser1 root 10.20.3.4 observe refused
pmixuser1 pmixuser1 $login control allowed
pmixuser1 pmixuser1 $login spawn refused
pmixuser1 pmixuser1 2001:db8::7 spawn allowed
pmixuser1 pmixuser1 here spawn allowed
pmixuser1 pmixuser1 192.0.2.1 observe refused
END
cp "$rules" "$test_dir/example"

site "observers" <<'END'
# a group may look from the network of the monitoring hosts: at its own jobs, and at others' whose users may, too
policy = ["allow observe, output by @pmixuser2 to jobs of anyone from 10.99.0.0/24, 2001:db8:7::/48"]
END
decides <<END
pmixuser2 pmixuser2 $login observe allowed
pmixuser2 pmixuser2 2001:db8:7::1 output allowed
pmixuser2 pmixuser2 2001:db8:8::1 observe refused
pmixuser2 pmixuser1 $login observe refused
pmixuser2 root $login output refused
pmixuser2 pmixuser1 10.99.1.1 observe refused
pmixuser2 pmixuser1 here observe refused
pmixuser2 pmixuser1 $login control refused
pmixuser2 pmixuser1 $login debug refused
pmixuser1 pmixuser2 $login observe refused
pmixuser1 pmixuser1 here control allowed
pmixuser1 pmixuser1 $login observe refused
END
explain "$rules" pmixuser2 pmixuser1 "$login" observe
like "$site: and it is told why" "$output" "$rules:3 .*allows observe, without effect: .*observe is refused to the owner"
cp "$rules" "$test_dir/observers"

site "support" <<'END'
policy = [
  # the support user may do everything with jobs of one group
  "allow everything by pmixuser2 to jobs of @pmixteam from anywhere",
  # users come from the login host
  "allow everything by anyone to jobs of themselves from here, 10.99.0.1",
]
END
decides <<END
pmixuser2 pmixuser1 here control allowed
pmixuser2 pmixuser1 192.0.2.1 control allowed
pmixuser2 pmixuser1 here spawn allowed
pmixuser2 root here control refused
pmixuser2 pmixuser2 here spawn allowed
pmixuser1 pmixuser2 here control refused
pmixuser1 pmixuser1 $login spawn allowed
pmixuser1 pmixuser1 10.99.0.2 spawn refused
root pmixuser1 here control refused
END
cp "$rules" "$test_dir/support"

site "looking alone" <<'END'
policy = [
  "allow observe, output by anyone to jobs of themselves from anywhere",
  "deny everything by anyone to jobs of anyone from anywhere",
]
END
decides <<END
pmixuser1 pmixuser1 here observe allowed
pmixuser1 pmixuser1 192.0.2.1 output allowed
pmixuser1 pmixuser1 here control refused
pmixuser1 pmixuser1 here input refused
pmixuser1 pmixuser1 $login spawn refused
root root here control refused
pmixuser2 pmixuser1 here observe refused
END
cp "$rules" "$test_dir/looking-alone"

# --------------------------------------------------------------------------- what the daemons decide

on_job_host() { "${on_cluster[@]}" --user "$1" --host "$host" -- timeout -k 5 60 "${@:2}" 2>&1; } # USER COMMAND ...
at_login() { as_user pmixuser1 timeout -k 5 60 "$@" 2>&1; }
out=$test_dir/visited
said() { (($(grep -c "^$1" "$out") == $2)); } # TEXT TIMES
begin_job() { # FILE: the rules
    : >"$out"
    configure_logged "$(cat "$1")"
    (cd "$test_dir" && exec timeout -k 5 150 "${on_cluster[@]}" --user pmixuser1 -- \
        srun "$mpi" -N1 -n2 -w "$host" "$clients/visited") >"$out" 2>&1 </dev/null &
    job_pid=$!
    ok "$site: a job runs" until_true 30 said there 2
    job=$(as_user root squeue -h -u pmixuser1 -o %i)
    nspace=slurm.$job.0
}
end_job() {
    on_host "$host" pkill -KILL -x visited
    wait "$job_pid"
}
# tries ACTION: sets $tried to what the daemon decides of a tool that is started with what "tool" says.
tries() {
    local said
    case $1 in
        observe) said=$("${tool[@]}" namespaces) ;;
        control) said=$("${tool[@]}" signal 10 "$nspace") ;;
        spawn) said=$("${tool[@]}" spawn /bin/true) ;;
    esac
    case $said in
        *": PMIX_SUCCESS"*finalize* | *": PMIX_OPERATION_SUCCEEDED"*finalize*) tried=allowed ;;
        *PMIX_ERR_NO_PERMISSIONS*finalize* | "init: PMIX_ERR_"* | *"lets no tools of this host in"*) tried=refused ;;
        *) tried="neither: $said" ;;
    esac
}
# Has the daemon's log that decision, of that action and place, by that rule?
logged() {
    local from=$where
    [[ $where != here ]] || from="this host"
    grep -F "tools: $decision: uid 60001" "$log" | grep -F "from $from: $asked of job" | grep -qF " by $place \""
}
for site in example observers support looking-alone; do
    begin_job "$test_dir/$site"
    for where in here $login; do
        if [[ $where == here ]]; then
            tool=(on_job_host pmixuser1 "$clients/tool" nspace "$nspace")
        else
            tool=(at_login "$pmixhost" with "$job" -- "$clients/tool")
        fi
        explain "$PMIXHOST_CONFIG_FILE" pmixuser1 pmixuser1 "$where" observe
        may_look=$decision
        for action in observe control spawn; do
            tries $action
            # Who may not look is not let in, whatever else a rule allows.
            [[ $may_look == allowed ]] && asked=$action || asked=observe
            explain "$PMIXHOST_CONFIG_FILE" pmixuser1 pmixuser1 "$where" "$asked"
            is "$site: a tool of the job's user, from $where: $action" "$tried" "$decision"
            place=$(sed -n 's/^ *by \(built in\|[^ ]*\.conf:[0-9]*\): .*/\1/p' <<<"$output")
            ok "$site: $where, $action: the log names the same rule" until_true 10 logged || diag "$output" "$(cat "$log")"
        done
    done
    unlike "$site: a tool of another user is not let in but by the gate" \
        "$(on_job_host pmixuser2 "$clients/tool" nspace "$nspace" who)" '^tool'
    end_job
done
configure
ok "nothing is left" no_litter 30
done_testing
