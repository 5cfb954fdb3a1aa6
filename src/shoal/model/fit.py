"""Fitting: from noisy tables to one joint model, tables that agree with each other, and rows.

1.  The total and each attribute's counts are combined over all tables, weighed by precision, and made non-negative;
    counts that noise drowns move towards an even division (`shrinkage`).
2.  Every measured table is weighed against independence, and one of three or more attributes against its parts.
3.  A mixture of products is fitted to all of them together (`mixture`), less weighed than in step 2: the joint model.
4.  Each attribute's counts and every measured table are weighed once more, against the mixture, and then raked
    to the common margins (`evidence`). Where the mixture is further from the counts than their noise, how much of this
    noise it follows is found out first (`_noise_followed`), and that part is not counted against the counts again.
    What this took from the association of a pair as a whole is estimated and given back (`shrinkage.lost_spread`).

All of it is a function of published numbers and of random bits, so it costs no privacy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal

import numpy as np

from shoal.chance.source import Source
from shoal.errors import UsageError
from shoal.model.divisions import Atoms, atoms_of
from shoal.model.draw import draw_rows
from shoal.model.evidence import TINY, Blocks, Collection, Evidence, rake, settle_margins, settle_tables
from shoal.model.measurement import Axis, Box, Floats, Ints, Mask, Measurement, check_input, check_size
from shoal.model.mixture import Mixture, TargetTable, fit_mixture, normal
from shoal.model.paths import implied_pairs
from shoal.model.shrinkage import unknown_spread, with_chance
from shoal.progress import Stage, report_progress, silent

Favour = Literal["counts", "associations"]
LEAST_VARIANCE = 1.0
"""A mixture is fitted to no entry more precisely than to one record; the tables are settled by what was measured afterwards."""
PULL = 0.2
"""How much of what is expected without a model reaches the mixture. All of it (1) takes from every entry what many entries
together say; none (0) lets the mixture follow the noise in tables of independent attributes."""
PERTURBATION = 0.5
"""Noise that is added to find out how much a mixture follows, in units of the noise that is there."""
MOST_FOLLOWED = 0.95
NEAR, FAR = 1.0, 20.0
"""Between these squared distances of a mixture from the counts, in units of their noise, it matters how much noise it follows:
nearer, the mixture tells more than the counts do; further, it hardly weighs beside them."""


@dataclass(frozen=True)
class FittedModel:
    """A joint model of all attributes, and tables that agree with each other for the sets that were measured.

    `table` gives expected counts of any attributes; `draw` gives synthetic rows. Both follow from published numbers alone.
    """

    axes: tuple[Axis, ...]
    total: float
    forbidden: tuple[Box, ...] = field(repr=False)
    atoms: tuple[Atoms, ...] = field(repr=False)
    shares: tuple[Floats, ...] = field(repr=False)
    """For each attribute the share of each cell in its atom."""
    margins: tuple[Floats, ...] = field(repr=False)
    mixture: Mixture = field(repr=False)
    settled: Mapping[Blocks, Floats] = field(repr=False)
    """The tables of measured sets, in atoms."""
    unknown: Mapping[Blocks, float] = field(repr=False)
    """For each measured pair how much larger the chi-square of the true counts is than that of the settled ones, on average."""

    def table(self, axes: Sequence[int], bins: Sequence[Ints] | None = None) -> Floats:
        """Give the expected counts of some attributes together, in cells or in the bins that are given for each.

        Raises     UsageError for an attribute that is not there or comes twice, for bins of another length, and for a
                   table with more than 20,000,000 entries.
        """
        axes = tuple(axes)
        if not axes or len({*axes}) < len(axes) or not all(0 <= axis < len(self.axes) for axis in axes):
            raise UsageError("a table of attributes that are not there or come twice", came=axes)
        if bins is not None and (
            len(bins) != len(axes)
            or any(len(own) != self.axes[axis].cells for own, axis in zip(bins, axes, strict=True))
        ):
            raise UsageError("a table needs the bin of every cell of each of its attributes")
        found = self.table_of_atoms(tuple(sorted(axes)))
        for place, axis in enumerate(sorted(axes)):
            own = np.arange(self.axes[axis].cells) if bins is None else np.asarray(bins[axes.index(axis)])
            atoms = self.atoms[axis]
            check_size([found.size // found.shape[place], int(own.max()) + 1])
            if bins is None and atoms.many == len(own):
                found = np.take(found, atoms.of_cell, place)
            else:
                matrix = atoms.spread(self.shares[axis], own)
                found = np.moveaxis(np.moveaxis(found, place, -1) @ matrix, -1, place)
        return np.ascontiguousarray(found.transpose([sorted(axes).index(axis) for axis in axes]))

    def table_of_atoms(self, axes: tuple[int, ...]) -> Floats:
        """Give the expected counts of attributes in rising order, in atoms: settled if measured, else raked to what is."""
        if len(axes) == 1:
            return self.margins[axes[0]]
        if axes in self.settled:
            return self.settled[axes]
        table = np.maximum(self.mixture.table(axes) * self.total, TINY)
        for box in self.forbidden:
            inside = self.inside(box, axes)
            if inside is not None:
                table = np.where(inside, 0.0, table)
        aims: list[tuple[tuple[int, ...], Floats]] = []
        for width in range(len(axes) - 1, 0, -1):
            for kept in combinations(range(len(axes)), width):
                part = tuple(axes[place] for place in kept)
                if width > 1 and part not in self.settled:
                    continue
                if not any({*kept} <= {*wider} for wider, _ in aims):
                    aims.append((kept, self.margins[part[0]] if width == 1 else self.settled[part]))
        return rake(table, aims)

    def inside(self, box: Box, axes: Sequence[int]) -> Mask | None:
        """Say which entries of a table of atoms lie in a box; None where the box also depends on other attributes."""
        if any(mask is not None and not mask.all() and axis not in axes for axis, mask in enumerate(box)):
            return None
        return inside_of(self.atoms, box, axes)

    def draw(self, rows: int, source: Source, stage: Stage = silent, *, favour: Favour = "counts") -> Ints:
        """Draw rows: for each attribute the number of a cell. Their tables are those of the model, up to rounding.

        Settled tables are as near to the true counts as can be, and associations in them are smaller than in the true ones.
        Rows that favour `associations` follow tables that deviate from independence as much as true ones do on average.

        Rows are those of the maximum entropy that the tables of all pairs, and measured ones of more attributes, allow (`gibbs`),
        which begins with rows of the mixture; then single values are changed as long as that brings these tables nearer to the
        model's. Where the tables are too large for it, rows are as the mixture draws them. Cells within an atom follow the
        attribute's own counts. No row lies in a forbidden box: rows of the mixture that do are drawn again, and moved out where
        nearly all do; no change leads into one. `stage` is told what is done.

        Raises     ParameterError for fewer than no rows; UsageError where forbidden boxes leave no row.
        """
        return draw_rows(self if favour == "counts" else self.with_chance(), rows, source, stage)

    def with_chance(self) -> FittedModel:
        """Give the model with associations as large as those of the true counts, which no longer are the nearest counts."""
        found: dict[Blocks, Floats] = {}
        for blocks in sorted(self.settled, key=lambda key: (len(key), key)):
            table = self.settled[blocks]
            if len(blocks) == 2:
                aims = [((place,), self.margins[axis]) for place, axis in enumerate(blocks)]
                found[blocks] = rake(with_chance(table, self.unknown[blocks]), aims)
                continue
            parts = combinations(range(len(blocks)), len(blocks) - 1)
            own = [(kept, found.get(tuple(blocks[place] for place in kept))) for kept in parts]
            found[blocks] = rake(table, [(kept, aim) for kept, aim in own if aim is not None])
        return replace(self, settled=found)


def inside_of(atoms: Sequence[Atoms], box: Box, axes: Sequence[int]) -> Mask:
    """Say which entries of a table of atoms lie in a box, as far as these attributes say."""
    found = np.ones((), dtype=np.bool_)
    for axis in axes:
        mask = box[axis]
        own = np.ones(atoms[axis].many, dtype=np.bool_)
        if mask is not None:
            own[atoms[axis].of_cell] = mask
        found = np.logical_and.outer(found, own)
    return found


def fit(
    axes: Sequence[Axis],
    measurements: Sequence[Measurement],
    *,
    source: Source,
    start: FittedModel | None = None,
    forbidden: Sequence[Box] = (),
    stage: Stage = silent,
) -> FittedModel:
    """Fit a model to noisy tables.

    `start` is an earlier fit of the same attributes from which the search begins. `forbidden` are boxes that no row may lie in.
    `stage` is told what is done.

    Raises     UsageError for measurements or boxes that do not belong to these attributes.
    """
    axes, forbidden = tuple(axes), tuple(forbidden)
    check_input(axes, measurements, forbidden)
    atoms = atoms_of(axes, measurements, forbidden)
    collection = Collection(atoms, measurements)
    zeros = _allowed(collection, forbidden)
    mixture = _mixture_of(axes, collection, zeros, source.stream("mixture"), start, stage)
    expect = _expected(collection, mixture)
    followed = 0.0
    if NEAR < _squared_distance(collection, expect) < FAR:
        other = Collection(atoms, _perturbed(measurements, source.stream("perturbation")))
        again = _mixture_of(axes, other, zeros, source.stream("perturbed mixture"), None, stage)
        followed = _noise_followed(collection, other, _expected(collection, again))
    stage("making the tables agree")
    margins = settle_margins(collection, [mixture.table([axis]) * collection.total for axis in range(len(axes))])
    settled, weighed = settle_tables(collection, margins, expect, zeros, followed)
    kept = {blocks: table for blocks, table in settled.items() if len(blocks) > 1 and max(blocks) < len(axes)}
    unknown: dict[Blocks, float] = {
        blocks: unknown_spread(
            weighed[blocks][1], np.multiply.outer(table.sum(1), table.sum(0)) / max(table.sum(), TINY)
        )
        for blocks, table in kept.items()
        if len(blocks) == 2
    }
    shares = tuple(collection.cells(axis, margins[axis]) for axis in range(len(axes)))
    return FittedModel(axes, collection.total, forbidden, atoms, shares, tuple(margins), mixture, kept, unknown)


def _mixture_of(
    axes: tuple[Axis, ...],
    collection: Collection,
    zeros: Mapping[Blocks, Floats],
    chance: Source,
    start: FittedModel | None,
    stage: Stage,
) -> Mixture:
    """Fit a mixture to what the measurements say: steps 1 to 3."""
    stage("weighing the tables")
    margins = settle_margins(collection, None)
    first, weighed = settle_tables(collection, margins, None, zeros)
    targets = [_target(blocks, collection.tables[blocks], *own) for blocks, own in weighed.items()]
    pairs = {(key[0], key[1]): table for key, table in first.items() if len(key) == 2 and key[1] < len(axes)}
    implied = implied_pairs(margins, pairs, collection.total)
    targets += [TargetTable(pair, mean, 1.0 / variance) for pair, (mean, variance) in implied.items()]
    begin = None if start is None else _carry_over(start, axes, collection.atoms, margins)
    report = report_progress(stage, "fitting a model")
    return fit_mixture(margins, collection.coarser, targets, collection.total, chance, begin, report)


def _expected(collection: Collection, mixture: Mixture) -> dict[Blocks, Floats]:
    """Give what a mixture expects of every measured table of two blocks and more."""
    return {
        blocks: collection.to_blocks(
            mixture.table([collection.axis_of(block) for block in blocks]) * collection.total, blocks
        )
        for blocks in collection.tables
        if len(blocks) > 1
    }


def _squared_distance(collection: Collection, expect: Mapping[Blocks, Floats]) -> float:
    """Give the mean squared distance of noisy counts from what is expected, in units of their noise; 0 without tables."""
    sums = [
        (
            np.square(table - collection.tables[blocks].values) / np.maximum(collection.tables[blocks].variance, TINY)
        ).sum()
        for blocks, table in expect.items()
    ]
    return float(sum(sums) / max(1, sum(table.size for table in expect.values())))


def _perturbed(measurements: Sequence[Measurement], chance: Source) -> list[Measurement]:
    """Give the measurements with more noise."""
    return [
        Measurement(
            each.axes,
            each.bins,
            each.values
            + PERTURBATION * np.sqrt(each.variance) * normal(chance, each.values.size).reshape(each.values.shape),
            np.asarray(each.variance, dtype=np.float64) * (1 + PERTURBATION**2),
        )
        for each in measurements
    ]


def _noise_followed(collection: Collection, other: Collection, expect: Mapping[Blocks, Floats]) -> float:
    """Give the part of the noise in the counts that a mixture follows: its degrees of freedom (Ye 1998), over the entries.

    What is expected was fitted to counts with more noise, which is known and has nothing to do with the counts themselves. So the
    mean product of the two is how far the noise moved the expectation. A mixture that follows a part c of the noise is nearer to
    the noisy counts than to the truth; weighed against it, noise counts as if its variance were 1 - c of what it is.
    """
    found, entries = 0.0, 0
    for blocks, table in expect.items():
        own = collection.tables[blocks]
        added = other.tables[blocks].values - own.values
        found += float(((table - own.values) * added / np.maximum(own.variance, TINY)).sum())
        entries += table.size
    return min(max(found / (PERTURBATION**2 * entries), 0.0), MOST_FOLLOWED)


def _target(blocks: Blocks, noisy: Evidence, mean: Floats, variance: Floats) -> TargetTable:
    """Give what the mixture is fitted to: a noisy table, with a part of the expectation that it was weighed against.

    Precisions add up: what the weighed table has beyond the noisy one is the expectation's, of which `PULL` is kept.
    """
    own = 1.0 / np.maximum(noisy.variance, TINY)
    precision = own + PULL * (1.0 / variance - own)
    center = (own * noisy.values + PULL * (mean / variance - own * noisy.values)) / precision
    return TargetTable(blocks, center, np.minimum(precision, 1.0 / LEAST_VARIANCE))


def _allowed(collection: Collection, forbidden: Sequence[Box]) -> dict[Blocks, Floats]:
    """Give, for each measured set in atoms that a forbidden box is about, one where rows may lie and zero elsewhere."""
    found: dict[Blocks, Floats] = {}
    for blocks in collection.tables:
        if max(blocks) >= len(collection.atoms):
            continue
        for box in forbidden:
            about = {axis for axis, mask in enumerate(box) if mask is not None and not mask.all()}
            if about <= {*blocks}:
                own = np.where(inside_of(collection.atoms, box, blocks), 0.0, 1.0)
                found[blocks] = own * found.get(blocks, 1.0)
    return found


def _carry_over(
    start: FittedModel, axes: tuple[Axis, ...], atoms: Sequence[Atoms], margins: Sequence[Floats]
) -> Mixture | None:
    """Give the mixture of an earlier fit in the atoms of this one; None where there were no classes yet."""
    if start.axes != axes:
        raise UsageError("the model to start from has other attributes")
    if len(start.mixture.shares) == 1:
        return None
    profiles = []
    for axis, own in enumerate(atoms):
        earlier = start.atoms[axis]
        # How much of each earlier atom belongs to each atom: by cells, where it was divided.
        many = np.bincount(earlier.of_cell * own.many + own.of_cell, minlength=earlier.many * own.many)
        parts = many.reshape(earlier.many, own.many) * (margins[axis] + TINY)
        profiles.append(start.mixture.profiles[axis] @ (parts / parts.sum(1, keepdims=True)))
    return Mixture(start.mixture.shares, tuple(profiles))
