"""One table, one name: what the ledger knows again, and what it does not, exactly as the guide says."""

from __future__ import annotations

import datetime as dt
import json
import random
import re
import sqlite3

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from shoal.data.schema import Attribute, Role, Schema
from shoal.data.type import Type
from shoal.engine.digest import file_digest
from shoal.errors import BudgetError, LedgerError, PreconditionError, VerificationError
from shoal.ledger.ledger import Ledger
from shoal.ledger.refusals import ENOUGH
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import release
from shoal.query.session import session
from tests.engine.oracle import engine_named

COLUMNS = {
    "id": "{role: identifier}",
    "age": "{role: quasi, type: integer, domain: [0, 99], hierarchy: {intervals: [50]}}",
    "sex": "{role: quasi, type: category, domain: [f, m]}",
    "diag": "{role: confidential, type: category, domain: [flu, cold, rare]}",
    "pay": "{role: other, type: integer, domain: [0, 9999], hierarchy: {intervals: [5000]}}",
    "code": "{role: other, type: category, domain: ['0', '1', '2']}",
}
ALIAS = {"income": COLUMNS["pay"]}


def policy(dataset, columns=tuple(COLUMNS), method="safe-k", more="", **changed):
    listed = "\n".join(f"  {name}: {({**COLUMNS, **ALIAS, **changed})[name]}" for name in columns)
    levels = ", ".join(f"{name}: 1" for name in columns if name in ("age", "pay", "income") and name not in changed)
    asked = {
        "safe-k": f"{{method: safe-k, epsilon: 1, delta: 1e-3, {more or 'sampling: {beta: 0.5}'}, "
        f"recoding: {{levels: {{{levels}}}}}}}",
        "microaggregation": "{method: microaggregation, k: 3}",
    }[method]
    return Policy.parse(
        f"version: 1\ndataset: {dataset}\nunit: row\nneighbours: add_remove\nattributes:\n{listed}\nrelease: {asked}\n"
    )


def people(rows=400, seed=1):
    chance = random.Random(seed)  # noqa: S311 - made-up people
    return pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(rows)],
            "age": [chance.randrange(100) for _ in range(rows)],
            "sex": [chance.choice("fm") for _ in range(rows)],
            "diag": [chance.choice(["flu", "cold", "rare"]) for _ in range(rows)],
            "pay": [chance.randrange(10_000) for _ in range(rows)],
            "code": [chance.choice("012") for _ in range(rows)],
        }
    )


@pytest.fixture
def book(tmp_path):
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        yield ledger


def charge(ledger, asked, data, tmp_path):
    """As a release does, up to the charge."""
    made = plan(asked)
    table = engine_named("duckdb").scan(data, made.schema)
    job = made.job()
    job.charge(ledger, table, file_digest(data))
    job.before_publishing(ledger, table)


def _without(name):
    return lambda frame, path: ([each for each in COLUMNS if each != name], frame.drop(columns=[name]))


def _renamed(frame, path):
    return ["income", "sex"], frame.rename(columns={"pay": "income"})


def _sorted(frame, path):
    return [*COLUMNS], frame.sort_values("pay")


def _folder(frame, path):
    (path / "folder").mkdir()
    for part in range(3):
        parquet.write_table(pa.Table.from_pandas(frame.iloc[part::3]), path / "folder" / f"{part}.parquet")
    return [name for name in COLUMNS if name != "diag"], path / "folder"


def _csv(frame, path):
    frame[["pay", "sex", "id"]].to_csv(path / "t.csv", index=False)
    return ["pay", "sex", "id"], path / "t.csv"


SAME = {
    "one column dropped": _without("id"),
    "another column dropped": _without("pay"),
    "a column under another name": _renamed,
    "sorted": _sorted,
    "a folder of Parquet files, a column less": _folder,
    "a CSV file of half of the columns": _csv,
    "one column alone": lambda frame, path: (["pay"], frame[["pay"]]),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SAME)
def test_the_same_table_under_another_name_is_known(book, tmp_path, kind):
    frame = people()
    charge(book, policy("first"), frame, tmp_path)
    columns, data = SAME[kind](frame, tmp_path)
    with pytest.raises(BudgetError, match="under the name 'first'"):
        charge(book, policy("second", columns), data, tmp_path)
    assert book.datasets() == ["first"]
    charge(book, policy("first", columns), data, tmp_path)


@pytest.mark.parametrize("kind", ["one column dropped", "a folder of Parquet files, a column less"])
def test_the_larger_table_is_known_by_the_smaller(book, tmp_path, kind):
    """The other way round: a column was added."""
    frame = people()
    columns, data = SAME[kind](frame, tmp_path)
    charge(book, policy("first", columns), data, tmp_path)
    with pytest.raises(BudgetError, match=r"5 of the 6 columns.* under the name 'first'"):
        charge(book, policy("second"), frame, tmp_path)


def test_whole_numbers_are_known_in_any_type(book, tmp_path):
    frame = people()
    charge(book, policy("first"), frame, tmp_path)
    wide = "{role: other, type: decimal, domain: [0, 9999]}"
    with pytest.raises(BudgetError, match="under the name"):
        charge(book, policy("second", ["pay"], pay=wide), frame[["pay"]], tmp_path)
    text = "{role: identifier, type: text}"
    with pytest.raises(BudgetError, match="under the name"):
        charge(book, policy("second", ["pay", "sex"], pay=text), frame[["pay", "sex"]].astype(str), tmp_path)


OTHER = {
    "one cell changed in every column": lambda frame: frame.assign(
        **{name: [*frame[name][1:], frame[name][1]] for name in COLUMNS if name != "id"},
        id=[*frame["id"][1:], "new"],
    ),
    "one row less": lambda frame: frame.iloc[1:],
    "other people": lambda _: people(seed=2).assign(id=[f"q{i}" for i in range(400)]),
}


@pytest.mark.parametrize("kind", OTHER)
def test_other_tables_are_other_tables(book, tmp_path, kind):
    frame = people()
    charge(book, policy("first"), frame, tmp_path)
    charge(book, policy("second"), OTHER[kind](frame), tmp_path)
    assert book.datasets() == ["first", "second"]


def test_two_columns_of_a_panel_do_not_make_it_the_same_table(book, tmp_path):
    """The people and their sex are the same next year, everything else is not: less than half."""
    frame, later = people(), people(seed=3)
    charge(book, policy("first"), frame, tmp_path)
    charge(book, policy("second"), later.assign(sex=frame["sex"]), tmp_path)


def test_rows_that_are_numbered_do_not_make_two_tables_one(book, tmp_path):
    """One column of two is half, and half is not enough."""
    charge(book, policy("first", ["id", "age"]), people(), tmp_path)
    charge(book, policy("second", ["id", "age"]), people(seed=4), tmp_path)


def test_columns_that_say_little_do_not_make_two_tables_one(book, tmp_path):
    """A column of two values is alike in many tables: sex and code alone are no evidence in 40 rows."""
    frame = people(40)
    charge(book, policy("first", ["sex", "code", "age"]), frame, tmp_path)
    alike = frame.assign(age=list(people(40, seed=5)["age"]))
    charge(book, policy("second", ["sex", "code", "age"]), alike, tmp_path)
    with pytest.raises(BudgetError, match="under the name"):  # the whole table is known however small it is
        charge(book, policy("third", ["sex", "code", "age"]), frame, tmp_path)


@pytest.mark.slow
def test_a_sample_is_not_published_twice_with_a_column_less(book, tmp_path):
    frame, already = people(), "sampling: {already: 0.1}"
    charge(book, policy("first", more=already), frame, tmp_path)
    for columns in (tuple(COLUMNS), ["age", "sex", "diag", "pay"]):
        with pytest.raises(BudgetError, match="under the name 'first'"):
            charge(book, policy("second", columns, more=already), frame[[*columns]], tmp_path)
        with pytest.raises(PreconditionError, match="used once"):
            charge(book, policy("first", columns, more=already), frame[[*columns]], tmp_path)


@pytest.mark.slow
def test_counted_releases_and_questions_are_known_too(book, tmp_path):
    frame, fewer = people(), ["age", "sex", "diag", "pay"]
    charge(book, policy("first", method="microaggregation"), frame, tmp_path)
    with pytest.raises(BudgetError, match="under the name 'first'"):
        session(policy("second", fewer), frame[fewer], budget=1, ledger=book)
    third = people(seed=9).assign(id=[f"r{i}" for i in range(400)])
    session(policy("third"), third, budget=1, ledger=book)
    with pytest.raises(BudgetError, match="under the name 'third'"):
        charge(book, policy("fourth", fewer), third[fewer], tmp_path)


def test_a_folder_is_known_by_its_files(tmp_path):
    frame = pa.Table.from_pandas(people())
    for folder in ("a", "b", "c", "d"):
        (tmp_path / folder).mkdir()
    for folder, names in (("a", "xy"), ("b", "yz")):
        parquet.write_table(frame.slice(0, 100), tmp_path / folder / f"{names[0]}.parquet")
        parquet.write_table(frame.slice(100), tmp_path / folder / f"{names[1]}.parquet")
    parquet.write_table(frame.slice(0, 100), tmp_path / "c" / "x.parquet")
    parquet.write_table(frame.slice(0, 100), tmp_path / "one.parquet")
    assert file_digest(tmp_path / "a") == file_digest(str(tmp_path / "b"))
    assert file_digest(tmp_path / "c") == file_digest(tmp_path / "one.parquet") != file_digest(tmp_path / "a")
    assert file_digest(frame) is None


@pytest.mark.parametrize("other", ["duckdb", "oracle"])
def test_both_engines_know_a_table_by_the_same_numbers(other):
    kinds = {
        "text": (Type.TEXT, ["7", "007", "a", None]),
        "whole": (Type.INTEGER, [7, -1, None, 2**60]),
        "broken": (Type.DECIMAL, [7.0, 0.5, None, 1e300]),
        "truth": (Type.BOOLEAN, [True, False, None, True]),
        "day": (Type.DATE, [dt.date(2020, 1, 1), dt.date(2021, 1, 1), None, dt.date(2020, 1, 1)]),
    }
    schema = Schema(tuple(Attribute(name, Role.OTHER, kind) for name, (kind, _) in kinds.items()))
    frame = pa.table({name: values for name, (_, values) in kinds.items()})
    first, second = (engine_named(name).scan(frame, schema).contents() for name in ("duckdb", other))
    assert first == second
    assert len(first.columns) == 5
    assert all(bits < ENOUGH for _, bits in first.columns)


# --- the key --------------------------------------------------------------------------------------------------------


def test_the_key_belongs_to_the_chain(book, tmp_path):
    charge(book, policy("first"), people(), tmp_path)
    assert book.verify() == 1
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        raw.execute("UPDATE meta SET value = ? WHERE name = 'secret'", ("ab" * 32,))
    with pytest.raises(VerificationError, match="key of the ledger's fingerprints"):
        book.verify()
    with Ledger(str(tmp_path / "ledger.sqlite")) as again:
        with pytest.raises(VerificationError, match="key of the ledger's fingerprints"):
            again.verify()
        with pytest.raises(LedgerError, match="does not fit the chain"):
            charge(again, policy("second"), people(seed=2), tmp_path)


def test_a_damaged_key_is_told(tmp_path):
    Ledger(str(tmp_path / "ledger.sqlite")).close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        raw.execute("UPDATE meta SET value = 'no key' WHERE name = 'secret'")
    with pytest.raises(LedgerError, match="is damaged"):
        Ledger(str(tmp_path / "ledger.sqlite"))


def test_a_ledger_of_an_older_form_is_refused(tmp_path):
    Ledger(str(tmp_path / "ledger.sqlite")).close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        raw.execute("UPDATE meta SET value = '1' WHERE name = 'version'")
    with pytest.raises(LedgerError, match="older version") as refused:
        Ledger(str(tmp_path / "ledger.sqlite"))
    assert "nothing was charged" in str(refused.value)


@pytest.mark.slow
def test_the_ledger_holds_no_name_number_or_value_of_a_column(book, tmp_path):
    release(
        plan(policy("first")), people(397), tmp_path / "out", ledger=book, engine=engine_named("duckdb"), report=False
    )
    text = json.dumps([event.payload for event in book.events()])
    assert not re.search(r"\b397\b|p17|flu|pay", text)
    (held,) = [event.payload["columns"] for event in book.events() if event.kind == "charge"]
    assert len(held) == 6
    assert max(bits for _, bits in held) == 64
    charge(book, policy("first"), people(397), tmp_path)  # noted once
    assert [event.payload["columns"] for event in book.events() if event.kind == "charge"] == [held, []]
