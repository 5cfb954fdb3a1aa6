"""The setting of noisy centroids: cluster size and noise with which all centroids of a table together keep (epsilon, delta).

Clusters come from total orders that are fixed in advance, so one replaced record changes each cluster by at most one record; but
it can change every cluster. What is noised are the clusters' sums, in whole steps of each attribute's grid (the width of
attribute j is W_j steps, N clusters):

    clusters            what is noised                       how far one replaced record moves it, in attribute j
    several orders      the N sums                           each by W_j: L1 N W_j, L2² N W_j²    `insensitive-centroids`
    a single order      the N + 1 partial sums, up to one    each by W_j/2: L1 W_j ⌊(N+1)/2⌋,
                        constant; a sum is a difference      L2² (N+1) W_j²/4                     `ordered-centroids`
    ranks of one        the N sums                           all together by W_j                  `ranked-centroids`
    attribute

A categorical centroid is one choice of the exponential mechanism for each cluster (`taxonomy-choices`). `per_record` is the
calibration of SC13 chapter 6, which holds for one cluster and is charged for all of them (`per-record-centroids`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from shoal.errors import InfeasibleError, ParameterError, PreconditionError, UsageError
from shoal.guarantee.base import Guarantee
from shoal.guarantee.differential import ApproxDP, PureDP
from shoal.guarantee.noise import LARGEST_RHO, LEAST_SIGMA, ConcentratedDP, ExponentialDP
from shoal.guarantee.rounding import Number, decimal, exact, exact_text, precise, text_near, whole
from shoal.guarantee.safe_k.curve import check_delta, check_epsilon
from shoal.guarantee.unit import Unit

CentroidGrouping = Literal["insensitive", "ranking"]
CentroidNoise = Literal["laplace", "optimal", "gaussian"]
CentroidCalibration = Literal["whole", "per_record"]
CentroidKind = Literal["numeric", "categorical"]
GROUPINGS: tuple[CentroidGrouping, ...] = get_args(CentroidGrouping)
NOISES: tuple[CentroidNoise, ...] = get_args(CentroidNoise)
CALIBRATIONS: tuple[CentroidCalibration, ...] = get_args(CentroidCalibration)

MOST_CORNERS = 64
"""The most reference points that take turns."""
MOST_NODES = 1024
"""The most numbers that one draw of the optimal noise has."""
LARGEST_EPSILON = Fraction(700)
"""Beyond it an epsilon says nothing, and none is stated."""
DIGITS = 6
"""Significant digits of a sigma, rounded up, and of the epsilon of a choice, rounded down."""
LARGEST_SCALE = 1 << 50
"""Noise wider than this many steps cannot be drawn."""
CONFIDENCE = 0.95
"""Of half-widths."""

Parts = tuple[tuple[Guarantee, int], ...]
Floats = npt.NDArray[np.float64]


# --- what is averaged -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CentroidAttribute:
    """One attribute of the records, as far as its noise depends on it; everything is declared, nothing read from rows."""

    name: str
    kind: CentroidKind
    """`numeric` (numbers, dates, times, ordered values): cluster means with noise; `categorical`: a concept drawn for each."""
    steps: int = 0
    """Numeric: the width of the declared domain in whole steps of its grid, from 1 up; 0 for a categorical attribute."""
    spread: int = 0
    """Categorical: how far one replaced value moves the difference of two concepts' scores, in whole steps of distance."""
    concepts: int = 0
    """Categorical: how many concepts may be drawn, from 2 up; 0 for a numeric attribute."""
    weight: Fraction = Fraction(1)
    """How much its error counts against that of the other attributes."""

    def __post_init__(self) -> None:
        if self.kind == "numeric":
            whole(self.steps, f"attribute '{self.name}': the width of its domain in steps")
        else:
            whole(self.spread, f"attribute '{self.name}': the spread of its scores")
            whole(self.concepts, f"attribute '{self.name}': the number of its concepts", 2)
        check_weight(self.name, self.weight)


LARGEST_WEIGHT = Fraction(10**100)
"""Weights are compared in floats, which hold this one and its inverse with room to spare."""


def check_weight(name: str, weight: Fraction) -> None:
    """Refuse a weight that is not above 0, or beyond what floats hold: ParameterError."""
    if not 1 / LARGEST_WEIGHT <= weight <= LARGEST_WEIGHT:
        raise ParameterError(
            f"attribute '{name}': its weight is out of range",
            came=text_near(weight),
            allowed="above 0; from 1e-100 to 1e100",
        )


@dataclass(frozen=True)
class CentroidEntry:
    """The noise of one attribute's centroids."""

    attribute: CentroidAttribute
    epsilon: Fraction | None
    """Pure noise: the epsilon that all centroids of this attribute cost together; None where parts are composed by rho."""
    rho: Fraction | None
    """Gaussian noise: the rho that all centroids of this attribute cost together at most; None where noise is pure."""
    scale: Fraction | None
    """Laplace noise: the scale of each number that is drawn, in steps."""
    side: int | None
    """Optimal noise: the half-side of the box that holds every change, in steps; the same for each number."""
    sigma: Fraction | None
    """Gaussian noise: the parameter sigma of each number that is drawn, in steps."""
    choice_epsilon: Fraction | None
    """Categorical: the epsilon of the exponential mechanism for each cluster."""

    @property
    def name(self) -> str:
        """The attribute's name."""
        return self.attribute.name

    @property
    def inner(self) -> int | None:
        """Optimal noise: the half-side of the inner box, about half of `side`, in steps."""
        return None if self.side is None else self.side // 2


# --- the setting ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CentroidSetting:
    """Cluster size and noise of a release of centroids, and what it costs; it follows from the policy alone.

    >>> pay = CentroidAttribute("pay", "numeric", steps=1000)
    >>> setting = solve_centroids(1, rows=1000, attributes=[pay], unit=Unit.row("replace_one"), grouping="ranking")
    >>> setting.k, setting.clusters, setting.entries[0].scale
    (40, 25, Fraction(1000, 1))
    """

    unit: Unit
    """Whose record may be replaced; always `replace_one`, one row of each."""
    rows: int
    """The public number of records."""
    k: int
    """The size of every cluster but the last, which has k to 2k − 1."""
    grouping: CentroidGrouping
    corners: int
    """Insensitive clusters: how many reference points take turns; 1 is a single order. Ranks: 1."""
    noise: CentroidNoise
    calibration: CentroidCalibration
    epsilon: Fraction
    """What was asked for: of the whole data set, or for `per_record` of one cluster and one attribute."""
    delta: Fraction
    """What was asked for; pure noise leaves it unused."""
    entries: tuple[CentroidEntry, ...]
    """The noise of each attribute, in the order of the schema."""
    k_found: bool = False
    """Whether k was found by the rule (`k: auto`)."""
    noise_found: bool = False
    """Whether the kind of noise was found by the rule (`noise: auto`)."""

    def __post_init__(self) -> None:
        theorem = self.cluster_theorem
        if self.unit.neighbours != "replace_one" or self.unit.max_rows != 1:
            raise PreconditionError(
                theorem,
                "clusters of fixed size are about one record replaced by another",
                came=self.unit.words(),
                allowed="neighbours: replace_one, one row of each unit",
            )
        _check_size(self.k, self.rows)
        names = [entry.name for entry in self.entries]
        if not names or len(set(names)) != len(names):
            raise UsageError(
                "centroids of no attribute, or of one twice", came=", ".join(names) or "none", fix="name each once"
            )
        if self.grouping == "ranking" and any(entry.attribute.kind == "categorical" for entry in self.entries):
            raise PreconditionError(theorem, "categories have no ranks", fix="take grouping: insensitive")
        for entry in self.entries:
            self._check_noise(entry)
        if self.calibration == "whole" and not self._within():
            raise PreconditionError(
                theorem,
                "the noise costs more than the promise",
                came=f"epsilon = {text_near(self.epsilon)}, delta = {text_near(self.delta)}",
                fix="make settings with `solve_centroids`",
            )

    def _check_noise(self, entry: CentroidEntry) -> None:
        """Refuse noise that is smaller than what one replaced record can do asks for."""
        attribute = entry.attribute
        if attribute.kind == "categorical":
            spent = None if entry.choice_epsilon is None else entry.choice_epsilon * self.clusters
            enough = spent is not None and (entry.epsilon is None or spent <= entry.epsilon)
            if entry.rho is not None and entry.choice_epsilon is not None:
                enough = enough and entry.choice_epsilon**2 * self.clusters <= 8 * entry.rho
        elif entry.scale is not None and entry.epsilon is not None:
            l1 = l1_change(attribute, self.clusters, self.grouping, self.ordered)
            enough = entry.scale * entry.epsilon >= l1
        elif entry.sigma is not None and entry.rho is not None:
            square = l2_square(attribute, self.clusters, self.grouping, self.ordered)
            enough = 2 * entry.sigma**2 * entry.rho >= square and entry.sigma >= LEAST_SIGMA
        else:
            box = self.grouping == "insensitive" and self.calibration == "whole"
            enough = box and entry.side is not None and entry.side >= linf_change(attribute, self.ordered)
            enough = enough and entry.epsilon is not None and self.nodes <= MOST_NODES
        if not enough:
            raise PreconditionError(
                self.cluster_theorem,
                f"attribute '{entry.name}': the noise is smaller than what one record can change asks for",
                fix="make settings with `solve_centroids`",
            )

    def _within(self) -> bool:
        """Whether all attributes together cost at most what was asked for: sums of epsilons, or of rhos converted once."""
        if not self.is_concentrated:
            return self.cost <= self.epsilon
        rho = sum((entry.rho for entry in self.entries if entry.rho is not None), Fraction(0))
        known = all(entry.rho is not None for entry in self.entries)
        return known and exact(ConcentratedDP(rho).epsilon_at(self.delta)) <= self.epsilon

    @property
    def clusters(self) -> int:
        """N: how many clusters there are."""
        return self.rows // self.k

    @property
    def last_size(self) -> int:
        """The size of the last cluster: k and what is left over."""
        return self.k + self.rows % self.k

    @property
    def single_order(self) -> bool:
        """Whether clusters are runs of k in one order that each record's values decide: of each attribute, or of all together."""
        return self.grouping == "ranking" or self.corners == 1

    @property
    def ordered(self) -> bool:
        """Whether noise is on the partial sums along a single order, so that each sum has the difference of two draws."""
        return is_ordered(self.grouping, self.corners, self.calibration)

    @property
    def nodes(self) -> int:
        """How many numbers are drawn for each numeric attribute: N, or N + 1 partial sums along a single order."""
        return self.clusters + self.ordered

    @property
    def parts(self) -> Parts:
        """What everything costs together, for the ledger and for composition."""
        found: dict[Guarantee, int] = {}
        rho = Fraction(0)
        for entry in self.entries:
            if entry.choice_epsilon is not None:
                choice = ExponentialDP(entry.choice_epsilon)
                found[choice] = found.get(choice, 0) + self.clusters
            elif entry.rho is not None:
                rho += entry.rho
            elif entry.epsilon is not None:
                times = self.clusters if self.calibration == "per_record" and self.grouping == "insensitive" else 1
                pure = PureDP(entry.epsilon / times)
                found[pure] = found.get(pure, 0) + times
        return (*([(ConcentratedDP(rho), 1)] if rho else []), *found.items())

    @property
    def cost(self) -> Fraction:
        """The pure epsilon of the data set, exactly; for `per_record` it is what that really gives.

        Raises     PreconditionError for Gaussian noise, which has none.
        """
        if self.is_concentrated:
            raise PreconditionError("gaussian", "Gaussian noise has no pure epsilon", fix="ask for `parts`")
        return sum((entry.epsilon for entry in self.entries if entry.epsilon is not None), Fraction(0))

    @property
    def claimed(self) -> PureDP | ApproxDP:
        """What is promised for the whole data set: as asked for, pure where noise is; for `per_record` what that costs.

        Raises     PreconditionError where `per_record` costs more than any epsilon that is stated.
        """
        if self.calibration == "per_record":
            if self.cost > LARGEST_EPSILON:
                raise PreconditionError(
                    "per-record-centroids",
                    "noise for one cluster protects all of them together so little that nothing is claimed",
                    came=f"epsilon = {text_near(self.cost)} for the data set",
                    allowed=f"at most {LARGEST_EPSILON}",
                    fix="take calibration: whole, or a larger k or a smaller epsilon",
                )
            return PureDP(self.cost)
        return ApproxDP(self.epsilon, self.delta) if self.is_concentrated else PureDP(self.epsilon)

    @property
    def cluster_theorem(self) -> str:
        """The theorem that bounds how far one record moves the sums."""
        if self.calibration == "per_record":
            return "per-record-centroids"
        if self.grouping == "ranking":
            return "ranked-centroids"
        return "ordered-centroids" if self.corners == 1 else "insensitive-centroids"

    @property
    def theorems(self) -> tuple[str, ...]:
        """The theorems that the claim rests on, without those by which parts are composed."""
        kinds = {entry.attribute.kind for entry in self.entries}
        numeric = {"laplace": "laplace-grid", "optimal": "staircase-box", "gaussian": "gaussian"}[self.noise]
        found = [self.cluster_theorem]
        if "numeric" in kinds:
            found.append(numeric)
        if "categorical" in kinds:
            found += ["taxonomy-choices", "bounded-range" if self.is_concentrated else "exponential-mechanism"]
        return tuple(found)

    @property
    def is_concentrated(self) -> bool:
        """Whether parts are composed by their rho, with a delta above 0; else epsilons are added."""
        return self.noise == "gaussian"

    def entry(self, name: str) -> CentroidEntry:
        """The noise of one attribute; UsageError for a name that is not there."""
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise UsageError("no such attribute", came=name, allowed=", ".join(entry.name for entry in self.entries))

    # --- how large the error is -------------------------------------------------------------------------------------------

    def sum_error(self, name: str) -> float:
        """The mean absolute noise of one cluster's sum of a numeric attribute, in steps."""
        entry = self.entry(name)
        return _noise_model(entry, self.noise, self.nodes, self.ordered).mean

    def noise_error(self, name: str) -> float:
        """The mean absolute noise of a record's centroid, as a share of the width of the domain, before values are clamped.

        Of a categorical attribute: a bound on how much farther the drawn concept is from a cluster's records than the nearest
        concept, on average, as a share of half the spread of its scores.
        """
        return _noise_share(self.entry(name), self.noise, self.nodes, self.ordered, self.clusters, self.rows)

    def half_width(self, name: str) -> float:
        """How far noise moves the centroid of a cluster of k records with a probability of 95 % at most, as a share of the width.

        What is drawn lies on the grid, so a sum has a step more than the continuous noise has, and a difference of two has two:
        then it holds on the coarsest grid too.
        """
        entry = self.entry(name)
        if entry.attribute.kind == "categorical":
            raise UsageError(f"attribute '{name}' is categorical, and its centroids have no interval")
        model = _noise_model(entry, self.noise, self.nodes, self.ordered)
        return (model.half_width + 1 + self.ordered) / (self.k * entry.attribute.steps)

    @property
    def grouping_error(self) -> float:
        """A bound on the mean distance of a record from the middle of its cluster, along the order that made the cluster.

        As a share of the order's whole length: the width of the domain for ranks, the diagonal of the declared box for
        distances from a corner. It holds for every table (`error_bound`).
        """
        return _grouping_share(self.rows, self.k, self.corners)

    @property
    def error_bound(self) -> float:
        """What `k: auto` minimizes: `grouping_error` plus the weighted mean of `noise_error`, each at most 1."""
        return _error_bound(self.entries, self.rows, self.k, self.corners, self.noise, self.ordered)

    @property
    def drowned(self) -> tuple[str, ...]:
        """The numeric attributes whose half-width is as large as half of their domain: their centroids say next to nothing."""
        numeric = (entry.name for entry in self.entries if entry.attribute.kind == "numeric")
        return tuple(name for name in numeric if self.half_width(name) >= 0.5)

    def to_saved(self) -> dict[str, Any]:
        """The setting as plain values with exact text for numbers."""

        def text(value: Fraction | None) -> str | None:
            return None if value is None else exact_text(value)

        return {
            "rows": self.rows,
            "k": self.k,
            "clusters": self.clusters,
            "grouping": self.grouping,
            "corners": self.corners,
            "noise": self.noise,
            "calibration": self.calibration,
            "epsilon": exact_text(self.epsilon),
            "delta": exact_text(self.delta),
            "attributes": [
                {
                    "name": entry.name,
                    "kind": entry.attribute.kind,
                    "steps": entry.attribute.steps,
                    "spread": entry.attribute.spread,
                    "concepts": entry.attribute.concepts,
                    "weight": exact_text(entry.attribute.weight),
                    "epsilon": text(entry.epsilon),
                    "rho": text(entry.rho),
                    "scale": text(entry.scale),
                    "side": entry.side,
                    "sigma": text(entry.sigma),
                    "choice_epsilon": text(entry.choice_epsilon),
                }
                for entry in self.entries
            ],
        }


def is_ordered(grouping: str, corners: int, calibration: str) -> bool:
    """Whether noise is on partial sums: clusters along a single order of whole records, for the whole data set."""
    return grouping == "insensitive" and corners == 1 and calibration == "whole"


# --- solving --------------------------------------------------------------------------------------------------------------


def solve_centroids(
    epsilon: Number,
    delta: Number = 0,
    *,
    rows: int,
    attributes: Sequence[CentroidAttribute],
    unit: Unit,
    k: int | None = None,
    grouping: CentroidGrouping = "insensitive",
    corners: int | None = None,
    noise: CentroidNoise | None = None,
    calibration: CentroidCalibration = "whole",
) -> CentroidSetting:
    """The least noise with which the centroids of all clusters together keep (epsilon, delta), and the k of the least bound.

    Arguments  `epsilon` and `delta` of the whole data set (`per_record`: of one cluster and one attribute); `rows`, the public
               number of records; `attributes`, in the order of the schema; `unit`, whose record is replaced; `k`, None for the
               one that minimizes `error_bound`; `corners`, None for a single order (`per_record`: all corners of the domain,
               at most 64, as in the thesis); `noise`, None for the kind with the least bound
    Raises     UsageError and ParameterError for what makes no sense; InfeasibleError for fewer than 2k records;
               PreconditionError where a theorem's premise fails, such as Gaussian noise with delta 0

    The split between attributes is by weight alone: pure noise gets a share of epsilon proportional to the cube root of the
    weight, Gaussian noise a share of rho proportional to its square root, which minimizes the weighted sum of the variances,
    each as a share of its domain's width.
    """
    e, d = check_epsilon(epsilon), check_delta(delta)
    rows = whole(rows, "the number of rows")
    if e == 0:
        raise ParameterError("epsilon is not positive", came="0", allowed="epsilon > 0")
    for value, allowed, what in (
        (grouping, GROUPINGS, "grouping"),
        (noise or "laplace", NOISES, "kind of noise"),
        (calibration, CALIBRATIONS, "calibration"),
    ):
        if value not in allowed:
            raise UsageError(f"unknown {what}", came=value, allowed=", ".join(allowed))
    if not attributes:
        raise UsageError("centroids of no attribute", fix="publish at least one attribute")
    turns = _corners(grouping, corners, len(attributes), calibration)
    kinds = _noises(noise, grouping, calibration, d)
    best: tuple[float, int, CentroidNoise] | None = None
    for kind in kinds:
        size = _best_size(e, d, rows, tuple(attributes), grouping, turns, kind, calibration) if k is None else k
        _check_size(size, rows)
        numeric = any(each.kind == "numeric" for each in attributes)
        if kind == "optimal" and numeric and nodes_of(rows, size, grouping, turns, calibration) > MOST_NODES:
            if noise is not None:
                raise InfeasibleError(
                    "the optimal noise is drawn for all clusters at once, and there are too many",
                    came=f"{rows // size:,} clusters",
                    allowed=f"at most {MOST_NODES:,}",
                    fix="choose a larger k, or noise: laplace",
                )
            continue
        entries = _entries(e, d, rows, size, tuple(attributes), grouping, turns, kind, calibration)
        bound = _error_bound(entries, rows, size, turns, kind, is_ordered(grouping, turns, calibration))
        if best is None or bound < best[0]:
            best = bound, size, kind
    if best is None:  # the optimal noise is left out where there are too many clusters, and never alone
        raise InfeasibleError("no kind of noise fits", came=f"{rows:,} rows", fix="choose a larger k")
    _, size, kind = best
    return CentroidSetting(
        unit, rows, size, grouping, turns, kind, calibration, e, d,
        _entries(e, d, rows, size, tuple(attributes), grouping, turns, kind, calibration),
        k is None, noise is None,
    )  # fmt: skip


def nodes_of(rows: int, k: int, grouping: str, corners: int, calibration: str) -> int:
    """How many numbers are drawn for one numeric attribute."""
    return rows // k + is_ordered(grouping, corners, calibration)


def _check_size(k: int, rows: int) -> None:
    whole(k, "k")
    if rows < 2 * k:
        raise InfeasibleError(
            "too few records: they would all stand in one cluster",
            came=f"{rows:,} records and k = {k:,}",
            allowed="at least 2k records",
            fix="choose a smaller k" if rows >= 2 else "bring more records",
        )


def _corners(grouping: CentroidGrouping, corners: int | None, attributes: int, calibration: CentroidCalibration) -> int:
    """How many corners take turns: where none is asked for one, which has the least noise, or all, as in the thesis."""
    every = min(MOST_CORNERS, 1 << min(attributes, 30))
    if grouping == "ranking":
        if corners not in (None, 1):
            raise UsageError("ranks have no reference points", came=f"corners: {corners}", fix="leave corners out")
        return 1
    if corners is None:
        return every if calibration == "per_record" else 1
    if whole(corners, "the number of corners") > every:
        raise ParameterError(
            "the number of corners is wrong", came=corners, allowed=f"1 to {every} for {attributes} attributes"
        )
    return corners


def _noises(
    noise: CentroidNoise | None, grouping: CentroidGrouping, calibration: CentroidCalibration, delta: Fraction
) -> tuple[CentroidNoise, ...]:
    """The kinds of noise that may be taken; refused where the one that was asked for may not."""
    if noise == "gaussian" and delta == 0:
        raise PreconditionError(
            "gaussian",
            "Gaussian noise satisfies no pure epsilon",
            came="delta = 0",
            allowed="0 < delta < 1",
            fix="give delta, or take noise: laplace or optimal",
        )
    if noise == "optimal" and grouping == "ranking":
        raise PreconditionError(
            "ranked-centroids",
            "ranks bound the sum of all changes, and the optimal noise is for changes that fill a box",
            came="noise: optimal",
            allowed="laplace or gaussian",
            fix="take noise: laplace, whose noise is that of the norm L1",
        )
    if calibration == "per_record" and noise not in (None, "laplace"):
        raise UsageError("the thesis' calibration has Laplace noise", came=f"noise: {noise}", allowed="laplace")
    if noise is not None:
        return (noise,)
    if calibration == "per_record":
        return ("laplace",)
    pure: tuple[CentroidNoise, ...] = ("laplace",) if grouping == "ranking" else ("optimal", "laplace")
    return (*pure, "gaussian") if delta > 0 else pure


def _entries(
    epsilon: Fraction,
    delta: Fraction,
    rows: int,
    k: int,
    attributes: tuple[CentroidAttribute, ...],
    grouping: CentroidGrouping,
    corners: int,
    noise: CentroidNoise,
    calibration: CentroidCalibration,
) -> tuple[CentroidEntry, ...]:
    """The noise of every attribute at one k."""
    clusters, ordered = rows // k, is_ordered(grouping, corners, calibration)
    if noise == "gaussian":
        rho = largest_rho(epsilon, delta)
        shares = _shares(attributes, 2)
        return tuple(
            _gaussian_entry(each, rho * share, clusters, grouping, ordered)
            for each, share in zip(attributes, shares, strict=True)
        )
    if calibration == "per_record":
        return tuple(_per_record_entry(each, epsilon, clusters, grouping) for each in attributes)
    shares = _shares(attributes, 3)
    return tuple(
        _pure_entry(each, epsilon * share, clusters, grouping, ordered, noise)
        for each, share in zip(attributes, shares, strict=True)
    )


def _shares(attributes: Sequence[CentroidAttribute], root: int) -> list[Fraction]:
    """The attributes' shares: proportional to a root of their weights, short decimals that add up to at most one."""
    if len({each.weight for each in attributes}) == 1:
        return [Fraction(1, len(attributes))] * len(attributes)
    with precise():
        roots = [decimal(each.weight) ** (decimal(Fraction(1, root))) for each in attributes]
        total = sum(roots)
        return [Fraction(Context(prec=DIGITS, rounding=ROUND_FLOOR).plus(each / total)) for each in roots]


def l1_change(attribute: CentroidAttribute, clusters: int, grouping: str, ordered: bool) -> int:
    """The most that one replaced record moves all noised numbers of an attribute together: the L1 norm, in steps."""
    if grouping == "ranking":
        return attribute.steps
    return attribute.steps * ((clusters + 1) // 2 if ordered else clusters)


def l2_square(attribute: CentroidAttribute, clusters: int, grouping: str, ordered: bool) -> Fraction:
    """The most that one replaced record moves them in the sum of squares: the square of the L2 norm."""
    width = attribute.steps
    if grouping == "ranking":
        return Fraction(width**2)
    if not ordered:
        return Fraction(clusters * width**2)
    low, high = width // 2, -(-width // 2)
    return (clusters + 1) * Fraction(low**2 + high**2, 2)


def linf_change(attribute: CentroidAttribute, ordered: bool) -> int:
    """The most that one replaced record moves each of them: the half-side of the box, in steps."""
    return -(-attribute.steps // 2) if ordered else attribute.steps


def _pure_entry(
    attribute: CentroidAttribute,
    epsilon: Fraction,
    clusters: int,
    grouping: CentroidGrouping,
    ordered: bool,
    noise: CentroidNoise,
) -> CentroidEntry:
    if attribute.kind == "categorical":
        return CentroidEntry(attribute, epsilon, None, None, None, None, epsilon / clusters)
    if noise == "optimal":
        side = linf_change(attribute, ordered)
        _refuse_wide(attribute, 2 * side * (clusters + ordered) / epsilon)  # such noise is drawn to half of that width
        return CentroidEntry(attribute, epsilon, None, None, side, None, None)
    scale = l1_change(attribute, clusters, grouping, ordered) / epsilon
    _refuse_wide(attribute, scale)
    return CentroidEntry(attribute, epsilon, None, scale, None, None, None)


def _gaussian_entry(
    attribute: CentroidAttribute, rho: Fraction, clusters: int, grouping: CentroidGrouping, ordered: bool
) -> CentroidEntry:
    with precise():
        if attribute.kind == "categorical":
            most = (8 * decimal(rho) / clusters).sqrt()
            each = min(LARGEST_EPSILON, Fraction(Context(prec=DIGITS, rounding=ROUND_FLOOR).plus(most)))
            return CentroidEntry(attribute, None, rho, None, None, None, each)
        square = l2_square(attribute, clusters, grouping, ordered)
        least = decimal(square / (2 * rho)).sqrt()
        sigma = Fraction(Context(prec=DIGITS, rounding=ROUND_CEILING).plus(least))
    _refuse_wide(attribute, sigma)
    return CentroidEntry(attribute, None, rho, None, None, max(LEAST_SIGMA, sigma), None)


def _per_record_entry(
    attribute: CentroidAttribute, epsilon: Fraction, clusters: int, grouping: CentroidGrouping
) -> CentroidEntry:
    """SC13 §6.3: noise for one cluster's change, epsilon for each attribute; all clusters together cost N times as much."""
    if attribute.kind == "categorical":
        return CentroidEntry(attribute, epsilon * clusters, None, None, None, None, epsilon)
    times = 1 if grouping == "ranking" else clusters
    scale = attribute.steps / epsilon
    _refuse_wide(attribute, scale)
    return CentroidEntry(attribute, epsilon * times, None, scale, None, None, None)


def _refuse_wide(attribute: CentroidAttribute, scale: Fraction) -> None:
    if scale > LARGEST_SCALE:
        raise InfeasibleError(
            f"attribute '{attribute.name}': the noise is too wide to be drawn",
            came=f"a scale of {text_near(scale, 3)} steps",
            allowed="at most 2^50",
            fix="raise epsilon, choose a larger k, or declare a narrower domain",
        )


@lru_cache(maxsize=64)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest short rho of zero-concentrated privacy that keeps (epsilon, delta)."""

    def keeps(rho: Fraction) -> bool:
        return exact(ConcentratedDP(rho).epsilon_at(delta)) <= epsilon

    low, high = Fraction(0), Fraction(LARGEST_RHO)
    guess = min(high, epsilon)
    for _ in range(60):
        low, high = (guess, high) if keeps(guess) else (low, guess)
        if low and high - low < low / 10**7:
            break
        guess = (low + high) / 2 if low else high / 4
    short = Fraction(Context(prec=DIGITS, rounding=ROUND_FLOOR).plus(decimal(low)))
    if not short:
        raise InfeasibleError(
            "no Gaussian noise keeps the promise",
            came=f"epsilon = {text_near(epsilon)}, delta = {text_near(delta)}",
            fix="raise epsilon or delta",
        )
    return short


# --- the error, and the k that is best for it ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _NoiseModel:
    """The noise of one cluster's sum: a bound on its mean absolute value, and its half-width at 95 %, in steps.

    The half-width is that of the continuous distribution, which noise of many steps comes close to.
    """

    mean: float
    half_width: float


def _mean(noise: CentroidNoise, ordered: bool) -> float:
    """The mean absolute value of one number, or of the difference of two, in units of scale, half-side or sigma."""
    return {
        "laplace": 1.5 if ordered else 1.0,
        "optimal": 2 / 3 if ordered else 1 / 2,
        "gaussian": math.sqrt(2 / math.pi) * (math.sqrt(2) if ordered else 1.0),
    }[noise]


_HALF_LAPLACE = math.log(20)
"""t with e^-t = 0.05."""
_HALF_LAPLACE_DIFFERENCE = 4.1129553
"""t with (1 + t/2) e^-t = 0.05: two independent Laplace numbers, one less the other."""
_HALF_NORMAL = 1.9599640


def _noise_model(entry: CentroidEntry, noise: CentroidNoise, nodes: int, ordered: bool) -> _NoiseModel:
    if entry.attribute.kind == "categorical":
        raise UsageError(f"attribute '{entry.name}' is categorical, and its centroids have no sums")
    if entry.scale is not None:
        scale = float(entry.scale)
        half = _HALF_LAPLACE_DIFFERENCE if ordered else _HALF_LAPLACE
        return _NoiseModel(scale * _mean(noise, ordered), scale * half)
    if entry.sigma is not None:
        sigma = float(entry.sigma)
        return _NoiseModel(sigma * _mean(noise, ordered), sigma * _HALF_NORMAL * (math.sqrt(2) if ordered else 1.0))
    if entry.side is None or entry.epsilon is None:
        raise UsageError(f"attribute '{entry.name}' has no noise", fix="make settings with `solve_centroids`")
    spend = float(entry.epsilon)
    return _NoiseModel(
        _box_noise(entry.side, nodes, spend, ordered), entry.side * _box_half_width(nodes, spend, ordered)
    )


FINE_BOXES = 200
"""From a mean of so many sides on, the half-side of the drawn box is taken as a gamma number."""


@lru_cache(maxsize=256)
def _boxes(nodes: int, epsilon: float) -> tuple[Floats, Floats]:
    """Half-sides of the boxes in which optimal noise is uniform, in units of `side`, and their probabilities.

    Box i has the half-side i + 1/2 and a probability proportional to e^(−i epsilon) (i + 1/2)^nodes (`staircase-box`).
    """
    from scipy.special import gammaincinv

    mean = (nodes + 1) / epsilon
    if mean > FINE_BOXES:
        return gammaincinv(nodes + 1.0, (np.arange(2000) + 0.5) / 2000) / epsilon, np.full(2000, 1 / 2000)
    last = math.ceil(mean + 40 * (math.sqrt(nodes + 1) + 40) / epsilon)
    sides = np.arange(last + 2, dtype=np.float64) + 0.5
    logs = nodes * np.log(sides) - epsilon * sides
    chances = np.exp(logs - logs.max())
    return sides, chances / chances.sum()


def _box_mean(nodes: int, epsilon: float) -> float:
    """The mean half-side of the drawn box, in units of `side`."""
    if (nodes + 1) / epsilon > FINE_BOXES:
        return (nodes + 1) / epsilon
    sides, chances = _boxes(nodes, epsilon)
    return float(sides @ chances)


def _box_noise(side: int, nodes: int, epsilon: float, ordered: bool) -> float:
    """A bound on the mean absolute value of one number of a box on whole steps, h/2 + 1/4, or of a difference, 2h/3 + 1/3."""
    return side * _box_mean(nodes, epsilon) * _mean("optimal", ordered) + (1 / 3 if ordered else 1 / 4)


@lru_cache(maxsize=256)
def _box_half_width(nodes: int, epsilon: float, ordered: bool) -> float:
    """t with a probability of 95 % below it, in units of `side`.

    In a box of half-side R one number is beyond t with probability (1 − t/R)+, the difference of two with probability
    ((1 − t/(2R))+)².
    """
    sides, chances = _boxes(nodes, epsilon)

    def beyond(t: float) -> float:
        outside = np.maximum(0.0, 1 - t / (2 * sides)) ** 2 if ordered else np.maximum(0.0, 1 - t / sides)
        return float(outside @ chances)

    low, high = 0.0, 2.0 * float(sides[-1])
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(middle) > 1 - CONFIDENCE else (low, middle)
    return high


def _noise_share(
    entry: CentroidEntry, noise: CentroidNoise, nodes: int, ordered: bool, clusters: int, rows: int
) -> float:
    """Every cluster's centroid stands for as many records as its sum is divided by: the mean over records is N/n E|noise|."""
    if entry.attribute.kind == "categorical":
        if entry.choice_epsilon is None:
            raise UsageError(f"attribute '{entry.name}' has no choice", fix="make settings with `solve_centroids`")
        return _choice_share(entry.attribute.concepts, float(entry.choice_epsilon), clusters, rows)
    return _noise_model(entry, noise, nodes, ordered).mean * clusters / (rows * entry.attribute.steps)


def _choice_share(concepts: int, epsilon: float, clusters: int, rows: int) -> float:
    """The drawn concept scores at most spread/epsilon ln(concepts) below the best one on average (`taxonomy-choices`)."""
    return 2 * math.log(concepts) / epsilon * clusters / rows


def _grouping_share(rows: int, k: int, corners: int) -> float:
    """Along one order a record lies in its cluster's stretch of it, on average at most half the stretch from its middle.

    Stretches of one order do not overlap, so they add up to its length at most, and a cluster has at most `last` records:
    the mean over records is at most last/(2n). With several orders each has its own length, and the last cluster may stretch
    over the whole of one.
    """
    last = k + rows % k
    return min(0.5, last / (2 * rows) if corners == 1 else (corners * k + last) / (2 * rows))


def _error_bound(
    entries: Sequence[CentroidEntry], rows: int, k: int, corners: int, noise: CentroidNoise, ordered: bool
) -> float:
    clusters = rows // k
    nodes = clusters + ordered
    total = sum(float(entry.attribute.weight) for entry in entries)
    parts = (
        float(entry.attribute.weight) * min(1.0, _noise_share(entry, noise, nodes, ordered, clusters, rows))
        for entry in entries
    )
    return _grouping_share(rows, k, corners) + sum(parts) / total


MOST_TRIED = 3000
"""Cluster sizes and numbers of clusters that are tried: all up to here."""


def _best_size(
    epsilon: Fraction,
    delta: Fraction,
    rows: int,
    attributes: tuple[CentroidAttribute, ...],
    grouping: CentroidGrouping,
    corners: int,
    noise: CentroidNoise,
    calibration: CentroidCalibration,
) -> int:
    """The k of the least `error_bound`, the smallest of them; every k up to 3,000, and every number of clusters up to that."""
    if rows < 4:
        raise InfeasibleError("too few records for two clusters of two", came=f"{rows} records", allowed="4 or more")
    ordered = is_ordered(grouping, corners, calibration)
    most = min(MOST_TRIED, rows // 2)
    sizes = {*range(2, most + 1), *(rows // clusters for clusters in range(2, most + 1))}
    if noise == "optimal" and any(each.kind == "numeric" for each in attributes):
        sizes = {k for k in sizes if rows // k + ordered <= MOST_NODES}
    total = sum(float(each.weight) for each in attributes)
    if calibration == "per_record":
        spends = [float(epsilon)] * len(attributes)
    else:
        whole_budget = largest_rho(epsilon, delta) if noise == "gaussian" else epsilon
        spends = [float(whole_budget * share) for share in _shares(attributes, 2 if noise == "gaussian" else 3)]

    def bound(k: int) -> float:
        clusters = rows // k
        noisy = 0.0
        for each, spend in zip(attributes, spends, strict=True):
            if each.kind == "categorical":
                choice = math.sqrt(8 * spend / clusters) if noise == "gaussian" else spend / clusters
                if calibration == "per_record":
                    choice = spend
                share = _choice_share(each.concepts, choice, clusters, rows)
            else:
                if noise == "gaussian":
                    mean = math.sqrt(float(l2_square(each, clusters, grouping, ordered)) / (2 * spend)) * _mean(
                        noise, ordered
                    )
                elif noise == "optimal":
                    mean = _box_noise(linf_change(each, ordered), clusters + ordered, spend, ordered)
                elif calibration == "per_record":
                    mean = each.steps / spend
                else:
                    mean = l1_change(each, clusters, grouping, ordered) / spend * _mean(noise, ordered)
                share = mean * clusters / (rows * each.steps)
            noisy += float(each.weight) * min(1.0, share)
        return _grouping_share(rows, k, corners) + noisy / total

    return int(min(sorted(sizes), key=bound))
