"""How far a result is from the table that was released: total variation, ranges, associations.

A result is anything that gives the expected counts of any few attributes, `counts(axes)`: synthetic rows are counted, a
model says it itself. All distances are between shares, so that results of other sizes compare.
"""

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

TRIPLES = 200
"""Where there are more triples than this, as many are drawn, the same for every result."""
RANGES = 1000


@dataclass(frozen=True)
class Rows:
    """Codes, counted when asked, and once."""

    codes: np.ndarray
    sizes: tuple[int, ...]
    counted: dict[tuple[int, ...], np.ndarray] = field(default_factory=dict)

    def counts(self, axes) -> np.ndarray:
        """The joint counts of some attributes."""
        axes = tuple(axes)
        if axes not in self.counted:
            shape = tuple(self.sizes[axis] for axis in axes)
            flat = np.ravel_multi_index(tuple(self.codes[:, axis] for axis in axes), shape)
            self.counted[axes] = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)
        return self.counted[axes]


def shares(counts: np.ndarray) -> np.ndarray:
    """Counts that add up to one; an even spread where there is nothing."""
    total = counts.sum()
    return counts / total if total > 0 else np.full(counts.shape, 1 / counts.size)


def total_variation(one: np.ndarray, other: np.ndarray) -> float:
    """Half the sum of the differences between two distributions."""
    return float(np.abs(one - other).sum() / 2)


def association(joint: np.ndarray) -> float:
    """Cramer's V of a pair: 0 for independent attributes, 1 for attributes that determine each other."""
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    there = expected > 0
    square = float(((joint - expected)[there] ** 2 / expected[there]).sum())
    least = min((joint.sum(axis=1) > 0).sum(), (joint.sum(axis=0) > 0).sum()) - 1
    return float(np.sqrt(square / least)) if least > 0 else 0.0


def association_beyond_chance(joint: np.ndarray, rows: float) -> float:
    """Cramer's V less what independent attributes show in so many rows (Bergsma 2013): about 0 where only chance is seen.

    V of a table of few rows is above 0 where attributes are independent, by about the root of the cells over the rows.
    """
    first, second = (int((joint.sum(axis=axis) > 0).sum()) - 1 for axis in (1, 0))
    if min(first, second) < 1 or rows <= 1:
        return 0.0
    square = association(joint) ** 2 * min(first, second)
    left = max(0.0, square - first * second / (rows - 1))
    least = min(first - first**2 / (rows - 1), second - second**2 / (rows - 1))
    return float(np.sqrt(left / least)) if least > 0 else 0.0


def correlation(joint: np.ndarray) -> float:
    """Pearson's correlation of the codes of two ordered attributes."""
    first, second = np.arange(joint.shape[0]), np.arange(joint.shape[1])
    one, other = joint.sum(axis=1), joint.sum(axis=0)
    means = one @ first, other @ second
    spreads = one @ (first - means[0]) ** 2, other @ (second - means[1]) ** 2
    if min(spreads) <= 0:
        return 0.0
    return float((first - means[0]) @ joint @ (second - means[1]) / np.sqrt(spreads[0] * spreads[1]))


def range_queries(columns, seed: int) -> list[tuple[tuple[int, ...], tuple[np.ndarray, ...]]]:
    """Random questions over one to three attributes: an interval of an ordered one, half the values of another."""
    chance = np.random.default_rng([seed, len(columns)])
    found = []
    for _ in range(RANGES):
        axes = tuple(sorted(chance.choice(len(columns), size=int(chance.integers(1, 4)), replace=False).tolist()))
        masks = []
        for axis in axes:
            column = columns[axis]
            if column.ordered:
                low, high = np.sort(chance.integers(0, column.cells, 2))
                masks.append((np.arange(column.cells) >= low) & (np.arange(column.cells) <= high))
            else:
                masks.append(
                    np.isin(np.arange(column.cells), chance.permutation(column.cells)[: max(1, column.cells // 2)])
                )
        found.append((axes, tuple(masks)))
    return found


def share_in(joint: np.ndarray, masks) -> float:
    """The share of a distribution that lies within a box."""
    return float(joint[np.ix_(*masks)].sum())


def measure(columns, truth, result, *, widest: int = 3, seed: int = 2026) -> dict[str, float]:
    """Every measure of a result beside the truth; `widest` 2 leaves out what a result of pairs cannot say."""
    found: dict[str, float] = {}
    known: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {}

    def both(axes):
        if axes not in known:
            known[axes] = shares(truth.counts(axes)), shares(np.maximum(result.counts(axes), 0.0))
        return known[axes]

    chance = np.random.default_rng([seed, len(columns), 3])
    for width in range(1, widest + 1):
        groups = list(combinations(range(len(columns)), width))
        if width == 3 and len(groups) > TRIPLES:
            groups = [groups[i] for i in np.sort(chance.choice(len(groups), TRIPLES, replace=False))]
        distances = [total_variation(*both(axes)) for axes in groups]
        found |= {f"tv{width}": float(np.mean(distances)), f"tv{width}_worst": max(distances)}
    pairs = list(combinations(range(len(columns)), 2))
    found["association"] = float(
        np.mean([abs(association(both(axes)[0]) - association(both(axes)[1])) for axes in pairs])
    )
    rows = [float(np.maximum(each.counts(pairs[0]), 0.0).sum()) for each in (truth, result)]
    found["association_beyond_chance"] = float(
        np.mean(
            [
                abs(
                    association_beyond_chance(both(axes)[0], rows[0])
                    - association_beyond_chance(both(axes)[1], rows[1])
                )
                for axes in pairs
            ]
        )
    )
    ordered = [axes for axes in pairs if columns[axes[0]].ordered and columns[axes[1]].ordered]
    if ordered:
        found["correlation"] = float(
            np.mean([abs(correlation(both(axes)[0]) - correlation(both(axes)[1])) for axes in ordered])
        )
    errors = [
        abs(share_in(both(axes)[0], masks) - share_in(both(axes)[1], masks))
        for axes, masks in range_queries(columns, seed)
        if len(axes) <= widest
    ]
    return found | {"range": float(np.mean(errors)), "range_95": float(np.quantile(errors, 0.95))}
