"""Homogeneity: a class of k people who all have the same confidential value tells it of each of them.

Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam 2007. k-anonymity says nothing of confidential values; l-diversity asks
for several in every class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from shoal.anonymize.cluster.clustering import Clustering
from shoal.anonymize.cluster.diversify import DiversityRequirement
from shoal.anonymize.method.microaggregation import Microaggregation
from shoal.assess.quantity import Quantity
from shoal.chance.source import Source
from shoal.guarantee.unit import Unit
from shoal.lab.attacks.outcome import AttackResult, AttackSetting, choose_one, compare
from shoal.lab.attacks.population import (
    Array,
    People,
    describe,
    labels_of,
    people,
    safe_counts,
    safe_method,
    safe_setting,
    schema,
)

KNOWN, WANTED = ("age", "income"), "insurance"
K, L = 3, 2
TABLES = 4
LEVELS = {"age": 4, "income": 2}
"""The levels of the safe release."""
PossibleValues = Callable[[People], frozenset[str]]
"""The confidential values that a release leaves possible for one person: those of the class that the person falls into."""
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


def read_homogeneous(setting: AttackSetting) -> AttackResult:
    """Look up the class of a person, and read their insurance where all of the class have the same."""
    everybody = [people(2 * setting.rows, TABLES * setting.seed + number) for number in range(TABLES)]
    outcomes, lines, shares = [], [], []
    for name, least in (
        (f"Mondrian, k = {K}", None),
        (f"Mondrian, k = {K}, with l = {L}", L),
        ("safe-k rows (ours)", 0),
    ):
        releases = []
        for number, each in enumerate(everybody):
            for half in range(2):
                own = each.take(slice(half * setting.rows, (half + 1) * setting.rows))
                source = setting.source(f"{name} {number} {half}")
                releases.append(
                    safe_values(own, {**LEVELS, WANTED: 0}, source)
                    if least == 0
                    else mondrian_values(own, KNOWN, WANTED, K, source, least)
                )
        chance = setting.source(f"targets {name}")
        success, control = [], []
        for _ in range(setting.runs):
            at, half = choose_one(chance, TABLES), choose_one(chance, 2)
            target = everybody[at].take([half * setting.rows + choose_one(chance, setting.rows)])
            theirs, other = 2 * at + half, 2 * at + 1 - half
            success.append(is_told(releases[theirs : theirs + 1], target, WANTED))
            control.append(is_told(releases[other : other + 1], target, WANTED))
            if success[-1] and sum(success) <= 2:
                lines.append(f"{name}: a person {describe(target.select(KNOWN))}: insurance {target[WANTED][0]}")
        outcomes.append(compare(name, success, control, of="targets"))
        if least is None:
            shares = [is_told(releases[:1], everybody[0].take([row]), WANTED) for row in range(setting.rows)]
    return AttackResult(
        "homogeneity",
        "Homogeneity: the whole class has one value",
        "Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam 2007",
        "The intruder knows age and income of a person who is in the table, and finds the class that they fall into. "
        "Success: all published rows of the class have one kind of insurance, and it is the person's.",
        "Control: the same people, looked up in a release of as many others of the same population, in which they are not. "
        f"Targets are drawn at random from {2 * TABLES} generated tables, which the intervals are about.",
        tuple(outcomes),
        (
            (
                f"k-anonymity hides which of {K} rows or more is the person's. Where all of them have one value, nothing is "
                "hidden by that. A homogeneous class of other people is often right about a person too: that part is what "
                "people of one age and income have in common, and a release without it would be of no use. The rest comes "
                "from being in the table."
            ),
            (
                f"With l = {L} every class holds {L} values or more, so the intruder is never certain. Being nearly sure is "
                "not prevented by it; t-closeness and differential privacy limit that."
            ),
            (
                "A safe-k class that shows one value says that others were too few in the sample. Differential privacy does not "
                "prevent that, nor that it is right: it limits what a person's own row adds to it. That is not nothing, since "
                "the row is one of those that are counted, and with many more runs than here a small advantage may show."
            ),
        ),
        setting,
        tuple(lines),
        (
            (
                "share of the first table's people whose class tells their insurance",
                Quantity.fact(sum(shares) / len(shares), f"Mondrian, k = {K}, everybody looked up"),
            ),
        ),
    )


def mondrian_values(
    own: People, known: Sequence[str], wanted: str, k: int, source: Source, diversity: int | None = None
) -> PossibleValues:
    """The classes of a k-anonymous release by strict Mondrian, each with the ranges that it shows."""
    clustering = Clustering(k, "strict_mondrian", requirement=DiversityRequirement(l=diversity))
    method = Microaggregation(clustering, "label", Unit.row("add_remove"))
    shown = method.run(own.table(schema(known, (wanted,))), source.stream("mondrian")).table.collect([*known, wanted])
    held = _collect([shown[name] for name in (*known, wanted)])
    boxes = np.array([[_ends(label) for label in labels] for labels in held])
    values = list(held.values())
    units = np.maximum(np.array([float(np.std(own[name].astype(np.float64))) for name in known]), 1e-9)

    def possible(person: People) -> frozenset[str]:
        place = np.array([float(person[name][0]) for name in known])
        apart = np.maximum(0, np.maximum(boxes[:, :, 0] - place, place - boxes[:, :, 1])) / units
        return values[int((apart**2).sum(axis=1).argmin())]

    return possible


def safe_values(own: People, levels: Mapping[str, int], source: Source) -> PossibleValues:
    """The same of a safe-k release, whose last column is the confidential one; nothing where a class is not published."""
    held = _collect(safe_counts(own, safe_method(levels, safe_setting()), source).tuples)
    known = dict(list(levels.items())[:-1])
    return lambda person: held.get(labels_of(person, known)[0], frozenset())


def is_told(releases: Sequence[PossibleValues], person: People, wanted: str) -> bool:
    """Whether the classes of a person in all releases have one value in common, and it is the person's."""
    common = frozenset.intersection(*(possible(person) for possible in releases))
    return common == {str(person[wanted][0])}


def _collect(columns: Sequence[Array]) -> dict[tuple[str, ...], frozenset[str]]:
    """For the labels of each published class the values of the last column that it holds."""
    found: dict[tuple[str, ...], set[str]] = {}
    for row in zip(*(map(str, column) for column in columns), strict=True):
        found.setdefault(row[:-1], set()).add(row[-1])
    return {labels: frozenset(values) for labels, values in found.items()}


def _ends(label: str) -> tuple[float, float]:
    """The ends of a range of numbers; one number is both.

    >>> _ends("[20, 31.5]"), _ends("7")
    ((20.0, 31.5), (7.0, 7.0))
    """
    found = [float(text) for text in _NUMBER.findall(label)]
    return found[0], found[-1]
