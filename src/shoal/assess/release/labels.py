"""What published labels stand for: a stranger's reading of the rules in a release's `recoding/` folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

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
    """One label: pieces of a line, or values; perhaps the missing value; perhaps everything."""

    text: str
    spans: tuple[Span, ...] = ()
    values: frozenset[str] = frozenset()
    missing: bool = False
    everything: bool = False

    def joined(self, others: Sequence[Label], text: str) -> Label:
        """The union of this one and others, under a name of its own."""
        every = (self, *others)
        return Label(
            text,
            _merged([span for each in every for span in each.spans]),
            frozenset().union(*(each.values for each in every)),
            any(each.missing for each in every),
            any(each.everything for each in every),
        )


@dataclass(frozen=True)
class Meaning:
    """The labels of one column. `listed` says whether these are all there can be; `mask` how a masked text was made."""

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

    def stands_for(self, text: str) -> Any:
        """What a label means: (low, high) of a number, date or time (high not included), else the values it holds."""
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
    """A rule file read.

    `shown` are the published labels, `missing` says whether the missing value may occur, and `values` are the values that
    the locked plan declares, where it lists them: a rule that hides them all, or masks them, does not name them.
    """
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
        labels = [_group(of, text, [v for v, own in rule["table"].items() if own == text]) for text in rule["labels"]]
    elif kind == "cuts":
        edges = [point(of, at) for at in rule["edges"]]
        labels = [Label(t, (s,)) for t, s in zip(rule["labels"], pairwise([None, *edges, None]), strict=True)]
    else:
        texts = _kept(rule, of, ends) if kind == "keep" else None
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
    """The label of everything, with what is declared; where nobody can list or bound that, it is only `everything`."""
    if values is not None:
        return replace(_group(of, text, values), missing=missing)
    if ends != (None, None):
        return Label(text, (ends,), missing=missing)
    return Label(text, missing=missing, everything=True)


def _kept(rule: Mapping[str, Any], of: Type, ends: Span) -> list[str] | None:
    """Every value that a rule keeps, where they can be listed."""
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
        return Label(text, _merged([single(of, value) for value in values]))
    return Label(text, values=frozenset(values))


def single(of: Type, value: object) -> Span:
    """One number, date or time as a piece of the line."""
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
        labels.append(held[0].joined(held[1:], str(text)))
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


def _merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Pieces in order, neighbours joined."""
    found: list[Span] = []
    for low, high in sorted(spans, key=lambda span: (span[0] is not None, span[0] or 0)):
        if found and (last := found[-1][1]) is not None and low == last:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return tuple(found)
