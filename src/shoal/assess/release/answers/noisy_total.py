"""The number of records as a release states it, with two-sided geometric noise, and its interval.

Where one row is replaced by another, all neighbours have one number, and a release may state it without noise: a scale of 0.
Pr[noise = x] is proportional to q^|x| with q = exp(−1/scale), so Pr[noise > t] = q^(t + 1) / (1 + q), and so downwards.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, log
from typing import Any

from shoal.errors import VerificationError

LARGEST = 10**15
"""More records than any table has."""
_SCALE = re.compile(r"(0|[1-9][0-9]{0,15})(\.[0-9]{1,40})?|[1-9][0-9]{0,60}/[1-9][0-9]{0,60}")


@dataclass(frozen=True)
class NoisyTotal:
    """A published number of records, whose two-sided geometric noise has this scale; 0 where it has no noise."""

    records: int
    scale: Fraction

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> NoisyTotal:
        """Read the entry of a certificate; VerificationError where it is none."""
        records, text = entry["records"], entry["scale"]
        scale = Fraction(text) if isinstance(text, str) and _SCALE.fullmatch(text) else Fraction(0)
        if (text, entry.get("epsilon"), entry.get("rows_changed")) == ("0", "0", 0) and type(records) is int:
            if not 0 <= records <= LARGEST:
                raise VerificationError("the certificate states a number of records that is none")
            return cls(records, scale)
        if type(records) is not int or abs(records) > LARGEST or not 0 < scale <= LARGEST:
            raise VerificationError("the certificate states a noisy number of records that is none")
        return cls(records, scale)

    @property
    def is_exact(self) -> bool:
        """Whether it is stated without noise."""
        return not self.scale

    def bounds(self, risk: float) -> tuple[float, float]:
        """Bound the number of records; each end fails with probability at most risk / 2.

        >>> NoisyTotal(1000, Fraction(100)).bounds(0.05)
        (700.0, 1300.0)
        """
        if self.is_exact:
            return float(self.records), float(self.records)
        rate = float(1 / self.scale)
        far = max(0, ceil(-log(risk / 2 * (1 + exp(-rate))) / rate * (1 + 1e-12)) - 1)
        return max(0.0, float(self.records - far)), max(0.0, float(self.records + far))
