"""A condition on published attributes, written in the language of sessions or given as plain Python values.

"age >= 40 and age < 65 and sex = 'female'"              as a session takes it, typed against the locked policy

{"age": (40, 65), "sex": "female"}                     from 40 up to, but not including, 65; and female
{"diagnosis": {"A11", "A12"}}                          one of several
{"age": (65, None)}, {"age": None}                     no upper end; missing
{"region@1": "North"}                                  a label of this level of the hierarchy
{"size": 3}, {"size": "3-9"}, {"size": "39"}           a number is a value; a text that the table shows is that label
{"drug": {"label": "A"}}, {"drug": {"value": "A"}}     where a text is both: as the table shows it; the value alone
[{"age": (65, None)}, {"department": "Oncology"}]      one or the other, or both
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from shoal.assess.release.labels import AtomAxis, Label, Meaning, Span, atom_axis, resolve_masks, single
from shoal.assess.release.load import LoadedRelease
from shoal.assess.release.noisy_counts import PublishedCountTable
from shoal.assess.release.view import Ints, PublishedView
from shoal.data.hierarchy.level import MISSING
from shoal.data.schema import Schema
from shoal.data.type import point, spell, value_at
from shoal.errors import PolicyError, UsageError
from shoal.guarantee.rounding import exact
from shoal.language.condition.plain import values_of_entry
from shoal.language.condition.predicate import Atom, Node, Predicate
from shoal.language.condition.ranks import DoubleRanks, ListedRanks, double_at
from shoal.language.condition.sets import RankSet, TextSet, ValueSet
from shoal.policy.text.problem import nearest

Where = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]
Condition = list[dict[str, Label]]
"""A disjunction of conjunctions: it holds where, in one of the mappings, all labels do."""
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
MOST_BLOCKS = 1 << 20
MOST_ALTERNATIVES = 1024
"""Alternatives of one condition, once `or` stands outside and `and` inside."""


def condition(loaded: LoadedRelease, where: Where) -> Condition:
    """Translate a condition into labels; UsageError for a value or attribute that the release does not have."""
    if isinstance(where, str):
        found = labels_of_text(where, loaded.known_schema)
        for name in dict.fromkeys(name for each in found for name in each):
            loaded.meanings(name)
        return found
    given: Any = [where] if isinstance(where, Mapping) else where
    if not isinstance(given, list | tuple) or not all(isinstance(each, Mapping) for each in given):
        raise UsageError(
            "a condition of an unknown form",
            came=type(where).__name__,
            allowed="a text such as 'age >= 65', a mapping from attributes to a value, a set of values or (low, high), "
            "or a list of such mappings",
        )
    if not given:
        raise UsageError("the list of conditions is empty", fix="give at least one mapping; {} is everything")
    return [
        reduce(partial(_join, loaded), (_entry(loaded, name, value) for name, value in each.items()), {})
        for each in given
    ]


def _entry(loaded: LoadedRelease, name: object, value: object) -> dict[str, Label]:
    """One entry of a mapping: an attribute as the tables show it, or `region@1` as the policy's hierarchy has it."""
    written = str(name)
    bare, at, _ = written.rpartition("@")
    if at and loaded.schema is not None and written not in loaded.attributes and bare in loaded.attributes:
        return {bare: label_of_values(values_of_entry(loaded.schema, written, value))}
    return {written: _condition_label(loaded, written, value)}


def _join(loaded: LoadedRelease, one: dict[str, Label], other: dict[str, Label]) -> dict[str, Label]:
    """Both entries; of one attribute, such as region and region@1, the values that both allow."""
    return both(loaded, [one], [other])[0] if one.keys() & other.keys() else {**one, **other}


def _condition_label(loaded: LoadedRelease, name: str, value: object) -> Label:
    meanings = loaded.meanings(name)
    if isinstance(value, Label):
        return value
    if isinstance(value, tuple):
        return _between(meanings[0], value)
    several = value if isinstance(value, set | frozenset | list | range) else [value]
    found = [_single_or_policy_label(loaded, name, meanings, each) for each in several]
    if not found:
        raise UsageError(f"attribute '{name}': the set of values is empty", fix="name at least one value")
    return found[0].union(found[1:], name)


def _single_or_policy_label(loaded: LoadedRelease, name: str, meanings: Sequence[Meaning], given: object) -> Label:
    """One value or label of the tables; a label that only the policy's hierarchy has is the values under it, as in a session."""
    try:
        return _single(name, meanings, given)
    except UsageError as refused:
        value, as_label, _ = _explicit(name, given)
        if loaded.schema is None or not as_label or not isinstance(value, str) or name not in loaded.schema.by_name:
            raise
        try:
            return label_of_values(values_of_entry(loaded.schema, name, {"label": value}))
        except UsageError:
            raise refused from None


def _between(own: Meaning, value: tuple[Any, ...]) -> Label:
    if not own.type.numeric or len(value) != 2:
        raise UsageError(
            f"attribute '{own.attribute}': (low, high) is for numbers, dates and times, and has two ends",
            came=value,
            fix="give a set of values",
        )
    try:
        low, high = (None if end is None else point(own.type, end) for end in value)
    except PolicyError as error:
        raise UsageError(
            f"attribute '{own.attribute}': {error.wrong}", came=error.came, allowed=error.allowed
        ) from None
    if low is not None and high is not None and low >= high:
        raise UsageError(
            f"attribute '{own.attribute}': an empty interval", came=value, allowed="low < high; high is not included"
        )
    span: Span = (low, high)
    return Label(own.attribute, (span,))


def _single(name: str, meanings: Sequence[Meaning], given: object) -> Label:
    """Translate one value or label.

    A text that is a label of the table is that label, whatever it looks like; numbers, dates, truth values and other texts
    are declared values. Where a text is a category's value and also a label that stands for more, it has to be said which.
    """
    value, as_label, as_value = _explicit(name, given)
    if value is None or value == MISSING:
        return Label(MISSING, missing=True)
    text = spell(value)
    label = _label(name, meanings, text) if as_label else None
    own = _value(meanings, value) if as_value else None
    found = label or own
    if found is None:
        raise _unknown(name, meanings, text)
    if label is None or own is None or _same(label, own):
        return found
    if meanings[0].type.numeric:
        return label if isinstance(value, str) else own
    raise UsageError(
        f"attribute '{name}': a declared value, and also a label that stands for other values too",
        came=text,
        allowed=f"{{'label': '{text}'}} for what the table shows so, {{'value': '{text}'}} for the value alone",
    )


def _explicit(name: str, given: object) -> tuple[object, bool, bool]:
    """Give the value that a condition names, and whether it may be a label, and whether a declared value."""
    if not isinstance(given, Mapping):
        return given, True, True
    if len(given) != 1 or not set(given) <= {"label", "value"}:
        raise UsageError(
            f"attribute '{name}': a condition of an unknown form",
            came=f"a mapping with {', '.join(map(repr, given)) or 'nothing'}",
            allowed="{'label': ...} or {'value': ...}",
        )
    ((kind, value),) = given.items()
    return value, kind == "label", kind == "value"


def _label(name: str, meanings: Sequence[Meaning], text: str) -> Label | None:
    """Find the label of this text; UsageError where two views use it for different values."""
    found = [label for each in meanings for label in each.labels if label.text == text]
    if any(not _same(found[0], other) for other in found[1:]):
        raise UsageError(
            f"attribute '{name}': a label that stands for different values in different views",
            came=text,
            fix="name the values, or give (low, high)",
        )
    return found[0] if found else None


def _value(meanings: Sequence[Meaning], value: object) -> Label | None:
    """Translate a declared value; None for a value that no record of the table can have."""
    text, labels = spell(value), [label for each in meanings for label in each.labels]
    if not meanings[0].type.numeric:
        return Label(text, values=frozenset({text})) if any(text in label.values for label in labels) else None
    try:
        span = single(meanings[0].type, value)
    except PolicyError:
        return None
    at = span[0]
    if at is None or any(not _reaches(each.ends, at) for each in meanings):
        return None
    if all(each.listed for each in meanings) and not any(
        label.everything or any(_reaches(own, at) for own in label.spans) for label in labels
    ):
        return None
    return Label(text, (span,))


def _reaches(span: Span, at: Fraction) -> bool:
    low, high = span
    return (low is None or low <= at) and (high is None or at < high)


def _same(one: Label, other: Label) -> bool:
    return replace(one, text="") == replace(other, text="")


def _unknown(name: str, meanings: Sequence[Meaning], text: str) -> UsageError:
    """Make the error for a text that is neither value nor label, with the label that covers it where there is one."""
    labels = [label for each in meanings for label in each.labels]
    numeric = meanings[0].type.numeric
    masks = [] if numeric else [each.mask.mask(text) for each in meanings if each.mask is not None]
    covering = next((label.text for label in labels if label.text in masks), None)
    if covering is None and not numeric:
        covering = next((label.text for label in labels if label.everything), None)
    if covering is None:
        words = [label.text for label in labels] + sorted({one for label in labels for one in label.values})
        close = None if numeric else nearest(text, words)
        listed = None if close else _allowed_words(meanings)
        return UsageError(
            f"attribute '{name}': neither a declared value nor a label", came=text, allowed=listed, fix=close
        )
    return UsageError(
        f"attribute '{name}': no label stands for this value alone, and the release does not list the declared values",
        came=text,
        allowed=_allowed_words(meanings),
        fix=f"ask for '{covering}', the label that a record with such a value has",
    )


def _allowed_words(meanings: Sequence[Meaning]) -> str:
    labels = _list_labels(label for each in meanings for label in each.labels)
    low, high = meanings[0].ends
    if low is None or high is None:
        return labels
    return f"{value_at(meanings[0].type, low)} up to, but not including, {value_at(meanings[0].type, high)}; labels: {labels}"


def _list_labels(labels: Iterable[Label]) -> str:
    names = list(dict.fromkeys(label.text for label in labels))
    return ", ".join(names[:8]) + (f", … ({len(names)} labels)" if len(names) > 8 else "")


def both(loaded: LoadedRelease, one: Condition, other: Condition) -> Condition:
    """Give the condition that holds where two others do."""
    axes = condition_axes(loaded, [*one, *other])

    def common(name: str, labels: list[Label]) -> Label:
        first, *more = resolve_masks(axes[name], labels)
        return first.common(more[0], name) if more else labels[0]

    return [
        {name: common(name, [each[name] for each in (a, b) if name in each]) for name in dict.fromkeys([*a, *b])}
        for a in one
        for b in other
    ]


# --- a condition that is written -----------------------------------------------------------------------------------
# It is typed against the policy that was locked, as for a session, and brought into alternatives: in each of them every
# attribute has one set of values. Such a set is what a label of a release stands for.


def labels_of_text(text: str, schema: Schema) -> list[dict[str, Label]]:
    """The alternatives of a condition as it is typed; UsageError where it cannot be read, or no release can answer it."""
    return labels_of_predicate(Predicate.parse(text, schema))


def labels_of_predicate(condition: Predicate) -> list[dict[str, Label]]:
    """The alternatives of a condition, each with one label for every attribute that it names."""
    return [{name: label_of_values(values) for name, values in each.items()} for each in _alternatives(condition.root)]


def _alternatives(node: Node) -> list[dict[str, ValueSet]]:
    """A condition as a disjunction of conjunctions; what no value satisfies is left out."""
    if isinstance(node, Atom):
        return [{node.name: node.value_set}]
    parts = [_alternatives(part) for part in node.parts]
    if not node.every:
        return _few([each for part in parts for each in part])
    found: list[dict[str, ValueSet]] = [{}]
    for part in parts:
        _few([*found] * len(part))
        joined = [_conjunction(one, other) for one in found for other in part]
        found = [each for each in joined if each is not None]
    if not found:
        raise UsageError("a condition that no record satisfies")
    return found


def _few(found: list[dict[str, ValueSet]]) -> list[dict[str, ValueSet]]:
    if len(found) > MOST_ALTERNATIVES:
        raise UsageError(
            "a condition with too many alternatives",
            came=f"more than {MOST_ALTERNATIVES:,}",
            fix="ask for parts that have no record in common, and add them up",
        )
    return found


def _conjunction(one: dict[str, ValueSet], other: dict[str, ValueSet]) -> dict[str, ValueSet] | None:
    """The conjunction of two alternatives; None where one attribute would need a value that both allow, and there is none."""
    found = dict(one)
    for name, values in other.items():
        found[name] = found[name].intersection(values) if name in found else values
        if found[name].empty:
            return None
    return found


def label_of_values(values: ValueSet) -> Label:
    """What a set of values of one attribute stands for."""
    name = values.attribute.name
    if isinstance(values, TextSet):
        if not values.inside:
            raise UsageError(
                f"attribute '{name}': a release does not list the values of a pattern, so it cannot leave some out",
                fix="name the values that you want, or count all records and subtract",
            )
        return Label(name, values=values.texts, missing=values.missing)
    if not isinstance(values, RankSet):
        raise UsageError(f"attribute '{name}': a release cannot answer conditions on it")
    domain = values.domain
    if isinstance(domain, ListedRanks):
        listed = [domain.values[rank] for low, high in values.spans for rank in range(low, high + 1)]
        if values.attribute.type.numeric:
            spans = tuple(single(values.attribute.type, value) for value in listed)
            return Label(name, spans, missing=values.missing)
        return Label(name, values=frozenset(listed), missing=values.missing)
    return Label(name, tuple(_span_of_ranks(values, low, high) for low, high in values.spans), missing=values.missing)


def _span_of_ranks(values: RankSet, low: int, high: int) -> Span:
    """Ranks as a piece of the line; the ends of the domain are left open, as labels of the whole domain have them."""
    domain = values.domain
    first = None if low == domain.low else _place_of_rank(values, low)
    return first, None if high == domain.high else _place_of_rank(values, high + 1)


def _place_of_rank(values: RankSet, rank: int) -> Fraction:
    return exact(double_at(rank)) if isinstance(values.domain, DoubleRanks) else Fraction(rank)


# --- what a condition says of a table ------------------------------------------------------------------------------


def condition_axes(loaded: LoadedRelease, wanted: Condition) -> dict[str, AtomAxis]:
    """Make the atoms of each attribute that a condition names, cut by the condition; all tables list the values together."""
    asked: dict[str, list[Label]] = {}
    for each in wanted:
        for name, label in each.items():
            asked.setdefault(name, []).append(label)
    return {name: _cut_axis(loaded, name, labels) for name, labels in asked.items()}


def _cut_axis(loaded: LoadedRelease, name: str, labels: Sequence[Label]) -> AtomAxis:
    """The atoms of an attribute, cut by labels; those of the release itself where nothing is cut, for they are at hand."""
    whole = loaded.axis(name)
    return whole if whole.keeps_whole(labels) else atom_axis(loaded.meanings(name), labels)


@dataclass(frozen=True)
class ConditionBlocks:
    """The blocks of one attribute, in each of which a condition treats all atoms alike, and how labels lie in them."""

    truth: Mask
    """Whether each alternative of the condition holds in each block."""
    shares: Floats
    """Which share of each label lies in each block."""
    touches: Floats
    """Whether a label has a part in a block: 0 or 1."""


def condition_blocks(
    pieces: AtomAxis, labels: Sequence[Label], wanted: Condition, name: str, sizes: Floats | None = None
) -> ConditionBlocks:
    """Divide an attribute's labels by what a condition says of it; `sizes` say how records are spread over the axis."""
    asked = [each[name] for each in wanted if name in each]
    pairs = pieces.members_of_rule(labels)
    truth = np.ones((len(wanted), len(pieces)), dtype=np.bool_)
    truth[[name in each for each in wanted]] = pieces.membership(resolve_masks(pieces, asked))
    blocks, block = np.unique(truth, axis=1, return_inverse=True)
    shape = (len(labels), blocks.shape[1])
    at = np.ravel_multi_index((pairs[0], np.ravel(block)[pairs[1]]), shape)
    shares = np.bincount(at, pieces.split(pairs, len(labels), sizes), shape[0] * shape[1]).astype(np.float64)
    touches = np.minimum(np.bincount(at, minlength=shape[0] * shape[1]), 1.0)
    return ConditionBlocks(blocks, shares.reshape(shape), touches.reshape(shape))


def truth_table(truths: Sequence[Mask], alternatives: int) -> Floats:
    """Say whether a condition holds in each combination of blocks."""
    shape = [truth.shape[1] for truth in truths]
    if np.prod(shape, dtype=float) > MOST_BLOCKS:
        raise UsageError("a condition with too many parts", fix="split it into several counts")
    found = np.zeros(shape, dtype=np.bool_)
    for i in range(alternatives):
        one = np.ones(shape, dtype=np.bool_)
        for j, truth in enumerate(truths):
            one &= truth[i].reshape([-1 if a == j else 1 for a in range(len(shape))])
        found |= one
    return found.astype(np.float64)


@dataclass(frozen=True)
class Within:
    """The records that are looked at: those for which a condition holds, or does not hold."""

    whole: Condition
    holds: bool = True


def truth_within(truths: Sequence[Mask], alternatives: int, within: Within | None, *, rest: bool = False) -> Floats:
    """Say where a condition (or with `rest` its opposite) holds and the records are looked at; `truths` are those of the
    condition's alternatives and then those of the other condition's.
    """
    found = truth_table([truth[:alternatives] for truth in truths], alternatives)
    found = 1 - found if rest else found
    if within is None:
        return found
    other = truth_table([truth[alternatives:] for truth in truths], len(within.whole))
    return found * (other if within.holds else 1 - other)


Table = TypeVar("Table", PublishedView, PublishedCountTable)


class Overlap(Generic[Table]):
    """How the cells of one table overlap a condition: inside, outside or across, and which share of each is inside.

    `axes` are those of the condition; `sizes` say how the records of an attribute are spread over its axis, where that is known.
    With `rest` it is the opposite of the condition; `within` is where another one holds, or does not.
    """

    def __init__(
        self,
        view: Table,
        wanted: Condition,
        axes: Mapping[str, AtomAxis],
        sizes: Mapping[str, Floats] = MappingProxyType({}),
        *,
        within: Within | None = None,
        rest: bool = False,
    ) -> None:
        self.view: Table = view
        every = [*wanted, *(within.whole if within else ())]
        self.named = tuple(dict.fromkeys(name for each in every for name in each))
        parts = [
            condition_blocks(axes[name], view.meanings[name].labels, every, name, sizes.get(name))
            for name in self.named
        ]
        self._shares = [part.shares for part in parts]
        self._touches = [part.touches for part in parts]
        self._truth = truth_within([part.truth for part in parts], len(wanted), within, rest=rest)

    def _over(self, weights: Sequence[Floats], truth: Floats) -> Floats:
        """Add up over blocks, for every combination of labels."""
        for weight in weights:
            truth = np.tensordot(truth, weight, axes=([0], [1]))
        return truth

    def _look_up(self, table: Floats, codes: Ints) -> Floats:
        where = [self.view.columns.index(name) for name in self.named]
        return np.asarray(table[tuple(codes[:, j] for j in where)]) if where else np.full(len(codes), float(table))

    def of(self, codes: Ints) -> tuple[Floats, Mask, Mask]:
        """Give for tuples of labels the share inside, whether any of it is inside, and whether all of it is."""
        share, touched, beyond = self._tables
        return self._look_up(share, codes), self._look_up(touched, codes) > 0, self._look_up(beyond, codes) == 0

    @property
    def _tables(self) -> tuple[Floats, Floats, Floats]:
        size = np.prod([float(len(each)) for each in self._shares])
        if size > MOST_BLOCKS:
            raise UsageError("a condition over too many labels at once", fix="name fewer attributes in one condition")
        if not hasattr(self, "_made"):
            self._made = (
                self._over(self._shares, self._truth),
                self._over(self._touches, self._truth),
                self._over(self._touches, 1 - self._truth),
            )
        return self._made

    @property
    def label_tables(self) -> tuple[Floats, Mask, Mask]:
        """Give what `of` does for all tuples of labels of the attributes that are named, one axis for each."""
        share, touched, beyond = self._tables
        return share, np.asarray(touched > 0), np.asarray(beyond == 0)

    @property
    def cells_touched(self) -> int | None:
        """How many tuples of labels that the view could show overlap the condition; None where they cannot be listed."""
        if self.view.box_tuples is not None:
            return int(self.of(self.view.box_tuples)[1].sum())
        if self.view.cells is None:
            return None
        inside = int((self._tables[1] > 0).sum())
        return inside * (self.view.cells // max(1, int(np.prod([len(each) for each in self._shares], dtype=object))))

    @property
    def blur(self) -> float:
        """The part of the domain whose labels the condition cuts across; it does not depend on the rows."""
        if self.view.box_tuples is not None:
            boxes = self.view.box_tuples
            _, touched, whole = self.of(boxes)
            volume = np.ones(len(boxes))
            for j, name in enumerate(self.view.columns):
                volume *= self.view.meanings[name].volumes[boxes[:, j]]
            return float(volume[touched & ~whole].sum())
        volume = np.ones(())
        for name in self.named:
            volume = np.multiply.outer(volume, self.view.meanings[name].volumes)
        return float(volume[(self._tables[1] > 0) & (self._tables[2] > 0)].sum())
