"""The dominating pair of a sampled crowd, as a discrete privacy-loss distribution.

Theorem `safe-k-dominating-pair`: with M the number of records passed over before the k-th is sampled,
(M, M + 1) dominates (k, beta) at every order and in both directions, and is attained. M is negative
binomial, so the loss at M = m is ln((1 - beta)(m + k - 1)/m), and M = 0 (mass beta^k) gives the member away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.guarantee.rounding import precise
from shoal.guarantee.safe_k import binomial

if TYPE_CHECKING:
    from dp_accounting.pld.pld_pmf import PLDPmf

_TAIL = 1e-25
_MAX_ATOMS = 4_000_000

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Losses:
    """Atoms of a privacy loss: `masses` under the first law at the values `losses`, and the mass at infinity."""

    losses: Floats
    masses: Floats
    infinite: float


def crowd_losses(k: int, beta: Fraction, direction: str) -> Losses:
    """The loss of M against M + 1 (`remove`) or of M + 1 against M (`add`).

    Where the support is too long to hold, a larger beta stands in: its pair dominates (theorem `safe-k-monotone`).
    What lies beyond the support kept is moved to a larger loss, never dropped.
    """
    spread = k + 40 * math.sqrt(k) + 60
    rate = max(float(beta), spread / _MAX_ATOMS)
    reach = (k * (1 - rate) + (40 * math.sqrt(k) + 60) * math.sqrt(1 - rate)) / rate  # 40 deviations past the mean
    m = np.arange(0, math.ceil(reach) + 64, dtype=np.float64)
    masses = _negative_binomial(k, rate, m)
    kept = np.flatnonzero(masses > _TAIL)
    first, last = int(kept[0]), int(kept[-1])
    rest_low, rest_high = float(masses[:first].sum()), float(masses[last + 1 :].sum()) + _TAIL
    p, m = masses[first : last + 1], m[first : last + 1]
    loss = np.full_like(m, np.inf)  # M = 0 never happens to M + 1
    np.divide(k - 1, m, out=loss, where=m > 0)
    loss = math.log1p(-rate) + np.log1p(loss)
    if direction == "remove":
        # P = M: a lost low end has the largest losses, a lost high end smaller ones than the last kept
        return _collect(loss, p, at_infinity=rest_low, at_last=rest_high)
    # P = M + 1 at m + 1 has mass P(M = m) and loss -loss(m + 1)
    shifted = -(math.log1p(-rate) + np.log1p((k - 1) / (m + 1)))
    return _collect(shifted, p, at_infinity=0.0, at_last=0.0, at_first=rest_low, beyond=(-math.log1p(-rate), rest_high))


def on_grid(atoms: Losses, grid: float) -> PLDPmf:
    """Split each atom between its two neighbours on the grid so that its mass under both laws is kept.

    That is the chord above the convex curve between two grid points: never below the truth
    (connect-the-dots, Doroshenko and others 2022), with positive terms only.
    """
    from dp_accounting.pld.pld_pmf import DensePLDPmf

    low = np.floor(atoms.losses / grid).astype(np.int64)
    offset = atoms.losses - low * grid
    upper = np.clip(-np.expm1(-offset) / -math.expm1(-grid), 0.0, 1.0)
    first, last = int(low.min()), int(low.max()) + 1
    masses = np.bincount(low - first, atoms.masses * (1 - upper), minlength=last - first + 1)
    masses += np.bincount(low - first + 1, atoms.masses * upper, minlength=last - first + 1)
    return DensePLDPmf(grid, first, masses, atoms.infinite, True)


def _collect(
    loss: Floats,
    mass: Floats,
    *,
    at_infinity: float,
    at_last: float,
    at_first: float = 0.0,
    beyond: tuple[float, float] | None = None,
) -> Losses:
    mass = mass.copy()
    mass[-1] += at_last
    mass[0] += at_first
    finite = np.isfinite(loss)
    infinite = at_infinity + float(mass[~finite].sum())
    losses, masses = loss[finite], mass[finite]
    if beyond is not None:
        losses, masses = np.append(losses, beyond[0]), np.append(masses, beyond[1])
    return Losses(losses, masses, infinite)


def _negative_binomial(k: int, rate: float, m: Floats) -> Floats:
    """Pr[M = m], by ratios outward from the mode, whose mass is computed with 70 digits."""
    mode = min(len(m) - 1, max(0, math.floor((k - 1) * (1 - rate) / rate)))
    with precise():
        exact_rate = Decimal(rate)
        # Pr[M = m] = beta Pr[Bin(m + k - 1, beta) = k - 1]
        top = float(exact_rate * binomial.mass(k - 1, mode + k - 1, exact_rate))
    result = np.empty_like(m)
    result[mode] = top
    up_ratios = (1 - rate) * (m[mode + 1 :] + k - 1) / m[mode + 1 :]
    result[mode + 1 :] = top * np.cumprod(up_ratios)
    down_ratios = m[1 : mode + 1][::-1] / ((1 - rate) * (m[1 : mode + 1][::-1] + k - 1))
    result[:mode] = (top * np.cumprod(down_ratios))[::-1]
    return result
