"""A made-up table of forty columns, as a clinic that is also an employer and asks its patients might keep it: for journeys."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.data.codebook import Codebook, CodedValue, ColumnDescription
from shoal.engine.write_foreign import write_statistical
from tests.engine.read.foreign.workbooks import write_xlsx

_FIRST = ("Ada", "Ben", "Cleo", "Dora", "Emil", "Finn", "Greta", "Hugo", "Ida", "Jon", "Käthe", "Łukasz")
_LAST = ("Adler", "Baum", "Cramer", "Dietz", "Ebert", "Fuchs", "Graf", "Horn", "Jung", "Kern", "Lang", "Moor")
_WORDS = [
    "came",
    "late",
    "after",
    "work",
    "with",
    "some",
    "pain",
    "in",
    "the",
    "left",
    "knee",
    "since",
    "monday",
    "without",
    "fever",
    "and",
    "walked",
    "home",
    "again",
]
_COUNTRIES = ("DE", "FR", "PL", "IT", "ES", "TR", "NL")
_ICD = ("E11.9", "F32.1", "I10", "I25.1", "J45.0", "K35.8", "M54.5", "N39.0", "S72.0", "Z38.0")
_ISCO = ("1120", "2211", "2310", "3221", "4110", "5120", "7231", "8322", "9112")


def make(rows: int = 3_000, seed: int = 7) -> pa.Table:
    """Forty columns with dates as dates and numbers as numbers; about three rows in five have a person with another row."""
    rng = np.random.default_rng(seed)
    people = max(1, rows * 7 // 10)
    person = rng.integers(0, people, rows)
    own = _people(rng, people)
    columns: dict[str, Any] = {
        "patient_id": [f"P{100_000 + 7 * each}" for each in person.tolist()],
        "visit_no": [500_000 + 13 * place for place in rng.permutation(rows).tolist()],
        **{name: [values[each] for each in person.tolist()] for name, values in own.items()},
        **_visits(rng, rows),
    }
    assert len(columns) == 40
    return pa.table(columns)


def _people(rng: np.random.Generator, n: int) -> dict[str, list[Any]]:
    """What a person takes along from visit to visit."""
    born = [dt.date(1930, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 33_000, n)]
    first, last = _pick(rng, _FIRST, n), _pick(rng, _LAST, n)
    return {
        "last_name": last,
        "first_name": first,
        "email": [f"{a}.{b}{place}@example.org".lower() for place, (a, b) in enumerate(zip(first, last, strict=True))],
        "birth_date": born,
        "sex": rng.choice([1, 2, 3], n, p=[0.48, 0.5, 0.02]).tolist(),
        "postal_code": [f"0{code}" for code in rng.choice(np.arange(1_001, 1_999, 7), n).tolist()],
        "state": _pick(rng, ("Saxony", "Thuringia", "Bavaria", "Hesse"), n),
        "country_of_birth": _pick(rng, _COUNTRIES, n),
        "marital_status": _pick(rng, ("single", "married", "divorced", "widowed"), n),
        "education": _pick(rng, ("primary", "secondary", "tertiary", "doctorate"), n),
        "occupation_isco": _pick(rng, _ISCO, n),
        "employment": _pick(rng, ("employed", "unemployed", "retired", "student"), n),
        "household_size": (1 + rng.poisson(1.3, n)).tolist(),
        "children": rng.poisson(0.8, n).tolist(),
        "height_cm": rng.normal(171, 9, n).round().astype(int).tolist(),
        "monthly_income": [
            -9 if unknown else int(value)
            for value, unknown in zip(rng.lognormal(7.8, 0.5, n), rng.random(n) < 0.06, strict=True)
        ],
        "religion": _pick(rng, ("none", "catholic", "protestant", "muslim", "other"), n),
        "smoker": _pick(rng, ("no", "yes"), n),
        "insurance": _pick(rng, ("public", "private", "none"), n),
    }


def _visits(rng: np.random.Generator, n: int) -> dict[str, list[Any]]:
    """What belongs to one visit."""
    begin = dt.datetime(2025, 1, 1, 6)  # noqa: DTZ001 - times in a table have no zone
    arrived = [begin + dt.timedelta(minutes=int(minute)) for minute in rng.integers(0, 500_000, n)]
    gone = rng.random((3, n))
    return {
        "admission_date": [each.date() for each in arrived],
        "arrival_time": arrived,
        "ward": [f"{code:03d}" for code in rng.choice([1, 2, 3, 7, 12, 21], n).tolist()],
        "diagnosis_icd10": _pick(rng, _ICD, n),
        "severity": _pick(rng, ("mild", "moderate", "severe"), n),
        "length_of_stay": rng.poisson(4, n).tolist(),
        "systolic_bp": [
            None if away < 0.05 else int(value) for value, away in zip(rng.normal(130, 18, n), gone[0], strict=True)
        ],
        "hba1c": [
            None if away < 0.3 else round(float(value), 1)
            for value, away in zip(rng.normal(6, 1, n), gone[1], strict=True)
        ],
        "bmi": [round(float(value), 1) for value in rng.normal(26, 4, n)],
        "hiv_status": _pick(rng, ("negative", "positive"), n),
        "medication": _pick(rng, ("none", "metformin", "ibuprofen", "ramipril", "sertraline"), n),
        "total_charges": [round(float(value), 2) for value in rng.lognormal(7, 1, n)],
        "satisfaction": rng.choice([1, 2, 3, 4, 5, 99], n, p=[0.05, 0.1, 0.2, 0.35, 0.25, 0.05]).tolist(),
        "would_recommend": _pick(rng, (True, False), n),
        "survey_weight": [round(float(value), 3) for value in rng.uniform(0.4, 3, n)],
        "notes": [None if away < 0.5 else " ".join(rng.choice(_WORDS, 12)) for away in gone[2]],
        "last_modified": [each + dt.timedelta(days=2) for each in arrived],
        "clinic": ["Leipzig"] * n,
        "shift": _pick(rng, ("early", "late", "night"), n),
    }


def _pick(rng: np.random.Generator, values: tuple[Any, ...], n: int) -> list[Any]:
    return [values[place] for place in rng.integers(0, len(values), n)]


CODEBOOK = Codebook(
    (
        ColumnDescription(
            "sex",
            "Sex in the register",
            values=(CodedValue("1", "male"), CodedValue("2", "female"), CodedValue("3", "diverse")),
        ),
        ColumnDescription("monthly_income", "Net income of a month in euros"),
        ColumnDescription("postal_code", "Postal code of the home"),
    ),
    "the clinic",
)
"""Labels, for the forms that can carry them."""


def write_workbook(path: Path, table: pa.Table) -> Path:
    """The table as the second sheet of a workbook, behind a page about it."""
    rows = [table.column_names, *map(list, zip(*(column.to_pylist() for column in table.columns), strict=True))]
    return write_xlsx(path, {"read me": [["made up for a test"]], "visits": rows})


def write_stata(path: Path, table: pa.Table) -> Path:
    """The table as a file of Stata, with labels."""
    write_statistical(path, table, CODEBOOK)
    return path
