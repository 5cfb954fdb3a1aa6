"""The laws of every hierarchy, tried on values: total, nested, losses from 0 to 1 and never falling."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from shoal.data.hierarchy.base import Hierarchy, check_nested
from shoal.data.hierarchy.level import OUTSIDE, TopLevel, ValueLevel
from shoal.data.type import texts


def check(hierarchy: Hierarchy, values: np.ndarray) -> None:
    """Every value has one label at each level, and values that share a label share it at every coarser level."""
    check_nested(hierarchy)
    assert isinstance(hierarchy.levels[0], ValueLevel)
    assert isinstance(hierarchy.levels[-1], TopLevel)
    assert hierarchy.losses[0] == 0
    assert hierarchy.losses[-1] == 1
    assert all(a <= b for a, b in pairwise(hierarchy.losses))
    columns = [texts(level.apply(values)) for level in hierarchy.levels]
    for fine, coarse in pairwise(columns):
        assert None not in coarse
        above: dict[str, str] = {}
        for label, next_label in zip(fine, coarse, strict=True):
            assert above.setdefault(label, next_label) == next_label
    for index, level in enumerate(hierarchy.levels):
        labels = hierarchy.labels(index)
        if labels is None:
            continue
        assert len(set(labels)) == len(labels)
        codes = hierarchy.encode(index, values)
        assert OUTSIDE not in codes
        shown = columns[index] if isinstance(level, ValueLevel) else level.apply(values).tolist()
        assert [labels[code] for code in codes] == shown


def loss_by_hand(labels: list[str]) -> float:
    """The average over values of (group − 1)/(values − 1)."""
    total = len(labels)
    return sum((labels.count(label) - 1) / (total - 1) for label in labels) / total
