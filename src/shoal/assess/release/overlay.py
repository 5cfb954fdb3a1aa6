"""A view laid over the atoms of its attributes: which box each cell of atoms lies in, and what the box showed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from shoal.assess.release.atoms import resolved
from shoal.assess.release.base import Loaded
from shoal.assess.release.view import View
from shoal.errors import UsageError, VerificationError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MOST_CELLS = 1_000_000
"""A view with more cells of atoms than this is too wide to be filled in cell by cell."""


@dataclass(frozen=True)
class Overlay:
    """`box` says in which box a cell of atoms lies; `counts` and `shown` say what each box showed."""

    axes: tuple[int, ...]
    k: int
    beta: float
    box: Ints
    counts: Floats
    shown: Mask
    even: Floats
    """How a box spreads its records when nothing else is known: evenly over what its label stands for."""
    alone: tuple[Mask, ...]
    """For each attribute: whether a box holds one atom of it alone."""

    def summed(self, table: Floats) -> Floats:
        """Sums over the cells of each box."""
        return np.bincount(self.box.ravel(), table.ravel(), len(self.counts)).astype(np.float64)

    def spread(self, amounts: Floats, like: Floats) -> Floats:
        """Each box's amount over its cells, in proportion to another table."""
        if len(self.counts) == self.box.size:
            return np.asarray(amounts[self.box])
        held = self.summed(like)
        flat = self.summed(self.even)
        bare = held <= 0
        like = np.where(bare[self.box], self.even, like)
        return np.asarray(amounts[self.box] * like / np.where(bare, flat, held)[self.box])

    def clear(self, place: int) -> Mask:
        """The cells whose box was published and says which atom of one attribute it is."""
        return np.asarray((self.shown & self.alone[place])[self.box])


def overlay(loaded: Loaded, view: View, names: Sequence[str]) -> Overlay:
    """Lay a view over the atoms of its attributes."""
    axes = [loaded.axis(name) for name in view.columns]
    shape = tuple(len(own) for own in axes)
    if prod(shape) > MOST_CELLS:
        raise UsageError(
            f"table '{view.name}' is too wide to be made consistent cell by cell",
            came=f"{prod(shape):,} cells",
            allowed=f"{MOST_CELLS:,} cells",
            fix="use count() and marginal(), which work on any table",
        )
    held = [own.held(resolved(own, view.meanings[name].labels)) for own, name in zip(axes, view.columns, strict=True)]
    codes, counts = view.published
    if view.listed is not None:
        box = np.full(shape, -1, dtype=np.int64)
        for number, labels in enumerate(view.listed):
            box[np.ix_(*(own[code] for own, code in zip(held, labels, strict=True)))] = number
        if (box < 0).any():
            raise VerificationError(f"table '{view.name}': its boxes leave a part of the domain out")
        place = {tuple(labels): number for number, labels in enumerate(view.listed.tolist())}
        found = np.array([place[tuple(code)] for code in codes.tolist()], dtype=np.int64)
        many = len(view.listed)
        alone = [(own.sum(1) == 1)[view.listed[:, j]] for j, own in enumerate(held)]
    else:
        label_of = [_label_of(own) for own in held]
        many_of = [max(len(own), int(label.max()) + 1) for own, label in zip(held, label_of, strict=True)]
        box = np.ravel_multi_index(np.ix_(*label_of), many_of).astype(np.int64)
        found = np.ravel_multi_index(tuple(codes.T), many_of).astype(np.int64)
        used = np.unique(np.concatenate([box.ravel(), found]))
        box = np.asarray(np.searchsorted(used, box.ravel()), dtype=np.int64).reshape(shape)
        found, many = np.searchsorted(used, found), len(used)
        single = [np.bincount(label, minlength=size) == 1 for label, size in zip(label_of, many_of, strict=True)]
        alone = [own[part] for own, part in zip(single, np.unravel_index(used, many_of), strict=True)]
    amounts = np.bincount(found, counts.astype(float), many).astype(np.float64)
    even = np.ones(())
    for own in axes:
        even = np.multiply.outer(even, np.maximum(own.sizes, 1e-6))
    return Overlay(
        tuple(names.index(name) for name in view.columns), view.k, float(view.beta), box, amounts, amounts > 0,
        np.asarray(even), tuple(alone),
    )  # fmt: skip


def _label_of(held: Mask) -> Ints:
    """The label of each atom; an atom that no label of this view holds gets one of its own, never published."""
    found = np.where(held.any(0), held.argmax(0), len(held) + np.arange(held.shape[1]))
    return found.astype(np.int64)
