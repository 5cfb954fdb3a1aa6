"""Questions as values: their one spelling, their saved form, and what a policy does not allow, in words that no row decides."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from shoal.chance.source import Source
from shoal.data.domain import Interval, Values
from shoal.data.schema import Attribute, Role, Schema, Type
from shoal.engine.base import Counts
from shoal.errors import ParameterError, UsageError
from shoal.guarantee.differential import PureDP
from shoal.guarantee.unit import Unit
from shoal.language.cells import CellSpec
from shoal.mechanism.laplace import Laplace
from shoal.query.questions.count import Count
from shoal.query.questions.moments import Mean, Ratio, Sum, Variance, power_below
from shoal.query.questions.person import ValueOf
from shoal.query.questions.quantile import Bounds, Quantile
from shoal.query.questions.tables import Contingency, Histogram
from shoal.query.questions.workload import TOGETHER, WORDS, Workload, read_question
from tests.query.people import ROW, SCHEMA, TWO

UNIT = ROW["add_remove"]
SINGLE = Unit.person("person", 1, "add_remove")
EVERY = [
    Count(),
    Count("x >= 2"),
    Sum("w", where="x >= 2", step="0.01"),
    Mean("x"),
    Variance("x", where="c = 'a'"),
    Quantile("x", "0.25"),
    Histogram("x", edges=(0, 5)),
    Histogram("c", values=["a"], where="x = 1"),
    Histogram("x", level=1),
    Contingency(("c", CellSpec("x", level=2), {"attribute": "o", "values": ["mild"]})),
    ValueOf("p", "c"),
    Count("x >= 2", by=["c", "x@1"]),
    Mean("x", by={"attribute": "must", "bins": 3}, bounds=(0, 5)),
    Sum("x / 12", "must > 12", bounds=(None, "0.5")),
    Quantile("x", "1/3", by="c", interval=False),
    Quantile("must", "1/3", bounds=(12, 15)),
    Histogram("w", bins=4, bounds=(12, 16)),
    Bounds("w", "0.9", where="c = 'a'"),
    Ratio("x", "must", "x > 0"),
    Ratio({"count": "c = 'a'"}, by=["o"]),
    Workload((Count("x >= 2"), Mean("x"))),
]


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.word)
def test_saved_and_read_back(one):
    saved = json.loads(json.dumps(one.to_saved()))
    assert read_question(saved) == one
    assert saved["kind"] == one.word
    assert one.normalize(SCHEMA).normalize(SCHEMA) == one.normalize(SCHEMA)
    asked = one.resolve(SCHEMA, SINGLE)
    assert (
        asked.identity
        == one.canonical(SCHEMA)
        == read_question(json.loads(asked.identity)).resolve(SCHEMA, SINGLE).identity
    )
    assert set(asked.columns) <= set(SCHEMA.names)


def test_every_kind_is_tried():
    assert {one.word for one in EVERY} == set(WORDS)
    assert set(TOGETHER) < set(WORDS)


@pytest.mark.parametrize(
    ("plain", "same"),
    [
        ({"count": {"where": "x>=2"}}, Count("x > 1")),
        ({"count": "x >= 2.0"}, Count("not (x < 2 or x is missing)")),
        ({"count": None}, Count("x = 1 or everything")),
        ({"sum": "x"}, Sum("x")),
        ({"mean": {"attribute": "w", "step": 0.5}}, Mean("w", step="1/2")),
        ({"quantile": {"attribute": "x", "q": 0.5}}, Quantile("x", Fraction(1, 2))),
        ({"histogram": {"attribute": "w", "edges": [10.50, 11]}}, Histogram("w", edges=("10.5", "11.0"))),
        (
            {"histogram": {"attribute": "day", "edges": ["2024-02-01", "2024-03-01"]}},
            Histogram("day", edges=("2024-02-01", "2024-03-01")),
        ),
        (
            {"contingency": {"attributes": ["c", {"attribute": "x", "level": 1}]}},
            Contingency((CellSpec("c"), CellSpec("x", 1))),
        ),
        ({"together": [{"count": "x = 1"}, {"mean": "x"}]}, Workload((Count("x = 1.0"), Mean("x")))),
        ({"value_of": {"person": "p", "attribute": "c"}}, ValueOf("p", "c")),
    ],
)
def test_a_batch_file_says_the_same(plain, same):
    assert read_question(plain).canonical(SCHEMA) == same.canonical(SCHEMA)


def test_another_question_has_another_identity():
    identities = [one.canonical(SCHEMA) for one in EVERY]
    assert len(set(identities)) == len(identities)


def refused(build, unit=UNIT):
    with pytest.raises(UsageError) as error:
        build().resolve(SCHEMA, unit)
    return str(error.value)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Sum("free"), "attribute 'free' has no declared domain, which is needed to add up to a sum; declare"),
        (lambda: Mean("free"), "attribute 'free' has no declared domain"),
        (lambda: Variance("free"), "attribute 'free' has no declared domain"),
        (lambda: Quantile("free", 0.5), "attribute 'free' has no declared domain"),
        (lambda: Count("free > 3"), "attribute 'free' has no declared domain, which is needed to filter by it"),
        (lambda: Sum("musst"), "no attribute of that name to add up to a sum; got musst; did you mean 'must'?"),
        (lambda: Sum("person"), "attribute 'person' has the role identifier"),
        (lambda: Histogram("junk"), "attribute 'junk' has the role drop"),
        (lambda: Sum("c"), "attribute 'c' has the wrong type to add up to a sum; got category"),
        (lambda: Sum("day"), "has the wrong type to add up to a sum; got date"),
        (lambda: Variance("day"), "has the wrong type to have a variance"),
        (lambda: Quantile("c", 0.5), "has the wrong type to have a quantile"),
        (lambda: Sum("one"), "attribute 'one' has a domain with a single value; count the rows instead"),
        (lambda: Quantile("one", 0.5), "attribute 'one' has a domain with a single value"),
        (lambda: Quantile("x", 1.5), "q is not between 0 and 1; got 1.5; allowed: 0 to 1"),
        (lambda: Quantile("x", -1), "q is not between 0 and 1"),
        (lambda: Quantile("x", "nan"), "q is not a finite number"),
        (lambda: Quantile("x", "0.12345678"), "q has too large a denominator"),
        (lambda: Mean("w", step="0"), "a step of attribute 'w' is out of range"),
        (lambda: Mean("w", step="1e-30"), "a step of attribute 'w' is out of range"),
        (lambda: Mean("w", step="100"), "a step of attribute 'w' is out of range"),
        (lambda: Mean("x", step="0.5"), "a step of attribute 'x' is not whole"),
        (lambda: Mean("w", step="much"), "a step is not a number"),
        (lambda: Histogram("note"), "attribute 'note' has no declared domain"),
        (
            lambda: Histogram("w"),
            "attribute 'w' has a domain whose values cannot be listed; got 10.0..20.5; allowed: up to",
        ),
        (lambda: Histogram("big"), "whose values cannot be listed"),
        (lambda: Histogram("x", level=9), "attribute 'x' has no such level; got 9; allowed: 0 to 3"),
        (lambda: Histogram("c", level=1), "attribute 'c' has no hierarchy"),
        (lambda: Histogram("x", level="1"), "a level of 'x' is not a whole number"),
        (lambda: Histogram("x", edges=[5, 0]), "attribute 'x': the edges are not in increasing order"),
        (lambda: Histogram("x", edges=[0, 0]), "attribute 'x': the edges are not in increasing order"),
        (
            lambda: Histogram("x", edges=[0, 11]),
            "attribute 'x': an edge lies outside its domain; got [0, 11]; allowed: -3..10",
        ),
        (lambda: Histogram("x", edges=[0]), "attribute 'x': too few edges"),
        (lambda: Histogram("x", edges=[0, 2.5]), "attribute 'x' is of type integer"),
        (lambda: Histogram("x", edges=["a", "b"]), "attribute 'x' is of type integer"),
        (lambda: Histogram("x", edges="0, 5"), "the edges of 'x' are not a list"),
        (lambda: Histogram("c", edges=[0, 1]), "has the wrong type to make intervals"),
        (lambda: Histogram("x", level=1, edges=[0, 5]), "the cells of 'x' are given in more than one way"),
        (lambda: Histogram("c", values=[]), "a histogram without values"),
        (lambda: Histogram("c", values=["a", "a"]), "attribute 'c': a value is listed twice"),
        (
            lambda: Histogram("c", values=["z"]),
            "attribute 'c': a value outside its declared domain; got z; allowed: b, a, d",
        ),
        (lambda: Histogram("x", values=[11]), "attribute 'x': a value outside its declared domain"),
        (lambda: Histogram("w", values=[11]), "attribute 'w' has a continuous domain, whose values cannot be listed"),
        (lambda: Contingency(()), "contingency: 'attributes' is not a list"),
        (lambda: Contingency("c"), "contingency: 'attributes' is not a list"),
        (lambda: Contingency(("c", "c")), "contingency: an attribute comes twice"),
        (lambda: Contingency((3,)), "contingency: the cells of an attribute in an unknown form"),
        (
            lambda: Contingency(("day", "x", "c", "must", "o", CellSpec("w", edges=("11", "12", "13")))),
            "a table with too many cells; got 4,844,400; allowed: 4,000,000",
        ),
        (lambda: Count("x > 5 and x < 3"), "contradictory bounds"),
        (lambda: Count(3), "count: 'where' is not a text; got 3"),
        (lambda: Sum(3), "sum: 'attribute' is not a text; got 3"),
        (lambda: ValueOf("p", "c"), "a question about one person needs a policy whose unit of privacy is a person"),
        (lambda: ValueOf("", "c"), "value_of: the name of a person is empty or too long"),
        (lambda: ValueOf(None, "c"), "value_of: the person is neither"),
        (lambda: Workload(()), "together: not a list of questions"),
        (
            lambda: Workload((Count(), Workload((Count(),)))),
            "together: 'together' cannot be part of a workload; allowed",
        ),
        (lambda: Workload((Quantile("x", 0.5),)), "together: 'quantile' cannot be part of a workload"),
        (lambda: Workload((ValueOf("p", "x"),)), "together: 'value_of' cannot be part of a workload"),
        (lambda: Workload((Count("x > 1"), Count("x >= 2"))), "together: a question is listed twice"),
        (lambda: Workload((Count(),) * 1001), "together: too many questions"),
        (lambda: read_question(3), "a question is not a mapping; got 3"),
        (lambda: read_question({}), "a question is not a mapping"),
        (lambda: read_question({"cuont": "x > 1"}), "unknown question; got cuont; allowed: count"),
        (lambda: read_question({"count": "x > 1", "sum": "x"}), "a question with more than one word"),
        (lambda: read_question({"kind": 3}), "unknown question; got 3"),
        (lambda: read_question({"count": 3}), "count: not a mapping of options"),
        (
            lambda: read_question({"mean": {"atribute": "x"}}),
            "mean: unknown key; got atribute; allowed: attribute, where, step, by, bounds; did",
        ),
        (lambda: read_question({"quantile": "x"}), "quantile: the key 'q' is missing"),
    ],
)
def test_what_is_not_allowed(build, words):
    assert words in refused(build)


def test_one_person_has_one_row():
    assert "needs one row for each person" in refused(lambda: ValueOf("p", "c"), TWO["add_remove"])
    assert "attribute 'note' has no declared domain" in refused(lambda: ValueOf("p", "note"), SINGLE)
    assert "attribute 'person' has the role identifier" in refused(lambda: ValueOf("p", "person"), SINGLE)
    stranger = Unit.person("c", 1, "add_remove")
    assert "not an identifier of the policy; got c" in refused(lambda: ValueOf("p", "x"), stranger)
    assert "not an identifier of the policy; got c" in refused(Count, stranger)


def test_numbers_out_of_range_are_parameter_errors():
    for build in (lambda: Quantile("x", 2), lambda: Histogram("x", edges=[5, 0]).resolve(SCHEMA, UNIT)):
        with pytest.raises(ParameterError):
            build()


@pytest.mark.parametrize(
    ("width", "power"), [("1", 1), ("9.99", 1), ("10", 10), ("0.001", "0.001"), ("0.0099", "0.001"), ("1/3", "0.1")]
)
def test_powers_of_ten(width, power):
    assert power_below(Fraction(width)) == Fraction(power)


@pytest.mark.parametrize(
    ("kind", "low", "high", "step"),
    [
        (Type.INTEGER, 0, 110, 1),
        (Type.INTEGER, 0, 10**12, 1),
        (Type.INTEGER, 0, 10**18, 10**5),
        (Type.DECIMAL, 0.0, 1.0, "1e-7"),
        (Type.DECIMAL, -1000.0, 1000.0, "1e-3"),
        (Type.DECIMAL, 1e-9, 2e-9, "1e-16"),
    ],
)
def test_the_step_follows_from_the_domain(kind, low, high, step):
    schema = Schema((Attribute("v", Role.OTHER, kind, Interval(low, high)),))
    asked = Mean("v").resolve(schema, UNIT)
    assert asked.grid[-1] == Fraction(step)
    assert asked.sensitivity.linf[-1] <= Fraction(high - low) * Fraction(10**6 + 1, 10**6) + Fraction(step)


class Crowd:
    """Distinct tuples as an engine gives them, without the engine."""

    def __init__(self, counts):
        self.counts = counts

    def count_by(self, columns):
        assert tuple(columns) == self.counts.columns
        return self.counts


def test_a_million_cells():
    side = 1000
    schema = Schema(tuple(Attribute(name, Role.QUASI, Type.INTEGER, Interval(1, side - 1)) for name in ("a", "b")))
    asked = Contingency(("a", "b")).resolve(schema, UNIT)
    assert asked.components == side**2  # one cell for missing values on each side
    rng = np.arange(300_000) * 7919
    codes = tuple(np.asarray(each, dtype=np.int32) for each in (rng % (side - 1), rng // 13 % side - 1))
    values = np.arange(1, side)
    truth = asked.truth(Crowd(Counts(("a", "b"), (values, values), codes, np.full(len(rng), 2))))
    assert truth.sum() == 600_000
    first, second = codes[0], np.where(codes[1] < 0, side - 1, codes[1])
    assert truth[first[5] * side + second[5]] >= 2
    assert (np.bincount(first.astype(int) * side + second, minlength=side**2) * 2 == truth).all()
    assert (asked.sensitivity.l1, asked.sensitivity.l0, asked.is_table) == (1, 1, True)
    assert len(asked.finish(truth)["counts"]) == side**2


def test_from_question_to_answer():
    asked = Workload((Count("x >= 2"), Mean("w"))).resolve(SCHEMA, UNIT)
    noise = Laplace.for_target(PureDP(1), sensitivity=asked.scaled_sensitivity, grid=asked.scaled_grid)
    errors = noise.expected_error * [float(side) for side in asked.sensitivity.linf]
    assert errors == pytest.approx([2, 21, 21], rel=0.05)  # a count and a mean share epsilon 1
    half = 50 * asked.parts[1].width  # of a hundred rows in the middle
    noisy = np.array([100, half, half]) + noise.noise(Source.seeded(1), 1)[0]
    count, middle = asked.finish(noisy)
    assert isinstance(count, int)
    assert 10 <= middle <= 20.5


def test_listed_numbers_have_cells_in_order():
    schema = Schema((Attribute("v", Role.OTHER, Type.INTEGER, Values(("10", "2", "30"))),))
    assert Sum("v").resolve(schema, UNIT).sensitivity.linf == (30,)
    asked = Histogram("v").resolve(schema, UNIT)
    assert set(asked.names) == {"2", "10", "30", "(missing)"}
    assert Quantile("v", 0.5).resolve(schema, UNIT).candidates.count == 3
