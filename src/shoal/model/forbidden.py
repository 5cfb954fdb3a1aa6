"""Boxes that no row may lie in: which rows do, which rows there are outside all of them, and rows that are moved out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.chance.source import Source
from shoal.model.measurement import Floats, Ints, Mask

Masks = tuple[Mask, ...]
"""For each attribute which of its cells are meant."""
MOST_STEPS = 20_000
"""Steps of the search for rows outside all boxes; a few boxes take a few."""
DEEPEST = 400
"""Boxes that are left by a step of their own, at most."""
ROUNDS = 20
"""How often rows are moved out of one box after another before they are drawn anew from what is known to lie outside."""
LEAST = 1e-9
"""A share of the records that every cell is given, so that rows can be moved to cells in which no record was counted."""


def lies_in(boxes: Sequence[Masks], codes: Ints) -> Mask:
    """Say which rows lie in some box."""
    found = np.zeros(len(codes), dtype=np.bool_)
    for box in boxes:
        found |= np.logical_and.reduce([mask[codes[:, axis]] for axis, mask in enumerate(box)])
    return found


def find_outside(boxes: Sequence[Masks], sizes: Sequence[int]) -> tuple[Masks | None, bool]:
    """Give cells of each attribute of which every combination lies outside all boxes, and whether the search came to its end.

    None where there are none; that is certain where the search came to its end. A row outside a box has a value outside it for
    some attribute, so the search tries one attribute after another for each box, the one with most cells left first.
    """
    steps = 0

    def search(left: list[Mask], waiting: int, depth: int) -> list[Mask] | None:
        nonlocal steps
        steps += 1 if depth < DEEPEST else MOST_STEPS
        while waiting < len(boxes):
            box = boxes[waiting]
            if all((own & mask).any() for own, mask in zip(left, box, strict=True)):
                break
            waiting += 1
        else:
            return left
        ways = [(int((own & ~mask).sum()), axis) for axis, (own, mask) in enumerate(zip(left, box, strict=True))]
        for many, axis in sorted(ways, reverse=True):
            if not many or steps > MOST_STEPS:
                break
            found = search(
                [own & ~box[axis] if at == axis else own for at, own in enumerate(left)], waiting + 1, depth + 1
            )
            if found is not None:
                return found
        return None

    found = search([np.ones(size, dtype=np.bool_) for size in sizes], 0, 0)
    return (None if found is None else tuple(found)), steps <= MOST_STEPS


def move_out(codes: Ints, boxes: Sequence[Masks], margins: Sequence[Floats], outside: Masks, source: Source) -> Ints:
    """Change values of rows that lie in boxes until they lie in none, each to one that is drawn by the attribute's own counts.

    Arguments  `codes`: rows, all of them in some box; `outside`: cells of which every combination lies outside all boxes
    """
    codes = codes.copy()
    shares = [np.maximum(own, 0.0) / max(float(np.maximum(own, 0.0).sum()), 1.0) + LEAST for own in margins]
    for _ in range(ROUNDS):
        for box in boxes:
            bad = np.flatnonzero(lies_in([box], codes))
            if not len(bad):
                continue
            ways = np.array([float(own[~mask].sum()) for own, mask in zip(shares, box, strict=True)])
            axes = _draw(ways, len(bad), source)
            for axis in np.unique(axes).tolist():
                own = bad[axes == axis]
                codes[own, axis] = _draw(np.where(box[axis], 0.0, shares[axis]), len(own), source)
        if not lies_in(boxes, codes).any():
            return codes
    bad = np.flatnonzero(lies_in(boxes, codes))
    for axis, mask in enumerate(outside):
        codes[bad, axis] = _draw(np.where(mask, shares[axis], 0.0), len(bad), source)
    return codes


def _draw(weights: Floats, size: int, source: Source) -> Ints:
    """Draw places in proportion to their weights; none of weight 0."""
    ends = np.cumsum(weights)
    part = (source.words(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    drawn: Ints = np.searchsorted(ends, part * ends[-1], side="right").astype(np.int64)
    drawn[drawn >= len(weights)] = np.flatnonzero(weights)[-1]  # a rounded product may be the sum itself
    return drawn
