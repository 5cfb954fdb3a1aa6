"""Tables of noisy counts are read as they were sealed, in CSV and Parquet, and whatever does not fit is refused."""

from __future__ import annotations

import json
import random
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from shoal.assess.release.load import load
from shoal.errors import ShoalError, UsageError, VerificationError
from tests.assess.release.altered import alter
from tests.assess.release.released import add_counts, cuts, keep, reseal, unions

AGES, SEXES = cuts("age", [10, 20], 0, 29), keep("sex", ["f", "m"])
MERGED = unions(AGES, {"young": [0, 1], "old": [2]})
TABLES = {
    "age": ([AGES], np.array([5, -3, 8])),
    "sex": ([SEXES], np.array([4, 6])),
    "age-sex": ([MERGED, SEXES], np.array([[1, 2], [3, -4]])),
}


def made(folder, tables=TABLES, **more):
    return add_counts(folder, tables, "2.5", singles=2, **more)


def changed(folder, **entry):
    """The release with another entry of its last table."""
    paper = json.loads((folder / "certificate.json").read_text())
    paper["counts"][-1] |= entry
    return reseal(folder, counts=paper["counts"])


def test_counts_have_names_columns_sigma_and_values(tmp_path):
    loaded = load(made(tmp_path / "r"))
    assert loaded.names == ("age", "sex", "age-sex")
    assert loaded.attributes == ("age", "sex")
    assert loaded.views == ()
    table = loaded.published("age-sex")
    assert (table.columns, table.sigma, table.shape, table.cells) == (("age", "sex"), Fraction("2.5"), (2, 2), 4)
    assert table.values.tolist() == [[1, 2], [3, -4]]
    assert repr(table) == "<PublishedCountTable 'age-sex': age, sex; sigma = 2.5>"
    assert table.to_arrow().column_names == ["age", "sex", "count", "low", "high"]
    assert len(table.to_pandas()) == table.to_polars().height == 4
    assert table.meanings["age"].stands_for("young") == (0, 20)


def test_the_order_of_lines_does_not_matter_and_parquet_reads_the_same(tmp_path):
    folder = made(tmp_path / "r")
    rows = csv.read_csv(folder / "counts/age-sex.csv")
    parquet.write_table(rows.take([3, 1, 0, 2]), folder / "counts/age-sex.parquet")
    (folder / "counts/age-sex.csv").unlink()
    loaded = load(changed(folder, file="counts/age-sex.parquet"))
    assert loaded.published("age-sex").values.tolist() == [[1, 2], [3, -4]]


@pytest.mark.parametrize("written", ["(missing)", ""])
def test_missing_values_are_a_cell(tmp_path, written):
    tables = {"sex": ([{**SEXES, "labels": ["f", "m", written]}], np.array([4, 6, 1]))}
    folder = add_counts(tmp_path / "r", tables, "2.5", singles=1)
    (folder / "recoding/sex-sex.json").write_text(json.dumps(SEXES))
    (folder / "policy.lock.yaml").write_text("attributes:\n  sex:\n    missing: value\n")
    loaded = load(reseal(folder))
    assert loaded.marginal("sex").labels == (("f", "m", "(missing)"),)
    assert loaded.count({"sex": None}).value == 1


def test_one_count_is_named_as_one(tmp_path):
    loaded = load(add_counts(tmp_path / "r", {"sex": TABLES["sex"]}, "2.5", singles=1))
    assert "one table of noisy counts of sex" in repr(loaded)
    assert loaded.published() is loaded.counts[0]


# --- what does not fit ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "entry",
    [
        {"sigma": "0"},
        {"sigma": "-1"},
        {"sigma": 2.5},
        {"sigma": "1e400"},
        {"sigma": "nan"},
        {"sigma": "1/0"},
        {"sigma": None},
        {"cells": 0},
        {"cells": "4"},
        {"cells": 10**9},
        {"columns": ["age"]},
        {"columns": ["age", "age"]},
        {"columns": []},
        {"columns": [1, 2]},
        {"name": 7},
        {"name": "age"},
        {"file": "counts/none.csv"},
        {"file": "../../etc/passwd"},
        {"recoding": {"age": "recoding/none.json", "sex": "recoding/none.json"}},
        {"recoding": {}},
        {"recoding": None},
    ],
)
def test_an_entry_that_makes_no_sense_is_refused(tmp_path, entry):
    with pytest.raises(VerificationError):
        load(changed(made(tmp_path / "r"), **entry))


@pytest.mark.parametrize(
    "noise", [{"singles": 3, "kind": "fixed"}, {"singles": -1, "kind": "fixed"}, {"singles": True, "kind": "once"},
              {"singles": 2, "kind": "x"}, {"singles": 2}, None, []],
)  # fmt: skip
def test_a_way_of_measuring_that_is_not_known_is_refused(tmp_path, noise):
    folder = made(tmp_path / "r")
    with pytest.raises(VerificationError):
        load(reseal(folder, noise=noise))


HEADER = "age,sex,count,low,high\n"
GOOD = ["young,f,1,-4,6", "young,m,2,-3,7", "old,f,3,-2,8", "old,m,-4,-9,1"]


@pytest.mark.parametrize(
    "lines",
    [
        GOOD[:3],
        [*GOOD, GOOD[0]],
        [*GOOD[:3], GOOD[0]],
        [*GOOD[:3], "old,x,1,1,1"],
        [*GOOD[:3], "old,m,1.5,1,1"],
        [*GOOD[:3], "old,m,,1,1"],
        [*GOOD[:3], "old,m,99999999999999999999,1,1"],
        [*GOOD[:3], "old,m,9999999999999999,1,1"],
        [*GOOD[:3], "old,m,1,1"],
        [line + ",5" for line in GOOD],
        [],
    ],
)
def test_a_table_that_is_none_is_refused(tmp_path, lines):
    folder = made(tmp_path / "r")
    extra = ",more" if lines and lines[0].endswith(",5") else ""
    (folder / "counts/age-sex.csv").write_text(HEADER.replace("\n", extra + "\n") + "\n".join(lines) + "\n")
    loaded = load(reseal(folder))
    with pytest.raises(VerificationError):
        _ = loaded.published("age-sex").values


def test_columns_in_another_order_are_refused(tmp_path):
    folder = made(tmp_path / "r")
    table = csv.read_csv(folder / "counts/age-sex.csv").select(["sex", "age", "count", "low", "high"])
    csv.write_csv(table, folder / "counts/age-sex.csv")
    with pytest.raises(VerificationError, match="other columns"):
        load(reseal(folder)).count({"age": (0, 20), "sex": "f"})


def test_a_parquet_file_with_other_kinds_of_counts_is_refused(tmp_path):
    folder = made(tmp_path / "r")
    table = csv.read_csv(folder / "counts/age-sex.csv")
    table = table.set_column(2, "count", pa.array([None, 1, 2, 3], pa.int64()))
    parquet.write_table(table, folder / "counts/age-sex.parquet")
    with pytest.raises(VerificationError, match="missing"):
        _ = load(changed(folder, file="counts/age-sex.parquet")).published("age-sex").values


def test_another_number_of_cells_than_the_certificate_says_is_refused(tmp_path):
    loaded = load(changed(made(tmp_path / "r"), cells=5))
    with pytest.raises(VerificationError, match="one count for each cell"):
        loaded.marginal("age", "sex")


def test_a_changed_count_is_refused(tmp_path):
    folder = made(tmp_path / "r")
    path = folder / "counts/sex.csv"
    path.write_text(path.read_text().replace("f,4", "f,400"))
    with pytest.raises(VerificationError, match="not the one in the certificate"):
        load(folder)


@pytest.mark.slow
def test_altered_releases_end_in_our_errors(tmp_path, effort):
    """Whatever was altered, what comes of it is an error of ours or an estimate."""
    chance, refused, tries = random.Random(5), 0, 40 * effort  # noqa: S311
    for number in range(tries):
        folder = made(tmp_path / str(number))
        alter(folder, chance)
        try:
            loaded = load(folder)
            _ = [loaded.marginal(name) for name in loaded.attributes]
            _ = loaded.count({"age": (0, 15), "sex": "f"}), loaded.total()
        except ShoalError as error:
            assert str(error).isprintable()  # noqa: PT017
            refused += 1
    assert refused > tries // 2


def test_a_method_without_noise_or_sample_is_no_release_to_load(tmp_path):
    with pytest.raises(UsageError, match="not a random sample"):
        load(made(tmp_path / "r", method="microaggregation"))
