"""`shoal paper`: what is printed, what is drawn, and exit 3 for a number that does not reproduce."""

from __future__ import annotations

import json

import pytest

from shoal.lab.papers import lqs
from shoal.lab.papers.catalogue import RESULTS
from tests.cli.run import answer, refused, shoal


def test_the_list_names_everything():
    text = shoal("paper", "--list").stdout
    assert all(name in text for name in RESULTS)
    assert [entry["name"] for entry in answer("paper", "--list")["papers"]] == list(RESULTS)


def test_each_number_stands_beside_ours():
    text = shoal("paper", "lqs11-table-2").stdout
    row = next(line for line in text.splitlines() if "beta 0.05, epsilon 0.25" in line)
    assert row.split()[6:9] == ["6.83e-10", "6.82865e-10", "-0.02%"]
    assert row.endswith("reproduced")
    assert text.endswith("18 findings: 18 reproduced\n")


def test_the_answer_in_json():
    found = answer("paper", "lqs11-table-1", "cm06-errata")
    assert found["reproduced"] is True
    assert [entry["name"] for entry in found["papers"]] == ["lqs11-table-1", "cm06-errata"]
    assert {finding["verdict"] for finding in found["papers"][1]["findings"]} == {"erratum confirmed"}


def test_a_planted_error_is_found_and_exits_3(monkeypatch):
    wrong = ("6.84e-10", *lqs.DELTAS["0.05"][1:])
    monkeypatch.setitem(lqs.DELTAS, "0.05", wrong)
    done = shoal("paper", "lqs11-table-2")
    assert done.exit_code == 3
    assert "17 reproduced, 1 NOT REPRODUCED" in done.stdout
    fields = json.loads(shoal("paper", "lqs11-table-2", "--json").stdout)
    assert fields["reproduced"] is False
    assert [f["printed"] for f in fields["papers"][0]["findings"] if f["verdict"] == "NOT REPRODUCED"] == ["6.84e-10"]


def test_an_unknown_name_lists_the_names():
    error = refused("paper", "lqs11-table-9", code=2)
    assert error["came"] == "lqs11-table-9"
    assert "lqs11-table-2" in error["allowed"]


@pytest.mark.slow
def test_figures_are_drawn_and_not_replaced(tmp_path):
    folder = tmp_path / "figures"
    done = shoal("paper", "lqs10-figure-7", "lqs-figure-5", "--plot", folder)
    assert done.exit_code == 0, done.output
    names = {"lqs10-figure-7.png", "lqs10-figure-7.svg", "lqs-figure-5.png", "lqs-figure-5.svg"}
    assert {path.name for path in folder.iterdir()} == names
    assert "4 files" in done.stderr
    before = (folder / "lqs-figure-5.svg").read_bytes()
    assert refused("paper", "lqs-figure-5", "--plot", folder, code=2)["wrong"] == "the file exists"
    assert shoal("paper", "lqs-figure-5", "--plot", folder, "--force").exit_code == 0
    assert (folder / "lqs-figure-5.svg").read_bytes() == before


def test_figures_need_a_folder(tmp_path):
    (tmp_path / "file").write_text("mine")
    refused("paper", "lqs11-table-1", "--plot", tmp_path / "file", code=2)
