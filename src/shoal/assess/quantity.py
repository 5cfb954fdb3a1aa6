"""A measured number with its interval, its method and its kind: a fact of the tables, an estimate, or a model's opinion.

Nothing that is measured travels without these: a reader tells at a glance a number that was counted from one that was estimated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shoal.errors import ParameterError

LEVEL = 0.95
EXACT, ESTIMATE, MODEL = "exact", "estimate", "model"
"""The kinds: counted on the tables at hand; with a sampling interval; by a model whose assumptions nobody has checked."""
KINDS = (EXACT, ESTIMATE, MODEL)


@dataclass(frozen=True)
class Quantity:
    """One measured number.

    `exact`: a fact of the tables at hand, its own interval. `estimate`: of many such intervals a share of `level` or more contain
    the true number. `model`: the interval holds if the model does, which `method` names; without one, the ends are None.

    >>> Quantity.of_rate(12, 200, "share of targets that were singled out").words()
    '0.06 (0.95 interval 0.03138 to 0.1025: share of targets that were singled out)'
    """

    value: float
    low: float | None
    high: float | None
    kind: str
    method: str
    level: float = LEVEL

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParameterError("no such kind of quantity", came=self.kind, allowed=", ".join(KINDS))

    @classmethod
    def fact(cls, value: float, method: str) -> Quantity:
        """A number that was counted on the tables: exact, so its interval is itself."""
        return cls(float(value), float(value), float(value), EXACT, method, 1.0)

    @classmethod
    def of_rate(cls, hits: int, trials: int, method: str, level: float = LEVEL) -> Quantity:
        """A probability that was estimated from independent trials, with the interval of Clopper and Pearson (1934)."""
        if not 0 <= hits <= trials or trials < 1:
            raise ParameterError(
                "hits do not fit the trials", came=f"{hits} of {trials}", allowed="0 up to all of 1 or more"
            )
        if not 0 < level < 1:
            raise ParameterError("the level of an interval is not between 0 and 1", came=level, allowed="such as 0.95")
        low, high = rate_bounds(hits, trials, (1 - level) / 2)
        return cls(hits / trials, low, high, ESTIMATE, method, level)

    def excess_over(self, control: Quantity, method: str) -> Quantity:
        """How much an attack achieves beyond its control, as a share of what the control leaves: (a − c) / (1 − c), from −1 to 1.

        Less than −1 counts as −1: where the control nearly always succeeds, nothing is left to divide by. The interval takes the
        ends that are farthest apart, so that it holds at level 1 − 2 (1 − level) at least.
        """
        low, high = self._ends()
        under, over = control._ends()
        level = max(0.0, self.level + control.level - 1)
        found = _excess(self.value, control.value)
        return Quantity(found, _excess(low, over), _excess(high, under), ESTIMATE, method, level)

    def _ends(self) -> tuple[float, float]:
        return (self.value if self.low is None else self.low, self.value if self.high is None else self.high)

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values for JSON; what is infinite is None."""
        ends = [None if end is None or not math.isfinite(end) else end for end in (self.value, self.low, self.high)]
        return {
            "value": ends[0],
            "low": ends[1],
            "high": ends[2],
            "kind": self.kind,
            "level": self.level,
            "method": self.method,
        }

    def words(self) -> str:
        """The number with its interval and its method."""
        if self.kind == EXACT:
            return f"{self.value:,.4g} (exact: {self.method})"
        if self.low is None or self.high is None:
            return f"{self.value:,.4g} (by a model, without an interval: {self.method})"
        whose = "interval" if self.kind == ESTIMATE else "interval if the model holds,"
        return f"{self.value:,.4g} ({self.level:g} {whose} {self.low:,.4g} to {self.high:,.4g}: {self.method})"


def _excess(attack: float, control: float) -> float:
    if control < 1:
        return max(-1.0, (attack - control) / (1 - control))
    return 0.0 if attack >= 1 else -1.0


def rate_bounds(hits: int, trials: int, alpha: float) -> tuple[float, float]:
    """Give a lower and an upper bound on a probability (Clopper and Pearson 1934); each fails with probability alpha at most.

    >>> tuple(round(bound, 4) for bound in rate_bounds(0, 100, 0.05))
    (0.0, 0.0295)
    """
    from scipy.special import betaincinv

    low = float(betaincinv(hits, trials - hits + 1, alpha)) if hits else 0.0
    high = float(betaincinv(hits + 1, trials - hits, 1 - alpha)) if hits < trials else 1.0
    return low, high
