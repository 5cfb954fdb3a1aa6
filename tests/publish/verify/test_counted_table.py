"""Somebody changes the table itself, hashes it and seals the folder again: header, cells, types, spelling, order, counts."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.ledger.ledger import Ledger
from shoal.publish.certificate.counted import certificate
from shoal.publish.handbook.files import handbook_files, handbook_of
from shoal.publish.plan.methods import plan
from tests.publish.counted_clinic import policy, publish
from tests.publish.verify.counted_forgery import Forger, alone, failed, forger, resealed

__all__ = ["forger"]

ROWS = 60


def lines_of(place: Path) -> list[str]:
    return (place / "table.csv").read_text().splitlines()


def written(place: Path, lines: list[str]) -> None:
    (place / "table.csv").write_text("\n".join(lines) + "\n")


def named(place: Path, _content: object) -> None:
    head, *lines = lines_of(place)
    written(place, [f"{head},name", *(f"{line},p{number}" for number, line in enumerate(lines))])


def ragged(place: Path, _content: object) -> None:
    head, *lines = lines_of(place)
    written(place, [head, *(f"{line},p{number}" for number, line in enumerate(lines))])


def one_cell_more(place: Path, _content: object) -> None:
    lines = lines_of(place)
    written(place, [*lines[:-1], lines[-1] + ",John"])


def one_cell_less(place: Path, _content: object) -> None:
    lines = lines_of(place)
    written(place, [*lines[:-1], lines[-1].rpartition(",")[0]])


def another_header(place: Path, _content: object) -> None:
    written(place, ["years" + lines_of(place)[0][3:], *lines_of(place)[1:]])


def not_listed(place: Path, content: dict) -> None:
    (place / "table.csv").unlink()
    del content["files"]["table.csv"]


def too_few(place: Path, _content: object) -> None:
    written(place, lines_of(place)[:9])


BROKEN = {
    "a column of names": named,
    "cells beyond the columns": ragged,
    "one cell beyond": one_cell_more,
    "one cell missing": one_cell_less,
    "another header": another_header,
    "something else": lambda place, _: written(place, ["hello", "John Smith has flu"]),
    "nothing": lambda place, _: (place / "table.csv").write_text(""),
    "a header alone": lambda place, _: written(place, lines_of(place)[:1]),
    "a mark at the start": lambda place, _: (place / "table.csv").write_text("\ufeff" + (place / "table.csv").read_text()),
    "an empty line": lambda place, _: written(place, [*lines_of(place), ""]),
    "no table": not_listed,
    "fewer rows than two groups": too_few,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["micro-csv", "swap-csv"])
@pytest.mark.parametrize("name", BROKEN)
def test_a_table_that_is_none_is_seen_by_both(forger: Forger, kind, name):
    place = forger(kind, BROKEN[name])
    assert failed(place)
    assert alone(place) == 3


def reversed_rows(place: Path) -> None:
    head, *lines = lines_of(place)
    written(place, [head, *lines[::-1]])


def swapped_rows(place: Path) -> None:
    """Two neighbours that differ change places."""
    lines = lines_of(place)
    at = next(number for number in range(1, len(lines)) if lines[number] != lines[number + 1])
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    written(place, lines)


SPELLED = {
    "backwards": reversed_rows,
    "two rows out of order": swapped_rows,
    "quotes": lambda place: written(place, [line.replace(",f,", ',"f",') for line in lines_of(place)]),
    "zeros": lambda place: written(place, [lines_of(place)[0], *("0" + line for line in lines_of(place)[1:])]),
    "other line ends": lambda place: (place / "table.csv").write_bytes("\r\n".join([*lines_of(place), ""]).encode()),
    "no last line end": lambda place: (place / "table.csv").write_text("\n".join(lines_of(place))),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["micro-csv", "swap-csv"])
@pytest.mark.parametrize("name", SPELLED)
def test_a_table_in_another_order_or_spelling_is_seen(forger: Forger, kind, name):
    """The order of rows, or how a number is spelled, could tell who is who."""
    assert "table-rewritten" in failed(forger(kind, lambda place, _: SPELLED[name](place)))


@pytest.mark.slow
@pytest.mark.parametrize("value", ["John Smith", "12 o'clock"])
def test_a_number_is_a_number(forger: Forger, value):
    def put(place, _):
        head, *lines = lines_of(place)
        written(place, [head, *(f"{value},{line.partition(',')[2]}" for line in lines)])

    for kind in ("micro-csv", "swap-csv"):
        assert "table-rewritten" in failed(forger(kind, put))


@pytest.mark.slow
def test_a_value_is_one_of_its_domain(forger: Forger):
    """What is shown as it is was read under the policy, which knows no such diagnosis."""

    def put(place, _):
        head, *lines = lines_of(place)
        written(place, [head, *(f"{line.rpartition(',')[0]},John" for line in lines)])

    for kind in ("micro-csv", "swap-csv"):
        assert failed(forger(kind, put)) == {"table-rewritten", "labels"}


def test_a_record_of_its_own_is_counted_by_both(forger: Forger):
    def put(place, _):
        written(place, [lines_of(place)[0], "-3.25,f,flu", *lines_of(place)[2:]])

    place = forger("micro-csv", put)
    assert failed(place) == {"class-size", "labels"}
    assert alone(place) == 3


@pytest.mark.slow
def test_an_empty_text_is_not_a_missing_one(tmp_path):
    """Many readers take both for the same, but the bytes tell them apart, and so does whoever looks at them."""
    free = {"attributes.sex": {"role": "quasi", "type": "text"}}
    honest = publish(tmp_path, "microaggregation", free, rows=ROWS, report=False)
    for empty, seen in ((1, {"class-size"}), (30, set())):
        rows = ["1,,flu"] * (ROWS - empty) + ['1,"",flu'] * empty
        written(honest.folder, ["age,sex,diag", *rows])
        place = resealed(honest.folder, dict(honest.certificate))
        assert failed(place) == seen
        assert alone(place) == (3 if seen else 0)


# --- the raw table under papers that agree ------------------------------------------------------------------------------


def forged(folder: Path, which: str, changes: dict[str, object]) -> Path:
    """The original, sorted, with the lock, the certificate and the handbook of a plan that was never run."""
    honest = publish(folder, "swap", rows=ROWS, report=False)
    with (folder / "table.csv").open(newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: (int(row["age"]), row["sex"], row["diag"]))
    made, place = plan(policy(which, changes)), folder / "never-run"
    place.mkdir()
    written(place, ["age,sex,diag", *(f"{row['age']},{row['sex']},{row['diag']}" for row in rows)])
    (place / "policy.lock.yaml").write_text(made.lock.text)
    with Ledger(str(folder / "other.sqlite")) as ledger:
        account = ledger.account("clinic")
    told = certificate(made, "table.csv", dict(honest.certificate["files"]), account, "2025-01-01").to_json()
    for name, text in handbook_files(handbook_of(place, told, made.lock.text)).items():
        (place / name).write_text(text, "utf-8", newline="")
    return resealed(place, told)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "changes", "seen"),
    [
        ("swap", {"release.k": 1000}, {"row-count"}),
        ("swap", {"release.k": ROWS // 2 + 1}, {"row-count"}),
        ("swap", {"release.l": 500}, {"distinct-values"}),
        ("swap", {"release.l": 4}, {"distinct-values"}),
        ("swap", {"release.grouping": "ranking", "release.crowds": {"diag": 40},
                  "attributes.diag.type": "ordinal"}, {"row-count"}),
        ("microaggregation", {"release.k": 2}, {"class-size"}),
        ("microaggregation", {"release.k": 2, "release.l": 2},
         {"class-size", "distinct-values"}),
    ],
)  # fmt: skip
def test_the_raw_table_under_papers_that_agree(tmp_path, which, changes, seen):
    place = forged(tmp_path, which, changes)
    assert failed(place) == seen
    assert alone(place) == 3


@pytest.mark.slow
def test_what_nobody_can_see_is_said_to_rest_on_the_program(tmp_path):
    """A swap that was never made looks like one that was: the papers say so, and no check claims otherwise."""
    place = forged(tmp_path, "swap", {"release.k": ROWS // 2})
    assert failed(place) == set()
    assert alone(place) == 0
    assert "rests on the program" in (place / "certificate.html").read_text()


# --- Parquet ----------------------------------------------------------------------------------------------------------


def put_columns(place: Path, **columns: pa.Array) -> None:
    """Columns replaced, and the rows sorted, as a careful forger writes them."""
    rows = pq.read_table(place / "table.parquet")
    for name, values in columns.items():
        rows = rows.set_column(rows.column_names.index(name), name, values)
    keys = [(name, "ascending") for name in rows.column_names]
    order = pa.compute.sort_indices(rows, sort_keys=keys)
    pq.write_table(rows.take(order), place / "table.parquet", store_schema=False)


SAME = pa.array(["f"] * ROWS)
UNIQUE = {
    "integers beyond a double": pa.array([2**53] * (ROWS - 1) + [2**53 + 1], pa.int64()),
    "exact decimals": pa.array(
        [Decimal(1) + Decimal(n) * Decimal("1e-20") for n in range(ROWS)], pa.decimal128(30, 20)
    ),
    "a zero with a sign": pa.array([-0.0] + [0.0] * (ROWS - 1)),
    "not a number": pa.array([1.0] * (ROWS - 1) + [float("nan")]),
    "half the digits": pa.array([1.5] * ROWS, pa.float32()),
    "words": pa.array(["7"] * ROWS),
    "whole numbers": pa.array([7] * ROWS, pa.int64()),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", UNIQUE)
def test_values_that_only_look_equal_are_seen(forger: Forger, name):
    def put(place, _):
        put_columns(place, age=UNIQUE[name], sex=SAME)

    found = failed(forger("micro-parquet", put))
    assert "table-rewritten" in found
    assert found <= {"table-rewritten", "class-size", "row-order", "labels"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "columns",
    [
        {"age": pa.array(["John"] * ROWS)},
        {"age": pa.array([7.0] * ROWS)},
        {"age": pa.array([7] * ROWS, pa.int32())},
        {"sex": pa.array([b"f"] * ROWS)},
        {"diag": pa.array(["John"] * ROWS)},
    ],
)
def test_a_swap_shows_the_types_that_were_read(forger: Forger, columns):
    found = failed(forger("swap-parquet", lambda place, _: put_columns(place, **columns)))
    assert {"table-rewritten"} <= found <= {"table-rewritten", "row-order", "labels"}


@pytest.mark.slow
def test_order_columns_and_notes_of_a_parquet_table(forger: Forger):
    def rewritten(change, **options):
        def put(place, _):
            rows = change(pq.read_table(place / "table.parquet"))
            pq.write_table(rows, place / "table.parquet", **{"store_schema": False, **options})

        return put

    def noted(rows):
        fields = [pa.field("age", rows.schema[0].type, metadata={"who": "John"}), *list(rows.schema)[1:]]
        return rows.cast(pa.schema(fields))

    for kind in ("micro-parquet", "swap-parquet"):
        assert failed(forger(kind, rewritten(lambda rows: rows))) == set()
        backwards = rewritten(lambda rows: rows.take(list(range(ROWS))[::-1]))
        assert failed(forger(kind, backwards)) == {"table-rewritten", "row-order"}
        renamed = rewritten(lambda rows: rows.rename_columns(["years", "sex", "diag"]))
        assert failed(forger(kind, renamed)) == {"table-columns"}
        more = rewritten(lambda rows: rows.append_column("name", pa.array([f"p{n}" for n in range(ROWS)])))
        assert failed(forger(kind, more)) == {"table-columns"}
        few = rewritten(lambda rows: rows.slice(0, 8))
        assert "row-count" in failed(forger(kind, few))
        assert failed(forger(kind, rewritten(noted, store_schema=True))) == {"table-notes"}
        said = rewritten(lambda rows: rows.replace_schema_metadata({"who": "John"}), store_schema=True)
        assert failed(forger(kind, said)) == {"table-notes"}
        broken = failed(forger(kind, lambda place, _: (place / "table.parquet").write_text("John")))
        assert broken == {"table-text"}
