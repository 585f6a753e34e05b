#!/bin/bash
# Tools that follow what a running job writes, take it over, and write to its standard input (io.capture); and that
# without a tool a job's output is what it is without all this.
. "$(dirname "$0")/../common/words.sh"

. "$(dirname "$0")/../output_jobs.sh"

capture=("${logged[@]}" '[io]' 'capture = "on"')

# --- without a tool ----------------------------------------------------------------------------------

# srun 22.05 may lose the end of what tasks print that end at once (semantics.md), so they stay.
end_when_printed() { # FILES [RANK]
    local rank=${2:-*} whole
    # shellcheck disable=SC2086 # a pattern
    whole=$(size_of "$data/$1".*.$rank)
    ok "$1: srun prints so much" until_true 30 eval '(($(size_of "$dir/out" "$dir/err") >= whole))'
    end
}
configure "${capture[@]}"
start text -N4 -n8 --ntasks-per-node=2 "$task" write="$data/text" await=end </dev/null
end_when_printed text
is "srun's exit code" "$code" 0
ok "what eight tasks print" cmp <(sort "$dir/out") <(sort "$data"/text.out.*)
ok "and on the other stream" cmp <(sort "$dir/err") <(sort "$data"/text.err.*)
start bytes -N1 -n1 "$task" write="$data/bytes" await=end </dev/null
end_when_printed bytes 0
ok "any bytes" cmp "$dir/out" "$data/bytes.out.0"
ok "and on the other stream" cmp "$dir/err" "$data/bytes.err.0"
start codes -N4 -n8 --ntasks-per-node=2 "$task" write="$data/bytes" await=end code=7 </dev/null
end_when_printed bytes
is "the exit code of a task" "$code" 7
ok "with what it wrote before" srun_has "$(size_of "$data"/bytes.out.*)"
# What a task writes that ends at once, and a line without its end; the other task of its host stays.
brief() { # NAME HOSTS
    start "$1" -N"$2" -n$(($2 * 2)) --ntasks-per-node=2 "$task" brief="$data/brief.out.0" await=end </dev/null
    ok "$1: srun prints it" until_true 30 srun_has $((4014 * $2))
    end
}
brief brief 1
ok "as it was written" cmp "$dir/out" "$data/brief.out.0"
brief briefs 4
is "nothing more of four of them" "$(size_of "$dir/out")" $((4014 * 4))

dir=$test_dir/slow
mkdir -m 1777 "$dir"
slow=$(cd "$dir" && timeout -k 5 60 "${on_cluster[@]}" --user pmixuser1 -- \
    srun "$mpi" -N2 -n2 "$task" much=4000000 await=end </dev/null |
    python3 -c 'import os, time
size = 0
while piece := os.read(0, 50000):
    size += len(piece)
    time.sleep(0.005)
    if size >= 8000000:
        open("end", "w")
print(size)')
is "a slow srun loses nothing" "$slow" 8000000
client 4 2 hello
ok "PMIx programs" all_ok 8
output=

start files -N2 -n2 -o "$test_dir/files/of%t" "$task" there await=go lines=words await=end </dev/null
running 2
is "a tool cannot pull from files" "$(tool "$h1" pull pulled all out | head -n 1)" "pull: PMIX_ERR_NOT_SUPPORTED"
make_file go
ok "nor is one kept from typing" eval '[[ $(printf "typed\n" | timeout -k 2 20 "${on_cluster[@]}" --user pmixuser1 --host "$h1" -- \
    timeout -s INT 4 "$PMIXHOST_BUILD/tools/pmixhost" attach "$job" 2>&1) == *"there is nothing to be had"* ]]'
ok "which get what is theirs" until_true 20 grep -q 'words 1 49' "$dir/of1"
end

dir=$test_dir/terminal
mkdir -m 1777 "$dir"
(cd "$dir" && TERM=xterm exec timeout -k 5 60 "${on_cluster[@]}" --user pmixuser1 -- \
    script -qec "srun $mpi -J terminal --pty -N1 -n1 $task there await=go lines=words await=end" /dev/null) \
    >"$dir/out" 2>&1 </dev/null &
job_pid=$!
running 1
follow tool "$(as_user root squeue -h -j "$job" -o %N)" pull pulled all both push 0 words hold "$dir/end"
ok "nor from a terminal" has_said tool 'pull: PMIX_ERR_NOT_SUPPORTED'
ok "to which nothing is pushed" has_said tool 'push: PMIX_ERR_NOT_SUPPORTED'
make_file go
ok "the terminal has all" until_true 20 grep -q 'words 0 49' "$dir/out"
end
over tool
is "and the tool nothing" "$(ls "$dir/pulled")" ""

# --- pulls -------------------------------------------------------------------------------------------

# Two on each host, as Slurm would not have it: five on one write more than its daemon holds back for tools (io.cache).
early=$(size_of "$data"/early.*) some_early=$(size_of "$data"/early.err.1 "$data"/early.err.3)
start pulls -N4 -n8 --ntasks-per-node=2 -m cyclic "$task" write="$data/early" there await=go write="$data/bytes" await=end </dev/null
running 8
follow first "$h1" pull first all both bytes "$early" ends 16
follow other "$h3" pull other all both bytes "$early" ends 16
follow some "$h2" pull some 1,3 err bytes "$some_early" ends 2
follow leaves "$h4" pull leaves all both bytes "$early" drop hold "$dir/end"
for name in first other some leaves; do
    ok "$name: what was written before it came" has_said "$name" got
done
follow second "$h1" pull second all both ends 16
ok "one beside it" has_said second 'pull: PMIX_SUCCESS'
ok "one drops it" has_said leaves 'drop: PMIX_SUCCESS'
ok "and stays" has_said leaves held
make_file go
ok "srun has all of it" until_true 30 srun_has "$(size_of "$data"/bytes.out.* "$data"/early.out.*)"
end
is "the job ends as ever" "$code" 0
for name in first other some second; do
    ok "$name: the streams end" has_said "$name" ended
    over "$name"
    ok "$name: finalizes" said "$name" 'finalize: PMIX_SUCCESS'
done
over leaves
ok "a tool on the job's first host has every byte" same first early bytes
ok "one on another host as well" same other early bytes
ok "one beside another has what came after it" same second bytes
is "ranks and a channel alone are what a tool gets" "$(ls "$dir/some" | tr '\n' ' ')" "1.err 3.err "
for rank in 1 3; do
    ok "in full, of rank $rank" cmp "$dir/some/$rank.err" <(cat "$data/early.err.$rank" "$data/bytes.err.$rank")
done
is "after a drop nothing more comes" "$(size_of "$dir"/leaves/*)" "$early"

start killed -N4 -n8 --ntasks-per-node=2 -m cyclic "$task" write="$data/early" there await=go write="$data/bytes" wrote await=on \
    write="$data/bytes" await=end </dev/null
running 8
beside 4 8
follow tool "$h2" pull pulled all both bytes $((early + 100000)) hold "$dir/never"
ok "a tool pulls" has_said tool 'pull: PMIX_SUCCESS'
make_file go
ok "it gets something" has_said tool got
on_host "$h2" pkill -KILL -x io_tool
over tool 2>/dev/null
make_file on
for channel in out err; do
    whole=$(size_of "$data"/early.$channel.* "$data"/bytes.$channel.* "$data"/bytes.$channel.*)
    until_true 30 eval '(($(size_of "$dir/$channel") >= whole))'
    is "srun has all of a job whose tool was killed: $channel" "$(size_of "$dir/$channel")" "$whole"
done
end
is "and it ends as ever" "$code" 0
as_soon "as soon"

# Ranks 2 and 6 are on the third host, whose daemon has a tool when they have ended.
start outlived -N4 -n8 --ntasks-per-node=2 -m cyclic "$task" write="$data/early" there await=go.%t write="$data/bytes" </dev/null
running 8
follow tool "$h3" pull pulled all both bytes "$early" ends 16
ok "a tool pulls on another host" has_said tool got
for rank in 2 6; do make_file "go.$rank"; done
ok "the tasks of its host end" until_true 20 eval '(($(on_host "$h3" pgrep -c -x task) == 0))'
for rank in 0 1 3 4 5 7; do make_file "go.$rank"; done
end
ok "it gets the ends of all the others" has_said tool ended
ok "and every byte" same pulled early bytes
on_host "$h3" pkill -KILL -x io_tool
over tool

# More than all that is on the way to a tool, whose rule says what of it is dropped: the oldest of what waits, a quarter of
# it at once, or what has no room, so that of the newest a last small piece may have some.
python3 -c 'for i in range(40000): print(f"{i:08} " + "x" * 90)' >"$data/counted.out.0"
: >"$data/counted.err.0"
for rule in oldest newest; do
    start "$rule" -N1 -n1 "$task" write="$data/early" there await=go write="$data/counted" await=end </dev/null
    running 1
    follow tool "$h1" with cache=262144 with "$rule" stop "$dir/on" pull pulled all out hold "$dir/on" ends 1
    ok "$rule: a tool pulls, and does not read" has_said tool held
    make_file go
    ok "$rule: the job writes on" until_true 60 srun_has "$(size_of "$data/early.out.0" "$data/counted.out.0")"
    make_file on
    end
    ok "$rule: the tool hears the end" has_said tool ended
    over tool
    had=$(size_of "$dir/pulled/0.out")
    diag "it has $had bytes of $(size_of "$dir/out")"
    ok "$rule: and has not all" test "$had" -lt "$(size_of "$dir/out")"
    last=$(grep -cE '^0003(8[5-9]|9)' "$dir/pulled/0.out")
    if [[ $rule == oldest ]]; then
        is "what came last it has" "$last" 1500
    else
        ok "what came last it has not, but for some" test "$last" -lt 1000
        ok "and what came first" grep -q ^00000000 "$dir/pulled/0.out"
    fi
done

# Two that do not read and a third one that does, each with a rule of its own for what it does not take in time. It must
# have all, so there is room for that should it be halted itself for a moment.
configure "${capture[@]}" 'cache = "64MiB"'
start rules -N1 -n1 "$task" write="$data/early" there await=go write="$data/counted" await=end </dev/null
running 1
follow old "$h1" with cache=262144 with oldest stop "$dir/on" pull old all out hold "$dir/on" ends 1
ok "one that wants the newest pulls, and does not read" has_said old held
follow new "$h1" with cache=262144 with newest stop "$dir/on" pull new all out hold "$dir/on" ends 1
ok "nor does one that wants the oldest" has_said new held
follow third "$h1" pull third all out bytes "$(size_of "$data/counted.out.0")" ends 1
ok "a third one is beside them" has_said third 'pull: PMIX_SUCCESS'
make_file go
ok "which reads, and has all" has_said third got
make_file on
end
for name in old new third; do
    ok "$name hears the end" has_said "$name" ended
    over "$name"
done
ok "byte for byte, though it came last" cmp "$dir/third/0.out" "$data/counted.out.0"
for name in old new; do
    ok "$name has not all" test "$(size_of "$dir/$name/0.out")" -lt "$(size_of "$data/counted.out.0")"
done
is "who wants the newest has what came last" "$(grep -cE '^0003(8[89]|9)' "$dir/old/0.out")" 1200
ok "and who wants the oldest has not, but for some" test "$(grep -cE '^0003(8[89]|9)' "$dir/new/0.out")" -lt 1000
ok "but what came first" grep -q 00000000 "$dir/new/0.out"
configure "${capture[@]}"

start printed -N2 -n2 "$task" there await=go lines=words await=end </dev/null
running 2
follow tool "$h1" print all out hold "$dir/end"
ok "a tool has no callback" has_said tool held
formats=(tag rank timestamp xml "file=$dir/filed")
for each in "${formats[@]}"; do
    follow "${each%%=*}" "$h1" as "$each" print all out hold "$dir/end"
    ok "nor has one that wants: ${each%%=*}" has_said "${each%%=*}" held
done
make_file go
ok "its library prints what comes" until_true 20 eval '(($(grep -c "^words [01] " "$dir/tool.said") == 100))'
prints() { (($(grep -Ec "$2" "$dir/$1.said") == 100)); } # NAME LINE
marks() { ok "as it was told: $1" until_true "$(patience "as it was told: $1" 20)" prints "$@"; }
marks tag "^\[$nspace,[01]\]<stdout>: *words"
marks rank "^\[?[01]\]?<stdout>: *words"
marks timestamp '^[^<]*[0-9]:[0-9][^<]*<stdout>: *words'
marks xml '^<stdout [^>]*rank="[01]"[^>]*>words'
filed() { (($(cat "$dir"/filed* 2>/dev/null | grep -c '^words [01] ') == 100)); }
ok "as it was told: file" until_true "$(patience "as it was told: file" 20)" filed
end
over tool
for each in "${formats[@]}"; do over "${each%%=*}"; done

# --- redirected --------------------------------------------------------------------------------------

count() { cat "${@:2}" | grep -c "^$1 "; } # TAG FILE ...
lines_of() { cat "${@:2}" | grep "^$1 " | sort -u | wc -l; }
stage() { # NAME: of the tasks
    make_file "$1"
    until_true 20 eval '(($(find "$dir" -name "wrote.*" | wc -l) == 4))'
    rm -f "$dir"/wrote.*
}
words_size() { for rank in 0 1 2 3; do for ((i = 0; i < 50; i++)); do echo "$1 $rank $i"; done; done | wc -c; }
early4=$(size_of "$data"/early.{out,err}.[0-3])
start redirect -N4 -n4 "$task" write="$data/early" there await=go1 lines=taken wrote await=go2 lines=dropped wrote \
    await=go3 lines=again wrote await=go4 lines=left wrote await=end </dev/null
running 4
follow tool "$h1" with redirect pull pulled all both bytes "$early4" bytes $((early4 + $(words_size taken))) \
    hold "$dir/drop" drop hold "$dir/leave"
ok "a tool takes the output over" has_said tool got
ok "the tasks write" stage go1
ok "the tool has it" has_said tool held
is "all of it" "$(count taken "$dir"/pulled/*.out)" 200
is "and srun has nothing" "$(count taken "$dir/out")" 0
make_file drop
ok "it drops it" has_said tool 'drop: '
like "well" "$(tail -n 20 "$dir/tool.said")" 'drop: PMIX_SUCCESS'
ok "the tasks write again" stage go2
make_file leave
over tool
until_true 30 eval '(($(lines_of dropped "$dir"/pulled/*.out "$dir/out") == 200))'
is "and srun has it again: no line is lost" "$(lines_of dropped "$dir"/pulled/*.out "$dir/out")" 200
follow again "$h3" with redirect pull again all out bytes 1 hold "$dir/leave2"
ok "another takes it over" has_said again held
stage go3
ok "and has it" until_true 20 eval '(($(count again "$dir"/again/*.out) == 200))'
make_file leave2
over again
stage go4
until_true 5 eval '(($(count left "$dir"/again/*.out "$dir/out") >= 200))'
is "when it has gone no line is lost" "$(lines_of left "$dir"/again/*.out "$dir/out")" 200
end
is "that job ends as ever" "$code" 0

# --- in larger pieces --------------------------------------------------------------------------------

pieces() { sed -n 's/^pieces //p' "$dir/$1.said"; } # NAME
start buffered -N2 -n2 "$task" there await=go1 steps=one wrote await=go2 steps=two wrote await=go3 steps=three await=end </dev/null
running 2
pair() { # STAGE
    make_file "$1"
    until_true 20 eval '(($(find "$dir" -name "wrote.*" | wc -l) == 2))'
    rm -f "$dir"/wrote.*
}
follow plain "$h1" pull plain all out hold "$dir/on" bytes 20000 pieces
has_said plain held
ok "two tasks write line by line" pair go1
make_file on
ok "a tool has it" has_said plain pieces
over plain
# What is held longer than a second is there though nothing follows.
follow timed "$h1" with size=100000 with required with time=1 with required pull timed all out hold "$dir/on2" bytes 40000 \
    pieces hold "$dir/leave"
has_said timed held
ok "they write again" pair go2
make_file on2
ok "one that wants it within a second has it, with what was before" has_said timed pieces
make_file leave
over timed
follow large "$h2" with size=4096 with required with time=3600 with required pull large all out bytes 32768 pieces ends 2 pieces
has_said large pieces
make_file go3
end
ok "the end of a stream is the end of waiting" has_said large ended
over large
diag "pieces: $(pieces plain) line by line, $(pieces timed | xargs) within a second, $(pieces large | xargs) of 4096 bytes"
ok "few and large ones" eval '(($(pieces large | tail -n 1) <= 2 * 3))'
ok "and without buffering many small ones" eval '(($(pieces plain) >= 5 * 2 * 3))'
ok "within a second: few" eval '(($(pieces timed) * 4 < $(pieces plain)))'
for rank in 0 1; do
    ok "byte for byte, of rank $rank" cmp <(tail -c 10000 "$dir/large/$rank.out") <(grep "^three $rank " "$dir/out")
done

start held -N2 -n2 "$task" write="$data/early" there await=go lines=words wrote await=end </dev/null
running 2
both=$(size_of "$data"/early.out.[01])
follow tool "$h1" with redirect with required with size=100000 with time=3600 pull pulled all out bytes "$both" \
    hold "$dir/drop" drop hold "$dir/leave"
has_said tool held
ok "what is taken over is held" pair go
is "so nobody has it" "$(size_of "$dir/out") $(size_of "$dir"/pulled/*)" "$both $both"
make_file drop
ok "who took it over drops it" has_said tool 'drop: PMIX_SUCCESS'
ok "and srun has it, for libpmix lets the tool have no more" until_true 20 srun_has $((both + 1080))
make_file leave
over tool
end

# Of two pulls each takes over what it names, and nothing else.
start apart -N2 -n2 "$task" there await=go write="$data/early" wrote await=end </dev/null
running 2
follow tool "$h1" with redirect with required pull pulled 0 out pull pulled 1 err hold "$dir/leave"
has_said tool held
ok "one channel of each of two processes is taken over" pair go
ok "the tool has these" until_true 20 \
    eval 'cmp -s "$dir/pulled/0.out" "$data/early.out.0" && cmp -s "$dir/pulled/1.err" "$data/early.err.1"'
ok "and srun the others" until_true 20 eval 'cmp -s "$dir/out" "$data/early.out.1" && cmp -s "$dir/err" "$data/early.err.0"'
make_file leave
over tool
end

# More than is kept for one that has taken it over, and does not read: of a process of its own host, and of another one.
# shared WHOLE TOOL SRUN: each byte is either with the tool or with srun, and what srun has is in order; pieces may end
# within lines.
shared() {
    python3 - "$@" <<'SHARED'
import sys
whole, tool, srun = (open(name, "rb").read() for name in sys.argv[1:])
known = set(whole.split(b"\n"))
of_tool, of_srun = ([line for line in text.split(b"\n") if len(line) == 99 and line in known] for text in (tool, srun))
left = known - set(of_tool) - set(of_srun)
print(f"# {len(of_tool)} lines are with the tool, {len(of_srun)} with srun, {len(left)} with neither as a whole")
sys.exit(not (len(tool) + len(srun) == len(whole) and len(left) < 10 and not set(of_tool) & set(of_srun)
              and of_srun and of_srun == sorted(of_srun)))
SHARED
}
for writer in 0 1; do
    touch "$data/numbered$writer".{out,err}.{0,1}
    python3 -c 'for i in range(40000): print(f"{i:08} " + "x" * 90)' >"$data/numbered$writer.out.$writer"
    start "overflow$writer" -N2 -n2 "$task" there await=go write="$data/numbered$writer" wrote await=end </dev/null
    running 2
    follow tool "$h1" with redirect with required stop "$dir/on" pull pulled all out hold "$dir/on" missed 4000000 \
        hold "$dir/leave"
    ok "overflow of rank $writer: a tool takes it over, and does not read" has_said tool held
    make_file go
    ok "overflow of rank $writer: the job does not wait" until_true 60 eval '(($(find "$dir" -name "wrote.*" | wc -l) == 2))'
    make_file on
    ok "overflow of rank $writer: it hears that it has missed some" has_said tool missed
    ok "overflow of rank $writer: while the job runs" kill -0 "$job_pid"
    make_file leave
    over tool
    end
    is "overflow of rank $writer: srun has as much" "$(size_of "$dir/out")" "$(said_number tool missed)"
    ok "overflow of rank $writer: no line is lost" \
        shared "$data/numbered$writer.out.$writer" "$dir/pulled/$writer.out" "$dir/out"
done

start marks -N1 -n1 -w "$h1" "$task" there await=go write="$data/early" wrote await=end </dev/null
running 1
follow tool "$h1" with tag pull pulled all out bytes "$(size_of "$data/early.out.0")" hold "$dir/leave"
ok "a pull wishes for marks" has_said tool 'pull: PMIX_SUCCESS'
make_file go
ok "it gets all" has_said tool held
ok "and marked" eval '(($(size_of "$dir/pulled/0.out") > $(size_of "$data/early.out.0")))'
make_file leave
over tool
end

# --- a job that closes its output, and one of many processes -------------------------------------------

start closes -N2 -n2 "$task" there await=go write="$data/early" closes wrote await=end </dev/null
running 2
follow tool "$h1" pull pulled all both ends 4 hold "$dir/leave"
has_said tool 'pull: PMIX_SUCCESS'
ok "two processes write, close their output and go on" pair go
ok "their streams have ended" has_said tool 'ended 4'
both_are_same() { local ranks=(0 1); same pulled early; }
ok "behind all that they wrote" both_are_same
ok "while they run" kill -0 "$job_pid"
make_file leave
over tool
end
is "and they end as ever" "$code" 0

start many -N4 -n64 --ntasks-per-node=16 "$task" there await=go lines=many wrote await=end </dev/null
running 64
follow tool "$h1" pull pulled all out hold "$dir/leave"
has_said tool held
make_file go
lines_in() { sort -u "$@" | grep -c '^many '; } # FILE ...
ok "64 processes print at once, and srun has all" until_true 30 eval '(($(lines_in "$dir/out") == 3200))'
is "once" "$(grep -c '^many ' "$dir/out")" 3200
ok "so has the tool" until_true 30 eval '(($(lines_in "$dir"/pulled/*.out) == 3200))'
in_order() {
    local rank i
    for rank in {0..63}; do
        cmp "$dir/pulled/$rank.out" <(for i in {0..49}; do echo "many $rank $i"; done) || return 1
    done
}
ok "each one's lines in their order" in_order
make_file leave
over tool
end
is "that job ends as ever, too" "$code" 0

# --- a tool that does not read -----------------------------------------------------------------------

begin=$SECONDS
start stopped -N4 -n4 "$task" there await=go much=15000000 wrote await=end </dev/null
running 4
follow tool "$h1" stop "$dir/on" pull pulled all out hold "$dir/leave"
ok "a tool does not read" has_said tool held
begin=$SECONDS before=$(largest_daemon "$h1" "$h2" "$h3" "$h4")
make_file go
ok "the job writes all the same" until_true 60 eval '(($(find "$dir" -name "wrote.*" | wc -l) == 4))'
diag "60 MB took $((SECONDS - begin)) s"
most=$(largest_daemon "$h1" "$h2" "$h3" "$h4")
diag "the largest daemon had $most KiB, $before before"
ok "no daemon grew" eval '((before > 1000 && most < before + 16384))'
make_file on
ok "srun has all" until_true 30 srun_has 60000000
ok "the log has how much the tool misses" until_true 30 \
    grep -q 'too slow for the output of rank .* bytes of job .* are missing' "$log"
make_file leave
over tool
end
is "the job with such a tool ends as ever" "$code" 0

# One alone, for which nothing more comes that could say what it has missed.
start silent -N2 -n2 "$task" there await=go much=5000000 wrote await=end </dev/null
running 2
follow tool "$h1" stop "$dir/on" pull pulled all out hold "$dir/on" missed 10000000 hold "$dir/leave"
ok "a tool does not read, and is alone" has_said tool held
make_file go
ok "a job writes much, and then nothing more" until_true 60 eval '(($(find "$dir" -name "wrote.*" | wc -l) == 2))'
ok "which srun has" until_true 30 srun_has 10000000
make_file on
ok "when the tool reads it hears what it has missed" has_said tool missed
ok "while the silent job runs" kill -0 "$job_pid"
is "and how much" "$(($(said_number tool missed) + $(size_of "$dir"/pulled/*.out)))" 10000000
make_file leave
over tool
end

# One that does not read, beside others that do: they have all, and so has it when it reads, since io.cache has room for
# what was kept for it.
configure "${capture[@]}" 'cache = "64MiB"'
start beside -N4 -n4 "$task" there await=go much=3000000 await=more lines=more await=end </dev/null
running 4
follow halted "$h1" stop "$dir/on" pull halted all out hold "$dir/leave" missed 12000000 make "$dir/more" ends 4
ok "a tool does not read" has_said halted held
follow copy "$h1" pull copy all out bytes 12000000 hold "$dir/leave" ends 4
follow part "$h1" pull part 1,3 out bytes 6000000 hold "$dir/leave" ends 2
ok "two others are here" eval 'has_said copy pull && has_said part pull'
make_file go
ok "one beside it has all" has_said copy 'got 12000000'
ok "and one that wants less" has_said part 'got 6000000'
make_file on
make_file leave
ok "when it reads it has what was kept for it" eval 'has_said halted missed && (($(said_number halted missed) == 0))'
ok "what came is what was written" until_true 30 \
    eval '(($(size_of "$dir/out") > 12000000 && $(size_of "$dir"/copy/*.out) == $(size_of "$dir/out")))'
make_file end
for name in halted copy part; do
    over "$name"
    ok "$name has the ends" said "$name" ended
done
is "and all" "$(size_of "$dir"/halted/*.out)" "$(size_of "$dir"/copy/*.out)"
written_since() { for ((i = 0; i < 50; i++)); do echo "more $1 $i"; done | sum; } # RANK
# What was written before ends within a line.
is "and what was written since" "$(tail -n 50 "$dir/halted/2.out" | sed '1s/^0*more/more/' | sum)" "$(written_since 2)"
is "as the others" "$(tail -n 50 "$dir/part/3.out" | sum)" "$(written_since 3)"
end
is "that job ends as ever, too" "$code" 0
configure "${capture[@]}"

stopped_and_killed 16384

# a tool that never reads again
start deaf -N4 -n4 "$task" there await=go much=3000000 await=end </dev/null
running 4
beside 4 4
follow tool "$h1" stop "$dir/on" pull pulled all out hold "$dir/leave"
has_said tool held
make_file go
ok "srun has all of a job with a tool that never reads" until_true 30 srun_has 12000000
end
is "that job ends" "$code" 0
as_soon "in time"
make_file on
make_file leave
over tool

# --- input -------------------------------------------------------------------------------------------

mkfifo -m 666 "$test_dir/typed"
exec 9<>"$test_dir/typed"
has() { [[ $(cat "$dir/read.$1") == "$2" ]]; } # RANK TEXT
start input -N4 -n4 -m cyclic "$task" there read await=leave.%t await=end <"$test_dir/typed"
running 4
tool_says=$(tool "$h2" push 0,3 one push all two push 0,3 three close 3)
is "a tool pushes" "$tool_says" "push: PMIX_SUCCESS
push: PMIX_SUCCESS
push: PMIX_SUCCESS
close: PMIX_SUCCESS
finalize: PMIX_SUCCESS"
ok "two ranks have all, in order" until_true 20 has 0 $'one\ntwo\nthree'
ok "and the other one" until_true 20 has 3 $'one\ntwo\nthree'
ok "the rest have what was for all" until_true 20 has 1 two
ok "a closed input ends" until_true 20 eval '[[ -e $dir/ended.3 ]]'
is "no other" "$(cd "$dir" && echo ended.*)" ended.3
is "then it takes nothing more" "$(tool "$h1" push 3 more | head -n 1)" "push: PMIX_ERR_IOF_COMPLETE"
make_file leave.3
make_file end
ok "until its task, the last one of its host, ends" until_true 20 eval '[[ -z $(on_host "$h4" pgrep -x pmixhostd) ]]'
is "nor then" "$(tool "$h1" push 3 more | head -n 1)" "push: PMIX_ERR_IOF_COMPLETE"
is "a rank that is not there" "$(tool "$h1" push 99 more | head -n 1)" "push: PMIX_ERR_NOT_FOUND"
echo typed >&9
ok "what srun's user types still comes" until_true 20 has 0 $'one\ntwo\nthree\ntyped'
ok "to all" until_true 20 has 2 $'two\ntyped'
exec 9>&-
for rank in 0 1 2; do make_file "leave.$rank"; done
end
is "and ends, and with it the job" "$code $(cd "$dir" && echo ended.*)" "0 ended.0 ended.1 ended.2 ended.3"

exec 9<>"$test_dir/typed"
start fed -N2 -n2 "$task" there slowly <"$test_dir/typed"
running 2
is "three megabytes for a slow reader" "$(tool "$h1" feed 1 3000000 close 1)" "feed: PMIX_SUCCESS
close: PMIX_SUCCESS
finalize: PMIX_SUCCESS"
ok "end" until_true 20 eval '[[ -e $dir/ended.1 ]]'
is "whole" "$(cksum <"$dir/read.1")" "$(python3 -c 'import sys
block = bytes(97 + i % 26 for i in range(65536))
sys.stdout.buffer.write((block * 46)[:3000000 // 65536 * 65536] + block[:3000000 % 65536])' | cksum)"
exec 9>&-
end
is "the other rank has none of it" "$(size_of "$dir/read.0")" 0

exec 9<>"$test_dir/typed"
start floods -N2 -n2 "$task" there await=go.%t read <"$test_dir/typed"
running 2
make_file go.0
before=$(largest_daemon "$h1" "$h2")
follow flood "$h1" flood 1 48000000 make "$dir/refused" hold "$dir/leave" flooded
ok "who pushes to a process that does not read is refused in the end" has_said flood 'flood: PMIX_ERR_OUT_OF_RESOURCE'
is "whoever pushes to another one is not" "$(tool "$h2" push 0 words | head -n 1)" "push: PMIX_SUCCESS"
ok "who has it" until_true 20 has 0 words
most=$(largest_daemon "$h1" "$h2")
diag "the largest daemon had $most KiB, $before before"
ok "no daemon holds what is pushed" eval '((before > 1000 && most < before + 24576))'
make_file go.1
make_file leave
ok "what was taken is told when the process reads" has_said flood 'flooded: [1-9]'
over flood
taken=$(sed -n 's/^flooded: //p' "$dir/flood.said")
exec 9>&-
end
is "and that it has got" "$(size_of "$dir/read.1")" "$taken"

start nothing -N2 -n2 "$task" there await=end </dev/null
running 2
ok "without an input of srun's nothing is taken" until_true 10 eval \
    '[[ $(tool "$h2" push 1 words | head -n 1) == "push: PMIX_ERR_IOF_COMPLETE" ]]'
# Faults of libpmix (decisions/libpmix.md), as they are.
waits_in_vain="a push without a callback comes back"
is "$waits_in_vain" "$(at "$h2" timeout "$(patience "$waits_in_vain" 20)" "$clients/tool" nspace "$nspace" push "$nspace" | head -n 1)" \
    "push: PMIX_ERR_IOF_COMPLETE"
waits_in_vain="so does the end of a pull"
is "$waits_in_vain" "$(CLIENT_LIMIT=$(patience "$waits_in_vain" 20) tool "$h2" pull pulled all out drop_waiting | sed -n 2p)" \
    "drop_waiting: PMIX_SUCCESS"
is "as a required wish that is not known" "$(tool "$h1" with unknown with required pull pulled all out | head -n 1)" \
    "pull: PMIX_ERR_NOT_SUPPORTED"
is "and as required buffering of more than there is" \
    "$(tool "$h1" with size=200000 with required pull pulled all out | head -n 1)" "pull: PMIX_ERR_NOT_SUPPORTED"
is "a copy may be required" "$(tool "$h1" with copy with required pull pulled all out | head -n 1)" 'pull: PMIX_SUCCESS'
is "as one for more to be kept than the site allows" \
    "$(tool "$h1" with cache=2000000000 with required pull pulled all out | head -n 1)" 'pull: PMIX_ERR_NOT_SUPPORTED'
is "and one for a form that libpmix gives no pull" "$(tool "$h1" with tag with required pull pulled all out | head -n 1)" \
    'pull: PMIX_ERR_NOT_SUPPORTED'
is "such wishes that need not be met do no harm" \
    "$(tool "$h1" with cache=2000000000 with newest with oldest with tag pull pulled all out | head -n 1)" 'pull: PMIX_SUCCESS'
is "one that is not required does no harm" "$(tool "$h1" with unknown pull pulled all out | head -n 1)" \
    "pull: PMIX_SUCCESS"
is "a rank that is not there cannot be pulled" "$(tool "$h1" pull pulled 99 out | head -n 1)" "pull: PMIX_ERR_NOT_FOUND"
is "nor another job" "$(tool "$h1" of slurm.999999.0 pull pulled all out | grep '^pull')" "pull: PMIX_ERR_NOT_FOUND"
is "nor its input reached" "$(tool "$h1" of slurm.999999.0 push 0 words | grep '^push')" "push: PMIX_ERR_NOT_FOUND"
end

# --- who may -----------------------------------------------------------------------------------------

configure
start without -N2 -n2 "$task" there await=end </dev/null
running 2
is "without io.capture there is a copy (66-copy) and no input" \
    "$(tool "$h1" pull pulled all out push 0 words | head -n 2)" "pull: PMIX_SUCCESS
push: PMIX_ERR_NOT_SUPPORTED"
end
exec 9<>"$test_dir/typed"
PMIXHOST_IO_CAPTURE=on start variable -N2 -n2 "$task" there read <"$test_dir/typed"
running 2
is "a user may turn it on" "$(tool "$h1" pull pulled all out push 0 words | head -n 2)" "pull: PMIX_SUCCESS
push: PMIX_SUCCESS"
ok "for all hosts" until_true 20 has 0 words
exec 9>&-
end

# under NAME ACTIONS: what a tool on the login host may
under() {
    configure "${capture[@]}" '[tools]' "policy = [\"allow $2 by anyone to jobs of themselves from 10.99.0.0/16\"]"
    exec 9<>"$test_dir/typed"
    start "$1" -N2 -n2 "$task" write="$data/early" there read <"$test_dir/typed"
    running 2
    desk_says=$(at head "$pmixhost" with "$job" -- "$clients/io_tool" "$nspace" "${@:3}")
}
under looks observe pull pulled all out push 0 words
is "who may look may not read nor write" "$(head -n 2 <<<"$desk_says")" "pull: PMIX_ERR_NO_PERMISSIONS
push: PMIX_ERR_NO_PERMISSIONS"
exec 9>&-
end
both=$(size_of "$data"/early.out.[01])
under allowed "observe, output, input" pull pulled all out bytes "$both" push 0 words
is "who may do both does both" "$desk_says" "pull: PMIX_SUCCESS
got $both
push: PMIX_SUCCESS
finalize: PMIX_SUCCESS"
ok "through a desk" until_true 20 has 0 words
ok "byte for byte" cmp "$dir/pulled/1.out" "$data/early.out.1"
exec 9>&-
end

# --- what cannot be had --------------------------------------------------------------------------------

configure "${capture[@]}"
# What a killed daemon leaves in /tmp the next one of its host removes.
start lost --no-kill --kill-on-bad-exit=0 -N3 -n6 --ntasks-per-node=2 "$task" write="$data/early" there await=end </dev/null
running 6
follow tool "$h1" listen pull pulled 0,2,3 err bytes "$(size_of "$data"/early.err.[023])" hold "$dir/leave" failure
ok "a tool pulls from three hosts" has_said tool got
# This is one number, for there must be no doubt about what is killed.
server=$(on_host "$h2" ps -o pid=,ppid= -C pmixhostd | awk '{p[$1]=$2} END {for (i in p) if (p[i] in p) print i}')
[[ $server =~ ^[0-9]+$ ]] && on_host "$h2" kill -KILL "$server"
make_file leave
ok "a host is lost: it hears whose output, and which, does not come" has_said tool 'failure: 2,3 err$'
over tool
end

configure "${capture[@]}" '[tools]' 'policy = ["allow observe by anyone to jobs of themselves from 10.99.0.0/16"]'
start refused -N2 -n2 "$task" there await=go lines=words await=end </dev/null
running 2
follow tool "$h1" pull pulled all both hold "$dir/other.is.here" bytes 1080 hold "$dir/leave"
ok "one may pull" has_said tool held
at head "$pmixhost" with "$job" -- "$clients/io_tool" "$nspace" pull other all both hold "$dir/seen" >"$dir/other.said" &
other=$!
ok "another may not" has_said other 'pull: PMIX_ERR_NO_PERMISSIONS'
ok "and stays" has_said other held
is "others may while it is here" "$(tool "$h1" pull third 1 out | head -n 1)" "pull: PMIX_SUCCESS"
make_file go
make_file other.is.here
ok "the first one has what is written" has_said tool 'got 1080'
make_file seen
wait "$other"
is "and the other one nothing" "$(ls "$dir/other")" ""
ok "and when it has gone" until_true 20 eval \
    '[[ $(tool "$h1" pull again 1 out | head -n 1) == "pull: PMIX_SUCCESS" ]]'
make_file leave
over tool
end

configure
is "no tool is left" "$(for host in head "$h1" "$h2" "$h3" "$h4"; do on_host "$host" pgrep -x io_tool; done)" ""
ok "nothing is left" no_litter 30
done_testing
