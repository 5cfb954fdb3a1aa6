"""Attacks on a released table, with a control group and a baseline, in the sense of Giomi, Boenisch, Wehmeyer and Tasnádi 2023.

A cell of a release may be a value, an interval or a set. So each label of a released attribute is a distribution over the parts
of the attribute's domain, and an intruder who knows the part of a target's value expects a mismatch between the two:

    without an order    1 − (share of the label in the known part)
    with positions      expected distance between the known part and the label's, divided by the distance between the ends

The distance of a released record from a target is the sum over the attributes that the intruder knows.

The targets took part in the release; the control group did not. What an attack achieves on the control group, everybody can learn
about anybody from the table as a whole. The excess of the attack over the control is what taking part costs. The baseline is what
somebody achieves who does not look at the target: an attack that is no better has shown nothing. Intervals take attempts for
independent draws; that of the risk holds however success on targets and on the control group depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shoal.assess.disclosure.classes import Array, Floats, Ints, Mask, row_numbers
from shoal.assess.quantity import Quantity
from shoal.assess.risk.class_sizes import HIDDEN, plain
from shoal.errors import DataError, ParameterError

BLOCK = 2_000_000
"""Distances held in memory at once."""
ALIKE = 1e-9
"""Distances that differ by no more are equal."""
JOINT = 4096
"""Attributes are looked up together while they have no more combinations of labels."""
CONTROL, BASELINE = "control", "baseline"
NO_CONTROL = "Without a control group the risk includes what the table teaches about everybody."


@dataclass(frozen=True, eq=False)
class ReleasedAttribute:
    """One attribute of a released table: the label of each record, and what each label says about the parts of the domain.

    Arguments  `codes`: the label of each record, from 0 up; `shares`: labels × parts, how a label's value is spread over the
               parts of the domain; `positions`: where the parts lie on a line, if the attribute has an order
    Raises     DataError for shares that are no distributions, or codes and positions that do not fit them

    >>> ReleasedAttribute([0, 1], [[0.5, 0.5, 0], [0, 0, 1]]).parts
    3
    """

    codes: Ints
    shares: Floats
    positions: Floats | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", np.asarray(self.codes))
        object.__setattr__(self, "shares", np.asarray(self.shares, dtype=np.float64))
        shares, codes = self.shares, self.codes
        if (
            shares.ndim != 2
            or 0 in shares.shape
            or not bool(np.all(shares >= 0))
            or not np.allclose(shares.sum(axis=1), 1)
        ):
            raise DataError(
                "the shares of labels are no distributions", came=f"an array of shape {shares.shape}",
                allowed="labels × parts, from 0 up, each row adding up to 1",
            )  # fmt: skip
        if (
            codes.ndim != 1
            or codes.dtype.kind not in "iu"
            or not len(codes)
            or codes.min() < 0
            or codes.max() >= len(shares)
        ):
            raise DataError(
                "the codes of a released attribute do not fit its labels", came=f"an array of shape {codes.shape}",
                allowed=f"one label from 0 to {len(shares) - 1} for each record",
            )  # fmt: skip
        if self.positions is not None:
            object.__setattr__(self, "positions", np.asarray(self.positions, dtype=np.float64))
            if self.positions.shape != (self.parts,) or not bool(np.all(np.isfinite(self.positions))):
                raise DataError("the positions do not fit the parts", allowed=f"{self.parts} finite numbers")

    @property
    def parts(self) -> int:
        """How many parts the domain has."""
        return int(self.shares.shape[1])

    def mismatch(self) -> Floats:
        """Give the expected mismatch between each part (rows) and each label; the last row, for a value not known, is 0."""
        if self.positions is None:
            found = 1 - self.shares.T
        else:
            span = float(np.ptp(self.positions)) or 1.0
            found = np.abs(self.positions[:, None] - self.positions[None, :]) / span @ self.shares.T
        return np.vstack([found, np.zeros(len(self.shares))])


Released = Mapping[str, ReleasedAttribute]
"""A released table: its attributes by name, in the same order of records."""
Originals = Mapping[str, ArrayLike]
"""Original records: for each attribute the part of each record's value, −1 where the intruder does not know it."""


@dataclass(frozen=True)
class AttackRisk:
    """What an attack achieves on targets, on a control group and by guessing, and the risk that follows.

    `risk` is the excess over the control group, (success − control) / (1 − control), or without one over the baseline;
    `measured_against` says which.
    """

    attack: str
    attempts: int
    success: Quantity
    control: Quantity | None
    baseline: Quantity
    risk: Quantity
    measured_against: str

    @classmethod
    def of(cls, attack: str, hits: Mask, control: Mask | None, baseline: Quantity, what: str) -> AttackRisk:
        """Compare what succeeded with a control group and a baseline.

        Arguments  `attack`: its name; `hits`, `control`: which attempts succeeded, on targets and on the control group;
                   `baseline`: the success of guessing; `what`: what succeeds, in words
        Raises     ParameterError without an attempt
        """
        success = Quantity.of_rate(int(hits.sum()), len(hits), f"share of {len(hits):,} attempts that succeed: {what}")
        if control is None:
            risk = success.excess_over(baseline, "excess over the baseline, without a control group")
            return cls(attack, len(hits), success, None, baseline, risk, BASELINE)
        among = Quantity.of_rate(
            int(control.sum()),
            len(control),
            f"share of {len(control):,} attempts on the control group that succeed: {what}",
        )
        risk = success.excess_over(among, "excess over the control group")
        return cls(attack, len(hits), success, among, baseline, risk, CONTROL)

    @property
    def beats_baseline(self) -> bool:
        """Whether the attack achieves more than guessing."""
        return self.success.value > self.baseline.value

    def to_json(self) -> dict[str, Any]:
        """Give the fields as plain values for JSON."""
        found = {field.name: plain(getattr(self, field.name)) for field in fields(self)}
        return found | {"beats_baseline": self.beats_baseline}

    def words(self, *, repeats: bool = True) -> str:
        """Give the result in sentences: what was achieved, against what, and what it does not show.

        Arguments  `repeats`: whether what holds of every attack without a control group is said too
        """
        against = "" if self.control is None else f", {self.control.value:.2%} on a control group"
        said = [f"{self.attack}: {self.success.value:.2%} of {self.attempts:,} attempts succeed{against},"]
        said.append(f"{self.baseline.value:.2%} by guessing. Risk: {self.risk.words()}.")
        if self.control is None and repeats:
            said.append(NO_CONTROL)
        if not self.beats_baseline:
            said.append("The attack does no better than guessing, so it shows nothing about better attacks.")
        elif self.risk.low is not None and self.risk.low <= 0:
            said.append("The interval includes 0, so a risk is not shown; nor is it ruled out.")
        return " ".join(said)


def check_released(released: Released, names: Sequence[str]) -> int:
    """Give the number of released records; raises DataError where attributes are missing or have different lengths."""
    missing = [name for name in names if name not in released]
    if missing or not names:
        raise DataError(
            "the release lacks attributes of the attack", came=", ".join(missing) or "none", allowed="attributes of the release"
        )  # fmt: skip
    lengths = {len(released[name].codes) for name in names}
    if len(lengths) > 1:
        raise DataError(
            "released attributes have different numbers of records", came=sorted(lengths), allowed="one number"
        )
    return lengths.pop()


def parts_of(records: Originals, names: Sequence[str], released: Released, whose: str) -> Ints:
    """Give the parts of original records, records × attributes; raises DataError where they do not fit the domain."""
    missing = [name for name in names if name not in records]
    if missing:
        raise DataError(
            f"{whose} lack attributes of the attack", came=", ".join(missing), allowed="the attributes that are known"
        )
    columns: list[Array] = [np.asarray(records[name]) for name in names]
    if len({column.shape for column in columns}) > 1 or columns[0].ndim != 1 or not len(columns[0]):
        raise DataError(f"{whose} are no table", allowed="one part for each record, in every attribute")
    for name, column in zip(names, columns, strict=True):
        if column.dtype.kind not in "iu" or column.min() < HIDDEN or column.max() >= released[name].parts:
            raise DataError(
                f"{whose} have values outside the parts of '{name}'", came=str(column.dtype),
                allowed=f"whole numbers from 0 to {released[name].parts - 1}, or −1 where it is not known",
            )  # fmt: skip
    return np.column_stack(columns).astype(np.int64)


class NearestSearch:
    """Finds the released records that are nearest to what an intruder knows, in bounded memory.

    Records with equal labels are one tuple; `counts` has how many records each tuple stands for.
    """

    def __init__(self, released: Released, names: Sequence[str]) -> None:
        self.rows = check_released(released, names)
        codes = np.column_stack([released[name].codes for name in names]).astype(np.int64)
        _, first, place, counts = np.unique(
            row_numbers(codes), return_index=True, return_inverse=True, return_counts=True
        )
        self.place: Ints = place.ravel()
        self.counts: Ints = counts.astype(np.int64)
        self.tuples: Ints = codes[first]
        self._tables = [released[name].mismatch() for name in names]
        self._groups = list(self._join_attributes())

    def _join_attributes(self) -> Iterator[tuple[list[int], Ints, Ints]]:
        """Group attributes with few combinations of labels: their columns, the combinations, and that of each tuple."""
        columns: list[int] = []
        found: tuple[list[int], Ints, Ints] | None = None
        for column in range(self.tuples.shape[1]):
            codes = self.tuples[:, [*columns, column]]
            _, first, place = np.unique(row_numbers(codes), return_index=True, return_inverse=True)
            if found is not None and len(first) > JOINT:
                yield found
                columns, codes = [], self.tuples[:, [column]]
                _, first, place = np.unique(row_numbers(codes), return_index=True, return_inverse=True)
            columns = [*columns, column]
            found = columns, codes[first], place.ravel()
        if found is not None:
            yield found

    def blocks(self, known: Ints) -> Iterator[tuple[slice, Mask]]:
        """Give the targets in blocks, each with the tuples that are nearest to each of its targets."""
        step = max(1, BLOCK // len(self.tuples))
        for start in range(0, len(known), step):
            block = slice(start, min(start + step, len(known)))
            distances = np.zeros((block.stop - start, len(self.tuples)))
            for columns, labels, place in self._groups:
                joint = sum(
                    self._tables[column][known[block, column]][:, labels[:, i]] for i, column in enumerate(columns)
                )
                distances += np.take(np.asarray(joint), place, axis=1)
            yield block, np.asarray(distances <= distances.min(axis=1, keepdims=True) + ALIKE)


def check_names(names: Sequence[str], what: str) -> tuple[str, ...]:
    """Give names of attributes; raises ParameterError for none, or one that stands twice."""
    found = tuple(names)
    if not found or len(set(found)) < len(found):
        raise ParameterError(
            f"{what} are not named once each", came=", ".join(found) or "none", allowed="one or more attributes"
        )
    return found
