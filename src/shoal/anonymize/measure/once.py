"""Tables chosen once: a noisy score for every candidate, and from the scores alone how many tables to measure, and which."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Group = tuple[str, ...]
LEFT_BY_FIT = 0.25
"""The part of the noise that counts against a table: a fit weighs its entries against those of all others (measured)."""
KEPT = 1 - 1e-6
"""Gains are lowered by this factor, so that they rise by less than one where a distance does, whatever floats round."""
FARTHEST = 1 << 29
"""Distances end here: up to it, what floats round in a gain (six units of the last place) is less than `KEPT` takes away."""
LARGEST = 2.0**40
"""Expected counts end here, so that no sum of differences leaves 64 bits."""


def independent_table(group: Group, counts: Mapping[str, Floats], total: float) -> Floats:
    """The table that a group would have if its attributes were independent, from estimated counts of their bins."""
    shares = [counts[name] / max(float(counts[name].sum()), 1e-300) for name in group]
    found = np.full((), total)
    for share in shares:
        found = np.multiply.outer(found, share)
    return found


def distance(found: Numbers, expected: Floats) -> int:
    """How far a table is from the expected one, in records: a whole number that one record moves by at most one.

    Expected counts are constants, given what is published; a record is in one entry, and changes its distance by one. That
    holds whatever is expected: what is not a number counts as none, and numbers without measure end at a large one.
    """
    whole = np.rint(np.clip(np.nan_to_num(expected), -LARGEST, LARGEST)).astype(np.int64)
    return min(int(np.abs(found - whole).sum()), FARTHEST)


def gain(far: float, sigma: Fraction | float, cells: int) -> float:
    """By how many records measuring a table brings it nearer: from its distance, the noise of an entry and their number.

    A distance that is spread over all entries is d for each, with d^2 the variance before anything is measured. An entry that
    is measured with variance s^2 and weighed against what was expected keeps d s / sqrt(d^2 + s^2) of it, with s the part of
    sigma that a fit to all tables leaves. The gain rises with the distance, by less than one where that rises by one.
    """
    spread = math.sqrt(2 / math.pi) * cells
    noise = LEFT_BY_FIT * float(sigma)
    return KEPT * max(far, 0.0) * (1.0 - noise / math.hypot(max(far, 0.0) / spread, noise))


@dataclass(frozen=True)
class TableChoice:
    """Which of the possible numbers of tables was taken, and the candidates that are measured, by their number."""

    number: int
    sigma: Fraction
    groups: tuple[int, ...]


def choose_tables(scores: Sequence[int], cells: Sequence[int], possible: Sequence[tuple[int, Fraction]]) -> TableChoice:
    """The tables to measure: the number and the set for which all candidates together are brought nearest.

    With more tables each has more noise. Published numbers alone decide (a trade-off that Zhang and others, 2021, make one
    table at a time).
    """
    best: tuple[float, TableChoice] | None = None
    for number, sigma in possible:
        gains = np.array([gain(score, sigma, each) for score, each in zip(scores, cells, strict=True)])
        order = np.argsort(-gains, kind="stable")[:number]
        total = float(gains[order].sum())
        if best is None or total > best[0]:
            best = total, TableChoice(number, sigma, tuple(sorted(order.tolist())))
    assert best is not None  # noqa: S101 - a setting has at least one possible number
    return best[1]
