"""k-anonymity by full-domain recoding: every class has what is required, and what is not published was not allowed to be."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from shoal.anonymize.generalize.search.requirement import Requirement
from shoal.anonymize.method.k_anonymity import FullDomain
from shoal.chance.source import Source
from shoal.errors import InfeasibleError, PreconditionError, UsageError
from shoal.guarantee.unit import Unit
from shoal.policy.policy import Policy
from tests.anonymize.method.people import rows
from tests.engine.oracle import engine_named

ROW = Unit.row("add_remove")
ATTRIBUTES = {
    "who": {"role": "identifier", "type": "text"},
    "age": {"role": "quasi", "type": "integer", "domain": [0, 99], "hierarchy": {"intervals": [10, 50]}},
    "sex": {"role": "quasi", "type": "category", "domain": ["f", "m"], "hierarchy": "auto"},
    "seen": {"role": "drop", "type": "date"},
    "pay": {"role": "other", "type": "decimal", "domain": [0, 1000]},
    "grade": {"role": "confidential", "type": "ordinal", "domain": ["low", "middle", "high"]},
    "note": {"role": "other", "type": "text", "domain": {"pattern": "[a-z]*"}},
}


def schema(**roles):
    attributes = {name: {**keys, "role": roles.get(name, keys["role"])} for name, keys in ATTRIBUTES.items()}
    head = {"version": 1, "dataset": "d", "unit": "row", "neighbours": "add_remove"}
    return Policy.of({**head, "attributes": attributes}).schema.with_names("who")


def opened(frame, name="duckdb", **roles):
    return engine_named(name).scan(frame, schema(**roles))


def run(frame, required, name="duckdb", unit=ROW, population=None, roles=None, **options):
    with Source.seeded(1) as source:
        method = FullDomain(required, unit, **options)
        return method.run(opened(frame, name, **(roles or {})), source, population=population)


def listed(table, *names):
    found = table.collect(list(names))
    return list(zip(*(found[name].tolist() for name in names), strict=True))


@pytest.mark.parametrize("engine", ["duckdb", "oracle"])
def test_classes_have_what_is_required_and_rows_stay_what_they_are(engine):
    frame = rows(200)
    made = run(frame, Requirement(5, l=3), engine, suppression=Fraction(1, 5))
    assert made.table.columns == ("age", "sex", "pay", "grade", "note")
    classes = Counter(listed(made.table, "age", "sex"))
    assert min(classes.values()) >= 5
    held = {}
    for age, sex, grade in listed(made.table, "age", "sex", "grade"):
        held.setdefault((age, sex), set()).add(grade)
    assert min(len(own - {None}) for own in held.values()) >= 3
    assert 0 < made.suppressed <= 40
    before = listed(made.original, "pay", "grade", "note")
    assert listed(made.table, "pay", "grade", "note") == [
        row for row, kept in zip(before, made.kept, strict=True) if kept
    ]
    assert made.search.is_exact
    assert made.search.loss == made.search.lower_bound


def test_engines_agree():
    frame = rows(120)
    one, other = (run(frame, Requirement(4), name, suppression=Fraction(1, 10)) for name in ("duckdb", "oracle"))
    assert one.levels == other.levels
    assert listed(one.table, "age", "sex", "note") == listed(other.table, "age", "sex", "note")


def test_levels_may_be_pinned():
    frame = rows(100)
    made = run(frame, Requirement(2), levels={"age": 2}, suppression=Fraction(1, 2))
    assert made.levels["age"] == 2
    assert run(frame, Requirement(2), levels={"age": 2, "sex": 0}, suppression=Fraction(1, 2)).search.schemes == 1


def test_persons_have_one_row_each():
    frame = rows(200).set_column(0, "who", pa.array([f"p{i % 60}" for i in range(200)]))
    made = run(frame, Requirement(5), unit=Unit.person("who", 1, "add_remove"), suppression=Fraction(1, 5))
    assert made.original.rows() == 60
    assert len(set(np.asarray(made.original.collect(["who"])["who"]).tolist())) == 60
    with pytest.raises(PreconditionError, match="full-domain-k"):
        run(frame, Requirement(5), unit=Unit.person("who", 2, "add_remove"))


def test_a_population_is_counted():
    frame = rows(60, gaps=0)
    population = opened(pa.concat_tables([frame, rows(300, seed=5, gaps=0)]))
    made = run(frame, Requirement(2, k_map=20), population=population, suppression=Fraction(1, 2))
    people = Counter(listed(population.recode({n: made_level(made, n) for n in ("age", "sex")}), "age", "sex"))
    assert min(people[shown] for shown in listed(made.table, "age", "sex")) >= 20


def made_level(made, name):
    return made.original.schema[name].hierarchy.level(made.levels[name])


@pytest.mark.parametrize(
    ("required", "options", "error", "words"),
    [
        (Requirement(201), {}, InfeasibleError, "fewer records"),
        (Requirement(2), {"roles": {"age": "other", "sex": "other"}}, PreconditionError, "no quasi-identifier"),
        (Requirement(2, l=2), {"roles": {"grade": "other"}}, PreconditionError, "no attribute is confidential"),
        (Requirement(2, l=4), {}, InfeasibleError, "the best that any class reaches is l = 3"),
        (Requirement(8), {"coarsest": {"age": 1, "sex": 0}}, InfeasibleError, "have to be suppressed"),
        (Requirement(50), {"coarsest": {"age": 1, "sex": 0}}, InfeasibleError, "however many records"),
        (Requirement(2), {"levels": {"age": 9}}, UsageError, "level"),
        (Requirement(2), {"levels": {"age": 1}, "finest": {"age": 1}}, UsageError, "pinned and bounded"),
        (Requirement(2, k_map=3), {}, UsageError, "population"),
        (Requirement(2), {"loss": "beauty"}, UsageError, "no such loss"),
        (Requirement(2), {"suppression": Fraction(1)}, UsageError, "out of range"),
    ],
)
def test_bad_input_is_refused(required, options, error, words):
    with pytest.raises(error, match=words):
        run(rows(200), required, **options)


def test_equal_records_are_refused():
    frame = rows(20, gaps=0)
    for name, value in (("age", 5), ("sex", "f")):
        place = frame.schema.get_field_index(name)
        frame = frame.set_column(place, name, pa.array([value] * 20, frame.schema.field(name).type))
    with pytest.raises(InfeasibleError, match="nothing to recode"):
        run(frame, Requirement(2))
