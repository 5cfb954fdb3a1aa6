"""One unit moves an answer as far as its plan says: never farther, for any two neighbouring tables, and just as far for some."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from shoal.language.cells import CellSpec
from shoal.mechanism.base import Sensitivity
from shoal.query.questions.count import Count
from shoal.query.questions.moments import Mean, Ratio, Sum, Variance
from shoal.query.questions.quantile import Quantile
from shoal.query.questions.tables import Contingency, Histogram
from shoal.query.questions.workload import Workload
from tests.engine.oracle import OracleEngine
from tests.query.people import ROW, SCHEMA, TWO, UNITS, arrow, rows
from tests.query.ranks import every_score

MEANS = Workload((Mean("w", "c = 'a'"), Mean("w", "c = 'b'"), Count("c is missing")))
QUESTIONS = [
    Count(),
    Count("x >= 2"),
    Sum("x"),
    Sum("x", "c = 'a'"),
    Sum("w"),
    Sum("w", "c = 'a'"),
    Sum("must"),
    Sum("must", "c = 'a'"),
    Sum("big"),
    Mean("x", "c = 'a'"),
    Mean("w"),
    Mean("must"),
    Mean("day"),
    Variance("x"),
    Variance("w", "c = 'a'"),
    Variance("must"),
    Histogram("c"),
    Histogram("x", edges=[0, 5], where="c = 'a'"),
    Contingency((CellSpec("c"), CellSpec("x", level=1))),
    Workload((Count("x >= 2"), Sum("w"), Histogram("c"))),
    MEANS,
    Workload((Count("x < 2"), Histogram("c", where="x >= 2"))),
    Sum("x", bounds=(-1, 4)),
    Sum("x", "x between 2 and 5"),
    Sum("must", bounds=(12, None)),
    Mean("must", bounds=(12, 15)),
    Sum("x - must"),
    Sum("2 * must + 1"),
    Mean("must / 3", "c = 'a'"),
    Sum("must / x", "x >= 3"),
    Ratio(Count("c = 'a'"), Count("x >= 2")),
    Ratio("x", "must"),
    Ratio("must", where="c = 'a'"),
]
GROUPED = [
    Count(by="c"),
    Sum("must", by="c"),
    Sum("x", "must >= 12", by=["c", "x@1"]),
    Mean("must", by="c"),
    Mean("w", by=["c"], bounds=(12, 16)),
    Variance("must", by="c"),
    Ratio("x", "must", by="c"),
    Workload((Count(by="c"), Mean("must", by="c"))),
]
NAMES = [f"{i}-{question.word}" for i, question in enumerate(QUESTIONS)]


def exact(steps, lengths):
    """Steps times their lengths."""
    wide = lengths if len(lengths) == len(steps) else lengths * len(steps)
    return [int(a) * b for a, b in zip(steps, wide, strict=True)]


def check(asked, change):
    """The change of an answer, in steps, is one that the plan allows."""
    linf = asked.linf_steps if len(asked.linf_steps) == len(change) else asked.linf_steps * len(change)
    assert all(abs(int(a)) <= b for a, b in zip(change, linf, strict=True))
    for sensitivity, grid in ((asked.sensitivity, asked.grid), (asked.scaled_sensitivity, asked.scaled_grid)):
        assert sum(map(abs, exact(change, grid))) <= sensitivity.l1
        assert sum(a != 0 for a in change) <= sensitivity.l0


class Universe:
    """Rows of which neighbouring tables keep some; one scan serves them all."""

    def __init__(self, listed):
        self.table = OracleEngine().scan(arrow(listed), SCHEMA)
        self.size = len(listed)

    def of(self, kept):
        chosen = np.isin(np.arange(self.size), list(kept))
        return self.table.keep(lambda start, count: chosen[start : start + count])


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS, ids=["row-add", "row-replace", "two-add", "two-replace"])
@settings(max_examples=8, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    common=st.lists(rows, max_size=4),
    gone=st.lists(rows, min_size=2, max_size=2),
    come=st.lists(rows, min_size=2, max_size=2),
)
def test_no_pair_of_neighbours_moves_an_answer_farther(unit, common, gone, come):
    gone, come = gone[: unit.max_rows], come[: unit.max_rows]
    universe = Universe([*common, *gone, *come])
    base = range(len(common))
    first = [*base, *range(len(common), len(common) + len(gone))]
    second = [*base, *range(len(common) + len(gone), universe.size)] if unit.neighbours == "replace_one" else base
    one, other = universe.of(first), universe.of(second)
    for question in (*QUESTIONS, *GROUPED):
        asked = question.resolve(SCHEMA, unit)
        check(asked, asked.truth(one) - asked.truth(other))
    for name, q in (("x", "0.5"), ("o", "0.9"), ("must", 0), ("day", "1/3")):
        asked = Quantile(name, q, "c = 'a'").resolve(SCHEMA, unit)
        for target in asked.targets:
            first, second = (every_score(asked, each, target.name, 7 * abs(target.side)) for each in (one, other))
            assert np.abs(first - second).max() <= asked.linf(target)
    for name, q in (("x", "0.5"), ("o", "0.9")):
        asked = Quantile(name, q, by=["c"]).resolve(SCHEMA, unit)
        for target in asked.targets:
            moved = [
                np.abs(
                    np.subtract(
                        *(every_score(asked, each, target.name, 7 * abs(target.side), i) for each in (one, other))
                    )
                )
                for i in range(asked.groups)
            ]
            assert sum(each.max() for each in moved) <= asked.linf(target)


EXTREMES = [
    ("p", x, must, w, c, "mild", day, big, "n", 0.0, 7)
    for (x, must, w, day, big), c in product(
        [
            (-3, 10, 10.0, SCHEMA["day"].domain.low, -(2**62)),
            (10, 20, 20.5, SCHEMA["day"].domain.high, 2**62),
            (3, 15, 15.25, None, 0),
            (None, 10, None, None, None),
            (-3, 20, 20.5, None, 2**62),
            (10, 10, 10.0, SCHEMA["day"].domain.low, 0),
            (5, 15, 12.0, None, 0),
            (3, 20, 16.0, None, 0),
        ],
        ["a", "b", "d", None],
    )
]


@pytest.fixture(scope="module")
def extremes():
    return Universe(EXTREMES)


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS, ids=NAMES)
@pytest.mark.parametrize("unit", UNITS, ids=["row-add", "row-replace", "two-add", "two-replace"])
def test_some_pair_of_neighbours_moves_each_component_as_far(extremes, question, unit):
    asked = question.resolve(SCHEMA, unit)
    alone = [asked.truth(extremes.of([place])).astype(object) for place in range(len(EXTREMES))]
    nothing = [0 * alone[0]]
    people = (
        [*nothing, *alone] if unit.max_rows == 1 else [sum(pair) for pair in combinations_with_replacement(alone, 2)]
    )
    if unit.neighbours == "add_remove":
        changes = people
    elif unit.whose == "row":
        changes = [a - b for a, b in product(alone, alone)]
    else:
        changes = [a - b for a, b in product(people, [0 * alone[0], *people])]
    changes = np.array(changes)
    farthest = np.abs(changes).max(axis=0)
    linf = np.broadcast_to(np.array(asked.linf_steps, dtype=object), farthest.shape)
    assert (farthest <= linf).all()
    reached = farthest == linf
    if question.word in ("contingency", "histogram") or "histogram" in asked.identity:
        assert reached.any()  # the extreme rows do not lie in every cell
    elif (
        question in (Count(), Mean("must"), Mean("must", bounds=(12, 15)), Variance("must"))
        and unit == ROW["replace_one"]
    ):
        assert reached[1:].all()  # that the number of all rows is public is not made use of
    else:
        assert reached.all(), (farthest, linf)
    if asked.is_table:
        assert np.abs(changes).sum(axis=1).max() == asked.sensitivity.l1
        assert (changes != 0).sum(axis=1).max() == asked.sensitivity.l0


def test_a_row_that_is_replaced_by_one_that_takes_no_part_moves_the_whole_value():
    # The domain 10..20 is 10 wide, and yet a sum moves by 20: the new row may miss the condition, or the value.
    assert Sum("must", "c = 'a'").resolve(SCHEMA, ROW["replace_one"]).sensitivity.linf == (20,)
    assert Sum("must").resolve(SCHEMA, ROW["replace_one"]).sensitivity.linf == (10,)
    assert Sum("w").resolve(SCHEMA, ROW["replace_one"]).sensitivity.linf == (Fraction(41, 2),)
    assert Sum("x").resolve(SCHEMA, ROW["replace_one"]).sensitivity.linf == (13,)
    assert Sum("x").resolve(SCHEMA, ROW["add_remove"]).sensitivity.linf == (10,)


@pytest.mark.parametrize(
    ("question", "unit", "sides", "total", "moved"),
    [
        (Count("x >= 2"), ROW["add_remove"], (1,), 1, 1),
        (Count("x >= 2"), TWO["replace_one"], (2,), 2, 1),
        (Mean("must"), ROW["add_remove"], (10,), 10, 2),
        (Mean("must"), TWO["add_remove"], (20,), 20, 2),
        (Variance("must"), ROW["add_remove"], (1, 5, 13), 19, 3),
        (Histogram("c"), ROW["add_remove"], (1,), 1, 1),
        (Histogram("c"), ROW["replace_one"], (1,), 2, 2),
        (Histogram("c"), TWO["add_remove"], (2,), 2, 2),
        (Histogram("c"), TWO["replace_one"], (2,), 4, 4),
        (MEANS, ROW["add_remove"], None, Fraction(21, 2), 2),
        (Workload((Count("x < 2"), Count("x >= 2"), Count("x is missing"))), ROW["add_remove"], (1,), 1, 1),
        (Workload((Count("x < 2"), Count("x >= 2"), Count("x is missing"))), ROW["replace_one"], (1,), 2, 2),
        (Workload((Count("x < 2"), Count("x >= 1"))), ROW["add_remove"], (1,), 2, 2),
    ],
)
def test_golden_sensitivities(question, unit, sides, total, moved):
    found = question.resolve(SCHEMA, unit).sensitivity
    assert sides is None or found.linf == sides
    assert (found.l1, found.l0, found.unit) == (total, moved, unit)
    asked = question.resolve(SCHEMA, unit)
    assert found.l1_on(asked.grid) == total  # truths lie on the grid, so rounding adds nothing
    assert asked.scaled_sensitivity.l1_on(asked.scaled_grid) == asked.scaled_sensitivity.l1
    if asked.is_table:
        assert found == Sensitivity.cells(asked.components, unit)


def test_parts_that_share_no_row_cost_as_one():
    apart = MEANS.resolve(SCHEMA, ROW["add_remove"])
    assert apart.disjoint_parts
    assert (
        apart.scaled_sensitivity.l1 == 1
    )  # one mean: two sums, of which a row adds to both together what it adds to one
    assert MEANS.resolve(SCHEMA, ROW["replace_one"]).scaled_sensitivity.l1 == 2
    shared = Workload((Mean("w", "c = 'a'"), Mean("w", "x = 1"))).resolve(SCHEMA, ROW["add_remove"])
    assert not shared.disjoint_parts
    assert shared.scaled_sensitivity.l1 == 2


@pytest.mark.parametrize(("q", "add", "replace"), [("0.5", 1, 2), ("0.9", 9, 10), (0, 1, 1), (1, 1, 1), ("1/3", 2, 3)])
def test_scores_reach_as_far_as_proved(q, add, replace):
    asked = {unit: Quantile("x", q).resolve(SCHEMA, unit) for unit in UNITS}
    linf = [asked[unit].linf(asked[unit].targets[0]) for unit in UNITS]
    assert linf == [add, replace, 2 * add, 2 * replace]
    low = ("p", -3, 10, None, None, None, None, None, None, None, 7)
    high = ("p", 10, 10, None, None, None, None, None, None, None, 7)
    universe = Universe([low, low, high, high])
    scores = {
        kept: every_score(asked[UNITS[0]], universe.of(kept))
        for kept in ((), (0,), (2,), (0, 2), (0, 1), (2, 3), (0, 1, 2, 3))
    }

    def moved(a, b):
        return np.abs(scores[a] - scores[b]).max()

    assert max(moved((), (0,)), moved((), (2,))) == add
    assert max(moved((0, 2), (0, 1)), moved((0, 2), (2, 3)), moved((0,), (2,))) == replace


@pytest.mark.slow
@pytest.mark.parametrize("question", GROUPED, ids=[f"{i}-{each.word}" for i, each in enumerate(GROUPED)])
@pytest.mark.parametrize("unit", UNITS, ids=["row-add", "row-replace", "two-add", "two-replace"])
def test_some_pair_of_neighbours_moves_the_groups_as_far_together(extremes, question, unit):
    """The joint L1 sensitivity is reached: one group moves by all of it, or two under replace_one."""
    asked = question.resolve(SCHEMA, unit)
    alone = np.array([asked.truth(extremes.of([place])).astype(object) for place in range(len(EXTREMES))])
    scaled = np.broadcast_to(np.array([float(step) for step in asked.scaled_grid]), alone.shape[1:])
    units = (alone * scaled).astype(float)
    if unit.max_rows == 2:
        units = np.concatenate([2 * units, [a + b for a, b in product(units, units)]])
    if unit.neighbours == "add_remove":
        farthest = np.abs(units).sum(axis=1).max()
    else:
        farthest = max(np.abs(units - one).sum(axis=1).max() for one in units)
    assert farthest <= float(asked.scaled_sensitivity.l1) + 1e-9
    reached = 0.85 if question.word in ("ratio", "variance", "together") or "x@1" in str(question) else 0.99
    assert farthest >= reached * float(asked.scaled_sensitivity.l1) - 1e-9


def test_an_impostor_that_takes_one_group_for_the_sensitivity_of_a_replacement_is_caught(extremes):
    asked = Sum("must", by="c").resolve(SCHEMA, ROW["replace_one"])
    alone = [asked.truth(extremes.of([place])) for place in range(len(EXTREMES))]
    grid = np.array([float(step) for step in asked.scaled_grid])
    farthest = max(float((np.abs(a - b) * grid).sum()) for a, b in product(alone, alone))
    one = Sum("must", "c = 'a'").resolve(SCHEMA, ROW["replace_one"])
    assert float(one.scaled_sensitivity.l1) < farthest <= float(asked.scaled_sensitivity.l1)


@pytest.mark.parametrize(
    ("question", "linf", "l1", "l0"),
    [
        (Sum("x", bounds=(-1, 4)), (4,), 4, 1),
        (Sum("x", "x between 2 and 5"), (5,), 5, 1),
        (Sum("must", bounds=("12", None)), (20,), 20, 1),
        (Mean("must", bounds=(12, 16)), (4,), 4, 2),
        (Sum("x - must"), (23,), 23, 1),
        (Sum("2 * x + 1"), (21,), 21, 1),
        (Sum("abs(x - 3)"), (7,), 7, 1),
        (Mean("must", by="c"), (10,), 10, 2),
        (Sum("must", by="c"), (20,), 20, 1),
        (Ratio("x", "must"), (10, 20), 30, 2),
        (Ratio(Count("c = 'a'")), (1,), 2, 2),
    ],
)
def test_bounds_conditions_and_arithmetic_set_the_sensitivity(question, linf, l1, l0):
    found = question.resolve(SCHEMA, ROW["add_remove"]).sensitivity
    assert (found.linf, found.l1, found.l0) == (linf, l1, l0)
