"""Verify a release whose guarantee is counted: the papers against each other and the lock, and the table by counting it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from shoal import __version__
from shoal.assess.check import check as count
from shoal.assess.observed import Observed
from shoal.data.domain import Values
from shoal.data.schema import Attribute, Role, Schema, Type
from shoal.guarantee.claim import Claim
from shoal.guarantee.rounding import exact
from shoal.policy.policy import Policy
from shoal.publish.opening import theorem_entry
from shoal.publish.syntactic.certificate import HOW_PREMISES_WERE_CHECKED
from shoal.publish.syntactic.plan import NOT_PROMISED, SyntacticPlan, syntactic_plan
from shoal.publish.verifier import Check

SCHEMA = Path(__file__).with_name("certificate.schema.json")
SLACK = 1e-9
"""The arithmetic of a distance."""
SHOWS = {"mean", "median", "mode", "concept", "interval", "set", "ancestor"}
MOVED = {"permuted in groups of its own", "permuted with the quasi-identifiers"}


def verify_counted(folder: Path, certificate: dict[str, Any]) -> list[Check]:
    """Everything that needs more than the standard library."""
    locked = YAML(typ="safe", pure=True).load((folder / "policy.lock.yaml").read_text(encoding="utf-8"))
    plan = _replanned(locked)
    return [
        *_papers(certificate),
        *_against_lock(certificate, locked, plan),
        *_table(folder, certificate, plan.policy.schema),
    ]


def _papers(certificate: dict[str, Any]) -> list[Check]:
    """The certificate against itself and the registry."""
    claims = [Claim.from_saved(saved) for saved in certificate["claims"]]
    first, promised = claims[0], certificate["guarantee"]
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    closed = set(schema["required"]) <= set(certificate) <= set(schema["properties"])
    same = first.guarantee.to_saved() == {"kind": promised["kind"], "k": promised["k"]}
    same = same and first.status.value == promised["status"] == certificate["status"]
    same = same and all(table["k"] == promised["k"] for table in certificate["tables"])
    others = {claim.guarantee.kind: claim.guarantee.to_saved() for claim in claims[1:]}
    same = same and ("l-diversity" in others) == (promised["l"] is not None)
    same = same and ("t-closeness" in others) == (promised["t"] is not None)
    if "l-diversity" in others:
        same = same and exact(others["l-diversity"]["l"]) == promised["l"]
    if "t-closeness" in others:
        same = same and exact(others["t-closeness"]["t"]) == exact(promised["t"])
    stated = certificate["theorems"] == [theorem_entry(name, HOW_PREMISES_WERE_CHECKED) for name in first.theorems]
    now = certificate["software"]["shoal"] == __version__
    limits = not now or certificate["not_promised"] == list(NOT_PROMISED[certificate["method"]])
    return [
        Check("keys", closed, "those that a certificate has, and no others"),
        Check("limits", limits, "what is not promised, as this version says it"),
        Check("sentence", certificate["sentence"] == first.words(), "says what the claim says"),
        Check("claim", same, "one promise throughout"),
        Check("theorems", stated, "as in the registry"),
    ]


def _against_lock(certificate: dict[str, Any], locked: dict[str, Any], plan: SyntacticPlan) -> list[Check]:
    """The certificate against what the lock says would happen."""
    promised, grouping, table = certificate["guarantee"], certificate["grouping"], certificate["tables"][0]
    crowd, schema = plan.method.crowd, plan.policy.schema
    t = None if promised["t"] is None else exact(promised["t"])
    numbers = (plan.k, crowd.wanted.l, crowd.wanted.t) == (promised["k"], promised["l"], t)
    numbers = numbers and grouping["name"] == crowd.grouping and grouping["crowds"] == plan.crowds()
    numbers = numbers and (grouping["gain"] is None or exact(grouping["gain"]) == crowd.gain)
    subject = locked["dataset"] == certificate["dataset"] and promised["unit"] == plan.unit.to_saved()
    subject = subject and certificate["method"] == locked["release"]["method"]
    claims = [claim.to_saved() for claim in plan.claims] == certificate["claims"]
    roles = sorted(table["columns"]) == sorted(attribute.name for attribute in schema.published)
    roles = roles and sorted(table["quasi"]) == sorted(attribute.name for attribute in schema.quasi)
    roles = roles and sorted(table["confidential"]) == sorted(attribute.name for attribute in schema.confidential)
    treated = {name for name, rule in table["shows"].items() if rule != "as it is"}
    expected = {name for name, rule in plan.method.rules(schema).items() if rule != "as it is"}
    shows = treated == expected and set(table["shows"]) == set(table["columns"])
    shows = shows and {table["shows"][name] for name in treated} <= (
        SHOWS if promised["kind"] == "k-anonymity" else MOVED
    )
    return [
        Check("numbers of the lock", numbers, "k, l, t and the grouping as locked"),
        Check("subject of the lock", subject, "dataset, method and unit as locked"),
        Check("claims of the lock", claims, "those that the locked plan makes"),
        Check("words", certificate["words"] == plan.sentences(), "they say what the locked plan says"),
        Check("columns of the lock", roles, "published attributes and their roles as locked"),
        Check("treatment", shows, "the attributes that the method treats, and no others"),
    ]


def _table(folder: Path, certificate: dict[str, Any], schema: Schema) -> list[Check]:
    """The published table, counted by code that shares nothing with the methods."""
    table = certificate["tables"][0]
    path, promised = folder / table["file"], certificate["guarantee"]
    checks = _file(path, table["columns"])
    if promised["kind"] != "k-anonymity":
        return checks
    seen = count(path, _bare(schema, table["shows"]))
    checks.append(Check(f"groups of {table['file']}", seen.k >= promised["k"], f"the smallest has {seen.k} rows"))
    if promised["l"] is not None:
        checks.append(Check("l-diversity", (seen.l or 0) >= promised["l"], f"the least diverse has {seen.l} values"))
    if promised["t"] is not None:
        far = farthest(seen)
        checks.append(
            Check("t-closeness", far <= float(exact(promised["t"])) + SLACK, f"the farthest lies {far:.4g} off")
        )
    return checks


def farthest(seen: Observed) -> float:
    """The largest earth mover's distance: along the order where values have one, else with any two values 1 apart."""
    worst = 0.0
    for one in seen.confidential:
        along = one.measures.t_ordered
        worst = max(worst, one.measures.t_equal if along is None else along)
    return worst


def _file(path: Path, columns: list[str]) -> list[Check]:
    if path.suffix != ".parquet":
        return []
    import pyarrow.parquet as pq

    from shoal.publish.verify import is_sorted

    rows = pq.read_table(path).unify_dictionaries()
    named, rows = rows, rows.rename_columns([str(place) for place in range(rows.num_columns)])
    return [
        Check(f"columns of {path.name}", named.column_names == columns, "as declared"),
        Check(f"nothing else in {path.name}", not (named.schema.metadata or {}), "no notes in the file"),
        Check(f"order of {path.name}", is_sorted(rows), "sorted by its own values"),
    ]


def _bare(schema: Schema, shows: dict[str, str]) -> Schema:
    """The attributes with nothing but their roles, orders and the types of what they show, as a stranger reads the table."""
    return Schema(
        tuple(
            Attribute(one.name, one.role, _shown(one, shows), one.domain if isinstance(one.domain, Values) else None)
            for one in schema.attributes
            if one.role in (Role.QUASI, Role.CONFIDENTIAL)
        )
    )


def _shown(attribute: Attribute, shows: dict[str, str]) -> Type:
    """A mean of whole numbers is none."""
    middle = shows[attribute.name] in ("mean", "median") and attribute.type is Type.INTEGER
    return Type.DECIMAL if middle else attribute.type


def _replanned(locked: dict[str, Any]) -> SyntacticPlan:
    """The plan that the lock resolves to; hierarchies, which files may have held, play no part in what it promises."""
    keys = ("role", "type", "domain", "missing")
    attributes = {
        name: {key: values[key] for key in keys if values.get(key) is not None}
        for name, values in locked["attributes"].items()
    }
    head: dict[str, Any] = {key: locked[key] for key in ("version", "dataset", "unit", "neighbours") if key in locked}
    return syntactic_plan(Policy.of({**head, "attributes": attributes, "release": locked["release"]}))
