"""Verify a release against the plan that was locked: numbers, subject, recoding, views, and what its labels mean."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from shoal.anonymize.partition.rule import level_rule
from shoal.anonymize.partition.sides import label_fits, nested
from shoal.data.cells import cells
from shoal.data.hierarchy import Hierarchy
from shoal.data.level import Keep
from shoal.data.schema import Attribute
from shoal.errors import PolicyError
from shoal.guarantee.claim import Status
from shoal.guarantee.rounding import exact
from shoal.policy.editing import text_of
from shoal.policy.model import Asked
from shoal.policy.policy import Policy
from shoal.policy.reading import read
from shoal.publish.verifier import Check

ELSEWHERE = "a file that is not here"


def canonical(folder: Path) -> tuple[Policy, Check]:
    """The policy that was locked, and whether the lock is its canonical text: nothing is beside it, and nothing respelled."""
    found = (folder / "policy.lock.yaml").read_bytes().decode("utf-8")
    policy = unlocked(found)
    return policy, Check("text of the lock", policy.lock().text == found, "what was locked, and nothing beside it")


def unlocked(text: str) -> Policy:
    """The policy that a lock was written from. Of a hierarchy that was read from a file, only the hash is known.

    Such a hierarchy is replaced by one that leaves values as they are; then nothing is said about the levels that are
    asked of it, and everything else is held against the rules of a policy.
    """
    values = _given(YAML(typ="safe", pure=True).load(text))
    attributes: Mapping[str, Any] = values["attributes"]
    hashes = {name: digest for name, one in attributes.items() if (digest := _file_hash(one.get("hierarchy")))}
    bare = {name: {**one} for name, one in attributes.items()}
    for name in hashes:
        del bare[name]["hierarchy"]
        kind = "file" if "file" in attributes[name]["hierarchy"] else "taxonomy"
        attributes[name]["hierarchy"][kind] = ELSEWHERE
    levelled = bool(hashes) and "recoding" in values.get("release", {})
    policy = Policy.of({**values, "attributes": bare} if not levelled else _without_release(values, bare))
    asked = Asked.model_validate(read(text_of(values)).tree)
    schema = [replace(one, hierarchy=_unread(one)) if one.name in hashes else one for one in policy.schema.attributes]
    return replace(policy, asked=asked, schema=replace(policy.schema, attributes=tuple(schema)), hashes=hashes)


def _given(value: Any) -> Any:
    """A tree of a lock without what was left open in it."""
    if isinstance(value, dict):
        return {key: _given(item) for key, item in value.items() if item is not None}
    return value


def _file_hash(hierarchy: Any) -> str | None:
    held = [hierarchy.get(kind) for kind in ("file", "taxonomy")] if isinstance(hierarchy, dict) else []
    return next((own["sha256"] for own in held if isinstance(own, dict) and isinstance(own.get("sha256"), str)), None)


def _without_release(values: dict[str, Any], attributes: dict[str, Any]) -> dict[str, Any]:
    return {**{key: value for key, value in values.items() if key != "release"}, "attributes": attributes}


def _unread(attribute: Attribute) -> Hierarchy:
    if attribute.domain is None:
        raise PolicyError(f"attribute '{attribute.name}': a hierarchy without a domain", fix="lock the policy again")
    return Hierarchy("file", attribute.domain, (Keep(),), (0.0,), {})


def lock_checks(folder: Path, certificate: dict[str, Any]) -> list[Check]:
    """What the locked plan says against what the certificate says."""
    locked = YAML(typ="safe", pure=True).load((folder / "policy.lock.yaml").read_text(encoding="utf-8"))
    asked, promised, part = locked["release"], certificate["guarantee"], certificate["parts"][0]
    numbers = all(exact(str(asked[name])) == exact(promised[name]) for name in ("epsilon", "delta"))
    many, views = sum(each["times"] for each in certificate["parts"]), certificate.get("views")
    numbers = numbers and (asked.get("views") is not None) == (views is not None)
    numbers = numbers and (views is not None or asked.get("repeat", 1) == many)
    numbers = numbers and (asked.get("k") is None or asked["k"] == part["k"])
    rate = asked["sampling"].get("already") or asked["sampling"].get("beta")
    numbers = numbers and (rate in (None, "auto") or exact(str(rate)) == exact(part["beta"]))
    unit = locked["unit"] if isinstance(locked["unit"], dict) else {"column": None, "max_rows": 1}
    same_unit = all(unit[name] == promised["unit"][name] for name in ("column", "max_rows"))
    told = locked["dataset"] == certificate["dataset"] and locked["neighbours"] == promised["neighbours"] and same_unit
    applied: dict[str, Any] = {
        column: json.loads((folder / place).read_text(encoding="utf-8")).get("level")
        for table in certificate["tables"]
        for column, place in table["recoding"].items()
    }
    drafted = any("profiled" in each["provenance"].values() for each in locked["attributes"].values())
    honest = not drafted or certificate["status"] != Status.PROVED.value
    return [
        canonical(folder)[1],
        Check("numbers of the lock", numbers, "epsilon, delta, k, beta and repeats as locked"),
        Check("subject of the lock", told, "dataset, unit and neighbours as locked"),
        _recoding(asked["recoding"], certificate, applied),
        *_named_views(folder, asked, certificate),
        *_meanings(folder, locked, certificate),
        Check("provenance", honest, "a drafted plan is not called proved"),
    ]


def _recoding(asked: dict[str, Any], certificate: dict[str, Any], applied: dict[str, Any]) -> Check:
    """The recoding that was applied against the one that was locked: the levels, or the kind of choice and its price."""
    choices = [table["choice"] for table in certificate["tables"] if "choice" in table]
    choice = choices[0] if choices else certificate.get("choice")
    if choice is None:
        locked = {name: level for name, level in asked["levels"].items() if name in applied}
        same = applied == locked and ("views" in certificate or locked == asked["levels"])
        return Check("levels of the lock", same, "the levels applied are the levels locked")
    locked = asked["tree" if choice["kind"] == "privtree" else choice["kind"]]
    total = sum((exact(each["epsilon"]) for each in choices), Fraction(0)) if choices else exact(choice["epsilon"])
    same = exact(str(locked["epsilon"])) == total
    if choice["kind"] == "tree":
        sample = locked.get("sample")
        same = same and (None if sample is None else exact(str(sample))) == (
            exact(choice["rate"]) if "rate" in choice else None
        )
    if choice["kind"] == "privtree":  # its noise is on a grid, so it may cost a little less than was set aside
        same = locked["grow"] == "privtree" and total <= exact(str(locked["epsilon"]))
    if choice["kind"] == "choose":
        finest, coarsest = locked.get("finest") or {}, locked.get("coarsest") or {}
        same = same and locked["score"] == choice["score"]
        same = same and all(applied[name] >= level for name, level in finest.items())
        same = same and all(applied[name] <= level for name, level in coarsest.items())
    return Check("choice of the lock", same, "the kind of recoding and its price are those locked")


def _named_views(folder: Path, asked: dict[str, Any], certificate: dict[str, Any]) -> list[Check]:
    """The views against the locked ones, and against the index that an analyst reads."""
    if "views" not in certificate:
        return []
    tables, parts = certificate["tables"], certificate["parts"]
    found = [frozenset(table["columns"]) for table in tables]
    locked = asked["views"]
    wanted = locked.get("groups") or locked.get("workload")
    same = len(set(found)) == len(found)
    if wanted is not None:
        same = same and {frozenset(group) for group in wanted} == set(found)
    if locked.get("choose") is not None:
        chosen = certificate["views"]["chosen"]
        same = same and chosen is not None and exact(chosen["epsilon"]) == exact(str(locked["choose"]["epsilon"]))
        same = same and len(found) == locked["choose"]["count"]
    else:
        same = same and certificate["views"]["chosen"] is None
    listed = json.loads((folder / certificate["views"]["index"]).read_text(encoding="utf-8"))["views"]
    told = [
        {
            "name": t["name"],
            "file": t["file"],
            "attributes": t["columns"],
            "k": t["k"],
            "beta": parts[t["part"]]["beta"],
        }
        for t in tables
    ]
    agree = [{key: entry[key] for key in told[0]} for entry in listed] == told
    agree = agree and all(exact(entry["weight"]) * exact(entry["beta"]) == 1 for entry in listed)
    return [
        Check("views of the lock", same, "the views published are those locked"),
        Check("index of views", agree, "says what the certificate says"),
    ]


def _meanings(folder: Path, locked: dict[str, Any], certificate: dict[str, Any]) -> list[Check]:
    """What labels stand for against the locked domains and hierarchies; a hierarchy that was a file is not in the folder."""
    known = {name: _attribute(name, values) for name, values in locked["attributes"].items()}
    tree = (locked["release"].get("recoding") or {}).get("tree") or {}
    finest = tree.get("finest") or {}
    checks: dict[tuple[str, str], Check] = {}
    for table in certificate["tables"]:
        for column, place in table["recoding"].items():
            if (column, place) in checks:
                continue
            attribute = known.get(column)
            if attribute is None:
                checks[column, place] = Check(f"meaning of {column}", None, "its hierarchy is a file that is not here")
                continue
            rule = json.loads((folder / place).read_text(encoding="utf-8"))
            fits = _fits(attribute, rule, int(finest.get(column, 0)))
            checks[column, place] = Check(f"meaning of {column}", fits, "labels stand for what the lock declares")
    return list(checks.values())


def _attribute(name: str, locked: dict[str, Any]) -> Attribute | None:
    """The attribute that the lock declares; None where its hierarchy was read from a file."""
    hierarchy = locked.get("hierarchy")
    if isinstance(hierarchy, dict) and any(isinstance(v, dict) and "sha256" in v for v in hierarchy.values()):
        return None
    keys = ("role", "type", "domain", "hierarchy", "missing", "outside")
    own = {key: locked[key] for key in keys if locked.get(key) is not None}
    head = {"version": 1, "dataset": "d", "unit": "row", "neighbours": "add_remove"}
    return Policy.of({**head, "attributes": {name: own}}).schema[name]


def _fits(attribute: Attribute, rule: dict[str, Any], finest: int) -> bool:
    """Whether a rule is the one that the attribute's level gives, or its labels are sides of the attribute's cells."""
    if rule["kind"] != "boxes":
        index = rule["level"]
        level = attribute.hierarchy.level(index) if attribute.hierarchy else Keep()
        return _plain(rule) == _plain(json.loads(json.dumps(level_rule(attribute, index, level))))
    pieces = cells(attribute, finest)
    place = {label: number for number, label in enumerate(pieces.labels)}
    if sorted(rule["cells"]) != sorted(pieces.labels) or (pieces.ordered and rule["cells"] != list(pieces.labels)):
        return False
    told = [place[label] for label in rule["cells"]]
    members = [[told[cell] for first, last in runs for cell in range(first, last + 1)] for runs in rule["members"]]
    base = rule["level"]
    own = level_rule(attribute, base["level"], pieces.level)
    over = nested(pieces)
    return _plain(base) == _plain(json.loads(json.dumps(own))) and all(
        label_fits(pieces, label, held, over) for label, held in zip(rule["labels"], members, strict=True)
    )


def _plain(rule: dict[str, Any]) -> dict[str, Any]:
    """A rule without the order of what it lists: a lock lists values in an order of its own."""
    kept = {key: value for key, value in rule.items() if key != "domain"}
    return kept | {"labels": None if rule["labels"] is None else sorted(rule["labels"])}
