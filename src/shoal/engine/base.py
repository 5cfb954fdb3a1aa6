"""What an engine is: the operations on a table whose rows may not fit in memory, and how an engine is opened.

Anonymization methods use these operations and nothing else, so the same method runs on every engine. One contract suite
(tests/contract/test_engines.py) checks that all engines give the same answers, to the last byte written.

What all engines agree on
    values    int64, float64, bool, datetime64[D], datetime64[us] or str, by the declared type, whatever the file held
    missing   equal to missing, different from every value; a decimal NaN is missing; sorted first
    order     numbers by size, dates by time, false before true, text and labels by Unicode code point
    labels    text; a missing value is `(missing)` at every level but `Keep`, which leaves it missing
    rows      numbered from 0 over the input (files sorted by name); an operation that drops rows does not renumber them
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
from shoal.engine.runs import Ordering, RunTotals
from shoal.errors import PreconditionError, UsageError
from shoal.guarantee.unit import Unit
from shoal.progress import Stage, silent

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.engine.digest import Contents

Array = npt.NDArray[Any]
RowMask = Callable[[int, int], npt.NDArray[np.bool_]]
"""Says which rows to keep: called with the number of the first row and how many rows; depends on nothing else."""
RowWords = Callable[[int, int], npt.NDArray[np.uint64]]
"""Gives a random 64-bit word for each row: called with the number of the first row and how many rows."""
Assignment = Callable[[Sequence[npt.NDArray[np.int32]]], npt.NDArray[np.int32]]
"""Gives the number of the class of each tuple: called with the index of each column's label, column by column; depends on
nothing else."""
ABSENT = -1
"""The code of a missing value in `Counts`."""


@dataclass(frozen=True)
class Counts:
    """The distinct tuples of some columns and how often each occurs, sorted by the tuples: a contingency table without its zeros.

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
        return tuple(_decode(values, codes) for values, codes in zip(self.values, self.codes, strict=True))

    @property
    def rows(self) -> int:
        """How many rows were counted."""
        return int(self.counts.sum())

    def __len__(self) -> int:
        return len(self.counts)


def _decode(values: Array, codes: npt.NDArray[np.int32]) -> Array:
    with_none = np.empty(len(values) + 1, dtype=object)
    with_none[:-1] = values.tolist()
    with_none[-1] = None
    return with_none[codes]  # ABSENT is -1: the last


@dataclass(frozen=True)
class ClassCounts:
    """How many rows each class has (`rows`), and for each column that was asked for a table with a row for each class and a
    column for each label (`labels`).
    """

    rows: npt.NDArray[np.int64]
    labels: tuple[npt.NDArray[np.int64], ...]


@dataclass(frozen=True)
class RecodeRequest:
    """A request for one recoded table: its columns in order, each with its level, and which rows take part (None: all rows)."""

    levels: Mapping[str, Level]
    mask: RowMask | None


class Table(Protocol):
    """Rows with their schema. Every operation gives a new table or plain values, and changes nothing."""

    @property
    def schema(self) -> Schema:
        """What the columns of the input mean; operations leave the schema as it is."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that the table has now, in order. A table that was just opened has the schema's, without those
        whose role is `drop`.
        """

    @property
    def types(self) -> Mapping[str, Type]:
        """The type of the values of each column as they are now; labels are text."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the custodian should know about how the input was read; never published."""

    def rows(self) -> int:
        """How many rows there are."""

    def keep(self, mask: RowMask) -> Table:
        """Keep the rows that the mask selects by their number in the input.

        The mask is called at once, for every number, or sent to the workers of the engine (`RowMask.portable`).
        """

    def limit_per(self, column: str, most: int, words: RowWords) -> Table:
        """Keep at most `most` rows of each value of a column: those with the smallest words.

        Rows whose value is missing count as rows of one value. The words belong to row numbers of the input, as a mask
        does, and are asked for at once.
        """

    def recode(self, levels: Mapping[str, Level]) -> Table:
        """Recode the named columns to labels, in this order, and leave out all other columns. A column is recoded once."""

    def count_by(self, columns: Sequence[str]) -> Counts:
        """Count the rows of each distinct tuple of these columns."""

    def class_sizes(self, columns: Sequence[str]) -> dict[int, int]:
        """Count the distinct tuples of these columns by how often they occur: how many occur once, twice, …; by size.

        It takes no memory for the tuples themselves, of which there may be as many as rows.
        """

    def suppress_below(self, columns: Sequence[str], k: int) -> Table:
        """Suppress the rows whose tuple of these columns occurs fewer than k times.

        Where these are all the columns, equal rows cannot be told apart: the result is sorted by its own values, and
        its rows have no numbers of the input any more.
        """

    def relabel(self, known: Sequence[Sequence[str]], assign: Assignment, labels: Sequence[Sequence[str]]) -> Table:
        """Give every row new labels, decided by the tuple of labels that it has now.

        `known[j]` lists the labels that column j may show now, in the caller's order: missing is `(missing)`, and a
        column that still shows values is read by their text. `assign` is called at once with some tuples at a time (any
        batch but an empty one, in any order, repeated or not), each given as the index of each column's label in
        `known[j]`, and returns the number of each tuple's class; column j then shows `labels[j][number]`. The result is
        sorted by its own values and has no numbers of the input any more. A label that is not in `known` is a
        UsageError, which does not quote it.
        """

    def count_classes(
        self, known: Sequence[Sequence[str]], assign: Assignment, classes: int, columns: Sequence[str] = ()
    ) -> ClassCounts:
        """Count the rows of each class 0, 1, …, `classes` - 1, and within each class the rows of each label of some columns.

        `known` and `assign` are those of `relabel`: labels are counted in the order of `known`. It takes no memory for the
        tuples, of which there may be as many as rows, but for the classes and, for each column, classes times labels. A
        table that is asked again may answer faster: an engine may hold what it read as long as the table lives.
        """

    def recode_many(self, requests: Sequence[RecodeRequest]) -> list[Table]:
        """Give for each request what `keep(mask).recode(levels)` gives, from one pass over the rows instead of one pass each.

        A column may have a different level in each request. Masks are called at once, for every number. The results
        are sorted by their own values and have no numbers of the input any more. A level has to cover its column in
        all rows, also in those that no mask keeps, so that an error does not depend on the random sample.
        """

    def distinct(self, column: str) -> Array:
        """List the different values of a column, sorted, without missing values."""

    def quantiles(self, column: str, at: Sequence[float]) -> Array:
        """Find the quantiles of a column: for each share, the smallest value with at least that share of the values at or below
        it. Missing values do not count.
        """

    def chunk(self, order: Sequence[str], size: int, name: str) -> Table:
        """Number consecutive groups of `size` rows in this order, in a new column. Ties are ordered by row number, and rows that
        are left over join the last group.
        """

    def means_by(self, group: str, columns: Sequence[str]) -> dict[str, Array]:
        """Give the mean of integer or decimal columns in each group 0, 1, 2, …; missing values are left out, and a group without
        values has NaN.

        Values are added in row order, so the last bit is the same on every engine and for every number of threads.
        """

    def total_runs(
        self, columns: Sequence[str], ordering: Ordering, size: int, counted: Sequence[int | None]
    ) -> RunTotals:
        """Sort the rows and add up their codes in runs of `size` rows; rows that are left over join the last run.

        `ordering` gives keys and codes from these columns, row by row, and may be sent to the workers of the engine. `counted`
        says for each column of codes None where they are added up, or that its codes 0, 1, …, `counted[j]` - 1 are counted in
        each run. It takes no memory of this machine for rows on an engine whose rows live elsewhere, but for the totals:
        runs times columns that are added up and codes that are counted.
        """

    def collect(self, columns: Sequence[str]) -> dict[str, Array]:
        """Give columns as arrays in row order; a column with missing values is a masked array."""

    def attach(self, name: str, values: Array) -> Table:
        """Add a column, given in row order; a column of the same name is replaced where it stands.

        One value for every row, as `numpy.broadcast_to` gives it, may be added without a number for each row.
        """

    def select(self, columns: Sequence[str]) -> Table:
        """Keep these columns only, in this order."""

    def batches(self, *, sort: bool = True) -> Iterator[pa.RecordBatch]:
        """Give the rows as Arrow batches of one fixed length (but the last), sorted by their own values or in row order.

        Equal multisets of rows give equal batches when sorted.
        """

    def digest(self) -> bytes:
        """Give a digest of the rows, as 32 bytes: equal for equal rows in any order, file format and engine."""

    def contents(self) -> Contents:
        """Give the digest of the rows and a digest of each column by itself, by which the ledger recognizes the table."""

    def write(self, path: Path, *, sort: bool = True) -> None:
        """Write the rows to CSV or Parquet, by the suffix, sorted by their own values so that the input's order does not show.

        The file appears whole or not at all, and equal multisets of rows give equal bytes.
        """


class Engine(Protocol):
    """An engine opens tables and runs the operations of `Table` on them."""

    @property
    def name(self) -> str:
        """The engine's name, such as `duckdb`."""

    @property
    def is_local(self) -> bool:
        """Whether rows are read, and what does not fit in memory is set aside, on this machine."""

    def scan(self, data: object, schema: Schema) -> Table:
        """Open a path (CSV, Parquet, Arrow; a folder of Parquet files) or a frame, and check it against the schema.

        Raises DataError when a column is missing, values do not read as their declared type, or values are missing
        where they may not be, and DomainError when values lie outside their domain and the policy says `error`.
        The error says which attribute and how many rows; it never quotes a value. Every row is checked here, so a table
        that was opened fits the schema. A file that changes afterwards is refused at the next operation.
        """


ENGINES = ("duckdb", "spark")
"""The names that `open_engine` accepts."""


def open_engine(
    engine: str | Engine = "duckdb", stage: Stage = silent, data: object = None, *, counted: bool = False
) -> Engine:
    """Give the engine of this name with its usual settings, or the engine itself where one is handed in.

    Arguments  `engine`: "duckdb" or "spark", or a value that fulfils the `Engine` protocol, such as `DuckDB(memory="4GB")` or
               `Spark(master="spark://host:7077")`; `stage`: is told how far reading a table has come, where the engine is named;
               `data`: what will be read: a DataFrame of Spark is read by Spark, whatever engine is named; `counted`: rows will
               be counted by their values and little else asked of them, so that the engine may hold them in another form
    Raises     UsageError where the name is not in `ENGINES`

    >>> open_engine("duckdb").name
    'duckdb'
    """
    if not isinstance(engine, str):
        return engine
    if engine not in ENGINES:
        raise UsageError("no such engine", came=engine, allowed=", ".join(ENGINES))
    if engine == "spark" or is_spark_frame(data):
        from shoal.engine.spark.engine import Spark

        return Spark(stage=stage)
    from shoal.engine.duckdb.engine import DuckDB

    return DuckDB(stage=stage, counted=counted)


def is_spark_frame(data: object) -> bool:
    """Whether a value is a DataFrame of Spark; PySpark is not imported to find out."""
    kinds = [kind for kind in type(data).__mro__ if kind.__module__.startswith("pyspark.sql")]
    return any(kind.__name__ == "DataFrame" for kind in kinds)


def bound_contributions(table: Table, unit: Unit, words: RowWords, theorem: str) -> Table:
    """Bound the contribution of each person: keep at most `unit.max_rows` rows of each, those with the smallest words.

    Where the unit of privacy is a row, the table is returned as it is. A reading that gives two people one name would let rows of
    one of them displace rows of the other, so that more than one person's rows change when one person comes or goes.

    Arguments  `table`: opened by a schema that marks the person column (`Schema.with_names`); `unit`: the unit of privacy;
               `words`: a random word for each row; `theorem`: the name of the result that rests on the bound
    Raises     PreconditionError where the person column was not read as names of people, and where a person still has more
               rows afterwards: the rows are counted again, since the guarantee holds for so many
    """
    if unit.column is None:
        return table
    attribute = table.schema.by_name.get(unit.column)
    if attribute is None or not attribute.names:
        raise PreconditionError(
            theorem,
            "the column that identifies people was not read as names, so two people may count as one",
            came=unit.column,
            fix="open the table by the schema of the plan (`Schema.with_names`)",
        )
    bounded = table.limit_per(unit.column, unit.max_rows, words)
    if max(bounded.class_sizes([unit.column]), default=0) > unit.max_rows:
        raise PreconditionError(
            theorem,
            "a person has more rows than max_rows after contribution bounding",
            allowed=f"{unit.max_rows} at most",
        )
    return bounded
