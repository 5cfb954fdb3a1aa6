"""The steps of a policy on a table: in order, inside every domain, missing where it was missing, other columns untouched."""

from __future__ import annotations

import datetime as dt
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.treatment.steps import treat, treatments_of
from shoal.chance.source import Source
from shoal.engine.base import open_engine
from shoal.policy.policy import Policy
from tests.engine.oracle import OracleEngine

KEYS = {
    "version": 1,
    "dataset": "people",
    "unit": "row",
    "neighbours": "add_remove",
    "attributes": {
        "id": {"role": "identifier"},
        "age": {"role": "quasi", "type": "integer", "domain": [-7, 113]},
        "pay": {"role": "other", "type": "decimal", "domain": [0, "9.97"]},
        "day": {"role": "quasi", "type": "date", "domain": ["2020-01-01", "2020-12-31"]},
        "grade": {"role": "other", "type": "ordinal", "domain": ["low", "middle", "high"]},
        "town": {"role": "quasi", "type": "category", "domain": ["a", "b", "c", "other"]},
        "alive": {"role": "other", "type": "boolean"},
    },
}
MATRIX = {
    "a": {"a": "1/3", "b": "2/3"},
    "b": {"b": 1},
    "c": {"c": "0.5", "(missing)": "0.5"},
    "other": {"other": 1},
    "(missing)": {"a": "0.1", "(missing)": "0.9"},
}
COUNTS = {"a": 1, "b": 99, "c": 99, "other": 0}
STEPS = [
    {"top": {"age": 85, "day": "2020-06-01", "grade": "middle"}},
    {"bottom": {"age": 16, "pay": "0.5"}},
    {"round": {"pay": "0.3"}},
    {"round": {"age": 7}},
    {"random_round": {"age": 10}},
    {"population_threshold": {"attribute": "town", "least": 10, "counts": COUNTS, "other": "other"}},
    {"population_threshold": {"attribute": "town", "least": 3}},
    {"pram": {"attribute": "town", "keep": "0.8"}},
    {"pram": {"attribute": "alive", "keep": "0.7", "missing": "draw"}},
    {"pram": {"attribute": "town", "matrix": MATRIX}},
    {"swap": {"attributes": ["town", "grade"], "rate": "0.5", "within": ["alive"]}},
]  # fmt: skip
MAY_GO_MISSING = {"town", "alive", "grade"}
"""Attributes whose values steps above may make missing, or move."""


def policy(steps):
    return Policy.of({**KEYS, "treatments": steps})


def steps_of(steps):
    asked = policy(steps)
    return treatments_of(asked.model.treatments, asked.schema)


ALONE = [steps_of([step]) for step in STEPS]
"""Each step by itself, so that any of them may follow any other."""


def frame(rows, seed=0):
    chance = np.random.default_rng(seed)

    def holes(values):
        return [None if chance.random() < 0.1 else value for value in values]

    days = [dt.date(2020, 1, 1) + dt.timedelta(days=int(each)) for each in chance.integers(0, 366, rows)]
    return pa.table(
        {
            "id": [f"p{number}" for number in range(rows)],
            "age": holes(chance.integers(-7, 114, rows).tolist()),
            "pay": holes((chance.integers(0, 998, rows) / 100).tolist()),
            "day": holes(days),
            "grade": holes(chance.choice(["low", "middle", "high"], rows).tolist()),
            "town": holes(chance.choice(["a", "b", "c"], rows).tolist()),
            "alive": holes((chance.random(rows) < 0.5).tolist()),
        }
    )


def treated(steps, rows=200, seed=1, engine="duckdb"):
    asked = policy(steps)
    opened = (OracleEngine() if engine == "oracle" else open_engine(engine)).scan(frame(rows), asked.schema)
    with Source.seeded(seed) as source:
        return opened, treat(opened, treatments_of(asked.model.treatments, asked.schema), source)


class HeldTable:
    """Columns in memory, with as much of a table as steps need."""

    def __init__(self, held):
        self.held = held

    def collect(self, columns):
        return {name: self.held[name] for name in columns}

    def attach(self, name, values):
        return HeldTable({**self.held, name: values})


@cache
def columns(seed):
    opened = OracleEngine().scan(frame(40, seed), policy([]).schema)
    return opened.schema, opened.collect(opened.columns)


@given(st.lists(st.sampled_from(range(len(STEPS))), min_size=1, max_size=5), st.integers(0, 9))
def test_values_stay_in_their_domains_and_missing_ones_missing(places, seed):
    schema, before = columns(seed)
    steps = [each for place in places for each in ALONE[place]]
    with Source.seeded(seed) as source:
        after = treat(HeldTable(before), steps, source).table.held
    assert list(after) == list(before)
    touched = {name for each in steps for name in each.attributes}
    for name, values in after.items():
        gone = np.ma.getmaskarray(values)
        domain = schema[name].domain
        assert domain is None or domain.inside(np.ma.getdata(values)[~gone]).all()
        if name not in touched:
            assert values.tolist() == before[name].tolist()
        elif name not in MAY_GO_MISSING:
            assert (gone == np.ma.getmaskarray(before[name])).all()


def test_every_engine_gives_the_same():
    _, one = treated(STEPS)
    _, other = treated(STEPS, engine="oracle")
    names = one.table.columns
    assert {name: values.tolist() for name, values in one.table.collect(names).items()} == {
        name: values.tolist() for name, values in other.table.collect(names).items()
    }
    assert one.changes == other.changes


def test_changes_are_counted():
    opened, made = treated([{"top": {"age": 50}}, {"swap": {"attributes": ["town", "grade"], "rate": "0.2"}}])
    ages = opened.collect(["age"])["age"]
    first, town, grade = made.changes
    assert (first.kind, first.attribute, first.changed, first.values) == ("top", "age", int((ages > 50).sum()), 200)
    assert (town.attribute, grade.attribute) == ("town", "grade")
    assert 0 < town.changed <= 40


def test_a_step_with_several_attributes_is_one_for_each_in_the_order_of_their_names():
    assert [(each.kind, each.attributes) for each in steps_of([STEPS[0], STEPS[1]])] == [
        ("top", ("age",)),
        ("top", ("day",)),
        ("top", ("grade",)),
        ("bottom", ("age",)),
        ("bottom", ("pay",)),
    ]


def test_no_steps_leave_the_table_alone():
    opened, made = treated([])
    assert made.table is opened
    assert made.changes == ()


@pytest.mark.parametrize(
    "earlier",
    [
        {"swap": {"attributes": ["town"], "rate": "0.5", "within": ["alive"]}},
        {"population_threshold": {"attribute": "alive", "least": 3}},
    ],
    ids=["within", "counted"],
)
def test_a_value_that_others_were_treated_by_has_no_local_promise(earlier):
    pram = {"pram": {"attribute": "alive", "keep": "0.7", "missing": "draw"}}
    assert steps_of([pram])[0].local_epsilon == "1.5404451"
    assert steps_of([pram, earlier])[0].local_epsilon == "1.5404451"
    assert steps_of([earlier, pram])[1].local_epsilon is None
