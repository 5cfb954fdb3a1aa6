"""The post-randomization method (PRAM): values change at random by a matrix that recipients know, and can correct for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from itertools import accumulate

import numpy as np

from shoal.anonymize.treatment.base import Array, ColumnTreatment, Dependence
from shoal.chance.exact import Bounds, InversionSampler, fraction_bounds
from shoal.chance.source import Source
from shoal.data.hierarchy.level import MISSING
from shoal.data.type import Type, texts
from shoal.errors import UsageError
from shoal.guarantee.rounding import certificate_text, exact_text, precise
from shoal.policy.treatment import categories

DIGITS = 8
"""Significant digits of a printed epsilon, rounded up."""


@dataclass(frozen=True)
class Pram(ColumnTreatment):
    """Draw a new value for each record, with the probabilities in the row of its value; exactly, without a float.

    With `keep`, a value stays with this probability and else becomes one of the others, each with the same probability; a missing
    value stays missing, or takes part like any other (`draws_missing`). With `matrix`, its rows have the probabilities.

    Promise   record-wise: a map of the one value and of chance of its own; local differential privacy of the attribute where
              no probability is 0 beside one that is not
    Requires  listed values; rows that sum to exactly 1 over the whole domain
    Reads     its attribute
    """

    keep: Fraction | None
    matrix: Mapping[str, Mapping[str, Fraction]] | None
    draws_missing: bool = False
    seen_before: bool = False
    """Whether an earlier step looks at the values before they change, so that this one alone protects nothing."""

    kind, dependence = "pram", Dependence.CHANCE

    def __post_init__(self) -> None:
        if (self.keep is None) == (self.matrix is None):
            raise UsageError("a probability to keep, or a matrix", came="both or neither")
        for value in self.values if self.matrix is not None else ():
            row = self.row(value)
            if sum(row.values(), start=Fraction(0)) != 1 or not set(row) <= set(self.values):
                raise UsageError(
                    f"attribute '{self.attribute.name}': a row of the matrix does not sum to 1 over its domain"
                )

    @property
    def values(self) -> tuple[str, ...]:
        """Every value that may be there, `(missing)` among them where a value may be missing."""
        return categories(self.attribute)

    @property
    def _drawn(self) -> tuple[str, ...]:
        """With `keep`: the values that change into each other."""
        return tuple(value for value in self.values if self.draws_missing or value != MISSING)

    def row(self, value: str) -> dict[str, Fraction]:
        """The probability of each value that a value may become, without noughts."""
        if self.matrix is not None:
            return {to: share for to, share in self.matrix.get(value, {}).items() if share}
        if self.keep is None or value not in self._drawn:
            return {value: Fraction(1)}
        others = (1 - self.keep) / (len(self._drawn) - 1)
        return {to: self.keep if to == value else others for to in self._drawn}

    # --- its own differential privacy ------------------------------------------------------------------------------

    @property
    def ratio(self) -> Fraction | None:
        """The largest ratio of two probabilities of one outcome; None where one of them is 0 and the other is not."""
        if self.matrix is None and self.keep is not None:
            if len(self._drawn) < len(self.values):
                return None
            other = (1 - self.keep) / (len(self._drawn) - 1)
            return max(self.keep / other, other / self.keep)
        rows = [self.row(value) for value in self.values]
        largest = Fraction(1)
        for to in self.values:
            shares = [row.get(to, Fraction(0)) for row in rows]
            if max(shares) == 0:
                continue
            if min(shares) == 0:
                return None
            largest = max(largest, max(shares) / min(shares))
        return largest

    @property
    def local_epsilon(self) -> str | None:
        """The epsilon of local differential privacy of this attribute by itself, rounded up; None where there is none."""
        ratio = None if self.seen_before else self.ratio
        if ratio is None:
            return None
        if ratio == 1:
            return "0"
        with precise() as context:
            context.rounding = (
                ROUND_CEILING  # of the quotient; the logarithm is right to its last digit, and one more is added
            )
            return certificate_text((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln().next_plus(), DIGITS)

    # --- the draw -----------------------------------------------------------------------------------------------------

    def change(self, values: Array, source: Source) -> Array:
        absent = np.ma.getmaskarray(values)
        place = {value: number for number, value in enumerate(self.values)}
        spelled = texts(np.ma.getdata(values))
        codes = np.array(
            [place[MISSING] if gone else place[text] for text, gone in zip(spelled, absent.tolist(), strict=True)],
            dtype=np.int64,
        )
        made = self._by_keeping(codes, source) if self.matrix is None else self._by_matrix(codes, source)
        return self._values_of(made)

    def _by_keeping(self, codes: Array, source: Source) -> Array:
        many = len(self._drawn)  # `(missing)` is the last value, so these are the first
        moves = (codes < many) & ~source.bernoulli(self.keep or Fraction(0), len(codes))
        steps = source.integers(many - 1, int(moves.sum())) + 1
        made = codes.copy()
        made[moves] = (codes[moves] + steps) % many
        return made

    def _by_matrix(self, codes: Array, source: Source) -> Array:
        made, place = codes.copy(), {value: number for number, value in enumerate(self.values)}
        for number, value in enumerate(self.values):
            held = np.flatnonzero(codes == number)
            targets, sampler = _sampler(self.row(value))
            made[held] = np.array([place[to] for to in targets], dtype=np.int64)[sampler.draw(source, len(held))]
        return made

    def _values_of(self, codes: Array) -> Array:
        gone = codes == len(self.values) - 1 if MISSING in self.values else np.zeros(len(codes), dtype=np.bool_)
        words = np.array([None if value == MISSING else value for value in self.values], dtype=object)
        made = words[codes]
        if self.attribute.type is Type.BOOLEAN:
            made = np.array([value == "true" for value in made.tolist()], dtype=np.bool_)
        return np.ma.MaskedArray(made, gone) if gone.any() else made

    # --- in words ---------------------------------------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, str]:
        own = {"local_epsilon": self.local_epsilon} if self.local_epsilon is not None else {}
        if self.keep is not None:
            return {"keep": exact_text(self.keep), "missing": "draw" if self.draws_missing else "stay", **own}
        cells = {value: {to: exact_text(share) for to, share in self.row(value).items()} for value in self.values}
        text = json.dumps(cells, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return {"matrix": hashlib.sha256(text.encode()).hexdigest(), **own}

    def words(self) -> str:
        name = self.attribute.name
        if self.keep is not None:
            said = f"A value of {name} stays with probability {exact_text(self.keep)} and else becomes {self._others()} (PRAM)"
        else:
            said = (
                f"What is shown of {name} is drawn with the probabilities of a matrix that the locked plan holds (PRAM)"
            )
        if self.local_epsilon is None:
            return f"{said}. It has no epsilon of its own: {self._why_none()}."
        return (
            f"{said}; that is local differential privacy with epsilon {self.local_epsilon} of what one record shows of {name} "
            "(its value replaced by any other), and of nothing else."
        )

    def _why_none(self) -> str:
        """Why no epsilon bounds what one record shows of the attribute."""
        if self.seen_before:
            return "an earlier step has looked at the attribute"
        if self.matrix is None and self.ratio is None and not self.draws_missing and MISSING in self.values:
            return "a missing value stays missing, and so it shows"
        return "something that may be shown rules some value out"

    def _others(self) -> str:
        many = len(self._drawn) - 1
        return "the other one" if many == 1 else f"one of the {many:,} others, each with the same probability"


def _sampler(row: Mapping[str, Fraction]) -> tuple[list[str], InversionSampler]:
    """The values that one may become, and a sampler of their numbers: a draw counts the cuts that a uniform number passes."""
    targets = sorted(row)
    cuts = list(_cuts([row[to] for to in targets]))

    def cut(index: int, bits: int) -> Bounds:
        return fraction_bounds(cuts[index], bits)

    return targets, InversionSampler(cut, len(cuts))


def _cuts(shares: list[Fraction]) -> Iterator[Fraction]:
    yield from accumulate(shares[:-1])
