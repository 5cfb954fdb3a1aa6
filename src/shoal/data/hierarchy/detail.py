"""The loss of each single label: how much of the declared domain it stands for, from the domain alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise

import numpy as np

from shoal.data.domain import Pattern
from shoal.data.hierarchy.level import Cuts, Groups, Keep, Level, Whole
from shoal.data.line import Line, point
from shoal.data.schema import Attribute


def label_losses(attribute: Attribute, level: Level) -> Mapping[str, float] | float:
    """(values of the label − 1)/(values of the domain − 1) for each label, widths where values cannot be counted.

    One number where every label loses the same, as the value itself (0) and one label for all (1) do.
    """
    if isinstance(level, Keep):
        return 0.0
    if isinstance(level, Whole):
        return 1.0
    if isinstance(level, Groups):
        sizes = Counter(level.codes)
        return {label: share(sizes[code], len(level.leaves)) for code, label in enumerate(level.labels)}
    if isinstance(level, Cuts) and attribute.domain is not None:
        line = Line.of(attribute.type, attribute.domain)
        return dict(zip(level.labels, cut_losses(line, level), strict=True))
    hierarchy = attribute.hierarchy
    if hierarchy is not None and hierarchy.values is not None and not isinstance(attribute.domain, Pattern):
        labels = level.apply(np.array(hierarchy.values, dtype=object))
        shares = Counter(labels.tolist())
        return {label: share(count, len(hierarchy.values)) for label, count in shares.items()}
    at = hierarchy.levels.index(level) if hierarchy is not None and level in hierarchy.levels else None
    return hierarchy.losses[at] if hierarchy is not None and at is not None else 1.0


def share(size: int, total: int) -> float:
    """The loss of a label that stands for `size` of `total` values; nothing is lost where there is one value."""
    return (size - 1) / (total - 1) if total > 1 else 0.0


def cut_losses(line: Line, level: Cuts) -> list[float]:
    """The loss of each interval of a level."""
    ends: list[Fraction | None] = [None, *(point(line.type, at) for at in level.edges), None]
    sizes = [line.size(a, b) for a, b in pairwise(ends)]
    total = sum(sizes, Fraction(0))
    if line.counted:
        return [share(int(size), int(total)) for size in sizes]
    return [float(size / total) if total else 0.0 for size in sizes]
