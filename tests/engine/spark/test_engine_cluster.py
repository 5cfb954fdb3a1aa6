"""A release on a cluster of real processes is whole, charged once and the same, also where an executor is killed meanwhile."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from shoal.chance.source import Source
from shoal.datasets.visits import write_policy, write_visits
from shoal.engine.duckdb.engine import DuckDB
from shoal.ledger.ledger import open_ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import release
from shoal.publish.verify.release import require, verify
from tests.engine.spark.cluster_release import SEED
from tests.spark import require_spark

ROWS, FILES = 6000, 12
LEVELS = {"age": 4, "zip": 5, "visit": 4, "diagnosis": 3, "department": 1, "insurance": 1, "stay": 5, "income": 4}
"""Fixed, so that the release is few jobs: what is tested is a lost executor, and `test_releases_by_engine` has every method."""
PROGRAM = Path(__file__).with_name("cluster_release.py")


def make_input(folder: Path, rows: int = ROWS) -> None:
    """Visits as a folder of Parquet files, and their policy."""
    write_policy(str(folder))
    path = Path(write_visits(str(folder / "visits.csv"), rows, seed=3))
    names = csv.open_csv(path).schema.names
    texts = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True)
    table = csv.read_csv(path, convert_options=texts)
    (folder / "people").mkdir()
    step = rows // FILES
    for number in range(FILES):
        parquet.write_table(table.slice(number * step, step), folder / "people" / f"part-{number:02d}.parquet")


@pytest.mark.slow
def test_a_release_outlives_an_executor_and_shows_its_key_nowhere(tmp_path, monkeypatch):
    require_spark()
    make_input(tmp_path)
    fixed = Policy.load(tmp_path / "policy.yaml").with_changes({"release.recoding": {"levels": LEVELS}})
    (tmp_path / "policy.yaml").write_text(fixed.dump())
    monkeypatch.setattr("shoal.chance.source.Source.carries_guarantee", True)
    planned = plan(Policy.load(tmp_path / "policy.yaml"))
    with open_ledger(str(tmp_path / "ledger.sqlite"), new=True) as book:
        release(
            planned, tmp_path / "people", tmp_path / "release", ledger=book, engine=DuckDB(),
            source=Source.seeded(SEED), report=False,
        )  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM), str(tmp_path), "kill"],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-4000:]
    told = json.loads(run.stdout.splitlines()[-1])
    assert len(told["killed"]) == 1
    assert told["charges"] == 1
    assert told["rows"] > 500
    ours, theirs = (tmp_path / name / "table.csv" for name in ("release", "release-kill"))
    if not ours.exists():
        ours, theirs = (path.with_suffix(".parquet") for path in (ours, theirs))
    assert theirs.read_bytes() == ours.read_bytes()
    require(verify(tmp_path / "release-kill"))

    assert told["keys"]
    events = [file for file in (tmp_path / "events").rglob("*") if file.is_file()]
    assert any("SparkListenerTaskEnd" in file.read_text(encoding="utf-8") for file in events)
    assert (
        "ArrowEvalPython" in (tmp_path / "page.txt").read_text() or "MapInArrow" in (tmp_path / "page.txt").read_text()
    )
    written = [*(file.read_bytes() for file in events), (tmp_path / "page.txt").read_bytes()]
    written += [run.stderr.encode(), "\n".join(run.stdout.splitlines()[:-1]).encode()]  # the last line is ours
    for text in told["keys"]:
        for spelled in spellings(bytes.fromhex(text)):
            assert [place for place, each in enumerate(written) if spelled in each] == []


def spellings(key: bytes) -> list[bytes]:
    """How a key might stand in a text: as bytes, in hexadecimal, in base 64, as a list of numbers, as Python writes bytes."""
    signed = [byte - 256 if byte > 127 else byte for byte in key]
    lists = [separator.join(map(str, numbers)) for numbers in (list(key), signed) for separator in (",", ", ")]
    # In base 64, where it stands in what is written decides how it is spelled; the signs at its ends belong to others too.
    in_base_64 = [base64.b64encode(bytes(before) + key)[(4 if before else 0) : -4].decode() for before in range(3)]
    texts = [key.hex(), key.hex().upper(), *in_base_64, repr(key)[2:-1], *lists]
    return [key, *(text.encode() for text in texts)]


def test_a_key_in_a_log_would_be_found():
    key = bytes(range(200, 232))
    in_base_64 = [base64.b64encode(bytes(before) + key + b"after") for before in range(5)]
    for written in (key, b"a" + key.hex().encode(), str(list(key)).encode(), base64.b64encode(key), *in_base_64):
        assert any(spelled in written for spelled in spellings(key))
