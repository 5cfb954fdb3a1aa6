"""Which records match which on the quasi-identifiers: class sizes in a table and in a population, strict and lenient.

Keys are codes, one row for each record and one column for each quasi-identifier; the code −1 stands for a missing or suppressed
cell. Strict: such a cell matches only its like. Lenient: it matches anything, so matching is not transitive, and the size
of a record's class is the number of records that match it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shoal.assess.disclosure.classes import Array, Floats, Ints, row_numbers
from shoal.assess.disclosure.lenient_matching import MatchingRows
from shoal.errors import DataError, ParameterError

HIDDEN = -1
"""The code of a missing or suppressed cell."""
STRICT, LENIENT = "strict", "lenient"
MATCHING = {
    STRICT: "a suppressed cell matches only its like",
    LENIENT: "a suppressed cell matches anything",
}
"""The two treatments of suppressed cells, in words."""


def check_keys(keys: ArrayLike, what: str = "the keys") -> Ints:
    """Give keys as an array of whole numbers, records × quasi-identifiers.

    Arguments  `keys`: codes from 0 up, or −1 for a hidden cell; `what`: how an error calls them
    Raises     DataError for another shape, no rows, no columns, other numbers or codes below −1

    >>> check_keys([[0, 1], [-1, 2]]).shape
    (2, 2)
    """
    found = np.asarray(keys)
    if found.ndim != 2 or 0 in found.shape:
        raise DataError(
            f"{what} are no table", came=f"an array of shape {found.shape}", allowed="records × quasi-identifiers, one or more"
        )  # fmt: skip
    if found.dtype.kind not in "iu":
        raise DataError(f"{what} are no codes", came=str(found.dtype), allowed="whole numbers", fix="encode the values")
    codes = found.astype(np.int64)
    if int(codes.min()) < HIDDEN:
        raise DataError(
            f"{what} have a code below −1", came=int(codes.min()), allowed="0, 1, 2, … or −1 for hidden cells"
        )
    return codes


def check_matching(matching: str) -> str:
    """Give the treatment of suppressed cells, or raise ParameterError where there is no such one."""
    if matching not in MATCHING:
        raise ParameterError("no such matching", came=repr(matching), allowed=", ".join(MATCHING))
    return matching


@dataclass(frozen=True, eq=False)
class KeyClasses:
    """The distinct key tuples of a table, the tuple of each record, and which tuples match.

    Arguments  `tuples`: distinct keys; `place`: the tuple of each record; `counts`: records of each tuple; `matching`: strict
               or lenient. `KeyClasses.of` makes it from keys and checks them.

    >>> KeyClasses.of([[0, 1], [0, 1], [0, -1]], "lenient").sizes.tolist()
    [3, 3, 3]
    """

    tuples: Ints
    place: Ints
    counts: Ints
    matching: str = STRICT

    @classmethod
    def of(cls, keys: Keys, matching: str = STRICT) -> KeyClasses:
        """Group the records of a table by their keys.

        Arguments  `keys`: codes, −1 for hidden cells, or classes that were made of them; `matching`: 'strict' or 'lenient'
        Raises     DataError for keys that are no table of codes, ParameterError for another matching
        """
        check_matching(matching)
        if isinstance(keys, KeyClasses):
            return keys if keys.matching == matching else cls(keys.tuples, keys.place, keys.counts, matching)
        codes = check_keys(keys)
        _, first, place, counts = np.unique(
            row_numbers(codes), return_index=True, return_inverse=True, return_counts=True
        )
        return cls(codes[first], place.ravel(), counts.astype(np.int64), matching)

    @property
    def rows(self) -> int:
        """How many records there are."""
        return len(self.place)

    @cached_property
    def matches(self) -> MatchingRows | None:
        """Which tuples match each other; None where only equal ones do."""
        return matching_rows(self.tuples, self.counts) if self.matching == LENIENT else None

    @cached_property
    def tuple_sizes(self) -> Ints:
        """How many records match each tuple."""
        return self.counts if self.matches is None else self.matches.sizes

    @property
    def sizes(self) -> Ints:
        """f: how many records match each record, itself included."""
        return self.tuple_sizes[self.place]

    def sums(self, numbers: Array) -> Floats:
        """Add one number of each record up over all records that match each record, itself included."""
        by_tuple = np.bincount(self.place, weights=numbers, minlength=len(self.tuples))
        return np.asarray((by_tuple if self.matches is None else self.matches.sums(by_tuple))[self.place])

    def population_sizes(self, population: ArrayLike | PopulationSizes, counts: ArrayLike | None = None) -> Ints:
        """F: how many people of a population match each record.

        Arguments  `population`: the same quasi-identifiers of everybody, in the same codes, or the sizes where they were
                   counted before; `counts`: how many people each of its rows stands for, one unless given
        Raises     DataError for a population that does not fit, or that lacks some record's class
        """
        if isinstance(population, PopulationSizes):
            if len(population.sizes) != self.rows:
                raise DataError("the sizes do not fit the table", came=len(population.sizes), allowed=f"{self.rows}")
            return population.sizes
        people = check_keys(population, "the keys of the population")
        if people.shape[1] != self.tuples.shape[1]:
            raise DataError(
                "the population has other quasi-identifiers",
                came=f"{people.shape[1]} columns",
                allowed=f"{self.tuples.shape[1]}, as in the table",
            )
        many = check_counts(counts, len(people))
        both = np.concatenate([self.tuples, people])
        _, first, place = np.unique(row_numbers(both), return_index=True, return_inverse=True)
        place = place.ravel()
        totals = np.zeros(len(first), dtype=np.int64)
        np.add.at(totals, place[len(self.tuples) :], many)
        if self.matching == LENIENT:
            totals = matching_rows(both[first], totals).sizes
        found = totals[place[: len(self.tuples)]]
        self._check_population(found)
        return found[self.place]

    def _check_population(self, found: Ints) -> None:
        """Refuse a population that the table cannot be a part of."""
        absent = int(self.counts[found == 0].sum())
        if absent:
            raise DataError(
                "the population lacks classes of the table, so it is not the population that the table is from",
                came=f"{absent:,} of {self.rows:,} records whose class nobody of the population has",
                allowed="a population that holds everybody in the table, in the same codes",
                fix="encode both alike"
                + (", or use lenient matching if cells were suppressed in the table alone" if self.matching == STRICT else ""),
            )  # fmt: skip
        if self.matching == STRICT and bool(np.any(found < self.counts)):
            raise DataError(
                "the population has classes with fewer people than the table has records",
                came=f"{int(np.count_nonzero(found < self.counts)):,} such classes",
                allowed="a population that holds everybody in the table",
                fix="give the whole population, one row for each person or with counts",
            )


@dataclass(frozen=True, eq=False)
class PopulationSizes:
    """F of each record where it was counted before, and the records whose class the population has fewer people of than rows."""

    sizes: Ints
    short: int = 0


Keys = ArrayLike | KeyClasses
"""Keys of a table, or the classes that were made of them, so that several measures share the work."""


def check_counts(counts: ArrayLike | None, rows: int) -> Ints:
    """Give how many people each row of a population stands for; DataError where the numbers do not fit."""
    if counts is None:
        return np.ones(rows, dtype=np.int64)
    found: Array = np.asarray(counts)
    if found.shape != (rows,) or found.dtype.kind not in "iu" or bool(np.any(found < 1)):
        raise DataError(
            "the counts do not fit the population",
            came=f"an array of shape {found.shape}",
            allowed=f"{rows} whole numbers from 1 up",
        )
    return found.astype(np.int64)


def matching_rows(tuples: Ints, counts: Array) -> MatchingRows:
    """Give which distinct tuples match, where the code −1 matches anything."""
    return MatchingRows(tuples, np.asarray(tuples == HIDDEN), np.asarray(counts))


def matching_words(matching: str) -> str:
    """Give the treatment of suppressed cells as methods name it, such as 'strict: a suppressed cell matches only its like'."""
    return f"{matching}: {MATCHING[matching]}"


def plain(value: Any) -> Any:
    """Give a value as JSON has it: quantities and reports by their own `to_json`, tuples as lists."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value
