"""What an engine must be able to do: about a dozen verbs on a table of rows that may not fit in memory.

Methods speak these verbs and nothing else, so the same method runs on every engine; one contract suite
(tests/contract/test_engines.py) checks that all engines give the same answers, to the last byte written.

What the verbs agree on
    values    int64, float64, bool, datetime64[D], datetime64[us] or str, by the declared type, whatever the file held
    missing   equal to missing, different from every value; a decimal NaN is missing; sorted first
    order     numbers by size, dates by time, false before true, text and labels by Unicode code point
    labels    text; a missing value is `(missing)` at every level but `Keep`, which leaves it missing
    rows      numbered from 0 over the input (files sorted by name); a verb that drops rows does not renumber them
    decimals  -0.0 is 0.0; an infinite one lies outside every domain, the undeclared one too
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from shoal.data.hierarchy.level import Level
from shoal.data.schema import Schema
from shoal.data.type import Type
from shoal.errors import PreconditionError, UsageError
from shoal.guarantee.unit import Unit

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.engine.digest import Contents

Array = npt.NDArray[Any]
RowMask = Callable[[int, int], npt.NDArray[np.bool_]]
"""Which rows to keep: called with the number of the first row and how many; depends on nothing else."""
RowWords = Callable[[int, int], npt.NDArray[np.uint64]]
"""A random number for each row: called as a mask is."""
Place = Callable[[Sequence[npt.NDArray[np.int32]]], npt.NDArray[np.int32]]
"""A number for each tuple: called with the index of each column's label, column by column; depends on nothing else."""
ABSENT = -1
"""The code of a missing value in `Counts`."""


@dataclass(frozen=True)
class Counts:
    """The distinct tuples of some columns and how often each occurs, sorted by the tuples.

    Column j of tuple i holds `values[j][codes[j][i]]`, or nothing where the code is ABSENT. Values are sorted, so
    codes compare as values do; a recoded column lists every label it could show, others the values that occur.
    """

    columns: tuple[str, ...]
    values: tuple[Array, ...]
    codes: tuple[npt.NDArray[np.int32], ...]
    counts: npt.NDArray[np.int64]

    @cached_property
    def tuples(self) -> tuple[Array, ...]:
        """The tuples column by column, as objects; None stands for missing."""
        return tuple(_decoded(values, codes) for values, codes in zip(self.values, self.codes, strict=True))

    @property
    def rows(self) -> int:
        """How many rows were counted."""
        return int(self.counts.sum())

    def __len__(self) -> int:
        return len(self.counts)


def _decoded(values: Array, codes: npt.NDArray[np.int32]) -> Array:
    with_none = np.empty(len(values) + 1, dtype=object)
    with_none[:-1] = values.tolist()
    with_none[-1] = None
    return with_none[codes]  # ABSENT is -1: the last


@dataclass(frozen=True)
class Ask:
    """One of many narrow tables: its columns in order, each with its level, and which rows take part (None: all)."""

    levels: Mapping[str, Level]
    mask: RowMask | None


class Table(Protocol):
    """A handle on rows with their meaning; every verb gives a new handle or plain values, and changes nothing."""

    @property
    def schema(self) -> Schema:
        """What the columns of the input mean; verbs leave it as it is."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns there are now, in order; at first the schema's, but for those whose role is `drop`."""

    @property
    def types(self) -> Mapping[str, Type]:
        """What the values of each column look like now; labels are text."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know about how the input was read; for the custodian, never published."""

    def rows(self) -> int:
        """How many rows there are."""

    def keep(self, mask: RowMask) -> Table:
        """The rows that the mask keeps, by their number in the input; the mask is asked at once, for every number."""

    def at_most_per(self, column: str, most: int, words: RowWords) -> Table:
        """At most so many rows of each value of a column: those with the smallest words, asked for at once.

        Rows whose value is missing share one value. The words belong to numbers of the input, as a mask does.
        """

    def recode(self, levels: Mapping[str, Level]) -> Table:
        """The named columns as labels, in this order; all other columns are left out. A column is recoded once."""

    def count_by(self, columns: Sequence[str]) -> Counts:
        """The distinct tuples of these columns with their counts."""

    def at_least(self, columns: Sequence[str], k: int) -> Table:
        """The rows whose tuple of these columns occurs at least k times.

        Where these are all the columns, equal rows cannot be told apart: the result is sorted by its own values and
        has no numbers of the input any more.
        """

    def relabel(self, known: Sequence[Sequence[str]], place: Place, labels: Sequence[Sequence[str]]) -> Table:
        """Every row under new labels, decided by its tuple of labels now; the columns were recoded to labels before.

        `known[j]` lists the labels that column j may show now, in the caller's order: missing is `(missing)`, and a
        column that still shows values is read by their text. `place` is asked at once, for some tuples at a time (any
        batch but an empty one, in any order, repeated or not), as the index of each column's label in `known[j]`, and gives
        each tuple's number; column j then shows `labels[j][number]`. The result is sorted by its own values and has
        no numbers of the input any more. A label that is not known is a UsageError, which does not quote it.
        """

    def at_once(self, asks: Sequence[Ask]) -> list[Table]:
        """What `keep(mask).recode(levels)` gives for each ask, from one pass over the rows instead of one pass each.

        A column may be asked at a different level each time. Masks are asked at once, for every number. The results
        are sorted by their own values and have no numbers of the input any more. A level has to cover its column in
        all rows, also in those that no mask keeps: so whether it is refused does not depend on chance.
        """

    def distinct(self, column: str) -> Array:
        """The different values of a column, sorted, missing left out."""

    def quantiles(self, column: str, at: Sequence[float]) -> Array:
        """The smallest values with at least these shares of the values at or below them; missing left out."""

    def chunk(self, order: Sequence[str], size: int, name: str) -> Table:
        """Number consecutive groups of `size` rows in this order (ties by row number; a short rest joins the last group)."""

    def means_by(self, group: str, columns: Sequence[str]) -> dict[str, Array]:
        """Mean of integer or decimal columns in each group 0, 1, 2, …; missing left out, NaN where nothing is left.

        Values are added in row order, so the last bit is the same on every engine and for every number of threads.
        """

    def collect(self, columns: Sequence[str]) -> dict[str, Array]:
        """Columns as arrays in row order; a masked array where something is missing."""

    def attach(self, name: str, values: Array) -> Table:
        """The same rows with one more column, given in row order; a column of that name is replaced in its place."""

    def select(self, columns: Sequence[str]) -> Table:
        """These columns only, in this order."""

    def batches(self, *, sort: bool = True) -> Iterator[pa.RecordBatch]:
        """The rows as Arrow batches of one fixed length (but the last), sorted by their own values or in row order.

        Equal multisets of rows give equal batches when sorted.
        """

    def digest(self) -> bytes:
        """What the table holds, as 32 bytes: the same for the same rows in any order, file format and engine."""

    def contents(self) -> Contents:
        """The digest, and what each column holds by itself, by which the ledger knows the table again."""

    def write(self, path: Path, *, sort: bool = True) -> None:
        """To CSV or Parquet by suffix; sorted by its own values, so that the input's order does not show.

        The file appears whole or not at all, and equal multisets of rows give equal bytes.
        """


class Engine(Protocol):
    """Opens tables."""

    @property
    def name(self) -> str:
        """The engine's name, such as `duckdb`."""

    def scan(self, source: object, schema: Schema) -> Table:
        """Open a path (CSV, Parquet, Arrow; a folder of Parquet files) or a frame, and check it against the schema.

        Raises DataError when a column is missing, values do not read as their declared type, or values are missing
        where they may not be, and DomainError when values lie outside their domain and the policy says `error`.
        The error says which attribute and how many rows; it never quotes a value. Every row is looked at here, so a
        table that was opened holds what the schema says. A file that changes afterwards is refused at the next verb.
        """


ENGINES = ("duckdb",)
"""The names that `open_engine` accepts."""


def open_engine(engine: str | Engine = "duckdb") -> Engine:
    """Give the engine of this name with its usual settings, or the engine itself where one is handed in.

    Arguments  `engine`: "duckdb", or a value that fulfils the `Engine` protocol, such as `DuckDB(memory="4GB")`
    Raises     UsageError where the name is not in `ENGINES`

    >>> open_engine("duckdb").name
    'duckdb'
    """
    if not isinstance(engine, str):
        return engine
    if engine not in ENGINES:
        raise UsageError("no such engine", came=engine, allowed=", ".join(ENGINES))
    from shoal.engine.duckdb.engine import DuckDB

    return DuckDB()


def bound_contributions(table: Table, unit: Unit, words: RowWords, theorem: str) -> Table:
    """At most `max_rows` rows of each person, those with the smallest words; the table itself where rows are hidden.

    A reading that gives two people one name would let one of them crowd the other out, so that more than one person's rows
    change when one person comes or goes. `theorem` is the result that rests on this.
    """
    if unit.column is None:
        return table
    attribute = table.schema.by_name.get(unit.column)
    if attribute is None or not attribute.names:
        raise PreconditionError(
            theorem,
            "the column that tells people apart was not read as their names, so two people may have become one",
            came=unit.column,
            fix="open the table by the schema of the plan (`Schema.with_names`)",
        )
    return table.at_most_per(unit.column, unit.max_rows, words)
