"""Methods compared on a real table: real jobs on a part of it, a control group that takes no part, looks on record, one page."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from shoal.assess.quantity import Quantity
from shoal.chance.source import Source
from shoal.errors import DataError, LedgerError, ParameterError, UsageError
from shoal.ledger.ledger import Ledger
from shoal.publish.comparison.methods import (
    LIMITS,
    READING,
    TUNED,
    MethodOutcome,
    MethodsComparison,
    compare_methods,
    name_policies,
    steps,
)
from shoal.publish.comparison.methods import _parts as parts
from tests.publish import centroid_clinic, clinic

K5 = {"release": {"method": "k-anonymity", "k": 5}, "budget": None}
TOO_SMALL = {"release.k": 2}
"""A class size that does not reach the promise at its sampling rate."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("compared")


@pytest.fixture(scope="module")
def found(place):
    """Three policies and the part itself as another tool's table, with everything but attacks and models."""
    table, ledger, part = clinic.write_table(place / "table.csv", 300), str(place / "ledger.sqlite"), place / "part.csv"
    with Ledger(ledger):
        pass
    policies = {"safe": clinic.policy(), "k": clinic.policy(K5), "bad": clinic.policy(TOO_SMALL)}
    compare_methods({"k": policies["k"]}, table, seed=3, full=False, part=part)
    ticks: list[int] = []
    made = compare_methods(
        policies, table, masked={"copy": part}, synthetic={"drawn": part}, seed=3, full=False, ledger=ledger,
        tick=lambda: ticks.append(1),
    )  # fmt: skip
    assert len(ticks) == steps(5, ["diag"], full=False) > READING
    return made


@pytest.mark.slow
def test_every_policy_goes_through_its_own_job_on_four_fifths(found):
    safe, k, bad, *_ = found.methods
    assert found.rows == (300, 240, 60)
    assert safe.claim == "(1, 0.001)-DP of one row added or removed; k-anonymity, k = 14"
    assert (k.claim, k.status, k.rows) == ("k-anonymity, k = 5", "checked", 240)
    assert safe.measures["prosecutor.largest"].value <= 1 / 14
    assert k.measures["prosecutor.largest"].value <= 1 / 5
    assert 0 < safe.rows < 240
    assert all(one.cpu >= 0 for one in (safe, k))
    assert "do not reach the promise" in bad.why_not
    assert bad.measures == {}
    assert [one.name for one in found.ran] == ["safe", "k", "copy", "drawn"]


@pytest.mark.slow
def test_the_part_that_a_seed_draws_is_what_other_tools_get(found):
    """The part itself, as another tool's table, is at no distance: it holds the very rows that the methods were run on."""
    copy, drawn = found.methods[-2:]
    for one in (copy, drawn):
        assert one.rows == 240
        assert one.measures["pairs"].value == one.measures["queries"].value == 0
        assert one.cpu is None
    assert copy.measures["prosecutor.largest"].value == found.original_risk[0].value == 1
    assert "prosecutor.largest" not in drawn.measures  # its rows are nobody's


@pytest.mark.slow
def test_looks_are_on_record_and_a_plan_that_is_chosen_now_is_tuned(found, place):
    with Ledger(str(place / "ledger.sqlite")) as ledger:
        account = ledger.account("clinic")
        counts = account.count_looks(clinic.planned().confirmed_lock.sha256)
        assert [(count.kind, count.times, count.other_plan) for count in counts] == [("dry-run", 2, 1)]
        assert account.spent.epsilon == 0
    assert found.tuned
    assert found.plans == 2  # the third could not be planned, and saw nothing
    assert found.methods[0].status == "proved for a plan tuned on the data"
    assert TUNED in found.words()
    assert LIMITS in found.words()
    told = found.to_json()
    assert (told["charged"], told["tuned"], told["version"]) == (False, True, 1)
    assert told["methods"][0]["measures"]["pairs"]["value"] == found.methods[0].measures["pairs"].value
    assert told["methods"][2]["assessment"] is None


@pytest.mark.slow
def test_the_page_has_a_map_small_charts_and_a_table_under_each(found):
    page = found.page()
    assert page == found.page()
    assert "<script" not in page
    assert page.count("<figure") == 3
    assert page.count('<svg class="drawn" role="img" aria-label=') == 1 + 2 + 4  # one map, two risks, four distances
    assert page.count('</figure>\n<div class="scroll"><table') == 3
    assert "tuned on the data" in page
    assert "do not reach the promise" in page


@pytest.mark.slow
def test_one_plan_is_not_tuned_and_a_public_number_of_rows_is_that_of_the_part(tmp_path):
    policy = centroid_clinic.policy()
    table = centroid_clinic.write_table(tmp_path / "table.csv")
    made = compare_methods({"centroids": policy}, table, seed=1, full=False)
    (only,) = made.methods
    assert only.why_not is None
    assert "not for the" in only.notes[0]
    assert not made.tuned
    assert only.status == "proved"
    assert TUNED not in made.words()
    assert made.ledger is None


@pytest.mark.slow
def test_attacks_and_models_are_judged_against_the_control_group(tmp_path):
    table = clinic.write_table(tmp_path / "table.csv", 100)
    (only,) = compare_methods({"k": clinic.policy(K5)}, table, seed=1).methods
    assert {"inference", "linkability", "area", "pmse"} <= set(only.measures)
    inference = next(one for one in only.assessment.attacks if one.attack.startswith("inference"))
    assert inference.measured_against == "control"
    assert only.assessment.utility.learning[0].control
    assert only.area_of_originals is not None


def test_people_are_in_one_part_with_all_their_rows():
    names = np.ma.array([f"p{i % 12}" for i in range(50)], dtype=object)
    table = SimpleNamespace(rows=lambda: 50, collect=lambda columns: {columns[0]: names})
    with Source.seeded(1) as source:
        taking, held = parts(table, "patient", 0.25, source)
        inside, outside = ({names[i] for i in np.flatnonzero(mask(0, 50))} for mask in (taking, held))
        rows, others = parts(table, None, 0.2, source)
    assert len(outside) == 3
    assert not inside & outside
    assert (rows(0, 50).sum(), others(0, 50).sum(), others(10, 5).tolist()) == (40, 10, others(0, 50)[10:15].tolist())


def test_what_cannot_be_compared_is_refused(tmp_path):
    table = clinic.write_table(tmp_path / "table.csv", 20)
    one, k = clinic.policy(), clinic.policy(K5)
    dropped = clinic.policy({"attributes.sex.role": "drop"})
    with pytest.raises(UsageError, match="no policy to compare"):
        compare_methods({}, table)
    with pytest.raises(ParameterError, match="no share; got 1"):
        compare_methods({"a": one}, table, holdout=1)
    with pytest.raises(ParameterError, match="seed is negative"):
        compare_methods({"a": one}, table, seed=-1)
    with pytest.raises(UsageError, match="made from no part of this comparison"):
        compare_methods({"a": one}, table, masked={"b": table})
    with pytest.raises(UsageError, match="two methods have one name; got a"):
        compare_methods({"a": one}, table, seed=1, masked={"a": table})
    with pytest.raises(UsageError, match=r"different attributes.*got b: sex"):
        compare_methods({"a": one, "b": dropped}, table)
    with pytest.raises(UsageError, match="no published attribute; got patient"):
        compare_methods({"a": one}, table, targets=["patient"])
    with pytest.raises(UsageError, match="by different columns"):
        compare_methods(
            {
                "a": clinic.policy({"unit": {"column": "patient", "max_rows": 2}}),
                "b": clinic.policy(
                    {
                        "unit": {"column": "house", "max_rows": 2},
                        "attributes.house": {"role": "identifier", "type": "text"},
                    }
                ),
            },
            table,
        )
    with pytest.raises((UsageError, LedgerError)):  # before any work
        compare_methods({"a": k}, table, ledger=str(tmp_path / "none.sqlite"))
    small = clinic.write_table(tmp_path / "small.csv", 9)
    with pytest.raises(DataError, match="too small to be parted; got 9 units"):
        compare_methods({"a": k}, small)


def test_policies_are_named_by_their_files():
    one = clinic.policy()

    def at(file):
        return replace(one, file=file)

    assert list(name_policies([at("a.yaml"), at("x/b.yaml")])) == ["a", "b"]
    assert list(name_policies([at("x/a.yaml"), at("y/a.yaml")])) == ["x/a", "y/a"]
    assert list(name_policies([at("policy"), at("policy")])) == ["policy", "policy (2)"]


def test_a_comparison_in_which_nothing_ran_still_says_why():
    made = MethodsComparison(
        "people", (10, 8, 2), ("age",), (), (), None, False, None, (MethodOutcome("a", "safe-k", "none", "", why_not="no"),),
        0, None,
    )  # fmt: skip
    assert made.ran == ()
    assert "a: no." in made.words()
    assert "not run" in made.page()
    assert repr(made) == "<Comparison of 1 methods on 'people': 0 ran>"
    assert made.to_json()["original_risk"] is None


def test_the_largest_of_several_inferences_counts():
    def attack(name, value):
        return SimpleNamespace(attack=name, risk=Quantity.fact(value, "x"))

    utility = SimpleNamespace(
        marginals=(), queries=SimpleNamespace(absolute=Quantity.fact(0, "x")), learning=(), distinction=None
    )
    attacks = (attack("inference of 'a'", 0.1), attack("inference of 'b'", 0.3), attack("linkability", 0.2))
    seen = SimpleNamespace(after=None, attacks=attacks, utility=utility)
    outcome = MethodOutcome("a", "x", "y", "z", assessment=seen)
    assert outcome.measures["inference"].value == 0.3
    assert outcome.measures["linkability"].value == 0.2
