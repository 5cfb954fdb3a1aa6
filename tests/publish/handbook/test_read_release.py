"""The reader that lies in every release: Python alone, the same cells as the files, types and codes as the codebook says."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import shoal
from shoal.publish.handbook.read_release import ReleaseError, main, open_release
from tests.publish.handbook.survey import released

pytestmark = pytest.mark.slow

BARE = """
import sys
assert not any("site-packages" in place for place in sys.path)
sys.path.insert(0, sys.argv[1])
import json, read_release
release = read_release.open_release()
print(json.dumps({name: release.rows(name) for name in release.names}, default=str))
"""


@pytest.mark.parametrize("kind", ["rows", "trees", "mixed", "exchanged"])
def test_a_bare_interpreter_reads_every_cell(kind):
    folder = released(kind)
    command = [sys.executable, "-I", "-S", "-c", BARE, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    tables = json.loads(done.stdout)
    package = json.loads((folder / "datapackage.json").read_text())
    files = {each["shoal"]["name"]: each["path"] for each in package["resources"] if "shoal" in each}
    assert tables.keys() == files.keys()
    for name, rows in tables.items():
        with (folder / files[name]).open(newline="", encoding="utf-8") as file:
            told = list(csv.DictReader(file))
        assert len(rows) == len(told)
        for row, cells in zip(rows, told, strict=True):
            assert [as_text(value) for value in row.values()] == [plain(text) for text in cells.values()]


def test_a_sign_that_ends_a_line_elsewhere_is_a_letter_of_a_label(tmp_path):
    towns = ["Bern\u2028Zug", "Chur\x85Arth", "Sion\x0bGenf"]
    asked = {
        "version": 1,
        "dataset": "towns",
        "unit": "row",
        "neighbours": "add_remove",
        "attributes": {"town": {"role": "quasi", "type": "category", "domain": towns}},
        "release": {"epsilon": 1, "delta": "1e-3", "output": "csv"},
    }
    table = pa.table({"town": [towns[number % 3] for number in range(3000)]})
    made = shoal.release(
        shoal.plan(shoal.Policy.of(asked)), table, tmp_path / "out",
        ledger=str(tmp_path / "ledger.sqlite"), new_ledger=True, report=False,
    )  # fmt: skip
    release = open_release(made.folder)
    rows = release.rows()
    assert {row["town"] for row in rows} == set(towns)
    assert len(rows) == len(shoal.load(made.folder).published().to_pandas())
    assert {label.text for label in release.labels("town")} >= set(towns)


def as_text(value: object) -> object:
    if isinstance(value, str):
        value = plain(value)
    return value if isinstance(value, str) else None if value is None else float(value)


def plain(text: str) -> object:
    """A cell as JSON has it after the reader: missing, truth and numbers as such, times without digits of nothing."""
    if text in ("", "(missing)"):
        return None
    if text in ("true", "false"):
        return text if text == "x" else float(text == "true")
    try:
        return float(text)
    except ValueError:
        return text.removesuffix(".000000")


def test_frames_say_the_same_in_every_form(made):
    release = open_release(made)
    for name in release.names:
        rows = release.rows(name)
        frame = release.to_pandas(name)
        arrow = release.to_arrow(name)
        assert arrow.to_pylist() == rows
        assert list(frame.columns) == release.columns(name)
        assert len(frame) == len(rows)
        wide = release.to_arrow(name, intervals="columns")
        struct = release.to_arrow(name, intervals="struct")
        for column in release.columns(name):
            if f"{column}_low" not in wide.column_names:
                continue
            pairs = [
                {"low": low, "high": high}
                for low, high in zip(wide[f"{column}_low"].to_pylist(), wide[f"{column}_high"].to_pylist(), strict=True)
            ]
            assert struct[column].to_pylist() == pairs
            inside = [pair for pair in pairs if None not in pair.values()]
            assert all(pair["low"] < pair["high"] for pair in inside)
            shown = release.to_pandas(name, intervals="struct")[column]
            assert isinstance(shown.dtype, pd.IntervalDtype)
            assert shown.dtype.closed == "left"


def test_codes_stand_for_the_sets_of_the_codebook():
    release = open_release(released("trees"))
    with (released("trees") / "codebook.csv").open(newline="", encoding="utf-8") as file:
        told = [line for line in csv.DictReader(file) if line["column"] == "job|held" and line["kind"] == "set"]
    members = {}
    for line in told:
        members.setdefault(line["code"], []).append(line["value"])
    assert members
    for name in release.names:
        texts, codes = release.to_pandas(name), release.to_pandas(name, sets="codes")
        known = {label.text: label for label in release.labels("job|held", name)}
        for text, code in zip(texts["job|held"], codes["job|held"], strict=True):
            if isinstance(text, float):  # missing
                continue
            label = known[text]
            assert code == (label.code or text)
            if label.code:
                assert list(label.values) == members[code]
    assert {len(values) == len(set(values)) > 1 for values in members.values()} == {True}


def test_types_are_those_of_the_columns():
    values = open_release(released("values"))
    assert values.to_pandas("1-age")["age"].dtype == "Int64"
    both = values.to_pandas("2-smoker--edu")
    assert both["smoker"].dtype == "boolean"
    assert both["edu"].cat.ordered
    assert list(both["edu"].cat.categories) == ["none", "school", "phd"]
    rows = open_release(released("rows")).to_pandas(intervals="struct")
    assert rows["age"].dtype.subtype == "float64"
    assert str(rows["seen"].dtype.subtype) == "datetime64[us]"
    ages = open_release(released("rows")).to_pandas()["age"]
    assert ages.cat.ordered
    assert list(ages.cat.categories) == ["[0, 50)", "[50, 100)"]
    counts = open_release(released("mixed")).to_pandas("1-age")
    assert "(missing)" in set(counts["age"])
    assert not counts["age"].cat.ordered
    assert open_release(released("groups")).to_arrow().schema.field("visit").type == pa.timestamp("us")


def test_what_is_wrong_is_said(tmp_path, monkeypatch, capsys):
    folder = Path(shutil.copytree(released("trees"), tmp_path / "out"))
    release = open_release(folder)
    with pytest.raises(ReleaseError, match="no table is called None; there are: 1-age--job_held, 2-job_held--seen"):
        release.rows()
    with pytest.raises(ReleaseError, match="intervals is one of text, columns, struct"):
        release.to_pandas("1-age--job_held", intervals="pairs")
    with pytest.raises(ReleaseError, match="no release folder"):
        open_release(tmp_path)
    file = folder / "views" / "1-age--job_held.csv"
    file.write_text(file.read_text() + "1,cook\n")
    with pytest.raises(ReleaseError, match="was changed after it was sealed"):
        release.rows("1-age--job_held")
    monkeypatch.setattr(sys, "argv", ["read_release.py", str(folder)])
    main()
    assert "1-age--job_held: age, job|held; a row stands for " in capsys.readouterr().out
