"""The tree of tests keeps its epsilon: every tree of tiny tables is enumerated with its exact probability."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from shoal.anonymize.generalize.tree import privtree
from shoal.anonymize.generalize.tree.coded import Coded
from shoal.anonymize.generalize.tree.privtree import Habits, PrivTree
from shoal.anonymize.generalize.tree.safe_tree import whole_table
from shoal.chance.source import Source
from shoal.data.domain import Interval, Values
from shoal.data.schema import Attribute, Missing, Role, Schema, Type
from shoal.errors import ParameterError, PreconditionError
from shoal.guarantee.rounding import precise
from shoal.guarantee.tree import SplitTest, decimal_chance
from tests.engine.oracle import engine_named
from tests.statistical.fit import fits

LETTER = Attribute("letter", Role.QUASI, Type.CATEGORY, Values(tuple("abcd")), missing=Missing.REFUSE)
SEX = Attribute("sex", Role.QUASI, Type.CATEGORY, Values(("f", "m")), missing=Missing.REFUSE)
MAYBE = replace(LETTER, missing=Missing.VALUE)
ONE = Attribute("one", Role.QUASI, Type.CATEGORY, Values(("only",)), missing=Missing.REFUSE)
AGE = Attribute("age", Role.QUASI, Type.INTEGER, Interval(0, 63), missing=Missing.REFUSE)
SCHEMA = Schema((LETTER, SEX))
PLAIN = Habits(survey=Fraction(0), depth=3, theta=Fraction(1))
HALF = Fraction(1, 2)
FILLER = ("a", "f", 1)
"""The only row of a table from which it is taken away: an engine opens no empty file."""


class Given(PrivTree):
    """A tree whose test is given, whatever it costs."""

    given = SplitTest(Fraction(2), 1, 1, 3)

    @property
    def test(self):
        return self.given


def with_test(schema, given, *, theta=2, habits=PLAIN, **more):
    kind = type("Given", (Given,), {"given": given})
    return kind(schema, Fraction(1), theta, Fraction(1), habits=replace(habits, depth=given.depth), **more)


def table(schema, rows, name="oracle"):
    types = {Type.INTEGER: pa.int64(), Type.CATEGORY: pa.string()}
    columns = {
        each.name: pa.array([row[j] for row in rows or [FILLER]], types[each.type])
        for j, each in enumerate(schema.attributes)
    }
    found = engine_named(name).scan(pa.table(columns), schema)
    return found if rows else found.keep(lambda first, count: np.zeros(count, dtype=np.bool_))


def guide_of(plan, coded, seed=None):
    """What directs the growth: the domain, or a survey that was heard once and is then no secret."""
    if seed is None:
        return privtree._Guide(plan, privtree._by_domain(plan.pieces))
    survey = replace(plan, habits=replace(plan.habits, survey=HALF)).asked[0]
    return privtree._Surveyed(plan, *whole_table(plan.pieces, coded, survey, Source.seeded(seed)))


class Asked(Exception):  # noqa: N818 - a question, not a failure
    """More tests than answers: the chance that each of them passes."""


def law(plan, rows, monkeypatch, guide=None) -> dict[tuple, Decimal]:
    """Every tree and its exact probability: the code grows it on all answers to its tests, in turn."""
    coded = Coded.of(table(plan.schema, rows).recode(plan.levels).count_by(plan.columns), plan.pieces)
    guide = guide or guide_of(plan, coded)
    found: dict[tuple, Decimal] = {}

    def explore(answers, probability):
        left = list(answers)

        def answer(growth, boxes, bars, source):
            if not len(boxes):
                return np.zeros(0, dtype=bool)
            if left:
                return np.array(left.pop(0))
            counts = coded.totals(growth.homes.astype(np.int64), len(growth.splits))[boxes]
            excess = np.maximum(counts - bars, -growth.test.clamp)
            raise Asked([decimal_chance(int(x), growth.test.scale) for x in excess])

        monkeypatch.setattr(privtree._Growth, "_pass", answer)
        growth = privtree._Growth(plan, guide, coded)
        try:
            while len(growth.open):
                growth.level(None)
        except Asked as asked:
            for reply in product((False, True), repeat=len(asked.args[0])):
                chances = [p if yes else 1 - p for p, yes in zip(asked.args[0], reply, strict=True)]
                explore([*answers, reply], probability * np.prod(chances))
            return
        found[shape(growth.tree)] = probability

    with precise():
        explore([], Decimal(1))
        assert abs(sum(found.values()) - 1) < Decimal(10) ** -50
    monkeypatch.undo()
    return found


def shape(tree) -> tuple:
    return tuple(tree.splits.tolist()), tuple(map(tuple, tree.faces.tolist()))


def losses(plan, rows, extra, monkeypatch, seed=None) -> tuple[Decimal, Decimal]:
    """The largest log-ratio of any tree when a record is added, and when it is taken away."""
    guide = None
    if seed is not None:
        guide = guide_of(
            plan, Coded.of(table(plan.schema, rows).recode(plan.levels).count_by(plan.columns), plan.pieces), seed
        )
    without, with_it = (law(plan, held, monkeypatch, guide) for held in (rows, [*rows, extra]))
    assert set(without) == set(with_it)
    with precise():
        ratios = [(with_it[each] / without[each]).ln() for each in without]
    return max(ratios), -min(ratios)


# --- the exact law ----------------------------------------------------------------------------------------------

TABLES = [
    ([], ("a", "f")),
    ([("a", "f")], ("a", "f")),
    ([("a", "f")] * 3, ("a", "f")),
    ([("a", "f")] * 3, ("d", "m")),
    ([("a", "f")] * 2 + [("b", "f")] * 2, ("b", "m")),
    ([("a", "f"), ("b", "m"), ("c", "f"), ("d", "m")], ("c", "m")),
    ([("a", "f")] * 5 + [("c", "m")], ("a", "f")),
]
TESTS = [
    SplitTest(Fraction(2), 1, 1, 3),
    SplitTest(Fraction(3, 4), 2, 0, 3),
    SplitTest(Fraction(3), 2, 2, 2),
    SplitTest(Fraction(1), 0, 2, 3),
    SplitTest(Fraction(2), 1, 2, 1),
]


def price(plan) -> Decimal:
    with precise():
        return Decimal(plan.epsilon.numerator) / Decimal(plan.epsilon.denominator)


@pytest.mark.parametrize("given", TESTS)
@pytest.mark.parametrize(("rows", "extra"), TABLES)
def test_every_tree_keeps_epsilon_in_both_directions(rows, extra, given, monkeypatch):
    plan = with_test(SCHEMA, given)
    assert max(losses(plan, rows, extra, monkeypatch)) <= price(plan)


@pytest.mark.parametrize("given", TESTS)
def test_the_price_is_attained(given, monkeypatch):
    plan = with_test(SCHEMA, given)
    most = max(max(losses(plan, [("a", "f")] * n, ("a", "f"), monkeypatch)) for n in range(8))
    assert price(plan) - most < Decimal(10) ** -11


def test_three_parts_and_a_missing_value(monkeypatch):
    plan = with_test(Schema((MAYBE, SEX)), SplitTest(Fraction(2), 1, 2, 2), theta=3)
    assert plan.fan_out == 3
    for rows, extra in [([(None, "f")] * 3, (None, "f")), ([("a", "f")] * 3 + [(None, "m")], (None, "m"))]:
        assert max(losses(plan, rows, extra, monkeypatch)) <= price(plan)


def test_a_split_that_is_forced_costs_nothing(monkeypatch):
    from tests.anonymize.generalize.tiny import attribute

    schema = Schema((attribute("letter", "abcd", "xxyy"), SEX))
    given = SplitTest(Fraction(2), 1, 1, 3)
    free = with_test(schema, given, coarsest={"letter": 1})
    for rows, extra in [([("a", "f")] * 3, ("a", "f")), ([("a", "m"), ("d", "f")], ("d", "f"))]:
        trees = law(free, rows, monkeypatch)
        assert all(splits[0] == 0 for splits, _ in trees)  # the first split always happens
        assert max(losses(free, rows, extra, monkeypatch)) <= price(free)


@pytest.mark.parametrize("sure", [None, Fraction(1), Fraction(2)])
def test_what_a_survey_said_directs_the_tree_and_adds_nothing_to_its_price(sure, monkeypatch):
    habits = replace(PLAIN, sure=sure, doubt=1.0)
    plan = with_test(SCHEMA, SplitTest(Fraction(2), 1, 1, 3), habits=habits)
    for seed in range(3):
        rows = [("a", "f")] * 3 + [("b", "m")]
        assert max(losses(plan, rows, ("a", "f"), monkeypatch, seed)) <= price(plan)


def test_an_impostor_with_too_little_noise_is_caught(monkeypatch):
    plan = with_test(SCHEMA, SplitTest(Fraction(2), 1, 1, 3))
    weak = with_test(SCHEMA, SplitTest(Fraction(3, 2), 1, 1, 3))
    worst = max(max(losses(weak, [("a", "f")] * n, ("a", "f"), monkeypatch)) for n in range(6))
    assert worst > price(plan)


def test_an_impostor_whose_bar_stands_still_is_caught(monkeypatch):
    plan = with_test(SCHEMA, SplitTest(Fraction(2), 2, 1, 3))
    flat = with_test(SCHEMA, SplitTest(Fraction(2), 0, 1, 3))
    worst = max(max(losses(flat, [("a", "f")] * n, ("a", "f"), monkeypatch)) for n in range(6))
    assert worst > price(plan)


def test_settling_draws_from_the_law_that_was_enumerated(monkeypatch):
    plan = with_test(Schema((LETTER,)), SplitTest(Fraction(2), 1, 2, 2))
    other = with_test(Schema((LETTER,)), SplitTest(Fraction(3, 2), 1, 1, 2))
    rows = [("a",)] * 2 + [("c",)] * 2
    right, wrong = law(plan, rows, monkeypatch), law(other, rows, monkeypatch)
    number = {each: i for i, each in enumerate(right)}
    held = table(plan.schema, rows)
    source = Source.seeded(5)
    drawn = [number[shape(plan.settle(held, source.stream("tree")).tree)] for _ in range(3000)]
    assert fits(drawn, [float(right[each]) for each in right])
    assert not fits(drawn, [float(wrong[each]) for each in right])


# --- the test itself --------------------------------------------------------------------------------------------


def test_no_float_enters_the_test(monkeypatch):
    plan = PrivTree(SCHEMA, HALF, 3, HALF, habits=PLAIN)
    seen = []
    real = privtree._Growth._pass

    def watched(growth, boxes, bars, source):
        counts = growth.coded.totals(growth.homes.astype(np.int64), len(growth.splits))
        noise = source.discrete_laplace(growth.test.scale, 1)
        seen.extend([counts.dtype, bars.dtype, noise.dtype])
        assert isinstance(growth.test.scale, Fraction)
        assert type(growth.test.clamp) is int
        return real(growth, boxes, bars, source)

    monkeypatch.setattr(privtree._Growth, "_pass", watched)
    plan.settle(table(SCHEMA, [("a", "f")] * 9), Source.seeded(1))
    assert set(seen) == {np.dtype(np.int64)}


class Silent:
    """A source without noise."""

    def discrete_laplace(self, scale, size):
        return np.zeros(size, dtype=np.int64)


def test_a_count_passes_from_one_above_its_bar():
    plan = with_test(SCHEMA, SplitTest(Fraction(2), 1, 1, 1), theta=4)
    assert len(plan.settle(table(SCHEMA, [("a", "f")] * 4), Silent())) == 1
    assert len(plan.settle(table(SCHEMA, [("a", "f")] * 5), Silent())) == 2


def test_the_bar_rises_with_tests_and_not_with_splits_that_are_forced():
    schema = Schema((AGE,))
    rows = [(7,)] * 10
    given = SplitTest(Fraction(2), 3, 1, 6)
    depth = lambda boxes: len(boxes) - 1  # noqa: E731 - all records in one value: one box more for each split
    assert depth(with_test(schema, given, theta=1).settle(table(schema, rows), Silent())) == 3  # bars 1, 4, 7, 10
    assert depth(with_test(schema, given, theta=4).settle(table(schema, rows), Silent())) == 2


def test_the_attribute_that_loses_most_is_divided_first_and_one_of_weight_zero_never():
    plan = with_test(SCHEMA, SplitTest(Fraction(2), 0, 1, 1), weights={"letter": Fraction(1, 3)})
    assert plan.settle(table(SCHEMA, [("a", "f")] * 9), Silent()).tree.splits[0] == 1
    plan = with_test(SCHEMA, SplitTest(Fraction(2), 0, 1, 3), weights={"letter": Fraction(0)})
    assert set(plan.settle(table(SCHEMA, [("a", "f")] * 9), Silent()).tree.splits.tolist()) == {-1, 1}


# --- the plan ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("survey", [Fraction(0), Fraction(1, 3), Fraction(1, 2)])
@pytest.mark.parametrize("steps", [1, 4])
def test_the_price_is_within_what_was_paid(survey, steps):
    plan = PrivTree(SCHEMA, Fraction(3, 10), 13, Fraction(3, 10), steps, habits=Habits(survey=survey))
    assert Fraction(3, 10) * Fraction(85, 100) < plan.epsilon <= Fraction(3, 10)
    assert plan.theorems == (("surveyed-tree",) if survey else ()) + ("privtree-geometric",)
    assert str(plan.theta) in plan.words()


def test_the_certificate_has_all_that_the_price_is_made_of():
    from shoal.guarantee.tree import path_loss

    said = PrivTree(SCHEMA, Fraction(3, 10), 13, Fraction(3, 10)).to_json()
    test = said["test"]
    bars = [test["theta"] + t * test["rise"] for t in range(test["depth"])]
    surveys = sum(Fraction(s["count"]) + s["attributes"] * Fraction(s["histogram"]) for s in said["surveys"])
    assert said["kind"] == "privtree"
    assert Fraction(said["epsilon"]) == surveys + path_loss(Fraction(test["scale"]), bars, test["clamp"])


@pytest.mark.parametrize("survey", [Fraction(0), Fraction(1, 2)])
def test_trees_do_not_depend_on_row_order_or_engine_and_repeat_from_a_seed(survey):
    schema = Schema((LETTER, SEX, AGE))
    rows = [("abcd"[i * i % 4], "fm"[i % 3 % 2], i * 7 % 64) for i in range(400)]
    plan = PrivTree(schema, Fraction(2), 5, HALF, habits=Habits(survey=survey, theta=Fraction(1)))
    settled = [
        plan.settle(table(schema, held, name), Source.seeded(3))
        for held in (rows, rows[::-1])
        for name in ("duckdb", "oracle")
    ]
    assert len({shape(boxes.tree) for boxes in settled}) == 1
    assert len(settled[0]) > 10
    assert Counter(plan.settle(table(schema, rows), Source.seeded(4)).labels) != Counter(settled[0].labels)


@pytest.mark.parametrize("survey", [Fraction(0), Fraction(1, 2)])
def test_records_fall_into_boxes_that_divide_the_domain(survey):
    schema = Schema((MAYBE, AGE))
    rows = [("abcd"[i % 4] if i % 5 else None, i % 64) for i in range(500)]
    plan = PrivTree(schema, Fraction(2), 5, HALF, habits=Habits(survey=survey))
    boxes = plan.settle(table(schema, rows), Source.seeded(2))
    volume = sum(
        np.prod(
            [boxes.tree.layout.stops[node] - boxes.tree.layout.starts[node] for node in boxes.tree.faces[leaf].tolist()]
        )
        for leaf in boxes.tree.leaves.tolist()
    )
    assert volume == 5 * 64
    assert boxes.apply(table(schema, rows)).rows() == 500


@pytest.mark.parametrize("survey", [Fraction(0), Fraction(1, 2)])
def test_an_empty_table_has_a_small_tree(survey):
    plan = PrivTree(Schema((MAYBE, SEX, AGE)), Fraction(1), 5, HALF, habits=Habits(survey=survey))
    source = Source.seeded(1)
    sizes = [len(plan.settle(table(plan.schema, []), source.stream("tree"))) for _ in range(30)]
    assert np.mean(sizes) < 30
    assert 1 in sizes


@pytest.mark.parametrize("survey", [Fraction(0), Fraction(1, 2)])
def test_an_attribute_with_one_value_is_never_divided(survey):
    plan = PrivTree(Schema((ONE, SEX)), Fraction(5), 2, HALF, habits=Habits(survey=survey))
    boxes = plan.settle(table(plan.schema, [("only", "f"), ("only", "m")] * 200), Source.seeded(1))
    assert set(boxes.tree.splits.tolist()) <= {-1, 1}
    assert len(boxes) == 2
    alone = PrivTree(Schema((ONE,)), Fraction(5), 2, HALF, habits=Habits(survey=survey))
    assert len(alone.settle(table(alone.schema, [("only",)] * 50), Source.seeded(1))) == 1


def test_depth_one_splits_once():
    plan = PrivTree(SCHEMA, Fraction(5), 2, HALF, habits=Habits(depth=1))
    assert len(plan.settle(table(SCHEMA, [("a", "f"), ("d", "m")] * 200), Source.seeded(1))) == 2


@pytest.mark.parametrize(
    ("error", "more"),
    [
        (ParameterError, {"habits": Habits(depth=0)}),
        (ParameterError, {"habits": Habits(survey=Fraction(1))}),
        (ParameterError, {"habits": Habits(theta=Fraction(0))}),
        (ParameterError, {"weights": {"letter": Fraction(0), "sex": Fraction(0)}}),
        (ParameterError, {"paid": Fraction(0)}),
        (PreconditionError, {"schema": Schema((MAYBE, SEX)), "habits": Habits(theta=Fraction(1, 10**6))}),
        (PreconditionError, {"schema": Schema((MAYBE, SEX)), "habits": Habits(clamp=Fraction(1, 10))}),
    ],
)
def test_what_cannot_grow_is_refused(error, more):
    with pytest.raises(error):
        PrivTree(**{"schema": SCHEMA, "paid": Fraction(1, 10), "k": 5, "beta": HALF, **more})
