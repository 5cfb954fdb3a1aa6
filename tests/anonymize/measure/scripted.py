"""A source that publishes what a script says, and notes the exact numbers to which noise would have been added.

Two neighbouring tables that are run with one script publish the same. So what was noted for each says everything about the
privacy loss of that output: how far exact numbers are apart under which noise, and with which probability choices were made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from shoal.chance.row_mask import RowMask
from shoal.chance.source import Source

Publish = Callable[[str, np.ndarray], np.ndarray]
"""What is published for a purpose in place of exact numbers."""


class _Noise(np.ndarray):
    """Noise that was not drawn yet: what it is added to is noted, and what the script says comes out."""

    script: Script
    purpose: str
    sigma: Fraction

    def __array_finalize__(self, other: Any) -> None:
        for name in ("script", "purpose", "sigma"):
            setattr(self, name, getattr(other, name, None))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> np.ndarray:
        assert (ufunc, method, more) == (np.add, "__call__", {})
        (exact,) = [each for each in inputs if not isinstance(each, _Noise)]
        self.script.noted.append((self.purpose, self.sigma, exact.copy()))
        return np.asarray(self.script.publish(self.purpose, exact))


@dataclass
class Script:
    """Stands in for a `Source`: `publish` says what comes out in place of exact numbers, `choices` which options are drawn."""

    publish: Publish = lambda _, exact: exact
    choices: Sequence[int] = ()
    noted: list[tuple[str, Fraction, np.ndarray]] = field(default_factory=list)
    drawn: list[tuple[np.ndarray, Fraction]] = field(default_factory=list)
    purpose: str = ""

    def stream(self, purpose: str) -> Script:
        return Script(self.publish, self.choices, self.noted, self.drawn, purpose)

    def row_mask(self, beta: int) -> RowMask:
        return Source.seeded(1).row_mask(beta)

    def discrete_gaussian(self, sigma: Fraction, size: int) -> np.ndarray:
        made = np.zeros(size, dtype=np.int64).view(_Noise)
        made.script, made.purpose, made.sigma = self, self.purpose, sigma
        return made

    def choose_by_score(self, scores: np.ndarray, factor: Fraction) -> int:
        self.drawn.append((scores.copy(), factor))
        return self.choices[len(self.drawn) - 1]


class Recorded:
    """Publishes again, call by call, what a first run published."""

    def __init__(self) -> None:
        self.published: list[np.ndarray] = []
        self.at: int | None = None

    def __call__(self, _: str, exact: np.ndarray) -> np.ndarray:
        if self.at is None:
            self.published.append(exact.copy())
            return exact
        self.at += 1
        return self.published[self.at - 1].copy()

    def again(self) -> Recorded:
        """The same from the beginning, for another table."""
        other = Recorded()
        other.published, other.at = self.published, 0
        return other
