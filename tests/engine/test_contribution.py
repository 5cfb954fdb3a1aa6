"""People are told apart by names that reading does not merge, whatever they are stored as and in both engines."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from shoal.chance.source import Source
from shoal.data.schema import Attribute, Missing, Outside, Role, Schema
from shoal.data.type import Type
from shoal.engine.base import bound_contributions
from shoal.errors import DataError, PolicyError, PreconditionError, UsageError
from shoal.guarantee.unit import Unit
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.query.dataset import bound_rows
from tests.engine.oracle import engine_named

ENGINES = pytest.mark.parametrize("name", ["duckdb", "oracle"])
POLICY = """
version: 1
dataset: people
unit: {{column: id, max_rows: 1}}
neighbours: add_remove
attributes:
  id: {{role: identifier{kind}}}
  x: {{role: quasi, type: integer, domain: [0, 9], hierarchy: {{intervals: [10]}}}}
release: {release}
"""
SAFE = "{method: safe-k, epsilon: 1, delta: 1e-6, sampling: {beta: 0.2}, recoding: {levels: {x: 0}}}"
COUNTED = "{method: microaggregation, k: 2}"
UNIT = Unit.person("id", 1, "add_remove")


def planned(kind: str = "", release: str = SAFE):
    return plan(Policy.parse(POLICY.format(kind=kind and f", type: {kind}", release=release)))


def people(name, ids, kind="", release=SAFE):
    """How many rows take part when every row has a name of its own."""
    table = engine_named(name).scan(pa.table({"id": ids, "x": pa.array([0] * len(ids))}), planned(kind, release).schema)
    with Source.seeded(1) as source:
        return bound_rows(table, UNIT, source).rows()


BIG = 2**53
NAMES = {
    "text": ("", pa.array(["7", "007", "+7", " 7", "7 ", "7.0", "A", "a", "é", "e\u0301", "ß", "ss", "p", "p\x00"])),
    "large text": ("text", pa.array(["7", "007"], pa.large_string())),
    "a dictionary": ("category", pa.array(["7", "007", "7 "]).dictionary_encode()),
    "whole numbers": ("integer", pa.array([BIG, BIG + 1, -BIG - 1, 0])),
    "whole numbers as text": ("", pa.array([BIG, BIG + 1, -BIG - 1, 0])),
    "large whole numbers": ("", pa.array([2**64 - 1, 2**64 - 2, 7], pa.uint64())),
    "exact decimals": ("integer", pa.array([Decimal(BIG), Decimal(BIG + 1)], pa.decimal128(20, 0))),
    "long decimals": ("", pa.array([Decimal(10**30), Decimal(10**30 + 1)], pa.decimal128(38, 0))),
    "integers spelled": ("integer", pa.array([str(BIG), str(BIG + 1), "-7", "7", "0"])),
}
MERGING = {
    "floats": pa.array([float(BIG), 1.0]),
    "decimals with a fraction": pa.array([Decimal("7.1"), Decimal("7.4")], pa.decimal128(20, 1)),
    "truth values": pa.array([True, False]),
    "dates": pa.array([dt.date(2020, 1, 1), dt.date(2020, 1, 2)]),
    "times": pa.array([dt.datetime(2020, 1, 1, 1), dt.datetime(2020, 1, 1, 2)]),
}


@pytest.mark.slow
@ENGINES
@pytest.mark.parametrize("release", [SAFE, COUNTED])
@pytest.mark.parametrize("case", NAMES)
def test_different_names_stay_different_people(name, case, release):
    kind, ids = NAMES[case]
    assert people(name, ids, kind, release) == len(ids)


@ENGINES
@pytest.mark.parametrize("kind", ["", "integer", "category"])
@pytest.mark.parametrize("case", MERGING)
def test_columns_that_merge_names_are_refused(name, case, kind):
    with pytest.raises(DataError, match="does not name people"):
        people(name, MERGING[case], kind)


@ENGINES
@pytest.mark.parametrize("spelling", ["007", "+7", " 7", "7 ", "-0", "00", "7.0", "7e0"])
def test_a_number_that_names_a_person_has_one_spelling(name, spelling):
    with pytest.raises(DataError, match="declared type") as refused:
        people(name, pa.array(["7", spelling]), "integer")
    assert spelling not in str(refused.value)


@ENGINES
def test_names_of_a_csv_file_are_the_cells(name, tmp_path):
    (tmp_path / "t.csv").write_text('id,x\n7,0\n007,0\n7.0,0\n" 7",0\n"7",0\n1e1,0\n10,0\nTRUE,0\ntrue,0\n')
    table = engine_named(name).scan(tmp_path / "t.csv", planned().schema)
    with Source.seeded(1) as source:
        assert bound_rows(table, UNIT, source).rows() == 8  # "7" and 7 are one cell


@pytest.mark.parametrize("release", [SAFE, COUNTED])
@pytest.mark.parametrize("kind", ["decimal", "boolean", "date", "datetime"])
def test_a_policy_whose_unit_has_a_type_that_merges(kind, release):
    with pytest.raises(PolicyError, match=r"attributes\.id\.type") as refused:
        planned(kind, release)
    assert "do not name people" in str(refused.value)


@ENGINES
def test_rows_of_people_need_names(name):
    """The premise is a line that raises: a table that was opened by another schema is refused by all three methods."""
    made = planned()
    table = engine_named(name).scan(pd.DataFrame({"id": ["a", "b"], "x": [1, 2]}), made.policy.schema)
    with Source.seeded(1) as source:
        for work in (
            lambda: made.method.bound_contributions(table, source, lambda _: None),
            lambda: bound_rows(table, UNIT, source),
            lambda: planned(release=COUNTED).method.run(table, source),
        ):
            with pytest.raises(PreconditionError, match="not read as names"):
                work()


def test_a_schema_does_not_take_names_that_merge():
    for wrong in ({"type": Type.DECIMAL}, {"missing": Missing.VALUE}, {"outside": Outside.SUPPRESS}):
        asked = {"type": Type.TEXT, "missing": Missing.REFUSE} | wrong
        with pytest.raises(UsageError, match="name"):
            Attribute("id", Role.IDENTIFIER, names=True, **asked)
    schema = Schema((Attribute("id", Role.IDENTIFIER, Type.TEXT),))
    assert schema.with_names(None) is schema
    assert schema.with_names("id")["id"] == replace(schema["id"], names=True, missing=Missing.REFUSE)


# --- the law, exactly ---------------------------------------------------------------------------------------------


def law(name, ids, values, beta):
    """The exact law of how many sampled rows hold each value: every order of the words, every sample."""
    table = engine_named(name).scan(pa.table({"id": ids, "x": values}), planned().schema)
    found: Counter = Counter()
    orders = list(itertools.permutations(range(len(ids))))
    for order in orders:
        words = np.array(order, dtype=np.uint64)
        chosen = bound_contributions(
            table, UNIT, lambda start, count, w=words: w[start : start + count], "safe-k-tight"
        )
        held = chosen.collect(["x"])["x"].tolist()
        for kept in itertools.product((0, 1), repeat=len(held)):
            chance = math.prod((beta if keep else 1 - beta for keep in kept), start=Fraction(1))
            shown = tuple(sorted(value for value, keep in zip(held, kept, strict=True) if keep))
            found[shown] += chance / len(orders)
    return found


@ENGINES
def test_a_person_with_a_look_alike_moves_nothing_but_their_own_row(name):
    """`7` and `007` are two people: with `7` in the table, the row of `007` is sampled as often as without.

    Read as integers they are one, and taking `7` away changes the chance of the other's row from beta / 2 to beta.
    """
    beta = Fraction(1, 5)
    both = law(name, pa.array(["7", "007"]), pa.array([1, 2]), beta)
    alone = law(name, pa.array(["007"]), pa.array([2]), beta)
    assert sum(chance for shown, chance in both.items() if 2 in shown) == beta
    assert sum(chance for shown, chance in alone.items() if 2 in shown) == beta


# --- rows are counted again after bounding -------------------------------------------------------------------------------


@pytest.mark.parametrize(("release", "theorem"), [(SAFE, "safe-k-tight"), (COUNTED, "microaggregation-k")])
def test_a_release_by_an_engine_that_leaves_too_many_rows_of_a_person_is_refused(release, theorem, monkeypatch):
    made = planned(release=release)
    table = engine_named("oracle").scan(pa.table({"id": list("ppqr"), "x": [1, 2, 3, 4]}), made.schema)
    monkeypatch.setattr(type(table), "limit_per", lambda self, *_: self)
    run = made.method.sample if theorem == "safe-k-tight" else made.method.run
    with Source.seeded(1) as source, pytest.raises(PreconditionError, match=theorem):
        run(table, source)
