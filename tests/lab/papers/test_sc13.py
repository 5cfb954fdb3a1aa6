"""SC13 Tables 3.6–3.11 and 6.1: reproduced on the shared tables, noticed when wrong, and not run without them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from shoal.chance.source import Source
from shoal.errors import DataError
from shoal.lab.papers import sc13_averages, sc13_correlations, sc13_linkage, sc13_printed
from shoal.lab.papers.catalogue import SOURCES, chosen
from shoal.lab.papers.comparison import Measured, Setting, Verdict
from shoal.lab.papers.sc13_methods import Trial
from tests.cli.run import shoal

NAMES = [source.name for source in chosen(["sc13"]) if isinstance(source, Measured)]


def found(name, folder, runs=20, seed=1):
    return SOURCES[name].under(Setting(folder, runs, Source.seeded(seed)))


def failed(result):
    return [finding.what for finding in result.findings if finding.verdict is Verdict.FAILED]


@pytest.mark.parametrize(("name", "runs", "errata"), [
    ("sc13-table-3.6", 1, 1),
    ("sc13-table-3.7", 1, 1),
    ("sc13-table-3.8", 20, 1),
    ("sc13-table-3.9", 20, 1),
    ("sc13-table-3.10", 6, 1),
    ("sc13-table-6.1", 1, 1),
])  # fmt: skip
def test_it_reproduces(shared_data, name, runs, errata):
    result = found(name, shared_data, runs)
    assert failed(result) == []
    assert sum(finding.verdict is Verdict.ERRATUM for finding in result.findings) == errata


def test_eia_with_fewer_crowds(shared_data, monkeypatch):
    monkeypatch.setattr(sc13_averages, "CROWDS", (100, 200, 300))
    monkeypatch.setattr(sc13_printed, "CROWDS", (100, 200, 300))
    monkeypatch.setattr(sc13_averages, "PRINTED_EIA", "\n".join(sc13_printed.EIA.strip().splitlines()[-3:]))
    assert failed(found("sc13-table-3.11", shared_data, runs=5)) == []


@pytest.mark.long
def test_eia(shared_data):
    assert failed(found("sc13-table-3.11", shared_data, runs=100)) == []


@pytest.mark.parametrize(
    ("module", "name", "right", "wrong", "table", "blamed"),
    [
        (sc13_correlations, "ORIGINAL", ".27   .27 ", ".28   .27 ", "3.6", "A_5 with"),
        (sc13_correlations, "IDENTICAL", ".68 ", ".66 ", "3.7", "A_8 with"),
        (sc13_correlations, "SWAPPED", ".76   .81   .87", ".96   .81   .87", "3.8", "A_10 with"),
        (sc13_correlations, "RANKED", ".42 ", ".19 ", "3.9", "A_8 with"),
        (sc13_correlations, "RANKED", "-.12  .21", ".12   .21", "3.9", "A_6 with A_8"),
    ],
)
def test_a_wrong_number_is_noticed(shared_data, monkeypatch, module, name, right, wrong, table, blamed):
    text = " ".join(right.split())
    lines = [" ".join(line.split()) for line in getattr(module, name).strip().splitlines()]
    assert any(text in line for line in lines)
    monkeypatch.setattr(module, name, "\n".join(line.replace(text, " ".join(wrong.split())) for line in lines))
    blame = failed(found(f"sc13-table-{table}", shared_data, runs=6))
    assert any(what.startswith(blamed) for what in blame), blame


def test_wrong_averages_are_noticed(shared_data, monkeypatch):
    text = "\n".join(" ".join(line.split()) for line in sc13_printed.CENSUS.strip().splitlines())
    for right, wrong in ((".091 .093", ".12 .093"), (".087 .071", ".12 .071"), (".078 .085", ".086 .085")):
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    monkeypatch.setattr(sc13_averages, "PRINTED_CENSUS", text)
    blame = failed(found("sc13-table-3.10", shared_data, runs=12))
    assert {"k = 25, MDAV-SWAP", "k = 300, IR-SWAP", "k = 11, MDAV-ID"} <= {what.partition(":")[0] for what in blame}


def test_a_wrong_rate_is_noticed(shared_data, monkeypatch):
    monkeypatch.setattr(sc13_linkage, "PRINTED", {5: ("1.20E+10", "20.4")})
    assert failed(found("sc13-table-6.1", shared_data)) == ["RL at k = 5"]


def test_every_printed_cell_is_there():
    for text in (sc13_printed.ORIGINAL, sc13_printed.IDENTICAL, sc13_printed.SWAPPED, sc13_printed.RANKED):
        assert [len(row) for row in sc13_printed.triangle(text)] == [7] * 7 + [6, 5, 4, 3, 2, 1]
    for text in (sc13_printed.CENSUS, sc13_printed.EIA):
        assert len(sc13_printed.averages(text)) == 27


def test_swapping_keeps_every_value_and_ranking_what_is_not_confidential():
    table = np.random.default_rng(4).normal(size=(40, 4))
    trial = Trial(table, 2)
    for masked in (next(trial.swapped(3, Source.seeded(1))), next(trial.ranked(3, Source.seeded(1)))):
        assert (np.sort(masked, axis=0) == np.sort(table, axis=0)).all()
        assert (masked[:, :2] == table[:, :2]).all()
        assert (masked[:, 2:] != table[:, 2:]).any()
    assert trial.identical(3).mean(axis=0) == pytest.approx(table.mean(axis=0))


@pytest.mark.parametrize("name", NAMES)
def test_without_data_it_is_not_run(name, tmp_path):
    for result in (SOURCES[name].run(), found(name, None), found(name, tmp_path), found(name, tmp_path / "nowhere")):
        assert [finding.verdict for finding in result.findings] == [Verdict.NOT_RUN]
        assert result.holds
        assert not result.ran
    assert "has no casc_" in found(name, tmp_path).findings[0].difference


def test_the_command_says_so_and_exits_0(monkeypatch, tmp_path):
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    done = shoal("paper", "sc13")
    assert done.exit_code == 0
    assert done.stdout.endswith(", 7 not run\n")
    assert "--data DIR" in done.stdout
    fields = json.loads(shoal("paper", "sc13-table-3.6", "lqs11-table-1", "--data", tmp_path, "--json").stdout)
    assert fields["reproduced"] is True
    assert fields["not_run"] == ["sc13-table-3.6"]
    assert [entry["reproduced"] for entry in fields["papers"]] == [True, None]
    assert json.loads(shoal("paper", "sc13-table-3.6", "--json").stdout)["reproduced"] is None


def test_the_command_with_data(shared_data, monkeypatch):
    assert "13 reproduced, 1 erratum confirmed" in shoal("paper", "sc13-table-3.6", "--data", shared_data).stdout
    monkeypatch.setenv("SHOAL_DATA", str(shared_data))
    assert "8 reproduced, 1 erratum confirmed" in shoal("paper", "sc13-table-6.1", "--runs", 2).stdout


@pytest.mark.parametrize(
    "content",
    [
        "AGI,FEDTAX\n1,2\n",
        ",".join(sc13_correlations.CENSUS) + "\n" + ",".join(["1"] * 13) + "\n",
        ",".join(sc13_correlations.CENSUS) + "\n" + ",".join(["one"] * 13) + "\n",
    ],
)
def test_another_table_is_refused(tmp_path, content):
    folder = tmp_path / "casc_census"
    folder.mkdir()
    (folder / "census.csv").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"census\.csv is another table"):
        found("sc13-table-3.6", tmp_path)
