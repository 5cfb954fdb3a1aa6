"""What many mechanisms cost together: basic, advanced, concentrated and privacy-loss-distribution composition; measurements.

Only guarantees that compose may enter: a release from a fresh sample does, a second result from the
same sample does not. The parts are fixed in advance; budgets chosen as one goes along need basic
composition (a valid filter). Everything is rounded up.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from shoal.errors import CompositionError, PreconditionError, UsageError
from shoal.guarantee.base import Guarantee
from shoal.guarantee.differential import ApproxDP, DifferentialPrivacy
from shoal.guarantee.noise import LARGEST_RHO, ConcentratedDP
from shoal.guarantee.rounding import GUARD, Number, decimal, exact, precise, text_near, up, whole
from shoal.guarantee.safe_k.curve import check_delta, check_epsilon

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution as Distribution

GRID = 1e-4
"""Spacing of the grid of privacy losses; the part's own spread divided by 200 where that is smaller, unless it is too wide."""
RELIABLE_DELTA = 1e-11
"""Below it the Fourier transforms behind the composed distribution are not accurate enough to claim from."""
_POINTS = 1 << 22
"""The most points of the grid that one part takes: beyond, the grid is coarser and the bound looser."""
_FINE_POINTS = 1 << 17
"""The most points that one part takes for the sake of a much narrower part beside it, where the grid is finer than `GRID`."""
_TRUNCATED = 1e-15
_SLACK_RELATIVE = 1e-9
_SLACK_ABSOLUTE = 1e-13

Part = Guarantee | tuple[Guarantee, int]


@dataclass(frozen=True)
class Composition:
    """The parts and what they cost together; `epsilon_at` takes the best bound that is proved."""

    parts: tuple[tuple[DifferentialPrivacy, int], ...]

    @property
    def count(self) -> int:
        """How many mechanisms run in all."""
        return sum(n for _, n in self.parts)

    def basic_epsilon(self, delta: Number) -> float:
        """Sum of the epsilons and of the deltas (theorem `basic-composition`); curves share what delta is left equally."""
        return _sum_up(self._share_delta(check_delta(delta)))

    def advanced_epsilon(self, delta: Number) -> float:
        """Kairouz, Oh and Viswanath 2015, Theorem 3.5 (theorem `advanced-composition`): half of delta pays for the tail."""
        d = check_delta(delta)
        if d <= 0:
            return math.inf
        costs = self._share_delta(d / 2)
        if costs is None:
            return math.inf
        with precise():
            spent = [(decimal(e), n) for e, n in costs]
            mean = sum((n * e * (e.exp() - 1) / (e.exp() + 1) for e, n in spent), start=Decimal(0))
            square = sum((n * e**2 for e, n in spent), start=Decimal(0))
            drift = mean + (2 * square * (2 / decimal(d)).ln()).sqrt()
            return min(up(drift * (1 + GUARD)), _sum_up(costs))

    def pld_epsilon(self, delta: Number, direction: str = "both") -> float:
        """The composed privacy-loss distribution's epsilon (theorem `pld-composition`); infinity where it is unreliable."""
        d = float(check_delta(delta))
        if d < RELIABLE_DELTA:
            return math.inf
        target = d / (1 + _SLACK_RELATIVE) - _SLACK_ABSOLUTE * (1 + math.log2(self.count))
        chosen = {"remove": self._totals[:1], "add": self._totals[1:], "both": self._totals}[direction]
        return max(0.0, max(float(total.get_epsilon_for_delta(target)) for total in chosen) * (1 + _SLACK_RELATIVE))

    def concentrated_epsilon(self, delta: Number) -> float:
        """What the sum of all rho is worth at delta (theorem `concentrated-composition`); infinity where it says nothing.

        Parts for which no rho is known are added to it by basic composition, where it holds parts without an epsilon of
        their own.
        """
        return min((one.basic_epsilon(delta) for one in self._concentrated), default=math.inf)

    def epsilon_at(self, delta: Number) -> float:
        """The smallest epsilon we can prove at delta."""
        if self.count == 1:
            return self.parts[0][0].epsilon_at(delta)
        return _smallest_epsilon(self, check_delta(delta))

    def theorems_at(self, delta: Number) -> tuple[str, ...]:
        """The names of the theorems that `epsilon_at` rests on, the first of them the bound; none for one part alone."""
        if self.count == 1:
            return ()
        bounds = {
            "basic-composition": self.basic_epsilon(delta),
            "pld-composition": self.pld_epsilon(delta),
            "concentrated-composition": self.concentrated_epsilon(delta),
            "advanced-composition": self.advanced_epsilon(delta),
        }
        best = min(bounds, key=lambda name: bounds[name])
        beside = best == "concentrated-composition" and any(part.concentration is None for part, _ in self.parts)
        return (best, "basic-composition") if beside else (best,)

    def delta_at(self, epsilon: Number) -> float:
        """The smallest delta we can prove at epsilon."""
        e = check_epsilon(epsilon)
        if self.count == 1:
            return self.parts[0][0].delta_at(e)
        value = max(float(total.get_delta_for_epsilon(float(e))) for total in self._totals)
        slack = _SLACK_ABSOLUTE * (1 + math.log2(self.count))
        return min(
            self.basic_delta(e),
            self.concentrated_delta(e),
            max(value, 0.0) * (1 + _SLACK_RELATIVE) + max(slack, RELIABLE_DELTA),
        )

    def concentrated_delta(self, epsilon: Number) -> float:
        """What the sum of all rho is worth at epsilon, where every part has one; else 1."""
        return min((one.parts[0][0].delta_at(epsilon) for one in self._concentrated if one.count == 1), default=1.0)

    def basic_delta(self, epsilon: Number) -> float:
        """The sum of the parts' own deltas where their own epsilons fit into epsilon; else 1."""
        owned = [(part.own, n) for part, n in self.parts if part.own]
        if len(owned) < len(self.parts) or sum(own[0] * n for own, n in owned) > check_epsilon(epsilon):
            return 1.0
        return min(1.0, up(sum((own[1] * n for own, n in owned), start=Fraction(0))))

    def _share_delta(self, delta: Fraction) -> list[tuple[Fraction, int]] | None:
        """Each part's epsilon; parts with a delta of their own keep it, curves share the rest. None if it is not enough."""
        left = delta - sum((part.own[1] * n for part, n in self.parts if part.own), start=Fraction(0))
        curves = sum(n for part, n in self.parts if not part.own)
        costs = []
        for part, n in self.parts:
            epsilon = part.own[0] if part.own else part.epsilon_at(left / curves) if left > 0 else math.inf
            if left < 0 or math.isinf(epsilon):
                return None
            costs.append((Fraction(epsilon), n))
        return costs

    @property
    def _concentrated(self) -> list[Composition]:
        """The parts with a rho as one, and the others beside it; where there are others, also those with an epsilon.

        None of them where that is no gain, or beyond any meaning.
        """
        known = [(part, n) for part, n in self.parts if part.concentration is not None]
        curves = [(part, n) for part, n in known if part.own is None]
        groups = [known] if len(known) == len(self.parts) else [known, curves] if curves else []
        found = []
        for group in groups:
            rho = sum((n * part.concentration for part, n in group if part.concentration), start=Fraction(0))
            if 0 < rho <= LARGEST_RHO:
                beside = (pair for pair in self.parts if pair not in group)
                found.append(Composition(((ConcentratedDP(rho), 1), *beside)))
        return found

    @property
    def _totals(self) -> tuple[Distribution, Distribution]:
        """The composed distributions of removing and of adding a record."""
        return _distributions(self.parts)


def compose(parts: Iterable[Part]) -> Composition:
    """Put parts together, each a guarantee or a pair (guarantee, how many times).

    Arguments  `parts` are differential guarantees, each alone or with how many times it runs
    Raises     CompositionError for a guarantee that does not compose: syntactic ones, sample privacy, and privacy under
               sampling that has not been turned into plain DP by a fresh sample; UsageError without a part

    >>> from shoal.guarantee.differential import PureDP
    >>> compose([(PureDP("0.1"), 3)]).basic_epsilon(0)
    0.30000000000000004
    """
    pairs: list[tuple[DifferentialPrivacy, int]] = []
    for item in parts:
        part, n = item if isinstance(item, tuple) else (item, 1)
        n = whole(n, "how many times a part runs")
        if not isinstance(part, DifferentialPrivacy):
            raise CompositionError(
                "dps-does-not-compose" if part.kind == "sampled-dp" else "syntactic-does-not-compose",
                "a guarantee that does not compose",
                came=part.kind,
                allowed="differential privacy, each release from its own fresh sample",
                fix="call .on_fresh_sample() if each run draws its own sample and discards it"
                if part.kind == "sampled-dp"
                else "record the release as unbounded",
            )
        pairs.append((part, n))
    if not pairs:
        raise UsageError("nothing to compose", fix="give at least one guarantee")
    return Composition(tuple(_merge(pairs)))


def composed_within(parts: Sequence[tuple[Guarantee, int]], epsilon: Fraction, delta: Fraction) -> bool:
    """Whether parts cost at most (epsilon, delta) together; sums of exact numbers are compared exactly."""
    found = compose(parts)
    own = [(part.own, n) for part, n in found.parts if part.own]
    if len(own) == len(found.parts) and sum(o[0] * n for o, n in own) <= epsilon:
        return sum(o[1] * n for o, n in own) <= delta or _within(found, epsilon, delta)
    return _within(found, epsilon, delta)


def _within(found: Composition, epsilon: Fraction, delta: Fraction) -> bool:
    reached = found.epsilon_at(delta)
    return math.isfinite(reached) and exact(reached) <= epsilon


# A plan, its lock, its release, the certificate and its verification all ask what the same parts cost. A distribution
# can take megabytes, so only the last few are kept.


@functools.lru_cache(maxsize=256)
def _smallest_epsilon(composition: Composition, delta: Fraction) -> float:
    return min(
        composition.basic_epsilon(delta),
        composition.advanced_epsilon(delta),
        composition.concentrated_epsilon(delta),
        composition.pld_epsilon(delta),
    )


@functools.lru_cache(maxsize=16)
def _distributions(parts: tuple[tuple[DifferentialPrivacy, int], ...]) -> tuple[Distribution, Distribution]:
    widest = max(2 * part.reach for part, _ in parts)
    fine = max(1e-7, min(part.spread for part, _ in parts) / 200, widest / _FINE_POINTS)
    grid = max(min(GRID, fine), widest / _POINTS)
    pairs = [_repeated(part, n, grid) for part, n in parts]
    remove, add = (
        functools.reduce(
            lambda first, second: first.compose(second, tail_mass_truncation=_TRUNCATED), [pair[way] for pair in pairs]
        )
        for way in (0, 1)
    )
    return remove, add


@functools.lru_cache(maxsize=8)
def _repeated(part: DifferentialPrivacy, n: int, grid: float) -> tuple[Distribution, Distribution]:
    """One part n times; a search changes one part and asks for the others again."""
    remove, add = part.distributions(grid)
    return (remove, add) if n == 1 else (remove.self_compose(n, _TRUNCATED), add.self_compose(n, _TRUNCATED))


def chosen_with_probability(first: ApproxDP, second: ApproxDP) -> ApproxDP:
    """Running one of two, picked by a coin that ignores the data: the worse of each number (LQS11 Theorem 3)."""
    return ApproxDP(max(first.epsilon, second.epsilon), max(first.delta, second.delta))


def people_at_risk(people: int, delta: Number) -> float:
    """n * delta, which bounds the chance that somebody in a table of n people is exposed (LQS10 section 6)."""
    n = whole(people, "the number of people")
    return min(1.0, up(n * check_delta(delta)))


def _merge(pairs: list[tuple[DifferentialPrivacy, int]]) -> list[tuple[DifferentialPrivacy, int]]:
    counts: dict[DifferentialPrivacy, int] = {}
    for part, n in pairs:
        counts[part] = counts.get(part, 0) + n
    return list(counts.items())


def _sum_up(costs: list[tuple[Fraction, int]] | None) -> float:
    return math.inf if costs is None else up(sum((n * e for e, n in costs), start=Fraction(0)))


# --- noisy measurements ----------------------------------------------------------------------------------------------
# A measurement counts the records of each box of a partition, and of each cell of each attribute within its box, with
# two-sided geometric noise on the whole numbers. A record stands in one box, and in one cell of each attribute: adding it
# moves one count by one and, for each attribute, one cell by one (theorem `measured-tree`).


@dataclass(frozen=True)
class MeasurementBudget:
    """The epsilons of one noisy measurement: of the boxes' counts, and of each attribute's histogram."""

    count: Fraction
    histogram: Fraction
    attributes: int

    def __post_init__(self) -> None:
        if self.count <= 0 or self.histogram <= 0 or self.attributes < 1:
            raise PreconditionError(
                "measured-tree",
                "a measurement without noise has no finite epsilon",
                came=f"{text_near(self.count)} for counts, {text_near(self.histogram)} for each of {self.attributes} histograms",
                allowed="every epsilon above 0",
            )

    @property
    def epsilon(self) -> Fraction:
        """What the measurement costs when one record is added or removed."""
        return self.count + self.attributes * self.histogram


def measurement_budgets(
    epsilon: Fraction, attributes: int, shares: Sequence[Fraction], counts: Fraction | Sequence[Fraction]
) -> tuple[MeasurementBudget, ...]:
    """Divide epsilon between measurements by `shares`, and each between its counts and its histograms.

    `counts` is the part of a measurement that its counts take: one for all, or one for each.
    """
    parts = (counts,) * len(shares) if isinstance(counts, Fraction) else tuple(counts)
    if sum(shares, Fraction(0)) > 1 or any(share <= 0 for share in shares):
        raise PreconditionError(
            "measured-tree", "the measurements' shares exceed the whole", came=", ".join(str(float(s)) for s in shares)
        )
    if len(parts) != len(shares) or any(not 0 < part < 1 for part in parts):
        raise PreconditionError(
            "measured-tree",
            "a measurement's share is divided between its counts and its histograms",
            came=", ".join(str(float(part)) for part in parts),
            allowed="a part above 0 and below 1 for each measurement",
        )
    return tuple(
        MeasurementBudget(epsilon * share * part, epsilon * share * (1 - part) / attributes, attributes)
        for share, part in zip(shares, parts, strict=True)
    )


def epsilon_of_measurements(measurements: Sequence[MeasurementBudget]) -> Fraction:
    """What all measurements cost together, each of a partition that the answers before it may have shaped."""
    return sum((one.epsilon for one in measurements), Fraction(0))
