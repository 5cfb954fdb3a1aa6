"""A population recoded by the labels of a release: how many people of it each published class may be about.

A journalist who holds the population compares the labels of a published row with everybody's values. A person matches where every
label stands for that person's value. A suppressed cell, or one that stands for every value, is treated in two ways:

    lenient    it matches everybody
    strict     it matches only its like: not those whom a published class that hides fewer cells matches already

The published rows of a class are so many different people of the population, whatever its table says of their values, so a
class is never counted smaller than it is; `short` says of how many rows that was needed, as it is where values were changed
before they were published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.assess.comparison.parts import Ints, Mask, ReadColumn
from shoal.assess.comparison.table import ComparableColumn
from shoal.assess.disclosure.classes import row_numbers
from shoal.assess.release.labels import Label
from shoal.assess.risk.class_sizes import LENIENT, PopulationSizes, check_matching
from shoal.data.hierarchy.level import SUPPRESSED
from shoal.errors import DataError


@dataclass(frozen=True, eq=False)
class LabelledColumn:
    """One published column: the number of each row's label, what each label stands for, and which of them hide the value."""

    codes: Ints
    labels: tuple[Label, ...]
    hidden: Mask

    @classmethod
    def of(cls, column: ComparableColumn) -> LabelledColumn:
        """The labels of a released column; of a column of values, every value is one."""
        if column.labels is not None:
            hidden = (column.coverage >= 1) | np.array([label.everything for label in column.labels], dtype=np.bool_)
            if column.unread is not None:
                hidden |= column.unread  # what could not be read may be anybody's
            return cls(column.codes, column.labels, hidden)
        points = column.points if column.cells is None else column.cells.points
        if points is not None:
            gone = np.isnan(points)
            values, place = np.unique(np.where(gone, 0.0, points), return_inverse=True)
            spans = [Label(str(value), ((Fraction(value), Fraction(value)),)) for value in values.tolist()]
            codes = np.where(gone, len(values), place.ravel())
            return cls(codes, (*spans, Label("", missing=True)), np.zeros(len(spans) + 1, dtype=np.bool_))
        if column.cells is None:
            raise DataError("the cells of a released column are known by their distributions alone")
        names = [Label(name, values=frozenset([name])) for name in column.cells.names]
        codes = np.where(column.cells.codes < 0, len(names), column.cells.codes)
        return cls(codes, (*names, Label("", missing=True)), np.zeros(len(names) + 1, dtype=np.bool_))


def covered_values(label: Label, column: ReadColumn) -> Mask:
    """Which of a column's values a label stands for, and last whether it stands for the missing value.

    Values are the different points in rising order, or the names.

    >>> ages = ReadColumn(np.array([30.0, 35.0, 40.0, 30.0]), (), np.empty(0, dtype=np.int64))
    >>> covered_values(Label("30 to 39", ((30, 40),)), ages).tolist()
    [True, True, False, False]
    """
    if column.points is not None:
        values = np.unique(column.points[~np.isnan(column.points)])
        found = np.full(len(values) + 1, label.everything)
        for low, high in label.spans:
            least, most = (-np.inf if low is None else float(low)), (np.inf if high is None else float(high))
            found[:-1] |= (values >= least) & ((values < most) | (least == most) & (values == least))
    else:
        whole = {value for value in label.values if SUPPRESSED not in value}
        masked = [value for value in label.values if SUPPRESSED in value]
        found = np.array([_stands_for(label, name, whole, masked) for name in (*column.names, "")], dtype=np.bool_)
    found[-1] = label.everything or label.missing
    return found


def _stands_for(label: Label, name: str, whole: set[str], masked: Sequence[str]) -> bool:
    return label.everything or name in whole or name in label.values or any(_may_be(each, name) for each in masked)


def _may_be(masked: str, name: str) -> bool:
    """Whether a text with hidden letters may be this name; one that is hidden as a whole may be any."""
    if masked == SUPPRESSED:
        return True
    return len(masked) == len(name) and all(a in (SUPPRESSED, b) for a, b in zip(masked, name, strict=True))


def population_of_classes(
    released: Mapping[str, ComparableColumn], population: Mapping[str, ReadColumn], names: Sequence[str], matching: str
) -> PopulationSizes:
    """How many people of a population each published row may be about, by its class.

    Arguments  `released`, `population`: the columns of both tables; `names`: the quasi-identifiers that are published;
               `matching`: 'strict' or 'lenient'
    Raises     DataError where the population has no row, or cells of the release are known by distributions alone
    """
    check_matching(matching)
    shown = [LabelledColumn.of(released[name]) for name in names]
    people = np.stack([_value_codes(population[name]) for name in names], axis=1)
    if not len(people):
        raise DataError("the population has no row", allowed="a table of everybody, with the quasi-identifiers")
    _, first, many = np.unique(row_numbers(people), return_index=True, return_counts=True)
    people = people[first]
    keys = np.stack([each.codes for each in shown], axis=1)
    _, own, place, rows = np.unique(row_numbers(keys), return_index=True, return_inverse=True, return_counts=True)
    classes = keys[own]
    covers = [
        np.array(
            [
                covered_values(label, population[name]) | hides
                for label, hides in zip(each.labels, each.hidden, strict=True)
            ]
        )
        for name, each in zip(names, shown, strict=True)
    ]
    hidden = np.stack([each.hidden[classes[:, at]] for at, each in enumerate(shown)], axis=1).sum(axis=1)
    taken = np.zeros(len(people), dtype=np.bool_)
    sizes = np.zeros(len(classes), dtype=np.int64)
    everybody = np.zeros(len(classes), dtype=np.int64)
    for level in np.unique(hidden).tolist():
        here = np.flatnonzero(hidden == level)
        reached = np.zeros(len(people), dtype=np.bool_)
        for number, inside in _matches(classes, here, covers, people):
            everybody[number] = many[inside].sum()
            sizes[number] = everybody[number] if matching == LENIENT else many[inside[~taken[inside]]].sum()
            reached[inside] = True
        taken |= reached
    short = int(rows[everybody < rows].sum())
    return PopulationSizes(np.maximum(sizes, rows)[place.ravel()], short)


def _matches(classes: Ints, here: Ints, covers: Sequence[Mask], people: Ints) -> Iterator[tuple[int, Ints]]:
    """Each of some classes with the people that match it; classes that begin alike share the work."""
    waiting = [(0, here, np.arange(len(people)))]
    while waiting:
        at, numbers, inside = waiting.pop()
        if at == classes.shape[1]:
            yield from ((int(number), inside) for number in numbers)
            continue
        values = people[inside, at]
        labels = classes[numbers, at]
        waiting += [
            (at + 1, numbers[labels == label], inside[covers[at][label][values]])
            for label in np.unique(labels).tolist()
        ]


def _value_codes(column: ReadColumn) -> Ints:
    """The number of each cell's value as `covered_values` orders them; missing ones have the last."""
    if column.points is None:
        return np.where(column.codes < 0, len(column.names), column.codes)
    gone = np.isnan(column.points)
    values = np.unique(column.points[~gone])
    return np.where(gone, len(values), np.searchsorted(values, np.where(gone, 0.0, column.points)))
