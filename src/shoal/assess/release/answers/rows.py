"""Estimates from published rows: every view that holds the columns is pooled, and the interval holds whatever was suppressed.

In a view, the records that satisfy a condition number N, and T ~ Bin(N, beta) of them were in its sample. Published
cells inside the condition show S of them. Published cells that lie across it hold P more, of which 0 to all may be
inside; and each of the M cells that touch it and were not published hides 0 to k − 1. So

    S ≤ T ≤ S + P + M·(k − 1)

in each view, and the samples of different views are independent: `pooling` makes one interval of all of them. No approximation,
and no assumption about what is hidden. Records are those that took part in the sampling: of a person with more rows than the
policy allows, the rows that were kept; where the table is itself a sample, the population's, and one table alone is used.

Views are taken in the order of the part of the domain whose labels the condition cuts across, then of the number of cells that
they could have shown (so that the least suppression is to be expected), then by name. The order depends on the recoding and never
on counts: choosing a view by its counts would invalidate the intervals.

The estimate is that of all views made consistent (`consistency`), where there are several: it corrects for suppression. It rests
on a model, and the interval does not; it is moved to the nearest end of the interval where it lies outside. For one wide table,
and where nothing is suppressed, the estimate is the published count divided by beta, cells across the condition split evenly over
what they stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from shoal.assess.release.answers.noisy import first_stage, noisy_count
from shoal.assess.release.answers.noisy_total import NoisyTotal
from shoal.assess.release.answers.pooling import (
    SampledBounds,
    leading_sizes,
    pooled_lower,
    pooled_upper,
    sampled_at_most,
    share_bounds,
)
from shoal.assess.release.condition import Condition, Overlap, Within, condition_axes
from shoal.assess.release.consistency import ConsistentViews, can_fit, fit
from shoal.assess.release.labels import AtomAxis
from shoal.assess.release.load import LoadedRelease
from shoal.assess.release.view import PublishedView

EVERYTHING: Condition = [{}]
DENSE = 0.5
"""Views that show less than this part of the table, as far as its size is known, are left out of the model of an estimate."""
MANY_HIDDEN = 2_000
"""Where a view may hide more sampled records than this, a share is bounded by the total too."""
AS_SHARP = 2
"""Views that a condition cuts across in more than so many times the part of the domain of the best view are left aside."""
PUBLISHED = "published count / beta, labels across the condition split evenly"
MODELLED = "model-based estimate: all views made consistent"
NOISY = "the published number with two-sided geometric noise, whose bounds are one half of the risk"
EXACT = "the published number, which is exact"
BY_EXACT = "the number of all records as it was published too"
BY_TOTAL = "the number of all records bounded by the noisy total too"
BY_COUNTS = "the number of all records bounded by the noisy counts too"
WITHOUT_TOTAL = "the release has no noisy total, so unpublished cells alone bound what is hidden"
_HIDING = ", each unpublished cell hiding 0 to k - 1 sampled records"
"""Said of the interval where tuples may be suppressed."""


@dataclass(frozen=True)
class RowsEstimate:
    """An estimate from rows with the ends of its interval, the views that it comes from, and the method."""

    value: float
    low: float
    high: float
    source: str
    method: str


def count_rows(loaded: LoadedRelease, wanted: Condition, risk: float) -> RowsEstimate:
    """Estimate how many records satisfy a condition, from all views that hold its attributes.

    Of the risk, half is spent on the lower end, 3/8 on the upper end of the views themselves, and 1/16 each on the total and on
    what lies outside the condition, which together bound it from above as well. Where a noisy total is published, that bound is a
    good one: then 1/4 is spent on the views' own upper end, 3/16 on what lies outside, and 1/16 on the total.
    """
    axes = condition_axes(loaded, wanted)
    views = ordered_views(loaded, wanted, axes)
    bounds = [split_view(view, wanted, axes) for view in views]
    betas = [view.beta for view in views]
    low = pooled_lower([each.part_least for each in bounds], betas, risk / 2)
    direct, outside = (1 / 4, 3 / 16) if tells_total(loaded) else (3 / 8, 1 / 16)
    high = pooled_upper([each.part_most for each in bounds], betas, risk * direct)
    beyond = pooled_lower([each.rest_least for each in bounds], betas, risk * outside)
    high = max(low, min(high, total_bounds(loaded, risk / 8)[1] - beyond))
    value, said = _value(
        loaded,
        tuple(axes),
        lambda: _published(views, wanted, axes),
        lambda own: own.expected(wanted) * _anchor(loaded, own),
    )
    method = (
        f"{said}; exact binomial bounds of {_pooled(views)}{_hidden(views)}, labels across the condition counted 0 to all, and "
        f"no more than all records without those published elsewhere{total_words(loaded, views)}; pointwise"
    )
    return RowsEstimate(min(max(value, low), high), low, high, source_of(views), method)


def total_rows(loaded: LoadedRelease, risk: float) -> RowsEstimate:
    """Estimate how many records there are, from all views."""
    views = _by_size(loaded)
    low, high = total_bounds(loaded, risk)
    value, said = _value(loaded, (), lambda: _published(views, EVERYTHING, {}), lambda own: own.total)
    if loaded.noisy_total is not None:
        value, said = float(loaded.noisy_total.records), EXACT if loaded.noisy_total.is_exact else NOISY
    method = f"{said}; exact binomial bounds of {_pooled(views)}{_hidden(views)}{total_words(loaded, views)}; pointwise"
    return RowsEstimate(min(max(value, low), high), low, high, source_of(views), method)


def total_bounds(loaded: LoadedRelease, risk: float) -> tuple[float, float]:
    """Bound the number of all records; each end fails with probability at most risk / 2.

    Where a noisy total or noisy counts are published, half of the risk is spent on their noise and half on the samples; both hold
    together.
    """
    if not tells_total(loaded):
        return _sampled_total(loaded, risk)
    if loaded.noisy_total is not None and loaded.noisy_total.is_exact:
        return loaded.noisy_total.bounds(risk)
    said, own = _published_total(loaded, risk / 2), _sampled_total(loaded, risk / 2)
    low, high = max(said[0], own[0]), min(said[1], own[1])
    # One of the two has failed where they share nothing, and nobody knows which.
    return (low, high) if low <= high else (min(said[0], own[0]), max(said[1], own[1]))


def tells_total(loaded: LoadedRelease) -> bool:
    """Whether the number of records that the rows are sampled from was published, as a total or in noisy counts.

    Where the table is itself a sample, counts are of the table, and rows speak of its population.
    """
    return loaded.noisy_total is not None or (bool(loaded.counts) and not loaded.was_sampled_before)


def total_words(loaded: LoadedRelease, views: Sequence[PublishedView]) -> str:
    """What bounds the number of all records beside the samples, or that nothing does although views hide records."""
    if loaded.noisy_total is not None:
        return f", {BY_EXACT if loaded.noisy_total.is_exact else BY_TOTAL}"
    if tells_total(loaded):
        return f", {BY_COUNTS}"
    return f"; {WITHOUT_TOTAL}" if any(view.suppresses for view in views) else ""


def _published_total(loaded: LoadedRelease, risk: float) -> tuple[float, float]:
    stated: NoisyTotal | None = loaded.noisy_total
    if stated is not None:
        return stated.bounds(risk)
    found = noisy_count(loaded, EVERYTHING, first_stage(loaded.counts), risk)
    return found.low, found.high


def _sampled_total(loaded: LoadedRelease, risk: float) -> tuple[float, float]:
    views = _by_size(loaded)
    bounds, betas = [split_view(view, EVERYTHING, {}) for view in views], [view.beta for view in views]
    low = pooled_lower([each.part_least for each in bounds], betas, risk / 2)
    high = pooled_upper([each.part_most for each in bounds], betas, risk / 2)
    return low, max(low, high)


def share_rows(loaded: LoadedRelease, wanted: Condition, within: Within, risk: float) -> RowsEstimate:
    """Estimate which share of the records that are looked at satisfy a condition, from views that hold the attributes of both.

    Part and whole come from the same samples, so the share is bounded given how many records of the whole are in each. Where
    even the narrowest view may hide many of all records, they are bounded by the total too (`looked_at_most`), for a quarter of
    the risk.
    """
    axes = condition_axes(loaded, [*wanted, *within.whole])
    views = ordered_views(loaded, wanted, axes, within)
    bounds = [split_view(view, wanted, axes, within) for view in views]
    if bounded_by_total(loaded, views):
        elsewhere = [shown_elsewhere(Overlap(view, EVERYTHING, axes, within=within)) for view in views]
        low, high = share_bounds(bounds, risk * 3 / 4, looked_at_most(loaded, views, elsewhere, risk / 4))
    else:
        low, high = share_bounds(bounds, risk)

    def published() -> float:
        part, all_of_it = (_published(views, each, axes, within) for each in (wanted, EVERYTHING))
        return part / all_of_it if all_of_it else 0.0

    def modelled(own: ConsistentViews) -> float:
        every = own.expected(EVERYTHING, within)
        return own.expected(wanted, within) / every if every else 0.0

    value, said = _value(loaded, tuple(axes), published, modelled)
    method = (
        f"{said}; bounds of Clopper and Pearson given the sampled whole, of {_pooled(views)}{_hidden(views)}, labels across the "
        f"condition counted 0 to all{total_words(loaded, views)}; pointwise"
    )
    return RowsEstimate(min(max(value, low), high), low, high, source_of(views), method)


def bounded_by_total(loaded: LoadedRelease, views: Sequence[PublishedView]) -> bool:
    """Whether the number of all records is worth a part of the risk: even the first of these views may hide many, and something
    else says how many there are. What was published decides it, and no count.
    """
    hides = views[0].suppresses and _size(views[0]) * (views[0].k - 1) > MANY_HIDDEN
    return hides and (tells_total(loaded) or len(loaded.views) > 1)


def looked_at_most(
    loaded: LoadedRelease, views: Sequence[PublishedView], elsewhere: Sequence[float], risk: float
) -> list[float]:
    """Bound how many of the records that are looked at are in the samples of the first 1, 2, 4, … views together.

    No more than the number of all records lets expect, without those that the views show elsewhere. All bounds hold together but
    for a probability of at most `risk`: half of it is spent on the upper end of the number of records, half on the samples.
    """
    most = sampled_in_all(loaded, views, risk)
    return [max(0.0, each - sum(elsewhere[:size])) for each, size in zip(most, leading_sizes(len(views)), strict=True)]


def sampled_in_all(loaded: LoadedRelease, views: Sequence[PublishedView], risk: float) -> list[float]:
    """Bound how many of all records are in the samples of the first 1, 2, 4, … views together, at this risk."""
    return sampled_at_most(total_bounds(loaded, risk)[1], [view.beta for view in views], risk / 2)


def shown_elsewhere(overlap: Overlap[PublishedView]) -> float:
    """How many sampled records a view shows that surely are not looked at."""
    codes, counts = overlap.view.tuples
    return float(counts[~overlap.of(codes)[1]].sum())


def ordered_views(
    loaded: LoadedRelease, wanted: Condition, axes: Mapping[str, AtomAxis], within: Within | None = None
) -> list[PublishedView]:
    """Give the views that hold the attributes, those in which a condition is answered best first."""
    named = dict.fromkeys(name for each in (*wanted, *(within.whole if within else ())) for name in each)
    views = [table for table in loaded.covering(tuple(named)) if isinstance(table, PublishedView)]
    key = {view.name: (Overlap(view, wanted, axes, within=within).blur, _size(view), view.name) for view in views}
    views = sorted(views, key=lambda view: key[view.name])
    views = [view for view in views if key[view.name][0] <= AS_SHARP * key[views[0].name][0]]
    # Views of a table that was a sample already have that sample in common.
    return views[:1] if loaded.was_sampled_before else views


def split_view(
    view: PublishedView, wanted: Condition, axes: Mapping[str, AtomAxis], within: Within | None = None
) -> SampledBounds:
    """Bound how many sampled records of a view satisfy a condition, and how many of the others that are looked at do not."""
    part_least, part_most = sampled_bounds(Overlap(view, wanted, axes, within=within))
    rest_least, rest_most = sampled_bounds(Overlap(view, wanted, axes, within=within, rest=True))
    return SampledBounds(view.beta, part_least, part_most, rest_least, rest_most)


def sampled_bounds(overlap: Overlap[PublishedView]) -> tuple[float, float]:
    """Bound how many sampled records of a view satisfy a condition: those surely inside, and those that may be."""
    view = overlap.view
    codes, counts = view.tuples
    _, touched, inside = overlap.of(codes)
    hidden = 0.0
    if view.suppresses:
        cells = overlap.cells_touched
        hidden = float("inf") if cells is None else float(max(0, cells - int(touched.sum())) * (view.k - 1))
    return float(counts[touched & inside].sum()), float(counts[touched].sum()) + hidden


def source_of(views: Sequence[PublishedView]) -> str:
    """Name the views that an estimate comes from."""
    others = len(views) - 1
    return views[0].name + (f" and {others} other view{'s' * (others > 1)}" if others else "")


def fit_dense_views(loaded: LoadedRelease) -> ConsistentViews | None:
    """Make the views consistent that show much of the table; None where there are not several, or nothing is suppressed.

    What a view does not show is put back by the model, which cannot be trusted where that is nearly all. Which views these are is
    told by their counts: only the estimate rests on it, and no interval.
    """
    if loaded.counts or loaded.was_sampled_before or not any(view.suppresses for view in loaded.views):
        return None
    shown = {view.name: float(view.tuples[1].sum()) * view.weight for view in loaded.views}
    most = max([*shown.values(), float(loaded.noisy_total.records) if loaded.noisy_total else 0.0])
    dense = replace(loaded, views=tuple(view for view in loaded.views if shown[view.name] > DENSE * most))
    return fit(dense) if len(dense.views) > 1 and can_fit(dense) else None


def model_of(loaded: LoadedRelease, named: Sequence[str]) -> ConsistentViews | None:
    """Give the model of dense views, where these views hold the attributes together."""
    model = loaded.dense_model
    held = model is not None and any(set(named) <= set(view.columns) for view in model.loaded.views)
    return model if held else None


def _value(
    loaded: LoadedRelease,
    named: Sequence[str],
    published: Callable[[], float],
    modelled: Callable[[ConsistentViews], float],
) -> tuple[float, str]:
    model = model_of(loaded, named)
    return (published(), PUBLISHED) if model is None else (modelled(model), MODELLED)


def _anchor(loaded: LoadedRelease, model: ConsistentViews) -> float:
    """By how much the model's counts are scaled so that they add up to the noisy total, where there is one."""
    return max(loaded.noisy_total.records, 1) / model.total if loaded.noisy_total is not None else 1.0


def _published(
    views: Sequence[PublishedView], wanted: Condition, axes: Mapping[str, AtomAxis], within: Within | None = None
) -> float:
    """The published count by beta, of the views that divide the domain as finely as the first does."""
    alike = [view for view in views if _size(view) == _size(views[0]) or not view.suppresses]
    sampled, rate = 0.0, 0.0
    for view in alike:
        codes, counts = view.tuples
        sampled += float((Overlap(view, wanted, axes, within=within).of(codes)[0] * counts).sum())
        rate += float(view.beta)
    return sampled / rate


def _by_size(loaded: LoadedRelease) -> list[PublishedView]:
    views = sorted(loaded.views, key=lambda each: (_size(each), each.name))
    return views[:1] if loaded.was_sampled_before else views


def _size(view: PublishedView) -> float:
    return float("inf") if view.cells is None else float(view.cells)


def _pooled(views: Sequence[PublishedView]) -> str:
    return f"{len(views)} independent samples pooled" if len(views) > 1 else "one sample"


def _hidden(views: Sequence[PublishedView]) -> str:
    return _HIDING if any(view.suppresses for view in views) else ""
