"""The figure of both rates by c and epsilon, on the Adult table and on counts that can be followed by hand."""

from __future__ import annotations

import pytest

from shoal.lab.papers import cm06
from shoal.lab.papers.catalogue import RESULTS
from shoal.lab.papers.comparison import RunSetting


def found(result, words: str) -> str:
    return next(each.ours for each in result.findings if each.what == words)


@pytest.mark.slow
def test_the_rates_of_adult(shared_data):
    result = RESULTS["cm06-adult"].reproduce(RunSetting(shared_data))
    assert result.holds
    assert len(result.pictures) == 2
    assert found(result, "rate as it is: epsilon 0.3, c = 1") == "0.00313 exact"
    assert found(result, "rate without values of fewer than 500 rows: epsilon 0.3, c = 1") == "0.189 exact"
    assert "34 values of 30,162 rows" in result.remarks[0]


@pytest.mark.slow
def test_lines_rise_with_epsilon_and_fall_with_c():
    result = cm06.rate_figure("two values", [4000, 900, 6])
    for picture in result.pictures:
        lines = {(each.label, each.dashed): list(each.y) for each in picture.series}
        assert all(values == sorted(values) for values in lines.values())
        for c, fewer in ((2, 1), (5, 2)):
            pairs = zip(lines[f"c = {c}", False], lines[f"c = {fewer}", False], strict=True)
            assert all(more <= less for more, less in pairs)


def test_without_the_file_it_is_not_run():
    assert not RESULTS["cm06-adult"].run().ran
