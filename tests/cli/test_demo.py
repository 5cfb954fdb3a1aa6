"""`shoal demo` and `shoal completion`: the story, repeatable, and never over someone else's files."""

from __future__ import annotations

import json
import re

import pytest

from shoal.cli.demo import MARKER, _refuse_other_folder
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan as planned
from tests.cli.run import answer, refused, shoal

PLAN = {"plan.html", "plan.json"}
FILES = PLAN | {
    ".shoal-demo",
    "policy.yaml",
    "hierarchies",
    "visits.csv",
    "ledger.sqlite",
    "visits-2026",
    "visits-2026.holder",
}
ROWS = ("--rows", "1500")


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory):
    """A folder that the demonstration was run into once, and what it printed."""
    out = tmp_path_factory.mktemp("demo") / "build" / "demo"
    first = shoal("demo", "--out", out, *ROWS)
    assert first.exit_code == 0, first.output
    return out, first


@pytest.mark.slow
def test_the_demonstration_can_be_run_again_in_its_folder_and_in_another_by_force(demonstration):
    out, first = demonstration
    assert first.stdout.rstrip().endswith(str(out / "visits-2026.holder" / "report.html"))
    assert "2.719 times what it is without it" in " ".join(first.stdout.split())
    assert {path.name for path in out.iterdir()} == FILES
    before = {name: (out / name).read_bytes() for name in PLAN}
    _refuse_other_folder(out, force=False)  # the next run replaces what this one made
    (out / "mine.txt").write_text("mine")
    (out / MARKER).unlink()
    error = refused("demo", "--out", out, *ROWS, code=2)
    assert error["wrong"] == "the folder was not made by the demonstration"
    report = json.loads((out / "visits-2026.holder" / "report.json").read_text())
    assert len(report["assessment"]["risk"]["attacks"]) == 5
    assert len(report["assessment"]["utility"]["learning"]) == 2
    again = answer("demo", "--out", out, *ROWS, "--force", "--fast")
    assert "assessment" not in json.loads((out / "visits-2026.holder" / "report.json").read_text())
    assert again["page"] == str(out / "plan.html")
    assert "discrete Gaussian" in " ".join(again["words"])
    assert "safe-k-tight" in " ".join(again["words"])
    assert {name: (out / name).read_bytes() for name in PLAN} == before
    assert (out / "mine.txt").read_text() == "mine"
    _refuse_other_folder(out, force=False)
    assert shoal("verify", out / "visits-2026").exit_code == 0
    plan = json.loads((out / "plan.json").read_text())
    found = planned(Policy.load(out / "policy.yaml"))
    assert plan == {"version": 1, **json.loads(json.dumps(found.to_json()))}
    assert found.rows.promise.epsilon_recoding > 0  # the demonstration grows a tree
    assert len(found.method.groups) == 45  # and counts every pair of its ten columns
    assert "tables of noisy counts published" in first.stdout
    assert "a recipient's estimate of the women" in first.stdout


@pytest.mark.slow
def test_the_page_is_script_free_and_whole(demonstration):
    page = (demonstration[0] / "plan.html").read_text()
    assert "<script" not in page
    assert not re.search(
        r"(?:src|href)=\"(?:https?:)?//", page.replace('xmlns:xlink="http://www.w3.org/1999/xlink"', "")
    )
    identifiers = re.findall(r' id="([^"]+)"', page)
    assert len(identifiers) == len(set(identifiers))
    references = set(re.findall(r'(?:url\(|href=")#([^")]+)', page))
    assert references <= set(identifiers)
    assert "safe-k-tight" in page
    assert "noisy-tables" in page
    assert "prefers-color-scheme: dark" in page


def test_another_programs_folder_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    error = refused("demo", "--out", tmp_path, code=2)
    assert error["wrong"] == "the folder was not made by the demonstration"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    refused("demo", "--out", tmp_path / "mine.txt", code=2)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell):
    text = shoal("completion", shell).stdout
    assert "_SHOAL_COMPLETE" in text
    assert "shoal" in text
    assert answer("completion", shell)["script"].strip() == text.strip()


def test_an_unknown_shell():
    refused("completion", "csh", code=2)
