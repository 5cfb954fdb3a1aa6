"""What an intruder learns who knew the whole table's distribution: beta-likeness and delta-disclosure.

Sources: Cao and Karras, Publishing Microdata with a Robust Privacy Guarantee, PVLDB 5(11), 2012; Brickell and
Shmatikov, The Cost of Privacy, KDD 2008. Each function gives one number for each class: the smallest parameter for
which the class satisfies the model, with p the share of a value in the class and q its share in the table.
"""

from __future__ import annotations

import numpy as np

from shoal.assess.disclosure.classes import Floats, Shares
from shoal.assess.disclosure.closeness import ratio


def basic_beta(shares: Shares) -> Floats:
    """Basic beta-likeness: (p − q) / q ≤ beta for every value that is more frequent in the class."""
    return np.asarray(np.maximum.reduceat(_growth(shares), shares.starts))


def enhanced_beta(shares: Shares) -> Floats:
    """Enhanced beta-likeness: (p − q) / q ≤ min(beta, −ln q); infinite where p exceeds q (1 − ln q), whatever beta.

    The gain and −ln q are compared with a tolerance of rounding.
    """
    growth = _growth(shares)
    room = -np.log(shares.outside)
    return np.asarray(np.maximum.reduceat(np.where(growth > room + 1e-12, np.inf, growth), shares.starts))


def delta_disclosure(shares: Shares) -> Floats:
    """delta-disclosure over all values of the table: |ln(p / q)| < delta; infinite where the class lacks a value."""
    return np.asarray(np.log(ratio(shares)))


def delta_disclosure_present(shares: Shares) -> Floats:
    """The same over the values that the class has: the reading of pyCANON, and of ARX, whose logarithm has base 2."""
    return np.asarray(np.maximum.reduceat(np.abs(np.log(shares.inside / shares.outside)), shares.starts))


def _growth(shares: Shares) -> Floats:
    return np.maximum(shares.inside / shares.outside - 1.0, 0.0)
