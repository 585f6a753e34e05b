"""What a job pays that nobody debugs: starts with tools (debuggers, monitors) as they are by default, beside the same
with all of it switched off in pmixhost.conf. For test/bench/report.

Off comes twice in each turn: the difference of these two is what the machine makes of no difference at all. How far
chance alone gets with that spread is calculated, too (samples.chance): a ratio below that is "nothing measurable", but
not judged where chance gets far, as much would hide in it. Of rows without any difference one in a hundred is above it.

What tasks do before their program begins is not to be timed, but counted: the system calls of a srun with many tasks
less those of one with a single task, for each task more. That has the whole way of a task in it, the resource manager's
and the program's own, so --mpi=none stands beside it.

PMIx_Init and a fence as the task sees them, and launchers = "on": test/bench/unvisited.
"""
import contextlib
import json
import os
import subprocess

from cluster_runs import SETTLES, TOO_LONG, in_between, plain_environment
from samples import chance, median, part, unreadable, values_of, width

OFF = '[tools]\nenabled = "off"\n[io]\ncopy = "off"\n'
ON = '[tools]\nenabled = "on"\n[io]\ncopy = "on"\n'
# setting: (--mpi, what pmixhost.conf says)
SETTINGS = {"off": ("pmixhost", OFF), "on": ("pmixhost", ON), "off again": ("pmixhost", OFF), "none": ("none", OFF)}
MORE = 16     # tasks
TOO_FAR = 1.1 # that chance gets: a row below it says nothing
SHAPE = "1x1"

ROWS = {}
for _program, _title in (("true", "srun true"), ("init", "PMIx_Init + Finalize")):
    ROWS[f"start {_program}"] = (_title, "ms")
    ROWS[f"cpu {_program}"] = (f"{_title}: processor time", "ms")
    ROWS[f"switches {_program}"] = (f"{_title}: switches", "")
    ROWS[f"syscalls {_program}"] = (f"{_title}: system calls", "")
    ROWS[f"instructions {_program}"] = (f"{_title}: instructions", "1000")
    ROWS[f"task syscalls {_program}"] = (f"{_title}: system calls of a task more", "")
    ROWS[f"task instructions {_program}"] = (f"{_title}: instructions of a task more", "1000")


class ConfigFile:
    """A file in a place where another one may be, which is kept beside meanwhile and put back as it was at the end."""
    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.aside, self.new = self.path + ".aside", self.path + ".new"
        self.made = []    # directories, the inner ones last
        self.ours = False # what is there, if anything is

    def __enter__(self):
        if os.path.lexists(self.aside):
            raise RuntimeError(f"{self.aside} is what was in {self.path} when a bench was killed; next: put it back")
        try:
            folder = os.path.dirname(self.path)
            while not os.path.isdir(folder):
                self.made.insert(0, folder)
                folder = os.path.dirname(folder)
            for each in self.made:
                os.mkdir(each)
                os.chmod(each, 0o755)
            with contextlib.suppress(FileNotFoundError):
                os.rename(self.path, self.aside)
            self.ours = True
        except BaseException:
            self.put_back()
            raise
        return self

    def __exit__(self, *_):
        self.put_back()

    def write(self, text):
        """The whole file, which nobody sees in part."""
        try:
            with open(self.new, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(self.new, 0o644)
            os.replace(self.new, self.path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.new)
            raise

    def put_back(self):
        if os.path.lexists(self.aside):
            os.rename(self.aside, self.path)
        elif self.ours:
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.path)
        for each in reversed(self.made):
            with contextlib.suppress(OSError): # somebody else has a file there
                os.rmdir(each)


class Settings(ConfigFile):
    """The pmixhost.conf that a build's daemons read, which know nothing of the caller's environment."""
    def __init__(self, build):
        self.command = f"{build}/inst/bin/pmixhost"
        super().__init__(self.shown()["file"])

    def shown(self):
        return json.loads(subprocess.run([self.command, "config", "--json"], check=True, stdout=subprocess.PIPE,
                                         env=plain_environment(), text=True, timeout=60).stdout)

    def __enter__(self):
        super().__enter__()
        try: # that nothing differs must not be for want of a switch
            for text, value in ((ON, "on"), (OFF, "off")):
                self.write(text)
                options = {option["key"]: (option["value"], option["source"]) for option in self.shown()["options"]}
                for key in ("tools.enabled", "io.copy"):
                    if options.get(key) != (value, "file"):
                        raise RuntimeError(f"{self.path} says {key} = \"{value}\", and {self.command} does not see it")
        except BaseException:
            self.put_back()
            raise
        return self


def measure(allocation, settings, programs, times, counter=None):
    """Samples, one after the other, of one host of the allocation, which has room for a task and MORE. With a counter
    they are counts of it, else times. The programs are by their names in ROWS. What did not end once is not run again.
    """
    hung = set()

    def sample(name, kind, value, error=None):
        return {"name": name, "kind": kind, "shape": SHAPE, "value": value, "error": error}

    def run(kind, tasks, command):
        done = allocation.run(SETTINGS[kind][0], 1, tasks, command, SETTLES)
        if done["text"] == TOO_LONG:
            hung.add((program, kind))
        return done

    def counted(kind, tasks, command):
        """None or a text where the srun failed; counts by their name."""
        before = counter.look()
        done = run(kind, tasks, command)
        after = counter.look()
        if not done["took"]:
            return None, done["text"]
        return {what: (value, error) for what, value, error in in_between(before, after)}, None

    order = list(SETTINGS)
    for _ in range(times):
        for program, command in programs.items():
            for kind in order:
                if (program, kind) in hung:
                    continue
                # a program that uses PMIx has nobody to talk to there
                argv = command + (["bare"] if kind == "none" and program != "true" else [])
                settings.write(SETTINGS[kind][1])
                if not counter:
                    done = run(kind, 1, argv)
                    yield sample(f"start {program}", kind, done["took"], None if done["took"] else done["text"])
                    for what, value, error in done["counts"] if done["took"] else ():
                        yield sample(f"{what} {program}", kind, value, error)
                    continue
                one, error = counted(kind, 1, argv)
                many, error_of_many = counted(kind, 1 + MORE, argv) if one else (None, None)
                if not one or not many:
                    yield sample(f"syscalls {program}", kind, None, error or error_of_many)
                    continue
                for what, (value, why) in one.items():
                    yield sample(f"{what} {program}", kind, value, why)
                    more = many[what][0]
                    yield sample(f"task {what} {program}", kind,
                                 None if None in (value, more) else (more - value) / MORE, why or many[what][1])
        order = order[1:] + order[:1]


def results(samples, trusted):
    """A row for each of ROWS that has samples. Nothing is judged unless they are trusted."""
    rows = []
    for name, (title, unit) in ROWS.items():
        row = {"name": name, "title": title, "unit": unit, "ratio": None, "verdict": ""}
        why = unreadable(samples, name)
        if why:
            rows.append(dict(row, verdict=why))
            continue
        first, on, again, none = (values_of(samples, name, kind, SHAPE) for kind in ("off", "on", "off again", "none"))
        off = first + again
        if not off or not on:
            continue
        row.update(off=median(off), on=median(on), none=median(none), difference=median(on) - median(off),
                   off_first=median(first), off_again=median(again),
                   difference_of_same=median(again) - median(first) if first and again else None,
                   spread_off=part(width(off), median(off)), spread_on=part(width(on), median(on)))
        if min(off + on) <= 0: # of which there is no ratio
            row["verdict"] = "not judged"
        else:
            # dealt out as if there were no difference, or a large one would hide in what chance makes of both
            ratio = median(on) / median(off)
            row.update(ratio=ratio, chance=chance([each / ratio for each in on], off))
            if not trusted:
                row["verdict"] = "not judged"
            elif ratio > row["chance"]:
                row["verdict"] = f"MEASURED: {ratio - 1:.1%} more"
            else:
                row["verdict"] = "nothing measurable" if row["chance"] <= TOO_FAR else "not judged"
        rows.append(row)
    return rows


def show(rows):
    print("\nThe cost of being debuggable: one host, one task, tools switched off and on (the default)\n"
          f"{'':50} {'off':>9} {'+-':>5} {'on':>9} {'+-':>5} {'none':>9} {'on-off':>8} {'off-off':>8} {'ratio':>6} "
          f"{'chance':>7}")

    def number(value, form=".1f"):
        return "-" if value is None else format(value, form)

    def percent(value):
        return "" if value is None else f"{value / 2:.0%}"
    for row in rows:
        heading = f"{row['title']}, {row['unit']}" if row["unit"] else row["title"]
        if "off" not in row:
            print(f"{heading:50} {row['verdict']}")
            continue
        print(f"{heading:50} {number(row['off']):>9} {percent(row['spread_off']):>5} {number(row['on']):>9} "
              f"{percent(row['spread_on']):>5} {number(row['none']):>9} {number(row['difference'], '+.1f'):>8} "
              f"{number(row['difference_of_same'], '+.1f'):>8} {number(row['ratio'], '.3f'):>6} "
              f"{number(row.get('chance'), '.3f'):>7} {row['verdict']}")
    print("off: tools.enabled and io.copy, twice in each turn, both in one median; off-off: the second ones less the\n"
          "first, a difference of nothing; chance: below it are 99 of 100 ratios when the runs, less what on\n"
          f"differs, are dealt out at random; above {TOO_FAR} a row with nothing measured is not judged.\n"
          f"A task more: what a srun of {1 + MORE} tasks has over one of a single task, for each.")
    missed = [row for row in rows if row["verdict"].startswith("MEASURED")]
    unjudged = sum(row["verdict"] == "not judged" for row in rows)
    judged = [row for row in rows if row["verdict"] == "nothing measurable" or row in missed]
    if not judged:
        print("AIM (nothing measurable): not judged")
    elif not missed:
        print(f"AIM (nothing measurable): met in all {len(judged)} rows that are judged" +
              (f"; {unjudged} are not" if unjudged else ""))
    for row in missed:
        print(f"AIM (nothing measurable): MISSED: {row['title']}: {row['difference']:+.1f} {row['unit']}".rstrip() +
              f", {row['ratio'] - 1:.1%} more with tools on, where chance makes {row['chance'] - 1:.1%}")
