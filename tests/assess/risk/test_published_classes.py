"""The journalist's risk of a release: a population recoded by the published labels, on a table that was worked by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from shoal.assess.comparison.parts import ReadColumn, parts_of, read_column
from shoal.assess.comparison.table import ComparableColumn
from shoal.assess.release.labels import Label
from shoal.assess.risk.class_sizes import KeyClasses, PopulationSizes
from shoal.assess.risk.published_classes import covered_values, population_of_classes
from shoal.data.domain import Interval, Values
from shoal.data.schema import Attribute, Role
from shoal.data.type import Type
from shoal.errors import DataError
from shoal.policy.policy import Policy
from shoal.publish.assess import assess_release

AGES = [31, 33, 38, 35, 42, 47, 44, 58, 51, 36]
SEXES = ["M", "M", "F", "F", "M", "F", "M", "F", "M", "M"]
PEOPLE = {"age": AGES, "sex": SEXES}
"""Ten people; the first six columns of the release are about six of them."""
RELEASED = {"age": ["[30, 40)"] * 3 + ["[40, 50)"] * 2 + ["[50, 60)"], "sex": ["M", "M", "*", "*", "*", "F"]}
LENIENT = [3, 3, 5, 3, 3, 1]
"""(30s, M): 31, 33 and 36; (30s, any): these and 38, 35; (40s, any): 42, 47, 44; (50s, F): 58."""
STRICT = [3, 3, 2, 3, 3, 1]
"""The men in their thirties have a class of their own, so under (30s, suppressed) there are 38 and 35."""

AGE = Attribute("age", Role.QUASI, Type.INTEGER, Interval(0, 99))
SEX = Attribute("sex", Role.QUASI, Type.CATEGORY, Values(("F", "M")))


def population():
    return {
        "age": read_column(Type.INTEGER, np.array(AGES)),
        "sex": read_column(Type.CATEGORY, np.array(SEXES, dtype=object)),
    }


def column(attribute, codes, labels):
    held = population()[attribute.name]
    return ComparableColumn.of_labels(parts_of(attribute, held), np.array(codes), labels)


def released():
    decades = [Label(f"{low}s", ((Fraction(low), Fraction(low + 10)),)) for low in (30, 40, 50)]
    sexes = [Label("M", values=frozenset("M")), Label("F", values=frozenset("F")), Label("*", everything=True)]
    return {"age": column(AGE, [0, 0, 0, 1, 1, 2], decades), "sex": column(SEX, [0, 0, 2, 2, 2, 1], sexes)}


@pytest.mark.parametrize(("matching", "expected"), [("strict", STRICT), ("lenient", LENIENT)])
def test_classes_of_a_hand_worked_release_have_these_people(matching, expected):
    found = population_of_classes(released(), population(), ["age", "sex"], matching)
    assert found.sizes.tolist() == expected
    assert found.short == 0


@pytest.mark.slow
@pytest.mark.parametrize(("lenient", "expected"), [(False, STRICT), (True, LENIENT)])
def test_an_assessment_has_the_risk_of_the_release_by_the_population(lenient, expected):
    quasi = {"age": {"type": "integer", "domain": [0, 99]}, "sex": {"type": "category", "domain": ["F", "M"]}}
    attributes = {name: {"role": "quasi", **own} for name, own in quasi.items()}
    policy = Policy.of(
        {"version": 1, "dataset": "d", "unit": "row", "neighbours": "add_remove", "attributes": attributes}
    )
    # Those in the release: 31 M, 33 M, 38 F, 42 M, 47 F, 58 F.
    rows = [0, 1, 2, 4, 5, 7]
    everybody = pa.table(PEOPLE)
    found = assess_release(
        everybody.take(rows),
        masked=pa.table(RELEASED),
        policy=policy,
        population=everybody,
        lenient=lenient,
        full=False,
    )
    journalist = found.after.journalist
    risks = [1 / size for size in expected]
    assert journalist.mean.value == pytest.approx(sum(risks) / 6)
    assert journalist.largest.value == 1
    assert journalist.expected.value == pytest.approx(sum(risks))
    assert found.after.population_uniques.value == 1  # the woman in her fifties
    assert found.after.marketer_outside.value == pytest.approx(sum(risks) / 6)
    assert found.before.journalist.largest.value == 1
    assert "journalist" in found.words() if isinstance(found.words(), str) else True


def test_a_class_is_never_smaller_than_it_is_and_says_where_that_was_needed():
    """Rows whose values were changed before they were published: nobody of the population is in their class."""
    decades = [Label("90s", ((Fraction(90), Fraction(100)),)), Label("50s", ((Fraction(50), Fraction(60)),))]
    shown = {"age": column(AGE, [0, 0, 0, 1], decades)}
    found = population_of_classes(shown, population(), ["age"], "strict")
    assert found.sizes.tolist() == [3, 3, 3, 2]
    assert found.short == 3


def test_published_values_match_their_like():
    """Without labels a class is its values, so the sizes are those that keys in the same codes give."""
    held = population()
    shown = {
        name: ComparableColumn.of_values(parts_of(each, held[name]), held[name])
        for name, each in (("age", AGE), ("sex", SEX))
    }
    ages = np.unique(AGES, return_inverse=True)[1]
    keys = np.stack([ages, np.array([value == "M" for value in SEXES], dtype=np.int64)], axis=1)
    expected = KeyClasses.of(keys).population_sizes(keys)
    assert population_of_classes(shown, held, ["age", "sex"], "strict").sizes.tolist() == expected.tolist()


def test_which_values_a_label_stands_for():
    towns = ReadColumn(None, ("4301", "4302", "4400"), np.array([0, 1, 2, -1]))
    assert covered_values(Label("430*", values=frozenset(["430*"])), towns).tolist() == [True, True, False, False]
    assert covered_values(Label("*", values=frozenset("*")), towns).tolist() == [True, True, True, False]
    assert covered_values(Label("(missing)", missing=True), towns).tolist() == [False, False, False, True]
    assert covered_values(Label("all", everything=True), towns).tolist() == [True] * 4
    ages = ReadColumn(np.array([5.0, np.nan, 7.0]), (), np.empty(0, dtype=np.int64))
    assert covered_values(Label("7", ((Fraction(7), Fraction(7)),)), ages).tolist() == [False, True, False]
    assert covered_values(Label("below", ((None, Fraction(7)),)), ages).tolist() == [True, False, False]


def test_what_does_not_fit_is_refused():
    nobody = {name: each.take(np.empty(0, dtype=np.int64)) for name, each in population().items()}
    with pytest.raises(DataError, match="population has no row"):
        population_of_classes(released(), nobody, ["age"], "strict")
    with pytest.raises(DataError, match="sizes do not fit the table"):
        KeyClasses.of([[0], [1]]).population_sizes(PopulationSizes(np.array([1])))
