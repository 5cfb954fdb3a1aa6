"""New records in the labels of a release, so that a model trained on its rows can be tested on records that it does not hold.

Only the published rules are used: which label stands for a value, and for a tree which box holds a record. What comes out has the
columns and types of the table itself, so that both fit the same program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shoal.assess.release.labels import OTHER, AtomAxis, Meaning, atom_axis, resolve_masks
from shoal.assess.release.load import LoadedRelease, PublishedTable
from shoal.assess.release.view import Ints, PublishedView
from shoal.data.hierarchy.level import MISSING
from shoal.data.type import Type, decimal_text, point, spell
from shoal.errors import PolicyError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.assess.frame.table import Intervals, Sets

Outside = Literal["error", "missing"]
NOWHERE = -1
"""The number of a value that no label stands for."""


def encode(
    loaded: LoadedRelease,
    frame: Any,
    name: str | None = None,
    *,
    outside: Outside = "error",
    intervals: Intervals = "text",
    sets: Sets = "text",
) -> Any:
    """Give new records as a table of the release would show them: a pandas, Polars or Arrow frame, as came.

    Arguments  `frame`: the records, with the columns of the table; `name`: of the table, where the release has several;
               `outside`: "error" to refuse values that the release has no label for, "missing" to leave their cells empty (of a
               tree, all cells of the record); `intervals` and `sets` as in `to_arrow` of a table
    Raises     UsageError for columns that are not there, values outside the domain, or an option that is none
    """
    from shoal.assess.frame.table import as_pandas, typed_table

    if outside not in ("error", "missing"):
        raise UsageError("outside is none of its options", came=outside, allowed="error, missing")
    table = loaded.published(name)
    records = _as_arrow(frame)
    if absent := [column for column in table.columns if column not in records.column_names]:
        raise UsageError("the records lack a column of the table", came=absent[0], allowed=", ".join(table.columns))
    shown = _shown_labels(table, [records.column(column) for column in table.columns], outside)
    made = typed_table(shown, table.typed_columns(), intervals=intervals, sets=sets)
    kind = type(frame).__module__.partition(".")[0]
    if kind == "pandas":
        return as_pandas(made).set_axis(frame.index, axis=0)
    if kind == "polars":
        import importlib

        return importlib.import_module("polars").from_arrow(made)
    return made


def _as_arrow(frame: Any) -> pa.Table:
    import pyarrow as pa

    try:
        if type(frame).__module__.partition(".")[0] == "pandas":
            return pa.Table.from_pandas(frame, preserve_index=False)
        return pa.table(frame)
    except (TypeError, ValueError, pa.ArrowException):
        # What Arrow says may quote a value.
        raise UsageError(
            "records of a kind that is not known here, or a column with values of several types",
            came=type(frame).__name__,
            allowed="a pandas or Polars frame, or an Arrow table",
        ) from None


def _shown_labels(table: PublishedTable, columns: Sequence[pa.ChunkedArray], outside: Outside) -> pa.Table:
    """The label of every cell, as text."""
    import pyarrow as pa

    meanings = [table.meanings[name] for name in table.columns]
    boxes = table.box_tuples if isinstance(table, PublishedView) else None
    if boxes is None:
        shown = [_labels_of(own, cells) for own, cells in zip(meanings, columns, strict=True)]
        gone = [np.array([text is None for text in own], dtype=np.bool_) for own in shown]
        _refuse_outside(table.columns, gone, outside)
    else:
        axes = [atom_axis([own]) for own in meanings]
        parts = zip(meanings, axes, columns, strict=True)
        atoms = np.stack([_atoms_of(own, axis, cells) for own, axis, cells in parts], axis=1)
        _refuse_outside(table.columns, list((atoms == NOWHERE).T), outside)
        box = _boxes_of(atoms, boxes, meanings, axes)
        shown = []
        for place, own in enumerate(meanings):
            codes = np.where(box == NOWHERE, len(own.texts), boxes[box, place])
            shown.append([(*own.texts, None)[code] for code in codes])
    return pa.table({name: pa.array(own, pa.string()) for name, own in zip(table.columns, shown, strict=True)})


def _labels_of(meaning: Meaning, cells: pa.ChunkedArray) -> list[str | None]:
    values, place = _distinct(cells)
    texts = [_label_of(meaning, value) for value in values]
    return [texts[number] for number in place]


def _atoms_of(meaning: Meaning, axis: AtomAxis, cells: pa.ChunkedArray) -> Ints:
    values, place = _distinct(cells)
    known = [_atom_of(meaning, axis, value) for value in values]
    return np.array([known[number] for number in place], dtype=np.int64)


def _refuse_outside(names: Sequence[str], gone: Sequence[Any], outside: Outside) -> None:
    """Refuse records that the release has no label for, without a word about what they hold."""
    for name, own in zip(names, gone, strict=True):
        if own.any() and outside == "error":
            raise UsageError(
                f"column '{name}': {int(own.sum()):,} of {len(own):,} records have a value that no label stands for",
                fix="leave such records out, or say outside='missing'",
            )


def _distinct(cells: pa.ChunkedArray) -> tuple[list[Any], Ints]:
    """The different values of a column, and for each cell the number of its value."""
    import pyarrow as pa

    encoded = cells.combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = pa.concat_arrays(encoded.chunks) if encoded.num_chunks else pa.array([], encoded.type)
    if pa.types.is_dictionary(encoded.type):
        encoded = encoded.cast(encoded.type.value_type)
    encoded = encoded.dictionary_encode(null_encoding="encode")
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _atom_of(meaning: Meaning, axis: AtomAxis, value: Any) -> int:
    if _is_missing(value):
        return NOWHERE if axis.missing is None else axis.missing
    if meaning.type.numeric:
        at = _point_of(meaning, value)
        if at is None:
            return NOWHERE
        held = (
            number for number, span in enumerate(axis.spans)
            if span is not None and (span[0] is None or span[0] <= at) and (span[1] is None or at < span[1])
        )  # fmt: skip
        return next(held, NOWHERE)
    text = _text_of(meaning, value)
    texts = (
        text,
        text if meaning.mask is None else meaning.mask.mask(text),
        OTHER,
    )  # what no label names is another value
    found = (number for each in texts for number, leaves in enumerate(axis.leaves) if each in leaves)
    return next(found, NOWHERE)


def _boxes_of(atoms: Ints, boxes: Ints, meanings: Sequence[Meaning], axes: Sequence[AtomAxis]) -> Ints:
    """Give the box of each record."""
    held = [axis.membership(resolve_masks(axis, own.labels)) for axis, own in zip(axes, meanings, strict=True)]
    different, place = np.unique(atoms, axis=0, return_inverse=True)
    found = np.full(len(different), NOWHERE, dtype=np.int64)
    inside = (different != NOWHERE).all(1)
    for number, labels in enumerate(boxes):
        own = inside & (found == NOWHERE)
        for j, code in enumerate(labels):
            own &= held[j][code][different[:, j]]
        found[own] = number
    return np.asarray(found[np.ravel(place)]) if len(atoms) else np.zeros(0, dtype=np.int64)


def _label_of(meaning: Meaning, value: Any) -> str | None:
    """The text of the label that stands for a value; None where no label does."""
    if _is_missing(value):
        return next((label.text for label in meaning.labels if label.missing), None)
    if meaning.type.numeric:
        at = _point_of(meaning, value)
        if at is None:
            return None
        for label in meaning.labels:
            inside = ((low is None or low <= at) and (high is None or at < high) for low, high in label.spans)
            if label.everything or any(inside):
                return label.text
        if meaning.listed:
            return None
        return decimal_text(at) if meaning.type in (Type.INTEGER, Type.DECIMAL) else spell(value)
    text = _text_of(meaning, value)
    if meaning.mask is not None:
        text = meaning.mask.mask(text)
    found = next((label.text for label in meaning.labels if label.everything or text in label.values), None)
    return text if found is None and not meaning.listed else found


def _is_missing(value: Any) -> bool:
    return value is None or value in ("", MISSING) or (isinstance(value, float) and value != value)  # noqa: PLR0124


def _point_of(meaning: Meaning, value: Any) -> Any:
    """Where a number, date or time lies; None where it is none, or outside the declared domain."""
    whole = isinstance(value, float) and value.is_integer() and meaning.type is Type.INTEGER
    try:
        at = point(meaning.type, int(value) if whole else value)
    except PolicyError:
        return None
    low, high = meaning.ends
    return at if (low is None or low <= at) and (high is None or at < high) else None


def _text_of(meaning: Meaning, value: Any) -> str:
    return str(value).lower() if meaning.type is Type.BOOLEAN and isinstance(value, bool) else spell(value)
