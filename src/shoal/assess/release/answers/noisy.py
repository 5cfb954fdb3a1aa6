"""Estimates from tables of noisy counts, with intervals that hold whatever the noise was.

In a table, the records that satisfy a condition number N. Cells inside the condition hold N_in of them, and cells that lie
across it hold N_across, of which 0 to all satisfy it. So N_in ≤ N ≤ N_in + N_across, and each of the two is a sum of published
counts without the sum of their noises, which `noise_bounds` bounds. No approximation, and no assumption about what a cell
across the condition holds.

Where no cell lies across, several independent sums estimate the same N: of each table that holds the attributes, the cells
inside; and the number of all records, from the tables that do not, without the cells outside. They are averaged by their
precision, which is known without the counts; the noise of the mean is bounded likewise.

Which tables are used never depends on their own noise. Counts of single attributes come first, and what is measured later
may depend on them (how cells were merged, which tables were chosen). So a count uses the tables of the earliest stage
that holds the attributes, and no later ones; a mean divides its risk between the two earliest (`stages_of`).

Whether a table was chosen depends on earlier noise, and where it was not, bounds from earlier tables answer, whose noise that is.
So the misses of both add up, and they divide the risk: an interval from a chosen table has `CHOSEN` of it, and bounds in the
place of such a table have what is left (`UNCHOSEN`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, fsum, prod, sqrt

import numpy as np

from shoal.assess.release.answers.noise_bounds import SMALLEST, mean_bound, noise_bound
from shoal.assess.release.condition import Condition, Overlap, condition_axes
from shoal.assess.release.estimate import Floats
from shoal.assess.release.labels import AtomAxis
from shoal.assess.release.load import LoadedRelease
from shoal.assess.release.noisy_counts import PublishedCountTable
from shoal.assess.release.view import Ints

MOST_OTHERS = 40
"""So many other tables, those with the least noise in all, say how many records there are; more would hardly say it better."""
WORTHWHILE = 0.95
"""A mean of several tables is taken where its interval is at most so long as that of the best table alone."""
CHOSEN = 0.875
"""The part of the risk that an interval from a table takes that was chosen by noise: it gets three in a hundred wider."""
UNCHOSEN = 1 - CHOSEN
SUM = "sum of noisy counts; bounds of the exact noise of the sum; pointwise"
MEAN = "precision-weighted mean of independent sums of noisy counts; bounds of the noise of the mean; pointwise"
ACROSS = (
    "sum of noisy counts; cells across the condition split by the counts of single attributes in the estimate and counted 0 to "
    "all in the interval; bounds of the exact noise of the sums; pointwise"
)


@dataclass(frozen=True)
class NoisySum:
    """An estimate of one count and the ends of its interval, with the tables and the method that it comes from."""

    value: float
    low: float
    high: float
    source: str
    method: str


def first_stage(tables: Sequence[PublishedCountTable]) -> list[PublishedCountTable]:
    """Give the tables of the earliest stage; the choice does not depend on their noise."""
    earliest = min((table.stage for table in tables), default=0)
    return [table for table in tables if table.stage == earliest]


def stages_of(tables: Sequence[PublishedCountTable]) -> list[list[PublishedCountTable]]:
    """Give the tables of the two earliest stages, apart; which stages these are does not depend on the noise of their tables.

    What is measured at a stage, and in which cells, depends on earlier stages alone, so the noise of the second is the same
    whatever the first said.
    """
    stages = sorted({table.stage for table in tables})[:2]
    return [[table for table in tables if table.stage == stage] for stage in stages]


def noisy_count(
    loaded: LoadedRelease, wanted: Condition, tables: Sequence[PublishedCountTable], risk: float
) -> NoisySum:
    """Estimate how many records satisfy a condition, from tables that all hold its attributes."""
    axes = condition_axes(loaded, wanted)
    sizes = {name: known for name, axis in axes.items() if (known := spread_of(loaded, axis)) is not None}
    own = first_stage(tables)
    risk *= CHOSEN if own[0].is_chosen else 1
    split = [_split_table(Overlap(table, wanted, axes, sizes)) for table in own]
    sharp = [each for each in split if not each.across_cells]
    if not sharp:
        return _alone(min(split, key=lambda each: (each.blur, each.deviation, each.name)), risk)
    best = min(sharp, key=lambda each: (each.deviation, each.name))
    used = {table.name for table in own}
    others = [table for table in loaded.counts if table.stage == own[0].stage and table.name not in used]
    others = sorted(others, key=lambda table: (table.stated_cells * table.sigma**2, table.name))[:MOST_OTHERS]
    mean = _mean(sharp, others, risk) if best.inside_cells else None
    if mean is None or mean[1] > WORTHWHILE * noise_bound(best.sigma, best.inside_cells, risk / 2):
        return _alone(best, risk)
    return mean[0]


def spread_of(loaded: LoadedRelease, axis: AtomAxis) -> Floats | None:
    """Give how many records each atom has by the counts of the attribute alone; None where it was not counted alone."""
    table = next((each for each in loaded.counts if each.columns == (axis.name,)), None)
    if table is None:
        return None
    pairs = axis.members_of_rule(table.meanings[axis.name].labels)
    counts = np.maximum(table.values, 0.0)
    found = np.bincount(pairs[1], counts[pairs[0]] * axis.split(pairs, len(counts)), len(axis))
    # A little evenly, so that atoms which no label tells apart, or which are all empty, are split by size.
    return np.asarray(found + 1e-9 * np.maximum(axis.sizes, 1e-9))


@dataclass(frozen=True)
class _SplitTable:
    """A table divided by a condition: the counts inside, across and outside, and how many cells each adds up."""

    name: str
    sigma: Fraction
    inside: float
    across: float
    outside: float
    inside_cells: int
    across_cells: int
    outside_cells: int
    value: float
    blur: float

    @property
    def deviation(self) -> float:
        """The deviation of the noise of all cells that touch the condition; it does not depend on the counts."""
        return float(self.sigma) * sqrt(self.inside_cells + self.across_cells)


def _split_table(overlap: Overlap[PublishedCountTable]) -> _SplitTable:
    counts, many = margin_of(overlap.view, overlap.named), summed_over(overlap.view, overlap.named)
    share, touched, whole = overlap.label_tables
    inside, across, outside = touched & whole, touched & ~whole, ~touched
    return _SplitTable(
        overlap.view.name,
        overlap.view.sigma,
        inside=float(counts[inside].sum()),
        across=float(counts[across].sum()),
        outside=float(counts[outside].sum()),
        inside_cells=int(inside.sum()) * many,
        across_cells=int(across.sum()) * many,
        outside_cells=int(outside.sum()) * many,
        value=float((share * counts).sum()),
        blur=overlap.blur if across.any() else 0.0,
    )


def _alone(own: _SplitTable, risk: float) -> NoisySum:
    """Estimate from one table."""
    low = own.inside - noise_bound(own.sigma, own.inside_cells, risk / 2)
    high = own.inside + own.across + noise_bound(own.sigma, own.inside_cells + own.across_cells, risk / 2)
    return _positive(own.value, low, high, own.name, ACROSS if own.across_cells else SUM)


def _positive(value: float, low: float, high: float, source: str, method: str) -> NoisySum:
    """No count is negative, and every one is whole."""
    low = max(0.0, float(ceil(low - 1e-6)))
    high = max(low, float(floor(high + 1e-6)))
    return NoisySum(min(max(value, low), high), low, high, source, method)


def _mean(
    sharp: Sequence[_SplitTable], others: Sequence[PublishedCountTable], risk: float
) -> tuple[NoisySum, float] | None:
    """Estimate from all tables of one stage, with the bound of the noise; None where there is nothing to average."""
    sharp = [each for each in sharp if float(each.sigma) >= SMALLEST]
    others = [table for table in others if float(table.sigma) >= SMALLEST]
    if not sharp or len(sharp) + len(others) < 2:
        return None
    sums = [(each.inside, float(each.sigma) * sqrt(each.inside_cells)) for each in sharp]
    value, weights, variance = _average(sums)
    deviations = [deviation for _, deviation in sums]
    used = [each.name for each in sharp]
    if others and all(each.outside_cells for each in sharp):
        every = [(float(table.values.sum()), float(table.sigma) * sqrt(table.cells)) for table in others]
        beyond = [(each.outside, float(each.sigma) * sqrt(each.outside_cells)) for each in sharp]
        (whole, whole_weights, of_whole), (rest, rest_weights, of_rest) = _average(every), _average(beyond)
        part = variance / (variance + of_whole + of_rest)
        value = (1 - part) * value + part * (whole - rest)
        weights = [(1 - part) * each for each in weights] + [part * each for each in (*whole_weights, *rest_weights)]
        deviations += [deviation for _, deviation in (*every, *beyond)]
        used += [table.name for table in others]
    bound = mean_bound(deviations, weights, risk / 2)
    source = used[0] + (f" and {len(used) - 1} other tables" if len(used) > 1 else "")
    return _positive(value, value - bound, value + bound, source, MEAN), bound


def _average(sums: Sequence[tuple[float, float]]) -> tuple[float, list[float], float]:
    """Average independent sums by their precision: the mean, the weights and the variance."""
    precision = [1 / deviation**2 for _, deviation in sums]
    total = fsum(precision)
    weights = [each / total for each in precision]
    return fsum(weight * value for weight, (value, _) in zip(weights, sums, strict=True)), weights, 1 / total


@dataclass(frozen=True)
class NoisyMargin:
    """Estimates of all cells of some attributes, the bound of their noise on both sides, and where they come from."""

    labels: tuple[tuple[str, ...], ...]
    value: Floats
    bound: float
    source: str


def noisy_marginal(attributes: Sequence[str], tables: Sequence[PublishedCountTable], risk: float) -> NoisyMargin:
    """Estimate every cell of some attributes, from tables that all hold them."""
    alike: dict[tuple[int, ...], list[PublishedCountTable]] = {}
    own_stage = first_stage(tables)
    risk *= CHOSEN if own_stage[0].is_chosen else 1
    for table in own_stage:
        alike.setdefault(tuple(id(table.meanings[name]) for name in attributes), []).append(table)
    group = min(
        alike.values(), key=lambda own: (1 / fsum(1 / _margin_variance(t, attributes) for t in own), own[0].name)
    )
    group = sorted(group, key=lambda table: (_margin_variance(table, attributes), table.name))
    best, many = group[0], [summed_over(table, attributes) for table in group]
    labels = tuple(best.meanings[name].texts for name in attributes)
    alone = noise_bound(best.sigma, many[0], risk / 2)
    if len(group) > 1 and all(float(table.sigma) >= SMALLEST for table in group):
        deviations = [sqrt(_margin_variance(table, attributes)) for table in group]
        _, weights, _ = _average([(0.0, deviation) for deviation in deviations])
        if (bound := mean_bound(deviations, weights, risk / 2)) < alone:
            value = sum(
                (weight * margin_of(table, attributes) for weight, table in zip(weights, group, strict=True)),
                np.zeros(()),
            )
            return NoisyMargin(labels, np.asarray(value), bound, f"{best.name} and {len(group) - 1} other tables")
    return NoisyMargin(labels, margin_of(best, attributes).astype(np.float64), alone, best.name)


def summed_over(table: PublishedCountTable, attributes: Sequence[str]) -> int:
    """Give how many cells of a table each cell of some of its attributes adds up."""
    return prod(size for name, size in zip(table.columns, table.shape, strict=True) if name not in attributes)


def _margin_variance(table: PublishedCountTable, attributes: Sequence[str]) -> float:
    return float(table.sigma) ** 2 * summed_over(table, attributes)


def margin_of(table: PublishedCountTable, attributes: Sequence[str]) -> Ints:
    """Give the counts of some attributes of a table, in the order in which they are named."""
    kept = [table.columns.index(name) for name in attributes]
    rest = tuple(j for j in range(len(table.columns)) if j not in kept)
    return np.asarray(table.values.sum(rest).transpose([sorted(kept).index(j) for j in kept]))
