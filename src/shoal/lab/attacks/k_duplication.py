"""k-duplication: a table that is k-anonymous in every column, and holds records as they are.

LQS10 Algorithm 1: cluster records into groups of k, take one record of each at random, and publish it k times. Every published
row has k − 1 others that are equal, so k-anonymity holds; each of them is one person's record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from shoal.anonymize.cluster.clustering import Clustering
from shoal.anonymize.cluster.mdav import Labels
from shoal.assess.quantity import Quantity
from shoal.chance.source import Source
from shoal.lab.attacks.linkage import masked_centroids
from shoal.lab.attacks.outcome import AttackResult, AttackSetting, choose_one, compare
from shoal.lab.attacks.population import (
    ATTRIBUTES,
    Array,
    People,
    describe,
    labels_of,
    people,
    safe_counts,
    safe_method,
    safe_setting,
)

KNOWN, WANTED = ("age", "income", "stay"), "chapter"
K = 5
TABLES = 4
Naming = Callable[[Source, People], tuple[int, str] | None]
"""From a register of people: whom the intruder names for a published record, and its chapter; None for no record."""


def point_at_records(setting: AttackSetting) -> AttackResult:
    """Take a published record, and name the person of a register whose it is."""
    everybody = [people(2 * setting.rows, TABLES * setting.seed + number) for number in range(TABLES)]
    methods: dict[str, Callable[[People, Source], Naming]] = {
        f"k-duplication, k = {K}": lambda own, source: _name_nearest(duplicated(own, K, source)),
        f"MDAV centroids, k = {K}": lambda own, source: _name_nearest(masked_centroids(own, source)),
        "safe-k rows (ours)": _name_by_class,
    }
    outcomes, lines = [], []
    for name, method in methods.items():
        namings = []
        for number, each in enumerate(everybody):
            namings.append(method(each.take(slice(0, setting.rows)), setting.source(f"{name} {number}")))
        chance = setting.source(f"records {name}")
        hits: tuple[list[bool], list[bool], list[bool]] = ([], [], [])
        for run in range(setting.runs):
            at = choose_one(chance, TABLES)
            strangers = everybody[at].take(slice(setting.rows, None))
            found = namings[at](chance, everybody[at])
            hits[0].append(found is not None and everybody[at][WANTED][found[0]] == found[1])
            control = namings[at](chance, strangers)
            hits[1].append(control is not None and strangers[WANTED][control[0]] == control[1])
            anybody = choose_one(chance, len(everybody[at]))
            hits[2].append(found is not None and everybody[at][WANTED][anybody] == found[1])
            if run < 2:
                lines.append(_line(name, everybody[at], found))
        outcomes.append(compare(name, *hits, of="published records"))
    first = duplicated(everybody[0].take(slice(0, setting.rows)), K, setting.source(f"k-duplication, k = {K} 0"))
    return AttackResult(
        "k-duplication",
        "k-duplication: k equal rows, all of them one person's",
        "LQS10 Algorithm 1",
        "The intruder has a register of twice as many people as the table, takes a published record at random, and names "
        "the person whose age, income and nights are nearest to it. Success: the diagnosis chapter of the record is that "
        "person's.",
        "Control: the same with a register of people who are not in the table. Baseline: naming anybody of the register. "
        f"Records are drawn at random from the releases of {TABLES} generated tables.",
        tuple(outcomes),
        (
            (
                f"Every class of the duplicated table has {K} equal rows, counted on all columns, so it is k-anonymous. "
                "k-anonymity counts equal rows of the output and does not ask from how many people they come."
            ),
            (
                "A centroid is nobody's record, so MDAV resists this attack better, and linkage (`shoal attack linkage`) "
                "is the one to try on it. A safe-k class holds as many sampled people as it has rows, and shows nothing "
                "but labels that were fixed in advance."
            ),
        ),
        setting,
        tuple(lines),
        (("smallest class of the first duplicated table, in all columns", _smallest_class(first)),),
    )


def duplicate_rows(labels: Labels, k: int, source: Source) -> Array:
    """The rows of a k-duplication: one of each cluster at random, k times.

    >>> sorted(duplicate_rows(np.array([0, 0, 1, 1]), 2, Source.seeded(1)).tolist()) in (
    ...     [0, 0, 2, 2],
    ...     [0, 0, 3, 3],
    ...     [1, 1, 2, 2],
    ...     [1, 1, 3, 3],
    ... )
    True
    """
    chosen = []
    for cluster in range(int(labels.max()) + 1):
        members = np.flatnonzero(labels == cluster)
        chosen += [int(members[choose_one(source, len(members))])] * k
    return np.array(chosen)


def duplicated(own: People, k: int, source: Source) -> Mapping[str, Any]:
    """What k-duplication publishes: records in clusters of MDAV, one of each k times."""
    attributes = [ATTRIBUTES[name] for name in KNOWN]
    labels = Clustering(k).clusters(attributes, {name: own[name] for name in KNOWN}, source.stream("mdav"))
    return own.take(duplicate_rows(labels, k, source.stream("representatives"))).columns


def _smallest_class(shown: Mapping[str, Any]) -> Quantity:
    rows = list(zip(*(shown[name].tolist() for name in (*KNOWN, WANTED)), strict=True))
    return Quantity.fact(min(Counter(rows).values()), f"rows that are equal in all {len(KNOWN) + 1} columns")


def _name_nearest(shown: Mapping[str, Any]) -> Naming:
    records = np.column_stack([np.asarray(shown[name], dtype=np.float64) for name in KNOWN])
    units = np.maximum(records.std(axis=0), 1e-9)

    def name_one(source: Source, register: People) -> tuple[int, str] | None:
        row = choose_one(source, len(records))
        known = np.column_stack([np.asarray(register[name], dtype=np.float64) for name in KNOWN])
        far = (((known - records[row]) / units) ** 2).sum(axis=1)
        near = np.flatnonzero(far <= far.min() * (1 + 1e-9) + 1e-18)
        return int(near[choose_one(source, len(near))]), str(shown[WANTED][row])

    return name_one


def _name_by_class(own: People, source: Source) -> Naming:
    levels = {"age": 4, "income": -1, "stay": -1, WANTED: 0}
    counts = safe_counts(own, safe_method(levels, safe_setting()), source)
    rows = np.repeat(np.arange(len(counts)), counts.counts)

    def name_one(source: Source, register: People) -> tuple[int, str] | None:
        if not len(rows):
            return None
        at = int(rows[choose_one(source, len(rows))])
        inside = [label[0] == counts.tuples[0][at] for label in labels_of(register, {"age": levels["age"]})]
        members = np.flatnonzero(inside)
        if not len(members):
            return None
        return int(members[choose_one(source, len(members))]), str(counts.tuples[3][at])

    return name_one


def _line(name: str, register: People, found: tuple[int, str] | None) -> str:
    if found is None:
        return f"{name}: no record is published"
    person = register.take([found[0]])
    right = "right" if person[WANTED][0] == found[1] else "wrong"
    return f"{name}: the record is that of the person {describe(person.select(KNOWN))}: {found[1]} ({right})"
