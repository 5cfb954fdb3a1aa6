"""Exact counts of many tables in few passes over the rows: the only file of this part that sees records."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shoal.anonymize.generalize.tree.model import CellCounts
from shoal.anonymize.measure.bins import AttributeBins
from shoal.engine.base import RecodeRequest, Table

Numbers = npt.NDArray[np.int64]
Group = tuple[str, ...]
AT_ONCE = 1 << 24
"""Tuples that may be held at a time; groups that need more are counted in more than one pass."""
HELD = 1 << 25
"""Entries of exact tables that are held, where they are needed more than once."""


class ExactTables:
    """The exact contingency tables of one table, by groups of attributes.

    Whoever is given it sees exact counts, so what it makes of them has a price.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._held: dict[Group, Numbers] = {}

    def count(self, groups: Sequence[Group], bins: Mapping[str, AttributeBins]) -> Iterator[Numbers]:
        """The exact table of each group, one after another, with an entry for each tuple of bins."""
        rows = self._table.rows()
        for batch in _batches(groups, bins, rows):
            requests = [RecodeRequest({name: bins[name].cells.level for name in group}, None) for group in batch]
            counted = self._table.recode_many(requests)
            for group, kept in zip(batch, counted, strict=True):
                own = [bins[name] for name in group]
                tuples = CellCounts.of(kept.count_by(group), [each.cells for each in own])
                places = np.zeros(len(tuples.counts), dtype=np.int64)
                for each, codes in zip(own, tuples.cells, strict=True):
                    places = places * len(each) + each.of_cell[codes]
                shape = tuple(len(each) for each in own)
                found = np.zeros(math.prod(shape), dtype=np.int64)
                np.add.at(found, places, tuples.counts)
                yield found.reshape(shape)

    def count_again(self, groups: Sequence[Group], bins: Mapping[str, AttributeBins]) -> Iterator[Numbers]:
        """The same for groups that are asked for again and again, always with the same bins: held where they fit."""
        if not self._held and sum(math.prod(len(bins[name]) for name in group) for group in groups) <= HELD:
            self._held = dict(zip(groups, self.count(groups, bins), strict=True))
        if all(group in self._held for group in groups):
            return (self._held[group] for group in groups)
        return self.count(groups, bins)


def _batches(groups: Sequence[Group], bins: Mapping[str, AttributeBins], rows: int) -> Iterator[list[Group]]:
    """Groups in their order, as many at a time as there is room for their tuples."""
    some: list[Group] = []
    held = 0
    for group in groups:
        tuples = min(rows, math.prod(len(bins[name].cells) for name in group))
        if some and held + tuples > AT_ONCE:
            yield some
            some, held = [], 0
        some.append(group)
        held += tuples
    if some:
        yield some
