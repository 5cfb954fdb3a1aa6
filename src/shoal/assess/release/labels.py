"""What published labels stand for, read from the rules in a release's `recoding/` folder; and atoms.

Atoms are the common refinement of labels: the coarsest pieces of an attribute's domain out of which every label of the views (and
of a condition) can be put together.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.assess.release.rule import check_rule
from shoal.data.domain import Line
from shoal.data.hierarchy.level import MISSING, SUPPRESSED, MaskLevel
from shoal.data.type import Type, point, spell, value_at
from shoal.errors import PolicyError, VerificationError

MOST = 4096
"""A rule that keeps more values than this has no list of labels: only those that were published are known."""
GRAIN = Fraction(1, 10**9)
"""The width of a single decimal number, so that it too is a piece of the line."""

Span = tuple[Fraction | None, Fraction | None]
"""From the first up to but not including the second; None where there is no end."""


@dataclass(frozen=True)
class Label:
    """What one label stands for: pieces of a line or values, and whether also the missing value or every value."""

    text: str
    spans: tuple[Span, ...] = ()
    values: frozenset[str] = frozenset()
    missing: bool = False
    everything: bool = False

    def union(self, others: Sequence[Label], text: str) -> Label:
        """Give the union of this label and others, under a text of its own."""
        every = (self, *others)
        return Label(
            text,
            _merge_spans([span for each in every for span in each.spans]),
            frozenset().union(*(each.values for each in every)),
            any(each.missing for each in every),
            any(each.everything for each in every),
        )

    def common(self, other: Label, text: str) -> Label:
        """Give what this label and another one both stand for, under a text of its own."""
        if self.everything or other.everything:
            return replace(other if self.everything else self, text=text)
        spans = [_common_span(one, two) for one in self.spans for two in other.spans]
        return Label(
            text,
            _merge_spans([span for span in spans if span is not None]),
            self.values & other.values,
            self.missing and other.missing,
        )


@dataclass(frozen=True)
class Meaning:
    """The labels of one column. `listed` says whether these are all labels that can occur; `mask` how a text was masked."""

    attribute: str
    type: Type
    labels: tuple[Label, ...]
    listed: bool = True
    mask: MaskLevel | None = None
    ends: Span = (None, None)
    order: tuple[str, ...] = ()
    """Values in the order of the rule, where its labels do not tell it: the boxes of a tree come in any order."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The labels as they stand in the table."""
        return tuple(label.text for label in self.labels)

    @cached_property
    def volumes(self) -> Floats:
        """The part of the domain that each label stands for."""
        pieces = atom_axis([self])
        label, atom = pieces.members(resolve_masks(pieces, self.labels))
        sizes = np.bincount(label, pieces.sizes[atom], len(self.labels))
        return np.asarray(sizes / max(float(pieces.sizes.sum()), 1e-300))

    def stands_for(self, text: str) -> Any:
        """Give what a label stands for: (low, high) of a number, date or time (high not included), else its values."""
        label = next((each for each in self.labels if each.text == text), None)
        if label is None:
            raise VerificationError(f"column '{self.attribute}': a label that its rule does not have")
        if label.missing and not label.spans and not label.values and not label.everything:
            return MISSING
        if self.type.numeric and not label.everything:
            found = tuple((self._end(low, 0), self._end(high, 1)) for low, high in label.spans)
            return found[0] if len(found) == 1 else found
        if label.everything:
            return (self._end(None, 0), self._end(None, 1)) if self.type.numeric else SUPPRESSED
        return tuple(sorted(label.values))

    def _end(self, at: Fraction | None, which: int) -> Any:
        at = self.ends[which] if at is None else at
        return None if at is None else value_at(self.type, at)


def meaning(
    rule: Mapping[str, Any], shown: Iterable[str], *, missing: bool, values: Sequence[str] | None = None
) -> Meaning:
    """Read a rule file of a release.

    `shown` are the published labels, `missing` says whether the missing value may occur, and `values` are the values that
    the locked plan declares, where it lists them: a rule that hides them all, or masks them, does not name them.
    """
    check_rule(rule)
    kind, name, of = rule["kind"], str(rule["attribute"]), Type(rule["type"])
    ends = _ends(of, rule)
    if values is None and of is Type.BOOLEAN:
        values = ("false", "true")
    seen = [text for text in dict.fromkeys(shown) if text != MISSING]
    if kind == "boxes":
        return _boxes(rule, name, of, ends, values)
    if kind == "whole":
        every = tuple(_whole(of, text, values, ends, missing=missing) for text in rule["labels"])
        return Meaning(name, of, every, ends=ends)
    listed, mask = True, None
    if kind == "groups":
        grouped: dict[str, list[str]] = {text: [] for text in rule["labels"]}
        for value, text in rule["table"].items():
            grouped[text].append(value)
        labels = [_group(of, text, own) for text, own in grouped.items()]
    elif kind == "cuts":
        edges = [point(of, at) for at in rule["edges"]]
        labels = [Label(t, (s,)) for t, s in zip(rule["labels"], pairwise([None, *edges, None]), strict=True)]
    else:
        texts = _listed_values(rule, of, ends) if kind == "keep" else None
        mask = MaskLevel(rule["kept"], rule["side"], rule["letter"]) if kind == "masked" else None
        held = {text: [text] for text in (seen if texts is None else texts)}
        if mask is not None and values is not None:
            held = {text: [] for text in map(mask.mask, values)}
            for value in values:
                held[mask.mask(value)].append(value)
        listed = texts is not None or (mask is not None and values is not None)
        mask = None if listed else mask
        labels = [_group(of, text, own) for text, own in held.items()]
    known = {label.text for label in labels}
    if any(text not in known for text in seen):
        raise VerificationError(f"column '{name}': the table shows a label that its rule does not have")
    return Meaning(name, of, (*labels, *([Label(MISSING, missing=True)] if missing else [])), listed, mask, ends)


def _whole(of: Type, text: str, values: Sequence[str] | None, ends: Span, *, missing: bool) -> Label:
    """Make the label that stands for every value: the declared values or interval, where the plan lists or bounds them."""
    if values is not None:
        return replace(_group(of, text, values), missing=missing)
    if ends != (None, None):
        return Label(text, (ends,), missing=missing)
    return Label(text, missing=missing, everything=True)


def _listed_values(rule: Mapping[str, Any], of: Type, ends: Span) -> list[str] | None:
    """List every value that a rule keeps, where they can be listed."""
    if rule.get("labels"):
        return [spell(value) for value in rule["labels"]]
    if of is Type.BOOLEAN:
        return ["false", "true"]
    low, high = ends
    if of.discrete and low is not None and high is not None and high - low <= MOST:
        return [str(value_at(of, at)) for at in (low + i for i in range(int(high - low)))]
    return None


def _group(of: Type, text: str, values: Sequence[str]) -> Label:
    if of.numeric:
        return Label(text, _merge_spans([single(of, value) for value in values]))
    return Label(text, values=frozenset(values))


def single(of: Type, value: object) -> Span:
    """Give one number, date or time as a piece of the line."""
    at = point(of, value)
    return at, at + (GRAIN if of is Type.DECIMAL else 1)


def _boxes(rule: Mapping[str, Any], name: str, of: Type, ends: Span, values: Sequence[str] | None) -> Meaning:
    cells = [str(text) for text in rule["cells"]]
    base = meaning(rule["level"], cells, missing=MISSING in cells, values=values)
    by_text = {label.text: label for label in base.labels}
    if any(text not in by_text for text in cells):
        raise VerificationError(f"column '{name}': a cell that its rule does not have")
    labels = []
    for text, runs in zip(rule["labels"], rule["members"], strict=True):
        held = [by_text[cells[at]] for first, last in runs for at in range(first, last + 1)]
        labels.append(held[0].union(held[1:], str(text)))
    order = tuple(value for text in cells for value in sorted(by_text[text].values))
    return Meaning(name, of, tuple(labels), True, base.mask, ends, order)


def _ends(of: Type, rule: Mapping[str, Any]) -> Span:
    """The declared domain of a number, date or time: from its low end up to, but not including, what follows its high end."""
    if not of.numeric:
        return None, None
    low, high = rule.get("low"), rule.get("high")
    if low is None or high is None:
        low, found, high = str(rule.get("domain") or "").partition("..")
        if not found:
            return None, None
    try:
        return point(of, low), point(of, high) + (GRAIN if of is Type.DECIMAL else 1)
    except PolicyError:
        return None, None


def _common_span(one: Span, other: Span) -> Span | None:
    low = max((each[0] for each in (one, other) if each[0] is not None), default=None)
    high = min((each[1] for each in (one, other) if each[1] is not None), default=None)
    return None if low is not None and high is not None and low >= high else (low, high)


def _merge_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Sort pieces of a line, and merge neighbours."""
    found: list[Span] = []
    for low, high in sorted(spans, key=lambda span: (span[0] is not None, span[0] or 0)):
        if found and (last := found[-1][1]) is not None and low == last:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return tuple(found)


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

OTHER = "(other)"
"""The atom of values that no label names, where not every value is declared."""


@dataclass(frozen=True)
class AtomAxis:
    """The atoms of one attribute: a name and a size for each (number of values, or width); the missing value has size zero.

    Atoms of numbers, dates and times are pieces of the line; atoms of other attributes are sets of declared values that
    no label tells apart. `missing` is the index of the atom that holds the missing value, alone or with others.
    """

    name: str
    names: tuple[str, ...]
    sizes: Floats
    spans: tuple[Span | None, ...]
    leaves: tuple[frozenset[str], ...]
    missing: int | None
    masks: tuple[Meaning, ...] = ()
    _found: dict[int, tuple[Sequence[Label], tuple[Ints, Ints]]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def __len__(self) -> int:
        return len(self.names)

    def membership(self, labels: Sequence[Label]) -> Mask:
        """Say which atoms each label contains, as a matrix of labels × atoms. Atoms of a line are in rising order."""
        found = np.zeros((len(labels), len(self)), dtype=np.bool_)
        found[self.members(labels)] = True
        return found

    def members(self, labels: Sequence[Label]) -> tuple[Ints, Ints]:
        """Say which atoms each label contains, as the numbers of labels and of their atoms, each pair once."""
        line = _Places(self.spans)
        place = {value: i for i, own in enumerate(self.leaves) for value in own}
        every = np.arange(len(self))
        parts = []
        for label in labels:
            if label.everything:
                parts.append(every)
                continue
            own = [every[line.between(span)] for span in label.spans]
            own.append(np.array([place[value] for value in label.values if value in place], dtype=np.int64))
            if label.missing and self.missing is not None:
                own.append(every[self.missing : self.missing + 1])
            parts.append(np.unique(np.concatenate(own)))
        sizes = [len(own) for own in parts]
        return np.repeat(np.arange(len(labels)), sizes), np.concatenate([every[:0], *parts])

    def members_of_rule(self, labels: Sequence[Label]) -> tuple[Ints, Ints]:
        """Say which atoms each label contains, as `members` does, with masked texts resolved; of a tuple, worked out once."""
        if not isinstance(labels, tuple):
            return self.members(resolve_masks(self, labels))
        if id(labels) not in self._found:  # the tuple is kept with what was found, so that its id stays its own
            self._found[id(labels)] = labels, self.members(resolve_masks(self, labels))
        return self._found[id(labels)][1]

    def keeps_whole(self, labels: Sequence[Label]) -> bool:
        """Say whether these labels surely divide no atom: their ends are ends of atoms, and the missing value is alone."""
        if not any(span is not None for span in self.spans):
            return False
        if any(label.missing for label in labels) if self.missing is None else self.spans[self.missing] is not None:
            return False
        return all(end is None or end in self._ends for label in labels for span in label.spans for end in span)

    @cached_property
    def _ends(self) -> frozenset[Fraction | None]:
        return frozenset(end for span in self.spans if span is not None for end in span)

    def even_split(self, held: Mask) -> Floats:
        """Give the share of each label that lies in each atom, if its records are spread evenly over what it stands for."""
        weight = held * self.sizes
        bare = weight.sum(1) == 0
        weight[bare] = held[bare]
        return np.asarray(weight / np.maximum(weight.sum(1, keepdims=True), 1e-300))

    def split(self, pairs: tuple[Ints, Ints], many: int, sizes: Floats | None = None) -> Floats:
        """Give what `even_split` does for pairs of labels and atoms, as `members` gives them, of so many labels.

        `sizes` says how records are spread instead of evenly, where something is known about it.
        """
        label, atom = pairs
        weight = (self.sizes if sizes is None else sizes)[atom]
        held = np.bincount(label, weight, many)
        weight = np.where(held[label] == 0, 1.0, weight)
        return np.asarray(weight / np.bincount(label, weight, many)[label])


def labels_of_atoms(axis: AtomAxis) -> list[Label]:
    """Give each atom of an axis as a label of its own."""
    return [
        Label(text, () if span is None else (span,), leaves, missing=number == axis.missing)
        for number, (text, span, leaves) in enumerate(zip(axis.names, axis.spans, axis.leaves, strict=True))
    ]


def atom_axis(meanings: Sequence[Meaning], extra: Iterable[Label] = ()) -> AtomAxis:
    """Make the atoms of the labels of one attribute in several views, and of conditions (`extra`) that cut them further.

    The missing value is part of an atom where no label tells the two apart, else an atom of its own.
    """
    own = [label for each in meanings for label in each.labels]
    labels = [*own, *extra]
    first = meanings[0]
    if first.type.numeric:
        return _line(first, meanings, labels, len(own))
    universe = sorted(frozenset().union(*(label.values for label in labels)))
    if any(label.everything for label in labels) and not (universe and all(each.listed for each in meanings)):
        universe.append(OTHER)  # values that no label names
    masked = tuple(each for each in meanings if each.mask is not None)
    labels = _with_finer_texts(labels, masked, universe) if masked else labels
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
    return AtomAxis(
        first.attribute, tuple(names), np.array(sizes), (None,) * len(names), tuple(leaves), missing, masked
    )


def _without_value(labels: Sequence[Label]) -> frozenset[int]:
    """Give the numbers of the labels that a record without a value may have."""
    return frozenset(number for number, label in enumerate(labels) if label.missing)


def resolve_masks(own: AtomAxis, labels: Sequence[Label]) -> list[Label]:
    """Extend labels to the atoms of an axis: a masked text also stands for the finer texts that other views show."""
    if not own.masks:
        return list(labels)
    return _with_finer_texts(labels, own.masks, sorted(frozenset().union(*own.leaves)))


def _line(first: Meaning, meanings: Sequence[Meaning], labels: Sequence[Label], own: int) -> AtomAxis:
    """Make the atoms of numbers, dates or times. A piece that none of the first `own` labels contains, such as a gap between
    values, is no atom.
    """
    lows = [each.ends[0] for each in meanings if each.ends[0] is not None]
    highs = [each.ends[1] for each in meanings if each.ends[1] is not None]
    low, high = min(lows, default=None), max(highs, default=None)
    ends = {at for label in labels for span in label.spans for at in span if at is not None}
    inner = sorted(at for at in ends if (low is None or at > low) and (high is None or at < high))
    spans: list[Span | None] = list(pairwise([low, *inner, high]))
    holders = _holders(labels, spans)
    if all(each.listed for each in meanings):
        kept = [any(number < own for number in who) for who in holders]
        spans = [span for span, keep in zip(spans, kept, strict=True) if keep]
        holders = [who for who, keep in zip(holders, kept, strict=True) if keep]
    without = _without_value(labels)
    alike = [place for place, who in enumerate(holders) if who == without]
    missing = alike[0] if len(alike) == 1 else None
    by_span = {(label.spans, label.missing): label.text for label in reversed(labels) if len(label.spans) == 1}
    by_span |= {((_close_span(only, low, high),), gap): text for ((only,), gap), text in list(by_span.items())}
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
    return AtomAxis(first.attribute, tuple(names), np.array(sizes), tuple(spans), (frozenset(),) * len(names), missing)


class _Places:
    """Where pieces of a line begin, in rising order; pieces that lie on no line come last."""

    def __init__(self, pieces: Sequence[Span | None]) -> None:
        self._lows = [_low(piece) for piece in pieces]
        self._number = {low: i for i, low in reversed(list(enumerate(self._lows)))}

    def between(self, span: Span) -> slice:
        """The pieces that begin inside a span. Its ends are mostly beginnings of pieces, and looked up as such."""
        low, high = _low((span[0], None)), _high(span[1])
        first, last = self._number.get(low), self._number.get(high)
        return slice(
            bisect_left(self._lows, low) if first is None else first,
            bisect_left(self._lows, high) if last is None else last,
        )


def _holders(labels: Sequence[Label], pieces: Sequence[Span | None]) -> list[frozenset[int]]:
    """Give the numbers of the labels that contain each piece; no end of a label lies inside a piece."""
    line = _Places(pieces)
    found: list[set[int]] = [set() for _ in pieces]
    for number, label in enumerate(labels):
        spans: Sequence[Span] = ((None, None),) if label.everything else label.spans
        for span in spans:
            for own in found[line.between(span)]:
                own.add(number)
    return [frozenset(own) for own in found]


def _close_span(span: Span, low: Fraction | None, high: Fraction | None) -> Span:
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
    """Sort values in the order of a rule, or in which labels of one value list them; the others follow."""
    by_rule = [value for each in meanings for value in each.order]
    listed = dict.fromkeys([*by_rule, *(value for label in labels if len(label.values) == 1 for value in label.values)])
    known = set(universe)
    return [*(value for value in listed if value in known), *(v for v in universe if v not in listed)]


def _with_finer_texts(labels: Sequence[Label], masked: Sequence[Meaning], universe: Sequence[str]) -> list[Label]:
    finer: dict[str, set[str]] = {}
    for each in masked:
        for text in universe if each.mask is not None else ():
            finer.setdefault(each.mask.mask(text) if each.mask is not None else text, set()).add(text)
    return [
        Label(
            label.text, label.spans, label.values.union(*(finer.get(value, ()) for value in label.values)), label.missing,
            label.everything,
        )
        for label in labels
    ]  # fmt: skip


def _or(values: Sequence[str], coarse: set[str], *, missing: bool) -> str:
    """Name an atom by its values; a masked text whose finer texts are atoms of their own is named `other …`."""
    named = [f"other {value}" if value in coarse else value for value in values] + [MISSING] * missing
    return " or ".join(named) if len(named) <= 3 else f"{' or '.join(named[:3])} or {len(named) - 3} more"
