"""A label that covers each group: the interval from its least to its largest value, the set of its values, or the lowest
concept above them all. The records of a group show the same text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.aggregate.centroid import Labels, sizes
from shoal.data.taxonomy import Taxonomy
from shoal.errors import DataError

Array = npt.NDArray[Any]


def interval(values: Array, labels: Labels) -> Array:
    """`[least, largest]` of each group of numbers, both included, or the value itself where there is one."""
    counts = sizes(values, labels)
    if values.dtype.kind not in "biuf" or (values.dtype.kind == "f" and not np.isfinite(values).all()):
        raise DataError("an interval is of finite numbers", came=f"type {values.dtype}", fix="use a set, or a taxonomy")
    ranked = values[np.lexsort((values, labels))]
    last = np.cumsum(counts)
    lows, highs = ranked[last - counts].tolist(), ranked[last - 1].tolist()
    return _shown(
        [_plain(a) if a == b else f"[{_plain(a)}, {_plain(b)}]" for a, b in zip(lows, highs, strict=True)], labels
    )


def members(values: Array, labels: Labels) -> Array:
    """`{a, b}`, the different values of each group, sorted as text, or the value itself where there is one."""
    held = _held(values, labels)
    return _shown([min(group) if len(group) == 1 else "{" + ", ".join(sorted(group)) + "}" for group in held], labels)


def ancestor(values: Array, labels: Labels, taxonomy: Taxonomy) -> Array:
    """The lowest concept that lies above all values of each group, or the value itself where there is one."""
    above: dict[frozenset[str], str] = {}
    names = []
    for group in map(frozenset, _held(values, labels)):
        if group not in above:
            common = set.intersection(*(set(taxonomy.ancestors(value)) for value in group))
            above[group] = max(common, key=taxonomy.depth)
        names.append(above[group])
    return _shown(names, labels)


def _held(values: Array, labels: Labels) -> list[set[str]]:
    """The different values of each group, as text."""
    held: list[set[str]] = [set() for _ in sizes(values, labels)]
    for label, value in zip(labels.tolist(), values.tolist(), strict=True):
        held[label].add(str(value))
    return held


def _plain(number: float) -> str:
    """A number without a needless decimal point."""
    return f"{int(number)}" if number == int(number) and abs(number) < 1e15 else repr(number)


def _shown(names: list[str], labels: Labels) -> Array:
    shown = np.empty(len(names), dtype=object)
    shown[:] = names
    return np.asarray(shown[labels])
