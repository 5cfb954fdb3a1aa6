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
from shoal.query.questions.moments import Count, Mean, Sum, Variance
from shoal.query.questions.quantile import Quantile
from shoal.query.questions.tables import Contingency, Histogram
from shoal.query.questions.workload import Workload
from tests.engine.oracle import OracleEngine
from tests.query.people import ROW, SCHEMA, TWO, UNITS, arrow, rows

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
    for question in QUESTIONS:
        asked = question.resolve(SCHEMA, unit)
        check(asked, asked.truth(one) - asked.truth(other))
    for name, q in (("x", "0.5"), ("o", "0.9"), ("w", 0), ("day", "1/3")):
        asked = Quantile(name, q, "c = 'a'").resolve(SCHEMA, unit)
        assert np.abs(asked.scores(one) - asked.scores(other)).max() <= asked.linf


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
    elif question in (Count(), Mean("must"), Variance("must")) and unit == ROW["replace_one"]:
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
        (Mean("must"), ROW["add_remove"], (1, 5), 6, 2),
        (Mean("must"), TWO["add_remove"], (2, 10), 12, 2),
        (Variance("must"), ROW["add_remove"], (1, 5, 13), 19, 3),
        (Histogram("c"), ROW["add_remove"], (1,), 1, 1),
        (Histogram("c"), ROW["replace_one"], (1,), 2, 2),
        (Histogram("c"), TWO["add_remove"], (2,), 2, 2),
        (Histogram("c"), TWO["replace_one"], (2,), 4, 4),
        (MEANS, ROW["add_remove"], None, Fraction(25, 4), 2),
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
    assert apart.scaled_sensitivity.l1 == 2  # one mean: a count and a sum
    assert MEANS.resolve(SCHEMA, ROW["replace_one"]).scaled_sensitivity.l1 == Fraction(3)
    shared = Workload((Mean("w", "c = 'a'"), Mean("w", "x = 1"))).resolve(SCHEMA, ROW["add_remove"])
    assert not shared.disjoint_parts
    assert shared.scaled_sensitivity.l1 == 4


@pytest.mark.parametrize(("q", "add", "replace"), [("0.5", 1, 2), ("0.9", 9, 10), (0, 1, 1), (1, 1, 1), ("1/3", 2, 3)])
def test_scores_reach_as_far_as_proved(q, add, replace):
    asked = {unit: Quantile("x", q).resolve(SCHEMA, unit) for unit in UNITS}
    linf = [asked[unit].linf for unit in UNITS]
    assert linf == [add, replace, 2 * add, 2 * replace]
    low = ("p", -3, 10, None, None, None, None, None, None, None, 7)
    high = ("p", 10, 10, None, None, None, None, None, None, None, 7)
    universe = Universe([low, low, high, high])
    scores = {
        kept: asked[UNITS[0]].scores(universe.of(kept))
        for kept in ((), (0,), (2,), (0, 2), (0, 1), (2, 3), (0, 1, 2, 3))
    }

    def moved(a, b):
        return np.abs(scores[a] - scores[b]).max()

    assert max(moved((), (0,)), moved((), (2,))) == add
    assert max(moved((0, 2), (0, 1)), moved((0, 2), (2, 3)), moved((0,), (2,))) == replace
