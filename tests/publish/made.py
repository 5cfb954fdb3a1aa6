"""Small plans, accounts, certificates and published files for the tests of this folder."""

from __future__ import annotations

import copy
import csv
import io
import json
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.engine.base import Table
from shoal.ledger.state import Account
from shoal.policy.policy import Policy
from shoal.publish.certificate.model import MODELS, TableEntry
from shoal.publish.certificate.page import certificate_page
from shoal.publish.certificate.safe_k import certificate
from shoal.publish.plan.methods import plan
from shoal.publish.plan.safe_k import SafeKPlan
from tests.engine.oracle import OracleEngine

ROW = "unit: row\nneighbours: add_remove"
ATTRIBUTES = """
  age: {role: quasi, type: integer, domain: [0, 99], hierarchy: {intervals: [10, 50]}}
  place: {role: quasi, type: category, domain: [north, south, east], hierarchy: auto}
"""
KINDS = {
    "row": (ROW, "epsilon: 1\n  delta: 1e-6\n  sampling: {beta: 0.2}"),
    "published": (ROW, "epsilon: 1\n  delta: 1e-6\n  bound: published\n  sampling: {beta: 0.2}"),
    "silent": (ROW, "epsilon: 0.5\n  delta: 1e-6\n  sampling: {beta: 0.6}"),
    "repeat": (ROW, "epsilon: 1\n  delta: 1e-6\n  repeat: 3\n  sampling: {beta: 0.2}"),
    "sample": (ROW, "epsilon: 1\n  delta: 1e-6\n  sampling: {already: 0.01}"),
    "person": (
        "unit: {column: name, max_rows: 2}\nneighbours: add_remove",
        "epsilon: 2\n  delta: 1e-6\n  sampling: {beta: 0.1}",
    ),
    "replace": ("unit: row\nneighbours: replace_one", "epsilon: 2\n  delta: 1e-6\n  sampling: {beta: 0.1}"),
}
"""A unit and a promise of every kind that a certificate can carry."""


@cache  # a promise of several releases takes a second to solve
def planned(
    kind: str = "row", attributes: str = ATTRIBUTES, levels: str = "age: 1", output: str = "csv", dataset: str = "made"
) -> SafeKPlan:
    unit, promise = KINDS[kind]
    name = "  name: {role: identifier}" if "column" in unit else ""
    return plan(
        Policy.parse(
            f"version: 1\ndataset: {json.dumps(dataset)}\n{unit}\nattributes:\n{name}{attributes}\n"
            f"release:\n  method: safe-k\n  {promise}\n  recoding: {{levels: {{{levels}}}}}\n  output: {output}\n"
            "budget: {epsilon: 100, delta: 1e-3}\n"
        )
    )


def account(made: SafeKPlan, *, charges: int = 1, unbounded: int = 0) -> Account:
    costs = (made.cost,) * charges
    return Account(
        made.policy.dataset,
        made.budget,
        made.policy.neighbours,
        made.method.unit.to_saved(),
        costs,
        0,
        unbounded,
        0,
        sample_used=False,
    )


def sealed(made: SafeKPlan, **book: int) -> dict[str, Any]:
    """The certificate of a plan, with files of which nothing but the names matters."""
    return copy.deepcopy(_sealed(made.lock.sha256, tuple(book.items()), _Held(made)))


class _Held:
    """A plan that takes no part in telling calls apart."""

    def __init__(self, made: SafeKPlan) -> None:
        self.made = made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held)

    def __hash__(self) -> int:
        return 0


@cache
def _sealed(_: str, book: tuple[tuple[str, int], ...], held: _Held) -> dict[str, Any]:
    made = held.made
    columns = list(made.method.partition.columns)
    rules = {name: f"recoding/{number:02d}.json" for number, name in enumerate(columns, 1)}
    names = ["table.csv"] if made.repeat == 1 else [f"table-{n}.csv" for n in range(1, made.repeat + 1)]
    names = [name.replace("csv", made.format) for name in names]
    tables = [wide_table(name, made.promise.k, rules) for name in names]
    files = {"policy.lock.yaml": made.lock.sha256} | dict.fromkeys([*names, *rules.values()], "ab" * 32)
    return certificate(made, files, tables, account(made, **dict(book)), "2026-03-01").to_json()


def wide_table(file: str, k: int, rules: dict[str, str]) -> TableEntry:
    """A wide table as a certificate lists it."""
    return TableEntry(
        file=file, name=None, sample=0, k=k, columns=tuple(rules), recoding=rules, boxes=None, recoding_choice=None
    )


def page_of(content: dict[str, Any]) -> str:
    """The page of a certificate that is given as plain values."""
    return certificate_page(MODELS[content["method"]].read(content))


class FewVerbs:
    """A table that can do what a report may ask for and nothing else: no mask, no draw, no rows."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.schema, self.columns, self.types, self.notes = table.schema, table.columns, table.types, table.notes

    def rows(self) -> int:
        return self._table.rows()

    def recode(self, levels: Any) -> FewVerbs:
        return FewVerbs(self._table.recode(levels))

    def count_by(self, columns: Any) -> Any:
        return self._table.count_by(columns)

    def class_sizes(self, columns: Any) -> Any:
        return self._table.class_sizes(columns)


def scanned(made: SafeKPlan, columns: dict[str, list[Any]]) -> FewVerbs:
    return FewVerbs(OracleEngine().scan(pa.table(columns), made.policy.schema))


def folders(tmp_path: Path) -> tuple[Path, Path]:
    public, private = tmp_path / "public", tmp_path / "holder"
    public.mkdir()
    private.mkdir()
    return public, private


def csv_of(columns: dict[str, list[Any]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([list(columns), *zip(*columns.values(), strict=True)])
    return out.getvalue()
