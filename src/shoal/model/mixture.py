"""A mixture of products: the joint model. Each class draws every attribute independently; the classes make the dependence.

Any table of a mixture is a sum over its classes, so it is computed exactly at any width, and the work of a fit grows with
the number of entries of the tables, not with the size of the domain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from threadpoolctl import threadpool_limits

from shoal.chance.source import Source
from shoal.model.measurement import Floats, check_size
from shoal.progress import Progress

Singles = npt.NDArray[np.float32]
Number = TypeVar("Number", Singles, Floats)
CLASSES = 256
LEAST_CLASSES = 32
WORK = 1.2e11
"""Multiplications that a fit takes at most: fewer classes and then fewer steps where the tables are large."""
STEPS = 1000
LEAST_STEPS = 120
RATE = 0.1
WARM = 20
SPREAD = 0.25
"""How far the classes start apart: the standard deviation of their logits around the attribute's own."""
PLAIN = 25.0
"""What a nat of information between class and attribute costs, in units of the log-likelihood of one table, for every table that
an attribute is in on average: the more tables a class has to please, the more noise it could follow."""
TINY = 1e-6


@dataclass(frozen=True)
class TargetTable:
    """A table that a mixture is fitted to: its blocks (a block is an attribute in some division), and counts with precisions."""

    blocks: tuple[int, ...]
    mean: Floats = field(repr=False)
    precision: Floats = field(repr=False)


@dataclass(frozen=True)
class Mixture:
    """Classes with their shares, and in each class a distribution for each attribute."""

    shares: Floats = field(repr=False)
    profiles: tuple[Floats, ...] = field(repr=False)
    """For each attribute: one row for each class."""

    def table(self, axes: Sequence[int]) -> Floats:
        """Give the distribution of some attributes together."""
        shape = [self.profiles[axis].shape[1] for axis in axes]
        check_size(shape)
        if len(axes) == 1:
            return np.asarray(self.shares @ self.profiles[axes[0]])
        half = max(1, len(axes) // 2)
        found = np.zeros((prod(shape[:half]), prod(shape[half:])))
        step = max(1, 4_000_000 // max(found.shape))
        for start in range(0, len(self.shares), step):
            part = slice(start, start + step)
            one = self.shares[part, None]
            for axis in axes[:half]:
                one = _outer(one, self.profiles[axis][part])
            other = self.profiles[axes[half]][part]
            for axis in axes[half + 1 :]:
                other = _outer(other, self.profiles[axis][part])
            found += one.T @ other
        return found.reshape(shape)


def _outer(one: Number, other: Number) -> Number:
    return (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)


def normal(source: Source, size: int) -> Floats:
    """Draw normal numbers, for a search that starts or is tried at random; no noise that protects anybody."""
    words = source.words(size) >> np.uint64(11)
    return np.asarray(ndtri((words.astype(np.float64) + 0.5) * 2.0**-53))


def independent(margins: Sequence[Floats]) -> Mixture:
    """Make the mixture of one class: independent attributes."""
    return Mixture(np.ones(1), tuple((own / own.sum())[None, :] for own in margins))


def fit_mixture(
    margins: Sequence[Floats],
    coarser: Sequence[tuple[int, Floats]],
    targets: Sequence[TargetTable],
    total: float,
    source: Source,
    start: Mixture | None = None,
    progress: Progress = lambda _done, _total: None,
) -> Mixture:
    """Fit a mixture to tables: the least sum of squared differences, each weighed by its precision, and of what classes say.

    Tables of few attributes leave open what holds for more of them together. Among mixtures that agree with the tables, those
    whose classes say little about the attributes (their mutual information, summed over attributes) assume least.

    Block j < d is attribute j in its atoms; the others are (attribute, matrix from its atoms to bins). Steps are those of
    Adam (Kingma and Ba 2015) on logits, with a rate that rises for a few steps and then falls to nothing;
    `progress` is told how many were taken, of how many.
    """
    wide = [each for each in targets if len(each.blocks) > 1]
    if not wide:
        return independent(margins)
    entries = sum(each.mean.size for each in wide)
    classes = int(min(CLASSES, max(LEAST_CLASSES, WORK / (6.0 * entries * LEAST_STEPS))))
    steps = int(min(STEPS, max(LEAST_STEPS, WORK / (6.0 * entries * classes))))
    problem = _Problem(margins, coarser, targets, total)
    logits, shares = problem.begin(classes, source) if start is None else problem.resume(start)
    moves = _Moves(logits), _Moves(shares)
    # A step multiplies many small matrices. Threads that share one of them wait for each other longer than they work.
    with threadpool_limits(1):
        for step in range(1, steps + 1):
            slopes = problem.slope(logits, shares)
            rate = RATE * min(1.0, step / WARM) * (0.01 + 0.99 * 0.5 * (1 + np.cos(np.pi * step / steps)))
            for move, slope in zip(moves, slopes, strict=True):
                move.go(slope, rate, step)
            progress(step, steps)
    return problem.mixture(logits, shares)


class _Moves:
    """The steps of Adam in one array, which is changed in place."""

    def __init__(self, value: Singles) -> None:
        self.value, self.first, self.second = value, np.zeros_like(value), np.zeros_like(value)

    def go(self, slope: Singles, rate: float, step: int) -> None:
        """Take one step against the slope, scaled by how large slopes have been."""
        self.first += np.float32(0.1) * (slope - self.first)
        self.second += np.float32(0.01) * (slope * slope - self.second)
        size = np.sqrt(self.second / np.float32(1 - 0.99**step)) + np.float32(1e-12)
        self.value -= np.float32(rate / (1 - 0.9**step)) * self.first / size


class _Problem:
    """The sum of squares and its slope, with the tables of two blocks grouped by their first block."""

    def __init__(
        self,
        margins: Sequence[Floats],
        coarser: Sequence[tuple[int, Floats]],
        targets: Sequence[TargetTable],
        total: float,
    ) -> None:
        many = sum(len(each.blocks) for each in targets if len(each.blocks) > 1)
        self.plain = np.float32(PLAIN * many / len(margins) / total)
        self.margins = [np.maximum(own / own.sum(), TINY) for own in margins]
        self.coarser = [(axis, matrix.astype(np.float32)) for axis, matrix in coarser]
        sizes = [len(own) for own in margins] + [matrix.shape[1] for _, matrix in coarser]
        ends = np.cumsum([0, *sizes])
        self.where = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self.atoms, self.width = int(ends[len(margins)]), int(ends[-1])
        self.singles: list[tuple[slice, Singles, Singles]] = []
        self.wider: list[tuple[tuple[int, ...], Singles, Singles]] = []
        grouped: dict[int, list[TargetTable]] = {}
        for each in targets:
            mean, precision = self._scaled(each, total)
            if len(each.blocks) == 1:
                self.singles.append((self.where[each.blocks[0]], mean, precision))
            elif len(each.blocks) == 2:
                grouped.setdefault(each.blocks[0], []).append(each)
            else:
                shape = (-1, mean.shape[-1])
                self.wider.append((each.blocks, mean.reshape(shape), precision.reshape(shape)))
        self.pairs: list[tuple[slice, slice | npt.NDArray[np.int64], Singles, Singles]] = []
        for first, several in sorted(grouped.items()):
            several.sort(key=lambda each: each.blocks[1])
            others = np.concatenate([np.arange(self.width)[self.where[each.blocks[1]]] for each in several])
            straight = bool((np.diff(others) == 1).all())
            numbers = [self._scaled(each, total) for each in several]
            self.pairs.append((
                self.where[first],
                slice(int(others[0]), int(others[-1]) + 1) if straight else others,
                np.concatenate([mean for mean, _ in numbers], axis=1),
                np.concatenate([precision for _, precision in numbers], axis=1),
            ))  # fmt: skip

    @staticmethod
    def _scaled(target: TargetTable, total: float) -> tuple[Singles, Singles]:
        return (target.mean / total).astype(np.float32), (target.precision * total).astype(np.float32)

    def begin(self, classes: int, source: Source) -> tuple[Singles, Singles]:
        """Give classes that differ at random from the attributes' own distributions."""
        apart = normal(source, classes * self.atoms).reshape(classes, self.atoms)
        logits = np.log(np.concatenate(self.margins))[None, :] + SPREAD * apart
        return logits.astype(np.float32), np.zeros(classes, dtype=np.float32)

    def resume(self, start: Mixture) -> tuple[Singles, Singles]:
        """Give the classes of an earlier fit."""
        logits = np.log(np.maximum(np.concatenate(start.profiles, axis=1), 1e-12)).astype(np.float32)
        return logits, np.log(np.maximum(start.shares, 1e-12)).astype(np.float32)

    def _profiles(self, logits: Singles) -> Singles:
        found = np.empty((len(logits), self.width), dtype=np.float32)
        for number in range(len(self.margins)):
            part = self.where[number]
            own = logits[:, part]
            raised = np.exp(own - own.max(1, keepdims=True))
            found[:, part] = raised / raised.sum(1, keepdims=True)
        for (axis, matrix), part in zip(self.coarser, self.where[len(self.margins) :], strict=True):
            found[:, part] = found[:, self.where[axis]] @ matrix
        return found

    def mixture(self, logits: Singles, shares: Singles) -> Mixture:
        """Give the mixture of these logits."""
        profiles = self._profiles(logits).astype(np.float64)
        raised = np.exp(shares.astype(np.float64) - shares.max())
        own = [profiles[:, self.where[number]] for number in range(len(self.margins))]
        return Mixture(raised / raised.sum(), tuple(each / each.sum(1, keepdims=True) for each in own))

    def slope(self, logits: Singles, shares: Singles) -> tuple[Singles, Singles]:
        """Give the slope of half the weighted sum of squares, in the logits and in those of the shares."""
        profiles = self._profiles(logits)
        weight = np.exp(shares - shares.max())
        weight /= weight.sum()
        slope = np.zeros_like(profiles)
        pull = np.zeros_like(weight)
        for part, mean, precision in self.singles:
            gap = (weight @ profiles[:, part] - mean) * precision
            slope[:, part] += gap
            pull += profiles[:, part] @ gap
        for part, others, mean, precision in self.pairs:
            one, many = profiles[:, part], profiles[:, others]
            gap = ((one * weight[:, None]).T @ many - mean) * precision
            back = many @ gap.T
            slope[:, part] += back
            pull += np.einsum("ij,ij->i", one, back)
            slope[:, others] += one @ gap
        for blocks, mean, precision in self.wider:
            self._add_wider([self.where[block] for block in blocks], mean, precision, profiles, weight, slope, pull)
        own = profiles[:, : self.atoms]
        told = self.plain * np.log(np.maximum(own, np.float32(1e-12)) / np.maximum(weight @ own, np.float32(1e-12)))
        slope[:, : self.atoms] += told
        pull += np.einsum("ij,ij->i", own, told)
        slope *= weight[:, None]
        return self._to_logits(profiles, slope), weight * (pull - weight @ pull)

    @staticmethod
    def _add_wider(
        parts: Sequence[slice], mean: Singles, precision: Singles,
        profiles: Singles, weight: Singles, slope: Singles, pull: Singles,
    ) -> None:  # fmt: skip
        chain = [profiles[:, parts[0]]]
        for part in parts[1:-1]:
            chain.append(_outer(chain[-1], profiles[:, part]))
        last = profiles[:, parts[-1]]
        gap = ((chain[-1] * weight[:, None]).T @ last - mean) * precision
        back = last @ gap.T
        slope[:, parts[-1]] += chain[-1] @ gap
        pull += np.einsum("ij,ij->i", chain[-1], back)
        for number in range(len(parts) - 2, 0, -1):
            before, own = chain[number - 1], profiles[:, parts[number]]
            cube = back.reshape(len(weight), before.shape[1], own.shape[1])
            slope[:, parts[number]] += np.einsum("ki,kij->kj", before, cube)
            back = np.einsum("kij,kj->ki", cube, own)
        slope[:, parts[0]] += back

    def _to_logits(self, profiles: Singles, slope: Singles) -> Singles:
        for (axis, matrix), part in zip(self.coarser, self.where[len(self.margins) :], strict=True):
            slope[:, self.where[axis]] += slope[:, part] @ matrix.T
        found = slope[:, : self.atoms] * profiles[:, : self.atoms]
        for number in range(len(self.margins)):
            part = self.where[number]
            found[:, part] -= profiles[:, part] * found[:, part].sum(1, keepdims=True)
        return found
