"""From one record to a person with m rows, and from adding or removing to replacing.

Both walk a chain of neighbouring tables and pay for each step; epsilon is split over the steps so
that the total delta is smallest. Any split is valid: the search only makes the bound good.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError
from shoal.guarantee.rounding import Number, decimal, exact, guarded_up, precise, whole

Curve = Callable[[Fraction], float]
"""delta as a function of epsilon, rounded up."""

_GRID = 96
_FEW = 4


@dataclass(frozen=True)
class Chain:
    """delta of several steps together, and the split of epsilon over them that shows it: whoever doubts it adds it up."""

    delta: float
    split: tuple[Fraction, ...]


def delta_of_rows(curve: Curve, rows: int, epsilon: Number) -> float:
    """delta at epsilon for a person with up to `rows` rows (theorem `group-privacy`).

    delta_m(e_1 + ... + e_m) <= sum_i e^(e_1 + ... + e_{i-1}) delta(e_i), at the best split found.

    >>> from shoal.guarantee.differential import PureDP
    >>> delta_of_rows(PureDP("0.5").delta_at, 2, 1)
    0.0
    """
    return chain_of_rows(curve, rows, epsilon).delta


def chain_of_rows(curve: Curve, rows: int, epsilon: Number) -> Chain:
    """`delta_of_rows` with the split that it was found at."""
    return _chain([curve] * whole(rows, "the number of rows of one person"), _non_negative(epsilon))


def delta_of_replacement(remove: Curve, add: Curve, epsilon: Number) -> float:
    """delta at epsilon when one record is replaced: one removal and one addition, in the better order (theorem `replace-one`)."""
    return delta_of_replaced_rows(remove, add, 1, epsilon)


def delta_of_replaced_rows(remove: Curve, add: Curve, rows: int, epsilon: Number) -> float:
    """delta at epsilon when up to `rows` rows of a person are replaced: all removed, then as many added, or the reverse."""
    return chain_of_replaced_rows(remove, add, rows, epsilon).delta


def chain_of_replaced_rows(remove: Curve, add: Curve, rows: int, epsilon: Number) -> Chain:
    """`delta_of_replaced_rows` with the split that it was found at, in the better order."""
    count, e = whole(rows, "the number of rows of one person"), _non_negative(epsilon)
    # Both orders ask for the same points, and a point takes a millisecond.
    removed: list[Curve] = [cache(remove)] * count
    added: list[Curve] = [cache(add)] * count
    chains = (_chain(removed + added, e), _chain(added + removed, e))
    return min(chains, key=lambda chain: chain.delta)


def _chain(steps: list[Curve], epsilon: Fraction) -> Chain:
    if len(steps) == 1:
        return Chain(min(1.0, steps[0](epsilon)), (epsilon,))
    split = _best_split(steps, epsilon)
    return Chain(min(1.0, _cost(steps, split)), tuple(split))


def _best_split(steps: list[Curve], epsilon: Fraction) -> list[Fraction]:
    """Dynamic programming on a grid of shares, then two rounds of finer shares around the best."""
    unit = epsilon / _GRID
    values = [[step(unit * i) for i in range(_GRID + 1)] for step in dict.fromkeys(steps)]
    table = dict(zip(dict.fromkeys(steps), values, strict=True))
    # Row `left` of a step: the share of the step in column i, what is left for later steps in left - i. What cannot be is inf.
    growth = np.array([math.exp(float(unit) * i) for i in range(_GRID + 1)])
    left_over = np.arange(_GRID + 1)[:, None] - np.arange(_GRID + 1)[None, :]
    best = np.array(table[steps[-1]])
    choices: list[npt.NDArray[np.int64]] = []
    for step in reversed(steps[:-1]):
        costs = np.array(table[step])[None, :] + growth[None, :] * best[np.maximum(left_over, 0)]
        costs[left_over < 0] = np.inf
        picked = costs.argmin(axis=1)
        best = costs[np.arange(_GRID + 1), picked]
        choices.append(picked)
    split, left = [], _GRID
    for picked in reversed(choices):
        split.append(unit * int(picked[left]))
        left -= int(picked[left])
    split.append(unit * left)
    for fineness in (8, 64) if len(steps) <= _FEW else ():  # with many steps the grid alone has to do
        split = _refine(steps, split, unit / fineness)
    return split


def _refine(steps: list[Curve], split: list[Fraction], move: Fraction) -> list[Fraction]:
    """Shift small amounts of epsilon between consecutive steps while that helps."""
    cost = _cost(steps, split)
    for _ in range(4):
        before = cost
        for i in range(len(split) - 1):
            for sign in (1, -1):
                for _ in range(8):
                    trial = list(split)
                    trial[i] += sign * move
                    trial[i + 1] -= sign * move
                    if min(trial) < 0 or (tried := _cost(steps, trial)) >= cost:
                        break
                    split, cost = trial, tried
        if cost == before:
            break
    return split


def _cost(steps: list[Curve], split: list[Fraction]) -> float:
    with precise():
        total, spent = Decimal(0), Fraction(0)
        for step, share in zip(steps, split, strict=True):
            total += decimal(spent).exp() * Decimal(step(share))
            spent += share
        return guarded_up(total)


def _non_negative(epsilon: Number) -> Fraction:
    value = exact(epsilon, "epsilon")
    if value < 0:
        raise ParameterError("epsilon is negative", came=epsilon, allowed="0 <= epsilon")
    return value
