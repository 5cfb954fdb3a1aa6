"""A release with labels of levels, read from its folder: one table of records as a frame, and the sizes of its classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from shoal.assess.frame.groups import SealedTable
from shoal.assess.release.sealed_folder import SealedFolder, reading
from shoal.assess.release.view import rule_files
from shoal.errors import UsageError, VerificationError, visible

if TYPE_CHECKING:
    from shoal.data.archive import UnpackedRelease


@dataclass(frozen=True)
class PublishedRecodedTable(SealedTable):
    """The published records: quasi-identifiers show labels, or values where their level leaves them; the rest shows values."""

    name: str
    columns: tuple[str, ...]
    quasi: tuple[str, ...]
    """The quasi-identifiers: rows that show the same of them are a class."""
    _sealed: SealedFolder = field(repr=False)
    _file: str = field(repr=False)
    _cache: dict[Any, Any] = field(repr=False, compare=False)

    def __repr__(self) -> str:
        return visible(f"<PublishedRecodedTable '{self.name}': {', '.join(self.columns[:10])}>")

    @cached_property
    def class_sizes(self) -> Mapping[tuple[Any, ...], int]:
        """How many rows each class has, by what it shows of the quasi-identifiers."""
        held = [self._table.column(name).to_pylist() for name in self.quasi]
        return Counter(zip(*held, strict=True))


@dataclass(frozen=True)
class RecodedRelease:
    """A release with labels of levels that was read from its folder.

    There are no weights and no intervals: every row is one record, and how many were left out is not said.
    """

    folder: Path
    certificate: Mapping[str, Any] = field(repr=False)
    records: PublishedRecodedTable
    held: UnpackedRelease | None = field(default=None, repr=False, compare=False)
    """The temporary folder of an archive, which exists as long as this object does."""

    def __repr__(self) -> str:
        return visible(f"<RecodedRelease {self.folder}: {self.records!r}>")

    @property
    def names(self) -> tuple[str, ...]:
        """The name of the one table."""
        return (self.records.name,)

    def published(self, name: str | None = None) -> PublishedRecodedTable:
        """Give the one table; UsageError for another name than its own."""
        if name not in (None, self.records.name):
            raise UsageError("no table of this name", came=name, allowed=self.records.name)
        return self.records


def read_recoded(place: Path, sealed: SealedFolder, held: UnpackedRelease | None) -> RecodedRelease:
    """The release of a folder whose seal and hashes have been checked; VerificationError where its table makes no sense."""
    with reading("the certificate"):
        (entry,) = sealed.certificate["tables"]
        file, columns, quasi = entry["file"], tuple(entry["columns"]), tuple(entry["quasi"])
        needed = {*sealed.table_files(file), *(each for name in columns for each in rule_files(entry, name))}
        if not columns or not set(quasi) <= set(columns) or not needed <= set(sealed.certificate["files"]):
            raise VerificationError("the certificate lists its table in a way that is not known here")
    table = PublishedRecodedTable(PurePosixPath(file).stem, columns, quasi, sealed, file, {})
    return RecodedRelease(place, sealed.certificate, table, held)
