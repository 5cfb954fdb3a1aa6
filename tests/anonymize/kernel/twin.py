"""The slow twin of the roll-up: every scheme of a lattice sorted and counted by itself."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from shoal.anonymize.kernel.rollup import GeneralizedColumn, Integers, Worth


def one_by_one(
    columns: Sequence[GeneralizedColumn], counts: Integers, worth: Worth, *, within: int | None = None
) -> Integers:
    """The numbers of `score_all`, each scheme sorted and counted by itself."""
    order = [at for at in range(len(columns)) if at != within] + ([] if within is None else [within])
    scores = []
    for place in product(*[range(len(column)) for column in columns]):
        rows = np.stack([columns[at].levels[place[at]][columns[at].codes] for at in order], axis=1)
        classes, of_row = np.unique(rows, axis=0, return_inverse=True)
        sizes = np.zeros(len(classes), dtype=np.int64)
        np.add.at(sizes, of_row.ravel(), counts)
        new = np.append(True, np.any(classes[1:, :-1] != classes[:-1, :-1], axis=1))[: len(classes)]
        scores.append(worth(sizes, None if within is None else np.flatnonzero(new)))
    return np.array(scores, dtype=np.int64)
