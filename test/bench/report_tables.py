"""What test/bench/report makes of its samples: rows of results, as text and as a plot, and how far aims are missed."""
import math

from samples import median, part, unreadable, values_of, width

TOO_FAR = 0.5 # width of what is not judged, as a part of what is compared

# From so many hosts on, the ratio to the in-tree's.
FENCE_AIM = {1: 1.0, 2: 0.9, 4: 0.7}


def start_counts(program, title):
    """Rows of what the whole machine does for a srun."""
    return {f"cpu {program}": (f"{title}: processor time", "ms", "over none", None),
            f"switches {program}": (f"{title}: switches", "", "over none", None),
            f"syscalls {program}": (f"{title}: system calls", "", "over none", None),
            f"instructions {program}": (f"{title}: instructions", "1000", "over none", None)}


def fence_counts(data, title):
    """Rows of what the servers of rank 0's host do for a fence."""
    return {f"cpu {data}": (f"server's CPU, {title}", "us", f"cpu {data}", 0.5),
            f"switches {data}": (f"its switches, {title}", "", f"switches {data}", None),
            f"syscalls {data}": (f"its system calls, {title}", "", f"syscalls {data}", None),
            f"instructions {data}": (f"its instructions, {title}", "1000", f"instructions {data}", None)}


# measurement: (title, unit, compare pmixhost's with the in-tree's of this name, aim)
ROWS = {
    "start true": ("srun true", "ms", "over none", 0.4),
    **start_counts("true", "srun true"),
    "start init": ("srun, PMIx_Init + Finalize", "ms", "over none", 0.4),
    **start_counts("init", "PMIx_Init"),
    # Open MPI's own start is in both, and no host can shorten it: no aim.
    "start mpi": ("srun, MPI_Init + Finalize", "ms", "over none", None),
    "fence nodata": ("fence without data (a barrier)", "us", "fence empty", FENCE_AIM),
    "fence empty": ("fence, collecting nothing", "us", "fence empty", FENCE_AIM),
    "fence 64": ("put, commit, fence, 64 B of each", "us", "fence 64", FENCE_AIM),
    "fence 4096": ("put, commit, fence, 4 KiB of each", "us", "fence 4096", FENCE_AIM),
    **fence_counts("empty", "fence of nothing"),
    **fence_counts("64", "fence of 64 B"),
    **fence_counts("4096", "fence of 4 KiB"),
    # By pmixhost alone: the in-tree plugin builds no groups.
    "group construct": ("group with a context id over a fence", "us", "own group fence", 1.2),
    "modex": ("direct modex, 64 B", "us", "modex", 0.5),
    "modex first": ("direct modex, the first", "us", "modex first", None),
    "memory pss": ("server memory of a host, PSS", "MiB", "memory pss", None),
    "memory own": ("server memory of a host, private", "MiB", "memory own", None),
}


def run_of(name):
    """The name under which the errors of the run are kept that a measurement comes from (test/bench/report)."""
    first, *rest = name.split()
    last = " ".join(rest)
    if last in ("true", "init"):
        return f"start {last}"
    if first in ("syscalls", "instructions"):
        return "syscalls empty"
    return {"fence": "fence empty", "cpu": "fence empty", "switches": "fence empty", "group": "group construct",
            "modex": "modex", "memory": "memory pss"}.get(first, name)


def verdict(ratio, aim, spreads):
    if ratio is None or aim is None:
        return ""
    if any(each is not None and each > TOO_FAR for each in spreads):
        return "not judged"
    return "met" if ratio <= aim else "MISSED"


class Cost:
    """Values, and where it is what they are over a base that counts, the base's (else None)."""
    def __init__(self, values, base=None):
        self.values, self.base = values, base

    def middle(self):
        """None where it cannot be known."""
        whole = median(self.values)
        if self.base is None or whole is None:
            return whole
        return whole - median(self.base) if self.base else None

    def spread(self):
        """As a part of the middle: of what is over a base, a small difference of large times, both count."""
        return part(width(self.values) + width(self.base or []), self.middle())

    def ratio_to(self, other):
        if None in (self.middle(), other.middle()) or other.middle() <= 0:
            return None
        return self.middle() / other.middle()


def row_of(samples, name, shape, hosts, before, trusted):
    """What one measurement says of a shape; None where nobody has a number."""
    title, unit, versus, aims = ROWS[name]

    def values(kind, of=name): # nothing here costs nothing: 0 is what a bench has of a server that it cannot read
        return [value for value in values_of(samples, of, kind, shape) if value]

    def cost(kind, base="none", of=name):
        return Cost(values(kind, of), values(base) if versus == "over none" else None)

    def theirs_for(kind):
        if versus.startswith("own "):
            return cost(kind, of=versus[len("own "):])
        return cost("pmix", of=name if versus == "over none" else versus)

    ours, theirs = cost("pmixhost"), theirs_for("pmixhost")
    earlier = cost("before", "none before") if before else Cost([])
    if not (ours.values or theirs.values or earlier.values):
        return None
    ratio = ours.ratio_to(theirs)
    aim = aims[max(n for n in aims if n <= hosts)] if isinstance(aims, dict) else aims
    judged = verdict(ratio, aim, [ours.spread(), theirs.spread()] if trusted else [math.inf])
    row = {"name": name, "title": title, "shape": shape, "unit": unit, "pmixhost": median(ours.values),
           "in_tree": median(theirs.values), "in_tree_of": versus, "none": median(values("none")), "ratio": ratio,
           "aim": aim, "spread": part(width(ours.values), median(ours.values)),
           "spread_in_tree": part(width(theirs.values), median(theirs.values)), "verdict": judged,
           "above_aim": None if None in (ratio, aim) else max(ratio - aim, 0),
           "too_much": None if None in (ratio, aim) else max(ratio - aim, 0) * theirs.middle()}
    if before:
        row.update(before=median(earlier.values), spread_before=part(width(earlier.values), median(earlier.values)),
                   none_before=median(values("none before")), ratio_before=earlier.ratio_to(theirs_for("before")),
                   to_before=ours.ratio_to(earlier))
    return row


def results(samples, shapes, before, trusted):
    """A row for each measurement and shape. With before its own ratio, and ours to it. Nothing is judged unless the
    samples are trusted."""
    rows = []
    for name, (title, unit, _, _) in ROWS.items():
        why = unreadable(samples, name)
        if why:
            rows.append({"name": name, "title": title, "unit": unit, "ratio": None, "verdict": why})
            continue
        for hosts, per in shapes:
            row = row_of(samples, name, f"{hosts}x{per}", hosts, before, trusted)
            if row:
                rows.append(row)
    return rows


def number(value):
    return "-" if value is None else f"{value:.1f}"


def ratio_text(value):
    return "-" if value is None else f"{value:.2f}"


def percent(value):
    return "" if value is None else f"{value / 2:.0%}"


def show(rows, before):
    """The table."""
    was = f"{'before':>10} {'+-':>5} " if before else ""
    ratios = f"{'before':>6} {'ratio':>6} {'to bef.':>7}" if before else f"{'ratio':>6}"
    print(f"{'':40} {'shape':>6} {was}{'pmixhost':>10} {'+-':>5} {'in-tree':>10} {'+-':>5} {'none':>8} "
          f"{ratios}  {'aim':>5}")
    for row in rows:
        heading = f"{row['title']}, {row['unit']}" if row["unit"] else row["title"]
        if "shape" not in row:
            print(f"{heading:40} {row['verdict']}")
            continue
        aim = "" if row["aim"] is None else f"<={row['aim']}"
        was, ratios = "", f"{ratio_text(row['ratio']):>6}"
        if before:
            was = f"{number(row['before']):>10} {percent(row['spread_before']):>5} "
            ratios = f"{ratio_text(row['ratio_before']):>6} {ratios} {ratio_text(row['to_before']):>7}"
        print(f"{heading:40} {row['shape']:>6} {was}{number(row['pmixhost']):>10} {percent(row['spread']):>5} "
              f"{number(row['in_tree']):>10} {percent(row['spread_in_tree']):>5} {number(row['none']):>8} "
              f"{ratios}  {aim:>5} {row['verdict']}")
    print("ratio: pmixhost / in-tree; for srun of what both add to --mpi=none, under which the same program is\n"
          "loaded and ends. The in-tree fence without data is no barrier, so ours is compared with its\n"
          "collecting fence. Groups: compared with our own fence.\n"
          "Counts of a srun: of the whole machine, with all that it does beside; of a fence: of the servers of rank\n"
          "0's host, for each fence.\n"
          "+-: half of the width of the middle half of the runs.")
    if before:
        print("before: the build of --before, on a cluster of its own that is there at the same time, and its ratio\n"
              "to the same in-tree runs, over the --mpi=none of its own cluster; to bef.: pmixhost / before.")
        same = [row["none_before"] / row["none"] for row in rows
                if row["name"].startswith("start ") and row.get("none_before") and row.get("none")]
        if same:
            print(f"--mpi=none on the cluster of before took {min(same):.2f} to {max(same):.2f} of what it took on the "
                  "other: what two clusters make of no difference.")


def aims(rows, samples, trusted):
    """Lines that say which aims are met, and how far from them are those that are missed."""
    aimed = [row for row in rows if row.get("aim") is not None]

    def of(wanted):
        return [row for row in aimed if row["ratio"] is not None and row["verdict"] == wanted]

    def far(row):
        text = (f"{row['title']}, {row['shape']}: {row['ratio']:.2f}, and {row['aim']} is the aim: "
                f"{row['above_aim']:.2f} too much ({row['above_aim'] / row['aim']:.0%} of the aim, "
                f"{row['too_much']:.1f} {row['unit']})")
        return text if row.get("ratio_before") is None else f"{text}; before {row['ratio_before']:.2f}"

    def errors_of(name, shape):
        return {(s["kind"], " ".join(s["error"].split())[:80]) for s in samples
                if s["error"] and (s["name"], s["shape"]) == (name, shape)}

    def why_not(row):
        errors = errors_of(row["name"], row["shape"]) or errors_of(run_of(row["name"]), row["shape"])
        return "; ".join(f"{kind}: {error}" for kind, error in sorted(errors)) or "not measured"

    unjudged, numberless = of("not judged"), [row for row in aimed if row["ratio"] is None]
    lines = [f"AIMS: {len(of('met'))} met, {len(of('MISSED'))} MISSED, {len(unjudged)} not judged, "
             f"{len(numberless)} without a ratio"]
    lines += [f"  MISSED: {far(row)}" for row in of("MISSED")]
    above = [row for row in unjudged if row["above_aim"]]
    if above:
        lines.append("  not judged, since the runs spread too far, and above the aim by their medians:" if trusted else
                     "  not judged, since the machine has other work, and above the aim by their medians:")
        lines += [f"    {far(row)}" for row in above]
    lines += [f"  without a ratio: {row['title']}, {row['shape']}: {why_not(row)}" for row in numberless]
    return lines


def plot(rows, shapes, before):
    """A page of bars: the ratio of each row by shape, with its aim; below the line is cheaper than the in-tree's. With
    before a second, pale bar has its ratio, and the numbers stand beside."""
    drawn = [row for row in rows if row["ratio"] is not None or row.get("ratio_before") is not None]
    names = list(dict.fromkeys(row["name"] for row in drawn))
    bar, left, line, most = 14, 330, 34, 2.0
    width_of_bars, one, beside = 560, len(shapes) * bar + line, 360 if before else 90
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width_of_bars + beside}" '
           f'height="{len(names) * one + 40}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>']

    def at(ratio):
        return left + width_of_bars * min(max(ratio, 0), most) / most

    def bar_of(ratio, y, height, fill):
        return f'<rect x="{left}" y="{y}" width="{at(ratio) - left:.1f}" height="{height}" fill="{fill}"/>'
    for place, name in enumerate(names):
        top = 20 + place * one
        out.append(f'<text x="10" y="{top + 12}" font-weight="bold">{ROWS[name][0]}</text>')
        for place_of_row, row in enumerate(row for row in drawn if row["name"] == name):
            y, ratio, was = top + place_of_row * bar, row["ratio"], row.get("ratio_before")
            color = {"met": "#2a7f4f", "MISSED": "#b5482a"}.get(row["verdict"], "#7a7a7a")
            out.append(f'<text x="{left - 8}" y="{y + 11}" text-anchor="end">{row["shape"]}</text>')
            said = ratio_text(ratio)
            if before:
                said += (f', before {ratio_text(was)} ({number(row["pmixhost"])}, before {number(row["before"])}, '
                         f'in-tree {number(row["in_tree"])} {row["unit"]})')
            if was is not None:
                out.append(bar_of(was, y + 9, bar - 10, "#b9c6d8"))
            if ratio is not None:
                out.append(bar_of(ratio, y + 2, bar - (7 if before else 3), color))
            end = max(at(each) for each in (ratio, was) if each is not None)
            out.append(f'<text x="{end + 6:.1f}" y="{y + 11}">{said}</text>')
            if row["aim"] is not None:
                x = at(row["aim"])
                out.append(f'<line x1="{x:.1f}" y1="{y}" x2="{x:.1f}" y2="{y + bar}" stroke="black"/>')
        out.append(f'<line x1="{at(1):.1f}" y1="{top}" x2="{at(1):.1f}" y2="{top + len(shapes) * bar}" '
                   'stroke="#999" stroke-dasharray="3 3"/>')
    out.append(f'<text x="10" y="{20 + len(names) * one + 8}">pmixhost / in-tree mpi/pmix, of medians; dashed: equal; '
               f'black: the aim; grey: no aim, or not judged{"; pale: before" if before else ""}</text></svg>')
    return "\n".join(out) + "\n"
