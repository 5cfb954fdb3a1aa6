"""The plan of a plain sample: what it says before any row is read."""

from __future__ import annotations

from fractions import Fraction

import pytest

import shoal
from shoal.errors import InfeasibleError, PolicyError
from shoal.publish.plan.methods import plan
from tests.publish.sample_clinic import policy


def planned(**changes):
    return plan(policy({f"release.{key}": value for key, value in changes.items()}))


def test_a_plan_says_what_holds_and_that_the_table_decides_the_rate():
    found = planned(rare="drop")
    said = " ".join(found.sentences())
    assert "more than 1.5 times as likely as any other choice" in said
    assert "found on the table" in said
    assert "their rows are left out before the sample is drawn" in said
    assert found.claims[0].guarantee.rate is None
    assert found.cost is None
    assert "no differential privacy" in repr(found)
    assert {name: value for name, value, _ in found.facts()}["rate"] == "found on the table, below 0.3334"
    assert found.to_json()["sample"]["rare_below"] == 3
    assert "or coarser" in planned(rare="generalize").recoding_words()
    assert "<svg" not in found.page()


def test_a_declared_rate_is_in_the_claim_and_in_the_words():
    found = planned(sampling={"beta": "0.05"})
    assert found.claims[0].guarantee.rate == Fraction(1, 20)
    assert "with probability 0.05, if that is safe for the table" in " ".join(found.sentences())
    assert "That the declared rate is safe was found on the table" in found.not_promised[1]
    with pytest.raises(InfeasibleError, match="no table has values so common"):
        planned(sampling={"beta": "0.5"})


@pytest.mark.parametrize("rare", ["keep", "refuse", "drop", "generalize", "replace"])
def test_what_the_treatment_of_rare_values_gives_away_is_said(rare):
    others = {planned(rare=each).not_promised[1] for each in ("keep", "refuse", "drop", "generalize", "replace")}
    assert len(others) == 5
    assert planned(rare=rare).not_promised[1] in others


def test_a_plain_sample_is_neither_rehearsed_nor_compared():
    with pytest.raises(PolicyError, match="found on the table, so there is nothing to rehearse"):
        shoal.rehearse(planned())
    with pytest.raises(PolicyError, match="makes no differential promise"):
        shoal.compare(policy())
