"""Plans of rows inside boxes: what epsilon is spent on, what error to expect, what is warned of and what is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shoal.errors import InfeasibleError, ParameterError, PolicyError, PreconditionError
from shoal.guarantee.differential import PureDP
from shoal.guarantee.sentences import growth
from shoal.publish.plan.boxes import DRAWN, SPREAD
from shoal.publish.plan.centroids import CentroidsPlan
from tests.publish import centroid_clinic
from tests.publish.box_clinic import BOXES, KINDS, planned


def test_it_promises_a_pure_epsilon_and_says_what_it_is_spent_on():
    plan = planned({"release.epsilon": 1})
    (claim,) = plan.claims
    assert claim.guarantee == PureDP(1)
    assert claim.theorems == ("halving-tree", "box-means", "staircase-box", "post-processing")
    assert plan.cost is not None
    assert (plan.cost.epsilon, plan.cost.delta, plan.epsilon_composed) == (1, 0, 1)
    assert [(part, times) for part, times in plan.parts] == [
        (PureDP("0.1"), 1),  # one attribute, town, has values without an order to count
        (PureDP("0.2"), 1),
        (PureDP("0.7"), 1),
    ]
    facts = {name: (value, about) for name, value, about in plan.facts()}
    assert (facts["for values"][0], facts["for the tree"][0], facts["for means"][0]) == ("0.1", "0.2", "0.7")
    assert facts["rows"][0] == "noisy"  # at a large epsilon it is nearly told
    assert plan.warnings == []


def test_a_person_with_several_rows_pays_for_each_that_comes_or_goes():
    plan = planned({**KINDS["person"], "release.epsilon": 6})
    assert plan.setting.row_epsilon == 1
    assert plan.claims[0].theorems == (
        "halving-tree", "box-means", "staircase-box", "group-privacy", "replace-one", "post-processing",
    )  # fmt: skip
    assert sum((part.epsilon * times for part, times in plan.parts), Fraction(0)) == 6
    assert "At most 3 rows of each 'person'" in " ".join(plan.sentences())


def test_what_each_column_shows_and_how_far_off_a_mean_is():
    plan = planned()
    assert plan.shows["pay"] == plan.shows["hired"] == plan.shows["grade"] == SPREAD
    assert plan.shows["town"] == plan.shows["union"] == DRAWN
    rows = {row[0]: row[1:] for row in plan.view_rows(20)}
    assert rows["pay"][0] == "1,001"
    half = plan.setting.half_width
    assert float(rows["pay"][1]) == pytest.approx(1000 * half / 2000, rel=0.01)
    assert rows["town"][1].endswith("% of records")
    assert rows["hired"][1].endswith("days")
    assert plan.view_rows(2)[-1][0] == "and 5 more"


def test_the_sentences_say_what_is_done_and_that_rows_are_nobodys():
    said = " ".join(planned({"release.epsilon": 1}).sentences())
    assert f"at most {growth(Fraction(1))} times what it is without it; and the other way round" in said
    assert "nothing is added" in said
    assert "Values without an order are counted with noise" in said
    assert "No row was copied from a record." in said
    assert "(where none does, those with the largest) have rows" in said  # as `estimate` does it
    assert "as many as all noisy counts add up to, and at least one" in said
    assert "counted with noise" not in " ".join(planned(KINDS["numeric"]).sentences())


def test_noise_of_more_rows_than_can_be_held_is_refused_before_the_charge():
    with pytest.raises(InfeasibleError, match=r"millions of rows of nothing; got .* records; .* raise epsilon"):
        planned({"release.epsilon": "0.000001"})
    assert planned({"release.epsilon": "0.0001"}).setting.deviation < 1_000_000


def test_noise_that_drowns_a_table_is_warned_of_by_the_number_of_rows_it_takes():
    plan = planned({"release.epsilon": "0.01"})
    (warning,) = plan.warnings
    assert f"fewer than about {plan.fewest_rows:,} rows" in warning
    assert plan.fewest_rows >= plan.setting.records_to_divide() > 1000
    assert "Raise epsilon; or publish fewer attributes" in warning
    assert plan.page_fields(None)["cautions"][0] == warning
    assert plan.job().notes(plan.fewest_rows) == []
    assert "expect rows that say little" in plan.job().notes(plan.fewest_rows - 1)[0]


def test_the_plan_as_plain_values():
    found = planned({"release.epsilon": 2}).to_json()
    assert (found["method"], found["epsilon"], found["delta"]) == ("dp-microaggregation", 2.0, 0.0)
    assert found["boxes"]["grouping"] == "boxes"
    assert found["expected_error"]["mean"] == pytest.approx(found["expected_error"]["count"] / 2000)
    assert found["files"] == ["table.csv"]


def test_what_cannot_be_planned():
    with pytest.raises(PreconditionError, match="single declared value"):
        planned({"attributes.pay.domain": [5, 5]})
    with pytest.raises(ParameterError, match="epsilon is out of range for box means"):
        planned({"release.epsilon": "1e-7"})
    with pytest.raises(PolicyError, match=r"drafted from the data; got attributes\.pay\.domain"):
        planned({"attributes.pay.provenance": "profiled"})
    with pytest.raises(PolicyError, match="boxes have a plan of their own"):
        CentroidsPlan.of(centroid_clinic.policy(BOXES))
    with pytest.raises(PolicyError, match="nothing to rehearse"):
        planned().rehearse()
