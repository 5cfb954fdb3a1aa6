"""What a tree grown on surveys costs: noisy counts of boxes that do not overlap, one survey after another.

A survey counts the records of each box, and of each cell of each attribute within its box, with two-sided geometric noise
on the whole numbers. A record stands in one box, and in one cell of each attribute: adding it moves one count by one and,
for each attribute, one cell by one (theorem `surveyed-tree`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from shoal.errors import PreconditionError


@dataclass(frozen=True)
class Survey:
    """The noise of one survey: epsilon of the boxes' counts, and of each attribute's histogram."""

    count: Fraction
    histogram: Fraction
    attributes: int

    def __post_init__(self) -> None:
        if self.count <= 0 or self.histogram <= 0 or self.attributes < 1:
            raise PreconditionError(
                "surveyed-tree",
                "a survey without noise has no price",
                came=f"{float(self.count):g} for counts, {float(self.histogram):g} for each of {self.attributes} histograms",
                allowed="every epsilon above 0",
            )

    @property
    def epsilon(self) -> Fraction:
        """What the survey costs when one record is added or removed."""
        return self.count + self.attributes * self.histogram


def surveys(
    epsilon: Fraction, attributes: int, shares: Sequence[Fraction], counts: Fraction | Sequence[Fraction]
) -> tuple[Survey, ...]:
    """Divide epsilon between surveys by `shares`, and each between its counts and its histograms.

    `counts` is the part of a survey that its counts take: one for all, or one for each.
    """
    parts = (counts,) * len(shares) if isinstance(counts, Fraction) else tuple(counts)
    if sum(shares, Fraction(0)) > 1 or any(share <= 0 for share in shares):
        raise PreconditionError(
            "surveyed-tree", "the surveys' shares exceed the whole", came=", ".join(str(float(s)) for s in shares)
        )
    if len(parts) != len(shares) or any(not 0 < part < 1 for part in parts):
        raise PreconditionError(
            "surveyed-tree",
            "a survey's share is divided between its counts and its histograms",
            came=", ".join(str(float(part)) for part in parts),
            allowed="a part above 0 and below 1 for each survey",
        )
    return tuple(
        Survey(epsilon * share * part, epsilon * share * (1 - part) / attributes, attributes)
        for share, part in zip(shares, parts, strict=True)
    )


def epsilon_of(asked: Sequence[Survey]) -> Fraction:
    """What all of them cost together, each grown on what the ones before said."""
    return sum((survey.epsilon for survey in asked), Fraction(0))
