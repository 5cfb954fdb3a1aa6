"""The extreme value: a published range ends at somebody's value, and everybody knows whose it is.

LQS10 section 3, Algorithm 2 (clustering and local recoding, such as Mondrian): of 20 records with the range [900K, 35M] the
35M is the net worth of the one person who is known to be that rich. Ends that are declared beforehand are nobody's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from shoal.anonymize.cluster.clustering import Clustering, Grouping
from shoal.anonymize.generalize.search.requirement import Requirement
from shoal.anonymize.generalize.tree.safe_tree import SafeTree
from shoal.anonymize.method.k_anonymity import FullDomain
from shoal.anonymize.method.microaggregation import Microaggregation
from shoal.anonymize.method.safe_k import SafeK
from shoal.chance.source import Source
from shoal.engine.base import Table
from shoal.guarantee.differential import ApproxDP
from shoal.guarantee.safe_k.setting import solve
from shoal.guarantee.unit import Unit
from shoal.lab.attacks.outcome import AttackResult, AttackSetting, compare
from shoal.lab.attacks.population import Array, people, schema

K = 5
KNOWN = ("age", "income")
NEAR = 0.01
"""A guess within 1 % of the income is right."""
EPSILON, DELTA, BETA, PAID = "1", "1e-6", "0.3", Fraction(1, 4)
"""The promise of the safe tree, its rate, and the part of epsilon that its boxes cost."""
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


def read_extremes(setting: AttackSetting) -> AttackResult:
    """Read the income of the richest person off the largest end that is published, with and without their record."""
    tree = safe_tree()
    methods: dict[str, Callable[[Table, Source], Array]] = {
        f"Mondrian, ranges, k = {K}": lambda table, source: _ranges(table, source, "mondrian"),
        f"MDAV, ranges, k = {K}": lambda table, source: _ranges(table, source, "mdav"),
        f"declared levels, k = {K}": _declared,
        "safe-k tree (ours)": lambda table, source: _boxes(table, source, tree),
    }
    rows = setting.rows
    tables = [people(2 * rows, setting.runs * setting.seed + run) for run in range(setting.runs)]
    richest = [int(np.argmax(each["income"][:rows])) for each in tables]
    incomes = [float(each["income"][row]) for each, row in zip(tables, richest, strict=True)]
    # Without the release: the largest income of as many other people.
    elsewhere = [float(each["income"][rows:].max()) for each in tables]
    baseline = [_is_near(guess, income) for guess, income in zip(elsewhere, incomes, strict=True)]
    shape = schema(KNOWN)
    scanned = [
        [each.take(slice(0, rows)).table(shape), each.take(np.delete(np.arange(rows), row)).table(shape)]
        for each, row in zip(tables, richest, strict=True)
    ]
    outcomes, lines = [], []
    for name, method in methods.items():
        success, control = [], []
        for run, (pair, income) in enumerate(zip(scanned, incomes, strict=True)):
            source = setting.source(f"{name} {run}")
            guess, other = (largest_end(method(table, source)) for table in pair)
            success.append(_is_near(guess, income))
            control.append(_is_near(other, income))
            if run < 1:
                told = "no range is published" if guess is None else f"the largest published end is {guess:,.0f}"
                lines.append(f"{name}: the richest person has {income:,.0f}; {told}")
        claim = ApproxDP(EPSILON, DELTA) if "ours" in name else None
        outcomes.append(compare(name, success, control, baseline, claim=claim))
    return AttackResult(
        "extreme-value",
        "Extreme value: the end of a range is somebody's income",
        "LQS10 section 3",
        "The intruder knows who is the richest, and takes the largest end of a published range of income for theirs. "
        f"Success: it is within {100 * NEAR:g} % of their income.",
        "Control: the release of the same table without the richest person. Baseline: the largest income of as "
        "many other people.",
        tuple(outcomes),
        (
            (
                f"Mondrian and MDAV with ranges are k-anonymous: {K} records or more show the same range. But the range of "
                f"the class of the richest ends at their income, so all {K} records carry it, and it changes when they "
                "leave."
            ),
            (
                "Declared levels and the boxes of a safe tree end where the policy says, before any record is read. One "
                "person can decide whether a box is published at all, which the promise of safe-k bounds and k-anonymity "
                "does not, but no end is anybody's value."
            ),
        ),
        setting,
        tuple(lines),
    )


def safe_tree() -> SafeK:
    """Safe k-anonymization with boxes that are grown privately."""
    promise = solve(epsilon=EPSILON, delta=DELTA, beta=BETA, epsilon_recoding=PAID)
    return SafeK(promise, SafeTree(schema(KNOWN), PAID, promise.k, promise.beta), promise.unit)


def largest_end(labels: Array) -> float | None:
    """The largest number that occurs in labels of a column; None where there is none.

    >>> largest_end(np.array(["[0, 10)", "[900, 3500.5]", "*"], dtype=object))
    3500.5
    """
    ends = [float(text) for label in {str(label) for label in labels} for text in _NUMBER.findall(label)]
    return max(ends, default=None)


def _is_near(guess: float | None, income: float) -> bool:
    return guess is not None and abs(guess - income) <= NEAR * income


def _ranges(table: Table, source: Source, grouping: Grouping) -> Array:
    method = Microaggregation(Clustering(K, grouping), "label", Unit.row("add_remove"))
    return method.run(table, source.stream("ranges")).table.collect(["income"])["income"]


def _declared(table: Table, source: Source) -> Array:
    method = FullDomain(Requirement(K), Unit.row("add_remove"), suppression=Fraction(1, 20))
    return method.run(table, source.stream("levels")).table.collect(["income"])["income"]


def _boxes(table: Table, source: Source, method: SafeK) -> Array:
    boxes = method.settle(table, source.stream("settle"))
    return method.run(table, boxes, source.stream("release")).distinct("income")
