"""Views: many narrow tables of one table, whose recodings, choice and samples take few passes over the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal.anonymize.generalize.base import Partition, Recoding
from shoal.anonymize.method.safe_k import SafeK
from shoal.chance.source import Source
from shoal.data.cells import AttributeCells, cells_of
from shoal.data.type import texts
from shoal.engine.base import ABSENT, Counts, RecodeRequest, Table
from shoal.guarantee.compose import MeasurementBudget, measurement_budgets
from shoal.progress import Stage

MOST_AT_ONCE = 4096
"""The most views that are read in one pass."""
BINS = {1: 4096, 2: 64, 3: 16}
"""The most bins of an attribute in which dependence is measured, by the number of attributes of a view."""


def settle_all(
    table: Table, partitions: Sequence[Partition], source: Source, stage: Stage = lambda _: None
) -> list[Recoding]:
    """The recoding of each view, decided on the whole table; the counts for all of them take few passes."""
    found: list[Recoding | None] = [
        None if partition.epsilon else partition.settle(table, source, stage) for partition in partitions
    ]
    open_ones = [number for number, recoding in enumerate(found) if recoding is None]
    if open_ones:
        stage("choosing the recodings")
    for first in range(0, len(open_ones), MOST_AT_ONCE):
        batch = open_ones[first : first + MOST_AT_ONCE]
        counted = table.recode_many([_ask(partitions[number], source) for number in batch])
        for number, kept in zip(batch, counted, strict=True):
            partition = partitions[number]
            found[number] = partition.decide(kept.count_by(partition.columns), source.stream("view"), stage)
    return [recoding for recoding in found if recoding is not None]


def _ask(partition: Partition, source: Source) -> RecodeRequest:
    """The recoding of all rows, or of a separate sample where the partition is decided on one."""
    mask = source.row_mask(partition.rate).keep if partition.rate < 1 else None
    return RecodeRequest(partition.levels, mask)


def draw_all(
    table: Table, methods: Sequence[SafeK], recodings: Sequence[Recoding], source: Source, stage: Stage = lambda _: None
) -> Iterator[Table]:
    """The published table of each view, each from a sample of its own, in order.

    `table` holds at most m rows of each person already; which ones they are is the same for all views.
    """
    for first in range(0, len(methods), MOST_AT_ONCE):
        batch = range(first, min(first + MOST_AT_ONCE, len(methods)))
        stage("sampling")
        asks = [
            RecodeRequest(recodings[number].levels, source.row_mask(methods[number].promise.beta).keep)
            for number in batch
        ]
        for number, sampled in zip(batch, table.recode_many(asks), strict=True):
            labelled = recodings[number].finish(sampled)
            yield labelled.suppress_below(labelled.columns, methods[number].promise.k)


def choose_views(
    table: Table, candidates: Sequence[tuple[str, ...]], count: int, epsilon: Fraction, source: Source
) -> list[tuple[str, ...]]:
    """The views that depend most, one draw of the exponential mechanism after another (theorem `view-choice`).

    Half of epsilon buys a noisy histogram of every attribute. Given those, a view's score is how far its counts are from
    what they would be if its attributes were independent, less what sampling noise alone would make of it: a record moves it by
    at most one. The other half is shared out between the draws.
    """
    names = list(dict.fromkeys(name for group in candidates for name in group))
    pieces = {name: cells_of(table.schema[name]) for name in names}
    width = max(len(group) for group in candidates)
    bins = {name: _bins(pieces[name], BINS.get(width, 16)) for name in names}
    (measurement,) = measurement_budgets(epsilon / 2, len(names), (Fraction(1),), Fraction(1, 10))
    shares, total = _marginals(table, pieces, bins, measurement, source)
    scores = []
    for first in range(0, len(candidates), MOST_AT_ONCE):
        batch = candidates[first : first + MOST_AT_ONCE]
        counted = table.recode_many(
            [RecodeRequest({name: pieces[name].level for name in group}, None) for group in batch]
        )
        for group, kept in zip(batch, counted, strict=True):
            scores.append(_score(kept.count_by(group), group, pieces, bins, shares, total))
    left, found = list(range(len(candidates))), []
    for _ in range(count):
        at = source.choose([epsilon / 2 / count * scores[number] / 2 for number in left])
        found.append(left.pop(at))
    return [candidates[number] for number in sorted(found)]


def _bins(piece: AttributeCells, most: int) -> npt.NDArray[np.int64]:
    """Each cell's bin: runs of cells in their declared order, no more than `most`; the missing value has its own."""
    own = len(piece) - (piece.missing is not None)
    found = np.arange(own) * min(own, most) // own
    return np.append(found, found[-1] + 1) if piece.missing is not None else found


def _marginals(
    table: Table,
    pieces: dict[str, AttributeCells],
    bins: dict[str, npt.NDArray[np.int64]],
    measurement: MeasurementBudget,
    source: Source,
) -> tuple[dict[str, npt.NDArray[np.float64]], float]:
    """Noisy shares of the bins of every attribute, and the noisy number of records."""
    counted = table.recode_many([RecodeRequest({name: piece.level}, None) for name, piece in pieces.items()])
    total = max(1.0, float(table.rows() + int(source.discrete_laplace(1 / measurement.count, 1)[0])))
    shares = {}
    for (name, piece), kept in zip(pieces.items(), counted, strict=True):
        counts = kept.count_by([name])
        truth = np.bincount(bins[name][_cells(counts, 0, piece)], weights=counts.counts, minlength=bins[name][-1] + 1)
        noisy = truth.astype(np.int64) + source.discrete_laplace(1 / measurement.histogram, len(truth))
        positive = np.maximum(noisy, 0).astype(np.float64) + 0.5
        shares[name] = positive / positive.sum()
    return shares, total


def _score(
    counts: Counts,
    group: tuple[str, ...],
    pieces: dict[str, AttributeCells],
    bins: dict[str, npt.NDArray[np.int64]],
    shares: dict[str, npt.NDArray[np.float64]],
    total: float,
) -> int:
    """A whole number that one record moves by at most one: expected counts and the allowance for chance are constants."""
    shape = tuple(len(shares[name]) for name in group)
    places = np.zeros(len(counts), dtype=np.int64)
    for j, name in enumerate(group):
        places = places * shape[j] + bins[name][_cells(counts, j, pieces[name])]
    found = np.bincount(places, weights=counts.counts, minlength=int(np.prod(shape))).astype(np.int64)
    model = np.full((1,), total)
    for name in group:
        model = np.multiply.outer(model, shares[name]).ravel()
    expected = np.rint(model).astype(np.int64)
    chance = int(np.sqrt(2 / np.pi * model).sum())
    return int(np.abs(found - expected).sum()) - chance


def _cells(counts: Counts, j: int, piece: AttributeCells) -> npt.NDArray[np.int64]:
    """The cell of each tuple along one of its columns."""
    number = {label: i for i, label in enumerate(piece.labels)}
    places = np.array([number[text] for text in texts(counts.values[j])], dtype=np.int64)
    missing = piece.missing if piece.missing is not None else 0
    return np.where(counts.codes[j] == ABSENT, missing, np.append(places, 0)[counts.codes[j]])
