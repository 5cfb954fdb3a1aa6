"""Random arithmetic on columns: no row is worth more than interval arithmetic says, and wrong intervals are caught.

A row's value is computed twice: by a session, in steps of its grid, and exactly, by fractions that know nothing of intervals.
The engine moves values into the interval, so that a wrong one would not break a guarantee but the answer; so the exact values are
compared with both.
"""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from shoal.engine.base import ABSENT, Counts
from shoal.errors import UsageError
from shoal.guarantee.unit import Unit
from shoal.language.arithmetic import Call, Expression, Product, Quotient
from shoal.policy.policy import Policy
from shoal.query.questions.moments import Mean, Sum, Variance
from tests.query.questions.test_sensitivity import check

SCHEMA = Policy.of(
    {
        "version": 1,
        "dataset": "d",
        "unit": "row",
        "neighbours": "add_remove",
        "attributes": {
            "a": {"role": "quasi", "type": "integer", "domain": [-3, 5], "missing": "refuse"},
            "b": {"role": "quasi", "type": "integer", "domain": [1, 4], "missing": "refuse"},
            "c": {"role": "quasi", "type": "decimal", "domain": [-2, "1.5"], "missing": "value"},
            "d": {"role": "quasi", "type": "integer", "domain": [-7, -2], "missing": "refuse"},
        },
    }
).schema
VALUES = {"a": [-3, -1, 0, 2, 5], "b": [1, 2, 4], "c": [-2.0, -0.25, 0.0, 1.5, None], "d": [-7, -5, -2]}
UNITS = [Unit.row("add_remove"), Unit.row("replace_one")]
rows = st.tuples(*(st.sampled_from(held) for held in VALUES.values()))


# --- expressions: a text, and what it is worth for a row ------------------------------------------------------------------


def name(attribute):
    return attribute, lambda row: Fraction(row[list(VALUES).index(attribute)])


def number(text):
    return text, lambda _: Fraction(text)


def binary(left, sign, right):
    work = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}[sign]
    return f"({left[0]} {sign} {right[0]})", lambda row: work(left[1](row), right[1](row))


def call(function, *parts):
    work = {"abs": abs, "min": min, "max": max, "-": operator.neg}[function]
    inner = ", ".join(part[0] for part in parts)
    return f"{function}({inner})", lambda row: work(*(part[1](row) for part in parts))


expressions = st.recursive(
    st.sampled_from([*map(name, VALUES), *map(number, ("0", "2", "3.5", "9"))]),
    lambda inner: st.one_of(
        st.builds(binary, inner, st.sampled_from("+-*/"), inner),
        st.builds(call, st.sampled_from(["abs", "-"]), inner),
        st.builds(call, st.sampled_from(["min", "max"]), inner, inner),
    ),
    max_leaves=6,
)
EXAMPLES = {
    "phases": [Phase.explicit, Phase.reuse, Phase.generate],
    "suppress_health_check": [HealthCheck.filter_too_much],
}


class ListedTable:
    """A table that is listed: as much of an engine's table as sums read."""

    names: ClassVar[list[str]] = list(VALUES)

    def __init__(self, listed):
        self.listed = listed

    def rows(self):
        return len(self.listed)

    def count_by(self, columns):
        values, codes = [], []
        for column in columns:
            own = [row[self.names.index(column)] for row in self.listed]
            kinds = sorted({value for value in own if value is not None})
            values.append(np.array(kinds, dtype=np.float64 if column == "c" else np.int64))
            codes.append(np.array([ABSENT if value is None else kinds.index(value) for value in own], dtype=np.int32))
        return Counts(tuple(columns), tuple(values), tuple(codes), np.ones(len(self.listed), dtype=np.int64))


def resolved(question, unit):
    """The question under the policy; an example is left out where it has no meaning (a division by 0, one single value)."""
    try:
        return question.resolve(SCHEMA, unit)
    except UsageError:
        assume(False)


def takes_part(row, text):
    """Whether a row has a value of the expression."""
    return row[2] is not None or "c" not in text


def is_bounded(query, expression, before, after):
    """Whether the exact sums of two tables differ by no more than the query says, and are what a session adds up."""
    text, value = expression
    step = query.grid[0]
    exact = [sum((value(row) for row in listed if takes_part(row, text)), Fraction(0)) for listed in (before, after)]
    rounding = step / 2 * (len(before) + len(after)) + abs(exact[0] - exact[1]) / 10**9
    summed = [int(query.truth(ListedTable(listed))[0]) * step for listed in (before, after)]
    told = all(abs(one - other) <= rounding for one, other in zip(summed, exact, strict=True))
    return told and abs(exact[0] - exact[1]) <= query.linf_steps[0] * step + rounding


def neighbours(common, gone, come, unit):
    """Two tables that differ in one unit."""
    return ([*common, gone], common) if unit.neighbours == "add_remove" else ([*common, gone], [*common, come])


@pytest.mark.slow
@settings(max_examples=150, **EXAMPLES)
@given(expressions, st.lists(rows, max_size=3), rows, rows, st.sampled_from(UNITS))
def test_no_neighbour_moves_the_exact_sum_of_a_random_expression_farther(expression, common, gone, come, unit):
    query = resolved(Sum(expression[0]), unit)
    assert is_bounded(query, expression, *neighbours(common, gone, come, unit))


@pytest.mark.slow
@settings(max_examples=100, **EXAMPLES)
@given(
    expressions, st.lists(rows, max_size=3), rows, rows, st.sampled_from(UNITS), st.sampled_from([Sum, Mean, Variance])
)
def test_no_neighbour_moves_what_noise_is_added_to_farther(expression, common, gone, come, unit, kind):
    query = resolved(kind(expression[0]), unit)
    one, other = (query.truth(ListedTable(listed)).tolist() for listed in neighbours(common, gone, come, unit))
    check(query, [int(a) - int(b) for a, b in zip(one, other, strict=True)])


# --- impostors --------------------------------------------------------------------------------------------------------

WORST = [(5, 4, 1.5, -2), (5, 1, -2.0, -7), (-3, 1, -2.0, -7), (-3, 4, 1.5, -2), (0, 2, 0.0, -5)]


def are_bounded(expression):
    """Whether a row that holds ends of domains, added to nothing, moves the sum no farther than the query says."""
    query = Sum(expression[0]).resolve(SCHEMA, UNITS[0])
    return all(is_bounded(query, expression, [row], []) for row in WORST)


def forgets_signs(self, ranges):
    """Lower ends times lower ends, upper ends times upper ends."""
    one, other = (part.interval(ranges) for part in self.parts)
    return tuple(sorted((one[0] * other[0], one[1] * other[1])))


def divides_ends(self, ranges):
    """Lower end by lower end, upper end by upper end."""
    one, other = (part.interval(ranges) for part in self.parts)
    return tuple(sorted((one[0] / other[0], one[1] / other[1])))


def forgets_constants(self, ranges):
    """The interval of a sum without its constant."""
    ends = [sorted(factor * end for end in term.interval(ranges)) for factor, term in self.terms]
    return sum(low for low, _ in ends), sum(high for _, high in ends)


def forgets_negative_factors(self, ranges):
    """The ends of each term times its factor, in the order in which they were."""
    ends = [tuple(factor * end for end in term.interval(ranges)) for factor, term in self.terms]
    low, high = (self.constant + sum(each) for each in zip(*ends, strict=True))
    return min(low, high), max(low, high)


def keeps_signs(self, ranges):
    """The interval of an absolute value as if it were that of its argument."""
    return self.parts[0].interval(ranges)


@pytest.mark.parametrize(
    ("owner", "impostor", "expression"),
    [
        (Product, forgets_signs, binary(name("a"), "*", name("d"))),
        (Product, forgets_signs, binary(name("a"), "*", name("c"))),
        (Quotient, divides_ends, binary(name("a"), "/", name("b"))),
        (Expression, forgets_constants, binary(name("a"), "+", number("9"))),
        (Expression, forgets_negative_factors, binary(name("a"), "-", name("c"))),
        (Call, keeps_signs, call("abs", name("d"))),
    ],
    ids=lambda one: one[0] if isinstance(one, tuple) else getattr(one, "__name__", None),
)
def test_wrong_intervals_are_caught(monkeypatch, owner, impostor, expression):
    assert are_bounded(expression)
    monkeypatch.setattr(owner, "interval", impostor)
    assert not are_bounded(expression)
