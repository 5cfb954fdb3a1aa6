"""The tables to compare: the original, what a release folder says of it whatever its method, and a table that another tool made.

rows of a sample, labels of levels     the published rows; what labels stand for is read from the rules of the folder
masked records, centroids, boxes       the published rows; what their cells stand for is read from the cells
records with groups                    the published rows; a confidential cell is the distribution of its group
views, noisy counts                    marginals and moments from the recipient's model of all tables; rows for everything
                                       else are drawn from that model
a synthetic table                      its rows
columns that are published apart       rows that join them at random, since nothing is published of their relations
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.assess.comparison.cells import CellReader
from shoal.assess.comparison.parts import AttributeParts, Floats, Ints, ReadColumn, parts_of, read_column
from shoal.assess.comparison.table import ComparableColumn, ComparableTable
from shoal.assess.frame.centroids import CentroidRelease
from shoal.assess.frame.column import EVERY, GONE, PublishedColumn
from shoal.assess.frame.groups import GroupRelease, PublishedGroupTable
from shoal.assess.frame.recoded import RecodedRelease
from shoal.assess.release.labels import Label
from shoal.assess.release.load import LoadedRelease, load_any
from shoal.assess.release.sealed_folder import SealedFolder, reading
from shoal.assess.release.synthetic import draw_synthetic
from shoal.assess.release.view import label_texts, read_table, rule_files
from shoal.chance.source import Source
from shoal.data.hierarchy.level import GroupLevel
from shoal.data.schema import Attribute, Schema
from shoal.data.type import Type
from shoal.engine.base import Table
from shoal.errors import ShoalError, UsageError
from shoal.progress import Stage, silent

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.assess.release.consistency import ConsistentViews
    from shoal.assess.release.joint_model import ConsistentCounts

SEED = "assessment"
"""Rows that are drawn for an assessment are the same each time, so that two of them agree."""
RECORDS = ("microaggregation", "probabilistic-k")
"""The methods that publish masked records without rules."""


@dataclass(frozen=True, eq=False)
class OriginalTable:
    """The original table, with the parts by which others are compared with it."""

    schema: Schema
    """The attributes that are compared."""
    table: ComparableTable
    columns: Mapping[str, ReadColumn] = field(repr=False)

    @classmethod
    def of(cls, table: Table, names: Sequence[str] | None = None) -> OriginalTable:
        """Read the attributes of a table that are compared: by default those that may be published."""
        wanted = [each.name for each in table.schema.published] if names is None else list(names)
        attributes = tuple(table.schema[name] for name in wanted)
        if not attributes:
            raise UsageError("no attribute is published, so there is nothing to compare")
        cells = table.collect(wanted)
        held = {each.name: read_column(each.type, cells.pop(each.name)) for each in attributes}
        parts = {each.name: parts_of(each, held[each.name]) for each in attributes}
        columns = {name: ComparableColumn.of_values(parts[name], held[name]) for name in wanted}
        return cls(Schema(attributes), ComparableTable(columns, "the original", aligned=True), held)

    def like(self, table: Table) -> ComparableTable:
        """Other records of the same kind, such as a control group that took no part, by the same parts."""
        cells = table.collect(list(self.table.names))
        columns = {}
        for name in self.table.names:
            kind = self.schema[name].type
            columns[name] = ComparableColumn.of_values(self.table[name].parts, read_column(kind, cells.pop(name)))
        return ComparableTable(columns, "other originals")

    def parts(self, name: str) -> AttributeParts:
        """The parts of an attribute."""
        return self.table[name].parts

    def reader(self, name: str) -> CellReader:
        """A reader of masked cells of an attribute, which knows the names of the original too."""
        return CellReader(self.schema[name], self.columns[name].names, concepts_of(self.schema[name]))


def concepts_of(attribute: Attribute) -> dict[str, tuple[str, ...]]:
    """The values below each label of an attribute's hierarchy, where it groups values."""
    found: dict[str, list[str]] = {}
    for level in attribute.hierarchy.levels if attribute.hierarchy is not None else ():
        if isinstance(level, GroupLevel):
            for value, label in level.table.items():
                found.setdefault(label, []).append(value)
    return {label: tuple(dict.fromkeys(values)) for label, values in found.items()}


# --- a table that another tool made -----------------------------------------------------------------------------------


def masked_table(original: OriginalTable, data: pa.Table, *, aligned: bool = False) -> ComparableTable:
    """A masked table of any tool, its cells read as they are: values, labels of the policy's hierarchies, intervals, sets, stars.

    Arguments  `data`: the masked table; columns that the original does not have are left out
               `aligned`: whether row i is record i of the original, so that records can be paired
    Raises     UsageError where they have no column in common, or an aligned table has another number of rows
    """
    names = [name for name in original.table.names if name in data.column_names]
    if not names:
        raise UsageError(
            "the masked table has no column of the original", came=", ".join(data.column_names[:8]),
            allowed=", ".join(original.table.names[:8]),
        )  # fmt: skip
    if aligned and data.num_rows != original.table.rows:
        raise UsageError(
            "masked records do not pair with originals", came=f"{data.num_rows:,} rows",
            allowed=f"{original.table.rows:,}, in the same order", fix="leave out the pairing",
        )  # fmt: skip
    read = {name: _read_cells(original, name, data.column(name)) for name in names}
    unread = [(name, many) for name, (_, many) in read.items() if many]
    notes = [
        f"'{name}' has {many:,} different {'cell' if many == 1 else 'cells'} that could not be read: for classes each is a "
        "label of its own, for attacks and utility it counts as any value, which makes attacks look weaker than they may be"
        for name, many in unread
    ]
    columns = {name: column for name, (column, _) in read.items()}
    return ComparableTable(columns, "the masked table", aligned=aligned, notes=tuple(notes))


def _read_cells(
    original: OriginalTable, name: str, cells: pa.ChunkedArray, known: Mapping[str, Label] | None = None
) -> tuple[ComparableColumn, int]:
    """A column of cells, and how many different ones could not be read; `known` are labels that a rule explains."""
    import pyarrow as pa

    parts, kind = original.parts(name), original.schema[name].type
    if not known and (points := _points(kind, cells)) is not None:
        return ComparableColumn.of_values(parts, ReadColumn(points, (), np.empty(0, dtype=np.int64))), 0
    held = cells.combine_chunks()
    if not pa.types.is_dictionary(held.type):
        held = held.dictionary_encode(null_encoding="encode")
    texts = label_texts(pa.chunked_array([held.dictionary]))
    codes = held.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False).astype(np.int64)
    reader, labels, unread = original.reader(name), [], []
    for text in [*texts, ""]:
        label, fine = (known or {}).get(text), True
        if label is None:
            label, fine = reader.read(text)
        labels.append(label)
        unread.append(not fine)
    return ComparableColumn.of_labels(parts, codes, labels, unread), sum(unread)


def _points(kind: Type, cells: pa.ChunkedArray) -> Floats | None:
    """A column of plain numbers, dates or times as points; None where some cell is none."""
    import pyarrow as pa

    if not kind.numeric:
        return None
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
        from pyarrow import compute

        cells = compute.if_else(compute.is_in(cells, value_set=pa.array(["", "(missing)", "NA"])), None, cells)
    target = {Type.DATE: pa.date32(), Type.DATETIME: pa.timestamp("us")}.get(kind, pa.float64())
    try:
        found = cells.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    if kind in (Type.DATE, Type.DATETIME):
        found = found.cast(pa.int32() if kind is Type.DATE else pa.int64()).cast(pa.float64())
        shift = 719_163 if kind is Type.DATE else 0
        return np.asarray(found.to_numpy().astype(np.float64) + shift)
    return np.asarray(found.to_numpy(), dtype=np.float64)


# --- a release ----------------------------------------------------------------------------------------------------------


def released_table(original: OriginalTable, folder: Path, stage: Stage = silent) -> ComparableTable:
    """What a release says of the original, from its folder alone. `stage` is told what is done.

    Raises     UsageError where there is no release, VerificationError where something is not as it was sealed
    """
    sealed = SealedFolder.open(folder)
    found = _released(original, folder, sealed, stage)
    return replace(found, notes=(*found.notes, *_left_out(sealed.certificate)))


def _released(original: OriginalTable, folder: Path, sealed: SealedFolder, stage: Stage) -> ComparableTable:
    if sealed.certificate.get("method") in RECORDS:
        return _masked_records(original, sealed)
    loaded = load_any(folder)
    if isinstance(loaded, RecodedRelease):
        return _recoded(original, loaded)
    if isinstance(loaded, GroupRelease):
        return _groups(original, loaded)
    if isinstance(loaded, CentroidRelease):
        return _centroids(original, loaded)
    return _sampled(original, loaded, stage)


def _left_out(certificate: Mapping[str, Any]) -> list[str]:
    """What makes a release differ from its original before the method does anything: it is part of every distance."""
    with reading("the certificate"):
        unit = certificate.get("guarantee", {}).get("unit") or {}
        column, most = unit.get("column"), unit.get("max_rows", 1)
        found = []
        if isinstance(column, str):
            found.append(
                f"the release speaks of at most {most:,} rows of each '{column}', and is compared with all rows: what that "
                "leaves out is part of every distance"
            )
        if certificate.get("treatments"):
            found.append("values were treated before the method, as the policy says: that is part of every distance")
    return found


def _masked_records(original: OriginalTable, sealed: SealedFolder) -> ComparableTable:
    with reading("the certificate"):
        (entry,) = sealed.certificate["tables"]
        file, columns = entry["file"], tuple(entry["columns"])
        table = read_table(sealed, file, columns)
    found = masked_table(original, table)
    return ComparableTable(found.columns, "masked records", notes=found.notes)


def _recoded(original: OriginalTable, loaded: RecodedRelease) -> ComparableTable:
    records, (entry,) = loaded.records, loaded.certificate["tables"]
    table, columns = records._table, {}  # noqa: SLF001 - cells as they stand in the file
    for name in _shared(original, records.columns):
        known = _rule_labels(records.describe(name), rule_files(entry, name))
        columns[name], _ = _read_cells(original, name, table.column(name), known)
    return ComparableTable(columns, "published rows")


def _rule_labels(column: PublishedColumn, rules: Sequence[str]) -> dict[str, Label]:
    """What the labels of some rule files stand for."""
    return {
        label.text: Label(
            label.text, label.spans, frozenset(label.values), label.missing or label.kind == GONE,
            label.kind == EVERY and not label.spans and not label.values,
        )
        for label in column.labels_of(*rules)
    }  # fmt: skip


def _shared(original: OriginalTable, names: Sequence[str]) -> list[str]:
    return [name for name in original.table.names if name in names]


def _groups(original: OriginalTable, loaded: GroupRelease) -> ComparableTable:
    """The records; in the linked form a confidential cell is what its group holds, each with its share."""
    columns = _group_columns(original, loaded.records)
    if len(loaded.tables) == 1:
        return ComparableTable(columns, "records with values permuted inside hidden groups")
    held = loaded.confidential
    own = _group_columns(original, held)
    numbers = held._table.column(str(held.group)).to_numpy().astype(np.int64)  # noqa: SLF001
    counts = held._table.column(str(held.count)).to_numpy().astype(np.float64)  # noqa: SLF001
    groups, place = np.unique(numbers, return_inverse=True)
    of = loaded.records._table.column(str(loaded.records.group)).to_numpy().astype(np.int64)  # noqa: SLF001
    at = np.searchsorted(groups, of)
    for name, column in own.items():
        shares, means, squares, open_ = (np.zeros((len(groups), width)) for width in (len(column.parts), 1, 1, 1))
        total = np.bincount(place, counts, len(groups))
        np.add.at(shares, place, column.shares[column.codes] * (counts / total[place])[:, None])
        weight = (counts / total[place])[:, None]
        np.add.at(means, place, column.numbers[:, None] * weight)
        np.add.at(squares, place, column.square_numbers[:, None] * weight)
        np.add.at(open_, place, column.coverage[column.codes][:, None] * weight)
        columns[name] = ComparableColumn(column.parts, at, shares, means[:, 0], squares[:, 0], open_[:, 0])
    return ComparableTable(columns, "records, each with the distribution of its group")


def _group_columns(original: OriginalTable, table: PublishedGroupTable) -> dict[str, ComparableColumn]:
    found = {}
    for name in _shared(original, table.columns):
        rules = [table._rules[name]] if name in table._rules else []  # noqa: SLF001
        known = _rule_labels(table.describe(name), rules)
        found[name], _ = _read_cells(original, name, table._table.column(name), known)  # noqa: SLF001
    return found


def _centroids(original: OriginalTable, loaded: CentroidRelease) -> ComparableTable:
    columns: dict[str, ComparableColumn] = {}
    for table in loaded.tables:
        for name in _shared(original, table.columns):
            columns[name], _ = _read_cells(original, name, table._table.column(name))  # noqa: SLF001
    if len(loaded.tables) == 1:
        boxes = loaded.certificate.get("method") == "box-microaggregation"
        return ComparableTable(columns, "rows spread inside boxes" if boxes else "noisy centroids", real=False)
    with Source.seeded(SEED) as source:
        apart = {
            name: column.take(np.argsort(source.stream(name).words(len(column)), kind="stable"))
            for name, column in columns.items()
        }
    note = "columns are published apart: rows were joined at random, since nothing is published of their relations"
    return ComparableTable(apart, "noisy centroids of each column, joined at random", real=False, notes=(note,))


def _sampled(original: OriginalTable, loaded: LoadedRelease, stage: Stage) -> ComparableTable:
    """One table of sampled rows as it is; several tables, or noisy counts, through the recipient's model of all of them."""
    if loaded.certificate.get("synthetic"):
        table = loaded.synthetic().to_arrow()
        columns = {
            name: _read_cells(original, name, table.column(name))[0] for name in _shared(original, table.column_names)
        }
        return ComparableTable(columns, "the published synthetic rows", real=False)
    names = _shared(original, loaded.attributes)
    model = RecipientModel(original, loaded) if loaded.counts or len(loaded.views) > 1 else None
    wide = [view for view in loaded.views if set(names) <= set(view.columns)]
    if len(loaded.views) == 1 and wide:
        (view,) = loaded.views
        codes, counts = view.tuples
        columns = {
            name: ComparableColumn.of_labels(
                original.parts(name),
                np.repeat(codes[:, view.columns.index(name)], counts),
                view.meanings[name].labels,
            )
            for name in names
        }
        if model is None:
            return ComparableTable(columns, "the published rows")
        words = "the published rows and noisy counts beside them"
        return ComparableTable(columns, words, model=model, drawn=_drawn_rows(original, loaded, model, stage))
    assert model is not None  # noqa: S101 - there are several tables, or counts
    return _drawn_rows(original, loaded, model, stage)


def _drawn_rows(original: OriginalTable, loaded: LoadedRelease, model: RecipientModel, stage: Stage) -> ComparableTable:
    """As many rows as the original has, drawn from a model of all tables of a release."""
    with Source.seeded(SEED) as source:
        rows = original.table.rows or None
        drawn = (
            draw_synthetic(loaded.fit_counts(stage), rows, source, stage)
            if loaded.counts
            else loaded.synthetic(rows, source=source)
        )
    columns = _drawn_columns(original, drawn, model)
    what = "noisy counts" if loaded.counts else "views"
    note = f"rows are drawn from the recipient's model of all {what}; marginals are the model's own, where it has them"
    words = f"rows drawn from a model of the published {what}"
    return ComparableTable(columns, words, real=False, model=model, notes=(note,))


def _drawn_columns(original: OriginalTable, drawn: Any, model: RecipientModel) -> dict[str, ComparableColumn]:
    found = {}
    for name in _shared(original, drawn.columns):
        known = model.labels(name)
        labels = [known[text] for text in drawn.labels[name]]
        codes: Ints = drawn.codes[:, drawn.columns.index(name)]
        found[name] = ComparableColumn.of_labels(original.parts(name), codes, labels)
    return found


@dataclass(frozen=True, eq=False)
class RecipientModel:
    """Marginals and moments from everything that a release says: what a recipient computes who uses all of its tables."""

    original: OriginalTable
    loaded: LoadedRelease
    _known: dict[str, dict[str, Label]] = field(default_factory=dict, repr=False)
    _spread: dict[str, Floats] = field(default_factory=dict, repr=False)

    def labels(self, name: str) -> dict[str, Label]:
        """What the labels of a column stand for, in any table and in the atoms of all tables together."""
        if name not in self._known:
            atoms = {atom.text: atom for atom in self._atoms(name)}
            held = {label.text: label for each in self.loaded.meanings(name) for label in each.labels}
            self._known[name] = atoms | held
        return self._known[name]

    def marginal(self, names: tuple[str, ...]) -> Floats | None:
        """The estimated records of each cell; None where no table holds the attributes, or they have too many cells."""
        try:
            return self._consistent.spread_table(names, [self._atom_shares(name) for name in names])
        except ShoalError:
            return None

    def moments(self, name: str) -> tuple[float, float] | None:
        """The mean and the mean square of a column of numbers; None where the release has no number."""
        try:
            axis = self.loaded.axis(name)
            counts = np.maximum(self._consistent.spread_table((name,), [np.eye(len(axis))]), 0.0)
        except ShoalError:
            return None
        found = np.array([self.original.parts(name).moments(label) for label in self._atoms(name)])
        known = ~np.isnan(found[:, 0]) & (counts > 0)
        if not known.any():
            return None
        weight = counts[known] / counts[known].sum()
        return float(weight @ found[known, 0]), float(weight @ found[known, 1])

    def _atoms(self, name: str) -> list[Label]:
        axis = self.loaded.axis(name)
        return [
            Label(text, () if span is None else (span,), leaves, missing=number == axis.missing)
            for number, (text, span, leaves) in enumerate(zip(axis.names, axis.spans, axis.leaves, strict=True))
        ]

    def _atom_shares(self, name: str) -> Floats:
        if name not in self._spread:
            self._spread[name] = np.array([self.original.parts(name).shares(atom) for atom in self._atoms(name)])
        return self._spread[name]

    @cached_property
    def _consistent(self) -> ConsistentViews | ConsistentCounts:
        return self.loaded.consistent()
