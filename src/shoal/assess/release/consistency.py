"""Consistent estimates from all views: common margins and total, nothing negative, and estimates for suppressed cells.

Post-processing of what is published, so it costs no privacy. For every view, over the atoms of its attributes:

1.  The total and each attribute's distribution are combined over all views that hold it, weighted by precision: the
    sampling error of what is published, plus the error of what is guessed for unpublished cells, taken as a third of it.
2.  A simpler model gives the expectation of each cell: independence at first; then, for a pair, independence times what
    the strongest intermediate attributes c say through the views (a, c) and (c, b); for wider views, their pairs.
3.  Published counts and "fewer than k" are weighed against that expectation (`shrink`); a label that stands for several
    atoms spreads its records over them as the expectation does.
4.  Raking brings the view to the common margins.

Where a domain is ordered and wide, and few of its values are published, what is not shown starts near the published ones: evenly
over the domain it would put a third of all stays beyond any that there is.

Four rounds. All constants were chosen on generated tables (visits and simulated tables; `benchmarks/estimates.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, gammaln

from shoal.assess.release.condition import Condition, Within, condition_axes, condition_blocks, truth_within
from shoal.assess.release.estimate import MarginalEstimate
from shoal.assess.release.labels import labels_of_atoms, resolve_masks
from shoal.assess.release.load import LoadedRelease
from shoal.assess.release.view import PublishedView
from shoal.errors import UsageError, VerificationError
from shoal.language.interface import LEVEL

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MOST_CELLS = 1_000_000
"""A view with more cells of atoms than this is too wide to be filled in cell by cell."""


@dataclass(frozen=True)
class Overlay:
    """A view over the atoms of its attributes: `box` is the box that a cell of atoms lies in; `counts` and `shown` say what was
    published of each box.
    """

    axes: tuple[int, ...]
    k: int
    beta: float
    box: Ints
    counts: Floats
    shown: Mask
    even: Floats
    """How a box spreads its records when nothing else is known: evenly over what its label stands for."""
    alone: tuple[Mask, ...]
    """For each attribute: whether a box holds one atom of it alone."""

    def sum_boxes(self, table: Floats) -> Floats:
        """Add a table up over the cells of each box."""
        return np.bincount(self.box.ravel(), table.ravel(), len(self.counts)).astype(np.float64)

    def spread(self, amounts: Floats, like: Floats) -> Floats:
        """Distribute the amount of each box over its cells, in proportion to another table."""
        if len(self.counts) == self.box.size:
            return np.asarray(amounts[self.box])
        held = self.sum_boxes(like)
        flat = self.sum_boxes(self.even)
        bare = held <= 0
        like = np.where(bare[self.box], self.even, like)
        return np.asarray(amounts[self.box] * like / np.where(bare, flat, held)[self.box])

    def clear(self, place: int) -> Mask:
        """Say which cells have a published box that contains one atom of the attribute alone."""
        return np.asarray((self.shown & self.alone[place])[self.box])


def overlay(loaded: LoadedRelease, view: PublishedView, names: Sequence[str]) -> Overlay:
    """Make the overlay of a view over the atoms of its attributes."""
    axes = [loaded.axis(name) for name in view.columns]
    shape = tuple(len(own) for own in axes)
    if prod(shape) > MOST_CELLS:
        raise UsageError(
            f"table '{view.name}' is too wide to be made consistent cell by cell",
            came=f"{prod(shape):,} cells",
            allowed=f"{MOST_CELLS:,} cells",
            fix="use count() and marginal(), which work on any table",
        )
    held = [
        own.membership(resolve_masks(own, view.meanings[name].labels))
        for own, name in zip(axes, view.columns, strict=True)
    ]
    codes, counts = view.tuples
    if view.box_tuples is not None:
        box = np.full(shape, -1, dtype=np.int64)
        for number, labels in enumerate(view.box_tuples):
            box[np.ix_(*(own[code] for own, code in zip(held, labels, strict=True)))] = number
        if (box < 0).any():
            raise VerificationError(f"table '{view.name}': its boxes leave a part of the domain out")
        place = {tuple(labels): number for number, labels in enumerate(view.box_tuples.tolist())}
        found = np.array([place[tuple(code)] for code in codes.tolist()], dtype=np.int64)
        many = len(view.box_tuples)
        alone = [(own.sum(1) == 1)[view.box_tuples[:, j]] for j, own in enumerate(held)]
    else:
        label_of = [_label_of(own) for own in held]
        many_of = [max(len(own), int(label.max()) + 1) for own, label in zip(held, label_of, strict=True)]
        box = np.ravel_multi_index(np.ix_(*label_of), many_of).astype(np.int64)
        found = np.ravel_multi_index(tuple(codes.T), many_of).astype(np.int64)
        used = np.unique(np.concatenate([box.ravel(), found]))
        box = np.asarray(np.searchsorted(used, box.ravel()), dtype=np.int64).reshape(shape)
        found, many = np.searchsorted(used, found), len(used)
        single = [np.bincount(label, minlength=size) == 1 for label, size in zip(label_of, many_of, strict=True)]
        alone = [own[part] for own, part in zip(single, np.unravel_index(used, many_of), strict=True)]
    amounts = np.bincount(found, counts.astype(float), many).astype(np.float64)
    even = np.ones(())
    for own in axes:
        even = np.multiply.outer(even, np.maximum(own.sizes, 1e-6))
    return Overlay(
        tuple(names.index(name) for name in view.columns), view.k, float(view.beta), box, amounts, amounts > 0,
        np.asarray(even), tuple(alone),
    )  # fmt: skip


def _label_of(held: Mask) -> Ints:
    """Give the label of each atom; an atom that no label of this view contains gets a label of its own, never published."""
    found = np.where(held.any(0), held.argmax(0), len(held) + np.arange(held.shape[1]))
    return found.astype(np.int64)


SHAPES = tuple(2.0**power for power in range(-2, 8))
"""Shapes of the gamma that are tried: from cells that deviate far from the simpler model to cells that hardly do."""
HALF = 0.5
"""How far a published cell goes towards what the fit says."""
LEAST_LIKELIHOOD = 1e-300


def shrink(counts: Floats, shown: Mask, expected: Floats, k: int, beta: float) -> Floats:
    """Estimate the records of every cell from its sampled count (where shown) and the count that a simpler model expects.

    Empirical Bayes: given the expectation of a simpler model, a cell's sampled count is Poisson around a rate that is
    gamma-distributed around the expectation; the shape of the gamma says how far cells deviate from the model. It is fitted by
    maximum likelihood to all cells of a view, unpublished ones as "fewer than k". An unpublished cell is estimated by the mean
    of cells that show fewer than k. A published cell moves from its own count towards the expectation, the less the larger it
    is, and half as far as the fit says: cells that deviate from the model are the ones worth publishing, and one shape for
    all cells moves them too far (half way was best over generated tables, where all the way and not at all each lost on some).
    """
    rate = np.maximum(expected, 1e-9)
    shape = max(SHAPES, key=lambda each: _likelihood(counts, shown, rate, k, each))
    seen = (1 - HALF) * counts + HALF * (counts + shape) / (1 + shape / rate)
    hidden = (
        rate * _below(k, shape + 1, rate * (shape + 1) / shape) / np.maximum(_below(k, shape, rate), LEAST_LIKELIHOOD)
    )
    # The sampled records are known; only the others are uncertain.
    return np.asarray(np.where(shown, counts + (1 - beta) / beta * seen, hidden / beta))


def _likelihood(counts: Floats, shown: Mask, rate: Floats, k: int, shape: float) -> float:
    count, mean = counts[shown], rate[shown]
    seen = (
        gammaln(count + shape) - gammaln(shape) - shape * np.log1p(mean / shape) + count * np.log(mean / (shape + mean))
    )
    hidden = np.log(np.maximum(_below(k, shape, rate[~shown]), LEAST_LIKELIHOOD))
    return float(seen.sum() + hidden.sum())


def _below(k: int, shape: float, mean: Floats) -> Floats:
    """Pr[X < k] for a negative binomial X of this shape and mean."""
    return np.asarray(betainc(shape, float(k), shape / (shape + mean)))


ROUNDS = 4
BETWEEN = 4
"""How many intermediate attributes a pair's expectation uses: those that say the most about it."""
GUESS_ERROR = 0.1
"""The squared relative error of what is guessed for unpublished cells."""
LEAST = 0.3
"""Sampled records that an unpublished cell starts with at least: one that starts with none would never get any."""
TOLERANCE = 1e-9
TINY = 1e-12
METHOD = (
    "all views made consistent: precision-weighted margins, empirical Bayes for small and unpublished cells, raking; "
    "model-based, so the interval is the exact one of the view alone, widened to hold the estimate; pointwise"
)

Pairs = dict[tuple[int, int], Floats]


@dataclass(frozen=True)
class ConsistentViews:
    """Estimates of all views that agree with each other: tables of records, one axis for each attribute of the view."""

    loaded: LoadedRelease
    total: float
    margins: Mapping[str, Floats] = field(repr=False)
    tables: Mapping[str, Floats] = field(repr=False)

    def __repr__(self) -> str:
        return f"<Consistent views of {self.loaded.folder}: {self.total:,.0f} records by estimate>"

    def marginal(self, *attributes: str, level: float = LEVEL) -> MarginalEstimate:
        """Estimate every cell of attributes that some view holds together."""
        from shoal.assess.release.answer import marginal

        views = self.loaded.covering(attributes)
        found = marginal(self.loaded, attributes, level, [self.loaded.axis(name) for name in attributes])
        value = np.mean([self._of(view.name, view.columns, attributes) for view in views], axis=0)
        return MarginalEstimate(
            found.attributes, found.labels, value, np.minimum(found.low, value), np.maximum(found.high, value),
            found.published, found.covered, level, ", ".join(view.name for view in views[:4]), METHOD, found.records,
        )  # fmt: skip

    def spread_table(self, attributes: Sequence[str], shares: Sequence[Floats]) -> Floats:
        """Estimate the records of cells of attributes that some view holds together; `shares` say how much of each atom lies in
        each part.
        """
        views = self.loaded.covering(attributes)
        table = np.mean([self._of(view.name, view.columns, attributes) for view in views], axis=0)
        for own in shares:
            table = np.tensordot(table, own, axes=([0], [0]))
        return np.asarray(table)

    def expected(self, wanted: Condition, within: Within | None = None) -> float:
        """Give the number of records that satisfy a condition, by the model; of those that are looked at."""
        every = [*wanted, *(within.whole if within else ())]
        named = tuple(dict.fromkeys(name for each in every for name in each))
        if not named:
            return self.total if within is None or within.holds else 0.0
        axes = condition_axes(self.loaded, every)
        parts = [condition_blocks(axes[name], labels_of_atoms(self.loaded.axis(name)), every, name) for name in named]
        truth = truth_within([part.truth for part in parts], len(wanted), within)
        return float((self.spread_table(named, [part.shares for part in parts]) * truth).sum())

    def _of(self, name: str, columns: Sequence[str], attributes: Sequence[str]) -> Floats:
        table = self.tables[name]
        kept = [columns.index(each) for each in attributes]
        rest = tuple(j for j in range(len(columns)) if j not in kept)
        order = [sorted(kept).index(j) for j in kept]
        return np.asarray(table.sum(rest).transpose(order))


def can_fit(loaded: LoadedRelease) -> bool:
    """Whether the views can be made consistent cell by cell: none is too wide, and one shows a row."""
    wide = (prod(len(loaded.axis(name)) for name in view.columns) > MOST_CELLS for view in loaded.views)
    return not any(wide) and any(len(view.tuples[1]) for view in loaded.views)


def fit(loaded: LoadedRelease) -> ConsistentViews:
    """Make the views of a release consistent."""
    names = loaded.attributes
    views = [overlay(loaded, view, names) for view in loaded.views]
    if not any(each.shown.any() for each in views):
        raise UsageError("no view shows a row, so there is nothing to make consistent")
    sizes = [len(loaded.axis(name)) for name in names]
    guesses, total = _start(views, [_nearness(loaded, views, number) for number in range(len(names))])
    tables: list[Floats] = []
    margins: list[Floats] = []
    for number in range(ROUNDS):
        total = total if number == 0 else _total(views, guesses)
        margins = _margins(views, guesses, sizes, total)
        pairs = _pairs(views, tables) if tables else {}
        guesses, tables = [], []
        for each in views:
            expected = _expectation(each, margins, pairs, total)
            cells = shrink(each.counts, each.shown, each.sum_boxes(expected) * each.beta, each.k, each.beta)
            own = [margins[j] for j in each.axes]
            guesses.append(each.spread(np.where(each.shown, each.counts / each.beta, cells), expected))
            tables.append(_rake(each.spread(cells, expected), own, 20 if number < ROUNDS - 1 else 2000))
    return ConsistentViews(
        loaded, total, dict(zip(names, margins, strict=True)),
        {view.name: table for view, table in zip(loaded.views, tables, strict=True)},
    )  # fmt: skip


def _nearness(loaded: LoadedRelease, views: Sequence[Overlay], number: int) -> Floats:
    """Say for each atom of an attribute how near a published one is: 1 where it is published itself, or nothing has an order.

    Away from the nearest published atom it falls by a factor e for each so many atoms as are published.
    """
    axis = loaded.axis(loaded.attributes[number])
    shown = np.zeros(len(axis), dtype=np.bool_)
    for each in views:
        for place, own in enumerate(each.axes):
            if own == number:
                shown |= each.shown[each.box].any(tuple(at for at in range(each.box.ndim) if at != place))
    line = np.array([span is not None for span in axis.spans])
    known = np.flatnonzero(shown & line)
    found = np.ones(len(axis))
    if len(known):
        places = np.flatnonzero(line)
        after = np.searchsorted(known, places)
        ends = known[np.maximum(after - 1, 0)], known[np.minimum(after, len(known) - 1)]
        far = np.minimum(*(np.abs(places - end) for end in ends))
        found[places] = np.exp(-far / len(known))
    return found


def _start(views: Sequence[Overlay], near: Sequence[Floats]) -> tuple[list[Floats], float]:
    """Estimate the total from all views, and distribute what each view lacks over its unpublished cells: those near published
    values get more, where values have an order.
    """
    value, weight = [], []
    for each in views:
        hidden = int((~each.shown).sum()) * (each.k - 1) / 2
        value.append(each.counts.sum() / each.beta)
        weight.append(each.beta**2 / (each.counts.sum() * (1 - each.beta) + hidden**2 + 1))
    total = float(np.average(value, weights=weight))
    found = []
    for each in views:
        weight_of = np.ones(())
        for own in each.axes:
            weight_of = np.multiply.outer(weight_of, near[own])
        part = each.sum_boxes(np.asarray(weight_of)) / np.bincount(each.box.ravel(), minlength=len(each.counts))
        left = part * max(total - each.counts.sum() / each.beta, 0) / max(TINY, float(part[~each.shown].sum()))
        left = np.maximum(left, part * LEAST / each.beta)
        found.append(each.spread(np.where(each.shown, each.counts / each.beta, left), each.even))
    return found, total


def _total(views: Sequence[Overlay], guesses: Sequence[Floats]) -> float:
    value, weight = [], []
    for each, guess in zip(views, guesses, strict=True):
        value.append(guess.sum())
        hidden = (guess.sum() - each.counts.sum() / each.beta) * each.beta
        weight.append(1 / _variance(np.array(each.counts.sum()), np.array(hidden), each.beta))
    return float(np.average(value, weights=weight))


def _margins(views: Sequence[Overlay], guesses: Sequence[Floats], sizes: Sequence[int], total: float) -> list[Floats]:
    """Combine each attribute's distribution over the views that hold it."""
    value, weight = ([np.zeros(size) for size in sizes] for _ in range(2))
    for each, guess in zip(views, guesses, strict=True):
        for place, number in enumerate(each.axes):
            rest = tuple(j for j in range(guess.ndim) if j != place)
            whole = guess.sum(rest)
            clear = np.where(each.clear(place), guess, 0.0).sum(rest)
            precision = 1 / _variance(clear * each.beta, (whole - clear) * each.beta, each.beta)
            value[number] += precision * whole
            weight[number] += precision
    found = [np.maximum(v / w, 0) for v, w in zip(value, weight, strict=True)]
    return [own * (total / max(own.sum(), TINY)) for own in found]


def _variance(shown: Floats, guessed: Floats, beta: float) -> Floats:
    """Give the variance of a number of records, from sampled records shown and guessed."""
    guessed = np.maximum(guessed, 0)
    return np.asarray((shown * (1 - beta) + guessed + GUESS_ERROR * guessed**2 + max(1 - beta, 1e-9)) / beta**2)


def _pairs(views: Sequence[Overlay], tables: Sequence[Floats]) -> Pairs:
    """Give the table of every pair of attributes that some view holds, both ways round: the mean over those views."""
    found: dict[tuple[int, int], list[Floats]] = {}
    for each, table in zip(views, tables, strict=True):
        for i, j in combinations(range(table.ndim), 2):
            own = table.sum(tuple(at for at in range(table.ndim) if at not in (i, j)))
            found.setdefault((each.axes[i], each.axes[j]), []).append(own)
            found.setdefault((each.axes[j], each.axes[i]), []).append(own.T)
    return {pair: np.mean(several, axis=0) if len(several) > 1 else several[0] for pair, several in found.items()}


def _expectation(view: Overlay, margins: Sequence[Floats], pairs: Pairs, total: float) -> Floats:
    """Give the expectation of each cell under the simpler model."""
    own = [margins[j] for j in view.axes]
    alone = np.full((), total)
    for each in own:
        alone = np.multiply.outer(alone, each / total)
    if not pairs or len(own) < 2:
        return np.asarray(alone)
    logs = np.log(np.maximum(alone, TINY))
    if len(own) == 2:
        logs = logs + _between(view.axes, margins, pairs, logs, total)
    else:
        for i, j in combinations(range(len(own)), 2):
            apart = np.log(np.maximum(np.multiply.outer(own[i], own[j]) / total, TINY))
            ratio = np.log(np.maximum(pairs[view.axes[i], view.axes[j]], TINY)) - apart
            logs = logs + ratio.reshape([own[at].size if at in (i, j) else 1 for at in range(len(own))])
    return _rake(np.exp(np.minimum(logs, 700)), own, 5)


def _between(axes: Sequence[int], margins: Sequence[Floats], pairs: Pairs, apart: Floats, total: float) -> Floats:
    """Give what the strongest intermediate attributes say about a pair, as the log of a ratio to independence."""
    a, b = axes
    said: list[tuple[float, int, Floats]] = []
    for c in range(len(margins)):
        if c in axes or (a, c) not in pairs or (c, b) not in pairs:
            continue
        through = pairs[a, c] @ (pairs[c, b] / np.maximum(margins[c], TINY)[:, None])
        ratio = np.log(np.maximum(through, TINY)) - apart
        said.append((float((through * ratio).sum()) / total, c, ratio))
    strongest = sorted(said, key=lambda each: (-each[0], each[1]))[:BETWEEN]
    return np.asarray(sum((ratio for _, _, ratio in strongest), np.zeros_like(apart)))


def _rake(table: Floats, margins: Sequence[npt.NDArray[np.float64]], most: int) -> Floats:
    """Rake a table: the nearest one (in relative entropy) with these margins, by iterative proportional fitting."""
    table = np.maximum(table, TINY)
    scale = max(float(margins[0].sum()), TINY)
    for _ in range(most):
        off = 0.0
        for j, wanted in enumerate(margins):
            rest = tuple(at for at in range(table.ndim) if at != j)
            found = table.sum(rest)
            off = max(off, float(np.abs(found - wanted).max()) / scale)
            table = table * (wanted / np.maximum(found, TINY)).reshape(
                [-1 if at == j else 1 for at in range(table.ndim)]
            )
        if off < TOLERANCE:
            break
    return table
