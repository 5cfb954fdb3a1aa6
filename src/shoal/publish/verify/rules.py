"""Verify what labels stand for: each rule of a recoding against the level, the lattice or the cells that the lock declares."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from shoal.anonymize.generalize.base import Partition, level_rule
from shoal.anonymize.generalize.private_scheme import PrivateScheme
from shoal.anonymize.generalize.scheme import FixedScheme
from shoal.anonymize.generalize.tree.sides import hierarchy_over, label_fits
from shoal.data.cells import AttributeCells, cells_of
from shoal.data.domain import Values
from shoal.data.hierarchy.level import ValueLevel
from shoal.data.schema import Attribute, Schema, Type
from shoal.policy.policy import Policy
from shoal.publish.certificate.model import TableEntry
from shoal.publish.folder import rule_text
from shoal.publish.plan.safe_k import SafeKPlan
from shoal.publish.verify.lock import is_unread
from shoal.publish.verify.standalone import Check, read_text, strict_json

FREE = frozenset(Type) - {Type.ORDINAL}
"""Types whose listed values are locked in the order of the alphabet, and stand in a rule in that of the policy."""
MOST_READINGS = 1000
"""Ways to begin reading a list of six values that are followed; values without commas have six."""


def rule_checks(folder: Path, plan: SafeKPlan, tables: Sequence[TableEntry]) -> list[Check]:
    """One check for each file of a rule; None where a hierarchy was a file that is not in the folder."""
    found: dict[tuple[str, str], Check] = {}
    for number, table in enumerate(tables):
        method = plan.views[number].method if plan.views else plan.method
        for column, place in table.recoding.items():
            if (column, place) in found:
                continue
            text = read_text(folder, place)
            found[column, place] = rule_check(text, method.partition, plan.policy, column)
    return list(found.values())


def rule_check(text: str, partition: Partition, policy: Policy, column: str) -> Check:
    """Whether a rule is written as we write it, and is one that a partition of the locked plan could settle on."""
    rule = strict_json(text)
    if text != rule_text(rule):
        return Check("label-meaning", False, "the rule is not written as we write it", about=column)
    fits, detail = _fits(partition, policy.schema, column, rule, is_unread(policy, column))
    return Check("label-meaning", fits, detail, about=column)


def _fits(
    partition: Partition, schema: Schema, column: str, rule: dict[str, Any], unread: bool
) -> tuple[bool | None, str]:
    """Whether a rule is one that the locked plan could settle on."""
    attribute = schema[column]
    named = rule["attribute"] == column and rule["type"] == attribute.type.value
    if not isinstance(partition, FixedScheme | PrivateScheme):
        finest: int = partition.finest.get(column, 0)  # type: ignore[attr-defined]
        if unread:
            return (None if named and rule["kind"] == "boxes" else False), "its hierarchy is a file that is not here"
        return named and is_union_rule(cells_of(attribute, finest), rule), "labels stand for what the lock declares"
    allowed = _levels(partition, column)
    if unread:
        level_fits = isinstance(partition, PrivateScheme) or rule["level"] in allowed
        return (None if named and level_fits and rule["kind"] != "boxes" else False), (
            "its hierarchy is a file that is not here"
        )
    index = rule["level"]
    fits = named and type(index) is int and index in allowed
    return fits and is_level_rule(attribute, rule), "the level is one of the lock, with the labels that it declares"


def _levels(partition: FixedScheme | PrivateScheme, column: str) -> tuple[int, ...]:
    """The levels that an attribute may have."""
    if isinstance(partition, FixedScheme):
        return (partition.scheme.indices.get(column, 0),)
    return partition.lattice.levels[partition.lattice.names.index(column)]


def is_level_rule(attribute: Attribute, rule: dict[str, Any]) -> bool:
    """Whether a rule is that of its level of an attribute's hierarchy."""
    level = attribute.hierarchy.level(rule["level"]) if attribute.hierarchy else ValueLevel()
    return _same(attribute, rule, level_rule(attribute, rule["level"], level))


def is_union_rule(pieces: AttributeCells, rule: dict[str, Any], fits: Callable[..., bool] = label_fits) -> bool:
    """Whether the labels of a rule are unions of an attribute's cells, with their losses; `fits` says how they are named."""
    attribute = pieces.attribute
    keys = {"attribute", "type", "domain", "kind", "labels", "losses", "members", "cells", "level"}
    if set(rule) != keys or rule["kind"] != "boxes" or sorted(rule["cells"]) != sorted(pieces.labels):
        return False
    if pieces.ordered and rule["cells"] != list(pieces.labels):
        return False
    place = {label: number for number, label in enumerate(pieces.labels)}
    told = [place[label] for label in rule["cells"]]
    members = [_cells_of_runs(runs, told) for runs in rule["members"]]
    base, over = rule["level"], hierarchy_over(pieces)
    own = level_rule(attribute, base["level"], pieces.level)
    return (
        rule["domain"] == base["domain"]
        and _same(attribute, base, own)
        and len(set(rule["labels"])) == len(rule["labels"]) == len(rule["losses"]) == len(members)
        and all(
            held is not None and fits(pieces, label, held, over) and loss == f"{pieces.loss(held):.6f}"
            for label, loss, held in zip(rule["labels"], rule["losses"], members, strict=True)
        )
    )


def _cells_of_runs(runs: Any, told: Sequence[int]) -> list[int] | None:
    """The cells of runs that rise and do not touch; None where they do not."""
    last = -2
    for first, end in runs:
        if type(first) is not int or type(end) is not int or not last + 1 < first <= end < len(told):
            return None
        last = end
    return [told[cell] for first, end in runs for cell in range(first, end + 1)]


def _same(attribute: Attribute, told: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether a rule is the one wanted, up to the order of listed values that are not ordinal."""
    own = json.loads(json.dumps(wanted))
    free = attribute.type in FREE and own["kind"] in ("keep", "groups")
    domain = _domain_fits(attribute, told["domain"], own["domain"])
    plain = [{**rule, "domain": None, "labels": _in_free_order(rule["labels"], free)} for rule in (told, own)]
    return domain and json.dumps(plain[0], sort_keys=True) == json.dumps(plain[1], sort_keys=True)


def _in_free_order(labels: Any, free: bool) -> Any:
    return sorted(labels) if free and labels is not None else labels


def _domain_fits(attribute: Attribute, told: Any, wanted: Any) -> bool:
    """Whether the words of a domain are those of the declared one; a list that is not ordinal may be in any order."""
    domain = attribute.domain
    if told == wanted or not isinstance(domain, Values) or attribute.type not in FREE or not isinstance(told, str):
        return bool(told == wanted)
    shown, more = domain.words().rpartition(", … (")[0] or domain.words(), len(domain.values) > 6
    ending = domain.words()[len(shown) :] if more else ""
    if not told.endswith(ending):
        return False
    body = told[: len(told) - len(ending)] if ending else told
    return _names_values(body, domain.values, min(6, len(domain.values)))


def _names_values(text: str, values: Sequence[str], many: int) -> bool:
    """Whether a text names so many different values.

    Values that hold commas can be read in several ways; a text with more beginnings than we ever look at is none of ours.
    """
    waiting: list[tuple[str, frozenset[str]]] = [(text, frozenset())]
    for _ in range(MOST_READINGS):
        if not waiting:
            break
        rest, named = waiting.pop()
        if len(named) == many - 1:
            if rest in values and rest not in named:
                return True
            continue
        waiting += [
            (rest[len(value) + 2 :], named | {value})
            for value in values
            if value not in named and rest.startswith(f"{value}, ")
        ]
    return False
