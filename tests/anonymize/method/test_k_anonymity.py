"""k-anonymity by full-domain recoding: every class has what is required, and what is not published was not allowed to be."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from shoal.anonymize.generalize.search.best_scheme import find_recoding
from shoal.anonymize.generalize.search.requirement import Requirement
from shoal.anonymize.method import k_anonymity
from shoal.anonymize.method.k_anonymity import FullDomain
from shoal.assess.disclosure.measures import observe
from shoal.chance.source import Source
from shoal.data.domain import Values
from shoal.data.hierarchy.level import TopLevel, ValueLevel
from shoal.data.schema import Attribute, Role, Schema, Type
from shoal.errors import InfeasibleError, PreconditionError, UsageError
from shoal.guarantee.rounding import text_up
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


@pytest.mark.parametrize("local", [False, True])
def test_the_order_of_the_file_tells_nothing(local):
    frame = rows(120)
    order = np.random.default_rng(3).permutation(120)
    required = Requirement(5, t=Fraction(1, 3))
    one, other = (
        run(each, required, suppression=Fraction(1, 5), local=local) for each in (frame, frame.take(pa.array(order)))
    )
    assert one.rows.levels == other.rows.levels
    assert (one.rows.of_row[order] == other.rows.of_row).all()
    assert Counter(listed(one.table, "age", "sex", "grade")) == Counter(listed(other.table, "age", "sex", "grade"))


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
    counted = population.count_by(["age", "sex"])
    made = run(frame, Requirement(2, k_map=20), population=counted, suppression=Fraction(1, 2))
    people = Counter(listed(population.recode({n: made_level(made, n) for n in ("age", "sex")}), "age", "sex"))
    assert min(people[shown] for shown in listed(made.table, "age", "sex")) >= 20


def test_a_population_has_the_quasi_identifiers_in_their_order():
    frame = rows(60, gaps=0)
    with pytest.raises(UsageError, match="counted by other columns"):
        run(frame, Requirement(2, k_map=20), population=opened(frame).count_by(["sex", "age"]))


def test_a_column_without_values_is_one_label():
    frame = rows(30)
    frame = frame.set_column(frame.schema.get_field_index("sex"), "sex", pa.nulls(30, pa.string()))
    made = run(frame, Requirement(3), local=True, suppression=Fraction(1, 10))
    assert min(Counter(listed(made.table, "age", "sex")).values()) >= 3


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
        (
            Requirement(2, t=Fraction(1, 10**6)),
            {"coarsest": {"age": 1, "sex": 0}},
            InfeasibleError,
            "unlike the table are suppressed round by round, and none is left",
        ),
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


def test_what_the_coarsest_levels_reach_is_named_as_the_measures_count_it():
    frame, levels = rows(200), {"age": 1, "sex": 0}
    required = Requirement(2, l=3, t=Fraction(1, 100), alpha=Fraction(2, 5))
    with pytest.raises(InfeasibleError) as refused:
        run(frame, required, coarsest=levels)
    table = opened(frame)
    made = {name: table.schema[name].hierarchy.level(level) for name, level in levels.items()}
    made["grade"] = ValueLevel()
    one = observe(table.recode(made).count_by([*levels, "grade"]), quasi_schema([*levels]))
    found = one.confidential[0].measures
    words = f"k = {one.k}, l = {found.l} of 'grade', t = {text_up(Fraction(round(found.t_ordered * 10**9), 10**9))} of 'grade'"
    assert f"the coarsest levels have {words}" in str(refused.value)
    assert f"alpha = {text_up(found.alpha)} of 'grade' with nothing suppressed" in str(refused.value)


def test_equal_records_are_refused():
    frame = rows(20, gaps=0)
    for name, value in (("age", 5), ("sex", "f")):
        place = frame.schema.get_field_index(name)
        frame = frame.set_column(place, name, pa.array([value] * 20, frame.schema.field(name).type))
    with pytest.raises(InfeasibleError, match="nothing to recode"):
        run(frame, Requirement(2))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "loss"),
    [("duckdb", "granularity"), ("oracle", "granularity"), ("duckdb", "discernibility"), ("oracle", "class_size")],
)
def test_local_recoding_loses_less_and_keeps_what_is_required(engine, loss):
    frame = rows(150)
    options = {"suppression": Fraction(1, 4), "loss": loss, "roles": {"note": "quasi"}}
    required = Requirement(4, l=2, t=Fraction(2, 5))
    plain = run(frame, required, engine, **options)
    local = run(frame, required, engine, local=True, **options)
    assert local.search.loss <= plain.search.loss
    assert local.suppressed <= len(frame) / 4
    names = ("age", "sex", "note")
    assert min(Counter(listed(local.table, *names)).values()) >= 4
    seen = observe(local.table.count_by([*names, "grade"]), quasi_schema(names))
    assert seen.k >= 4
    assert seen.confidential[0].measures.l >= 2
    assert seen.confidential[0].measures.t <= 0.4 + 1e-12
    assert sum(np.count_nonzero(local.rows.of_row == number) for number in range(len(local.rows.levels))) == np.sum(
        local.kept
    )
    before = listed(local.original, "grade", "who")
    kept = [grade for (grade, _), keep in zip(before, local.kept, strict=True) if keep]
    assert [grade for (grade,) in listed(local.table, "grade")] == kept


def quasi_schema(names):
    shown = [Attribute(name, Role.QUASI, Type.TEXT) for name in names]
    return Schema((*shown, Attribute("grade", Role.CONFIDENTIAL, Type.ORDINAL, Values(("low", "middle", "high")))))


def test_labels_of_local_recoding_are_those_of_their_round():
    frame = rows(150)
    made = run(frame, Requirement(6), local=True, suppression=Fraction(1, 10))
    assert made.search.rounds > 1
    assert made.search.lower_bound is None
    ages = listed(made.original, "age")
    rounds = made.rows.of_row.tolist()
    wanted = []
    for (age,), number in zip(ages, rounds, strict=True):
        if number >= 0:
            level = made.original.schema["age"].hierarchy.level(made.rows.levels[number]["age"])
            if isinstance(level, TopLevel):
                wanted.append("*")
            else:
                wanted.append("(missing)" if age is None else str(level.apply(np.array([age]))[0]))
    assert len(made.levels_used["age"]) > 1
    assert [shown for (shown,) in listed(made.table, "age")] == wanted


def test_what_is_about_to_be_published_is_counted_again(monkeypatch):
    def careless(*arguments, **options):
        found = find_recoding(*arguments, **options)
        rows = replace(found.recoded, of_row=np.zeros_like(found.recoded.of_row))
        return replace(found, recoded=rows)

    monkeypatch.setattr(k_anonymity, "find_recoding", careless)
    with pytest.raises(PreconditionError, match=r"full-domain-k.*does not have what is required"):
        run(rows(100), Requirement(5), suppression=Fraction(1, 2), levels={"age": 1, "sex": 0})


def test_every_criterion_is_claimed():
    required = Requirement(
        5, l=2, entropy_l=Fraction(3, 2), recursive=(Fraction(3), 2), t=Fraction(1, 5), alpha=Fraction(3, 5),
        beta=Fraction(2), beta_form="enhanced", delta=Fraction(3, 2), k_map=20,
    )  # fmt: skip
    claims = FullDomain(required, ROW).claims()
    assert [claim.guarantee.kind for claim in claims] == [
        "k-anonymity", "l-diversity", "l-diversity", "recursive-diversity", "t-closeness", "alpha-deassociation",
        "beta-likeness", "delta-disclosure", "k-map",
    ]  # fmt: skip
    assert {claim.theorems for claim in claims} == {("full-domain-k",), ("population-k",)}
