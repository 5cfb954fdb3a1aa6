"""Two masked versions of a table on one scale, SC13 §6.4.2: what one gains in information against what it costs in risk."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf, isfinite, sqrt
from typing import Any

from shoal.errors import ParameterError


@dataclass(frozen=True)
class Balance:
    """`information` is SSE_f = √SSE_0/√SSE, `risk` is RL_f = RL_0/RL; above 1 the new version is better in that respect.

    `score` is the thesis' SSE_f/RL_f as its text prints it; `product` is SSE_f·RL_f, which is above 1 just when the gain
    in one respect outweighs the loss in the other, and which its tables hold.
    """

    information: float
    risk: float

    @property
    def score(self) -> float:
        """SSE_f/RL_f."""
        return self.information / self.risk if self.risk else inf

    @property
    def product(self) -> float:
        """SSE_f·RL_f."""
        return self.information * self.risk

    def to_json(self) -> dict[str, Any]:
        """Plain values; without bound is null."""
        found = {**asdict(self), "score": self.score, "product": self.product}
        return {key: value if isfinite(value) else None for key, value in found.items()}


def balance(*, baseline: tuple[float, float], masked: tuple[float, float]) -> Balance:
    """From (SSE, RL) of a baseline and of the version to be judged."""
    for sse, rate in (baseline, masked):
        if not (0 <= sse < inf and 0 <= rate <= 100):
            raise ParameterError("no SSE and RL", came=f"{sse}, {rate}", allowed="SSE from 0 up, RL from 0 to 100")
    return Balance(_ratio(sqrt(baseline[0]), sqrt(masked[0])), _ratio(baseline[1], masked[1]))


def _ratio(first: float, second: float) -> float:
    return first / second if second else (inf if first else 1.0)
