"""Estimates of counts, shares, ratios, odds ratios and marginals: from rows (`answers.rows`) and noisy counts (`answers.noisy`).

Counts, shares and ratios of rows pool all views that hold the attributes. A marginal comes from the narrowest view: the one with
the fewest cells that it could have shown, and among those the first by name; the rule never depends on counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from shoal.assess.release.answers.noisy import NoisyMargin, NoisySum, noisy_count, noisy_marginal
from shoal.assess.release.answers.rows import (
    EVERYTHING,
    RowsEstimate,
    bounded_by_total,
    count_rows,
    share_rows,
    tells_total,
    total_bounds,
    total_rows,
    total_words,
)
from shoal.assess.release.condition import Condition, Where, Within, both, condition
from shoal.assess.release.estimate import (
    Estimate,
    Floats,
    MarginalEstimate,
    lower_bound,
    lower_bound_published,
    risk_of,
    upper_bound,
)
from shoal.assess.release.labels import AtomAxis, atom_axis, resolve_masks
from shoal.assess.release.load import LoadedRelease
from shoal.assess.release.noisy_counts import PublishedCountTable
from shoal.assess.release.view import Ints, PublishedView
from shoal.errors import UsageError

MOST_CELLS = 2_000_000
"""A marginal with more cells than this is not made."""

SPLIT = "published count / beta; labels across the condition split evenly in the estimate and counted 0 to all in the interval"
COUNT = (
    f"{SPLIT}; exact binomial bounds, each unpublished cell hiding 0 to k - 1 sampled records, and no more than all "
    "records without those published elsewhere; pointwise"
)
CELL = (
    "published count / beta; published: exact binomial bounds, the lower one given that the count reached k; "
    "unpublished: 0 to the most that shows fewer than k with probability (1 - level) / 2; pointwise"
)
MARGIN = f"{SPLIT}; exact binomial bounds, each unpublished cell hiding 0 to k - 1 sampled records; pointwise"
COUNTED = "noisy counts, negative ones as 0; bounds of the exact noise; pointwise"
UNSUPPRESSED = {
    ", each unpublished cell hiding 0 to k - 1 sampled records": "",
    "given that the count reached k": "given that one row was drawn",
    "shows fewer than k": "shows none",
}
"""What stands in the place of words about k where no tuple is suppressed, as in a plain sample."""
SHARE = "the part's interval by the whole's, each at half the risk (Bonferroni); pointwise"


def count(loaded: LoadedRelease, where: Where, level: float) -> Estimate:
    """Estimate how many records satisfy the condition: from rows, from noisy counts, or from both where both hold it.

    Where noisy counts were published, and none of them holds the attributes together, a model of all tables says what joins them.

    Two intervals, each at half the risk, hold together at the whole risk, so their overlap does; which of the two is narrower may
    depend on the rows, so the narrower one alone would not.
    """
    risk = risk_of(level)
    wanted = condition(loaded, where)
    named = _attributes_of(wanted)
    holding = loaded.holding(named)
    if not loaded.counts or any(isinstance(table, PublishedCountTable) for table in holding):
        return count_of(loaded, wanted, level, risk)
    model = loaded.consistent_counts()
    if not holding:
        return model.joined_count(wanted, level, risk)
    if loaded.was_sampled_before or not set(named) <= set(model.axes):
        return count_of(loaded, wanted, level, risk)
    return _overlap(count_of(loaded, wanted, level, risk / 2), model.joined_count(wanted, level, risk / 2))


def count_of(
    loaded: LoadedRelease, wanted: Condition, level: float, risk: float, *, by_counts: bool = False
) -> Estimate:
    """Estimate how many records satisfy a condition whose attributes some table holds together, at this risk.

    `by_counts` leaves rows aside where there are noisy counts.
    """
    covering = loaded.covering(_attributes_of(wanted))
    tables = [table for table in covering if isinstance(table, PublishedCountTable)]
    views = [table for table in covering if isinstance(table, PublishedView)]
    if not tables:
        return _estimate(loaded, count_rows(loaded, wanted, risk), level)
    if (
        not views or by_counts or loaded.was_sampled_before
    ):  # rows of such a table speak of its population, counts of the table
        return _estimate(loaded, noisy_count(loaded, wanted, tables, risk), level)
    return _overlap(
        _estimate(loaded, count_rows(loaded, wanted, risk / 2), level),
        _estimate(loaded, noisy_count(loaded, wanted, tables, risk / 2), level),
    )


def _estimate(loaded: LoadedRelease, found: NoisySum | RowsEstimate, level: float) -> Estimate:
    return Estimate(found.value, found.low, found.high, level, found.source, found.method, loaded.records)


def _overlap(rows: Estimate, counts: Estimate) -> Estimate:
    """Give the overlap of two intervals around one number, with the estimate of the narrower one."""
    best = min(counts, rows, key=lambda each: each.high - each.low)
    low, high = max(rows.low, counts.low), min(rows.high, counts.high)
    if low > high:  # one of the two has failed, and nobody knows which
        low, high = min(rows.low, counts.low), max(rows.high, counts.high)
    both = f"{best.view}, with {rows.view if best is counts else counts.view}"
    method = f"{best.method}; the overlap of an interval from rows and one from counts, each at half the risk"
    return replace(best, value=min(max(best.value, low), high), low=low, high=high, view=both, method=method)


def _explain(words: str, view: PublishedView) -> str:
    """How an interval was made, without a k where nothing is suppressed."""
    for about_k, plain in UNSUPPRESSED.items() if not view.suppresses else ():
        words = words.replace(about_k, plain)
    return words


def total(loaded: LoadedRelease, level: float) -> Estimate:
    """Estimate how many records there are."""
    if loaded.counts:
        return count(loaded, {}, level)
    return _estimate(loaded, total_rows(loaded, risk_of(level)), level)


def share(loaded: LoadedRelease, where: Where, level: float) -> Estimate:
    """Estimate which share of all records satisfies the condition."""
    return ratio(loaded, where, {}, level)


def ratio(loaded: LoadedRelease, where: Where, whole: Where, level: float) -> Estimate:
    """Estimate which share of the records that satisfy a condition `whole` satisfy another one too."""
    return Whole(loaded, whole, level).share(where)


class Whole:
    """The records that satisfy a condition, of which shares are estimated.

    From rows given how many records of the whole were sampled, and from the interval of each count, each at half the risk; the
    overlap holds at the whole risk. Where nothing is suppressed the first is the narrower one, and is made alone.
    """

    def __init__(self, loaded: LoadedRelease, whole: Where, level: float) -> None:
        self._loaded, self._level, self._risk = loaded, level, risk_of(level)
        self._every = condition(loaded, whole)

    def share(self, where: Where) -> Estimate:
        """Estimate which share of the records satisfies another condition too."""
        loaded, level = self._loaded, self._level
        part, within = condition(loaded, where), Within(self._every)
        if loaded.counts:
            return self._quotient(part)
        if not any(view.suppresses for view in loaded.views):
            return _estimate(loaded, share_rows(loaded, part, within, self._risk), level)
        given = share_rows(loaded, part, within, self._risk / 2)
        counted = self._quotient(part)
        low, high = max(given.low, counted.low), min(given.high, counted.high)
        if low > high:  # one of the two has failed, and nobody knows which
            low, high = min(given.low, counted.low), max(given.high, counted.high)
        method = f"{given.method}; the overlap with the part's interval by the whole's, each at half the risk"
        value = min(max(given.value, low), high)
        return Estimate(value, low, high, level, given.source, method, loaded.records)

    @property
    def _level_of_each(self) -> float:
        """The level of the part's and of the whole's interval: each has half the risk, a quarter where rows have half of it."""
        return 1 - self._risk / (2 if self._loaded.counts else 4)

    @cached_property
    def _count(self) -> Estimate:
        """How many records satisfy the condition."""
        loaded, level = self._loaded, self._level_of_each
        return total(loaded, level) if self._every == EVERYTHING else count(loaded, self._every, level)

    def _quotient(self, part: Condition) -> Estimate:
        """Divide the interval of a part by that of the whole."""
        within = part if self._every == EVERYTHING else both(self._loaded, part, self._every)
        some, whole = count(self._loaded, within, self._level_of_each), self._count
        value = min(1.0, some.value / whole.value) if whole.value else 0.0
        low = some.low / whole.high if whole.high else 0.0
        high = min(1.0, some.high / whole.low) if whole.low else 1.0
        return Estimate(value, min(low, value), max(high, value), self._level, some.view, SHARE, self._loaded.records)


def odds_ratio(loaded: LoadedRelease, where: Where, other: Where, level: float) -> Estimate:
    """Estimate the odds of a condition where another one holds, divided by its odds where the other does not hold.

    Each of the two shares has an interval at half the risk, so both hold at the whole risk, and then the quotient of odds does.
    """
    risk = risk_of(level)
    part, group = condition(loaded, where), condition(loaded, other)
    views = [table for table in loaded.covering(_attributes_of([*part, *group])) if isinstance(table, PublishedView)]
    if not views:
        raise UsageError(
            "an odds ratio is made from rows, and no table of rows holds these attributes",
            fix="estimate the four counts, and divide them",
        )
    inside, outside = (share_rows(loaded, part, Within(group, holds), risk / 2) for holds in (True, False))
    low = _odds(inside.low) / top if (top := _odds(outside.high)) > 0 else 0.0
    high = _odds(inside.high) / bottom if (bottom := _odds(outside.low)) > 0 else float("inf")
    of_other = _odds(outside.value)
    value = _odds(inside.value) / of_other if of_other > 0 else high
    low = 0.0 if not np.isfinite(low) else low
    method = f"quotient of the odds of two shares, each with an interval at half the risk (Bonferroni): {inside.method}"
    return Estimate(min(max(value, low), high), low, high, level, inside.source, method, loaded.records)


def _odds(share: float) -> float:
    return share / (1 - share) if share < 1 else float("inf")


def marginal(
    loaded: LoadedRelease, attributes: Sequence[str], level: float, axes: Sequence[AtomAxis] | None = None
) -> MarginalEstimate:
    """Estimate every cell of the attributes in the narrowest view; where its labels overlap, every atom.

    Where tables of noisy counts hold the attributes, from those: every cell was counted, and none is suppressed. `axes` asks
    for finer atoms of views, such as those of all views together.
    """
    risk = risk_of(level)
    given: Sequence[object] = attributes
    if odd := [each for each in given if not isinstance(each, str)]:
        raise UsageError(
            "attributes are given one by one, as texts",
            came=type(odd[0]).__name__,
            allowed="texts, such as marginal('age', 'sex')",
        )
    if not attributes or len(set(attributes)) != len(attributes):
        raise UsageError(
            "a marginal needs at least one attribute, and each once",
            came=", ".join(attributes) or None,
            fix="name each once",
        )
    if loaded.counts and axes is None and not loaded.holding(attributes):
        return loaded.consistent_counts().marginal(*attributes, level=level)
    covering = loaded.covering(attributes)
    tables = [table for table in covering if isinstance(table, PublishedCountTable)]
    if tables and axes is None:
        return _margin_of_counts(loaded, noisy_marginal(attributes, tables, risk), attributes, level)
    views = [table for table in covering if isinstance(table, PublishedView)]
    view = min(views, key=lambda each: (_size(each), each.name))
    own_axes = axes is None
    axes = [atom_axis([view.meanings[name]]) for name in attributes] if axes is None else axes
    shape = tuple(len(own) for own in axes)
    if np.prod(shape, dtype=float) > MOST_CELLS:
        raise UsageError("a marginal of too many cells", came=" x ".join(map(str, shape)), allowed=f"{MOST_CELLS:,}")
    held = [
        own.membership(resolve_masks(own, view.meanings[name].labels))
        for own, name in zip(axes, attributes, strict=True)
    ]
    shares = [own.even_split(each) for own, each in zip(axes, held, strict=True)]
    codes, counts = view.tuples
    places = [view.columns.index(name) for name in attributes]
    alone = [each.sum(1) == 1 for each in held]
    sharp = np.logical_and.reduce([own[codes[:, j]] for own, j in zip(alone, places, strict=True)], axis=0)
    inside = _spread(codes[sharp][:, places], counts[sharp].astype(float), shares, shape)
    touching = [each.astype(float) for each in held]
    seen = _spread(codes[:, places], counts.astype(float), touching, shape)
    shown = np.rint(_spread(codes[:, places], np.ones(len(counts)), touching, shape))
    possible = _possible(view, attributes, touching, shape, own=own_axes) if view.suppresses else shown
    hidden = np.maximum(possible - shown, 0)
    value = _spread(codes[:, places], counts.astype(float) * view.weight, shares, shape)
    inside, most = np.rint(inside), np.rint(seen) + hidden * (view.k - 1)
    low = lower_bound(inside, view.beta, risk / 2)
    single = (shown == 1) & (hidden == 0) & (inside == np.rint(seen))
    covers_view = set(attributes) == set(view.columns)
    if covers_view:
        low[single] = lower_bound_published(inside[single], view.k, view.beta, risk / 2)
    told = tells_total(loaded) and bounded_by_total(loaded, [view]) and not covers_view
    by_total = told or not np.isfinite(most).all()
    elsewhere = float(counts.sum()) - np.rint(seen)
    if told:  # every cell is bounded in both ways, and the risk divided as in `count_rows`
        beyond = total_bounds(loaded, risk / 8)[1] - lower_bound(elsewhere, view.beta, risk * 3 / 16)
        high = np.minimum(upper_bound(most, view.beta, risk / 4), np.maximum(beyond, value))
    else:
        high = upper_bound(most, view.beta, risk / 2)
        if by_total:  # no bound from the view itself: all records without those that were surely outside the cell
            beyond = total_bounds(loaded, risk / 2)[1] - lower_bound(elsewhere, view.beta, risk / 4)
            high = np.where(np.isfinite(high), high, np.maximum(beyond, value))
    return MarginalEstimate(
        tuple(attributes),
        tuple(own.names for own in axes),
        value,
        low,
        np.maximum(high, low),
        inside > 0,
        (inside == 0) & (seen > 0),
        level,
        view.name,
        _explain(
            COUNT if by_total else CELL if covers_view and bool(np.all([own.all() for own in alone])) else MARGIN, view
        ).replace("; pointwise", f"{total_words(loaded, [view])}; pointwise"),
        loaded.records,
    )


def _margin_of_counts(
    loaded: LoadedRelease, found: NoisyMargin, attributes: Sequence[str], level: float
) -> MarginalEstimate:
    shape = found.value.shape
    if found.value.size > MOST_CELLS:
        raise UsageError("a marginal of too many cells", came=" x ".join(map(str, shape)), allowed=f"{MOST_CELLS:,}")
    low = np.maximum(np.ceil(found.value - found.bound), 0)
    high = np.maximum(np.floor(found.value + found.bound), 0)
    every = np.ones(shape, dtype=np.bool_)
    return MarginalEstimate(
        tuple(attributes), found.labels, np.maximum(found.value, 0), low, high, every, ~every, level, found.source, COUNTED,
        loaded.records,
    )  # fmt: skip


def _attributes_of(wanted: Condition) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for each in wanted for name in each))


def _size(view: PublishedView) -> float:
    return float("inf") if view.cells is None else float(view.cells)


def _possible(
    view: PublishedView, attributes: Sequence[str], touching: Sequence[Floats], shape: tuple[int, ...], *, own: bool
) -> Floats:
    """How many tuples of labels that the view could show touch each cell; infinite where they cannot be counted.

    `own` says that the cells are made of this view's labels alone. The labels of an attribute may be unlisted: of masked texts,
    only those that were published are known. A cell that one of them shows lies in no other label; a cell that none shows may
    lie in any number of labels.
    """
    if view.box_tuples is not None:
        places = [view.columns.index(name) for name in attributes]
        return np.rint(_spread(view.box_tuples[:, places], np.ones(len(view.box_tuples)), touching, shape))
    found = np.ones(())
    for name, touch in zip(attributes, touching, strict=True):
        meaning, many = view.meanings[name], touch.sum(0)
        if not meaning.listed:
            apart = own and (
                meaning.type.discrete or not meaning.type.numeric
            )  # two decimals may lie in one narrow cell
            many = np.where(many > 0, many if apart else np.inf, np.inf)
        found = np.multiply.outer(found, many)
    others = [view.meanings[name] for name in view.columns if name not in attributes]
    more = np.prod([float(len(each.labels)) if each.listed else np.inf for each in others], dtype=float)
    return np.asarray(np.where(found > 0, found * more, 0.0))


def _spread(codes: Ints, amounts: Floats, weights: Sequence[Floats], shape: tuple[int, ...]) -> Floats:
    """Add amounts of label tuples up over cells, by the weight of each label in each atom."""
    labels = tuple(len(each) for each in weights)
    if np.prod(labels, dtype=float) <= MOST_CELLS:
        flat = np.ravel_multi_index(tuple(codes.T), labels)
        table = np.bincount(flat, amounts, int(np.prod(labels))).astype(np.float64).reshape(labels)
        for each in weights:
            table = np.tensordot(table, each, axes=([0], [0]))
        return np.asarray(table)
    found = np.zeros(shape)
    for row, amount in zip(codes, amounts, strict=True):
        piece = np.full((), amount)
        for each, code in zip(weights, row, strict=True):
            piece = np.multiply.outer(piece, each[code])
        found += piece
    return found
