"""Make the frozen folders: one small release of each kind, from generated data.

    python -m tests.publish.verify.freeze            makes the folders that are missing

A frozen folder is never made again and never edited: `test_frozen.py` verifies all of them on every run, and that is what
"format 1 verifies for ever" means. A change of Shoal after which one of them fails is wrong, unless the folder was published by
mistake. New kinds of releases get new folders; a new wording may get new folders beside the old ones, under a new name.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from pathlib import Path

from shoal.engine import write
from shoal.engine.base import open_engine
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.certificate.model import MODELS
from shoal.publish.certificate.page import certificate_page
from shoal.publish.certificate.seal import seal_certificate
from shoal.publish.folder import CERTIFICATE, PAGE, write_text
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import release
from shoal.publish.verify.standalone import HANDBOOK

FROZEN = Path(__file__).with_name("frozen")

POLICY = """
version: 1
dataset: clinic
unit: row
neighbours: add_remove
attributes:
  patient: {role: identifier, type: text}
  age:  {role: quasi, type: integer, domain: [0, 99], hierarchy: {intervals: [10, 50]}}
  sex:  {role: quasi, type: category, domain: [f, m]}
  diag: {role: confidential, type: category, domain: [flu, cold, rare], hierarchy: {groups: {common: [flu, cold], other: [rare]}}}
"""
SAFE_K = """
release:
  method: safe-k
  epsilon: 1
  delta: 1e-3
  recoding: {levels: {age: 2, diag: 0}}
  sampling: {beta: 0.3}
  output: csv
budget: {epsilon: 6, delta: 1e-1}
"""
VIEWS = {"release.views": "pairs", "release.delta": "1e-2"}
KINDS: dict[str, tuple[str, dict[str, object]]] = {
    "levels": (SAFE_K, {}),
    "choose": (SAFE_K, {"release.recoding": {"choose": {"epsilon": "0.3"}}}),
    "tree": (SAFE_K, {"release.recoding": {"tree": {"epsilon": "0.3"}}}),
    "tree-on-sample": (
        SAFE_K,
        {"release.recoding": {"tree": {"epsilon": "0.3", "sample": "0.25"}}, "release.output": "parquet"},
    ),
    "views": (SAFE_K, VIEWS),
    "views-chosen": (
        SAFE_K,
        VIEWS
        | {
            "release.views": {"choose": {"epsilon": "0.2", "count": 2}},
            "release.recoding": {"tree": {"epsilon": "0.3"}},
            "attributes.age.provenance": "profiled",
        },
    ),
    "repeat": (SAFE_K, {"release.repeat": 2, "release.delta": "1e-2"}),
    "published-bound": (SAFE_K, {"release.bound": "published", "release.repeat": 2, "release.delta": "1e-2"}),
    "several-rows": (SAFE_K, {"unit": {"column": "patient", "max_rows": 2}, "release.epsilon": "2"}),
    "replace-one": (SAFE_K, {"neighbours": "replace_one", "release.epsilon": "2"}),
    "already-sampled": (SAFE_K, {"release.sampling": {"already": "0.2"}}),
    "microaggregation": ("release: {method: microaggregation, k: 5, l: 2, t: 0.4, show: label, output: csv}", {}),
    "probabilistic-k": ("release: {method: probabilistic-k, k: 5, output: csv}", {}),
    "ranking": (
        "release: {method: probabilistic-k, k: 5, grouping: ranking, output: parquet}",
        {"attributes.diag.type": "ordinal"},
    ),
    "parts": (SAFE_K, {"release.output": "parquet"}),
}
"""The release block of each kind, and what it changes in the policy."""
ROWS = {"microaggregation": 60, "probabilistic-k": 60, "ranking": 60}
"""Rows of the generated table, where they are few; a safe-k release needs more to show anything."""
PART_ROWS = {"parts": 40}
"""Rows of a part, where a table is a folder of parts."""


def write_table(path: Path, rows: int, seed: int = 1) -> Path:
    """A CSV of generated patients; some have two rows."""
    chance = random.Random(seed)  # noqa: S311 - generated patients
    lines = ["patient,age,sex,diag"]
    for i in range(rows):
        diag = "rare" if chance.random() < 0.05 else chance.choice(["flu", "cold"])
        lines.append(f"p{i // 2 if i % 3 else i},{chance.randrange(100)},{chance.choice('fm')},{diag}")
    path.write_text("\n".join(lines) + "\n")
    return path


def freeze(kind: str) -> None:
    """Make the folder of one kind."""
    block, changes = KINDS[kind]
    policy = Policy.parse(POLICY + block)
    planned = plan(policy.with_changes(changes) if changes else policy)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        table = write_table(place / "table.csv", ROWS.get(kind, 400))
        write.PART_ROWS, usual = PART_ROWS.get(kind, write.PART_ROWS), write.PART_ROWS
        with Ledger(str(place / "ledger.sqlite")) as ledger:
            made = release(planned, table, place / kind, ledger=ledger, engine=open_engine(), report=False, again=True)
        write.PART_ROWS = usual
        _leave_handbook_out(made.folder)
        shutil.copytree(made.folder, FROZEN / kind)


def _leave_handbook_out(folder: Path) -> None:
    """Take the handbook out of a release, which the version that made it compares to the letter, and seal the rest."""
    content = json.loads((folder / CERTIFICATE).read_text(encoding="utf-8"))
    for name in HANDBOOK:
        (folder / name).unlink()
        del content["files"][name]
    sealed = seal_certificate(MODELS[content["method"]].read(content))
    write_text(folder / CERTIFICATE, sealed.text())
    write_text(folder / PAGE, certificate_page(sealed))


if __name__ == "__main__":
    for each in KINDS:
        if not (FROZEN / each).exists():
            freeze(each)
