"""Few questions about what a draft read off the data: the keys of one column together, and columns that are alike side by side.

A question shows everything that a yes declares, so that a person can read it: bounds and lists as they are, groups with their
members, and where a list is too long to be read on a screen, how much of it stands in a file. It can be opened: into one
question for each column, and that into one for each key.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.data.domain import Interval, Pattern, Values
from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.level import SUPPRESSED
from shoal.data.type import Type
from shoal.policy.confirmation import ProfiledKey, counted_words, list_in_words
from shoal.policy.model.attribute import HierarchyModel
from shoal.policy.policy import Policy

MOST_FINDINGS = 6
"""Different findings that one question shows, a line for each."""
MOST_VALUES = 40
"""Values of one column that are shown; of longer lists the first ones."""
MOST_LABELS = 6
"""Groups of one level that are named where it has more than twice as many."""
SHORT_LIST = 8
"""Values of a list that is short enough to stand beside others in one question."""
_ALONE = "list"
"""The kind of a list that has a question to itself: it is long, or has groups of its own."""
_KINDS = {
    "numbers": ("of numbers", "these bounds", "these steps"),
    "dates": ("of dates and times", "these bounds", "these groups"),
    "lists": ("with lists of values", "these values", "these groups"),
    _ALONE: ("with the same list of values", "these values", "these groups"),
    "texts": ("of texts", "such patterns", "these groups"),
}
"""Of each kind of finding: how several columns of it are called, and what their domains and hierarchies are."""
_BOUNDS = "Bounds were read off the data: its lowest and highest values, rounded outwards."
"""What proposed bounds are, which look as if they were known."""


@dataclass(frozen=True)
class ProfiledColumns:
    """Columns in which a draft found the same: what it found in words, its groups with their members, and the keys of all."""

    names: tuple[str, ...]
    finding: str
    groups: tuple[tuple[str, str], ...]
    keys: tuple[ProfiledKey, ...]


@dataclass(frozen=True)
class ConfirmationQuestion:
    """What a person is asked at once: the columns with their findings, the question, and why it matters."""

    subject: str
    columns: tuple[ProfiledColumns, ...]
    question: str
    why: str
    seen: str = ""
    """What proposed bounds are; empty where none are asked for."""

    @property
    def keys(self) -> tuple[ProfiledKey, ...]:
        """Everything that a yes declares, in the order of the policy."""
        return tuple(key for each in self.columns for key in each.keys)

    @property
    def shortened(self) -> bool:
        """Whether a finding leaves values or groups out because there are many."""
        return any(" more, " in each.finding for each in self.columns)

    def open(self) -> tuple[ConfirmationQuestion, ...]:
        """One question for each column; of one column, one for each key; nothing for a single key."""
        names = list(dict.fromkeys(key.attribute for key in self.keys))
        if len(names) > 1:
            return tuple(
                ConfirmationQuestion(
                    name,
                    (ProfiledColumns((name,), each.finding, each.groups, _keys_of(name, each.keys)),),
                    self.question,
                    self.why,
                    self.seen,
                )
                for each in self.columns
                for name in each.names
            )
        if len(self.keys) == 1:
            return ()
        return tuple(
            ConfirmationQuestion(key.key, (ProfiledColumns((), key.statement, (), (key,)),), key.question, key.why)
            for key in self.keys
        )


def confirmation_questions(policy: Policy, waiting: Sequence[ProfiledKey]) -> tuple[ConfirmationQuestion, ...]:
    """Put the keys that wait for a person into questions, in the order of the policy.

    Columns with the same finding share a line. Lines of one kind share a question, up to `MOST_FINDINGS`: bounds of numbers, of
    dates and times, short lists, forms of texts. A long list, and a list with groups of its own, has a question to itself.
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    for name in dict.fromkeys(key.attribute for key in waiting):
        alike.setdefault(_sameness(policy, name, _keys_of(name, waiting)), []).append(name)
    kinds: dict[tuple[str, ...], list[ProfiledColumns]] = {}
    for (kind, parts, *_), names in alike.items():
        keys = tuple(key for name in names for key in _keys_of(name, waiting))
        found = ProfiledColumns(tuple(names), *_finding(policy, names[0], parts.split()), keys)
        kinds.setdefault((kind, parts, names[0] if kind == _ALONE else ""), []).append(found)
    made = [
        _question(kind, parts.split(), several)
        for (kind, parts, *_), every in kinds.items()
        for several in _divide(every)
    ]
    place = {name: number for number, name in enumerate(policy.attributes)}
    return tuple(sorted(made, key=lambda each: place[each.columns[0].names[0]]))


def _keys_of(name: str, keys: Iterable[ProfiledKey]) -> tuple[ProfiledKey, ...]:
    return tuple(key for key in keys if key.attribute == name)


def _divide(every: Sequence[ProfiledColumns]) -> list[Sequence[ProfiledColumns]]:
    """Lines in as few questions as they fit into, of about the same length."""
    many = -(-len(every) // MOST_FINDINGS)
    size = -(-len(every) // many)
    return [every[start : start + size] for start in range(0, len(every), size)]


def _sameness(policy: Policy, name: str, keys: Sequence[ProfiledKey]) -> tuple[str, ...]:
    """What two columns have in common that share a line: kind, what is profiled, and all of the domain and the hierarchy."""
    asked = policy.attributes[name]
    parts = " ".join(sorted({part for key in keys for part in key.parts}))
    written = ("" if each is None else each.model_dump_json() for each in (asked.domain, asked.hierarchy))
    return _kind(policy, name), parts, *written


def _kind(policy: Policy, name: str) -> str:
    attribute, asked = policy.schema[name], policy.attributes[name].hierarchy
    if isinstance(attribute.domain, Interval):
        return "dates" if attribute.type in (Type.DATE, Type.DATETIME) else "numbers"
    if not isinstance(attribute.domain, Values):
        return "texts"
    plain = asked is None or asked.auto
    return "lists" if plain and len(attribute.domain.values) <= SHORT_LIST else _ALONE


def _finding(policy: Policy, name: str, parts: Sequence[str]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """What was found in a column, as far as it is profiled; groups of a list that can be read at once come with their members."""
    attribute, asked = policy.schema[name], policy.attributes[name].hierarchy
    domain, levels = attribute.domain, attribute.hierarchy
    grouped = "hierarchy" in parts and asked is not None and not asked.auto
    if grouped and isinstance(domain, Values) and levels is not None:
        if len(domain.values) <= MOST_VALUES:
            return "; ".join(f"then {each}" for each in _labels(levels)[1:]), _members(levels)
        return f"{_listed(domain.values)}; grouped into {'; then '.join(_labels(levels))}", ()
    found = []
    if "domain" in parts:
        written = policy.attributes[name].domain
        if isinstance(domain, Interval):
            low, high = (domain.low, domain.high) if written is None or written.interval is None else written.interval
            found.append(f"{low} to {high}")
        elif isinstance(domain, Values):
            found.append(_listed(domain.values))
        else:
            found.append(domain.words() if isinstance(domain, Pattern) else "texts")
    if grouped and asked is not None:
        found.append(_rule(asked, levels))
    counted = None if isinstance(domain, Values) else counted_words(policy, name)
    return ", ".join(found) + (f"; counted: {counted}" if counted is not None else ""), ()


def _members(levels: Hierarchy) -> tuple[tuple[str, str], ...]:
    """The groups of the first level, with their values."""
    found: dict[str, list[str]] = {}
    for value, label, *_ in levels.rows:
        found.setdefault(label, []).append(value)
    return tuple((label, list_in_words(values, MOST_VALUES)) for label, values in found.items())


def _rule(asked: HierarchyModel, levels: Hierarchy | None) -> str:
    """A hierarchy by the rule that makes it, and its labels where it has none in words."""
    spec: dict[str, Any] = asked.spec()
    more = {"origin": "beginning at {}", "below": "below {} together", "above": "above {} together"}
    ends = [words.format(spec[word]) for word, words in more.items() if word in spec]
    if "intervals" in spec or "rounding" in spec:
        words, steps = ("in steps of", spec["intervals"]) if "intervals" in spec else ("rounded to", spec["rounding"])
        rule = f"{words} {', '.join(map(str, steps))}"
    elif "cuts" in spec:
        cuts = spec["cuts"]
        several = cuts if isinstance(cuts[0], list) else [cuts]
        rule = "cut at " + "; then at ".join(_listed([str(one) for one in each]) for each in several)
    elif "date" in spec:
        rule = f"by {', '.join(spec['date'])}"
    elif "mask" in spec and "side" in spec["mask"]:
        kept = f" but {', '.join(map(str, keep))}" if (keep := spec["mask"].get("keep")) else ""
        rule = f"letters hidden from the {spec['mask']['side']}{kept}"
    elif "mask" in spec:
        rule = f"the first {', '.join(map(str, spec['mask']['prefix']))} letters"
    else:
        rule = f"grouped into {'; then '.join([] if levels is None else _labels(levels))}"
    return ", ".join([rule, *ends])


def _labels(levels: Hierarchy) -> list[str]:
    """The labels of each level, without a last one that says nothing."""
    every = [levels.labels(index) for index in range(1, len(levels))]
    return [
        "labels that are not listed"
        if own is None
        else list_in_words(own, MOST_LABELS if len(own) > 2 * MOST_LABELS else len(own))
        for number, own in enumerate(every)
        if number == 0 or own != (SUPPRESSED,)
    ]


def _listed(values: Sequence[str]) -> str:
    return list_in_words(values, MOST_VALUES if len(values) <= MOST_VALUES else 12)


def _question(kind: str, parts: Sequence[str], columns: Sequence[ProfiledColumns]) -> ConfirmationQuestion:
    called, domains, hierarchies = _KINDS[kind]
    names = [name for each in columns for name in each.names]
    # A hierarchy that follows from its domain is confirmed with it, and is nothing to be asked for itself.
    ruled = any(key.parts[-1] == "hierarchy" for each in columns for key in each.keys)
    what = " and ".join([domains] * ("domain" in parts) + [hierarchies] * ruled)
    return ConfirmationQuestion(
        names[0] if len(names) == 1 else f"{len(names)} columns {called}",
        tuple(columns),
        f"Would you have written {what.replace(' and these ', ' and ')} without this table?",
        " ".join(dict.fromkeys(key.why for each in columns for key in each.keys)),
        _BOUNDS if "domain" in parts and kind in ("numbers", "dates") else "",
    )
