"""How many published records an intruder who holds the original could match to their own, as far as time allows.

Small tables are matched in full. Of large ones some records are drawn, and the intruder tries those: each attempt succeeds with
the probability that the full measure averages over, so that the attempts are as many independent tosses of one coin.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.assess.distortion.linkage import ALIKE, linkage
from shoal.assess.distortion.record_pairs import paired
from shoal.chance.source import Source
from shoal.publish.rehearse import Chance
from shoal.publish.report.columns import Compared

MOST_DISTANCES = 400_000_000
"""Distances of a full match at most: a few seconds."""
SLOWER = 4
TRIED_DISTANCES = 200_000_000
"""Distances of attempts at most; one by one they are slower."""
ATTEMPTS = (100, 2000)
"""Fewer attempts say too little, and more are not needed."""


def matched(columns: Sequence[Compared], different: int, k: int | None, source: Source | None = None) -> dict[str, Any]:
    """RL of the treated attributes, of which `different` records occur; k should limit it, or is None where nothing does."""
    rows = len(columns[0].before)
    found: dict[str, Any] = {
        "attributes": [one.attribute.name for one in columns],
        "rows": rows,
        "rate": None,
        "low": None,
        "high": None,
        "exact": False,
        "attempts": None,
        "certain": None,
        "possible": None,
        "guessing": 100 / rows,
        "bound": None if k is None else 100 / k,
    }
    trees = {one.attribute.name: one.tree for one in columns if one.tree is not None}
    before = {one.attribute.name: one.before for one in columns}
    after = {one.attribute.name: one.after for one in columns}
    # A distance over names, or over gaps, takes longer than one between numbers.
    slow = any(one.tree is not None or np.ma.getmaskarray(one.before).any() for one in columns)
    if rows * different * (SLOWER if slow else 1) <= MOST_DISTANCES:
        whole = linkage(before, after, taxonomies=trees)
        return {**found, "exact": True, "rate": whole.rate, "certain": whole.certain, "possible": whole.possible}
    attempts = min(TRIED_DISTANCES // rows, ATTEMPTS[1])
    if attempts < ATTEMPTS[0]:
        return found
    with source.stream("linkage") if source is not None else Source.secure() as chance:
        chosen = chance.stream("records").integers(rows, attempts).astype(np.int64)
        hits = _tried(_near(before, after, trees, chosen), chance.stream("guesses"))
    seen = Chance.of(hits, attempts)
    shares = {"rate": 100 * seen.share, "low": 100 * seen.low, "high": 100 * seen.high}
    return {**found, **shares, "attempts": attempts}


def _near(before: Any, after: Any, trees: Any, chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For each chosen record how many originals are nearest to it; 0 where its own is none of them."""
    pairs = [pair for pair in paired(before, after, trees) if pair.variance]
    rows = len(next(iter(before.values())))
    found = np.empty(len(chosen), dtype=np.int64)
    for place, row in enumerate(chosen.tolist()):
        squares = np.zeros(rows)
        for pair in pairs:
            original, masked = pair.keys()
            squares += pair.between(masked[row : row + 1], original)[0] / pair.variance
        near = squares <= squares.min() * ALIKE
        found[place] = np.count_nonzero(near) if near[row] else 0
    return found


def _tried(sizes: npt.NDArray[np.int64], chance: Source) -> int:
    """How many attempts succeed when the intruder picks one of the nearest."""
    known, counts = np.unique(sizes[sizes > 0], return_counts=True)
    return sum(
        int(chance.bernoulli(Fraction(1, size), count).sum())
        for size, count in zip(known.tolist(), counts.tolist(), strict=True)
    )
