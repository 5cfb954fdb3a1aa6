"""The values of each cell of an attribute as a set, so that a cell is a condition like any other."""

from __future__ import annotations

import numpy as np

from shoal.data.hierarchy.level import TopLevel
from shoal.data.type import DTYPES
from shoal.errors import UsageError
from shoal.language.cells import IntervalAxis, LevelAxis, TableAxis, ValueAxis
from shoal.language.condition.labels import values_under
from shoal.language.condition.plain import declared_value
from shoal.language.condition.ranks import may_be_missing, ranked_domain
from shoal.language.condition.sets import RankSet, TextSet, ValueSet

PURPOSE = "form groups"


def cell_sets(axis: TableAxis) -> tuple[ValueSet, ...]:
    """The set of values of each cell, in the order of the labels; together they are the domain, and no two have one in common."""
    if isinstance(axis, LevelAxis):
        found = [values_under(axis.attribute, axis.index, [label]) for label in axis.value_labels]
        if isinstance(axis.hierarchy.level(axis.index), TopLevel):
            return tuple(found)
    elif isinstance(axis, IntervalAxis):
        found = _intervals(axis)
    elif isinstance(axis, ValueAxis):
        found = [declared_value(axis.attribute, value) for value in axis.listed]
        if axis.other:
            found.append(_others(axis, found))
    else:
        raise UsageError(f"attribute '{axis.attribute.name}': these cells form no groups of a release")
    return (*found, _missing(axis)) if axis.has_missing else tuple(found)


def _intervals(axis: IntervalAxis) -> list[ValueSet]:
    domain = ranked_domain(axis.attribute, PURPOSE)
    if domain is None:
        raise UsageError(f"attribute '{axis.attribute.name}' has no ordered domain to {PURPOSE}")
    cuts = np.array(axis.cuts, dtype=object).astype(DTYPES[axis.attribute.type])
    starts = [domain.low, *domain.ranks_of(cuts).tolist()]
    ends = [start - 1 for start in starts[1:]] + [domain.high]
    return [RankSet(axis.attribute, False, domain, ((low, high),)) for low, high in zip(starts, ends, strict=True)]


def _others(axis: ValueAxis, listed: list[ValueSet]) -> ValueSet:
    """Every value that was not listed; the missing value has a cell of its own."""
    every = listed[0]
    for each in listed[1:]:
        every = every.union(each)
    rest = every.complement()
    return rest.intersection(_missing(axis).complement()) if may_be_missing(axis.attribute) else rest


def _missing(axis: TableAxis) -> ValueSet:
    domain = ranked_domain(axis.attribute, PURPOSE)
    if domain is None:
        return TextSet(axis.attribute, True, frozenset(), inside=True)
    return RankSet(axis.attribute, True, domain, ())
