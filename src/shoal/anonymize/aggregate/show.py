"""What a group shows of each attribute, by its type: one value or label for all records of the group.

    type                       centroid                 median           label
    integer, decimal           mean                     median           interval
    date, datetime             mean, rounded down       lower median     interval
    ordinal                    lower median             lower median     interval
    boolean                    mode                     mode             set
    category, text             concept (hierarchy)      the same         ancestor (hierarchy)
                               or mode                                   or set

Missing values are left out of a group's centre; a group of which more than half is missing shows a missing value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.anonymize.aggregate import centroid, label
from shoal.anonymize.cluster.mdav import Labels
from shoal.anonymize.cluster.records import taxonomy
from shoal.data.domain import Values
from shoal.data.schema import Attribute
from shoal.data.type import Type, texts

Array = npt.NDArray[Any]
Show = Literal["centroid", "median", "label"]
SHOWS: tuple[Show, ...] = ("centroid", "median", "label")
_NUMBERS = (Type.INTEGER, Type.DECIMAL)


def rule(attribute: Attribute, show: Show) -> str:
    """The name of what a group shows of this attribute."""
    kind, ordered = attribute.type, attribute.type is Type.ORDINAL and isinstance(attribute.domain, Values)
    if kind.numeric or ordered:
        if show == "label":
            return "interval"
        return "mean" if show == "centroid" and kind.numeric else "median"
    if show == "label":
        return "ancestor" if attribute.hierarchy is not None else "set"
    return "concept" if attribute.hierarchy is not None and kind is not Type.BOOLEAN else "mode"


def shown(attribute: Attribute, values: Array, labels: Labels, show: Show) -> Array:
    """What every record shows; masked where its group shows nothing."""
    gone = np.ma.getmaskarray(values)
    data = np.ma.getdata(values)
    if not gone.any():
        return _centres(attribute, data, labels, show)
    groups = int(labels.max()) + 1
    present = np.bincount(labels[~gone], minlength=groups)
    empty = 2 * present < np.bincount(labels, minlength=groups)
    held, compact = np.unique(labels[~gone], return_inverse=True)
    if not len(held):
        return values
    centres = _centres(attribute, data[~gone], compact.astype(np.int32), show)
    first = np.unique(compact, return_index=True)[1]
    place = np.full(groups, 0)
    place[held] = np.arange(len(held))
    return np.ma.masked_array(centres[first][place[labels]], empty[labels])


def _centres(attribute: Attribute, values: Array, labels: Labels, show: Show) -> Array:
    make: dict[str, Callable[[Attribute, Array, Labels], Array]] = {
        "mean": _mean,
        "median": _median,
        "interval": _interval,
        "mode": lambda _, own, groups: centroid.mode(own, groups),
        "set": lambda _, own, groups: label.members(_plain(own), groups),
        "concept": lambda one, own, groups: centroid.concept(own, groups, taxonomy(one, own)),
        "ancestor": lambda one, own, groups: label.ancestor(own, groups, taxonomy(one, own)),
    }
    return make[rule(attribute, show)](attribute, values, labels)


def _mean(attribute: Attribute, values: Array, labels: Labels) -> Array:
    if attribute.type in _NUMBERS:
        return centroid.mean(values, labels)
    return np.floor(centroid.mean(values.astype(np.int64), labels)).astype(np.int64).astype(values.dtype)


def _median(attribute: Attribute, values: Array, labels: Labels) -> Array:
    if attribute.type in _NUMBERS:
        return centroid.median(values, labels)
    if attribute.type is not Type.ORDINAL:
        return _lower(values.astype(np.int64), labels).astype(values.dtype)
    names = _names(attribute)
    place = {name: rank for rank, name in enumerate(names)}
    ranks = _lower(np.fromiter((place[value] for value in values.tolist()), np.int64, len(values)), labels)
    return np.array(names, dtype=object)[ranks]


def _lower(values: Array, labels: Labels) -> Array:
    """The lower of the two middle values of each group, so that it is one of them."""
    counts = centroid.sizes(values, labels)
    ranked = values[np.lexsort((values, labels))]
    return np.asarray(ranked[np.cumsum(counts) - counts + (counts - 1) // 2][labels])


def _interval(attribute: Attribute, values: Array, labels: Labels) -> Array:
    if attribute.type in _NUMBERS:
        return label.interval(values, labels)
    if attribute.type is Type.ORDINAL:
        names = _names(attribute)
        place = {name: rank for rank, name in enumerate(names)}
        codes = np.fromiter((place[value] for value in values.tolist()), np.int64, len(values))
    else:
        known, codes = np.unique(values, return_inverse=True)
        names = tuple(texts(known))
    counts = centroid.sizes(codes, labels)
    ranked = codes[np.lexsort((codes, labels))]
    last = np.cumsum(counts)
    pairs = zip(ranked[last - counts].tolist(), ranked[last - 1].tolist(), strict=True)
    held = np.empty(len(counts), dtype=object)
    held[:] = [names[low] if low == high else f"[{names[low]}, {names[high]}]" for low, high in pairs]
    return np.asarray(held[labels])


def _names(attribute: Attribute) -> tuple[str, ...]:
    return attribute.domain.values if isinstance(attribute.domain, Values) else ()


def _plain(values: Array) -> Array:
    """Truth as `true` and `false`, everything else as it is."""
    if values.dtype.kind != "b":
        return values
    return np.array(texts(values), dtype=object)
