"""Folders of noisy centroids, read again: what was changed in them is found, and numbers that suffice are accepted."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import PreconditionError
from shoal.publish.certificate.model import CentroidsCertificate
from shoal.publish.verify.centroids import centroids_checks, plan_with_numbers
from shoal.publish.verify.lock import read_locked_policy
from shoal.publish.verify.rebuild import in_published_order
from shoal.publish.verify.standalone import sha256
from tests.publish.centroid_clinic import KINDS, publish

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A release of every kind of attribute, in clusters of 35 and one of 50."""
    return publish(tmp_path_factory.mktemp("made"), {"release.k": 35}).folder


@pytest.fixture
def folder(made, tmp_path) -> Path:
    """The same, to be changed."""
    return Path(shutil.copytree(made, tmp_path / "out"))


def certificate_of(folder: Path) -> CentroidsCertificate:
    return CentroidsCertificate.read(json.loads((folder / "certificate.json").read_text()))


def failed(folder: Path) -> set[str]:
    """The checks against the lock that fail."""
    policy, _ = read_locked_policy(folder)
    return {check.id for check in centroids_checks(folder, policy, certificate_of(folder)) if check.agrees is False}


def edited(folder: Path, change) -> set[str]:
    """What fails where the rows of the table are changed, as lists of cells, and its hash with them; the header stays."""
    path = folder / "table.csv"
    with path.open(newline="") as file:
        head, *rows = list(csv.reader(file))
    change(rows)
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])
    content = json.loads((folder / "certificate.json").read_text())
    content["files"]["table.csv"] = sha256(path)
    (folder / "certificate.json").write_text(json.dumps(content))
    return failed(folder)


def test_a_folder_agrees_with_its_lock(made):
    assert failed(made) == set()


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda rows: rows.pop(), "row-count"),
        (lambda rows: rows.pop(), "class-size"),
        (lambda rows: rows.append(rows[-1]), "class-size"),
        (lambda rows: rows.reverse(), "table-rewritten"),
        (lambda rows: rows[0].__setitem__(0, "1001"), "table-rewritten"),
        (lambda rows: rows[0].__setitem__(1, "0.0000001"), "labels"),
        (lambda rows: [row.__setitem__(4, "Wales") for row in rows], "labels"),
        (lambda rows: rows[0].__setitem__(5, "x"), "table-rewritten"),
        (lambda rows: rows[0].__setitem__(0, ""), "table-rewritten"),
    ],
    ids=["a row less", "half a cluster", "a row twice", "order", "outside", "off the grid", "no concept", "no value", "missing"],
)  # fmt: skip
def test_a_table_that_was_changed_is_found(folder, change, found):
    assert found in edited(folder, change)


def altered(folder: Path, change) -> CentroidsCertificate:
    content = json.loads((folder / "certificate.json").read_text())
    change(content)
    return CentroidsCertificate.read(content)


def replan(folder: Path, change) -> Any:
    policy, _ = read_locked_policy(folder)
    told = altered(folder, change)
    return plan_with_numbers(in_published_order(policy, told.tables), told)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c["clusters"].__setitem__("k", 20), "another k"),
        (lambda c: c["attributes"][0].__setitem__("side", 100), "smaller than what one record"),
        (lambda c: c["attributes"][0].__setitem__("side", None), "another kind"),
        (lambda c: c["attributes"][0].__setitem__("epsilon", "7"), "costs more than the promise"),
        (lambda c: c["attributes"].pop(), "other attributes"),
        (lambda c: c["attributes"][4].__setitem__("choice_epsilon", "3"), "smaller than what one record"),
    ],
)
def test_noise_that_does_not_keep_the_promise_makes_no_plan(made, change, said):
    with pytest.raises(PreconditionError, match=said):
        replan(made, change)


def test_more_noise_than_the_rule_asks_for_is_accepted(made):
    larger = replan(made, lambda c: c["attributes"][0].__setitem__("side", 2000))
    assert larger.setting.entries[0].side == 2000
    assert larger.epsilon_composed <= 8


def test_where_the_program_finds_k_another_k_with_noise_that_suffices_is_accepted(tmp_path):
    folder = publish(tmp_path, {**KINDS["ranking"], "release.noise": "laplace"}).folder
    again = replan(folder, lambda c: c["clusters"].__setitem__("k", 9))
    assert (again.setting.k, again.setting.clusters) == (9, 13)
    with pytest.raises(PreconditionError, match="another kind"):
        replan(folder, lambda c: c["clusters"].__setitem__("noise", "gaussian"))
