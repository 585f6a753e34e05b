#!/bin/bash
# Jobs that are spawned with their streams forwarded (PMIX_FWD_STDIN, PMIX_FWD_STDOUT, PMIX_FWD_STDERR): whoever spawned
# them has what they write, byte for byte, and nobody else; and writes to their standard input.
. "$(dirname "$0")/../common/words.sh"

h1=$(host_name 1) h2=$(host_name 2) log=$test_dir/daemons.log
configure_logged
chmod 1777 "$test_dir"
python3 - "$test_dir" <<'MAKE'
import random, sys
some = random.Random(66)
for rank in range(4):
    for channel in ("out", "err"):
        lines = "".join(f"{channel} {rank} {i:05} {'x' * some.randrange(120)}\n" for i in range(2700))
        open(f"{sys.argv[1]}/{channel}.{rank}", "w").write(lines)
open(f"{sys.argv[1]}/bytes", "wb").write(some.randbytes(300_000) + b"no end of line")
MAKE
chmod a+r "$test_dir"/*
exec 9>"$test_dir/host.out"
(cd "$test_dir" && exec timeout -k 5 500 "${on_cluster[@]}" --user pmixuser1 -- srun "$mpi" -N3 -n3 -c3 sh -c \
    ": >up.\$SLURM_PROCID; until [ -e $test_dir/over ]; do sleep 0.1; done") >"$test_dir/host.out" 2>"$test_dir/host.err" </dev/null 9>&- &
host_pid=$!
# The jobs whose tool goes while they may still have to write have PMIX_NOHUP (n), or they would end with it.
until_true 40 eval '(($(ls "$test_dir"/up.* 2>/dev/null | wc -l) == 3))'
job=$(as_user root squeue -h -u pmixuser1 -o %i)
nspace=slurm.$job.0
# tool HOST WORD ...: what it prints in tool.out and tool.err; sets $code
tool() {
    code=0
    (cd "$test_dir" && timeout -k 5 90 "${on_cluster[@]}" --user pmixuser1 --host "$1" -- "$clients/io_tool" "$nspace" "${@:2}") \
        >"$test_dir/tool.out" 2>"$test_dir/tool.err" </dev/null || code=$?
}
said() { grep -a "^$1: " "$test_dir/tool.out"; }
# other HOST NS WORD ...: another one beside it
other() {
    (cd "$test_dir" && exec timeout -k 5 90 "${on_cluster[@]}" --user pmixuser1 --host "$1" -- "$clients/io_tool" "${@:2}") 2>&1 </dev/null
}
children() { as_user root squeue -h -s -u pmixuser1 -o "%i $1" | grep -v '\.0 ' | sort -t . -k 2n | tail -n 1 | cut -d ' ' -f 2; } # FORMAT
both='cat out.$SLURM_PROCID; cat err.$SLURM_PROCID >&2'

# ------------------------------------------------------------------------------------------------- output

tool "$h2" spawn 4 oe "until [ -e begin ]; do sleep 0.05; done; $both" pull pulled all both make begin ends 8
is "the spawn, and a pull from there" "$(said spawn) $(said pull)" "spawn: PMIX_SUCCESS pull: PMIX_SUCCESS"
for rank in 0 1 2 3; do
    ok "what rank $rank writes comes to who spawned it" cmp "$test_dir/pulled/$rank.out" "$test_dir/out.$rank"
    ok "on the other stream as well, rank $rank" cmp "$test_dir/pulled/$rank.err" "$test_dir/err.$rank"
done
# libpmix 4.2.2 prints a piece of a line on the other stream now and then (decisions/libpmix.md).
is "libpmix prints all of it" "$(cat "$test_dir/tool.out" "$test_dir/tool.err" | tr -dc x | wc -c)" \
    "$(cat "$test_dir"/out.? "$test_dir"/err.? | tr -dc x | wc -c)"
is "srun's terminal has nothing of it" "$(cat "$test_dir/host.out" "$test_dir/host.err")" ""

tool "$h1" spawn 1 on "until [ -e pull ]; do sleep 0.05; done; cat bytes; echo error >&2" pull bytes.d all err pull bytes.d all out make pull ends 1
is "what is not forwarded cannot be pulled" "$(said pull)" $'pull: PMIX_ERR_NOT_SUPPORTED\npull: PMIX_SUCCESS'
ok "any bytes, and their end" cmp "$test_dir/bytes.d/0.out" "$test_dir/bytes"
ok "the stream that was not asked for is srun's" until_true 20 grep -q '^error' "$test_dir/host.err"
is "and not the tool's" "$(grep -c '^error' "$test_dir/tool.err")" 0
tool "$h1" spawn 2 n "echo plain; until [ -e seen ]; do sleep 0.05; done" pull none all out push all text
ok "without a word all is srun's" until_true 20 eval '(($(grep -c "^plain" "$test_dir/host.out") == 2))' ||
    diag "$(cat "$test_dir/host.out" "$test_dir/host.err" "$test_dir/tool.out" "$test_dir/tool.err")"
touch "$test_dir/seen"
is "there is nothing to pull or to push" "$(said pull) $(said push)" "pull: PMIX_ERR_NOT_SUPPORTED push: PMIX_ERR_NOT_SUPPORTED"
tool "$h1" spawn 2 in 'cat >/dev/null; : >end.of.$SLURM_PROCID'
input_has_ended() { [[ -e $test_dir/end.of.0 && -e $test_dir/end.of.1 ]]; }
ok "whose input was forwarded from a tool reads its end when that has gone" until_true 30 input_has_ended

: >"$test_dir/tool.out"
tool "$h2" spawn 2 oetg "until [ -e marks ]; do sleep 0.05; done; echo marked; echo error >&2" make marks hold "$test_dir/marked" &
marker=$!
# marked TEXT CHANNEL FILE: each process' line has one mark, "[TIME][NAMESPACE,RANK]<CHANNEL>: ".
marked() { (($(grep -Ec "^[^<]*[0-9]:[0-9][^<]*[^<]*,[01]\\]<$2>: $1\$" "$test_dir/$3") == 2)); }
twice='PMIx library (5\.0\.([4-9]|10)|6\.0\.[0-9]+) '
if [[ $("$PMIXHOST_BUILD/tools/pmixhost" version) =~ $twice ]]; then
    like "libpmix would mark what the tool prints twice: that is refused" "$(until_true 30 said spawn && said spawn)" \
        "spawn: PMIX_ERR_NOT_SUPPORTED"
    skip "the tool's library marks what it prints with time and source" "that library would do it twice"
    skip "and the other stream's as such" "that library would do it twice"
else
    ok "the tool's library marks what it prints with time and source" until_true 30 marked marked stdout tool.out
    ok "and the other stream's as such" until_true 30 marked error stderr tool.err
fi
diag "$(cat "$test_dir/tool.out" "$test_dir/tool.err")"
touch "$test_dir/marked"
wait "$marker"
# Each line is written by itself.
lines='until [ -e gather ]; do sleep 0.05; done; for i in $(seq 40); do echo line $i; sleep 0.02; done'
tool "$h2" spawn 2 o "$lines" pull scattered all out make gather ends 2 pieces
many=$(sed -n 's/^pieces //p' "$test_dir/tool.out")
rm "$test_dir/gather"
tool "$h2" spawn 2 ob "$lines" pull gathered all out make gather ends 2 pieces
few=$(sed -n 's/^pieces //p' "$test_dir/tool.out")
ok "what is spawned with PMIX_IOF_BUFFERING_SIZE comes in fewer pieces" eval '((few >= 2 && few <= 4 && many >= 20))'
diag "$many and $few pieces"
for rank in 0 1; do
    ok "and nothing of it is missing, rank $rank" cmp "$test_dir/gathered/$rank.out" <(seq -f 'line %g' 40)
done
tool "$h2" spawn 1 b true
is "required where nothing is forwarded it is refused" "$(said spawn)" "spawn: PMIX_ERR_NOT_SUPPORTED"
tool "$h2" spawn 2 oef "until [ -e files ]; do sleep 0.05; done; $both" pull filed all both make files ends 4
for rank in 0 1; do
    ok "what rank $rank writes is in its file" until_true 20 eval 'cmp -s "$test_dir"/kept.*.$rank.stdout "$test_dir/out.$rank"'
    ok "and on its other stream, rank $rank" until_true 20 eval 'cmp -s "$test_dir"/kept.*.$rank.stderr "$test_dir/err.$rank"'
    ok "and comes to the tool, rank $rank" cmp "$test_dir/filed/$rank.out" "$test_dir/out.$rank"
done

# A process of a job spawns, and the children's output is its own.
(cd "$test_dir" && timeout -k 5 90 "${on_cluster[@]}" --user pmixuser1 -- srun "$mpi" -N2 -n2 -c2 -J spawner sh -c \
    "$clients/spawn keep pull count=3 pmix.fwd.stdout=yes -- /bin/sh -c 'until [ -e listens ]; do sleep 0.05; done; echo child \$SLURM_PROCID' >spawner.\$SLURM_PROCID &
     until [ -e heard ]; do sleep 0.1; done; kill -KILL \$!") >"$test_dir/spawner.out" 2>&1 </dev/null &
spawner=$!
ok "a process pulls from its children" until_true 30 grep -q '^pulled' "$test_dir/spawner.0"
touch "$test_dir/listens"
ok "and has what they write" until_true 30 eval '(($(grep -c "^heard child" "$test_dir/spawner.0") == 3))'
touch "$test_dir/heard"
wait "$spawner"
is "and nowhere else" "$(cat "$test_dir"/spawner.1 "$test_dir/spawner.out" | grep -c "^child")" 0

# One that does not read, as under a debugger, has its children wait.
(cd "$test_dir" && timeout -k 5 90 "${on_cluster[@]}" --user pmixuser1 -- srun "$mpi" -N1 -n1 -c2 -w "$h1" -J stopped sh -c \
    "echo \$\$ >stopped.shell; $clients/spawn keep pull count=1 pmix.fwd.stdout=yes -- /bin/sh -c 'until [ -e stops ]; do sleep 0.05; done; head -c 40000000 /dev/zero | tr \"\\0\" Q; echo; : >unstopped; for i in \$(seq 30); do echo last; sleep 0.1; done' >stopped.0 &
     echo \$! >stopped.pid; until [ -e read ]; do sleep 0.1; done; kill -KILL \$!") >"$test_dir/stopped.out" 2>&1 </dev/null &
spawner=$!
ok "a process pulls from a child that will write much" until_true 30 grep -q '^pulled' "$test_dir/stopped.0"
on_host "$h1" kill -STOP "$(<"$test_dir/stopped.pid")"
touch "$test_dir/stops"
until_true 4 test -e "$test_dir/unstopped"
ok "it is stopped, and the child waits" test ! -e "$test_dir/unstopped"
largest=$(on_host "$h1" ps -u pmixuser1 -o rss=,comm= | awk '/pmixhostd/ && $1 > m { m = $1 } END { print m + 0 }')
ok "nor does its daemon grow" eval '((largest > 0 && largest < 60000))'
diag "$largest KiB"
on_host "$h1" kill -CONT "$(<"$test_dir/stopped.pid")"
ok "it reads, and the child goes on" until_true 60 test -e "$test_dir/unstopped"
ok "to the end" until_true 20 grep -aEq '^(heard )?last' "$test_dir/stopped.0"
diag "$(ls -l "$test_dir"/stopped* ; tail -c 100 "$test_dir/stopped.0"; cat "$test_dir/stopped.out")"
touch "$test_dir/read"
wait "$spawner"

# A tool that may look but not read: libpmix keeps what it has asked for, and must not serve it.
own_rules=$PMIXHOST_CLUSTER_DIR/home/pmixuser1/.config/pmixhost
as_user pmixuser1 mkdir -p "$own_rules"
as_user pmixuser1 sh -c "echo 'deny output by anyone to jobs of anyone from anywhere' >$own_rules/tools.policy"
(cd "$test_dir" && timeout -k 5 90 "${on_cluster[@]}" --user pmixuser1 -- srun "$mpi" -N1 -n1 -c2 -w "$h1" -J denied sh -c \
    "$clients/spawn keep pull count=2 pmix.fwd.stdout=yes -- /bin/sh -c 'until [ -e refused ]; do sleep 0.05; done; echo secret \$SLURM_PROCID' >denied.0 &
     until [ -e told ]; do sleep 0.1; done; kill -KILL \$!") >"$test_dir/denied.out" 2>&1 </dev/null &
spawner=$!
ok "a process pulls from its children there, too" until_true 30 grep -q '^pulled' "$test_dir/denied.0"
denied=$(as_user root squeue -h -n denied -o %i)
other "$h1" "slurm.$denied.0" of "slurm.$(children %i)" pull denied.d all out make refused hold "$test_dir/told" >"$test_dir/refused.out" &
refused=$!
ok "whose children's output a tool may not read" until_true 30 grep -q '^pull: PMIX_ERR_NO_PERMISSIONS' "$test_dir/refused.out"
ok "they write, and the process has it" until_true 30 eval '(($(grep -c "^heard secret" "$test_dir/denied.0") == 2))'
touch "$test_dir/told"
wait "$refused" "$spawner"
is "and the tool has nothing of it" "$(cat "$test_dir/refused.out" "$test_dir"/denied.d/*.out 2>/dev/null | grep -c secret)" 0
diag "$(cat "$test_dir/refused.out" "$test_dir/denied.out")"

# That rule is for tools: where such a one is here already, a process has what its children write all the same.
(cd "$test_dir" && timeout -k 5 90 "${on_cluster[@]}" --user pmixuser1 -- srun "$mpi" -N1 -n1 -c2 -w "$h1" -J watched sh -c \
    "until [ -e watched ]; do sleep 0.05; done
     $clients/spawn keep pull count=2 pmix.fwd.stdout=yes -- /bin/sh -c 'until [ -e pulls ]; do sleep 0.05; done; echo own \$SLURM_PROCID' >watched.0 &
     until [ -e own ]; do sleep 0.1; done; kill -KILL \$!") >"$test_dir/watched.out" 2>&1 </dev/null &
spawner=$! watched=
until_true 30 eval 'watched=$(as_user root squeue -h -t R -n watched -o %i); [[ -n $watched ]]'
until_true 30 eval '"${on_cluster[@]}" --user pmixuser1 --host "$h1" -- "$PMIXHOST_BUILD/tools/pmixhost" servers 2>/dev/null |
    grep -q "^slurm\.$watched\.0 "'
other "$h1" "slurm.$watched.0" make watched hold "$test_dir/own" >/dev/null &
beside=$!
ok "a process pulls from its children beside such a tool" until_true 30 grep -q '^pulled' "$test_dir/watched.0"
unlike "and is not refused" "$(cat "$test_dir/watched.0")" NO_PERMISSIONS
touch "$test_dir/pulls"
ok "it has what they write" until_true 30 eval '(($(grep -c "^heard own" "$test_dir/watched.0") == 2))'
touch "$test_dir/own"
wait "$beside" "$spawner"
diag "$(cat "$test_dir/watched.0" "$test_dir/watched.out")"
rm -r "$own_rules"

# --------------------------------------------------------------------------------------------------- input

tool "$h2" spawn 3 in 'cat >read.$SLURM_PROCID; : >ended.$SLURM_PROCID' push all 'for all' push 1 'for one' feed 2 500000 \
    close 1 push 1 late push 7 nobody close all
is "what is pushed, and what cannot be" "$(said push) $(said feed) $(said close)" \
    "push: PMIX_SUCCESS
push: PMIX_SUCCESS
push: PMIX_ERR_IOF_COMPLETE
push: PMIX_ERR_NOT_FOUND feed: PMIX_SUCCESS close: PMIX_SUCCESS
close: PMIX_SUCCESS"
ok "their input ends" until_true 20 eval '(($(ls "$test_dir"/ended.* | wc -l) == 3))'
is "rank 0 has read" "$(cat "$test_dir/read.0")" "for all"
is "rank 1 has read" "$(cat "$test_dir/read.1")" "for all
for one"
is "rank 2 has read so much" "$(wc -c <"$test_dir/read.2")" "$((500000 + 8))"

tool "$h2" spawn 3 i1n 'cat >only.$SLURM_PROCID; : >over.$SLURM_PROCID; until [ -e known ]; do sleep 0.05; done' push 1 'for one' push 0 other \
    close 1 make known
is "where the input is one's, nobody else is given any" "$(said push) $(said close)" "push: PMIX_SUCCESS
push: PMIX_ERR_NOT_SUPPORTED close: PMIX_SUCCESS"
ok "and theirs ends at once" until_true 20 eval '(($(ls "$test_dir"/over.* | wc -l) == 3))'
is "with nothing" "$(cat "$test_dir"/only.[02])" ""
is "it has its own" "$(cat "$test_dir/only.1")" "for one"
is "one that there will not be" "$(tool "$h2" spawn 3 i7 true >/dev/null; said spawn)" "spawn: PMIX_ERR_BAD_PARAM"

# ---------------------------------------------------------------------------------------- slow, and gone

tool "$h2" stop "$test_dir/reads" spawn 2 o "until [ -e slowly ]; do sleep 0.05; done; cat out.0; head -c 5000000 /dev/zero | tr '\\0' Q; echo; : >all.\$SLURM_PROCID; until [ -e taken ]; do sleep 0.05; done" \
    pull slow all out make slowly bytes 10000000 make taken ends 2 &
follower=$!
until_true 30 test -e "$test_dir/slowly"
until_true 3 eval '(($(ls "$test_dir"/all.* 2>/dev/null | wc -l) == 2))'
is "processes whose output nobody takes wait" "$(ls "$test_dir"/all.* 2>/dev/null | wc -l)" 0
largest=$(on_host "$h2" ps -u pmixuser1 -o rss=,comm= | awk '/pmixhostd/ && $1 > m { m = $1 } END { print m + 0 }')
ok "no daemon grows" eval '((largest > 0 && largest < 60000))'
diag "$largest KiB"
touch "$test_dir/reads"
wait "$follower"
is "nothing is lost" "$(cat "$test_dir"/slow/?.out | wc -c)" "$((2 * (5000001 + $(wc -c <"$test_dir/out.0"))))"

# Tools that pull what is forwarded, at the host of the process.
tool "$h2" spawn 1 o "echo early; exec >&-; until [ -e late ]; do sleep 0.05; done" hold "$test_dir/late" &
follower=$!
until_true 30 grep -aq '^early' "$test_dir/tool.out"
late=$(other "$(children %N)" "slurm.$(children %i)" pull late.d all out ends 1)
like "a tool that comes late hears the end of a stream" "$late" 'ended 1'
ok "and has what was written before" cmp "$test_dir/late.d/0.out" <(echo early)
touch "$test_dir/late"
wait "$follower"
tool "$h2" spawn 1 o "until [ -e flood ]; do sleep 0.05; done; head -c 3000000 /dev/zero | tr '\\0' Q; echo; exec >&-; until [ -e flooded ]; do sleep 0.05; done" \
    pull swift all out make begun ends 1 hold "$test_dir/flooded" &
follower=$!
until_true 30 test -e "$test_dir/begun"
other "$(children %N)" "slurm.$(children %i)" stop "$test_dir/crawls" pull crawl all out make flood ends 1 >"$test_dir/crawl.out" &
crawler=$!
ok "one that does not read does not hold up the one it is for" until_true 40 grep -aq '^held' "$test_dir/tool.out"
is "which has all" "$(wc -c <"$test_dir/swift/0.out")" 3000001
touch "$test_dir/crawls"
wait "$crawler"
ok "and it hears of the end" grep -q '^ended 1' "$test_dir/crawl.out"
ok "though it misses some" eval '(($(wc -c <"$test_dir/crawl/0.out") < 3000000))'
touch "$test_dir/flooded"
wait "$follower"

# Else its jobs would end with it, perhaps before they have written that.
tool "$h1" spawn 2 on 'echo begun; until [ -e gone ]; do sleep 0.05; done; for i in 1 2 3 4 5; do echo after $i; sleep 0.2; done' make spawned hold "$test_dir/never" &
follower=$!
until_true 30 test -e "$test_dir/spawned"
spawner=$(on_host "$h1" pgrep -x io_tool) # this is one number, for there must be no doubt about what is killed
other "$h1" "$nspace" make beside hold "$test_dir/leave" >/dev/null &
beside=$!
until_true 30 test -e "$test_dir/beside"
ok "the one who spawned them goes, and another tool stays" eval '[[ $spawner =~ ^[0-9]+$ && -e $test_dir/beside ]]'
[[ $spawner =~ ^[0-9]+$ ]] && on_host "$h1" kill -KILL "$spawner"
wait "$follower"
touch "$test_dir/gone"
ok "when the one who spawned them has gone srun has what comes, though another tool is there" until_true 30 eval '(($(grep -c "^after 5" "$test_dir/host.out") == 2))'
touch "$test_dir/leave"
wait "$beside"
until_true 20 eval '[[ -z $(as_user root squeue -h -s -u pmixuser1 -o %i | grep -v "\.0$") ]]'
touch "$test_dir/over"
wait "$host_pid"
is "the job that all of them were spawned into ends well" "$?" 0
ok "nothing is left" no_litter 30
done_testing
