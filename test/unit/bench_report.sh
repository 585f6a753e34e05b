#!/bin/sh
# What test/bench/report makes of samples, which nobody reads before a measurement of an hour has ended: its tables, its
# words on aims, its plot; the process that runs sruns for it, with a srun that is none; and that what it takes (a
# pmixhost.conf, a step that hangs) is put back and ended, however it ends.
cd "${top_srcdir:-${srcdir:-.}}" || exit 1
command -v python3 >/dev/null || { echo "1..0 # SKIP there is no python3"; exit 0; }
exec env PYTHONPATH=test/bench python3 -B - <<'PY'
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import xml.etree.ElementTree

import cluster_runs
import debuggable
import report_tables
import samples as of_samples

TESTS = []


def loaded_report():
    """The program, whose name has no .py, as a module of its own each time."""
    loader = importlib.machinery.SourceFileLoader("report", "test/bench/report")
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("report", loader))
    loader.exec_module(module)
    return module


def test(function):
    TESTS.append(function)


def made(name, kind, *values, shape="4x1", error=None):
    return [{"name": name, "kind": kind, "shape": shape, "value": value, "error": error} for value in values]


def starts(**middles):
    """srun true of 4x1: a little around these."""
    return [each for kind, middle in middles.items()
            for each in made("start true", kind.replace("_", " "), middle - 1, middle, middle, middle + 1)]


def rows_of(samples, before=True, trusted=True):
    return report_tables.results(samples, [(4, 1)], before, trusted)


def printed(function, *arguments):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        function(*arguments)
    return text.getvalue()


def line_of(text, begin):
    found = [line for line in text.splitlines() if line.startswith(begin)]
    assert len(found) == 1, (begin, text)
    return found[0]


@test
def each_is_over_the_none_of_its_own_cluster():
    row, = rows_of(starts(before=190, none_before=110, pmixhost=150, pmix=200, none=100))
    assert row["ratio"] == 0.5 and row["ratio_before"] == 0.8 and row["to_before"] == 0.625, row
    words = line_of(printed(report_tables.show, [row], True), "srun true").split()
    for word in ("190.0", "150.0", "200.0", "0.80", "0.50", "0.62", "MISSED"):
        assert word in words, (word, words)


@test
def without_before_nothing_is_said_of_it():
    rows = rows_of(starts(pmixhost=150, pmix=200, none=100), before=False)
    assert "before" not in printed(report_tables.show, rows, False)
    assert "before" not in report_tables.plot(rows, [(4, 1)], False)


@test
def what_an_earlier_build_lacks_is_a_dash_and_no_more():
    samples = (starts(none_before=110, pmixhost=130, pmix=200, none=100) +
               made("start true", "before", None, error="srun ended with 1") +
               made("syscalls empty", "before", None, error="not readable here: no such process") +
               made("syscalls empty", "pmixhost", 10, 10) + made("syscalls empty", "pmix", 20, 20))
    start, syscalls = rows_of(samples)
    assert start["verdict"] == "met" and start["before"] is None and start["ratio_before"] is None, start
    assert syscalls["ratio"] == 0.5 and syscalls["before"] is None, syscalls
    assert "-" in line_of(printed(report_tables.show, [start, syscalls], True), "srun true").split()


@test
def groups_are_compared_with_the_fences_of_the_same_build():
    row, = rows_of(made("group fence", "pmixhost", 100, 100) + made("group construct", "pmixhost", 110, 110) +
                   made("group fence", "before", 50, 50) + made("group construct", "before", 100, 100))
    assert (row["ratio"], row["ratio_before"], row["verdict"]) == (1.1, 2.0, "met"), row


@test
def a_missed_aim_is_named_with_what_is_too_much():
    samples = starts(before=190, none_before=110, pmixhost=150, pmix=200, none=100)
    text = "\n".join(report_tables.aims(rows_of(samples), samples, True))
    assert "0 met, 1 MISSED, 0 not judged" in text, text
    said = "srun true, 4x1: 0.50, and 0.4 is the aim: 0.10 too much (25% of the aim, 10.0 ms); before 0.80"
    assert said in text, text


@test
def what_spreads_too_far_is_not_judged_and_named_when_above_its_aim():
    samples = (made("start true", "pmixhost", 110, 130, 170, 190) +
               starts(before=190, none_before=110, pmix=200, none=100))
    text = "\n".join(report_tables.aims(rows_of(samples), samples, True))
    assert "0 MISSED, 1 not judged" in text and "spread too far" in text and "srun true, 4x1: 0.50" in text, text


@test
def a_machine_with_other_work_has_nothing_judged():
    rows = rows_of(starts(before=190, none_before=110, pmixhost=150, pmix=200, none=100), trusted=False)
    assert rows[0]["verdict"] == "not judged", rows
    assert "other work" in "\n".join(report_tables.aims(rows, [], False))


@test
def an_aim_without_a_ratio_says_why():
    samples = made("modex", "pmixhost", 50, 51) + made("modex", "pmix", None, error="took too long")
    text = "\n".join(report_tables.aims(rows_of(samples), samples, True))
    assert "without a ratio: direct modex, 64 B, 4x1: pmix: took too long" in text, text


@test
def an_aim_without_a_ratio_has_the_errors_of_its_own_run():
    samples = (made("start init", "pmixhost", 50, 51) + made("start init", "pmix", 50, 51) +
               made("start true", "none", None, error="of another program") +
               made("start init", "none", None, error="of this one") +
               made("cpu 64", "pmixhost", 5, 5) + made("syscalls empty", "pmix", None, error="of counting") +
               made("fence empty", "pmix", None, error="of fences"))
    text = "\n".join(report_tables.aims(rows_of(samples), samples, True))
    assert line_of(text, "  without a ratio: srun, PMIx_Init").endswith("4x1: none: of this one"), text
    assert line_of(text, "  without a ratio: server's CPU, fence of 64 B").endswith("4x1: pmix: of fences"), text


@test
def each_measurement_comes_from_a_run_whose_errors_are_kept():
    kept = {"start true", "start init", "start mpi", "fence empty", "group construct", "modex", "syscalls empty",
            "memory pss"}
    assert {report_tables.run_of(name) for name in report_tables.ROWS} == kept
    for name, run in (("cpu init", "start init"), ("syscalls 64", "syscalls empty"), ("modex first", "modex")):
        assert report_tables.run_of(name) == run, name


@test
def what_cannot_be_read_is_named_once():
    samples = [each for kind in ("pmixhost", "pmix", "none")
               for each in made("instructions true", kind, None, None, error="not readable here: no counters")]
    row, = rows_of(samples)
    assert row["verdict"] == "not readable here: no counters", row
    assert "no counters" in line_of(printed(report_tables.show, [row], True), "srun true: instructions")


@test
def the_plot_has_both_bars_and_all_numbers():
    rows = rows_of(starts(before=190, none_before=110, pmixhost=150, pmix=200, none=100))
    page = xml.etree.ElementTree.fromstring(report_tables.plot(rows, [(4, 1)], True))
    widths = [float(each.get("width")) for each in page if each.get("fill") in ("#b9c6d8", "#b5482a")]
    assert widths == [224.0, 140.0], widths # 0.8 and 0.5 of 280
    texts = [each.text for each in page if each.text]
    assert "0.50, before 0.80 (150.0, before 190.0, in-tree 200.0 ms)" in texts, texts


def of_settings(on, more_off=0):
    return [{"name": "start true", "kind": kind, "shape": debuggable.SHAPE, "value": 100 + more + i % 3, "error": None}
            for kind, more in (("off", 0), ("on", on), ("off again", more_off), ("none", -50)) for i in range(12)]


@test
def a_cost_that_nobody_can_measure_is_none():
    row, = debuggable.results(of_settings(0), True)
    assert row["verdict"] == "nothing measurable" and row["difference"] == 0, row
    assert "met in all 1 rows" in printed(debuggable.show, [row])


@test
def a_cost_of_a_tenth_is_measured_and_named():
    row, = debuggable.results(of_settings(10), True)
    assert row["verdict"].startswith("MEASURED: 9.9% more"), row
    assert "MISSED: srun true: +10.0 ms, 9.9% more" in printed(debuggable.show, [row])


@test
def what_differs_without_a_difference_stands_beside():
    row, = debuggable.results(of_settings(5, more_off=10), True)
    assert row["difference_of_same"] == 10 and row["verdict"] == "nothing measurable", row


@test
def a_busy_machine_measures_no_cost():
    rows = debuggable.results(of_settings(10), False)
    assert rows[0]["verdict"] == "not judged" and "not judged" in printed(debuggable.show, rows)


@test
def noise_that_could_hide_a_cost_is_not_judged():
    samples = [dict(each, value=each["value"] + 60 * (i % 2)) for i, each in enumerate(of_settings(0))]
    row, = debuggable.results(samples, True)
    assert row["chance"] > 1.1 and row["verdict"] == "not judged", row
    assert "AIM (nothing measurable): not judged" in printed(debuggable.show, [row])
    calm, = debuggable.results(of_settings(0), True)
    assert "met in all 1 rows that are judged; 1 are not" in printed(debuggable.show, [row, calm])


@test
def a_large_cost_is_measured_through_wide_noise():
    samples = [dict(each, value=each["value"] + 60 * (i % 2)) for i, each in enumerate(of_settings(300))]
    row, = debuggable.results(samples, True)
    assert row["chance"] > 1.1 and row["verdict"].startswith("MEASURED"), row


@test
def zeros_are_values_that_have_no_ratio():
    samples = [{"name": "task syscalls true", "kind": kind, "shape": debuggable.SHAPE, "value": value, "error": None}
               for kind, value in (("off", 0), ("on", 2), ("off again", 0)) for _ in range(4)]
    row, = debuggable.results(samples, True)
    assert (row["off"], row["on"], row["difference"], row["ratio"]) == (0, 2, 2, None), row
    assert row["verdict"] == "not judged" and "+2.0" in printed(debuggable.show, [row]), row


class OneAfterTheOther:
    """An allocation and a counter: a srun has 1000 system calls, 40 for each task, and 2 more where tools are on."""
    syscalls, setting, fails, why = 0, "", (), "refused"

    def write(self, text):
        self.setting = text

    def __init__(self):
        self.asked = []

    def run(self, mpi, hosts, per, command, settles=0):
        self.asked.append((mpi, per, *command))
        if mpi in self.fails:
            return {"took": None, "text": self.why, "counts": []}
        self.syscalls += 1000 + per * (40 + 2 * (self.setting == debuggable.ON))
        return {"took": 5.0, "text": "", "counts": [["cpu", 3.0, None]]}

    def look(self):
        return {"syscalls": self.syscalls, "instructions": "no counters"}


@test
def system_calls_of_one_task_more_are_told_from_the_rest():
    fake = OneAfterTheOther()
    samples = list(debuggable.measure(fake, fake, {"true": ["true"]}, 4, fake))
    for kind, each in (("off", 40), ("on", 42), ("off again", 40), ("none", 40)):
        assert of_samples.values_of(samples, "task syscalls true", kind, debuggable.SHAPE) == [each] * 4, samples
    rows = {row["name"]: row for row in debuggable.results(samples, True)}
    assert rows["task syscalls true"]["difference"] == 2, rows
    assert rows["task instructions true"]["verdict"] == "not readable here: no counters", rows


@test
def a_start_that_fails_is_no_number():
    fake = OneAfterTheOther()
    fake.fails = ("none",)
    samples = list(debuggable.measure(fake, fake, {"true": ["true"]}, 2))
    assert len([s for s in samples if s["error"] == "refused"]) == 2, samples
    row = next(row for row in debuggable.results(samples, True) if row["name"] == "cpu true")
    assert row["on"] == 3.0 and row["none"] is None, row


@test
def a_start_that_does_not_end_is_not_tried_again():
    for counts in (False, True):
        fake = OneAfterTheOther()
        fake.fails, fake.why = ("none",), cluster_runs.TOO_LONG
        programs = {"true": ["true"], "init": ["init"]}
        samples = list(debuggable.measure(fake, fake, programs, 5, fake if counts else None))
        asked = [each for each in fake.asked if each[0] == "none"]
        assert asked == [("none", 1, "true"), ("none", 1, "init", "bare")], asked
        assert len([s for s in samples if s["error"] == cluster_runs.TOO_LONG]) == 2, samples
        others = [s for s in samples if (s["name"], s["kind"]) == ("start true", "on")]
        assert counts or len(others) == 5, samples


# `pmixhost config --json`, of two options that have the value that the file has; of the caller's file if that is set.
FAKE_PMIXHOST = r"""#!/bin/sh
file=${PMIXHOST_CONFIG_FILE:-$(dirname "$0")/../etc/deep/pmixhost.conf}
one='{"key": "%s", "value": "'$(sed -n 's/^enabled = "\(.*\)"$/\1/p' "$file" 2>/dev/null)'", "source": "file"}'
printf "{\"file\": \"$file\", \"options\": [$one, $one]}" tools.enabled io.copy
"""


@contextlib.contextmanager
def built():
    """A build directory with this pmixhost, and the path of its pmixhost.conf, which is not there."""
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(f"{folder}/inst/bin")
        os.makedirs(f"{folder}/inst/lib/slurm")
        os.makedirs(f"{folder}/inst/etc")
        with open(f"{folder}/inst/bin/pmixhost", "w", encoding="utf-8") as file:
            file.write(FAKE_PMIXHOST)
        os.chmod(f"{folder}/inst/bin/pmixhost", 0o755)
        with open(f"{folder}/inst/lib/slurm/mpi_pmixhost.so", "w", encoding="utf-8"):
            pass
        yield folder, f"{folder}/inst/etc/deep/pmixhost.conf"


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Unexpected(Exception):
    pass


@test
def a_config_file_that_was_not_there_is_gone_with_its_directory():
    for error in (None, Unexpected):
        with built() as (build, path):
            with contextlib.suppress(Unexpected), debuggable.Settings(build) as settings:
                settings.write("something")
                assert text_of(path) == "something" and os.stat(path).st_mode & 0o777 == 0o644
                if error:
                    raise error
            assert os.listdir(f"{build}/inst/etc") == []


@test
def a_config_file_that_was_there_is_put_back_as_it_was():
    for error in (None, Unexpected):
        with built() as (build, path):
            os.mkdir(os.path.dirname(path))
            with open(f"{build}/inst/etc/real.conf", "w", encoding="utf-8") as file:
                file.write("of the site")
            os.chmod(f"{build}/inst/etc/real.conf", 0o640)
            os.symlink("../real.conf", path)
            with contextlib.suppress(Unexpected), debuggable.Settings(build) as settings:
                settings.write("something")
                assert not os.path.islink(path) and text_of(path) == "something"
                if error:
                    raise error
            assert os.readlink(path) == "../real.conf" and text_of(path) == "of the site"
            assert os.stat(path).st_mode & 0o777 == 0o640 and os.listdir(os.path.dirname(path)) == ["pmixhost.conf"]


@test
def what_a_killed_bench_left_aside_is_not_lost():
    with built() as (build, path):
        os.mkdir(os.path.dirname(path))
        with open(path + ".aside", "w", encoding="utf-8") as file:
            file.write("of the site")
        try:
            with debuggable.Settings(build):
                raise AssertionError("it has begun")
        except RuntimeError as error:
            assert "put it back" in str(error)
        assert text_of(path + ".aside") == "of the site"


@test
def a_config_file_that_cannot_be_written_leaves_nothing():
    with built() as (build, path):
        with debuggable.Settings(build) as settings:
            os.remove(path)
            os.mkdir(path)
            try:
                settings.write("something")
                raise AssertionError("it is written over a directory")
            except OSError:
                pass
            assert os.listdir(os.path.dirname(path)) == ["pmixhost.conf"]
            os.rmdir(path)


@test
def a_switch_that_is_not_seen_is_an_error_and_no_file():
    with built() as (build, path):
        with open(f"{build}/inst/bin/pmixhost", "w", encoding="utf-8") as file:
            file.write(FAKE_PMIXHOST.replace('"source": "file"', '"source": "environment"'))
        try:
            with debuggable.Settings(build):
                raise AssertionError("it is used")
        except RuntimeError as error:
            assert "does not see it" in str(error)
        assert not os.path.exists(path)


@test
def the_callers_environment_chooses_no_other_config_file():
    with built() as (build, path):
        os.environ["PMIXHOST_CONFIG_FILE"] = f"{build}/of-the-caller.conf"
        try:
            settings = debuggable.Settings(build)
            assert os.path.samefile(f"{build}/inst/etc", os.path.dirname(os.path.dirname(settings.path))), settings.path
            assert "PMIXHOST_CONFIG_FILE" not in cluster_runs.plain_environment()
            with cluster_runs.Step(["sh", "-c", "echo ${PMIXHOST_CONFIG_FILE-unset}"]) as step:
                assert step.stdout.readline() == "unset\n"
        finally:
            del os.environ["PMIXHOST_CONFIG_FILE"]


@test
def a_step_that_does_not_end_is_ended_with_its_children():
    begin = time.monotonic()
    for ignores in ("", "trap '' TERM; "): # a child that has the output holds its end up
        try:
            with cluster_runs.Step(["sh", "-c", f"{ignores}echo ready; sleep 60 & sleep 60"], 0.2, 0.2) as step:
                assert list(step.stdout) == ["ready\n"]
            raise AssertionError("it has ended")
        except TimeoutError as error:
            assert str(error) == cluster_runs.TOO_LONG
    assert time.monotonic() - begin < 30


@test
def a_step_is_ended_when_it_is_left_by_an_exception():
    begin = time.monotonic()
    try:
        with cluster_runs.Step(["sh", "-c", "sleep 60 & sleep 60"]):
            raise Unexpected
    except Unexpected:
        pass
    assert time.monotonic() - begin < 30


@test
def a_step_that_ends_in_time_has_its_exit_code():
    with cluster_runs.Step(["sh", "-c", "read -r word; exit 3"]) as step:
        print(file=step.stdin, flush=True)
    assert step.program.returncode == 3


@test
def what_hangs_from_outside_is_measured_once():
    report, asked = loaded_report(), []
    bench = report.Bench("/nowhere", {"now": None})

    def hangs(_, kind, shape):
        asked.append((kind, shape))
        raise TimeoutError(cluster_runs.TOO_LONG)
    report.fences_counted = report.memory = hangs
    with contextlib.redirect_stderr(io.StringIO()):
        report.from_outside(bench, (4, 1), 3)
    assert len(asked) == len(set(asked)) + 2 == 5, asked # of pmixhost and pmix both, of none its memory
    assert {("syscalls empty", "pmix", (4, 1)), ("memory pss", "none", (4, 1))} <= bench.hung


@test
def hangups_and_terminations_end_it_in_order():
    report = loaded_report()
    former = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)}
    try:
        for number in former:
            for each in former:
                signal.signal(each, signal.SIG_DFL)
            report.end_on_signals()
            try:
                signal.raise_signal(number)
                raise AssertionError("it goes on")
            except SystemExit as ends:
                assert ends.code == 128 + number
            for each in former: # while it puts away what it has made
                signal.raise_signal(each)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        report.end_on_signals()
        signal.raise_signal(signal.SIGHUP)
    finally:
        for each, what in former.items():
            signal.signal(each, what)


@test
def a_plot_of_nothing_is_refused():
    with tempfile.TemporaryDirectory() as folder:
        plot = f"{folder}/plot.svg"
        with open(plot, "w", encoding="utf-8") as file:
            file.write("drawn before")
        done = subprocess.run([sys.executable, "test/bench/report", folder, "--only-debuggable", "--svg", plot],
                              stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 2 and "--svg" in done.stderr and text_of(plot) == "drawn before", done


class FakeCluster:
    def up(self, *_):
        pass

    down = up


class FakeAllocation(OneAfterTheOther):
    """And a counter; each srun of it works, or none."""
    def __init__(self, *_):
        super().__init__()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class EndedAllocation(FakeAllocation):
    fails, why = ("pmixhost", "none"), "the allocation has ended"


@test
def a_report_without_a_number_has_failed():
    former = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)}
    for allocation, code in ((EndedAllocation, 1), (FakeAllocation, 0)):
        report = loaded_report()
        report.Cluster, report.Allocation, report.Counter = FakeCluster, allocation, FakeAllocation
        report.idle_part = lambda _: 1.0
        arguments, errors = sys.argv, io.StringIO()
        try:
            with built() as (build, _), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
                sys.argv = ["report", build, "--only-debuggable", "--quick"]
                assert report.main() == code, errors.getvalue()
        finally:
            sys.argv = arguments
            for each, what in former.items():
                signal.signal(each, what)
        assert ("without a single number" in errors.getvalue()) == bool(code), errors.getvalue()


@test
def sruns_are_run_one_after_the_other():
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/srun", "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\necho "$@"\nfor last; do :; done\n[ "$last" != fails ]\n')
        os.chmod(f"{folder}/srun", 0o755)
        wish = {"mpi": "none", "hosts": 2, "per": 3, "settles": 0, "limit": 20}
        wishes = "".join(json.dumps(dict(wish, command=[word])) + "\n" for word in ("works", "fails"))
        paths = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}")
        said = subprocess.run([sys.executable, "-B", "test/bench/cluster_runs.py"], input=wishes, check=True, text=True,
                              stdout=subprocess.PIPE, env=paths).stdout
    works, fails = map(json.loads, said.splitlines())
    assert works["took"] > 0 and works["text"] == "--mpi=none -O -N 2 --ntasks-per-node=3 -n 6 works\n", works
    assert [count[0] for count in works["counts"]] == ["cpu", "switches"], works
    assert fails["took"] is None and "fails" in fails["text"], fails


print(f"1..{len(TESTS)}")
for number, each in enumerate(TESTS, 1):
    name = each.__name__.replace("_", " ")
    try:
        each()
        print(f"ok {number} - {name}")
    except Exception: # each test is judged by itself
        print(f"not ok {number} - {name}")
        print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="")
PY
