"""What benches make of their samples: medians, how far they spread, and how far chance alone gets."""
import random
import statistics

UNREADABLE = "not readable here"


def values_of(samples, name, kind, shape):
    """Zeros are among them: a task more may cost no system call."""
    return [s["value"] for s in samples
            if (s["name"], s["kind"], s["shape"]) == (name, kind, shape) and s["value"] is not None]


def unreadable(samples, name):
    """Why the machine does not let it be read; None where anybody has a number, or has failed otherwise."""
    of_it = [s for s in samples if s["name"] == name]
    why = [s["error"] for s in of_it if (s["error"] or "").startswith(UNREADABLE)]
    return why[0] if why and all(s["value"] is None for s in of_it) else None


def median(values):
    return statistics.median(values) if values else None


def width(values):
    """How far apart the middle half of them is (of few: all); 0 for one or none."""
    if len(values) < 2:
        return 0
    low, _, high = statistics.quantiles(values, n=4) if len(values) > 3 else (min(values), 0, max(values))
    return high - low


def part(width_of_it, of):
    return width_of_it / of if of and of > 0 else None


def chance(ours, theirs):
    """Below which 99 of 100 ratios of medians are where who is who has no meaning: the samples of both are dealt out
    to them anew, 2000 times. They are above 0."""
    both = ours + theirs
    ratios = []
    for _ in range(2000):
        random.shuffle(both)
        ratios.append(statistics.median(both[:len(ours)]) / statistics.median(both[len(ours):]))
    return statistics.quantiles(ratios, n=100)[98]
