"""Scores of quantiles one by one, for tests: the runs of equal candidates written out."""

from __future__ import annotations

import numpy as np


def every_score(query, table, name="quantile", shift=0, group=0):
    """The score of every candidate in order, for one target; of an end the open one comes first."""
    target = next(each for each in query.targets if each.name == name)
    scores, sizes, starts = query.scores(query.runs(table)[group], target, shift)
    first = 1 if target.side else 0
    ranks = [start + i for start, size in zip(starts[first:], sizes[first:], strict=True) for i in range(size)]
    assert ranks == list(range(query.candidates.low, query.candidates.high + 1))  # every candidate once, in order
    return np.repeat(scores, sizes)


def best(query, table):
    """The first candidate with the highest score."""
    return query.candidates.value(query.candidates.low + int(every_score(query, table).argmax()))
