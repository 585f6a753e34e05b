"""Test clusters for benches, and sruns on them, one at a time, with what each took.

In each allocation is a process (this file, as a program) that takes one srun after the other from its standard input.
So runs on several clusters can alternate, and each is timed beside its srun, without the way into the cluster.
Clusters do not see each other (contrib/cluster/cluster), so there may be several at a time; one that has nothing to run
idles.
"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

from samples import UNREADABLE

HERE = os.path.dirname(os.path.realpath(__file__))
SOURCE = os.path.realpath(os.path.join(HERE, "../.."))
CLUSTER = os.path.join(SOURCE, "contrib/cluster/cluster")
TOO_LONG = "took too long"
LIMIT = 60    # s that a srun may take
GRACE = 10    # s in which a srun may end its tasks
SETTLES = 0.1 # s; what a step still does after its srun has ended is its own, and not the next one's

# What test/bench/bench_counts counts, in its order. It has runs of its own, as each system call takes longer then.
COUNTED = ("syscalls", "instructions")


def in_between(before, after):
    """Of each count (name, difference, why there is none), in the units of the tables: of instructions 1000."""
    for what, until_now in after.items():
        if isinstance(until_now, str):
            yield what, None, f"{UNREADABLE}: {until_now}"
        else:
            yield what, (until_now - before[what]) / (1000 if what == "instructions" else 1), None


# --------------------------------------------------------------- inside the allocation, as the user

def srun(mpi, hosts, per, command, limit):
    """Wall time in ms and output, or None and what is wrong."""
    argv = ["srun", f"--mpi={mpi}", "-O", "-N", str(hosts), f"--ntasks-per-node={per}",
            "-n", str(hosts * per)] + command
    begin = time.monotonic()
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=limit, text=True, check=False)
    except subprocess.TimeoutExpired:
        return None, TOO_LONG
    took = (time.monotonic() - begin) * 1e3
    if done.returncode != 0:
        return None, (done.stdout + done.stderr)[-400:] or f"srun ended with {done.returncode}"
    return took, done.stdout


def machine():
    """What the whole machine has had until now: processor time in ms, and context switches."""
    now = time.monotonic()
    with open("/proc/stat", encoding="ascii") as file:
        lines = {words[0]: words[1:] for words in map(str.split, file)}
    # What a processor works is counted in ticks, and what it idles exactly.
    unused = sum(int(lines["cpu"][column]) for column in (3, 4, 7)) / os.sysconf("SC_CLK_TCK") # idle, iowait, steal
    processors = sum(name.startswith("cpu") for name in lines) - 1
    return {"cpu": (now * processors - unused) * 1e3, "switches": int(lines["ctxt"][0])}


def serve():
    """Each line of standard input is a srun to run, and each line of output what came of it, as JSON."""
    for line in sys.stdin:
        wish = json.loads(line)
        before = machine()
        took, text = srun(wish["mpi"], wish["hosts"], wish["per"], wish["command"], wish["limit"])
        time.sleep(wish["settles"])
        print(json.dumps({"took": took, "text": text, "counts": list(in_between(before, machine()))}), flush=True)


# ---------------------------------------------------------------------------- outside, as root

def plain_environment(**more):
    """Without what the caller has set of pmixhost: what is measured is what pmixhost.conf says."""
    return dict({name: value for name, value in os.environ.items() if not name.startswith("PMIXHOST_")}, **more)


class Cluster:
    """One for a build that is installed into itself. Whoever makes it has to see that it comes down."""
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="pmixhost-bench.")
        os.chmod(self.dir, 0o755)

    def up(self, build, hosts, share):
        """That many hosts, with the build's plugin, that see what is shared."""
        shares = [word for path in (*share, SOURCE) for word in ("--share", path)]
        self.run("up", "--hosts", str(hosts), "--plugin-dir", f"{build}/inst/lib/slurm", *shares)

    def run(self, *arguments, check=True):
        return subprocess.run([CLUSTER, arguments[0], "--dir", self.dir, *arguments[1:]],
                              check=check, stdout=subprocess.PIPE, text=True)

    def command(self, *argv, user="pmixuser1", host="head"):
        return [CLUSTER, "exec", "--dir", self.dir, "--user", user, "--host", host, "--", *argv]

    def down(self):
        self.run("down", check=False)


class Allocation:
    """Of hosts of a cluster, while it is entered. One that ends before has each run fail from then on."""
    def __init__(self, cluster, hosts, ranks):
        env = plain_environment(UCX_TLS="tcp,self", OMPI_MCA_mpi_yield_when_idle="1")
        self.program = subprocess.Popen(
            cluster.command("salloc", "-Q", "-O", "-N", str(hosts), f"--ntasks-per-node={ranks}",
                            "/usr/bin/python3", "-B", os.path.realpath(__file__)),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.program.stdin.close()
        try:
            self.program.wait(timeout=LIMIT + 30)
        except subprocess.TimeoutExpired: # the cluster's end is its end, too
            self.program.kill()
            self.program.wait()
        self.program.stdout.close()

    def run(self, mpi, hosts, per, command, settles=0):
        """Of a srun: wall time in ms ("took"; None where it failed), its output or what is wrong ("text"), and what the
        machine did for it and in the seconds after it, in which it settles ("counts", as from in_between)."""
        answer = ""
        with contextlib.suppress(OSError):
            print(json.dumps({"mpi": mpi, "hosts": hosts, "per": per, "command": command, "settles": settles,
                              "limit": LIMIT}), file=self.program.stdin, flush=True)
            answer = self.program.stdout.readline()
        return json.loads(answer) if answer else {"took": None, "text": "the allocation has ended", "counts": []}


class Step:
    """A srun, from outside of an allocation, that is talked with while it is entered, but not longer than its limit in
    seconds: then it is ended, so that its output ends, and leaving it raises a TimeoutError. It is gone when it is
    left, however that comes about."""
    def __init__(self, argv, limit=2 * LIMIT, grace=GRACE):
        # a session of its own: of what enters the cluster the srun is a child, and is to get the signals, too
        self.program = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=plain_environment(),
                                        text=True, errors="replace", start_new_session=True)
        self.stdin, self.stdout = self.program.stdin, self.program.stdout
        self.grace, self.overdue, self.gone = grace, False, False
        self.after(limit, self.late)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        try:
            if kind:
                self.end()
            with contextlib.suppress(OSError):
                self.stdin.close()
            self.stdout.read()
            self.program.wait()
        except BaseException:
            self.send(signal.SIGKILL)
            raise
        finally:
            self.gone = True
            self.timer.cancel()
            self.stdout.close()
        if self.overdue and (error is None or isinstance(error, Exception)):
            raise TimeoutError(TOO_LONG) from error

    def after(self, seconds, function, *arguments):
        self.timer = threading.Timer(seconds, function, arguments)
        self.timer.daemon = True
        self.timer.start()

    def late(self):
        self.overdue = True
        self.end()

    def end(self):
        """A srun ends its tasks when it is told to; one that does not is killed."""
        self.timer.cancel()
        self.send(signal.SIGTERM)
        self.after(self.grace, self.send, signal.SIGKILL)

    def send(self, number):
        if not self.gone:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.program.pid, number)


class Counter:
    """test/bench/bench_counts, of the whole machine or of processes of some names."""
    def __init__(self, argv):
        self.program = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.program.stdin.close()
        self.program.wait(timeout=60)

    def look(self):
        """Numbers until now; a text for what cannot be read."""
        print(file=self.program.stdin, flush=True)
        return {what: int(word) if word.isdigit() else word
                for what, word in zip(COUNTED, self.program.stdout.readline().strip().split(";"))}


if __name__ == "__main__":
    serve()
