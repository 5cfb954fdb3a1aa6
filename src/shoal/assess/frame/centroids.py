"""A release of noisy centroids or of boxes, read from its folder: one table as a frame, or of ranks one for each attribute.

Every row shows a noisy average of a group of records, or is spread in a box. There are as many rows as records, in boxes up to
noise, so there are no weights; the certificate says how large noise is, and nobody outside knows how far records were off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from shoal.assess.frame.groups import SealedTable, SealedTables
from shoal.assess.frame.table import TypedColumn
from shoal.assess.release.sealed_folder import SealedFolder, reading
from shoal.data.type import Type
from shoal.errors import UsageError, VerificationError, visible

if TYPE_CHECKING:
    from shoal.data.archive import UnpackedRelease

CONCEPT = "drawn concept"
"""What a column shows whose cells may be concepts above values, and so are text."""


@dataclass(frozen=True)
class PublishedCentroidTable(SealedTable):
    """One table of noisy centroids or of boxes, sorted by its own values: a row is nobody's in particular."""

    name: str
    columns: tuple[str, ...]
    shows: Mapping[str, str]
    """What each column shows: a noisy mean, a drawn concept or value, or values that are spread inside boxes."""
    _sealed: SealedFolder = field(repr=False)
    _file: str = field(repr=False)
    _cache: dict[Any, Any] = field(repr=False, compare=False)

    def __repr__(self) -> str:
        return visible(f"<PublishedCentroidTable '{self.name}': {', '.join(self.columns[:10])}>")

    def _typed_column(self, name: str) -> TypedColumn:
        described = self.describe(name)
        return TypedColumn(described, Type.TEXT if self.shows[name] == CONCEPT else described.type, None)


@dataclass(frozen=True, repr=False)
class CentroidRelease(SealedTables[PublishedCentroidTable]):
    """A release of noisy centroids that was read from its folder; several tables have the names of their attributes."""

    def noise_share(self, column: str) -> float | None:
        """How far noise moves an average in 95 of 100 cases, as a share of the domain's width; None for choices and in boxes.

        Raises     UsageError for a column that the release does not have
        """
        for own in self.certificate["attributes"]:
            if own["name"] == column:
                told = own.get("half_width")
                return None if told is None else float(Fraction(told))
        known = ", ".join(name for table in self.tables for name in table.columns)
        raise UsageError("no column of this name", came=column, allowed=known)


def read_centroids(place: Path, sealed: SealedFolder, held: UnpackedRelease | None) -> CentroidRelease:
    """The release of a folder whose seal and hashes have been checked; VerificationError where its tables make no sense."""
    cache: dict[Any, Any] = {}
    with reading("the certificate"):
        entries = sealed.certificate["tables"]
        found = tuple(_table(sealed, entry, cache, alone=len(entries) == 1) for entry in entries)
        names = [table.name for table in found]
        if not found or len(set(names)) != len(names):
            raise VerificationError("the tables of the certificate are none, or two of them have one name")
        known = {own["name"] for own in sealed.certificate["attributes"]}
        if {name for table in found for name in table.columns} != known:
            raise VerificationError("the certificate lists the noise of other columns than its tables have")
    return CentroidRelease(place, sealed.certificate, found, held)


def _table(
    sealed: SealedFolder, entry: Mapping[str, Any], cache: dict[Any, Any], *, alone: bool
) -> PublishedCentroidTable:
    file, columns, shows = entry["file"], tuple(entry["columns"]), dict(entry["shows"])
    sealed.table_files(file)  # which refuses what is not listed
    if not columns or any(not isinstance(name, str) for name in columns) or set(columns) != set(shows):
        raise VerificationError("a table of the certificate has columns that are none")
    name = PurePosixPath(file).stem if alone else columns[0]
    return PublishedCentroidTable(name, columns, shows, sealed, file, cache)
