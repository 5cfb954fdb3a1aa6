"""Format 1 verifies for ever: frozen folders, other versions of Shoal, other wordings, better solvers."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from shoal.publish.certificate.model import WORDING
from shoal.publish.plan import safe_k as planning
from shoal.publish.plan import views as planning_views
from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.release import verify
from tests.publish.clinic import planned, publish
from tests.publish.verify.freeze import FROZEN, KINDS

pytestmark = pytest.mark.slow

NOT_COMPARED = {"wording", "page"}
"""What is left open for a folder of another wording."""


def failed(folder: Path) -> list[str]:
    return [check.name for check in verify(folder) if check.agrees is False]


def left_open(folder: Path) -> set[str]:
    return {check.id for check in verify(folder) if check.agrees is None}


@pytest.mark.parametrize("kind", KINDS)
def test_a_frozen_folder_verifies(kind):
    assert failed(FROZEN / kind) == []
    wording = json.loads((FROZEN / kind / "certificate.json").read_text())["wording"]["version"]
    assert left_open(FROZEN / kind) == (set() if wording == WORDING else NOT_COMPARED)
    assert verifier.report(verifier.verify(FROZEN / kind))[1] == 0


def test_frozen_folders_are_those_that_were_frozen():
    """The note beside them lists their seals: none was made again."""
    listed = dict(re.findall(r"\| ([a-z-]+) \| `([0-9a-f]{64})` \|", (FROZEN / "README.md").read_text()))
    found = {
        folder.name: json.loads((folder / "certificate.json").read_text())["seal"]
        for folder in FROZEN.iterdir()
        if folder.is_dir()
    }
    assert found == listed
    assert set(found) >= set(KINDS)
    assert sum(path.stat().st_size for path in FROZEN.rglob("*") if path.is_file()) < 600_000


# --- other versions ------------------------------------------------------------------------------------------------


def as_of_another_version(folder: Path, version: str, wording: int, changes: dict[str, object]) -> None:
    """The folder as another version of Shoal would have written it: its own sentences and its own page, all hashed."""
    file, page = folder / "certificate.json", folder / "certificate.html"
    content = json.loads(file.read_text(encoding="utf-8"))
    old = content["seal"]
    content |= {"software": {"shoal": version}, **changes}
    text = page.read_text(encoding="utf-8").replace("Certificate of a release", "Certificate of a publication")
    content["wording"] = {
        "version": wording,
        "text_sha256": verifier.text_hash(content),
        "page_sha256": hashlib.sha256(text.replace(old, "0" * 64).encode()).hexdigest(),
    }
    content["seal"] = verifier.seal(content)
    file.write_text(json.dumps(content), encoding="utf-8")
    page.write_text(text.replace(old, content["seal"]), encoding="utf-8")


REWORDED = {
    "sentence": "In other words: the same promise.",
    "explanation": ["One sentence instead of three."],
    "not_promised": ["That nobody can learn anything."],
    "how_to_verify": "ask somebody who knows",
}


@pytest.mark.parametrize("version", ["0.1.1", "0.2.0", "3.0.0rc1"])
@pytest.mark.parametrize("kind", ["levels", "views", "several-rows", "microaggregation", "probabilistic-k"])
def test_a_folder_of_another_version_with_another_wording_verifies(tmp_path, kind, version):
    folder = Path(shutil.copytree(FROZEN / kind, tmp_path / kind))
    as_of_another_version(folder, version, WORDING + 7, REWORDED)
    assert failed(folder) == []
    assert left_open(folder) == NOT_COMPARED
    told = next(check.detail for check in verify(folder) if check.id == "wording")
    assert f"wording of another version ({WORDING + 7}; this one has {WORDING}): not compared" in told
    assert verifier.report(verifier.verify(folder))[1] == 0


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (lambda c: c["guarantee"].update(epsilon="0.5"), "guarantee"),
        (lambda c: c.update(status="checked"), "status"),
        (lambda c: c["claims"][0].update(conditions=["on Mondays"]), "conditions"),
        (lambda c: c["curve"][0].update(delta="1e-9"), "curve"),
        (lambda c: c["theorems"].pop(), "keys"),
        (lambda c: c["theorems"][0]["premises"][-1].update(how="checked by the program"), "premises"),
        (lambda c: c["theorems"][0].update(premises=[]), "premises"),
    ],
)
def test_another_wording_hides_no_forgery(tmp_path, change, check):
    folder = Path(shutil.copytree(FROZEN / "levels", tmp_path / "levels"))
    content = json.loads((folder / "certificate.json").read_text())
    change(content)
    changes = {name: content[name] for name in ("guarantee", "status", "claims", "curve", "theorems")}
    as_of_another_version(folder, "0.2.0", WORDING + 1, changes)
    found = {each.id for each in verify(folder) if each.agrees is False}
    assert found & {check, "model", "theorems"}
    assert verifier.report(verifier.verify(folder))[1] == 3 or check == "premises"


def test_the_promise_is_said_in_the_words_of_this_version(tmp_path):
    """A forger who writes another wording's number over his own sentences gets no sentence of his past the reader."""
    folder = Path(shutil.copytree(FROZEN / "levels", tmp_path / "levels"))
    as_of_another_version(folder, "0.2.0", WORDING + 1, {"sentence": "Nobody can learn anything."})
    told = next(check.detail for check in verify(folder) if check.id == "wording")
    assert "Nobody" not in told
    assert "(1, 0.001)-differential" in told.replace("(1, 1e-03)", "(1, 0.001)") or "differential" in told


def test_a_sentence_of_this_wording_is_compared_letter_by_letter(tmp_path):
    made = publish(tmp_path, report=False)
    assert failed(made.folder) == []
    assert left_open(made.folder) == set()
    as_of_another_version(made.folder, "0.1.0", WORDING, {"sentence": "Nobody can learn anything."})
    found = failed(made.folder)
    assert "wording (sentence)" in found
    assert all(
        each.startswith("handbook (") for each in found if each != "wording (sentence)"
    )  # it quotes the sentence


def test_a_page_of_this_wording_is_drawn_again(tmp_path):
    made = publish(tmp_path, report=False)
    as_of_another_version(made.folder, "0.1.0", WORDING, {})
    assert failed(made.folder) == ["page"]


# --- better numbers ------------------------------------------------------------------------------------------------


def test_a_verifier_solves_for_nothing(monkeypatch, tmp_path):
    def refuse(*_arguments, **_options):
        raise AssertionError("a verifier has no need to solve")

    monkeypatch.setattr(planning, "solve_releases", refuse)
    monkeypatch.setattr(planning, "solve_one", refuse)
    monkeypatch.setattr(planning_views, "view_promise", refuse)
    monkeypatch.setattr(planning_views.Allocation, "solve", refuse)
    for kind in KINDS:
        assert failed(FROZEN / kind) == [], kind


def test_numbers_that_suffice_verify_though_a_solver_finds_better_ones(monkeypatch, tmp_path):
    best, solve = planned(), planning.solve_releases

    def worse(*asked):
        found, total = solve(*asked)
        return replace(found, k=found.k + 3), total

    with monkeypatch.context() as older:
        older.setattr(planning, "solve_releases", worse)
        made = publish(tmp_path, report=False)
    assert made.certificate["samples"][0]["k"] == best.promise.k + 3
    assert failed(made.folder) == []
    assert verifier.report(verifier.verify(made.folder))[1] == 0


def test_defaults_that_a_later_version_writes_out_are_not_missed(tmp_path):
    """A lock without a line that follows from the others, as a version without that key has written it."""
    folder = Path(shutil.copytree(FROZEN / "levels", tmp_path / "levels"))
    lock, file = folder / "policy.lock.yaml", folder / "certificate.json"
    line = '    prefer: "balance"\n'
    assert line in lock.read_text()
    lock.write_text(lock.read_text().replace(line, ""))
    content = json.loads(file.read_text())
    content["plan_sha256"] = content["files"]["policy.lock.yaml"] = verifier.sha256(lock)
    content["seal"] = verifier.seal(content)
    file.write_text(json.dumps(content))
    assert failed(folder) == ["page-hash"]  # the page shows the hash of the plan that was charged
