"""Numbers that were worked out by hand, or printed in a paper."""

from __future__ import annotations

import math

import pytest

from shoal.assess.disclosure.measures import observe
from shoal.data.domain import Values
from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.level import GroupLevel, TopLevel, ValueLevel
from shoal.data.schema import Type
from shoal.errors import DataError, ParameterError
from tests.assess.disclosure.tables import counted, schema, secret

# Two classes. a: flu flu cold; b: flu cold cold ache.        Table: flu 3/7, cold 3/7, ache 1/7.
SEVEN = [("a", "flu"), ("a", "flu"), ("a", "cold"), ("b", "flu"), ("b", "cold"), ("b", "cold"), ("b", "ache")]


def seen(rows, width=1, kind=Type.CATEGORY, lenient=False, c=4.0, **more):
    names = [f"q{i}" for i in range(width)] + ["s"]
    return observe(counted(rows, names), schema(width, secret(kind=kind, **more)), lenient=lenient, recursive_c=c)


def test_seven_rows():
    found = seen(SEVEN)
    assert (found.rows, found.classes, found.k, found.l, found.uniques) == (7, 2, 3, 2, 0)
    one = found.confidential[0].measures
    # a: −(2/3 ln 2/3 + 1/3 ln 1/3) = 0.6365, exp = 1.8899; b has entropy ln 4 − 1/2 ln 2 = 1.0397, exp = 2.8284
    assert one.entropy_l == pytest.approx(3 / 2 ** (2 / 3))
    assert one.alpha == pytest.approx(2 / 3)  # flu in a
    # a: |2/3 − 3/7| + |1/3 − 3/7| + |0 − 1/7| = (5 + 2 + 3)/21, half: 5/21; b: (5 + 2 + 3)/28, half: 5/28
    assert one.t == one.t_equal == pytest.approx(5 / 21)
    assert math.isinf(one.ratio)  # nobody in a has an ache
    assert math.isinf(one.delta_disclosure)
    assert one.basic_beta == pytest.approx(0.75)  # ache in b: (1/4 − 1/7) / (1/7)
    # flu in a gains 5/9 ≤ −ln 3/7 = 0.847; ache in b gains 3/4 ≤ ln 7: the bound never bites
    assert one.enhanced_beta == pytest.approx(0.75)
    assert one.delta_disclosure_present == pytest.approx(math.log(7 / 4))  # flu in b ln(12/7), ache in b ln(7/4)
    assert found.confidential[0].distance == "equal"


def test_recursive_diversity_counts_the_tail():
    # a: counts 2, 1. l = 2: 2 < c·1. b: counts 2, 1, 1. l = 3: 2 < c·1; l = 2: 2 < c·2.
    assert [seen(SEVEN, c=c).confidential[0].measures.recursive_l for c in (0.5, 1, 2, 2.5)] == [0, 1, 1, 2]


def test_tcloseness_paper_example():
    """Li et al. 2007, section 4.2, Example 3: salaries 3k to 11k; P1 = {3, 4, 5}, P2 = {6, 8, 11}: 0.375 and 0.167."""
    rows = [
        ("one", 3),
        ("one", 4),
        ("one", 5),
        ("two", 6),
        ("two", 8),
        ("two", 11),
        ("three", 7),
        ("three", 9),
        ("three", 10),
    ]
    # "three" = {7, 9, 10}: cumulative differences −1 −2 −3 −4 −2 −3 −1 1 0 over 9, sum 17/9, / 8 = 0.236
    found = seen(rows, kind=Type.INTEGER).confidential[0]
    assert found.distance == "ordered"
    assert found.measures.t == pytest.approx(0.375)
    # Without the first class at its extreme: two classes, P2 against the same nine salaries
    rest = [("rest", value) for name, value in rows if name != "two"]
    two = seen([row for row in rows if row[0] == "two"] + rest, kind=Type.INTEGER).confidential[0]
    assert two.measures.t == pytest.approx(1 / 6)  # P2 is 0.167 away; its complement half as far


def test_tcloseness_in_a_tree():
    """Height 2: flu and cold are coughs, cut and burn are wounds; a cough is 1/2 from a cough and 1 from a wound."""
    leaves = ("flu", "cold", "cut", "burn")
    tree = Hierarchy(
        "groups",
        Values(leaves),
        (ValueLevel(), GroupLevel(leaves, (0, 0, 1, 1), ("cough", "wound")), TopLevel()),
        (0.0, 0.5, 1.0),
        {},
    )
    rows = [
        ("a", "flu"),
        ("a", "flu"),
        ("b", "cold"),
        ("b", "cut"),
        ("b", "cut"),
        ("b", "burn"),
        ("b", "burn"),
        ("b", "cold"),
    ]
    # Table: a quarter each. a is all flu: a quarter comes from cold (1/2), a half from wounds (1): 1/8 + 1/2 = 5/8.
    # b: cold 1/3 cut 1/3 burn 1/3: 1/12 goes from cold to flu (1/2), 1/6 from wounds to flu (1): 1/24 + 1/6 = 5/24.
    found = seen(rows, domain=Values(leaves), hierarchy=tree).confidential[0]
    assert found.distance == "hierarchical"
    assert found.measures.t == found.measures.t_hierarchical == pytest.approx(5 / 8)
    assert found.measures.t_equal == pytest.approx(3 / 4)
    assert (found.homogeneous_classes, found.homogeneous_rows) == (1, 2)


def test_ratio_is_one_when_classes_look_like_the_table():
    rows = [(group, value) for group in "abc" for value in ("x", "x", "y")]
    one = seen(rows).confidential[0].measures
    assert (one.ratio, one.delta_disclosure, one.basic_beta, one.t) == (1.0, 0.0, 0.0, 0.0)
    # a: x 3/4; b: x 1/4; table 1/2: 1/2 over 1/4 is 2
    rows = [("a", "x")] * 3 + [("a", "y")] + [("b", "x")] + [("b", "y")] * 3
    one = seen(rows).confidential[0].measures
    assert one.ratio == pytest.approx(2)
    assert one.delta_disclosure == pytest.approx(math.log(2))


def test_enhanced_beta_can_be_out_of_reach():
    # x is 1/2 of the table and all of a: gain 1 > −ln(1/2) = 0.69, so no beta will do
    one = seen([("a", "x"), ("b", "y")]).confidential[0].measures
    assert one.basic_beta == pytest.approx(1)
    assert math.isinf(one.enhanced_beta)


def test_an_ordinal_attribute_is_ordered_as_declared():
    rows = [("a", "low"), ("b", "middle"), ("c", "high")]
    found = seen(rows, kind=Type.ORDINAL, domain=Values(("low", "middle", "high"))).confidential[0]
    # a: low against a third each: cumulative 2/3, 1/3, 0, sum 1, / 2
    assert (found.distance, found.measures.t) == ("ordered", pytest.approx(0.5))


def test_missing_is_a_value_that_matches_itself():
    rows = [("a", "x"), (None, "x"), (None, None), ("*", "x"), ("(missing)", "x"), ("", "x")]
    found = seen(rows)
    assert (found.classes, found.k, found.uniques) == (5, 1, 4)
    assert found.confidential[0].values == 2


def test_lenient_missing_matches_anything():
    rows = [("a", "1", "x"), ("a", "*", "y"), ("b", None, "x"), ("b", "2", "z"), ("*****", "(missing)", "x")]
    strict, lenient = seen(rows, width=2), seen(rows, width=2, lenient=True)
    assert (strict.matching, strict.k, strict.uniques) == ("strict", 1, 5)
    # (a 1) meets (a *) and (all hidden): 3; (a *): the same 3; (b, None) and (b 2): 3 each; the hidden one meets all 5
    assert (lenient.matching, lenient.k, lenient.uniques, lenient.sizes.quantiles["1"]) == ("lenient", 3, 0, 5)
    assert lenient.smallest_classes == 4
    assert lenient.l == 2


def test_sizes_are_counted_in_bins():
    rows = [("a", "x")] + [("b", "x")] * 2 + [("c", "x")] * 4 + [("d", "x")] * 120
    sizes = seen(rows).sizes
    assert [(part.low, part.high, part.classes, part.rows) for part in sizes.bins if part.classes] == [
        (1, 1, 1, 1), (2, 2, 1, 2), (3, 4, 1, 4), (100, None, 1, 120),
    ]  # fmt: skip
    assert sizes.mean == pytest.approx(127 / 4)
    assert sizes.quantiles == {"0": 1, "0.05": 1, "0.25": 1, "0.5": 2, "0.75": 4, "0.95": 120, "1": 120}


def test_without_a_confidential_attribute():
    found = observe(counted([("a",), ("a",)], ["q0"]), schema(1))
    assert (found.k, found.l, found.t, found.worst) == (2, None, None, None)
    assert found.to_json()["l"] is None


def test_the_worst_of_two_attributes():
    rows = [("a", "x", 1), ("a", "y", 1), ("b", "x", 2), ("b", "y", 3)]
    found = observe(counted(rows, ["q0", "s", "n"]), schema(1, secret(), secret("n", Type.INTEGER)))
    assert [one.measures.l for one in found.confidential] == [2, 1]
    assert (found.l, found.worst.entropy_l, found.worst.t_hierarchical) == (1, 1.0, None)
    assert found.t == max(one.measures.t for one in found.confidential)


def test_json_has_no_infinity_and_words_no_values():
    found = seen(SEVEN)
    fields = found.to_json()
    assert (fields["version"], fields["k"], fields["confidential"][0]["ratio"]) == (1, 3, None)
    assert "k = 3" in found.words()
    assert not any(value in found.words() for value in ("flu", "cold", "ache"))


def test_refusals():
    with pytest.raises(DataError, match="no rows"):
        seen([])
    with pytest.raises(ParameterError, match="c of recursive"):
        seen(SEVEN, c=0)
