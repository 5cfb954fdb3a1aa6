"""The generated visits: the same for a seed, as declared, correlated, with the rare and the missing in them."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import csv, parquet

from shoal.datasets import hospital, visits
from shoal.errors import ParameterError, UsageError

ROWS = 60_000


@pytest.fixture(scope="module")
def cells():
    return visits.arrays(ROWS, 11)


def share(mask):
    return float(np.mean(mask))


def test_a_seed_names_a_table():
    first, again, other = (visits.visits(500, seed) for seed in (3, 3, 4))
    assert first.equals(again)
    assert not first.equals(other)
    assert first.num_rows == 500
    assert tuple(first.column_names) == visits.COLUMNS


def test_chunks_do_not_share_people(monkeypatch):
    monkeypatch.setattr(visits, "CHUNK", 100)
    parts = [set(part["patient_id"].cells.tolist()) for part in visits.chunks(250, 5)]
    assert [len(part) > 10 for part in parts] == [True] * 3
    assert not parts[0] & parts[1] | parts[1] & parts[2] | parts[0] & parts[2]
    assert visits.visits(250, 5).num_rows == 250
    assert len(visits.arrays(250, 5)["zip"]) == 250


@pytest.mark.parametrize("name", ["v.csv", "v.parquet"])
def test_files_hold_the_same_table(tmp_path, monkeypatch, name):
    monkeypatch.setattr(visits, "CHUNK", 400)
    path = visits.write_visits(tmp_path / name, 1000, 7)
    types = {"zip": pa.string(), "visit": pa.date32(), "age": pa.int64()}
    options = csv.ConvertOptions(column_types=types, strings_can_be_null=True)
    read = csv.read_csv(path, convert_options=options) if name.endswith("csv") else parquet.read_table(path)
    assert read.combine_chunks().equals(visits.visits(1000, 7))
    with pytest.raises(UsageError, match="exists"):
        visits.write_visits(path, 1000, 7)
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    visits.write_visits(path, 1000, 7, force=True)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_arrays_and_table_agree():
    table, arrays = visits.visits(800, 9), visits.arrays(800, 9)
    for name in visits.COLUMNS:
        assert np.ma.masked_array(arrays[name]).tolist() == table[name].to_pylist()


def test_people_come_back(cells):
    _, many = np.unique(cells["patient_id"], return_counts=True)
    assert 1.5 < many.mean() < 3
    assert many.max() >= 40
    assert 0.4 < share(many == 1) < 0.8
    same = {}
    for person, age, region in zip(cells["patient_id"][:5000], cells["age"], cells["region"], strict=False):
        assert same.setdefault(person, (age, region)) == (age, region)


def test_what_hangs_together_does(cells):
    chapter = np.array([str(code)[:1] for code in cells["diagnosis"].filled("-")])
    age, stay = cells["age"], cells["stay"]
    assert age[chapter == "B"].mean() > age[chapter == "A"].mean() + 5  # hearts are old, lungs are not
    assert set(cells["sex"][chapter == "L"][age[chapter == "L"] >= 2].tolist()) <= {"female", "other"}
    assert stay[chapter == "F"].mean() > 2 * stay[chapter == "E"].mean()
    assert share(cells["department"][age < 16] == "Paediatrics") > 0.6
    income, region = cells["income"], cells["region"]
    assert np.ma.median(income[region == "Hazel"]) > 1.3 * np.ma.median(income[region == "Juniper"])
    rich, poor = income > 90_000, income < 15_000
    insurance = cells["insurance"]
    assert share(insurance[rich.filled(False)] == "private") > 5 * share(insurance[poor.filled(False)] == "private")
    month = cells["visit"].astype("datetime64[M]").astype(int) % 12
    winter, summer = np.isin(month, (11, 0, 1)), np.isin(month, (5, 6, 7))
    assert share(chapter[winter] == "A") > 1.3 * share(chapter[summer] == "A")
    assert share(chapter[summer] == "N") > 1.3 * share(chapter[winter] == "N")
    prefix = {(zone, str(code)[:2]) for zone, code in zip(region, cells["zip"].filled("--"), strict=True)}
    assert len({pair for pair in prefix if pair[1] != "--"}) == len(hospital.REGIONS)


def test_the_rare_is_there(cells):
    assert 0 < np.count_nonzero(cells["age"] >= 97) < ROWS // 500
    assert 0 < np.count_nonzero(cells["region"] == "Larch") < ROWS // 500
    codes, many = np.unique(cells["diagnosis"].compressed().astype(str), return_counts=True)
    assert np.count_nonzero(many < 15) > 10
    assert len(codes) > 100
    income = cells["income"].compressed()
    assert income.max() > 15 * np.median(income)  # a long tail …
    assert share(income > 10 * np.median(income)) < 0.005  # … and a thin one


def test_some_cells_are_missing(cells):
    for name, expected in (("zip", 0.006), ("diagnosis", 0.003), ("insurance", 0.012), ("income", 0.04)):
        assert share(np.ma.getmaskarray(cells[name])) == pytest.approx(expected, rel=0.25)
    assert not any(np.ma.isMaskedArray(cells[name]) for name in ("patient_id", "age", "sex", "region", "visit", "stay"))


def test_draws_are_fair():
    chances = hospital.Chances.of(np.array([[1.0, 0.0, 3.0], [0.0, 1.0, 1.0]]))
    uniform = (np.arange(8000) + 0.5) / 8000
    for row, expected in ((0, [2000, 0, 6000]), (1, [0, 4000, 4000])):
        assert np.bincount(chances.draw(uniform, row), minlength=3).tolist() == expected
    edge = np.nextafter(1.0, 0.0)  # added to the row it rounds up to the next one
    assert chances.draw(np.array([0.0, edge]), np.array([1, 1])).tolist() == [1, 2]


@pytest.mark.parametrize(("rows", "seed"), [(0, 1), (-5, 1), (2.5, 1), (True, 1), (10, -1), (10, 1.0)])
def test_refusals(rows, seed):
    with pytest.raises(ParameterError, match="whole number"):
        visits.visits(rows, seed)


def test_an_unknown_kind_of_file_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"\.csv"):
        visits.write_visits(tmp_path / "v.xlsx", 10, 1)
    assert not list(tmp_path.iterdir())


def test_a_run_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def broken(path, tables):
        path.write_text("half")
        raise RuntimeError

    monkeypatch.setitem(visits.WRITERS, ".csv", broken)
    with pytest.raises(RuntimeError):
        visits.write_visits(tmp_path / "v.csv", 10, 1)
    assert not list(tmp_path.iterdir())


def test_dates_lie_in_three_years():
    table = visits.visits(20_000, 2)
    ends = pc.min_max(table["visit"]).as_py()
    assert (str(ends["min"]), str(ends["max"])) == ("2024-01-01", "2026-12-31")
