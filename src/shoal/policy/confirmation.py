"""What a draft read off the data, key by key, and a person's word that it is known without them.

A domain or a hierarchy that was read off a table gives something of that table away which no promise covers. It stays `profiled`
until a person says that it is known independently: from a codebook, a law, an instrument. Only a person can say that, so
nothing here decides it; it puts the question in plain words, and writes down the answer.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from shoal.data.cells import MOST_COUNTED, cells_of
from shoal.data.domain import Interval, Pattern, Values, shorten
from shoal.data.hierarchy.level import ValueLevel
from shoal.errors import NextCommand, PolicyError, UsageError
from shoal.policy.policy import Policy

_INDEPENDENT = "a codebook, a law, an instrument or common knowledge"


@dataclass(frozen=True)
class ProfiledKey:
    """One thing that was read off the data: what would be declared, why that matters, and the question to a person.

    `parts` are what becomes declared, `keys` their keys: of a domain that is read off its hierarchy both, and of a hierarchy that
    follows from its domain (`hierarchy: auto`) both as well.
    """

    attribute: str
    parts: tuple[str, ...]
    keys: tuple[str, ...]
    statement: str
    why: str
    question: str

    @property
    def key(self) -> str:
        """The key as a person names it."""
        return self.keys[-1]


def profiled(policy: Policy) -> tuple[ProfiledKey, ...]:
    """Everything that was drafted from the data and that nobody has confirmed, in the order of the policy."""
    left = set(policy.profiled_keys())
    found = []
    for name, asked in policy.attributes.items():
        domain, hierarchy = f"attributes.{name}.domain", f"attributes.{name}.hierarchy"
        follows = asked.domain is not None and asked.hierarchy is not None and asked.hierarchy.auto
        if asked.domain is not None and domain in left:
            keys = (hierarchy, domain) if follows and hierarchy in left else (domain,)
            found.append(_domain(policy, name, keys))
        if hierarchy in left and not (follows and domain in left):
            both = asked.domain is None and domain in left
            found.append(_hierarchy(policy, name, (domain, hierarchy) if both else (hierarchy,)))
    return tuple(found)


def counted_words(policy: Policy, name: str) -> str | None:
    """What of a column is counted, where the policy publishes noisy counts and no rows; None where it does not, or cannot."""
    release, attribute = policy.release, policy.schema[name]
    if release is None or release.noisy_counts is None or release.has_rows or not attribute.published:
        return None
    try:
        cells = cells_of(attribute, release.cell_levels.get(name, 0), MOST_COUNTED)
    except PolicyError:  # the plan says why
        return None
    own = [label for place, label in enumerate(cells.labels) if place != cells.missing]
    if isinstance(cells.level, ValueLevel):
        return f"{len(own):,} single values"
    return f"{len(own):,} cells ({', '.join(own[:2])}{', …' * (len(own) > 2)})"


def declare_domain(policy: Policy, name: str, text: str) -> Policy:
    """The policy with the domain that a person typed, declared: two ends, values with commas between them, or a pattern.

    A hierarchy that follows from its domain is declared with it.

    Raises     PolicyError where it is no domain of the column, or its hierarchy does not fit it.

    >>> drafted = Policy.of(
    ...     {
    ...         "version": 1,
    ...         "dataset": "visits",
    ...         "unit": "row",
    ...         "neighbours": "add_remove",
    ...         "attributes": {
    ...             "age": {"role": "quasi", "type": "integer", "domain": [17, 90], "provenance": "profiled"}
    ...         },
    ...     }
    ... )
    >>> declare_domain(drafted, "age", "0 to 120").schema["age"].domain
    Interval(low=0, high=120)
    """
    domain = policy.schema[name].domain
    new: object
    if isinstance(domain, Interval):
        ends = [end for end in re.split(r"\s+to\s+|\s*,\s*|\s*\.\.+\s*|\s+", text.strip().strip("[]")) if end]
        if len(ends) != 2:
            raise PolicyError("bounds are two ends", came=len(ends), allowed="two, such as 0 to 120")
        new = ends
    elif isinstance(domain, Values):
        (values,) = csv.reader([text], skipinitialspace=True)
        new = [value.strip() for value in values]
    else:
        new = {"pattern": text.strip()}
    changed = policy.with_changes({("attributes", name, "domain"): new})
    (key,) = (each for each in profiled(changed) if each.attribute == name and "domain" in each.parts)
    return confirm(changed, [key])


def find_profiled(policy: Policy, wanted: Iterable[str]) -> tuple[ProfiledKey, ...]:
    """The keys that a person names: `attributes.age.domain`, `age.domain`, or `age` for both.

    Raises     UsageError for a name of nothing that is profiled.
    """
    every = profiled(policy)
    found: dict[str, ProfiledKey] = {}
    for name in wanted:
        meant = [each for each in every if name in _names(each)]
        if not meant:
            near = _nearest(policy, every, name)
            raise UsageError(
                "nothing of this name is profiled in the policy",
                came=name,
                allowed=shorten([each.key for each in every]) if every else "nothing: everything is declared",
                step=None if near is None else NextCommand(replace=(name, near)),
            )
        found |= {each.key: each for each in meant}
    return tuple(each for each in every if each.key in found)


def _nearest(policy: Policy, every: Sequence[ProfiledKey], name: str) -> str | None:
    """The profiled key that a misspelled name probably means, spelled as fully as it was.

    The column is found first, among all of the policy, those that are declared too: to confirm is to declare something, and
    nobody is offered the key of a column that was not meant.
    """
    bare = name.removeprefix("attributes.")
    column, _, end = bare.rpartition(".")
    part = get_close_matches(end, ("domain", "hierarchy"), n=1, cutoff=_NEAR) if column else []
    meant = get_close_matches(column if part else bare, [*policy.attributes], n=1, cutoff=_NEAR)
    if not meant:
        return None
    likely = ".".join([*(["attributes"] if bare != name else []), *meant, *part])
    return likely if any(likely in _names(each) for each in every) else None


_NEAR = 0.7
"""How alike two names are at least, from 0 to 1, where one may be the other misspelled."""


def _names(each: ProfiledKey) -> tuple[str, ...]:
    """What a person may call a key: its path, the path without its beginning, or the column."""
    return (*each.keys, *(key.removeprefix("attributes.") for key in each.keys), each.attribute)


def confirm(policy: Policy, confirmed: Sequence[ProfiledKey]) -> Policy:
    """The policy in which these keys are declared; comments and order stay as they are.

    >>> drafted = Policy.of(
    ...     {
    ...         "version": 1,
    ...         "dataset": "visits",
    ...         "unit": "row",
    ...         "neighbours": "add_remove",
    ...         "attributes": {
    ...             "age": {"role": "quasi", "type": "integer", "domain": [17, 90], "provenance": "profiled"}
    ...         },
    ...     }
    ... )
    >>> (age,) = profiled(drafted)
    >>> age.question
    "Is it known independently of this table that every value of 'age' lies from 17 to 90?"
    >>> confirm(drafted, [age]).profiled_keys()
    ()
    """
    declared: dict[str, set[str]] = {}
    for each in confirmed:
        declared.setdefault(each.attribute, set()).update(each.parts)
    changes: dict[str | tuple[str, ...], object] = {}
    for name, parts in declared.items():
        asked = policy.attributes[name]
        origin = {part: getattr(asked.provenance, part) for part in ("domain", "hierarchy")}
        origin |= dict.fromkeys(parts, "declared")
        if asked.hierarchy is None:
            origin["hierarchy"] = origin["domain"]
        words = set(origin.values())
        changes["attributes", name, "provenance"] = words.pop() if len(words) == 1 else origin
    return policy.with_changes(changes) if changes else policy


def _domain(policy: Policy, name: str, keys: tuple[str, ...]) -> ProfiledKey:
    domain = policy.schema[name].domain
    if isinstance(domain, Interval):
        said = f"every value of '{name}' lies from {domain.low} to {domain.high}"
        why = (
            "Bounds were read off the table. The lowest and the highest value are often one person's, so such bounds tell of "
            f"that person. Bounds that are known from {_INDEPENDENT} tell of nobody."
        )
    elif isinstance(domain, Values):
        said = f"the values of '{name}' are {list_in_words(domain.values)}"
        why = (
            "A list was read off the table. A value that one person alone has would be in it because of that person. A list "
            f"that is known from {_INDEPENDENT} tells of nobody."
        )
    else:
        form = domain.words() if isinstance(domain, Pattern) else "texts"
        said = f"the values of '{name}' are {form}"
        why = f"The form of texts was read off the table. One that is known from {_INDEPENDENT} tells of nobody."
    return _asked(name, keys, said, why, f"Is it known independently of this table that {said}?")


def _hierarchy(policy: Policy, name: str, keys: tuple[str, ...]) -> ProfiledKey:
    attribute = policy.schema[name]
    levels = attribute.hierarchy
    shown = [] if levels is None else [levels.labels(index) for index in range(1, len(levels))]
    groups = "; then ".join(
        "labels that are not listed" if labels is None else list_in_words(labels, 6) for labels in shown
    )
    counted = counted_words(policy, name)
    said = f"the values of '{name}' are grouped into {groups}"
    if len(keys) > 1 and isinstance(attribute.domain, Values):
        said = f"the values of '{name}' are {list_in_words(attribute.domain.values)}, grouped into {groups}"
    if counted is not None:
        said += f"; noisy counts are published of {counted}"
    why = (
        "Groups were chosen after a look at the values of the table. Groups that a classification or common practice has "
        "tell of nobody; groups that were drawn around the values of this table may tell of the people in it."
    )
    what = "these values and groups" if len(keys) > 1 else "these groups"
    question = f"Would you have written {what} for '{name}' without this table?"
    return _asked(name, keys, said, why, question)


def _asked(name: str, keys: tuple[str, ...], said: str, why: str, question: str) -> ProfiledKey:
    parts = tuple(key.rpartition(".")[2] for key in keys)
    return ProfiledKey(name, parts, keys, f"{said[:1].upper()}{said[1:]}.", why, question)


def list_in_words(values: Sequence[str], most: int = 12) -> str:
    """A list of values or labels, of which the first are shown where there are many."""
    shown = ", ".join(_quoted(value) for value in values[:most])
    if len(values) <= most:
        return shown
    return f"{shown} and {len(values) - most:,} more, {len(values):,} in all"


def _quoted(value: str) -> str:
    """A value as a list shows it: in quotes where its own comma would make two of it; intervals have brackets for that."""
    return f"'{value}'" if "," in value and value[-1] not in ")]" else value
