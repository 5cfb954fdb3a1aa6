"""Reservoir sampling on a stream: the sample changes when a person arrives, and shows who it was.

CM06 section 6. A reservoir (Vitter's Algorithm R) holds a uniform sample of all who have arrived. Whoever sees it before and
after one arrival, and knows who arrived, reads that person's record off whatever is new in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from shoal.chance.source import Source
from shoal.lab.attacks.outcome import AttackResult, AttackSetting, choose_one, compare
from shoal.lab.attacks.population import People, describe, people, safe_counts, safe_method, safe_setting

WANTED = "chapter"
SHOWN = ("age", "income", "stay", WANTED)
"""What the reservoir shows of each person; the last is what the intruder wants."""
Record = tuple[object, ...]
SHARE = 2
"""The reservoir holds one in so many of those who arrive."""
LEVELS = {"age": 4, WANTED: 0}


def watch(setting: AttackSetting) -> AttackResult:
    """Look at a reservoir before and after a person arrives, and at two safe-k releases before and after."""
    places = setting.rows // SHARE
    success: list[list[bool]] = [[], []]
    control: list[list[bool]] = [[], []]
    baseline: list[bool] = []
    lines: list[str] = []
    for run in range(setting.runs):
        source = setting.source(f"reservoir {run}")
        everybody = people(setting.rows + 2, setting.runs * setting.seed + run)
        before, target, stranger = everybody.take(slice(0, setting.rows)), setting.rows, setting.rows + 1
        values = everybody[WANTED].tolist()
        held = fill_reservoir(range(setting.rows), places, source)
        after = arrive(held, target, setting.rows, source)
        records = list(zip(*(everybody[name].tolist() for name in SHOWN), strict=True))
        new = new_record([records[row] for row in held], [records[row] for row in after])
        guess = None if new is None else str(new[-1])
        success[0].append(guess == values[target])
        control[0].append(guess is not None and guess == values[stranger])
        baseline.append(Counter(before[WANTED].tolist()).most_common(1)[0][0] == values[target])
        grown = _grown(before, everybody.take(np.arange(setting.rows + 1)), source)
        success[1].append(grown == values[target])
        control[1].append(grown is not None and grown == values[stranger])
        if guess is not None and len(lines) < 3:
            known = describe(everybody.take([target]).select(("age", "income")))
            lines.append(f"reservoir: the person {known} arrives, and a record of {guess} appears")
    return AttackResult(
        "reservoir",
        "Reservoir sampling: the sample changes when you arrive",
        "CM06 section 6; Vitter 1985",
        f"People arrive one after the other; a reservoir of {places:,} records is public all the time. The intruder knows "
        "who arrives as the last one, and looks before and after. Success: a record appeared, and its diagnosis chapter is "
        "that person's.",
        "Control: the same guess is right about a person who did not arrive. Baseline: the most common chapter so far.",
        (
            compare("reservoir, looked at twice", success[0], control[0], baseline),
            compare("two safe-k releases (ours)", success[1], control[1], baseline),
        ),
        (
            (
                "Each single look is a uniform sample. Two looks around one arrival differ in one record, and only if that "
                f"person was taken in: with probability {places:,}/{setting.rows + 1:,}. Then the intruder is certain, and "
                "right."
            ),
            (
                "Two safe-k releases are drawn from fresh samples, so that what grew between them grew by chance; the one "
                "person who came is lost in it, and both promises add up to (2, 2e-6) for everybody."
            ),
        ),
        setting,
        tuple(lines),
    )


def fill_reservoir(arrivals: Sequence[int], places: int, source: Source) -> list[int]:
    """A uniform sample of so many arrivals, kept up to date at every arrival (Algorithm R).

    >>> sorted(fill_reservoir(range(3), 3, Source.seeded(1)))
    [0, 1, 2]
    """
    held: list[int] = []
    for count, person in enumerate(arrivals):
        held = arrive(held, person, count, source) if count >= places else [*held, person]
    return held


def arrive(held: list[int], person: int, before: int, source: Source) -> list[int]:
    """The reservoir after one more arrival: with probability places/(before + 1) the person takes a random place."""
    place = choose_one(source, before + 1)
    return [*held[:place], person, *held[place + 1 :]] if place < len(held) else held


def new_record(before: Sequence[Record], after: Sequence[Record]) -> Record | None:
    """The record that a sample has once more than before; None where none or several appeared.

    >>> new_record([(30, "A"), (40, "B")], [(30, "A"), (50, "C")])
    (50, 'C')
    """
    found = Counter(after) - Counter(before)
    return next(iter(found)) if sum(found.values()) == 1 else None


def _grown(before: People, after: People, source: Source) -> str | None:
    """The chapter whose published rows grew most between two safe-k releases; None where nothing grew."""
    method = safe_method(LEVELS, safe_setting())
    totals: list[Counter[str]] = []
    for own in (before, after):
        counts, total = safe_counts(own, method, source), Counter[str]()
        for chapter, rows in zip(counts.tuples[1], counts.counts.tolist(), strict=True):
            total[str(chapter)] += rows
        totals.append(total)
    grown = (totals[1] - totals[0]).most_common(1)
    return grown[0][0] if grown else None
