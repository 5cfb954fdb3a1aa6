"""Released tables for attacks: copies, generalizations to pairs of parts, and tables of other people."""

from __future__ import annotations

import numpy as np

from shoal.assess.risk.attack import ReleasedAttribute

PARTS = (30, 12, 8, 6)
NAMES = ("age", "town", "job", "ill")


def people(seed: int, rows: int) -> dict[str, np.ndarray]:
    """Records with four attributes, of which the last depends a little on the first."""
    source = np.random.default_rng(seed)
    age, town, job = (source.integers(0, parts, rows) for parts in PARTS[:3])
    ill = np.where(source.random(rows) < 0.3, age // 5, source.integers(0, 6, rows))
    return dict(zip(NAMES, (age, town, job, ill), strict=True))


def copied(records: dict[str, np.ndarray]) -> dict[str, ReleasedAttribute]:
    """A release that shows every value as it is."""
    positions = {"age": np.arange(30.0)}
    return {
        name: ReleasedAttribute(records[name], np.eye(parts), positions.get(name))
        for name, parts in zip(NAMES, PARTS, strict=True)
    }


def generalized(records: dict[str, np.ndarray], width: int) -> dict[str, ReleasedAttribute]:
    """A release that shows intervals of so many parts, evenly spread, and the last attribute as it is."""
    release = copied(records)
    for name, parts in zip(NAMES[:3], PARTS, strict=False):
        labels = -(-parts // width)
        shares = (np.arange(parts)[None, :] // width == np.arange(labels)[:, None]).astype(float)
        shares /= shares.sum(axis=1, keepdims=True)
        release[name] = ReleasedAttribute(records[name] // width, shares, release[name].positions)
    return release
