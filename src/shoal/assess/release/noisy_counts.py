"""One published table of noisy counts: a count for every cell of its labels, each with independent noise of one sigma."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal.assess.release.labels import Meaning
from shoal.assess.release.sealed_folder import SealedFolder, reading
from shoal.assess.release.view import (
    DeclaredDomain,
    Ints,
    LabelledFile,
    LockedDomains,
    label_texts,
    read_entry,
    read_meaning,
    read_table,
)
from shoal.data.hierarchy.level import MISSING
from shoal.errors import VerificationError, visible

if TYPE_CHECKING:
    import pyarrow as pa

MOST_CELLS = 1 << 24
"""More cells than any table of counts has."""
LARGEST_COUNT = 1 << 50
WIDEST_CHOSEN = 3
"""A table that is chosen by noise has so many attributes at most; the intervals of what was not chosen rest on it."""
NUMBERS = ("count", "low", "high")
"""The columns after the labels."""
_SIGMA = re.compile(r"(0|[1-9][0-9]{0,11})(\.[0-9]{1,20})?|[1-9][0-9]{0,20}/[1-9][0-9]{0,20}")


@dataclass(frozen=True)
class PublishedCountTable(LabelledFile):
    """A published table of noisy counts: every cell of its labels, each count with discrete Gaussian noise of `sigma`."""

    name: str
    columns: tuple[str, ...]
    sigma: Fraction
    stage: int
    """When it was measured: what was measured before it may have decided its cells, and that it was measured at all."""
    is_chosen: bool
    """Whether it was chosen by noisy counts or scores, so that it might not be there."""
    stated_cells: int
    """How many counts the certificate says that it has; its file is held against it when it is read."""
    _sealed: SealedFolder = field(repr=False)
    _file: str = field(repr=False)
    _rules: Mapping[str, bytes] = field(repr=False)
    _domains: Mapping[str, DeclaredDomain] = field(repr=False)
    _cache: dict[Any, Meaning] = field(repr=False, compare=False)

    def __repr__(self) -> str:
        shown = ", ".join(self.columns[:8]) + (f", … ({len(self.columns)} in all)" if len(self.columns) > 8 else "")
        return visible(f"<PublishedCountTable '{self.name}': {shown}; sigma = {float(self.sigma):g}>")

    box_tuples = None
    """Its cells are all tuples of its labels, and no boxes."""

    _has_counts: ClassVar[bool] = True

    @cached_property
    def _table(self) -> pa.Table:
        import pyarrow as pa

        with reading(f"table '{self.name}'"):
            table = read_table(self._sealed, self._file, self.columns)
            table.validate(full=True)
            if table.num_columns != len(self.columns) + len(NUMBERS):
                raise VerificationError(f"table '{self.name}' has other columns than a table of counts")
            if tuple(table.column_names[: len(self.columns)]) != self.columns:
                raise VerificationError(f"table '{self.name}' has other columns than the certificate says")
            numbers = [column.cast(pa.int64()) for column in table.columns[len(self.columns) :]]
            if any(column.null_count for column in numbers):
                raise VerificationError(f"table '{self.name}': a count is missing")
            labels = table.columns[: len(self.columns)]
            return pa.Table.from_arrays([*labels, *numbers], names=table.column_names)

    @cached_property
    def _columns(self) -> list[tuple[Ints, list[str]]]:
        """The labels of each column: which of its different ones stands in each row, and the different ones as text."""
        with reading(f"table '{self.name}'"):
            found = []
            for column in self._table.columns[: len(self.columns)]:
                encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
                found.append((encoded.indices.to_numpy().astype(np.int64), label_texts(_chunked(encoded.dictionary))))
            return found

    @cached_property
    def meanings(self) -> dict[str, Meaning]:
        """What the labels of each column stand for: those that the table has, which are all that there are."""
        found = {}
        for place, name in enumerate(self.columns):
            shown = self._columns[place][1]
            own = read_meaning(name, self._rules[name], self._domains, partial(list, shown), self._cache)
            if MISSING not in shown and own.texts and own.labels[-1].text == MISSING:
                key = (name, "without a missing value", id(own))
                own = self._cache.setdefault(key, replace(own, labels=own.labels[:-1]))
            if set(shown) != set(own.texts):
                raise VerificationError(f"table '{self.name}': column '{name}' has other labels than its rule")
            found[name] = own
        return found

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """How many labels each column has."""
        return tuple(len(self.meanings[name].labels) for name in self.columns)

    @property
    def cells(self) -> int:
        """How many counts the table has."""
        return prod(self.shape)

    @cached_property
    def values(self) -> Ints:
        """The noisy counts, one axis for each column, in the order of its labels."""
        if not self.cells == self.stated_cells == self._table.num_rows:
            raise VerificationError(f"table '{self.name}' does not have one count for each cell")
        at = np.zeros(self.cells, dtype=np.int64)
        for (codes, shown), size, name in zip(self._columns, self.shape, self.columns, strict=True):
            place = {text: i for i, text in enumerate(self.meanings[name].texts)}
            at = at * size + np.array([place[text] for text in shown], dtype=np.int64)[codes]
        counts = self._table.column(len(self.columns)).to_numpy()
        if np.bincount(at, minlength=self.cells).max() > 1 or np.abs(counts).max() > LARGEST_COUNT:
            raise VerificationError(f"table '{self.name}' does not have one count for each cell")
        found = np.empty(self.cells, dtype=np.int64)
        found[at] = counts
        return found.reshape(self.shape)


def _chunked(array: pa.Array) -> pa.ChunkedArray:
    import pyarrow as pa

    return pa.chunked_array([array])


def read_counts(
    sealed: SealedFolder,
    entry: Mapping[str, Any],
    plan: LockedDomains,
    cache: dict[Any, Any],
    *,
    stage: int,
    is_chosen: bool,
) -> PublishedCountTable:
    """Read a table of counts by its entry in the certificate; its file is read when it is asked for."""
    name, columns, rules = read_entry(sealed, entry)
    sigma = entry["sigma"]
    if not isinstance(sigma, str) or not _SIGMA.fullmatch(sigma) or not 0 < Fraction(sigma) < 10**12:
        raise VerificationError(f"table '{name}': sigma is outside its range", came=str(sigma)[:40])
    cells = entry["cells"]
    if type(cells) is not int or not 1 <= cells <= MOST_CELLS:
        raise VerificationError(f"table '{name}': its number of cells is outside its range", came=str(cells)[:40])
    return PublishedCountTable(
        name, columns, Fraction(sigma), stage, is_chosen, cells, sealed, entry["file"], rules, plan.domains, cache
    )
