"""Record linkage: the intruder knows some attributes of a person, and takes the nearest published record for theirs.

Sweeney 2002 linked hospital records without names to a voters' register. Here the intruder knows age, income and nights in
hospital, and wants the diagnosis. RL, the share of records that are matched to their own, is `assess.distortion.linkage`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from shoal.anonymize.cluster.clustering import Clustering
from shoal.anonymize.method.microaggregation import Microaggregation
from shoal.anonymize.treatment.rounding import Rounding
from shoal.assess.distortion.linkage import linkage as record_linkage
from shoal.assess.quantity import Quantity
from shoal.chance.source import Source
from shoal.guarantee.unit import Unit
from shoal.lab.attacks.outcome import AttackResult, AttackSetting, choose_one, compare
from shoal.lab.attacks.population import (
    ATTRIBUTES,
    CHAPTERS,
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

KNOWN, WANTED = ("age", "income", "stay"), "chapter"
K = 5
TABLES = 4
"""Generated tables; each target is drawn from one of them."""
BASES = {"age": Fraction(5), "income": Fraction(1000), "stay": Fraction(2)}
"""What the rounding rounds to."""
Guess = Callable[[People, Source], str | None]
"""From what is known of one person: the diagnosis that the intruder names; None where the release says nothing."""


def link(setting: AttackSetting) -> AttackResult:
    """Run the attack on rows without names, on rounded ones, on MDAV's centroids, and on safe-k rows."""
    sources = [setting.source(f"linkage {number}") for number in range(TABLES)]
    everybody = [people(2 * setting.rows, TABLES * setting.seed + number) for number in range(TABLES)]
    inside = [each.take(slice(0, setting.rows)) for each in everybody]
    outside = [each.take(slice(setting.rows, None)) for each in everybody]
    methods: dict[str, Callable[[People, Source], Guess]] = {
        "rows without names": lambda own, _: nearest_of(own.select(KNOWN).columns, own[WANTED]),
        "rounded values": _rounded,
        f"MDAV centroids, k = {K}": _centroids,
        "safe-k rows (ours)": _safe,
    }
    common = [Counter(each[WANTED].tolist()).most_common(1)[0][0] for each in outside]
    outcomes, lines = [], []
    for name, method in methods.items():
        guesses = [method(own, source) for own, source in zip(inside, sources, strict=True)]
        chance = setting.source(f"targets {name}")
        hits: tuple[list[bool], list[bool], list[bool]] = ([], [], [])
        for run in range(setting.runs):
            at, row, other = (
                choose_one(chance, TABLES),
                choose_one(chance, setting.rows),
                choose_one(chance, setting.rows),
            )
            target, stranger = inside[at].take([row]), outside[at].take([other])
            guess = guesses[at](target.select(KNOWN), chance)
            hits[0].append(guess == target[WANTED][0])
            hits[1].append(guesses[at](stranger.select(KNOWN), chance) == stranger[WANTED][0])
            hits[2].append(common[at] == target[WANTED][0])
            if run < 2:
                lines.append(_line(name, target, guess))
        outcomes.append(compare(name, *hits, of="targets"))
    return AttackResult(
        "linkage",
        "Record linkage: whose record is nearest?",
        "Sweeney 2002; SC13 section 6.4.2",
        "The intruder knows age, income and nights of a person, takes the nearest published record (one of the nearest at "
        "random), and names its diagnosis chapter. Success: the chapter is right.",
        f"Control: the same guess about people who are not in the table. Baseline: the most common of {len(CHAPTERS)} "
        f"chapters. Targets are drawn at random from {TABLES} generated tables.",
        tuple(outcomes),
        (
            (
                "Without names, three exact numbers are still a name: hardly two people share them. Rounding each value by "
                "itself leaves most combinations unique."
            ),
            (
                f"MDAV shows one centroid for {K} records, so the own record is one of {K} at best; what is left is the "
                "diagnosis, which is published as it is beside the centroid."
            ),
            (
                "Safe-k rows show classes of a random sample. Whether the target was sampled is not known, and what a "
                "class says holds of people outside the table nearly as well as of those inside."
            ),
        ),
        setting,
        tuple(lines),
        (("records matched to their own in the first table, MDAV, percent", _matched(inside[0], sources[0])),),
    )


def _line(name: str, target: People, guess: str | None) -> str:
    right = "nothing" if guess is None else f"{guess} ({'right' if guess == target[WANTED][0] else 'wrong'})"
    return f"{name}: a person {describe(target.select(KNOWN))}: {right}"


def nearest_of(published: Any, wanted: Array) -> Guess:
    """Name what one of the nearest published records shows, in units of each attribute's standard deviation."""
    records = np.column_stack([np.asarray(published[name], dtype=np.float64) for name in KNOWN])
    units = np.maximum(records.std(axis=0), 1e-9)

    def guess(person: People, source: Source) -> str | None:
        own = np.array([float(person[name][0]) for name in KNOWN])
        far = (((records - own) / units) ** 2).sum(axis=1)
        near = np.flatnonzero(far <= far.min() * (1 + 1e-9) + 1e-18)
        return str(wanted[near[choose_one(source, len(near))]])

    return guess


def _rounded(own: People, source: Source) -> Guess:
    shown: dict[str, Any] = dict(own.columns)
    for name, base in BASES.items():
        shown = {**shown, **Rounding(ATTRIBUTES[name], base).apply(shown, source)}
    return nearest_of(shown, own[WANTED])


def masked_centroids(own: People, source: Source) -> Any:
    """What MDAV publishes of the known attributes, with the wanted one as it is, in the order of the input."""
    method = Microaggregation(Clustering(K), "centroid", Unit.row("add_remove"))
    return method.run(own.table(schema(KNOWN, (WANTED,))), source.stream("mdav")).table.collect([*KNOWN, WANTED])


def _centroids(own: People, source: Source) -> Guess:
    shown = masked_centroids(own, source)
    return nearest_of(shown, shown[WANTED])


def _matched(own: People, source: Source) -> Quantity:
    shown = masked_centroids(own, source)
    found = record_linkage({name: own[name] for name in KNOWN}, {name: shown[name] for name in KNOWN})
    return Quantity.fact(
        found.rate,
        f"percentage of masked records that the nearest original matches to their own; guessing reaches {found.guessing:.2g}",
    )


def _safe(own: People, source: Source) -> Guess:
    levels = {"age": 4, "income": -1, "stay": -1, WANTED: 0}
    counts = safe_counts(own, safe_method(levels, safe_setting()), source)
    ages, chapters = counts.tuples[0], counts.tuples[3]

    def guess(person: People, source: Source) -> str | None:  # noqa: ARG001 - of one class the most common is taken
        own = np.flatnonzero(ages == labels_of(person, {"age": levels["age"]})[0][0])
        return str(chapters[own[int(counts.counts[own].argmax())]]) if len(own) else None

    return guess
