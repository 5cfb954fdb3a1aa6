"""Orders in which every arrangement is equally likely, of a whole list or inside each of its groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.chance import exact
from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal.chance.source import Source

Order = NDArray[np.int64]


def permutation(source: Source, count: int) -> Order:
    """A uniform permutation of 0, …, count − 1.

    Give each place an independent 64-bit word and sort by the words; if two are equal, throw all away and draw again.
    Proof that no order is favoured: exchanging the words of two places leaves their joint law as it was, and turns
    equal words into equal words; so given that all differ, each of the count! orders has the same probability.
    The chance of drawing again is below count² / 2^65: 3e-8 for a million places.
    """
    count = exact.whole(count, "the number of places", 0)
    while True:
        words = source.words(count)
        order = np.argsort(words)
        ranked = words[order]
        if not np.any(ranked[1:] == ranked[:-1]):
            return order.astype(np.int64, copy=False)


def shuffle_within(source: Source, groups: ArrayLike) -> Order:
    """Where each place takes its value from, so that `values[order]` is shuffled inside each group and nowhere else.

    Places are put into a uniform order, which is then sorted by group without disturbing it: inside each group it is
    uniform, and independent of the other groups, since a uniform order of everything is. The members of a group, in
    their old order, then take the values of its members in the new one.
    """
    labels = np.asarray(groups)
    if labels.ndim != 1:
        raise ParameterError("groups are not a list", came=f"shape {labels.shape}", allowed="one label for each place")
    mixed = permutation(source, len(labels))
    taken = mixed[np.argsort(labels[mixed], kind="stable")]
    order = np.empty(len(labels), dtype=np.int64)
    order[np.argsort(labels, kind="stable")] = taken
    return order
