"""Tiny tables for the tests of the model."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np

from shoal.model.measurement import Axis, Measurement

SIZES = (3, 4, 2, 5)


def axes(sizes=SIZES):
    """Attributes with so many cells each."""
    return tuple(Axis(f"a{number}", size, ordered=False) for number, size in enumerate(sizes))


def chain(sizes=SIZES, total=10_000.0, seed=1):
    """A joint table in which each attribute depends on the one before: its neighbouring pairs say it all."""
    chance = np.random.default_rng(seed)
    joint = chance.dirichlet(np.full(sizes[0], 4.0)) * total
    for before, size in pairwise(sizes):
        rows = chance.dirichlet(np.full(size, 1.5), before)
        joint = joint[..., None] * rows
    return joint


def measured(joint, *groups, sigma=0.0, seed=1, bins=None):
    """Measurements of some sets of attributes of a joint table."""
    chance = np.random.default_rng(seed)
    found = []
    for group in groups:
        rest = tuple(axis for axis in range(joint.ndim) if axis not in group)
        table = joint.sum(rest).transpose(np.argsort(np.argsort(group)))
        own = []
        for place, axis in enumerate(group):
            division = np.arange(joint.shape[axis]) if bins is None or axis not in bins else bins[axis]
            table = np.moveaxis(np.moveaxis(table, place, -1) @ np.eye(division.max() + 1)[division], -1, place)
            own.append(division)
        noise = chance.normal(0, sigma, table.shape) if sigma else 0.0
        found.append(Measurement(tuple(group), tuple(own), table + noise, max(sigma, 1e-3) ** 2))
    return found


def pairs(width):
    """All pairs of so many attributes."""
    return list(combinations(range(width), 2))


def counted(rows, sizes):
    """The joint table of rows of cells."""
    return (
        np.bincount(np.ravel_multi_index(tuple(rows.T), sizes), minlength=np.prod(sizes)).reshape(sizes).astype(float)
    )


def distance(one, other):
    """Total variation between two tables of counts."""
    return float(np.abs(one / one.sum() - other / other.sum()).sum() / 2)
