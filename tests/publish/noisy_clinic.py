"""Small releases of noisy counts, of rows with counts, and of synthetic rows, for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

from shoal.engine.base import open_engine
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import Release, release
from tests.publish.verify.freeze import POLICY, write_table

COUNTS = "release: {method: safe-k, epsilon: 2, delta: 1e-3, output: csv, views: {show: counts, %s}}\n"
ROWS = "release: {method: safe-k, epsilon: 2, delta: 1e-2, output: csv, recoding: {levels: {age: 2}}, %s}\n"
SYNTHETIC = "release: {method: synthetic, epsilon: 2, delta: 1e-3, output: %s, synthetic: {rows: %s, never: [%s]}}\n"
BUDGET = "budget: {epsilon: 6, delta: 1e-1}\n"
KINDS: dict[str, tuple[str, dict[str, object]]] = {
    "counts": (COUNTS % "every: pairs", {}),
    "counts-declared": (COUNTS % "workload: [[sex, age], [diag], [diag, sex]], cells: declared", {}),
    "counts-chosen": (COUNTS % "choose: {count: 2}", {}),
    "counts-scored": (COUNTS % "choose: {}", {"neighbours": "replace_one"}),
    "counts-rounds": (COUNTS % "adapt: {rounds: 2}", {"unit": {"column": "patient", "max_rows": 2}}),
    "counts-first": (COUNTS % "every: pairs, adapt: {rounds: 1}", {"neighbours": "replace_one"}),
    "counts-share": (COUNTS % "every: pairs, adapt: {rounds: 1, share: 0.2}", {}),
    "counts-target": (COUNTS % "workload: [[age, sex]], adapt: {rounds: 1, width: 2, target: age}", {}),
    "counts-singles": (COUNTS % "every: pairs, cells: declared, singles: 0.2", {}),
    "counts-first-singles": (COUNTS % "workload: [[age, sex]], adapt: {rounds: 1}, cells: declared, singles: 0.1", {}),
    "counts-beside-rows": (ROWS % "counts: pairs", {}),
    "counts-beside-views": (ROWS % "views: pairs, counts: {every: singles, share: 0.3}", {"release.epsilon": 3}),
    "synthetic": (
        SYNTHETIC % ("csv", "noisy", "{sex: m, diag: rare}"),
        {"attributes.age.provenance": "profiled", "release.views": {"every": "pairs", "cells": "merged"}},
    ),
    "synthetic-singles": (SYNTHETIC % ("csv", "noisy", ""), {"release.epsilon": "0.05", "release.delta": "1e-4"}),
    "synthetic-associations": (
        SYNTHETIC % ("csv", "noisy", "{sex: m, diag: rare}"),
        {"release.synthetic.favour": "associations"},
    ),
    "synthetic-parquet": (SYNTHETIC % ("parquet", "300", "{age: [0, 15], diag: rare}"), {}),
}
"""The release block of each kind, and what it changes in the policy."""


def policy(kind: str) -> Policy:
    """The clinic's policy for one kind."""
    block, changes = KINDS[kind]
    found = Policy.parse(POLICY + block + BUDGET)
    return found.with_changes(changes) if changes else found


def publish(folder: Path, kind: str, *, rows: int = 400, report: bool = False) -> Release:
    """Plan and release the clinic's table into a folder, with a ledger beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    table = write_table(folder / "table.csv", rows)
    with Ledger(str(folder / "ledger.sqlite")) as ledger:
        return release(
            plan(policy(kind)), table, folder / "out", ledger=ledger, engine=open_engine(), report=report, again=True
        )
