"""Cells: the finest pieces of a declared domain, and how the hierarchy nests them."""

from dataclasses import replace
from fractions import Fraction

import pytest

from shoal.data.cells import MOST, STEPS, cells_of
from shoal.data.hierarchy.level import MISSING, IntervalLevel, MaskLevel, TopLevel, ValueLevel
from shoal.data.schema import Attribute, Missing, Role
from shoal.data.type import point
from shoal.errors import PolicyError
from shoal.policy.policy import Policy


def attribute(spec, missing="refuse"):
    text = f"""
version: 1
dataset: d
unit: row
neighbours: add_remove
attributes:
  x: {{role: quasi, missing: {missing}, {spec}}}
"""
    return Policy.parse(text).schema["x"]


def test_values_are_cells_and_levels_are_groups():
    found = cells_of(attribute("type: integer, domain: [0, 9], hierarchy: {intervals: [2, 6]}"))
    assert found.labels == tuple("0123456789")
    assert found.ordered
    assert [group.label for group in found.groups[0]] == ["[0, 2)", "[2, 4)", "[4, 6)", "[6, 8)", "[8, 10)"]
    assert found.groups[1][0].cells == (0, 1, 2, 3, 4, 5)
    assert found.span(2, 7) == "[2, 7)"
    assert found.loss((2, 3, 4)) == pytest.approx(2 / 9)
    assert found.missing is None


def test_a_missing_value_is_the_last_cell_and_costs_nothing():
    found = cells_of(attribute("type: category, domain: [a, b, c]", missing="value"))
    assert found.labels == ("a", "b", "c", MISSING)
    assert found.missing == 3
    assert found.loss((3,)) == 0.0
    assert found.loss((0, 1, 2, 3)) == 1.0


def test_finest_is_a_floor():
    found = cells_of(attribute("type: integer, domain: [0, 9], hierarchy: {intervals: [2, 6]}"), finest=1)
    assert found.labels == ("[0, 2)", "[2, 4)", "[4, 6)", "[6, 8)", "[8, 10)")
    assert found.sizes == (2, 2, 2, 2, 2)
    assert isinstance(found.level, IntervalLevel)
    assert found.span(0, 2) == "[0, 4)"


def test_open_ends_are_declared_and_never_read_from_a_label():
    declared = "type: integer, domain: [0, 99], hierarchy: "
    open_ends = cells_of(attribute(declared + "{cuts: [[20, 40, 60]]}"), finest=1)
    assert (open_ends.span(0, 2), open_ends.span(2, 4), open_ends.span(1, 3)) == ("< 40", ">= 40", "[20, 60)")
    top = cells_of(attribute(declared + "{intervals: [20], above: 60}"), finest=1)
    assert (top.span(0, 2), top.span(2, 4)) == ("[0, 40)", ">= 40")
    named = cells_of(attribute(declared + "{cuts: [20, 40, 60], labels: ['< low', mid, high, '>= top']}"), finest=1)
    assert (named.span(0, 2), named.span(2, 4)) == ("[0, 40)", "[40, 100)")


def test_a_domain_of_a_million_values_falls_back_on_what_can_be_listed():
    plain = cells_of(attribute("type: integer, domain: [0, 999999]"))
    assert len(plain) <= STEPS
    assert sum(plain.sizes) == 1_000_000
    assert plain.labels[0] == "[0, 977)"
    cut = cells_of(attribute("type: integer, domain: [0, 999999], hierarchy: {intervals: [1000, 100000]}"))
    assert len(cut) == 1000
    assert len(cut.groups[0]) == 10
    masked = cells_of(attribute('type: text, domain: {pattern: "[0-9]{6}"}, hierarchy: {mask: right}'))
    assert isinstance(masked.level, MaskLevel)
    assert masked.labels[1] == "001***"
    assert masked.sizes[0] == 1000
    assert len(masked) == 1000 <= MOST


def test_decimals_are_cut_into_steps_or_by_their_hierarchy():
    steps = cells_of(attribute("type: decimal, domain: [0, 1]"))
    assert len(steps) == STEPS
    assert steps.loss((0, 1)) == pytest.approx(1 / (STEPS - 1))
    cut = cells_of(attribute("type: decimal, domain: [0, 1], hierarchy: {intervals: [0.1, 0.5]}"))
    assert cut.labels[0] == "[0, 0.1)"
    assert set(cut.sizes) == {1}  # each interval counts as one


def test_open_ends_stay_open():
    found = cells_of(attribute("type: decimal, domain: [0, 1000], hierarchy: {intervals: [10], below: 20, above: 90}"))
    assert (found.labels[0], found.labels[-1]) == ("< 20", ">= 90")
    assert found.span(len(found) - 3, len(found)) == ">= 70"
    assert found.span(0, 3) == "< 40"
    assert found.span(1, 3) == "[20, 40)"


def test_dates_ordinals_and_booleans():
    dates = cells_of(attribute("type: date, domain: [2025-01-01, 2025-12-31], hierarchy: {date: [month, quarter]}"))
    assert len(dates) == 365
    assert [group.label for group in dates.groups[1]] == ["2025-Q1", "2025-Q2", "2025-Q3", "2025-Q4"]
    assert dates.span(0, 31) == "[2025-01-01, 2025-02-01)"
    order = cells_of(attribute("type: ordinal, domain: [low, middle, high]"))
    assert order.ordered
    assert order.span(0, 2) == "low to middle"
    assert cells_of(attribute("type: boolean")).labels == ("false", "true")


def test_groups_that_are_no_runs_of_numbers_are_not_ordered():
    found = cells_of(attribute("type: integer, domain: [1, 4], hierarchy: {groups: {odd: [1, 3], even: [2, 4]}}"))
    assert not found.ordered
    assert {group.label for group in found.groups[0]} == {"odd", "even"}


def test_one_value_and_one_label():
    single = cells_of(attribute("type: category, domain: [a]"))
    assert single.labels == ("a",)
    assert single.loss((0,)) == 0.0
    top = cells_of(attribute("type: category, domain: [a, b], hierarchy: {groups: {x: [a], y: [b]}}"), finest=2)
    assert isinstance(top.level, TopLevel)
    assert top.labels == ("*",)


def test_what_cannot_be_listed_is_refused():
    with pytest.raises(PolicyError, match="has none"):
        cells_of(Attribute("x", Role.QUASI, attribute("type: boolean").type, None, None, Missing.REFUSE))
    with pytest.raises(PolicyError, match="too many values for boxes"):
        cells_of(attribute('type: text, domain: {pattern: "[a-z]+"}'))


def test_sizes_are_exact():
    found = cells_of(attribute("type: integer, domain: [3, 12], hierarchy: {intervals: [5]}"), finest=1)
    assert found.sizes == (Fraction(2), Fraction(5), Fraction(3))
    assert found.level == attribute("type: integer, domain: [3, 12], hierarchy: {intervals: [5]}").hierarchy.level(1)
    assert isinstance(cells_of(attribute("type: integer, domain: [3, 12]")).level, ValueLevel)


@pytest.mark.slow
def test_the_work_grows_with_the_values_and_not_with_values_times_labels(monkeypatch):
    """Counted, not timed: each edge is made a point a few times, and whole numbers are read as they are, once for all levels."""
    import shoal.data.cells as module

    calls = 0

    def counting(kind, value):
        nonlocal calls
        calls += 1
        return point(kind, value)

    monkeypatch.setattr(module, "point", counting)
    module._cells_of_like.cache_clear()  # what an attribute declared alike has left
    found = cells_of(attribute("type: integer, domain: [0, 32000], hierarchy: {intervals: [10, 100, 1000]}"))
    assert len(found) == 3201
    assert 3_200 <= calls < 3 * 3_200
    calls = 0
    cut = cells_of(attribute("type: integer, domain: [0, 999999], hierarchy: {intervals: [250, 500, 1000]}"))
    assert (len(cut), len(cut.groups)) == (4000, 2)
    assert calls < 10 * 4000


def test_values_of_a_level_of_intervals_lie_in_the_interval_that_their_label_says():
    found = cells_of(attribute("type: integer, domain: [-7, 8], hierarchy: {intervals: [5, 10]}"), finest=1)
    assert found.labels == ("[-10, -5)", "[-5, 0)", "[0, 5)", "[5, 10)")
    assert found.sizes == (2, 5, 5, 4)
    assert found.bounds == (-7, -5, 0, 5, 9)


def test_attributes_that_are_declared_alike_share_the_work_and_nothing_else():
    """A policy that is read again has other objects; what differs in anything that cells follow from has cells of its own."""
    spec = "type: integer, domain: [0, 9], hierarchy: {intervals: [2, 6]}"
    one, again = attribute(spec), attribute(spec)
    first, second = cells_of(one), cells_of(again)
    assert second.labels is first.labels
    assert first.attribute is one
    assert second.attribute is again
    assert cells_of(replace(one, name="y", role=Role.CONFIDENTIAL)).name == "y"
    others = [
        cells_of(one, finest=1),
        cells_of(attribute(spec, missing="value")),
        cells_of(attribute("type: integer, domain: [0, 8], hierarchy: {intervals: [2, 6]}")),
        cells_of(attribute("type: integer, domain: [0, 9], hierarchy: {intervals: [2, 4]}")),
        cells_of(attribute("type: integer, domain: [0, 9]")),
        cells_of(attribute("type: decimal, domain: [0, 9], hierarchy: {intervals: [2, 6]}"), finest=1),
    ]
    assert len({(each.labels, each.groups, each.sizes) for each in [first, *others]}) == 7
    for name in ("x", "y"):  # an error is not kept, and names the attribute that it is about
        with pytest.raises(PolicyError, match=f"attribute '{name}': too many values"):
            cells_of(replace(attribute('type: text, domain: {pattern: "[a-z]+"}'), name=name))
