"""Atoms: the coarsest pieces of an attribute's domain out of which every label in sight can be put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from shoal.assess.release.labels import Label, Meaning, Span
from shoal.data.domain import Line
from shoal.data.hierarchy.level import MISSING

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

OTHER = "(other)"
"""An atom of what no label in sight names, where not every value is declared."""


@dataclass(frozen=True)
class Axis:
    """One attribute's atoms: a name and a size for each (values in it, or width); the missing value has size zero.

    Atoms of numbers, dates and times are pieces of the line; atoms of other attributes are sets of declared values that
    no label in sight tells apart. `missing` is the place of the atom that holds the missing value, alone or with others.
    """

    name: str
    names: tuple[str, ...]
    sizes: Floats
    spans: tuple[Span | None, ...]
    leaves: tuple[frozenset[str], ...]
    missing: int | None
    masks: tuple[Meaning, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    def held(self, labels: Sequence[Label]) -> Mask:
        """Which atoms each label holds, as labels × atoms."""
        found = np.zeros((len(labels), len(self)), dtype=np.bool_)
        lows = np.array([_low(span) for span in self.spans])
        for i, label in enumerate(labels):
            if label.everything:
                found[i] = True
                continue
            for low, high in label.spans:
                found[i] |= (lows >= _low((low, None))) & (lows < _high(high))
            if label.values:
                found[i] |= np.fromiter((bool(own & label.values) for own in self.leaves), np.bool_, len(self))
            if self.missing is not None:
                found[i, self.missing] |= label.missing
        return found

    def split(self, held: Mask) -> Floats:
        """The share of each label that lies in each atom, when its records are spread evenly over what it stands for."""
        weight = held * self.sizes
        bare = weight.sum(1) == 0
        weight[bare] = held[bare]
        return np.asarray(weight / np.maximum(weight.sum(1, keepdims=True), 1e-300))


def axis(meanings: Sequence[Meaning], extra: Iterable[Label] = ()) -> Axis:
    """The atoms of the labels of one attribute in several views, and of conditions (`extra`) that cut them further.

    The missing value is part of an atom where no label in sight tells the two apart, else an atom of its own.
    """
    own = [label for each in meanings for label in each.labels]
    labels = [*own, *extra]
    first = meanings[0]
    if first.type.numeric:
        return _line(first, meanings, labels, len(own))
    universe = sorted(frozenset().union(*(label.values for label in labels)))
    if any(label.everything for label in labels) and not (universe and all(each.listed for each in meanings)):
        universe.append(OTHER)  # what no label in sight names
    masked = tuple(each for each in meanings if each.mask is not None)
    labels = [_unmasked(label, masked, universe) for label in labels] if masked else labels
    every = {number for number, label in enumerate(labels) if label.everything}
    holders: dict[str, set[int]] = {value: set(every) for value in universe}
    for number, label in enumerate(labels):
        for value in label.values:
            holders[value].add(number)
    groups: dict[frozenset[int], list[str]] = {}
    for value in _in_order(universe, meanings, labels):
        groups.setdefault(frozenset(holders[value]), []).append(value)
    without = _without_value(labels)
    by_values = {(label.values, label.missing): label.text for label in reversed(labels) if not label.everything}
    coarse = {label.text for label in labels if len(label.values) > 1 and label.text in label.values}
    names, sizes, leaves = [], [], []
    for who, values in groups.items():
        merged = who == without
        whole = labels[min(every)].text if every and merged and len(groups) == 1 else None
        names.append(by_values.get((frozenset(values), merged)) or whole or _or(values, coarse, missing=merged))
        sizes.append(float(len(values)))
        leaves.append(frozenset(values))
    missing = list(groups).index(without) if without in groups else None
    if without and missing is None:
        names, sizes, leaves, missing = [*names, MISSING], [*sizes, 0.0], [*leaves, frozenset()], len(names)
    return Axis(first.attribute, tuple(names), np.array(sizes), (None,) * len(names), tuple(leaves), missing, masked)


def _without_value(labels: Sequence[Label]) -> frozenset[int]:
    """The labels that a record without a value may have."""
    return frozenset(number for number, label in enumerate(labels) if label.missing)


def resolved(own: Axis, labels: Sequence[Label]) -> list[Label]:
    """Labels as the axis knows them: a masked text stands for the finer texts in sight."""
    if not own.masks:
        return list(labels)
    return [_unmasked(label, own.masks, sorted(frozenset().union(*own.leaves))) for label in labels]


def _line(first: Meaning, meanings: Sequence[Meaning], labels: Sequence[Label], own: int) -> Axis:
    """Pieces of a line. A piece that none of the first `own` labels can have, such as a gap between values, is none."""
    lows = [each.ends[0] for each in meanings if each.ends[0] is not None]
    highs = [each.ends[1] for each in meanings if each.ends[1] is not None]
    low, high = min(lows, default=None), max(highs, default=None)
    ends = {at for label in labels for span in label.spans for at in span if at is not None}
    inner = sorted(at for at in ends if (low is None or at > low) and (high is None or at < high))
    spans: list[Span | None] = list(pairwise([low, *inner, high]))
    holders = [frozenset(i for i, label in enumerate(labels) if _holds(label, span)) for span in spans]
    if all(each.listed for each in meanings):
        kept = [any(number < own for number in who) for who in holders]
        spans = [span for span, keep in zip(spans, kept, strict=True) if keep]
        holders = [who for who, keep in zip(holders, kept, strict=True) if keep]
    without = _without_value(labels)
    alike = [place for place, who in enumerate(holders) if who == without]
    missing = alike[0] if len(alike) == 1 else None
    by_span = {(label.spans, label.missing): label.text for label in reversed(labels) if len(label.spans) == 1}
    by_span |= {((_closed(only, low, high),), gap): text for ((only,), gap), text in list(by_span.items())}
    line = Line(first.type, low or Fraction(0), high or Fraction(0))
    names, sizes = [], []
    for place, span in enumerate(spans):
        a, b = span or (None, None)
        merged = place == missing
        whole = [label.text for label in labels if label.everything] if len(spans) == 1 and merged else []
        plain = _between(line, a, b) + (f" or {MISSING}" if merged else "")
        names.append(by_span.get((((a, b),), merged)) or (whole[0] if whole else plain))
        sizes.append(1.0 if a is None or b is None else float(b - a))
    if without and missing is None:
        names, sizes, spans, missing = [*names, MISSING], [*sizes, 0.0], [*spans, None], len(names)
    return Axis(first.attribute, tuple(names), np.array(sizes), tuple(spans), (frozenset(),) * len(names), missing)


def _holds(label: Label, piece: Span | None) -> bool:
    """Whether a label holds a piece that no end of it lies inside of."""
    if label.everything:
        return True
    at = _low(piece)
    return any(_low((low, None)) <= at < _high(high) for low, high in label.spans)


def _closed(span: Span, low: Fraction | None, high: Fraction | None) -> Span:
    return (low if span[0] is None else span[0], high if span[1] is None else span[1])


def _between(line: Line, a: Fraction | None, b: Fraction | None) -> str:
    if a is None and b is None:
        return "*"
    if a is None or b is None:
        return f"< {line.text(b)}" if b is not None else f">= {line.text(a)}" if a is not None else "*"
    return line.between(a, b)


def _low(span: Span | None) -> float | Fraction:
    if span is None:
        return float("inf")  # the missing value lies on no line
    return float("-inf") if span[0] is None else span[0]


def _high(high: Fraction | None) -> float | Fraction:
    return float("inf") if high is None else high


def _in_order(universe: Sequence[str], meanings: Sequence[Meaning], labels: Sequence[Label]) -> list[str]:
    """Values in the order of a rule, or in which single-valued labels list them; the others follow."""
    told = [value for each in meanings for value in each.order]
    listed = dict.fromkeys([*told, *(value for label in labels if len(label.values) == 1 for value in label.values)])
    return [*(value for value in listed if value in set(universe)), *(v for v in universe if v not in listed)]


def _unmasked(label: Label, masked: Sequence[Meaning], universe: Sequence[str]) -> Label:
    masks = [each.mask for each in masked if each.mask is not None]
    finer = {text for mask in masks for text in universe if mask.mask(text) in label.values}
    return Label(label.text, label.spans, label.values | finer, label.missing, label.everything)


def _or(values: Sequence[str], coarse: set[str], *, missing: bool) -> str:
    """A name for values; a masked text that stands for finer ones too is, by itself, what they leave of it."""
    named = [f"other {value}" if value in coarse else value for value in values] + [MISSING] * missing
    return " or ".join(named) if len(named) <= 3 else f"{' or '.join(named[:3])} or {len(named) - 3} more"
