"""Codes that may stand for a missing value, which a draft left open in comments, and a person's word on them.

A draft takes nothing for a missing code that only looks like one: it writes a line `# missing_values: [-9]` below the keys of the
column, and says what else would change. Whoever takes the sign # off decides; what is here does the same to the text, where a
person says so.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shoal.data.domain import Values
from shoal.errors import PolicyError
from shoal.policy.policy import Policy
from shoal.policy.text.editing import Change
from shoal.policy.text.reading import read_yaml

_COMMENT = re.compile(r"(?P<indent>[ ]+)#(?:[ ](?P<words>.*))?")
_LINE = re.compile(r"missing_values: (\[.*\])")
_BEGINNING = re.compile(r".* looks? like (?:a code|codes) for (?:a missing value|missing values)\. ")
"""How the comment of a draft about such codes begins."""
MOST_VALUES = 1000
"""Values that a domain may list in the policy where a hierarchy file lists a code among them."""
_LISTED = ("category", "ordinal", "text")
"""Types of which a list of two values is no pair of ends."""
_INSTEAD = re.compile(r" and write (?P<keys>domain: .*):$")


@dataclass(frozen=True)
class OpenCodes:
    """Codes of one column of which nobody has said whether they stand for a missing value.

    `changes` are the keys of the column that change if they do. `lines` are the first and the last line of the comment, from 0.
    """

    attribute: str
    codes: tuple[str, ...]
    changes: Mapping[str, Any]
    lines: tuple[int, int]

    @property
    def key(self) -> str:
        """The key as a person names it."""
        return f"attributes.{self.attribute}.missing_values"

    @property
    def names(self) -> tuple[str, ...]:
        """What a person may call the key."""
        return self.key, self.key.removeprefix("attributes.")


def open_codes(policy: Policy) -> tuple[OpenCodes, ...]:
    r"""The codes that a draft left open and that can be decided in the policy alone, in the order of the file.

    A code in a very long hierarchy file has to be taken out of that file first, so it is not among them.

    >>> drafted = Policy.parse(
    ...     "version: 1\ndataset: d\nunit: row\nneighbours: add_remove\nattributes:\n  hours:\n    role: quasi\n"
    ...     "    type: integer\n    domain: [0, 100]\n    # missing_values: [99]\n"
    ... )
    >>> [(each.attribute, each.codes) for each in open_codes(drafted)]
    [('hours', ('99',))]
    """
    lines = policy.text.split("\n")
    if not any("# missing_values:" in line for line in lines):
        return ()
    document = read_yaml(policy.text)
    starts = {name: document.line(("attributes", name)) or 0 for name in policy.attributes}
    found = []
    for number, line in enumerate(lines):
        comment = _COMMENT.fullmatch(line.rstrip("\r"))
        listed = None if comment is None else _LINE.fullmatch((comment["words"] or "").strip())
        above = [name for name, start in starts.items() if start <= number]  # lines of a document are counted from 1
        if listed is None or not above:
            continue
        name = max(above, key=lambda each: starts[each])
        first, words = _comment_before(lines, number)
        keys = document.at(("attributes", name))
        made = _open(policy, name, keys, listed[1], words)
        if made is not None:
            found.append(OpenCodes(name, *made, (first, number)))
    return tuple(found)


def settle_codes(policy: Policy, missing: Iterable[OpenCodes], values: Iterable[OpenCodes] = ()) -> Policy:
    r"""The policy in which some codes stand for a missing value, and others are values like the rest; their comments are gone.

    The domains and groups of columns go without what stands for a missing value.

    >>> drafted = Policy.parse(
    ...     "version: 1\ndataset: d\nunit: row\nneighbours: add_remove\nattributes:\n  sex:\n    role: quasi\n"
    ...     "    type: category\n    domain: [f, m, '9']\n    # missing_values: ['9']\n"
    ... )
    >>> made = settle_codes(drafted, open_codes(drafted)).schema["sex"]
    >>> made.domain.values, made.missing_values
    (('f', 'm'), ('9',))
    """
    missing, values = tuple(missing), tuple(values)
    if not missing and not values:
        return policy
    ends = {each.lines[1]: each for each in missing if "missing_values" not in _keys(policy, each.attribute)}
    gone = {number for each in (*missing, *values) for number in range(each.lines[0], each.lines[1] + 1)}
    lines = list(enumerate(policy.text.split("\n")))
    without = "\n".join(line for number, line in lines if number not in gone)
    taken = "\n".join(
        line.replace("# ", "", 1) if number in ends else line
        for number, line in lines
        if number in ends or number not in gone
    )
    every: dict[Change, object] = {
        ("attributes", each.attribute, key): new for each in missing for key, new in each.changes.items()
    }
    left = {
        key: new
        for key, new in every.items()
        if key[-1] != "missing_values" or key[1] not in {each.attribute for each in ends.values()}
    }
    with contextlib.suppress(PolicyError):  # the line is where a key of the column would be, unless a person moved it
        read_yaml(taken)
        made = _with_changes(replace(policy, text=taken), left)
        if all(set(each.codes) <= set(made.attributes[each.attribute].missing_values) for each in missing):
            return made
    return _with_changes(replace(policy, text=without), every)


def _keys(policy: Policy, name: str) -> Mapping[str, Any]:
    keys = read_yaml(policy.text).at(("attributes", name))
    return keys if isinstance(keys, dict) else {}


def _with_changes(policy: Policy, changes: Mapping[Change, object]) -> Policy:
    return policy.with_changes(changes) if changes else Policy.parse(policy.text, policy.folder, policy.file)


def _comment_before(lines: Sequence[str], last: int) -> tuple[int, str]:
    """The first line of the comment that ends here, and its words; the line alone where a draft did not write it."""
    end = _COMMENT.fullmatch(lines[last].rstrip("\r"))
    words: list[str] = []
    for first in range(last - 1, -1, -1):
        comment = _COMMENT.fullmatch(lines[first].rstrip("\r"))
        if comment is None or end is None or comment["indent"] != end["indent"]:
            break
        words.insert(0, (comment["words"] or "").strip())
        if _BEGINNING.match(" ".join(words)):
            return first, " ".join(words)
    return last, ""


def _open(
    policy: Policy, name: str, keys: object, listed: str, words: str
) -> tuple[tuple[str, ...], dict[str, Any]] | None:
    """The codes of one column that are open, and what changes if they stand for a missing value; None where there is nothing.

    Of a list that a hierarchy file has, the domain names what is left: rows of the file beyond it are not used.
    """
    codes, known = _tree(f"missing_values: {listed}").get("missing_values"), policy.attributes[name].missing_values
    if not isinstance(keys, dict) or not isinstance(codes, list):
        return None
    new = tuple(code for code in codes if isinstance(code, str) and code not in known)
    changes: dict[str, Any] = {"missing_values": [*known, *new]}
    instead = _INSTEAD.search(words)
    if instead is not None:
        bounds, _, hierarchy = instead["keys"].partition(" and hierarchy: ")
        changes |= _tree(bounds) | (_tree(f"hierarchy: {hierarchy}") if hierarchy else {})
    changes |= _without(keys, set(new), changes)
    domain = policy.schema[name].domain
    if isinstance(domain, Values) and len(changes) == 1 and set(new) & set(domain.values):
        left = [value for value in domain.values if value not in new]
        if not 0 < len(left) <= MOST_VALUES:
            return None
        changes["domain"] = left if keys.get("type") in _LISTED else {"values": left}
    return (new, changes) if new else None


def _tree(text: str) -> dict[str, Any]:
    try:
        tree = read_yaml(text).tree
    except PolicyError:
        return {}
    return tree if isinstance(tree, dict) else {}


def _without(keys: Mapping[str, Any], codes: set[str], known: Mapping[str, Any]) -> dict[str, Any]:
    """Domain and hierarchy of a list of values without the codes, where it has them."""
    changes: dict[str, Any] = {}
    domain = keys.get("domain")
    listed: Any = domain.get("values") if isinstance(domain, dict) else domain
    of_values = isinstance(domain, dict) or keys.get("type") in _LISTED
    left = [value for value in listed if value not in codes] if of_values and isinstance(listed, list) else []
    if "domain" not in known and left and left != listed:
        changes["domain"] = {**domain, "values": left} if isinstance(domain, dict) else left
    hierarchy = keys.get("hierarchy")
    groups: Any = hierarchy.get("groups") if isinstance(hierarchy, dict) else None
    levels = groups if isinstance(groups, list) else [groups]
    if "hierarchy" in known or not isinstance(hierarchy, dict) or not all(isinstance(level, dict) for level in levels):
        return changes
    kept, gone = [], set(codes)
    for level in levels:
        shown = {label: [each for each in members if each not in gone] for label, members in level.items()}
        gone = {label for label, members in shown.items() if not members and level[label]}
        kept.append({label: members for label, members in shown.items() if label not in gone})
    if kept != levels:
        changes["hierarchy"] = {**hierarchy, "groups": kept if isinstance(groups, list) else kept[0]}
    return changes
