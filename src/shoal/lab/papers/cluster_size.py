"""How large clusters must be: the error of noisy centroids against k, with noise as printed in SC13 and as a data set needs it.

With N = n/k clusters of m attributes the noise of a centroid has the scale (N·m)/(k·epsilon) widths of the domain, which is one
whole width at k = √(n·m/epsilon): below that size centroids say nothing. Above it noise falls with the square of k, until the
clusters themselves are too coarse. The table is generated: incomes, skewed and correlated, in a declared domain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
import numpy.typing as npt

from shoal.anonymize.method.dp_microaggregation import DPMicroaggregation, centroid_attributes
from shoal.chance.source import Source
from shoal.data.domain import Interval
from shoal.data.schema import Attribute, Missing, Role, Schema
from shoal.data.type import Type
from shoal.guarantee.centroids import MOST_CORNERS, CentroidGrouping, CentroidNoise, solve_centroids
from shoal.guarantee.unit import Unit
from shoal.lab.papers.comparison import Reproduction, erratum, statement
from shoal.lab.papers.masking_trials import Draws, NumericTrial
from shoal.page.picture import Mark, Picture, PlotAxis, ReferenceLine, Series

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
ROWS, ATTRIBUTES = 2_000, 2
HIGHEST = 200_000
"""Incomes are declared to lie from 0 to here."""
SIZES = (2, 5, 10, 20, 34, 50, 70, 100, 140, 200, 285, 400, 500, 1000)
EPSILONS = ("0.1", "1", "10")
RUNS = 2
DELTA = "1e-6"
THESIS_SIZE = 15
"""The k from which on, with epsilon 1 or more, the thesis finds its noise worth it."""
MOST_CLUSTERS = 60
"""For optimal noise; smaller clusters are drowned anyway."""


def incomes(rows: int = ROWS, attributes: int = ATTRIBUTES, seed: str = "incomes") -> Codes:
    """Generate incomes: log-normal, with a correlation of one half between the logarithms, cut to the domain."""
    from scipy.special import ndtri

    words = Source.seeded(seed).words(rows * (attributes + 1)).reshape(attributes + 1, rows)
    normal = ndtri((words.astype(np.float64) + 0.5) / 2.0**64)
    logs = 10 + 0.8 * (normal[1:] + normal[0]) / sqrt(2)
    return np.asarray(np.minimum(np.rint(np.exp(logs)), HIGHEST).astype(np.int64).T)


@dataclass(frozen=True)
class HeldWay:
    """A way to make noisy centroids whose epsilon holds for the data set."""

    words: str
    grouping: CentroidGrouping = "insensitive"
    noise: CentroidNoise = "laplace"
    corners: int | None = None
    """How many corners of the domain take turns; None: all of them."""

    @property
    def delta(self) -> str:
        """Gaussian noise has one."""
        return DELTA if self.noise == "gaussian" else "0"


WAYS = (
    HeldWay("Laplace"),
    HeldWay("optimal", noise="optimal"),
    HeldWay("optimal, one order", noise="optimal", corners=1),
    HeldWay("Gaussian, delta 1e-6", noise="gaussian"),
    HeldWay("each attribute by rank", grouping="ranking"),
)


LABELLED = (WAYS[2], WAYS[4])
"""Whose k is written beside its ring; the others are near the first."""


class SizeTrial:
    """Incomes, masked in clusters of any size; the error of a version is the mean distance of a value from what stands for it."""

    def __init__(self, table: Codes) -> None:
        self.table = table
        self.schema = Schema(
            tuple(
                Attribute(f"income {j + 1}", Role.QUASI, Type.INTEGER, Interval(0, HIGHEST), missing=Missing.REFUSE)
                for j in range(table.shape[1])
            )
        )
        self.trial = NumericTrial(table.astype(np.float64), np.full(table.shape[1], float(HIGHEST)))

    def error(self, masked: Floats) -> float:
        """The mean over attributes, in standard deviations of the attribute."""
        return float((np.abs(masked - self.table).mean(axis=0) / self.table.std(axis=0)).mean())

    @property
    def constant(self) -> float:
        """The error of the attribute's mean for everybody."""
        return self.error(np.broadcast_to(self.table.mean(axis=0), self.table.shape))

    def printed_error(self, k: int, epsilon: str, source: Source) -> float:
        """The error of the thesis' noise, which is for one centroid and one attribute."""
        masked = self.trial.masked(k, Fraction(epsilon), Draws.CLUSTER, source, RUNS)
        return float(np.mean([self.error(one) for one in masked]))

    def held_error(self, way: HeldWay, k: int | None, epsilon: str, source: Source) -> tuple[int, float]:
        """The error of noise that holds for the data set, and k where it is left to the rule."""
        corners = min(MOST_CORNERS, 1 << self.table.shape[1]) if way.corners is None else way.corners
        setting = solve_centroids(
            epsilon, way.delta, rows=len(self.table), attributes=centroid_attributes(self.schema),
            unit=Unit.row("replace_one"), k=k, grouping=way.grouping, noise=way.noise,
            corners=None if way.grouping == "ranking" else corners,
        )  # fmt: skip
        method = DPMicroaggregation.of(setting, self.schema)
        codes = [np.ascontiguousarray(column) for column in self.table.T]
        found = []
        for _ in range(RUNS):
            tables = method.centroids(codes, source).tables
            if way.grouping == "ranking":
                own = [np.argsort(np.argsort(column, kind="stable"), kind="stable") for column in codes]
                shown = [
                    np.repeat(table.columns[name], table.sizes)[ranks]
                    for table, name, ranks in zip(tables, method.columns, own, strict=True)
                ]
            else:
                labels = method.clusters(codes)
                shown = [tables[0].columns[name][labels] for name in method.columns]
            found.append(self.error(np.stack(shown, axis=1).astype(np.float64)))
        return setting.k, float(np.mean(found))


def rule(epsilon: str, rows: int = ROWS, attributes: int = ATTRIBUTES) -> float:
    """The size at which the noise of a centroid is as wide as the domain.

    >>> round(rule("1"))
    63
    """
    return sqrt(rows * attributes / float(epsilon))


def size_figure(sizes: Sequence[int] = SIZES) -> Reproduction:
    """The error against k: both noises at three epsilons, and at epsilon 1 all ways that hold."""
    trial, source = SizeTrial(incomes()), Source.secure()
    printed = {e: [trial.printed_error(k, e, source) for k in sizes] for e in EPSILONS}
    plain = WAYS[0]
    held = {e: [trial.held_error(plain, k, e, source)[1] for k in sizes] for e in EPSILONS}
    ways = {way: [trial.held_error(way, k, "1", source)[1] for k in _sizes_of(way, sizes)] for way in WAYS[1:]}
    chosen = {way: trial.held_error(way, None, "1", source) for way in WAYS}
    boxes = float(np.mean([trial.error(one) for one in trial.trial.masked_by_boxes(Fraction(1), source, 5)]))
    best = {e: sizes[int(np.argmin(held[e]))] for e in EPSILONS}
    drowned = {e: min(y for k, y in zip(sizes, held[e], strict=True) if k <= rule(e)) for e in EPSILONS}
    findings = [
        erratum(
            f"k that is enough at epsilon {e}",
            f"{THESIS_SIZE} (§6.4.3)" if float(e) >= 1 else "larger",
            f"more than √(nm/epsilon) = {rule(e):.0f}; {best[e]} is best",
            holds=best[e] > rule(e) > THESIS_SIZE and drowned[e] > trial.constant,
            difference=f"error {min(held[e]):.2g} there; noise as printed {min(printed[e]):.2g}",
        )
        for e in EPSILONS
    ]
    findings.append(
        statement(
            "boxes, whose epsilon holds, at epsilon 1",
            f"noise as printed {min(printed['1']):.2g}",
            f"{boxes:.2g}",
            boxes < min(held["1"]),
            difference=f"clusters at the best k {min(held['1']):.2g}",
        )
    )
    level = ReferenceLine(trial.constant, "the mean for everybody")
    x = PlotAxis("k, records in a cluster", log=True, ticks=(2, 5, 10, 20, 50, 100, 200, 500, 1000))
    y = PlotAxis(
        "mean error of a value / standard deviation", log=True, limits=(0.08, 6), ticks=(0.1, 0.2, 0.5, 1, 2, 5)
    )
    first = Picture(
        f"Incomes, n = {ROWS:,}, m = {ATTRIBUTES}",
        x,
        y,
        [
            *(Series(f"epsilon {e}", sizes, held[e], i) for i, e in enumerate(EPSILONS)),
            *(Series(f"epsilon {e}", sizes, printed[e], i, dashed=True, named=False) for i, e in enumerate(EPSILONS)),
        ],
        marks=[Mark(rule(e), float(np.interp(rule(e), sizes, held[e])), "√(nm/ε)") for e in EPSILONS],
        levels=[level],
        legend=(("epsilon for the data set", False), ("as printed", True)),
    )
    second = Picture(
        "What holds for the data set, epsilon 1",
        x,
        y,
        [
            Series(plain.words, sizes, held["1"], 0),
            *(Series(way.words, _sizes_of(way, sizes), ways[way], i + 1) for i, way in enumerate(ways)),
        ],
        marks=[Mark(float(k), error, f"k = {k}" if way in LABELLED else "") for way, (k, error) in chosen.items()],
        levels=[level, ReferenceLine(boxes, "boxes")],
        caption="Rings on the right: the k that `k: auto` takes. Ranks of each attribute are a table of their own, never joined.",
    )
    return Reproduction(
        findings,
        [
            "The thesis' clusters of 15 are compared by what epsilon means there, for one centroid; ours by the data set's.",
            f"Generated incomes from 0 to {HIGHEST:,}; averages of {RUNS} runs. Only a laboratory knows which centroid is whose.",
        ],
        [first, second],
    )


def _sizes_of(way: HeldWay, sizes: Sequence[int]) -> list[int]:
    """The sizes that are tried: the optimal noise, drawn for all clusters at once, takes long for many of them."""
    return [k for k in sizes if way.noise != "optimal" or ROWS // k <= MOST_CLUSTERS]
