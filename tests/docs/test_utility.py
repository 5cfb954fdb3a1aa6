"""The figures of the guide come from benchmarks/utility.py: its measures are right, it says what it does, and it resumes."""

from __future__ import annotations

import importlib
import json
import math
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def utility():
    """The script as a module; its folder is on the path while it is imported, as when it is run."""
    if not BENCHMARKS.exists():
        pytest.skip("cannot run here: a source archive has no benchmarks")
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return importlib.import_module("utility")
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.fixture
def measures(utility):
    return sys.modules["_utility_measures"]


@pytest.fixture
def small(utility):
    """Three attributes and 60 rows, the third equal to the first."""
    tables = sys.modules["_utility_tables"]
    columns = (tables.Column("a", 2, False), tables.Column("b", 3, True), tables.Column("c", 2, False))
    codes = np.array([[i % 2, i % 3, i % 2] for i in range(60)])
    return tables.CodedTable("small", columns, codes, codes[:0], "a", (1,))


def test_it_says_how_it_is_repeated(utility, capsys):
    with pytest.raises(SystemExit) as ended:
        utility.main(["--help"])
    said = capsys.readouterr().out
    assert ended.value.code == 0
    for word in (
        "quick",
        "full",
        "report",
        "opendp-aim2",
        "synthetic, default",
        "wide-48",
        "0.1,0.3,1,3,10",
        "1e-6,1e-9",
    ):
        assert word in said


@pytest.mark.parametrize("arguments", [["quikc"], ["full", "--tables", "adutl"], ["full", "--methods", "aim"]])
def test_a_misspelt_word_runs_nothing(utility, tmp_path, arguments):
    with pytest.raises(SystemExit) as ended:
        utility.main([*arguments, "--results", str(tmp_path / "results.jsonl")])
    assert ended.value.code
    assert not list(tmp_path.iterdir())


def test_a_table_is_at_no_distance_from_itself(measures, small):
    truth = measures.Rows(small.train, small.sizes)
    found = measures.measure(small.columns, truth, measures.Rows(small.train, small.sizes))
    assert set(found.values()) == {0.0}


def test_distances_by_hand(measures, small):
    """The third column is turned over: singles agree, a with c does not at all, and V stays 1."""
    turned = small.train.copy()
    turned[:, 2] = 1 - turned[:, 2]
    found = measures.measure(small.columns, measures.Rows(small.train, small.sizes), measures.Rows(turned, small.sizes))
    assert found["tv1"] == 0
    assert found["tv2"] == pytest.approx(1 / 3)  # of the pairs ab, ac, bc only ac differs, and wholly
    assert found["tv2_worst"] == found["tv3"] == found["tv3_worst"] == 1
    assert found["association"] == pytest.approx(0, abs=1e-12)


def test_association_and_correlation_by_hand(measures):
    joint = np.array([[0.4, 0.1], [0.1, 0.4]])
    assert measures.association(joint) == pytest.approx(0.6)  # phi of a two by two table
    assert measures.correlation(joint) == pytest.approx(0.6)
    assert measures.association(np.full((2, 2), 0.25)) == 0


def test_association_beyond_chance_by_hand(measures):
    """Bergsma 2013: phi squared .36 less 1 / 49, over 1 - 1 / 49; nothing is left of what 50 independent rows show."""
    joint = np.array([[0.4, 0.1], [0.1, 0.4]])
    assert measures.association_beyond_chance(joint, 50) == pytest.approx(math.sqrt((0.36 - 1 / 49) / (1 - 1 / 49)))
    assert measures.association_beyond_chance(joint, 1e9) == pytest.approx(0.6)
    chance = np.random.default_rng(7)
    independent = np.bincount(chance.integers(0, 12, 300), minlength=12).reshape(3, 4) / 300
    assert measures.association(independent) > 0.05
    assert measures.association_beyond_chance(independent, 300) < 0.05
    assert measures.association_beyond_chance(np.array([[0.5, 0.5]]), 300) == 0


def test_the_yardstick_keeps_the_promise(utility, measures, small):
    """The Gaussian's scale is the least that gives (epsilon, delta) for a record in every pair, and every table is a table."""
    seen = []

    class Chance:
        def normal(self, mean, scale, shape):
            seen.append(scale)
            return np.full(shape, -1.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np.random, "default_rng", Chance)
        pairs = utility.gaussian_pairs(small, measures.Rows(small.train, small.sizes), "1", "1e-6")
    (scale,) = set(seen)

    def at(sigma):
        return utility.GaussianDP(math.sqrt(3) / sigma).delta_at(1.0)

    assert at(scale) <= 1e-6 < at(scale * 0.999)
    assert set(pairs) == set(combinations(range(3), 2))
    assert all(table.min() >= 0 for table in pairs.values())
    assert pairs[0, 1].sum() == pytest.approx(54)  # 60 rows and six times -1


def test_intervals_are_students(utility):
    """Mean 2, standard deviation 1, three values: 4.3027 / sqrt(3)."""
    assert utility.half_width([1.0, 2.0, 3.0]) == pytest.approx(2.4841, abs=1e-4)
    assert utility.interval([1.0, 2.0, 3.0]) == "2.0000 ± 2.4841"
    assert utility.interval([0.5]) == "0.5000"


def test_a_series_is_resumed_and_reported(utility, small, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(utility.TABLES, "small", lambda: small)
    results = tmp_path / "results.jsonl"
    say = ["--tables", "small", "--methods", "Gaussian, all pairs", "--results", str(results)]
    utility.main(["full", *say, "--repeats", "2", "--epsilons", "1,3", "--deltas", "1e-6"])
    assert len(results.read_text().splitlines()) == 4
    utility.main(["full", *say, "--repeats", "3", "--epsilons", "1,3", "--deltas", "1e-6"])
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    assert sorted((line["epsilon"], line["repeat"]) for line in lines) == [(e, r) for e in "13" for r in range(3)]
    capsys.readouterr()
    utility.main(["map", *say])
    assert "± " in (said := capsys.readouterr().out)
    assert said.count("(3)") == 2
    utility.main(["csv", *say])
    header, *rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 2
    assert rows[0].startswith('small,1,1e-06,"Gaussian, all pairs",3,')
    assert len(header.split(",")) == len(rows[0].replace("Gaussian, all", "Gaussian all").split(","))


def test_a_peer_that_did_not_finish_is_not_tried_again(utility, small, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(utility.TABLES, "small", lambda: small)
    calls = []
    monkeypatch.setattr(
        utility, "one", lambda *said, classified: calls.append(said) or {"problem": "not finished in 5 CPU s"}
    )
    results = str(tmp_path / "results.jsonl")
    say = ["full", "--tables", "small", "--methods", "opendp-aim2", "--epsilons", "1", "--deltas", "1e-6"]
    utility.main([*say, "--results", results])
    assert len(calls) == 1
    assert "| opendp-aim2 | 0 | not finished in 5 CPU s |" in capsys.readouterr().out


@pytest.mark.slow
def test_our_candidates_go_through_the_real_pipeline(utility, small, tmp_path):
    """A release of the small table at a large epsilon: the drawn rows are near, and the codes come back as they went in."""
    ours = sys.modules["_utility_ours"]
    found = ours.run(small, "synthetic, all pairs of declared cells", "100", "1e-6", tmp_path)
    assert abs(len(found["rows"]) - 60) <= 5
    assert (found["rows"][:, 0] == found["rows"][:, 2]).mean() > 0.9
    assert found["cpu"] > 0
