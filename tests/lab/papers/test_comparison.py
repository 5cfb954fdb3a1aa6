"""Verdicts: to all printed digits, and able to fail."""

from __future__ import annotations

import pytest

from shoal.lab.papers.comparison import Reproduction, Verdict, digits, erratum, statement


@pytest.mark.parametrize(
    ("printed", "ours", "verdict"),
    [
        ("6.83e-10", 6.82865e-10, Verdict.REPRODUCED),
        ("6.84e-10", 6.82865e-10, Verdict.FAILED),
        ("0.159", 0.158565, Verdict.REPRODUCED),
        ("0.158", 0.158565, Verdict.FAILED),
        ("1e-5", 1.0000000000000001e-5, Verdict.REPRODUCED),
        ("11", 11.0000001, Verdict.REPRODUCED),
        ("2.00e-24", 1.99819e-24, Verdict.REPRODUCED),
    ],
)
def test_digits(printed, ours, verdict):
    assert digits("a number", printed, ours).verdict is verdict


def test_the_difference_is_told():
    assert digits("a number", "2", 2.02).difference == "+1.00%"


def test_statements_and_errata():
    good, bad = statement("a", "b", "c", holds=True), statement("a", "b", "c", holds=False)
    known = erratum("a", "b", "c", holds=True)
    assert [finding.verdict for finding in (good, bad, known)] == [Verdict.REPRODUCED, Verdict.FAILED, Verdict.ERRATUM]
    assert erratum("a", "b", "c", holds=False).verdict is Verdict.FAILED
    assert Reproduction([good, known]).holds
    assert not Reproduction([good, bad]).holds
