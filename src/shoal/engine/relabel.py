"""Rows under new labels by their labels now: what engines check and what they look up, once for each different label."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.hierarchy.level import MISSING
from shoal.data.type import Type, spelled, texts
from shoal.engine.base import Array, Place
from shoal.engine.column import Column
from shoal.errors import UsageError

Indices = npt.NDArray[np.int32]
UNKNOWN = -1
"""The index of a label that the caller does not know."""


def relabelled(
    names: Sequence[str], known: Sequence[Sequence[str]], labels: Sequence[Sequence[str]]
) -> tuple[Column, ...]:
    """What the columns are afterwards; UsageError where the request does not fit them."""
    if not names:
        raise UsageError("relabel which columns?", came="none", allowed="at least one")
    for words, given in (("labels that are known", known), ("new labels", labels)):
        if len(given) != len(names):
            raise UsageError(f"{words} are listed for each column", came=len(given), allowed=f"{len(names)} lists")
    if any(len(a) != len(b) for a, b in pairwise(labels)):
        raise UsageError("every column has a new label for each number", came=", ".join(str(len(a)) for a in labels))
    for name, listed in zip(names, known, strict=True):
        if len(set(listed)) != len(listed):
            raise UsageError(f"column '{name}': a known label is listed twice", fix="list each label once")
    return tuple(
        Column(name, Type.TEXT, tuple(sorted(set(new))), recoded=True) for name, new in zip(names, labels, strict=True)
    )


def shown_as(values: Array) -> list[str]:
    """Values without missing ones as the labels they show: texts as they are, others as a policy spells them."""
    return [spelled(value) for value in values.tolist()] if values.dtype.kind == "f" else texts(values)


def indices_of(values: Array, known: Sequence[str]) -> Indices:
    """The index of a missing value's label, then that of each value's; UNKNOWN where the caller does not list it."""
    index = {label: place for place, label in enumerate(known)}
    return np.array([index.get(label, UNKNOWN) for label in [MISSING, *shown_as(values)]], dtype=np.int32)


def refuse_unknown(name: str, indices: Indices) -> None:
    """Raise where a label occurs that the caller does not list; the message does not quote it."""
    if len(indices) and int(indices.min()) == UNKNOWN:
        raise UsageError(
            f"column '{name}' shows a label that is not among those known", fix="list every label it may show"
        )


def numbers_of(place: Place, indices: Sequence[Indices], count: int) -> npt.NDArray[Any]:
    """What the caller answers for some tuples, held against how many numbers there are; for none it is not asked."""
    if not len(indices[0]):
        return indices[0]
    numbers = place(indices)
    if numbers.shape != indices[0].shape or numbers.dtype.kind not in "iu":
        raise UsageError("a whole number is needed for each tuple", came=f"{numbers.dtype} of shape {numbers.shape}")
    if not 0 <= int(numbers.min()) <= int(numbers.max()) < count:
        raise UsageError(
            "a tuple was given a number that has no labels",
            came=f"{numbers.min()}..{numbers.max()}",
            allowed=f"0..{count - 1}",
        )
    return numbers
