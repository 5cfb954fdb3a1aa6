"""Somebody changes a plain sample, its rate or its certificate, and seals it again: it is seen."""

from __future__ import annotations

import json
import shutil

import pytest

from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.release import verify
from tests.publish.sample_clinic import publish
from tests.publish.verify.forgery import certificate, write

pytestmark = pytest.mark.slow
BOTH, ONE = True, False
"""Whether the one-file verifier can know it too."""


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    place = tmp_path_factory.mktemp("sample")
    return {
        "found": publish(place / "found", changes={"release.rare": "drop"}).folder,
        "declared": publish(place / "declared", changes={"release.sampling": {"beta": "0.0125"}}).folder,
        "raised": publish(place / "raised", changes={"release.rare": "generalize", "release.recoding": None}, rare=4).folder,
        "published": publish(place / "published", changes={"release.bound": "published"}).folder,
    }  # fmt: skip


def sample(content) -> dict:
    return content["samples"][0]


def coarser(folder, _) -> None:
    """The rule says that it is of another level, with the same labels."""
    file = folder / "recoding" / "01-age.json"
    rule = json.loads(file.read_text())
    rule["level"] = 1
    file.write_text(json.dumps(rule, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def turned(folder, _) -> None:
    """The labels of a rule in another order: each stands for something else."""
    file = folder / "recoding" / "01-age.json"
    rule = json.loads(file.read_text())
    rule["labels"] = rule["labels"][::-1]
    file.write_text(json.dumps(rule, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def finer_lock(folder, _) -> None:
    lock = folder / "policy.lock.yaml"
    lock.write_text(lock.read_text().replace('"age": 2', '"age": 1'))


def no_row(folder, _) -> None:
    table = folder / "table.csv"
    table.write_text("\n".join(table.read_text().splitlines()[::-1]) + "\n")


CHANGES = {
    "a rate of three digits": ("found", lambda _, c: sample(c).update(beta="0.125"), "sample-rate", BOTH),
    "a rate that no table allows": ("found", lambda _, c: sample(c).update(beta="0.34"), "sample-rate", BOTH),
    "a rate beyond the published theorems": ("published", lambda _, c: sample(c).update(beta="0.09"), "sample-rate", BOTH),
    "another rate than the declared one": ("declared", lambda _, c: sample(c).update(beta="0.012"), "sample-rate", BOTH),
    "a declared rate": ("found", lambda _, c: sample(c).update(declared=True), "samples", BOTH),
    "another treatment": ("found", lambda _, c: sample(c).update(rare="keep"), "samples", BOTH),
    "another bound of what is rare": ("found", lambda _, c: sample(c).update(rare_below=9), "samples", BOTH),
    "epsilon": ("found", lambda _, c: c["guarantee"].update(epsilon="0.1"), "guarantee", BOTH),
    "c": ("found", lambda _, c: c["guarantee"].update(c=3), "guarantee", BOTH),
    "epsilon of the claim": ("found", lambda _, c: c["claims"][0]["guarantee"].update(epsilon="0.1"), "claims", BOTH),
    "proved": ("found", lambda _, c: (c.update(status="proved"), c["claims"][0].update(status="proved")), "status", BOTH),
    "differential": ("found", lambda _, c: c["claims"][0].update(guarantee={"kind": "pure-dp", "epsilon": "1"}), "claims", BOTH),
    "no condition": ("found", lambda _, c: c["claims"][0].update(conditions=[]), "conditions", BOTH),
    "another theorem": ("found", lambda _, c: c["theorems"][0].update(name="safe-k-tight"), "theorems", BOTH),
    "bound": ("found", lambda _, c: c.update(bound="published"), "bound", BOTH),
    "k": ("found", lambda _, c: c["tables"][0].update(k=5), "table-files", BOTH),
    "a rule of another level": ("found", coarser, "recoding-levels", BOTH),
    "a level below the locked one": ("found", finer_lock, "recoding-levels", BOTH),
    "another order": ("found", no_row, "table-columns", BOTH),
    "what labels mean": ("raised", turned, "label-meaning", ONE),
    "limits": ("found", lambda _, c: c["not_promised"].pop(1), "wording", ONE),
    "charges": ("found", lambda _, c: c["ledger"].update(epsilon="3"), "prior-charges", BOTH),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_seen(honest, tmp_path, name):
    kind, change, check, alone = CHANGES[name]
    folder = shutil.copytree(honest[kind], tmp_path / "forged")
    content = certificate(folder)
    change(folder, content)
    write(folder, content)
    assert check in {each.id for each in verify(folder) if each.agrees is False}
    if alone:  # `shoal verify` has what the one-file verifier finds, so a check of that file's was made by it
        assert check in verifier.CHECKS


def test_honest_folders_are_accepted(honest):
    for folder in honest.values():
        assert all(check.agrees for check in verify(folder))
        assert verifier.main([str(folder)]) == 0


def test_levels_that_were_raised_are_accepted_where_the_plan_allows_it(honest):
    rule = json.loads((honest["raised"] / "recoding" / "01-age.json").read_text())
    assert rule["level"] > 0
