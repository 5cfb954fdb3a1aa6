"""Releases by groups as frames: both tables typed, and joined with the probability of each line."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.assess.release.load import load
from shoal.errors import UsageError, VerificationError
from shoal.publish.export import export
from shoal.publish.share import pack
from tests.publish.verify.group_forgery import grouped

__all__ = ["grouped"]

pytestmark = pytest.mark.slow


def test_both_tables_are_frames(grouped):
    found = shoal.load(grouped("linked-parquet"))
    assert found.names == ("records", "confidential")
    assert found.published("records") is found.records
    records, held = found.records.to_pandas(), found.confidential.to_pandas(intervals="columns")
    assert list(records) == ["group", "age", "sex", "ward"]
    assert list(held) == ["group", "pay", "pay_low", "pay_high", "count"]
    assert held["count"].sum() == len(records) == 200
    assert (held["pay_low"] < held["pay_high"]).all()
    assert held["pay"].cat.ordered


def test_joined_records_have_probabilities(grouped):
    found = shoal.load(grouped("linked"))
    joined, held = found.joined().to_pandas(), found.confidential.to_pandas()
    assert list(joined) == ["group", "age", "sex", "ward", "diag", "share"]
    assert joined["share"].sum() == pytest.approx(200)
    own = joined.groupby("group")["share"].sum()
    assert own.to_dict() == pytest.approx(held.groupby("group")["count"].sum().to_dict())
    # What is expected of the whole table is what the table of groups says.
    expected = joined.groupby("diag", observed=False, dropna=False)["share"].sum()
    assert expected.sum() == pytest.approx(held["count"].sum())
    assert expected["flu"] == pytest.approx(held.loc[held["diag"] == "flu", "count"].sum())


def test_one_table_has_no_groups(grouped):
    found = shoal.load(grouped("permuted"))
    assert found.names == ("table",)
    assert list(found.published().to_pandas()) == ["age", "sex", "ward", "pay"]
    for ask in (lambda: found.confidential, found.joined):
        with pytest.raises(UsageError, match="does not show its groups"):
            ask()


def test_it_has_no_intervals(grouped):
    with pytest.raises(UsageError, match="no weights and no intervals"):
        load(grouped("linked"))


def test_a_packed_release_is_read_and_exported(grouped, tmp_path):
    packed = pack(grouped("anatomy"), tmp_path / "a.zip")
    found = shoal.load(packed)
    assert found.records.to_arrow().num_rows == 200
    with pytest.raises(UsageError, match="several tables"):
        export(packed, tmp_path / "a.csv")
    assert export(packed, tmp_path / "a.csv", table="confidential").columns == ("group", "diag", "count")
    with pytest.raises(UsageError, match="no table of this name"):
        found.published("groups")


def test_the_program_in_the_readme_joins_both_tables(grouped, monkeypatch):
    monkeypatch.chdir(grouped("linked"))
    blocks = re.findall(r"```python\n(.*?)```", Path("README.md").read_text(), re.DOTALL)
    (program,) = (block for block in blocks if "joined" in block)
    held: dict[str, Any] = {}
    exec(program, held)  # noqa: S102 - what a recipient would run
    own = shoal.load(grouped("linked")).joined().to_pandas()
    assert held["joined"]["probability"].sum() == pytest.approx(own["share"].sum())
    assert len(held["joined"]) == len(own)


def test_a_changed_table_is_refused(grouped, tmp_path):
    place = shutil.copytree(grouped("linked"), tmp_path / "out")
    (place / "records.csv").write_text((place / "records.csv").read_text().replace("\n1,", "\n2,", 1))
    with pytest.raises(VerificationError):
        shoal.load(place)
