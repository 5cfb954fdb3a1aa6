"""All views made to agree: common margins and total, nothing negative, and what was left out put back where it belongs.

Post-processing of what is published, so it costs no privacy. For every view, over the atoms of its attributes:

1.  The total and each attribute's distribution are combined over all views that hold it, weighted by precision: the
    sampling error of what is published, plus the error of what is guessed for unpublished cells, taken as a third of it.
2.  A simpler model says what to expect in each cell: independence at first; then, for a pair, independence times what
    the strongest go-betweens c tell through the views (a, c) and (c, b); for wider views, their pairs.
3.  Published counts and "fewer than k" are weighed against that expectation (`shrink`); a label that stands for several
    atoms spreads its records over them as the expectation does.
4.  Raking brings the view to the common margins.

Four rounds. All constants were chosen on generated tables (visits and stand-ins; `benchmarks/estimates.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import numpy.typing as npt

from shoal.assess.release.answer import marginal
from shoal.assess.release.base import LEVEL, Loaded
from shoal.assess.release.estimate import Marginal
from shoal.assess.release.overlay import Floats, Overlay, overlay
from shoal.assess.release.shrinkage import shrunk
from shoal.errors import UsageError

ROUNDS = 4
BETWEEN = 4
"""The go-betweens that a pair's expectation uses: those that tell the most about it."""
DOUBT = 0.1
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
class Consistent:
    """Views that agree with each other. Tables are records, one axis for each attribute of the view."""

    loaded: Loaded
    total: float
    margins: Mapping[str, Floats] = field(repr=False)
    tables: Mapping[str, Floats] = field(repr=False)

    def __repr__(self) -> str:
        return f"<Consistent views of {self.loaded.folder}: {self.total:,.0f} records by estimate>"

    def marginal(self, *attributes: str, level: float = LEVEL) -> Marginal:
        """Every cell of attributes that some view holds together."""
        views = self.loaded.covering(attributes)
        found = marginal(self.loaded, attributes, level, [self.loaded.axis(name) for name in attributes])
        value = np.mean([self._of(view.name, view.columns, attributes) for view in views], axis=0)
        return Marginal(
            found.attributes, found.labels, value, np.minimum(found.low, value), np.maximum(found.high, value),
            found.published, found.covered, level, ", ".join(view.name for view in views[:4]), METHOD, found.records,
        )  # fmt: skip

    def _of(self, name: str, columns: Sequence[str], attributes: Sequence[str]) -> Floats:
        table = self.tables[name]
        kept = [columns.index(each) for each in attributes]
        rest = tuple(j for j in range(len(columns)) if j not in kept)
        order = [sorted(kept).index(j) for j in kept]
        return np.asarray(table.sum(rest).transpose(order))


def fit(loaded: Loaded) -> Consistent:
    """Make the views of a release consistent."""
    names = loaded.attributes
    views = [overlay(loaded, view, names) for view in loaded.views]
    if not any(each.shown.any() for each in views):
        raise UsageError("no view shows a row, so there is nothing to make consistent")
    sizes = [len(loaded.axis(name)) for name in names]
    guesses, total = _start(views)
    tables: list[Floats] = []
    margins: list[Floats] = []
    for number in range(ROUNDS):
        total = total if number == 0 else _total(views, guesses)
        margins = _margins(views, guesses, sizes, total)
        pairs = _pairs(views, tables) if tables else {}
        guesses, tables = [], []
        for each in views:
            expected = _expected(each, margins, pairs, total)
            cells = shrunk(each.counts, each.shown, each.summed(expected) * each.beta, each.k, each.beta)
            own = [margins[j] for j in each.axes]
            guesses.append(each.spread(np.where(each.shown, each.counts / each.beta, cells), expected))
            tables.append(_raked(each.spread(cells, expected), own, 20 if number < ROUNDS - 1 else 2000))
    return Consistent(
        loaded, total, dict(zip(names, margins, strict=True)),
        {view.name: table for view, table in zip(loaded.views, tables, strict=True)},
    )  # fmt: skip


def _start(views: Sequence[Overlay]) -> tuple[list[Floats], float]:
    """The total from the views that hide least, and what each view leaves of it spread evenly over unpublished cells."""
    value, weight = [], []
    for each in views:
        hidden = int((~each.shown).sum()) * (each.k - 1) / 2
        value.append(each.counts.sum() / each.beta)
        weight.append(each.beta**2 / (each.counts.sum() * (1 - each.beta) + hidden**2 + 1))
    total = float(np.average(value, weights=weight))
    found = []
    for each in views:
        left = max(total - each.counts.sum() / each.beta, 0) / max(1, int((~each.shown).sum()))
        left = max(left, LEAST / each.beta)
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
    """Each attribute's distribution, combined over the views that hold it."""
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
    """Of a number of records, from sampled records shown and guessed."""
    guessed = np.maximum(guessed, 0)
    return np.asarray((shown * (1 - beta) + guessed + DOUBT * guessed**2 + max(1 - beta, 1e-9)) / beta**2)


def _pairs(views: Sequence[Overlay], tables: Sequence[Floats]) -> Pairs:
    """Every pair of attributes that some view holds, both ways round; the mean over views that do."""
    found: dict[tuple[int, int], list[Floats]] = {}
    for each, table in zip(views, tables, strict=True):
        for i, j in combinations(range(table.ndim), 2):
            own = table.sum(tuple(at for at in range(table.ndim) if at not in (i, j)))
            found.setdefault((each.axes[i], each.axes[j]), []).append(own)
            found.setdefault((each.axes[j], each.axes[i]), []).append(own.T)
    return {pair: np.mean(several, axis=0) if len(several) > 1 else several[0] for pair, several in found.items()}


def _expected(view: Overlay, margins: Sequence[Floats], pairs: Pairs, total: float) -> Floats:
    """What a simpler model expects in each cell."""
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
    return _raked(np.exp(np.minimum(logs, 700)), own, 5)


def _between(axes: Sequence[int], margins: Sequence[Floats], pairs: Pairs, apart: Floats, total: float) -> Floats:
    """What the strongest go-betweens say about a pair, as the log of a ratio to independence."""
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


def _raked(table: Floats, margins: Sequence[npt.NDArray[np.float64]], most: int) -> Floats:
    """The nearest table (in relative entropy) with these margins, by iterative proportional fitting."""
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
