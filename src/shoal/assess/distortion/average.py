"""The average of a measure over independent runs of a method, with an interval: Student's t."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import fsum, inf, isfinite, sqrt
from typing import Any

from shoal.assess.release.estimate import risk_of
from shoal.errors import DataError


@dataclass(frozen=True)
class Average:
    """A mean over runs; its interval covers the long-run mean with probability `level` if runs are independent and normal.

    For runs of another law that is not proved, and no promise rests on it. One run has no interval. A method without
    chance gives the same number each time, and then `exact` is true and the interval is that number.
    """

    value: float
    low: float
    high: float
    error: float
    level: float
    runs: int
    exact: bool
    method: str = "Student's t over independent runs, exact where they are normal"

    @classmethod
    def of(cls, values: Iterable[float], level: float = 0.95, *, exact: bool = False) -> Average:
        """From one number for each run; `exact` says that the method uses no chance."""
        from scipy.special import stdtrit

        numbers = list(values)
        runs, a = len(numbers), risk_of(level)
        if not runs or not all(isfinite(number) for number in numbers):
            raise DataError(
                "there is no number of every run", came=f"{runs} runs", allowed="at least one finite number"
            )
        mean = fsum(numbers) / runs
        if exact:
            return cls(mean, mean, mean, 0.0, level, runs, True, "exact")
        if runs == 1:
            return cls(mean, -inf, inf, inf, level, 1, False)
        error = sqrt(fsum((number - mean) ** 2 for number in numbers) / (runs - 1) / runs)
        half = float(stdtrit(runs - 1, 1 - a / 2)) * error
        return cls(mean, mean - half, mean + half, error, level, runs, False)

    def to_json(self) -> dict[str, Any]:
        """Plain values; what one run cannot tell is null."""
        return {key: None if isinstance(v, float) and not isfinite(v) else v for key, v in asdict(self).items()}
