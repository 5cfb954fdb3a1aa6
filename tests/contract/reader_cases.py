"""One logical table, and every form in which Shoal reads it: the cases of the contract that all readers satisfy.

A new reader adds a function that writes the table in its form, and a line in `CASES`.
"""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat
from pyarrow import feather, parquet

from shoal.data.schema import STANDARD, FileFormat
from shoal.engine.write_foreign import write_database
from tests.engine.appended import StreamAgain
from tests.engine.read.foreign.workbooks import write_ods, write_xlsx

POLICY = """\
version: 1
dataset: readers
unit: row
neighbours: add_remove
attributes:
  id: {role: identifier}
  age:
    {role: quasi, type: integer, domain: [0, 99], hierarchy: {intervals: [25]}, missing_values: ["-9"], label: age in years}
  income: {role: quasi, type: decimal, domain: [-100, 1000], hierarchy: {intervals: [500]}}
  town: {role: quasi, type: category, domain: [Bern, Zürich, "Łódź, Polska", 東京, "007"]}
  seen: {role: quasi, type: date, domain: [2024-01-01, 2024-12-31], hierarchy: {date: [quarter]}}
  moment: {role: other, type: datetime, domain: [2024-01-01, 2025-01-01], hierarchy: {date: [year]}}
  smoker: {role: confidential, type: boolean}
  status: {role: confidential, type: category, domain: ["1", "2", "3"], value_labels: {1: works, 2: learns, 3: neither}}
release:
  {method: safe-k, epsilon: 1, delta: 1e-3, sampling: {beta: 0.5}, recoding: {levels: {age: 1, income: 1, seen: 1, moment: 1}}}
"""
NAMES = ("id", "age", "income", "town", "seen", "moment", "smoker", "status")
TYPES = (
    pa.string(),
    pa.int32(),
    pa.float64(),
    pa.string(),
    pa.date32(),
    pa.timestamp("us"),
    pa.bool_(),
    pa.int8(),
)
"""What the columns are where a form declares types."""
LABELS = {1: "works", 2: "learns", 3: "neither"}
"""What the codes of `status` mean, for forms that carry labels."""
TOWNS = ("Bern", "Zürich", "Łódź, Polska", "東京", "007")


def _rows() -> list[tuple[Any, ...]]:
    draw = random.Random(16)  # noqa: S311 - made-up people

    def perhaps(value: Any) -> Any:
        return None if draw.random() < 0.1 else value

    return [
        (
            f"p{number:03d}",
            perhaps(draw.choice([-9, *range(100)])),
            perhaps(draw.choice([0.0, -0.5, 12.0, 0.1, 999.99, round(draw.uniform(-100, 1000), 2)])),
            perhaps(draw.choice(TOWNS)),
            perhaps(dt.date(2024, 1, 1) + dt.timedelta(days=draw.randrange(366))),
            perhaps(dt.datetime(2024, 1, 1) + dt.timedelta(minutes=draw.randrange(60 * 24 * 366))),  # noqa: DTZ001
            perhaps(draw.random() < 0.5),
            perhaps(draw.choice(list(LABELS))),
        )
        for number in range(300)
    ]


ROWS = _rows()


def arrow_table() -> pa.Table:
    """The table with declared types."""
    columns = zip(*ROWS, strict=True)
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, TYPES, strict=True)], names=list(NAMES))


def texts(*, decimal: str = ".", date: str = "%Y-%m-%d", moment: str = "%Y-%m-%d %H:%M") -> list[list[str]]:
    """The rows as text, an empty one where a value is missing."""

    def spell(value: Any) -> str:
        if value is None:
            return ""
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, dt.datetime):
            return value.strftime(moment)
        if isinstance(value, dt.date):
            return value.strftime(date)
        return repr(value).replace(".", decimal) if isinstance(value, float) else str(value)

    return [[spell(value) for value in row] for row in ROWS]


def csv_text(rows: list[list[str]], delimiter: str = ",") -> str:
    """The rows with a header, as CSV."""
    held = io.StringIO()
    csv.writer(held, delimiter=delimiter, lineterminator="\n").writerows([NAMES, *rows])
    return held.getvalue()


@dataclass(frozen=True)
class ReaderCase:
    """A form of the table: what writes it into a folder and gives what is read, and what a policy says of it."""

    write: Callable[[Path], object]
    form: FileFormat = STANDARD
    told: tuple[tuple[str, str], ...] = ()
    """Keys of the policy that this form needs, such as how its dates are written."""


def _bytes(name: str, data: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(data)
        return folder / name

    return write


def _zip(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "t.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("visits.csv", csv_text(texts()))
    return folder / "t.zip"


def _parquet(folder: Path) -> Path:
    parquet.write_table(arrow_table(), folder / "t.parquet", row_group_size=100)
    return folder / "t.parquet"


def _folder(folder: Path) -> Path:
    (folder / "parts").mkdir()
    parquet.write_table(arrow_table().slice(0, 100), folder / "parts" / "a.parquet")
    parquet.write_table(arrow_table().slice(100), folder / "parts" / "b.parquet")
    return folder / "parts"


def _feather(folder: Path) -> Path:
    feather.write_feather(arrow_table(), folder / "t.feather")
    return folder / "t.feather"


def _arrow_stream(folder: Path) -> Path:
    table = arrow_table()
    with pa.ipc.new_stream(folder / "t.arrows", table.schema) as writer:
        writer.write_table(table, max_chunksize=100)
    return folder / "t.arrows"


def _lines(folder: Path) -> Path:
    lines = (json.dumps(dict(zip(NAMES, row, strict=True)), default=str, ensure_ascii=False) for row in ROWS)
    (folder / "t.jsonl").write_text("\n".join(lines), "utf-8")
    return folder / "t.jsonl"


def _sheets() -> dict[str, list[list[Any]]]:
    return {"notes": [["what this is"]], "visits": [list(NAMES), *map(list, ROWS)]}


def _pandas(folder: Path) -> pd.DataFrame:
    return arrow_table().to_pandas(types_mapper=pd.ArrowDtype)


def _polars(folder: Path) -> pl.DataFrame:
    return pl.from_arrow(arrow_table())  # type: ignore[return-value]


def _statistical(name: str) -> Callable[[Path], Path]:
    """A file of Stata, SPSS or SAS, with the labels of `status`, and in SPSS the code of missing ages."""

    def write(folder: Path) -> Path:
        frame = arrow_table().to_pandas(types_mapper={pa.int32(): pd.Int32Dtype(), pa.int8(): pd.Int32Dtype()}.get)
        labels = {} if name.endswith("xpt") else {"variable_value_labels": {"status": LABELS}}
        spss = {"missing_ranges": {"age": [-9]}, "compress": name.endswith("zsav")} if name.endswith("sav") else {}
        writers = {".dta": pyreadstat.write_dta, ".xpt": pyreadstat.write_xport}
        path = folder / name
        writers.get(path.suffix, pyreadstat.write_sav)(frame, path, **labels, **spss)
        return path

    return write


def _database(address: str) -> None:
    write_database(address, "visits", arrow_table())


def _sqlite(folder: Path) -> Path:
    _database(f"sqlite:///{folder / 't.sqlite'}")
    return folder / "t.sqlite"


def _duckdb(folder: Path) -> Path:
    connection = duckdb.connect(str(folder / "t.duckdb"))
    connection.register("given", arrow_table())
    connection.execute("CREATE TABLE visits AS SELECT * FROM given")
    connection.close()
    return folder / "t.duckdb"


GERMAN = texts(decimal=",", date="%d.%m.%Y", moment="%d.%m.%Y %H:%M")
GERMAN_KEYS = (
    ("attributes.income.decimal", ","),
    ("attributes.seen.format", "%d.%m.%Y"),
    ("attributes.moment.format", "%d.%m.%Y %H:%M"),
)
SHEET = FileFormat(sheet="visits")
CASES: dict[str, ReaderCase] = {
    "csv": ReaderCase(_bytes("t.csv", csv_text(texts()).encode())),
    "tsv": ReaderCase(_bytes("t.tsv", csv_text(texts(), "\t").encode("utf-8-sig"))),
    "csv.gz": ReaderCase(_bytes("t.csv.gz", gzip.compress(csv_text(texts()).encode()))),
    "csv.zst": ReaderCase(_bytes("t.csv.zst", pa.compress(csv_text(texts()).encode(), "zstd", asbytes=True))),
    "zip": ReaderCase(_zip),
    "german csv": ReaderCase(
        _bytes("t.csv", csv_text(GERMAN, ";").encode("utf-16")), FileFormat("utf-16", ";"), GERMAN_KEYS
    ),
    "gb18030": ReaderCase(_bytes("t.txt", csv_text(texts(), "|").encode("gb18030")), FileFormat("gb18030")),
    "parquet": ReaderCase(_parquet),
    "folder": ReaderCase(_folder),
    "feather": ReaderCase(_feather),
    "arrow stream in a file": ReaderCase(_arrow_stream),
    "json lines": ReaderCase(_lines),
    "xlsx": ReaderCase(lambda folder: write_xlsx(folder / "t.xlsx", _sheets()), SHEET),
    "xlsx, dates told": ReaderCase(lambda folder: write_xlsx(folder / "t.xlsx", _sheets()), SHEET, GERMAN_KEYS),
    "ods": ReaderCase(lambda folder: write_ods(folder / "t.ods", _sheets()), SHEET),
    "stata": ReaderCase(_statistical("t.dta")),
    "spss": ReaderCase(_statistical("t.sav")),
    "compressed spss": ReaderCase(_statistical("t.zsav")),
    "sas transport": ReaderCase(_statistical("t.xpt")),
    "spss, decimal comma told": ReaderCase(_statistical("t.sav"), told=GERMAN_KEYS[:1]),
    "sqlite": ReaderCase(_sqlite),
    "sqlite, decimal comma told": ReaderCase(_sqlite, FileFormat(table="visits"), GERMAN_KEYS[:1]),
    "sqlite, by address and query": ReaderCase(
        lambda folder: f"sqlite:///{_sqlite(folder)}", FileFormat(query="SELECT * FROM visits ORDER BY id;")
    ),
    "duckdb": ReaderCase(_duckdb, FileFormat(table="visits")),
    "pandas": ReaderCase(_pandas),
    "polars": ReaderCase(_polars),
    "arrow": ReaderCase(lambda folder: arrow_table()),
    "arrow stream": ReaderCase(lambda folder: StreamAgain(arrow_table())),
    "record batches": ReaderCase(lambda folder: arrow_table().to_reader(max_chunksize=70)),
}
"""Every form by its name."""
PUBLISHED = (
    "csv",
    "german csv",
    "parquet",
    "json lines",
    "xlsx",
    "ods",
    "arrow stream",
    "stata",
    "spss",
    "sqlite",
    "duckdb",
)
"""The forms of which a release is made: one of each family of readers."""
