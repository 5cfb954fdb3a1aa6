"""A release by groups, read from its folder: the records, what each group holds, and both joined with their probabilities.

In the linked form a record has the number of its group, and a table of its own says how many records of each group have which
confidential values or buckets. Which record has which is not said: to somebody who knows nothing else, a record of a group has
what a line shows with the probability `count` over the size of the group. In the permuted form there is one table and no groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from shoal.assess.frame.table import TypedColumn, typed_column
from shoal.assess.release.sealed_folder import SealedFolder, reading
from shoal.assess.release.view import LabelledFile, PublishedFile
from shoal.errors import UsageError, VerificationError, visible

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.assess.frame.table import Intervals, Sets
    from shoal.data.archive import UnpackedRelease

METHODS = ("t-closeness", "anatomy")
"""The methods whose releases are read here."""


class SealedTable(LabelledFile):
    """A table of records or groups, read as it was sealed; it has no weights."""

    @property
    def header(self) -> tuple[str, ...]:
        """The names of all columns, in their order."""
        return self.columns

    @cached_property
    def _table(self) -> pa.Table:
        return self._read_file(self.header)


@dataclass(frozen=True)
class PublishedGroupTable(SealedTable):
    """One table of a release by groups: records, or a line for each combination of confidential labels in a group."""

    name: str
    columns: tuple[str, ...]
    """The attributes; the number of the group stands before them, and the count after them."""
    group: str | None
    count: str | None
    _rules: Mapping[str, str] = field(repr=False)
    _sealed: SealedFolder = field(repr=False)
    _file: str = field(repr=False)
    _cache: dict[Any, Any] = field(repr=False, compare=False)

    def __repr__(self) -> str:
        return visible(f"<PublishedGroupTable '{self.name}': {', '.join(self.header[:10])}>")

    @property
    def header(self) -> tuple[str, ...]:
        return tuple(name for name in (self.group, *self.columns, self.count) if name is not None)

    def _typed_column(self, name: str) -> TypedColumn:
        described = self.describe(name)
        if name in self._rules:
            return typed_column(described, (self._rules[name],), counts=False)
        return TypedColumn(described, described.type, None)


@dataclass(frozen=True)
class JoinedGroups(PublishedFile):
    """The records of a linked release, each once for every line of its group, with the probability of that line.

    The probabilities of one record add up to 1. They are what the release says to somebody who knows nothing else of anybody.
    """

    records: PublishedGroupTable
    confidential: PublishedGroupTable

    def to_arrow(self, *, intervals: Intervals = "text", sets: Sets = "text") -> pa.Table:
        """Give an Arrow table: the columns of both tables, and `share`, the probability of the line.

        Arguments  `intervals` and `sets` as for the tables themselves
        Raises     VerificationError where the two tables do not have the same groups
        """
        import pyarrow as pa

        own = self.records.to_arrow(intervals=intervals, sets=sets)
        held = self.confidential.to_arrow(intervals=intervals, sets=sets)
        group, count = str(self.records.group), str(self.confidential.count)
        numbers = held.column(group).to_numpy().astype(np.int64)
        many, of = held.column(count).to_numpy().astype(np.int64), own.column(group).to_numpy().astype(np.int64)
        if set(numbers.tolist()) != set(of.tolist()) or many.min(initial=1) < 1:
            raise VerificationError(
                "the two tables do not have the same groups", fix="run `shoal verify` on the folder"
            )
        order = np.argsort(numbers, kind="stable")
        known, starts, lines = np.unique(numbers[order], return_index=True, return_counts=True)
        sizes = np.add.reduceat(many[order], starts)
        at = np.searchsorted(known, of)
        repeats = lines[at]
        rows = np.repeat(np.arange(len(of)), repeats)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        picked = order[np.repeat(starts[at], repeats) + within]
        share = many[picked] / np.repeat(sizes[at], repeats)
        left, right = own.take(pa.array(rows)), held.drop_columns([group, count]).take(pa.array(picked))
        name = "share"
        while name in (*left.column_names, *right.column_names):
            name += "_"
        columns = {**_named(left), **_named(right), name: pa.array(share)}
        return pa.table(columns)


def _named(table: pa.Table) -> dict[str, Any]:
    return dict(zip(table.column_names, table.columns, strict=True))


AnyTable = TypeVar("AnyTable", bound=SealedTable)


@dataclass(frozen=True)
class SealedTables(Generic[AnyTable]):
    """A release without weights that was read from its folder. Tables are read when they are first asked for."""

    folder: Path
    certificate: Mapping[str, Any] = field(repr=False)
    tables: tuple[AnyTable, ...]
    held: UnpackedRelease | None = field(default=None, repr=False, compare=False)
    """The temporary folder of an archive, which exists as long as this object does."""

    def __repr__(self) -> str:
        return visible(f"<{type(self).__name__} {self.folder}: {' and '.join(map(repr, self.tables[:10]))}>")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the published tables."""
        return tuple(table.name for table in self.tables)

    def published(self, name: str | None = None) -> AnyTable:
        """Give one table by name; without a name, the only table of the release."""
        if name is None and len(self.tables) == 1:
            return self.tables[0]
        found = next((table for table in self.tables if table.name == name), None)
        if found is None:
            wrong = "a release with several tables needs a name" if name is None else "no table of this name"
            raise UsageError(wrong, came=name, allowed=", ".join(self.names))
        return found


@dataclass(frozen=True, repr=False)
class GroupRelease(SealedTables[PublishedGroupTable]):
    """A release by groups that was read from its folder.

    There are no weights and no intervals: every record is there, and what groups hold is exact.
    """

    @property
    def records(self) -> PublishedGroupTable:
        """The table with a line for each record."""
        return self.tables[0]

    @property
    def confidential(self) -> PublishedGroupTable:
        """The table of what each group holds; UsageError where the release does not show its groups."""
        if len(self.tables) == 1:
            raise UsageError(
                "this release does not show its groups", came="form: permuted", fix="read its one table as it is"
            )
        return self.tables[1]

    def joined(self) -> JoinedGroups:
        """Both tables joined by their groups: each record with every line of its group and the probability of that line.

        Raises     UsageError where the release does not show its groups
        """
        return JoinedGroups(self.records, self.confidential)


def read_groups(place: Path, sealed: SealedFolder, held: UnpackedRelease | None) -> GroupRelease:
    """The release of a folder whose seal and hashes have been checked; VerificationError where its tables make no sense."""
    cache: dict[Any, Any] = {}
    with reading("the certificate"):
        entries = sealed.certificate["tables"]
        found = tuple(_table(sealed, entry, cache) for entry in entries)
        linked = [table.group for table in found if table.group is not None]
        shape = [(table.group is not None, table.count is not None) for table in found]
        if shape not in ([(False, False)], [(True, False), (True, True)]) or len(set(linked)) > 1:
            raise VerificationError("the certificate lists tables in a way that is not known here")
    return GroupRelease(place, sealed.certificate, found, held)


def _table(sealed: SealedFolder, entry: Mapping[str, Any], cache: dict[Any, Any]) -> PublishedGroupTable:
    file, columns, rules = entry["file"], entry["columns"], entry["recoding"]
    if any(name not in sealed.certificate["files"] for name in (*sealed.table_files(file), *rules.values())):
        raise VerificationError(f"table '{file}' needs a file that the certificate does not list")
    names = [*columns, *(entry[key] for key in ("group", "count") if entry[key] is not None)]
    if not columns or any(not isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise VerificationError("a table of the certificate has columns that are none")
    if not set(rules) <= set(columns):
        raise VerificationError(f"table '{file}' has a rule for a column that it does not have")
    return PublishedGroupTable(
        PurePosixPath(file).stem, tuple(columns), entry["group"], entry["count"], dict(rules), sealed, file, cache
    )
