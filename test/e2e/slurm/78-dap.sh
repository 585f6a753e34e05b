#!/bin/bash
# pmixhost debug --dap: an editor debugs all ranks of a job through the Debug Adapter Protocol.
. "$(dirname "$0")/../common/words.sh"
. "$(dirname "$0")/../hanging_job.sh"

# edits ARGUMENT ...: a client (test/e2e/dap_client.py) that does what standard input says.
edits() {
    { cat "$(dirname "$0")/../dap_client.py"; echo 'import os, signal, sys, time'
        echo 'signal.signal(signal.SIGHUP, signal.SIG_DFL)'; cat; } >"$test_dir/edits.py"
    status=0
    output=$(asks python3 "$test_dir/edits.py" "$pmixhost" "$@" 2>&1) || status=$?
}
says() { like "$1" "$output" "(^|"$'\n'")$2($|"$'\n'")"; } # DESCRIPTION REGEX: a line that the client has printed

# --- a job that runs
begin 2 4 "$clients/mpi_hang" "$go"
processes >"$test_dir/processes"
edits "$job" "$(dirname "$0")/../clients/mpi_hang.c" <<'PY'
dap = Dap(sys.argv[1], "debug", "--dap")
capable = dap.ask("initialize", adapterID="x")
print("capable", capable["supportsConfigurationDoneRequest"])
print("early:", dap.refusal("threads"))
print("no job:", dap.refusal("attach"))
print("unknown:", dap.refusal("no\nsuch"))
dap.ask("attach", job=sys.argv[2], stopOnEntry=True)
dap.event("initialized")
dap.ask("configurationDone")
entry = dap.stops("entry", range(4))
print("entry", sorted(entry))
print("twice:", dap.refusal("attach", job=sys.argv[2]))
frames = dap.frames(entry[0])
loop = [1 + i for i, line in enumerate(open(sys.argv[3])) if "while (access(" in line or "usleep(20000)" in line]
names = [frame["name"] for frame in frames]
print("rank 0 in", [name for name in names if name == "waits_for_a_word"])
frame = next(frame for frame in frames if frame["name"] == "waits_for_a_word")
print("source", frame["source"]["name"], os.path.exists(frame["source"]["path"]), frame["line"] in loop)
scope = dap.ask("scopes", frameId=frame["id"])["scopes"][0]
variables = dap.ask("variables", variablesReference=scope["variablesReference"])["variables"]
print("file", [v["type"] for v in variables if v["name"] == "file" and sys.argv[3:] and "/go" in v["value"]])
print("watch", dap.ask("evaluate", expression="6*7", frameId=frame["id"], context="watch")["result"])
print("no such:", dap.refusal("evaluate", expression="nonsense", frameId=frame["id"], context="hover"))
print("no frame:", dap.refusal("scopes", frameId=123456))
main = next(frame for frame in frames if frame["name"] == "main")
scope = dap.ask("scopes", frameId=main["id"])["scopes"][0]["variablesReference"]
rank = next(v for v in dap.ask("variables", variablesReference=scope)["variables"] if v["name"] == "rank")
print("rank is", rank["value"], rank["type"])
argv = next(v for v in dap.ask("variables", variablesReference=scope)["variables"] if v["name"] == "argv")
parts = dap.ask("variables", variablesReference=argv["variablesReference"])["variables"]
print("argv has", [(part["name"], "mpi_hang" in part["value"]) for part in parts])
# The console: gdb's words to all ranks, and ours.
print("console", dap.say("print 6*7"))
print("focus", dap.say("focus 1-2"), "/", dap.say("print 1"))
print("all", bool(dap.say("all")), "/", dap.say("ranks"))
print("completes", [t["label"] for t in dap.ask("completions", text="break meets_the", column=16)["targets"]])
print("not here:", dap.refusal("evaluate", expression="commands 1", context="repl"))
print("its input:", dap.refusal("evaluate", expression="input a word", context="repl"))
# They run, and stop where they are told to.
dap.ask("continue", threadId=entry[0])
for thread in entry.values():
    dap.event("continued", threadId=thread)
print("runs:", dap.refusal("stackTrace", threadId=entry[0]))
found = dap.ask("setFunctionBreakpoints", breakpoints=[{"name": "access"}, {"name": "no_such_function"}])["breakpoints"]
print("breakpoints", [one["verified"] for one in found])
hit = dap.event("stopped", reason="breakpoint")
print("hit", dap.rank_of(hit["threadId"]), hit["hitBreakpointIds"] == [found[0]["id"]])
print("nothing further out", dap.ask("stackTrace", threadId=hit["threadId"], startFrame=500, levels=20)["stackFrames"])
dap.ask("setFunctionBreakpoints", breakpoints=[])
dap.ask("stepOut", threadId=hit["threadId"], singleThread=True)
dap.event("stopped", reason="step")
print("after", dap.frames(hit["threadId"])[0]["name"])
here = dap.frames(hit["threadId"])[0]["line"]
dap.ask("next", threadId=hit["threadId"], singleThread=True)
dap.event("stopped", reason="step")
print("next", dap.frames(hit["threadId"])[0]["line"] != here)
# A line, with a condition; the path is the editor's.
lines = open(sys.argv[3]).read().split("\n")
at = 1 + next(i for i, line in enumerate(lines) if "usleep(20000)" in line)
found = dap.ask("setBreakpoints", source={"path": os.path.realpath(sys.argv[3])},
                breakpoints=[{"line": at, "condition": "file != 0"}, {"line": at, "condition": "file == 0"}, {"line": 100000}])["breakpoints"]
print("lines", [one["verified"] for one in found], found[0]["line"] == at)
dap.ask("continue", threadId=hit["threadId"], singleThread=True)
hit = dap.event("stopped", reason="breakpoint")
print("line", dap.frames(hit["threadId"])[0]["line"] == at, hit["hitBreakpointIds"] == [found[0]["id"]])
print("bad condition:", dap.ask("setBreakpoints", source={"path": os.path.realpath(sys.argv[3])},
                                breakpoints=[{"line": at, "condition": "nonsense > 1"}])["breakpoints"][0]["message"])
dap.ask("setBreakpoints", source={"path": os.path.realpath(sys.argv[3])}, breakpoints=[])
dap.ask("continue", threadId=hit["threadId"])
dap.ask("pause", threadId=hit["threadId"])
print("paused", sorted(dap.stops("pause", range(4))))
print("leaves", dap.leave())
PY
says "an adapter says what it can" 'capable True'
says "what comes too early is refused" "early: 'threads' comes before there are processes to debug"
says "and what names no job" "no job: attach needs the argument 'job': .*"
says "and what nobody knows" "unknown: pmixhost debug has no request 'no.*such'"
says "all ranks have stopped" 'entry \[0, 1, 2, 3\]'
says "a session debugs one job" 'twice: a session debugs one job'
says "a rank is where it waits" "rank 0 in \['waits_for_a_word'\]"
says "in a file that the editor can open" 'source mpi_hang.c True True'
says "a variable has its value" "file \['const char \*'\]"
says "an expression is watched" 'watch 42'
says "one that is none has gdb's reason" 'no such: .*No symbol "nonsense" in current context.*'
says "a frame that there is not" 'no frame: there is no such frame any more'
says "variables of a frame further out" 'rank is 0 int'
says "what is pointed to can be looked at" "argv has \[\('\*argv', True\)\]"
says "the console asks all ranks, and says once what is the same" 'console \[0-3\] \$[0-9]+ = 42'
says "or some" 'focus .*these ranks.* / \[1-2\] \$[0-9]+ = 1'
says "and all again" 'all True / \[0-3\] stopped'
says "a word is completed" "completes \['meets_the_others'\]"
says "what needs more than a line is refused by name" "not here: 'commands' is not for many ranks at once.*"
says "the input of a job that ran before is another command's" 'its input: this job was not started here; next, .*pmixhost attach JOB'
says "a rank that runs has no frames" 'runs: rank 0 has not stopped'
says "breakpoints in functions while they run, and what is not there yet says so" 'breakpoints \[True, False\]'
says "a rank comes to one" 'hit 0 True'
says "frames that there are not" 'nothing further out \[\]'
says "it steps out" 'after waits_for_a_word'
says "and on" 'next True'
says "breakpoints in lines" 'lines \[True, True, False\] True'
says "a rank comes to the one whose condition holds" 'line True True'
says "a condition that is none is refused" 'bad condition: .*No symbol "nonsense" in current context.*'
says "all that run are stopped" 'paused \[0, 1, 2, 3\]'
says "the editor leaves" 'leaves 0'
ok "and the job runs on" until_true 20 all_run
is "and nothing went wrong" "$status" 0

# An editor that is killed, one that talks nonsense, one that says too much.
edits "$job" <<'PY'
dap = Dap(sys.argv[1], "debug", "--dap")
dap.start("attach", job=sys.argv[2], stopOnEntry=True)
dap.stops("entry", range(4))
dap.process.stdin.close()
print("ends", dap.process.wait(PATIENCE))
for what in (b"GET / HTTP/1.1\r\n\r\n", b"Content-Length: 99999999\r\n\r\n", b"Content-Length: 3\r\n\r\n[1]"):
    done = subprocess.run([sys.argv[1], "debug", "--dap"], input=what, capture_output=True)
    print("nonsense", done.returncode, done.stderr.decode().strip())
for arguments in ({"job": "nobody"}, {"job": sys.argv[2], "ranks": "77"}, {"job": sys.argv[2], "ranks": "a-b"}):
    dap = Dap(sys.argv[1], "debug", "--dap")
    dap.ask("initialize")
    print("refused:", dap.refusal("attach", **arguments))
    dap.event("terminated")
    dap.leave()
dap = Dap(sys.argv[1], "debug", "--dap")
dap.start("attach", job=sys.argv[2], ranks="1-2", stopOnEntry=True)
print("some", sorted(dap.stops("entry", (1, 2))), len({t["name"].split()[1].rstrip(",:") for t in dap.ask("threads")["threads"]}))
print("leaves", dap.leave())
PY
says "at the end of its input it lets go" 'ends 0'
says "what is no such protocol is an error" "nonsense 1 pmixhost: error: the input is no Debug Adapter Protocol: 'GET .*"
says "as is what is too long" 'nonsense 1 pmixhost: error: a message of 99999999 bytes; allowed: .*'
says "or no object" "nonsense 1 pmixhost: error: a message is no JSON object: '\[1\]'"
says "a job that there is not" 'refused: .*nobody.*'
says "ranks that there are not" 'refused: job .* has none of these ranks, or none runs'
says "and what are none" "refused: 'ranks' is 'a-b'; allowed: .*"
says "some ranks only" 'some \[1, 2\] 2'
ok "all run on" until_true 20 all_run
ok "the job ends well" ends_well 4

# --- what C++ holds
cat >"$test_dir/holds.cc" <<'CC'
#include <map>
#include <string>
#include <vector>
struct Point { int x, y; };
__attribute__((noinline)) void looks_at(const std::vector<int> &numbers, const std::map<std::string, int> &ages) {
    asm volatile("" : : "r"(&numbers), "r"(&ages));
}
int main() {
    std::vector<int> numbers{1, 2, 3};
    std::map<std::string, int> ages{{"ann", 4}};
    std::string text = "of C++";
    Point point{5, 6};
    looks_at(numbers, ages);
    return point.x - 5 + (text.empty() ? 1 : 0);
}
CC
g++ -g -O0 -o "$test_dir/holds" "$test_dir/holds.cc"
edits "$test_dir/holds" <<'PY'
dap = Dap(sys.argv[1], "debug", "--dap")
dap.start("launch", lambda dap: dap.ask("setFunctionBreakpoints", breakpoints=[{"name": "looks_at"}]),
          program=sys.argv[2], srun=["-N1", "-n1"])
thread = dap.stops("breakpoint", range(1))[0]
frame = dap.frames(thread)[1]["id"]
parts = lambda of: dap.ask("variables", variablesReference=of)["variables"]
held = {v["name"]: v for v in parts(dap.ask("scopes", frameId=frame)["scopes"][0]["variablesReference"])}
print("text", held["text"]["value"], held["text"]["type"])
print("point", held["point"]["value"])
print("numbers", [v["value"] for v in parts(held["numbers"]["variablesReference"])])
print("ages", [v["value"] for v in parts(held["ages"]["variablesReference"])])
print("watch", dap.ask("evaluate", expression="numbers", frameId=frame, context="watch")["result"])
print("prompt", dap.say("print numbers"))
dap.ask("continue", threadId=thread)
print("exit code", dap.event("exited")["exitCode"])
dap.leave()
PY
says "a text is its letters" 'text "of C\+\+" std::(__cxx11::)?(basic_)?string.*'
says "a structure its members" 'point \{x = 5, y = 6\}'
says "a vector is its elements" "numbers \['1', '2', '3'\]"
says "a map its keys and values" "ages \['\"ann\"', '4'\]"
says "also where it is watched" 'watch std::vector of length 3, capacity 3 = \{1, 2, 3\}'
says "and at the prompt" 'prompt .*std::vector of length 3, capacity 3 = \{1, 2, 3\}'
says "the program ends well" 'exit code 0'

# --- a job that is launched
edits "$clients" "$test_dir/never" "$PMIXHOST_SOURCE/contrib/editors/vscode" <<'PY'
four = ["-O", "-N2", "-n4", "--ntasks-per-node=2"]
os.environ["NOT_OF_THE_EDITOR"] = "yes"
dap = Dap(sys.argv[1], "debug", "--dap")
dap.start("launch", lambda dap: print("main", dap.ask("setFunctionBreakpoints", breakpoints=[{"name": "main"}])["breakpoints"][0]["verified"]),
          program="./hello", cwd=sys.argv[2], srun=four, env={"OF_THE_EDITOR": "yes", "NOT_OF_THE_EDITOR": None})
threads = dap.stops("breakpoint", range(4))
for _ in range(3):
    dap.ask("next", threadId=threads[2], granularity="instruction")
    threads = dap.stops("step", range(4))
    frames = [dap.frames(thread)[0]["id"] for thread in threads.values()]
    dap.ask("threads")
    print("frames hold", [len(dap.ask("scopes", frameId=frame)["scopes"]) for frame in frames])
# A compiler may have another function in it there.
print("in main", {"main" in [frame["name"] for frame in dap.frames(thread)] for thread in threads.values()})
print("its environment", dap.say('print (int)strcmp((char *)getenv("OF_THE_EDITOR"), "yes")'))
print("without", dap.say('print (char *)getenv("NOT_OF_THE_EDITOR") == 0'))
dap.ask("continue", threadId=threads[0])
print("exit code", dap.event("exited")["exitCode"])
print("and then", [event["event"] for event in dap.events if event["event"] == "terminated"], end=" ")
dap.event("terminated")
print("it is over")
print("ranks said", sum(line.startswith("rank ") for line in dap.outputs.split("\n")))
print("ends told", "exited normally" in dap.console)
print("leaves", dap.leave())

dap = Dap(sys.argv[1], "debug", "--dap")
dap.start("launch", program=sys.argv[2] + "/hello", srun=four, stop="init", stopOnEntry=True)
threads = dap.stops("entry", range(4))
print("stand in", {[f["name"] for f in dap.frames(thread) if f["name"] == "PMIx_Init"][0] for thread in threads.values()})
print("leaves", dap.leave(terminateDebuggee=False))

dap = Dap(sys.argv[1], "debug", "--dap")
dap.start("launch", program=sys.argv[2] + "/mpi_hang", args=[sys.argv[3]], srun=four)
while dap.outputs.count("there") < 4:
    dap.take()
dap.ask("pause", threadId=dap.ask("threads")["threads"][0]["id"])
threads = dap.stops("pause", range(4))
print("focus", bool(dap.say("focus 2")))
dap.say("set $pc = 8")
dap.ask("continue", threadId=threads[2], singleThread=True)
crash = dap.event("stopped", reason="exception")
print("crash", dap.rank_of(crash["threadId"]), crash["description"])
dap.ask("terminate")
dap.event("terminated")
print("leaves", dap.leave())

for arguments in ({}, {"program": "/nothing/there", "srun": ["-n1"]}, {"program": "true", "srun": ["-n1"], "stop": "main"},
                  {"program": "true", "srun": "-n1"}, {"program": "true", "cwd": "/nothing"},
                  {"program": "true", "srun": ["-n1", "true", ":", "-n1"]}):
    dap = Dap(sys.argv[1], "debug", "--dap")
    dap.ask("initialize")
    print("refused:", dap.refusal("launch", **arguments), dap.console)
    dap.leave()
dap = Dap(sys.argv[1], "debug", "--dap")
dap.start("launch", program=sys.argv[2] + "/mpi_hang", args=[sys.argv[3]], srun=four)
while dap.outputs.count("there") < 4:
    dap.take()
dap.process.kill()
print("killed")
for how in ("TERM", "HUP"):
    for stands in (True, False):
        dap = Dap(sys.argv[1], "debug", "--dap")
        dap.start("launch", program=sys.argv[2] + "/mpi_hang", args=[sys.argv[3]], srun=four, stopOnEntry=stands)
        if stands:
            dap.stops("entry", range(4))
        else:
            while dap.outputs.count("there") < 4:
                dap.take()
        dap.process.send_signal(getattr(signal, "SIG" + how))
        dap.event("terminated")
        print("told", how, "stands" if stands else "runs", dap.process.wait(PATIENCE))
dap = Dap(sys.argv[1], "debug", "--dap")
dap.start("launch", program="sh", args=["-c", "read -r line; echo heard $line; cat >/dev/null"], srun=four, input=True)
dap.say("input a word")
dap.say("eof")
print("heard", dap.event("exited")["exitCode"], dap.outputs.count("heard a word"))
print("leaves:", dap.leave())
dap = Dap(sys.argv[1], "debug", "--dap")
dap.start("launch", program="./hello", cwd=sys.argv[2], srun=four, stopOnEntry=True)
dap.stops("entry", range(4))
print("no input:", dap.refusal("evaluate", expression="input a word", context="repl"))
print("leaves:", dap.leave())
# What the extension for an editor says of itself, and starts.
with open(sys.argv[4] + "/package.json") as file:
    said = json.load(file)["contributes"]["debuggers"][0]
print("an extension", said["type"], [sorted(said["configurationAttributes"][how]["properties"]) for how in ("launch", "attach")])
os.environ["PATH"] = os.path.dirname(sys.argv[1]) + ":" + os.environ["PATH"]
dap = Dap(sys.argv[4] + "/" + said["program"])
print("its adapter", dap.ask("initialize")["supportsConfigurationDoneRequest"], dap.leave())
PY
says "lines from the console are a launched job's input" 'heard 0 4'
says "where its configuration asks for that" 'no input: the standard input of this launch is /dev/null; next: .*'
says "an extension says what can be asked for" "an extension pmixhost \[\['args', 'cwd', 'env', 'input', 'program', 'ranks', 'srun', 'stop', 'stopOnEntry', 'timeout'\], \['job', 'ranks', 'stopOnEntry', 'timeout'\]\]"
says "and starts the adapter" 'its adapter True 0'
says "breakpoints are set before anything runs" 'main True'
is "all ranks make a step, and what they show then holds" "$(grep -c 'frames hold \[1, 1, 1, 1\]' <<<"$output")" 3
says "all ranks come to one" 'in main \{True\}'
says "with the editor's environment" 'its environment \[0-3\] \$1 = 0'
says "and without what it takes away" 'without \[0-3\] \$2 = 1'
says "the exit code is srun's" 'exit code 0'
says "and comes before the end" 'and then \[\] it is over'
says "what the ranks say is in its console" 'ranks said 4'
says "and that they have ended" 'ends told True'
says "they stand in PMIx_Init where that is asked for" "stand in \\{'PMIx_Init'\\}"
says "a crash is told, with its rank" 'crash 2 SIGSEGV'
is "the editor leaves each of them" "$(grep -c '^leaves 0$' <<<"$output")" 3
says "a launch without a program" "refused: launch needs the argument 'program' .*"
like "a program that there is not" "$output" '/nothing/there: No such file or directory'
says "a place to stop that there is not" "refused: 'stop' is 'main'; allowed: exec, init, app .*"
says "what is no list" "refused: 'srun' is a list of words, .*"
says "a directory that there is not" "refused: 'cwd' /nothing: .*"
says "several kinds of hosts" 'refused: a heterogeneous job is not started for this.*'
for how in TERM HUP; do
    for state in stands runs; do says "told to end by SIG$how it does, where the job $state" "told $how $state 0"; done
done
says "an editor is killed with what it has started" 'killed'
is "and nothing went wrong there" "$status" 0
ok "no job is left" until_true 60 no_jobs

status=0
output=$(asks "$pmixhost" debug --dap --ranks 1 2>&1 </dev/null) || status=$?
like "what the editor says is no option" "$status $output" '^2 pmixhost: error: --dap: --ranks is what the editor says'
output=$(asks "$pmixhost" debug --dap srun true 2>&1 </dev/null) || status=$?
like "nor a command" "$status $output" '^2 pmixhost: error: --dap: what is debugged is what the editor says'
ok "nothing is left" no_litter 30
done_testing
