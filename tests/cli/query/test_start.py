"""What a process loads to answer one question of a registered file, and what it leaves alone: starting is half of its work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.cli.run import shoal
from tests.query.asking import POLICY, table

ASKING = """
import atexit, gc, json, sys
from pathlib import Path
from shoal.cli import main
from shoal.ledger.ledger import Ledger
charge, found = Ledger.charge, {}

def charging(self, *given, **more):
    found["before"] = set(sys.modules)
    return charge(self, *given, **more)

@atexit.register
def write():
    late = sorted(set(sys.modules) - found.get("before", set(sys.modules)))
    Path("found.json").write_text(json.dumps({"loaded": sorted(sys.modules), "late": late, "frozen": gc.get_freeze_count()}))

Ledger.charge = charging
main()
"""

IDLE = (
    "shoal.anonymize", "shoal.assess", "shoal.language.arithmetic", "shoal.mechanism.exponential", "shoal.model", "shoal.publish",
    "shoal.query.batch", "shoal.query.prior", "shoal.query.questions.moments", "shoal.query.questions.person",
    "shoal.query.questions.quantile", "shoal.query.questions.tables", "shoal.query.selection", "shoal.query.sql",
    "dp_accounting", "jinja2", "matplotlib", "narwhals", "numba", "numpy.ma", "pandas", "pyarrow.compute", "pyarrow.parquet",
    "rich", "scipy", "sklearn", "sqlalchemy", "sqlglot",
)  # fmt: skip
"""What a count by condition has no use for."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A registered dataset."""
    place = tmp_path_factory.mktemp("asked")
    (place / "policy.yaml").write_text(POLICY)
    table().to_csv(place / "table.csv", index=False)
    done = shoal(
        "dataset", "register", place / "policy.yaml", place / "table.csv", "--ledger", place / "ledger.sqlite", "--new-ledger"
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    return place


def asked(folder, *words):
    """What one process says, and what it has loaded when it ends."""
    line = [sys.executable, "-c", ASKING, "ask", "clinic", *words, "--ledger", str(folder / "ledger.sqlite")]
    done = subprocess.run(line, capture_output=True, text=True, check=True, cwd=folder, env=dict(os.environ))
    return SimpleNamespace(done=done, **json.loads((folder / "found.json").read_text()))


@pytest.fixture(scope="module")
def counted(folder):
    """A count that is new."""
    return asked(folder, "count", "age >= 65", "--epsilon", "0.1")


@pytest.mark.slow
def test_nothing_is_imported_after_the_charge(counted):
    """numpy.ma was, and where rows are the unit the cipher: a module that is broken would have been found when all was paid."""
    assert counted.late == []


@pytest.mark.slow
def test_the_process_ends_without_searching_what_it_loaded_and_says_nothing_of_it(counted):
    """DuckDB says on standard error what is left of its own at the end, which a user takes for a fault."""
    assert counted.frozen > 10_000
    assert counted.done.stderr == ""


@pytest.mark.slow
def test_a_count_loads_no_other_kind_of_question_and_nothing_of_a_release(counted):
    assert [name for name in IDLE if name in counted.loaded] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("mean", "age"),
        ("count", "--by", "sex"),
        ("quantile", "age", "0.5"),
        ("histogram", "sex"),
        ("ratio", "sex = 'f'"),
    ],
    ids=lambda words: words[0],
)
def test_other_questions_load_nothing_after_their_charge_either(folder, words):
    assert asked(folder, *words, "--epsilon", "0.05", "--json").late == []
