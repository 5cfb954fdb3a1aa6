"""SC13 chapter 7: every table is made again exactly, a wrong entry is noticed, and each erratum is one."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shoal.lab.papers import sc13_chapter7
from shoal.lab.papers.catalogue import RESULTS
from shoal.lab.papers.comparison import Verdict
from shoal.lab.papers.sc13_chapter7 import MEDICAL, RIGHT, linked_medical, printed_bucket_sizes, printed_selection

MINE = [name for name in RESULTS if name.startswith("sc13-") and "7." in name] + ["sc13-errata-7"]
ERRATA = {"sc13-errata-7": 5}


@pytest.mark.slow
@pytest.mark.parametrize("name", MINE)
def test_findings_are_reproduced_but_for_the_errata(name):
    verdicts = [finding.verdict for finding in RESULTS[name].run().findings]
    assert verdicts.count(Verdict.ERRATUM) == ERRATA.get(name, 0)
    assert verdicts.count(Verdict.REPRODUCED) == len(verdicts) - ERRATA.get(name, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "wrong", "result"),
    [
        ("MEDICAL", (*MEDICAL[:8], ("white", "09/15/65", "female", "obesity")), "sc13-table-7.2"),
        ("LEFT", (1, 1, 2, 2, 2, 2, 3, 3, 3), "sc13-table-7.4"),
        ("RIGHT", (*RIGHT[:8], (3, "obesity")), "sc13-table-7.4"),
        ("GROUPS", (1, 1, 1, 3, 2, 3, 2, 2, 3, 3, 1, 2), "sc13-table-7.5"),
        ("ENTRIES", ((1, "B1 B1 B1 B3"), *sc13_chapter7.ENTRIES[1:]), "sc13-table-7.5"),
        ("T", Fraction(2), "sc13-table-7.5"),
        ("T", Fraction(2), "sc13-errata-7"),
        ("RATIOS", (Fraction(5, 2),), "sc13-table-7.6"),
        ("DENSITY", ((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 2), Fraction(3, 2))), "sc13-figure-7.7"),
        ("STEPS", (0, 0, 1, 1, 10, 10), "sc13-errata-7"),
    ],
)
def test_a_wrong_entry_is_noticed(monkeypatch, name, wrong, result):
    monkeypatch.setattr(sc13_chapter7, name, wrong)
    assert not RESULTS[result].run().holds


def test_the_linked_tables_hold_what_the_thesis_prints():
    made = linked_medical()
    held = made.confidential.collect(["group", "problem", "count"])
    assert sorted(zip(held["group"].tolist(), held["problem"].tolist(), strict=True)) == sorted(RIGHT)
    assert set(held["count"].tolist()) == {1}


def test_the_printed_sizes_and_counts():
    assert printed_bucket_sizes(12, 2) == [5, 4, 3]
    assert printed_selection([4, 4, 4], [4, 4, 4], 2) == [4, 4, 4]
    assert printed_selection([4, 5, 4], [5, 4, 4], 2) == [5, 4, 4]
