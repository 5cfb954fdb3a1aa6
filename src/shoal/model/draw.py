"""Rows drawn from a fitted model with low rounding error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.chance.source import Source
from shoal.compilation import compile_kernel
from shoal.errors import ParameterError, UsageError
from shoal.model.descent import improve, improve_plain
from shoal.model.divisions import Atoms
from shoal.model.forbidden import find_outside, lies_in, move_out
from shoal.model.gibbs import MaximumEntropy, chains_for
from shoal.model.layout import Layout, layout_of, with_triples
from shoal.model.measurement import Floats, Ints, Mask
from shoal.progress import Progress, Stage, report_progress, silent

if TYPE_CHECKING:
    from shoal.model.fit import FittedModel

SWEEPS = 12
WORK = 4e9
"""Additions that all sweeps take at most, but for the first two: about five seconds."""
WORK_OF_TRIPLES = 3e9
"""The same for sweeps over triples; where two of them take more, triples are left as they were drawn."""
ENOUGH = 0.002
"""Rows are good enough when a sweep changes no more values for each row than this."""
MUCH = 100_000
"""Rows times pairs beyond which the loop is compiled: plain it takes a tenth of a second for so many."""
AGAIN = 40
"""How often rows that lie in a forbidden box are drawn again."""


def draw_rows(model: FittedModel, rows: int, source: Source, stage: Stage = silent) -> Ints:
    """Draw rows of cells; see `FittedModel.draw`. `stage` is told what is done."""
    if rows < 0:
        raise ParameterError("the number of rows to draw", came=rows, allowed="a whole number from 0")
    if rows == 0:
        return np.zeros((0, len(model.axes)), dtype=np.int64)
    chance = source.stream("rows")
    layout = layout_of(model, box_masks(model)) if len(model.axes) > 1 else None
    if layout is None:
        return _to_cells(model, _allowed_rows(model, rows, chance), chance)
    wanted = layout.wanted(model, rows)
    if len(model.axes) > 2:
        many = chains_for(layout, rows)
        begin = _allowed_rows(model, many, chance)
        entropy = MaximumEntropy(layout, layout.wanted(model, many), begin, chance, stage)
        codes = entropy.draw(rows)
        _approach_triples(entropy, layout, wanted, codes, chance, stage)
    else:
        codes = _allowed_rows(model, rows, chance)
    _approach(layout, wanted, codes, chance, WORK, report_progress(stage, "bringing pairs nearer"))
    return _to_cells(model, codes, chance)


def _approach_triples(
    entropy: MaximumEntropy, layout: Layout, wanted: Floats, codes: Ints, source: Source, stage: Stage
) -> None:
    """Bring the tables of all triples nearer to what the distribution expects of them, where that is not too much work.

    Rows that are drawn independently have an error of chance in every table. That of pairs is taken away at the end anyway; in
    a triple with thousands of entries it can be larger than all that the model does not know.
    """
    finer = with_triples(layout)
    if finer is None or 2 * len(codes) * finer.additions > WORK_OF_TRIPLES:
        return
    aim = entropy.expected(finer, len(codes))
    aim[finer.pairs] = wanted[layout.pairs]
    for group in layout.groups:
        aim[finer.values_of(group)] = wanted[layout.values_of(group)]
    _approach(finer, aim, codes, source, WORK_OF_TRIPLES, report_progress(stage, "bringing triples nearer"))


def _approach(layout: Layout, wanted: Floats, codes: Ints, source: Source, work: float, report: Progress) -> None:
    """Change single values of the rows while that brings the tables of a layout nearer, with so much work or two sweeps."""
    gaps = layout.count(codes) - wanted
    tables = len(layout.sizes) ** 2 + len(layout.wider.table)
    loop = compile_kernel(improve, improve_plain) if len(codes) * tables > MUCH else improve_plain
    each = len(codes) * layout.additions
    sweeps = int(min(SWEEPS, max(2.0, work / each)))
    for done in range(sweeps):
        report(done, sweeps)
        order = source.permutation(len(codes))
        changes = loop(codes, order, layout.sizes, layout.where, gaps, layout.first, layout.closed, *layout.wider)
        if changes <= ENOUGH * len(codes):
            break


def uniform(source: Source, size: int) -> Floats:
    """Numbers in [0, 1), on a grid of 2 ** -53."""
    return np.asarray((source.words(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def _from_mixture(model: FittedModel, rows: int, source: Source) -> Ints:
    """Draw rows of atoms from the mixture: classes, and values within a class, in proportion up to rounding."""
    mixture = model.mixture
    ends = np.cumsum(mixture.shares)
    start = uniform(source, 1)[0]
    home = np.minimum(np.searchsorted(ends / ends[-1], (np.arange(rows) + start) / rows, side="right"), len(ends) - 1)
    many = np.bincount(home, minlength=len(ends))
    first = np.cumsum(many) - many
    found = np.empty((rows, len(model.axes)), dtype=np.int64)
    for axis, profile in enumerate(mixture.profiles):
        order = source.shuffle_within(home)
        begin = uniform(source, len(ends))
        place = np.empty(rows)
        place[order] = (np.arange(rows) - first[home] + begin[home]) / many[home]
        steps = np.cumsum(profile, axis=1)
        steps /= steps[:, -1:]
        flat = (steps + np.arange(len(steps))[:, None]).ravel()
        at = np.searchsorted(flat, home + place, side="right") - home * profile.shape[1]
        found[:, axis] = np.clip(at, 0, profile.shape[1] - 1)
    return found


def _allowed_rows(model: FittedModel, rows: int, source: Source) -> Ints:
    """Draw rows of atoms, again where they lie in a forbidden box; where nearly all do, they are moved out of it."""
    codes = _from_mixture(model, rows, source)
    masks = box_masks(model)
    for _ in range(AGAIN):
        bad = np.flatnonzero(lies_in(masks, codes))
        if not len(bad):
            return codes
        codes[bad] = _from_mixture(model, max(4 * len(bad), 64), source)[
            source.permutation(max(4 * len(bad), 64))[: len(bad)]
        ]
    bad = np.flatnonzero(lies_in(masks, codes))
    if len(bad):  # nearly all rows of the model lie in boxes
        outside, _ = find_outside(masks, [atoms.many for atoms in model.atoms])
        if outside is None:
            raise UsageError("no row was found that lies in no forbidden box", fix="forbid less")
        codes[bad] = move_out(codes[bad], masks, model.margins, outside, source)
    return codes


def box_masks(model: FittedModel) -> list[tuple[Mask, ...]]:
    """Give each forbidden box as masks over the atoms of every attribute."""
    found = []
    for box in model.forbidden:
        own = []
        for atoms, mask in zip(model.atoms, box, strict=True):
            inside = np.ones(atoms.many, dtype=np.bool_)
            if mask is not None:
                inside[atoms.of_cell] = mask
            own.append(inside)
        found.append(tuple(own))
    return found


def _to_cells(model: FittedModel, codes: Ints, source: Source) -> Ints:
    """Give each row a cell within its atom, in proportion to the cells' shares up to rounding."""
    found = np.empty_like(codes)
    for axis, (atoms, shares) in enumerate(zip(model.atoms, model.shares, strict=True)):
        if atoms.many == len(atoms.of_cell):
            found[:, axis] = np.argsort(atoms.of_cell)[codes[:, axis]]
            continue
        found[:, axis] = _within(atoms, shares, codes[:, axis], source)
    return found


def _within(atoms: Atoms, shares: Floats, codes: Ints, source: Source) -> Ints:
    cells = np.argsort(atoms.of_cell, kind="stable")
    home = atoms.of_cell[cells]
    ends = np.cumsum(shares[cells])
    base = np.concatenate([[0.0], ends])[np.searchsorted(home, np.arange(atoms.many))]
    whole = np.bincount(home, shares[cells], atoms.many)
    flat = home + np.minimum((ends - base[home]) / whole[home], 1.0)
    many = np.bincount(codes, minlength=atoms.many)
    first = np.cumsum(many) - many
    mixed = source.permutation(len(codes))
    order = mixed[np.argsort(codes[mixed], kind="stable")]
    own = codes[order]
    begin = uniform(source, atoms.many)
    place = (np.arange(len(codes)) - first[own] + begin[own]) / many[own]
    at = np.searchsorted(flat, own + place, side="right")
    last = np.searchsorted(home, np.arange(atoms.many), side="right") - 1
    found = np.empty_like(codes)
    found[order] = cells[np.minimum(at, last[own])]
    return found
