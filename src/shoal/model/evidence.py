"""What the measurements say about each set of attributes: tables added up to their subsets, and combined by precision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from shoal.model.divisions import Atoms
from shoal.model.measurement import Floats, Ints, Measurement
from shoal.model.shrinkage import lost_spread, project, shrink

RIDGE = 1e-9
RAKE_STEPS = 40
TINY = 1e-9
Blocks = tuple[int, ...]


@dataclass(frozen=True)
class Evidence:
    """Counts of a set of blocks, and their variances. A block is an attribute in its atoms, or in a coarser division."""

    values: Floats = field(repr=False)
    variance: Floats = field(repr=False)


class Collection:
    """The evidence of all measurements. Block j is attribute j in its atoms; `coarser` has (attribute, matrix) of the others."""

    def __init__(self, atoms: Sequence[Atoms], measurements: Sequence[Measurement]) -> None:
        self.atoms = atoms
        self.coarser: list[tuple[int, Floats]] = []
        self._numbers: dict[tuple[int, bytes], int] = {}
        self.total, self.total_variance = _total(measurements)
        gathered: dict[Blocks, list[tuple[Floats, Floats]]] = {}
        for each in measurements:
            if len(each.axes) > 1:
                self._add(each, gathered)
        self.tables: dict[Blocks, Evidence] = {key: _combine(several) for key, several in gathered.items()}
        self._alone = [each for each in measurements if len(each.axes) == 1]

    def axis_of(self, block: int) -> int:
        """Give the attribute of a block."""
        return block if block < len(self.atoms) else self.coarser[block - len(self.atoms)][0]

    def to_blocks(self, table: Floats, blocks: Blocks) -> Floats:
        """Add a table of atoms up to the divisions of these blocks."""
        for place, block in enumerate(blocks):
            if block >= len(self.atoms):
                matrix = self.coarser[block - len(self.atoms)][1]
                table = np.moveaxis(np.moveaxis(table, place, -1) @ matrix, -1, place)
        return table

    def _add(self, measurement: Measurement, gathered: dict[Blocks, list[tuple[Floats, Floats]]]) -> None:
        values = measurement.values
        variance = np.broadcast_to(np.asarray(measurement.variance, dtype=np.float64), values.shape)
        blocks = []
        for place, (axis, bins) in enumerate(zip(measurement.axes, measurement.bins, strict=True)):
            own = self.atoms[axis].bins_of(bins)
            if own is None:
                raise AssertionError  # atoms are never wider than the bins of a wide table
            if self.atoms[axis].many == values.shape[place]:
                values, variance = np.take(values, own, place), np.take(variance, own, place)
                blocks.append(axis)
            else:
                blocks.append(self._block(axis, own, values.shape[place]))
        order = np.argsort(blocks)
        values, variance = values.transpose(order), variance.transpose(order)
        key = tuple(blocks[place] for place in order)
        for subset, rest in _subsets(key):
            gathered.setdefault(subset, []).append((values.sum(rest), variance.sum(rest)))

    def _block(self, axis: int, bins: Ints, many: int) -> int:
        key = (axis, bins.tobytes())
        if key not in self._numbers:
            self._numbers[key] = len(self.atoms) + len(self.coarser)
            self.coarser.append((axis, np.eye(many)[bins]))
        return self._numbers[key]

    def margin(self, axis: int) -> tuple[Floats, Floats]:
        """Give the counts of an attribute's atoms and their variances: generalised least squares over all tables that hold it."""
        atoms = self.atoms[axis]
        direct: list[tuple[Floats, Floats]] = []
        indirect: list[tuple[Floats, Floats, Floats]] = []
        for each in self._alone:
            if each.axes[0] != axis:
                continue
            variance = np.broadcast_to(np.asarray(each.variance, dtype=np.float64), each.values.shape)
            bins, many = each.bins[0], len(each.values)
            own = atoms.bins_of(bins)
            if own is not None and many < atoms.many:
                indirect.append((np.eye(many)[own].T, each.values, variance))
                continue
            home = np.empty(many, dtype=np.int64)
            home[bins] = atoms.of_cell
            direct.append((_add_up(home, each.values, atoms.many), _add_up(home, variance, atoms.many)))
        for blocks, evidence in self.tables.items():
            if len(blocks) == 1 and self.axis_of(blocks[0]) == axis:
                if blocks[0] == axis:
                    direct.append((evidence.values, evidence.variance))
                else:
                    matrix = self.coarser[blocks[0] - len(self.atoms)][1]
                    indirect.append((matrix.T, evidence.values, evidence.variance))
        if not direct and not indirect:
            even = np.bincount(atoms.of_cell, minlength=atoms.many).astype(np.float64)
            return self.total * even / even.sum(), np.full(atoms.many, self.total**2)
        if not indirect:
            found = _combine(direct)
            return found.values, found.variance
        return _least_squares(direct, indirect, atoms, self.total)

    def cells(self, axis: int, margin: Floats) -> Floats:
        """Give the share of each cell in its atom: from tables of the attribute alone, weighed against an even division."""
        atoms = self.atoms[axis]
        sizes = np.bincount(atoms.of_cell, minlength=atoms.many)
        even = 1.0 / sizes[atoms.of_cell]
        direct = [
            (
                each.values[each.bins[0]],
                np.broadcast_to(np.asarray(each.variance, dtype=np.float64), each.values.shape)[each.bins[0]],
            )
            for each in self._alone
            if each.axes[0] == axis and len(each.values) == len(atoms.of_cell)
        ]
        if not direct or atoms.many == len(even):
            return even
        found = _combine(direct)
        expected = margin[atoms.of_cell] * even
        counts = np.maximum(shrink(found.values, found.variance, expected)[0], 0.0)
        sums = np.bincount(atoms.of_cell, counts, atoms.many)
        share = counts / np.where(sums > 0, sums, 1.0)[atoms.of_cell]
        return np.where(sums[atoms.of_cell] > 0, share, even)


def _add_up(home: Ints, values: Floats, many: int) -> Floats:
    return np.bincount(home, values, many).astype(np.float64)


def _total(measurements: Sequence[Measurement]) -> tuple[float, float]:
    """Give the number of records and its variance: the mean over all tables, weighed by precision; at least one."""
    sums = np.array([each.values.sum() for each in measurements])
    variance = np.array([
        np.broadcast_to(np.asarray(each.variance, dtype=np.float64), each.values.shape).sum() for each in measurements
    ])  # fmt: skip
    weight = 1.0 / np.maximum(variance, TINY)
    return max(float(sums @ weight / weight.sum()), 1.0), float(1.0 / weight.sum())


def _subsets(key: Blocks) -> Iterator[tuple[Blocks, tuple[int, ...]]]:
    """Every part of a set of blocks, with the places that are left out."""
    places = range(len(key))
    for width in range(1, len(key) + 1):
        for kept in combinations(places, width):
            yield tuple(key[place] for place in kept), tuple(place for place in places if place not in kept)


def _combine(several: Sequence[tuple[Floats, Floats]]) -> Evidence:
    if len(several) == 1:
        return Evidence(*several[0])
    weights = [1.0 / np.maximum(variance, TINY) for _, variance in several]
    whole = sum(weights[1:], weights[0])
    parts = [values * weight for (values, _), weight in zip(several, weights, strict=True)]
    return Evidence(sum(parts[1:], parts[0]) / whole, 1.0 / whole)


def _least_squares(
    direct: Sequence[tuple[Floats, Floats]],
    indirect: Sequence[tuple[Floats, Floats, Floats]],
    atoms: Atoms,
    total: float,
) -> tuple[Floats, Floats]:
    """Combine counts of atoms with counts of unions of atoms; what nobody tells apart is divided evenly by cells."""
    even = np.bincount(atoms.of_cell, minlength=atoms.many).astype(np.float64)
    center = total * even / even.sum()
    matrix = np.diag(np.full(atoms.many, RIDGE / total))
    right = center * RIDGE / total
    for values, variance in direct:
        weight = 1.0 / np.maximum(variance, TINY)
        matrix[np.diag_indices(atoms.many)] += weight
        right = right + weight * values
    for sums, values, variance in indirect:
        weight = 1.0 / np.maximum(variance, TINY)
        matrix += (sums.T * weight) @ sums
        right = right + sums.T @ (weight * values)
    inverse = np.linalg.inv(matrix)
    return inverse @ right, np.diag(inverse).copy()


def settle_margins(collection: Collection, expect: Sequence[Floats] | None) -> list[Floats]:
    """Give the counts of every attribute: weighed against an expectation (even, without a model), with the common total."""
    found = []
    for axis, atoms in enumerate(collection.atoms):
        values, variance = collection.margin(axis)
        expected = np.full(atoms.many, collection.total / atoms.many) if expect is None else expect[axis]
        found.append(project(shrink(values, variance, expected)[0], variance, collection.total))
    return found


def rake(table: Floats, aims: Sequence[tuple[tuple[int, ...], Floats]], steps: int = RAKE_STEPS) -> Floats:
    """Give the nearest table in relative entropy with these margins: each aim is (places, counts)."""
    places = range(table.ndim)
    rests = [tuple(place for place in places if place not in kept) for kept, _ in aims]
    scale = max(float(table.sum()), TINY)
    for _ in range(steps):
        off = 0.0
        for (_, wanted), rest in zip(aims, rests, strict=True):
            found = table.sum(rest, keepdims=True)
            aim = wanted.reshape(found.shape)
            off = max(off, float(np.abs(found - aim).sum()))
            table = table * (aim / np.maximum(found, TINY))
        if off < 1e-6 * scale:
            break
    return table


def settle_tables(
    collection: Collection,
    margins: Sequence[Floats],
    expect: Mapping[Blocks, Floats] | None,
    zeros: Mapping[Blocks, Floats],
    followed: float = 0.0,
) -> tuple[dict[Blocks, Floats], dict[Blocks, tuple[Floats, Floats]]]:
    """Weigh the evidence of every set of blocks against its expectation, and rake the result to its subsets, narrow sets first.

    Without a model the expectation is independence for two blocks, and what their parts say for more. `followed` is the part of
    the noise that the expectation has followed. What weighing against a model took from the association of two blocks as a
    whole is given back. Gives the settled tables, and for each set the mean and variance before raking.
    """
    settled: dict[Blocks, Floats] = {}
    weighed: dict[Blocks, tuple[Floats, Floats]] = {}
    for blocks in sorted(collection.tables, key=lambda key: (len(key), key)):
        if len(blocks) == 1:
            settled[blocks] = collection.to_blocks(margins[collection.axis_of(blocks[0])], blocks)
            continue
        evidence = collection.tables[blocks]
        aims = [
            (kept, settled[tuple(blocks[place] for place in kept)])
            for kept in combinations(range(len(blocks)), len(blocks) - 1)
        ]
        if expect is None:
            expected = np.full((), collection.total)
            for block in blocks:
                expected = np.multiply.outer(expected, settled[block,] / collection.total)
            if len(blocks) > 2:
                expected = rake(np.maximum(expected, TINY), aims)
        else:
            expected = expect[blocks]
        mean, variance = shrink(evidence.values, (1.0 - followed) * evidence.variance, expected)
        weighed[blocks] = mean, variance
        table = np.maximum(project(mean.ravel(), variance.ravel(), collection.total).reshape(mean.shape), TINY)
        if blocks in zeros:
            table = table * zeros[blocks]
        settled[blocks] = rake(table, aims)
        if expect is not None and len(blocks) == 2:
            settled[blocks] = _widened(settled[blocks], evidence, aims, zeros.get(blocks))
    return settled, weighed


def _widened(
    table: Floats, evidence: Evidence, aims: Sequence[tuple[tuple[int, ...], Floats]], zeros: Floats | None
) -> Floats:
    """Give back to a settled table of two blocks the deviation from independence that weighing took from it as a whole."""
    independent = np.multiply.outer(table.sum(1), table.sum(0)) / max(float(table.sum()), TINY)
    factor = lost_spread(evidence.values, evidence.variance, independent, table)
    if factor == 1.0:
        return table
    wider = np.maximum(independent + factor * (table - independent), TINY)
    return rake(wider if zeros is None else wider * zeros, aims)
