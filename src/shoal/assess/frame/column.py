"""What the published columns are: every label of a release with its meaning, from the locked plan and the rules alone.

A label stands for one value, for an interval of numbers, dates or times, for a set of values, for every value, or for a missing
one. An interval holds its lower end and not its upper one. A set has a short code, such as occupation-03: the sets of a column
are numbered in the order of their values, over all tables of the release, so the same set has the same code in each of them.

The same text may stand for one set in one table and for another in another ("A or B or C or 2 more"); its code does not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

from shoal.assess.release.labels import GRAIN, Label, Span, meaning
from shoal.assess.release.rule import check_rule
from shoal.data.domain import letters_by_place
from shoal.data.hierarchy.level import MISSING, SUPPRESSED
from shoal.data.type import Type, point, text_at

VALUE, INTERVAL, SET, EVERY, GONE = "value", "interval", "set", "every value", "missing"
"""What a label may stand for."""

Rule = Mapping[str, Any]
NamedRule = tuple[str, Rule]
"""A rule with the file that holds it."""


@dataclass(frozen=True)
class PublishedLabel:
    """One label of a column and what it stands for; `kind` is one of value, interval, set, every value and missing."""

    text: str
    kind: str
    spans: tuple[Span, ...] = ()
    """Pieces of the line, from the first end up to but not including the second."""
    values: tuple[str, ...] = ()
    """The values that it stands for, where they are no pieces of a line, in the order of the column."""
    missing: bool = False
    """Whether it stands for a missing value, alone or with others."""
    code: str | None = None
    """The short code of a set."""
    rules: tuple[str, ...] = ()
    """The files in which it means this, where the same text means something else in others; else empty."""

    @property
    def meaning(self) -> tuple[Any, ...]:
        """What it stands for, whatever it is called."""
        return self.kind, self.spans, self.values, self.missing


@dataclass(frozen=True)
class PublishedColumn:
    """One published attribute: what the locked plan declares about it, and every label that stands for its values.

    `labels` are in the order of their values, the missing one last.
    """

    name: str
    type: Type
    role: str
    title: str | None = None
    """What the column is, in the custodian's words."""
    value_labels: Mapping[str, str] = field(default_factory=dict)
    """What values mean, in the custodian's words."""
    may_be_missing: bool = True
    ends: tuple[str, str] | None = None
    """The lowest and the highest declared value of a number, date or time, both included."""
    pattern: str | None = None
    """The pattern of a text."""
    values: tuple[str, ...] | None = None
    """The declared values in their order, where they are listed."""
    labels: tuple[PublishedLabel, ...] = ()
    by_rule: Mapping[str, tuple[int, ...]] = field(default_factory=dict, repr=False)
    """For each rule file the numbers of its labels, in the order of the column."""
    unlisted: frozenset[str] = frozenset()
    """The rule files whose labels are not listed: texts of a pattern, numbers in themselves."""
    kept: frozenset[str] = frozenset()
    """The rule files that leave values as they are."""

    @cached_property
    def sets(self) -> tuple[PublishedLabel, ...]:
        """The labels that have a code, each set once."""
        found: dict[str, PublishedLabel] = {}
        for label in self.labels:
            if label.code is not None:
                found.setdefault(label.code, label)
        return tuple(found.values())

    def hides_letters(self, text: str) -> bool:
        """Whether a label is a text of the column's pattern with some letters hidden: `031**`."""
        if self.pattern is None or SUPPRESSED not in text:
            return False
        places = letters_by_place(self.pattern)
        return places is not None and not any(SUPPRESSED in letters for letters in places)

    def mask_words(self, label: PublishedLabel) -> str | None:
        """What a label with hidden letters stands for; None where it stands for fewer texts than it could hide."""
        places, text = None if self.pattern is None else letters_by_place(self.pattern), label.text
        if places is None or not self.hides_letters(text) or len(text) != len(places):
            return None
        if label.values:
            first = label.values[0]
            free = [place for place, letter in enumerate(text) if letter == SUPPRESSED and first[place] != SUPPRESSED]
            if len(label.values) != prod(len(places[place]) for place in free):
                return None
        begin, end = text.rstrip(SUPPRESSED), text.lstrip(SUPPRESSED)
        if SUPPRESSED not in begin:
            return f"every value that begins with {begin}" if begin else "every value"
        if SUPPRESSED not in end:
            return f"every value that ends with {end}"
        return f"every value with any letter in the place of each {SUPPRESSED}"

    def labels_of(self, *rules: str) -> tuple[PublishedLabel, ...]:
        """The labels that some rule files have, in the order of the column."""
        numbers = {number for rule in rules for number in self.by_rule.get(rule, ())}
        return tuple(self.labels[number] for number in sorted(numbers))

    def span_of(self, label: PublishedLabel) -> Span | None:
        """The whole interval that a label lies in, from its lowest to its highest end; None where it has none."""
        if not self.type.numeric:
            return None
        if label.kind == EVERY:
            return self._line_ends
        if not label.spans:
            return None
        lows, highs = [low for low, _ in label.spans], [high for _, high in label.spans]
        low = None if None in lows else min(end for end in lows if end is not None)
        high = None if None in highs else max(end for end in highs if end is not None)
        return low, high

    @cached_property
    def _line_ends(self) -> Span:
        if self.ends is None:
            return None, None
        low, high = (point(self.type, end) for end in self.ends)
        return low, high + step_of(self.type)

    def end_texts(self, label: PublishedLabel) -> tuple[str, str, bool] | None:
        """The ends of a label's interval as text, and whether the upper one is included; None where it has none.

        An end that nothing bounds is an empty text. Of whole numbers and days the upper end is never included; of other
        numbers and times it is where it is the end of the domain, or the only value.
        """
        found = self.span_of(label)
        if found is None or found == (None, None):
            return None
        low, high = found
        included = False
        if high is not None and not self.type.discrete and (high == self._line_ends[1] or self._is_single(label)):
            included, high = True, high - step_of(self.type)
        texts = ["" if end is None else text_at(self.type, end) for end in (low, high)]
        return texts[0], texts[1], included

    def _is_single(self, label: PublishedLabel) -> bool:
        return any(
            low is not None and high is not None and high - low == step_of(self.type) for low, high in label.spans[-1:]
        )


def step_of(kind: Type) -> Fraction:
    """How far apart two values of a type lie at least, as `labels` takes them: the width of a single value."""
    return GRAIN if kind is Type.DECIMAL else Fraction(1)


# --- from the locked plan and the rules ------------------------------------------------------------------------------------


def describe_column(name: str, declared: Mapping[str, Any], rules: Iterable[NamedRule] = ()) -> PublishedColumn:
    """One published attribute, from what the locked plan declares about it and the rules of its labels, in their order.

    Raises     VerificationError for a rule that makes no sense.
    """
    kind = Type(declared.get("type") or "text")
    domain = declared.get("domain")
    listed = domain.get("values") if isinstance(domain, dict) else None
    if listed is None and kind is Type.BOOLEAN:
        listed = ["false", "true"]
    column = PublishedColumn(
        name=name,
        type=kind,
        role=str(declared.get("role")),
        title=declared.get("label"),
        value_labels=dict(declared.get("value_labels") or {}),
        may_be_missing=declared.get("missing", "value") == "value" or declared.get("outside") == "suppress",
        ends=_ends(kind, domain, listed),
        pattern=domain.get("pattern") if isinstance(domain, dict) else None,
        values=None if listed is None else tuple(map(str, listed)),
    )
    return _LabelCollection(column).described(rules)


def with_concepts(column: PublishedColumn, concepts: Mapping[str, Sequence[str]]) -> PublishedColumn:
    """A column whose cells may be concepts: a value stands for itself, another concept for the values below it.

    >>> town = PublishedColumn("town", Type.CATEGORY, "quasi", values=("Bath", "Leeds", "York"))
    >>> [label.text for label in with_concepts(town, {"North": ("Leeds", "York")}).labels]
    ['Bath', 'Leeds', 'York', 'North']
    """
    values = column.values or ()
    place = {value: number for number, value in enumerate(values)}
    found = [PublishedLabel(value, VALUE, values=(value,)) for value in values]
    inner = [(name, tuple(sorted(own, key=place.__getitem__))) for name, own in concepts.items() if name not in place]
    for name, own in sorted(inner, key=lambda each: (len(each[1]), [place[value] for value in each[1]], each[0])):
        kind = EVERY if len(own) == len(values) else VALUE if len(own) == 1 else SET
        found.append(PublishedLabel(name, kind, values=() if kind == EVERY else own))
    return replace(column, labels=tuple(_with_codes(column, found)))


def _ends(kind: Type, domain: Any, listed: Sequence[Any] | None) -> tuple[str, str] | None:
    """The ends of a declared interval, or of listed numbers."""
    if not kind.numeric:
        return None
    if isinstance(domain, list) and len(domain) == 2:
        return str(domain[0]), str(domain[1])
    if listed:
        points = sorted(point(kind, value) for value in listed)
        return text_at(kind, points[0]), text_at(kind, points[-1])
    return None


class _LabelCollection:
    """The labels of one attribute over all rules, each different meaning of a text once."""

    def __init__(self, column: PublishedColumn) -> None:
        self.column = column
        self.found: dict[tuple[str, Any], int] = {}
        """The number of each text with one meaning."""
        self.labels: list[PublishedLabel] = []
        self.held: dict[str, list[int]] = {}
        self.rank: dict[str, int] = {}
        self.bases: dict[str, list[Label]] = {}
        self.known: dict[Any, int] = {}
        self.kept: set[str] = set()
        self.unlisted: set[str] = set()

    def described(self, rules: Iterable[NamedRule]) -> PublishedColumn:
        if self.column.type is Type.ORDINAL or self.column.type is Type.BOOLEAN:
            self._see(self.column.values or ())
        for file, rule in rules:
            check_rule(rule)
            self.held[file] = list(dict.fromkeys(self._add(file, rule)))
        self._see(self.column.values or ())
        return self._in_order()

    def _see(self, values: Iterable[str]) -> None:
        for value in values:
            self.rank.setdefault(value, len(self.rank))

    def _add(self, file: str, rule: Rule) -> list[int]:
        """Take up the labels of one rule, and say which they are."""
        column, kind = self.column, rule["kind"]
        if kind == "keep":
            self.kept.add(file)
        if kind == "boxes":
            return self._add_boxes(rule)
        if kind == "keep" and (column.type.numeric or not rule.get("labels")) and column.type is not Type.BOOLEAN:
            self.unlisted.add(file)
            return []
        if kind == "keep":
            self._see(map(str, rule.get("labels") or ()))
        read = meaning(rule, (), missing=column.may_be_missing, values=column.values)
        if not read.listed:
            self.unlisted.add(file)
            return [self._number(label) for label in read.labels if label.missing]
        return [self._number(label) for label in read.labels]

    def _add_boxes(self, rule: Rule) -> list[int]:
        """The labels of boxes; many rules share their cells, and many boxes are the same."""
        cells = [str(text) for text in rule["cells"]]
        key = json.dumps([rule["level"], cells], sort_keys=True)
        if key not in self.bases:
            base = meaning(rule["level"], cells, missing=MISSING in cells, values=self.column.values)
            by_text = {label.text: label for label in base.labels}
            self.bases[key] = [by_text[text] for text in cells]
            self._see(value for text in cells for value in sorted(by_text[text].values))
        found = []
        for text, runs in zip(rule["labels"], rule["members"], strict=True):
            box = (key, text, tuple(map(tuple, runs)))
            if box not in self.known:
                held = [self.bases[key][at] for first, last in runs for at in range(first, last + 1)]
                self.known[box] = self._number(held[0].union(held[1:], str(text)), whole=len(held) == len(cells))
            found.append(self.known[box])
        return found

    def _number(self, label: Label, *, whole: bool = False) -> int:
        """The number of a label, new where no rule had it before."""
        self._see(sorted(label.values))
        key = (label.text, (label.spans, label.values, label.missing, label.everything))
        if key not in self.found:
            self.found[key] = len(self.labels)
            values = tuple(sorted(label.values, key=self.rank.__getitem__))
            spans = tuple(_closed(span, self.column._line_ends) for span in label.spans)  # noqa: SLF001 - its own column
            self.labels.append(
                PublishedLabel(label.text, self._kind(label, spans, whole=whole), spans, values, label.missing)
            )
        return self.found[key]

    def _kind(self, label: Label, spans: Sequence[Span], *, whole: bool) -> str:
        """What a label stands for, in a word."""
        if label.missing and not label.spans and not label.values and not label.everything:
            return GONE
        every = self.column.values
        if label.everything or (whole and len(self.column.values or "..") > 1):
            return EVERY
        if every is not None and len(every) > 1 and label.values >= set(every):
            return EVERY
        if not self.column.type.numeric:
            return VALUE if len(label.values) == 1 and not label.missing else SET
        if len(spans) > 1 or label.missing:
            return EVERY if tuple(spans) == (self.column._line_ends,) else SET  # noqa: SLF001
        low, high = spans[0]
        single = low is not None and high is not None and high - low == step_of(self.column.type)
        return VALUE if single else INTERVAL

    def _in_order(self) -> PublishedColumn:
        """The labels in the order of their values, with codes, and with the rules of those whose text is ambiguous."""
        order = sorted(range(len(self.labels)), key=lambda number: self._place(self.labels[number]))
        place = {old: new for new, old in enumerate(order)}
        coded = _with_codes(self.column, [self.labels[number] for number in order])
        by_rule = {file: tuple(sorted(place[number] for number in own)) for file, own in self.held.items()}
        several: dict[str, list[int]] = {}
        for number, label in enumerate(coded):
            several.setdefault(label.text, []).append(number)
        unclear = {number for own in several.values() if len(own) > 1 for number in own}
        homes: dict[int, list[str]] = {number: [] for number in unclear}
        for file, own in by_rule.items():
            for number in own:
                if number in unclear:
                    homes[number].append(file)
        return replace(
            self.column,
            labels=tuple(
                replace(label, rules=tuple(homes[number])) if number in unclear else label
                for number, label in enumerate(coded)
            ),
            by_rule=by_rule,
            unlisted=frozenset(self.unlisted),
            kept=frozenset(self.kept),
        )

    def _place(self, label: PublishedLabel) -> tuple[Any, ...]:
        """Where a label stands in the order: by its lowest value, the narrow before the wide; every value, then missing, last."""
        last = {EVERY: 1, GONE: 2}.get(label.kind, 0)
        low, high = self.column.span_of(label) or (None, None)
        bottom, top = low is not None, high is None
        ranks = tuple(self.rank[value] for value in label.values)
        return last, bottom, low or 0, top, high or 0, ranks[:1], len(ranks), ranks, label.missing, label.text


def _closed(span: Span, ends: Span) -> Span:
    """A piece of the line with the ends of the domain where it has none of its own."""
    return ends[0] if span[0] is None else span[0], ends[1] if span[1] is None else span[1]


def _with_codes(column: PublishedColumn, labels: Sequence[PublishedLabel]) -> list[PublishedLabel]:
    """The labels with a code for each different set, numbered in order; no code is a label or a value of the column."""
    sets = list(dict.fromkeys(label.meaning for label in labels if label.kind == SET))
    width = max(2, len(str(len(sets))))
    taken = {label.text for label in labels} | set(column.values or ()) | {v for label in labels for v in label.values}
    dash = "-"
    while any(f"{column.name}{dash}{number:0{width}d}" in taken for number in range(1, len(sets) + 1)):
        dash += "-"
    codes = {own: f"{column.name}{dash}{number:0{width}d}" for number, own in enumerate(sets, 1)}
    return [replace(label, code=codes.get(label.meaning)) for label in labels]
