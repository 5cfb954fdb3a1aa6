"""The rows that are published, each with the labels of its round, and the classes that a stranger would count among them.

A recoding of one level for all is one round. Local recoding has several: what the first round would suppress is recoded by the
best scheme for those rows, what that one would suppress again, and so on. Rows of different rounds that show the same labels are
in one class, since nobody can tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shoal.anonymize.generalize.search.criteria import Classes, Mask, classes_of, failing
from shoal.anonymize.generalize.search.full_domain import SearchProblem, SearchResult, classes_at
from shoal.anonymize.generalize.search.records import Array, EncodedRecords
from shoal.anonymize.generalize.search.requirement import Requirement
from shoal.anonymize.kernel.rollup import Integers
from shoal.data.hierarchy.level import MISSING, Level, TopLevel, ValueLevel
from shoal.data.schema import Attribute
from shoal.data.type import texts

SUPPRESSED = -1
"""The round of a row that is not published."""


@dataclass(frozen=True, eq=False)
class RecodedRows:
    """The levels of each round, and the round of each row of the table; SUPPRESSED where it is not published."""

    attributes: tuple[Attribute, ...]
    levels: tuple[Mapping[str, int], ...]
    of_row: Integers

    @property
    def kept(self) -> Mask:
        """Which rows are published."""
        return np.asarray(self.of_row != SUPPRESSED)

    @cached_property
    def levels_used(self) -> dict[str, tuple[int, ...]]:
        """The levels that the published rows show of each attribute, finest first."""
        rounds = [each for number, each in enumerate(self.levels) if (self.of_row == number).any()]
        return {one.name: tuple(sorted({each[one.name] for each in rounds})) for one in self.attributes}

    def without(self, gone: Mask) -> RecodedRows:
        """The same with some rows more suppressed."""
        return RecodedRows(self.attributes, self.levels, np.where(gone, SUPPRESSED, self.of_row))

    def labels(self, attribute: Attribute, values: Array, codes: Integers) -> tuple[Array, Integers]:
        """The different labels that an attribute shows, None for a missing value, and the number of each row's.

        `values` are the different values of the attribute, and `codes` says which each row has.
        """
        used = self.levels_used[attribute.name]
        known: dict[str | None, int] = {}
        found = np.zeros(len(codes), dtype=np.int64)
        for level in used:
            shown = _labels(_level(attribute, level), values, alone=used == (0,))
            numbers = np.array([known.setdefault(label, len(known)) for label in shown], dtype=np.int64)
            rounds = [number for number, each in enumerate(self.levels) if each[attribute.name] == level]
            rows = np.isin(self.of_row, rounds)
            found[rows] = numbers[codes[rows]]  # ABSENT is −1: the last
        labels = np.empty(len(known), dtype=object)
        labels[:] = list(known)
        return labels, found


def _level(attribute: Attribute, index: int) -> Level:
    return ValueLevel() if attribute.hierarchy is None else attribute.hierarchy.level(index)


def _labels(level: Level, values: Array, *, alone: bool) -> list[str | None]:
    """The label of each value, and last of a missing one; beside labels of other levels a missing value has one too."""
    if isinstance(level, ValueLevel):
        return [*(str(text) for text in texts(values)), None if alone else MISSING]
    shown = [str(label) for label in level.apply(values).tolist()] if len(values) else []
    return [*shown, level.label if isinstance(level, TopLevel) else MISSING]


@dataclass(frozen=True, eq=False)
class PublishedClasses:
    """The classes of the published rows: the class of each row (meaningless where it is suppressed), and what each holds."""

    owner: Integers
    classes: Classes


def published_classes(records: EncodedRecords, recoded: RecodedRows, people: Integers | None) -> PublishedClasses:
    """The classes of the published rows by the labels that they show; `people` says how many of the population fit each row."""
    number = np.zeros(records.rows, dtype=np.int64)
    for attribute, values, codes in zip(recoded.attributes, records.quasi.values, records.quasi.codes, strict=True):
        labels, shown = recoded.labels(attribute, values, codes.astype(np.int64)[records.of_row])
        _, number = np.unique(number * max(len(labels), 1) + shown, return_inverse=True)
    kept = np.flatnonzero(recoded.kept)
    owner = np.zeros(records.rows, dtype=np.int64)
    _, owner[kept] = np.unique(number[kept], return_inverse=True)
    joint = records.joint[records.of_row[kept]]
    order = np.lexsort((joint, owner[kept]))
    made = classes_of(owner[kept][order], joint[order], np.ones(len(kept), np.int64), records.confidential, None)
    if people is None:
        return PublishedClasses(owner, made)
    fit = np.zeros(len(made), dtype=np.int64)
    np.maximum.at(fit, owner[kept], people[kept])
    return PublishedClasses(owner, Classes(made.sizes, fit, made.held))


def suppress_failing(
    records: EncodedRecords, recoded: RecodedRows, people: Integers | None, required: Requirement
) -> RecodedRows:
    """The rows without the classes that lack something beside the others, until none does."""
    made = published_classes(records, recoded, people)
    gone = failing(made.classes, required)
    return recoded.without(gone.take(made.owner) | ~recoded.kept) if gone.any() else recoded


def loss_of_rows(problem: SearchProblem, recoded: RecodedRows) -> int:
    """The loss of what is published, counted on it."""
    records, kept = problem.records, np.flatnonzero(recoded.kept)
    suppressed = records.rows - len(kept)
    if not problem.loss.weighs_labels:
        return problem.loss.total(published_classes(records, recoded, None).classes.sizes, None, suppressed)
    lost = np.zeros(records.rows, dtype=np.int64)
    for number, levels in enumerate(recoded.levels):
        rows = np.flatnonzero(recoded.of_row == number)
        for name, own, column, parts in zip(
            problem.lattice.names, problem.lattice.levels, problem.columns, problem.parts, strict=True
        ):
            lost[rows] += parts[own.index(levels[name])].take(column.codes[records.of_row[rows]], mode="wrap")
    return problem.loss.total(np.ones(len(kept), dtype=np.int64), lost[kept], suppressed)


# --- local recoding ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LocalRecoding:
    """What rounds of the same search placed: the rows, how many of the population fit each, and schemes looked at."""

    recoded: RecodedRows
    people: Integers | None
    examined: int


def recode_locally(problem: SearchProblem, find: Callable[[SearchProblem], SearchResult]) -> LocalRecoding:
    """Place the rows in rounds: those that the best scheme for all would suppress by the best scheme for them, and so on.

    In a round any number of rows may be left for the next, and classes that are compared with a table are compared with the
    original one, since what is published is not known before the end. So the classes are counted again at the end, over all
    rounds and beside what is published, and those that lack something are suppressed.
    """
    records, required = problem.records, problem.required
    reference = whole_table(records) if required.is_relative else None
    of_row = np.full(records.rows, SUPPRESSED, dtype=np.int64)
    people = np.zeros(records.rows, dtype=np.int64) if records.has_population else None
    levels: list[dict[str, int]] = []
    remaining, examined = np.arange(records.rows), 0
    while len(remaining) >= required.k:
        part = replace(problem, records=records.narrow(remaining), limit=len(remaining) - 1, reference=reference)
        result = find(part)
        examined += result.examined
        if result.best is None:
            break
        made = classes_at(part, result.best.places)
        owner = made.owner.take(part.records.of_row)
        _, _, kept = part.judge(made.classes, made.lost)
        placed = kept.take(owner)
        of_row[remaining[placed]] = len(levels)
        if people is not None and made.classes.people is not None:
            people[remaining] = made.classes.people.take(owner)
        levels.append(problem.lattice.levels_at(result.best.places))
        remaining = remaining[~placed]
    recoded = RecodedRows(problem.lattice.attributes, tuple(levels), of_row)
    return LocalRecoding(suppress_failing(records, recoded, people, required), people, examined)


def whole_table(records: EncodedRecords) -> list[Integers]:
    """How many rows of the table have each value of each confidential attribute."""
    own = records.joint != records.joints
    joint, counts = records.joint[own], records.quasi.counts[own]
    return [
        np.bincount(values.of_joint[joint], weights=counts, minlength=values.size).astype(np.int64)
        for values in records.confidential
    ]
