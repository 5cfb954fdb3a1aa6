"""A release by each method, from one key, publishes the same rows on DuckDB and on Spark; so do answers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from shoal.chance.source import Source
from shoal.engine import write as writing
from shoal.engine.duckdb.engine import DuckDB
from shoal.errors import UsageError
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import release
from shoal.publish.verify.release import require, verify
from tests.spark import SPARK, require_spark

pytestmark = pytest.mark.slow
ROWS = 900
HEAD = """\
version: 1
dataset: people
unit: {unit}
neighbours: {neighbours}
attributes:
  person: {{role: identifier, type: text}}
  age: {{role: quasi, type: integer, domain: [0, 99], hierarchy: {{intervals: [10, 50]}}, missing: {missing}}}
  sex: {{role: {sex}, type: category, domain: [f, m], missing: {missing}}}
  region: {{role: {region}, type: category, hierarchy: {{groups: {{north: [a, b, c], south: [d, e]}}}}, missing: {missing}}}
  income: {{role: confidential, type: integer, domain: [0, 1000], hierarchy: {{intervals: [250, 500]}}, missing: {missing}}}
release: {release}
"""
SAFE = "method: safe-k, epsilon: 1, delta: 1e-4, sampling: {beta: 0.5}"
COARSE = "{levels: {age: 2, region: 1, income: 2}}"
REPLACED = {"neighbours": "replace_one"}
WHOLE = {**REPLACED, "missing": "refuse"}
CENTROIDS = f"{{{{method: dp-microaggregation, epsilon: 5, rows: {ROWS}, k: 60, {{}}}}}}"
USUAL = {"unit": "row", "neighbours": "add_remove", "missing": "value", "sex": "quasi", "region": "quasi"}
METHODS = {
    "fixed levels": (f"{{{SAFE}, recoding: {{levels: {{age: 2, region: 1, income: 2}}}}}}", {}),
    "a drawn recoding": (f"{{{SAFE}, recoding: {{choose: {{epsilon: 0.3}}}}}}", {}),
    "a grown tree": (f"{{{SAFE}, recoding: {{tree: {{epsilon: 0.3}}}}}}", {}),
    "one row of each person": (
        f"{{{SAFE}, recoding: {{levels: {{age: 2, region: 1, income: 2}}}}}}",
        {"unit": "{column: person, max_rows: 1}"},
    ),
    "views of rows": (f"{{{SAFE}, recoding: {{levels: {{age: 1, income: 1}}}}, views: pairs}}", {}),
    "noisy counts": ("{method: safe-k, epsilon: 1, delta: 1e-4, views: {show: counts, every: pairs}}", {}),
    "a plain sample": (
        "{method: sample, epsilon: 0.9, delta: 0.1, recoding: {levels: {age: 2, region: 1, income: 2}}}",
        REPLACED,
    ),
    "insensitive clusters of one order": (CENTROIDS.format("grouping: insensitive, corners: 1"), WHOLE),
    "a plain sample without rare values": (
        f"{{method: sample, epsilon: 0.9, delta: 0.1, recoding: {COARSE}, rare: drop, rare_below: 40}}",
        REPLACED,
    ),
    "ranks of one row of each person": (
        CENTROIDS.format("grouping: ranking").replace(str(ROWS), "600"),
        {**WHOLE, "unit": "{column: person, max_rows: 1}", "sex": "drop", "region": "drop"},
    ),
}


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A folder of Parquet files about people who do not exist; half of them have two rows."""
    rng = np.random.default_rng(4)
    folder = tmp_path_factory.mktemp("people")
    table = pa.table(
        {
            "person": [f"p{number // 2 if number < 600 else number}" for number in range(ROWS)],
            "age": rng.integers(0, 100, ROWS).astype(np.int32),
            "sex": rng.choice(["f", "m"], ROWS),
            "region": rng.choice(list("abcde"), ROWS),
            "income": rng.integers(0, 1001, ROWS).astype(np.int32),
        }
    )
    for number in range(3):
        parquet.write_table(table.slice(number * 300, 300), folder / f"part-{number}.parquet")
    return folder


def policy_of(name):
    text, changes = METHODS[name]
    return Policy.parse(HEAD.format(**{**USUAL, "release": text, **changes}))


def publish(policy, people, folder, engine):
    """The published tables of a release from a seeded key, by their names."""
    folder.mkdir()
    with Ledger(str(folder / "ledger.sqlite")) as ledger:
        made = release(
            plan(policy), people, folder / "out", ledger=ledger, engine=engine, source=Source.seeded(7), report=False
        )
    require(verify(made.folder))
    tables = sorted((*made.folder.rglob("*.csv"), *made.folder.rglob("*.parquet")))
    return {str(file.relative_to(made.folder)): file for file in tables}


@pytest.mark.parametrize("name", METHODS)
def test_both_engines_publish_the_same_rows(name, people, tmp_path, monkeypatch):
    require_spark()
    monkeypatch.setattr("shoal.chance.source.Source.carries_guarantee", True)
    policy = policy_of(name)
    ours, theirs = (publish(policy, people, tmp_path / one.name, one) for one in (DuckDB(), SPARK))
    assert list(ours) == list(theirs)
    assert any(file.stat().st_size > 100 for file in ours.values())
    for file, path in ours.items():
        assert theirs[file].read_bytes() == path.read_bytes(), file


def test_a_large_release_is_a_folder_of_sorted_parts_with_the_same_rows(people, tmp_path, monkeypatch):
    require_spark()
    monkeypatch.setattr("shoal.chance.source.Source.carries_guarantee", True)
    policy = policy_of("fixed levels").with_changes({"release.output": "parquet"})
    whole = publish(policy, people, tmp_path / "whole", DuckDB())["table.parquet"]
    monkeypatch.setattr(writing, "PART_ROWS", 37)
    ours, parts = (publish(policy, people, tmp_path / one.name, one) for one in (DuckDB(), SPARK))
    named = [name for name in parts if name.startswith("table.parquet/")]
    assert len(named) >= 3
    assert named == [f"table.parquet/{writing.part_name(number)}" for number in range(len(named))]
    tables = [parquet.read_table(parts[name]) for name in named]
    assert {table.num_rows for table in tables[:-1]} == {37}
    assert pa.concat_tables(tables).equals(parquet.read_table(whole))
    assert [table.to_pylist() for table in tables] == [parquet.read_table(ours[name]).to_pylist() for name in named]


NEVER = {
    "microaggregation, k: 5": "comparing each record with all that are left",
    "probabilistic-k, k: 5": "comparing each record with all that are left",
    "probabilistic-k, k: 5, grouping: ranking": "permutations of all records that are drawn in one memory",
    "k-anonymity, k: 5": "",
    f"dp-microaggregation, epsilon: 5, rows: {ROWS}, k: 60, grouping: insensitive, corners: 4": "several corners in turn",
    "dp-microaggregation, epsilon: 5, grouping: boxes": "the tree of boxes",
    "sample, epsilon: 0.9, delta: 0.1, recoding: {levels: {age: 2, region: 1}}, rare: replace": "drawn among all others",
}


@pytest.mark.parametrize("method", NEVER)
def test_a_method_that_needs_all_records_in_one_memory_says_that_it_never_runs_on_spark(method, people, tmp_path):
    changes = {**USUAL, **(WHOLE if "corners" in method else REPLACED if "sample" in method else {"missing": "refuse"})}
    policy = Policy.parse(HEAD.format(**changes, release=f"{{method: {method}}}"))
    with (
        Ledger(str(tmp_path / "ledger.sqlite")) as ledger,
        pytest.raises(
            UsageError, match=rf"this method never runs on spark, because .*{NEVER[method]}.* nothing was charged"
        ),
    ):
        release(plan(policy), people, tmp_path / "out", ledger=ledger, engine=SPARK)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("out")] == []


def test_treatments_never_run_on_spark_and_say_so_before_anything_is_read_or_charged(people, tmp_path):
    text = HEAD.format(**{**USUAL, "release": METHODS["fixed levels"][0]}) + "treatments: [{top: {age: 85}}]\n"
    with (
        Ledger(str(tmp_path / "ledger.sqlite")) as ledger,
        pytest.raises(
            UsageError,
            match=r"treatments never run on spark, because .*one memory; got treatments: .*nothing was charged",
        ),
    ):
        release(plan(Policy.parse(text)), people, tmp_path / "out", ledger=ledger, engine=SPARK)
