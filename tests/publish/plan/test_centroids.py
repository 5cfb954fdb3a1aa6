"""Plans of noisy centroids: what is promised and charged, how k and noise come about, and what is said of them."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from shoal.anonymize.cluster.lattice import NumberLattice
from shoal.errors import InfeasibleError, PolicyError
from shoal.guarantee.differential import ApproxDP, PureDP
from shoal.publish.plan.centroids import in_units, percent
from tests.publish.centroid_clinic import KINDS, planned

ALONE = {**KINDS["numeric"], "rate": "drop", "grade": "drop", "hired": "drop"}
"""Pay alone."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_pure_epsilon_is_promised_and_charged_whatever_is_published(kind):
    made = planned(KINDS[kind])
    assert made.total == PureDP(8)
    assert made.cost.epsilon == 8
    assert made.cost.delta == 0
    assert made.epsilon_composed <= 8
    assert made.claims[0].status.value == "proved"
    assert made.claims[0].unit.neighbours == "replace_one"
    assert {"post-processing", made.setting.cluster_theorem} <= set(made.claims[0].theorems)
    assert json.dumps(made.to_json())


def test_gaussian_noise_promises_epsilon_and_delta():
    made = planned({**KINDS["numeric"], "release.noise": "gaussian", "release.delta": "1e-6"})
    assert made.total == ApproxDP(8, "1e-6")
    assert made.cost.delta == Fraction(1, 10**6)
    assert made.epsilon_composed <= 8
    assert "concentrated-composition" in made.claims[0].theorems
    assert "0.000001" in made.sentences()[0]


def test_a_delta_that_the_noise_does_not_use_is_not_promised():
    made = planned({**KINDS["numeric"], "release.noise": "laplace", "release.delta": "1e-6"})
    assert made.total == PureDP(8)
    assert made.cost.delta == 0


def test_the_calibration_of_the_thesis_is_charged_for_every_cluster_and_every_attribute():
    asked = {"release.calibration": "per_record", "release.k": 30, "release.epsilon": 1}
    made = planned({**KINDS["numeric"], **asked})
    assert made.setting.clusters == 4
    assert made.total == PureDP(4 * 4)
    assert made.price().epsilon == 16
    said = " ".join(made.sentences())
    assert "epsilon 16" in said
    assert "and so 4 if a record could change one cluster alone" in said
    assert "keeps 16, which is what is promised" in made.warnings[-1]
    assert "It does not keep the epsilon that the policy names" in made.not_promised[0]


def test_more_than_can_be_stated_is_refused_where_the_thesis_would_claim_little():
    with pytest.raises(InfeasibleError, match=r"60 clusters and 4 attributes, .*; got 1920; .*calibration: whole"):
        planned({**KINDS["numeric"], "release.calibration": "per_record", "release.k": 2, "release.epsilon": 8})


def test_ranks_of_one_attribute_have_the_noise_of_its_width_whatever_the_number_of_clusters():
    for k in (5, 30):
        made = planned({**ALONE, "release.grouping": "ranking", "release.noise": "laplace", "release.k": k})
        assert made.setting.entries[0].scale == Fraction(1000, 8)
        assert made.files == ("table.csv",)


def test_ranks_of_several_attributes_have_a_table_each():
    made = planned(KINDS["ranking"])
    assert made.groups == (("pay",), ("rate",), ("grade",), ("hired",))
    assert made.files == tuple(f"attributes/0{n}-{c}.csv" for n, c in enumerate(("pay", "rate", "grade", "hired"), 1))
    assert "relations between attributes are not published" in made.not_promised[-1]
    assert made.recoding_words().startswith("4 tables of one column")


def test_k_is_found_without_the_data_or_taken_from_the_policy():
    found, given = planned(ALONE), planned({**ALONE, "release.k": 10})
    assert found.setting.k_found
    assert not given.setting.k_found
    assert found.setting.error_bound <= given.setting.error_bound
    assert "found without the data" in found.sentences()[-1]
    assert "k = 10 is the policy's" in given.sentences()[-1]
    assert "120, is public" in given.sentences()[-1]


def test_a_bound_is_claimed_on_the_distance_from_a_mean_for_ranks_alone():
    ranks, whole = planned({**ALONE, "release.grouping": "ranking"}), planned()
    assert "for every table, on how far records are from their cluster's mean" in ranks.sentences()[-1]
    assert "from the middle of their cluster along its order" in whole.sentences()[-1]
    assert "(for concepts a bound on it)" in whole.sentences()[-1]
    assert "near to the cluster's records more likely than one farther off" in " ".join(whole.sentences())


def test_a_heavier_attribute_has_less_noise():
    pair = {**KINDS["numeric"], "grade": "drop", "hired": "drop", "release.k": 40}
    light, heavy = planned(pair), planned({**pair, "attributes.pay.weight": 27})
    assert heavy.setting.half_width("pay") < light.setting.half_width("pay")
    assert heavy.setting.half_width("rate") > light.setting.half_width("rate")


def test_what_is_shown_of_each_attribute():
    made = planned()
    assert made.shows == {
        **dict.fromkeys(("pay", "rate", "grade", "hired"), "noisy mean"),
        "town": "drawn concept",
        **dict.fromkeys(("sex", "union"), "drawn value"),
    }
    assert made.displayed["town"].type.value == "text"
    assert made.displayed["sex"].type.value == "category"


def test_errors_are_given_in_the_units_of_each_attribute():
    made = planned()
    assert made.half_width("town") is None
    widths = {name: made.half_width(name) for name in ("pay", "grade", "hired")}
    assert widths["grade"].endswith(" ranks")
    assert widths["hired"].endswith(" days")
    pay = made.lattice("pay")
    assert isinstance(pay, NumberLattice)
    assert in_units(pay, Fraction(1, 3)) == "334"
    assert percent(1 / 3) == "33.4 %"
    lines = {line[0]: line for line in made.view_rows(12)}
    assert lines["town"][1] == "drawn"
    assert "7 concepts" in lines["town"][2]
    assert lines["pay"][1] == widths["pay"]
    assert made.view_rows(2)[-1][0] == "and 5 more"


def test_noise_that_drowns_the_values_is_said_to_and_what_helps():
    made = planned({**KINDS["numeric"], "release.epsilon": "0.01", "release.k": 5})
    (said,) = made.warnings
    assert "The noise drowns 'pay'" in said
    assert "leave k out" in said
    assert "grouping: ranking" in said
    assert "The noise drowns" in made.page()
    assert planned({**ALONE, "release.epsilon": 100, "release.grouping": "ranking"}).warnings == []


def test_a_domain_that_was_read_from_the_data_is_refused():
    asked = {"attributes.pay.provenance": "profiled"}
    with pytest.raises(
        PolicyError, match=r"drafted from the data; got attributes.pay.domain; .*`shoal policy confirm`"
    ):
        planned(asked)
    assert planned({**asked, "pay": "drop"}).groups[0][0] == "rate"


def test_it_is_not_rehearsed_and_says_why():
    with pytest.raises(PolicyError, match="known beforehand"):
        planned().rehearse()


def test_the_page_says_what_is_promised_and_how_large_the_noise_is():
    made = planned()
    text = made.page()
    assert "script" not in text
    assert all(word in text for word in ("The attributes", "of its domain", "drawn", "replace"))
    assert "unless they are in the list of charges below" not in text
