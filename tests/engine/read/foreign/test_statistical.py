"""Files of Stata, SPSS and SAS: what they declare decides how they are read; a broken one ends its own process and no other."""

from __future__ import annotations

import datetime as dt
import random
from functools import cache

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from shoal.data.codebook import CodedValue
from shoal.data.schema import FileFormat
from shoal.data.type import Type
from shoal.engine.read.foreign import statistical
from shoal.engine.read.foreign.statistical import open_statistical, spell_number
from shoal.engine.read.storage import plain
from shoal.errors import DataError, UsageError
from tests.engine.read.altered import BLIND, MARK

pytestmark = pytest.mark.slow

WRITERS = {
    ".dta": pyreadstat.write_dta,
    ".sav": pyreadstat.write_sav,
    ".por": pyreadstat.write_por,
    ".xpt": pyreadstat.write_xport,
}


def write(path, columns, **options):
    WRITERS.get(path.suffix, pyreadstat.write_sav)(pd.DataFrame(columns), str(path), **options)
    return path


def read(path, **form):
    found = open_statistical(path, FileFormat(**form))
    parts = [[plain(each).to_pylist() for each in batch.columns] for batch in found.opener(range(len(found.names)))]
    return found, {name: [cell for part in parts for cell in part[place]] for place, name in enumerate(found.names)}


# --- numbers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (-0.0, "0"), (-9.0, "-9"), (0.1, "0.1"), (1e10, "10000000000"), (2.0**53 - 1, "9007199254740991"),
     (2.0**53, "9.007199254740992e+15"), (1e-7, "1e-7"), (1.5e300, "1.5e+300")],
)  # fmt: skip
def test_a_number_has_one_spelling(value, text):
    assert spell_number(value) == text
    assert float(text) == value


@pytest.mark.parametrize("suffix", [".dta", ".sav", ".zsav", ".xpt", ".por"])
def test_numbers_are_spelled_and_gaps_are_missing(tmp_path, suffix):
    path = write(tmp_path / f"t{suffix}", {"X": [1.0, None, 0.5, 12345678901.0], "S": ["a", None, "", "b c"]},
                 **({"compress": True} if suffix == ".zsav" else {}))  # fmt: skip
    found, columns = read(path)
    assert columns == {"X": ["1", None, "0.5", "12345678901"], "S": ["a", None, None, "b c"]}
    assert found.rows == 4


def test_whole_numbers_of_stata_are_whole_and_narrow_ones_short(tmp_path):
    columns = {
        "byte_": np.array([1, -7], np.int8),
        "long_": np.array([1, -7], np.int32),
        "float_": np.array([0.1, 2], np.float32),
    }
    pd.DataFrame(columns).to_stata(tmp_path / "t.dta", write_index=False)
    found, columns = read(tmp_path / "t.dta")
    assert columns == {"byte_": [1, -7], "long_": [1, -7], "float_": ["0.1", "2"]}
    assert [str(kind) for kind in found.kinds[:2]] == ["int64", "int64"]


# --- dates and times ------------------------------------------------------------------------------------------------

STATA_FORMATS = [
    ("%td", 0, dt.date(1960, 1, 1)),
    ("%tdDD/NN/CCYY", -1, dt.date(1959, 12, 31)),
    ("%d", 22000, dt.date(2020, 3, 26)),
    ("%tc", 1893553445678, dt.datetime(2020, 1, 2, 3, 4, 5, 678000)),
    ("%tm", 722, dt.date(2020, 3, 1)),
    ("%tq", 241, dt.date(2020, 4, 1)),
    ("%th", 121, dt.date(2020, 7, 1)),
    ("%tw", 52 * 60 + 51, dt.date(2020, 12, 23)),
    ("%ty", 2020, "2020"),
    ("%tC", 1893553445678, "1893553445678"),
    ("%9.0g", 3, "3"),
]


SPSS_SECONDS = 13797313445.678  # 2020-01-02 03:04:05.678, counted from 1582-10-14
SPSS_FORMATS = [
    ("DATE11", 13797302400, dt.date(2020, 1, 2)),
    ("ADATE10", 13797302400, dt.date(2020, 1, 2)),
    ("SDATE10", 86400, dt.date(1582, 10, 15)),
    ("MOYR8", 13797302400, dt.date(2020, 1, 2)),
    ("DATETIME23.3", SPSS_SECONDS, dt.datetime(2020, 1, 2, 3, 4, 5, 678000)),
    ("TIME8", 34200, "09:30:00"),
    ("DTIME12", 93600.5, "26:00:00.5"),
    ("F8.2", 3, "3"),
    ("MONTH9", 3, "3"),
]


SAS_FORMATS = [
    ("DATE9", 21916, dt.date(2020, 1, 2)),
    ("YYMMDD10", 21916, dt.date(2020, 1, 2)),
    ("E8601DA10", 21916, dt.date(2020, 1, 2)),
    ("DATETIME22.3", 1893553445.678, dt.datetime(2020, 1, 2, 3, 4, 5, 678000)),
    ("TIME8", 34200, "09:30:00"),
    ("BEST12", 3, "3"),
]


@pytest.mark.parametrize(
    ("name", "formats", "options"),
    [("t.dta", STATA_FORMATS, {}), ("t.sav", SPSS_FORMATS, {}), ("t.xpt", SAS_FORMATS, {"file_format_version": 8})],
)
def test_the_format_of_a_column_says_what_its_numbers_are(tmp_path, name, formats, options):
    columns = {f"x{place}": [float(stored), None] for place, (_, stored, _) in enumerate(formats)}
    shown = {f"x{place}": shown for place, (shown, *_) in enumerate(formats)}
    found, read_back = read(write(tmp_path / name, columns, variable_format=shown, **options))
    assert read_back == {f"x{place}": [value, None] for place, (*_, value) in enumerate(formats)}
    types = {dt.date: Type.DATE, dt.datetime: Type.DATETIME}
    assert [each.type for each in found.codebook] == [types.get(type(value)) for *_, value in formats]


@pytest.mark.parametrize("value", [0.5, 1e9, -1e9, 1e300])
def test_a_date_that_is_none_is_refused_without_being_quoted(tmp_path, value):
    path = write(tmp_path / "t.dta", {"born": [1.0, value]}, variable_format={"born": "%td"})
    with pytest.raises(DataError, match="column 'born': its format says dates") as caught:
        read(path)
    assert str(value) not in str(caught.value)


# --- labels ---------------------------------------------------------------------------------------------------------


def test_labels_and_missing_codes_of_spss(tmp_path):
    path = write(
        tmp_path / "t.sav",
        {"x": [1.0, -9, -8], "s": ["a", "NA", ""]},
        column_labels={"x": "Income class"},
        variable_value_labels={"x": {1: "low", -9: "refused", -8: "unknown", 2.5: "odd"}, "s": {"a": "first"}},
        missing_ranges={"x": [-9, {"lo": -8.5, "hi": -7}], "s": ["NA"]},
    )
    found, columns = read(path)
    assert columns == {"x": ["1", "-9", "-8"], "s": ["a", "NA", None]}
    x, s = found.codebook
    assert (x.label, x.values) == ("Income class", (CodedValue("1", "low"), CodedValue("2.5", "odd")))
    assert {*x.missing} == {CodedValue("-9", "refused"), CodedValue("-8", "unknown")}
    assert (s.values, s.missing) == ((CodedValue("a", "first"),), (CodedValue("NA"),))
    assert found.codebook.source == "t.sav"


def test_missing_values_of_stata_are_missing_and_their_labels_are_kept(tmp_path):
    path = write(tmp_path / "t.dta", {"x": [1.0, "a", None]}, missing_user_values={"x": ["a"]},
                 variable_value_labels={"x": {1: "low", "a": "refused"}})  # fmt: skip
    found, columns = read(path)
    assert columns == {"x": ["1", None, None]}
    (x,) = found.codebook
    assert (x.values, x.missing) == ((CodedValue("1", "low"),), (CodedValue(".a", "refused"),))


# --- rows -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".dta", ".xpt"])
def test_many_rows_come_in_parts_that_join(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(statistical, "STEP", 1000)
    numbers = np.arange(30_000, dtype=np.float64)
    path = write(tmp_path / f"t{suffix}", {"n": numbers, "s": [f"r{int(n)}" for n in numbers]})
    found = open_statistical(path)
    batches = list(found.opener([1, 0]))
    assert max(batch.num_rows for batch in batches) <= 1000
    assert [text for batch in batches for text in batch.column(0).to_pylist()] == [f"r{int(n)}" for n in numbers]


def test_a_reading_that_is_left_ends_its_process(tmp_path, monkeypatch):
    path = write(tmp_path / "t.sav", {"n": np.arange(70_000, dtype=np.float64)})
    begun = []
    usual = statistical.subprocess.Popen
    monkeypatch.setattr(statistical.subprocess, "Popen", lambda *a, **k: begun.append(usual(*a, **k)) or begun[-1])
    reader = open_statistical(path).opener([0])
    next(reader)
    reader.close()
    assert [process.returncode is not None for process in begun] == [True, True]


def test_a_table_without_rows_is_a_table(tmp_path):
    path = write(tmp_path / "t.sav", {"n": np.array([], dtype=np.float64)})
    assert read(path)[0].rows == 0


def test_an_old_file_says_its_encoding_in_the_policy(tmp_path):
    path = tmp_path / "t.dta"
    pyreadstat.write_dta(pd.DataFrame({"s": ["Zoe"]}), str(path), version=10)
    path.write_bytes(path.read_bytes().replace(b"Zoe", b"Zo\xeb"))
    assert read(path, encoding="windows-1252")[1] == {"s": ["Zoë"]}
    assert read(path, encoding="windows-1251")[1] == {"s": ["Zoл"]}


def test_a_library_that_is_not_there_is_named(tmp_path, monkeypatch):
    (tmp_path / "t.sav").write_bytes(b"")
    monkeypatch.setattr(statistical.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setitem(__import__("sys").modules, "pyreadstat", None)
    with pytest.raises(UsageError, match=r"shoal\[formats\]"):
        open_statistical(tmp_path / "t.sav")


# --- broken files ---------------------------------------------------------------------------------------------------


@cache
def bases(suffix, folder):
    path = write(folder / f"base{suffix}", {"ID": [739.11, None, 3.5] * 20, "TOWN": [f"{MARK}1", "", f"{MARK}22"] * 20},
                 **({"compress": True} if suffix == ".zsav" else {}))  # fmt: skip
    return path.read_bytes()


def alter(suffix, seed, folder):
    draw = random.Random(f"{suffix} {seed}")  # noqa: S311 - the same files every time
    content = bases(suffix, folder)
    for _ in range(draw.choice((1, 1, 2))):
        content = draw.choice(BLIND)(content, draw)
    return content


def try_altered(suffix, seed, folder):
    path = folder / f"altered{suffix}"
    path.write_bytes(alter(suffix, seed, folder))
    told = ""
    try:
        read(path)
    except DataError as error:
        told = str(error)
    assert MARK not in told
    assert "739" not in told
    return "refused" if told else "read"


@pytest.mark.parametrize("suffix", [".dta", ".sav", ".zsav", ".por", ".xpt"])
def test_an_altered_file_is_refused_or_read(tmp_path, suffix):
    assert {try_altered(suffix, seed, tmp_path) for seed in (3,)} <= {"refused", "read"}


@pytest.mark.long
@pytest.mark.parametrize("suffix", [".dta", ".sav", ".zsav", ".por", ".xpt"])
def test_many_altered_files_are_refused_or_read(tmp_path, suffix):
    assert {try_altered(suffix, seed, tmp_path) for seed in range(1000)} == {"refused", "read"}


def test_a_file_that_crashes_the_library_is_refused(tmp_path, monkeypatch):
    """The library has ended its process with a signal on files like this; here the process is ended for it."""
    path = write(tmp_path / "t.sav", {"n": [1.0]})
    crash = tmp_path / "crash.py"
    crash.write_text("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    monkeypatch.setattr(statistical.readstat_process, "__file__", str(crash))
    with pytest.raises(DataError, match="the file cannot be read"):
        open_statistical(path)


@pytest.mark.parametrize(
    "written",
    ["print('nonsense')", "print('{}')", "print('[1]')", "print('{\"names\": [1]}')", "print('7' * 100)", ""],
)
def test_nonsense_from_the_process_is_refused(tmp_path, monkeypatch, written):
    path = write(tmp_path / "t.sav", {"n": [1.0]})
    (tmp_path / "odd.py").write_text(written)
    monkeypatch.setattr(statistical.readstat_process, "__file__", str(tmp_path / "odd.py"))
    with pytest.raises(DataError, match="the file cannot be read"):
        open_statistical(path)
