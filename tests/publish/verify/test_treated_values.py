"""What the one-file verifier thinks that steps leave possible, against every value that they can really give."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.treatment.steps import treatments_of
from shoal.errors import PolicyError
from shoal.policy.model.treatment import TreatmentModel
from shoal.policy.policy import Policy
from shoal.policy.treatment import lock_treatments
from shoal.publish.verify.standalone import TreatedColumn, are_steps_allowed, read_lock, steps_of
from tests.anonymize.treatment.attributes import ScriptedSource

pytestmark = pytest.mark.slow

LOW, HIGH = -7, 23
KEYS = {
    "version": 1,
    "dataset": "people",
    "unit": "row",
    "neighbours": "add_remove",
    "attributes": {
        "age": {"role": "quasi", "type": "integer", "domain": [LOW, HIGH]},
        "grade": {"role": "other", "type": "ordinal", "domain": ["a", "b", "c", "d", "e"]},
        "town": {"role": "quasi", "type": "category", "domain": ["a", "b", "c", "other"], "missing": "refuse"},
    },
}
POLICY = Policy.of(KEYS)
LOCKED = read_lock(POLICY.lock().text)["attributes"]
AGES = st.one_of(
    st.builds(lambda code: {"top": {"age": str(code)}}, st.integers(10, HIGH)),
    st.builds(lambda code: {"bottom": {"age": str(code)}}, st.integers(LOW, 9)),
    st.builds(lambda base: {"round": {"age": str(base)}}, st.integers(1, 12)),
    st.builds(lambda base: {"random_round": {"age": str(base)}}, st.integers(2, 12)),
)
COUNTS = {"a": "5", "b": "50", "c": "500", "other": "0"}
MATRIX = {"a": {"a": "1"}, "b": {"b": "0.5", "c": "0.5"}, "c": {"b": "1"}, "other": {"other": "1"}}
TOWNS = st.sampled_from(
    [
        {"population_threshold": {"attribute": "town", "least": "10", "counts": COUNTS, "other": "other"}},
        {"population_threshold": {"attribute": "town", "least": "100", "counts": COUNTS, "other": "a"}},
        {"pram": {"attribute": "town", "matrix": MATRIX}},
        {"swap": {"attributes": ["town"], "rate": "0.5"}},
    ]
)
GRADES = st.sampled_from([{"top": {"grade": each}} for each in "de"] + [{"bottom": {"grade": each}} for each in "abc"])


def outcomes(step, value):
    """Every value that one value can become."""
    name = step.attributes[0]
    held = np.array([value]) if name == "age" else np.array([value], dtype=object)
    if step.kind == "random_round":
        width = max(1, min(value // step.base * step.base + step.base, HIGH) - max(value // step.base * step.base, LOW))
        return {int(step.apply({name: held}, ScriptedSource([each]))[name][0]) for each in range(width)}
    if step.kind == "pram":
        return set(step.row(value))
    if step.kind == "swap":
        return {value}
    return set(step.apply({name: held}, None)[name].tolist())


def reached(steps, name):
    """Every value of an attribute that can be there after all steps, one value at a time."""
    models = [TreatmentModel.model_validate(step) for step in steps]
    domain = POLICY.schema[name].domain
    found = set(range(LOW, HIGH + 1)) if name == "age" else set(domain.values)
    for step in treatments_of(models, POLICY.schema):
        if name in step.attributes:
            found = {new for value in found for new in outcomes(step, value)}
    lock = {"treatments": lock_treatments(models), "attributes": LOCKED, "unit": "row"}
    assert are_steps_allowed(lock, differential=False), "nothing honest is rejected"
    return found, TreatedColumn(LOCKED[name], [step for step in steps_of(lock) if name in step.attributes])


@given(st.lists(AGES, min_size=1, max_size=4))
def test_numbers(steps):
    found, column = reached(steps, "age")
    assert all(column.is_possible(value) for value in found), "nothing honest is rejected"
    assert (column.low, column.high) == (min(found), max(found)), "nothing beyond the ends is passed"
    assert not column.is_possible(min(found) - 1)
    assert not column.is_possible(max(found) + 1)
    last = steps[-1]
    base = int(last.get("round", last.get("random_round", {})).get("age", 0))
    if base:
        passed = {value for value in range(LOW, HIGH + 1) if column.is_possible(value)}
        assert all(value % base == 0 or value in (LOW, HIGH) for value in passed), "nothing between multiples is passed"


@given(st.lists(TOWNS, min_size=1, max_size=3))
def test_words(steps):
    found, column = reached(steps, "town")
    passed = {value for value in KEYS["attributes"]["town"]["domain"] if column.is_possible(value)}
    assert passed >= found, "nothing honest is rejected"
    if len(steps) == 1:
        assert passed == found


@given(st.lists(GRADES, min_size=1, max_size=3))
def test_values_in_an_order(steps):
    found, column = reached(steps, "grade")
    assert {value for value in "abcde" if column.is_possible(value)} == found


@pytest.mark.parametrize(
    ("cells", "shown", "rule", "fits"),
    [
        ({"9", "20"}, "value", None, False),
        ({"9", "15"}, "value", None, True),
        ({"3.5", "15.0"}, "mean", None, True),
        ({"15.1"}, "mean", None, False),
        ({"[0, 10)", "[10, 20)"}, "cuts", {"edges": ["10", "20"], "labels": ["[0, 10)", "[10, 20)", "[20, 24)"]}, True),
        ({"[20, 24)"}, "cuts", {"edges": ["10", "20"], "labels": ["[0, 10)", "[10, 20)", "[20, 24)"]}, False),
        ({"*"}, "whole", None, None),
    ],
)  # fmt: skip
def test_what_a_column_may_show(cells, shown, rule, fits):
    column = reached([{"top": {"age": "15"}}], "age")[1]
    assert column.can_show(cells, shown, rule) is fits


SENSELESS = [
    {"top": {"age": str(HIGH + 1)}},
    {"bottom": {"age": str(LOW - 1)}},
    {"top": {"grade": "z"}},
    {"top": {"town": "a"}},
    {"round": {"age": "0"}},
    {"round": {"age": "1/2"}},
    {"round": {"grade": "2"}},
    {"random_round": {"age": 1}},
    {"random_round": {"grade": 3}},
    {"population_threshold": {"attribute": "town", "least": 9, "counts": {}, "other": "other"}},
    {"population_threshold": {"attribute": "town", "least": 9, "counts": COUNTS, "other": "nowhere"}},
    {"population_threshold": {"attribute": "town", "least": 9, "counts": COUNTS}},
    {"population_threshold": {"attribute": "age", "least": 9}},
    {"swap": {"attributes": ["town"], "rate": "5", "within": []}},
    {"swap": {"attributes": ["town"], "rate": "0.5", "within": ["town"]}},
    {"swap": {"attributes": ["who"], "rate": "0.5", "within": []}},
]


@pytest.mark.parametrize("step", SENSELESS, ids=str)
def test_a_locked_step_that_no_policy_could_ask_for_is_not_allowed(step):
    """Shoal refuses the policy, so a lock with such a step was never that of a run."""
    keys = {**KEYS, "attributes": {**KEYS["attributes"], "who": {"role": "identifier"}}}
    lock = read_lock(Policy.of(keys).lock().text)
    assert not are_steps_allowed({**lock, "treatments": [step]}, differential=False)
    with pytest.raises(PolicyError):
        Policy.of({**keys, "treatments": [step]})


def test_the_column_that_names_people_is_not_changed():
    lock = read_lock(Policy.of(KEYS).lock().text)
    step, unit = {"swap": {"attributes": ["town"], "rate": "0.5", "within": []}}, {"column": "town", "max_rows": 1}
    assert are_steps_allowed({**lock, "treatments": [step]}, differential=False)
    assert not are_steps_allowed({**lock, "treatments": [step], "unit": unit}, differential=False)


def test_decimals_as_tables_hold_them():
    lock = {"type": "decimal", "domain": ["0", "1000000000000"]}
    (step,) = steps_of({"treatments": [{"round": {"pay": "0.1"}}], "attributes": {"pay": lock}})
    column = TreatedColumn(lock, [step])
    assert column.is_possible(0.3)
    assert column.is_possible(float(Fraction(9999999999999, 10)))
    assert not column.is_possible(0.31)
