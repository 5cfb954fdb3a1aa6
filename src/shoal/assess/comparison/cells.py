"""What the cells of a masked table stand for where no rule file says it: tables of microaggregation, and those of other tools.

a value of the domain                      itself
a label of a level of the hierarchy        the values below it; of a taxonomy, the leaves below a concept
[20, 30)  [20, 30]  20-30  20..30          the interval; ends that a bracket includes are included, as are those of 20-30
< 20  <= 20  > 20  >= 20                   from or to the end of the domain
{a, b}   a or b   a, b                     the values, if each of them is one
031**                                      the values that begin so
*  and what cannot be read                 every value
(missing), NA, nothing                     a missing value
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from shoal.assess.release.labels import GRAIN, Label, Span, single
from shoal.data.domain import list_values
from shoal.data.hierarchy.level import MISSING, SUPPRESSED, GroupLevel, IntervalLevel
from shoal.data.schema import Attribute
from shoal.data.type import Type, point, spell
from shoal.errors import PolicyError

_MISSING = frozenset({"", MISSING, "NA", "NaN", "nan", "null", "NULL", "None", "<NA>"})
_BRACKETS = re.compile(r"^([\[\](])\s*(.+?)\s*[,;]\s*(.+?)\s*([\])\[])$")
_ORDER = re.compile(r"^(<=|>=|<|>|≤|≥)\s*(.+)$")
_RANGE = re.compile(r"^(.+?)\s*(?:\.\.|–|—|\bto\b|-)\s*(.+)$")
_INFINITE = frozenset({"-inf", "inf", "+inf", "-∞", "∞", "-Inf", "Inf"})


@dataclass(frozen=True)
class CellReader:
    """Reads the cells of one attribute; `known` are names beyond the declared ones, such as those of the original."""

    attribute: Attribute
    known: Iterable[str] = ()
    concepts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The values below each concept of a taxonomy."""

    @property
    def _type(self) -> Type:
        return self.attribute.type

    def read(self, text: object) -> tuple[Label, bool]:
        """What a cell stands for, and whether it could be read; what could not stands for every value."""
        shown = "" if text is None else spell(text).strip()
        if shown in _MISSING and shown not in self._names:
            return Label(MISSING, missing=True), True
        if shown and not shown.strip(SUPPRESSED):
            return Label(shown, everything=True), True
        found = self._line(shown) if self._type.numeric else self._name(shown)
        if found is None and shown in self._levels:
            found = self._levels[shown]
        return (Label(shown, everything=True), False) if found is None else (found, True)

    # --- numbers, dates and times --------------------------------------------------------------------------------------

    def _line(self, text: str) -> Label | None:
        if (at := self._point(text)) is not None:
            # A mean of whole numbers may lie between them.
            return Label(text, ((at, at + (1 if self._type.discrete and at.denominator == 1 else GRAIN)),))
        if text in self._levels:
            return self._levels[text]
        span = self._span(text)
        return None if span is None else Label(text, (span,))

    def _point(self, text: str) -> Fraction | None:
        kind = Type.DECIMAL if self._type is Type.INTEGER else self._type
        try:
            return point(kind, text.replace("−", "-"))
        except PolicyError:
            return None

    def _span(self, text: str) -> Span | None:
        """An interval from its first point up to, but not including, its second."""
        step = Fraction(1) if self._type.discrete else GRAIN
        if found := _BRACKETS.match(text):
            first, low, high, last = found.groups()
            ends = [None if end in _INFINITE else self._point(end) for end in (low, high)]
            if any(end is None and said not in _INFINITE for end, said in zip(ends, (low, high), strict=True)):
                return None
            begin = None if ends[0] is None else ends[0] + (0 if first == "[" else step if self._type.discrete else 0)
            return begin, None if ends[1] is None else ends[1] + (step if last == "]" else 0)
        if found := _ORDER.match(text):
            sign, said = found.groups()
            at = self._point(said)
            if at is None:
                return None
            after = at + step
            return {"<": (None, at), "<=": (None, after), "≤": (None, after), ">": (after, None)}.get(sign, (at, None))
        if found := _RANGE.match(text):
            low_at, high_at = (self._point(end) for end in found.groups())
            if low_at is not None and high_at is not None and low_at <= high_at:
                return low_at, high_at + step
        return None

    # --- names ---------------------------------------------------------------------------------------------------------

    @cached_property
    def _names(self) -> frozenset[str]:
        domain = self.attribute.domain
        declared = list_values(self.attribute.type, domain) if domain is not None else None
        return frozenset([*(declared or ()), *self.known]) if not self._type.numeric else frozenset()

    def _name(self, text: str) -> Label | None:
        if text in self._names:
            return Label(text, values=frozenset({text}))
        if text in self.concepts:
            return Label(text, values=frozenset(self.concepts[text]))
        if text in self._levels:
            return self._levels[text]
        for inner, mark in ((text.strip("{}"), ","), (text, " or "), (text.strip("{}"), "|")):
            several = [each.strip() for each in inner.split(mark)]
            if len(several) > 1 and all(each in self._names for each in several):
                return Label(text, values=frozenset(several))
        if (ranks := self._ranks(text)) is not None:
            return Label(text, values=ranks)
        if SUPPRESSED in text:
            seen = re.compile("".join("." if letter == SUPPRESSED else re.escape(letter) for letter in text))
            held = frozenset(name for name in self._names if seen.fullmatch(name))
            return Label(text, values=held) if held else None
        return None

    def _ranks(self, text: str) -> frozenset[str] | None:
        """Values of an ordinal attribute from the first to the last that brackets name."""
        domain = self.attribute.domain
        listed = list_values(self.attribute.type, domain) if domain is not None else None
        found = _BRACKETS.match(text)
        if listed is None or found is None or self._type is not Type.ORDINAL:
            return None
        low, high = found.group(2), found.group(3)
        if low not in listed or high not in listed:
            return None
        return frozenset(listed[listed.index(low) : listed.index(high) + 1])

    @cached_property
    def _levels(self) -> dict[str, Label]:
        """What each label of the hierarchy stands for, the finest level that has it first."""
        hierarchy = self.attribute.hierarchy
        found: dict[str, Label] = {}
        for level in hierarchy.levels if hierarchy is not None else ():
            if isinstance(level, GroupLevel):
                grouped: dict[str, list[str]] = {}
                for value, label in level.table.items():
                    grouped.setdefault(label, []).append(value)
                for label, values in grouped.items():
                    found.setdefault(label, self._group(label, values))
            elif isinstance(level, IntervalLevel):
                points = [point(self._type, edge) for edge in level.edges]
                for label, span in zip(level.labels, zip([None, *points], [*points, None], strict=True), strict=True):
                    found.setdefault(label, Label(label, (span,)))
        return found

    def _group(self, label: str, values: list[str]) -> Label:
        if self._type.numeric:
            return Label(label, tuple(single(self._type, value) for value in values))
        return Label(label, values=frozenset(values))
