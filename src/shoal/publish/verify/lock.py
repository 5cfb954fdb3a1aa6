"""Read a lock back into the policy that it was written from, and check that it is its canonical text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.level import ValueLevel
from shoal.data.schema import Attribute
from shoal.errors import PolicyError
from shoal.policy.model.file import PolicyModel
from shoal.policy.policy import Policy
from shoal.policy.text.editing import text_of
from shoal.policy.text.reading import read_yaml
from shoal.publish.folder import hierarchy_file, population_file
from shoal.publish.verify.standalone import LARGEST_LOCK, Check, hash_of, open_inside, read_lock, read_text

ELSEWHERE = "a file that is not here"


def read_locked_policy(folder: Path) -> tuple[Policy, Check]:
    """The policy that was locked, and whether the lock is its canonical text: nothing is beside it, and nothing respelled.

    A later version of Shoal may write out defaults of keys that an earlier one did not have. So every line of the lock must be
    a line of the canonical text, in its order; the lines that are left must be defaults, because they follow from the others.
    """
    found = read_text(folder, "policy.lock.yaml", LARGEST_LOCK)
    values = read_lock(found)
    named = [(digest, hierarchy_file(digest)) for digest in _hashes(values).values()]
    people = _population_hash(values)
    named += [(people, population_file(people))] if people is not None else []
    carried = frozenset(digest for digest, name in named if _has_hash(folder, name, digest))
    policy = policy_of_lock(found, folder, carried) if carried else policy_of_lock(found)
    lines = iter(policy.lock().text.splitlines(keepends=True))
    same = all(line in lines for line in found.splitlines(keepends=True))  # `in` reads on from where the last one was
    return policy, Check("lock-canonical", same, "what was locked, and nothing beside it", promise=True)


@lru_cache(maxsize=16)
def policy_of_lock(text: str, folder: Path | None = None, carried: frozenset[str] = frozenset()) -> Policy:
    """The policy that a lock was written from. Of a hierarchy that was read from a file, the lock has the hash alone.

    Where the release carries the file, in `folder`, with a hash that is `carried`, it is read again. Where it does not, the
    hierarchy is replaced by one that leaves values as they are; then nothing is said about the levels that are asked of it,
    and everything else is held against the rules of a policy. A population that the release does not carry is known by its hash.
    """
    values = _without_nulls(read_lock(text))
    people = _population_hash(values)
    hidden = people is not None and people not in carried
    if people is not None:
        values["release"]["criteria"]["k_map"]["population"] = ELSEWHERE if hidden else population_file(people)
    attributes: Mapping[str, Any] = values["attributes"]
    every = _hashes(values)
    for name, digest in every.items():
        kind = "file" if "file" in attributes[name]["hierarchy"] else "taxonomy"
        attributes[name]["hierarchy"][kind] = hierarchy_file(digest) if digest in carried else ELSEWHERE
    hashes = {name: digest for name, digest in every.items() if digest not in carried}
    bare = {name: {**one} for name, one in attributes.items()}
    for name in hashes:
        del bare[name]["hierarchy"]
    levelled = bool(hashes) and "recoding" in values.get("release", {})
    seen = _without_population(values) if hidden else values
    policy = Policy.of({**seen, "attributes": bare} if not levelled else _without_release(values, bare), folder)
    if not hashes and not hidden:
        return policy
    asked = PolicyModel.model_validate(read_yaml(text_of(values)).tree)
    schema = [replace(one, hierarchy=_unread(one)) if one.name in hashes else one for one in policy.schema.attributes]
    known = replace(policy.schema, attributes=tuple(schema))
    return replace(policy, model=asked, schema=known, hashes={**policy.hashes, **hashes}, population=people)


def _hashes(values: Mapping[str, Any]) -> dict[str, str]:
    """The hash of the file of each hierarchy that was read from one."""
    own = values["attributes"].items()
    return {name: digest for name, one in own if (digest := _file_hash(one.get("hierarchy")))}


def _has_hash(folder: Path, name: str, digest: str) -> bool:
    """Whether the release carries the file with this hash."""
    try:
        with open_inside(folder, name) as file:
            return hash_of(file) == digest
    except ValueError:
        return False


def is_unread(policy: Policy, name: str) -> bool:
    """Whether an attribute has a hierarchy of which the hash alone is known."""
    asked = policy.model.attributes[name].hierarchy
    return asked is not None and ELSEWHERE in (asked.file, asked.taxonomy)


def _without_nulls(value: Any) -> Any:
    """A tree of a lock without what was left open in it."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value


def _file_hash(hierarchy: Any) -> str | None:
    held = [hierarchy.get(kind) for kind in ("file", "taxonomy")] if isinstance(hierarchy, dict) else []
    return next((own["sha256"] for own in held if isinstance(own, dict) and isinstance(own.get("sha256"), str)), None)


def _population_hash(values: Mapping[str, Any]) -> str | None:
    """The hash of the population file that k-map is counted on, if it is asked for."""
    found: Any = values.get("release")
    for key in ("criteria", "k_map", "population", "sha256"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, str) else None


def _without_population(values: dict[str, Any]) -> dict[str, Any]:
    """A lock without k-map: its population cannot be read again."""
    release = values["release"]
    criteria = {key: value for key, value in release["criteria"].items() if key != "k_map"}
    return {**values, "release": {**release, "criteria": criteria}}


def _without_release(values: dict[str, Any], attributes: dict[str, Any]) -> dict[str, Any]:
    return {**{key: value for key, value in values.items() if key != "release"}, "attributes": attributes}


def _unread(attribute: Attribute) -> Hierarchy:
    if attribute.domain is None:
        raise PolicyError(f"attribute '{attribute.name}': a hierarchy without a domain", fix="lock the policy again")
    return Hierarchy("file", attribute.domain, (ValueLevel(),), (0.0,), {})
