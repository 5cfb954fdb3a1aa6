"""Tables chosen in rounds: fit a model to what is published, choose a table that it fits badly, measure it, and again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.anonymize.measure.bins import AttributeBins
from shoal.anonymize.measure.count import ExactTables
from shoal.anonymize.measure.once import distance, gain
from shoal.anonymize.measure.tables import NoisyTable, axes_of, measurements_of
from shoal.chance.source import Source
from shoal.data.cells import AttributeCells
from shoal.errors import PreconditionError

if TYPE_CHECKING:
    from shoal.guarantee.noisy_counts import CountsSetting
    from shoal.model.fit import FittedModel

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Group = tuple[str, ...]
Expect = Callable[[Sequence[NoisyTable]], Callable[[Group], Floats]]
"""Fits a model to published tables, and gives the table that it expects of any group, in bins."""
Publish = Callable[[Numbers, Group], NoisyTable]
"""Adds noise to an exact table."""
FITS = 6
"""The number of times that a model is fitted, at most: in between, tables are chosen by the scores of the same model."""
MOST_SCORED = 3_000
"""Candidates that are counted and scored, at most; of more, those whose attributes depend most on each other in pairs."""


class ModelFit:
    """Fits a model to published tables again and again, each fit from where the last one ended."""

    def __init__(self, cells: Sequence[AttributeCells], bins: Mapping[str, AttributeBins], source: Source) -> None:
        self._cells, self._bins, self._source = cells, bins, source
        self._place = {each.name: number for number, each in enumerate(cells)}
        self._last: FittedModel | None = None

    def __call__(self, tables: Sequence[NoisyTable]) -> Callable[[Group], Floats]:
        from shoal.model.fit import fit

        found = fit(axes_of(self._cells), measurements_of(self._cells, tables), source=self._source, start=self._last)
        self._last = found
        return lambda group: found.table(
            tuple(self._place[name] for name in group), tuple(self._bins[name].of_cell for name in group)
        )


def useful_groups(
    groups: Sequence[Group], bins: Mapping[str, AttributeBins], total: float, sigma: Fraction, least: int
) -> list[Group]:
    """The groups whose tables the noise leaves something of: those that would gain if all records were elsewhere than expected.

    Where these are fewer than `least`, the groups with the fewest entries are taken. Published numbers alone decide.
    """
    entries = [math.prod(len(bins[name]) for name in group) for group in groups]
    found = [number for number, own in enumerate(entries) if gain(2 * total, sigma, own) >= 0.01 * total]
    if len(found) < least:
        found = sorted(np.argsort(entries, kind="stable")[:least].tolist())
    return [groups[number] for number in found]


def most_dependent(groups: Sequence[Group], expected: Callable[[Group], Floats], most: int) -> list[Group]:
    """The groups whose pairs of attributes have the most mutual information together, by a model of what is published.

    They keep their order. A table of three attributes that depend on each other in no pair is not among them: there are too many
    to look at all.
    """
    if len(groups) <= most:
        return list(groups)
    from shoal.model.paths import information

    known: dict[Group, float] = {}
    sums = []
    for group in groups:
        pairs = list(combinations(group, 2))
        for pair in pairs:
            if pair not in known:
                known[pair] = information(np.maximum(expected(pair), 0.0))
        sums.append(math.fsum(known[pair] for pair in pairs))
    taken = np.sort(np.argsort(-np.array(sums), kind="stable")[:most])
    return [groups[number] for number in taken.tolist()]


def measure_in_rounds(
    setting: CountsSetting,
    groups: Sequence[Group],
    before: Sequence[NoisyTable],
    bins: Mapping[str, AttributeBins],
    exact: ExactTables,
    expect: Expect,
    publish: Publish,
    source: Source,
    progress: Callable[[int], None] = lambda _: None,
) -> list[NoisyTable]:
    """The tables of all rounds. Each choice is one draw of the exponential mechanism, given all that is published by then.

    Where tables that the plan names come first, their model says enough, and all tables are chosen by its scores.
    """
    (rounds, sigma), *_ = setting.tables
    if setting.choice_epsilon is None:
        raise PreconditionError("bounded-range", "a choice without a price", fix="solve the setting for rounds")
    factor = setting.choice_epsilon / (2 * setting.score_change)
    left = list(groups)
    made: list[NoisyTable] = []
    together = rounds if setting.first is not None else -(-rounds // FITS)
    while len(made) < rounds:
        progress(len(made))
        expected = expect([*before, *made])
        left = most_dependent(left, expected, max(MOST_SCORED, rounds))
        scores = []
        for group, found in zip(left, exact.count_again(left, bins), strict=True):
            scores.append(math.floor(gain(distance(found, expected(group)), sigma, found.size)))
        chosen: list[Group] = []
        for _ in range(min(together, rounds - len(made))):
            at = source.choose_by_score(np.array(scores, dtype=np.int64), factor)
            chosen.append(left.pop(at))
            scores.pop(at)
        made += [publish(found, group) for group, found in zip(chosen, exact.count_again(chosen, bins), strict=True)]
    return made
