#!/bin/bash
# Tools that follow the output of a job whose streams are Slurm's own (io.copy): slurmstepd gives pmixhostd a copy.
. "$(dirname "$0")/../common/words.sh"
. "$(dirname "$0")/../output_jobs.sh"

# slurmstepd has its readers of copies on the loopback.
copies_on() { on_host "$1" ss -Htnp src 127.0.0.1 | grep -c slurmstepd; }
has_copies() { (($(copies_on "$1") == $2)); } # HOST COUNT

# --- what a tool gets --------------------------------------------------------------------------------

configure "${logged[@]}"
# Two on each host, as Slurm would not have it: five on one write more than its daemon holds back for tools (io.cache).
early=$(size_of "$data"/early.*)
start pulls -N4 -n8 --ntasks-per-node=2 -m cyclic "$task" write="$data/early" there await=go write="$data/bytes" await=go2 \
    write="$data/early" await=end </dev/null
running 8
for host in "$h1" "$h3"; do ok "nobody looks: no copy on $host" has_copies "$host" 0; done
follow first "$h1" pull first all both bytes "$early" ends 16
follow other "$h3" pull other all both bytes "$early" ends 16
follow some "$h2" pull some 1,3 err bytes "$(size_of "$data"/early.err.1 "$data"/early.err.3)" ends 2
follow leaves "$h4" pull leaves all both bytes "$early" drop hold "$dir/end"
for name in first other some leaves; do
    ok "$name: what was written before it came" has_said "$name" got
done
ok "one drops it" has_said leaves 'drop: PMIX_SUCCESS'
ok "and stays" has_said leaves held
is "each host has one copy, for all" "$(for host in "$h1" "$h2" "$h3" "$h4"; do copies_on "$host"; done | xargs)" "1 1 1 1"
make_file go
ok "srun has all of it" until_true 30 srun_has "$(size_of "$data"/bytes.out.* "$data"/early.out.*)"
follow late "$h2" pull late all both ends 16
ok "one comes late" has_said late 'pull: PMIX_SUCCESS'
make_file go2
ok "srun has that" until_true 30 srun_has "$(size_of "$data"/bytes.out.* "$data"/early.out.* "$data"/early.out.*)"
end
is "the job ends as ever" "$code" 0
for name in first other some late; do
    ok "$name: the streams end" has_said "$name" ended
    over "$name"
    ok "$name: finalizes" said "$name" 'finalize: PMIX_SUCCESS'
done
over leaves
ok "a tool on the job's first host has every byte" same first early bytes early
ok "one on another host as well" same other early bytes early
is "ranks and a channel alone are what a tool gets" "$(ls "$dir/some" | tr '\n' ' ')" "1.err 3.err "
for rank in 1 3; do
    ok "in full, of rank $rank" cmp "$dir/some/$rank.err" \
        <(cat "$data/early.err.$rank" "$data/bytes.err.$rank" "$data/early.err.$rank")
done
is "after a drop nothing more comes" "$(size_of "$dir"/leaves/*)" "$early"
ok "a late one has what was written last, and all that comes" eval '
    for rank in "${ranks[@]}"; do
        cmp <(tail -c "$(size_of "$data/early.out.$rank")" "$dir/late/$rank.out") "$data/early.out.$rank" || exit 1
    done'

start killed -N2 -n4 "$task" write="$data/early" there await=go write="$data/bytes" await=end </dev/null
running 4
beside 2 4
follow tool "$h2" pull pulled all both bytes 1 hold "$dir/never"
ok "a tool pulls" has_said tool got
on_host "$h2" pkill -KILL -x io_tool
over tool 2>/dev/null
make_file go
ok "srun has all of a job whose tool was killed" until_true 30 srun_has "$(size_of "$data"/bytes.out.[0-3] "$data"/early.out.[0-3])"
end
is "and it ends as ever" "$code" 0
as_soon "as soon"

# The tasks of one host (ranks 1 and 3) have ended before a tool comes, and those of the other (0 and 2) still write.
start some -N2 -n4 --ntasks-per-node=2 -m cyclic "$task" write="$data/early" there await=go.%t lines=words await=end.%t </dev/null
running 4
for rank in 1 3; do make_file "go.$rank"; make_file "end.$rank"; done
ok "the tasks of a host end" until_true 20 eval '(($(on_host "$h2" pgrep -c -x task) == 0))'
follow tool "$h1" pull pulled all both ends 8
ok "a tool comes" has_said tool 'pull: PMIX_SUCCESS'
for rank in 0 2; do make_file "go.$rank"; make_file "end.$rank"; done
end
is "a job ends that outlived one of its hosts" "$code" 0
for rank in 0 2; do ok "of rank $rank all is there" until_true 20 grep -qs "words $rank 49" "$dir/pulled/$rank.out"; done
on_host "$h1" pkill -KILL -x io_tool
over tool 2>/dev/null

# The connection of one host's copy is cut; the job knows nothing of it.
start cut -N2 -n4 --ntasks-per-node=2 "$task" write="$data/early" there await=go lines=words await=end </dev/null
running 4
at "$h2" "$PMIXHOST_BUILD/tools/pmixhost" output "$job" >"$dir/seen" &
seen=$!
ok "pmixhost output has what was written on two hosts" until_true 20 eval 'grep -q "^early out of 0" "$dir/seen" && grep -q "^early out of 3" "$dir/seen"'
follow tool "$h2" listen pull pulled all both hold "$dir/cut" failure hold "$dir/end"
ok "a tool pulls, too" has_said tool held
port=$(on_host "$h1" ss -Htnp src 127.0.0.1 | awk '/slurmstepd/ {sub(/.*:/, "", $4); print $4}')
on_host "$h1" ss -K -tn src 127.0.0.1 sport = ":$port" >/dev/null
wanted=0
if has_copies "$h1" 0; then
    wanted=3
    make_file cut
    ok "the copy of a host ends: a tool on another one hears whose output does not come" has_said tool 'failure: 0,1 out err$'
    make_file go
    ok "that of its own host does" until_true 20 grep -qs "words 3 49" "$dir/pulled/3.out"
    ok "and pmixhost output says whose does not" until_true 20 grep -q '^pmixhost: the standard output of rank 0-1 does not come any more' "$dir/seen"
else # not each kernel can
    skip "the copy of a host ends: a tool on another one hears whose output does not come" "ss -K does nothing here"
    skip "that of its own host does" "ss -K does nothing here"
    skip "and pmixhost output says whose does not" "ss -K does nothing here"
    make_file cut
fi
like "a tool says that the output of all fails" "$(at "$h2" "$clients/tool" nspace "$nspace" forge "$nspace")" '^forge: PMIX_'
on_host "$h2" pkill -KILL -x io_tool
over tool 2>/dev/null
end
is "and the job ends as ever" "$code" 0
code=0
wait "$seen" || code=$?
unlike "which counts for nobody: it is no server of the job" "$(cat "$dir/seen")" 'the standard output of this job does not come'
is "pmixhost output ends with it, and its exit code says so" "$code" "$wanted"

# --- what it cannot get ------------------------------------------------------------------------------

start limits -N2 -n2 "$task" there await=go lines=words await=end </dev/null
running 2
is "it cannot be taken over" "$(tool "$h1" with redirect with required pull pulled all out | head -n 1)" \
    "pull: PMIX_ERR_NOT_SUPPORTED"
is "nor is it pushed to" "$(tool "$h1" push 0 words | head -n 1)" "push: PMIX_ERR_NOT_SUPPORTED"
is "a rank that is not there cannot be pulled" "$(tool "$h1" pull pulled 99 out | head -n 1)" "pull: PMIX_ERR_NOT_FOUND"
follow tool "$h1" with redirect pull copied all out hold "$dir/end"
ok "who would rather take it over gets a copy" has_said tool held
make_file go
ok "so srun has it as well" until_true 20 eval '(($(grep -c "^words [01] " "$dir/out") == 100))'
ok "and the tool" until_true 20 eval '(($(cat "$dir"/copied/*.out | grep -c "^words [01] ") == 100))'
end
over tool

start closes -N2 -n2 "$task" there await=go write="$data/early" closes wrote await=end </dev/null
running 2
follow tool "$h1" pull pulled all both ends 4
ok "a tool comes before processes write" has_said tool 'pull: PMIX_SUCCESS'
all_have_copies() { local host; for host; do has_copies "$host" 1 || return 1; done; }
ok "each host has its copy" until_true 20 all_have_copies "$h1" "$h2"
make_file go
both_are_same() { local ranks=(0 1); same pulled early; }
ok "processes that close their output have written all" until_true 20 both_are_same
ok "and run on" kill -0 "$job_pid"
end
ok "their streams end with them, as slurmstepd tells it" has_said tool 'ended 4'
over tool

start many -N4 -n64 --ntasks-per-node=16 "$task" there await=go lines=many wrote await=end </dev/null
running 64
follow tool "$h1" pull pulled all out hold "$dir/leave"
ok "one comes before 64 do" has_said tool held
ok "and each of four hosts has its copy" until_true 20 all_have_copies "$h1" "$h2" "$h3" "$h4"
make_file go
ok "64 processes print at once, and srun has all" until_true 30 eval '(($(grep -c "^many " "$dir/out") == 3200))'
all_in_order() {
    local rank i
    for rank in {0..63}; do
        cmp -s "$dir/pulled/$rank.out" <(for i in {0..49}; do echo "many $rank $i"; done) || return 1
    done
}
ok "so has the tool, each one's lines in their order" until_true 30 all_in_order
make_file leave
over tool
end

start files -N2 -n2 -o "$test_dir/files/of%t" "$task" there await=go lines=words await=end </dev/null
running 2
is "what is written to files slurmstepd does not see: it cannot be pulled" "$(tool "$h1" pull pulled all both | head -n 1)" \
    "pull: PMIX_ERR_NOT_SUPPORTED"
like "and the command says where it is" "$(at "$h1" "$pmixhost" output "$job" 2>&1)" 'to files of their own'
make_file go
ok "they get what is theirs" until_true 20 grep -q 'words 1 49' "$dir/of1"
end

start half -N2 -n2 -o "$test_dir/half/of%t" -e "$test_dir/half/written" "$task" write="$data/early" there await=go \
    write="$data/early" await=end </dev/null
running 2
is "nor by itself where the other one goes to srun" "$(tool "$h1" pull pulled all out | head -n 1)" \
    "pull: PMIX_ERR_NOT_SUPPORTED"
follow tool "$h1" pull pulled all both ends 4
ok "both together can" has_said tool 'pull: PMIX_SUCCESS'
make_file go
end
ok "the tool hears that they have ended" has_said tool ended
over tool
for rank in 0 1; do
    ok "what srun gets of rank $rank has come" cmp "$dir/pulled/$rank.err" <(cat "$data/early.err.$rank" "$data/early.err.$rank")
done
is "and nothing else" "$(size_of "$dir"/pulled/*.out 2>/dev/null)" 0

# slurmstepd has the other end of the terminal, and its copies say what is read there.
dir=$test_dir/terminal
mkdir -m 1777 "$dir"
(cd "$dir" && TERM=xterm exec timeout -k 5 60 "${on_cluster[@]}" --user pmixuser1 -- \
    script -qec "srun $mpi -J terminal --pty -N2 -n2 $task there await=go lines=words await=end" /dev/null) \
    >"$dir/out" 2>&1 </dev/null &
job_pid=$!
running 2
follow tool "$h1" pull pulled all out hold "$dir/leave"
follow other "$h2" pull other all out hold "$dir/leave"
ok "a terminal can be followed" has_said tool 'pull: PMIX_SUCCESS'
ok "also from a host that has none" has_said other 'pull: PMIX_SUCCESS'
make_file go
ok "it has all" until_true 20 grep -q 'words 0 49' "$dir/out"
ok "and so has the tool" until_true 20 grep -qs 'words 0 49' "$dir/pulled/0.out"
ok "and the other one" until_true 20 grep -qs 'words 0 49' "$dir/other/0.out"
make_file leave
over tool
over other
end
is "the other ranks write to nowhere, as srun has it" "$(ls "$dir/pulled")" "0.out"

configure "${logged[@]}" '[tools]' 'policy = ["allow observe, output by anyone to jobs of themselves from 10.99.0.0/16"]'
start desk -N2 -n2 "$task" there await=go lines=words await=end </dev/null
running 2
at head "$pmixhost" output -l "$job" >"$dir/seen" 2>&1 &
seen=$!
ok "the command on the login host asks" until_true 20 eval '[[ $(cat "$log") == *"is pulled"* ]]'
make_file go
ok "and sees both hosts" until_true 20 eval '(($(grep -c "^[01]: words [01] " "$dir/seen") == 100))'
end
wait "$seen"
is "to the end" "$?" 0

configure "${logged[@]}" '[io]' 'copy = "off"'
start none -N1 -n1 "$task" there await=end </dev/null
running 1
is "where the site wants no copies there are none" "$(tool "$h1" pull pulled all out | head -n 1)" \
    "pull: PMIX_ERR_NOT_SUPPORTED"
end
configure '[tools]' 'enabled = "off"'
start off -N1 -n1 "$task" there await=end </dev/null
running 1
ok "nor where it wants no tools" eval '[[ $(tool "$h1" pull pulled all out) != *PMIX_SUCCESS* ]] && has_copies "$h1" 0'
end
configure "${logged[@]}"

# --- a tool that does not read -----------------------------------------------------------------------

start deaf -N2 -n2 "$task" there await=go much=15000000 wrote await=end </dev/null
running 2
beside 2 2
follow tool "$h1" stop "$dir/on" pull pulled all out hold "$dir/leave"
ok "a tool does not read" has_said tool held
before=$(largest_daemon "$h1" "$h2")
make_file go
ok "the job writes all the same" until_true 60 eval '(($(find "$dir" -name "wrote.*" | wc -l) == 2))'
ok "srun has all" until_true 30 srun_has 30000000
most=$(largest_daemon "$h1" "$h2")
diag "the largest daemon had $most KiB, $before before"
ok "no daemon grew" eval '((before > 1000 && most < before + 8192))'
end
is "the job with such a tool ends as ever" "$code" 0
as_soon "in time"
make_file on
make_file leave
over tool

stopped_and_killed 8192
ok "nothing is left" no_litter 30
done_testing
