"""What a tree of boxes costs when it is grown privately, on noisy measurements.

A measurement counts the records of each box, and of each cell of each attribute within its box, with two-sided geometric
noise on the whole numbers. A record stands in one box, and in one cell of each attribute: adding it moves one count by one
and, for each attribute, one cell by one (theorem `surveyed-tree`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from shoal.errors import PreconditionError


@dataclass(frozen=True)
class MeasurementBudget:
    """The epsilons of one noisy measurement: of the boxes' counts, and of each attribute's histogram."""

    count: Fraction
    histogram: Fraction
    attributes: int

    def __post_init__(self) -> None:
        if self.count <= 0 or self.histogram <= 0 or self.attributes < 1:
            raise PreconditionError(
                "surveyed-tree",
                "a measurement without noise has no finite epsilon",
                came=f"{float(self.count):g} for counts, {float(self.histogram):g} for each of {self.attributes} histograms",
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
            "surveyed-tree", "the measurements' shares exceed the whole", came=", ".join(str(float(s)) for s in shares)
        )
    if len(parts) != len(shares) or any(not 0 < part < 1 for part in parts):
        raise PreconditionError(
            "surveyed-tree",
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
