"""The canonical text of a policy and its hash: the same for the same meaning, another for another.

Comments, blanks, the order of keys and the spelling of numbers are gone; defaults are written out; a file that a
hierarchy reads stands there by the hash of its bytes, so that its name and folder do not count and its content does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.data.schema import Attribute, Schema, Type
from shoal.policy.model.attribute import AttributeModel
from shoal.policy.model.file import PolicyModel
from shoal.policy.model.release import ReleaseModel
from shoal.policy.schema import canonical_domain, spec_of
from shoal.policy.text.keys import every_key

_OURS = {key.path.rpartition(".")[2] for key in every_key()}


@dataclass(frozen=True)
class Lock:
    """The canonical text of a policy and its SHA-256 hash."""

    text: str = field(repr=False)
    sha256: str


def lock(asked: PolicyModel, schema: Schema, hashes: Mapping[str, str]) -> Lock:
    """The canonical text of what was asked, its defaults written out, and its hash.

    `hashes` has the hash of the file that an attribute's hierarchy was read from, by the attribute's name.
    """
    values = {
        "version": asked.version,
        "dataset": asked.dataset,
        "unit": asked.unit.model_dump(mode="json") if asked.unit.column else "row",
        "neighbours": asked.neighbours,
        "file": asked.file.canonical(),
        "attributes": {
            name: _attribute(asked.attributes[name], schema[name], hashes.get(name))
            for name in sorted(asked.attributes)
        },
        "release": _release(asked.release) if asked.release else None,
        "budget": asked.budget.model_dump(mode="json") if asked.budget else None,
    }
    text = "\n".join(_lines(values, "")) + "\n"
    return Lock(text, hashlib.sha256(text.encode("utf-8")).hexdigest())


def _attribute(asked: AttributeModel, attribute: Attribute, file: str | None) -> dict[str, Any]:
    provenance = asked.provenance
    hierarchy = provenance.hierarchy if asked.hierarchy is not None else "declared"
    own = asked.domain is not None
    return {
        "role": asked.role.value,
        "type": attribute.type.value,
        "domain": None
        if attribute.domain is None or attribute.type is Type.BOOLEAN
        else canonical_domain(attribute.domain, asked.domain, attribute.type),
        "hierarchy": _hierarchy(asked, attribute, file),
        "missing": asked.missing.value,
        "outside": asked.outside.value,
        "weight": asked.model_dump(mode="json")["weight"] or "1",
        "provenance": {"domain": provenance.domain if own else hierarchy, "hierarchy": hierarchy},
    }


def _hierarchy(asked: AttributeModel, attribute: Attribute, file: str | None) -> Any:
    if asked.hierarchy is None or attribute.hierarchy is None:
        return None
    spec = spec_of(asked.hierarchy, attribute.type, attribute.domain)
    spec = {kind: _sort_groups(value) if kind == "groups" else value for kind, value in sorted(spec.items())}
    if file is None:
        return spec
    kind = "file" if asked.hierarchy.file is not None else "taxonomy"
    return {**spec, kind: {"sha256": file}}


def _sort_groups(groups: Any) -> Any:
    """Groups with their labels and members in the order of the alphabet; levels stay in theirs."""
    if isinstance(groups, Mapping):
        return {label: _sort_groups(groups[label]) for label in sorted(groups)}
    if isinstance(groups, list):
        return (
            sorted(groups) if all(isinstance(item, str) for item in groups) else [_sort_groups(item) for item in groups]
        )
    return groups


def _release(asked: ReleaseModel) -> dict[str, Any]:
    values = asked.model_dump(mode="json", exclude_none=True)
    if levels := values.get("recoding", {}).get("levels"):
        values["recoding"]["levels"] = {name: levels[name] for name in sorted(levels)}
    for key in ("groups", "workload"):
        if key in values.get("views", {}):
            values["views"][key] = sorted(sorted(group) for group in values["views"][key])
    return values


def _lines(value: Mapping[str, Any], indent: str) -> list[str]:
    """A mapping as block YAML, two blanks to a level; texts in JSON's quotes, lists on one line."""
    lines: list[str] = []
    for key, item in value.items():
        if isinstance(item, Mapping) and item:
            lines += [f"{indent}{_key(key)}:", *_lines(item, indent + "  ")]
        else:
            lines.append(f"{indent}{_key(key)}: {_scalar(item)}")
    return lines


def _key(key: str) -> str:
    """Our own keys as they are; a person's names in quotes, whatever they are."""
    return key if key in _OURS else _scalar(key)


def _scalar(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
