"""Hospital visits of people who do not exist: any number of rows, the same for the same seed.

People have several visits, a few of them very many. Age, diagnosis, department and stay hang together, and so do
region, postcode, income and insurance; diagnoses follow the seasons. A handful of people is very old, one region is
tiny, some diagnoses are rare, incomes have a long tail, and some cells are missing: what makes real tables hard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.datasets import hospital
from shoal.errors import ParameterError, UsageError
from shoal.files.write import refuse_overwriting, write

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["COLUMNS", "arrays", "chunks", "policy_files", "visits", "write_policy", "write_visits"]

CHUNK = 500_000
"""Rows that are drawn together; people do not reach from one chunk into the next."""
MOST_VISITS = 60
LARGEST_INCOME = 9_999_999.99
LONGEST_STAY = 365
COLUMNS = (
    "patient_id", "age", "sex", "region", "zip", "visit", "diagnosis", "department", "insurance", "stay", "income",
)  # fmt: skip

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class VisitColumn:
    """Cells as numbers or dates, or as places in a list of labels; `missing` marks the empty ones."""

    cells: Array
    labels: tuple[str, ...] | None = None
    missing: npt.NDArray[np.bool_] | None = None

    @classmethod
    def concatenate(cls, parts: list[VisitColumn]) -> VisitColumn:
        """The cells of several chunks, one after the other."""
        lost = [part.missing for part in parts if part.missing is not None]
        return cls(
            np.concatenate([part.cells for part in parts]), parts[0].labels, np.concatenate(lost) if lost else None
        )

    def array(self) -> Array:
        """For NumPy: objects for texts, a masked array where cells are missing."""
        cells = self.cells if self.labels is None else np.array(self.labels, dtype=object)[self.cells]
        return cells if self.missing is None else np.ma.masked_array(cells, self.missing)

    def arrow(self) -> Any:
        """For Arrow: texts as a dictionary."""
        import pyarrow as pa

        cells = pa.array(self.cells, mask=self.missing)
        return cells if self.labels is None else pa.DictionaryArray.from_arrays(cells, pa.array(self.labels))


def visits(rows: int, seed: int) -> pa.Table:
    """The visits as a PyArrow table with plain text columns.

    Raises     ParameterError where rows is below 1 or seed below 0.

    >>> visits(1000, seed=1).column_names[:3]
    ['patient_id', 'age', 'sex']
    """
    import pyarrow as pa

    return pa.concat_tables(_texts(part) for part in _tables(rows, seed)).combine_chunks()


def arrays(rows: int, seed: int) -> dict[str, Array]:
    """The visits as NumPy arrays by column name, masked where cells are missing."""
    parts = list(chunks(rows, seed))
    return {name: VisitColumn.concatenate([part[name] for part in parts]).array() for name in COLUMNS}


def write_visits(path: Path | str, rows: int, seed: int, *, force: bool = False) -> Path:
    """Write visits to .csv or .parquet, a chunk at a time; the file appears whole or not at all."""
    path = Path(path)
    refuse_overwriting(path, force=force)
    kind = path.suffix.lower()
    if kind not in WRITERS:
        raise UsageError("visits are written to .csv or .parquet", came=path.name, allowed=", ".join(WRITERS))
    _check_arguments(rows, seed)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        WRITERS[kind](unfinished, _tables(rows, seed))
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def _write_csv(path: Path, tables: Iterator[pa.Table]) -> None:
    from pyarrow import csv

    options = csv.WriteOptions(quoting_style="none", quoting_header="none")  # our texts hold nothing to quote
    with csv.CSVWriter(path, _empty().schema, write_options=options) as writer:
        for table in tables:
            writer.write_table(_texts(table))


def _write_parquet(path: Path, tables: Iterator[pa.Table]) -> None:
    from pyarrow import parquet

    first = next(tables)
    # Texts go in as places in a dictionary, which is quick; without our schema in the file, they come out as texts.
    with parquet.ParquetWriter(path, first.schema, compression="zstd", store_schema=False) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


WRITERS: dict[str, Callable[[Path, Iterator[Any]], None]] = {".csv": _write_csv, ".parquet": _write_parquet}


def chunks(rows: int, seed: int) -> Iterator[dict[str, VisitColumn]]:
    """The visits in chunks."""
    _check_arguments(rows, seed)
    for number, start in enumerate(range(0, rows, CHUNK)):
        # Test data, and chance that carries no promise: a seeded generator is what is wanted.
        chance = np.random.Generator(np.random.PCG64([seed, number]))  # noqa: TID251
        yield _draw(min(CHUNK, rows - start), start, chance)


def _check_arguments(rows: int, seed: int) -> None:
    for name, value, least in (("rows", rows, 1), ("seed", seed, 0)):
        if type(value) is not int or value < least:
            raise ParameterError(
                f"{name} is not a whole number from {least} up", came=value, allowed=f"{least}, {least + 1}, ..."
            )


def _draw(rows: int, first: int, chance: np.random.Generator) -> dict[str, VisitColumn]:  # noqa: TID251 - as above
    def uniform(size: int) -> Floats:
        return chance.random(size)

    # People. At least one visit each, so `rows` people are enough; most of them are not needed.
    age = hospital.ages().draw(uniform(rows))
    habit = np.array([1.6, 2.4, 2.2, 2.0, 1.8, 1.5, 1.3])[hospital.AGE_GROUP[age]]
    many = np.minimum((1.0 - uniform(rows)) ** (-1.0 / habit), MOST_VISITS).astype(np.int64)
    people = int(np.searchsorted(np.cumsum(many), rows)) + 1
    age, many = age[:people], many[:people]
    sex = (uniform(people) < 0.52 - 0.12 * (age > 75)).astype(np.int64)
    sex[uniform(people) < 0.003] = 2
    region = hospital.Chances.of(np.array([share for _, _, share, _ in hospital.REGIONS])).draw(uniform(people))
    town = hospital.towns().draw(uniform(people))
    income = _incomes(age, region, town, uniform(people))
    insurance = _insurances(age, income, uniform(people))
    group = hospital.AGE_GROUP[age]
    ill = hospital.chapters().draw(uniform(people), (group * hospital.SEASONS + 1) * len(hospital.SEXES) + sex)

    # Visits, in the order of their dates.
    chances, season_of = hospital.days()
    day = chances.draw(uniform(rows)).astype(np.int16)
    order = np.argsort(day, kind="stable")
    day, who = day[order], np.repeat(np.arange(people), many)[:rows][order]
    season = season_of[day]
    chapter = hospital.chapters().draw(
        uniform(rows), (group[who] * hospital.SEASONS + season) * len(hospital.SEXES) + sex[who]
    )
    chapter = np.where(uniform(rows) < np.where(group[who] >= 4, 0.5, 0.2), ill[who], chapter)
    code = hospital.FIRST_CODE[chapter] + hospital.codes().draw(uniform(rows), chapter)
    department = hospital.DEPARTMENT_OF_CHAPTER[chapter]
    department[(age[who] < 16) & (chapter != 10)] = 3
    turn = uniform(rows)
    department[turn < 0.16] = 0
    department[(turn > 0.93) & (age[who] > 60)] = 9
    mean = hospital.STAY_OF_CHAPTER[chapter] * (0.6 + age[who] / 80.0) * np.where(department == 0, 0.3, 1.0)
    stay = np.minimum(np.log1p(-uniform(rows)) / np.log(mean / (1.0 + mean)), LONGEST_STAY).astype(np.int64)

    def some_missing(share: float) -> npt.NDArray[np.bool_]:
        return uniform(rows) < share

    zips = hospital.ZIPS_PER_REGION * region + town
    return {
        "patient_id": VisitColumn(1 + first + who),
        "age": VisitColumn(age[who]),
        "sex": VisitColumn(sex[who].astype(np.int8), hospital.SEXES),
        "region": VisitColumn(region[who].astype(np.int8), tuple(name for name, *_ in hospital.REGIONS)),
        "zip": VisitColumn(zips[who].astype(np.int16), hospital.ZIPS, some_missing(0.006)),
        "visit": VisitColumn(np.datetime64("2024-01-01") + day.astype(np.int64)),
        "diagnosis": VisitColumn(code.astype(np.int16), hospital.CODES, some_missing(0.003)),
        "department": VisitColumn(department.astype(np.int8), hospital.DEPARTMENTS),
        "insurance": VisitColumn(insurance[who].astype(np.int8), hospital.INSURANCES, some_missing(0.012)),
        "stay": VisitColumn(stay),
        "income": VisitColumn(income[who], None, some_missing(0.04)),
    }


def _incomes(age: Ints, region: Ints, town: Ints, uniform: Floats) -> Floats:
    """Yearly, of the household: log-logistic, so that one in a thousand has ten times the middle."""
    level = np.array([level for _, _, _, level in hospital.REGIONS])[region]
    middle = 31_000.0 * level * (1.25 - 0.5 * (town % 7) / 6.0) * np.where(age >= 67, 0.75, 1.0)
    odds = uniform / (1.0 - uniform)
    return np.minimum(np.round(middle * odds ** (1 / 2.9), 2), LARGEST_INCOME)


def _insurances(age: Ints, income: Floats, uniform: Floats) -> Ints:
    """The rich insure privately, the employed through their company, the old publicly."""
    wealth = np.digitize(income, [15_000.0, 40_000.0, 90_000.0])
    working = np.array(
        [[0.78, 0.02, 0.10, 0.10], [0.62, 0.06, 0.30, 0.02], [0.38, 0.22, 0.395, 0.005], [0.12, 0.62, 0.258, 0.002]]
    )
    retired = np.array(
        [[0.97, 0.01, 0.01, 0.01], [0.93, 0.06, 0.01, 0.0], [0.72, 0.27, 0.01, 0.0], [0.35, 0.64, 0.01, 0.0]]
    )
    return hospital.Chances.of(np.vstack([working, retired])).draw(uniform, wealth + 4 * (age >= 67))


def _tables(rows: int, seed: int) -> Iterator[pa.Table]:
    import pyarrow as pa

    for part in chunks(rows, seed):
        yield pa.table({name: column.arrow() for name, column in part.items()})


def _texts(table: pa.Table) -> pa.Table:
    return table.cast(_empty().schema)


def _empty() -> pa.Table:
    """No rows: the columns and their Arrow types."""
    import pyarrow as pa

    types = {
        "patient_id": pa.int64(),
        "age": pa.int64(),
        "visit": pa.date32(),
        "stay": pa.int64(),
        "income": pa.float64(),
    }
    return pa.schema([(name, types.get(name, pa.string())) for name in COLUMNS]).empty_table()


# --- their policy ------------------------------------------------------------------------------------------------------

WHOLE = "*"


def policy_files() -> dict[str, str]:
    """The texts of `policy.yaml` and of the hierarchies beside it: a table in ARX's form, and a tree."""
    policy = resources.files("shoal.datasets").joinpath("visits.yaml").read_text(encoding="utf-8")
    return {"policy.yaml": policy, "hierarchies/diagnosis.csv": _diagnoses(), "hierarchies/region.yaml": _regions()}


def write_policy(folder: Path | str, *, force: bool = False) -> Path:
    """Write policy and hierarchies into a folder, which is made if need be; gives the path of the policy."""
    texts = {Path(folder) / name: text for name, text in policy_files().items()}
    for path in texts:
        path.parent.mkdir(parents=True, exist_ok=True)
        refuse_overwriting(path, force=force)
    for path, text in texts.items():
        write(path, text, force=force)
    return Path(folder) / "policy.yaml"


def _diagnoses() -> str:
    """Code, block, chapter."""
    rows = [
        (f"{letter}{block}{code}", f"{letter}{block} {name}", f"{letter} {chapter}", WHOLE)
        for letter, chapter, blocks in hospital.CHAPTERS
        for block, name in enumerate(blocks, start=1)
        for code in range(1, hospital.CODES_PER_BLOCK + 1)
    ]
    return "".join(";".join(row) + "\n" for row in rows)


def _regions() -> str:
    parts: dict[str, list[str]] = {}
    for name, part, _, _ in hospital.REGIONS:
        parts.setdefault(part, []).append(name)
    return "Anywhere:\n" + "".join(f"  {part}: [{', '.join(names)}]\n" for part, names in parts.items())
