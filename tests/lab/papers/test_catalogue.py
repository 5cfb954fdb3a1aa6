"""Every table and figure reproduces, says where it stands, and fails when its printed number is wrong."""

from __future__ import annotations

from functools import cache

import pytest

from shoal.errors import UsageError
from shoal.lab.papers import cm06, lqs
from shoal.lab.papers.catalogue import RESULTS, find_results
from shoal.lab.papers.comparison import Verdict


@cache
def reproduced(name):
    return RESULTS[name].run()


@pytest.mark.slow
@pytest.mark.parametrize("name", list(RESULTS))
def test_it_reproduces(name):
    result = reproduced(name)
    assert result.findings
    assert [finding for finding in result.findings if finding.verdict is Verdict.FAILED] == []
    assert all(finding.difference for finding in result.findings)


@pytest.mark.slow
def test_pictures_belong_to_figures():
    drawn = [name for name in RESULTS if reproduced(name).pictures]
    assert drawn == [name for name in RESULTS if "figure" in name]


def test_choosing_by_name_by_paper_and_all():
    assert [source.name for source in find_results(["lqs11-table-2"])] == ["lqs11-table-2"]
    assert {source.name for source in find_results(["CM06"])} >= {"cm06-rates", "cm06-tightness", "cm06-errata"}
    assert "lqs-figure-3" in {source.name for source in find_results(["lqs10"])}
    assert len(find_results([])) == len(RESULTS)
    with pytest.raises(UsageError, match="unknown table or figure; got nothing"):
        find_results(["nothing"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "name", "wrong", "source"),
    [
        (lqs, "ONE", {"0.1": "0.158"}, "lqs11-table-1"),
        (lqs, "ELEVEN", {"0.1": ("2", "0.70", "1e-6")}, "lqs11-table-1"),
        (lqs, "STEP", 1e-3, "lqs-figure-2"),
        (lqs, "EQUALS", {"0.05": 15, "0.1": 30}, "lqs-figure-4"),
        (lqs, "SMALL", 1e-4, "lqs-figure-5"),
        (lqs, "SMOOTH_STARTS", ("0.25", "2", "1.5", "1"), "lqs10-figure-7"),
        (cm06, "LEMMA_2", (0.0025, 0.05), "cm06-errata"),
    ],
)
def test_a_wrong_number_is_noticed(monkeypatch, module, name, wrong, source):
    monkeypatch.setattr(module, name, wrong)
    assert not RESULTS[source].run().holds


@pytest.mark.slow
def test_the_tight_curve_is_never_above_the_published_bound():
    for picture in lqs.figure_3().pictures:
        solid = {series.label: series for series in picture.series if not series.dashed}
        dashed = {series.label: series for series in picture.series if series.dashed}
        for label, series in solid.items():
            tight = dict(zip(dashed[label].x, dashed[label].y, strict=True))
            assert tight[2.0] >= series.y[-1]  # the picture shows 1 / delta
