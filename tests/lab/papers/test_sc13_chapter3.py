"""SC13 Tables 3.6–3.11: reproduced on the shared tables, noticed when wrong, not run without; averages have intervals."""

from __future__ import annotations

import json
import re
from math import inf, sqrt

import numpy as np
import pytest

from shoal.chance.source import Source
from shoal.errors import DataError
from shoal.lab.papers import sc13_chapter3
from shoal.lab.papers.catalogue import RESULTS, find_results
from shoal.lab.papers.comparison import MeasuredResult, RunSetting, Verdict
from shoal.lab.papers.sc13_chapter3 import Average, Trial
from tests.cli.run import shoal

NAMES = [source.name for source in find_results(["sc13"]) if isinstance(source, MeasuredResult)]


def found(name, folder, runs=20, seed=1):
    return RESULTS[name].reproduce(RunSetting(folder, runs, Source.seeded(seed)))


def failed(result):
    return [finding.what for finding in result.findings if finding.verdict is Verdict.FAILED]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "runs", "errata"), [
    ("sc13-table-3.6", 1, 1),
    ("sc13-table-3.7", 1, 1),
    ("sc13-table-3.8", 20, 1),
    ("sc13-table-3.9", 20, 1),
    ("sc13-table-3.10", 6, 1),
])  # fmt: skip
def test_it_reproduces(shared_data, name, runs, errata):
    result = found(name, shared_data, runs)
    assert failed(result) == []
    assert sum(finding.verdict is Verdict.ERRATUM for finding in result.findings) == errata


@pytest.mark.slow
def test_eia_with_fewer_crowds(shared_data, monkeypatch):
    monkeypatch.setattr(sc13_chapter3, "SIZES", (100, 200, 300))
    monkeypatch.setattr(sc13_chapter3, "TABLE_3_11", "\n".join(sc13_chapter3.TABLE_3_11.strip().splitlines()[-3:]))
    assert failed(found("sc13-table-3.11", shared_data, runs=5)) == []


@pytest.mark.long
def test_eia(shared_data):
    assert failed(found("sc13-table-3.11", shared_data, runs=100)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "name", "right", "wrong", "table", "blamed"),
    [
        (sc13_chapter3, "TABLE_3_6", ".27   .27 ", ".28   .27 ", "3.6", "A_5 with"),
        (sc13_chapter3, "TABLE_3_7", ".68 ", ".66 ", "3.7", "A_8 with"),
        (sc13_chapter3, "TABLE_3_8", ".76   .81   .87", ".96   .81   .87", "3.8", "A_10 with"),
        (sc13_chapter3, "TABLE_3_9", ".42 ", ".19 ", "3.9", "A_8 with"),
        (sc13_chapter3, "TABLE_3_9", "-.12  .21", ".12   .21", "3.9", "A_6 with A_8"),
    ],
)
def test_a_wrong_number_is_noticed(shared_data, monkeypatch, module, name, right, wrong, table, blamed):
    text = " ".join(right.split())
    lines = [" ".join(line.split()) for line in getattr(module, name).strip().splitlines()]
    assert any(text in line for line in lines)
    monkeypatch.setattr(module, name, "\n".join(line.replace(text, " ".join(wrong.split())) for line in lines))
    blame = failed(found(f"sc13-table-{table}", shared_data, runs=6))
    assert any(what.startswith(blamed) for what in blame), blame


@pytest.mark.slow
def test_wrong_averages_are_noticed(shared_data, monkeypatch):
    text = "\n".join(" ".join(line.split()) for line in sc13_chapter3.TABLE_3_10.strip().splitlines())
    for right, wrong in ((".091 .093", ".12 .093"), (".087 .071", ".12 .071"), (".078 .085", ".086 .085")):
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    monkeypatch.setattr(sc13_chapter3, "TABLE_3_10", text)
    blame = failed(found("sc13-table-3.10", shared_data, runs=12))
    assert {"k = 25, MDAV-SWAP", "k = 300, IR-SWAP", "k = 11, MDAV-ID"} <= {what.partition(":")[0] for what in blame}


def test_every_printed_cell_is_there():
    for text in (
        sc13_chapter3.TABLE_3_6,
        sc13_chapter3.TABLE_3_7,
        sc13_chapter3.TABLE_3_8,
        sc13_chapter3.TABLE_3_9,
    ):
        assert [len(row) for row in sc13_chapter3.printed_rows(text)] == [7] * 7 + [6, 5, 4, 3, 2, 1]
    for text in (sc13_chapter3.TABLE_3_10, sc13_chapter3.TABLE_3_11):
        assert len(sc13_chapter3.printed_averages(text)) == 27


def test_swapping_keeps_every_value_and_ranking_what_is_not_confidential():
    table = np.random.default_rng(4).normal(size=(40, 4))
    trial = Trial(table, 2)
    for masked in (next(trial.swap(3, Source.seeded(1))), next(trial.rank_swap(3, Source.seeded(1)))):
        assert (np.sort(masked, axis=0) == np.sort(table, axis=0)).all()
        assert (masked[:, :2] == table[:, :2]).all()
        assert (masked[:, 2:] != table[:, 2:]).any()
    assert trial.identical(3).mean(axis=0) == pytest.approx(table.mean(axis=0))


@pytest.mark.parametrize("name", NAMES)
def test_without_data_it_is_not_run(name, tmp_path):
    for result in (RESULTS[name].run(), found(name, None), found(name, tmp_path), found(name, tmp_path / "nowhere")):
        assert [finding.verdict for finding in result.findings] == [Verdict.NOT_RUN]
        assert result.holds
        assert not result.ran
    assert re.search("has no (casc_|adult)", found(name, tmp_path).findings[0].difference)


@pytest.mark.slow
def test_the_command_says_so_and_exits_0(monkeypatch, tmp_path):
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    done = shoal("paper", "sc13")
    assert done.exit_code == 0
    assert done.stdout.endswith(", 11 not run\n")
    assert "--data DIR" in done.stdout
    fields = json.loads(shoal("paper", "sc13-table-3.6", "lqs11-table-1", "--data", tmp_path, "--json").stdout)
    assert fields["reproduced"] is True
    assert fields["not_run"] == ["sc13-table-3.6"]
    assert [entry["reproduced"] for entry in fields["papers"]] == [True, None]
    assert json.loads(shoal("paper", "sc13-table-3.6", "--json").stdout)["reproduced"] is None


def test_the_command_with_data(shared_data, monkeypatch):
    assert "13 reproduced, 1 erratum confirmed" in shoal("paper", "sc13-table-3.6", "--data", shared_data).stdout
    monkeypatch.setenv("SHOAL_DATA", str(shared_data))
    assert "13 reproduced, 1 erratum confirmed" in shoal("paper", "sc13-table-3.6").stdout


@pytest.mark.parametrize(
    "content",
    [
        "AGI,FEDTAX\n1,2\n",
        ",".join(sc13_chapter3.CENSUS) + "\n" + ",".join(["1"] * 13) + "\n",
        ",".join(sc13_chapter3.CENSUS) + "\n" + ",".join(["one"] * 13) + "\n",
    ],
)
def test_another_table_is_refused(tmp_path, content):
    folder = tmp_path / "casc_census"
    folder.mkdir()
    (folder / "census.csv").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"census\.csv is not the table of the thesis"):
        found("sc13-table-3.6", tmp_path)


def test_an_average_has_students_interval():
    found = Average.of([1.0, 2.0, 3.0])
    assert (found.value, found.error) == (2.0, pytest.approx(1 / sqrt(3)))
    assert found.high - found.value == pytest.approx(4.302653 / sqrt(3), rel=1e-6)  # t at 0.975 with 2 degrees
    assert found.value - found.low == pytest.approx(found.high - found.value)
    one = Average.of([5.0])
    assert (one.low, one.high) == (-inf, inf)
    sure = Average.of([5.0], exact=True)
    assert (sure.low, sure.high, sure.error) == (5.0, 5.0, 0.0)


def test_the_interval_of_an_average_covers_as_often_as_it_says():
    runs = np.random.default_rng(7).normal(3.0, 2.0, size=(2000, 5))
    found = [Average.of(row) for row in runs]
    covered = sum(one.low <= 3.0 <= one.high for one in found)
    assert 1850 < covered < 1950  # 1900 expected, 5 deviations are 49
    for factor in (0.7, 1.3):  # narrower and wider intervals are noticed
        share = sum(abs(one.value - 3.0) <= factor * (one.high - one.value) for one in found)
        assert not 1850 < share < 1950


@pytest.mark.parametrize("runs", [2, 5, 30])
def test_the_average_of_normal_runs_is_covered_and_less_is_caught(runs, effort):
    """Student's interval is exact for normal runs, which is what its words say it rests on."""
    chance, held, tight = np.random.default_rng(runs), 0, 0
    many = 2000 * effort
    for values in chance.normal(3, 2, (many, runs)):
        found = Average.of(values.tolist())
        held += found.low <= 3 <= found.high
        tight += found.value - 0.7 * (found.value - found.low) <= 3 <= found.value + 0.7 * (found.high - found.value)
    slack = 5 * np.sqrt(many * 0.95 * (1 - 0.95))
    assert abs(held - many * 0.95) < slack
    assert (tight < many * 0.95 - slack) or runs == 2


def test_an_average_of_nothing():
    for numbers in ([], [1.0, inf]):
        with pytest.raises(DataError, match="no number of every run"):
            Average.of(numbers)
