"""Means and sums of a number from a release: intervals cover what samples or noise leave open, and what labels do.

A label says between which ends a record's number lies. So the mean of all lower ends is at most the true mean, and that of all
upper ends at least; the interval reaches from a lower bound on the first to an upper bound on the second. It cannot be narrower
than labels are wide. The mean is that of the records that have a number.

From rows the bounds are those of `pooling`, which hold for any distribution inside the declared domain. From noisy counts: with
the true counts n, the sum of (x − m)·n over cells is 0 where m is the mean of the ends x; so with the noisy counts it is noise
alone, of a known distribution, and an m is excluded where the sum is larger than such noise is with the probability of the risk
(Fieller). A cell that lies across the condition, or that may hold missing values, enters at its worst: with min(x − m, 0), and no
negative count.

The estimate puts the records of a label at its middle, the records of a model at the middle of each piece of the domain. Noisy
counts are first replaced by the nearest ones that are not negative and have their sum. It is
NaN where nothing published says that there is any record; the interval holds all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, log, nan, sqrt
from typing import Self

import numpy as np

from shoal.assess.release.answer import count
from shoal.assess.release.answers.noise_bounds import SMALLEST, mean_bound
from shoal.assess.release.answers.noisy import margin_of, stages_of, summed_over
from shoal.assess.release.answers.pooling import SampledValues, mean_lower
from shoal.assess.release.answers.rows import (
    MODELLED,
    PUBLISHED,
    bounded_by_total,
    model_of,
    ordered_views,
    sampled_in_all,
    source_of,
    total_words,
)
from shoal.assess.release.condition import (
    Condition,
    Overlap,
    Where,
    Within,
    both,
    condition,
    condition_axes,
    condition_blocks,
    truth_table,
)
from shoal.assess.release.consistency import ConsistentViews
from shoal.assess.release.estimate import Estimate, Floats, Mask, risk_of
from shoal.assess.release.labels import AtomAxis, Label, Meaning, Span, labels_of_atoms, resolve_masks
from shoal.assess.release.load import LoadedRelease
from shoal.assess.release.noisy_counts import PublishedCountTable
from shoal.assess.release.view import PublishedView
from shoal.data.type import Type
from shoal.errors import UsageError
from shoal.model.shrinkage import project

ROWS = (
    "records at the middles of their labels; the interval holds for any numbers inside the labels and the declared domain: "
    "products of the sampled values, of independent samples, each unpublished cell hiding 0 to k - 1 sampled records"
)
NOISY = (
    "noisy counts, as the nearest that are not negative with their sum, at the middles of their labels; bounds of the exact "
    "noise, and any numbers inside the labels; pointwise"
)
SUM = "the mean's interval times that of the number of records with a value, each at half the risk (Bonferroni)"
LEAST_RISK = 1e-12
FIRST = 0.75
"""The part of the risk that the first of two stages takes: for few cells it is the sharper one, and for many cells by far not."""
STAGES = "what the intervals of {} and {} have in common, at parts of the risk"
_STEPS = 60


Bounds = tuple[float, float]
"""Numbers below the first count as the first, numbers above the second as the second."""


def mean(loaded: LoadedRelease, attribute: str, where: Where, level: float, bounds: Bounds | None = None) -> Estimate:
    """Estimate the mean of a number over the records that satisfy a condition and have one.

    Arguments  `attribute`: an integer or decimal with a bounded domain; `where` and `level` as in `count`; `bounds`: numbers
               beyond them count as the nearest of them
    Raises     UsageError for an attribute that is no number or has no bounds, and as `count` does
    """
    return BoundedMean.of(loaded, attribute, condition(loaded, where), bounds).estimate(level)


def sum_of(loaded: LoadedRelease, attribute: str, where: Where, level: float, bounds: Bounds | None = None) -> Estimate:
    """Estimate the sum of a number over the records that satisfy a condition and have one.

    Arguments and Raises  as in `mean`
    """
    each = 1 - risk_of(level) / 2
    wanted = condition(loaded, where)
    middle = mean(loaded, attribute, wanted, each, bounds)
    counted = count(loaded, both(loaded, wanted, [{attribute: _number(loaded, attribute)}]), each)
    corners = [one * other for one in (middle.low, middle.high) for other in (counted.low, counted.high)]
    low, high = min(corners), max(corners)
    value = min(max(0.0 if isnan(middle.value) else middle.value * counted.value, low), high)
    return Estimate(value, low, high, level, middle.view, f"{SUM}; {middle.method}", loaded.records)


def number_ends(loaded: LoadedRelease, attribute: str) -> tuple[float, float]:
    """The lowest and the highest number that an attribute may have; UsageError for one without bounds."""
    ((low, high),) = _number(loaded, attribute).spans
    step = 1 if loaded.meanings(attribute)[0].type.discrete else 0
    return float(low or 0), float((high or 0) - step)


def _number(loaded: LoadedRelease, attribute: str) -> Label:
    """The label of every number of an attribute, without the missing value; UsageError for one without bounds."""
    meanings = loaded.meanings(attribute)
    if meanings[0].type not in (Type.INTEGER, Type.DECIMAL):
        raise UsageError(
            f"attribute '{attribute}' is no number, so it has no mean",
            came=meanings[0].type.value,
            allowed="an integer or a decimal",
        )
    lows, highs = [each.ends[0] for each in meanings], [each.ends[1] for each in meanings]
    low = min((each for each in lows if each is not None), default=None)
    high = max((each for each in highs if each is not None), default=None)
    if low is None or high is None or None in lows or None in highs:
        raise UsageError(
            f"attribute '{attribute}' has no declared lowest and highest number, so no mean has bounds",
            fix="ask for counts of its labels",
        )
    return Label(attribute, ((low, high),))


@dataclass(frozen=True)
class _LabelEnds:
    """The ends of a label's values, as shares of their range, where they are put, and whether it has values, and nothing else."""

    low: Floats
    high: Floats
    middle: Floats
    some: Mask
    only: Mask


@dataclass(frozen=True)
class BoundedMean:
    """A mean that is asked for: the attribute, the condition, and the domain of the attribute."""

    loaded: LoadedRelease
    attribute: str
    wanted: Condition
    axes: Mapping[str, AtomAxis]
    start: float
    width: float
    step: float
    """1 for whole numbers: a label [3, 5) holds 3 and 4."""

    @classmethod
    def of(cls, loaded: LoadedRelease, attribute: str, wanted: Condition, bounds: Bounds | None = None) -> Self:
        """A mean of an attribute under a condition; UsageError for an attribute without bounds of its own."""
        step = 1 if loaded.meanings(attribute)[0].type.discrete else 0
        start, end = number_ends(loaded, attribute) if bounds is None else bounds
        axes = condition_axes(loaded, [{attribute: Label(attribute, everything=True)}, *wanted])
        return cls(loaded, attribute, wanted, axes, start, max(end - start, 1e-300), float(step))

    @property
    def every(self) -> Condition:
        """A condition that names the attribute and always holds."""
        return [{self.attribute: Label(self.attribute, everything=True)}]

    @property
    def named(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*(name for each in self.wanted for name in each), self.attribute]))

    def estimate(self, level: float) -> Estimate:
        """Estimate it from noisy counts where tables of them hold the attributes, else from rows."""
        covering = self.loaded.covering(self.named)
        stages = stages_of([table for table in covering if isinstance(table, PublishedCountTable)])
        if len(stages) == 1:
            # That there is no second stage may be due to the noise of the first.
            part = FIRST if self.loaded.may_choose_tables else 1
            return replace(self.from_counts(stages[0], 1 - part * risk_of(level)), level=level)
        if stages:
            return self._of_both(stages[0], stages[1], level)
        return self.from_rows(ordered_views(self.loaded, self.wanted, self.axes, Within(self.every)), level)

    def _values(self, low: float, high: float) -> tuple[float, float, float]:
        """The least and the largest value of numbers between two shares of the domain, and where such numbers are put."""
        return low, high, (low + high) / 2

    def _rescale(self, share: float) -> float:
        """A mean as a share of the range of the values, in the units of the answer."""
        return self.start + self.width * share

    def _span(self, span: Span) -> tuple[float, float]:
        low, high = span
        first = self.start if low is None else float(low)
        last = self.start + self.width if high is None else float(high) - self.step
        return tuple(min(max((end - self.start) / self.width, 0.0), 1.0) for end in (first, last))  # type: ignore[return-value]

    def _ends(self, meaning: Meaning) -> _LabelEnds:
        spans = [((None, None),) if label.everything else label.spans for label in meaning.labels]
        ends = [[self._span(span) for span in own] or [(0.0, 0.0)] for own in spans]
        some = np.array([bool(own) for own in spans])
        gaps = np.array([label.missing or label.everything for label in meaning.labels])
        values = [self._values(min(first for first, _ in own), max(last for _, last in own)) for own in ends]
        low, high, middle = (np.array(each, dtype=np.float64) for each in zip(*values, strict=True))
        return _LabelEnds(low, high, middle, some, some & ~gaps)

    def from_rows(self, views: Sequence[PublishedView], level: float) -> Estimate:
        """Estimate from published rows of these views."""
        risk, at_most = risk_of(level), None
        sampled = [self._sampled(view) for view in views]
        if bounded_by_total(self.loaded, views):
            at_most, risk = sampled_in_all(self.loaded, views, risk / 4), risk * 3 / 4
        low = mean_lower([own[0] for own in sampled], risk / 2, at_most)
        high = max(low, 1 - mean_lower([own[1] for own in sampled], risk / 2, at_most))
        model = model_of(self.loaded, self.named)
        value = _middle([own[2] for own in sampled[:1]]) if model is None else self._modelled(model)
        method = f"{PUBLISHED if model is None else MODELLED}, {ROWS}{total_words(self.loaded, views)}; pointwise"
        return self._estimate(value, low, high, level, source_of(views), method)

    def _estimate(
        self, value: float | None, low: float, high: float, level: float, source: str, method: str
    ) -> Estimate:
        value = nan if value is None else min(max(value, low), high)
        value, low, high = (self._rescale(end) for end in (value, low, high))
        return Estimate(value, low, high, level, source, method, self.loaded.records)

    def _sampled(self, view: PublishedView) -> tuple[SampledValues, SampledValues, tuple[float, float]]:
        """What the view says of lower ends, of upper ends from above, and of middles: their sum and number."""
        overlap = Overlap(view, self.wanted, self.axes, within=Within(self.every))
        codes, counts = view.tuples
        share, touched, inside = overlap.of(codes)
        own = codes[:, view.columns.index(self.attribute)]
        ends = self._ends(view.meanings[self.attribute])
        many = len(ends.low)
        surely = np.bincount(own, np.where(touched & inside & ends.only[own], counts, 0), many)
        seen = np.bincount(own, np.where(touched & ends.some[own], counts, 0), many)
        hidden, unknown = np.zeros(many), 0.0  # how many more may have such a number, and any number
        if view.suppresses:
            shown = np.bincount(own, touched, many)
            cells = self._cells(overlap, view, many)
            if cells is None:
                unknown = float("inf")
            else:
                hidden = np.where(ends.some, np.maximum(cells - shown, 0) * (view.k - 1), 0.0)
        middles = ends.middle
        inner = np.bincount(own, np.where(ends.some[own], share * counts, 0.0), many)

        def with_unknown(values: Floats) -> SampledValues:
            known, inside, across = (np.append(each, 0.0) for each in (values, surely, seen - surely))
            return SampledValues(known, inside, across, np.append(hidden, unknown), float(counts.sum()))

        told = float((inner * middles).sum()), float(inner.sum())
        return with_unknown(ends.low), with_unknown(1 - ends.high), told

    def _cells(self, overlap: Overlap[PublishedView], view: PublishedView, many: int) -> Floats | None:
        """How many tuples that touch the condition the view could have shown, for each label of the attribute."""
        if view.box_tuples is not None:
            touched = overlap.of(view.box_tuples)[1]
            own = view.box_tuples[:, view.columns.index(self.attribute)]
            return np.bincount(own, touched, many).astype(np.float64)
        if view.cells is None:
            return None
        _, touched, _ = overlap.label_tables
        place = overlap.named.index(self.attribute)
        rest = tuple(j for j in range(touched.ndim) if j != place)
        return np.asarray(touched.sum(rest) * (view.cells // touched.size), dtype=np.float64)

    def _modelled(self, model: ConsistentViews) -> float | None:
        """The mean by the model, each piece of the domain at its middle."""
        pieces, truths, shares = self.axes[self.attribute], [], []
        for name in self.named:
            atoms = labels_of_atoms(model.loaded.axis(name))
            if name != self.attribute:
                part = condition_blocks(self.axes[name], atoms, self.wanted, name)
                truths.append(part.truth)
                shares.append(part.shares)
                continue
            truth = np.ones((len(self.wanted), len(pieces)), dtype=np.bool_)
            asked = [each[name] for each in self.wanted if name in each]
            truth[[name in each for each in self.wanted]] = pieces.membership(resolve_masks(pieces, asked))
            truths.append(truth)
            shares.append(pieces.even_split(pieces.membership(resolve_masks(pieces, atoms))))
        table = model.spread_table(self.named, shares) * truth_table(truths, len(self.wanted))
        weights = table.sum(tuple(range(table.ndim - 1)))
        middles = [self._values(*self._span(span))[2] for span in pieces.spans if span is not None]
        held = np.array([span is not None for span in pieces.spans])
        return _middle([(float((weights[held] * np.array(middles)).sum()), float(weights[held].sum()))])

    def _of_both(
        self, first: Sequence[PublishedCountTable], second: Sequence[PublishedCountTable], level: float
    ) -> Estimate:
        """What the intervals of two stages have in common, with the risk divided between them; the value is the sharper one's.

        Counts of a single attribute are in its declared cells, whose noise drowns the mean of a wide domain that is mostly empty;
        tables of pairs are in few cells, put together by what the first showed.
        """
        risk = risk_of(level)
        while True:
            found = [self.from_counts(first, 1 - FIRST * risk), self.from_counts(second, 1 - (1 - FIRST) * risk)]
            low, high = max(own.low for own in found), min(own.high for own in found)
            if low <= high or risk < LEAST_RISK:
                break
            risk /= 10  # no number is in both, which happens at most as often as the risk says: wider ones, of which some are
        best = min(found, key=lambda own: own.high - own.low)
        low, high = min(low, high), max(low, high)
        value = min(max(best.value, low), high)
        method = f"{STAGES.format(*(own.view for own in found))}; {best.method}"
        return Estimate(value, low, high, level, best.view, method, self.loaded.records)

    def from_counts(self, tables: Sequence[PublishedCountTable], level: float) -> Estimate:
        """Estimate from tables of noisy counts of one stage: those with the labels that blur least, averaged by precision."""
        risk = risk_of(level)
        overlaps = [Overlap(table, self.wanted, self.axes, within=Within(self.every)) for table in tables]
        overlap = min(overlaps, key=lambda own: (own.blur, self._noise(own), own.view.name))
        table, named = overlap.view, overlap.named
        alike = [own for own in overlaps if own.named == named and _same_labels(own.view, table, named)]
        noises = [sqrt(self._noise(own)) for own in alike]
        deviation = 1 / sqrt(sum(noise**-2 for noise in noises))
        parts = [(deviation / noise) ** 2 for noise in noises]  # of each table in the mean of all, which add up to one
        margins = [margin_of(own.view, named).astype(np.float64) for own in alike]
        counts = np.asarray(np.tensordot(parts, np.stack(margins), 1))
        share, touched, inside = overlap.label_tables
        place = named.index(self.attribute)
        ends = self._ends(table.meanings[self.attribute])

        def spread(own: Floats | Mask) -> Floats:
            shape = [-1 if j == place else 1 for j in range(counts.ndim)]
            return np.asarray(np.broadcast_to(own.reshape(shape), counts.shape))

        surely = touched & inside & spread(ends.only).astype(bool)
        perhaps = touched & spread(ends.some).astype(bool) & ~surely

        def far_of(weights: Floats, risk: float, *, normal: bool) -> float:
            """What the weighted noise exceeds with probability at most risk / 2."""
            if normal:
                sums = np.outer(np.abs(weights), parts).ravel().tolist()
                return mean_bound(noises * len(weights), sums, risk / 2)
            return deviation * sqrt(float(weights @ weights)) * sqrt(2 * log(2 / risk)) * (1 + 1e-12)

        half = np.full(int(surely.sum() + perhaps.sum()), 0.5)
        wide = min(float(own.view.sigma) for own in alike) >= SMALLEST

        def lower(values: Floats, risk: float) -> float:
            """The smallest mean of these values, from 0 to 1, that the noise does not exclude."""
            inner, outer, least = values[surely], values[perhaps], np.maximum(counts[perhaps], 0)
            normal = wide and far_of(half, risk, normal=True) < far_of(half, risk, normal=False)

            def excluded(middle: float) -> bool:
                gap, worst = inner - middle, np.minimum(outer - middle, 0)
                found = float(gap @ counts[surely] + worst @ least)
                used = np.concatenate([gap, worst])
                return found > far_of(used, risk, normal=normal) + 1e-9

            return _first_kept(excluded)

        while (low := lower(spread(ends.low), risk)) > (high := 1 - lower(spread(1 - ends.high), risk)):
            if risk < LEAST_RISK:
                low, high = high, low
                break
            risk /= (
                10  # no number is kept, which happens at most as often as the risk says: a wider interval keeps some
            )
        # Counts that were cut off at 0 would add noise wherever there is nobody, at any distance from the mean.
        kept = project(counts.ravel(), np.full(counts.size, deviation**2), max(float(counts.sum()), 1.0))
        inner = kept.reshape(counts.shape) * share * spread(ends.some)
        value = _middle([(float((inner * spread(ends.middle)).sum()), float(inner.sum()))])
        others = len(alike) - 1
        source = table.name + (f" and {others} other table{'s' * (others > 1)}" if others else "")
        return self._estimate(value, low, high, level, source, NOISY)

    @staticmethod
    def _noise(overlap: Overlap[PublishedCountTable]) -> float:
        """The variance of the noise of a cell of the named attributes; it does not depend on the counts."""
        return float(overlap.view.sigma) ** 2 * summed_over(overlap.view, overlap.named)


def _same_labels(one: PublishedCountTable, other: PublishedCountTable, named: Sequence[str]) -> bool:
    """Whether two tables count the named attributes in the same labels, so that their counts can be averaged."""
    return all(one.meanings[name].texts == other.meanings[name].texts for name in named)


def _first_kept(excluded: Callable[[float], bool]) -> float:
    """Give the smallest number from 0 to 1 that is not excluded; those that are make up one interval."""
    if not excluded(0.0):
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if excluded(middle) else (low, middle)
    return low


def _middle(sums: Sequence[tuple[float, float]]) -> float | None:
    total = sum(number for _, number in sums)
    return sum(own for own, _ in sums) / total if total > 0 else None
