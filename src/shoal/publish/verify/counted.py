"""Verify a release whose guarantee is counted: its certificate is made again from the lock, and its table read and counted."""

from __future__ import annotations

import filecmp
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.assess.disclosure.measures import observe
from shoal.data.domain import Values
from shoal.data.schema import Attribute, Outside, Schema, Type
from shoal.engine.base import Table, open_engine
from shoal.errors import DataError
from shoal.guarantee.rounding import exact
from shoal.ledger.state import Account
from shoal.publish.certificate.counted import certificate as made_again
from shoal.publish.plan.counted import SyntacticPlan
from shoal.publish.plan.methods import plan as resolve
from shoal.publish.verify.lock import canonical
from shoal.publish.verify.rebuild import compared
from shoal.publish.verify.recount import distance_of
from shoal.publish.verify.standalone import Check

SCHEMA = Path(__file__).parents[1] / "certificate" / "counted.schema.json"
SLACK = 1e-9
"""The arithmetic of a distance."""
LABELS = ("interval", "set", "concept", "ancestor")
"""What a group may show that is no value of the attribute."""
LONGEST = 1 << 26
"""Bytes of the longest row that is read."""


def verify_counted(folder: Path, certificate: dict[str, Any]) -> list[Check]:
    """Everything that needs more than the standard library."""
    policy, as_locked = canonical(folder)
    plan = resolve(policy)
    if not isinstance(plan, SyntacticPlan):
        return [as_locked, Check("method", False, "the lock asks for a method of another kind")]
    plan = _in_order(plan, certificate["tables"][0]["columns"])
    return [as_locked, *_papers(certificate, plan), *_table(folder, certificate, plan)]


def _in_order(plan: SyntacticPlan, columns: Sequence[str]) -> SyntacticPlan:
    """The plan with its columns as they were published; a lock has them in the order of the alphabet."""
    place = {name: number for number, name in enumerate(columns)}
    own = sorted(plan.policy.schema.attributes, key=lambda one: place.get(one.name, len(place)))
    return replace(plan, policy=replace(plan.policy, schema=replace(plan.policy.schema, attributes=tuple(own))))


def _papers(certificate: dict[str, Any], plan: SyntacticPlan) -> list[Check]:
    """The certificate against the one that the locked plan makes, entry by entry."""
    book = certificate["ledger"]
    account = Account(
        dataset=plan.policy.dataset, budget=None, neighbours=None, unit=None, costs=(), releases=0,
        unbounded=book["unbounded_releases"], looks=0, sample_used=False,
    )  # fmt: skip
    wanted = made_again(plan, f"table.{plan.format}", certificate["files"], account, certificate["date"])
    spent = book == wanted["ledger"] or book["charges"] > 0
    wanted["ledger"] = book  # what was spent before is not in the lock
    return [*compared(certificate, wanted), Check("charges", spent, "without charges there is nothing spent")]


def _table(folder: Path, certificate: dict[str, Any], plan: SyntacticPlan) -> list[Check]:
    """The published table, read as a stranger would and counted by code that shares nothing with the methods."""
    table = certificate["tables"][0]
    path, rules = folder / f"table.{plan.format}", plan.method.rules(plan.policy.schema)
    if table["file"] != path.name or sorted(table["columns"]) != sorted(rules):
        return []  # said before
    shown = Schema(tuple(_shown(one, rules[one.name]) for one in plan.policy.schema.published))
    try:
        read, checks = (_parquet if plan.format == "parquet" else _csv)(path, shown)
    except DataError as error:
        return [Check(f"values of {path.name}", False, error.wrong)]
    return checks if read is None else [*checks, *_counts(read, certificate, plan, path.name)]


def _shown(one: Attribute, rule: str) -> Attribute:
    """An attribute as its column shows it: labels are text, a middle of numbers is a decimal, a value is one of its domain."""
    bare = replace(one, hierarchy=None, outside=Outside.ERROR)
    if rule in LABELS:
        return replace(bare, type=Type.TEXT, domain=None)
    if rule in ("mean", "median") and one.type in (Type.INTEGER, Type.DECIMAL):
        return replace(bare, type=Type.DECIMAL, domain=None)
    return replace(bare, domain=None) if rule == "mean" else bare


def _csv(path: Path, shown: Schema) -> tuple[Table | None, list[Check]]:
    """Read it and write it again: the same bytes come out where columns, cells, spelling and order are as we write them."""
    import pyarrow as pa
    from pyarrow import csv

    names = [str(place) for place in range(len(shown.names))]
    try:
        lines = csv.read_csv(
            path,
            read_options=csv.ReadOptions(column_names=names, block_size=LONGEST),
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=len(names) == 1,  # an empty text is quoted; alone in its row, it is missing
            ),
        )
    except (pa.ArrowException, OSError):
        return None, [Check(f"rows of {path.name}", False, "not all have as many cells as there are columns")]
    if [column[0].as_py() for column in lines.columns] != list(shown.names):
        return None, [Check(f"header of {path.name}", False, "not the columns that are declared")]
    read = open_engine().scan(lines.slice(1).rename_columns(list(shown.names)), shown)
    with tempfile.TemporaryDirectory() as place:
        again = Path(place) / path.name
        read.write(again)
        same = filecmp.cmp(path, again, shallow=False)
    return read, [Check(f"text of {path.name}", same, "its values as we write them, sorted by themselves")]


def _parquet(path: Path, shown: Schema) -> tuple[Table | None, list[Check]]:
    """Read it and write it again: the same table comes out where columns, types, values and order are as we write them."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            rows, notes = file.read(), file.metadata.metadata
    except (pa.ArrowException, OSError):
        return None, [Check(f"values of {path.name}", False, "it cannot be read")]
    if rows.column_names != list(shown.names):
        return None, [Check(f"columns of {path.name}", False, "not those that are declared")]
    silent = not notes and not any(field.metadata for field in rows.schema)
    read = open_engine().scan(rows, shown)
    with tempfile.TemporaryDirectory() as place:
        again = Path(place) / path.name
        read.write(again)
        same = _present(parquet.read_table(again)).equals(_present(rows))
    return read, [
        Check(f"nothing else in {path.name}", silent, "no notes in the file"),
        Check(f"values of {path.name}", same and not _below_zero(rows), "of their own types, sorted by themselves"),
    ]


def _present(rows: Any) -> Any:
    """A table in which columns without a value have no type."""
    import pyarrow as pa

    many = rows.num_rows
    return pa.table([pa.nulls(many) if one.null_count == many else one for one in rows.columns], rows.column_names)


def _below_zero(rows: Any) -> bool:
    """Whether a zero has a sign, which comparing does not see."""
    import pyarrow as pa

    held = [one.drop_null().to_numpy() for one in rows.columns if pa.types.is_floating(one.type)]
    return any(bool((np.signbit(values) & (values == 0)).any()) for values in held)


def _counts(read: Table, certificate: dict[str, Any], plan: SyntacticPlan, name: str) -> list[Check]:
    """What is promised of the table, counted on it; of groups that are not published, what must hold of the whole."""
    promised, schema, rows = certificate["guarantee"], read.schema, read.rows()
    least = 2 * max(plan.k, *plan.crowds().values(), 0)
    checks = [Check(f"rows of {name}", rows >= least, f"{rows}; two groups have {least} or more")]
    if promised["kind"] != "k-anonymity":
        fewest = min((len(read.count_by([one.name])) for one in schema.confidential), default=0)
        enough = promised["l"] is None or fewest >= promised["l"]
        return [*checks, Check("different values", enough, f"{fewest} in the table")]
    asked = [_ordered(one) for one in (*schema.quasi, *schema.confidential)]
    seen = observe(read.count_by([one.name for one in asked]), Schema(tuple(asked)))
    checks.append(Check(f"groups of {name}", seen.k >= promised["k"], f"the smallest has {seen.k} rows"))
    if promised["l"] is not None:
        checks.append(Check("l-diversity", (seen.l or 0) >= promised["l"], f"the least diverse has {seen.l} values"))
    if promised["t"] is not None:
        far = max((distance_of(one) for one in seen.confidential), default=float("inf"))
        near = far <= float(exact(promised["t"])) + SLACK
        checks.append(Check("t-closeness", near, f"the farthest lies {far:.4g} off"))
    return checks


def _ordered(one: Attribute) -> Attribute:
    """An attribute with nothing but its role, its type and its order."""
    return Attribute(one.name, one.role, one.type, one.domain if isinstance(one.domain, Values) else None)
